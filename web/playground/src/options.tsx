import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import type { ModelInfo, SamplingDefaults } from "@trident/client";
import { noOptions, toolsOf, type Conversation, type Form, type NumberName, type Options } from "./conversation.ts";
import { Icon } from "./icons.tsx";
import { modelOf } from "./server.ts";
import { change } from "./store.ts";

/** Whether the options are shown. On narrow screens they cover the chat and are hidden at first. */
const beside = window.matchMedia("(min-width: 70rem)");
export const optionsShown = signal(beside.matches);
beside.addEventListener("change", () => (optionsShown.value = beside.matches));

/** Range of each numeric field, and the placeholder for models whose default isn't known. */
const fields: { name: NumberName; label: string; min: number; max?: number; step: number; otherwise: string }[] = [
  { name: "temperature", label: "Temperature", min: 0, max: 2, step: 0.1, otherwise: "default" },
  { name: "topP", label: "Top p", min: 0, max: 1, step: 0.05, otherwise: "default" },
  { name: "topK", label: "Top k", min: 0, step: 1, otherwise: "default" },
  { name: "minP", label: "Min p", min: 0, max: 1, step: 0.05, otherwise: "default" },
  { name: "maxTokens", label: "Maximum tokens", min: 1, step: 1, otherwise: "no limit" },
  { name: "seed", label: "Seed", min: -Number.MAX_SAFE_INTEGER, step: 1, otherwise: "random" },
  { name: "presencePenalty", label: "Presence penalty", min: -2, max: 2, step: 0.1, otherwise: "default" },
  { name: "frequencyPenalty", label: "Frequency penalty", min: -2, max: 2, step: 0.1, otherwise: "default" },
  { name: "repetitionPenalty", label: "Repetition penalty", min: 0.01, step: 0.05, otherwise: "default" },
];

export function OptionsPanel({ conversation }: { conversation: Conversation }) {
  const { options } = conversation;
  const models = conversation.models.flatMap((name) => modelOf(name) ?? []);
  const set = (by: Partial<Options>) => change(conversation.id, (c) => ({ ...c, options: { ...c.options, ...by } }));
  const changed = JSON.stringify(options) !== JSON.stringify(noOptions);
  return (
    <section class="options" id="options" aria-label="Options" onKeyDown={(event) => event.key === "Escape" && !beside.matches && (optionsShown.value = false)}>
      <header>
        <h2>Options</h2>
        <button type="button" class="quiet" disabled={!changed} onClick={() => change(conversation.id, (c) => ({ ...c, options: noOptions }))}>Reset</button>
        <button type="button" class="bare narrow-only" aria-label="Close the options" onClick={() => (optionsShown.value = false)}><Icon name="close" /></button>
      </header>
      <Area label="System prompt" value={options.system} rows={4} placeholder="System prompt of the chat template, if any" onInput={(system) => set({ system })} />
      <Group title="Sampling">
        <div class="grid">
          {fields.map((field) => (
            <NumberField key={field.name} {...field} value={options[field.name]} standard={standardOf(models, field.name) ?? field.otherwise} onInput={(value) => set({ [field.name]: value })} />
          ))}
        </div>
        <Area label="Stop sequences, one per line" value={options.stop.join("\n")} rows={2} placeholder="none" onInput={(text) => set({ stop: text.split("\n").filter(Boolean) })} />
        <Select label="Reasoning effort" value={options.reasoningEffort} onInput={(reasoningEffort) => set({ reasoningEffort })}
          choices={[["", "model default"], ...["none", "minimal", "low", "medium", "high", "xhigh", "max"].map((x): [string, string] => [x, x])]} />
      </Group>
      <Group title="Log probabilities" lacking={lacking(models, "logprobs")}>
        <Check label="Show the probability of each token" checked={options.logprobs} onInput={(logprobs) => set({ logprobs })} />
        {options.logprobs && (
          <NumberField name="topLogprobs" label="Most likely tokens per position" min={0} max={20} step={1} value={options.topLogprobs} standard="0" onInput={(value) => set({ topLogprobs: value ?? 0 })} />
        )}
      </Group>
      <Group title="Format of the response" lacking={lacking(models, "structuredOutput")}>
        <Select label="Format" value={options.form} onInput={(form) => set({ form: form as Form, formText: "" })}
          choices={[["text", "any text"], ["json_object", "a JSON object"], ["json_schema", "JSON with a schema"], ["regex", "a regular expression"]]} />
        {options.form === "json_schema" && <JsonArea label="JSON schema" value={options.formText} example={exampleSchema} onInput={(formText) => set({ formText })} />}
        {options.form === "regex" && <Area label="Regular expression" value={options.formText} rows={2} placeholder="(yes|no)" mono onInput={(formText) => set({ formText })} />}
      </Group>
      <Group title="Tools" lacking={lacking(models, "tools")}>
        <JsonArea label="Functions, as JSON in the format of OpenAI's API" value={options.tools} example={exampleTools} check={toolsOf} onInput={(tools) => set({ tools })} />
        <Select label="Tool choice" value={options.toolChoice} onInput={(toolChoice) => set({ toolChoice })}
          choices={[["auto", "the model decides"], ["required", "at least one call"], ["none", "no calls"], ...namesOf(options.tools).map((name): [string, string] => [name, `only ${name}`])]} />
      </Group>
    </section>
  );
}

