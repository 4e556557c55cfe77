/** The service as the page uses it. A request that does not get through is sent again until it does. */

const PATIENCE = 15_000; // milliseconds until a request counts as lost
const PAUSES = [500, 1000, 2000, 4000]; // milliseconds between attempts; the last one repeats
const NOT_REACHED = [502, 503, 504]; // what a proxy answers when the service is away

/** What the service says is wrong, in its own sentence. */
export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }

  /** Whether the service no longer has the case. */
  get isGone() {
    return this.status === 404 || this.status === 410;
  }
}

/** Requests to the service. `tell` has broken(wake), back(), works() and askToken(), which talk to the person. */
export class Server {
  #tell;
  #token = sessionStorage.getItem("thrifty-token");

  constructor(tell) {
    this.#tell = tell;
  }

  model() {
    return this.#send("GET", "/model");
  }

  frontier() {
    return this.#send("GET", "/frontier");
  }

  begin(limits) {
    return this.#send("POST", "/sessions", limits);
  }

  see(id) {
    return this.#send("GET", `/sessions/${encodeURIComponent(id)}`);
  }

  /** Answer a step. The step number makes a repeated request harmless, so a lost reply costs nothing. */
  answer(state, values) {
    return this.#send("POST", `/sessions/${encodeURIComponent(state.id)}`, { step: state.step, values });
  }

  /** Give a case back. Nobody waits for this, and the case would expire anyway. */
  forget(id) {
    this.#attempt("DELETE", `/sessions/${encodeURIComponent(id)}`);
  }

  async #send(method, path, body) {
    for (;;) {
      const reply = await this.#reach(method, path, body);
      if (reply.status !== 401) return read(reply);
      this.#token = await this.#tell.askToken(this.#token !== null);
      sessionStorage.setItem("thrifty-token", this.#token);
    }
  }

  /** Return the first reply that comes through; tell the person while there is none. */
  async #reach(method, path, body) {
    for (let failures = 0; ; failures += 1) {
      const reply = await this.#attempt(method, path, body);
      if (reply) {
        if (failures) this.#tell.back();
        else this.#tell.works();
        return reply;
      }
      await new Promise((wake) => {
        this.#tell.broken(wake);
        addEventListener("online", wake, { once: true });
        setTimeout(wake, PAUSES[Math.min(failures, PAUSES.length - 1)]);
      });
    }
  }

  /** Return a reply, or null if the service was not reached. */
  async #attempt(method, path, body) {
    const headers = { Accept: "application/json" };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (this.#token) headers.Authorization = `Bearer ${this.#token}`;
    try {
      const signal = AbortSignal.timeout(PATIENCE);
      const reply = await fetch(path, { method, headers, body: JSON.stringify(body), signal, cache: "no-store" });
      const text = await reply.text(); // a connection can break inside the body too
      return NOT_REACHED.includes(reply.status) && !isProblem(reply)
        ? null
        : { status: reply.status, ok: reply.ok, text };
    } catch {
      return null;
    }
  }
}

function isProblem(reply) {
  return (reply.headers.get("Content-Type") ?? "").startsWith("application/problem+json");
}

function read({ status, ok, text }) {
  const body = parse(text);
  if (ok) return body;
  throw new Problem(status, body?.detail ?? body?.title ?? `The server answered with status ${status}.`);
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
