// Asks models, and puts their answers where they are shown.
import { FinishReason, type ChatDelta } from "@trident/client";
import { Reader } from "./announce.ts";
import { requestOf, type Answer, type Call, type Conversation, type Place, type Reply, type Token } from "./conversation.ts";
import { failureOf, isLeaving, sentence } from "./failure.ts";
import { trident } from "./server.ts";
import { change, changeAnswer, conversations } from "./store.ts";

/** What ends the answers that are being written, by conversation. */
const leaving = new Map<string, Set<AbortController>>();

/** Says something to all models of a conversation. */
export function say(id: string, text: string): void {
  let turn = 0;
  change(id, (c) => {
    turn = c.turns.length;
    return { ...c, updated: Date.now(), turns: [...c.turns, { id: crypto.randomUUID?.() ?? String(Date.now()), text, replies: c.models.map(() => []) }] };
  });
  askAll(id, turn);
}

/** Says something else in a turn's place; what followed is gone. */
export function edit(id: string, turn: number, text: string): void {
  stop(id);
  change(id, (c) => ({ ...c, updated: Date.now(), turns: [...c.turns.slice(0, turn), { ...c.turns[turn]!, text, replies: c.models.map(() => []) }] }));
  askAll(id, turn);
}

/** Asks one model again, in the last turn or in an earlier one; what followed is gone. */
export function retry(id: string, { turn, lane, step }: Place): void {
  change(id, (c) => ({ ...c, turns: c.turns.slice(0, turn + 1).map((t, i) => (i === turn ? { ...t, replies: withReply(t.replies, lane, (r) => r.slice(0, step)) } : t)) }));
  void ask(id, { turn, lane, step });
}

/** Gives the results of tools, and asks on. */
export function giveResults(id: string, turn: number, lane: number, results: { call: string; text: string }[]): void {
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

/** Ends the answers that are being written; the server stops the models. */
export function stop(id: string): void {
  leaving.get(id)?.forEach((controller) => controller.abort());
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
  const all = leaving.get(id) ?? new Set();
  leaving.set(id, all.add(controller));
  const writer = new Writer(begun, (answer) => changeAnswer(id, place, answer));
  try {
    await writer.write(conversation, place, controller.signal);
  } finally {
    all.delete(controller);
  }
}

/** Writer takes an answer as it comes, and shows it at most once a frame. */
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

  /** Asks, and writes until the answer ends in whatever way. */
  async write(conversation: Conversation, place: Place, signal: AbortSignal): Promise<void> {
    try {
      const stream = trident.value.chat.stream(requestOf(conversation, place), { signal });
      for await (const delta of stream) this.#add(delta, stream.id, stream.systemFingerprint);
      this.#set({ promptTokens: stream.usage?.promptTokens, completionTokens: stream.usage?.completionTokens });
      this.#end("done");
    } catch (thrown) {
      if (signal.aborted || isLeaving(thrown)) return this.#end("stopped");
      // What isn't the server's is a sentence of our own: options that can't be sent.
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
    // A page that nobody sees has no frames; the end shows it all.
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
    this.#reader.end(text, state === "failed" ? `${model} failed: ${failure?.text}` : state === "stopped" ? `${model} was stopped.` : `${model} has answered.`);
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
