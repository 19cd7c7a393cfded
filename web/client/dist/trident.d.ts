import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Transport } from "@connectrpc/connect";
import { type CallOptions } from "./calls.js";
import type { ModelInferRequestSchema, ModelInferResponse } from "./gen/kserve/grpc_service_pb.js";
import { type ChatDelta, type ChatRequestSchema, type ChatResponse } from "./gen/trident/v1/chat_pb.js";
import { type CompleteDelta, type CompleteRequestSchema, type CompleteResponse } from "./gen/trident/v1/completion_pb.js";
import { type EmbedRequestSchema, type EmbedResponse } from "./gen/trident/v1/embedding_pb.js";
import { type ModelInfo, type ModelServiceWatchResponse } from "./gen/trident/v1/model_pb.js";
import { type ServerStatus } from "./gen/trident/v1/server_pb.js";
import { TextStream } from "./stream.js";
/** TridentOptions say where the server is and how to reach it. */
export interface TridentOptions {
    /** Address of the server, such as https://models.example. Without effect beside a transport. */
    baseUrl?: string;
    /** Sent as `Authorization: Bearer …`, for a proxy before the server that asks for it. */
    apiKey?: string;
    /** Headers of every call. */
    headers?: HeadersInit;
    /** Stands for globalThis.fetch. Without effect beside a transport. */
    fetch?: typeof globalThis.fetch;
    /** Stands for Connect over fetch, with binary messages: gRPC-Web, say, or connect-node's HTTP/2. */
    transport?: Transport;
    /** How often a call that the server refuses for now is tried again; 2 if unset. */
    maxRetries?: number;
}
/** ChatInit is a chat's request: the fields of ChatRequest that are set. */
export type ChatInit = MessageInitShape<typeof ChatRequestSchema>;
/** CompleteInit is a completion's request. */
export type CompleteInit = MessageInitShape<typeof CompleteRequestSchema>;
/** EmbedInit asks for vectors. */
export type EmbedInit = MessageInitShape<typeof EmbedRequestSchema>;
/** InferInit is KServe v2's request; inputs() makes its tensors. */
export type InferInit = MessageInitShape<typeof ModelInferRequestSchema>;
/** Trident calls a server. All its methods may be used at the same time, and fail with a TridentError. */
export type Trident = ReturnType<typeof createTrident>;
/** Makes a client. It opens no connection by itself. */
export declare function createTrident(options: TridentOptions): {
    chat: {
        /** The whole answer, once it is complete. */
        create: (request: ChatInit, options?: CallOptions) => Promise<ChatResponse>;
        /** The answer in pieces. Once one has come, a failure is final; those that came stay valid. */
        stream: (request: ChatInit, options?: CallOptions) => TextStream<ChatDelta>;
    };
    completions: {
        /** The whole continuations of texts, once they are complete. */
        create: (request: CompleteInit, options?: CallOptions) => Promise<CompleteResponse>;
        /** The continuations in pieces, as a chat's. */
        stream: (request: CompleteInit, options?: CallOptions) => TextStream<CompleteDelta>;
    };
    embeddings: {
        /** The vectors of texts, in their order. */
        create: (request: EmbedInit, options?: CallOptions) => Promise<EmbedResponse>;
    };
    models: {
        /** The models, by name. */
        list: (which?: Which, options?: CallOptions) => Promise<ModelInfo[]>;
        /** One model by any of its names. */
        get: (model: string, options?: CallOptions) => Promise<ModelInfo>;
        /** All models at once, and then each change, until the loop is left. A message without either is a sign of life. */
        watch: (which?: Which, options?: CallOptions) => AsyncGenerator<ModelServiceWatchResponse, void, undefined>;
        /** Loads a model, and returns it once it serves requests. */
        load: (model: string, options?: CallOptions) => Promise<ModelInfo>;
        /** Unloads a model, and returns when its last request has ended and it is gone. */
        unload: (model: string, options?: CallOptions) => Promise<void>;
    };
    server: {
        /** The server's load, at once and then every so many milliseconds (100 to 60000), until the loop is left. */
        watch: (interval?: number, options?: CallOptions) => AsyncGenerator<ServerStatus, void, undefined>;
    };
    /** Runs a model that gives one response, by its tensors. */
    infer: (request: InferInit, options?: CallOptions) => Promise<ModelInferResponse>;
    /** Runs a model, decoupled or not, and gives its responses as they come. */
    inferStream: (request: InferInit, options?: CallOptions) => AsyncGenerator<ModelInferResponse, void, undefined>;
};
/** Which models: those that generate or embed and are ready, or all. */
export interface Which {
    all?: boolean;
}
