import { signal } from "@preact/signals";
import { create, toJson } from "@bufbuild/protobuf";
import { EmbedRequestSchema, type EmbedInit, type EmbedResponse } from "@trident/client";
import { useId, useState } from "preact/hooks";
import { announce } from "./announce.ts";
import { panesOf, Tabs } from "./code.tsx";
import { failureOf, type Failure } from "./failure.ts";
import { ModelPicker, Trouble } from "./picker.tsx";
import { apiKey } from "./settings.ts";
import { extremes, similarities } from "./similarity.ts";
import { embeddingSnippets } from "./snippets.ts";
import { canEmbed, models, serverUrl, trident, trouble } from "./server.ts";
import { read, write } from "./storage.ts";

const examples = ["The cat sleeps on the sofa.", "A kitten naps on the couch.", "The stock market fell sharply today.", "Share prices dropped this afternoon."];

const chosen = signal("");
const typed = signal(String(read("texts") ?? examples.join("\n")));

/** Vectors with their texts, model and duration. */
interface Made {
  texts: string[];
  request: EmbedInit;
  response: EmbedResponse;
  took: number;
}

const made = signal<Made | undefined>(undefined);

export function Embeddings() {
  const id = useId();
  const [dimensions, setDimensions] = useState<number>();
  const [state, setState] = useState<"busy" | Failure>();
  const model = chosen.value || (models.value?.find(canEmbed)?.name ?? "");
  const texts = typed.value.split("\n").map((line) => line.trim()).filter(Boolean);
  const embed = async () => {
    setState("busy");
    const request: EmbedInit = { model, input: texts.map((value) => ({ input: { case: "text", value } })), ...(dimensions && { dimensions }) };
    try {
      const began = performance.now();
      const response = await trident.value.embeddings.create(request);
      made.value = { texts, request, response, took: performance.now() - began };
      setState(undefined);
      announce(`${texts.length} vectors were computed.`);
    } catch (thrown) {
      made.value = undefined;
      setState(failureOf(thrown));
    }
  };
  return (
    <div class="page">
      <header class="bar"><h1>Embeddings</h1><span class="space" /><ModelPicker label="Embedding model" value={model} fits={canEmbed} onInput={(name) => (chosen.value = name)} /></header>
      <div class="sheet">
        {models.value ? !models.value.some(canEmbed) && <p class="note">No model computes embedding vectors. The page <a href="#/models">Models</a> shows what the server's models do.</p> : trouble.value && <Trouble failure={trouble.value} />}
        <form onSubmit={(event) => { event.preventDefault(); void embed(); }}>
          <div class="field">
            <label for={id}>Texts, one per line</label>
            <textarea id={id} rows={6} value={typed.value} onInput={(event) => { typed.value = event.currentTarget.value; write("texts", typed.value); }} />
          </div>
          <div class="buttons start">
            <button type="submit" class="primary" disabled={!model || texts.length === 0 || state === "busy"}>{state === "busy" ? "Embedding …" : "Embed"}</button>
            <label class="inline" for={`${id}-dimensions`}>Dimensions</label>
            <input id={`${id}-dimensions`} type="number" min={1} step={1} placeholder="all" value={dimensions ?? ""} onInput={(event) => setDimensions(event.currentTarget.valueAsNumber || undefined)} />
          </div>
        </form>
        {state !== undefined && state !== "busy" && <Trouble failure={state} />}
        {made.value && <Result made={made.value} />}
      </div>
    </div>
  );
}

function Result({ made: { texts, request, response, took } }: { made: Made }) {
  const vectors = response.embeddings.map((e) => e.values);
  const matrix = similarities(vectors);
  const pairs = extremes(matrix);
  const short = (values: number[]) => values.slice(0, 8);
  return (
    <>
      <dl class="figures">
        <div><dt>vectors</dt><dd>{vectors.length} of {vectors[0]?.length ?? 0} dimensions</dd></div>
        {response.usage && <div><dt>tokens</dt><dd>{response.usage.promptTokens}</dd></div>}
        <div><dt>duration</dt><dd>{Math.round(took)} ms</dd></div>
      </dl>
      <h2>Similarity</h2>
      <div class="scroll" tabIndex={0} role="region" aria-label="Similarity of the texts">
        <table class="matrix">
          <thead><tr><td />{texts.map((_, i) => <th key={i} scope="col">{i + 1}</th>)}</tr></thead>
          <tbody>
            {texts.map((text, i) => (
              <tr key={i}>
                <th scope="row"><span>{i + 1}</span> {text}</th>
                {matrix[i]?.map((value, j) => <td key={j} style={{ "--near": Math.max(0, value).toFixed(3) }} class={value > 0.62 ? "strong" : ""}>{value.toFixed(2).replace(/^-(0\.00)$/, "$1")}</td>)}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {pairs && <p class="soft">The most similar texts are {pairs.nearest.a + 1} and {pairs.nearest.b + 1} ({pairs.nearest.value.toFixed(2)}). The least similar texts are {pairs.farthest.a + 1} and {pairs.farthest.b + 1} ({pairs.farthest.value.toFixed(2)}). The values are cosine similarities, and 1 means equal direction.</p>}
      <h2>Code</h2>
      <Tabs
        name="embeddings" label="Request, response and code"
        panes={panesOf(
          [
            { title: "Request", value: toJson(EmbedRequestSchema, create(EmbedRequestSchema, request)) },
            { title: "Response", value: { model: response.model, embeddings: response.embeddings.map(({ index, values }) => ({ index, values: [...short(values), `… ${values.length - 8} more`] })) } },
          ],
          embeddingSnippets(request, { url: serverUrl, key: apiKey.value !== "" }),
        )}
      />
    </>
  );
}
