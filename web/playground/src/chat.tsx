import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { ModelInfo } from "@trident/client";
import type { Conversation } from "./conversation.ts";
import { sentence } from "./failure.ts";
import { Icon } from "./icons.tsx";
import { OptionsPanel, optionsShown } from "./options.tsx";
import { Control, ModelPicker, Trouble } from "./picker.tsx";
import { imageTypes, mostImages, readImages } from "./images.ts";
import { sendText, stop } from "./run.ts";
import { canChat, follow, isReady, modelOf, models, stateOf, tasksOf, trident, trouble } from "./server.ts";
import { change, current, isRunning, storageTrouble } from "./store.ts";
import { Images, isSend, TurnView } from "./turn.tsx";

export function Chat() {
  const conversation = current.value;
  useEffect(() => pickFirst(conversation), [conversation.id, models.value]);
  return (
    <div class={optionsShown.value ? "chat with-options" : "chat"}>
      <header class="bar">
        {conversation.models.map((model, lane) => (
          <ModelPicker key={lane} label={lane === 0 ? "Model" : "Second model"} value={model} fits={canChat} onInput={(name) => setModel(conversation.id, lane, name)} />
        ))}
        {conversation.models.length === 0 && <ModelPicker label="Model" value="" fits={canChat} onInput={(name) => setModel(conversation.id, 0, name)} />}
        <button type="button" class="bare" aria-pressed={conversation.models.length > 1} aria-label="Compare two models" title="Compare two models" onClick={() => compare(conversation)}><Icon name="columns" /></button>
        <span class="space" />
        <button type="button" class="bare" aria-expanded={optionsShown.value} aria-controls="options" aria-label="Options" title="Options" onClick={() => (optionsShown.value = !optionsShown.value)}><Icon name="options" /></button>
      </header>
      <Turns conversation={conversation} />
      <Composer conversation={conversation} />
      {optionsShown.value && <OptionsPanel key={conversation.id} conversation={conversation} />}
    </div>
  );
}

/** Chooses the first chat model if none is chosen or if the chosen one was removed. */
function pickFirst(conversation: Conversation): void {
  const first = models.value?.find(canChat)?.name;
  const none = conversation.models.length === 0 || (conversation.turns.length === 0 && conversation.models.some((name) => !modelOf(name)));
  if (first && none) change(conversation.id, (c) => ({ ...c, models: c.models.length > 0 ? c.models.map((name) => (modelOf(name) ? name : first)) : [first] }));
}

function setModel(id: string, lane: number, name: string): void {
  change(id, (c) => ({ ...c, models: c.models.length > lane ? c.models.map((m, i) => (i === lane ? name : m)) : [...c.models, name] }));
}

/** Adds a second model, a different one if there is one, or removes it. */
function compare({ id, models: [first, second] }: Conversation): void {
  if (second !== undefined) stop(id);
  const other = models.value?.find((m) => canChat(m) && m.name !== first)?.name ?? first;
  change(id, (c) => ({ ...c, models: second !== undefined ? c.models.slice(0, 1) : [...c.models, other ?? ""].slice(-2) }));
}

function Turns({ conversation }: { conversation: Conversation }) {
  const log = useRef<HTMLDivElement>(null);
  const follows = useRef(true);
  // The view follows the response unless the reader has scrolled back.
  useEffect(() => {
    if (follows.current) log.current?.scrollTo({ top: log.current.scrollHeight });
  });
  useEffect(() => { follows.current = true; }, [conversation.id, conversation.turns.length]);
  const onScroll = () => {
    const { scrollTop, scrollHeight, clientHeight } = log.current!;
    follows.current = scrollHeight - scrollTop - clientHeight < 60;
  };
  return (
    <div class={conversation.models.length > 1 ? "log wide" : "log"} ref={log} onScroll={onScroll} tabIndex={0} role="region" aria-label="Conversation">
      {conversation.turns.length === 0 ? (
        <Beginning conversation={conversation} />
      ) : (
        <ol class="turns">{conversation.turns.map((turn, at) => <TurnView key={turn.id} conversation={conversation} turn={turn} at={at} />)}</ol>
      )}
    </div>
  );
}

const starters = ["Explain what a model server does, in three sentences.", "Write a haiku about the sea.", "List five uses of text embeddings."];

/** Beginning shows the possible actions in an empty conversation, or the reason why no action is possible. */
function Beginning({ conversation }: { conversation: Conversation }) {
  const hindrance = hindranceOf(conversation);
  if (hindrance) return <div class="beginning">{hindrance}</div>;
  return (
    <div class="beginning">
      <h2>{conversation.models.length > 1 ? "Ask both models" : <>Ask <code>{conversation.models[0]}</code></>}</h2>
      <ul class="starters">{starters.map((text) => <li key={text}><button type="button" onClick={() => sendText(conversation.id, text)}>{text}</button></li>)}</ul>
      <p class="soft keys"><kbd>Enter</kbd> sends the message, <kbd>Shift</kbd>+<kbd>Enter</kbd> starts a new line, <kbd>Esc</kbd> stops the response, <kbd>/</kbd> moves to the message field, <kbd>↑</kbd> edits the last message.</p>
    </div>
  );
}