/** Returns the default of a number; for two models with different defaults, both. */
function standardOf(models: ModelInfo[], name: NumberName): string | undefined {
  const values = models.map((m) => (m.defaults as Partial<Record<NumberName, unknown>> & SamplingDefaults | undefined)?.[name]);
  const known = [...new Set(values.filter((v) => v !== undefined))];
  return known.length > 0 ? known.map((v) => String(Math.round(Number(v) * 1e4) / 1e4)).join(" / ") : undefined;
}

/** Returns the models that don't support a group of options. */
function lacking(models: ModelInfo[], feature: "logprobs" | "structuredOutput" | "tools"): string[] {
  return models.filter((m) => m.features && !m.features[feature]).map((m) => m.name);
}

function namesOf(tools: string): string[] {
  try {
    return toolsOf(tools).map((tool) => tool.name);
  } catch {
    return [];
  }
}

const exampleSchema = JSON.stringify({ type: "object", properties: { city: { type: "string" }, population: { type: "integer" } }, required: ["city", "population"] }, null, 2);

const exampleTools = JSON.stringify(
  [{ type: "function", function: { name: "get_weather", description: "Returns the weather of a city.", parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } } }],
  null, 2,
);

function Group({ title, lacking: names = [], children }: { title: string; lacking?: string[]; children: ComponentChildren }) {
  return (
    <fieldset>
      <legend>{title}</legend>
      {names.length > 0 && <p class="note">{names.join(" and ")} {names.length > 1 ? "don't" : "doesn't"} support these options.</p>}
      {children}
    </fieldset>
  );
}

interface NumberProps {
  name: string;
  label: string;
  min: number;
  max?: number;
  step: number;
  value: number | undefined;
  /** Default that applies while the field is empty, shown as its placeholder. */
  standard: string;
  onInput: (value: number | undefined) => void;
}

function NumberField({ name, label, min, max, step, value, standard, onInput }: NumberProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id} name={name} type="number" inputMode="decimal" min={min > -1e9 ? min : undefined} max={max} step={step} value={value ?? ""} placeholder={standard} title={`Value if empty: ${standard}`}
        onInput={(event) => {
          const { value, valueAsNumber } = event.currentTarget;
          if (value === "" || Number.isFinite(valueAsNumber)) onInput(value === "" ? undefined : valueAsNumber);
        }}
      />
    </div>
  );
}

export function Select({ label, value, choices, onInput }: { label: string; value: string; choices: [value: string, text: string][]; onInput: (value: string) => void }) {
  const id = useId();
  return (
    <div class="field row">
      <label for={id}>{label}</label>
      <select id={id} value={value} onInput={(event) => onInput(event.currentTarget.value)}>
        {choices.map(([choice, text]) => <option key={choice} value={choice}>{text}</option>)}
      </select>
    </div>
  );
}

export function Check({ label, checked, onInput }: { label: string; checked: boolean; onInput: (checked: boolean) => void }) {
  return <label class="check"><input type="checkbox" checked={checked} onInput={(event) => onInput(event.currentTarget.checked)} /> {label}</label>;
}

interface AreaProps {
  label: string;
  value: string;
  rows: number;
  placeholder: string;
  mono?: boolean;
  trouble?: string;
  onInput: (value: string) => void;
}

/** Keeps the typed string, which may differ from the parsed value. */
function Area({ label, value, rows, placeholder, mono = false, trouble = "", onInput }: AreaProps) {
  const id = useId();
  const [typed, type] = useState<string>();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id} rows={rows} class={mono ? "mono" : ""} spellcheck={!mono} placeholder={placeholder} value={typed ?? value} aria-invalid={trouble ? "true" : undefined}
        aria-describedby={trouble ? `${id}-trouble` : undefined}
        onInput={(event) => { type(event.currentTarget.value); onInput(event.currentTarget.value); }} onBlur={() => type(undefined)}
      />
      {trouble && <p class="trouble" id={`${id}-trouble`}>{trouble}</p>}
    </div>
  );
}

function JsonArea({ label, value, example, check = JSON.parse, onInput }: { label: string; value: string; example: string; check?: (text: string) => unknown; onInput: (value: string) => void }) {
  let trouble = "";
  try {
    if (value.trim()) check(value);
  } catch (error) {
    trouble = (error as Error).message;
  }
  return (
    <>
      <Area label={label} value={value} rows={value ? 8 : 2} placeholder="none" mono trouble={trouble} onInput={onInput} />
      {!value && <button type="button" class="quiet" onClick={() => onInput(example)}>Use an example</button>}
    </>
  );
}
