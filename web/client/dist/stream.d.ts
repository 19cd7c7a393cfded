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
export declare class TextStream<Delta extends {
    index: number;
    text: string;
}> implements AsyncIterable<Delta> {
    #private;
    /** Identifier of the response; empty before its first piece. */
    id: string;
    /** Name of the model, as in the request; empty before the first piece. */
    model: string;
    /** Identifies the server's version and the model's configuration; empty before the first piece. */
    systemFingerprint: string;
    /** Number of tokens read and written; undefined before the end, and if the server can't count them. */
    usage: Usage | undefined;
    /** @internal */
    constructor(messages: AsyncGenerator<Message<Delta>, void, undefined>);
    /** Yields the pieces. The pieces of several choices are interleaved; their index distinguishes them. */
    [Symbol.asyncIterator](): AsyncGenerator<Delta, void, undefined>;
    /** Reads to the end and returns the text of the choice with this index; the default is the first choice. */
    text(index?: number): Promise<string>;
}
export {};
