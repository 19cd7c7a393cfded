// Tests of the parts of the playground that need no browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { ChatRequestSchema, Role, ToolMode } from "@trident/client";
import { lastEnd } from "../src/announce.ts";
import { noOptions, openCalls, requestOf, speedOf, titleOf, toolsOf, type Answer, type Conversation } from "../src/conversation.ts";
import { failureOf, sentence } from "../src/failure.ts";
import { extremes, similarities } from "../src/similarity.ts";
import { chatBody, chatSnippets, embeddingSnippets, messagesBody, rerankSnippets } from "../src/snippets.ts";

function answer(by: Partial<Answer>): Answer {
  return {
    role: "assistant", model: "a", options: noOptions, text: "", reasoning: "", calls: [], tokens: [], state: "done", finish: "stop", id: "", fingerprint: "", started: 0, pieces: 0,
    ...by,
  };
}

function conversation(by: Partial<Conversation>): Conversation {
  return { id: "c", updated: 0, models: ["a"], options: noOptions, turns: [], ...by };
}

test("a request has each model's own earlier responses and the new message", () => {
  const c = conversation({
    models: ["a", "b"],
    options: { ...noOptions, system: "Be brief.", temperature: 0, seed: 7, stop: ["x"], logprobs: true, topLogprobs: 3 },
    turns: [
      { id: "1", text: "one", replies: [[answer({ text: "A1" })], [answer({ text: "B1" })]] },
      { id: "2", text: "two", replies: [[answer({ text: "A2" })]] },
      { id: "3", text: "three", replies: [[], []] },
    ],
  });
  const texts = (lane: number) => requestOf(c, { turn: 2, lane, step: 0 }).messages!.map((m) => m.content);
  assert.deepEqual(texts(0), ["Be brief.", "one", "A1", "two", "A2", "three"]);
  assert.deepEqual(texts(1), ["Be brief.", "one", "B1", "three"]); // b never answered "two"
  const { messages, ...rest } = requestOf(c, { turn: 0, lane: 1, step: 0 });
  assert.deepEqual(messages!.map((m) => m.role), [Role.SYSTEM, Role.USER]);
  assert.deepEqual(rest, { model: "b", temperature: 0, seed: 7n, stop: ["x"], logprobs: true, topLogprobs: 3 });
});

test("tool results follow their calls", () => {
  const calls = [{ id: "1", name: "now", arguments: "{}" }, { id: "2", name: "then", arguments: "{}" }];
  const reply = [answer({ calls, finish: "tool_calls" }), { role: "tool" as const, call: "1", text: "noon" }];
  assert.deepEqual(openCalls(reply), [calls[1]]);
  const c = conversation({ turns: [{ id: "1", text: "when?", replies: [reply] }] });
  const messages = requestOf(c, { turn: 0, lane: 0, step: 2 }).messages!;
  assert.deepEqual(messages.slice(1), [{ role: Role.ASSISTANT, content: "", toolCalls: calls }, { role: Role.TOOL, content: "noon", toolCallId: "1" }]);
});

test("invalid options cause an error that is a sentence", () => {
  const at = { turn: 0, lane: 0, step: 0 };
  const of = (options: Partial<typeof noOptions>) => () => requestOf(conversation({ options: { ...noOptions, ...options } }), at);
  assert.throws(of({ form: "json_schema", formText: "{" }), /^Error: The JSON schema must be valid JSON: /);
  assert.throws(of({ form: "json_schema", formText: "[]" }), /^Error: The JSON schema must be a JSON object\.$/);
  assert.throws(of({ form: "regex" }), /^Error: The regular expression is empty\.$/);
  assert.throws(of({ tools: "[{}]" }), /^Error: Tool 1 has no name\.$/);
  assert.throws(of({ tools: "now" }), /^Error: The tools must be valid JSON: /);
});

test("tools may have OpenAI's format or be bare functions, and keep the order of their keys", () => {
  const parameters = '{"type":"object","properties":{"z":{},"a":{}}}';
  const bare = `{"name":"now","description":"d","strict":true,"parameters":${parameters}}`;
  const want = [{ name: "now", description: "d", strict: true, parameters }];
  assert.deepEqual(toolsOf(bare), want);
  assert.deepEqual(toolsOf(`[{"type":"function","function":${bare}}]`), want);
  assert.deepEqual(toolsOf(" \n"), []);
});

