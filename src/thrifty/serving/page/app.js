/** The page: it loads the model, starts a case, asks one step after another, and shows the end. */

import { Belief, beliefText } from "./belief.js";
import { h } from "./dom.js";
import { Notices } from "./notices.js";
import { Question } from "./question.js";
import { Server } from "./server.js";
import { Spend, historyTable, resultCard } from "./spend.js";
import { Start } from "./start.js";
import { showWay } from "./way.js";
import { amount, plural } from "./words.js";

const RUNNING = "thrifty-case"; // the case that a reload of the page continues
const byId = (id) => document.getElementById(id);

/** One visit to the page. */
class App {
  constructor() {
    this.server = new Server(new Notices(byId("notice"), byId("token")));
  }

  async open() {
    [this.model, this.frontier] = await Promise.all([this.server.model(), this.server.frontier()]);
    this.#describe();
    const running = JSON.parse(sessionStorage.getItem(RUNNING) ?? "null");
    if (!running) return this.#showStart();
    this.example = running.example;
    try {
      this.#openCase(await this.server.see(running.id));
    } catch (problem) {
      if (!problem.isGone) throw problem; // the case is still there, so another reload may find it
      sessionStorage.removeItem(RUNNING);
      this.#showStart();
    }
  }

  #describe() {
    const { model } = this;
    byId("model-name").textContent = model.name ?? model.model;
    byId("lead").append(
      ` It knows ${plural(model.features.length, "test")}. All of them cost ${amount(model.total, model.unit)}.`,
    );
    byId("about").textContent =
      `${model.model}, served by thrifty. Costs are in ${model.unit || "the unit of the price list"}.`;
  }

  #showStart(focus = false) {
    this.start = new Start(this.model, this.frontier, (example, limits) => this.#begin(example, limits));
    show("start", this.start.element);
    hide("case");
    byId("lead").hidden = false;
    this.#showWay(null);
    if (focus) this.start.focus();
  }

  async #begin(example, limits) {
    this.start.setBusy(true);
    try {
      const state = await this.server.begin(limits);
      this.example = example;
      sessionStorage.setItem(RUNNING, JSON.stringify({ id: state.id, example }));
      this.#openCase(state);
    } catch (problem) {
      this.start.refuse(problem.message);
    } finally {
      this.start.setBusy(false);
    }
  }

  /** Set up the panels of a case; they stay while it runs, so that bars move instead of being replaced. */
  #openCase(state) {
    hide("start");
    byId("lead").hidden = true;
    this.belief = new Belief();
    this.spend = new Spend(this.model);
    this.place = h("div", { class: "ask" });
    this.log = h("div", { class: "log" });
    this.quit = h(
      "button",
      { type: "button", class: "link", onclick: () => this.#again() },
      "Start again with another case",
    );
    show(
      "case",
      h(
        "div",
        { class: "columns case" },
        this.place,
        h("div", { class: "panels" }, this.belief.element, this.spend.element),
        this.log,
        this.quit,
      ),
    );
    this.#showState(state);
  }

  #showState(state) {
    this.state = state;
    const done = state.status === "done";
    this.belief.show(state.belief, done);
    this.spend.show(state);
    this.now = done ? resultCard(state, this.model, () => this.#again()) : this.#question(state);
    this.quit.hidden = done;
    this.place.replaceChildren(this.now.element);
    this.log.replaceChildren(historyTable(state, this.model.unit) ?? "");
    this.#showWay(state);
    this.now.focus();
    announce(done ? this.now.text : `${this.#movedText(state)} ${this.now.text}`);
  }

  #question(state) {
    const { unit, features } = this.model;
    const prices = new Map(features.map((each) => [each.name, each.price]));
    const onAnswer = (values) => this.#answer(values);
    return new Question(state, { unit, prices, known: this.example?.values, caseName: this.example?.name, onAnswer });
  }

  async #answer(values) {
    this.now.setBusy(true);
    try {
      this.#showState(await this.server.answer(this.state, values));
    } catch (problem) {
      await this.#recover(problem);
    } finally {
      this.now.setBusy?.(false);
    }
  }

  /** Go on after the service refused an answer: correct it, catch up with the service, or start again. */
  async #recover(problem) {
    if (problem.isGone) return this.#showGone();
    if (problem.status !== 409) return this.now.refuse(problem.message);
    try {
      this.#showState(await this.server.see(this.state.id));
    } catch (second) {
      if (second.isGone) this.#showGone();
      else this.now.refuse(second.message);
    }
  }

  #showGone() {
    sessionStorage.removeItem(RUNNING);
    const title = h("h2", { tabindex: -1 }, "This case has expired");
    const text =
      "The server keeps a case for a limited time. This one is no longer there. Your answers are listed below.";
    const again = h("button", { class: "primary", type: "button", onclick: () => this.#again() }, "Start again");
    this.place.replaceChildren(
      h("div", { class: "card" }, title, h("p", {}, text), h("div", { class: "buttons" }, again)),
    );
    this.quit.hidden = true;
    this.now = { refuse() {} };
    title.focus();
  }

  #again() {
    if (sessionStorage.getItem(RUNNING)) this.server.forget(this.state.id);
    sessionStorage.removeItem(RUNNING);
    announce("");
    this.#showStart(true);
  }

  #movedText({ spend, belief, history }) {
    const believed = beliefText(belief);
    return history.length
      ? `Spend so far: ${amount(spend, this.model.unit)}.${believed ? ` The model believes: ${believed}.` : ""}`
      : "";
  }

  #showWay(state) {
    byId("way").hidden = false;
    showWay(byId("way"), this.model, state);
  }
}

function show(id, ...children) {
  byId(id).replaceChildren(...children);
  byId(id).hidden = false;
}

function hide(id) {
  byId(id).hidden = true;
  byId(id).replaceChildren();
}

/** Let screen readers say what has changed. */
function announce(text) {
  byId("news").textContent = text;
}

new App().open().catch((problem) => show("case", h("p", { class: "card wrong", role: "alert" }, problem.message)));
