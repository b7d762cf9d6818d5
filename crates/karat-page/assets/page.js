// @ts-check
// Islands of every page. Nothing here is needed to read a page: without this script all numbers, texts and links are there.
//
//   <k-theme>            switch between light, dark and the system's theme
//   <k-table>            filter, sort, search and keyboard rows of the table inside it
//   <k-keys>             list of the keys of the page (`?`)
//   <k-copy>             button that copies the text inside it
//   <k-reload>           loads the page again soon: what it shows is being made
//
// State that a link should carry lives in `location.hash`; what only this reader prefers lives in `localStorage`.
"use strict";
(() => {
  const root = document.documentElement;
  root.dataset.script = "on";
  document.addEventListener("DOMContentLoaded", () => { root.dataset.parsed = "on"; });

  /** Reads a preference; a page from `file://` or a private window may refuse storage.
   * @param {string} key @returns {string | null} */
  const preference = (key) => {
    try { return localStorage.getItem(key); } catch { return null; }
  };

  /** @param {string} key @param {string} value */
  const setPreference = (key, value) => {
    try { localStorage.setItem(key, value); } catch { /* the choice lasts until the page closes */ }
  };

  /** @param {string} name @param {Record<string, string>} attributes @param {string} [text] @returns {HTMLElement} */
  const element = (name, attributes, text) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    return made;
  };

  // Before the body is painted, so that a stored theme does not flash.
  const stored = preference("karat-theme");
  if (stored === "light" || stored === "dark") root.dataset.theme = stored;

  // The font of a file is part of it: asked for now, it is there at the first paint, and no line moves.
  void document.fonts.load("14px 'Inter Variable'").catch(() => undefined);

  class Theme extends HTMLElement {
    connectedCallback() {
      const group = element("div", { class: "segments", role: "group", "aria-label": "Theme", "data-testid": "theme-switch" });
      for (const [theme, label] of [["auto", "Auto"], ["light", "Light"], ["dark", "Dark"]]) {
        const button = element("button", { type: "button", "data-theme-choice": theme }, label);
        button.addEventListener("click", () => this.choose(theme));
        group.append(button);
      }
      this.replaceChildren(group);
      this.show();
    }

    /** @param {string} theme */
    choose(theme) {
      if (theme === "auto") delete root.dataset.theme; else root.dataset.theme = theme;
      setPreference("karat-theme", theme);
      this.show();
    }

    show() {
      const current = root.dataset.theme ?? "auto";
      for (const button of this.querySelectorAll("button")) {
        button.setAttribute("aria-pressed", String(button.dataset.themeChoice === current));
      }
    }
  }

  // A served page has its state in the query, where the server reads it too.
  const isLive = location.protocol.startsWith("http");

  /** State of the page in the hash: `#filter=below-gate&sort=-score&q=words&focus=2026-01-05`. A plain `#section` is none. */
  const state = () => new URLSearchParams(isLive ? location.search : location.hash.includes("=") ? location.hash.slice(1) : "");

  /** @param {string} key @param {string | null} value */
  const setState = (key, value) => {
    const now = state();
    if (value) now.set(key, value); else now.delete(key);
    const text = now.toString();
    const address = isLive ? location.pathname + (text ? `?${text}` : "") + location.hash : text ? `#${text}` : location.pathname + location.search;
    history.replaceState(null, "", address);
  };

  /** Rows that appear without being asked for: a browser needs a second to lay out thousands. */
  const AT_ONCE = 150;

  /** Rows of a long table that appear in one step: more than a screen has, so that a reader waits for no others. */
  const STEP = 40;

  let isPrinting = false;

  class Table extends HTMLElement {
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    revealing;

    connectedCallback() {
      const table = /** @type {HTMLTableElement | null} */ (this.querySelector("table[data-testid=series-table]") ?? this.querySelector("table"));
      const body = table?.tBodies[0];
      if (!table || !body) return;
      this.body = body;
      this.rows = [...body.rows].filter((row) => !row.matches(".more, .narrow-only"));
      this.order = new Map(this.rows.map((row, at) => [row, at]));
      this.name = this.dataset.name ?? "";
      this.sorts = "";
      this.filter = "all";
      this.words = "";
      /** @type {Map<HTMLTableRowElement, string>} */
      this.texts = new Map();
      this.tools = this.querySelector(".tools-row");
      this.none = element("p", { class: "no-match", hidden: "", role: "status" }, "No row matches.");
      this.isWhole = this.rows.length <= AT_ONCE;
      table.after(this.none);
      if (!this.isWhole) {
        this.all = element("button", { type: "button", class: "all-rows" });
        this.all.addEventListener("click", () => this.showAll());
        this.none.after(this.all);
      }
      if (this.hasAttribute("search")) this.addSearch();
      this.adoptSearch();
      this.addFilters();
      this.addSorting();
      this.addKeys();
      this.restore();
    }

    /** @param {string} key */
    key(key) { return this.name ? `${this.name}.${key}` : key; }

    addSearch() {
      const label = element("label", { class: "needs-script" });
      label.append(element("span", { class: "hidden-text" }, "Search this table"));
      const input = /** @type {HTMLInputElement} */ (
        element("input", { type: "search", placeholder: "Search", "data-testid": "search" })
      );
      input.addEventListener("input", () => this.search(input.value));
      label.append(input);
      this.input = input;
      this.tools?.append(label);
    }

    /** The search of a served page is a form; with a script it needs no round trip. */
    adoptSearch() {
      const form = this.querySelector("form.search");
      const input = form?.querySelector("input[type=search]");
      if (!form || !(input instanceof HTMLInputElement)) return;
      form.addEventListener("submit", (event) => event.preventDefault());
      input.addEventListener("input", () => this.search(input.value));
      this.input = input;
    }

    /** @param {string} words */
    search(words) {
      this.words = words.trim().toLowerCase();
      setState(this.key("q"), this.words);
      this.apply();
    }

    addFilters() {
      for (const chip of this.querySelectorAll("[data-filter]")) {
        chip.addEventListener("click", (event) => {
          event.preventDefault();
          this.choose(chip.getAttribute("data-filter") ?? "all");
        });
      }
      // Links of the page, such as those of cards, choose a filter by its address.
      window.addEventListener("hashchange", () => { if (!isLive) this.restore(); });
    }

    /** @param {string} filter */
    choose(filter) {
      this.filter = filter;
      setState(this.key("filter"), filter === "all" ? null : filter);
      this.apply();
    }

    /** The heads of its own columns: charts inside have tables, too. @returns {HTMLTableCellElement[]} */
    heads() { return [...(this.body?.parentElement?.querySelector("thead")?.rows[0]?.cells ?? [])]; }

    addSorting() {
      this.heads().forEach((head, column) => {
        if (!head.dataset.sort) return;
        const button = element("button", { type: "button" }, head.textContent ?? "");
        button.addEventListener("click", () => {
          const turned = head.getAttribute("aria-sort") === "descending" ? "ascending" : "descending";
          this.sort(column, turned);
          setState(this.key("sort"), (turned === "descending" ? "-" : "") + head.dataset.sort);
          // Other rows are now the first.
          if (!this.isWhole) this.apply();
        });
        head.replaceChildren(button);
      });
    }

    /** @param {number} column @param {"ascending" | "descending"} direction */
    sort(column, direction) {
      const sign = direction === "descending" ? -1 : 1;
      this.heads().forEach((head, at) => at === column ? head.setAttribute("aria-sort", direction) : head.removeAttribute("aria-sort"));
      const keyed = (this.rows ?? []).map((row) => {
        const cell = row.cells[column];
        const value = cell?.dataset.value;
        return { row, number: value === undefined ? NaN : Number(value), text: cell?.textContent ?? "" };
      });
      // Rows without a number stand last in both directions.
      keyed.sort((a, b) => {
        if (Number.isNaN(a.number) !== Number.isNaN(b.number)) return Number.isNaN(a.number) ? 1 : -1;
        const order = Number.isNaN(a.number) ? a.text.localeCompare(b.text, "en") : a.number - b.number;
        return order * sign || (this.order?.get(a.row) ?? 0) - (this.order?.get(b.row) ?? 0);
      });
      this.body?.append(...keyed.map(({ row }) => row));
    }

    apply() {
      /** @type {HTMLTableRowElement[]} */
      const matching = [];
      /** Several rows may share the marks of a day: they fade when all rows are out. @type {Map<string, boolean>} */
      const isOut = new Map();
      /** @type {HTMLTableRowElement[]} */
      const appearing = [];
      for (const row of this.body?.rows ?? []) {
        const flags = this.filter === "all" ? [] : (row.dataset.flags ?? "").split(" ");
        const matches = (this.filter === "all" || flags.includes(this.filter ?? "")) && (!this.words || this.text(row).includes(this.words));
        if (matches) matching.push(row);
        const isShown = matches && (this.isWhole || matching.length <= AT_ONCE || row.classList.contains("is-focus"));
        if (isShown === row.hidden) { if (isShown) appearing.push(row); else row.hidden = true; }
        for (const key of new Set([row.dataset.key, row.dataset.date])) {
          if (key) isOut.set(key, (isOut.get(key) ?? true) && !matches);
        }
      }
      this.reveal(appearing);
      for (const [key, out] of isOut) dim(key, out);
      for (const chip of this.querySelectorAll("[data-filter]")) {
        const isOn = chip.getAttribute("data-filter") === this.filter;
        if (chip instanceof HTMLAnchorElement) { if (isOn) chip.setAttribute("aria-current", "true"); else chip.removeAttribute("aria-current"); }
        else chip.setAttribute("aria-pressed", String(isOn));
      }
      const shown = matching.length;
      if (this.none) this.none.hidden = shown > 0;
      this.dataset.shown = String(shown);
      if (this.all) {
        this.all.hidden = this.isWhole || shown <= AT_ONCE;
        this.all.textContent = `Show all ${shown.toLocaleString("en")} rows`;
      }
      const detail = { rows: matching, isAll: shown === (this.rows ?? []).length };
      this.dispatchEvent(new CustomEvent("karat-filter", { detail, bubbles: true }));
    }

    showAll() {
      this.isWhole = true;
      this.apply();
    }

    /** Shows rows, some at once and the others a few at a time: thousands together would block the page.
     * @param {HTMLTableRowElement[]} rows */
    reveal(rows) {
      clearTimeout(this.revealing);
      const isLong = (this.rows ?? []).length > AT_ONCE;
      const first = isPrinting ? rows.length : isLong ? STEP : AT_ONCE;
      for (const row of rows.slice(0, first)) row.hidden = false;
      const rest = rows.slice(first);
      if (rest.length > 0) this.revealing = setTimeout(() => this.reveal(rest), 0);
    }

    /** The words of a row, without its numbers, read once. @param {HTMLTableRowElement} row @returns {string} */
    text(row) {
      const texts = this.texts ?? new Map();
      const known = texts.get(row) ?? [...row.cells].filter((cell) => cell.dataset.value === undefined).map((cell) => cell.textContent ?? "").join(" ").toLowerCase();
      texts.set(row, known);
      return known;
    }

    restore() {
      const from = state();
      const filter = from.get(this.key("filter")) ?? "all";
      const isKnown = this.querySelector(`[data-filter="${CSS.escape(filter)}"]`) !== null;
      this.filter = isKnown ? filter : "all";
      // A table without a search is not filtered by the words of another.
      this.words = this.input ? (from.get(this.key("q")) ?? "").toLowerCase() : "";
      if (this.input) this.input.value = this.words;
      const sorting = from.get(this.key("sort"));
      if (sorting) {
        const column = this.heads().findIndex((head) => head.dataset.sort === sorting.replace(/^-/, ""));
        if (column >= 0) this.sort(column, sorting.startsWith("-") ? "descending" : "ascending");
      }
      const focus = from.get("focus");
      const row = focus === null ? undefined : this.rows?.find((each) => each.dataset.key === focus) ?? this.rows?.find((each) => each.dataset.date === focus);
      if (row?.dataset.key) focusKey(row.dataset.key);
      this.apply();
    }

    /** One row is in the tab order; arrows and `j`, `k` move it. */
    addKeys() {
      /** @type {HTMLTableRowElement[]} */
      const rows = this.rows ?? [];
      if (!this.hasAttribute("rows") || !rows[0]) return;
      rows.forEach((row, at) => { row.tabIndex = at === 0 ? 0 : -1; });
      this.body?.addEventListener("keydown", (event) => {
        const row = event.target instanceof HTMLElement ? event.target.closest("tr") : null;
        if (!row || event.target !== row || modified(event)) return;
        const single = preference("karat-keys") !== "off";
        const step = event.key === "ArrowDown" || (single && event.key === "j") ? 1 : event.key === "ArrowUp" || (single && event.key === "k") ? -1 : 0;
        if (step) { this.move(row, step); event.preventDefault(); }
        if (event.key === "Enter") this.open(row);
        if (single && event.key === "e") row.querySelectorAll("details").forEach((details) => { details.open = !details.open; });
        if (single && event.key === "x") row.querySelector("input[type=checkbox]")?.dispatchEvent(new MouseEvent("click"));
      });
      this.body?.addEventListener("click", (event) => {
        const target = event.target instanceof Element ? event.target : null;
        const row = target?.closest("tr");
        if (row && !target?.closest("a, button, summary, input")) this.select(row);
      });
    }

    /** @param {HTMLTableRowElement} row @param {number} step */
    move(row, step) {
      const own = new Set(this.rows);
      const shown = [...(this.body?.rows ?? [])].filter((each) => own.has(each) && !each.hidden);
      const next = shown[shown.indexOf(row) + step];
      if (!next) return;
      row.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    }

    /** @param {HTMLTableRowElement} row */
    open(row) {
      const link = row.querySelector("a[href]");
      if (link instanceof HTMLAnchorElement) link.click(); else this.select(row);
    }

    /** @param {HTMLTableRowElement} row */
    select(row) {
      if (!row.dataset.key) return;
      const key = row.classList.contains("is-focus") ? null : row.dataset.key;
      setState("focus", key);
      focusKey(key);
    }
  }

  /** Marks everything on the page that stands for the same thing as the chosen row. @param {string | null} key */
  const focusKey = (key) => {
    for (const marked of document.querySelectorAll("[data-key]")) {
      marked.classList.toggle("is-focus", marked.getAttribute("data-key") === key);
    }
    for (const detail of document.querySelectorAll("[data-detail]")) {
      if (detail instanceof HTMLElement) detail.hidden = detail.dataset.detail !== key;
    }
    document.dispatchEvent(new CustomEvent("karat-focus", { detail: key }));
  };

  /** @type {Map<string, Element[]> | undefined} */
  let marks;

  /** Fades the marks of rows that a filter leaves out; charts keep their axes. @param {string} key @param {boolean} out */
  const dim = (key, out) => {
    if (!marks) {
      marks = new Map();
      for (const mark of document.querySelectorAll("svg [data-key]")) {
        const name = mark.getAttribute("data-key") ?? "";
        marks.set(name, [...(marks.get(name) ?? []), mark]);
      }
    }
    for (const mark of marks.get(key) ?? []) {
      const isOut = mark.hasAttribute("opacity");
      if (out && !isOut) mark.setAttribute("opacity", "0.2");
      if (!out && isOut) mark.removeAttribute("opacity");
    }
  };

  /** @param {KeyboardEvent} event */
  const modified = (event) => event.ctrlKey || event.altKey || event.metaKey;

  /** @param {EventTarget | null} target */
  const isTyping = (target) => target instanceof HTMLElement
    && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

  class Keys extends HTMLElement {
    connectedCallback() {
      const list = this.querySelector("dl");
      const dialog = /** @type {HTMLDialogElement} */ (element("dialog", { "aria-label": "Keys", "data-testid": "keys-help" }));
      const open = element("button", { type: "button", "aria-haspopup": "dialog", title: "Keys (?)" }, "Keys");
      const toggle = element("button", { type: "button" });
      const close = element("button", { type: "button" }, "Close");
      const show = () => {
        const on = preference("karat-keys") !== "off";
        toggle.textContent = on ? "Turn single keys off" : "Turn single keys on";
      };
      toggle.addEventListener("click", () => {
        setPreference("karat-keys", preference("karat-keys") === "off" ? "on" : "off");
        show();
      });
      close.addEventListener("click", () => dialog.close());
      open.addEventListener("click", () => { show(); dialog.showModal(); });
      const choices = element("div", { class: "chips" });
      choices.append(toggle, close);
      dialog.append(element("h2", {}, "Keys"), ...(list ? [list] : []), choices);
      this.replaceChildren(open, dialog);
      this.dialog = dialog;
      this.opener = open;
    }
  }

  class Copy extends HTMLElement {
    connectedCallback() {
      const source = this.querySelector("[data-copy]");
      if (!source || !navigator.clipboard) return;
      const button = element("button", { type: "button" }, "Copy");
      button.addEventListener("click", () => {
        navigator.clipboard.writeText(source.textContent ?? "").then(() => { button.textContent = "Copied"; }, () => { button.textContent = "Not allowed"; });
      });
      this.append(button);
    }
  }

  class Reload extends HTMLElement {
    /** What takes long is asked for less and less often, and never before what there is has been loaded. */
    connectedCallback() {
      const key = `karat-reload ${location.pathname}`;
      let rounds = 0;
      try {
        rounds = Number(sessionStorage.getItem(key) ?? 0);
        sessionStorage.setItem(key, String(rounds + 1));
      } catch { /* a private window asks as often as at first */ }
      const wait = () => { setTimeout(() => location.reload(), Math.min(700 * 1.5 ** rounds, 30_000)); };
      if (document.readyState === "complete") wait(); else window.addEventListener("load", wait, { once: true });
    }
  }

  /** A message of Karat: what stands between backticks is code. @param {string} text @returns {(Node | string)[]} */
  const withCode = (text) => text.split(/`([^`\n]+)`/).map((part, at) => at % 2 ? element("code", {}, part) : part);
  Object.assign(globalThis, { karatWithCode: withCode });

  // A form leaves its empty fields out of the address.
  document.addEventListener("submit", (event) => {
    if (!(event.target instanceof HTMLFormElement) || event.target.method !== "get") return;
    for (const field of event.target.elements) {
      if ((field instanceof HTMLInputElement || field instanceof HTMLSelectElement) && field.value === "") field.disabled = true;
    }
  });
  window.addEventListener("pageshow", () => {
    for (const field of document.querySelectorAll("form input:disabled, form select:disabled")) field.removeAttribute("disabled");
  });

  /** Keys that follow a link with this name, such as `next` for `]`. @type {Record<string, string>} */
  const LINKS = { "]": "next", "[": "prev", d: "diff-link", t: "trace-link", c: "compare-link" };
  /** @type {Record<string, string>} */
  const PAGES = { r: "go-runs", s: "go-series", c: "go-compare" };
  let isGoing = false;

  /** @param {string} name @returns {boolean} */
  const follow = (name) => {
    const link = document.querySelector(`[data-testid="${name}"], [data-go="${name}"]`);
    if (link instanceof HTMLElement) link.click();
    return link instanceof HTMLElement;
  };

  document.addEventListener("keydown", (event) => {
    if (modified(event) || isTyping(event.target) || preference("karat-keys") === "off") return;
    if (document.querySelector("dialog[open]")) return;
    const going = isGoing;
    isGoing = event.key === "g" && !going;
    if (going && PAGES[event.key]) return void follow(PAGES[event.key]);
    if (event.key === "?") document.querySelector("k-keys button")?.dispatchEvent(new MouseEvent("click"));
    else if (event.key === "/") {
      const search = document.querySelector("input[type=search]");
      if (search instanceof HTMLElement) { search.focus(); event.preventDefault(); }
    } else if ((event.key === "j" || event.key === "k") && !(event.target instanceof HTMLTableRowElement)) {
      const row = document.querySelector("tr[tabindex='0']");
      if (row instanceof HTMLElement) row.focus();
    } else if (LINKS[event.key]) follow(LINKS[event.key]);
  });

  // A printed page shows what a reader could have opened.
  window.addEventListener("beforeprint", () => {
    isPrinting = true;
    for (const button of document.querySelectorAll("button.all-rows:not([hidden])")) {
      const table = button.closest("k-table");
      if (table instanceof Table) table.showAll();
    }
    for (const details of document.querySelectorAll("details:not([open], .fold)")) {
      details.setAttribute("open", "");
      details.setAttribute("data-opened-to-print", "");
    }
  });
  window.addEventListener("afterprint", () => {
    isPrinting = false;
    for (const details of document.querySelectorAll("[data-opened-to-print]")) {
      details.removeAttribute("open");
      details.removeAttribute("data-opened-to-print");
    }
  });

  // The script stands in the head; elements read their children, so they wait for them.
  document.addEventListener("DOMContentLoaded", () => {
    customElements.define("k-theme", Theme);
    customElements.define("k-table", Table);
    customElements.define("k-keys", Keys);
    customElements.define("k-copy", Copy);
    customElements.define("k-reload", Reload);
    if (!document.querySelector("k-reload")) try { sessionStorage.removeItem(`karat-reload ${location.pathname}`); } catch { /* nothing was stored */ }
  });
})();
