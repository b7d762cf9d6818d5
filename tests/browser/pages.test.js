// Pages of stored runs on a live server. Each test names its requirement.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eachLook, launch, movedParts, newContext, violations } from "./browser.js";
import { binary, openLive, serve, visit } from "./live.js";

const store = process.env.KARAT_TEST_STORE;
const PAGES = {
  runs: "/",
  "runs, none": "/?q=nothing+has+this",
  cells: "/runs/faq/cells",
  "cells, bad values": "/runs/faq/cells?sort=none&status=gone&lt=x",
  "cells, none": "/runs/faq/cells?q=nothing+has+this",
  "cells of a judged run": "/runs/claims/cells",
  trace: "/runs/claims/cell?n=0",
  "trace, raw": "/runs/claims/cell?n=0&view=raw",
  "sample with marks": "/runs/spans/sample?id=scene-01",
  "sample with an answer": "/runs/rag/sample?id=q-002",
  compare: "/compare?a=sim-faithful&b=sim-merging&of=model&run=claims",
  gone: "/runs/gone/cells",
};

const isReady = binary && store;
let browser, server;
before(async () => {
  if (!isReady) return;
  browser = await launch();
  server = await serve(store);
});
after(async () => { await browser?.close(); server?.stop(); });

/** The first sample of a run, and its comparison. */
async function samplePaths() {
  const { page, context } = await openLive(browser, `${server.url}/runs/faq/cells`);
  const path = await page.locator("[data-testid=cell-row] th a").first().getAttribute("href");
  await visit(page, server.url + path);
  const diff = await page.locator("[data-testid=diff-link]").getAttribute("href");
  await context.close();
  return { sample: path, "sample, compared": diff };
}

