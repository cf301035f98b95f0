// The page in a real browser. Arguments: the programs bouquet-explore and bouquet, the browser, and a folder for screenshots, if they are
// wanted. Run by `./check browser`.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { createRequire } from "node:module";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const [explore, bouquet, executablePath, shots] = process.argv.slice(2);
// The package lies where it was installed, not beside this file.
const { chromium } = createRequire(join(process.cwd(), "package.json"))("playwright-core");

const server = spawn(explore, ["--no-open"], { stdio: ["ignore", "pipe", "ignore"] });
const address = await new Promise((resolve, reject) => {
  server.stdout.once("data", (data) => resolve(String(data).trim()));
  server.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
});
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const errors = [];

async function open(view, { width = 1280, dark = false, state = {} } = {}) {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: dark ? "dark" : "light", acceptDownloads: true });
  page.setDefaultTimeout(60000);
  page.on("console", (message) => message.type() === "error" && errors.push(`${view}: ${message.text()}`));
  page.on("pageerror", (error) => errors.push(`${view}: ${error}`));
  page.on("request", (request) => request.url().startsWith(new URL(address).origin) || /^(data|blob):/.test(request.url()) || errors.push(`${view} loads ${request.url()}`));
  await page.goto(`${address}#${view}/${encodeURIComponent(JSON.stringify(state))}`);
  await page.waitForSelector(READY[view]);
  return page;
}
const READY = { choose: ".chart svg .curve", see: "#see-answer", inspect: ".drop", read: ".formulas math" };

const folder = mkdtempSync(join(tmpdir(), "bouquet-browser-"));
writeFileSync(join(folder, "keys.txt"), Array.from({ length: 20000 }, (_, at) => `key-${at}\n`).join(""));
execFileSync(bouquet, ["build", "keys.txt", "-o", "keys.bq", "--kind", "blocked"], { cwd: folder });

