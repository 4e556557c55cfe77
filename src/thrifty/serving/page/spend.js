/** What the case has cost, and what was answered for it. */

import { beliefText } from "./belief.js";
import { h } from "./dom.js";
import { whyStopped } from "./reasons.js";
import { amount, percent, valueText } from "./words.js";

/** The panel of the spend: a bar from nothing to the cost of everything. */
export class Spend {
  constructor({ unit, total }) {
    this.unit = unit;
    this.total = total;
    this.paid = h("span", { class: "paid-text" });
    this.fill = h("span", { class: "fill" });
    this.next = h("span", { class: "next" });
    this.limit = h("p", { class: "quiet" });
    this.element = h(
      "div",
      { class: "card spend" },
      h("h2", {}, "What it costs"),
      h("p", { class: "large" }, this.paid),
      h("span", { class: "track", "aria-hidden": "true" }, this.fill, this.next),
      h("p", { class: "ends quiet" }, h("span", {}, "nothing"), h("span", {}, `all tests: ${amount(total, unit)}`)),
      this.limit,
    );
  }

  /** Show what is paid, what the next step adds, and the limits of the case. */
  show({ spend, cost, status, budget, cap }) {
    const width = (value) => `${this.total ? Math.min(100, (100 * value) / this.total) : 0}%`;
    this.paid.textContent = amount(spend, this.unit);
    this.fill.style.setProperty("width", width(spend));
    this.next.style.setProperty("left", width(spend));
    this.next.style.setProperty("width", status === "asking" ? width(cost) : "0");
    const budgetText = budget === null ? "" : `Budget: ${amount(budget, this.unit)} per case, as a mean. `;
    this.limit.textContent = budgetText + (cap === null ? "" : `Limit of this case: ${amount(cap, this.unit)}.`);
  }
}

/** Return the table of all steps so far, or null before the first. */
export function historyTable({ history, status }, unit) {
  if (!history.length) return null;
  const heads = ["step", "test and value", "cost", "belief after it"].map((text) => h("th", { scope: "col" }, text));
  const rows = history.map((each, i) => historyRow(each, i, unit));
  const table = h(
    "table",
    { class: "history" },
    h("caption", {}, status === "done" ? "The whole case" : "The case so far"),
    h("thead", {}, h("tr", {}, heads)),
    h("tbody", {}, rows),
  );
  return h("div", { class: "card" }, table);
}

function historyRow({ values, features, cost, belief }, i, unit) {
  const found = features.map((name) => h("span", { class: "found" }, `${name}: `, h("b", {}, valueText(values[name]))));
  return h(
    "tr",
    {},
    h("td", {}, String(i + 1)),
    h("td", {}, found.length ? found : "computing, no test"),
    h("td", {}, amount(cost, unit)),
    h("td", {}, beliefText(belief)),
  );
}

/** Return the end of a case: the answer, why it stopped, what it cost and what everything would have cost. */
export function resultCard(state, { unit, total, task }, onAgain) {
  const { result, spend } = state;
  const title = h("h2", { tabindex: -1 }, `The answer: ${valueText(result.prediction)}`);
  const tile = (large, small) => h("div", { class: "tile" }, h("b", {}, large), h("span", {}, small));
  const share = total ? ` (${percent(Math.max(0, total - spend) / total)})` : "";
  const element = h(
    "div",
    { class: "card result" },
    h("p", { class: "step" }, `Done after ${state.history.length} ${state.history.length === 1 ? "step" : "steps"}`),
    title,
    sureness(result, task),
    h("p", { class: "why" }, whyStopped(state, unit)),
    h(
      "div",
      { class: "tiles" },
      tile(amount(spend, unit), "is what this case cost"),
      tile(amount(total, unit), "is what all tests would have cost"),
      tile(amount(Math.max(0, total - spend), unit), `is saved${share}`),
    ),
    h("div", { class: "buttons" }, h("button", { class: "primary", type: "button", onclick: onAgain }, "Start again")),
  );
  return {
    element,
    focus: () => title.focus(),
    text: [
      `${title.textContent}.`,
      whyStopped(state, unit),
      `This case cost ${amount(spend, unit)}. All tests would have cost ${amount(total, unit)}.`,
    ].join(" "),
  };
}

function sureness({ probability, prediction }, task) {
  const share = task === "classification" ? probability?.[String(prediction)] : undefined;
  return share === undefined ? null : h("p", { class: "large" }, `The model is ${percent(share)} sure.`);
}
