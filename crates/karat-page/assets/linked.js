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

  /** The bin of a histogram that a row's composite is in. @param {HTMLElement | null} row @returns {Element | null} */
  const binOf = (row) => {
    const table = row?.closest("table");
    const column = [...(table?.tHead?.rows[0]?.cells ?? [])].findIndex((head) => head.dataset.main !== undefined);
    const cell = row instanceof HTMLTableRowElement ? row.cells[Math.max(column, 1)] : undefined;
    const value = Number(cell?.dataset.value ?? NaN);
    if (Number.isNaN(value)) return null;
    const bins = [...document.querySelectorAll("svg g[data-lo]")];
    const last = bins.length - 1;
    return bins.find((bin, at) => value >= Number(bin.getAttribute("data-lo")) && (value < Number(bin.getAttribute("data-hi")) || at === last)) ?? null;
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
    for (const each of document.querySelectorAll("svg g[data-lo]")) each.classList.toggle("is-focus", each === bin);
  });

  document.addEventListener("karat-filter", (event) => {
    const { rows, isAll } = /** @type {CustomEvent<{ rows: HTMLElement[], isAll: boolean }>} */ (event).detail;
    const bins = [...document.querySelectorAll("svg g[data-lo]")];
    if (bins.length === 0) return;
    const counts = new Map(bins.map((bin) => [bin, 0]));
    for (const row of isAll ? [] : rows) {
      const bin = binOf(row);
      if (bin) counts.set(bin, (counts.get(bin) ?? 0) + 1);
    }
    for (const bin of bins) {
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
   *   items: Record<string, [string, string[], string[][], number[], string, string | null]> }} Data */

  class Detail extends HTMLElement {
    connectedCallback() {
      const panel = this.querySelector("aside");
      const source = this.querySelector("script")?.textContent;
      if (!panel || !source) return;
      this.panel = panel;
      this.data = /** @type {Data} */ (JSON.parse(source));
      this.empty = [...panel.childNodes].map((node) => node.cloneNode(true));
      this.isFilled = panel.querySelector("h3") !== null;
      document.addEventListener("karat-focus", (event) => this.show(/** @type {CustomEvent<string | null>} */ (event).detail));
    }

    /** @param {string | null} key */
    show(key) {
      const item = key === null ? undefined : this.data?.items[key];
      if (!this.panel || !this.data) return;
      this.classList.toggle("is-open", item !== undefined);
      if (!item) {
        this.panel.replaceChildren(...(this.isFilled ? [] : this.empty?.map((node) => node.cloneNode(true)) ?? []));
        return;
      }
      const [title, facts, cells, rules, prose, href] = item;
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
