import { Code } from "@connectrpc/connect";
import { type FieldViolation } from "./gen/trident/v1/error_pb.js";
/**
 * TridentError is the error that each call of this package throws. Its fields contain the server's
 * error details for programs; the message is for people.
 */
export declare class TridentError extends Error {
    readonly name = "TridentError";
    /** The code of the error, such as Code.NotFound. A call whose signal was aborted has Code.Canceled. */
    readonly code: Code;
    /** Reason of the error, such as model_not_found; empty if the server sends none. */
    readonly reason: string;
    /** Path of the request's invalid field, such as messages[2].content; empty if the error doesn't concern a field. */
    readonly param: string;
    /** Milliseconds to wait before a retry; undefined if the server sends none. */
    readonly retryAfter: number | undefined;
    /** The request's identifier in the server's log; empty if the request didn't reach the server. */
    readonly requestId: string;
    /** All fields that violate a validation rule. */
    readonly violations: FieldViolation[];
    private constructor();
    /**
     * Returns a TridentError for any thrown value. The code is Code.Unknown if the value is neither
     * an error of the server nor of the transport. The cause is the thrown value, or the reason of
     * the aborted signal.
     */
    static from(thrown: unknown, signal?: AbortSignal): TridentError;
    /** Returns the error of a call whose signal was aborted. */
    static canceled(signal: AbortSignal): TridentError;
}
