// @ts-check
// What a person submits, on its way to the server: kept in the browser until the server has it, sent in order, and with
// the same key each time, so that nothing is lost and nothing counts twice.
//
//   <k-sending>   says `karat-sent` with each answer; shows a bar while the server cannot be reached
"use strict";
(() => {
  /** @typedef {{ what: string, body: any, key: string }} Message */
  /** @typedef {{ ok: boolean, status: number, body: any }} Answer */

  /** Milliseconds until the next attempt. */
  const RETRY = 2000;

  class Sending extends HTMLElement {
    /** @type {Message[]} */
    waiting = [];
    /** The sending that is under way. @type {Promise<void> | undefined} */
    sending;
    base = "";
    query = "";

    /** @param {string} task @param {string} person */
    begin(task, person) {
      this.base = `/annotations/${encodeURIComponent(task)}/`;
      this.query = person ? `?as=${encodeURIComponent(person)}` : "";
      this.store = `karat-labels/${task}/${person}`;
      try { this.waiting = JSON.parse(localStorage.getItem(this.store) ?? "[]"); } catch { this.waiting = []; }
      window.addEventListener("online", () => void this.flush());
      setInterval(() => void this.flush(), RETRY);
    }

    keep() {
      try { localStorage.setItem(this.store ?? "", JSON.stringify(this.waiting)); } catch { /* kept as long as the page is open */ }
    }

    /** Asks the server. `undefined` if it did not answer.
     * @param {string} what @param {any} body @param {{ key?: string, keepalive?: boolean }} [how] @returns {Promise<Answer | undefined>} */
    async ask(what, body, { key, keepalive = false } = {}) {
      const headers = { "Content-Type": "application/json", ...(key ? { "Idempotency-Key": key } : {}) };
      const answer = await fetch(this.base + what + this.query, { method: "POST", headers, body: JSON.stringify(body), keepalive }).catch(() => undefined);
      if (!answer) return undefined;
      return { ok: answer.ok, status: answer.status, body: await answer.json().catch(() => ({})) };
    }

    /** Adds a message, and begins to send. @param {string} what @param {any} body */
    add(what, body) {
      const bytes = crypto.getRandomValues(new Uint8Array(16));
      const key = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
      this.waiting.push({ what, body, key });
      this.keep();
      return this.flush();
    }

    /** Sends what waits. Who calls it while that is under way waits for the same end. */
    flush() {
      this.sending ??= this.send().finally(() => { this.sending = undefined; });
      return this.sending;
    }

    async send() {
      while (this.waiting[0]) {
        const message = this.waiting[0];
        const answer = await this.ask(message.what, message.body, { key: message.key });
        // Too many requests, a restart, a key whose first request is under way: later.
        const isLater = !answer || answer.status === 429 || answer.status >= 500 || (answer.status === 409 && answer.body.type?.includes("key"));
        this.show(isLater);
        if (isLater) break;
        this.waiting.shift();
        this.keep();
        this.dispatchEvent(new CustomEvent("karat-sent", { bubbles: true, detail: { message, answer } }));
      }
    }

    /** @param {boolean} isOffline */
    show(isOffline) {
      this.toggleAttribute("hidden", !isOffline);
      const count = this.waiting.length;
      this.textContent = isOffline ? `The server cannot be reached. ${count} ${count === 1 ? "answer is" : "answers are"} kept in this browser and sent again by themselves.` : "";
    }
  }

  customElements.define("k-sending", Sending);
})();
