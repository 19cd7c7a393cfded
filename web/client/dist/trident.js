import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { Caller } from "./calls.js";
import { ChatService } from "./gen/trident/v1/chat_pb.js";
import { CompletionService } from "./gen/trident/v1/completion_pb.js";
import { EmbeddingService } from "./gen/trident/v1/embedding_pb.js";
import { InferService } from "./gen/trident/v1/infer_pb.js";
import { ModelService } from "./gen/trident/v1/model_pb.js";
import { ServerService } from "./gen/trident/v1/server_pb.js";
import { TextStream } from "./stream.js";
/** Makes a client. It opens no connection by itself. */
export function createTrident(options) {
    const headers = new Headers(options.headers);
    if (options.apiKey)
        headers.set("Authorization", `Bearer ${options.apiKey}`);
    const caller = new Caller(headers, options.maxRetries ?? 2);
    const transport = options.transport ?? overFetch(options);
    return {
        chat: chat(caller, transport),
        completions: completions(caller, transport),
        embeddings: embeddings(caller, transport),
        models: models(caller, transport),
        server: server(caller, transport),
        ...tensors(caller, transport),
    };
}
function overFetch({ baseUrl, fetch }) {
    if (!baseUrl)
        throw new TypeError("createTrident needs a baseUrl or a transport");
    return createConnectTransport({
        baseUrl,
        useBinaryFormat: true,
        // A server that can't be reached is UNAVAILABLE, as one that says so itself.
        fetch: async (...args) => {
            try {
                return await (fetch ?? globalThis.fetch)(...args);
            }
            catch (cause) {
                if (args[1]?.signal?.aborted)
                    throw cause;
                throw new ConnectError("the server cannot be reached", Code.Unavailable, undefined, undefined, cause);
            }
        },
    });
}
function chat(caller, transport) {
    const client = createClient(ChatService, transport);
    return {
        /** The whole answer, once it is complete. */
        create: (request, options) => caller.unary((o) => client.chat(request, o), options),
        /** The answer in pieces. Once one has come, a failure is final; those that came stay valid. */
        stream: (request, options) => new TextStream(caller.stream((o) => client.chatStream({ chat: request }, o), options, (m) => m.delta !== undefined)),
    };
}
function completions(caller, transport) {
    const client = createClient(CompletionService, transport);
    return {
        /** The whole continuations of texts, once they are complete. */
        create: (request, options) => caller.unary((o) => client.complete(request, o), options),
        /** The continuations in pieces, as a chat's. */
        stream: (request, options) => new TextStream(caller.stream((o) => client.completeStream({ completion: request }, o), options, (m) => m.delta !== undefined)),
    };
}
function embeddings(caller, transport) {
    const client = createClient(EmbeddingService, transport);
    return {
        /** The vectors of texts, in their order. */
        create: (request, options) => caller.unary((o) => client.embed(request, o), options),
    };
}
/** Options of a call that may have had its effect when it fails: it is tried again only where they say so. */
const once = (options) => ({ ...options, maxRetries: options?.maxRetries ?? 0 });
function models(caller, transport) {
    const client = createClient(ModelService, transport);
    return {
        /** The models, by name. */
        list: async (which = {}, options) => (await caller.unary((o) => client.list(which, o), options)).models,
        /** One model by any of its names. */
        get: async (model, options) => (await caller.unary((o) => client.get({ model }, o), options)).model,
        /** All models at once, and then each change, until the loop is left. A message without either is a sign of life. */
        watch: (which = {}, options) => caller.stream((o) => client.watch(which, o), options),
        /** Loads a model, and returns it once it serves requests. */
        load: async (model, options) => (await caller.unary((o) => client.load({ model }, o), once(options))).model,
        /** Unloads a model, and returns when its last request has ended and it is gone. */
        unload: async (model, options) => {
            await caller.unary((o) => client.unload({ model }, o), once(options));
        },
    };
}
function server(caller, transport) {
    const client = createClient(ServerService, transport);
    return {
        /** The server's load, at once and then every so many milliseconds (100 to 60000), until the loop is left. */
        watch: async function* (interval = 1000, options) {
            for await (const { status } of caller.stream((o) => client.watch({ interval: durationFromMs(interval) }, o), options)) {
                if (status)
                    yield status;
            }
        },
    };
}
function tensors(caller, transport) {
    const client = createClient(InferService, transport);
    // A sequence's request changes what the model keeps: it must not reach it twice.
    const careful = (request, options) => request.parameters?.["sequence_id"] ? once(options) : { ...options };
    return {
        /** Runs a model that gives one response, by its tensors. */
        infer: (request, options) => caller.unary((o) => client.infer(request, o), careful(request, options)),
        /** Runs a model, decoupled or not, and gives its responses as they come. */
        inferStream: async function* (request, options) {
            const headers = new Headers(options?.headers);
            headers.set("triton_grpc_error", "true"); // errors are the call's, with their codes
            for await (const { inferResponse } of caller.stream((o) => client.inferStream(request, o), { ...careful(request, options), headers })) {
                if (inferResponse)
                    yield inferResponse;
            }
        },
    };
}
