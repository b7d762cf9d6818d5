// The style page in a browser. Each test names its requirement.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { eachLook, launch, movedParts, open, violations } from "./browser.js";

const url = pathToFileURL(process.env.KARAT_TEST_STYLE_PAGE ?? "style.html").href;

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser?.close(); });

describe("style page", () => {
  test("DB-40, DB-45, DB-50, DB-53: no request, no message, nothing moves, even digits, a print opens tables, no violation of WCAG 2.2 AA", async () => {
    const { page, context, requests, problems } = await open(browser, url, { checked: true });
    await page.locator("k-theme button").first().waitFor();
    assert.deepEqual([requests, problems], [[], []]);
    assert.deepEqual(await movedParts(page), []);
    const widths = await page.evaluate(() => ["1111", "8888"].map((text) => {
      const span = document.createElement("span");
      span.textContent = text;
      document.querySelector("main p")?.append(span);
      const { width } = span.getBoundingClientRect();
      span.remove();
      return width;
    }));
    assert.equal(widths[0], widths[1]);
    await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
    assert.equal(await page.locator("details:not([open], .fold)").count(), 0);
    await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
    assert.equal(await page.locator("figure details[open]").count(), 0);
    await eachLook(page, async ({ look, width, rules }) => {
      assert.deepEqual(await violations(page, { rules }), [], look);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, look);
    });
    await context.close();
  });

  test("DB-01, DB-45: everything is readable with JavaScript off, at 320 px without sideways scroll", async () => {
    const { page, context } = await open(browser, url, { width: 320, script: false });
    const box = await page.locator("html").boundingBox();
    const main = await page.locator("main").boundingBox();
    assert.ok(box && main && box.width <= 320 && main.width <= 320);
    assert.equal(await page.locator("h1").innerText(), "Style");
    assert.ok(await page.locator("[data-testid=series-row]").count() >= 12);
    assert.ok(await page.locator("[data-testid=series-row]").first().isVisible());
    await page.locator("details summary", { hasText: "Table" }).first().click();
    assert.ok(await page.locator("figure details[open] td").first().isVisible());
    assert.equal(await page.locator(".needs-script:visible").count(), 0);
    await context.close();
  });

  test("DB-45: the switch stores the theme and reload keeps it", async () => {
    const { page, context } = await open(browser, url);
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    assert.equal(await paper(), "rgb(255, 255, 255)");
    await page.locator("[data-theme-choice=dark]").click();
    assert.equal(await paper(), "rgb(18, 22, 28)");
    await page.reload();
    assert.equal(await paper(), "rgb(18, 22, 28)");
    await context.close();
  });

  test("DB-30: filter, search and sort act on rows and stand in the address", async () => {
    const { page, context } = await open(browser, url);
    const rows = page.locator("[data-testid=series-row]");
    const shown = () => rows.locator("visible=true").count();
    const number = async (filter) => Number(await page.locator(`[data-filter="${filter}"] .count`).innerText());
    for (const filter of ["below-gate", "high", "all"]) {
      await page.locator(`[data-filter="${filter}"]`).click();
      assert.equal(await shown(), await number(filter));
    }
    await page.locator("[data-filter=high]").click();
    assert.match(page.url(), /filter=high/);
    await page.reload();
    assert.equal(await shown(), await number("high"));
    await page.locator("[data-filter=all]").click();
    await page.locator("[data-testid=search]").first().fill("capped");
    assert.equal(await shown(), 3);
    await page.locator("[data-testid=search]").first().fill("");
    const values = () => rows.evaluateAll((all) => all.map((row) => Number(row.cells[1].dataset.value ?? NaN)).filter((it) => !Number.isNaN(it)));
    const head = page.locator("[data-testid=series-table] thead button", { hasText: "Composite" });
    await head.click();
    const down = await values();
    assert.deepEqual(down, [...down].sort((a, b) => b - a));
    await head.click();
    assert.deepEqual(await values(), [...down].reverse());
    assert.equal(await page.locator("[data-testid=series-table] th[aria-sort=ascending]").count(), 1);
    await context.close();
  });

  test("DB-25: rows and help by keyboard", async () => {
    const { page, context } = await open(browser, url);
    await page.locator("k-theme button").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    const key = () => page.evaluate(() => document.activeElement?.getAttribute("data-key"));
    assert.equal(await key(), "2026-01-02");
    await page.keyboard.press("Enter");
    assert.ok(await page.locator("svg .is-focus[data-key='2026-01-02']").count() > 0);
    await page.keyboard.press("?");
    assert.ok(await page.locator("[data-testid=keys-help]").isVisible());
    await page.keyboard.press("Escape");
    assert.equal(await page.locator("[data-testid=keys-help]").isVisible(), false);
    await page.keyboard.press("/");
    await page.keyboard.type("j?");
    assert.equal(await page.locator("[data-testid=search]").first().inputValue(), "j?");
    await context.close();
  });
});
