import { create, toJson, type JsonObject, type JsonValue } from "@bufbuild/protobuf";
import { ChatRequestSchema, EmbedRequestSchema, RerankRequestSchema, Role, ToolMode, type ChatInit, type ChatRequest, type EmbedInit, type RerankInit } from "@trident/client";

/** Snippet is a program that repeats a request. */
export interface Snippet {
  language: "curl" | "Python" | "Node" | "Go" | "Anthropic";
  /** A sentence with the program's requirements, or with what it leaves out; empty for none. */
  needs: string;
  code: string;
}

/** Target is the server's address without a trailing slash, and whether the server requires a key. */
export interface Target {
  url: string;
  key: boolean;
}

/** Returns programs that stream the response to this chat. */
export function chatSnippets(request: ChatInit, target: Target): Snippet[] {
  const body = chatBody(create(ChatRequestSchema, request));
  const typed = toJson(ChatRequestSchema, create(ChatRequestSchema, request));
  return [
    curl("chat/completions", { ...body, stream: true }, target),
    python("stream = client.chat.completions.create", { ...body, stream: true }, `for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
print()`, target),
    node("const stream = await client.chat.completions.create", { ...body, stream: true }, `for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? "");
console.log();`, target),
    go("Chat", "ChatRequest", typed, `	stream, err := client.ChatStream(ctx, &tridentv1.ChatStreamRequest{Chat: request})
	if err != nil {
		log.Fatal(err)
	}
	for stream.Receive() {
		fmt.Print(stream.Msg().GetDelta().GetText())
	}
	if err := stream.Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Println()`, target),
    messages(create(ChatRequestSchema, request), target),
  ];
}

/** Returns programs that compute the vectors of the request. */
export function embeddingSnippets(request: EmbedInit, target: Target): Snippet[] {
  const message = create(EmbedRequestSchema, request);
  const body: JsonObject = { model: message.model, input: message.input.map(({ input }) => (input.case === "text" ? input.value : "")) };
  if (message.dimensions) body["dimensions"] = message.dimensions;
  return [
    curl("embeddings", body, target),
    python("answer = client.embeddings.create", body, `for item in answer.data:
    print(item.index, len(item.embedding), item.embedding[:4])`, target),
    node("const answer = await client.embeddings.create", body, `for (const { index, embedding } of answer.data) console.log(index, embedding.length, embedding.slice(0, 4));`, target),
    go("Embedding", "EmbedRequest", toJson(EmbedRequestSchema, message), `	answer, err := client.Embed(ctx, request)
	if err != nil {
		log.Fatal(err)
	}
	for _, item := range answer.GetEmbeddings() {
		fmt.Println(item.GetIndex(), len(item.GetValues()), item.GetValues()[:4])
	}`, target),
  ];
}

/** Returns programs that rank the documents of the request. */
export function rerankSnippets(request: RerankInit, target: Target): Snippet[] {
  const message = create(RerankRequestSchema, request);
  const { model, query, documents, topN } = message;
  const body: JsonObject = { model, query, documents, ...(topN && { top_n: topN }) };
  return [
    curl("rerank", body, target),
    cohere(body, target),
    go("Encoder", "RerankRequest", toJson(RerankRequestSchema, message), `	answer, err := client.Rerank(ctx, request)
	if err != nil {
		log.Fatal(err)
	}
	for _, item := range answer.GetResults() {
		fmt.Println(item.GetIndex(), item.GetScore())
	}`, target),
  ];
}

