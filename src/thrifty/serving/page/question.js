/** The question of a step: what to get, what it costs, why it is asked, and a form for the answer. */

import { h, newId } from "./dom.js";
import { fieldFor, usualValues } from "./fields.js";
import { amount, listed, plural, sentence } from "./words.js";

/** A step that waits for its answer; `onAnswer` gets the values by test, null for one that is not available. */
export class Question {
  constructor(state, { unit, known, caseName, onAnswer }) {
    this.state = state;
    this.onAnswer = onAnswer;
    this.title = h("h2", { id: newId("question"), tabindex: -1 }, titleOf(state));
    this.problem = h("p", { class: "wrong", role: "alert" });
    this.fields = state.asks.map((ask) => makeField(ask, state, { unit, known, caseName }));
    this.form = this.#makeForm(unit);
    this.element = h("div", { class: "card question" }, h("p", { class: "step" }, `Step ${state.step + 1}`), this.title, this.#price(unit), h("p", { class: "why" }, why(state)), this.form);
  }

  #price(unit) {
    const { asks, cost } = this.state;
    const shared = asks.length === 1 && cost !== asks[0].price && asks[0].price !== undefined;
    const alone = shared ? h("span", { class: "quiet" }, ` The price alone is ${amount(asks[0].price, unit)}. ${priceNote(cost, asks[0].price)}`) : null;
    return h("p", { class: "cost" }, h("strong", {}, cost === 0 ? "Free" : amount(cost, unit)), alone);
  }

  #makeForm(unit) {
    const single = this.fields.length === 1;
    const missing = single && h("button", { type: "button", onclick: () => this.#send([null]) }, "Not available");
    const form = h("form", { novalidate: true, "aria-labelledby": this.title.id }, this.fields.map((each) => (single ? each.element : withMissing(each, unit))), this.problem);
    form.append(h("div", { class: "buttons" }, h("button", { class: "primary" }, this.fields.length ? "Answer" : "Continue"), missing || ""));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    return form;
  }

  #submit() {
    const values = [];
    for (const field of this.fields) {
      field.accept();
      const value = field.missing?.checked ? null : field.read();
      if (value === undefined) return;
      values.push(value);
    }
    this.#send(values);
  }

  #send(values) {
    if (this.form.ariaBusy === "true") return; // the answer is on its way
    this.problem.textContent = "";
    this.onAnswer(Object.fromEntries(values.map((value, i) => [this.state.asks[i].feature, value])));
  }

  /** Show that the answer is on its way. Fields stay as they are, so the focus is not lost. */
  setBusy(on) {
    this.form.ariaBusy = String(on);
    this.form.classList.toggle("busy", on);
  }

  /** Say what the service found wrong with the answer. */
  refuse(text) {
    if (this.fields.length === 1) this.fields[0].refuse(text);
    else this.problem.textContent = text;
  }

  /** Go to the first field, or to the title if nothing is to be typed. */
  focus() {
    const target = this.fields[0]?.input ?? this.title;
    target.focus();
    if (target.select && target.type === "text") target.select();
  }

  /** Return the question as it is announced. */
  get text() {
    return `${titleOf(this.state)} ${why(this.state)}`;
  }
}

function titleOf({ asks }) {
  if (!asks.length) return "The model computes its next part";
  return asks.length === 1 ? `What is ${asks[0].feature}?` : `What are ${listed(asks.map((each) => each.feature))}?`;
}

function why({ asks, explanation, step }) {
  if (explanation) return `Why: ${sentence(explanation)}`;
  if (!asks.length) return "This step needs no test. It has a cost.";
  if (asks.length > 1) return `Why: the model orders these ${plural(asks.length, "test")} together.`;
  return step ? "Why: after the answers so far, the model needs this test next." : "Why: the model starts every case with this test.";
}

function priceNote(cost, alone) {
  return cost < alone ? "A part of it is paid already." : "The rest is the cost of computing the answers so far.";
}

function makeField(ask, state, { unit, known, caseName }) {
  const price = state.asks.length > 1 && ask.price !== undefined ? ` Price alone: ${amount(ask.price, unit)}.` : "";
  const given = known && Object.hasOwn(known, ask.feature) ? known[ask.feature] : undefined;
  const source = known && given !== undefined ? (given === null ? ` ${caseName} has no value.` : ` The value is from ${caseName}.`) : "";
  const field = fieldFor(ask, { title: state.asks.length > 1 ? ask.feature : `Value of ${ask.feature}`, hint: `${usualValues(ask)}${price}${source}`.trim(), given });
  field.name = ask.feature;
  field.isEmptyInCase = Boolean(known) && given === null;
  return field;
}

/** Add a box to a field of many, so that each test can be not available. */
function withMissing(field) {
  field.missing = h("input", { type: "checkbox", id: newId("missing"), onchange: () => field.setMissing(field.missing.checked) });
  field.missing.checked = field.isEmptyInCase;
  field.setMissing(field.isEmptyInCase);
  const label = h("label", { class: "missing" }, field.missing, h("span", {}, "not available", h("span", { class: "unseen" }, `: ${field.name}`)));
  return h("div", { class: "row" }, field.element, label);
}
