// Sends requests to models and stores their responses in conversations.
import { FinishReason, type ChatDelta } from "@trident/client";
import { Reader } from "./announce.ts";
import { requestOf, type Answer, type Call, type Conversation, type Place, type Reply, type Token } from "./conversation.ts";
import { failureOf, isAbort, sentence } from "./failure.ts";
import { trident } from "./server.ts";
import { change, changeAnswer, conversations } from "./store.ts";

/** Abort controllers of the running responses, by conversation. */
const controllers = new Map<string, Set<AbortController>>();

/** Sends a message, with images as data URIs, to all models of a conversation. */
export function sendText(id: string, text: string, images: string[] = []): void {
  let turn = 0;
  change(id, (c) => {
    turn = c.turns.length;
    return { ...c, updated: Date.now(), turns: [...c.turns, { id: crypto.randomUUID?.() ?? String(Date.now()), text, ...(images.length > 0 && { images }), replies: c.models.map(() => []) }] };
  });
  askAll(id, turn);
}

/** Replaces the message of a turn and removes the later turns. */
export function edit(id: string, turn: number, text: string): void {
  stop(id);
  change(id, (c) => ({ ...c, updated: Date.now(), turns: [...c.turns.slice(0, turn), { ...c.turns[turn]!, text, replies: c.models.map(() => []) }] }));
  askAll(id, turn);
}

/** Repeats the request to one model in this turn and removes the later turns. */
export function retry(id: string, { turn, lane, step }: Place): void {
  change(id, (c) => ({ ...c, turns: c.turns.slice(0, turn + 1).map((t, i) => (i === turn ? { ...t, replies: withReply(t.replies, lane, (r) => r.slice(0, step)) } : t)) }));
  void ask(id, { turn, lane, step });
}

/** Adds the results of tool calls and continues the response. */
export function sendResults(id: string, turn: number, lane: number, results: { call: string; text: string }[]): void {
  let step = 0;
  change(id, (c) => ({
    ...c,
    turns: c.turns.map((t, i) =>
      i === turn
        ? { ...t, replies: withReply(t.replies, lane, (r) => {
            const next: Reply = [...r, ...results.map((result) => ({ role: "tool" as const, ...result }))];
            step = next.length;
            return next;
          }) }
        : t,
    ),
  }));
  void ask(id, { turn, lane, step });
}

/** Aborts the running responses; the server stops the models. */
export function stop(id: string): void {
  controllers.get(id)?.forEach((controller) => controller.abort());
}

function withReply(replies: Reply[], lane: number, to: (reply: Reply) => Reply): Reply[] {
  const list = replies.slice();
  for (let i = list.length; i <= lane; i++) list.push([]);
  return list.map((reply, i) => (i === lane ? to(reply) : reply));
}

function askAll(id: string, turn: number): void {
  const conversation = conversations.value.find((c) => c.id === id);
  conversation?.models.forEach((_, lane) => void ask(id, { turn, lane, step: 0 }));
}

async function ask(id: string, place: Place): Promise<void> {
  const conversation = conversations.value.find((c) => c.id === id);
  if (!conversation) return;
  const started = Date.now();
  const begun: Answer = {
    role: "assistant", model: conversation.models[place.lane] ?? "", options: conversation.options, text: "", reasoning: "", calls: [], tokens: [],
    state: "running", finish: "", id: "", fingerprint: "", started, pieces: 0,
  };
  change(id, (c) => ({ ...c, turns: c.turns.map((t, i) => (i === place.turn ? { ...t, replies: withReply(t.replies, place.lane, (r) => [...r.slice(0, place.step), begun]) } : t)) }));
  const controller = new AbortController();
  const all = controllers.get(id) ?? new Set();
  controllers.set(id, all.add(controller));
  const writer = new Writer(begun, (answer) => changeAnswer(id, place, answer));
  try {
    await writer.write(conversation, place, controller.signal);
  } finally {
    all.delete(controller);
  }
}

/** Writer collects a response and updates the page at most once per frame. */
class Writer {
  #answer: Answer;
  readonly #show: (answer: Answer) => void;
  readonly #reader = new Reader();
  readonly #began = performance.now();
  #frame = 0;

  constructor(answer: Answer, show: (answer: Answer) => void) {
    this.#answer = answer;
    this.#show = show;
  }

  /** Sends the request, and writes until the response ends or fails. */
  async write(conversation: Conversation, place: Place, signal: AbortSignal): Promise<void> {
    try {
      const stream = trident.value.chat.stream(requestOf(conversation, place), { signal });
      for await (const delta of stream) this.#add(delta, stream.id, stream.systemFingerprint);
      this.#set({ promptTokens: stream.usage?.promptTokens, completionTokens: stream.usage?.completionTokens });
      this.#end("done");
    } catch (thrown) {
      if (signal.aborted || isAbort(thrown)) return this.#end("stopped");
      // An Error that isn't from the server is a sentence of the page: invalid
      // options.
      const failure = thrown instanceof Error && thrown.name === "Error" ? { text: sentence(thrown.message), requestId: "", needsKey: false } : failureOf(thrown);
      this.#set({ failure });
      this.#end("failed");
    }
  }

  #add(delta: ChatDelta, id: string, fingerprint: string): void {
    const now = Math.round((performance.now() - this.#began) * 10) / 10;
    const has = delta.text || delta.reasoning || delta.toolCalls.length > 0 || delta.logprobs.length > 0;
    const before = this.#answer;
    this.#set({
      id, fingerprint,
      text: before.text + delta.text,
      reasoning: before.reasoning + delta.reasoning,
      calls: delta.toolCalls.length > 0 ? withCalls(before.calls, delta.toolCalls) : before.calls,
      tokens: delta.logprobs.length > 0 ? [...before.tokens, ...delta.logprobs.map(tokenOf)] : before.tokens,
      ...(delta.finishReason !== FinishReason.UNSPECIFIED && { finish: FinishReason[delta.finishReason].toLowerCase() }),
      ...(has && { pieces: before.pieces + 1, first: before.first ?? now, last: now }),
    });
  }

  #set(by: Partial<Answer>): void {
    this.#answer = { ...this.#answer, ...by };
    // A hidden page has no frames; the end of the response updates everything.
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#show(this.#answer);
      this.#reader.read(this.#answer.text, performance.now());
    });
  }

  #end(state: Answer["state"]): void {
    cancelAnimationFrame(this.#frame);
    this.#answer = { ...this.#answer, state };
    this.#show(this.#answer);
    const { model, failure, text } = this.#answer;
    this.#reader.end(text, state === "failed" ? `${model} failed: ${failure?.text}` : state === "stopped" ? `${model} was stopped.` : `${model} has finished.`);
  }
}

function tokenOf({ token, logprob, top }: ChatDelta["logprobs"][number]): Token {
  return { text: token, logprob, top: top.map((t) => [t.token, t.logprob]) };
}

function withCalls(calls: Call[], pieces: ChatDelta["toolCalls"]): Call[] {
  const next = calls.slice();
  for (const { index, id, name, arguments: text } of pieces) {
    const call = next[index] ?? { id: "", name: "", arguments: "" };
    next[index] = { id: call.id || id, name: call.name || name, arguments: call.arguments + text };
  }
  return next;
}