/** Returns a chat request in the format of OpenAI's API, with vLLM's names for fields that OpenAI's API lacks. */
export function chatBody(request: ChatRequest): JsonObject {
  const body: JsonObject = {
    model: request.model,
    messages: request.messages.map(({ role, content, parts, toolCalls, toolCallId }) => ({
      role: roles[role] ?? "user",
      content: parts.length > 0 ? parts.map(partOf) : content,
      ...(toolCalls.length > 0 && { tool_calls: toolCalls.map((c) => ({ id: c.id, type: "function", function: { name: c.name, arguments: c.arguments } })) }),
      ...(toolCallId && { tool_call_id: toolCallId }),
    })),
  };
  const set = (name: string, value: JsonValue | undefined) => value !== undefined && (body[name] = value);
  set("max_tokens", request.maxTokens);
  set("temperature", request.temperature);
  set("top_p", request.topP);
  set("top_k", request.topK);
  set("min_p", request.minP);
  set("presence_penalty", request.presencePenalty);
  set("frequency_penalty", request.frequencyPenalty);
  set("repetition_penalty", request.repetitionPenalty);
  set("seed", request.seed === undefined ? undefined : Number(request.seed));
  set("stop", request.stop.length > 0 ? request.stop : undefined);
  set("reasoning_effort", request.reasoningEffort || undefined);
  if (request.logprobs) Object.assign(body, { logprobs: true, top_logprobs: request.topLogprobs });
  Object.assign(body, formOf(request));
  if (request.tools.length > 0) body["tools"] = request.tools.map(toolOf);
  set("tool_choice", choiceOf(request));
  return body;
}

function partOf({ part }: ChatRequest["messages"][number]["parts"][number]): JsonObject {
  return part.case === "imageUrl" ? { type: "image_url", image_url: { url: part.value.url } } : { type: "text", text: part.value ?? "" };
}

