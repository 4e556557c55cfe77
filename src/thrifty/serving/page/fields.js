/** Fields for the value of a test: a number, a text, or a choice between levels. */

import { h, newId } from "./dom.js";
import { number, valueText } from "./words.js";

const MANY = 9; // more levels than this go in a list that opens

/** Return a field for a test. It has `element`, `input` (to focus), `read()`, `refuse(text)` and `setMissing(on)`. */
export function fieldFor(ask, { title, hint, given }) {
  const levels = ask.kind === "boolean" ? [true, false] : ask.levels;
  if (levels?.length)
    return levels.length > MANY
      ? new ListField(levels, title, hint, given)
      : new ChoiceField(levels, title, hint, given);
  return new TypedField(ask, title, hint, given);
}

/** Common parts of fields: a place for the hint and a place for what is wrong. */
class Field {
  constructor(hint) {
    this.hint = h("p", { class: "quiet hint", id: newId("hint") }, hint);
    this.wrong = h("p", { class: "wrong", id: newId("wrong"), role: "alert" });
  }

  get describedBy() {
    return `${this.hint.id} ${this.wrong.id}`;
  }

  /** Return the input under its label, with the hint and what is wrong. */
  labelled(title) {
    const label = h("label", { for: this.input.id }, title);
    return h("div", { class: "field" }, label, this.input, this.hint, this.wrong);
  }

  /** Say what is wrong with the value, beside it. */
  refuse(text) {
    this.wrong.textContent = text;
    for (const each of this.inputs()) each.setAttribute("aria-invalid", "true");
    this.input.focus();
  }

  /** Take back what was said. */
  accept() {
    this.wrong.textContent = "";
    for (const each of this.inputs()) each.removeAttribute("aria-invalid");
  }

  /** Close the field if its test is not available. */
  setMissing(on) {
    this.accept();
    for (const each of this.inputs()) each.disabled = on;
  }

  inputs() {
    return [this.input];
  }
}

/** A number or a text that is typed. */
class TypedField extends Field {
  constructor(ask, title, hint, given) {
    super(hint);
    this.isNumber = ask.kind === "number";
    const mode = this.isNumber ? "decimal" : "text";
    this.input = h("input", {
      type: "text",
      id: newId("value"),
      inputmode: mode,
      autocomplete: "off",
      "aria-describedby": this.describedBy,
    });
    this.input.value = given === undefined || given === null ? "" : String(given);
    this.element = this.labelled(title);
  }

  /** Return the value, or undefined after saying what is wrong. */
  read() {
    const text = this.input.value.trim();
    if (!text) return void this.refuse("Type a value, or say that the test is not available.");
    if (!this.isNumber) return text;
    const value = numberOf(text);
    return Number.isFinite(value)
      ? value
      : void this.refuse(`"${text}" is not a number. Type a number such as 12 or 3.5.`);
  }
}

/**
 * Return the number that a text stands for, NaN if it is none.
 * A comma may stand for the decimal point, but not before three digits: "1,000" is a thousand to some readers.
 */
export function numberOf(text) {
  if (/,\d{3}$/.test(text)) return NaN;
  return Number(/^[^.]*,[^.,]*$/.test(text) ? text.replace(",", ".") : text);
}

/** A few levels, all in view. */
class ChoiceField extends Field {
  constructor(levels, title, hint, given) {
    super(hint);
    this.levels = levels;
    const name = newId("choice");
    this.radios = levels.map((level) =>
      h("input", {
        type: "radio",
        name,
        id: newId("level"),
        checked: isSame(level, given),
      }),
    );
    const labels = this.radios.map((radio, i) =>
      h("label", { class: "pill" }, radio, h("span", {}, valueText(levels[i]))),
    );
    this.element = h(
      "fieldset",
      { class: "field", "aria-describedby": this.describedBy },
      h("legend", {}, title),
      h("div", { class: "pills" }, labels),
      this.hint,
      this.wrong,
    );
  }

  /** The radio button that the Tab key would reach. */
  get input() {
    return this.radios.find((each) => each.checked) ?? this.radios[0];
  }

  inputs() {
    return this.radios;
  }

  refuse(text) {
    this.wrong.textContent = text;
    this.input.focus();
  }

  read() {
    const chosen = this.radios.findIndex((each) => each.checked);
    return chosen < 0
      ? void this.refuse("Choose one of these, or say that the test is not available.")
      : this.levels[chosen];
  }
}

/** Many levels, in a list that opens. */
class ListField extends Field {
  constructor(levels, title, hint, given) {
    super(hint);
    this.levels = levels;
    const options = levels.map((level, i) =>
      h("option", { value: i, selected: isSame(level, given) }, valueText(level)),
    );
    this.input = h(
      "select",
      { id: newId("value"), "aria-describedby": this.describedBy },
      h("option", { value: "" }, "Choose …"),
      options,
    );
    this.element = this.labelled(title);
  }

  read() {
    return this.input.value === ""
      ? void this.refuse("Choose one of these, or say that the test is not available.")
      : this.levels[Number(this.input.value)];
  }
}

/** Tell whether a value from a table is this level; tables may write true as "True". */
function isSame(level, given) {
  return given !== null && given !== undefined && String(level).toLowerCase() === String(given).toLowerCase();
}

/** Say which values are usual. */
export function usualValues(ask) {
  if (ask.kind === "boolean" || ask.levels?.length) return "";
  if (ask.kind === "date") return "A date such as 2024-01-31.";
  if (ask.kind !== "number") return "A text.";
  return ask.range ? `A number, usually from ${number(ask.range[0])} to ${number(ask.range[1])}.` : "A number.";
}
