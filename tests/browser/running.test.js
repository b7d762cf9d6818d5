// The page of a run while it runs: a provider, a run of the command line, and a server that is killed meanwhile.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { eachLook, launch, newContext, violations } from "./browser.js";

const binary = process.env.KARAT_TEST_BINARY;
const ANSWER_MS = 60;

/** A provider that answers each question after a while, and refuses each tenth. */
async function startProvider() {
  const server = createServer((request, response) => {
    let text = "";
    request.on("data", (part) => { text += part; });
    request.on("end", () => setTimeout(() => {
      const isRefused = text.includes("refuse me");
      const message = { role: "assistant", content: "yes" };
      const usage = { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010 };
      const body = isRefused ? { error: { message: "no" } } : { id: "x", object: "chat.completion", model: "mock", choices: [{ index: 0, finish_reason: "stop", message }], usage };
      response.writeHead(isRefused ? 400 : 200, { "Content-Type": "application/json" }).end(JSON.stringify(body));
    }, ANSWER_MS));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

const SUITE = (port) => `name: bench
dataset: { source: data.jsonl, id: id, input: question, reference: target }
models: [ { id: mock, provider: openai, model: mock, base_url: "http://127.0.0.1:${port}/v1", api_key_env: MOCK_KEY, price: { input: 1.0, output: 2.0 } } ]
variants: { direct: [ { prompt: { text: "{{ sample.question }}" } } ] }
scorers: { hit: { metric: contains } }
run: { max_concurrency: 1, budget_usd: 10 }
`;

/** A folder with a suite of this many samples. */
function makeFolder(port, samples) {
  const folder = mkdtempSync(join(tmpdir(), "karat-running-"));
  const line = (at) => JSON.stringify({ id: `q${at}`, question: `${folder} ${at}${at % 10 === 3 ? " refuse me" : ""}`, target: "yes" });
  writeFileSync(join(folder, "data.jsonl"), Array.from({ length: samples }, (_, at) => line(at)).join("\n"));
  writeFileSync(join(folder, "karat.yaml"), SUITE(port));
  return folder;
}

const start = (folder, args) => {
  const env = { PATH: process.env.PATH, HOME: folder, CI: "true", NO_COLOR: "1" };
  return spawn(binary, args, { cwd: folder, env, stdio: ["ignore", "pipe", "ignore"] });
};

/** Serves a folder on a port; returns the process and its address. */
async function serve(folder, port = 0) {
  const server = start(folder, ["serve", "--listen", `127.0.0.1:${port}`]);
  const [text] = await once(server.stdout, "data");
  return { server, url: String(text).trim().replace(/\/$/, "") };
}

async function openRun(browser, url, options = {}) {
  const context = await newContext(browser, options);
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => { if (/Content Security Policy/i.test(message.text())) problems.push(message.text()); });
  page.on("dialog", (dialog) => { problems.push(dialog.message()); void dialog.dismiss(); });
  await page.addInitScript(() => {
    globalThis.shift = 0;
    new PerformanceObserver((list) => { for (const entry of list.getEntries()) globalThis.shift += entry.value; }).observe({ type: "layout-shift", buffered: true });
  });
  await page.goto(url);
  return { page, context, problems };
}

const post = (url, path, body = {}) => fetch(url + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
const done = async (page) => Number((await page.locator("[data-live=done]").innerText()).replace(",", ""));

describe("a running run", { skip: binary ? false : "KARAT_TEST_BINARY is not set" }, () => {
  let browser, provider;
  const folders = [], processes = [];
  before(async () => { browser = await launch(); provider = await startProvider(); });
  after(async () => {
    for (const process of processes) process.kill("SIGKILL");
    await browser?.close();
    provider?.close();
    provider?.closeAllConnections();
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });
  const place = (samples) => {
    const folder = makeFolder(provider.address().port, samples);
    folders.push(folder);
    return folder;
  };

  test("DB-21, DB-53: a run of the command line is watched to its verdict through a restart; nothing moves", async () => {
    const folder = place(150);
    let { server, url } = await serve(folder);
    processes.push(start(folder, ["run", "--run-id", "r", "--quiet"]));
    let status;
    for (let tries = 0; status !== "running" && tries < 200; tries++) {
      status = (await (await fetch(`${url}/eval/runs/r`)).json()).status;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    const one = await openRun(browser, `${url}/runs/r`);
    const other = await openRun(browser, `${url}/runs/r`);
    await one.page.waitForFunction(() => document.querySelector("[data-live=connection]")?.textContent === "live");
    const first = await done(one.page);
    await one.page.waitForFunction((first) => Number(document.querySelector("[data-live=done]")?.textContent) > first + 5, first);
    assert.equal(await one.page.locator("[data-testid=cancel]").count(), 0);
    assert.ok(await one.page.locator(".live-cells tbody tr").first().innerText());
    assert.equal(await one.page.evaluate(() => globalThis.shift), 0);

    server.kill("SIGKILL");
    await one.page.waitForFunction(() => document.querySelector("[data-live=connection]")?.textContent !== "live");
    ({ server, url } = await serve(folder, new URL(url).port));
    processes.push(server);
    for (const { page } of [one, other]) await page.locator("[data-testid=page-run]").waitFor({ timeout: 60_000 });
    const verdicts = await Promise.all([one, other].map(({ page }) => page.locator("[data-testid=verdict]").innerText()));
    assert.equal(verdicts[0], verdicts[1]);
    assert.match(await one.page.locator("[data-testid=failure-group]").first().innerText(), /15/);
    const run = await (await fetch(`${url}/eval/runs/r`)).json();
    assert.deepEqual([run.status, run.cells.done, run.cells.errors], ["failed", 150, 15]);
    assert.deepEqual([...one.problems, ...other.problems], []);
    await Promise.all([one.context.close(), other.context.close()]);
    server.kill();
  });

  test("DB-17, DB-50: a page has no violation of WCAG 2.2 AA, and cancelling asks once", async () => {
    const folder = place(3000);
    const { server, url } = await serve(folder);
    processes.push(server);
    assert.equal((await post(url, "/eval/run", { suite: "karat.yaml", run_id: "own" })).status, 202);
    const looked = await openRun(browser, `${url}/runs/own`, { checked: true });
    await eachLook(looked.page, async ({ look, width, rules }) => {
      assert.equal(await looked.page.evaluate(() => document.documentElement.scrollWidth), width, look);
      assert.deepEqual(await violations(looked.page, { rules }), [], look);
    });
    await looked.context.close();
    const { page, context, problems } = await openRun(browser, `${url}/runs/own`);
    await page.locator("[data-testid=cancel]").click();
    await page.locator("[data-keep]").click();
    assert.equal((await (await fetch(`${url}/eval/runs/own`)).json()).status, "running");
    await page.locator("[data-testid=cancel]").click();
    await page.locator("[data-confirm]").click();
    await page.locator("[data-testid=page-run]").waitFor({ timeout: 30_000 });
    assert.match(await page.locator("[data-testid=unfinished]").innerText(), /This run is cancelled/);
    assert.deepEqual(problems, []);
    await context.close();
    server.kill();
  });
});
