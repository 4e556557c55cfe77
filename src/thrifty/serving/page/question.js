/** The question of a step: what to get, what it costs, why it is asked, and a form for the answer. */

import { h, newId } from "./dom.js";
import { fieldFor, usualValues } from "./fields.js";
import { whyAsked } from "./reasons.js";
import { amount, listed } from "./words.js";

/** A step that waits for its answer; `onAnswer` gets the values by test, null for one that is not available. */
export class Question {
  constructor(state, { unit, prices, known, caseName, onAnswer }) {
    this.state = state;
    this.onAnswer = onAnswer;
    this.title = h("h2", { id: newId("question"), tabindex: -1 }, titleOf(state));
    this.problem = h("p", { class: "wrong", role: "alert" });
    this.fields = state.asks.map((ask) => makeField(ask, { ...state, unit }, known));
    this.form = this.#makeForm(sourceText(this.fields, known, caseName));
    this.element = h(
      "div",
      { class: "card question" },
      h("p", { class: "step" }, `Step ${state.step + 1}`),
      this.title,
      this.#price(unit, prices.get(state.asks[0]?.feature)),
      h("p", { class: "why" }, whyAsked(state)),
      this.form,
    );
  }

  #price(unit, alone) {
    const { cost } = this.state;
    const note = h("span", { class: "quiet" }, this.state.asks.length === 1 ? priceNote(cost, alone, unit) : "");
    return h("p", { class: "cost" }, h("strong", {}, cost === 0 ? "Free" : amount(cost, unit)), " ", note);
  }

  #makeForm(source) {
    const single = this.fields.length === 1;
    const missing = single && h("button", { type: "button", onclick: () => this.#send([null]) }, "Not available");
    const form = h(
      "form",
      { novalidate: true, "aria-labelledby": this.title.id },
      this.fields.map((each) => (single ? each.element : withMissing(each))),
      source,
      this.problem,
    );
    form.append(
      h(
        "div",
        { class: "buttons" },
        h("button", { class: "primary" }, this.fields.length ? "Answer" : "Continue"),
        missing || "",
      ),
    );
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
    return `${titleOf(this.state)} ${whyAsked(this.state)}`;
  }
}

function titleOf({ asks }) {
  if (!asks.length) return "The model computes its next part";
  return asks.length === 1 ? `What is ${asks[0].feature}?` : `What are ${listed(asks.map((each) => each.feature))}?`;
}

/** Say why a step does not cost what its test costs alone. */
function priceNote(cost, alone, unit) {
  if (alone === undefined || Math.abs(cost - alone) < 1e-9) return "";
  const reason = cost < alone ? "A part of it is paid already." : "The rest is the cost of computing with it.";
  return `Alone it costs ${amount(alone, unit)}. ${reason}`;
}

function makeField(ask, state, known) {
  const single = state.asks.length === 1;
  const price = single || ask.price === undefined ? "" : `Adds ${amount(ask.price, state.unit)}.`;
  const given = known && Object.hasOwn(known, ask.feature) ? known[ask.feature] : undefined;
  const hint = `${usualValues(ask)} ${price}`.trim();
  const field = fieldFor(ask, { title: single ? `Value of ${ask.feature}` : ask.feature, hint, given });
  field.name = ask.feature;
  field.isEmptyInCase = given === null;
  return field;
}

/** Say where values come from that nobody typed. */
function sourceText(fields, known, caseName) {
  if (!known || !fields.length) return null;
  const empty = fields.filter((each) => each.isEmptyInCase).map((each) => each.name);
  const text = empty.length
    ? `In ${caseName}, ${listed(empty)} is not available.`
    : `Filled in from ${caseName}. You can change it.`;
  return h("p", { class: "quiet source" }, text);
}

/** Add a box to a field of many, so that each test can be not available. */
function withMissing(field) {
  field.missing = h("input", {
    type: "checkbox",
    id: newId("missing"),
    onchange: () => field.setMissing(field.missing.checked),
  });
  field.missing.checked = field.isEmptyInCase;
  field.setMissing(field.isEmptyInCase);
  const label = h(
    "label",
    { class: "missing" },
    field.missing,
    h("span", {}, "not available", h("span", { class: "unseen" }, `: ${field.name}`)),
  );
  return h("div", { class: "row" }, field.element, label);
}
