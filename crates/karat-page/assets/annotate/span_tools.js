// @ts-check
// The categories with which spans of a text are marked, and the spans that are marked so far.
//
//   <k-span-tools>   within a <k-question>, whose answer is the empty list after "Nothing to mark"
"use strict";
(() => {
  /** @typedef {{ start: number, end: number, category: string, quote: string }} Span */
  /** @typedef {HTMLElement & { spans: Span[], categories: string[], mark(category: string): boolean, unmark(span: Span): void }} MarkedText */
  /** @typedef {{ id: string, categories: { id: string, text?: string }[] }} SpanQuestion */

  /** @param {string} name @param {Record<string, string>} [attributes] @param {...(Node | string)} content @returns {HTMLElement} */
  const element = (name, attributes = {}, ...content) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...content);
    return made;
  };

  /** @param {string} label @param {string} key @param {Record<string, string>} attributes @param {() => void} act @returns {HTMLElement} */
  const button = (label, key, attributes, act) => {
    const made = element("button", { type: "button", ...attributes }, ...(key ? [element("kbd", { "aria-hidden": "true" }, key), " "] : []), label);
    made.addEventListener("click", act);
    return made;
  };

  class SpanTools extends HTMLElement {
    /** Shows the tools of a question and the spans of its answer. @param {MarkedText} text @param {SpanQuestion} question @param {Span[] | undefined} answer @param {...Node} more */
    show(text, question, answer, ...more) {
      text.categories = question.categories.map(({ id }) => id);
      text.spans = [...(answer ?? [])];
      const categories = question.categories.map(({ id, text: words }, at) =>
        button(words ?? id, String(at + 1), { "data-testid": "answer", "data-value": id, class: `category-${(at % 6) + 1}` }, () => text.mark(id)));
      const spans = text.spans.map((span) => {
        const remove = button("Remove", "Del", { "aria-label": `Remove ${span.category}: ${span.quote}` }, () => text.unmark(span));
        remove.addEventListener("keydown", (event) => {
          if (event.key !== "Delete" && event.key !== "Backspace") return;
          event.preventDefault();
          event.stopPropagation();
          text.unmark(span);
        });
        return element("li", {}, element("q", {}, element("bdi", {}, span.quote)), " ", element("span", { class: "soft" }, span.category), " ", remove);
      });
      const isNothing = answer !== undefined && text.spans.length === 0;
      const none = button("Nothing to mark", "", { "aria-pressed": String(isNothing) }, () => {
        /** @type {(HTMLElement & { choose(value: any): void }) | null} */ (this.closest("k-question"))?.choose([]);
      });
      this.replaceChildren(
        element("div", { class: "answers" }, ...categories), element("ul", { class: "span-list" }, ...spans),
        element("div", { class: "chips" }, none, ...more), element("p", { class: "soft small" }, "Select text, or Space and Shift+arrows, then a number."));
    }
  }

  customElements.define("k-span-tools", SpanTools);
})();
