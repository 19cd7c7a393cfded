import type { ChatInit } from "@trident/client";
import { Role, ToolMode } from "@trident/client";
import type { Failure } from "./failure.ts";

/** Required format of responses. */
export type Form = "text" | "json_object" | "json_schema" | "regex";

/** Options of requests. An unset option has the model's default. */
export interface Options {
  system: string;
  maxTokens?: number;
  temperature?: number;
  topP?: number;
  topK?: number;
  minP?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  repetitionPenalty?: number;
  seed?: number;
  stop: string[];
  reasoningEffort: string;
  logprobs: boolean;
  topLogprobs: number;
  form: Form;
  /** JSON schema or regular expression that form requires of the response. */
  formText: string;
  /** JSON of the tools, in the format of OpenAI's API; empty for no tools. */
  tools: string;
  /** Tool choice of the request: auto, none, required, or the name of a function. */
  toolChoice: string;
}

export const noOptions: Options = {
  system: "", stop: [], reasoningEffort: "", logprobs: false, topLogprobs: 5, form: "text", formText: "", tools: "", toolChoice: "auto",
};

/** Names of the numeric options. */
export const numbers = [
  "maxTokens", "temperature", "topP", "topK", "minP", "presencePenalty", "frequencyPenalty", "repetitionPenalty", "seed",
] as const;
export type NumberName = (typeof numbers)[number];

/** Token of a response, with its log probability and those of the likeliest tokens at its position. */
export interface Token {
  text: string;
  logprob: number;
  top: [text: string, logprob: number][];
}

/** Tool call in a response. */
export interface Call {
  id: string;
  name: string;
  arguments: string;
}

/** Response of a model, as far as it has arrived. */
export interface Answer {
  role: "assistant";
  model: string;
  /** The options of the request to which this is the response. */
  options: Options;
  text: string;
  reasoning: string;
  calls: Call[];
  tokens: Token[];
  state: "running" | "done" | "stopped" | "failed";
  /** Finish reason: stop, length, content_filter, tool_calls. */
  finish: string;
  failure?: Failure;
  /** The server's identifier of the response, and the fingerprint of the response. */
  id: string;
  fingerprint: string;
  /** Time of the request, in milliseconds since 1970. */
  started: number;
  /** Milliseconds from the request to the first piece, and to the last one. */
  first?: number;
  last?: number;
  pieces: number;
  promptTokens?: number;
  completionTokens?: number;
}

/** Result of a tool call, entered by the user. */
export interface Result {
  role: "tool";
  call: string;
  text: string;
}

/** Reply of one model to a turn: its response, and after tool calls their results and further responses. */
export type Reply = (Answer | Result)[];

/** Turn is the user's message and the reply of each model. */
export interface Turn {
  id: string;
  text: string;
  /** Images of the message, as data URIs. */
  images?: string[];
  replies: Reply[];
}

/** Conversation with one model, or with two models side by side. */
export interface Conversation {
  id: string;
  updated: number;
  models: string[];
  options: Options;
  turns: Turn[];
}

/** Position of a response: the turn, the model, and the index in the model's reply. */
export interface Place {
  turn: number;
  lane: number;
  step: number;
}

/** titleOf returns the title of a conversation in lists: its first text, cut to 60 characters. */
export function titleOf(conversation: Conversation): string {
  const first = conversation.turns[0];
  const text = first?.text.trim().replace(/\s+/g, " ") ?? "";
  return text.length > 60 ? text.slice(0, 59) + "…" : text || (first ? "Image" : "New chat");
}

/** Returns the last response of a reply. */
export function answerOf(reply: Reply | undefined): Answer | undefined {
  return reply?.findLast((part) => part.role === "assistant");
}

/** Returns the tool calls of the reply's last response that have no result yet. */
export function openCalls(reply: Reply): Call[] {
  const answer = answerOf(reply);
  if (!answer || answer.state === "running") return [];
  const results = new Set(reply.flatMap((part) => (part.role === "tool" ? [part.call] : [])));
  return answer.calls.filter((call) => !results.has(call.id));
}

/**
 * Returns the speed of a response in tokens per second; undefined before the first piece. It counts
 * pieces until the usage arrives.
 */
export function speedOf(answer: Answer): number | undefined {
  const tokens = answer.completionTokens ?? (answer.tokens.length || answer.pieces);
  if (answer.first === undefined || answer.last === undefined || tokens < 2 || answer.last <= answer.first) return undefined;
  return ((tokens - 1) * 1000) / (answer.last - answer.first);
}

/**
 * Returns the request for the response at this position. It throws a sentence for the user if the
 * options are invalid.
 */
