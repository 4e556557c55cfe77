/** The cost curve: what can be scored for each mean spend, drawn as SVG at the width of its place. */

import { svg } from "./dom.js";
import { TYPICAL, amount, scoreName, scoreTick } from "./words.js";

const HEIGHT = 250;
const MARGIN = { top: 28, right: 18, bottom: 40, left: 52 };

/** The curve with its scales. Small budgets get more room: positions grow with the square root of the spend. */
export class Curve {
  constructor(frontier, total) {
    this.frontier = readable(frontier);
    this.total = total;
    this.points = bestPoints(this.frontier);
    const scores = this.points.map((each) => each.score);
    const pad = (Math.max(...scores) - Math.min(...scores)) * 0.15 || 0.01;
    this.low = Math.min(...scores) - 1.6 * pad;
    this.high = Math.max(...scores) + pad;
    this.ends = {
      nothing: this.frontier.anchors?.nothing ?? this.points.find((each) => each.spend === 0),
      everything: this.frontier.anchors?.everything ?? this.points.find((each) => each.spend >= total * (1 - 1e-9)),
    };
    this.most = Math.max(total, ...this.points.map((each) => each.spend)) || 1;
  }

  /** Return the best point that keeps a budget, or null. A point keeps it if the bound on its spend does. */
  at(budget) {
    return this.points.findLast((each) => (each.spend_bound ?? each.spend) <= budget * (1 + 1e-9)) ?? null;
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
      {
        class: "curve",
        role: "img",
        "aria-label": description,
        viewBox: `0 0 ${width} ${HEIGHT}`,
        width,
        height: HEIGHT,
      },
      this.#axes(place),
      this.#area(place, budget),
      svg("path", { class: "steps", d: `${this.#line(place, this.points)} H${place.right}` }),
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
    const labels = spends.map((spend) =>
      svg("text", { class: "tick", x: x(spend), y: bottom + 18, "text-anchor": "middle" }, amount(spend)),
    );
    const title = `mean cost per case${unit ? `, ${unit}` : ""}`;
    return [
      ...lines,
      ...labels,
      svg("text", { class: "tick", x: right, y: bottom + 36, "text-anchor": "end" }, title),
      svg("text", { class: "tick", x: 4, y: 12 }, scoreName(scoring)),
    ];
  }

  /** Shade what the budget pays for, so that moving the slider is seen at once. */
  #area({ x, y, bottom }, budget) {
    const point = this.at(budget);
    if (!point) return null;
    const paid = this.points.slice(0, this.points.indexOf(point) + 1);
    const line = this.#line({ x, y }, [...paid, { spend: budget, score: point.score }]);
    return svg("path", { class: "paid", d: `${line} V${bottom} H${x(paid[0].spend)} Z` });
  }

  #line({ x, y }, points) {
    return points
      .map((each, i) => (i ? `H${x(each.spend)} V${y(each.score)}` : `M${x(each.spend)} ${y(each.score)}`))
      .join(" ");
  }

  #dots({ x, y }) {
    const inside = ({ spend, score }) => spend <= this.most && score >= this.low && score <= this.high;
    const shown = this.frontier.points.filter(inside);
    return shown.map((each) => {
      const kept = this.points.some((point) => point.spend === each.spend && point.score === each.score);
      return svg("circle", { class: kept ? "dot" : "dot beaten", cx: x(each.spend), cy: y(each.score), r: 3.5 });
    });
  }

  /** Mark the two ends. Everything has a place on the axis even if its score was not measured. */
  #anchors({ x, y, bottom }) {
    const { nothing, everything } = this.ends;
    const right = x(this.total);
    const square = ({ spend, score }) => svg("rect", { x: x(spend) - 4, y: y(score) - 4, width: 8, height: 8 });
    return svg(
      "g",
      { class: "anchor" },
      svg("line", { class: "end", x1: right, x2: right, y1: MARGIN.top, y2: bottom }),
      svg("text", { x: right + 4, y: bottom - 8, "text-anchor": "end" }, "everything"),
      everything && square(everything),
      nothing && [square(nothing), svg("text", { x: x(0) + 4, y: bottom - 8 }, "nothing")],
    );
  }

  #mark({ x, y, bottom }, budget) {
    const point = this.at(budget);
    return [
      svg("line", { class: "mark", x1: x(budget), x2: x(budget), y1: MARGIN.top - 6, y2: bottom }),
      point && svg("circle", { class: "mark", cx: x(point.spend), cy: y(point.score), r: 6 }),
    ];
  }
}

/** Return a frontier whose scores people can read. Larger is always better: the service negates losses. */
function readable(frontier) {
  return frontier.scoring === "neg_log_loss" ? rescored(frontier, TYPICAL, Math.exp) : frontier;
}

function rescored(frontier, scoring, change) {
  const changed = (each) => each && { ...each, score: change(each.score) };
  const ends = frontier.anchors && Object.entries(frontier.anchors).map(([name, each]) => [name, changed(each)]);
  return { ...frontier, scoring, points: frontier.points.map(changed), anchors: ends && Object.fromEntries(ends) };
}

/** Return the points worth choosing, from cheap to expensive: each scores more than all cheaper ones. */
function bestPoints({ points, anchors }) {
  const all = [...points, anchors?.nothing, anchors?.everything].filter((each) => Number.isFinite(each?.score));
  all.sort((a, b) => a.spend - b.spend || b.score - a.score);
  const best = [];
  for (const point of all) if (!best.length || point.score > best.at(-1).score) best.push(point);
  return best;
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

/** Return 0 and round spends (1, 2, 5, 10, ...) whose labels do not touch. */
function spendTicks(most, x) {
  const kept = [0];
  const powers = Array.from({ length: 5 }, (_, i) => 10 ** (Math.floor(Math.log10(most)) - 4 + i));
  const round = powers.flatMap((power) => [power, 2 * power, 5 * power]).filter((each) => each <= most);
  for (const spend of round) if (x(spend) - x(kept.at(-1)) > 40) kept.push(spend);
  return kept;
}
