// Uses the page of examples/web-connect like a person, in a real Chromium.
// usage: node browser.mjs CHROMIUM PAGE-URL
//
// Prints the state and the text that the page shows after each button, as JSON.

import { chromium } from "playwright-core";

const [executablePath, url] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
try {
  const page = await browser.newPage();
  page.setDefaultTimeout(30_000);
  page.on("pageerror", (error) => { throw error; });
  await page.goto(url);
  const shown = {};
  for (const name of ["Chat", "By tensors"]) {
    await page.getByRole("button", { name }).click();
    await page.getByRole("status").filter({ hasNotText: "…" }).filter({ hasText: /./ }).waitFor();
    shown[name] = {
      state: await page.getByRole("status").textContent(),
      text: await page.locator("#answer").textContent(),
      pieces: await page.locator("#answer").evaluate((e) => [...e.childNodes].filter((n) => n.textContent).length),
    };
  }
  console.log(JSON.stringify(shown));
} finally {
  await browser.close();
}
