// Screenshots of the style page: `node screenshots.js PAGE.html [FOLDER]`.
import { mkdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { launch, open, THEMES } from "./browser.js";

const [file, folder = "artifacts"] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const browser = await launch();
for (const theme of THEMES) {
  for (const width of [320, 1440, 3840]) {
    const { page, context } = await open(browser, pathToFileURL(file).href, { width, theme });
    await page.screenshot({ path: `${folder}/style-${width}-${theme}.png`, fullPage: true });
    await context.close();
  }
}
await browser.close();
