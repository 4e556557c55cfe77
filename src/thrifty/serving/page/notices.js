/** What the page says about the connection, and the form that asks for a token. */

import { h, newId } from "./dom.js";

/** Messages about the connection, at the top of the page. */
export class Notices {
  #place;
  #token;
  #asking = null;
  #wake = () => {};

  constructor(place, token) {
    this.#place = place;
    this.#token = token;
  }

  /** Say that the server cannot be reached; `wake` tries again at once. It is said once, however often it fails. */
  broken(wake) {
    this.#wake = wake;
    if (this.#place.className === "broken") return;
    const text =
      "The connection to the server is broken. Your answers are kept. The page tries again every few seconds.";
    const retry = h("button", { type: "button", onclick: () => this.#wake() }, "Try now");
    this.#show("broken", h("p", {}, text), retry);
  }

  /** Say that the server is reached again. */
  back() {
    this.#show("back", h("p", {}, "The connection is back."));
  }

  /** Say nothing more about a connection that works. */
  works() {
    if (this.#place.className === "back") this.#show("");
  }

  #show(kind, ...children) {
    this.#place.className = kind;
    this.#place.replaceChildren(...children);
  }

  /** Ask for a token once, even if several requests need it. */
  askToken(isRefused) {
    this.#asking ??= new Promise((resolve) => this.#showTokenForm(isRefused, resolve)).finally(() => {
      this.#asking = null;
      this.#token.hidden = true;
      this.#token.replaceChildren();
    });
    return this.#asking;
  }

  #showTokenForm(isRefused, onToken) {
    const refused = isRefused ? "The server refused this token. Check it and try again." : "";
    const wrong = h("p", { class: "wrong", role: "alert", id: newId("wrong") }, refused);
    const hint = "Ask the person who runs the server for it. The page keeps it until you close this tab.";
    const input = h("input", {
      type: "password",
      id: newId("token"),
      autocomplete: "off",
      "aria-describedby": wrong.id,
    });
    const form = h(
      "form",
      { class: "card", novalidate: true },
      h("h2", { id: "token-title" }, "This server needs a token"),
      h(
        "div",
        { class: "field" },
        h("label", { for: input.id }, "Token"),
        input,
        h("p", { class: "quiet hint" }, hint),
        wrong,
      ),
      h("div", { class: "buttons" }, h("button", { class: "primary" }, "Go on")),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const token = input.value.trim();
      if (/^[\x21-\x7e]+$/.test(token)) onToken(token);
      else wrong.textContent = "Type the token. It has letters, digits and signs, and no spaces.";
    });
    this.#token.replaceChildren(form);
    this.#token.hidden = false;
    input.focus();
  }
}
