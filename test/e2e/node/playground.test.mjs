// Uses the playground like a person, in a real Chromium. browser_test.go starts the servers:
//
//   TRIDENT_URL          the demo models
//   TRIDENT_METRICS_URL  metrics of the demo models' tritonserver; empty if there are none
//   TRIDENT_KINDS_URL    models that repeat the message, and that can be loaded
//   TRIDENT_GATE_URL     the demo models behind a proxy that serves a path and requires the key open-sesame
//   TRIDENT_DOWN_URL     a server without a Triton
//   TRIDENT_ALLOWING_URL a server without a playground that allows calls from pages of TRIDENT_ELSEWHERE_URL
//   TRIDENT_OUT          folder for the programs that the page shows
//   TRIDENT_SHOTS        folder for screenshots; empty for none

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { chromium } from "playwright-core";

const { TRIDENT_URL: url, TRIDENT_METRICS_URL: metrics, TRIDENT_KINDS_URL: kinds, TRIDENT_GATE_URL: gate, TRIDENT_DOWN_URL: down, TRIDENT_ALLOWING_URL: allowing, TRIDENT_ELSEWHERE_URL: elsewhere, TRIDENT_OUT: out, TRIDENT_SHOTS: shots } = process.env;
const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP play.example 127.0.0.1"],
  });
});
after(() => browser.close());

/** Opens a page in a browser without stored data. Errors and violations of the page's policy fail the test. */
async function open(t, address, options) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme: "light", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(40_000);
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(error.message));
  page.on("console", (message) => message.type() === "error" && !message.text().startsWith("Failed to load resource") && wrong.push(message.text()));
  t.after(async () => {
    await context.close();
    assert.deepEqual(wrong, []);
  });
  await page.goto(address);
  return page;
}

const question = (page) => page.getByLabel("Your message");
const answers = (page) => page.getByRole("article");

/** Sends a message as soon as the page has the server's models; it accepts no message before. */
async function ask(page, text) {
  await question(page).fill(text);
  await page.getByRole("button", { name: "Send", exact: true, disabled: false }).waitFor();
  await question(page).press("Enter");
}

/** Waits until this number of responses is complete. */
async function answered(page, count) {
  await page.getByRole("button", { name: "Retry" }).nth(count - 1).waitFor();
}

async function screenshot(page, name) {
  if (shots) await page.screenshot({ path: `${shots}/${name}.png` });
}

/** Checks that axe finds no serious or critical violation, in both themes. */
async function accessible(page) {
  await page.evaluate(axe);
  for (const [colorScheme, rules] of [["dark", { runOnly: ["color-contrast"] }], ["light", {}]]) { // the other rules don't depend on the theme
    await page.emulateMedia({ colorScheme });
    const found = await page.evaluate(async (rules) => {
      return (await window.axe.run(rules)).violations.map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map((node) => node.html) }));
    }, rules);
    assert.deepEqual(found.filter(({ impact }) => impact === "serious" || impact === "critical"), [], colorScheme);
  }
}

/** Returns the number of generations that the chat model is running. */
async function working() {
  const text = await (await fetch(metrics)).text();
  return Number(/^llamacpp:requests_processing\{.*?\} (\S+)$/m.exec(text)[1]);
}

async function until(met, what) {
  for (const end = Date.now() + 20_000; !(await met()); await new Promise((resolve) => setTimeout(resolve, 20))) {
    assert.ok(Date.now() < end, `timeout after 20 s: ${what}`);
  }
}