test("the body of a chat has the format of OpenAI's API", () => {
  const c = conversation({
    options: {
      ...noOptions, maxTokens: 5, temperature: 0.5, topP: 0.9, topK: 3, minP: 0.1, presencePenalty: 1, frequencyPenalty: -1, repetitionPenalty: 1.1, seed: 3, reasoningEffort: "low",
      form: "json_schema", formText: '{"type": "object"}', tools: '{"name": "now"}', toolChoice: "required",
    },
    turns: [{ id: "1", text: "hi", replies: [[]] }],
  });
  const body = (options = c.options) => chatBody(create(ChatRequestSchema, requestOf(c, { turn: 0, lane: 0, step: 0 }, options)));
  assert.deepEqual(body(), {
    model: "a", messages: [{ role: "user", content: "hi" }], max_tokens: 5, temperature: 0.5, top_p: 0.9, top_k: 3, min_p: 0.1, presence_penalty: 1, frequency_penalty: -1,
    repetition_penalty: 1.1, seed: 3, reasoning_effort: "low",
    response_format: { type: "json_schema", json_schema: { name: "answer", schema: { type: "object" } } },
    tools: [{ type: "function", function: { name: "now" } }], tool_choice: "required",
  });
  assert.deepEqual(body({ ...noOptions, form: "regex", formText: "a+" })["structured_outputs"], { regex: "a+" });
  assert.deepEqual(body({ ...c.options, toolChoice: "now" })["tool_choice"], { type: "function", function: { name: "now" } });
  assert.deepEqual(requestOf(c, { turn: 0, lane: 0, step: 0 }, { ...c.options, toolChoice: "none" }).toolChoice, { choice: { case: "mode", value: ToolMode.NONE } });
});

test("the body of a message has the format of Anthropic's API, and names what the API lacks", () => {
  const call = (id: string, args: string) => ({ id, name: "now", arguments: args });
  const tool = { tool: { case: "function" as const, value: { name: "now", description: "d", parameters: '{"type":"object"}', strict: true } } };
  const full = messagesBody(create(ChatRequestSchema, {
    model: "a", maxTokens: 5, temperature: 0.5, topP: 0.9, topK: 3, stop: ["E"], reasoningEffort: "low", tools: [tool],
    toolChoice: { choice: { case: "function", value: "now" } }, responseFormat: { format: { case: "jsonSchema", value: { name: "answer", schema: "{}" } } },
    messages: [
      { role: Role.SYSTEM, content: "s" }, { role: Role.USER, content: "hi" },
      { role: Role.ASSISTANT, content: "t", toolCalls: [call("1", '{"a":1}'), call("2", "no")] },
      { role: Role.TOOL, content: "x", toolCallId: "1" }, { role: Role.TOOL, content: "y", toolCallId: "2" }, { role: Role.ASSISTANT, content: "z" },
    ],
  }));
  assert.deepEqual(full, {
    lacking: [],
    body: {
      model: "a", max_tokens: 5, system: "s", temperature: 0.5, top_p: 0.9, top_k: 3, stop_sequences: ["E"],
      output_config: { effort: "low", format: { type: "json_schema", schema: {} } },
      tools: [{ name: "now", description: "d", input_schema: { type: "object" }, strict: true }], tool_choice: { type: "tool", name: "now" },
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: [{ type: "text", text: "t" }, { type: "tool_use", id: "1", name: "now", input: { a: 1 } }, { type: "tool_use", id: "2", name: "now", input: { INVALID_JSON: "no" } }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "x" }, { type: "tool_result", tool_use_id: "2", content: "y" }] },
        { role: "assistant", content: "z" },
      ],
    },
  });
  const lacking = { model: "a", temperature: 1.5, minP: 0.1, presencePenalty: 1, frequencyPenalty: 1, repetitionPenalty: 1.1, seed: 3n, logprobs: true, reasoningEffort: "none" };
  assert.deepEqual(messagesBody(create(ChatRequestSchema, { ...lacking, responseFormat: { format: { case: "regex", value: "a+" } } })), {
    lacking: ["a temperature above 1", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty", "seed", "logprobs", "response_format"],
    body: { model: "a", max_tokens: 1024, messages: [], thinking: { type: "disabled" } },
  });
  const snippet = chatSnippets({ model: "a", seed: 3n }, { url: "https://h.example", key: true })[4]!;
  assert.equal(snippet.needs, "Anthropic's API lacks seed.");
  assert.match(snippet.code, /https:\/\/h\.example\/v1\/messages/);
  assert.match(snippet.code, /x-api-key: \$TRIDENT_API_KEY/);
});

