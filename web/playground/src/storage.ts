// What the page keeps in the browser. Storage may be full, switched off or
// written by a later version: then the page goes on without it.

/** Where something is kept: for good, or until the tab is closed. */
type Place = "local" | "session";

const prefix = "trident.";

function storageOf(place: Place): Storage | undefined {
  try {
    return place === "local" ? localStorage : sessionStorage;
  } catch {
    return undefined; // cookies are blocked
  }
}

/** Reads what was kept under a name; undefined where there is nothing that can be read. */
export function read(name: string, place: Place = "local"): unknown {
  try {
    const text = storageOf(place)?.getItem(prefix + name);
    return text == null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Keeps a value, or forgets it where it is undefined. False where that failed. */
export function write(name: string, value: unknown, place: Place = "local"): boolean {
  try {
    if (value === undefined) storageOf(place)?.removeItem(prefix + name);
    else storageOf(place)?.setItem(prefix + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** The names that begin so, of what is kept for good. */
export function names(start: string): string[] {
  try {
    return Object.keys(localStorage).flatMap((key) => (key.startsWith(prefix + start) ? [key.slice(prefix.length)] : []));
  } catch {
    return [];
  }
}
