// The conversations, as the page shows them and as the browser stores them.
import { computed, signal } from "@preact/signals";
import { noOptions, answerOf, type Answer, type Conversation, type Options, type Place } from "./conversation.ts";
import { names, read, write } from "./storage.ts";

const place = "chat.";

export const views = ["chat", "embeddings", "ranking", "models", "metrics"] as const;
export type View = (typeof views)[number];

/** A sentence about a failed write to the storage; empty if there is no failure. */
export const storageTrouble = signal("");

/** All conversations, the most recently used first. */
export const conversations = signal<Conversation[]>(load());

/** Route is the part of the address after the #: a view, and for chats the conversation. */
export const route = signal(routeOf(location.hash));
window.addEventListener("hashchange", () => (route.value = routeOf(location.hash)));

function routeOf(hash: string): { view: View; id: string } {
  const [view, id = ""] = hash.replace(/^#\/?/, "").split("/");
  return { view: views.find((name) => name === view) ?? "chat", id };
}

/** A conversation without turns; it is stored from its first turn on. */
const draft = signal<Conversation>(fresh());

/** current is the conversation that is shown. */
export const current = computed(() => conversations.value.find((c) => c.id === route.value.id) ?? draft.value);

/** Changes the conversation with this identifier, if it still exists. */
export function change(id: string, to: (conversation: Conversation) => Conversation): void {
  if (draft.value.id === id) {
    const next = to(draft.value);
    if (next.turns.length === 0) {
      draft.value = next;
      return;
    }
    conversations.value = [next, ...conversations.value];
    draft.value = fresh(next);
    location.hash = `#/chat/${id}`;
    route.value = { view: "chat", id }; // the hashchange event comes later
  } else {
    conversations.value = conversations.value.map((c) => (c.id === id ? to(c) : c));
  }
  saveSoon(id);
}

/** Changes the response at this position. */
export function changeAnswer(id: string, { turn, lane, step }: Place, by: Partial<Answer>): void {
  change(id, (c) => ({
    ...c,
    turns: replaced(c.turns, turn, (t) => ({ ...t, replies: replaced(t.replies, lane, (r) => replaced(r, step, (a) => ({ ...a, ...by }) as Answer)) })),
  }));
}

function replaced<T>(list: T[], at: number, by: (item: T) => T): T[] {
  return list.map((item, i) => (i === at ? by(item) : item));
}

export function remove(id: string): void {
  conversations.value = conversations.value.filter((c) => c.id !== id);
  write(place + id, undefined);
  if (route.value.id === id) startNew();
}

/** Opens an empty conversation with the models and options of the current one. */
export function startNew(): void {
  draft.value = fresh(current.value);
  location.hash = "#/chat";
  route.value = { view: "chat", id: "" };
}

function fresh(like?: Conversation): Conversation {
  const last = like ?? (read("last") as Partial<Conversation> | undefined);
  return { id: crypto.randomUUID?.() ?? String(Math.random()).slice(2), updated: 0, models: last?.models ?? [], options: { ...noOptions, ...last?.options }, turns: [] };
}

function load(): Conversation[] {
  return names(place)
    .flatMap((name) => {
      const kept = read(name) as Conversation | undefined;
      return kept && Array.isArray(kept.turns) && Array.isArray(kept.models) ? [settled(kept)] : [];
    })
    .sort((a, b) => b.updated - a.updated);
}

/** Marks responses that were running when the page was closed as stopped. */
function settled(c: Conversation): Conversation {
  const options: Options = { ...noOptions, ...c.options };
  const turns = c.turns.map((turn) => ({
    ...turn,
    replies: turn.replies.map((reply) => reply.map((part) => (part.role === "assistant" && part.state === "running" ? { ...part, state: "stopped" as const } : part))),
  }));
  return { ...c, options, turns };
}

const waiting = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;

/** Stores a conversation within half a second, or when the page is closed. */
function saveSoon(id: string): void {
  waiting.add(id);
  timer ??= setTimeout(keep, 500);
}

function keep(): void {
  clearTimeout(timer);
  timer = undefined;
  for (const id of waiting) {
    const conversation = conversations.value.find((c) => c.id === id);
    if (!conversation) continue;
    const kept = write(place + id, conversation);
    write("last", { models: conversation.models, options: conversation.options });
    storageTrouble.value = kept ? "" : "The browser's storage is full or disabled. This conversation will be lost when the page is closed.";
  }
  waiting.clear();
}

window.addEventListener("pagehide", keep);
document.addEventListener("visibilitychange", () => document.hidden && keep());

/** Reports whether a response of the conversation is running. */
export function isRunning(conversation: Conversation): boolean {
  return conversation.turns.at(-1)?.replies.some((reply) => answerOf(reply)?.state === "running") ?? false;
}
