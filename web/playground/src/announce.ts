import { signal } from "@preact/signals";

/** The text that a screen reader announces. */
export const announcement = signal("");

export function announce(text: string): void {
  // A screen reader ignores an equal text, so the trailing space alternates.
  announcement.value = announcement.value === text ? text + "\u00a0" : text;
}

const pause = 3_000; // milliseconds between two announcements

/** Reader announces a growing response in whole sentences, at most once per pause. */
export class Reader {
  #announced = 0;
  #next = 0;

  /** Takes the text received so far. */
  read(text: string, now: number): void {
    if (now < this.#next) return;
    const end = lastEnd(text.slice(this.#announced));
    if (end === 0) return;
    announce(text.slice(this.#announced, this.#announced + end));
    this.#announced += end;
    this.#next = now + pause;
  }

  /** Announces the part of the text that isn't announced yet, and the ending. */
  end(text: string, ending: string): void {
    announce([text.slice(this.#announced).trim(), ending].filter(Boolean).join(" "));
  }
}

/** Returns the end of the last whole sentence or line; 0 if there is none. */
export function lastEnd(text: string): number {
  const ends = [...text.matchAll(/[.!?…:][)"'”’]*\s|\n/g)];
  const last = ends.at(-1);
  return last ? last.index + last[0].length : 0;
}
