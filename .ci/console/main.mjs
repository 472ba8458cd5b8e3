// Presses every button of the console by the keyboard, and holds what the page shows to what must be so.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { statSync } from "node:fs";
import puppeteer from "puppeteer-core";
import { contrasts } from "./contrast.mjs";

const pictures = process.argv[2];
const limit = 150_000; // ms, of all of it

// serve is a process group of its own, which Ctrl-C ends as in a terminal.
const serve = spawn("make", ["--no-print-directory", "serve", "ADDR=127.0.0.1:0"], { detached: true, stdio: ["ignore", "pipe", "pipe"] });
const ended = once(serve, "exit");
let browser, output = "";
serve.stdout.on("data", (text) => (output += text));
serve.stderr.on("data", (text) => (output += text));

const living = () => {
  try {
    process.kill(-serve.pid, 0);
    return true;
  } catch {
    return false;
  }
};
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const until = async (what, condition, ms = 10_000) => {
  for (const end = Date.now() + ms; ; await pause(50)) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > end) throw new Error("does not come about: " + what);
  }
};
const stop = async () => {
  if (living()) process.kill(-serve.pid, "SIGINT");
  await Promise.race([ended, pause(10_000)]);
  await until("the end of every process of serve", () => !living(), 5_000);
};
const quit = async (code) => {
  await browser?.close().catch(() => {}); // or it is gone already
  await stop().catch((error) => {
    console.error("console: " + error.message);
    if (living()) process.kill(-serve.pid, "SIGKILL");
    code = 1;
  });
  process.exit(code);
};
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) process.on(signal, () => quit(1));
setTimeout(() => {
  console.error(`console: not done after ${limit / 1000} s`);
  quit(1);
}, limit).unref();

