import type { GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import type { Duration, Timestamp } from "@bufbuild/protobuf/wkt";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file trident/v1/server.proto.
 */
export declare const file_trident_v1_server: GenFile;
/**
 * ServerServiceWatchRequest asks for the status.
 *
 * @generated from message trident.v1.ServerServiceWatchRequest
 */
export type ServerServiceWatchRequest = Message<"trident.v1.ServerServiceWatchRequest"> & {
    /**
     * Time between two messages, 0.1 s to 60 s. Unset means 1 s.
     *
     * @generated from field: google.protobuf.Duration interval = 1;
     */
    interval?: Duration | undefined;
};
/**
 * Describes the message trident.v1.ServerServiceWatchRequest.
 * Use `create(ServerServiceWatchRequestSchema)` to create a new message.
 */
export declare const ServerServiceWatchRequestSchema: GenMessage<ServerServiceWatchRequest>;
/**
 * ServerServiceWatchResponse contains the status.
 *
 * @generated from message trident.v1.ServerServiceWatchResponse
 */
export type ServerServiceWatchResponse = Message<"trident.v1.ServerServiceWatchResponse"> & {
    /**
     * The current status.
     *
     * @generated from field: trident.v1.ServerStatus status = 1;
     */
    status?: ServerStatus | undefined;
};
/**
 * Describes the message trident.v1.ServerServiceWatchResponse.
 * Use `create(ServerServiceWatchResponseSchema)` to create a new message.
 */
export declare const ServerServiceWatchResponseSchema: GenMessage<ServerServiceWatchResponse>;
/**
 * ServerStatus is the status of the server.
 *
 * @generated from message trident.v1.ServerStatus
 */
export type ServerStatus = Message<"trident.v1.ServerStatus"> & {
    /**
     * Time at which this status was read.
     *
     * @generated from field: google.protobuf.Timestamp time = 1;
     */
    time?: Timestamp | undefined;
    /**
     * Version of the server.
     *
     * @generated from field: string version = 2;
     */
    version: string;
    /**
     * Time at which the server started.
     *
     * @generated from field: google.protobuf.Timestamp started = 3;
     */
    started?: Timestamp | undefined;
    /**
     * Whether the server accepts requests, as the readiness probe reports.
     *
     * @generated from field: bool ready = 4;
     */
    ready: boolean;
    /**
     * Reason why the server is not ready. Empty if it is ready.
     *
     * @generated from field: string reason = 5;
     */
    reason: string;
    /**
     * Maximum number of requests that are served at the same time. 0 means no limit.
     *
     * @generated from field: uint32 max_in_flight = 6;
     */
    maxInFlight: number;
    /**
     * Load of all models together. The field in_flight of this load includes requests
     * whose model is not determined yet.
     *
     * @generated from field: trident.v1.Load total = 7;
     */
    total?: Load | undefined;
    /**
     * Load of each model that has had a request, by name. An unloaded model is
     * removed some time after its last request.
     *
     * @generated from field: repeated trident.v1.ModelLoad models = 8;
     */
    models: ModelLoad[];
};
/**
 * Describes the message trident.v1.ServerStatus.
 * Use `create(ServerStatusSchema)` to create a new message.
 */
export declare const ServerStatusSchema: GenMessage<ServerStatus>;
/**
 * ModelLoad is the load of one model.
 *
 * @generated from message trident.v1.ModelLoad
 */
export type ModelLoad = Message<"trident.v1.ModelLoad"> & {
    /**
     * The model's own name, even if requests use another of its names.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * Load of the model.
     *
     * @generated from field: trident.v1.Load load = 2;
     */
    load?: Load | undefined;
};
/**
 * Describes the message trident.v1.ModelLoad.
 * Use `create(ModelLoadSchema)` to create a new message.
 */
export declare const ModelLoadSchema: GenMessage<ModelLoad>;
/**
 * Load is the number of requests and tokens, and their rates and latencies.
 *
 * @generated from message trident.v1.Load
 */
export type Load = Message<"trident.v1.Load"> & {
    /**
     * Number of requests in flight, including the queued ones.
     *
     * @generated from field: uint32 in_flight = 1;
     */
    inFlight: number;
    /**
     * Number of requests in flight without a response so far. These requests wait in this
     * server's queue or in the engine's queue, or the model is processing their prompts.
     *
     * @generated from field: uint32 queued = 2;
     */
    queued: number;
    /**
     * Generated tokens per second, over the last 5 to 10 s.
     *
     * @generated from field: double tokens_per_second = 3;
     */
    tokensPerSecond: number;
    /**
     * Time from a streaming request to the first token of its response, over the last
     * 30 to 60 s.
     *
     * @generated from field: trident.v1.Quantiles time_to_first_token = 4;
     */
    timeToFirstToken?: Quantiles | undefined;
    /**
     * Time between two tokens of a streaming response, over the last 30 to 60 s. If
     * several tokens arrive together, the time before these tokens is divided evenly
     * among them.
     *
     * @generated from field: trident.v1.Quantiles inter_token = 5;
     */
    interToken?: Quantiles | undefined;
    /**
     * Number of requests since the server started, or since the model's first request. It
     * includes requests in flight and failed requests.
     *
     * @generated from field: uint64 requests = 6;
     */
    requests: bigint;
    /**
     * Number of requests that were refused, ended with an error, or were cancelled by the
     * client.
     *
     * @generated from field: uint64 failures = 7;
     */
    failures: bigint;
    /**
     * Number of prompt tokens of generations and embeddings that have ended. It is
     * counted from the same time as the field requests.
     *
     * @generated from field: uint64 prompt_tokens = 8;
     */
    promptTokens: bigint;
    /**
     * Number of generated tokens, including tokens of requests in flight. It is counted
     * from the same time as the field requests.
     *
     * @generated from field: uint64 completion_tokens = 9;
     */
    completionTokens: bigint;
};
/**
 * Describes the message trident.v1.Load.
 * Use `create(LoadSchema)` to create a new message.
 */
export declare const LoadSchema: GenMessage<Load>;
/**
 * Quantiles are quantiles of durations in seconds. The relative error of each quantile
 * is at most 1/16.
 *
 * @generated from message trident.v1.Quantiles
 */
export type Quantiles = Message<"trident.v1.Quantiles"> & {
    /**
     * Half of the durations are at most this long.
     *
     * @generated from field: double p50 = 1;
     */
    p50: number;
    /**
     * 90% of the durations are at most this long.
     *
     * @generated from field: double p90 = 2;
     */
    p90: number;
    /**
     * 99% of the durations are at most this long.
     *
     * @generated from field: double p99 = 3;
     */
    p99: number;
    /**
     * Number of measured durations. If it is 0, the quantiles are 0.
     *
     * @generated from field: uint64 count = 4;
     */
    count: bigint;
};
/**
 * Describes the message trident.v1.Quantiles.
 * Use `create(QuantilesSchema)` to create a new message.
 */
export declare const QuantilesSchema: GenMessage<Quantiles>;
/**
 * ServerService returns the server's load, including the requests of all APIs.
 *
 * @generated from service trident.v1.ServerService
 */
export declare const ServerService: GenService<{
    /**
     * Watch returns the status immediately, and then at an interval. The stream ends when
     * the client cancels the call, or with UNAVAILABLE when the server stops.
     *
     * @generated from rpc trident.v1.ServerService.Watch
     */
    watch: {
        methodKind: "server_streaming";
        input: typeof ServerServiceWatchRequestSchema;
        output: typeof ServerServiceWatchResponseSchema;
    };
}>;
