import { useId } from "preact/hooks";
import type { ModelInfo } from "@trident/client";
import type { Failure } from "./failure.ts";
import { apiKey, keyIsStored, setKey } from "./settings.ts";
import { type Action, control, controlling, isReady, models, stateOf, tasksOf } from "./server.ts";
import { signal } from "@preact/signals";

/** Selects one of the live models: the suitable models first, then the others with the reason. */
export function ModelPicker({ label, value, fits, onInput }: { label: string; value: string; fits: (model: ModelInfo) => boolean; onInput: (name: string) => void }) {
  const id = useId();
  const all = models.value ?? [];
  const others = all.filter((m) => !fits(m));
  const known = all.some((m) => m.name === value);
  return (
    <div class="picker">
      <label for={id} class="hidden">{label}</label>
      <select id={id} value={value} onInput={(event) => onInput(event.currentTarget.value)}>
        {!known && <option value={value}>{value || (models.value ? "No model" : "Loading …")}</option>}
        {all.filter(fits).map((m) => <option key={m.name} value={m.name}>{m.name}</option>)}
        {others.length > 0 && (
          <optgroup label="Other models">
            {others.map((m) => <option key={m.name} value={m.name}>{m.name} ({isReady(m) ? tasksOf(m).join(", ") : stateOf(m)})</option>)}
          </optgroup>
        )}
      </select>
    </div>
  );
}

/** Control shows the button that loads or unloads a model if that is allowed, and the result of the last action. */
export function Control({ model }: { model: ModelInfo }) {
  const state = controlling.value[model.name];
  const busy = typeof state === "string" ? state : undefined; // the reported state may be newer than the action
  const action = busy ?? (model.loadAllowed ? "load" : model.unloadAllowed ? "unload" : undefined);
  return (
    <>
      {action && (
        <button type="button" disabled={!!busy} onClick={() => void control(model.name, action)} aria-label={`${labelOf(action, !!busy)} ${model.name}`}>
          {labelOf(action, !!busy)}
        </button>
      )}
      {typeof state === "object" && <Trouble failure={state} />}
    </>
  );
}

const labelOf = (action: Action, busy: boolean) => (action === "load" ? (busy ? "Loading …" : "Load") : busy ? "Unloading …" : "Unload");

export const keyAsked = signal(false);

/** Shows an error and the actions that the user can take. */
export function Trouble({ failure, children }: { failure: Failure; children?: preact.ComponentChildren }) {
  return (
    <div class="failure" role="alert">
      <p>{failure.text}</p>
      {failure.requestId && !failure.text.includes(failure.requestId) && <p class="soft">Request <span class="mono">{failure.requestId}</span></p>}
      {failure.needsKey && <button type="button" onClick={() => (keyAsked.value = true)}>Enter API key</button>}
      {children}
    </div>
  );
}

/** Shows the form for the API key. */
export function KeyDialog() {
  const id = useId();
  if (!keyAsked.value) return null;
  const close = () => (keyAsked.value = false);
  return (
    <dialog aria-labelledby={`${id}-title`} ref={(d) => { if (d && !d.open) d.showModal(); }} onClose={close} onClick={(event) => event.target === event.currentTarget && close()}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const form = new FormData(event.currentTarget);
          setKey(String(form.get("key")).trim(), form.has("keep"));
          close();
        }}
      >
        <h2 id={`${id}-title`}>API key</h2>
        <p class="soft">The key is sent as a bearer token with each request to this server. The browser deletes it when the tab is closed, unless you keep it.</p>
        <div class="field">
          <label for={id}>Key</label>
          <input id={id} name="key" type="password" autocomplete="off" spellcheck={false} defaultValue={apiKey.value} autofocus />
        </div>
        <label class="check"><input type="checkbox" name="keep" defaultChecked={keyIsStored.value} /> Keep the key in this browser</label>
        <div class="buttons">
          {apiKey.value && <button type="button" class="quiet" onClick={() => { setKey("", false); close(); }}>Delete key</button>}
          <button type="button" onClick={close}>Cancel</button>
          <button type="submit" class="primary">Use key</button>
        </div>
      </form>
    </dialog>
  );
}