test("the images of a message come before its text, in the format of each API", () => {
  const png = "data:image/png;base64,iVBORw0=";
  const c = conversation({ turns: [{ id: "1", text: "what?", images: [png], replies: [[answer({ text: "a cat" })]] }, { id: "2", text: "", images: [png, png], replies: [[]] }] });
  const request = create(ChatRequestSchema, requestOf(c, { turn: 1, lane: 0, step: 0 }));
  const image = { type: "image_url", image_url: { url: png } };
  assert.deepEqual(chatBody(request)["messages"], [
    { role: "user", content: [image, { type: "text", text: "what?" }] }, { role: "assistant", content: "a cat" }, { role: "user", content: [image, image] },
  ]);
  const block = { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw0=" } };
  assert.deepEqual(messagesBody(request).body["messages"], [
    { role: "user", content: [block, { type: "text", text: "what?" }] }, { role: "assistant", content: "a cat" }, { role: "user", content: [block, block] },
  ]);
  assert.equal(titleOf(conversation({ turns: [{ id: "1", text: "", images: [png], replies: [] }] })), "Image");
});

test("snippets have the server's address, and the variable of the key instead of the key", () => {
  const request = { model: "a", messages: [{ role: Role.USER, content: "it's `true`\n" }], topK: 5 };
  const plain = chatSnippets(request, { url: "https://h.example/p", key: false });
  assert.deepEqual(plain.map((s) => s.language), ["curl", "Python", "Node", "Go", "Anthropic"]);
  for (const { code } of plain) {
    assert.match(code, /https:\/\/h\.example\/p/);
    assert.doesNotMatch(code, /TRIDENT_API_KEY/);
  }
  assert.match(plain[1]!.code, /stream=True,\n    extra_body=\{"top_k": 5\},/);
  for (const { code } of [...chatSnippets(request, { url: "https://h.example", key: true }), ...embeddingSnippets({ model: "e" }, { url: "https://h.example", key: true }), ...rerankSnippets({ model: "r" }, { url: "https://h.example", key: true })]) {
    assert.match(code, /TRIDENT_API_KEY/);
  }
});

test("errors are shown as sentences", () => {
  assert.equal(sentence("no such model"), "No such model.");
  assert.equal(sentence("max_tokens must be at least 1"), "max_tokens must be at least 1.");
  assert.equal(sentence("messages[0].content: too long!"), "messages[0].content: too long!");
  assert.equal(sentence(""), "The server sent no error message.");
  assert.deepEqual(failureOf(new Error("oh")), { text: "Oh.", requestId: "", needsKey: false });
});

test("the speed excludes the first token", () => {
  assert.equal(speedOf(answer({ first: 500, last: 1500, completionTokens: 11 })), 10);
  assert.equal(speedOf(answer({ first: 500, last: 1500, pieces: 6 })), 5);
  assert.equal(speedOf(answer({ first: 500, last: 500, completionTokens: 2 })), undefined);
  assert.equal(speedOf(answer({})), undefined);
});

test("screen readers receive whole sentences", () => {
  for (const [text, announced] of [["One. Two", "One. "], ["Half a", ""], ["3.14 is", ""], ["(Yes.) \nNo", "(Yes.) \n"], ["a\nb", "a\n"], ["", ""]] as const) {
    assert.equal(text.slice(0, lastEnd(text)), announced);
  }
});

test("similarity depends on the direction of vectors only", () => {
  const matrix = similarities([[2, 0], [1, 0], [0, 3], [-1, 0], [0, 0]]);
  assert.deepEqual(matrix[0], [1, 1, 0, -1, 0]);
  assert.deepEqual(extremes(matrix), { nearest: { a: 0, b: 1, value: 1 }, farthest: { a: 1, b: 3, value: -1 } });
  assert.equal(extremes(similarities([[1]])), undefined);
});

test("the title of a conversation is the start of its first message", () => {
  assert.equal(titleOf(conversation({})), "New chat");
  assert.equal(titleOf(conversation({ turns: [{ id: "1", text: "  a\n b ", replies: [] }] })), "a b");
  assert.equal(titleOf(conversation({ turns: [{ id: "1", text: "x".repeat(90), replies: [] }] })).length, 60);
});
