// A live server for tests: the binary on a store that presets have filled, offline.
import { spawn, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const binary = process.env.KARAT_TEST_BINARY;

/** Runs presets and serves their store. */
export async function serve(commands) {
  const folder = mkdtempSync(join(tmpdir(), "karat-pages-"));
  const env = { PATH: process.env.PATH, HOME: folder, CI: "true", NO_COLOR: "1" };
  for (const command of commands) {
    try {
      execFileSync(binary, command, { cwd: folder, env, stdio: "pipe" });
    } catch (error) {
      // A gate that fails is a result, too.
      if (![2, 3, 4].includes(error.status)) throw new Error(`${command.join(" ")}: ${error.stderr}`);
    }
  }
  const server = spawn(binary, ["view", "--no-open"], { cwd: folder, env, stdio: ["ignore", "pipe", "inherit"] });
  const url = await new Promise((resolve, reject) => {
    server.stdout.once("data", (text) => resolve(String(text).trim().replace(/\/$/, "")));
    server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
  return { url, stop: () => { server.kill(); rmSync(folder, { recursive: true, force: true }); } };
}

/** Opens a page of the server; a request elsewhere is refused and remembered, as is every message. */
export async function openLive(browser, url, { width = 1440, theme = "light", script = true, ...rest } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme, javaScriptEnabled: script, reducedMotion: "reduce", ...rest });
  const [requests, foreign, problems] = [[], [], []];
  const origin = new URL(url).origin;
  await context.route("**/*", (route) => {
    const to = route.request().url();
    requests.push(to);
    if (new URL(to).origin === origin || to.startsWith("data:")) return route.continue();
    foreign.push(to);
    return route.abort();
  });
  const page = await context.newPage();
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) problems.push(message.text()); });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("dialog", (dialog) => { problems.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  await page.goto(url);
  return { page, context, requests, foreign, problems };
}
