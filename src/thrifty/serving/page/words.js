/** Numbers and names as people read them. */

const SYMBOLS = ["$", "€", "£", "¥"];

/** Write an amount like the rest of thrifty: "$4", "119.17 CAD", "2.5 ms". */
export function amount(value, unit = "") {
  const text = amountText(Number(value), unit);
  return SYMBOLS.includes(unit) ? unit + text : `${text} ${unit}`.trim();
}

function amountText(value, unit) {
  const isCurrency = SYMBOLS.includes(unit) || /^[A-Z]{3}$/.test(unit);
  if (value !== 0 && Math.abs(value) < 0.01) return String(Number(value.toPrecision(3)));
  const text = value.toFixed(2);
  if (text.endsWith(".00")) return grouped(text.slice(0, -3));
  return grouped(isCurrency ? text : text.replace(/0$/, ""));
}

function grouped(text) {
  const [whole, ...rest] = text.split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...rest].join(".");
}

/** Write a share as a percentage. "100%" and "0%" mean exactly that, because people read them as certain. */
export function percent(share) {
  if (share > 0.995 && share < 1) return "over 99%";
  if (share > 0 && share < 0.005) return "under 1%";
  return `${Math.round(100 * share)}%`;
}

/** Write a number with few digits. */
export function number(value) {
  if (typeof value !== "number") return String(value);
  const digits = Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(4)));
  return digits.includes("e") ? digits : grouped(digits);
}

/** Join names to a list that can stand in a sentence. */
export function listed(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

/** Write a count with its noun. */
export function plural(n, noun) {
  return `${grouped(String(n))} ${noun}${n === 1 ? "" : "s"}`;
}

/** Write an answered value; null says that the test was not available. */
export function valueText(value) {
  if (value === null || value === undefined) return "not available";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return typeof value === "number" ? number(value) : String(value);
}

/** End a text as a sentence: explanations of models start in lower case and have no full stop. */
export function sentence(text) {
  const trimmed = text.trim();
  if (!trimmed) return "";
  const ended = /[.!?]$/.test(trimmed) ? trimmed : `${trimmed}.`;
  return ended[0].toUpperCase() + ended.slice(1);
}

/** The exponential of minus the log loss: the geometric mean of the probabilities that right answers got. */
export const TYPICAL = "typical probability";

const SCORES = {
  accuracy: "right answers",
  r2: "differences explained",
  roc_auc: "AUC",
  [TYPICAL]: "probability of the right answer",
};

/** Return the name of a score. */
export function scoreName(scoring) {
  return SCORES[scoring] ?? scoring.replace(/^neg_/, "").replaceAll("_", " ");
}

/** Say what a score means. Accuracy is told as right answers in 100 cases, which needs no statistics. */
export function scoreText(score, scoring) {
  if (scoring === "accuracy") return `${Number((100 * score).toFixed(1))} right answers in 100 cases`;
  if (scoring === TYPICAL) return `a typical probability of ${percent(score)} for the right answer`;
  if (scoring === "r2") return `answers that explain ${percent(Math.max(0, score))} of the differences between cases`;
  const name = scoreName(scoring);
  return `${/^[aeiAEI]/.test(name) ? "an" : "a"} ${name} of ${number(scoring.startsWith("neg_") ? -score : score)}`;
}

/** Write a score on an axis. */
export function scoreTick(score, scoring) {
  if (["accuracy", "r2", TYPICAL].includes(scoring)) return `${Number((100 * score).toFixed(1))}%`;
  return String(Number((scoring.startsWith("neg_") ? -score : score).toPrecision(3)));
}
