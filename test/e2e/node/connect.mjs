// Calls KServe v2 and typed chats with Connect's clients, using the messages and services of the browser client.
// usage: node connect.mjs URL [CHAT-URL]
//
// Prints one line for each successful part, and throws an exception otherwise.

import assert from "node:assert/strict";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import * as web from "@connectrpc/connect-web";
import * as node from "@connectrpc/connect-node";
import { ChatService, Role } from "@trident/client";
import { GRPCInferenceService } from "@trident/client/gen/kserve/grpc_service_pb";

const [url, chatURL] = process.argv.slice(2);

// equal compares bytes, which Node's transports return as Buffers.
const equal = (got, want) => assert.deepEqual(Buffer.from(got), Buffer.from(want));

// browsers returns the transports that browsers have: they use fetch and can't stream requests.
const browsers = (baseUrl) => ({
  "Connect-Web": web.createConnectTransport({ baseUrl, useBinaryFormat: true }),
  "Connect-Web with JSON": web.createConnectTransport({ baseUrl }),
  "gRPC-Web": web.createGrpcWebTransport({ baseUrl }),
});

const overHTTP2 = (baseUrl) => ({
  Connect: node.createConnectTransport({ baseUrl, httpVersion: "2" }),
  "Connect with JSON and gzip": node.createConnectTransport({
    baseUrl, httpVersion: "2", useBinaryFormat: false, sendCompression: node.compressionGzip, compressMinBytes: 0,
  }),
  gRPC: node.createGrpcTransport({ baseUrl, httpVersion: "2" }),
  "gRPC-Web over HTTP/2": node.createGrpcWebTransport({ baseUrl, httpVersion: "2" }),
});

const int32 = (...values) => new Uint8Array(new Int32Array(values).buffer);

// text returns an element of a BYTES tensor: its length and its content.
function text(s) {
  const bytes = new TextEncoder().encode(s);
  return new Uint8Array([...int32(bytes.length), ...bytes]);
}

const echo = (id, s) => ({
  modelName: "echo", id,
  inputs: [{ name: "TEXT", datatype: "BYTES", shape: [1n] }],
  rawInputContents: [text(s)],
});

const count = (id, n, parameters = {}, delay = 0) => ({ // delay is in ms before each response except the first
  modelName: "stream", id, parameters,
  inputs: ["COUNT", "DELAY"].map((name) => ({ name, datatype: "INT32", shape: [1n] })),
  rawInputContents: [int32(n), int32(delay)],
});

async function refused(call, code, words) {
  await assert.rejects(call, (e) => {
    assert.ok(e instanceof ConnectError, e);
    assert.equal(e.code, code, e);
    assert.match(e.rawMessage, words);
    return true;
  });
}

async function unary(client) {
  assert.equal((await client.serverReady({})).ready, true);
  const metadata = await client.modelMetadata({ name: "stream" });
  assert.deepEqual(metadata.outputs.map((o) => o.name), ["INDEX", "DATA", "STATE"]);
  const answers = await Promise.all([...Array(20).keys()].map((i) => client.modelInfer(echo(String(i), `hällo ${i}`))));
  answers.forEach((a, i) => {
    assert.equal(a.id, String(i));
    assert.equal(a.modelVersion, "1");
    assert.deepEqual(a.outputs[0].shape, [1n]);
    assert.equal(a.rawOutputContents.length, 1);
    equal(a.rawOutputContents[0], text(`hällo ${i}`));
  });
  const big = "x".repeat(1 << 20);
  equal((await client.modelInfer(echo("", big))).rawOutputContents[0], text(big));
  await refused(client.modelInfer({ ...echo("", ""), modelName: "none" }), Code.NotFound, /unknown model: 'none'/);
  await refused(client.modelInfer(count("", 1)), Code.Unimplemented, /decoupled/);
}

