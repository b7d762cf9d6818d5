// @ts-check
// A table and the charts that stand for its rows. Filters never move a chart: they fade what is out.
//
//   <k-detail>   panel of the chosen row, filled from the data in the page
//
// The table announces `karat-filter` (its rows that match) and `karat-focus` (the key of the chosen row).
"use strict";
(() => {
  /** @param {string} name @param {Record<string, string>} [attributes] @param {string} [text] @returns {HTMLElement} */
  const element = (name, attributes = {}, text) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };

  /** @param {string | null} key @returns {HTMLElement | null} */
  const rowOf = (key) => {
    if (key === null) return null;
    const row = document.querySelector(`tr[data-key="${CSS.escape(key)}"]`);
    return row instanceof HTMLElement ? row : null;
  };

  /** The bins of the histogram with their ends, read once. @type {{ bin: Element, lo: number, hi: number }[] | undefined} */
  let known;
  const bins = () => known ??= [...document.querySelectorAll("svg g[data-lo]")].map((bin) => ({
    bin, lo: Number(bin.getAttribute("data-lo")), hi: Number(bin.getAttribute("data-hi")),
  }));

  /** The bin that a row is in: its second column is what the histogram is about. @param {HTMLElement | null} row @returns {Element | null} */
  const binOf = (row) => {
    const cell = row instanceof HTMLTableRowElement ? row.cells[1] : undefined;
    const value = Number(cell?.dataset.value ?? NaN);
    if (Number.isNaN(value)) return null;
    const all = bins();
    return (all.find(({ lo, hi }) => value >= lo && value < hi) ?? all[all.length - 1])?.bin ?? null;
  };

  /** Puts the line of the chosen day into charts over dates. @param {string | null} date */
  const showDay = (date) => {
    for (const line of document.querySelectorAll("svg line.focus-line")) {
      const mark = date === null ? null : line.parentElement?.querySelector(`[data-key="${CSS.escape(date)}"]`);
      const x = mark?.getAttribute("cx") ?? mark?.parentElement?.getAttribute("x") ?? null;
      line.setAttribute("visibility", x === null ? "hidden" : "visible");
      if (x !== null) for (const end of ["x1", "x2"]) line.setAttribute(end, x);
    }
  };

  document.addEventListener("karat-focus", (event) => {
    const key = /** @type {CustomEvent<string | null>} */ (event).detail;
    const row = rowOf(key);
    const date = row?.dataset.date ?? null;
    showDay(date);
    if (date !== null && date !== key) {
      for (const mark of document.querySelectorAll(`svg [data-key="${CSS.escape(date)}"]`)) mark.classList.add("is-focus");
    }
    const bin = binOf(row);
    for (const each of bins()) each.bin.classList.toggle("is-focus", each.bin === bin);
  });

  document.addEventListener("karat-filter", (event) => {
    const { rows, isAll } = /** @type {CustomEvent<{ rows: HTMLElement[], isAll: boolean }>} */ (event).detail;
    if (bins().length === 0) return;
    const counts = new Map(bins().map(({ bin }) => [bin, 0]));
    for (const row of isAll ? [] : rows) {
      const bin = binOf(row);
      if (bin) counts.set(bin, (counts.get(bin) ?? 0) + 1);
    }
    for (const { bin } of bins()) {
      const text = bin.querySelector("text");
      const whole = text?.dataset.whole ?? text?.textContent ?? "";
      const count = counts.get(bin) ?? 0;
      if (text) {
        text.dataset.whole = whole;
        text.textContent = isAll ? whole : `${count} of ${whole}`;
      }
      if (isAll || count > 0) bin.removeAttribute("opacity"); else bin.setAttribute("opacity", "0.2");
    }
  });

  /** @typedef {{ facts: string[], names: (string | null)[], columns: string[], rows: string[], rulesTitle: string, rules: string[], link: string,
   *   items: Record<string, [string, string[], string[][], number[], string | null]> }} Data */

  class Detail extends HTMLElement {
    connectedCallback() {
      const panel = this.querySelector("aside");
      const source = this.querySelector("script")?.textContent;
      if (!panel || !source) return;
      this.panel = panel;
      this.data = /** @type {Data} */ (JSON.parse(source));
      document.addEventListener("karat-focus", (event) => this.show(/** @type {CustomEvent<string | null>} */ (event).detail));
    }

    /** @param {string | null} key */
    show(key) {
      const item = key === null ? undefined : this.data?.items[key];
      if (!this.panel || !this.data) return;
      this.classList.toggle("is-open", item !== undefined);
      if (!item) {
        this.panel.replaceChildren();
        return;
      }
      const [title, facts, cells, rules, href] = item;
      const prose = rowOf(key)?.querySelector("td.prose")?.textContent ?? "";
      const close = element("button", { type: "button", class: "close", "aria-label": "Close details" }, "Close");
      close.addEventListener("click", () => {
        const row = rowOf(key);
        row?.click();
        row?.focus();
      });
      const parts = [element("h3", {}, title), close, this.facts(facts)];
      if (this.data.rows.length > 0) parts.push(this.table(cells));
      if (rules.length > 0) {
        const list = element("ul", { class: "notes" });
        list.append(...rules.map((at) => element("li", {}, this.data?.rules[at] ?? "")));
        parts.push(element("h4", {}, this.data.rulesTitle), list);
      }
      if (prose) {
        const text = element("p", { class: "prose" });
        text.append(element("bdi", {}, prose));
        parts.push(text);
      }
      if (href) {
        const more = element("p");
        more.append(element("a", { href, "data-testid": "trace-link" }, this.data.link));
        parts.push(more);
      }
      this.panel.replaceChildren(...parts);
    }

    /** @param {string[]} values */
    facts(values) {
      const list = element("dl", { class: "facts-list" });
      values.forEach((value, at) => {
        if (!value) return;
        const name = this.data?.names[at];
        list.append(element("dt", {}, this.data?.facts[at] ?? ""), element("dd", name ? { "data-testid": name } : {}, value));
      });
      return list;
    }

    /** @param {string[][]} cells */
    table(cells) {
      const table = element("table");
      const head = element("tr");
      head.append(...(this.data?.columns ?? []).map((name, at) => element("th", at > 0 ? { scope: "col", class: "number" } : { scope: "col" }, name)));
      const body = element("tbody");
      (this.data?.rows ?? []).forEach((name, at) => {
        const row = element("tr");
        row.append(element("th", { scope: "row" }, name), ...(cells[at] ?? []).map((cell) => element("td", { class: "number" }, cell)));
        body.append(row);
      });
      const top = element("thead");
      top.append(head);
      table.append(top, body);
      return table;
    }
  }

  // Before the tables: they announce what the address has chosen.
  document.addEventListener("DOMContentLoaded", () => customElements.define("k-detail", Detail));
})();
