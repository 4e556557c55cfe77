/** What the model would answer now: a bar for each class, or a value. */

import { h } from "./dom.js";
import { number, percent } from "./words.js";

const SHOWN = 6; // classes; the others are added up
const OTHERS = "all others";

/** The panel of the belief. It stays on the page while a case runs, so that its bars can move. */
export class Belief {
  constructor() {
    this.list = h("ul", { class: "bars" });
    this.note = h("p", { class: "quiet" });
    this.element = h("div", { class: "card belief" }, h("h2", {}, "What the model believes"), this.list, this.note);
    this.bars = new Map();
    this.last = null;
  }

  /** Show a belief; null says that the model does not tell one. */
  show(belief, isFinal = false) {
    const isValue = belief !== null && "value" in belief && Object.keys(belief).length === 1;
    if (belief === null) this.note.textContent = "This model tells what it believes at the end.";
    else if (isValue) this.#showValue(belief.value, isFinal);
    else this.#showShares(belief, isFinal);
    this.last = belief;
  }

  #showValue(value, isFinal) {
    const before = this.last?.value;
    this.list.replaceChildren(h("li", { class: "value" }, number(value)));
    const moved = before !== undefined && before !== value ? ` Before the last answer: ${number(before)}.` : "";
    this.note.textContent = `The answer${isFinal ? "" : ", if the model stopped now"}.${moved}`;
  }

  #showShares(belief, isFinal) {
    const shares = shownShares(belief);
    const names = shares.map(([name]) => name);
    const largest = Math.max(...Object.values(belief));
    for (const [name, bar] of this.bars) bar.element.hidden = !names.includes(name);
    for (const [name, share] of shares)
      this.#bar(name).show(share, this.last?.[name], share === largest && name !== OTHERS);
    if (names.includes(OTHERS)) this.list.append(...names.map((name) => this.bars.get(name).element)); // in order
    const mark = this.list.querySelector(".before:not([hidden])")
      ? " A yellow mark shows the probability before the last answer."
      : "";
    this.note.textContent = `The probability of each answer${isFinal ? "" : ", if the model stopped now"}.${mark}`;
  }

  #bar(name) {
    if (!this.bars.has(name)) {
      const bar = new Bar(name);
      this.bars.set(name, bar);
      this.list.append(bar.element);
    }
    return this.bars.get(name);
  }
}

/** A bar of one class, with a thin mark where it was before the last answer. */
class Bar {
  constructor(name) {
    this.share = h("span", { class: "share" });
    this.fill = h("span", { class: "fill" });
    this.before = h("span", { class: "before", hidden: true });
    const head = h("span", { class: "head" }, h("span", { class: "name" }, name), this.share);
    this.element = h("li", {}, head, h("span", { class: "track", "aria-hidden": "true" }, this.fill, this.before));
  }

  show(share, before, isLargest) {
    this.element.classList.toggle("largest", isLargest);
    this.share.textContent = percent(share);
    this.fill.style.setProperty("width", `${100 * share}%`);
    this.before.hidden = before === undefined || Math.abs(before - share) < 0.005;
    this.before.style.setProperty("left", `${100 * (before ?? 0)}%`);
  }
}

function shownShares(belief) {
  const entries = Object.entries(belief);
  if (entries.length <= SHOWN) return entries;
  const order = [...entries].sort((a, b) => b[1] - a[1]);
  const rest = order.slice(SHOWN - 1).reduce((sum, [, share]) => sum + share, 0);
  return [...order.slice(0, SHOWN - 1), [OTHERS, rest]];
}

/** Return a belief in words: the value, or the most probable answer. */
export function beliefText(belief) {
  if (belief === null || belief === undefined) return "";
  const entries = Object.entries(belief);
  if (entries.length === 1 && entries[0][0] === "value") return number(entries[0][1]);
  const [name, share] = entries.reduce((best, each) => (each[1] > best[1] ? each : best));
  return `${name}: ${percent(share)}`;
}