describe("live pages", { skip: isReady ? false : "KARAT_TEST_BINARY and KARAT_TEST_STORE are not set" }, () => {
  test("DB-50, DB-51, DB-53, DB-60: four requests, none elsewhere, no message, nothing moves, no violation of WCAG 2.2 AA in any theme and width", async () => {
    for (const [name, path] of Object.entries({ ...PAGES, ...await samplePaths() })) {
      const { page, context, requests, foreign, problems } = await openLive(browser, server.url + path, { checked: true });
      await page.locator("k-theme button").first().waitFor();
      assert.ok(requests.length <= 4, `${name}: ${requests.join(" ")}`);
      assert.deepEqual([foreign, problems.filter((text) => name !== "gone" || !text.includes("404"))], [[], []], name);
      assert.deepEqual(await movedParts(page), [], name);
      assert.equal(await page.locator("h1").count(), 1, name);
      await eachLook(page, async ({ look, rules }) => {
        assert.deepEqual(await violations(page, { rules }), [], `${name}, ${look}`);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}, ${look} scrolls sideways`);
      });
      await context.close();
    }
  });

  test("DB-25: run, worst sample, trace and back without a pointer, focus visible at each step", async () => {
    const { page, context } = await openLive(browser, `${server.url}/runs/faq/cells?sort=f1`);
    await page.locator("k-theme button").first().waitFor();
    const isFocused = () => page.evaluate(() => document.activeElement?.matches(":focus-visible") ?? false);
    await page.keyboard.press("j");
    assert.ok(await isFocused());
    await page.keyboard.press("e");
    assert.ok(await page.locator("tr.more").first().isVisible());
    await page.keyboard.press("e");
    assert.ok(!await page.locator("tr.more").first().isVisible());
    const worst = await page.locator("[data-testid=cell-row] th a").first().innerText();
    await page.keyboard.press("Enter");
    await page.locator("[data-testid=page-sample]").waitFor();
    assert.equal(await page.locator("h1").innerText(), worst);
    assert.match(page.url(), /sort=f1/);
    await page.keyboard.press("]");
    await page.waitForURL((url) => url.searchParams.get("id") !== worst);
    await page.keyboard.press("[");
    await page.waitForURL((url) => url.searchParams.get("id") === worst);
    await page.keyboard.press("d");
    await page.locator("[data-testid=diff]").waitFor();
    await page.keyboard.press("t");
    await page.locator("[data-testid=page-trace]").waitFor();
    await page.keyboard.press("Tab");
    assert.ok(await isFocused());
    await page.goBack();
    await page.locator("[data-testid=diff]").waitFor();
    await context.close();
  });

  test("DB-25: rows are ticked and compared by keyboard; no key acts while typing or when keys are off", async () => {
    const { page, context } = await openLive(browser, `${server.url}/?suite=faq`);
    await page.locator("k-theme button").first().waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("x");
    assert.equal(await page.locator("[data-testid=search]").inputValue(), "x");
    assert.equal(await page.locator("input:checked").count(), 0);
    await page.evaluate(() => { if (document.activeElement instanceof HTMLElement) document.activeElement.blur(); });
    for (const key of ["j", "x", "j", "x"]) await page.keyboard.press(key);
    assert.equal(await page.locator("input:checked").count(), 2);
    await page.keyboard.press("c");
    await page.waitForURL(/\/compare\?a=faq&b=faq2&of=run/);
    await visit(page, `${server.url}/?suite=faq`);
    await page.evaluate(() => localStorage.setItem("karat-keys", "off"));
    await page.reload();
    await page.locator("k-theme button").first().waitFor();
    for (const key of ["j", "x"]) await page.keyboard.press(key);
    assert.equal(await page.locator("input:checked").count(), 0);
    await context.close();
  });

  test("DB-01: lists filter, sort, page and open with JavaScript off", async () => {
    const { page, context } = await openLive(browser, `${server.url}/runs/faq/cells`, { script: false });
    const all = await page.locator("[data-testid=cell-row]").count();
    assert.ok(all > 10);
    await page.locator("[data-testid=cell-row] summary").first().click();
    assert.ok(await page.locator("tr.more").first().isVisible());
    await visit(page, `${server.url}/runs/rag/cells`);
    await page.locator("[data-testid=next]").click();
    assert.match(page.url(), /after=/);
    assert.equal(await page.locator("[data-testid=cell-row]").count(), 10);
    await visit(page, `${server.url}/runs/faq/cells`);
    await page.locator("select[name=variant]").selectOption("may");
    await page.locator("form.filters button").click();
    const systems = await page.locator("[data-testid=cell-row] td:nth-child(3)").allInnerTexts();
    assert.ok(systems.length > 0 && systems.every((system) => system.includes("may")), systems.join(" "));
    await page.locator("th a.sort", { hasText: "f1" }).click();
    const values = (await page.locator("[data-testid=cell-row] [data-metric=f1]").evaluateAll((cells) => cells.map((cell) => Number(cell.dataset.value))));
    assert.deepEqual(values, [...values].sort((a, b) => b - a));
    await context.close();
  });

  test("DB-22: spans are marked in their text with their categories, statements with their state, citations beside the answer", async () => {
    const { page, context } = await openLive(browser, `${server.url}/runs/spans/sample?id=scene-01`);
    const lines = await page.locator("#outputs mark").evaluateAll((marks) => marks.map((mark) => `${getComputedStyle(mark).textDecorationStyle} ${getComputedStyle(mark).textDecorationColor}`));
    assert.ok(new Set(lines).size >= 3, lines.join("; "));
    assert.ok(await page.locator("#outputs mark .tag", { hasText: "shot.type" }).first().isVisible());
    await visit(page, `${server.url}/runs/claims/sample?id=kr-oats-01`);
    assert.ok(await page.locator("#input mark .tag", { hasText: "found" }).count() > 0);
    await visit(page, `${server.url}/runs/rag/cells?metric=NumericExact&gt=0.5`);
    await page.locator("[data-testid=cell-row] th a").first().click();
    await page.locator("[data-testid=answer] details[open] li").first().waitFor();
    assert.match(await page.locator("[data-testid=answer] mark").first().innerText(), /Numeric/);
    await context.close();
  });

  test("DB-45: a form leaves its empty fields out of the address", async () => {
    const { page, context } = await openLive(browser, `${server.url}/runs/faq/cells`);
    await page.locator("[data-testid=search]").fill("f1");
    await page.locator("form.filters button").click();
    await page.waitForURL(/q=f1/);
    assert.equal(new URL(page.url()).search, "?q=f1");
    await context.close();
  });

  test("DB-21: a page that is being made loads again once it has loaded, not before", async () => {
    const context = await newContext(browser);
    await context.clock.install();
    const page = await context.newPage();
    let loads = 0, release;
    const released = new Promise((resolve) => { release = resolve; });
    await page.route(`${server.url}/`, async (route) => {
      loads += 1;
      const response = await route.fetch();
      const body = (await response.text()).replace("</main>", "<k-reload></k-reload><img alt='' src='/held'></main>");
      await route.fulfill({ response, body });
    });
    await page.route("**/held", async (route) => {
      await released;
      await route.fulfill({ status: 404 });
    });
    await page.goto(server.url, { waitUntil: "domcontentloaded" });
    await context.clock.fastForward(60_000);
    assert.equal(loads, 1);
    release();
    await page.waitForLoadState("load");
    const again = page.waitForEvent("load");
    await context.clock.fastForward(60_000);
    await again;
    assert.equal(loads, 2);
    await context.close();
  });
});
