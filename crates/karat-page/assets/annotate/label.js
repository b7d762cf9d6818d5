// @ts-check
// The page on which a person labels: one item, its questions, everything by keyboard.
//
//   <k-annotate task="T" person="NAME">
"use strict";
(() => {
  /** @typedef {HTMLElement & { question: any, value: any, show(question: any, number: number, value: any): void, press(key: string): boolean, enter(): void, choose(value: any): void }} QuestionElement */
  /** @typedef {HTMLElement & { show(text: any, question: any, answer: any, ...more: Node[]): void }} SpanToolsElement */
  /** @typedef {HTMLElement & { spans: any[], categories: string[], isActive: boolean, snaps: boolean, chosen: any, show(text: string): void, render(): void, press(event: KeyboardEvent): boolean, mark(category: string): boolean, unmark(span: any): void, set(spans: any[]): void }} MarkedText */
  /** @typedef {HTMLElement & { waiting: any[], begin(task: string, person: string): void, ask(what: string, body: any, how?: any): Promise<{ ok: boolean, status: number, body: any } | undefined>, add(what: string, body: any): Promise<void>, flush(): Promise<void> }} Sending */

  /** Milliseconds between two drafts, and between two signs of life. */
  const DRAFT = 2000, RENEW = 60000;

  const SKIPS = [["cannot_judge", "I cannot judge it"], ["not_my_language", "Not my language"], ["broken", "It is broken"]];
  const FLAGS = [["harmful", "Harmful"], ["wrong_reference", "The reference is wrong"], ["private_data", "Private data"]];

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

  /** @param {string} key @returns {string | null} */
  const preference = (key) => { try { return localStorage.getItem(key); } catch { return null; } };

  const { readable, shown } = /** @type {any} */ (globalThis).karatTexts;

  /** What is labelled, under its name. @param {HTMLElement} text */
  const output = (text) => element("div", { class: "output" }, element("h2", {}, "Output"), text);

  /** @param {any} question @param {Record<string, any>} answers @returns {boolean} */
  const isAsked = (question, answers) => Object.entries(question.show_if ?? {}).every(([id, wanted]) => answers[id] === wanted);

  class Annotate extends HTMLElement {
    /** @type {any} */
    task;
    /** @type {any} */
    item;
    /** The item after this one, asked for ahead. @type {Promise<any> | undefined} */
    upcoming;
    /** @type {Record<string, any>} */
    answers = {};
    note = "";
    /** @type {any[]} */
    recent = [];
    current = 0;
    begun = 0;
    isDirty = false;
    isLoading = false;

    connectedCallback() {
      const name = this.getAttribute("task") ?? "";
      this.offline = /** @type {Sending} */ (element("k-sending", { class: "notice", role: "status", "data-testid": "offline", hidden: "" }));
      this.status = element("p", { class: "notice", role: "status", hidden: "" });
      this.progress = element("p", { class: "soft progress-mine", "data-testid": "progress-mine" });
      this.place = element("div", { class: "annotate" });
      this.dialog = /** @type {HTMLDialogElement} */ (element("dialog", {}));
      this.replaceChildren(this.progress, this.offline, this.status, this.place, this.dialog);
      this.offline.begin(name, this.getAttribute("person") ?? "");
      this.addEventListener("karat-sent", (event) => this.sent(/** @type {CustomEvent} */ (event).detail));
      this.addEventListener("karat-answer", (event) => this.answered(event.target));
      this.addEventListener("karat-spans", () => this.marked());
      document.addEventListener("keydown", (event) => this.key(event), true);
      setInterval(() => void this.draft(), DRAFT);
      setInterval(() => void this.renew(), RENEW);
      document.addEventListener("visibilitychange", () => { if (document.visibilityState === "visible") void this.renew(); else void this.draft(true); });
      window.addEventListener("pagehide", () => void this.draft(true));
      void this.start();
    }

    async start() {
      await this.offline?.flush();
      await this.load({});
    }

    /** Asks for an item and shows it. @param {any} wanted */
    async load(wanted) {
      this.isLoading = true;
      const answer = await this.offline?.ask("next", wanted);
      this.isLoading = false;
      if (!answer) {
        this.say("The server did not answer. This page tries again.");
        setTimeout(() => void this.load(wanted), DRAFT);
      } else if (!answer.ok) {
        this.say([answer.body.title, answer.body.detail, answer.body.hint].filter(Boolean).join(": ") || `the server answered ${answer.status}`);
      } else {
        this.say("");
        this.receive(answer.body);
      }
    }

    /** @param {any} found */
    receive(found) {
      this.task = found.task;
      this.recent = found.recent;
      this.showProgress(found.progress);
      if (found.item) return this.show(found.item);
      this.item = undefined;
      const why = found.closed ? "This task is closed." : found.progress.left > 0 ? "Others hold the last items now. Look again in ten minutes." : "There is nothing left for you here.";
      this.place?.replaceChildren(element("div", { class: "state", "data-testid": "empty-state" }, element("p", {}, `${why} Thank you: ${found.progress.done} done.`), this.tools()));
    }

    /** @param {any} progress */
    showProgress(progress) {
      if (!progress || !this.progress) return;
      const seconds = progress.median_ms == null ? "" : ` · usually ${Math.max(1, Math.round(progress.median_ms / 1000))} s`;
      const skipped = progress.skipped ? ` · ${progress.skipped} skipped` : "";
      this.progress.textContent = `${progress.done} done · ${progress.left} left${skipped}${seconds}`;
    }

    /** @param {any} item */
    show(item) {
      this.item = item;
      const kept = item.draft ?? { answers: item.answers, note: item.note };
      this.answers = { ...kept?.answers };
      this.note = kept?.note ?? "";
      this.current = 0;
      this.begun = performance.now();
      this.isDirty = false;
      this.setAttribute("data-item", item.id);
      this.render();
      this.upcoming = this.offline?.ask("next", { except: this.atHand() });
    }

    /** The items that this person needs no more: the one shown, and those whose answers are on their way. */
    atHand() { return [this.item?.id, ...(this.offline?.waiting ?? []).map((message) => message.body.item)].filter(Boolean); }

    asked() { return (this.task?.questions ?? []).filter((/** @type {any} */ question) => isAsked(question, this.answers)); }

    /** The item and its questions, from what is known of them. */
    render() {
      const item = this.item;
      const content = element("article", { class: "item", tabindex: "-1", "aria-label": "Item", "data-testid": "item" });
      for (const { name, text } of item.context ?? []) {
        const part = element("details", {}, element("summary", {}, element("bdi", {}, name)), shown(text));
        part.toggleAttribute("open", text.length < 1200);
        content.append(part);
      }
      this.text = undefined;
      if (item.text === undefined) content.append(this.pair(item));
      else if (this.task.questions.some((/** @type {any} */ question) => question.kind === "spans")) {
        this.text = /** @type {MarkedText} */ (element("k-marked-text", { class: readable(item.text) === item.text ? "text" : "text is-json", dir: "auto" }));
        content.append(output(this.text));
        this.text.show(item.text);
      } else content.append(output(shown(item.text)));
      this.form = element("div", { class: "questions" });
      const submit = button("Submit", "Enter", "submit", () => this.submit());
      submit.classList.add("primary");
      this.missing = element("p", { class: "soft small", role: "status" });
      this.noted = element("p", { class: "soft small" });
      const side = element("div", { class: "side" }, this.form, this.noted, element("div", { class: "chips" }, submit), this.missing, this.tools());
      this.place?.replaceChildren(content, side);
      this.questions();
      content.focus({ preventScroll: true });
      window.scrollTo(0, 0);
    }

    /** Two outputs; the words in which they differ are marked if that is switched on. @param {any} item */
    pair(item) {
      const isOn = preference("karat-differences") !== "off";
      const texts = [item.a, item.b].map(readable);
      const [a = "", b = ""] = texts;
      const sides = isOn ? differences(a, b) : texts.map((text) => [{ text, isOwn: false }]);
      const box = element("div", { class: "pair" });
      sides.forEach((parts, at) => {
        const text = shown(at === 0 ? item.a : item.b, ...parts.map(({ text, isOwn }) => isOwn ? element("mark", { class: "differs" }, text) : text));
        box.append(element("section", { "data-testid": at === 0 ? "pair-a" : "pair-b", "aria-label": at === 0 ? "A" : "B" }, element("h2", {}, at === 0 ? "A" : "B"), text));
      });
      return element("div", {}, this.toggle("karat-differences", "Mark differences", true, () => this.render()), box);
    }

    /** @param {string} key @param {string} label @param {boolean} isDefault @param {() => void} then */
    toggle(key, label, isDefault, then) {
      const isOn = (preference(key) ?? (isDefault ? "on" : "off")) === "on";
      const made = button(label, "", "", () => {
        try { localStorage.setItem(key, isOn ? "off" : "on"); } catch { /* the choice lasts as long as the item */ }
        then();
      });
      made.setAttribute("aria-pressed", String(isOn));
      return made;
    }

    /** The questions that are asked now. */
    questions() {
      const asked = this.asked();
      this.current = Math.min(this.current, asked.length - 1);
      this.form?.replaceChildren(...asked.map((/** @type {any} */ question, /** @type {number} */ at) => {
        const made = /** @type {QuestionElement} */ (element("k-question"));
        made.show(question, at + 1, this.answers[question.id]);
        made.addEventListener("focusin", () => this.go(at));
        made.addEventListener("click", () => this.go(at));
        if (question.kind === "spans") this.spanTools(made, question);
        return made;
      }));
      this.go(this.current);
      this.showNote();
    }

    /** @param {QuestionElement} made @param {any} question */
    spanTools(made, question) {
      const tools = /** @type {SpanToolsElement | null} */ (made.querySelector("k-span-tools"));
      if (!tools || !this.text) return;
      const text = this.text;
      text.snaps = preference("karat-words") !== "off";
      const words = this.toggle("karat-words", "Whole words", true, () => { text.snaps = preference("karat-words") !== "off"; this.questions(); });
      tools.show(text, question, this.answers[question.id], words);
    }

    /** @returns {QuestionElement[]} */
    forms() { return /** @type {QuestionElement[]} */ ([...(this.form?.children ?? [])]); }

    /** @param {number} at */
    go(at) {
      const forms = this.forms();
      this.current = Math.max(0, Math.min(forms.length - 1, at));
      forms.forEach((form, number) => form.classList.toggle("is-current", number === this.current));
      const isActive = forms[this.current]?.question.kind === "spans";
      if (this.text && this.text.isActive !== isActive) { this.text.isActive = isActive; this.text.render(); }
    }

    /** @param {EventTarget | null} target */
    answered(target) {
      const form = /** @type {QuestionElement} */ (target);
      if (form.value === undefined) delete this.answers[form.question.id]; else this.answers[form.question.id] = form.value;
      this.changed(form);
    }

    marked() {
      const form = this.forms().find((form) => form.question.kind === "spans");
      if (!form || !this.text) return;
      this.answers[form.question.id] = this.text.spans;
      this.questions();
      this.changed(form);
    }

    /** @param {QuestionElement} form */
    changed(form) {
      this.isDirty = true;
      const before = this.forms().map((form) => form.question.id).join();
      // An answer to a question that is not asked any more is no answer.
      const asked = this.asked().map((/** @type {any} */ question) => question.id);
      for (const id of Object.keys(this.answers)) if (!asked.includes(id)) delete this.answers[id];
      if (asked.join() !== before) this.questions();
      const missing = this.firstMissing();
      if (this.missing) this.missing.textContent = "";
      const isButton = !["text", "spans"].includes(form.question.kind) && form.querySelector("button");
      if (!isButton || this.answers[form.question.id] === undefined) return;
      if (missing >= 0) this.go(missing);
      else if (preference("karat-advance") === "on") this.submit();
    }

    firstMissing() { return this.asked().findIndex((/** @type {any} */ question) => question.required && this.answers[question.id] === undefined); }

    submit() {
      if (!this.item || this.isLoading) return;
      const missing = this.firstMissing();
      if (missing >= 0) {
        this.go(missing);
        this.forms()[missing]?.enter();
        if (this.missing) this.missing.textContent = `Question ${missing + 1} has no answer yet.`;
        return;
      }
      const ms = Math.round(performance.now() - this.begun);
      void this.offline?.add("labels", { item: this.item.id, answers: this.answers, note: this.note, ms, client: "page" });
      void this.advance();
    }

    /** Shows the item that was asked for ahead. */
    async advance() {
      const done = this.item?.id;
      this.isLoading = true;
      this.isDirty = false;
      const found = await this.upcoming;
      this.isLoading = false;
      if (found?.ok && found.body.item && found.body.item.id !== done) this.receive(found.body);
      else {
        await this.offline?.flush();
        await this.load({ except: this.atHand() });
      }
    }

    /** @param {{ message: any, answer: any }} sent */
    sent({ message, answer }) {
      if (!answer.ok) return this.say(`An answer was not kept: ${[answer.body.detail ?? answer.body.title, answer.body.hint].filter(Boolean).join("; ")}`);
      this.showProgress(answer.body.progress);
      if (answer.body.message) this.say(answer.body.message);
      if (message.what === "labels") this.recent = [{ item: message.body.item, answers: message.body.answers, excerpt: "" }, ...this.recent.filter((each) => each.item !== message.body.item)].slice(0, 50);
    }

    /** @param {string} text @param {string} [name] */
    say(text, name) {
      if (!this.status) return;
      this.status.replaceChildren(.../** @type {any} */ (globalThis).karatWithCode(text));
      this.status.toggleAttribute("hidden", !text);
      if (name) this.status.dataset.testid = name; else delete this.status.dataset.testid;
    }

    /** Keeps unsubmitted answers on the server. @param {boolean} [isLeaving] */
    async draft(isLeaving = false) {
      if (!this.item || !this.isDirty) return;
      this.isDirty = false;
      const answer = await this.offline?.ask("draft", { item: this.item.id, answers: this.answers, note: this.note }, { keepalive: isLeaving });
      if (!answer) this.isDirty = true;
      else this.renewed(answer);
    }

    async renew() {
      if (!this.item || document.visibilityState !== "visible") return;
      const answer = await this.offline?.ask("draft", { item: this.item.id });
      if (answer) this.renewed(answer);
    }

    /** @param {any} answer */
    renewed(answer) {
      if (answer.body.item !== this.item?.id) return;
      if (answer.body.state === "lost") this.say("Another person has taken this item over. You can submit all the same: your answer is kept.", "lease-lost");
      if (answer.body.state === "closed") this.say("This task was closed. Nothing more can be submitted.");
    }

    tools() {
      const guidelines = this.task?.guidelines ? [button("Guidelines", "g", "guidelines", () => this.guidelines())] : [];
      const own = this.item ? [
        button("Skip", "s", "skip", () => this.reason("skip", "Skip this item", SKIPS)), button("Flag", "f", "flag", () => this.reason("flag", "Flag this item for the owner", FLAGS)),
        button("Note", "n", "note", () => this.writeNote()), this.toggle("karat-advance", "Submit after the last answer", false, () => this.render()),
      ] : [];
      return element("div", { class: "chips tools" }, ...own, button("Undo", "u", "undo", () => void this.undo()), button("History", "h", "history", () => this.history()), ...guidelines);
    }

    async undo() {
      await this.offline?.flush();
      const answer = await this.offline?.ask("undo", {});
      if (!answer?.ok) return this.say(answer?.body.detail ?? answer?.body.title ?? "The server did not answer.");
      this.showProgress(answer.body.progress);
      await this.load({ item: answer.body.item });
      this.say("Your last label was taken back. It counts again when you submit it.");
    }

    /** @param {string} title @param {...Node} content */
    ask(title, ...content) {
      const close = button("Close", "Esc", "", () => this.dialog?.close());
      this.dialog?.replaceChildren(element("h2", {}, title), ...content, element("div", { class: "chips" }, close));
      this.dialog?.setAttribute("aria-label", title);
      this.dialog?.showModal();
    }

    /** @param {string} what @param {string} title @param {string[][]} reasons */
    reason(what, title, reasons) {
      const buttons = reasons.map(([name, text], at) => button(text ?? "", String(at + 1), "", () => {
        this.dialog?.close();
        if (!this.item) return;
        void this.offline?.add(what, { item: this.item.id, reason: name, note: this.note });
        void this.advance();
      }));
      this.ask(title, element("div", { class: "answers tall" }, ...buttons));
    }

    writeNote() {
      const area = /** @type {HTMLTextAreaElement} */ (element("textarea", { rows: "4", "aria-label": "Note to the owner" }));
      area.value = this.note;
      area.addEventListener("input", () => { this.note = area.value; this.isDirty = true; this.showNote(); });
      this.ask("Note to the owner", area);
      area.focus();
    }

    showNote() { if (this.noted) this.noted.textContent = this.note ? `Note: ${this.note}` : ""; }

    guidelines() { this.ask("Guidelines", element("pre", { class: "text" }, element("bdi", {}, this.task?.guidelines ?? ""))); }

    history() {
      const rows = this.recent.map((label) => {
        const words = `${label.excerpt ? `${label.excerpt.slice(0, 60)} · ` : ""}${Object.entries(label.answers).map(([id, answer]) => `${id}: ${Array.isArray(answer) ? answer.length : answer}`).join(", ")}`;
        return element("li", {}, button(words, "", "", () => { this.dialog?.close(); void this.load({ item: label.item }); }));
      });
      this.ask("Your last labels", rows.length ? element("ol", { class: "plain" }, ...rows) : element("p", {}, "None yet."));
    }

    /** @param {KeyboardEvent} event */
    key(event) {
      const target = event.target instanceof HTMLElement ? event.target : document.body;
      if (preference("karat-keys") === "off" || event.altKey || event.metaKey) return;
      const dialog = document.querySelector("dialog[open]");
      const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
      if (dialog) {
        const chosen = !isTyping && dialog === this.dialog ? [...dialog.querySelectorAll(".answers button")].find((each) => each.querySelector("kbd")?.textContent === event.key) : undefined;
        if (chosen instanceof HTMLElement) { event.preventDefault(); chosen.click(); }
        return;
      }
      const form = this.forms()[this.current];
      if (isTyping) {
        if (event.key === "Escape") target.blur();
        else if (event.key === "Enter" && target.tagName === "INPUT") { event.preventDefault(); target.blur(); this.submit(); }
        else return;
        return event.stopPropagation();
      }
      if (event.key === "Enter" && /^(BUTTON|A|SUMMARY)$/.test(target.tagName) && !target.matches("[data-testid=answer]")) return;
      if (this.act(event, form)) {
        event.preventDefault();
        event.stopPropagation();
      }
    }

    /** @param {KeyboardEvent} event @param {QuestionElement | undefined} form @returns {boolean} */
    act(event, form) {
      const acts = { s: () => this.reason("skip", "Skip this item", SKIPS), f: () => this.reason("flag", "Flag this item for the owner", FLAGS), n: () => this.writeNote(), u: () => void this.undo(), h: () => this.history(), g: () => this.task?.guidelines && this.guidelines() };
      if (form?.question.kind === "spans" && this.text) {
        const category = form.question.categories[Number(event.key) - 1];
        if (category) return this.text.mark(category.id);
        if (this.text.press(event)) return true;
      }
      if (event.ctrlKey) return false;
      if (form?.press(event.key)) return true;
      if (event.key === "ArrowDown" || event.key === "ArrowUp") { this.step(event.key === "ArrowDown" ? 1 : -1); return true; }
      if (event.key === "Enter") { this.submit(); return true; }
      if (form && /^[0-9.,-]$/.test(event.key) && form.question.kind === "scale") { form.enter(); return false; }
      const act = this.item || ["u", "h"].includes(event.key) ? /** @type {Record<string, () => void>} */ (acts)[event.key] : undefined;
      if (act) act();
      return act !== undefined;
    }

    /** @param {number} step */
    step(step) {
      this.go(this.current + step);
      const form = this.forms()[this.current];
      if (form && form.querySelector("input, textarea")) form.enter(); else { /** @type {HTMLElement | null} */ (this.querySelector("article"))?.focus({ preventScroll: true }); form?.scrollIntoView({ block: "nearest" }); }
    }
  }

  /** Words of two texts, with those that only one of them has. Long texts are not compared.
   * @param {string} a @param {string} b @returns {{ text: string, isOwn: boolean }[][]} */
  const differences = (a, b) => {
    const [one, two] = [a, b].map((text) => text.split(/(\s+)/u));
    if (!one || !two || one.length * two.length > 4_000_000) return [[{ text: a, isOwn: false }], [{ text: b, isOwn: false }]];
    const width = two.length + 1;
    const lengths = new Uint32Array((one.length + 1) * width);
    for (let at = one.length - 1; at >= 0; at -= 1) {
      for (let other = two.length - 1; other >= 0; other -= 1) {
        lengths[at * width + other] = one[at] === two[other] ? (lengths[(at + 1) * width + other + 1] ?? 0) + 1 : Math.max(lengths[(at + 1) * width + other] ?? 0, lengths[at * width + other + 1] ?? 0);
      }
    }
    /** @type {{ text: string, isOwn: boolean }[]} */
    const left = [], /** @type {{ text: string, isOwn: boolean }[]} */ right = [];
    let [at, other] = [0, 0];
    while (at < one.length || other < two.length) {
      if (at < one.length && other < two.length && one[at] === two[other]) {
        left.push({ text: one[at++] ?? "", isOwn: false });
        right.push({ text: two[other++] ?? "", isOwn: false });
      } else if (other >= two.length || (at < one.length && (lengths[(at + 1) * width + other] ?? 0) >= (lengths[at * width + other + 1] ?? 0))) left.push({ text: one[at++] ?? "", isOwn: true });
      else right.push({ text: two[other++] ?? "", isOwn: true });
    }
    return [left, right];
  };

  document.addEventListener("DOMContentLoaded", () => customElements.define("k-annotate", Annotate));
})();
