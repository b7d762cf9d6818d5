// The page of a dated suite as a file, in a browser without a network. Each test names its requirement.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { eachLook, launch, open, violations } from "./browser.js";

const folder = process.env.KARAT_TEST_SERIES_PAGES ?? "series-pages";

/** @param {string} name */
const url = (name) => pathToFileURL(`${folder}/${name}.html`).href;
/** @param {string} name */
const data = (name) => JSON.parse(readFileSync(`${folder}/${name}.json`, "utf8"));
/** The number of a text as the page writes it. @param {string} text */
const number = (text) => Number(text.replace("−", "-").replace("+", ""));

let browser;
before(async () => { browser = await launch(); });
after(async () => { await browser?.close(); });

describe("page of a dated suite", () => {
  for (const name of ["series", "hidden", "judges"]) {
    test(`DB-30: each filter's count is that of the data, ${name}`, async () => {
      const { page, context, requests, problems } = await open(browser, url(name));
      const { counts, cards } = data(name);
      const rows = page.locator("[data-testid=series-row]");
      assert.equal(await rows.count(), cards.length);
      for (const chip of await page.locator("[data-filter]").all()) {
        const filter = await chip.getAttribute("data-filter");
        await chip.click();
        assert.equal(await rows.locator("visible=true").count(), counts[filter], filter);
        assert.equal(Number(await chip.locator(".count").innerText()), counts[filter], filter);
      }
      for (const filter of ["all", "below-gate", "regressed", "high"]) assert.equal(await page.locator(`[data-testid=filter-${filter}]`).count(), 1);
      assert.deepEqual([requests, problems], [[], []]);
      await context.close();
    });
  }

  test("DB-30: filters fade what is out and move nothing", async () => {
    const { page, context } = await open(browser, url("series"));
    const boxes = () => page.locator("[data-testid=trend], [data-testid=histogram], [data-testid=stack], [data-testid=stat-card]").evaluateAll((all) => all.map((it) => { const box = it.getBoundingClientRect(); return [box.x, box.y + scrollY, box.width, box.height]; }));
    const before = await boxes();
    await page.locator("[data-filter=below-gate]").click();
    assert.deepEqual(await boxes(), before);
    const { cards, counts } = data("series");
    const faded = await page.locator("[data-testid=stack] g[data-key][opacity]").count();
    assert.equal(faded, cards.length - counts["below-gate"]);
    const bins = await page.locator("[data-testid=histogram] svg g[data-lo]").evaluateAll((all) => all.map((bin) => bin.querySelector("text")?.textContent ?? ""));
    const shown = bins.filter(Boolean).map((text) => Number(text.split(" of ")[0])).reduce((sum, count) => sum + count, 0);
    assert.equal(shown, counts["below-gate"]);
    await page.reload();
    await page.locator("k-theme button").first().waitFor();
    assert.deepEqual(await page.locator("[data-testid=histogram] svg g[data-lo]").evaluateAll((all) => all.map((bin) => bin.querySelector("text")?.textContent ?? "")), bins);
    await page.locator("[data-filter=all]").click();
    assert.equal(await page.locator("svg [data-key][opacity], svg g[data-lo][opacity]").count(), 0);
    await context.close();
  });

  test("DB-30: cards lead to their rows, and the address keeps the state", async () => {
    const { page, context } = await open(browser, url("series"));
    const rows = page.locator("[data-testid=series-row]");
    await page.locator("[data-stat=gate-fails] a").click();
    assert.equal(await rows.locator("visible=true").count(), data("series").counts["fails-gate"]);
    await page.locator("[data-testid=search]").fill("no source");
    const found = await rows.locator("visible=true").count();
    assert.ok(found > 0 && found < data("series").counts["fails-gate"]);
    const address = page.url();
    assert.match(address, /#filter=fails-gate&q=no\+source$/);
    await page.reload();
    assert.equal(await rows.locator("visible=true").count(), found);
    await page.locator("[data-testid=search]").fill("nothing has this");
    assert.ok(await page.locator("k-table.linked .no-match").isVisible());
    await context.close();
  });

  test("DB-30: search looks at date, judge and notes, not at numbers", async () => {
    const { page, context } = await open(browser, url("series"));
    const { cards } = data("series");
    const rows = page.locator("[data-testid=series-row]");
    for (const words of ["2026-03", "STRICT", "5 stories", "4.25"]) {
      await page.locator("[data-testid=search]").fill(words);
      const expected = cards.filter((card) => [card.date, card.judge, card.notes].some((text) => text.toLowerCase().includes(words.toLowerCase())));
      assert.equal(await rows.locator("visible=true").count(), expected.length, words);
    }
    await context.close();
  });

  test("DB-30: all heads sort, and a second time the other way", async () => {
    const { page, context } = await open(browser, url("series"));
    const heads = page.locator("[data-testid=series-table] thead button");
    assert.ok(await heads.count() >= 10);
    const column = (at) => page.locator("[data-testid=series-row]").evaluateAll((all, at) => all.map((row) => row.cells[at].dataset.value ?? row.cells[at].textContent), at);
    for (const at of [0, 1, 2, 3]) {
      await heads.nth(at).click();
      const down = (await column(at)).filter(Boolean);
      await heads.nth(at).click();
      const up = (await column(at)).filter(Boolean);
      const order = at === 0 ? (a, b) => a.localeCompare(b) : (a, b) => Number(a) - Number(b);
      assert.deepEqual(up, [...up].sort(order));
      assert.deepEqual(down, [...down].sort((a, b) => order(b, a)));
      assert.equal(await page.locator("[data-testid=series-table] th[aria-sort=ascending]").count(), 1);
    }
    await context.close();
  });

  for (const name of ["series", "hidden"]) {
    test(`DB-30: a chosen row is marked in every chart and its details are those of the stored row, ${name}`, async () => {
      const { page, context } = await open(browser, url(name));
      const { cards, axes } = data(name);
      const card = cards.find((it) => it.delta !== null && it.caps.length > 0) ?? cards.find((it) => it.delta !== null);
      const row = page.locator(`[data-testid=series-row][data-key="${card.key}"]`);
      await row.click();
      const panel = page.locator("[data-testid=detail-panel]");
      assert.equal(await panel.locator("h3").innerText(), card.date);
      assert.equal(number(await panel.locator("[data-testid=detail-composite]").innerText()), card.composite);
      assert.ok(Math.abs(number(await panel.locator("[data-testid=detail-delta]").innerText()) - card.delta) < 0.006);
      const grades = await panel.locator("tbody tr").evaluateAll((all) => all.map((it) => [it.cells[0].textContent, Number(it.cells[1].textContent)]));
      assert.deepEqual(grades, axes.map((axis, at) => [axis, card.axes[at]]));
      assert.equal(await panel.locator("[data-testid=detail-judge]").innerText(), card.judge);
      assert.equal(await panel.locator(".prose").innerText(), card.notes);
      if (card.caps.length > 0) assert.match(await panel.locator(".notes").innerText(), /No source is cited/);
      assert.equal(await page.locator(`[data-testid=trend] [data-key="${card.date}"].is-focus`).count() > 0, true);
      assert.equal(await page.locator("[data-testid=trend] .focus-line").getAttribute("visibility"), "visible");
      assert.equal(await page.locator("[data-testid=histogram] g.is-focus").count(), 1);
      if (name === "series") assert.equal(await page.locator("[data-testid=stack] g.is-focus").count(), 1);
      assert.match(page.url(), new RegExp(`focus=${card.key}`));
      await page.reload();
      assert.equal(await panel.locator("h3").innerText(), card.date);
      await page.locator("[data-testid=detail-panel] .close").click();
      assert.equal(await panel.isVisible(), false);
      await context.close();
    });
  }

  test("DB-25, DB-30: rows are chosen by keyboard", async () => {
    const { page, context } = await open(browser, url("series"));
    await page.locator("k-theme button").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("[data-testid=detail-panel] h3").innerText(), data("series").cards[1].date);
    await context.close();
  });

  for (const name of ["series", "judges", "hidden", "one", "none"]) {
    test(`DB-50: no violation of WCAG 2.2 AA in any theme and width, ${name}`, async () => {
      const { page, context } = await open(browser, url(name), { checked: true });
      await page.locator("k-theme button").first().waitFor();
      const row = page.locator("[data-testid=series-row]").first();
      if (await row.count()) { await row.focus(); await page.keyboard.press("Enter"); }
      await eachLook(page, async ({ look, width, rules }) => {
        assert.deepEqual(await violations(page, { rules }), [], look);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, look);
      });
      await context.close();
    });
  }

  test("DB-40: with JavaScript off all numbers are readable", async () => {
    const { page, context } = await open(browser, url("series"), { script: false });
    const { cards } = data("series");
    const rows = page.locator("[data-testid=series-row]");
    assert.equal(await rows.locator("visible=true").count(), cards.length);
    assert.ok((await rows.first().innerText()).includes(cards[0].notes));
    assert.equal(await page.locator(".needs-script:visible").count(), 0);
    for (const stat of ["composite-median", "composite-mean", "drift", "gate-fails", "regressions"]) assert.ok(await page.locator(`[data-stat=${stat}]`).isVisible());
    await context.close();
  });

  test("DB-30: 2,000 days: a filter takes less than 100 ms, the file is below 5 MB", async () => {
    const file = readFileSync(`${folder}/long.html`);
    assert.ok(file.length <= 5_000_000, `${file.length} bytes`);
    const { page, context } = await open(browser, url("long"));
    assert.equal(await page.locator("[data-testid=series-row]").count(), 2000);
    const times = await page.evaluate(async () => {
      const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
      const times = [];
      for (const filter of ["below-gate", "high", "regressed", "all", "fails-gate", "all"]) {
        await frame();
        const start = performance.now();
        document.querySelector(`[data-filter="${filter}"]`)?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
        // Reading a size makes the browser lay out the page.
        document.body.getBoundingClientRect();
        times.push(Math.round(performance.now() - start));
      }
      return times;
    });
    const shows = (count) => page.waitForFunction((count) => document.querySelectorAll("[data-testid=series-row]:not([hidden])").length === count, count);
    await shows(150);
    await page.locator("k-table.linked button.all-rows", { hasText: "2,000" }).click();
    await shows(2000);
    await page.locator("[data-filter=high]").click();
    await shows(data("long").counts.high);
    console.log(`filters of 2,000 days: ${times.join(", ")} ms; ${(file.length / 1e6).toFixed(1)} MB`);
    await context.close();
  });
});
