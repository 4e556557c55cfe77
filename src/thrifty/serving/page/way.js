/** How the model decides: its tree of stages, or its list of tests, with the path of this case marked. */

import { h, unseen } from "./dom.js";
import { summaryText } from "./reasons.js";
import { amount, listed, percent, plural, valueText } from "./words.js";

const MANY_STAGES = 20; // larger trees are shown only near the way of the case
const MANY_TESTS = 60; // longer lists show the first tests, and those of the case

/** Fill the section with the outline of the model; `state` is the case, or null before it starts. */
export function showWay(section, { outline, unit }, state) {
  const whole = section.dataset.whole === "yes";
  const more = (text) =>
    h(
      "button",
      {
        type: "button",
        class: "link",
        onclick: () => {
          section.dataset.whole = "yes";
          showWay(section, { outline, unit }, state);
          section.querySelector("h2").focus();
        },
      },
      text,
    );
  const body = outline.stages
    ? stagesOf(outline, unit, state, whole, more)
    : testsOf(outline, unit, state, whole, more);
  section.replaceChildren(
    h("h2", { id: "way-title", tabindex: -1 }, "How the model decides"),
    h("p", {}, summaryText(outline.summary)),
    ...body,
  );
  bringIntoView(section.querySelector(".scroll"));
}

/** Scroll a wide tree sideways to where the case is; the page itself stays where it is. */
function bringIntoView(box) {
  const here = box?.querySelector(".here");
  if (!here) return;
  const { left, width } = here.getBoundingClientRect();
  const middle = left - box.getBoundingClientRect().left + width / 2;
  box.scrollLeft += middle - box.clientWidth / 2;
}

// The tree

function stagesOf({ stages }, unit, state, whole, more) {
  const numbered = number(stages);
  const lit = litStages(stages, numbered, state);
  const isLarge = numbered.size > MANY_STAGES && !whole;
  const context = { unit, numbered, lit, state, isLarge };
  const tree = h("ul", { class: "tree" }, stageItem(stages, 0, context));
  const box = h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "The stages of the model" }, tree);
  return [legend(state), box, isLarge ? more("Show the whole tree") : null].filter(Boolean);
}

function legend(state) {
  return state
    ? h("p", { class: "quiet" }, "The way of this case is green.")
    : h("p", { class: "quiet" }, "Every case starts at the first stage. The answers decide which way it goes.");
}

/** Number the stages from the root, each before its children, as the service does. */
function number(root) {
  const numbers = new Map();
  const visit = (stage) => {
    numbers.set(stage, numbers.size);
    stage.children.forEach(visit);
  };
  visit(root);
  return numbers;
}

/** Tell which stages the case has passed, where it is, and which stage asks now. */
function litStages(root, numbered, state) {
  const path = state?.path ?? [];
  const here = path.at(-1);
  return { all: new Set(path), here, asking: askingStage(root, numbered, state, here) };
}

/** Return the stage that asks: the first one, or the one child that buys just what is asked for. */
function askingStage(root, numbered, state, here) {
  if (state?.status !== "asking") return null;
  if (here === undefined) return root;
  const asked = state.asks.map((each) => each.feature);
  const stage = [...numbered.keys()].find((each) => numbered.get(each) === here);
  const fitting = stage.children.filter(
    ({ buys }) => buys.length === asked.length && asked.every((each) => buys.includes(each)),
  );
  return fitting.length === 1 ? fitting[0] : null;
}

function stageItem(stage, depth, context) {
  const { lit, numbered, isLarge } = context;
  const k = numbered.get(stage);
  const isLit = lit.all.has(k);
  const isAsking = stage === lit.asking;
  const open = !isLarge || isLit || depth < 2;
  const children = open ? stage.children.map((child) => stageItem(child, depth + 1, context)) : [];
  const isCurrent = isAsking || (k === lit.here && !lit.asking);
  const kind = isAsking ? "now" : isLit ? "lit" : "";
  const card = h(
    "div",
    { class: `stage ${kind} ${isCurrent ? "here" : ""}`, "aria-current": isCurrent ? "step" : null },
    stageLines(stage, markOf(isAsking, isLit, isCurrent, context), context),
    open ? null : h("p", { class: "quiet" }, hiddenText(stage)),
  );
  return h("li", { class: kind || null }, card, children.length ? h("ul", {}, children) : null);
}

function markOf(isAsking, isLit, isCurrent, { state }) {
  if (isAsking) return "asks now";
  if (!isLit) return "";
  return isCurrent && state.status === "done" ? "this case ended here" : "this case came this way";
}

function stageLines(stage, mark, { unit }) {
  const who = stage.who === "every row" ? "every case" : stage.who;
  const share = typeof stage.share === "number" ? ` · ${percent(stage.share)} of cases` : "";
  const bought = h(
    "p",
    { class: "buys" },
    listed(stage.buys),
    h("span", { class: "quiet" }, ` for ${amount(stage.cost, unit)}`),
  );
  const rule = h("p", { class: "rule" }, h("code", {}, `${stage.rule} ?`));
  const end = h("p", { class: "quiet" }, `answer, after ${amount(stage.paid, unit)}`);
  return [
    h("p", { class: "who" }, who, h("span", { class: "quiet" }, share), mark ? unseen(` (${mark})`) : null),
    stage.buys.length ? bought : null,
    stage.rule ? rule : end,
  ];
}

function hiddenText(stage) {
  const below = (each) => each.children.reduce((sum, child) => sum + 1 + below(child), 0);
  return below(stage) ? `${plural(below(stage), "stage")} more` : "";
}

// The list of tests

function testsOf({ uses, counted_in: counted }, unit, state, whole, more) {
  const answers = new Map((state?.history ?? []).flatMap((each) => Object.entries(each.values)));
  const asked = new Set((state?.asks ?? []).map((each) => each.feature));
  const touched = ({ feature }) => answers.has(feature) || asked.has(feature);
  const list = uses ?? [];
  const isLong = list.length > MANY_TESTS && !whole;
  const shown = isLong ? list.filter((use, i) => i < MANY_TESTS || touched(use)) : list;
  const items = shown.map((use) => testItem(use, counted, unit, answers, asked));
  const text = state ? "The tests that this case bought are green." : "The tests that the model can ask for.";
  return [
    h("p", { class: "quiet" }, text),
    h("ul", { class: "tests" }, items),
    isLong ? more(`Show all ${plural(list.length, "test")}`) : null,
  ].filter(Boolean);
}

function testItem(use, counted, unit, answers, asked) {
  const bought = answers.has(use.feature);
  const now = asked.has(use.feature);
  const order = counted && use.first ? `${counted} ${use.first}` : "";
  const note = bought ? [unseen("bought, value: "), valueText(answers.get(use.feature))] : [now ? "asked now" : order];
  const facts = h(
    "span",
    { class: "facts" },
    h("span", {}, amount(use.price, unit)),
    h("span", { class: "note" }, note),
  );
  return h("li", { class: bought ? "lit" : now ? "now" : null }, h("span", { class: "name" }, use.feature), facts);
}
