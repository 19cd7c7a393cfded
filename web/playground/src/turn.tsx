import { create, toJson } from "@bufbuild/protobuf";
import { ChatRequestSchema, ChatResponseSchema, FinishReason, Role } from "@trident/client";
import { memo } from "./memo.ts";
import { useId, useMemo, useState } from "preact/hooks";
import { CodeBlock, Copy, panesOf, Tabs } from "./code.tsx";
import { openCalls, requestOf, speedOf, type Answer, type Call, type Conversation, type Place, type Reply, type Turn } from "./conversation.ts";
import { Heat } from "./heat.tsx";
import { Icon } from "./icons.tsx";
import { Markdown } from "./markdown.tsx";
import { Trouble } from "./picker.tsx";
import { edit, sendResults, retry } from "./run.ts";
import { apiKey } from "./settings.ts";
import { chatSnippets } from "./snippets.ts";
import { serverUrl } from "./server.ts";

/** TurnView shows the user's message, and below it the reply of each model. */
export const TurnView = memo(function TurnView({ conversation, turn, at }: { conversation: Conversation; turn: Turn; at: number }) {
  return (
    <li class="turn">
      <Said conversation={conversation} turn={turn} at={at} />
      <div class={conversation.models.length > 1 ? "lanes" : ""}>
        {conversation.models.map((model, lane) => (
          <section key={lane} class="lane" aria-label={`Reply of ${model}`}>
            <ReplyView conversation={conversation} reply={turn.replies[lane] ?? []} turn={at} lane={lane} />
          </section>
        ))}
      </div>
    </li>
  );
}, (before, after) => before.turn === after.turn && before.conversation.models === after.conversation.models && before.conversation.id === after.conversation.id);

/** Shows images, each with a button that removes it if onRemove is set. */
export function Images({ list, onRemove }: { list: string[]; onRemove?: (at: number) => void }) {
  return (
    <ul class="images">
      {list.map((url, i) => (
        <li key={i}>
          <img src={url} alt={`Image ${i + 1}`} />
          {onRemove && <button type="button" class="bare" aria-label={`Remove image ${i + 1}`} onClick={() => onRemove(i)}><Icon name="close" /></button>}
        </li>
      ))}
    </ul>
  );
}

function Said({ conversation, turn, at }: { conversation: Conversation; turn: Turn; at: number }) {
  const [typed, type] = useState<string>();
  const id = useId();
  const send = () => {
    if (typed?.trim()) edit(conversation.id, at, typed.trim());
    type(undefined);
  };
  if (typed === undefined) {
    return (
      <div class="said">
        <h3 class="who">You</h3>
        {turn.images && <Images list={turn.images} />}
        {turn.text && <p class="plain">{turn.text}</p>}
        <button type="button" class="quiet edit" onClick={() => type(turn.text)}>Edit</button>
      </div>
    );
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      type(undefined);
    } else if (isSend(event)) {
      event.preventDefault();
      send();
    }
  };
  return (
    <form class="said" onSubmit={(event) => { event.preventDefault(); send(); }}>
      <label for={id} class="who">Edit your message</label>
      <textarea id={id} rows={Math.min(12, typed.split("\n").length + 1)} value={typed} onInput={(event) => type(event.currentTarget.value)} onKeyDown={onKeyDown} ref={focusOnce} />
      <div class="buttons">
        <button type="button" onClick={() => type(undefined)}>Cancel</button>
        <button type="submit" class="primary">Send again</button>
      </div>
    </form>
  );
}

const focused = new WeakSet<Element>();

function focusOnce(element: HTMLElement | null): void {
  if (!element || focused.has(element)) return;
  focused.add(element);
  element.focus();
}

/** Reports whether a key press sends the message: Enter does, except with Shift or during input-method composition. */
export function isSend(event: KeyboardEvent): boolean {
  return event.key === "Enter" && !event.shiftKey && !event.isComposing;
}

function ReplyView({ conversation, reply, turn, lane }: { conversation: Conversation; reply: Reply; turn: number; lane: number }) {
  const calls = openCalls(reply);
  const title = conversation.models[lane] ?? "";
  return (
    <>
      {reply.length === 0 && <p class="soft">{title} has no response in this turn.</p>}
      {reply.map((part, step) =>
        part.role === "assistant" ? (
          <AnswerView key={step} conversation={conversation} answer={part} place={{ turn, lane, step }} />
        ) : (
          <div key={step} class="result"><h3 class="who">Result of {nameOf(reply, part.call)}</h3><pre class="plain mono" tabIndex={0}>{part.text}</pre></div>
        ),
      )}
      {calls.length > 0 && <Results calls={calls} onGive={(results) => sendResults(conversation.id, turn, lane, results)} />}
    </>
  );
}

/** Returns the name of the function of a tool call. */
function nameOf(reply: Reply, call: string): string {
  return reply.flatMap((part) => (part.role === "assistant" ? part.calls : [])).find(({ id }) => id === call)?.name ?? call;
}

/** Shows the form for the results of tool calls. */
function Results({ calls, onGive }: { calls: Call[]; onGive: (results: { call: string; text: string }[]) => void }) {
  const id = useId();
  return (
    <form
      class="results"
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        onGive(calls.map(({ id: call }) => ({ call, text: String(form.get(call) ?? "") })));
      }}
    >
      {calls.map((call, i) => (
        <div class="field" key={call.id}>
          <label for={`${id}-${i}`}>Result of {call.name}</label>
          <textarea id={`${id}-${i}`} name={call.id} rows={2} class="mono" placeholder='{"temperature": 21}' />
        </div>
      ))}
      <div class="buttons"><button type="submit" class="primary">Continue with {calls.length > 1 ? "these results" : "this result"}</button></div>
    </form>
  );
}