// queue returns a stream of requests that push extends.
function queue() {
  const waiting = [];
  let wake = () => {};
  let ended = false;
  return {
    push(m) { waiting.push(m); wake(); },
    end() { ended = true; wake(); },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        while (waiting.length) yield waiting.shift();
        if (ended) return;
        await new Promise((resolve) => (wake = resolve));
      }
    },
  };
}

async function bidi(client) {
  const requests = queue();
  requests.push(count("first", 2));
  const responses = client.modelStreamInfer(requests)[Symbol.asyncIterator]();
  const index = (r) => r.rawOutputContents[r.outputs.findIndex((o) => o.name === "INDEX")];
  const next = async () => {
    const { value, done } = await responses.next();
    assert.ok(!done, "the stream has ended");
    assert.equal(value.errorMessage, "", value.errorMessage);
    return value.inferResponse;
  };
  for (const i of [0, 1]) {
    const r = await next();
    assert.equal(r.id, "first");
    equal(index(r), int32(i));
  }
  // These requests are sent at once, after the first one has its responses.
  const lengths = new Map([...Array(40).keys()].map((i) => [String(i), i % 4]));
  for (const [id, n] of lengths) requests.push(count(id, n, { triton_enable_empty_final_response: { parameterChoice: { case: "boolParam", value: true } } }));
  const seen = new Map([...lengths.keys()].map((id) => [id, 0]));
  for (let finals = 0; finals < lengths.size; ) {
    const r = await next();
    if (r.outputs.length) {
      equal(index(r), int32(seen.get(r.id)));
      seen.set(r.id, seen.get(r.id) + 1);
    }
    if (r.parameters.triton_final_response.parameterChoice.value) finals++;
  }
  assert.deepEqual(seen, lengths);
  requests.push({ ...echo("bad", "x"), modelName: "none" });
  const { value } = await responses.next();
  assert.match(value.errorMessage, /unknown model: 'none'/);
  assert.equal(value.inferResponse.id, "bad");
  requests.end();
  assert.equal((await responses.next()).done, true);
}

async function leaves(client) {
  const requests = queue();
  requests.push(count("long", 1 << 20, {}, 5)); // cancelling models without a pause makes tritonserver 2.51 unstable
  const leaving = new AbortController();
  await refused(async () => {
    for await (const r of client.modelStreamInfer(requests, { signal: leaving.signal })) {
      assert.equal(r.inferResponse.id, "long");
      leaving.abort();
    }
  }, Code.Canceled, /./);
}

async function chat(client) {
  const request = { model: "chat", maxTokens: 8, temperature: 0, messages: [{ role: Role.USER, content: "Count from one to a hundred in words." }] };
  const whole = await client.chat(request);
  assert.equal(whole.usage.completionTokens, 8);
  assert.notEqual(whole.choices[0].message.content, "");
  let pieces = 0;
  let usage;
  for await (const m of client.chatStream({ chat: request })) {
    if (m.delta?.text) pieces++;
    usage = m.usage ?? usage;
  }
  assert.ok(pieces >= 5, `${pieces} pieces`);
  assert.equal(usage.completionTokens, 8);
  await refused(client.chat({ ...request, model: "none" }), Code.NotFound, /none/);
}

for (const [name, transport] of Object.entries({ ...browsers(url), ...overHTTP2(url) })) {
  await unary(createClient(GRPCInferenceService, transport));
  console.log(`unary by ${name}`);
}
for (const [name, transport] of Object.entries(overHTTP2(url))) {
  const client = createClient(GRPCInferenceService, transport);
  await bidi(client);
  await leaves(client);
  console.log(`streams by ${name}`);
}
if (chatURL) {
  for (const [name, transport] of Object.entries({ ...browsers(chatURL), ...overHTTP2(chatURL) })) {
    await chat(createClient(ChatService, transport));
    console.log(`chats by ${name}`);
  }
}
process.exit(0); // HTTP/2 sessions would stay open for some time
