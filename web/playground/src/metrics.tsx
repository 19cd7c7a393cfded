import { signal, useSignalEffect } from "@preact/signals";
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Load, Quantiles, ServerStatus } from "@trident/client";
import { sentence } from "./failure.ts";
import { Chart, type Line } from "./chart.tsx";
import { Trouble } from "./picker.tsx";
import { follow, trident, trouble, visible } from "./server.ts";

const interval = 1_000; // milliseconds between two statuses
const kept = 120; // maximum number of statuses that the page keeps

/** The most recent statuses, oldest first. */
const statuses = signal<ServerStatus[]>([]);

/** Charts of the server's load. They are updated only while the page is visible. */
export function Metrics() {
  useSignalEffect(() => {
    const client = trident.value;
    if (!visible.value) return;
    const controller = new AbortController();
    void follow((signal) => client.server.watch(interval, { signal }), (status) => {
      statuses.value = [...statuses.value.slice(1 - kept), status];
    }, controller.signal);
    return () => controller.abort();
  });
  const now = statuses.value.at(-1);
  return (
    <div class="page">
      <header class="bar"><h1>Metrics</h1><span class="space" />{now && <Standing status={now} />}</header>
      <div class="sheet wide">
        {trouble.value && <Trouble failure={trouble.value} />}
        {!now && !trouble.value && <p class="soft waiting">Loading the status of the server</p>}
        {now && <Charts statuses={statuses.value} />}
        {now && <ByModel status={now} />}
      </div>
    </div>
  );
}

function Standing({ status }: { status: ServerStatus }) {
  const since = status.started ? timestampDate(status.started).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" }) : "";
  return <p class="soft standing"><span class={status.ready ? "state ready" : "state unavailable"}>{status.ready ? "ready" : "not ready"}</span> {status.reason && sentence(status.reason)} <span class="version">Trident {status.version}, since {since}</span></p>;
}

const times = (value: number) => (value >= 10_000 ? (value / 1000).toFixed(0) + " s" : value >= 1000 ? (value / 1000).toFixed(2) + " s" : value >= 10 ? value.toFixed(0) + " ms" : value.toFixed(1) + " ms");
const count = (value: number) => String(Math.round(value * 10) / 10);

function Charts({ statuses: all }: { statuses: ServerStatus[] }) {
  const line = (name: string, of: (load: Load) => number | undefined): Line => ({ name, values: all.map((s) => s.total && of(s.total)) });
  const quantiles = (of: (load: Load) => Quantiles | undefined): Line[] =>
    (["p50", "p90", "p99"] as const).map((p) => line(p, (load) => (of(load)?.count ? of(load)![p] * 1000 : undefined)));
  const most = all.at(-1)?.maxInFlight;
  return (
    <div class="charts">
      <Chart title="Requests" unit={most ? `of ${most}` : ""} points={kept} format={count} lines={[line("in flight", (l) => l.inFlight), line("queued", (l) => l.queued)]} />
      <Chart title="Generated tokens" unit="per s" points={kept} format={count} lines={[line("generated", (l) => l.tokensPerSecond)]} />
      <Chart title="Time to first token" unit="" points={kept} format={times} lines={quantiles((l) => l.timeToFirstToken)} />
      <Chart title="Time between tokens" unit="" points={kept} format={times} lines={quantiles((l) => l.interToken)} />
      <Chart title="Request rate" unit="per s" points={kept} format={count} lines={[{ name: "started", values: rates(all, (l) => l.requests) }, { name: "failed", values: rates(all, (l) => l.failures) }]} />
      <Chart title="Prompt tokens" unit="per s" points={kept} format={count} lines={[{ name: "prompt", values: rates(all, (l) => l.promptTokens) }]} />
    </div>
  );
}

/** Returns the growth of a counter per second. */
function rates(all: ServerStatus[], of: (load: Load) => bigint): number[] {
  return all.slice(1).map((status, i) => {
    const before = all[i]!;
    const elapsed = status.time && before.time ? (timestampDate(status.time).getTime() - timestampDate(before.time).getTime()) / 1000 : 0;
    // The counters of a restarted server start at 0.
    const grown = status.total && before.total ? Number(of(status.total) - of(before.total)) : 0;
    return elapsed > 0 ? Math.max(0, grown / elapsed) : 0;
  });
}

function ByModel({ status }: { status: ServerStatus }) {
  if (status.models.length === 0) return <p class="soft">No model has received a request yet.</p>;
  const rows = [...status.models.map((m) => ({ name: m.model, load: m.load })), { name: "all", load: status.total }];
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Load by model">
      <table class="loads">
        <thead><tr>{["model", "in flight", "queued", "tokens/s", "TTFT p50", "TTFT p99", "inter-token p50", "inter-token p99", "requests", "failed", "prompt tokens", "generated tokens"].map((name, i) => <th key={i} scope="col">{name}</th>)}</tr></thead>
        <tbody>
          {rows.map(({ name, load }) => load && (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{load.inFlight}</td><td>{load.queued}</td><td>{count(load.tokensPerSecond)}</td>
              {[load.timeToFirstToken, load.interToken].map((q) => (q?.count ? [<td>{times(q.p50 * 1000)}</td>, <td>{times(q.p99 * 1000)}</td>] : [<td>–</td>, <td>–</td>]))}
              {[load.requests, load.failures, load.promptTokens, load.completionTokens].map((n, i) => <td key={i}>{n.toLocaleString("en")}</td>)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
