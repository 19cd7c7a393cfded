import { signal } from "@preact/signals";
import { create, toJson } from "@bufbuild/protobuf";
import { RerankRequestSchema, RerankResponseSchema, type RerankInit, type RerankResponse } from "@trident/client";
import { useId, useState } from "preact/hooks";
import { announce } from "./announce.ts";
import { panesOf, Tabs } from "./code.tsx";
import { failureOf, type Failure } from "./failure.ts";
import { ModelPicker, Trouble } from "./picker.tsx";
import { apiKey } from "./settings.ts";
import { rerankSnippets } from "./snippets.ts";
import { canEmbed, canRank, canScore, models, serverUrl, trident, trouble } from "./server.ts";
import { read, write } from "./storage.ts";

const exampleQuery = "Where do cats sleep?";
const examples = ["The stock market fell sharply today.", "A kitten naps on the couch.", "Dogs bark at night.", "The cat sleeps on the sofa."];

const chosen = signal("");
const asked = signal(String(read("query") ?? exampleQuery));
const typed = signal(String(read("documents") ?? examples.join("\n")));

/** A ranking with its documents and duration. */
interface Ranked {
  documents: string[];
  request: RerankInit;
  response: RerankResponse;
  took: number;
}

const ranked = signal<Ranked | undefined>(undefined);

export function Ranking() {
  const id = useId();
  const [most, setMost] = useState<number>();
  const [state, setState] = useState<"busy" | Failure>();
  const first = [canScore, canEmbed, canRank].flatMap((fits) => models.value?.filter(fits) ?? [])[0];
  const model = chosen.value || (first?.name ?? "");
  const query = asked.value.trim();
  const documents = typed.value.split("\n").map((line) => line.trim()).filter(Boolean);
  const rank = async () => {
    setState("busy");
    const request: RerankInit = { model, query, documents, ...(most && { topN: most }) };
    try {
      const began = performance.now();
      const response = await trident.value.encoders.rerank(request);
      ranked.value = { documents, request, response, took: performance.now() - began };
      setState(undefined);
      announce(`${documents.length} documents were ranked.`);
    } catch (thrown) {
      ranked.value = undefined;
      setState(failureOf(thrown));
    }
  };
  return (
    <div class="page">
      <header class="bar"><h1>Ranking</h1><span class="space" /><ModelPicker label="Ranking model" value={model} fits={canRank} onInput={(name) => (chosen.value = name)} /></header>
      <div class="sheet">
        {models.value ? !models.value.some(canRank) && <p class="note">No model ranks documents. The page <a href="#/models">Models</a> shows what the server's models do.</p> : trouble.value && <Trouble failure={trouble.value} />}
        <form onSubmit={(event) => { event.preventDefault(); void rank(); }}>
          <div class="field">
            <label for={`${id}-query`}>Query</label>
            <input id={`${id}-query`} value={asked.value} onInput={(event) => { asked.value = event.currentTarget.value; write("query", asked.value); }} />
          </div>
          <div class="field">
            <label for={id}>Documents, one per line</label>
            <textarea id={id} rows={6} value={typed.value} onInput={(event) => { typed.value = event.currentTarget.value; write("documents", typed.value); }} />
          </div>
          <div class="buttons start">
            <button type="submit" class="primary" disabled={!model || !query || documents.length === 0 || state === "busy"}>{state === "busy" ? "Ranking …" : "Rank"}</button>
            <label class="inline" for={`${id}-most`}>Results</label>
            <input id={`${id}-most`} type="number" min={1} step={1} placeholder="all" value={most ?? ""} onInput={(event) => setMost(event.currentTarget.valueAsNumber || undefined)} />
          </div>
        </form>
        {state !== undefined && state !== "busy" && <Trouble failure={state} />}
        {ranked.value && <Result ranked={ranked.value} />}
      </div>
    </div>
  );
}

function Result({ ranked: { documents, request, response, took } }: { ranked: Ranked }) {
  return (
    <>
      <dl class="figures">
        <div><dt>documents</dt><dd>{documents.length}</dd></div>
        {response.usage && <div><dt>tokens</dt><dd>{response.usage.promptTokens}</dd></div>}
        <div><dt>duration</dt><dd>{Math.round(took)} ms</dd></div>
      </dl>
      <h2 id="ranks">Ranked documents</h2>
      <ol class="ranks" aria-labelledby="ranks">
        {response.results.map(({ index, score }, i) => (
          <li key={index}>
            <span class="place" aria-hidden="true">{i + 1}</span>
            <span class="plain">{documents[index]} <small>(document {index + 1})</small></span>
            <span class="share" aria-hidden="true"><span style={{ width: `${(100 * Math.min(1, Math.max(0, score))).toFixed(1)}%` }} /></span>
            <span class="number">{score.toFixed(3).replace(/^-(0\.000)$/, "$1")}</span>
          </li>
        ))}
      </ol>
      <p class="soft">The scores are those of the model: probabilities of rerankers and chat models, and cosine similarities of embedding models. The bars have a range from 0 to 1.</p>
      <h2>Code</h2>
      <Tabs
        name="ranking" label="Request, response and code"
        panes={panesOf(
          [
            { title: "Request", value: toJson(RerankRequestSchema, create(RerankRequestSchema, request)) },
            { title: "Response", value: toJson(RerankResponseSchema, response) },
          ],
          rerankSnippets(request, { url: serverUrl, key: apiKey.value !== "" }),
        )}
      />
    </>
  );
}