test("a response is shown token by token, stored, and repeated", async (t) => {
  const page = await open(t, url);
  await page.getByRole("heading", { name: "Ask chat" }).waitFor();
  await accessible(page);
  await page.getByLabel("Temperature").fill("0");
  await page.getByLabel("Maximum tokens").fill("64");
  await page.evaluate(() => {
    window.seen = [];
    new MutationObserver(() => {
      const text = document.querySelector(".answer .prose")?.textContent;
      if (text && text !== window.seen.at(-1)) window.seen.push(text);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  await ask(page, "Write a story about the sea.");
  await answered(page, 1);
  // Markup characters may become Markdown when more text follows.
  const seen = (await page.evaluate(() => window.seen)).map((text) => text.replace(/[^a-z]/gi, ""));
  // A busy machine draws few frames, so that the response is long. A page that waits for the whole
  // response draws one.
  assert.ok(new Set(seen).size >= 2, `the page showed only ${seen.length} states of the response`);
  seen.slice(1).forEach((text, i) => assert.ok(text.startsWith(seen[i]), `${text} doesn't start with the earlier text ${seen[i]}`));
  const text = await answers(page).locator(".prose").textContent();
  assert.match(text, /\bsea\b/i);
  assert.match(await answers(page).locator("dl").textContent(), /first token\d.*speed[\d.]+ tokens\/s.*tokens\d+ prompt, 64 generated.*stopped at the token limit/s);

  await page.reload();
  assert.equal(await answers(page).locator(".prose").textContent(), text);
  assert.match(await page.title(), /^Write a story about the sea/);

  await page.getByRole("button", { name: "Code", exact: true }).click();
  for (const [tab, file] of [["curl", "curl.sh"], ["Python", "python.py"], ["Node", "node.mjs"], ["Go", "go.go"], ["Anthropic", "anthropic.sh"], ["Response", "response.json"]]) {
    await page.getByRole("tab", { name: tab }).click();
    await writeFile(`${out}/${file}`, await page.getByRole("tabpanel").locator("code").textContent());
  }
  const response = JSON.parse(await readFile(`${out}/response.json`, "utf8"));
  assert.equal(response.usage.completionTokens, 64);
  await writeFile(`${out}/answer.txt`, response.choices[0].message.content);

  await page.getByRole("button", { name: "Retry" }).click();
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await answered(page, 1);
  assert.equal(await answers(page).locator(".prose").textContent(), text, "with temperature 0 the repeated response differs");
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("Edit your message").fill("Say hello.");
  await page.getByLabel("Edit your message").press("Enter");
  await answered(page, 1);
  assert.match(await answers(page).locator(".prose").textContent(), /hello/i);
  assert.equal(await page.getByRole("button", { name: "Delete Say hello." }).count(), 1);
});

test("stop stops the model", async (t) => {
  const page = await open(t, url);
  for (const stop of [() => page.getByRole("button", { name: "Stop" }).click(), () => page.keyboard.press("Escape")]) {
    await page.getByRole("button", { name: "New chat" }).click();
    await ask(page, "Write a very long story about a ship, in many chapters.");
    await page.locator(".answer .prose").filter({ hasText: /\w/ }).waitFor();
    if (metrics) assert.equal(await working(), 1);
    await stop();
    await page.getByText("stopped", { exact: true }).waitFor();
    if (metrics) await until(async () => (await working()) === 0, "the model is still running");
  }
  assert.notEqual(await answers(page).locator(".prose").textContent(), "", "the text received so far is gone");
});

test("tokens are coloured by their probability, and responses have a format", async (t) => {
  const page = await open(t, url);
  await page.getByLabel("Show the probability of each token").check();
  await page.getByLabel("Format", { exact: true }).selectOption("JSON with a schema");
  await page.getByLabel("JSON schema").fill('{"type": "object", "properties": {"sea": {"enum": ["calm", "rough"]}}, "required": ["sea"], "additionalProperties": false}');
  await page.getByLabel("Maximum tokens").fill("40");
  await ask(page, "How is the sea? Answer in JSON.");
  await answered(page, 1);
  const tokens = page.getByRole("listbox", { name: "Tokens of the response" });
  const spelled = (await tokens.getByRole("option").allTextContents()).join("");
  assert.ok(["calm", "rough"].includes(JSON.parse(spelled).sea), spelled);
  await tokens.press("ArrowRight");
  const chosen = tokens.getByRole("option", { selected: true });
  assert.match(await chosen.getAttribute("aria-label"), /^".*", [\d.]+ %$/);
  const doubts = await tokens.getByRole("option").evaluateAll((all) => all.map((e) => Number(e.style.getPropertyValue("--doubt"))));
  assert.ok(doubts.every((d) => d >= 0 && d <= 1) && new Set(doubts).size > 1, String(doubts));
  assert.equal(await page.getByRole("list", { name: "Most likely tokens at this position" }).getByRole("listitem").count(), 5);
  await accessible(page);
  await screenshot(page, "heat");
  await page.getByLabel("JSON schema").fill("{");
  await page.getByText(/^Expected property name/).waitFor();
  await ask(page, "Again.");
  assert.match(await page.getByRole("alert").textContent(), /^The JSON schema must be valid JSON: .*\.$/);
});

test("errors are shown as sentences", async (t) => {
  const page = await open(t, url);
  await page.getByLabel("Temperature").fill("3");
  await ask(page, "Hello");
  assert.match(await page.getByRole("alert").textContent(), /^Temperature must be .* 2\.Request req_\w+$/);
  await accessible(page);
  await page.getByLabel("Model", { exact: true }).selectOption({ label: "embedding (embed, tensors)" });
  await page.getByRole("button", { name: "New chat" }).click();
  await page.getByRole("heading", { name: "embedding can't chat" }).waitFor();
  assert.ok(await page.getByRole("button", { name: "Send" }).isDisabled());

  const alone = await open(t, down);
  await alone.getByRole("heading", { name: "No models" }).waitFor();
  await alone.getByText(/can.t be reached\. Models appear here/).waitFor();
  await screenshot(alone, "down");
  await accessible(alone);
});

test("HTML and scripts in responses are not executed", async (t) => {
  const page = await open(t, kinds);
  await page.getByLabel("Model", { exact: true }).selectOption("plain");
  const hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script> [a](javascript:document.title=3) ![b](//elsewhere.example/c.png) **bold** `code`\n\n```js\nalert(1)\n```\n\n- one\n- two';
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await question(page).fill(hostile);
  await page.getByRole("button", { name: "Send" }).click();
  await answered(page, 1);
  const prose = page.locator(".answer .prose");
  assert.equal(await prose.locator("img, script, a").count(), 0);
  assert.equal(await prose.locator("strong").textContent(), "bold");
  assert.deepEqual(await prose.locator("li").allTextContents(), ["one", "two"]);
  assert.equal(await prose.locator("pre").textContent(), "alert(1)");
  assert.match(await prose.textContent(), /<img src=x onerror="document\.title=1"><script>.*!\[b\]\(\/\/elsewhere/s);
  assert.deepEqual(asked.filter((address) => !address.startsWith(kinds)), []);
  assert.match(await page.title(), /Trident$/);
});

// A red square of 2 × 2 pixels.
const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==", "base64");

test("images are sent to models that read images", async (t) => {
  const page = await open(t, kinds);
  const add = page.getByRole("button", { name: "Add images" });
  await page.getByLabel("Model", { exact: true }).selectOption("plain");
  await page.getByRole("heading", { name: "Ask plain" }).waitFor();
  assert.equal(await add.count(), 0, "a model without images has the button");
  await page.getByLabel("Model", { exact: true }).selectOption("vllm");
  const prompt = async () => Number(/(\d+) prompt/.exec(await answers(page).last().locator("dl").textContent())[1]);
  await ask(page, "What is it?");
  await answered(page, 1);
  const without = await prompt();
  await page.getByRole("button", { name: "New chat" }).click();
  await add.waitFor();
  await page.getByLabel("Image files").setInputFiles([{ name: "red.png", mimeType: "image/png", buffer: png }, { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("x") }]);
  assert.equal(await page.getByRole("alert").textContent(), "notes.txt isn't a PNG, JPEG, GIF, WebP or BMP image.");
  await page.getByRole("button", { name: "Remove image 1" }).click();
  await page.getByLabel("Image files").setInputFiles({ name: "red.png", mimeType: "image/png", buffer: png });
  await page.getByRole("button", { name: "Remove image 1" }).waitFor();
  await accessible(page);
  await ask(page, "What is it?");
  await answered(page, 1);
  assert.ok((await prompt()) >= without + 16, "the model didn't receive the image"); // the model counts an image as 16 tokens, beside its mark in the prompt
  assert.equal(await page.getByRole("alert").count(), 0);
  const shown = page.locator(".said").getByRole("img", { name: "Image 1" });
  assert.equal(await shown.evaluate((image) => image.naturalWidth), 2);
  await accessible(page);
  await screenshot(page, "images");
  await page.reload();
  assert.equal(await shown.evaluate((image) => image.naturalWidth), 2);
  await page.getByRole("button", { name: "Code", exact: true }).click();
  for (const [tab, part] of [["curl", `"url": "data:image/png;base64,${png.toString("base64")}"`], ["Anthropic", '"media_type": "image/png"']]) {
    await page.getByRole("tab", { name: tab }).click();
    assert.ok((await page.getByRole("tabpanel").textContent()).includes(part), tab);
  }
});

test("two models side by side, and tool calls", async (t) => {
  const page = await open(t, kinds);
  await page.getByLabel("Model", { exact: true }).selectOption("ensemble");
  await page.getByRole("button", { name: "Compare two models" }).click();
  await page.getByLabel("Second model").selectOption("bls");
  await ask(page, "Which of you is it?");
  await answered(page, 2);
  for (const name of ["ensemble", "bls"]) {
    assert.match(await page.getByRole("region", { name: `Reply of ${name}` }).locator(".prose").textContent(), /Which of you is it\?/);
  }
  await accessible(page);
  await screenshot(page, "compare");
  await page.getByRole("button", { name: "Compare two models" }).click();
  await page.getByRole("button", { name: "New chat" }).click();
  await page.getByLabel("Functions, as JSON in the format of OpenAI's API").fill('[{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{"in":{"type":"string"}}}}}]');
  await ask(page, '<tool_call>{"name": "now", "arguments": {"in": "UTC"}}</tool_call>');
  await page.getByRole("heading", { name: "Calls now" }).waitFor();
  await page.getByLabel("Result of now").fill("It is noon.");
  await page.getByRole("button", { name: "Continue with this result" }).click();
  await answered(page, 2);
  await page.getByRole("heading", { name: "Result of now", exact: true }).waitFor();
  assert.match(await answers(page).nth(1).textContent(), /It is noon\./, "the model didn't receive the result");
});

test("models are shown with live states, loaded and unloaded", async (t) => {
  const page = await open(t, `${kinds}/#/models`);
  const row = page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "vllm", exact: true }) });
  await row.getByText("ready").waitFor();
  await page.getByRole("link", { name: "Chat with vllm" }).click();
  await page.getByRole("heading", { name: "Ask vllm" }).waitFor();
  await page.getByRole("link", { name: "Models" }).click();
  await row.getByRole("button", { name: "Unload vllm" }).click();
  await row.getByRole("button", { name: "Load vllm", exact: true }).waitFor();
  await accessible(page);
  await page.getByRole("link", { name: "Chat", exact: true }).click();
  await page.getByRole("heading", { name: /^vllm is (unavailable|not loaded)$/ }).waitFor();
  await page.getByRole("link", { name: "Models" }).click();
  await row.getByRole("button", { name: "Load vllm", exact: true }).click();
  await row.getByText("ready").waitFor();
  await page.getByRole("link", { name: "Chat", exact: true }).click();
  await page.getByRole("heading", { name: "Ask vllm" }).waitFor();
});

test("embeddings and their similarity", async (t) => {
  const page = await open(t, `${url}/#/embeddings`);
  await page.getByLabel("Texts, one per line").fill("The cat sleeps.\nA kitten naps.\nShares fell.");
  await page.getByRole("button", { name: "Embed", exact: true }).click();
  await page.getByText("3 of 384 dimensions").waitFor();
  const cells = await page.getByRole("region", { name: "Similarity of the texts" }).getByRole("cell").allTextContents();
  const [, aa, ab, ac] = cells; // the first row, after the empty cell of the head
  assert.ok(aa === "1.00" && Number(ab) > Number(ac), cells.join(" "));
  await accessible(page);
  await screenshot(page, "embeddings");
});

test("documents are ranked", async (t) => {
  const page = await open(t, `${url}/#/ranking`, { reducedMotion: "reduce" });
  await page.getByLabel("Query").fill("Where does the cat sleep?");
  await page.getByLabel("Documents, one per line").fill("Shares fell on Monday.\n\nThe cat sleeps on the sofa.\nDogs bark at night.");
  await page.getByRole("button", { name: "Rank", exact: true, disabled: false }).click();
  const results = page.getByRole("list", { name: "Ranked documents" }).getByRole("listitem");
  await results.nth(2).waitFor();
  const texts = await results.allTextContents();
  const scores = texts.map((text) => Number(/-?\d\.\d{3}$/.exec(text)[0]));
  assert.match(texts[0], /The cat sleeps on the sofa\. \(document 2\)/);
  assert.ok(scores[0] > 0.5 && scores[1] < 0.4 && scores[1] >= scores[2], texts.join("; "));
  const bars = await results.locator(".share > span").evaluateAll((all) => all.map((bar) => bar.offsetWidth / bar.parentElement.offsetWidth));
  bars.forEach((width, i) => assert.ok(Math.abs(width - Math.max(0, scores[i])) < 0.02, `bar ${i} has the width ${width}, the score is ${scores[i]}`));
  await accessible(page);
  await page.getByRole("tab", { name: "curl" }).click();
  await writeFile(`${out}/rank.sh`, await page.getByRole("tabpanel").locator("code").textContent());
  const { results: again } = JSON.parse((await promisify(execFile)("bash", [`${out}/rank.sh`])).stdout);
  assert.equal(again[0].index, 1);
  again.forEach(({ relevance_score }, i) => assert.ok(Math.abs(relevance_score - scores[i]) < 0.001));
  for (const width of [390, 768, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `the page is wider than ${width} pixels`);
    await screenshot(page, `ranking-${width}`);
  }
  await page.getByLabel("Results").fill("1");
  await page.getByRole("button", { name: "Rank", exact: true }).click();
  await until(async () => (await results.count()) === 1, "more results are shown than requested");
  await page.getByLabel("Query").fill(" ");
  assert.ok(await page.getByRole("button", { name: "Rank", exact: true }).isDisabled());
  await page.getByLabel("Query").fill("cat ".repeat(600));
  await page.getByRole("button", { name: "Rank", exact: true }).click();
  assert.match(await page.getByRole("alert").textContent(), /^[A-Zd].*maximum.*\./);
  await accessible(page);
});

test("metrics are updated while the page is open", async (t) => {
  const page = await open(t, `${url}/#/metrics`);
  const chart = page.getByRole("img", { name: /^Generated tokens in the last 120 seconds: now generated [\d.]+, maximum/ });
  await chart.waitFor();
  const points = () => chart.locator("polyline").evaluate((line) => line.points.numberOfItems);
  await until(async () => (await points()) >= 3, "the chart has fewer than three points");
  assert.equal(await page.getByRole("img").count(), 6);
  await page.getByRole("row", { name: /^chat .*\d/ }).waitFor();
  await accessible(page);
  await screenshot(page, "metrics");
});

test("an API key is requested, sent and not stored; the page works below a path", async (t) => {
  const page = await open(t, gate);
  await page.getByRole("button", { name: "Enter API key" }).click();
  await page.getByLabel("Key", { exact: true }).fill("open-sesame");
  await accessible(page);
  await page.getByRole("button", { name: "Use key" }).click();
  await page.getByRole("heading", { name: "Ask chat" }).waitFor();
  await page.getByLabel("Maximum tokens").fill("3");
  await ask(page, "Hello");
  await answered(page, 1);
  assert.notEqual(await answers(page).locator(".prose").textContent(), "");
  const kept = () => page.evaluate(() => [JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage }), location.href].map((text) => text.includes("open-sesame")));
  assert.deepEqual(await kept(), [false, true, false]);
  await page.getByRole("button", { name: "API key set" }).click();
  await page.getByLabel("Keep the key in this browser").check();
  await page.getByRole("button", { name: "Use key" }).click();
  assert.deepEqual(await kept(), [true, false, false]);
  await page.getByRole("button", { name: "Code", exact: true }).click();
  await page.getByRole("tab", { name: "curl" }).click();
  const curl = await page.getByRole("tabpanel").textContent();
  assert.ok(curl.includes("Bearer $TRIDENT_API_KEY") && curl.includes(`${gate}v1/chat/completions`) && !curl.includes("open-sesame"), curl);
});

