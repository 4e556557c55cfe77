/** The start of a case: which case, which budget, which limit. */

import { BudgetChooser } from "./budget.js";
import { h, newId } from "./dom.js";
import { fieldFor, numberOf } from "./fields.js";
import { amount } from "./words.js";

const OWN = "A new case";

/** The form that starts a case; `onStart` gets the example (or null) and the limits for the session. */
export class Start {
  constructor(model, frontier, onStart) {
    this.model = model;
    this.onStart = onStart;
    this.problem = h("p", { class: "wrong", role: "alert" });
    this.case = this.#makeCase();
    this.cap = this.#makeCap();
    this.uses = h("p", {});
    this.takesBudget = frontier.operating && frontier.points.length > 0;
    this.budget = frontier.points.length ? new BudgetChooser(frontier, model, (text) => this.#tellBudget(text)) : null;
    this.button = h("button", { class: "primary", form: "start-form" }, "Start");
    this.element = h("div", { class: "columns" }, this.budget?.element ?? null, this.#makeForm());
  }

  #makeForm() {
    const form = h(
      "form",
      { id: "start-form", class: "card", novalidate: true },
      h("h2", {}, "Start a case"),
      this.case?.element ?? null,
      this.cap.element,
      this.uses,
      this.problem,
      h("div", { class: "buttons" }, this.button),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#submit();
    });
    return form;
  }

  #makeCase() {
    const names = this.model.examples.map((each) => each.name);
    if (!names.length) return null;
    const hint = "The page fills in the values of an example when the model asks for them. You can change them.";
    return fieldFor({ kind: "category", levels: [OWN, ...names] }, { title: "Which case?", hint, given: names[0] });
  }

  #makeCap() {
    const input = h("input", { type: "text", inputmode: "decimal", id: newId("cap"), autocomplete: "off" });
    const wrong = h("p", { class: "wrong", role: "alert", id: newId("wrong") });
    const most = this.model.cap === null ? "" : ` At most ${amount(this.model.cap, this.model.unit)}.`;
    const hint = h(
      "p",
      { class: "quiet hint", id: newId("hint") },
      `The case never costs more than this. Leave it empty for no limit of your own.${most}`,
    );
    input.setAttribute("aria-describedby", `${hint.id} ${wrong.id}`);
    const unit = this.model.unit ? `, in ${this.model.unit}` : "";
    return {
      input,
      wrong,
      element: h(
        "div",
        { class: "field" },
        h("label", { for: input.id }, `Limit for this case (optional${unit})`),
        input,
        hint,
        wrong,
      ),
    };
  }

  /** Repeat the chosen budget beside the button, because the slider can be out of view. */
  #tellBudget(text) {
    this.uses.textContent = this.takesBudget ? `This case uses the budget of ${text}.` : "";
  }

  #submit() {
    if (this.button.ariaBusy === "true") return;
    const cap = this.#readCap();
    if (cap === undefined) return;
    const name = this.case?.read();
    const example = this.model.examples.find((each) => each.name === name) ?? null;
    const limits = {};
    if (cap !== null) limits.cap = cap;
    if (this.takesBudget) limits.budget = this.budget.budget;
    this.problem.textContent = "";
    this.onStart(example, limits);
  }

  /** Return the limit, null if there is none, or undefined after saying what is wrong. */
  #readCap() {
    const text = this.cap.input.value.trim();
    const cap = text === "" ? null : numberOf(text);
    const isGood = cap === null || (Number.isFinite(cap) && cap >= 0);
    this.cap.wrong.textContent = isGood ? "" : "Type a number of at least 0, such as 1000 or 3.5, or leave it empty.";
    this.cap.input.removeAttribute("aria-invalid");
    if (isGood) return cap;
    this.cap.input.setAttribute("aria-invalid", "true");
    this.cap.input.focus();
    return undefined;
  }

  /** Show that the case is being started. */
  setBusy(on) {
    this.button.ariaBusy = String(on);
  }

  /** Say why the case cannot start. */
  refuse(text) {
    this.problem.textContent = text;
  }

  focus() {
    (this.case?.input ?? this.cap.input).focus();
  }
}
