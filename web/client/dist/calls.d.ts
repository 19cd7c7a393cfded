import { type CallOptions as ConnectOptions } from "@connectrpc/connect";
/** CallOptions are the options of each call. */
export interface CallOptions {
    /** Cancels the call at once; the server stops the model. */
    signal?: AbortSignal | undefined;
    /** Time limit in milliseconds of all attempts together. The server receives the limit and ends the call by itself. */
    timeout?: number | undefined;
    /** Headers of this call, in addition to the headers that the client sends with each call. */
    headers?: HeadersInit | undefined;
    /** Maximum number of retries, instead of the client's option. 0 means no retry. */
    maxRetries?: number | undefined;
}
/**
 * Caller retries calls that the server refuses with UNAVAILABLE or RESOURCE_EXHAUSTED before any
 * part of a response has arrived.
 */
export declare class Caller {
    #private;
    constructor(headers: Headers, maxRetries: number);
    /** Makes a call with one response message. */
    unary<T>(call: (options: ConnectOptions) => Promise<T>, options?: CallOptions): Promise<T>;
    /**
     * Makes a call with many response messages when the caller reads the first one. begins reports
     * whether a message is the first after which a failure is final. The messages before it are empty
     * keep-alives. The call ends when the caller stops reading.
     */
    stream<T>(call: (options: ConnectOptions) => AsyncIterable<T>, options?: CallOptions, begins?: (message: T) => boolean): AsyncGenerator<T, void, undefined>;
}
