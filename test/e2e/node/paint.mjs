// Prints the times to the first contentful paint of two pages, in milliseconds, as a JSON list of a list for each page.
// The pages are loaded in turn, each as by a first visitor: in a new browser context, without a cache.
// usage: CHROMIUM=PATH node paint.mjs LOADS URL URL

import { setTimeout } from "node:timers/promises";
import { chromium } from "playwright-core";

const [loads, ...addresses] = process.argv.slice(2);
const settling = 300; // milliseconds between two loads, in which the programs of the earlier page end
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

async function firstPaint(address) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  await setTimeout(settling);
  const response = await page.goto(address);
  if (!response.ok()) throw new Error(`${address}: status ${response.status()}`);
  const time = await page.evaluate(() => new Promise((resolve) => {
    new PerformanceObserver((list, observer) => {
      const [paint] = list.getEntriesByName("first-contentful-paint");
      if (!paint) return;
      observer.disconnect();
      resolve(paint.startTime);
    }).observe({ type: "paint", buffered: true });
  }));
  await context.close();
  return time;
}

try {
  const times = addresses.map(() => []);
  for (const address of addresses) await firstPaint(address); // the start of the browser isn't measured
  for (let i = 0; i < Number(loads); i++) {
    for (const [at, address] of addresses.entries()) times[at].push(await firstPaint(address));
  }
  console.log(JSON.stringify(times));
} finally {
  await browser.close();
}
