// Helpers of the tests: the servers that test/e2e has started, and a fetch that records its
// requests.
import assert from "node:assert/strict";
import { Code, Role, TridentError, createTrident, type Trident, type TridentOptions } from "@trident/client";

function server(name: string): string {
  const url = process.env[name];
  assert.ok(url, `${name} is not set: go test ./test/e2e -run TestWebClient starts the servers`);
  return url;
}

/** Server with the demo models. */
export const demo = server("TRIDENT_URL");
/** Server with test/models: echo, and the decoupled stream. */
export const tensors = server("TRIDENT_TENSORS_URL");
/** Server with the demo models that serves one request at a time. */
export const limited = server("TRIDENT_LIMITED_URL");
/** Server without a Triton. */
export const down = server("TRIDENT_DOWN_URL");
/** Server that loads and unloads models. */
export const controlled = server("TRIDENT_CONTROLLED_URL");

/** watched returns a client, and the list in which it records the headers of each fetch. */
export function watched(baseUrl: string, options: Partial<TridentOptions> = {}, answered?: (response: Response) => Response | Promise<Response>) {
  const seen: Headers[] = [];
  const client = createTrident({
    baseUrl,
    ...options,
    fetch: async (input, init) => {
      seen.push(new Headers(init?.headers));
      const response = await fetch(input, init);
      return answered ? answered(response) : response;
    },
  });
  return { client, seen };
}

export const ask = (content: string, maxTokens = 12) => ({ model: "chat", maxTokens, temperature: 0, messages: [{ role: Role.USER, content }] });

export const story = { ...ask("Write a very long story about a ship.", 1500), ignoreEos: true };

/** holding starts a stream, which continues until the caller aborts it. */
export async function holding(client: Trident) {
  const leaving = new AbortController();
  const pieces = client.chat.stream(story, { signal: leaving.signal })[Symbol.asyncIterator]();
  assert.equal((await pieces.next()).done, false);
  const ended = (async () => {
    await assert.rejects(async () => { while (!(await pieces.next()).done); }, failsWith(Code.Canceled));
  })();
  return { abort: () => leaving.abort(), end: () => (leaving.abort(), ended) };
}

/** Checks an error's code and the given other fields. */
export function failsWith(code: Code, fields: Partial<Record<keyof TridentError, unknown>> = {}, words = /./) {
  return (error: unknown) => {
    assert.ok(error instanceof TridentError, String(error));
    assert.equal(Code[error.code], Code[code], error.message);
    assert.match(error.message, words);
    for (const [name, value] of Object.entries(fields)) assert.deepEqual(error[name as keyof TridentError], value, name);
    return true;
  };
}

/** Repeats a check until it returns true. */
export async function until(what: string, met: () => Promise<boolean>, limit = 5_000) {
  for (const end = Date.now() + limit; !(await met()); await new Promise((resolve) => setTimeout(resolve, 10))) {
    assert.ok(Date.now() < end, `timeout after ${limit} ms: ${what}`);
  }
}
