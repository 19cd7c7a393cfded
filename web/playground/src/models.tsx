import type { ModelInfo } from "@trident/client";
import { Control, Trouble } from "./picker.tsx";
import { canChat, canEmbed, canScore, isReady, models, stateOf, tasksOf, trouble } from "./server.ts";
import { change, current } from "./store.ts";

/** Shows the list of all models, with live updates. */
export function Models() {
  const all = models.value;
  return (
    <div class="page">
      <header class="bar"><h1>Models</h1></header>
      <div class="sheet">
        {trouble.value && <Trouble failure={trouble.value} />}
        {!all && !trouble.value && <p class="soft waiting">Loading the list of models</p>}
        {all?.length === 0 && <p>The server has no models. Models of its repository appear here as soon as the server has them.</p>}
        <ul class="models">{all?.map((model) => <Row key={model.name} model={model} />)}</ul>
      </div>
    </div>
  );
}

const features = [
  ["streaming", "streaming"], ["tools", "tools"], ["images", "images"], ["logprobs", "log probabilities"], ["structuredOutput", "structured output"], ["reasoning", "reasoning"],
] as const;

function Row({ model }: { model: ModelInfo }) {
  const facts: [string, string][] = [
    ["backend", model.backend], ["kind", model.kind], ["version", model.versions.length > 1 ? `${model.version} of ${model.versions.join(", ")}` : model.version],
    ["context", model.contextLength ? `${model.contextLength.toLocaleString("en")} tokens` : ""], ["aliases", model.aliases.join(", ")], ["LoRA adapters", model.loras.join(", ")],
    ["features", features.flatMap(([name, text]) => (model.features?.[name] ? text : [])).join(", ")],
  ];
  return (
    <li>
      <div class="head">
        <h2>{model.name}</h2>
        <span class={`state ${stateOf(model).replace(" ", "-")}`}>{stateOf(model)}</span>
        <span class="tasks">{tasksOf(model).join(" · ")}</span>
        <span class="space" />
        {canChat(model) && <a class="button" href={`#/chat/${current.value.id}`} onClick={() => change(current.value.id, (c) => ({ ...c, models: [model.name] }))} aria-label={`Chat with ${model.name}`}>Chat</a>}
        {canEmbed(model) && <a class="button" href="#/embeddings" aria-label={`Embed with ${model.name}`}>Embed</a>}
        {canScore(model) && <a class="button" href="#/ranking" aria-label={`Rank with ${model.name}`}>Rank</a>}
        <Control model={model} />
      </div>
      {model.reason && <p>{model.reason}</p>}
      {isReady(model) && <dl class="facts">{facts.filter(([, value]) => value).map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}</dl>}
    </li>
  );
}
