import { Code, TridentError } from "@trident/client";

/** Failure is what went wrong, in sentences, and what can be done about it. */
export interface Failure {
  text: string;
  /** By which the server's log has the request; empty where it never got there. */
  requestId: string;
  /** Whether the server wants a key, or another one. */
  needsKey: boolean;
}

/** Makes sentences of whatever a call threw. */
export function failureOf(thrown: unknown): Failure {
  const error = TridentError.from(thrown);
  const needsKey = error.code === Code.Unauthenticated;
  return { text: [sentence(error.message), hint(error)].filter(Boolean).join(" "), requestId: error.requestId, needsKey };
}

/** Whether a call ended because its signal said so. */
export function isLeaving(thrown: unknown): boolean {
  return thrown instanceof TridentError && thrown.code === Code.Canceled;
}

/** A message with a capital letter and a full stop. */
export function sentence(message: string): string {
  const text = message.trim() || "the server gave no reason";
  // What begins with a name of the API, such as max_tokens, stays as it is.
  const first = text.split(/[\s:]/, 1)[0]!;
  const begun = /[_[\].]/.test(first) ? text : text[0]!.toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : begun + ".";
}

/** What the message doesn't say. */
function hint(error: TridentError): string {
  const wait = error.retryAfter ? `Try again in ${Math.ceil(error.retryAfter / 1000)} s.` : "";
  switch (error.code) {
    case Code.Unauthenticated:
      return "Enter an API key to go on.";
    case Code.PermissionDenied:
      return "The API key doesn't allow this.";
    case Code.ResourceExhausted:
      return wait || "Try again in a moment.";
    case Code.Unavailable:
      return wait || (error.requestId ? "Try again in a moment." : "Is it running, and does the network reach it?");
    case Code.InvalidArgument:
      return error.param && !error.message.includes(lastName(error.param)) ? `The field is ${error.param}.` : "";
    case Code.Internal:
    case Code.Unknown:
      return error.requestId ? `The server's log has it under ${error.requestId}.` : "";
    default:
      return "";
  }
}

/** The field's own name, of its path. */
function lastName(path: string): string {
  return path.split(".").at(-1)!.replace(/\[\d+\]$/, "");
}
