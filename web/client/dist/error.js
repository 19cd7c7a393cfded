import { Code, ConnectError } from "@connectrpc/connect";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { ErrorDetailSchema } from "./gen/trident/v1/error_pb.js";
/**
 * TridentError is how every call of this package fails. What the server tells
 * programs of an error stands in its fields; the message is for people.
 */
export class TridentError extends Error {
    name = "TridentError";
    /** The kind of error, such as Code.NotFound. A call that its signal ended has Code.Canceled. */
    code;
    /** Why, such as model_not_found; empty where the server says nothing. */
    reason;
    /** Path of the request's field at fault, such as messages[2].content; empty where it is none. */
    param;
    /** When the server wants to be tried again, in milliseconds from now. */
    retryAfter;
    /** The request's identifier in the server's log; empty where it never got there. */
    requestId;
    /** All fields that break a rule of their own. */
    violations;
    constructor(from, cause) {
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
    static from(thrown, signal) {
        if (thrown instanceof TridentError)
            return thrown;
        if (signal?.aborted)
            return TridentError.canceled(signal);
        return new TridentError(ConnectError.from(thrown), thrown);
    }
    /** The error of a call that its signal has ended. */
    static canceled(signal) {
        return new TridentError(new ConnectError("the call was aborted", Code.Canceled), signal.reason);
    }
}
/** Whether an answer could not be read to its end, by what fetch and Connect throw then. */
function brokeOff(cause) {
    return cause instanceof TypeError || cause === "missing EndStreamResponse";
}
/** Retry-After in seconds, as proxies in between send it; a date says nothing here. */
function retryAfterOf(metadata) {
    const seconds = metadata.get("retry-after");
    return seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) * 1000 : undefined;
}
