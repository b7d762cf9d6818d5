// report.html of the presets in a browser. `KARAT_TEST_REPORTS` names a folder with a folder for each run.
import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { eachLook, launch, open, violations } from "./browser.js";

const folder = process.env.KARAT_TEST_REPORTS;
const pages = folder
  ? readdirSync(folder).sort().flatMap((name) => ["report.html", "compare.html"].map((file) => join(folder, name, file))).filter((path) => existsSync(path))
  : [];

/** Panels that a preset shows, by the name of its folder: DB-22. */
const PANELS = {
  claims: ["Calibration of quality", "Variant delta: quality.overallScore", "Missing items", "Cells worth reading"],
  spans: ["Confusions", "Reliability of confidence", "Errors by section", "Reasons", "Does confidence predict errors?"],
  rag: ["Key figures against the baseline", "Latency by stage", "Distribution of latency", "Below a threshold"],
  summary: ["Sessions", "Distribution of sessions", "Sessions, the lowest first"],
  briefing: ["Drift of quality.composite"],
};

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser?.close(); });

for (const path of pages) {
  const url = pathToFileURL(path).href;
  const name = path.split("/").at(-2) ?? "";
  const isRun = path.endsWith("report.html");
  describe(`${name}: ${isRun ? "report" : "compare"}.html`, () => {
    // One page for all tests: opening a report takes longer than what is looked at.
    let opened;
    before(async () => { opened = await open(browser, url, { checked: true }); });
    after(async () => { await opened.context.close(); });

    test("DB-40: at most 5 MB, no request, no message of the policy, no dialog", async () => {
      assert.ok(statSync(path).size <= 5_000_000);
      await opened.page.locator("k-theme button").first().waitFor();
      assert.deepEqual([opened.requests, opened.problems], [[], []]);
    });

    if (isRun) {
      test("DB-11, DB-22: its panels are there", async () => {
        const titles = await opened.page.locator("main h3").allTextContents();
        const wanted = PANELS[/** @type {keyof typeof PANELS} */ (name)] ?? [];
        assert.deepEqual(wanted.filter((title) => !titles.includes(title)), []);
        if (name === "spans" || name === "claims") assert.ok(await opened.page.locator("#outputs mark").count() > 0);
      });
    } else {
      test("DB-15, DB-20: verdicts, differences and word diffs", async () => {
        assert.ok(await opened.page.locator("[data-testid=forest]").count() > 0);
        assert.ok(await opened.page.locator("[data-testid=diff]").count() > 0);
      });
    }

    test("DB-40, F74: a printed page is light, shows its disclosures, and leaves long ones folded", async () => {
      const { page } = opened;
      await page.emulateMedia({ media: "print", colorScheme: "dark" });
      await page.evaluate(() => globalThis.dispatchEvent(new Event("beforeprint")));
      // Long lists, and tables that repeat a chart, stay folded.
      assert.equal(await page.locator("details:not([open], .fold)").count(), 0);
      assert.equal(await page.locator(".chart .fold:not([open])").filter({ visible: true }).count(), 0);
      assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
      assert.equal(await page.locator("nav.rail").isVisible(), false);
      await page.evaluate(() => globalThis.dispatchEvent(new Event("afterprint")));
      await page.emulateMedia({ media: "screen" });
    });

    test("DB-45, DB-50: no sideways scroll, no violation of WCAG 2.2 AA in any theme and width, also with opened parts", async () => {
      await eachLook(opened.page, async ({ look, width, rules }) => {
        assert.equal(await opened.page.evaluate(() => document.documentElement.scrollWidth), width, look);
        assert.deepEqual(await violations(opened.page, { rules, cut: [".excerpts > li:nth-child(n + 4)"] }), [], look);
      });
    });

    test("DB-01, DB-40: every number is readable with JavaScript off", async () => {
      const { page, context } = await open(browser, url, { script: false });
      assert.ok(await page.locator("[data-testid=verdict]").isVisible());
      assert.equal(await page.locator(".needs-script:visible").count(), 0);
      if (isRun) {
        assert.ok(await page.locator("[data-testid=metric-row]").first().isVisible());
        assert.ok(await page.locator("[data-testid=provenance]").isVisible());
      }
      const summary = page.locator("details summary", { hasText: "Table" }).first();
      if (await summary.count()) {
        await summary.click();
        assert.ok(await page.locator("figure details[open] td").first().isVisible());
      }
      await context.close();
    });
  });
}
