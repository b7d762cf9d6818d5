// People label, and the owner watches and decides. Each test names its requirement.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { eachLook, launch, violations } from "./browser.js";
import { binary, openLive } from "./live.js";

const ITEMS = 60;
const SUITE = `name: support
dataset: { source: data.jsonl, id: id, input: question }
variants: { published: [ { recorded: { column: answer } } ] }
scorers:
  quality:
    rubric: { ask: Is it good?, show: { answer: "{{ output }}" }, dimensions: { good: { scale: [1, 5], step: 1 } } }
judges: [judge]
registry: [models.yaml]
`;
const MODELS = `schema: karat.models/1
as_of: 2026-06-01
models: [ { id: judge, provider: scripted, context_window: 2000000, with: { reply: judge.j2 } } ]
`;
const JUDGE = `{"code": {{ code | json }}, "scores": {"good": 3}, "reasoning": "fine"}`;
const TWO = `name: two
dataset: { source: data.jsonl, id: id, input: question }
variants:
  one: [ { recorded: { column: answer } } ]
  other: [ { recorded: { column: other } } ]
scorers: { length: { metric: length } }
`;
const EVERY_KIND = `
- { id: helpful, ask: Is it helpful?, kind: scale, scale: [1, 5], step: 1, anchors: [{ value: 1, text: useless }] }
- { id: wrong, ask: Is it wrong?, kind: choice, choices: [{ id: fine }, { id: faulty, text: It has a fault }] }
- { id: where, ask: Mark the faults, kind: spans, categories: [{ id: fact }, { id: tone }], show_if: { wrong: faulty } }
- { id: share, ask: What share is right?, kind: scale, scale: [0, 100], step: 5 }
- { id: tags, ask: Which of these?, kind: multi, required: false, choices: [{ id: long }, { id: rude }] }
- { id: note, ask: Anything else?, kind: text, required: false }
`;
/** Emoji, a combining mark, right to left, and two kinds of line ends. */
const HARD = "Zo\u0308e 👩‍🚀 paid 50 euros.\r\nשלום עולם\nThe end";

let browser, server, url, folder;
const karat = (...args) => execFileSync(binary, args, { cwd: folder, env: { PATH: process.env.PATH, HOME: folder, NO_COLOR: "1" }, stdio: ["ignore", "pipe", "pipe"] }).toString();

before(async () => {
  if (!binary) return;
  folder = mkdtempSync(join(tmpdir(), "karat-annotate-"));
  const write = (name, text) => writeFileSync(join(folder, name), text);
  write("karat.yaml", SUITE);
  write("models.yaml", MODELS);
  write("judge.j2", JUDGE);
  write("kinds.yaml", EVERY_KIND);
  write("marks.yaml", "- { id: where, ask: Mark the faults, kind: spans, categories: [{ id: fact }, { id: tone }] }\n");
  write("pairs.yaml", "- { id: better, ask: Which is better?, kind: pairwise }\n");
  write("data.jsonl", Array.from({ length: ITEMS }, (_, at) => JSON.stringify({ id: `q${at}`, question: `Question ${at}?`, answer: `Answer ${at} of many words.`, other: `Another answer ${at}.` })).join("\n"));
  karat("run", "karat.yaml", "--run-id", "r");
  write("two.yaml", TWO);
  karat("run", "two.yaml", "--run-id", "two");
  karat("annotate", "create", "two", "--task", "pairs", "-k", "1", "--n", "3", "--questions", "pairs.yaml");
  write("hard.jsonl", JSON.stringify({ id: "hard", question: "Who paid?", output: HARD }));
  karat("annotate", "create", "r", "--task", "good", "-k", "2");
  karat("annotate", "create", "r", "--task", "kinds", "-k", "1", "--n", "4", "--questions", "kinds.yaml");
  karat("annotate", "create", "--dataset", "hard.jsonl", "--task", "hard", "-k", "2", "--questions", "kinds.yaml");
  karat("annotate", "create", "--dataset", "hard.jsonl", "--task", "marks", "-k", "2", "--questions", "marks.yaml");
  server = spawn(binary, ["serve", "--listen", "127.0.0.1:0"], { cwd: folder, env: { PATH: process.env.PATH, HOME: folder, NO_COLOR: "1" }, stdio: ["ignore", "pipe", "ignore"] });
  const [text] = await once(server.stdout, "data");
  url = String(text).trim().replace(/\/$/, "");
  browser = await launch();
});
after(async () => {
  await browser?.close();
  if (server) { server.kill(); await once(server, "exit"); }
  if (folder) rmSync(folder, { recursive: true, force: true });
});