/** Returns why the conversation's models can't be called; undefined if they can. */
function hindranceOf(conversation: Conversation) {
  if (!models.value) return trouble.value ? <><h2>{trouble.value.needsKey ? "The server requires an API key" : "The server can't be reached"}</h2><Trouble failure={trouble.value} /></> : <p class="soft waiting">Loading the list of models</p>;
  if (models.value.length === 0) return <NoModels />;
  if (conversation.models.length === 0) return <NoneChats />;
  for (const name of conversation.models) {
    const model = modelOf(name);
    if (!model) return <><h2>{name} was removed</h2><p>The server no longer has this model. Choose another model above.</p></>;
    if (!canChat(model)) return <CannotChat model={model} />;
  }
  return undefined;
}

/** Explains why there are no models, from the server's status. */
function NoModels() {
  const [reason, setReason] = useState("");
  useEffect(() => {
    const controller = new AbortController();
    void follow((signal) => trident.value.server.watch(5_000, { signal }), (status) => setReason(status.ready ? "" : sentence(status.reason)), controller.signal);
    return () => controller.abort();
  }, []);
  return <><h2>No models</h2><p>{reason || "The server has no models."} Models appear here as soon as the server has them.</p></>;
}

function NoneChats() {
  return (
    <>
      <h2>No model can chat</h2>
      <p>A chat needs a model that generates text and has a chat template. The page <a href="#/models">Models</a> shows what the server's models do. It can also load models if the server allows that.</p>
    </>
  );
}

function CannotChat({ model }: { model: ModelInfo }) {
  if (!isReady(model)) {
    return <><h2>{model.name} is {stateOf(model)}</h2>{model.reason && <p>{model.reason}</p>}<div class="buttons start"><Control model={model} /></div></>;
  }
  const embeds = tasksOf(model).includes("embed");
  return (
    <>
      <h2>{model.name} can't chat</h2>
      <p>{embeds ? <>It computes embedding vectors. Use it on the page <a href="#/embeddings">Embeddings</a>.</> : tasksOf(model).includes("complete") ? "It continues plain text but has no chat template. Set trident.chat_template or --chat-template to add one." : "It accepts tensors only. Call it with InferService or KServe v2."}</p>
    </>
  );
}

function Composer({ conversation }: { conversation: Conversation }) {
  const id = useId();
  const [text, type] = useState("");
  const [images, attach] = useState<string[]>([]);
  const [refused, refuse] = useState("");
  const most = mostImages(conversation);
  const area = useRef<HTMLTextAreaElement>(null);
  const running = isRunning(conversation);
  const able = !hindranceOf(conversation);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === "Escape" && isRunning(current.value)) stop(current.value.id);
      if (event.key === "/" && !event.ctrlKey && !event.metaKey && !isTyped(event.target)) {
        event.preventDefault();
        area.current?.focus();
      }
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
  const complete = (text.trim() !== "" || images.length > 0) && able;
  const send = () => {
    if (!complete || running) return;
    sendText(conversation.id, text.trim(), images);
    type("");
    attach([]);
    refuse("");
  };
  const add = async (files: Iterable<File>) => {
    const { read, trouble } = await readImages([...files], most - images.length);
    attach((before) => [...before, ...read]);
    refuse(trouble);
  };
  const onPaste = (event: ClipboardEvent) => {
    const files = event.clipboardData?.files;
    if (most === 0 || !files?.length) return;
    event.preventDefault();
    void add(files);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isSend(event)) {
      event.preventDefault();
      send();
    } else if (event.key === "ArrowUp" && text === "") {
      document.querySelector<HTMLElement>(".turn:last-child .edit")?.click();
    }
  };
  return (
    <form class="composer" onSubmit={(event) => { event.preventDefault(); send(); }}>
      {storageTrouble.value && <p class="trouble" role="alert">{storageTrouble.value}</p>}
      {refused && <p class="trouble" role="alert">{refused}</p>}
      {images.length > 0 && <Images list={images} onRemove={(at) => attach(images.filter((_, i) => i !== at))} />}
      <div class="box">
        {most > 0 && <AttachButton onFiles={(files) => void add(files)} />}
        <label for={id} class="hidden">Your message</label>
        <textarea id={id} ref={area} rows={Math.min(10, text.split("\n").length)} value={text} placeholder={able ? "Write a message" : "No chat model selected"} onInput={(event) => type(event.currentTarget.value)} onKeyDown={onKeyDown} onPaste={onPaste} />
        {running ? (
          <button type="button" class="send" onClick={() => { stop(conversation.id); area.current?.focus(); }}><Icon name="stop" /> Stop</button>
        ) : (
          <button type="submit" class="send primary" disabled={!complete}><Icon name="send" /> Send</button>
        )}
      </div>
    </form>
  );
}

/** AttachButton opens the browser's dialog for image files. */
function AttachButton({ onFiles }: { onFiles: (files: File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const onInput = () => {
    onFiles([...(input.current?.files ?? [])]);
    input.current!.value = ""; // the same file can be chosen again
  };
  return (
    <>
      <input ref={input} type="file" accept={imageTypes.join(",")} multiple hidden aria-label="Image files" onInput={onInput} />
      <button type="button" class="bare" aria-label="Add images" title="Add images" onClick={() => input.current?.click()}><Icon name="image" /></button>
    </>
  );
}

/** Reports whether key presses belong to a text field. */
function isTyped(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select, dialog") !== null;
}

