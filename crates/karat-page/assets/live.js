// @ts-check
// A run while it runs: replaces texts as events come. The server writes every text; nothing here is read as markup.
(() => {
  "use strict";

  /** Failed connections in a row after which the page asks now and then, instead of keeping a connection open. */
  const FAILURES = 3;
  const POLL_MS = 5000;
  /** Screen readers hear at most one summary in this time. */
  const ANNOUNCE_MS = 10000;

  class Live extends HTMLElement {
    connectedCallback() {
      this.failures = 0;
      this.announced = 0;
      this.rows = this.querySelectorAll("tbody tr");
      this.addCancel();
      if (this.dataset.events) this.connect();
    }

    disconnectedCallback() {
      this.source?.close();
    }

    connect() {
      const source = new EventSource(this.dataset.events ?? "");
      this.source = source;
      source.addEventListener("open", () => { this.failures = 0; this.show("connection", "live"); });
      source.addEventListener("progress", (event) => this.progress(JSON.parse(event.data)));
      source.addEventListener("cell", (event) => this.cell(JSON.parse(event.data)));
      source.addEventListener("end", () => { source.close(); location.reload(); });
      source.addEventListener("error", () => this.fail(source));
    }

    /** @param {EventSource} source */
    fail(source) {
      this.failures = (this.failures ?? 0) + 1;
      this.show("connection", "reconnecting");
      // A browser gives up by itself when the server refuses.
      if (this.failures < FAILURES && source.readyState !== EventSource.CLOSED) return;
      source.close();
      this.show("connection", "no connection; asking every 5 seconds");
      const timer = setInterval(async () => {
        const answer = await fetch(location.href, { method: "HEAD" }).catch(() => undefined);
        if (!answer) return;
        clearInterval(timer);
        location.reload();
      }, POLL_MS);
    }

    /** @param {string} name @param {string} text */
    show(name, text) {
      const place = this.querySelector(`[data-live="${name}"]`);
      if (place && place.textContent !== text) place.textContent = text;
    }

    /** @param {{ done: number, planned: number, texts?: Record<string, string> }} progress */
    progress({ done, planned, texts = {} }) {
      const bar = this.querySelector("progress");
      if (bar) { bar.max = Math.max(planned, 1); bar.value = done; }
      for (const [name, text] of Object.entries(texts)) this.show(name, text);
      const region = this.querySelector("[data-live-region]");
      if (region && texts.summary && Date.now() - (this.announced ?? 0) >= ANNOUNCE_MS) {
        this.announced = Date.now();
        region.textContent = texts.summary;
      }
    }

    /** Moves all rows down by one and writes the first. @param {{ cell: number, texts?: string[] }} cell */
    cell({ cell, texts = [] }) {
      const rows = [...(this.rows ?? [])];
      for (let at = rows.length - 1; at > 0; at--) {
        const [from, to] = [rows[at - 1], rows[at]];
        [...(to?.children ?? [])].forEach((place, column) => {
          const source = from?.children[column];
          if (column > 0) place.textContent = source?.textContent ?? "";
          else place.replaceChildren(...[...(source?.childNodes ?? [])].map((node) => node.cloneNode(true)));
        });
      }
      const [number, ...others] = rows[0]?.children ?? [];
      const link = document.createElement("a");
      link.href = `${this.dataset.cell ?? ""}${Number(cell)}`;
      link.textContent = String(cell);
      number?.replaceChildren(link);
      others.forEach((place, column) => { place.textContent = texts[column] ?? ""; });
    }

    /** Cancelling asks once. */
    addCancel() {
      const [ask, question, confirm, keep] = ["ask", "question", "confirm", "keep"].map((name) => this.querySelector(`[data-${name}]`));
      if (!(ask instanceof HTMLElement && question instanceof HTMLElement && confirm instanceof HTMLElement && keep instanceof HTMLElement)) return;
      ask.addEventListener("click", () => { question.hidden = false; keep.focus(); });
      keep.addEventListener("click", () => { question.hidden = true; ask.focus(); });
      confirm.addEventListener("click", async () => {
        question.hidden = true;
        ask.hidden = true;
        this.show("cancelled", "stopping after the calls in flight");
        const request = { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" };
        const answer = await fetch(this.dataset.cancel ?? "", request).catch(() => undefined);
        if (!answer?.ok) { ask.hidden = false; this.show("cancelled", "the run could not be stopped: try again"); }
      });
    }
  }

  document.addEventListener("DOMContentLoaded", () => customElements.define("k-live", Live));
})();
