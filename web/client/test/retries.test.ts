// Tests of calls that the server refuses temporarily.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, createTrident, type Trident } from "@trident/client";
import { ask, demo, down, failsWith, holding, limited, watched } from "./harness.ts";

const busy = failsWith(Code.Unavailable, { reason: "server_is_overloaded", retryAfter: 1000 });

for (const kind of ["whole", "streamed"] as const) {
  const call = (client: Trident) =>
    kind === "streamed"
      ? client.chat.stream(ask("Say hello.")).text()
      : client.chat.create(ask("Say hello.")).then((a) => a.choices[0]?.message?.content);

  test(`first refused, then served: ${kind}`, async () => {
    const holder = await holding(createTrident({ baseUrl: limited }));
    const { client, seen } = watched(limited, {}, (response) => (holder.abort(), response));
    const began = Date.now();
    assert.notEqual(await call(client), "");
    assert.equal(seen.length, 2);
    assert.ok(Date.now() - began >= 1_000, "the client waited for less than the server's Retry-After");
    await holder.end();
  });
}

test("tries are bounded", async () => {
  const holder = await holding(createTrident({ baseUrl: limited }));
  const refused = async (retries: number, calls: number, options = {}) => {
    const { client, seen } = watched(limited, { maxRetries: retries });
    await assert.rejects(client.chat.create(ask("x"), options), busy);
    assert.equal(seen.length, calls);
  };
  await Promise.all([
    refused(0, 1),
    refused(1, 2),
    refused(5, 1, { maxRetries: 0 }),
    refused(5, 1, { timeout: 900 }), // the timeout passes before the server's retry_after
  ]);
  const { client, seen } = watched(limited);
  const leaving = new AbortController();
  setTimeout(() => leaving.abort(), 300);
  const began = Date.now();
  await assert.rejects(client.chat.create(ask("x"), { signal: leaving.signal }), failsWith(Code.Canceled));
  assert.ok(Date.now() - began < 900, "the client waited after the signal was aborted");
  assert.equal(seen.length, 1);
  await holder.end();
});

test("a server without an engine", async () => {
  const { client, seen } = watched(down, { maxRetries: 1 });
  await assert.rejects(client.chat.create(ask("x")), failsWith(Code.Unavailable, { retryAfter: 1000 }));
  assert.equal(seen.length, 2);
});

test("no server", async () => {
  const { client, seen } = watched("http://127.0.0.1:1", { maxRetries: 1 });
  await assert.rejects(client.models.list(), failsWith(Code.Unavailable, {}, /cannot be reached/));
  assert.equal(seen.length, 2);
  await assert.rejects(client.models.load("chat"), failsWith(Code.Unavailable));
  assert.equal(seen.length, 3, "a load was retried");
});

/**
 * broken returns a function that cuts a response after its first message. A given end is the JSON of an end frame with an
 * error. With undefined, the response has no end frame, as when the connection breaks.
 */
function broken(end: string | undefined) {
  return async (response: Response) => {
    let message = new Uint8Array();
    for await (const chunk of response.body!) {
      message = new Uint8Array([...message, ...chunk]);
      const length = message.length < 5 ? Infinity : 5 + new DataView(message.buffer).getUint32(1);
      if (message.length < length) continue;
      message = message.slice(0, length);
      break;
    }
    const last = new TextEncoder().encode(end ?? "");
    const frame = end === undefined ? [] : [2, 0, 0, 0, last.length, ...last];
    return new Response(new Uint8Array([...message, ...frame]), { status: 200, headers: response.headers });
  };
}

test("no try after the first piece", async () => {
  for (const [end, words] of [['{"error":{"code":"unavailable","message":"gone"}}', /^gone$/], [undefined, /closed before the response/]] as const) {
    const { client, seen } = watched(demo, {}, broken(end));
    let pieces = 0;
    await assert.rejects(async () => {
      for await (const _ of client.chat.stream(ask("Count from one to a hundred in words."))) pieces++;
    }, failsWith(Code.Unavailable, {}, words));
    assert.equal(pieces, 1);
    assert.equal(seen.length, 1);
  }
});
