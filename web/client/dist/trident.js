import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { Caller } from "./calls.js";
import { ChatService } from "./gen/trident/v1/chat_pb.js";
import { CompletionService } from "./gen/trident/v1/completion_pb.js";
import { EmbeddingService } from "./gen/trident/v1/embedding_pb.js";
import { EndpointService } from "./gen/trident/v1/endpoint_pb.js";
import { EncoderService, } from "./gen/trident/v1/encoder_pb.js";
import { InferService } from "./gen/trident/v1/infer_pb.js";
import { ModelService } from "./gen/trident/v1/model_pb.js";
import { ServerService } from "./gen/trident/v1/server_pb.js";
import { TextStream } from "./stream.js";
/** Creates a client. It doesn't open a connection before the first call. */
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
        encoders: encoders(caller, transport),
        models: models(caller, transport),
        server: server(caller, transport),
        endpoints: endpoints(caller, transport),
        ...tensors(caller, transport),
    };
}
function overFetch({ baseUrl, fetch }) {
    if (!baseUrl)
        throw new TypeError("createTrident needs a baseUrl or a transport");
    return createConnectTransport({
        baseUrl,
        useBinaryFormat: true,
        // An unreachable server is UNAVAILABLE, like a server that returns this code.
        fetch: async (...args) => {
            try {
                return await (fetch ?? globalThis.fetch)(...args);
            }
            catch (cause) {
                if (args[1]?.signal?.aborted)
                    throw cause;
                throw new ConnectError(`the server at ${baseUrl} cannot be reached`, Code.Unavailable, undefined, undefined, cause);
            }
        },
    });
}
function chat(caller, transport) {
    const client = createClient(ChatService, transport);
    return {
        /** Returns the complete response. */
        create: (request, options) => caller.unary((o) => client.chat(request, o), options),
        /** Returns the response in pieces. After the first piece a failure is final; the received pieces stay valid. */
        stream: (request, options) => new TextStream(caller.stream((o) => client.chatStream({ chat: request }, o), options, (m) => m.delta !== undefined)),
    };
}
function completions(caller, transport) {
    const client = createClient(CompletionService, transport);
    return {
        /** Returns the complete continuations. */
        create: (request, options) => caller.unary((o) => client.complete(request, o), options),
        /**
         * Returns the continuations in pieces. After the first piece a failure is final; the received
         * pieces stay valid.
         */
        stream: (request, options) => new TextStream(caller.stream((o) => client.completeStream({ completion: request }, o), options, (m) => m.delta !== undefined)),
    };
}
function embeddings(caller, transport) {
    const client = createClient(EmbeddingService, transport);
    return {
        /** Returns the vectors of the inputs, in their order. */
        create: (request, options) => caller.unary((o) => client.embed(request, o), options),
    };
}
function encoders(caller, transport) {
    const client = createClient(EncoderService, transport);
    return {
        /** Returns the documents in the order of their relevance to the query. */
        rerank: (request, options) => caller.unary((o) => client.rerank(request, o), options),
        /** Returns the scores of the pairs, in their order. */
        score: (request, options) => caller.unary((o) => client.score(request, o), options),
        /** Returns the classes of the texts, in their order. */
        classify: (request, options) => caller.unary((o) => client.classify(request, o), options),
    };
}
/** Returns the options of a call that possibly has taken effect when it fails. Such a call is retried only if the caller sets maxRetries. */
const once = (options) => ({ ...options, maxRetries: options?.maxRetries ?? 0 });
function models(caller, transport) {
    const client = createClient(ModelService, transport);
    return {
        /** Returns the models by name. */
        list: async (which = {}, options) => (await caller.unary((o) => client.list(which, o), options)).models,
        /** Returns one model by any of its names. */
        get: async (model, options) => (await caller.unary((o) => client.get({ model }, o), options)).model,
        /**
         * Yields all models at once, and then each change, until the loop ends. An empty
         * message is a keep-alive.
         */
        watch: (which = {}, options) => caller.stream((o) => client.watch(which, o), options),
        /** Loads a model, and returns it when it serves requests. */
        load: async (model, options) => (await caller.unary((o) => client.load({ model }, o), once(options))).model,
        /** Unloads a model, and returns when its last request has ended and it is unloaded. */
        unload: async (model, options) => {
            await caller.unary((o) => client.unload({ model }, o), once(options));
        },
    };
}
function server(caller, transport) {
    const client = createClient(ServerService, transport);
    return {
        /**
         * Yields the server's load, at once and then at this interval in milliseconds (100 to 60000),
         * until the loop ends.
         */
        watch: async function* (interval = 1000, options) {
            for await (const { status } of caller.stream((o) => client.watch({ interval: durationFromMs(interval) }, o), options)) {
                if (status)
                    yield status;
            }
        },
    };
}
function endpoints(caller, transport) {
    const client = createClient(EndpointService, transport);
    return {
        /** Returns the inference servers of --triton-endpoint by address. */
        list: async (options) => (await caller.unary((o) => client.list({}, o), options)).endpoints,
        /**
         * Stops sending requests to an inference server; its requests in flight continue. With force, also
         * if no other server can serve a model of it.
         */
        drain: async (address, force = false, options) => (await caller.unary((o) => client.drain({ address, force }, o), options)).endpoint,
        /** Sends requests to a drained inference server again. It is undefined if the server isn't in the list at present. */
        resume: async (address, options) => (await caller.unary((o) => client.resume({ address }, o), options)).endpoint,
    };
}
function tensors(caller, transport) {
    const client = createClient(InferService, transport);
    // A request of a sequence changes the model's state, so it must not reach the
    // model twice.
    const careful = (request, options) => request.parameters?.["sequence_id"] ? once(options) : { ...options };
    return {
        /** Runs a model by its tensors and returns its only response. */
        infer: (request, options) => caller.unary((o) => client.infer(request, o), careful(request, options)),
        /** Runs a model, decoupled or not, and yields its responses as they come. */
        inferStream: async function* (request, options) {
            const headers = new Headers(options?.headers);
            headers.set("triton_grpc_error", "true"); // an error ends the call with its code
            for await (const { inferResponse } of caller.stream((o) => client.inferStream(request, o), { ...careful(request, options), headers })) {
                if (inferResponse)
                    yield inferResponse;
            }
        },
    };
}
