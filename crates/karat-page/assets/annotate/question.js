// @ts-check
// A question of a task for people, with its answer. Nothing is chosen before the person chooses.
//
//   <k-question>   one question; says `karat-answer` when its answer changes
"use strict";
(() => {
  /** @typedef {{ id: string, text?: string }} Choice */
  /** @typedef {{ id: string, ask: string, kind: string, required: boolean, scale?: [number, number], step?: number,
   *   anchors?: { value: number, text: string }[], choices?: Choice[], categories?: Choice[] }} Asked */
  /** @typedef {{ value: any, label: string, key: string, more?: string }} Option */

  /** Values of a scale that have a button each; longer scales are typed. */
  const BUTTONS = 10;

  /** @param {string} name @param {Record<string, string>} [attributes] @param {...(Node | string)} content @returns {HTMLElement} */
  const element = (name, attributes = {}, ...content) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...content);
    return made;
  };

  /** The values of a scale with steps; none if they are too many for buttons. @param {Asked} question @returns {number[]} */
  const steps = ({ scale, step }) => {
    if (!scale || !step) return [];
    const count = Math.round((scale[1] - scale[0]) / step) + 1;
    return count > BUTTONS ? [] : Array.from({ length: count }, (_, at) => Number((scale[0] + at * step).toPrecision(12)));
  };

  /** The buttons of a question, each with the key that presses it. @param {Asked} question @returns {Option[]} */
  const options = (question) => {
    const numbered = (/** @type {number} */ at) => (at < 9 ? String(at + 1) : at === 9 ? "0" : "");
    if (question.kind === "pairwise") {
      return [
        { value: "a", label: "A is better", key: "←" }, { value: "b", label: "B is better", key: "→" },
        { value: "tie", label: "Tie", key: "↓" }, { value: "both_bad", label: "Both bad", key: "x" },
      ];
    }
    if (question.kind === "scale") {
      const values = steps(question);
      // The digit is the value where that is possible: 0 stands for ten.
      const isOwn = values.every((value) => Number.isInteger(value) && value >= 1 && value <= 10);
      return values.map((value, at) => ({
        value, label: String(value), key: isOwn ? String(value % 10) : numbered(at),
        more: question.anchors?.find((anchor) => anchor.value === value)?.text,
      }));
    }
    if (question.kind === "choice" || question.kind === "multi") {
      return (question.choices ?? []).map(({ id, text }, at) => ({ value: id, label: text ?? id, key: numbered(at) }));
    }
    return [];
  };

  class Question extends HTMLElement {
    /** @type {Asked | undefined} */
    question;
    /** The answer; `undefined` without one. @type {any} */
    value;
    number = 1;

    /** @param {Asked} question @param {number} number @param {any} value */
    show(question, number, value) {
      this.question = question;
      this.number = number;
      this.value = value;
      this.dataset.testid = "question";
      this.dataset.question = question.id;
      const legend = element("legend", {}, element("span", { class: "soft" }, `${number}. `), element("bdi", {}, question.ask));
      if (!question.required) legend.append(" ", element("span", { class: "soft small" }, "optional"));
      this.field = element("fieldset", {}, legend);
      this.options = options(question);
      if (this.options.length > 0) this.field.append(this.buttons());
      else if (question.kind === "scale") this.field.append(this.numberField());
      else if (question.kind === "text") this.field.append(this.textField());
      else if (question.kind === "spans") this.field.append(element("k-span-tools", { class: "span-tools" }));
      this.replaceChildren(this.field);
      this.update();
    }

    buttons() {
      const group = element("div", { class: this.options?.some(({ more }) => more) ? "answers tall" : "answers" });
      for (const option of this.options ?? []) {
        const button = element("button", { type: "button", "data-testid": "answer", "data-value": String(option.value), "aria-pressed": "false" });
        if (option.key) button.append(element("kbd", { "aria-hidden": "true" }, option.key), " ");
        button.append(element("bdi", {}, option.label));
        if (option.more) button.append(" ", element("span", { class: "soft small" }, element("bdi", {}, option.more)));
        button.addEventListener("click", () => this.choose(option.value));
        group.append(button);
      }
      return group;
    }

    numberField() {
      const [lo, hi] = this.question?.scale ?? [0, 0];
      const hint = `${lo} to ${hi}${this.question?.step ? ` in steps of ${this.question.step}` : ""}; type and press Enter`;
      const input = /** @type {HTMLInputElement} */ (element("input", { inputmode: "decimal", autocomplete: "off", "data-testid": "answer", "aria-label": this.question?.ask ?? "" }));
      if (this.value !== undefined) input.value = String(this.value);
      const note = element("p", { class: "soft small", role: "status" }, hint);
      input.addEventListener("input", () => {
        const text = input.value.trim().replace(",", ".");
        const value = text === "" ? NaN : Number(text);
        const place = this.question?.step ? (value - lo) / this.question.step : 0;
        const isFine = value >= lo && value <= hi && Math.abs(place - Math.round(place)) < 1e-9;
        note.textContent = text === "" || isFine ? hint : `${text} is not on the scale: ${hint}`;
        this.set(isFine ? value : undefined);
      });
      const list = element("ul", { class: "soft small" }, ...(this.question?.anchors ?? []).map(({ value, text }) => element("li", {}, `${value}: `, element("bdi", {}, text))));
      return element("div", { class: "field" }, input, note, ...(list.children.length ? [list] : []));
    }

    textField() {
      const area = /** @type {HTMLTextAreaElement} */ (element("textarea", { rows: "3", maxlength: "10000", "data-testid": "answer", "aria-label": this.question?.ask ?? "" }));
      area.value = this.value ?? "";
      area.addEventListener("input", () => this.set(area.value.trim() ? area.value : undefined));
      return area;
    }

    /** Presses the button of a key. @param {string} key @returns {boolean} */
    press(key) {
      const keys = { ArrowLeft: "←", ArrowRight: "→", ArrowDown: "↓" };
      const name = /** @type {Record<string, string>} */ (keys)[key] ?? key;
      const option = this.options?.find((option) => option.key === name);
      if (option) this.choose(option.value);
      return option !== undefined;
    }

    /** @param {any} value */
    choose(value) {
      if (this.question?.kind !== "multi") return this.set(value === this.value && !this.question?.required ? undefined : value);
      const chosen = Array.isArray(this.value) ? this.value : [];
      const next = chosen.includes(value) ? chosen.filter((each) => each !== value) : [...chosen, value];
      // Choosing nothing of several is an answer once something was pressed.
      this.set(next);
    }

    /** @param {any} value */
    set(value) {
      this.value = value;
      this.update();
      this.dispatchEvent(new CustomEvent("karat-answer", { bubbles: true }));
    }

    update() {
      const isChosen = (/** @type {string | undefined} */ value) => (Array.isArray(this.value) ? this.value.map(String).includes(value ?? "") : this.value !== undefined && String(this.value) === value);
      for (const button of this.querySelectorAll("button[data-value]")) {
        if (button instanceof HTMLElement) button.setAttribute("aria-pressed", String(isChosen(button.dataset.value)));
      }
    }

    /** Focuses what takes the answer by typing, if there is such a field. */
    enter() {
      const field = this.querySelector("input, textarea");
      if (field instanceof HTMLElement) field.focus();
      else this.scrollIntoView({ block: "nearest" });
    }
  }

  customElements.define("k-question", Question);
})();
