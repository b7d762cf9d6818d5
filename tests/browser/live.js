// A live server for tests: the binary on a store that the presets have filled, offline.
import { spawn } from "node:child_process";
import { newContext, watch } from "./browser.js";

export const binary = process.env.KARAT_TEST_BINARY;

/** Serves the store of a folder. */
export async function serve(folder) {
  const env = { PATH: process.env.PATH, HOME: folder, CI: "true", NO_COLOR: "1" };
  const server = spawn(binary, ["view", "--no-open"], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise((resolve, reject) => {
    server.stdout.once("data", (text) => resolve(String(text).trim().replace(/\/$/, "")));
    server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
  return { url, stop: () => { server.kill(); } };
}

/** Waits until a page is no longer being made: until then it loads itself again. */
async function settled(url) {
  for (let round = 0; round < 600; round++) {
    if (!(await (await fetch(url)).text()).includes("<k-reload")) return;
    await new Promise((resolve) => { setTimeout(resolve, 100); });
  }
}

/** Goes to a page that the server has made. */
export async function visit(page, url) {
  for (let round = 0; round < 20; round++) {
    await settled(url);
    await page.goto(url);
    if (await page.locator("k-reload").count() === 0) return;
    // On a busy machine the server may have begun anew. An empty page does not load itself again in the middle of the next visit.
    await page.goto("about:blank");
  }
}

/** Does what makes a page load itself again, such as pressing a button that sends, and waits until it has. */
export async function reloadsBy(page, act) {
  await page.evaluate(() => { document.body.dataset.left = "yes"; });
  await act();
  await page.locator("body:not([data-left])").waitFor();
  await page.waitForLoadState("load");
}

/** Opens a page of the server; a request elsewhere is refused and remembered, as is every message. */
export async function openLive(browser, url, options = {}) {
  const context = await newContext(browser, options);
  const [requests, foreign] = [[], []];
  const origin = new URL(url).origin;
  await context.route("**/*", (route) => {
    const to = route.request().url();
    if (route.request().isNavigationRequest()) requests.length = 0;
    requests.push(to);
    if (new URL(to).origin === origin || to.startsWith("data:")) return route.continue();
    foreign.push(to);
    return route.abort();
  });
  const page = await context.newPage();
  const problems = watch(page);
  await visit(page, url);
  return { page, context, requests, foreign, problems };
}
