import { Code, ConnectError } from "@connectrpc/connect";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { ErrorDetailSchema, type FieldViolation } from "./gen/trident/v1/error_pb.js";

/**
 * TridentError is how every call of this package fails. What the server tells
 * programs of an error stands in its fields; the message is for people.
 */
export class TridentError extends Error {
  override readonly name = "TridentError";
  /** The kind of error, such as Code.NotFound. A call that its signal ended has Code.Canceled. */
  readonly code: Code;
  /** Why, such as model_not_found; empty where the server says nothing. */
  readonly reason: string;
  /** Path of the request's field at fault, such as messages[2].content; empty where it is none. */
  readonly param: string;
  /** When the server wants to be tried again, in milliseconds from now. */
  readonly retryAfter: number | undefined;
  /** The request's identifier in the server's log; empty where it never got there. */
  readonly requestId: string;
  /** All fields that break a rule of their own. */
  readonly violations: FieldViolation[];

  private constructor(from: ConnectError, cause: unknown) {
    const broken = from.code === Code.Unknown && brokeOff(from.cause);
    super(broken ? "the connection broke off" : from.rawMessage, { cause });
    const detail = from.findDetails(ErrorDetailSchema)[0];
    this.code = broken ? Code.Unavailable : from.code;
    this.reason = detail?.reason ?? "";
    this.param = detail?.param ?? "";
    this.retryAfter = detail?.retryAfter ? durationMs(detail.retryAfter) : retryAfterOf(from.metadata);
    this.requestId = detail?.requestId || (from.metadata.get("x-request-id") ?? "");
    this.violations = detail?.violations ?? [];
  }

  /**
   * The error of anything that was thrown. What is neither of the server's nor of the
   * transport's is Code.Unknown; the cause has what was thrown, or why the signal ended
   * the call.
   */
  static from(thrown: unknown, signal?: AbortSignal): TridentError {
    if (thrown instanceof TridentError) return thrown;
    if (signal?.aborted) return TridentError.canceled(signal);
    return new TridentError(ConnectError.from(thrown), thrown);
  }

  /** The error of a call that its signal has ended. */
  static canceled(signal: AbortSignal): TridentError {
    return new TridentError(new ConnectError("the call was aborted", Code.Canceled), signal.reason);
  }
}

/** Whether an answer could not be read to its end, by what fetch and Connect throw then. */
function brokeOff(cause: unknown): boolean {
  return cause instanceof TypeError || cause === "missing EndStreamResponse";
}

/** Retry-After in seconds, as proxies in between send it; a date says nothing here. */
function retryAfterOf(metadata: Headers): number | undefined {
  const seconds = metadata.get("retry-after");
  return seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) * 1000 : undefined;
}
