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
     * Time between two messages, 0.1 s to 60 s. Unset is 1 s.
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
 * ServerServiceWatchResponse has the status.
 *
 * @generated from message trident.v1.ServerServiceWatchResponse
 */
export type ServerServiceWatchResponse = Message<"trident.v1.ServerServiceWatchResponse"> & {
    /**
     * The status now.
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
 * ServerStatus is what the server is doing.
 *
 * @generated from message trident.v1.ServerStatus
 */
export type ServerStatus = Message<"trident.v1.ServerStatus"> & {
    /**
     * When this was read.
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
     * When the server started.
     *
     * @generated from field: google.protobuf.Timestamp started = 3;
     */
    started?: Timestamp | undefined;
    /**
     * Whether requests are served: what the readiness probe tells.
     *
     * @generated from field: bool ready = 4;
     */
    ready: boolean;
    /**
     * Why not, where it is not ready.
     *
     * @generated from field: string reason = 5;
     */
    reason: string;
    /**
     * Most requests that are served at once; 0 for no limit.
     *
     * @generated from field: uint32 max_in_flight = 6;
     */
    maxInFlight: number;
    /**
     * All models together. In flight here are also requests whose model is not
     * settled yet.
     *
     * @generated from field: trident.v1.Load total = 7;
     */
    total?: Load | undefined;
    /**
     * Each model that has had a request, by name. A model that was unloaded leaves
     * some time after its last request.
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
     * The model's own name, also for requests by another.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * Its load.
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
 * Load is what is being done, and how fast.
 *
 * @generated from message trident.v1.Load
 */
export type Load = Message<"trident.v1.Load"> & {
    /**
     * Requests being served now, those that are queued among them.
     *
     * @generated from field: uint32 in_flight = 1;
     */
    inFlight: number;
    /**
     * Those of them that no answer has come of yet: they wait for their turn here or
     * in the engine's queue, or their prompt is being read.
     *
     * @generated from field: uint32 queued = 2;
     */
    queued: number;
    /**
     * Tokens of answers per second, over the last 5 to 10 s.
     *
     * @generated from field: double tokens_per_second = 3;
     */
    tokensPerSecond: number;
    /**
     * From the start of a streamed answer's request to its first token, over the last
     * 30 to 60 s.
     *
     * @generated from field: trident.v1.Quantiles time_to_first_token = 4;
     */
    timeToFirstToken?: Quantiles | undefined;
    /**
     * Between two tokens of a streamed answer, over the last 30 to 60 s. What the
     * engine hands over together is shared out evenly.
     *
     * @generated from field: trident.v1.Quantiles inter_token = 5;
     */
    interToken?: Quantiles | undefined;
    /**
     * Requests since the server started, or the model was first asked; those in
     * flight and those that failed among them.
     *
     * @generated from field: uint64 requests = 6;
     */
    requests: bigint;
    /**
     * Those of them that failed: refused, ended by an error, or left by their client.
     *
     * @generated from field: uint64 failures = 7;
     */
    failures: bigint;
    /**
     * Tokens of prompts of generations and embeddings that have ended, likewise.
     *
     * @generated from field: uint64 prompt_tokens = 8;
     */
    promptTokens: bigint;
    /**
     * Tokens of answers, likewise, those in flight included.
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
 * Quantiles of times, in seconds, each off by no more than an eighth.
 *
 * @generated from message trident.v1.Quantiles
 */
export type Quantiles = Message<"trident.v1.Quantiles"> & {
    /**
     * Half of the times are no longer.
     *
     * @generated from field: double p50 = 1;
     */
    p50: number;
    /**
     * Nine tenths are no longer.
     *
     * @generated from field: double p90 = 2;
     */
    p90: number;
    /**
     * 99 of 100 are no longer.
     *
     * @generated from field: double p99 = 3;
     */
    p99: number;
    /**
     * Number of times; 0 leaves the quantiles 0.
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
 * ServerService tells of the server's load, whichever API the requests come by.
 *
 * @generated from service trident.v1.ServerService
 */
export declare const ServerService: GenService<{
    /**
     * Watch returns the status at once and then at an interval, until the caller
     * leaves or the server stops, with UNAVAILABLE.
     *
     * @generated from rpc trident.v1.ServerService.Watch
     */
    watch: {
        methodKind: "server_streaming";
        input: typeof ServerServiceWatchRequestSchema;
        output: typeof ServerServiceWatchResponseSchema;
    };
}>;