const item = (page) => page.locator("k-annotate").getAttribute("data-item");
const begin = async (task, person, options = {}) => {
  const opened = await openLive(browser, `${url}/annotate/${task}?as=${person}`, options);
  await opened.page.locator("k-question").first().waitFor();
  return opened;
};
const answers = (page) => page.evaluate(() => Object.fromEntries([...document.querySelectorAll("k-question")].map((form) => [form.dataset.question, form.value])));
const labels = (task) => karat("annotate", "export", task).trim().split("\n").filter(Boolean).map((line) => JSON.parse(line)).filter((line) => line.annotator !== undefined);

const task = (name) => JSON.parse(karat("annotate", "show", name, "--json"));

describe("pages of tasks for people", { skip: binary ? false : "KARAT_TEST_BINARY is not set" }, () => {
  test("HU-10, HU-12, HU-20, F78: two people label 60 items by keyboard alone, one through a cut network: none lost, none twice", async () => {
    const work = async (person, digit, cut) => {
      const { page, context, foreign } = await begin("good", person);
      for (let at = 0; at < ITEMS; at += 1) {
        const shown = await item(page);
        if (at === cut) await context.setOffline(true);
        await page.keyboard.press(digit(at));
        await page.keyboard.press("Enter");
        if (at === cut + 1) {
          await page.locator("[data-testid=offline]:visible").waitFor();
          await context.setOffline(false);
        }
        await page.waitForFunction((shown) => { const page = document.querySelector("k-annotate"); return page?.getAttribute("data-item") !== shown || document.querySelector("[data-testid=empty-state]"); }, shown, { timeout: 20000 });
      }
      await page.locator("[data-testid=empty-state]").waitFor();
      await page.waitForFunction(() => document.querySelector("[data-testid=progress-mine]")?.textContent?.startsWith("60 done"));
      // The last answer is counted: it was on the server before the next item was asked for.
      assert.match(await page.locator("[data-testid=empty-state]").innerText(), /nothing left for you here\. Thank you: 60 done/);
      assert.deepEqual(foreign, []);
      await context.close();
    };
    await Promise.all([work("ann", (at) => String(1 + (at % 5)), 20), work("bob", (at) => String(1 + (at % 4)), -9)]);
    const given = labels("good");
    assert.equal(given.length, 2 * ITEMS);
    assert.equal(new Set(given.map((label) => `${label.annotator} ${label.sample}`)).size, 2 * ITEMS);
  });

  test("HU-13, HU-30: the owner's page shows what the export has; looks are checked", async () => {
    const { page, context, problems } = await openLive(browser, `${url}/annotate/good/owner`, { checked: true });
    const shown = Number(await page.locator("[data-testid=owner-agreement]").getAttribute("data-alpha"));
    const given = labels("good");
    writeFileSync(join(folder, "labels.jsonl"), given.map((label) => JSON.stringify(label)).join("\n"));
    const agreed = JSON.parse(karat("agree", "r", "--labels", "labels.jsonl", "--between", "ann,bob", "--format", "json", "-o", "-"));
    const found = JSON.stringify(agreed).match(/"alpha":\{[^}]*?"value":(-?[0-9.e-]+)/) ?? JSON.stringify(agreed).match(/"alpha":(-?[0-9.e-]+)/);
    assert.ok(found, JSON.stringify(agreed).slice(0, 2000));
    assert.ok(Math.abs(Number(found[1]) - shown) < 1e-9, `${found[1]} and ${shown}`);
    assert.equal(await page.locator("[data-testid=person-row]").count(), 2);
    assert.deepEqual(problems, []);
    await eachLook(page, async ({ look, width, rules }) => {
      assert.deepEqual(await violations(page, { rules }), [], look);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, look);
    });
    await context.close();
  });

  test("HU-31: the adjudicator answers first, then sees people without names, then settles", async () => {
    const { page, context } = await openLive(browser, `${url}/annotate/good/adjudicate?as=owner`, { checked: true });
    const checked = await openLive(browser, `${url}/annotate/good/adjudicate?as=owner`, { checked: true });
    await checked.page.locator("[data-testid=adjudicate-item]").waitFor();
    await eachLook(checked.page, async ({ look, rules }) => assert.deepEqual(await violations(checked.page, { rules }), [], look));
    await checked.context.close();
    await page.locator("[data-testid=adjudicate-item]").waitFor();
    const waiting = Number((await page.locator("article p").first().innerText()).match(/of (\d+)/)?.[1]);
    assert.ok(waiting > 10);
    assert.equal(await page.locator("[data-testid=person-1]").count(), 0);
    await page.keyboard.press("3");
    await page.keyboard.press("Enter");
    await page.locator("[data-testid=person-2]").waitFor();
    assert.ok(!/ann|bob/.test(await page.locator("main").innerText()));
    await page.keyboard.press("a");
    await page.keyboard.press("1");
    await page.waitForFunction((left) => document.querySelector("article p")?.textContent?.includes(`of ${left}`), waiting - 1);
    await page.keyboard.press("2");
    await page.keyboard.press("Enter");
    await page.locator("[data-testid=settle]").waitFor();
    await page.keyboard.press("Enter");
    await page.waitForFunction((left) => document.querySelector("article p")?.textContent?.includes(`of ${left}`), waiting - 2);
    assert.equal(task("good").items.adjudicated, 2);
    await context.close();
  });

  test("HU-31: the adjudicator marks spans anew before those of people are shown", async () => {
    const post = async (path, person, body) => (await fetch(`${url}/annotations/marks/${path}?as=${person}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json();
    const given = { eva: [{ start: 0, end: 4, category: "tone", quote: "Zo\u0308e" }], finn: [] };
    for (const [person, where] of Object.entries(given)) {
      const { item } = await post("next", person, {});
      assert.equal((await post("labels", person, { item: item.id, answers: { where } })).state, "counted");
    }
    const { page, context, problems } = await openLive(browser, `${url}/annotate/marks/adjudicate?as=owner`, { checked: true });
    await page.locator("k-marked-text").waitFor();
    await eachLook(page, async ({ look, rules }) => assert.deepEqual(await violations(page, { rules }), [], look));
    assert.equal(await page.locator("[data-testid=span]").count(), 0);
    await page.keyboard.press("Enter");
    assert.equal(await page.locator("[data-testid=person-1]").count(), 0, "an answer comes first");
    await page.keyboard.press(" ");
    await page.keyboard.press("Shift+ArrowRight");
    await page.keyboard.press("1");
    await page.locator("[data-testid=span]").first().waitFor();
    await page.keyboard.press("Enter");
    await page.locator("[data-testid=person-2]").waitFor();
    await page.keyboard.press("Enter");
    await page.locator("[data-testid=empty-state]").waitFor();
    assert.deepEqual(problems, []);
    const [, marked] = karat("annotate", "export", "marks", "--as", "jsonl", "--settled").trim().split("\n").map((line) => JSON.parse(line));
    const [span] = marked.settled.questions.where.value;
    assert.deepEqual([marked.settled.state, span.category, span.quote], ["adjudicated", "fact", "Zo\u0308e 👩‍🚀 paid"]);
    await context.close();
  });

  test("HU-02, HU-06, HU-20: every kind of question by keyboard; nothing has a value before; 360 px and axe", async () => {
    const { page, context, problems } = await begin("kinds", "cleo", { checked: true });
    assert.deepEqual(Object.values(await answers(page)), [undefined, undefined, undefined, undefined, undefined]);
    assert.equal(await page.locator("[aria-pressed=true][data-value], k-question input:checked").count(), 0);
    await page.keyboard.press("Enter");
    assert.match(await page.locator(".side").innerText(), /Question 1 has no answer yet/);
    await page.keyboard.press("5");
    await page.keyboard.press("2");
    await page.locator("[data-question=where]").waitFor();
    await page.keyboard.press(" ");
    await page.keyboard.press("Shift+ArrowRight");
    await page.keyboard.press("2");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.type("85");
    assert.equal((await answers(page)).share, 85);
    await page.keyboard.press("Escape");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("2");
    const given = await answers(page);
    assert.deepEqual([given.helpful, given.wrong, given.tags], [5, "faulty", ["rude"]]);
    await page.setViewportSize({ width: 360, height: 800 });
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 360);
    const heights = await page.locator("[data-testid=answer]:visible, [data-testid=submit]").evaluateAll((all) => all.map((each) => each.getBoundingClientRect().height));
    assert.ok(heights.every((height) => height >= 36), heights.join());
    await page.setViewportSize({ width: 1440, height: 900 });
    const before = await item(page);
    await page.keyboard.press("Enter");
    await page.waitForFunction((before) => document.querySelector("k-annotate")?.getAttribute("data-item") !== before, before);
    await page.keyboard.press("u");
    await page.waitForFunction((before) => document.querySelector("k-annotate")?.getAttribute("data-item") === before, before);
    assert.equal((await answers(page)).helpful, 5);
    assert.equal(task("kinds").labels.counted, 0);
    await page.keyboard.press("s");
    await page.locator("dialog[open]").waitFor();
    await page.keyboard.press("1");
    await page.waitForFunction((before) => document.querySelector("k-annotate")?.getAttribute("data-item") !== before, before);
    await eachLook(page, async ({ look, width, rules }) => {
      assert.deepEqual(await violations(page, { rules }), [], look);
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, look);
    });
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("HU-21: the same spans by mouse and by keyboard; quotes are the text between the offsets", async () => {
    const spans = async (person, mark) => {
      const { page, context } = await begin("hard", person);
      await page.keyboard.press("1");
      await page.keyboard.press("2");
      await page.locator("[data-question=where]").waitFor();
      await mark(page);
      const given = (await answers(page)).where ?? await page.evaluate(() => document.querySelector("k-marked-text").spans);
      const found = await page.evaluate(() => document.querySelector("k-marked-text").spans);
      await context.close();
      return found.length ? found : given;
    };
    const byKeyboard = await spans("dora", async (page) => {
      // From the first word to the second: an emoji is no word.
      await page.keyboard.press(" ");
      await page.keyboard.press("Shift+ArrowRight");
      await page.keyboard.press("1");
    });
    const byMouse = await spans("emil", async (page) => {
      await page.evaluate(() => {
        const text = document.querySelector("k-marked-text");
        const whole = text.textContent;
        const walk = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
        const place = (wanted) => {
          walk.currentNode = text;
          for (let node = walk.nextNode(), before = 0; node; before += node.data.length, node = walk.nextNode()) if (wanted <= before + node.data.length) return [node, wanted - before];
          throw new Error("not in the text");
        };
        const range = document.createRange();
        range.setStart(...place(whole.indexOf("o\u0308e")));
        range.setEnd(...place(whole.indexOf("paid") + 2));
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        text.dispatchEvent(new MouseEvent("mouseup", { bubbles: true }));
      });
      await page.keyboard.press("1");
    });
    const chars = [...HARD];
    for (const span of [...byKeyboard, ...byMouse]) assert.equal(chars.slice(span.start, span.end).join(""), span.quote);
    assert.deepEqual(byMouse.map(({ quote }) => quote), ["Zo\u0308e 👩‍🚀 paid"]);
    assert.deepEqual(byKeyboard, byMouse);
  });

  test("HU-02, HU-20: pairs by arrows; the words in which they differ are marked", async () => {
    const { page, context, problems } = await begin("pairs", "gil", { checked: true });
    const sides = await Promise.all(["pair-a", "pair-b"].map((side) => page.locator(`[data-testid=${side}] pre`).innerText()));
    assert.deepEqual(sides.map((side) => side.startsWith("Another")).sort(), [false, true]);
    assert.ok((await page.locator("mark.differs").allInnerTexts()).some((text) => text.includes("many")));
    for (const [key, value] of [["ArrowLeft", "a"], ["ArrowDown", "tie"], ["x", "both_bad"], ["ArrowRight", "b"]]) {
      await page.keyboard.press(key);
      assert.equal((await answers(page)).better, value);
    }
    await page.locator("button", { hasText: "Mark differences" }).click();
    assert.equal(await page.locator("mark.differs").count(), 0);
    assert.equal((await answers(page)).better, "b");
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(problems, []);
    await context.close();
  });

  test("HU-32: a task is closed by a second press only", async () => {
    const { page, context } = await openLive(browser, `${url}/annotate/hard/owner`);
    const close = page.locator("k-post button");
    await close.click();
    assert.equal(await close.innerText(), "Close it for good");
    assert.equal(task("hard").closed, null);
    await close.click();
    await page.locator("k-post").waitFor({ state: "detached" });
    assert.equal(task("hard").closed.by, "owner");
    await context.close();
  });

  test("HU-05: the page of a person leads nowhere else and names nothing", async () => {
    const { page, context } = await begin("kinds", "fred");
    const links = await page.locator("a[href]").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    assert.deepEqual(links, ["#main"]);
    assert.ok(!/judge|published|\br\b/.test(await page.locator("main").innerText()), await page.locator("main").innerText());
    await context.close();
  });
});
