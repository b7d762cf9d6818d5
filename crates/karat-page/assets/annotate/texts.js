// @ts-check
// Texts of the pages on which people label and decide.
"use strict";
(() => {
  /** JSON as indented lines, its numbers as they are written; any other text as it is. @param {string} text @returns {string} */
  const readable = (text) => {
    if (!/^\s*[[{]/.test(text)) return text;
    /** Where a browser does not tell how a number is written, it could show another one. @param {any} _ @param {any} value @param {any} [context] */
    const asWritten = (_, value, context) => {
      if (typeof value !== "number") return value;
      if (context?.source === undefined) throw new Error("no source");
      return context.source;
    };
    /** @param {any} value @param {string} indent @returns {string[]} */
    const lines = (value, indent) => Object.entries(value).flatMap(([name, part]) => {
      const label = Array.isArray(value) ? "-" : `${name}:`;
      const isNested = part !== null && typeof part === "object" && Object.keys(part).length > 0;
      return isNested ? [`${indent}${label}`, ...lines(part, `${indent}  `)] : [`${indent}${label} ${typeof part === "object" ? JSON.stringify(part) : part}`];
    });
    try { return lines(JSON.parse(text, asWritten), "").join("\n") || text; } catch { return text; }
  };

  /** A text to read: JSON in the font and size of code. @param {string} text @param {...(Node | string)} parts @returns {HTMLElement} */
  const shown = (text, ...parts) => {
    const lines = readable(text);
    const content = parts.length > 0 ? parts : [lines];
    const made = document.createElement("pre");
    made.className = lines === text ? "text" : "text is-json";
    made.dir = "auto";
    made.append(...content);
    return made;
  };

  Object.assign(globalThis, { karatTexts: { readable, shown } });
})();
