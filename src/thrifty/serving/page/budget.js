/** The slider over budgets, the curve above it, and the sentence that says what a budget buys. */

import { Curve } from "./curve.js";
import { h, newId } from "./dom.js";
import { amount, scoreName, scoreText } from "./words.js";

const STEPS = 100;
const THUMB = 22; // pixels, as in page.css

/** The chooser of a budget; `element` is its part of the page. */
export class BudgetChooser {
  constructor(frontier, { budget, total }, onChange) {
    this.onChange = onChange;
    this.curve = new Curve(frontier, total);
    this.frontier = this.curve.frontier;
    this.budget = budget ?? usualBudget(this.curve);
    this.place = h("div", { class: "plot" });
    this.says = h("p", { class: "says", id: newId("says") });
    this.output = h("output", {});
    this.slider = this.#makeSlider();
    this.element = this.#card();
    new ResizeObserver(() => this.#draw()).observe(this.place);
    this.#tell();
  }

  #makeSlider() {
    const value = Math.round(STEPS * this.curve.positionOf(this.budget));
    const slider = h("input", {
      type: "range",
      id: newId("budget"),
      min: 0,
      max: STEPS,
      value,
      "aria-describedby": this.says.id,
    });
    slider.addEventListener("input", () => {
      this.budget = this.curve.budgetAt(Number(slider.value) / STEPS);
      this.#tell();
      this.#draw();
    });
    return slider;
  }

  #card() {
    return h(
      "div",
      { class: "card" },
      h("h2", {}, "What a budget buys"),
      this.place,
      h("div", { class: "slide" }, this.slider),
      h("p", { class: "chosen" }, h("label", { for: this.slider.id }, "Budget per case: "), this.output),
      this.says,
      this.#notes(),
      this.#table(),
    );
  }

  #notes() {
    const mean = "A budget is a mean over many cases. One case can cost more or less.";
    const fixed =
      "This model has a fixed budget. The slider shows what other budgets would buy; it does not change the case.";
    return h("p", { class: "quiet" }, this.frontier.operating ? mean : fixed);
  }

  /** Give the numbers behind the picture to those who cannot see it, or who want them exactly. */
  #table() {
    const { unit, scoring } = this.frontier;
    const row = ({ spend, score }) =>
      h("tr", {}, h("td", {}, amount(spend, unit)), h("td", {}, scoreText(score, scoring)));
    const head = h("tr", {}, h("th", { scope: "col" }, "mean cost per case"), h("th", { scope: "col" }, "buys"));
    const table = h("table", {}, h("thead", {}, head), h("tbody", {}, this.curve.points.map(row)));
    return h("details", {}, h("summary", {}, "The curve in numbers"), table);
  }

  #tell() {
    this.output.textContent = amount(this.budget, this.frontier.unit);
    this.slider.setAttribute("aria-valuetext", amount(this.budget, this.frontier.unit));
    this.onChange(amount(this.budget, this.frontier.unit));
    this.says.textContent = budgetSentence(this.curve, this.budget);
  }

  #draw() {
    const width = Math.floor(this.place.clientWidth);
    if (!width) return;
    const span = Curve.span(width);
    this.slider.style.setProperty("margin-left", `${span.left - THUMB / 2}px`);
    this.slider.style.setProperty("width", `${span.width + THUMB}px`);
    this.place.replaceChildren(this.curve.draw(width, this.budget, this.#description()));
  }

  #description() {
    const { scoring } = this.frontier;
    return `Curve of ${scoreName(scoring)} against mean cost per case. The numbers are in the table below.`;
  }
}

/** Return what a budget buys, in words. */
export function budgetSentence(curve, budget) {
  const { unit, scoring } = curve.frontier;
  const point = curve.at(budget);
  if (!point) return `A budget of ${amount(budget, unit)} is too small for every point that was measured.`;
  const buys = scoreText(point.score, scoring);
  const first =
    point.spend > 0
      ? `A budget of ${amount(budget, unit)} buys ${buys}, for ${amount(point.spend, unit)} per case on average.`
      : `A budget of ${amount(budget, unit)} buys no tests. That gives ${buys}.`;
  return [first, sameForAll(curve, point), ...comparisons(curve, point)].filter(Boolean).join(" ");
}

const SAME_FOR_ALL = ["l1", "static"]; // methods that buy the same tests for every case

/** Tell what the same tests for every case give, for at most the cost of a point. */
function sameForAll({ frontier }, point) {
  const same = frontier.points.filter((each) => SAME_FOR_ALL.includes(each.method) && each.spend <= point.spend);
  if (!same.length || !(point.spend > 0)) return "";
  const best = Math.max(...same.map((each) => each.score));
  return `The same tests for every case would give ${scoreText(best, frontier.scoring)}.`;
}

/** Compare a point with the two ends of the curve: buying nothing, and buying everything. */
function comparisons({ frontier, total, ends }, point) {
  const { unit, scoring } = frontier;
  const { nothing, everything } = ends;
  const most = everything ? ` and give ${scoreText(everything.score, scoring)}` : "";
  return [
    point.spend > 0 && nothing ? `No tests give ${scoreText(nothing.score, scoring)}.` : "",
    point.spend < total ? `All tests cost ${amount(total, unit)}${most}.` : "",
  ].filter(Boolean);
}

/** Return the cheapest budget that comes close to the best score: a good place to start. */
function usualBudget(curve) {
  const scores = curve.points.map((each) => each.score);
  const enough = Math.max(...scores) - 0.1 * (Math.max(...scores) - Math.min(...scores));
  return curve.points.find((each) => each.score >= enough).spend;
}