/** Returns a part in the format of Anthropic's API, which has the data of an image without the URI around it. */
function blockOf(part: ChatRequest["messages"][number]["parts"][number]): JsonObject {
  if (part.part.case !== "imageUrl") return partOf(part);
  const { url } = part.part.value;
  const [, type, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? [];
  return { type: "image", source: type && data ? { type: "base64", media_type: type, data } : { type: "url", url } };
}

/** Returns a chat request in the format of Anthropic's API, and the names of the fields that the API lacks. */
export function messagesBody(request: ChatRequest): { body: JsonObject; lacking: string[] } {
  const lacking: string[] = [];
  const body: JsonObject = { model: request.model, max_tokens: request.maxTokens ?? 1024 };
  const set = (name: string, value: JsonValue | undefined) => value !== undefined && (body[name] = value);
  const system = request.messages.filter(({ role }) => role === Role.SYSTEM);
  set("system", system.length > 0 ? system.map(({ content }) => content).join("\n") : undefined);
  body["messages"] = turnsOf(request.messages.filter(({ role }) => role !== Role.SYSTEM));
  set("temperature", (request.temperature ?? 0) <= 1 ? request.temperature : undefined);
  set("top_p", request.topP);
  set("top_k", request.topK);
  set("stop_sequences", request.stop.length > 0 ? request.stop : undefined);
  const { reasoningEffort: effort, responseFormat } = request;
  if (effort === "none") body["thinking"] = { type: "disabled" };
  const knows = ["low", "medium", "high"].includes(effort);
  const format = responseFormat?.format.case === "jsonSchema" ? { type: "json_schema", schema: JSON.parse(responseFormat.format.value.schema) } : undefined;
  if (knows || format) body["output_config"] = { ...(knows && { effort }), ...(format && { format }) };
  if (request.tools.length > 0) body["tools"] = request.tools.map(messagesToolOf);
  set("tool_choice", messagesChoiceOf(request));
  const gone: Record<string, boolean> = {
    "a temperature above 1": (request.temperature ?? 0) > 1, min_p: request.minP !== undefined, presence_penalty: request.presencePenalty !== undefined,
    frequency_penalty: request.frequencyPenalty !== undefined, repetition_penalty: request.repetitionPenalty !== undefined, seed: request.seed !== undefined,
    logprobs: request.logprobs === true, reasoning_effort: effort !== "" && effort !== "none" && !knows,
    response_format: responseFormat?.format.case !== undefined && format === undefined,
  };
  lacking.push(...Object.keys(gone).filter((name) => gone[name]));
  return { body, lacking };
}

/** Returns messages without those of the system. Results of tools that follow each other are in one message. */
function turnsOf(chat: ChatRequest["messages"]): JsonObject[] {
  const turns: JsonObject[] = [];
  let results: JsonObject[] | undefined;
  for (const { role, content, parts, toolCalls, toolCallId } of chat) {
    if (role === Role.TOOL) {
      const result = { type: "tool_result", tool_use_id: toolCallId, content };
      if (results) results.push(result);
      else turns.push({ role: "user", content: (results = [result]) });
      continue;
    }
    results = undefined;
    const calls = toolCalls.map((c) => ({ type: "tool_use", id: c.id, name: c.name, input: inputOf(c.arguments) }));
    turns.push({
      role: role === Role.ASSISTANT ? "assistant" : "user",
      content: calls.length > 0 ? [...(content ? [{ type: "text", text: content }] : []), ...calls] : parts.length > 0 ? parts.map(blockOf) : content,
    });
  }
  return turns;
}

/** Returns the arguments of a call as an object. Others are a text in an object, as Trident's own answers have them. */
function inputOf(text: string): JsonObject {
  try {
    const value = JSON.parse(text) as JsonValue;
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // the model wrote no JSON
  }
  return { INVALID_JSON: text };
}

function messagesToolOf({ tool }: ChatRequest["tools"][number]): JsonObject {
  if (tool.case === undefined) return {};
  const { name, description, parameters, strict } = tool.value;
  return { name, ...(description && { description }), input_schema: parameters ? JSON.parse(parameters) : { type: "object" }, ...(strict !== undefined && { strict }) };
}

function messagesChoiceOf({ toolChoice }: ChatRequest): JsonObject | undefined {
  switch (toolChoice?.choice.case) {
    case "function":
      return { type: "tool", name: toolChoice.choice.value };
    case "mode":
      return { [ToolMode.NONE as number]: { type: "none" }, [ToolMode.REQUIRED as number]: { type: "any" } }[toolChoice.choice.value as number];
    default:
      return undefined;
  }
}

/** Returns a program that streams the response by Anthropic's API. */
function messages(request: ChatRequest, { url, key }: Target): Snippet {
  const { body, lacking } = messagesBody(request);
  const header = key ? `\n  -H "x-api-key: $${keyName}" \\` : "";
  const code = `curl -N ${url}/v1/messages \\${header}
  -H 'anthropic-version: 2023-06-01' -H 'Content-Type: application/json' --data-binary @- <<'JSON'
${JSON.stringify({ ...body, stream: true }, null, 2)}
JSON`;
  return { language: "Anthropic", needs: lacking.length > 0 ? `Anthropic's API lacks ${lacking.join(", ")}.` : "", code };
}

const roles: Partial<Record<Role, string>> = { [Role.SYSTEM]: "system", [Role.USER]: "user", [Role.ASSISTANT]: "assistant", [Role.TOOL]: "tool" };

function formOf({ responseFormat }: ChatRequest): JsonObject {
  const format = responseFormat?.format;
  switch (format?.case) {
    case "jsonObject":
      return { response_format: { type: "json_object" } };
    case "jsonSchema":
      return { response_format: { type: "json_schema", json_schema: { name: format.value.name, schema: JSON.parse(format.value.schema) } } };
    case "regex":
      return { structured_outputs: { regex: format.value } };
    default:
      return {};
  }
}

function toolOf({ tool }: ChatRequest["tools"][number]): JsonObject {
  if (tool.case === undefined) return {};
  const { name, description, parameters, strict } = tool.value;
  return {
    type: "function",
    function: { name, ...(description && { description }), ...(parameters && { parameters: JSON.parse(parameters) }), ...(strict !== undefined && { strict }) },
  };
}

function choiceOf({ toolChoice }: ChatRequest): JsonValue | undefined {
  switch (toolChoice?.choice.case) {
    case "function":
      return { type: "function", function: { name: toolChoice.choice.value } };
    case "mode":
      return { [ToolMode.NONE as number]: "none", [ToolMode.REQUIRED as number]: "required" }[toolChoice.choice.value as number];
    default:
      return undefined;
  }
}

// The programs read the key from the environment and never contain it.
const keyName = "TRIDENT_API_KEY";

function curl(path: string, body: JsonObject, { url, key }: Target): Snippet {
  const authorization = key ? `\n  -H "Authorization: Bearer $${keyName}" \\` : "";
  const code = `curl -N ${url}/v1/${path} \\${authorization}
  -H 'Content-Type: application/json' --data-binary @- <<'JSON'
${JSON.stringify(body, null, 2)}
JSON`;
  return { language: "curl", needs: "", code };
}

/** Parameters that OpenAI's SDK for Python has as named arguments. */
const named = new Set([
  "model", "messages", "max_tokens", "temperature", "top_p", "presence_penalty", "frequency_penalty", "seed", "stop", "reasoning_effort",
  "logprobs", "top_logprobs", "response_format", "tools", "tool_choice", "stream", "input", "dimensions",
]);

function python(call: string, body: JsonObject, use: string, { url, key }: Target): Snippet {
  const entries = Object.entries(body);
  const extra = Object.fromEntries(entries.filter(([name]) => !named.has(name)));
  const lines = entries.filter(([name]) => named.has(name)).map(([name, value]) => `    ${name}=${pythonOf(value, "    ")},`);
  if (Object.keys(extra).length > 0) lines.push(`    extra_body=${pythonOf(extra, "    ")},`);
  const code = `${key ? "import os\n\n" : ""}from openai import OpenAI

client = OpenAI(base_url="${url}/v1", api_key=${key ? `os.environ["${keyName}"]` : '"none"'})
${call}(
${lines.join("\n")}
)
${use}`;
  return { language: "Python", needs: "pip install openai", code };
}

/** Returns a program with Cohere's SDK. OpenAI's SDK doesn't rank. */
function cohere(body: JsonObject, { url, key }: Target): Snippet {
  const code = `${key ? "import os\n\n" : ""}import cohere

client = cohere.ClientV2(base_url="${url}", api_key=${key ? `os.environ["${keyName}"]` : '"none"'})
answer = client.rerank(
${Object.entries(body).map(([name, value]) => `    ${name}=${pythonOf(value, "    ")},`).join("\n")}
)
for item in answer.results:
    print(item.index, item.relevance_score)`;
  return { language: "Python", needs: "pip install cohere", code };
}

/** Returns a value as a Python literal. */
function pythonOf(value: JsonValue, indent: string): string {
  const deeper = indent + "    ";
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  const items = Array.isArray(value)
    ? value.map((item) => pythonOf(item, deeper))
    : Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${pythonOf(item, deeper)}`);
  const flat = open + items.join(", ") + close;
  if (flat.length < 70 && !flat.includes("\n")) return flat;
  return `${open}\n${items.map((item) => `${deeper}${item},\n`).join("")}${indent}${close}`;
}

function node(call: string, body: JsonObject, use: string, { url, key }: Target): Snippet {
  const code = `import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${url}/v1", apiKey: ${key ? `process.env.${keyName}` : '"none"'} });
${call}(${JSON.stringify(body, null, 2)});
${use}`;
  return { language: "Node", needs: "npm install openai", code };
}

function go(service: string, message: string, request: JsonValue, use: string, { url, key }: Target): Snippet {
  const json = JSON.stringify(request, null, 2);
  // A Go literal in backquotes can't contain a backquote; an interpreted
  // literal is hard to read. So the choice depends on the JSON.
  const literal = json.includes("`") ? JSON.stringify(JSON.stringify(request)) : "`" + json + "`";
  const [imports, context] = key
    ? ['	"net/http"\n	"os"\n', `	ctx, info := connect.NewClientContext(context.Background())
	info.RequestHeader().Set("Authorization", "Bearer "+os.Getenv("${keyName}"))`]
    : ['	"net/http"\n', "	ctx := context.Background()"];
  const code = `package main

import (
	"context"
	"fmt"
	"log"
${imports}
${key ? '	"connectrpc.com/connect"\n' : ""}	"google.golang.org/protobuf/encoding/protojson"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
)

func main() {
	request := &tridentv1.${message}{}
	if err := protojson.Unmarshal([]byte(${literal}), request); err != nil {
		log.Fatal(err)
	}
	client := tridentv1connect.New${service}ServiceClient(http.DefaultClient, "${url}")
${context}
${use}
}`;
  return { language: "Go", needs: "go get github.com/trident-inference/trident", code };
}
