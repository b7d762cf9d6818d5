// Screenshots of every page: `node screenshots.js FOLDER`, with the same variables as the tests. People look at them.
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { launch, newContext, THEMES } from "./browser.js";
import { serve } from "./live.js";

const folder = process.argv[2] ?? "artifacts";
const { KARAT_TEST_STYLE_PAGE: style, KARAT_TEST_SERIES_PAGES: series, KARAT_TEST_REPORTS: reports, KARAT_TEST_STORE: store } = process.env;
const only = process.env.KARAT_TEST_ONLY?.split(",");
const LONGEST = 6000;

const files = {
  ...(style ? { style: pathToFileURL(style).href } : {}),
  ...(series ? { "series-file": pathToFileURL(join(series, "series.html")).href } : {}),
  ...Object.fromEntries((reports ? readdirSync(reports) : []).map((name) => [`report-${name}`, pathToFileURL(join(reports, name, name.includes("-models") ? "compare.html" : "report.html")).href])),
};
const LIVE = {
  runs: "/",
  run: "/runs/claims",
  cells: "/runs/claims/cells?sort=quality.overallScore",
  "sample-claims": "/runs/claims/sample?id=kr-oats-01",
  "sample-spans": "/runs/spans/sample",
  "sample-rag": "/runs/rag/sample?id=q-001",
  trace: "/runs/claims/cell?n=0",
  compare: "/compare?a=faq&b=faq2&of=run",
  "compare-models": "/compare?a=sim-faithful&b=sim-merging&of=model&run=claims",
  series: "/series/briefing",
  service: "/service",
  traces: "/service/traces",
  gone: "/runs/gone",
  none: "/?q=nothing+has+this",
};

mkdirSync(folder, { recursive: true });
const browser = await launch();
const server = store ? await serve(store) : undefined;
const pages = { ...files, ...(server ? Object.fromEntries(Object.entries(LIVE).map(([name, path]) => [name, server.url + path])) : {}) };

/** The first sample of a run, where a page is named without one. */
const complete = async (page, url) => {
  if (!url.endsWith("/sample")) return url;
  await page.goto(url.replace(/\/sample$/, "/cells"));
  const href = await page.locator("[data-testid=cell-row] th a").first().getAttribute("href");
  return new URL(href ?? "", url).href;
};

for (const [name, url] of Object.entries(pages)) {
  if (only && !only.includes(name)) continue;
  for (const theme of THEMES) {
    for (const width of [390, 1440, 3840]) {
      const context = await newContext(browser, { width, theme });
      const page = await context.newPage();
      await page.goto(await complete(page, url));
      await page.locator("k-theme button").first().waitFor();
      if (name === "cells") await page.locator(".opener").first().evaluate((details) => { details.open = true; });
      const height = Math.min(LONGEST, await page.evaluate(() => document.documentElement.scrollHeight));
      await page.setViewportSize({ width, height: Math.max(900, height) });
      await page.screenshot({ path: `${folder}/${name}-${width}-${theme}.png` });
      await context.close();
    }
  }
}
server?.stop();
await browser.close();
