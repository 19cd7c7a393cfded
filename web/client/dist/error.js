import { Code, ConnectError } from "@connectrpc/connect";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { ErrorDetailSchema } from "./gen/trident/v1/error_pb.js";
/**
 * TridentError is the error that each call of this package throws. Its fields contain the server's
 * error details for programs; the message is for people.
 */
export class TridentError extends Error {
    name = "TridentError";
    /** The code of the error, such as Code.NotFound. A call whose signal was aborted has Code.Canceled. */
    code;
    /** Reason of the error, such as model_not_found; empty if the server sends none. */
    reason;
    /** Path of the request's invalid field, such as messages[2].content; empty if the error doesn't concern a field. */
    param;
    /** Milliseconds to wait before a retry; undefined if the server sends none. */
    retryAfter;
    /** The request's identifier in the server's log; empty if the request didn't reach the server. */
    requestId;
    /** All fields that violate a validation rule. */
    violations;
    constructor(from, cause) {
        const broken = from.code === Code.Unknown && brokeOff(from.cause);
        super(broken ? "the connection closed before the response was complete" : from.rawMessage, { cause });
        const detail = from.findDetails(ErrorDetailSchema)[0];
        this.code = broken ? Code.Unavailable : from.code;
        this.reason = detail?.reason ?? "";
        this.param = detail?.param ?? "";
        this.retryAfter = detail?.retryAfter ? durationMs(detail.retryAfter) : retryAfterOf(from.metadata);
        this.requestId = detail?.requestId || (from.metadata.get("x-request-id") ?? "");
        this.violations = detail?.violations ?? [];
    }
    /**
     * Returns a TridentError for any thrown value. The code is Code.Unknown if the value is neither
     * an error of the server nor of the transport. The cause is the thrown value, or the reason of
     * the aborted signal.
     */
    static from(thrown, signal) {
        if (thrown instanceof TridentError)
            return thrown;
        if (signal?.aborted)
            return TridentError.canceled(signal);
        return new TridentError(ConnectError.from(thrown), thrown);
    }
    /** Returns the error of a call whose signal was aborted. */
    static canceled(signal) {
        return new TridentError(new ConnectError("the call was aborted", Code.Canceled), signal.reason);
    }
}
/** Reports whether a response ended early, according to what fetch and Connect throw then. */
function brokeOff(cause) {
    return cause instanceof TypeError || cause === "missing EndStreamResponse";
}
/**
 * Returns the delay of the header Retry-After in milliseconds. A proxy between client and server may send this header.
 * Returns undefined if the header is missing or contains a date.
 */
function retryAfterOf(metadata) {
    const seconds = metadata.get("retry-after");
    return seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) * 1000 : undefined;
}