test("on a phone, with the keyboard, and in the selected theme", async (t) => {
  const page = await open(t, url, { viewport: { width: 390, height: 844 }, hasTouch: true, reducedMotion: "reduce" });
  await page.getByRole("heading", { name: "Ask chat" }).waitFor();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than the screen");
  await accessible(page);
  await page.getByRole("button", { name: "Menu" }).click();
  await page.getByRole("button", { name: /^Theme: auto/ }).click();
  await page.getByRole("button", { name: /^Theme: light/ }).click();
  await page.getByRole("button", { name: "Close the menu" }).click();
  await page.waitForFunction(() => getComputedStyle(document.body).backgroundColor === "rgb(19, 23, 22)"); // this color shows that the theme is applied
  await screenshot(page, "phone");
  await page.getByRole("button", { name: "Options" }).click();
  await accessible(page);
  await page.getByRole("button", { name: "Close the options" }).click();
  await page.keyboard.press("/");
  await page.keyboard.type("first line");
  await page.keyboard.press("Shift+Enter");
  await page.keyboard.type("second");
  assert.equal(await question(page).inputValue(), "first line\nsecond");
});

test("the first frame needs no program, and has the selected theme", async (t) => {
  const page = await open(t, url);
  const brand = page.locator(".brand");
  await page.getByRole("button", { name: /^Theme: auto/ }).click();
  await page.getByRole("button", { name: /^Theme: light/ }).click();
  const rendered = await brand.evaluate((element) => element.outerHTML);
  await page.route("**/assets/*.js", (route) => route.abort());
  page.removeAllListeners("pageerror"); // the browser reports the program that is missing
  await page.reload();
  await page.getByText("The program of this page can't be loaded. Reload the page to try again.").waitFor();
  assert.equal(await brand.evaluate((element) => element.outerHTML), rendered);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(19, 23, 22)"); // the dark theme's
  await page.unroute("**/assets/*.js");
  await page.reload();
  await page.getByRole("heading", { name: "Ask chat" }).waitFor();
  assert.equal(await page.getByText("Loading …").count(), 0);
});

test("pages of another origin can call only servers that allow it", async (t) => {
  const page = await open(t, elsewhere);
  const list = (server) => page.evaluate(async (server) => {
    const request = { method: "POST", headers: { "Content-Type": "application/json", "Connect-Protocol-Version": "1" }, body: "{}" };
    return fetch(`${server}/trident.v1.ModelService/List`, request).then((answer) => answer.status, (error) => error.name);
  }, server);
  page.removeAllListeners("console"); // the browser logs the refused request
  assert.equal(await list(allowing), 200);
  assert.equal(await list(url), "TypeError");
  assert.equal((await fetch(`${allowing}/`)).status, 404, "a server with --no-playground serves the page");
});