async function check() {
  const [, url] = await until("the line with the console's address", () => {
    assert(serve.exitCode === null, "serve has ended: " + output);
    return output.match(/console.*(http:\/\/127\.0\.0\.1:\d+\/)/);
  }, 90_000);
  browser = await puppeteer.launch({
    executablePath: process.env.CHROMIUM,
    headless: "shell",
    args: ["--no-sandbox", "--no-zygote", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"],
  });
  const page = await browser.newPage();
  const wrong = [], requests = [];
  page.on("console", (m) => ["error", "warn", "warning"].includes(m.type()) && wrong.push(m.text()));
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (r) => requests.push(r.url()));
  await page.setViewport({ width: 1280, height: 840 });
  await page.goto(url, { timeout: 20_000 });

  const text = (selector) => page.$eval(selector, (e) => e.innerText);
  const rows = (section) => page.$$eval(`${section} tbody tr`, (all) => all.map((r) => r.innerText.replace(/\s+/g, " ")));
  const first = (section, pattern, ms) =>
    until(`${pattern} in the first row of ${section}`, async () => pattern.test((await rows(section))[0]), ms);
  const reached = new Set();
  const press = async (name) => { // tabs to the button and presses it; returns what is said then
    const at = () => page.evaluate(() => document.activeElement.closest("button")?.querySelector("b").textContent);
    for (let tabs = 0; (await at()) !== name; tabs++) {
      assert(tabs < 40, `${name} is not reached by the keyboard`);
      await page.keyboard.press("Tab");
    }
    const ring = await page.evaluate(() => getComputedStyle(document.activeElement).outline);
    assert.match(ring, /solid [2-9]px/, `${name} does not show that it has the focus: ${ring}`);
    await page.keyboard.press(reached.size % 2 ? "Space" : "Enter");
    reached.add(name);
    const said = await until("an answer to " + name, async () => {
      const now = await page.evaluate(() => document.querySelector("#said").textContent + document.querySelector("#alert").textContent);
      return !now.endsWith("…") && now.startsWith(name) && now;
    }, 45_000);
    assert.equal(await at(), name, "the focus was lost");
    return said;
  };
  const pressed = async (name, pattern) => assert.match(await press(name), pattern);
  const charged = async (n, booked) => {
    const made = n === 1 ? "1 charge" : n + " charges", has = booked === 1 ? "1 row" : booked + " rows";
    await until(`${made}, ${has}`, async () => (await text("#sum")) === `The card processor has made ${made}; the ledger has ${has}.`);
  };

  await pressed("Pay", /^Pay: 201 ch_1, attempt 1$/);
  await charged(1, 1);
  await first("#records", /completed 1 –/);
  await first("#money", /^ch_1 card_visa 49\.90 EUR 17 49\.90 EUR, attempt 1$/);
  await first("#calls", /^TransactWriteItems records, ledger applied 0 8$/);
  await pressed("Pay again", /^Pay again: 201 ch_1, attempt 1, replayed$/);
  await until("the replay's header and body", async () => /Idempotent-Replayed: true\s+\{"charge":"ch_1"/.test(await text("#exchanges li")));
  await pressed("Other amount", /: 422 idempotency_key_reused$/);
  await charged(1, 1);
  await pressed("50 at once", /: 201 ch_2, attempt 1, 49 × 409 operation_in_progress, Retry-After$/);
  await charged(2, 2);
  for (const [name, operation, charge] of [["Lose the acquire's reply", "PutItem records", 3], ["Lose the commit's reply", "TransactWriteItems records, ledger", 4]]) {
    await pressed(name, new RegExp(`: 201 ch_${charge}, attempt 1$`));
    await charged(charge, charge);
    await until("a lost reply", async () => (await rows("#calls")).some((r) => r.startsWith(operation + " applied, ReplyLost")));
  }
  const before = await text("#key");
  await press("New key");
  await until("another key", async () => (await text("#key")) !== before);

  await pressed("Kill mid-charge", /: 500 Internal Server Error$/);
  await charged(5, 4);
  await first("#money", /^ch_5 .* none yet$/);
  await first("#records", /in progress 1 \d\.\d s/);
  await pressed("Pay again", /: 409 operation_in_progress, Retry-After$/);
  const left = async () => Number((await rows("#records"))[0].match(/([\d.]+) s/)[1]);
  const then = await left();
  await until("a lease that runs down", async () => (await left()) < then - 0.3);
  const picture = async (name) => {
    await page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
    return statSync(`${pictures}/${name}.png`).size;
  };
  const size = await picture("console");
  assert(size <= 200 << 10, `the picture has ${size} bytes`);

  for (const scheme of ["dark", "light"]) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    const [r, g, b] = (await page.$eval("body", (e) => getComputedStyle(e).backgroundColor)).match(/\d+/g).map(Number);
    assert.equal(r + g + b < 3 * 128, scheme === "dark", `the page's ground is rgb(${r}, ${g}, ${b}) in ${scheme} mode`);
    assert.deepEqual(await page.evaluate(contrasts, 4.5), [], `cannot be read in ${scheme} mode`);
    for (const width of [1280, 1000, 400]) {
      await page.setViewport({ width, height: 900 });
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, `scrolls sideways in ${scheme} mode`);
      await picture(`${scheme}-${width}`);
    }
    await page.setViewport({ width: 1280, height: 900 });
  }

  await first("#records", /outcome unknown 1 over/, 20_000);
  await pressed("Pay again", /: 409 outcome_unknown$/);
  await pressed("Reconcile", /: 1 completed$/);
  await charged(5, 5);
  await pressed("Pay again", /: 201 ch_5, attempt 1, replayed$/);
  await first("#records", /completed/);
  const hashed = await page.$eval("#records", (e) => e.outerHTML);
  assert(!hashed.includes("console-"), "the records show a raw key");
  const all = await page.$$eval("button b", (names) => names.map((b) => b.textContent));
  assert.deepEqual([...reached].sort(), all.sort(), "not every button was pressed");

  const hide = (hidden) => page.evaluate((value) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => value });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  await hide(true);
  await pause(300); // for a request that was on its way
  const asked = requests.length;
  await pause(1300);
  assert.equal(requests.length, asked, "a hidden page asks");
  await hide(false);
  await until("a page that is seen again asks", () => requests.length > asked);

  assert.deepEqual(wrong, [], "the browser's console has complaints");
  assert.deepEqual(requests.filter((r) => !r.startsWith(url) && r !== "data:,"), [], "it asks elsewhere");

  await press("New key");
  await pressed("Pay again", /^Pay again did not work: nothing was paid with the key console-\d+ yet/);
  await stop();
  await until("a page that says that it is old", async () => /^What is shown is old: /.test(await text("#link")));
  await pressed("Pay", /^Pay did not work: /);
}

try {
  const began = Date.now();
  await check();
  console.log(`console: all is as it should be, after ${((Date.now() - began) / 1000).toFixed(0)} s`);
  quit(0);
} catch (error) {
  console.error("console: " + (error.stack ?? error));
  const page = (await browser?.pages().catch(() => []))?.at(-1);
  await page?.screenshot({ path: `${pictures}/failed.png`, fullPage: true }).catch(() => {}); // it is not what failed
  quit(1);
}
