/**
 * discreet in the browser: one file, no dependencies. A service serves it at /client.js.
 *
 *     import { Client } from "https://experiments.example/client.js";
 *     const client = new Client("https://experiments.example", KEY);
 *     const banners = client.experiment("banners", { fallback: "blue" });
 *     const assignment = await banners.assign(visitor);
 *     show(assignment.arm);
 *     button.onclick = () => banners.report(assignment, 1);
 *
 * KEY can be read by every visitor: make one with the scopes "assign" and "report" for this experiment alone.
 *
 * Every assignment is reported. One without an event reports `defaultReward` when the page is left, so that the
 * existence of a report does not tell what somebody did. If the event may come on a later page of the same visit, say
 * `alwaysReport: false` there and here: the first reward stands, and the service fills in the default by itself.
 */

const RETRIED = new Set([429, 502, 503, 504]);
const MOST_UNITS = 1000;
const KEEPALIVE = 200; // reports in one request that outlives its page: browsers allow it 64 kB in all

export class ServiceError extends Error {
  /** What the service said: `status` as in HTTP (0: it did not answer), `detail` in its own words. */
  constructor(status, title, detail) {
    super(detail ? `${title}: ${detail}` : title);
    this.name = "ServiceError";
    Object.assign(this, { status, detail });
  }
}

export class Client {
  #address;
  #key;
  #waiting = new Map(); // rewards by assignment: the first one stands
  #open = new Map(); // default rewards of assignments without a report
  #timer = null;
  #sending = null;

