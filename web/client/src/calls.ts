import { Code, type CallOptions as ConnectOptions } from "@connectrpc/connect";
import { TridentError } from "./error.js";

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

/** What waits between two tries are made of, in milliseconds. */
const firstWait = 500;
const lastWait = 8_000;

/** A server that wants to be left alone for longer is not waited for. */
const longestWait = 30_000;

/**
 * Caller makes calls again that the server has refused for now: with UNAVAILABLE or
 * RESOURCE_EXHAUSTED, and before anything of an answer has come.
 */
export class Caller {
  readonly #headers: Headers;
  readonly #maxRetries: number;

  constructor(headers: Headers, maxRetries: number) {
    this.#headers = headers;
    this.#maxRetries = maxRetries;
  }

  /** Makes a call with one answer. */
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
   * Makes a call with many answers once the first is asked for. begins tells the first
   * message after which a failure is final; those before it, signs of life, have nothing
   * in them. Who stops reading ends the call.
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

  /** What the next attempt is made with. */
  next(): ConnectOptions {
    const options: ConnectOptions = { headers: this.#headers };
    if (this.#signal) options.signal = this.#signal;
    // To Connect a timeout of 0 is none.
    if (this.#deadline !== Infinity) options.timeoutMs = Math.max(1, this.#deadline - Date.now());
    return options;
  }

  /** Waits for the time of the next attempt; throws the error where there is none. */
  async failed(thrown: unknown): Promise<void> {
    const error = TridentError.from(thrown, this.#signal);
    const wait = backoff(this.#failures++, error.retryAfter);
    const refused = error.code === Code.Unavailable || error.code === Code.ResourceExhausted;
    if (!refused || this.#failures > this.#most || wait > longestWait || Date.now() + wait > this.#deadline) throw error;
    await sleep(wait, this.#signal);
  }
}

/**
 * How long to wait after that many failures: twice as long each time, and at random, so
 * that clients which were refused together don't come back together; never less than the
 * server asks for.
 */
function backoff(failures: number, retryAfter = 0): number {
  const wait = Math.min(firstWait * 2 ** failures, lastWait) * (0.5 + Math.random() / 2);
  return retryAfter > 0 ? retryAfter + wait / 2 : wait;
}

/** Waits, unless the signal ends it first. */
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
