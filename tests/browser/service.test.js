// The page of the service on a live server with a suite that is due each minute. Each test names its requirement.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { eachLook, launch, movedParts, violations } from "./browser.js";
import { binary, openLive, reloadsBy } from "./live.js";

const SUITE = `name: support
dataset: { source: data.jsonl, id: id, input: question, reference: target }
variants: { published: [ { recorded: { column: answer } } ] }
scorers: { hit: { metric: contains } }
gates: [ { metric: hit, min: 90%, decide: point } ]
schedules:
  yearly: { cron: "0 3 1 1 *", zone: UTC, report: [json] }
alerts:
  oncall: { send: webhook, with: { url: "\${HOOK}" }, events: [gate_failed] }
`;

let browser, server, url, folder;
before(async () => {
  if (!binary) return;
  folder = mkdtempSync(join(tmpdir(), "karat-service-"));
  mkdirSync(join(folder, "support"));
  writeFileSync(join(folder, "support/karat.yaml"), SUITE);
  const row = (at) => JSON.stringify({ id: `q${at}`, question: "capital of France?", target: "Paris", answer: at % 2 ? "Rome" : "Paris" });
  writeFileSync(join(folder, "support/data.jsonl"), Array.from({ length: 20 }, (_, at) => row(at)).join("\n"));
  const env = { PATH: process.env.PATH, HOME: folder, CI: "true", NO_COLOR: "1", HOOK: "http://127.0.0.1:9/hook" };
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

const rows = (page, name) => page.locator(`[data-testid=${name}]`);

/** Loads the page until a part of it is there: runs end when they end. */
async function until(page, locator) {
  for (let round = 0; round < 100 && await locator.count() === 0; round++) {
    await page.waitForTimeout(100);
    await page.reload();
  }
  await locator.first().waitFor();
}

async function checkLooks(page, name) {
  await eachLook(page, async ({ look, rules }) => {
    assert.deepEqual(await violations(page, { rules }), [], `${name}, ${look}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name}, ${look} scrolls sideways`);
  });
}

describe("the page of the service", { skip: binary ? false : "KARAT_TEST_BINARY is not set" }, () => {
  test("SV-32, DB-50: empty parts say what fills them, and nothing moves", async () => {
    const { page, context, foreign, problems } = await openLive(browser, `${url}/service`, { checked: true });
    assert.equal(await page.locator("[data-testid=empty-state]").count(), 3);
    assert.deepEqual([await movedParts(page), foreign, problems], [[], [], []]);
    await checkLooks(page, "empty");
    await context.close();
  });

  test("SV-32: schedules are paused and run, incidents acknowledged and closed, by keyboard too", async () => {
    const { page, context, foreign, problems } = await openLive(browser, `${url}/service`);
    const schedule = rows(page, "schedule-row");
    const press = (part, name) => reloadsBy(page, () => part.getByRole("button", { name }).click());
    await press(schedule, "Pause yearly");
    await schedule.getByText("paused since").waitFor();
    await schedule.getByRole("button", { name: "Resume yearly" }).focus();
    await reloadsBy(page, () => page.keyboard.press("Enter"));
    await schedule.getByText("on time").waitFor();
    await press(schedule, "Run the last due time");
    const incident = rows(page, "incident-row");
    await until(page, incident);
    await press(incident, "Acknowledge");
    await incident.getByText("acknowledged").waitFor();
    await press(incident, "Close");
    await incident.getByText("closed").waitFor();
    assert.equal(await incident.getByRole("button").count(), 0);
    await rows(page, "outbox-row").first().waitFor();
    // A due time runs once: the refusal is said beside the button.
    await schedule.getByRole("button", { name: "Run the last due time" }).click();
    await schedule.getByText("This due time has run").waitFor();
    assert.deepEqual([foreign, problems.filter((text) => !text.includes("409"))], [[], []]);
    await context.close();
  });

  test("SV-32, DB-50: no violation of WCAG 2.2 AA with rows, in any theme and width", async () => {
    await fetch(`${url}/traces?dataset=faq`, { method: "POST", headers: { "Content-Type": "application/x-ndjson" }, body: '{"input":"a","output":"b"}\n' });
    const { page, context } = await openLive(browser, `${url}/service`, { checked: true });
    for (const name of ["schedule-row", "incident-row", "outbox-row", "traces-row"]) assert.ok(await rows(page, name).count() >= 1, name);
    await checkLooks(page, "filled");
    await context.close();
  });

  test("DB-01: everything is readable without script, and no button promises what it cannot do", async () => {
    const { page, context } = await openLive(browser, `${url}/service`, { script: false });
    assert.ok(await rows(page, "schedule-row").first().isVisible());
    assert.equal(await page.locator("k-post button:visible").count(), 0);
    await context.close();
  });
});
