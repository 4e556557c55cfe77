/** Why a test is asked for and why a case stopped, in words for someone who decides. */

import { amount, plural, sentence } from "./words.js";

/** Texts of models that speak of losses and weights, and how the page says them. Other texts stay as they are. */
const PLAIN = [
  [
    /^expected to save .+?, worth (.+) more than it costs, together with later purchases$/,
    "the model expects this, together with later tests, to be worth $1 more than it costs",
  ],
  [/^expected to save .+?, worth (.+)$/, "the model expects this to be worth $1"],
  [/^expected to save (.+)$/, "the model expects this to lower its error by $1"],
  [
    /^going on is expected to cost .+?, worth (.+) more than it saves$/,
    "more tests are expected to cost $1 more than they are worth",
  ],
  [/^nothing is worth its price at this cost weight$/, "no further test is worth its price"],
  [/^everything has been bought$/, "all tests have been bought"],
  [/^they are free$/, "this is free"],
];

function plain(explanation) {
  const [pattern, words] = PLAIN.find(([each]) => each.test(explanation)) ?? [null, null];
  return inPageWords(pattern ? explanation.replace(pattern, words) : explanation);
}

/** The library speaks of rows and columns; this page speaks of cases and tests. */
export function inPageWords(text) {
  const words = { row: "case", rows: "cases", column: "test", columns: "tests", feature: "test", features: "tests" };
  return text.replace(/\b(rows?|columns?|features?)\b/gi, (word) => {
    const said = words[word.toLowerCase()];
    return word[0] === word[0].toUpperCase() ? said[0].toUpperCase() + said.slice(1) : said;
  });
}

/** Return why a step asks for its tests. */
export function whyAsked({ asks, explanation, step }) {
  if (explanation) return `Why: ${plain(explanation)}.`;
  if (!asks.length) return "This step needs no test, but it has a cost.";
  if (asks.length > 1) return `Why: the model orders these ${plural(asks.length, "test")} together.`;
  return step
    ? "Why: after the answers so far, the model needs this test next."
    : "Why: the model starts with this test.";
}

/** Return why a case stopped. */
export function whyStopped({ result, cap, history }, unit) {
  return `Why it stopped: ${stopReason(result, cap, history, unit)}.`;
}

function stopReason({ reason, explanation }, cap, history, unit) {
  const limit = cap === null ? "" : ` of ${amount(cap, unit)}`;
  if (reason === "cap") return `the next step would cost more than the limit${limit} allows`;
  if (explanation) return plain(explanation.trim().replace(/\.$/, ""));
  return history.length ? "the model needs nothing more for its answer" : "the model answers without any test";
}

/** Return the sentences about how a model works. */
export function summaryText(summary) {
  return inPageWords(sentence(summary ?? ""));
}
