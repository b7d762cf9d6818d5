// @ts-check
// A text whose parts people mark. Offsets count Unicode scalar values, as the server does.
//
//   <k-marked-text>   the text; says `karat-spans` when its spans change
"use strict";
(() => {
  /** @typedef {{ start: number, end: number, category: string, quote: string }} Span */

  /** Levels of underlines that have a place of their own. */
  const LEVELS = 4;

  class MarkedText extends HTMLElement {
    /** Scalar values of the text. @type {string[]} */
    chars = [];
    /** @type {{ start: number, end: number }[]} */
    words = [];
    /** @type {Span[]} */
    spans = [];
    /** @type {string[]} */
    categories = [];
    /** The part that is being marked. @type {{ start: number, end: number } | undefined} */
    chosen;
    /** The word at which the keyboard is. */
    caret = 0;
    snaps = true;
    isActive = false;

    /** @param {string} text */
    show(text) {
      this.chars = [...text];
      this.words = [];
      const places = [0];
      for (const char of this.chars) places.push((places[places.length - 1] ?? 0) + char.length);
      const scalar = new Map(places.map((unit, at) => [unit, at]));
      for (const { index, segment, isWordLike } of new Intl.Segmenter(undefined, { granularity: "word" }).segment(text)) {
        if (isWordLike) this.words.push({ start: scalar.get(index) ?? 0, end: scalar.get(index + segment.length) ?? 0 });
      }
      this.spans = [];
      this.chosen = undefined;
      this.caret = 0;
      this.render();
    }

    connectedCallback() {
      this.addEventListener("mouseup", () => this.takeSelection());
      this.addEventListener("touchend", () => setTimeout(() => this.takeSelection(), 0));
    }

    /** @param {number} start @param {number} end */
    text(start, end) { return this.chars.slice(start, end).join(""); }

    /** Takes what was selected by mouse or touch. */
    takeSelection() {
      const selection = getSelection();
      if (!this.isActive || !selection || selection.isCollapsed || selection.rangeCount === 0) return;
      const range = selection.getRangeAt(0);
      if (!this.contains(range.startContainer) || !this.contains(range.endContainer)) return;
      const before = (/** @type {Node} */ node, /** @type {number} */ offset) => {
        const part = document.createRange();
        part.setStart(this, 0);
        part.setEnd(node, offset);
        return [...part.toString()].length;
      };
      this.choose(before(range.startContainer, range.startOffset), before(range.endContainer, range.endOffset));
      selection.removeAllRanges();
    }

    /** Chooses a part, without blanks at its ends; whole words if that is switched on. @param {number} start @param {number} end */
    choose(start, end) {
      while (start < end && /\s/u.test(this.chars[start] ?? "")) start += 1;
      while (end > start && /\s/u.test(this.chars[end - 1] ?? "")) end -= 1;
      if (this.snaps) {
        start = this.words.find((word) => word.start < start && word.end > start)?.start ?? start;
        end = this.words.find((word) => word.start < end && word.end > end)?.end ?? end;
      }
      this.chosen = end > start ? { start, end } : undefined;
      this.render();
    }

    /** Acts on a key while spans are asked for. @param {KeyboardEvent} event @returns {boolean} */
    press(event) {
      const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      const word = this.words[this.caret];
      if (event.key === " " && word) {
        this.chosen = this.chosen ? undefined : { ...word };
      } else if (step && event.shiftKey && this.chosen) {
        const { start, end } = this.chosen;
        let next = end + step;
        if (!event.ctrlKey) {
          const ends = step > 0 ? this.words.filter((word) => word.end > end) : this.words.filter((word) => word.end < end && word.end > start).reverse();
          next = ends[0]?.end ?? end;
        }
        this.chosen = { start, end: Math.max(start + 1, Math.min(this.chars.length, next)) };
      } else if (step && !event.shiftKey) {
        this.caret = Math.max(0, Math.min(this.words.length - 1, this.caret + step));
        this.chosen = undefined;
      } else {
        return false;
      }
      this.render();
      this.querySelector(".caret")?.scrollIntoView({ block: "nearest" });
      return true;
    }

    /** Marks the chosen part. @param {string} category @returns {boolean} */
    mark(category) {
      if (!this.chosen) return false;
      const { start, end } = this.chosen;
      const isThere = this.spans.some((span) => span.start === start && span.end === end && span.category === category);
      this.chosen = undefined;
      if (!isThere) this.set([...this.spans, { start, end, category, quote: this.text(start, end) }]);
      else this.render();
      return true;
    }

    /** @param {Span} span */
    unmark(span) { this.set(this.spans.filter((each) => each !== span)); }

    /** @param {Span[]} spans */
    set(spans) {
      this.spans = [...spans].sort((a, b) => a.start - b.start || a.end - b.end);
      this.render();
      this.dispatchEvent(new CustomEvent("karat-spans", { bubbles: true }));
    }

    render() {
      const caret = this.isActive ? this.words[this.caret] : undefined;
      const edges = new Set([0, this.chars.length]);
      for (const part of [...this.spans, ...(this.chosen ? [this.chosen] : []), ...(caret ? [caret] : [])]) {
        edges.add(part.start);
        edges.add(part.end);
      }
      const places = [...edges].sort((a, b) => a - b);
      const pieces = places.slice(1).map((end, at) => this.piece(places[at] ?? 0, end, caret));
      this.replaceChildren(...pieces);
    }

    /** @param {number} start @param {number} end @param {{ start: number, end: number } | undefined} caret @returns {Node} */
    piece(start, end, caret) {
      /** @type {Node} */
      let piece = document.createTextNode(this.text(start, end));
      const within = (/** @type {{ start: number, end: number }} */ part) => part.start <= start && part.end >= end;
      this.spans.filter(within).forEach((span, level) => {
        const mark = document.createElement("mark");
        const category = Math.max(0, this.categories.indexOf(span.category));
        mark.className = `marked category-${(category % 6) + 1} level-${Math.min(level, LEVELS - 1)}`;
        mark.dataset.testid = "span";
        mark.title = span.category;
        mark.append(piece);
        piece = mark;
      });
      if (this.chosen && within(this.chosen)) piece = wrap(piece, "chosen");
      if (caret && within(caret)) piece = wrap(piece, "caret");
      return piece;
    }
  }

  /** @param {Node} piece @param {string} name */
  const wrap = (piece, name) => {
    const around = document.createElement("span");
    around.className = name;
    around.append(piece);
    return around;
  };

  customElements.define("k-marked-text", MarkedText);
})();
