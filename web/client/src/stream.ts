import type { Usage } from "./gen/trident/v1/generation_pb.js";

/** What the messages of both kinds of text streams have. */
interface Message<Delta> {
  id: string;
  model: string;
  systemFingerprint: string;
  delta?: Delta | undefined;
  usage?: Usage | undefined;
}

/**
 * TextStream is an answer that is still being written: the pieces, each as soon as the
 * model has it, to be read once. The request is sent when the first one is asked for;
 * leaving the loop ends it and stops the model.
 */
export class TextStream<Delta extends { index: number; text: string }> implements AsyncIterable<Delta> {
  /** Identifier of the answer; empty before its first piece. */
  id = "";
  /** Model that answers, by the name in the request; empty before its first piece. */
  model = "";
  /** Changes with the server's version and the model's configuration; empty before the first piece. */
  systemFingerprint = "";
  /** Tokens read and written; unset before the end, and where the server can't count them. */
  usage: Usage | undefined;

  readonly #messages: AsyncGenerator<Message<Delta>, void, undefined>;
  #read = false;

  /** @internal */
  constructor(messages: AsyncGenerator<Message<Delta>, void, undefined>) {
    this.#messages = messages;
  }

  /** Reads the pieces. Those of several answers are interleaved; their index tells them apart. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Delta, void, undefined> {
    if (this.#read) throw new TypeError("the stream has been read: ask again for another one");
    this.#read = true;
    for await (const message of this.#messages) {
      if (message.id) ({ id: this.id, model: this.model, systemFingerprint: this.systemFingerprint } = message);
      if (message.usage) this.usage = message.usage;
      if (message.delta) yield message.delta;
    }
  }

  /** Reads to the end and returns the text of one answer, the first if not told otherwise. */
  async text(index = 0): Promise<string> {
    let text = "";
    for await (const delta of this) if (delta.index === index) text += delta.text;
    return text;
  }
}
