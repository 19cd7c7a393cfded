// Prints Lighthouse's accessibility score of each address in the arguments, as a line with the address, the score from 0
// to 100 and the failed audits. CHROMIUM is the path of the browser.
import { launch } from "chrome-launcher";
import lighthouse from "lighthouse";

const chrome = await launch({ chromePath: process.env.CHROMIUM, chromeFlags: ["--headless", "--no-sandbox", "--disable-gpu"] });
process.once("SIGTERM", () => chrome.kill());
try {
  for (const address of process.argv.slice(2)) {
    // The page always has an open stream. Lighthouse would wait 45 s for its end.
    const { lhr } = await lighthouse(address, { port: chrome.port, onlyCategories: ["accessibility"], logLevel: "error", output: "json", maxWaitForLoad: 5_000 });
    const { score, auditRefs } = lhr.categories.accessibility;
    const failed = auditRefs.filter(({ id, weight }) => weight > 0 && lhr.audits[id].score === 0).map(({ id }) => id);
    console.log([address, Math.round(score * 100), ...failed].join(" "));
  }
} finally {
  await chrome.kill();
}
