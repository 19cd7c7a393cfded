// Tests of models, of the server's load, and of inference by tensors.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, ModelState, ModelTask, createTrident, inputs, outputs, type Tensor } from "@trident/client";
import { controlled, demo, failsWith, holding, tensors, until } from "./harness.ts";

const client = createTrident({ baseUrl: demo });
const bare = createTrident({ baseUrl: tensors });

test("models", async () => {
  assert.deepEqual((await client.models.list()).map((m) => m.name), ["chat", "embedding"]);
  const chat = await client.models.get("chat");
  assert.equal(chat.state, ModelState.READY);
  assert.ok(chat.tasks.includes(ModelTask.CHAT));
  await assert.rejects(client.models.get("none"), failsWith(Code.NotFound, { reason: "model_not_found" }));
  await assert.rejects(client.models.load("chat"), failsWith(Code.Unimplemented, {}, /not allowed/));
});

test("models come and go", async () => {
  const client = createTrident({ baseUrl: controlled });
  const changes = client.models.watch({ all: true });
  const seen = async (state: ModelState) => {
    for (;;) {
      const { value, done } = await changes.next();
      assert.ok(!done);
      if (value.models.some((m) => m.name === "echo" && m.state === state)) return;
    }
  };
  await seen(ModelState.NOT_LOADED);
  assert.equal((await client.models.load("echo")).state, ModelState.READY);
  await seen(ModelState.LOADING);
  await seen(ModelState.READY);
  await assert.rejects(client.models.load("echo"), failsWith(Code.InvalidArgument, { reason: "model_already_loaded" }));
  await client.models.unload("echo");
  await seen(ModelState.UNLOADING);
  await seen(ModelState.UNAVAILABLE);
  await changes.return();
});

test("the server's load", async () => {
  const holder = await holding(client);
  let before = 0n;
  let statuses = 0;
  for await (const status of client.server.watch(100)) {
    assert.equal(status.ready, true);
    assert.ok(status.total!.inFlight >= 1);
    assert.ok(status.time!.seconds >= before);
    before = status.time!.seconds;
    if (++statuses === 3) break;
  }
  await holder.end();
  await assert.rejects(client.server.watch(1).next(), failsWith(Code.InvalidArgument, { param: "interval" }));
});

test("a server without a list of inference servers", async () => {
  const fails = failsWith(Code.Unimplemented, { reason: "not_implemented" }, /no list of inference servers/);
  await assert.rejects(client.endpoints.list(), fails);
  await assert.rejects(client.endpoints.drain("a:8001"), fails);
  await assert.rejects(client.endpoints.resume("a:8001"), fails);
});

const echo = (...data: string[]) => ({ modelName: "echo", ...inputs([{ name: "TEXT", datatype: "BYTES", shape: [data.length], data }]) });

test("infer", async () => {
  const answer = await bare.infer({ ...echo("hällo"), id: "7" });
  assert.equal(answer.id, "7");
  const text = outputs(answer)["TEXT"]!;
  assert.deepEqual([text.datatype, text.shape], ["BYTES", [1]]);
  assert.equal(new TextDecoder().decode(text.data[0] as Uint8Array), "hällo");
  await assert.rejects(bare.infer({ ...echo("x"), modelName: "none" }), failsWith(Code.NotFound, {}, /none/));
});

const scalar = (name: string, value: number): Tensor => ({ name, datatype: "INT32", shape: [1], data: Int32Array.of(value) });
const key = (value: string): Tensor => ({ name: "KEY", datatype: "BYTES", shape: [1], data: [value] });
const counting = (...more: Tensor[]) => ({ modelName: "stream", ...inputs(more) });

test("inferStream", async () => {
  const seen: unknown[] = [];
  for await (const response of bare.inferStream(counting(scalar("COUNT", 3), scalar("SIZE", 5)))) {
    const { INDEX, DATA } = outputs(response);
    seen.push([INDEX!.data, DATA!.shape, DATA!.data]);
  }
  assert.deepEqual(seen, [0, 1, 2].map((i) => [Int32Array.of(i), [5], new Uint8Array(5).fill(i)]));
});

test("inferStream fails in the middle", async () => {
  let responses = 0;
  await assert.rejects(async () => {
    for await (const _ of bare.inferStream(counting(scalar("COUNT", 5), scalar("FAIL_AT", 2)))) responses++;
  }, failsWith(Code.Internal, {}, /response 2 failed, as asked/));
  assert.equal(responses, 2);
});

test("leaving inferStream cancels the model", async () => {
  for await (const _ of bare.inferStream(counting(scalar("COUNT", 1 << 20), scalar("DELAY", 5), key("left")))) break;
  await until("the model is cancelled", async () => {
    for await (const record of bare.inferStream(counting(key("left")))) {
      const [state] = outputs(record)["STATE"]!.data;
      return new TextDecoder().decode(state as Uint8Array) === "cancelled";
    }
    return false;
  });
});

test("tensors of every datatype", () => {
  const all: Tensor[] = [
    { name: "a", datatype: "FP32", shape: [2], data: Float32Array.of(1.5, -2) },
    { name: "b", datatype: "INT64", shape: [1, 2], data: BigInt64Array.of(-1n, 1n << 40n) },
    { name: "c", datatype: "BOOL", shape: [3], data: Uint8Array.of(1, 0, 1) },
    { name: "d", datatype: "FP64", shape: [1], data: new Float64Array([0, Math.PI]).subarray(1) },
  ];
  const sent = inputs(all);
  // The bytes start at an odd offset, as they may in a received message.
  const raw = sent.rawInputContents.map((bytes) => new Uint8Array([0, ...bytes]).subarray(1));
  const back = outputs({ outputs: sent.inputs, rawOutputContents: raw } as unknown as Parameters<typeof outputs>[0]);
  for (const tensor of all) assert.deepEqual(back[tensor.name], tensor);
});
