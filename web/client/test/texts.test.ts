// Tests of chats, completions and embeddings, and of calls that the caller cancels or
// reads twice.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, FinishReason, createTrident } from "@trident/client";
import { ask, demo, failsWith, story, until, watched } from "./harness.ts";

const client = createTrident({ baseUrl: demo });

test("a chat, whole and streamed", async () => {
  const request = ask("Count from one to a hundred in words.", 8);
  const whole = await client.chat.create(request);
  assert.equal(whole.model, "chat");
  assert.equal(whole.choices[0]?.finishReason, FinishReason.LENGTH);
  assert.equal(whole.usage?.completionTokens, 8);

  const stream = client.chat.stream(request);
  assert.equal(stream.id, "");
  const pieces: string[] = [];
  const ends: FinishReason[] = [];
  for await (const delta of stream) {
    if (delta.text) pieces.push(delta.text);
    if (delta.finishReason) ends.push(delta.finishReason);
    assert.notEqual(stream.id, "");
  }
  assert.ok(pieces.length >= 5, `${pieces.length} pieces`);
  assert.equal(pieces.join(""), whole.choices[0]?.message?.content);
  assert.deepEqual(ends, [FinishReason.LENGTH]);
  assert.equal(stream.model, "chat");
  assert.equal(stream.systemFingerprint, whole.systemFingerprint);
  assert.equal(stream.usage?.completionTokens, 8);
  await assert.rejects(stream.text(), TypeError); // the stream has been read

  assert.equal(await client.chat.stream(request).text(), pieces.join(""));
});

test("a stream of several answers", async () => {
  const stream = client.chat.stream({ ...ask("Count from one to a hundred in words.", 4), n: 2 });
  assert.equal(await stream.text(1), (await client.chat.create(ask("Count from one to a hundred in words.", 4))).choices[0]?.message?.content);
});

test("completions, whole and streamed", async () => {
  const request = {
    model: "chat", maxTokens: 6, temperature: 0,
    prompt: ["One, two,", "Red, green,"].map((value) => ({ input: { case: "text" as const, value } })),
  };
  const whole = await client.completions.create(request);
  assert.equal(whole.choices.length, 2);
  for (const { index, text } of whole.choices) {
    assert.notEqual(text, "");
    assert.equal(await client.completions.stream(request).text(index), text);
  }
});

test("embeddings", async () => {
  const input = ["a cat", "a kitten", "the stock market"].map((value) => ({ input: { case: "text" as const, value } }));
  const { embeddings } = await client.embeddings.create({ model: "embedding", input });
  const [cat, kitten, market] = embeddings.map((e) => e.values) as [number[], number[], number[]];
  const dot = (a: number[], b: number[]) => a.reduce((sum, x, i) => sum + x * b[i]!, 0);
  assert.equal(cat.length, 384);
  assert.ok(Math.abs(dot(cat, cat) - 1) < 1e-5);
  assert.ok(dot(cat, kitten) > dot(cat, market) + 0.2, `${dot(cat, kitten)}, ${dot(cat, market)}`);
  const short = await client.embeddings.create({ model: "embedding", input, dimensions: 32 });
  assert.equal(short.embeddings[2]?.values.length, 32);
});

test("typed errors", async () => {
  const { client, seen } = watched(demo);
  const notFound = failsWith(Code.NotFound, { reason: "model_not_found", param: "model", retryAfter: undefined }, /none/);
  await assert.rejects(client.chat.create({ ...ask("x"), model: "none" }), notFound);
  await assert.rejects(client.chat.stream({ ...ask("x"), model: "none" }).text(), notFound);
  await assert.rejects(client.chat.create({ ...ask("x"), temperature: 3, n: 200 }, { headers: { "x-request-id": "mine" } }), (error) => {
    failsWith(Code.InvalidArgument, { reason: "invalid_value", param: "temperature", requestId: "mine" }, /temperature/)(error);
    assert.deepEqual((error as { violations: { field: string }[] }).violations.map((v) => v.field), ["temperature", "n"]);
    return true;
  });
  // @ts-expect-error no request has this field
  const wrong: Parameters<typeof client.chat.create>[0] = { ...ask("x"), max_tokens: 1 };
  assert.ok(wrong);
  assert.equal(seen.length, 3, "a call was retried");
});

test("headers", async () => {
  const { client, seen } = watched(demo, { apiKey: "secret", headers: { "x-request-id": "ours" } });
  await client.models.list();
  await client.models.list({}, { headers: { "x-request-id": "this one's" } });
  assert.deepEqual(seen.map((h) => h.get("authorization")), ["Bearer secret", "Bearer secret"]);
  assert.deepEqual(seen.map((h) => h.get("x-request-id")), ["ours", "this one's"]);
});

// In-process Triton exposes no metrics; only the tests in Go check it.
const metrics = process.env["TRIDENT_METRICS_URL"];

/** Returns the number of generations that the model is running. */
async function running(): Promise<number> {
  const line = /^llamacpp:requests_processing\{.*\} (\S+)$/m.exec(await (await fetch(metrics!)).text());
  assert.ok(line);
  return Number(line[1]);
}

test("leaving stops the model", { skip: metrics ? false : "no metrics" }, async (t) => {
  const leaves = (name: string, call: (signal: AbortSignal, leave: () => void) => Promise<void>) =>
    t.test(name, async () => {
      const leaving = new AbortController();
      let left = 0;
      await call(leaving.signal, () => { left = Date.now(); leaving.abort("enough"); });
      assert.ok(left > 0);
      await until("the model is idle", async () => (await running()) === 0, left + 2_000 - Date.now());
    });
  const canceled = failsWith(Code.Canceled, { cause: "enough" });
  await leaves("a signal, streaming", async (signal, leave) => {
    await assert.rejects(async () => {
      for await (const _ of client.chat.stream(story, { signal })) if ((await running()) === 1) leave();
    }, canceled);
  });
  await leaves("a signal, not streaming", async (signal, leave) => {
    const call = client.chat.create(story, { signal });
    const refused = assert.rejects(call, canceled);
    await until("the model runs", async () => (await running()) === 1);
    leave();
    await refused;
  });
  await leaves("out of the loop", async (_, leave) => {
    for await (const _ of client.chat.stream(story)) {
      if ((await running()) !== 1) continue;
      leave();
      break;
    }
  });
});

test("a time limit", async () => {
  const began = Date.now();
  await assert.rejects(client.chat.stream(story, { timeout: 400 }).text(), failsWith(Code.DeadlineExceeded));
  assert.ok(Date.now() - began < 2_000);
  await assert.rejects(client.chat.create(ask("x"), { signal: AbortSignal.abort("before") }), failsWith(Code.Canceled, { cause: "before" }));
});
