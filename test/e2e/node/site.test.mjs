// Reads the documentation's site from file:// in a real Chromium. site_test.go builds it:
//
//   TRIDENT_SITE   folder of the site, with the versions 0.9.0 and 0.10.0
//   TRIDENT_SHOTS  folder for screenshots; empty for none

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const { TRIDENT_SITE: site, TRIDENT_SHOTS: shots, CHROMIUM: executablePath } = process.env;
const newest = `file://${site}/0.10.0/`;

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
});
after(() => browser.close());

/** Opens a page. Errors of its scripts and requests to other hosts fail the test. */
async function open(t, address, options) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("request", (request) => request.url().startsWith("file:") || request.url().startsWith("data:") || wrong.push(request.url()));
  t.after(async () => {
    await context.close();
    assert.deepEqual(wrong, []);
  });
  await page.goto(address);
  return page;
}

/** Returns the brightness of the page's background, from 0 to 255. */
const brightness = (page) =>
  page.evaluate(() => {
    const [r, g, b] = getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number);
    return (r + g + b) / 3;
  });

const pages = { home: "index.html", guides: "guides/index.html", guide: "guides/models.html", settings: "reference/configuration.html", api: "reference/http-openai.html" };
for (const [name, path] of Object.entries(pages)) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [390, 1440]) {
      test(`${name}, ${colorScheme}, ${width} px`, async (t) => {
        const page = await open(t, newest + path, { viewport: { width, height: 900 }, colorScheme });
        assert.ok((await page.title()).includes("Trident"));
        const light = await brightness(page);
        assert.ok(colorScheme === "dark" ? light < 80 : light > 200, `brightness ${light}`);
        const [scrolls, shows] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
        assert.ok(scrolls <= shows, `the page has ${scrolls} px in a window of ${shows} px`);
        if (shots) await page.screenshot({ path: `${shots}/site-${name}-${colorScheme}-${width}.png` });
      });
    }
  }
}

test("the search finds a page", async (t) => {
  const page = await open(t, newest + "index.html");
  await page.getByPlaceholder("Search").fill("chat template");
  await page.keyboard.press("Enter");
  const results = page.locator("#search-results li a");
  // The page adds its results one after another.
  await results.filter({ hasText: "Chat templates" }).first().waitFor();
  if (shots) await page.screenshot({ path: `${shots}/site-search.png` });
  await results.first().click();
  assert.ok((await page.locator("article").textContent()).toLowerCase().includes("template"));
});

test("the list of versions opens another version", async (t) => {
  const page = await open(t, `file://${site}/index.html`);
  await page.waitForURL(/0\.10\.0\/index\.html$/);
  const list = page.getByLabel("Version");
  assert.deepEqual(await list.locator("option").allTextContents(), ["0.10.0", "0.9.0"]);
  assert.equal(await list.inputValue(), "0.10.0");
  await list.selectOption("0.9.0");
  await page.waitForURL(/0\.9\.0\/index\.html$/);
});

test("diagrams are drawn", async (t) => {
  const page = await open(t, newest + "contributing/architecture.html");
  await page.locator("pre.mermaid svg").first().waitFor();
});

test("the theme can be switched", async (t) => {
  const page = await open(t, newest + "index.html", { colorScheme: "light" });
  const before = await brightness(page);
  for (let i = 0; i < 3 && Math.abs((await brightness(page)) - before) < 100; i++) await page.locator(".theme-toggle:visible").first().click();
  assert.ok(Math.abs((await brightness(page)) - before) >= 100);
});
