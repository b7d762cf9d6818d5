// A browser for tests: Debian's chromium, no network, no download. What several test files measure stands here, too.
import { createRequire } from "node:module";
import { existsSync, readFileSync } from "node:fs";
import { chromium } from "playwright-core";

export const executablePath = process.env.KARAT_TEST_CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));

export const WIDTHS = [320, 1440];
export const THEMES = ["light", "dark"];

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"];

/** Rows of one table and marks of one chart are alike; checking thousands of them takes minutes. */
const FEW = 4;

/** The browser that `run.js` has started for all files, or one of its own. */
export function launch() {
  const endpoint = process.env.KARAT_TEST_BROWSER;
  return endpoint ? chromium.connect(endpoint) : chromium.launch(launchOptions());
}

export const launchOptions = () => ({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"] });

/** Remembers messages, errors and dialogs of a page. */
export function watch(page) {
  const problems = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) problems.push(message.text()); });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("dialog", (dialog) => { problems.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  return problems;
}

/** A context of its own; with `checked`, its pages know axe, which their policy does not see. */
export async function newContext(browser, { width = 1440, theme = "light", script = true, checked = false, ...rest } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme, javaScriptEnabled: script, reducedMotion: "reduce", ...rest });
  // Beside a compiler a page can take more than the usual 30 seconds.
  context.setDefaultNavigationTimeout(90_000);
  context.setDefaultTimeout(60_000);
  if (checked) await context.addInitScript({ content: axe });
  return context;
}

/** Opens a page of a file; every request that is not for the page itself is refused and remembered. */
export async function open(browser, url, options = {}) {
  const context = await newContext(browser, options);
  const requests = [];
  await context.route("**/*", (route) => {
    const request = route.request();
    if (request.isNavigationRequest() || request.url().startsWith("data:")) return route.continue();
    requests.push(request.url());
    return route.abort();
  });
  const page = await context.newPage();
  const problems = watch(page);
  await page.goto(url);
  return { page, context, requests, problems };
}

/** The rules that a theme can break: a theme changes colours only. */
const OF_COLOUR = ["color-contrast", "link-in-text-block"];

/** Violations of WCAG 2.2 AA with all parts opened; `cut` selects what is removed before, because it repeats. */
export async function violations(page, { cut = [], rules = TAGS } = {}) {
  await page.evaluate(([few, cut]) => {
    document.querySelectorAll("details").forEach((details) => { details.open = true; });
    const repeats = [`tbody tr:nth-child(n + ${few + 1})`, `svg :nth-child(n + ${few + 1})`];
    document.querySelectorAll([...repeats, ...cut].join(", ")).forEach((part) => part.remove());
  }, /** @type {const} */ ([FEW, cut]));
  const result = await page.evaluate((rules) => globalThis.axe.run(document, { runOnly: rules, resultTypes: ["violations"], elementRef: false }), rules);
  return result.violations.map((it) => `${it.id}: ${it.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

/** Calls `check` for each theme and width of an open page, with the rules that can differ: a page is loaded once for all. */
export async function eachLook(page, check) {
  for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
    for (const width of WIDTHS) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await check({ look: `${colorScheme}, ${width} px`, width, rules: colorScheme === "light" ? TAGS : OF_COLOUR });
    }
  }
}

/** The parts that moved while the page was loading: none, if all sizes are reserved. */
export function movedParts(page) {
  return page.evaluate(() => new Promise((resolve) => {
    const moved = [];
    const name = (node) => node instanceof Element ? `${node.tagName.toLowerCase()}.${node.className}` : String(node?.textContent).slice(0, 40);
    new PerformanceObserver((list) => {
      for (const entry of /** @type {any[]} */ (list.getEntries())) moved.push(`${entry.value}: ${entry.sources.map((it) => name(it.node)).join(", ")}`);
    }).observe({ type: "layout-shift", buffered: true });
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(moved)));
  }));
}
