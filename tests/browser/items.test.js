// The page of a test set on a live server, with systems that contradict two references. Each test names its requirement.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { eachLook, launch, newContext, violations } from "./browser.js";
import { binary } from "./live.js";

const SYSTEMS = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
const SUITE = `name: tickets
dataset: { source: tickets.jsonl, input: ticket, reference: category }
variants:
${SYSTEMS.map((name) => `  ${name}: [ { recorded: { column: ${name} } } ]`).join("\n")}
scorers: { category: { metric: exact } }
`;
const CATEGORIES = ["billing", "login", "delivery", "other"];

/** A row whose reference is wrong where `isWrong`; the later a system, the seldomer it fails. @param {number} at */
function row(at) {
  const right = CATEGORIES[at % 4];
  const isWrong = at === 8 || at === 21;
  const answer = (system) => ((at * 7 + system * 3) % 11 > 3 + 0.6 * system ? CATEGORIES[(at + 2) % 4] : right);
  const answers = Object.fromEntries(SYSTEMS.map((name, system) => [name, isWrong ? right : answer(system)]));
  // Two rows repeat each other, and one has markup for an id.
  const ticket = at === 31 ? `where is my order number 30 of the last month please` : `where is my order number ${at} of the last month please`;
  return { id: at === 5 ? "<img src=x onerror=alert(1)>" : `t${at}`, ticket, category: isWrong ? CATEGORIES[(at + 1) % 4] : right, ...answers };
}

let browser, server, url, folder;
before(async () => {
  if (!binary) return;
  folder = mkdtempSync(join(tmpdir(), "karat-items-"));
  writeFileSync(join(folder, "karat.yaml"), SUITE);
  writeFileSync(join(folder, "tickets.jsonl"), Array.from({ length: 60 }, (_, at) => JSON.stringify(row(at))).join("\n"));
  const env = { PATH: process.env.PATH, HOME: folder, CI: "true", NO_COLOR: "1" };
  const run = spawnSync(binary, ["run", "-q"], { cwd: folder, env });
  assert.equal(run.status, 0, String(run.stderr));
  server = spawn(binary, ["serve", "--listen", "127.0.0.1:0"], { cwd: folder, env, stdio: ["ignore", "pipe", "ignore"] });
  const [text] = await once(server.stdout, "data");
  url = String(text).trim().replace(/\/$/, "");
  browser = await launch();
});
after(async () => {
  await browser?.close();
  if (server) { server.kill(); await once(server, "exit"); }
  if (folder) rmSync(folder, { recursive: true, force: true });
});

describe("the page of a test set", { skip: !binary && "no binary" }, () => {
  test("BC-08: suspects stand first with their evidence, and become a task with one click", async () => {
    const context = await newContext(browser);
    const page = await context.newPage();
    const alerts = [];
    page.on("dialog", (dialog) => { alerts.push(dialog.message()); void dialog.dismiss(); });
    await page.goto(`${url}/suites/tickets/items`);
    await page.locator("[data-testid=page-items]").waitFor();
    const flagged = page.locator("#flagged tbody tr");
    const first = await flagged.first().textContent();
    assert.match(String(first), /t(8|21).*label-suspect/);
    assert.match(String(first), /10 of 10 systems of 10 families answer/);
    assert.ok(await page.locator("[data-testid=scatter] [data-key]").count() > 0);
    assert.equal(await page.locator("[data-testid=cluster]").count() > 0, true);
    await page.getByRole("button", { name: /Make a task of the suspects/ }).click();
    const task = page.locator("[data-testid=suspects-task] a");
    await task.waitFor();
    await task.click();
    await page.locator("[data-testid=owner-agreement], h1").first().waitFor();
    assert.match(page.url(), /\/annotate\/tickets-suspects/);
    assert.deepEqual(alerts, []);
    await context.close();
  });

  test("BC-08: the page is readable without a script, and has no violations in any look", async () => {
    const context = await newContext(browser, { script: false });
    const plain = await context.newPage();
    await plain.goto(`${url}/suites/tickets/items`);
    assert.match(String(await plain.locator("#flagged").textContent()), /label-suspect/);
    assert.equal(await plain.getByRole("button", { name: /Make a task/ }).isVisible(), false);
    await context.close();
    const looks = await newContext(browser, { checked: true });
    const page = await looks.newPage();
    await page.goto(`${url}/suites/tickets/items`);
    await eachLook(page, async ({ look, rules }) => {
      assert.deepEqual(await violations(page, { rules }), [], look);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${look} scrolls sideways`);
    });
    await looks.close();
  });
});