type Shown = "text" | "tokens" | "source";

function AnswerView({ conversation, answer, place }: { conversation: Conversation; answer: Answer; place: Place }) {
  const [shown, show] = useState<Shown>();
  const [coded, code] = useState(false);
  const view = shown ?? (answer.tokens.length > 0 && answer.options.logprobs ? "tokens" : "text");
  const running = answer.state === "running";
  const text = useMemo(() => <Markdown text={answer.text} />, [answer.text]);
  return (
    <article class={`answer ${answer.state}`} aria-busy={running}>
      <h3 class="who">{answer.model}</h3>
      {answer.reasoning && <details class="reasoning" open={running && !answer.text}><summary>Reasoning</summary><p class="plain">{answer.reasoning}</p></details>}
      {view === "tokens" && answer.tokens.length > 0 ? <Heat tokens={answer.tokens} /> : view === "source" ? <p class="plain">{answer.text}</p> : text}
      {running && answer.pieces === 0 && <p class="waiting soft">Waiting for the first token</p>}
      {answer.calls.map((call) => (
        <div class="call" key={call.id}><h4>Calls {call.name}</h4><CodeBlock text={pretty(call.arguments)} language={call.id} /></div>
      ))}
      {answer.failure && <Trouble failure={answer.failure} />}
      <Figures answer={answer} />
      {!running && (
        <div class="actions">
          <button type="button" class="quiet" onClick={() => retry(conversation.id, place)}>Retry</button>
          {answer.text && <Copy text={answer.text} />}
          {answer.tokens.length > 0 && <Toggle on={view === "tokens"} onClick={() => show(view === "tokens" ? "text" : "tokens")}>Tokens</Toggle>}
          {answer.text && <Toggle on={view === "source"} onClick={() => show(view === "source" ? "text" : "source")}>Source</Toggle>}
          <Toggle on={coded} onClick={() => code(!coded)}>Code</Toggle>
        </div>
      )}
      {coded && !running && <Code conversation={conversation} answer={answer} place={place} />}
    </article>
  );
}

function Toggle({ on, onClick, children }: { on: boolean; onClick: () => void; children: string }) {
  return <button type="button" class="quiet" aria-pressed={on} onClick={onClick}>{children}</button>;
}

const endings: Record<string, string> = { stop: "", length: "stopped at the token limit", content_filter: "stopped by the content filter", tool_calls: "waiting for tool results" };

/** Shows the speed and the length of the response. */
function Figures({ answer }: { answer: Answer }) {
  const speed = speedOf(answer);
  const exact = answer.completionTokens !== undefined || answer.tokens.length > 0;
  const figures = [
    answer.first !== undefined && ["time to first token", `${seconds(answer.first)}`],
    speed !== undefined && ["speed", `${exact ? "" : "≈ "}${speed.toFixed(speed < 10 ? 1 : 0)} tokens/s`],
    answer.completionTokens !== undefined && ["tokens", `${answer.promptTokens ?? 0} prompt, ${answer.completionTokens} generated`],
    answer.last !== undefined && answer.state !== "running" && ["duration", seconds(answer.last)],
  ].filter((f) => f !== false);
  const ending = answer.state === "stopped" ? "stopped" : (endings[answer.finish] ?? answer.finish);
  if (figures.length === 0 && !ending) return null;
  return (
    <dl class="figures">
      {figures.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}
      {ending && <div><dt class="hidden">ending</dt><dd class="ending">{ending}</dd></div>}
    </dl>
  );
}

function seconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json; // the string isn't JSON, so it is shown unchanged
  }
}

/** Code shows the request and the response as JSON, and the programs that repeat the request. */
function Code({ conversation, answer, place }: { conversation: Conversation; answer: Answer; place: Place }) {
  const id = useId();
  try {
    const request = requestOf({ ...conversation, models: conversation.models.map((m, i) => (i === place.lane ? answer.model : m)) }, place, answer.options);
    const snippets = chatSnippets(request, { url: serverUrl, key: apiKey.value !== "" });
    const messages = [
      { title: "Request", value: toJson(ChatRequestSchema, create(ChatRequestSchema, request)) },
      { title: "Response", value: responseOf(answer) },
    ];
    return <Tabs name={id} label="Request, response and code" panes={panesOf(messages, snippets)} />;
  } catch (error) {
    return <p class="note">{(error as Error).message}</p>; // the options are invalid
  }
}

/** Returns the response as ChatService.Chat returns it. */
function responseOf(answer: Answer) {
  const encode = (text: string) => new TextEncoder().encode(text);
  return toJson(ChatResponseSchema, create(ChatResponseSchema, {
    id: answer.id, model: answer.model, systemFingerprint: answer.fingerprint, created: { seconds: BigInt(Math.floor(answer.started / 1000)) },
    choices: [{
      message: { role: Role.ASSISTANT, content: answer.text, toolCalls: answer.calls }, reasoning: answer.reasoning,
      finishReason: FinishReason[answer.finish.toUpperCase() as keyof typeof FinishReason] ?? FinishReason.UNSPECIFIED,
      logprobs: answer.tokens.map(({ text, logprob, top }) => ({
        token: text, tokenBytes: encode(text), logprob, top: top.map(([token, logprob]) => ({ token, tokenBytes: encode(token), logprob })),
      })),
    }],
    ...(answer.completionTokens !== undefined && { usage: { promptTokens: answer.promptTokens ?? 0, completionTokens: answer.completionTokens } }),
  }));
}
