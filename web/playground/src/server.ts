// The server as all parts of the page see it: one client, the models as they change,
// and whether it answers.
import { computed, effect, signal } from "@preact/signals";
import { createTrident, ModelState, ModelTask, type ModelInfo } from "@trident/client";
import { failureOf, isLeaving, type Failure } from "./failure.ts";
import { apiKey } from "./settings.ts";

/** Address of the server: where the page is, without a slash at its end. */
export const serverUrl = new URL(".", location.href).href.replace(/\/$/, "");

export const trident = computed(() => createTrident({ baseUrl: serverUrl, apiKey: apiKey.value }));

/** The models by name; undefined before the server has told. */
export const models = signal<ModelInfo[] | undefined>(undefined);

/** Why the models aren't followed now; undefined while they are. */
export const trouble = signal<Failure | undefined>(undefined);

/** Whether anybody looks at the page. Streams that nobody looks at would take connections of the browser's few. */
export const visible = signal(!document.hidden);
document.addEventListener("visibilitychange", () => (visible.value = !document.hidden));

const firstWait = 1_000; // milliseconds, doubled up to lastWait
const lastWait = 15_000;

/** Follows what a call streams, again and again, until the signal ends it. */
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
      if (signal.aborted || isLeaving(thrown)) return;
      trouble.value = failureOf(thrown);
      if (trouble.value.needsKey) return; // another key begins anew
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, lastWait);
  }
}

/** Keeps models as they are at the server, while somebody looks. */
export function followModels(): void {
  effect(() => {
    const client = trident.value;
    if (!visible.value) return;
    const leaving = new AbortController();
    void follow(
      (signal) => client.models.watch({ all: true }, { signal }),
      (change, isFirst) => {
        const byName = new Map((isFirst ? [] : (models.peek() ?? [])).map((m) => [m.name, m]));
        change.models.forEach((m) => byName.set(m.name, m));
        change.removed.forEach((name) => byName.delete(name));
        models.value = [...byName.values()].sort((a, b) => a.name.localeCompare(b.name));
      },
      leaving.signal,
    );
    return () => leaving.abort();
  });
}

/** The model of a name or alias. */
export function modelOf(name: string): ModelInfo | undefined {
  return models.value?.find((m) => m.name === name || m.aliases.includes(name));
}

export const isReady = (model: ModelInfo) => model.state === ModelState.READY;
export const canChat = (model: ModelInfo) => isReady(model) && model.tasks.includes(ModelTask.CHAT);
export const canEmbed = (model: ModelInfo) => isReady(model) && model.tasks.includes(ModelTask.EMBED);

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
  [ModelTask.INFER]: "tensors",
};

export const tasksOf = (model: ModelInfo) => model.tasks.flatMap((task) => tasks[task] ?? []);

export type Action = "load" | "unload";

/** Models that are being loaded or unloaded by this page, and what came of those that failed. */
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
  const { [name]: _, ...others } = controlling.value; // as they are by now
  controlling.value = failure ? { ...others, [name]: failure } : others;
}
