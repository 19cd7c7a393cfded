// Storage in the browser. It may be full, disabled, or written by a later
// version; then the page works without it.

/** Lifetime of a value: permanent, or until the tab is closed. */
type Place = "local" | "session";

const prefix = "trident.";

function storageOf(place: Place): Storage | undefined {
  try {
    return place === "local" ? localStorage : sessionStorage;
  } catch {
    return undefined; // cookies are blocked
  }
}

/** Returns the value with this name; undefined if it is missing or can't be read. */
export function read(name: string, place: Place = "local"): unknown {
  try {
    const text = storageOf(place)?.getItem(prefix + name);
    return text == null ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Stores a value, or removes it if it is undefined. Returns false on failure. */
export function write(name: string, value: unknown, place: Place = "local"): boolean {
  try {
    if (value === undefined) storageOf(place)?.removeItem(prefix + name);
    else storageOf(place)?.setItem(prefix + name, JSON.stringify(value));
    return true;
  } catch {
    return false;
  }
}

/** Returns the names of permanent values with this prefix. */
export function names(start: string): string[] {
  try {
    return Object.keys(localStorage).flatMap((key) => (key.startsWith(prefix + start) ? [key.slice(prefix.length)] : []));
  } catch {
    return [];
  }
}
