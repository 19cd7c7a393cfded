import { Code, TridentError } from "@trident/client";

/** Failure describes an error in sentences for the user, and what the user can do. */
export interface Failure {
  text: string;
  /** Identifier of the request in the server's log; empty if the request didn't reach the server. */
  requestId: string;
  /** Whether the server requires an API key or refused the given one. */
  needsKey: boolean;
}

/** Returns the failure for any thrown value. */
export function failureOf(thrown: unknown): Failure {
  const error = TridentError.from(thrown);
  const needsKey = error.code === Code.Unauthenticated;
  return { text: [sentence(error.message), hint(error)].filter(Boolean).join(" "), requestId: error.requestId, needsKey };
}

/** Reports whether a call ended because its signal was aborted. */
export function isAbort(thrown: unknown): boolean {
  return thrown instanceof TridentError && thrown.code === Code.Canceled;
}

/** Returns a message with a capital letter and a full stop. */
export function sentence(message: string): string {
  const text = message.trim() || "the server sent no error message";
  // A message that starts with a name of the API, such as max_tokens, keeps its
  // first letter.
  const first = text.split(/[\s:]/, 1)[0]!;
  const begun = /[_[\].]/.test(first) ? text : text[0]!.toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(begun) ? begun : begun + ".";
}

/** Returns a hint that the message doesn't contain. */
function hint(error: TridentError): string {
  const wait = error.retryAfter ? `Try again in ${Math.ceil(error.retryAfter / 1000)} s.` : "";
  switch (error.code) {
    case Code.Unauthenticated:
      return "Enter an API key to continue.";
    case Code.PermissionDenied:
      return "The API key doesn't allow this.";
    case Code.ResourceExhausted:
      return wait || "Try again in a moment.";
    case Code.Unavailable:
      return wait || (error.requestId ? "Try again in a moment." : "Check that the server is running and that the network connects to it.");
    case Code.InvalidArgument:
      return error.param && !error.message.includes(lastName(error.param)) ? `The field is ${error.param}.` : "";
    case Code.Internal:
    case Code.Unknown:
      return error.requestId ? `The server's log has the cause with the request id ${error.requestId}.` : "";
    default:
      return "";
  }
}

/** Returns the field's own name from its path. */
function lastName(path: string): string {
  return path.split(".").at(-1)!.replace(/\[\d+\]$/, "");
}
