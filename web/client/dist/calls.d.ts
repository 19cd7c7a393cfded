import { type CallOptions as ConnectOptions } from "@connectrpc/connect";
/** CallOptions are what every call takes. */
export interface CallOptions {
    /** Ends the call at once; the server stops the model. */
    signal?: AbortSignal | undefined;
    /** Milliseconds that all tries may take together. The server knows of them and gives up by itself. */
    timeout?: number | undefined;
    /** Further headers. */
    headers?: HeadersInit | undefined;
    /** How often the call is tried again, instead of what the client says. 0 for never. */
    maxRetries?: number | undefined;
}
/**
 * Caller makes calls again that the server has refused for now: with UNAVAILABLE or
 * RESOURCE_EXHAUSTED, and before anything of an answer has come.
 */
export declare class Caller {
    #private;
    constructor(headers: Headers, maxRetries: number);
    /** Makes a call with one answer. */
    unary<T>(call: (options: ConnectOptions) => Promise<T>, options?: CallOptions): Promise<T>;
    /**
     * Makes a call with many answers once the first is asked for. begins tells the first
     * message after which a failure is final; those before it, signs of life, have nothing
     * in them. Who stops reading ends the call.
     */
    stream<T>(call: (options: ConnectOptions) => AsyncIterable<T>, options?: CallOptions, begins?: (message: T) => boolean): AsyncGenerator<T, void, undefined>;
}
