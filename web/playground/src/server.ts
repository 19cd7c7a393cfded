// State of the server that all parts of the page share: one client, the live models,
// and whether the server responds.
import { computed, effect, signal } from "@preact/signals";
import { createTrident, ModelState, ModelTask, type ModelInfo } from "@trident/client";
import { failureOf, isAbort, type Failure } from "./failure.ts";
import { apiKey } from "./settings.ts";

/** Address of the server: the page's own address without a trailing slash. */
export const serverUrl = new URL(".", location.href).href.replace(/\/$/, "");

export const trident = computed(() => createTrident({ baseUrl: serverUrl, apiKey: apiKey.value }));

/** The models by name; undefined before the first message of the server. */
export const models = signal<ModelInfo[] | undefined>(undefined);

/** Why the models can't be watched now; undefined while they are watched. */
export const trouble = signal<Failure | undefined>(undefined);

/** Whether the page is visible. Streams of a hidden page would use up the browser's few connections. */
export const visible = signal(!document.hidden);
document.addEventListener("visibilitychange", () => (visible.value = !document.hidden));

const firstWait = 1_000; // milliseconds before the first reconnection, doubled up to lastWait
const lastWait = 15_000;

/** Reads a stream, and reopens it when it ends, until the signal is aborted. */
export async function follow<T>(call: (signal: AbortSignal) => AsyncIterable<T>, got: (message: T, isFirst: boolean) => void, signal: AbortSignal): Promise<void> {
  let wait = firstWait;
  while (!signal.aborted) {
    let isFirst = true;
    try {
      for await (const message of call(signal)) {
        got(message, isFirst);
        isFirst = false;
        trouble.value = undefined;
        wait = firstWait;
      }
    } catch (thrown) {
      if (signal.aborted || isAbort(thrown)) return;
      trouble.value = failureOf(thrown);
      if (trouble.value.needsKey) return; // a new key starts the stream again
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, lastWait);
  }
}

/** Keeps models equal to the server's list while the page is visible. */
export function followModels(): void {
  effect(() => {
    const client = trident.value;
    if (!visible.value) return;
    const controller = new AbortController();
    void follow(
      (signal) => client.models.watch({ all: true }, { signal }),
      (change, isFirst) => {
        const byName = new Map((isFirst ? [] : (models.peek() ?? [])).map((m) => [m.name, m]));
        change.models.forEach((m) => byName.set(m.name, m));
        change.removed.forEach((name) => byName.delete(name));
        models.value = [...byName.values()].sort((a, b) => a.name.localeCompare(b.name));
      },
      controller.signal,
    );
    return () => controller.abort();
  });
}

/** Returns the model with this name or alias. */
export function modelOf(name: string): ModelInfo | undefined {
  return models.value?.find((m) => m.name === name || m.aliases.includes(name));
}

export const isReady = (model: ModelInfo) => model.state === ModelState.READY;
export const canChat = (model: ModelInfo) => isReady(model) && model.tasks.includes(ModelTask.CHAT);
export const canEmbed = (model: ModelInfo) => isReady(model) && model.tasks.includes(ModelTask.EMBED);
export const canScore = (model: ModelInfo) => isReady(model) && model.tasks.includes(ModelTask.SCORE);

/** Reports whether a model ranks documents: by its scores, the similarity of its vectors, or its answers. */
export const canRank = (model: ModelInfo) => canScore(model) || canEmbed(model) || canChat(model);

const states: Record<ModelState, string> = {
  [ModelState.UNSPECIFIED]: "unknown",
  [ModelState.NOT_LOADED]: "not loaded",
  [ModelState.LOADING]: "loading",
  [ModelState.READY]: "ready",
  [ModelState.UNLOADING]: "unloading",
  [ModelState.UNAVAILABLE]: "unavailable",
  [ModelState.RECOVERING]: "recovering",
};

export const stateOf = (model: ModelInfo) => states[model.state] ?? "unknown";

const tasks: Partial<Record<ModelTask, string>> = {
  [ModelTask.CHAT]: "chat",
  [ModelTask.COMPLETE]: "complete",
  [ModelTask.EMBED]: "embed",
  [ModelTask.SCORE]: "rank",
  [ModelTask.CLASSIFY]: "classify",
  [ModelTask.INFER]: "tensors",
};

export const tasksOf = (model: ModelInfo) => model.tasks.flatMap((task) => tasks[task] ?? []);

export type Action = "load" | "unload";

/** Models that this page is loading or unloading, and the errors of those that failed. */
export const controlling = signal<Record<string, Action | Failure>>({});

/** Loads or unloads a model. */
export async function control(name: string, action: Action): Promise<void> {
  controlling.value = { ...controlling.value, [name]: action };
  let failure: Failure | undefined;
  try {
    await trident.value.models[action](name);
  } catch (thrown) {
    failure = failureOf(thrown);
  }
  const { [name]: _, ...others } = controlling.value; // the state may have changed during the call
  controlling.value = failure ? { ...others, [name]: failure } : others;
}
