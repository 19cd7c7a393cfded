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
export declare class TextStream<Delta extends {
    index: number;
    text: string;
}> implements AsyncIterable<Delta> {
    #private;
    /** Identifier of the answer; empty before its first piece. */
    id: string;
    /** Model that answers, by the name in the request; empty before its first piece. */
    model: string;
    /** Changes with the server's version and the model's configuration; empty before the first piece. */
    systemFingerprint: string;
    /** Tokens read and written; unset before the end, and where the server can't count them. */
    usage: Usage | undefined;
    /** @internal */
    constructor(messages: AsyncGenerator<Message<Delta>, void, undefined>);
    /** Reads the pieces. Those of several answers are interleaved; their index tells them apart. */
    [Symbol.asyncIterator](): AsyncGenerator<Delta, void, undefined>;
    /** Reads to the end and returns the text of one answer, the first if not told otherwise. */
    text(index?: number): Promise<string>;
}
export {};