const tests = {
  async "every view loads, in light and dark, wide and narrow, and nothing is wider than the page"() {
    for (const view of Object.keys(READY)) for (const width of [400, 1600]) for (const dark of [false, true]) {
      const page = await open(view, { width, dark });
      if (view === "inspect") {
        await page.setInputFiles("#inspect-file", join(folder, "keys.bq"));
        await page.waitForSelector(".map i");
      }
      const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.ok(over <= 0, `${view} at ${width} is ${over} pixels too wide`);
      const unnamed = await page.evaluate(() => [...document.querySelectorAll("button, input, select, a")].filter((of) => !of.hidden && !(of.textContent.trim() || of.getAttribute("aria-label") || of.labels?.length)).map((of) => of.outerHTML));
      assert.deepEqual(unnamed, [], `${view}: what has no name cannot be read aloud`);
      if (shots) await page.screenshot({ path: join(shots, `${view}-${width}-${dark ? "dark" : "light"}.png`), fullPage: true });
      await page.close();
    }
  },

  async "a wrong token is refused"() {
    const page = await browser.newPage();
    const wrong = address.replace(/[0-9a-f]{32}/, "0".repeat(32));
    assert.equal((await page.goto(wrong)).status(), 403);
    const denied = await page.evaluate(async (to) => (await fetch(`${to}api/kinds`, { method: "POST" })).status, wrong);
    assert.equal(denied, 403);
    await page.close();
  },

  async "another origin cannot ask"() {
    const page = await browser.newPage();
    await page.goto("data:text/html,<p>elsewhere</p>");
    const told = await page.evaluate((to) => fetch(`${to}api/kinds`, { method: "POST" }).then((of) => of.status, () => "refused"), address);
    assert.equal(told, "refused");
    await page.close();
  },

  async "a key is inserted with the keyboard, and found; another is not; a step is undone"() {
    const page = await open("see", { state: { kind: "counting", settings: { items: "20", fpr: "0.01" }, steps: [], probe: "tulip" } });
    const answer = () => page.textContent("#see-answer");
    assert.match(await answer(), /contains: no/);
    await page.focus("#see-key");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#see-answer")?.textContent.includes("contains: yes"));
    assert.match(await answer(), /Rightly: it is in/);
    assert.ok(await page.locator(".cell.probe.used").count() >= 1);
    await page.fill("#see-key", "aster");
    await page.getByRole("button", { name: "Query" }).click();
    await page.waitForFunction(() => document.querySelector("#see-answer")?.textContent.includes("aster"));
    assert.match(await answer(), /contains: no/);
    await page.fill("#see-key", "tulip");
    await page.getByRole("button", { name: "Remove" }).click();
    await page.waitForFunction(() => document.querySelector("#see-answer")?.textContent.includes("contains: no"));
    await page.getByRole("button", { name: "Undo" }).click();
    await page.waitForFunction(() => document.querySelector("#see-answer")?.textContent.includes("contains: yes"));
    await page.reload();
    await page.waitForSelector("#see-answer");
    assert.match(await answer(), /“tulip”.*contains: yes/, "the link holds the state");
    await page.close();
  },

  async "a false positive is found and explained"() {
    const steps = ["rose", "lily", "iris", "aster", "tulip"].map((key) => ({ do: "insert", key }));
    const page = await open("see", { state: { kind: "standard", settings: { bits: "40", hashes: "3" }, steps } });
    await page.getByRole("button", { name: "Find a false positive" }).click();
    await page.waitForSelector("#see-answer.wrong");
    assert.match(await page.textContent("#see-answer"), /A false positive.*cell \d+: \w+/s);
    await page.close();
  },

  async "every kind can be looked at"() {
    const page = await open("see");
    const kinds = await page.$$eval("#see-kind option", (all) => all.map((of) => of.value));
    const reasons = [];
    for (const kind of kinds) {
      await page.selectOption("#see-kind", kind);
      await page.waitForSelector(`section[data-kind="${kind}"]`);
      if (await page.locator("section .cells").count() === 0) reasons.push(`${kind}: ${await page.textContent("section .bad")}`);
    }
    assert.ok(kinds.length > 50 && reasons.length < kinds.length / 5, reasons.join("\n"));
    // The browser reports what the server refuses.
    errors.splice(0, errors.length, ...errors.filter((error) => !error.includes("422")));
    await page.close();
  },

  async "the curves agree with bouquet size"() {
    const page = await open("choose", { state: { items: "50000", fpr: "0.001", need: ["remove"] } });
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save CSV" }).click();
    const rows = readFileSync(await (await download).path(), "utf8").trim().split("\n").slice(1).map((row) => row.split(","));
    assert.ok(rows.length > 100);
    for (const [kind, rate, bits] of rows.filter((_, at) => at % 23 === 0)) {
      const told = JSON.parse(execFileSync(bouquet, ["size", kind, "--items", "50000", "--fpr", rate, "--json"]));
      assert.ok(Math.abs(told.bits_per_item - Number(bits)) < 1e-9, `${kind} at ${rate}: ${bits} and ${told.bits_per_item}`);
    }
    await page.close();
  },

  async "the advice follows the form, curves are read with the keyboard, and saved"() {
    const page = await open("choose");
    const best = () => page.getAttribute(".card.first", "data-kind");
    const before = await best();
    await page.getByLabel("keys are removed").check();
    await page.waitForFunction((kind) => document.querySelector(".card.first")?.dataset.kind !== kind && !document.querySelector("[aria-busy]"), before);
    const told = JSON.parse(execFileSync(bouquet, ["advise", "--items", "1e6", "--need", "remove", "--json"]));
    assert.equal(await best(), told.advice[0].kind);
    await page.waitForSelector(".chart svg .curve");
    await page.focus(".chart svg");
    await page.keyboard.press("ArrowRight");
    assert.match(await page.textContent(".tip"), /%.*: \d/s);
    const lines = await page.locator(".chart .curve").count();
    await page.locator(".legend input:checked").first().uncheck();
    await page.waitForFunction((count) => document.querySelectorAll(".chart .curve").length === count - 1, lines);
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "Save SVG" }).click();
    const svg = readFileSync(await (await download).path(), "utf8");
    assert.ok(svg.startsWith("<svg") && !svg.includes("var("), svg.slice(0, 200));
    for (const of of ["rate", "memory"]) {
      await page.selectOption("section select", of);
      await page.waitForFunction((word) => document.querySelector(".chart svg")?.getAttribute("aria-label").includes(word), of === "rate" ? "keys in the filter" : "memory over");
    }
    await page.close();
  },

  async "a file that is no filter is refused in words"() {
    const page = await open("inspect");
    await page.setInputFiles("#inspect-file", join(folder, "keys.txt"));
    await page.waitForSelector("main .bad");
    assert.match(await page.textContent("main .bad"), /not a bouquet frame/);
    // The browser reports what the server refuses; that is the test.
    errors.splice(0, errors.length, ...errors.filter((error) => !error.includes("422")));
    await page.close();
  },

  async "the lab's plots are shown"() {
    const page = await open("read", { state: { kind: "cuckoo" } });
    await page.selectOption("#read-lab", "survey000-fig2");
    await page.waitForSelector(".plots svg");
    assert.ok(await page.locator("td", { hasText: /^agrees$/ }).count() > 0);
    await page.close();
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    assert.deepEqual(errors, [], "the console has no errors");
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    errors.length = 0;
    console.log(`FAILED ${name}: ${error.stack}`);
  }
}
await browser.close();
server.kill();
process.exit(failed ? 1 : 0);
