/**
 * TextStream is an answer that is still being written: the pieces, each as soon as the
 * model has it, to be read once. The request is sent when the first one is asked for;
 * leaving the loop ends it and stops the model.
 */
export class TextStream {
    /** Identifier of the answer; empty before its first piece. */
    id = "";
    /** Model that answers, by the name in the request; empty before its first piece. */
    model = "";
    /** Changes with the server's version and the model's configuration; empty before the first piece. */
    systemFingerprint = "";
    /** Tokens read and written; unset before the end, and where the server can't count them. */
    usage;
    #messages;
    #read = false;
    /** @internal */
    constructor(messages) {
        this.#messages = messages;
    }
    /** Reads the pieces. Those of several answers are interleaved; their index tells them apart. */
    async *[Symbol.asyncIterator]() {
        if (this.#read)
            throw new TypeError("the stream has been read: ask again for another one");
        this.#read = true;
        for await (const message of this.#messages) {
            if (message.id)
                ({ id: this.id, model: this.model, systemFingerprint: this.systemFingerprint } = message);
            if (message.usage)
                this.usage = message.usage;
            if (message.delta)
                yield message.delta;
        }
    }
    /** Reads to the end and returns the text of one answer, the first if not told otherwise. */
    async text(index = 0) {
        let text = "";
        for await (const delta of this)
            if (delta.index === index)
                text += delta.text;
        return text;
    }
}
