import { signal } from "@preact/signals";
import { read, write } from "./storage.ts";

/** Themes: auto follows the system. */
export const themes = ["auto", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const kept = read("theme");
export const theme = signal<Theme>(themes.find((name) => name === kept) ?? "auto");

/**
 * The API key. It is kept until the tab is closed, or permanently if the user chooses that; it
 * never appears in an address.
 */
export const apiKey = signal(String(read("key", "session") ?? read("key") ?? ""));
export const keyIsStored = signal(read("key") !== undefined);

export function setTheme(next: Theme): void {
  theme.value = next;
  write("theme", next === "auto" ? undefined : next);
}

export function setKey(key: string, keep: boolean): void {
  apiKey.value = key;
  keyIsStored.value = keep && key !== "";
  write("key", key && !keep ? key : undefined, "session");
  write("key", key && keep ? key : undefined);
}
