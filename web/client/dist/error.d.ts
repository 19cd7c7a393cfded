import { Code } from "@connectrpc/connect";
import { type FieldViolation } from "./gen/trident/v1/error_pb.js";
/**
 * TridentError is how every call of this package fails. What the server tells
 * programs of an error stands in its fields; the message is for people.
 */
export declare class TridentError extends Error {
    readonly name = "TridentError";
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
    private constructor();
    /**
     * The error of anything that was thrown. What is neither of the server's nor of the
     * transport's is Code.Unknown; the cause has what was thrown, or why the signal ended
     * the call.
     */
    static from(thrown: unknown, signal?: AbortSignal): TridentError;
    /** The error of a call that its signal has ended. */
    static canceled(signal: AbortSignal): TridentError;
}
