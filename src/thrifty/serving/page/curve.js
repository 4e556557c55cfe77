/** The cost curve: what can be scored for each mean spend, drawn as SVG at the width of its place. */

import { svg } from "./dom.js";
import { amount, scoreTick } from "./words.js";

const HEIGHT = 230;
const MARGIN = { top: 16, right: 18, bottom: 40, left: 52 };

/** The curve with its scales. Small budgets get more room: positions grow with the square root of the spend. */
export class Curve {
  constructor(frontier) {
    this.frontier = asGain(frontier);
    this.points = bestPoints(this.frontier);
    const scores = this.points.map((each) => each.score);
    const pad = (Math.max(...scores) - Math.min(...scores)) * 0.12 || 0.01;
    this.low = Math.min(...scores) - pad;
    this.high = Math.max(...scores) + pad;
    this.most = Math.max(...this.points.map((each) => each.spend)) || 1;
  }

  /** Return the best point that a budget can pay for, or null. */
  at(budget) {
    return this.points.findLast((each) => each.spend <= budget * (1 + 1e-9)) ?? null;
  }

  /** Return the budget at a position between 0 and 1, rounded so that it reads well. */
  budgetAt(position) {
    const exact = this.most * position ** 2;
    return position >= 1 ? this.most : Number(exact.toPrecision(exact < 10 ? 2 : 3));
  }

  /** Return the position of a budget between 0 and 1. */
  positionOf(budget) {
    return Math.sqrt(Math.min(Math.max(budget / this.most, 0), 1));
  }

  /** Return the left side and the width of the plot, so that a slider can stand under it. */
  static span(width) {
    return { left: MARGIN.left, width: width - MARGIN.left - MARGIN.right };
  }

  /** Draw the curve with a mark at a budget. */
  draw(width, budget, description) {
    const span = Curve.span(width);
    const x = (spend) => span.left + span.width * this.positionOf(spend);
    const bottom = HEIGHT - MARGIN.bottom;
    const y = (score) => bottom - ((bottom - MARGIN.top) * (score - this.low)) / (this.high - this.low);
    const place = { x, y, bottom, right: span.left + span.width };
    return svg(
      "svg",
      { class: "curve", role: "img", "aria-label": description, viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT },
      this.#axes(place),
      this.#area(place, budget),
      svg("path", { class: "steps", d: this.#line(place, this.points) }),
      this.#dots(place),
      this.#anchors(place),
      this.#mark(place, budget),
    );
  }

  #axes({ x, y, bottom, right }) {
    const { unit, scoring } = this.frontier;
    const left = x(0);
    const lines = ticks(this.low, this.high, 4).flatMap((score) => [
      svg("line", { class: "grid", x1: left, x2: right, y1: y(score), y2: y(score) }),
      svg("text", { class: "tick", x: left - 8, y: y(score) + 4, "text-anchor": "end" }, scoreTick(score, scoring)),
    ]);
    const spends = spendTicks(this.most, x);
    const labels = spends.map((spend) => svg("text", { class: "tick", x: x(spend), y: bottom + 18, "text-anchor": "middle" }, amount(spend)));
    const title = `mean cost per case${unit ? `, ${unit}` : ""}`;
    return [...lines, ...labels, svg("text", { class: "tick", x: right, y: bottom + 34, "text-anchor": "end" }, title)];
  }

  /** Shade what the budget pays for, so that moving the slider is seen at once. */
  #area({ x, y, bottom, ...place }, budget) {
    const paid = this.points.filter((each) => each.spend <= budget);
    if (!paid.length) return null;
    const end = { spend: budget, score: paid.at(-1).score };
    const line = this.#line({ x, y, ...place }, [...paid, end]);
    return svg("path", { class: "paid", d: `${line} V${bottom} H${x(paid[0].spend)} Z` });
  }

  #line({ x, y }, points) {
    return points.map((each, i) => (i ? `H${x(each.spend)} V${y(each.score)}` : `M${x(each.spend)} ${y(each.score)}`)).join(" ");
  }

  #dots({ x, y }) {
    const inside = ({ spend, score }) => spend <= this.most && score >= this.low && score <= this.high;
    const shown = this.frontier.points.filter(inside);
    return shown.map((each) => {
      const kept = this.points.some((point) => point.spend === each.spend && point.score === each.score);
      return svg("circle", { class: kept ? "dot" : "dot beaten", cx: x(each.spend), cy: y(each.score), r: 3.5 });
    });
  }

  #anchors({ x, y }) {
    const { anchors } = this.frontier;
    if (!anchors) return null;
    return ["nothing", "everything"].map((name) => this.#anchor({ x, y }, name, anchors[name]));
  }

  #anchor({ x, y }, name, { spend, score }) {
    const last = name === "everything";
    const above = y(score) < HEIGHT / 2;
    return svg(
      "g",
      { class: "anchor" },
      svg("rect", { x: x(spend) - 4, y: y(score) - 4, width: 8, height: 8 }),
      svg("text", { x: x(spend) + (last ? 4 : 9), y: y(score) + (above ? 20 : -9), "text-anchor": last ? "end" : "start" }, name),
    );
  }

  #mark({ x, y, bottom }, budget) {
    const point = this.at(budget);
    return [
      svg("line", { class: "mark", x1: x(budget), x2: x(budget), y1: MARGIN.top - 8, y2: bottom }),
      point && svg("circle", { class: "mark", cx: x(budget), cy: y(point.score), r: 6 }),
    ];
  }
}

/** Return a frontier whose scores are better if they are larger: a loss is negated, and named as scikit-learn does. */
function asGain(frontier) {
  if (frontier.greater_is_better ?? true) return frontier;
  const negated = (each) => ({ ...each, score: -each.score });
  const { points, anchors, scoring } = frontier;
  const both = anchors && { nothing: negated(anchors.nothing), everything: negated(anchors.everything) };
  return { ...frontier, scoring: `neg_${scoring}`, points: points.map(negated), anchors: both };
}

/** Return the points worth choosing, from cheap to expensive: each scores more than all cheaper ones. */
function bestPoints({ points, anchors }) {
  const all = [...points, ...(anchors ? [anchors.nothing, anchors.everything] : [])];
  const sorted = all.filter(({ spend, score }) => Number.isFinite(spend) && Number.isFinite(score));
  sorted.sort((a, b) => a.spend - b.spend || b.score - a.score);
  const best = [];
  for (const point of sorted) if (!best.length || point.score > best.at(-1).score) best.push(point);
  const last = sorted.at(-1); // the axis always reaches the most expensive point
  return best.at(-1) === last ? best : [...best, { spend: last.spend, score: best.at(-1).score }];
}

/** Return about `count` round numbers between two bounds. */
function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5].find((each) => each * power >= rough) ?? 10);
  const first = Math.ceil(low / step);
  const n = Math.floor(high / step) - first + 1;
  return Array.from({ length: n }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/** Return round spends whose labels do not touch: small ones are added where there is room. */
function spendTicks(most, x) {
  const kept = [0];
  for (const spend of ticks(0, most, 12).slice(1)) if (x(spend) - x(kept.at(-1)) > 46) kept.push(spend);
  return kept;
}
