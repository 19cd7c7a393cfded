import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { announcement } from "./announce.ts";
import { Chat } from "./chat.tsx";
import { titleOf } from "./conversation.ts";
import { Embeddings } from "./embeddings.tsx";
import { Icon, Mark } from "./icons.tsx";
import { Metrics } from "./metrics.tsx";
import { Models } from "./models.tsx";
import { keyAsked, KeyDialog } from "./picker.tsx";
import { Ranking } from "./ranking.tsx";
import { models, trouble } from "./server.ts";
import { apiKey, setTheme, theme, themes } from "./settings.ts";
import { conversations, current, isRunning, remove, route, startNew, views, type View } from "./store.ts";

/** railShown reports whether the rail is shown on screens where it would cover the page. */
const railShown = signal(false);

const titles: Record<View, string> = { chat: "Chat", embeddings: "Embeddings", ranking: "Ranking", models: "Models", metrics: "Metrics" };
const pages: Record<View, () => preact.JSX.Element> = { chat: Chat, embeddings: Embeddings, ranking: Ranking, models: Models, metrics: Metrics };

export function App() {
  const { view } = route.value;
  const Page = pages[view];
  useEffect(() => { document.title = `${view === "chat" && current.value.turns.length > 0 ? titleOf(current.value) : titles[view]} · Trident`; });
  useEffect(() => { document.documentElement.dataset["theme"] = theme.value; });
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the content</a>
      <Rail />
      <main id="main" tabIndex={-1}>
        <button type="button" class="bare menu" aria-label="Menu" aria-expanded={railShown.value} aria-controls="rail" onClick={() => (railShown.value = !railShown.value)}><Icon name="menu" /></button>
        {view === "chat" && <h1 class="hidden">Chat</h1>}
        <Page />
      </main>
      <KeyDialog />
      <div class="hidden" role="status" aria-live="polite">{announcement}</div>
    </>
  );
}

function Rail() {
  const { view } = route.value;
  return (
    <aside id="rail" aria-label="Menu" class={railShown.value ? "rail shown" : "rail"} onKeyDown={(event) => event.key === "Escape" && (railShown.value = false)}>
      <div class="brand"><Mark /> <span>Trident</span></div>
      <nav aria-label="Views">
        {views.map((name) => (
          <a key={name} href={name === "chat" && current.value.turns.length > 0 ? `#/chat/${current.value.id}` : `#/${name}`} aria-current={view === name ? "page" : undefined} onClick={() => (railShown.value = false)}>
            <Icon name={name} /> {titles[name]}
          </a>
        ))}
      </nav>
      <History />
      <footer>
        <Connection />
        <div class="settings">
          <button type="button" onClick={() => (keyAsked.value = true)}><Icon name="key" /> {apiKey.value ? "API key set" : "API key"}</button>
          <ThemeSwitch />
        </div>
      </footer>
      <button type="button" class="bare close" aria-label="Close the menu" onClick={() => (railShown.value = false)}><Icon name="close" /></button>
    </aside>
  );
}

function History() {
  return (
    <section class="history" aria-label="Chats">
      <button type="button" class="new" onClick={() => { startNew(); railShown.value = false; }}><Icon name="plus" /> New chat</button>
      <ul>
        {conversations.value.map((conversation) => (
          <li key={conversation.id}>
            <a href={`#/chat/${conversation.id}`} aria-current={route.value.view === "chat" && current.value.id === conversation.id ? "page" : undefined} onClick={() => (railShown.value = false)}>
              {titleOf(conversation)}{isRunning(conversation) && <span class="hidden"> (response in progress)</span>}
            </a>
            <button type="button" class="bare" aria-label={`Delete ${titleOf(conversation)}`} onClick={() => remove(conversation.id)}><Icon name="trash" /></button>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Shows whether the server responds. */
function Connection() {
  const ready = models.value?.length ?? 0;
  const [state, text] = trouble.value
    ? ["unavailable", trouble.value.needsKey ? "API key required" : "unreachable, retrying"]
    : models.value ? ["ready", `${ready} ${ready === 1 ? "model" : "models"}`] : ["loading", "connecting"];
  return <p class="connection"><span class={`state ${state}`} aria-hidden="true" /> {text}</p>;
}

function ThemeSwitch() {
  const next = themes[(themes.indexOf(theme.value) + 1) % themes.length]!;
  return (
    <button type="button" class="bare" aria-label={`Theme: ${theme.value}. Switch to ${next}`} title={`Theme: ${theme.value}`} onClick={() => setTheme(next)}><Icon name={theme.value} /></button>
  );
}
