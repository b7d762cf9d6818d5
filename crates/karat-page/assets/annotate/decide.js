// @ts-check
// The page on which the owner decides: own answers first, then those of the people, then the decision.
//
//   <k-adjudicate task="T" person="NAME">
"use strict";
(() => {
  /** @typedef {HTMLElement & { question: any, value: any, show(question: any, number: number, value: any): void, press(key: string): boolean, enter(): void }} QuestionElement */

  /** @typedef {HTMLElement & { spans: any[], chosen: any, isActive: boolean, show(text: string): void, render(): void, press(event: KeyboardEvent): boolean, mark(category: string): boolean }} MarkedText */
  /** @typedef {HTMLElement & { show(text: any, question: any, answer: any, ...more: Node[]): void }} SpanToolsElement */

  /** @param {string} name @param {Record<string, string>} [attributes] @param {...(Node | string)} content @returns {HTMLElement} */
  const element = (name, attributes = {}, ...content) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...content);
    return made;
  };

  /** @param {string} label @param {string} key @param {string} name @param {() => void} act @returns {HTMLElement} */
  const button = (label, key, name, act) => {
    const made = element("button", { type: "button", ...(name ? { "data-testid": name } : {}) }, ...(key ? [element("kbd", { "aria-hidden": "true" }, key), " "] : []), label);
    made.addEventListener("click", act);
    return made;
  };

  const { readable, shown } = /** @type {any} */ (globalThis).karatTexts;

  /** @param {any} answer @returns {string} */
  const words = (answer) => {
    if (answer === undefined) return "–";
    if (!Array.isArray(answer)) return String(answer);
    return answer.length ? answer.map((each) => (each.quote ? `“${each.quote}” ${each.category}` : String(each))).join(", ") : "nothing";
  };

  class Adjudicate extends HTMLElement {
    /** @type {any[]} */
    waiting = [];
    at = 0;
    /** @type {Record<string, any>} */
    answers = {};
    /** @type {any[] | undefined} */
    labels;
    isTaking = false;
    /** The text in which spans are marked. @type {MarkedText | undefined} */
    text;

    connectedCallback() {
      this.base = `/annotations/${encodeURIComponent(this.getAttribute("task") ?? "")}`;
      const person = this.getAttribute("person");
      this.query = person ? `?as=${encodeURIComponent(person)}` : "";
      this.status = element("p", { class: "notice", role: "status", hidden: "" });
      this.place = element("div", {});
      this.replaceChildren(this.status, this.place);
      this.addEventListener("karat-answer", (event) => {
        const form = /** @type {QuestionElement} */ (event.target);
        if (form.value === undefined) delete this.answers[form.question.id]; else this.answers[form.question.id] = form.value;
        this.questions();
      });
      this.addEventListener("karat-spans", () => this.marked());
      document.addEventListener("keydown", (event) => this.key(event), true);
      void this.load();
    }

    /** @param {string} path @param {any} [body] @returns {Promise<any>} */
    async ask(path, body) {
      const how = body ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) } : {};
      const answer = await fetch((this.base ?? "") + path + (body ? this.query : ""), how).catch(() => undefined);
      const found = await answer?.json().catch(() => undefined);
      if (answer?.ok) { this.say(""); return found; }
      this.say([found?.title, found?.detail, found?.hint].filter(Boolean).join(": ") || "The server did not answer. Try again.");
      return undefined;
    }

    /** @param {string} text */
    say(text) {
      if (!this.status) return;
      this.status.replaceChildren(.../** @type {any} */ (globalThis).karatWithCode(text));
      this.status.toggleAttribute("hidden", !text);
    }

    async load() {
      const task = await this.ask("");
      if (!task) return;
      this.task = task;
      const seen = new Set(task.with_owner.map((/** @type {any} */ item) => item.item));
      this.waiting = [...task.with_owner, ...task.adjudication.filter((/** @type {any} */ item) => !seen.has(item.item))];
      this.at = 0;
      this.show();
    }

    show() {
      const item = this.waiting[this.at];
      this.answers = {};
      this.labels = undefined;
      if (!item) {
        this.place?.replaceChildren(element("p", { class: "state", "data-testid": "empty-state" }, this.waiting.length ? "That was the last one." : "Nothing waits for a decision."));
        return;
      }
      const article = element("article", { class: "item", tabindex: "-1", "aria-label": "Item", "data-testid": "adjudicate-item" });
      const reasons = [...(item.why.flags ?? []), ...(item.why.skips ?? [])].map((/** @type {any} */ it) => `${it.reason.replaceAll("_", " ")}${it.note ? `: ${it.note}` : ""}`);
      article.append(element("p", { class: "soft" }, `${this.at + 1} of ${this.waiting.length} · ${item.labels} ${item.labels === 1 ? "label" : "labels"}${reasons.length ? ` · ${item.why.flags ? "flagged" : "skipped"}: ${reasons.join("; ")}` : ""}`));
      for (const { name, text } of item.context ?? []) article.append(element("details", text.length < 1200 ? { open: "" } : {}, element("summary", {}, element("bdi", {}, name)), shown(text)));
      this.text = undefined;
      item.texts.forEach((/** @type {string} */ text, /** @type {number} */ at) => {
        const name = item.texts.length === 1 ? "Output" : at === 0 ? "A" : "B";
        const whole = this.spanQuestion() ? this.marking(text) : shown(text);
        article.append(element("div", { class: "output" }, element("h2", {}, name), whole));
      });
      this.form = element("div", { class: "questions" });
      this.shown = element("div", {});
      this.note = /** @type {HTMLTextAreaElement} */ (element("textarea", { rows: "2", "aria-label": "Reason of the decision", placeholder: "Reason of the decision" }));
      const next = this.at + 1 < this.waiting.length ? [button("Later", "l", "next", () => { this.at += 1; this.show(); })] : [];
      const back = button("Hand out again", "", "", async () => { if (await this.ask("/adjudicate", { item: item.item, requeue: true })) this.after(); });
      this.place?.replaceChildren(element("div", { class: "annotate" }, article, element("div", { class: "side" }, this.form, this.shown, this.note, element("div", { class: "chips" }, ...next, back))));
      this.questions();
      article.focus({ preventScroll: true });
    }

    spanQuestion() { return this.task.questions.find((/** @type {any} */ question) => question.kind === "spans"); }

    /** @param {string} text @returns {HTMLElement} */
    marking(text) {
      this.text = /** @type {MarkedText} */ (element("k-marked-text", { class: readable(text) === text ? "text" : "text is-json", dir: "auto" }));
      this.text.show(text);
      return this.text;
    }

    marked() {
      if (!this.text) return;
      this.answers[this.spanQuestion().id] = this.text.spans;
      this.questions();
    }

    /** Shows the spans of the own answer, if they are asked for. */
    showSpans() {
      const question = this.spanQuestion();
      const form = this.forms().find((form) => form.question.kind === "spans");
      if (!this.text) return;
      this.text.isActive = form !== undefined;
      const tools = /** @type {SpanToolsElement | null | undefined} */ (form?.querySelector("k-span-tools"));
      tools?.show(this.text, question, this.answers[question.id]);
      if (!form) this.text.spans = [];
      this.text.render();
    }

    /** @returns {QuestionElement[]} */
    forms() { return /** @type {QuestionElement[]} */ ([...(this.form?.children ?? [])]); }

    questions() {
      const isAsked = (/** @type {any} */ question) => Object.entries(question.show_if ?? {}).every(([id, wanted]) => this.answers[id] === wanted);
      const asked = this.task.questions.filter((/** @type {any} */ question) => isAsked(question));
      for (const id of Object.keys(this.answers)) if (!asked.some((/** @type {any} */ question) => question.id === id)) delete this.answers[id];
      const isSame = this.forms().map((form) => form.question.id).join() === asked.map((/** @type {any} */ question) => question.id).join();
      if (!isSame) {
        this.form?.replaceChildren(...asked.map((/** @type {any} */ question, /** @type {number} */ at) => {
          const made = /** @type {QuestionElement} */ (element("k-question"));
          made.show(question, at + 1, this.answers[question.id]);
          return made;
        }));
      }
      this.missing = asked.filter((/** @type {any} */ question) => question.required && this.answers[question.id] === undefined);
      this.showSpans();
      this.showDecision();
    }

    showDecision() {
      const isComplete = (this.missing ?? []).length === 0;
      if (!this.labels) {
        const see = button("See what people said", "Enter", "", () => void this.see());
        if (!isComplete) see.setAttribute("disabled", "");
        this.shown?.replaceChildren(element("div", { class: "chips" }, see), element("p", { class: "soft small" }, isComplete ? "" : "Answer first: then you see what people said."));
        return;
      }
      const people = this.labels.map((label) => {
        const facts = this.task.questions.map((/** @type {any} */ question) => element("li", {}, element("span", { class: "soft" }, `${question.id}: `), element("bdi", {}, words(label.answers[question.id]))));
        const note = label.note ? [element("p", { class: "soft" }, element("bdi", {}, label.note))] : [];
        return element("section", { "data-testid": `person-${label.person}`, "aria-label": `Person ${label.person}` }, element("h3", {}, `Person ${label.person}`), element("ul", { class: "plain" }, ...facts), ...note,
          button(`Take ${label.person}`, `a ${label.person}`, "", () => void this.settle({ take: label.person })));
      });
      const own = button("Settle with my answers", "Enter", "settle", () => void this.settle({ answers: this.answers }));
      own.classList.add("primary");
      if (!isComplete) own.setAttribute("disabled", "");
      this.shown?.replaceChildren(...(this.isLabelled ? [element("p", { class: "notice" }, "You labelled this item yourself: one of these is yours.")] : []), ...people, element("div", { class: "chips" }, own));
    }

    async see() {
      const item = this.waiting[this.at];
      const found = await this.ask("/adjudicate", { item: item.item, answers: this.answers });
      if (!found) return;
      this.labels = found.labels;
      this.isLabelled = found.labelled_by_you;
      this.showDecision();
    }

    /** @param {any} decision */
    async settle(decision) {
      const item = this.waiting[this.at];
      if (await this.ask("/adjudicate", { item: item.item, ...decision, note: this.note?.value ?? "", confirm: true })) this.after();
    }

    after() {
      this.waiting.splice(this.at, 1);
      this.at = Math.min(this.at, Math.max(0, this.waiting.length - 1));
      this.show();
    }

    /** A key for the text, where spans are asked for, else for the question. @param {KeyboardEvent} event @param {HTMLElement} target @param {QuestionElement | undefined} current @returns {boolean} */
    press(event, target, current) {
      if (this.text?.isActive && target.tagName !== "BUTTON") {
        const category = this.text.chosen && this.spanQuestion().categories[Number(event.key) - 1];
        if (category) return this.text.mark(category.id);
        if (this.text.press(event)) return true;
      }
      return current?.press(event.key) ?? false;
    }

    /** @param {KeyboardEvent} event */
    key(event) {
      const target = event.target instanceof HTMLElement ? event.target : document.body;
      let isOff = false;
      try { isOff = localStorage.getItem("karat-keys") === "off"; } catch { /* keys stay on */ }
      if (isOff || (event.ctrlKey && !this.text?.chosen) || event.altKey || event.metaKey || document.querySelector("dialog[open]") || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return;
      const forms = this.forms();
      const current = forms.find((form) => this.answers[form.question.id] === undefined) ?? forms[forms.length - 1];
      const isTaking = this.isTaking;
      this.isTaking = event.key === "a" && this.labels !== undefined;
      let isDone = true;
      if (isTaking && this.labels?.some((label) => String(label.person) === event.key)) void this.settle({ take: Number(event.key) });
      else if (event.key === "Enter" && target.tagName !== "BUTTON") /** @type {HTMLElement | null} */ (this.shown?.querySelector("button.primary") ?? this.shown?.querySelector("button"))?.click();
      else if (event.key === "l") /** @type {HTMLElement | null} */ (this.querySelector("[data-testid=next]"))?.click();
      else if (!this.isTaking) isDone = this.press(event, target, current);
      if (isDone) { event.preventDefault(); event.stopPropagation(); }
    }
  }

  document.addEventListener("DOMContentLoaded", () => customElements.define("k-adjudicate", Adjudicate));
})();
