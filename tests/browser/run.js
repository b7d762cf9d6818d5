// Runs the tests with one browser for all files: `node run.js [FILE…]`. A file that fails runs once more, alone: a
// browser on a busy machine can be late. Whoever passes only then is named.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { chromium } from "playwright-core";
import { launchOptions } from "./browser.js";

const folder = import.meta.dirname;
const asked = process.argv.slice(2);
const files = asked.length ? asked : readdirSync(folder).filter((name) => name.endsWith(".test.js"));

/** The files with a failed test. @param {string[]} files @param {number} concurrency @returns {Promise<string[]>} */
async function failing(files, concurrency) {
  const failed = new Set();
  const events = run({ files, concurrency });
  events.on("test:fail", ({ file }) => failed.add(file));
  const output = events.compose(new spec());
  output.pipe(process.stdout);
  await new Promise((resolve) => output.on("end", resolve));
  return [...failed];
}

const server = await chromium.launchServer(launchOptions());
process.env.KARAT_TEST_BROWSER = server.wsEndpoint();
const failed = await failing(files.map((name) => join(folder, name)), 2);
const again = failed.length ? await failing(failed, 1) : [];
await server.close();
for (const file of failed.filter((file) => !again.includes(file))) console.error(`UNSTEADY: ${file} passed at its second attempt only`);
process.exit(again.length ? 1 : 0);
