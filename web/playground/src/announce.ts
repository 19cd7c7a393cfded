import { signal } from "@preact/signals";

/** What a screen reader is told. */
export const announcement = signal("");

export function announce(text: string): void {
  // The same text twice in a row is no change, and would not be read.
  announcement.value = announcement.value === text ? text + "\u00a0" : text;
}

const pause = 3_000; // milliseconds between two pieces

/** Reader tells an answer that is being written by whole sentences, and not too often. */
export class Reader {
  #told = 0;
  #next = 0;

  /** Takes the text as far as it has come. */
  read(text: string, now: number): void {
    if (now < this.#next) return;
    const end = lastEnd(text.slice(this.#told));
    if (end === 0) return;
    announce(text.slice(this.#told, this.#told + end));
    this.#told += end;
    this.#next = now + pause;
  }

  /** Tells the rest. */
  end(text: string, ending: string): void {
    announce([text.slice(this.#told).trim(), ending].filter(Boolean).join(" "));
  }
}

/** Where the last whole sentence or line ends; 0 for none. */
export function lastEnd(text: string): number {
  const ends = [...text.matchAll(/[.!?…:][)"'”’]*\s|\n/g)];
  const last = ends.at(-1);
  return last ? last.index + last[0].length : 0;
}
