import type { Usage } from "./gen/trident/v1/generation_pb.js";

/** The fields that the messages of chat streams and of completion streams have. */
interface Message<Delta> {
  id: string;
  model: string;
  systemFingerprint: string;
  delta?: Delta | undefined;
  usage?: Usage | undefined;
}

/**
 * TextStream is a response that the model is still writing. It yields the pieces, each as soon as
 * the model generates it, and can be read once. The request is sent when the first piece is read.
 * Leaving the loop cancels the call and stops the model.
 */
export class TextStream<Delta extends { index: number; text: string }> implements AsyncIterable<Delta> {
  /** Identifier of the response; empty before its first piece. */
  id = "";
  /** Name of the model, as in the request; empty before the first piece. */
  model = "";
  /** Identifies the server's version and the model's configuration; empty before the first piece. */
  systemFingerprint = "";
  /** Number of tokens read and written; undefined before the end, and if the server can't count them. */
  usage: Usage | undefined;

  readonly #messages: AsyncGenerator<Message<Delta>, void, undefined>;
  #read = false;

  /** @internal */
  constructor(messages: AsyncGenerator<Message<Delta>, void, undefined>) {
    this.#messages = messages;
  }

  /** Yields the pieces. The pieces of several choices are interleaved; their index distinguishes them. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Delta, void, undefined> {
    if (this.#read) throw new TypeError("the stream was already read: send the request again for a new stream");
    this.#read = true;
    for await (const message of this.#messages) {
      if (message.id) ({ id: this.id, model: this.model, systemFingerprint: this.systemFingerprint } = message);
      if (message.usage) this.usage = message.usage;
      if (message.delta) yield message.delta;
    }
  }

  /** Reads to the end and returns the text of the choice with this index; the default is the first choice. */
  async text(index = 0): Promise<string> {
    let text = "";
    for await (const delta of this) if (delta.index === index) text += delta.text;
    return text;
  }
}
