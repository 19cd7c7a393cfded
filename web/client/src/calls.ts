import { Code, type CallOptions as ConnectOptions } from "@connectrpc/connect";
import { TridentError } from "./error.js";

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

/** The bounds of the wait between two attempts, in milliseconds. */
const firstWait = 500;
const lastWait = 8_000;

/** Calls are not retried if the server asks for a longer wait than this. */
const longestWait = 30_000;

/**
 * Caller retries calls that the server refuses with UNAVAILABLE or RESOURCE_EXHAUSTED before any
 * part of a response has arrived.
 */
export class Caller {
  readonly #headers: Headers;
  readonly #maxRetries: number;

  constructor(headers: Headers, maxRetries: number) {
    this.#headers = headers;
    this.#maxRetries = maxRetries;
  }

  /** Makes a call with one response message. */
  async unary<T>(call: (options: ConnectOptions) => Promise<T>, options: CallOptions = {}): Promise<T> {
    const tries = this.#tries(options, options.signal);
    for (;;) {
      try {
        return await call(tries.next());
      } catch (thrown) {
        await tries.failed(thrown);
      }
    }
  }

  /**
   * Makes a call with many response messages when the caller reads the first one. begins reports
   * whether a message is the first after which a failure is final. The messages before it are empty
   * keep-alives. The call ends when the caller stops reading.
   */
  async *stream<T>(
    call: (options: ConnectOptions) => AsyncIterable<T>,
    options: CallOptions = {},
    begins: (message: T) => boolean = () => true,
  ): AsyncGenerator<T, void, undefined> {
    const leaving = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, leaving.signal]) : leaving.signal;
    const tries = this.#tries(options, signal);
    let begun = false;
    try {
      for (;;) {
        try {
          for await (const message of call(tries.next())) {
            begun ||= begins(message);
            yield message;
          }
          return;
        } catch (thrown) {
          if (begun) throw TridentError.from(thrown, options.signal);
          await tries.failed(thrown);
        }
      }
    } finally {
      leaving.abort();
    }
  }

  #tries(options: CallOptions, signal: AbortSignal | undefined): Tries {
    const headers = new Headers(this.#headers);
    new Headers(options.headers).forEach((value, name) => headers.set(name, value));
    return new Tries(headers, signal, options.timeout, options.maxRetries ?? this.#maxRetries);
  }
}

/** Tries are the attempts at one call. */
class Tries {
  readonly #headers: Headers;
  readonly #signal: AbortSignal | undefined;
  readonly #deadline: number;
  readonly #most: number;
  #failures = 0;

  constructor(headers: Headers, signal: AbortSignal | undefined, timeout: number | undefined, most: number) {
    this.#headers = headers;
    this.#signal = signal;
    this.#deadline = timeout === undefined ? Infinity : Date.now() + timeout;
    this.#most = most;
  }

  /** Returns the options of the next attempt. */
  next(): ConnectOptions {
    const options: ConnectOptions = { headers: this.#headers };
    if (this.#signal) options.signal = this.#signal;
    // Connect treats a timeout of 0 as no timeout.
    if (this.#deadline !== Infinity) options.timeoutMs = Math.max(1, this.#deadline - Date.now());
    return options;
  }

  /** Waits until the next attempt. Throws the error if there is no further attempt. */
  async failed(thrown: unknown): Promise<void> {
    const error = TridentError.from(thrown, this.#signal);
    const wait = backoff(this.#failures++, error.retryAfter);
    const refused = error.code === Code.Unavailable || error.code === Code.ResourceExhausted;
    if (!refused || this.#failures > this.#most || wait > longestWait || Date.now() + wait > this.#deadline) throw error;
    await sleep(wait, this.#signal);
  }
}

/**
 * Returns the wait in milliseconds after this number of failures. It doubles each time and is
 * random, so that clients which were refused together don't retry together. It is never less than
 * the server asks for.
 */
function backoff(failures: number, retryAfter = 0): number {
  const wait = Math.min(firstWait * 2 ** failures, lastWait) * (0.5 + Math.random() / 2);
  return retryAfter > 0 ? retryAfter + wait / 2 : wait;
}

/** Waits; returns early if the signal is aborted. */
function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer);
      reject(TridentError.canceled(signal!));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", abort, { once: true });
    if (signal?.aborted) abort();
  });
}