export function requestOf(conversation: Conversation, place: Place, options = conversation.options): ChatInit {
  const request: ChatInit = { model: conversation.models[place.lane] ?? "", messages: messagesBefore(conversation, place, options.system) };
  for (const name of ["maxTokens", "temperature", "topP", "topK", "minP", "presencePenalty", "frequencyPenalty", "repetitionPenalty"] as const) {
    if (options[name] !== undefined) request[name] = options[name];
  }
  if (options.seed !== undefined) request.seed = BigInt(Math.trunc(options.seed));
  if (options.stop.length > 0) request.stop = options.stop;
  if (options.reasoningEffort) request.reasoningEffort = options.reasoningEffort;
  if (options.logprobs) Object.assign(request, { logprobs: true, topLogprobs: options.topLogprobs });
  const format = formatOf(options);
  if (format) request.responseFormat = format;
  const tools = toolsOf(options.tools);
  if (tools.length > 0) {
    request.tools = tools.map((value) => ({ tool: { case: "function", value } }));
    if (options.toolChoice !== "auto") request.toolChoice = choiceOf(options.toolChoice);
  }
  return request;
}

type Message = NonNullable<ChatInit["messages"]>[number];

function messagesBefore(conversation: Conversation, { turn: last, lane, step }: Place, system: string): Message[] {
  const messages: Message[] = system.trim() ? [{ role: Role.SYSTEM, content: system }] : [];
  conversation.turns.slice(0, last + 1).forEach((turn, i) => {
    const reply = turn.replies[lane] ?? [];
    // Without this check, a turn that the model never answered would appear as two user
    // messages in a row.
    if (i < last && !answerOf(reply)) return;
    messages.push(messageOfUser(turn));
    messages.push(...(i < last ? reply : reply.slice(0, step)).map(messageOf));
  });
  return messages;
}

/** Returns the user's message. The images come before the text, as the documentation of vision models recommends. */
function messageOfUser({ text, images = [] }: Turn): Message {
  if (images.length === 0) return { role: Role.USER, content: text };
  const parts = images.map((url) => ({ part: { case: "imageUrl" as const, value: { url } } }));
  return { role: Role.USER, parts: text ? [...parts, { part: { case: "text" as const, value: text } }] : parts };
}

function messageOf(part: Answer | Result): Message {
  if (part.role === "tool") return { role: Role.TOOL, content: part.text, toolCallId: part.call };
  const message: Message = { role: Role.ASSISTANT, content: part.text };
  if (part.calls.length > 0) message.toolCalls = part.calls;
  return message;
}

function formatOf({ form, formText }: Options): ChatInit["responseFormat"] {
  switch (form) {
    case "text":
      return undefined;
    case "json_object":
      return { format: { case: "jsonObject", value: {} } };
    case "json_schema":
      return { format: { case: "jsonSchema", value: { name: "answer", schema: JSON.stringify(objectOf(formText, "The JSON schema")) } } };
    case "regex":
      if (!formText) throw new Error("The regular expression is empty.");
      return { format: { case: "regex", value: formText } };
  }
}

function choiceOf(choice: string): ChatInit["toolChoice"] {
  const modes: Record<string, ToolMode> = { none: ToolMode.NONE, required: ToolMode.REQUIRED };
  const mode = modes[choice];
  return mode === undefined ? { choice: { case: "function", value: choice } } : { choice: { case: "mode", value: mode } };
}

/** FunctionTool of a request; its parameters are a JSON string. */
export interface FunctionTool {
  name: string;
  description?: string;
  parameters?: string;
  strict?: boolean;
}

/** Reads tools in OpenAI's format or as bare functions. It throws a sentence for the user if they are invalid. */
export function toolsOf(text: string): FunctionTool[] {
  if (!text.trim()) return [];
  const parsed = parse(text, "The tools");
  return (Array.isArray(parsed) ? parsed : [parsed]).map((item, i) => {
    const tool = (item?.function ?? item) as Record<string, unknown> | null;
    if (typeof tool?.["name"] !== "string") throw new Error(`Tool ${i + 1} has no name.`);
    const read: FunctionTool = { name: tool["name"] };
    if (typeof tool["description"] === "string") read.description = tool["description"];
    if (tool["parameters"] !== undefined) read.parameters = JSON.stringify(tool["parameters"]);
    if (typeof tool["strict"] === "boolean") read.strict = tool["strict"];
    return read;
  });
}

function objectOf(text: string, what: string): object {
  const parsed = parse(text, what);
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) throw new Error(`${what} must be a JSON object.`);
  return parsed;
}

// parse returns user input, which may have any type.
function parse(text: string, what: string): any {
  if (!text.trim()) throw new Error(`${what} must not be empty.`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${what} must be valid JSON: ${(error as Error).message}.`);
  }
}
