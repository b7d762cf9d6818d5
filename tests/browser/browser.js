// A browser for tests: Debian's chromium, no network, no download.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

export const executablePath = process.env.KARAT_TEST_CHROMIUM ?? ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((path) => existsSync(path));

export const WIDTHS = [320, 1440];
export const THEMES = ["light", "dark"];

export function launch() {
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none"] });
}

/** Opens a page; every request that is not for the page itself is refused and remembered. */
export async function open(browser, url, { width = 1440, theme = "light", script = true, ...rest } = {}) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: theme, javaScriptEnabled: script, reducedMotion: "reduce", ...rest });
  const requests = [];
  const problems = [];
  await context.route("**/*", (route) => {
    const request = route.request();
    if (request.isNavigationRequest() || request.url().startsWith("data:")) return route.continue();
    requests.push(request.url());
    return route.abort();
  });
  const page = await context.newPage();
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) problems.push(message.text()); });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("dialog", (dialog) => { problems.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  await page.goto(url);
  return { page, context, requests, problems };
}
