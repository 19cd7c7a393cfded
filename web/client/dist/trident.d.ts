import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Transport } from "@connectrpc/connect";
import { type CallOptions } from "./calls.js";
import type { ModelInferRequestSchema, ModelInferResponse } from "./gen/kserve/grpc_service_pb.js";
import { type ChatDelta, type ChatRequestSchema, type ChatResponse } from "./gen/trident/v1/chat_pb.js";
import { type CompleteDelta, type CompleteRequestSchema, type CompleteResponse } from "./gen/trident/v1/completion_pb.js";
import { type EmbedRequestSchema, type EmbedResponse } from "./gen/trident/v1/embedding_pb.js";
import { type Endpoint } from "./gen/trident/v1/endpoint_pb.js";
import { type ClassifyRequestSchema, type ClassifyResponse, type RerankRequestSchema, type RerankResponse, type ScoreRequestSchema, type ScoreResponse } from "./gen/trident/v1/encoder_pb.js";
import { type ModelInfo, type ModelServiceWatchResponse } from "./gen/trident/v1/model_pb.js";
import { type ServerStatus } from "./gen/trident/v1/server_pb.js";
import { TextStream } from "./stream.js";
/** TridentOptions are the server's address and the options of the connection. */
export interface TridentOptions {
    /** Address of the server, such as https://models.example. No effect if transport is set. */
    baseUrl?: string;
    /** API key of the server, or of a proxy in front of it, sent as `Authorization: Bearer …`. */
    apiKey?: string;
    /** Headers that the client sends with each call. */
    headers?: HeadersInit;
    /** Replaces globalThis.fetch. No effect if transport is set. */
    fetch?: typeof globalThis.fetch;
    /** Replaces Connect over fetch with binary messages, for example with gRPC-Web or connect-node's HTTP/2. */
    transport?: Transport;
    /** Maximum number of retries of a call that the server refuses temporarily; 2 if unset. */
    maxRetries?: number;
}
/** ChatInit is a chat request: an object with the fields of ChatRequest that are set. */
export type ChatInit = MessageInitShape<typeof ChatRequestSchema>;
/** CompleteInit is a completion request. */
export type CompleteInit = MessageInitShape<typeof CompleteRequestSchema>;
/** EmbedInit is an embedding request. */
export type EmbedInit = MessageInitShape<typeof EmbedRequestSchema>;
/** RerankInit is a request to rank documents. */
export type RerankInit = MessageInitShape<typeof RerankRequestSchema>;
/** ScoreInit is a request for the scores of pairs of texts. */
export type ScoreInit = MessageInitShape<typeof ScoreRequestSchema>;
/** ClassifyInit is a request for the classes of texts. */
export type ClassifyInit = MessageInitShape<typeof ClassifyRequestSchema>;
/** InferInit is a request of KServe v2; inputs() builds its tensors. */
export type InferInit = MessageInitShape<typeof ModelInferRequestSchema>;
/** Trident is a client of one server. All its methods may be called concurrently; they throw a TridentError. */
export type Trident = ReturnType<typeof createTrident>;
/** Creates a client. It doesn't open a connection before the first call. */
export declare function createTrident(options: TridentOptions): {
    chat: {
        /** Returns the complete response. */
        create: (request: ChatInit, options?: CallOptions) => Promise<ChatResponse>;
        /** Returns the response in pieces. After the first piece a failure is final; the received pieces stay valid. */
        stream: (request: ChatInit, options?: CallOptions) => TextStream<ChatDelta>;
    };
    completions: {
        /** Returns the complete continuations. */
        create: (request: CompleteInit, options?: CallOptions) => Promise<CompleteResponse>;
        /**
         * Returns the continuations in pieces. After the first piece a failure is final; the received
         * pieces stay valid.
         */
        stream: (request: CompleteInit, options?: CallOptions) => TextStream<CompleteDelta>;
    };
    embeddings: {
        /** Returns the vectors of the inputs, in their order. */
        create: (request: EmbedInit, options?: CallOptions) => Promise<EmbedResponse>;
    };
    encoders: {
        /** Returns the documents in the order of their relevance to the query. */
        rerank: (request: RerankInit, options?: CallOptions) => Promise<RerankResponse>;
        /** Returns the scores of the pairs, in their order. */
        score: (request: ScoreInit, options?: CallOptions) => Promise<ScoreResponse>;
        /** Returns the classes of the texts, in their order. */
        classify: (request: ClassifyInit, options?: CallOptions) => Promise<ClassifyResponse>;
    };
    models: {
        /** Returns the models by name. */
        list: (which?: Which, options?: CallOptions) => Promise<ModelInfo[]>;
        /** Returns one model by any of its names. */
        get: (model: string, options?: CallOptions) => Promise<ModelInfo>;
        /**
         * Yields all models at once, and then each change, until the loop ends. An empty
         * message is a keep-alive.
         */
        watch: (which?: Which, options?: CallOptions) => AsyncGenerator<ModelServiceWatchResponse, void, undefined>;
        /** Loads a model, and returns it when it serves requests. */
        load: (model: string, options?: CallOptions) => Promise<ModelInfo>;
        /** Unloads a model, and returns when its last request has ended and it is unloaded. */
        unload: (model: string, options?: CallOptions) => Promise<void>;
    };
    server: {
        /**
         * Yields the server's load, at once and then at this interval in milliseconds (100 to 60000),
         * until the loop ends.
         */
        watch: (interval?: number, options?: CallOptions) => AsyncGenerator<ServerStatus, void, undefined>;
    };
    endpoints: {
        /** Returns the inference servers of --triton-endpoint by address. */
        list: (options?: CallOptions) => Promise<Endpoint[]>;
        /**
         * Stops sending requests to an inference server; its requests in flight continue. With force, also
         * if no other server can serve a model of it.
         */
        drain: (address: string, force?: boolean, options?: CallOptions) => Promise<Endpoint>;
        /** Sends requests to a drained inference server again. It is undefined if the server isn't in the list at present. */
        resume: (address: string, options?: CallOptions) => Promise<Endpoint | undefined>;
    };
    /** Runs a model by its tensors and returns its only response. */
    infer: (request: InferInit, options?: CallOptions) => Promise<ModelInferResponse>;
    /** Runs a model, decoupled or not, and yields its responses as they come. */
    inferStream: (request: InferInit, options?: CallOptions) => AsyncGenerator<ModelInferResponse, void, undefined>;
};
/** Selects the models that generate or embed and are ready, or all models. */
export interface Which {
    all?: boolean;
}
