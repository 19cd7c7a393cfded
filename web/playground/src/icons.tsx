import type { JSX } from "preact";

const paths: Record<string, JSX.Element> = {
  chat: <path d="M3 4.5h14v9H9l-4 3v-3H3z" />,
  embeddings: <path d="M3.5 3.5h5v5h-5zM11.5 3.5h5v5h-5zM3.5 11.5h5v5h-5zM11.5 11.5h5v5h-5z" />,
  ranking: <path d="M3.5 5h13M3.5 10h9M3.5 15h5" />,
  models: <path d="m10 2.8 6.5 3.6v7.2L10 17.2l-6.5-3.6V6.4zM3.5 6.4 10 10l6.5-3.6M10 10v7" />,
  metrics: <path d="M3 16.5h14M4 13l4-5 3.2 3L16 4.5" />,
  menu: <path d="M3 5.5h14M3 10h14M3 14.5h14" />,
  options: <path d="M3 6h8M15 6h2M3 14h2M9 14h8M13 4v4M7 12v4" />,
  send: <path d="M10 16V4.5M5 9.2l5-5 5 5" />,
  stop: <path d="M6 6h8v8H6z" fill="currentColor" />,
  image: <path d="M3 4h14v12H3zM3 13.5l4-4 3.5 3.5 2.5-2.5 4 4M12.6 7.2a.9.9 0 1 0 .1 0" />,
  plus: <path d="M10 4v12M4 10h12" />,
  close: <path d="m5 5 10 10M15 5 5 15" />,
  trash: <path d="M4 5.5h12M8 5.5V3.5h4v2M5.5 5.5l.7 11h7.6l.7-11" />,
  key: <path d="M12.2 11.3a4 4 0 1 0-3.5-3.5L3 13.5V17h3.5v-2h2v-2z" />,
  columns: <path d="M3 4h14v12H3zM10 4v12" />,
  light: <path d="M10 6.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7zM10 2v1.8M10 16.2V18M2 10h1.8M16.2 10H18M4.4 4.4l1.2 1.2M14.4 14.4l1.2 1.2M4.4 15.6l1.2-1.2M14.4 5.6l1.2-1.2" />,
  dark: <path d="M16.5 12A7 7 0 0 1 8 3.5 7 7 0 1 0 16.5 12z" />,
  auto: <path d="M10 3a7 7 0 1 0 0 14zM10 3a7 7 0 0 1 0 14" />,
};

/** Icon draws an icon. Its label must be in the surrounding element. */
export function Icon({ name }: { name: keyof typeof paths & string }) {
  return <svg class="icon" viewBox="0 0 20 20" aria-hidden="true">{paths[name]}</svg>;
}

/** Mark draws the trident logo. */
export function Mark() {
  return <svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><path d="M8 6v7a8 8 0 0 0 16 0V6M16 4v24M12.5 28h7" /></svg>;
}
