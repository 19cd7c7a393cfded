/** Line of a chart: its name and its values, oldest first; undefined for a missing value. */
export interface Line {
  name: string;
  values: (number | undefined)[];
}

const width = 240;
const height = 64;

/** Chart draws a small chart of recent values. Its axis of values starts at 0. */
export function Chart({ title, unit, lines, points, format }: { title: string; unit: string; lines: Line[]; points: number; format: (value: number) => string }) {
  const most = Math.max(...lines.flatMap((line) => line.values.filter((value) => value !== undefined)), 0);
  const top = most || 1;
  const x = (i: number, count: number) => ((i + points - count) / (points - 1)) * width;
  const y = (value: number) => height - 2 - (value / top) * (height - 6);
  const now = ({ values }: Line) => (values.at(-1) === undefined ? "–" : format(values.at(-1)!));
  const latest = lines.map((line) => `${line.name} ${now(line)}`).join(", ");
  return (
    <figure class="chart">
      <figcaption>
        <h2>{title} <small>{unit}</small> <small class="most" aria-hidden="true">max {format(most)}</small></h2>
        <ul>{lines.map((line, i) => <li key={line.name} class={`line-${i}`}><span aria-hidden="true" />{line.name} <b>{now(line)}</b></li>)}</ul>
      </figcaption>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={`${title} in the last ${points} seconds: now ${latest}, maximum ${format(most)} ${unit}`}>
        <path class="axis" d={`M0 ${height - 1.5}H${width}M0 4H${width}`} />
        {lines.map(({ name, values }, i) => (
          <polyline key={name} class={`line-${i}`} points={values.flatMap((value, j) => (value === undefined ? [] : `${x(j, values.length).toFixed(1)},${y(value).toFixed(1)}`)).join(" ")} />
        ))}
      </svg>
    </figure>
  );
}
