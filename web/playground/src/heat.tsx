import { useId, useState } from "preact/hooks";
import type { Token } from "./conversation.ts";

/** Heat shows the tokens of a response. A less likely token has a stronger color. The arrow keys move between tokens. */
export function Heat({ tokens }: { tokens: Token[] }) {
  const [at, go] = useState(0);
  const id = useId();
  const chosen = tokens[Math.min(at, tokens.length - 1)];
  const onKeyDown = (event: KeyboardEvent) => {
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tokens.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    go(Math.max(0, Math.min(tokens.length - 1, to)));
  };
  if (!chosen) return null;
  return (
    <div class="heat">
      <div class="tokens" role="listbox" aria-label="Tokens of the response" tabIndex={0} aria-activedescendant={`${id}-${at}`} onKeyDown={onKeyDown}>
        {tokens.map((token, i) => (
          <span
            key={i} id={`${id}-${i}`} role="option" aria-selected={i === at} aria-label={`${JSON.stringify(token.text)}, ${percent(token.logprob)}`}
            style={{ "--doubt": (1 - Math.exp(token.logprob)).toFixed(3) }} onClick={() => go(i)} onMouseEnter={() => go(i)}
          >
            {token.text}
          </span>
        ))}
      </div>
      <div class="weighed">
        <p><b class="mono">{visible(chosen.text)}</b> {percent(chosen.logprob)} <span class="soft">log probability {chosen.logprob.toFixed(3)}</span></p>
        {chosen.top.length > 0 && (
          <ol aria-label="Most likely tokens at this position">
            {chosen.top.map(([text, logprob]) => (
              <li key={text} class={text === chosen.text ? "chosen" : ""}>
                <span class="mono">{visible(text)}</span>
                <span class="share" aria-hidden="true"><span style={{ width: `${Math.exp(logprob) * 100}%` }} /></span>
                <span class="number">{percent(logprob)}</span>
              </li>
            ))}
          </ol>
        )}
        <p class="legend soft"><span aria-hidden="true" class="scale" /> likely to unlikely; the keys ← and → select a token</p>
      </div>
    </div>
  );
}

function percent(logprob: number): string {
  const share = Math.exp(logprob) * 100;
  return `${share >= 99.95 ? "100" : share >= 0.1 ? share.toFixed(1) : "< 0.1"} %`;
}

/** Returns a token with visible spaces and line ends. */
function visible(token: string): string {
  return token.replace(/ /g, "␣").replace(/\n/g, "↵") || "(empty)";
}