  /** Milliseconds: `patience` for all tries of a call, `timeout` for one, `delay` before a batch is sent. */
  constructor(address, key, { patience = 5000, timeout = 2000, delay = 1000, batch = 100, room = 10000 } = {}) {
    this.#address = address.replace(/\/+$/, "");
    this.#key = key;
    Object.assign(this, { patience, timeout, delay, batch, room, lost: 0, downUntil: 0 });
    if (typeof addEventListener === "function" && typeof document !== "undefined") {
      addEventListener("pagehide", () => this.leave());
      document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && this.flush());
    }
  }

  experiment(name, options) {
    return new Experiment(this, name, options);
  }

  /**
   * All experiments that the key may see, asked for page by page; it needs the scope "analyse". `search` is a part of
   * the name or of the population's name.
   *
   *     for await (const one of client.experiments({ state: "running" })) console.log(one.name);
   */
  async *experiments({ search = "", state } = {}) {
    const query = new URLSearchParams({ search, ...(state && { state }) });
    for (;;) {
      const page = await this.call("GET", `/v1/experiments?${query}`);
      yield* page.experiments;
      if (page.next === null) return;
      query.set("after", page.next);
    }
  }

  /** How many reports wait. */
  get pending() {
    return this.#waiting.size;
  }

  /** Send a request and give the answer; tried again for `patience` ms if the service is away or busy. */
  async call(method, path, body, { keepalive = false, patience = this.patience } = {}) {
    const end = Date.now() + patience;
    for (let tries = 0; ; tries++) {
      let failure;
      let pause = 100 * 2 ** Math.min(tries, 8) * (0.5 + Math.random() / 2);
      try {
        const response = await fetch(this.#address + path, {
          method,
          keepalive,
          headers: { authorization: `Bearer ${this.#key}`, "content-type": "application/json" },
          body: body === undefined ? undefined : JSON.stringify(body),
          signal: AbortSignal.timeout(this.timeout),
        });
        if (response.ok) return response.status === 204 ? null : await response.json();
        const problem = await response.json().catch(() => ({}));
        failure = new ServiceError(response.status, problem.title ?? `status ${response.status}`, problem.detail);
        pause = Math.max(pause, 1000 * Number(response.headers.get("retry-after")) || 0);
        if (!RETRIED.has(response.status)) throw failure;
      } catch (error) {
        if (error === failure) throw error;
        failure = new ServiceError(0, "the service cannot be reached");
      }
      if (Date.now() + pause >= end) throw failure;
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /** Expect a report of an assignment: its default is sent when the page is left without one. */
  expect(token, reward) {
    this.#open.set(token, reward);
  }

  /** Queue a reward; false if there is no room. */
  queue(token, reward) {
    this.#open.delete(token);
    if (this.#waiting.has(token)) return true;
    if (this.#waiting.size >= this.room) {
      this.lost++;
      return false;
    }
    this.#waiting.set(token, reward);
    if (this.#waiting.size === this.batch) this.flush();
    else this.#schedule(this.delay);
    return true;
  }

  /** Send all that waits; whether all arrived. What did not is kept. */
  async flush() {
    this.#unschedule();
    while (this.#sending) await this.#sending;
    this.#sending = this.#sendAll().finally(() => (this.#sending = null));
    return this.#sending;
  }

  async #sendAll() {
    while (this.#waiting.size) {
      const batch = [...this.#waiting].slice(0, this.batch);
      try {
        await this.#send(batch);
      } catch (error) {
        if (error.status === 0 || RETRIED.has(error.status)) {
          this.#schedule(10 * this.delay);
          return false;
        }
        this.lost += batch.length; // refused for good
        console.warn(`discreet: reports were refused: ${error.message}`);
      }
      for (const [token] of batch) this.#waiting.delete(token);
    }
    return true;
  }

  #send(batch, options) {
    const rewards = batch.map(([assignment, reward]) => ({ assignment, reward }));
    return this.call("POST", "/v1/rewards:batch", { rewards }, options);
  }

  #schedule(delay) {
    this.#timer ??= setTimeout(() => this.flush(), delay);
  }

  #unschedule() {
    clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** The page goes: every assignment is reported, and all requests are on their way before this returns. */
  leave() {
    for (const [token, reward] of [...this.#open]) this.queue(token, reward);
    this.#unschedule();
    const waiting = [...this.#waiting];
    for (let start = 0; start < waiting.length; start += KEEPALIVE) {
      // What is sent twice counts once, so nothing needs to wait for what may be on its way already.
      const batch = waiting.slice(start, start + KEEPALIVE);
      const forget = () => batch.forEach(([token]) => this.#waiting.delete(token));
      this.#send(batch, { keepalive: true, patience: 0 }).then(forget, () => this.#schedule(10 * this.delay));
    }
  }
}

class Experiment {
  #client;

  constructor(client, name, { fallback, defaultReward = 0, alwaysReport = true, sticky = true } = {}) {
    this.#client = client;
    Object.assign(this, { name, fallback, defaultReward, alwaysReport, sticky });
  }

  /** What a unit gets (or, for a list, what each gets): the same again for as long as it counts. */
  async assign(unit) {
    const units = Array.isArray(unit) ? unit : [unit];
    const known = new Map(units.map((one) => [one, this.#remembered(one)]));
    const fresh = units.filter((one) => known.get(one) === null);
    for (let start = 0; start < fresh.length; start += MOST_UNITS) {
      const found = await this.#ask(fresh.slice(start, start + MOST_UNITS));
      for (const assignment of found) {
        known.set(assignment.unit, assignment);
        this.#remember(assignment);
        if (this.alwaysReport && assignment.assignment) this.#client.expect(assignment.assignment, this.defaultReward);
      }
    }
    const answers = units.map((one) => known.get(one));
    return Array.isArray(unit) ? answers : answers[0];
  }

  async #ask(units) {
    const client = this.#client;
    try {
      if (this.fallback !== undefined && Date.now() < client.downUntil) throw new ServiceError(0, "it was just down");
      const path = `/v1/experiments/${encodeURIComponent(this.name)}/assignments`;
      return (await client.call("POST", path, { units })).assignments;
    } catch (error) {
      if (this.fallback === undefined) throw error;
      if (error.status === 0 && Date.now() >= client.downUntil) client.downUntil = Date.now() + client.patience;
      const nothing = { arm: this.fallback, assignment: null, epoch: null, learn: false, deadline: null };
      return units.map((unit) => ({ unit, ...nothing }));
    }
  }

  /** Report the reward of an assignment; whether it is on its way. The first one stands. */
  report(assignment, reward) {
    const value = Number(reward);
    if (!Number.isFinite(value)) throw new TypeError("reward must be a finite number");
    const token = typeof assignment === "string" ? assignment : assignment.assignment;
    return token ? this.#client.queue(token, value) : false;
  }

  #place(unit) {
    return `discreet:${this.name}:${unit}`;
  }

  #remember(assignment) {
    if (!this.sticky || !assignment.assignment) return;
    try {
      localStorage.setItem(this.#place(assignment.unit), JSON.stringify(assignment));
    } catch {
      // Without storage the service is asked again, and says the same.
    }
  }

  #remembered(unit) {
    if (!this.sticky) return null;
    try {
      const found = JSON.parse(localStorage.getItem(this.#place(unit)));
      if (found && found.deadline * 1000 > Date.now()) return found;
      localStorage.removeItem(this.#place(unit));
    } catch {
      // As if it had never been there.
    }
    return null;
  }
}
