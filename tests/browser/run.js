// Runs the tests with one browser for all files: `node run.js [FILE…]`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { chromium } from "playwright-core";
import { launchOptions } from "./browser.js";

const server = await chromium.launchServer(launchOptions());
const env = { ...process.env, KARAT_TEST_BROWSER: server.wsEndpoint() };
const tests = spawn(process.execPath, ["--test", "--test-reporter=spec", "--test-concurrency=2", ...process.argv.slice(2)], { env, stdio: "inherit" });
const [code] = await once(tests, "exit");
await server.close();
process.exit(code ?? 1);
