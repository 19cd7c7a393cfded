import { useState } from "preact/hooks";
import { announce } from "./announce.ts";
import type { Snippet } from "./snippets.ts";

/** Copy is a button that copies a string to the clipboard. */
export function Copy({ text, label = "Copy" }: { text: string | (() => string); label?: string }) {
  const [message, setMessage] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "string" ? text : text());
      setMessage("Copied");
    } catch {
      setMessage("The browser refused to copy"); // pages without TLS have no clipboard
    }
    setTimeout(() => setMessage(""), 2000);
  };
  return (
    <button type="button" class="quiet" onClick={() => void copy().then(() => announce("Copied."))}>{message || label}</button>
  );
}

export function CodeBlock({ text, language }: { text: string; language: string }) {
  return (
    <figure class="code">
      <figcaption><span>{language || "text"}</span><Copy text={text} /></figcaption>
      <pre tabIndex={0}><code>{text}</code></pre>
    </figure>
  );
}

/** Tabs shows one of several panes, and a tab for each pane. */
export function Tabs({ panes, label, name }: { panes: { title: string; note?: string; text: string; language: string }[]; label: string; name: string }) {
  const [at, go] = useState(0);
  const pane = panes[Math.min(at, panes.length - 1)];
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = (at + step + panes.length) % panes.length;
    go(next);
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };
  if (!pane) return null;
  return (
    <div class="tabs">
      <div role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {panes.map(({ title }, i) => (
          <button key={title} type="button" role="tab" id={`${name}-tab-${i}`} aria-controls={`${name}-pane`} aria-selected={i === at} tabIndex={i === at ? 0 : -1} onClick={() => go(i)}>
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${name}-pane`} aria-labelledby={`${name}-tab-${at}`}>
        {pane.note && <p class="note">{pane.note}</p>}
        <CodeBlock text={pane.text} language={pane.language} />
      </div>
    </div>
  );
}

/** panesOf returns panes with the messages as JSON, and panes with the programs. */
export function panesOf(messages: { title: string; value: unknown }[], snippets: Snippet[]) {
  return [
    ...messages.map(({ title, value }) => ({ title, text: JSON.stringify(value, null, 2), language: "json" })),
    ...snippets.map(({ language, needs, code }) => ({
      title: language, text: code, language: language === "curl" || language === "Anthropic" ? "sh" : language.toLowerCase(), ...(needs && { note: needs }),
    })),
  ];
}
