import type { GenEnum, GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file trident/v1/model.proto.
 */
export declare const file_trident_v1_model: GenFile;
/**
 * ModelFeatures are what a generating model takes and gives beside plain text. One
 * that is false is refused in a request.
 *
 * @generated from message trident.v1.ModelFeatures
 */
export type ModelFeatures = Message<"trident.v1.ModelFeatures"> & {
    /**
     * Answers come in pieces; without it a stream has the answer as one piece, at the
     * end.
     *
     * @generated from field: bool streaming = 1;
     */
    streaming: boolean;
    /**
     * Tools, in chats.
     *
     * @generated from field: bool tools = 2;
     */
    tools: boolean;
    /**
     * Images, in chats.
     *
     * @generated from field: bool images = 3;
     */
    images: boolean;
    /**
     * Most images that one request may have; 0 for no limit of the model's own.
     *
     * @generated from field: uint32 max_images = 4;
     */
    maxImages: number;
    /**
     * Log probabilities of the answer's tokens.
     *
     * @generated from field: bool logprobs = 5;
     */
    logprobs: boolean;
    /**
     * Log probabilities of the likeliest tokens at each position, too.
     *
     * @generated from field: bool top_logprobs = 6;
     */
    topLogprobs: boolean;
    /**
     * Forms of the answer, by response_format, and tool calls that are demanded.
     *
     * @generated from field: bool structured_output = 7;
     */
    structuredOutput: boolean;
    /**
     * The model's reasoning stands apart from its text.
     *
     * @generated from field: bool reasoning = 8;
     */
    reasoning: boolean;
    /**
     * Inputs may be token ids: the server has the model's tokenizer, or the model
     * takes ids.
     *
     * @generated from field: bool token_ids = 9;
     */
    tokenIds: boolean;
};
/**
 * Describes the message trident.v1.ModelFeatures.
 * Use `create(ModelFeaturesSchema)` to create a new message.
 */
export declare const ModelFeaturesSchema: GenMessage<ModelFeatures>;
/**
 * SamplingDefaults are the values that hold for options which a request leaves
 * unset, as far as the server knows them; the others are unset and known to the
 * engine alone.
 *
 * @generated from message trident.v1.SamplingDefaults
 */
export type SamplingDefaults = Message<"trident.v1.SamplingDefaults"> & {
    /**
     * Most tokens of an answer to a chat. Unset means as many as the context has room
     * for.
     *
     * @generated from field: optional uint32 max_tokens = 1;
     */
    maxTokens?: number | undefined;
    /**
     * As the request's field of that name, like all below.
     *
     * @generated from field: optional double temperature = 2;
     */
    temperature?: number | undefined;
    /**
     * See ChatRequest.
     *
     * @generated from field: optional double top_p = 3;
     */
    topP?: number | undefined;
    /**
     * See ChatRequest.
     *
     * @generated from field: optional uint32 top_k = 4;
     */
    topK?: number | undefined;
    /**
     * See ChatRequest.
     *
     * @generated from field: optional double min_p = 5;
     */
    minP?: number | undefined;
    /**
     * See ChatRequest.
     *
     * @generated from field: optional double presence_penalty = 6;
     */
    presencePenalty?: number | undefined;
    /**
     * See ChatRequest.
     *
     * @generated from field: optional double frequency_penalty = 7;
     */
    frequencyPenalty?: number | undefined;
    /**
     * See ChatRequest.
     *
     * @generated from field: optional double repetition_penalty = 8;
     */
    repetitionPenalty?: number | undefined;
};
/**
 * Describes the message trident.v1.SamplingDefaults.
 * Use `create(SamplingDefaultsSchema)` to create a new message.
 */
export declare const SamplingDefaultsSchema: GenMessage<SamplingDefaults>;
/**
 * ModelInfo is what is known of one model. Of a model that is not ready only its
 * name, versions, state, reason and what may be done to it are known.
 *
 * @generated from message trident.v1.ModelInfo
 */
export type ModelInfo = Message<"trident.v1.ModelInfo"> & {
    /**
     * Its own name.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Further names that requests may use: aliases, and with an operator's consent
     * its LoRA adapters under names made of the model's and theirs.
     *
     * @generated from field: repeated string aliases = 2;
     */
    aliases: string[];
    /**
     * Version that requests without one reach.
     *
     * @generated from field: string version = 3;
     */
    version: string;
    /**
     * All versions that the engine tells of, the one above among them.
     *
     * @generated from field: repeated string versions = 4;
     */
    versions: string[];
    /**
     * What it is doing.
     *
     * @generated from field: trident.v1.ModelState state = 5;
     */
    state: ModelState;
    /**
     * The engine's text on a model that is not ready. Empty for none.
     *
     * @generated from field: string reason = 6;
     */
    reason: string;
    /**
     * What it can be asked for, in the order of the enum.
     *
     * @generated from field: repeated trident.v1.ModelTask tasks = 7;
     */
    tasks: ModelTask[];
    /**
     * The contract by which the server speaks to it: vllm, tensorrtllm, llmapi or
     * python; "tensors only" for a model of other tensors.
     *
     * @generated from field: string kind = 8;
     */
    kind: string;
    /**
     * Triton's backend or platform that runs it, such as vllm, python or
     * onnxruntime_onnx.
     *
     * @generated from field: string backend = 9;
     */
    backend: string;
    /**
     * Tokens of prompt and answer together; 0 where it is not known.
     *
     * @generated from field: uint32 context_length = 10;
     */
    contextLength: number;
    /**
     * What a generating model takes and gives beside plain text. Unset of others.
     *
     * @generated from field: trident.v1.ModelFeatures features = 11;
     */
    features?: ModelFeatures | undefined;
    /**
     * What holds for unset options of a generating model. Unset of others.
     *
     * @generated from field: trident.v1.SamplingDefaults defaults = 12;
     */
    defaults?: SamplingDefaults | undefined;
    /**
     * Names of its LoRA adapters that are known.
     *
     * @generated from field: repeated string loras = 13;
     */
    loras: string[];
    /**
     * Whether Load may be called: the engine allows it, and the model is not loaded.
     *
     * @generated from field: bool load_allowed = 14;
     */
    loadAllowed: boolean;
    /**
     * Whether Unload may be called: the engine allows it, and the model is ready.
     *
     * @generated from field: bool unload_allowed = 15;
     */
    unloadAllowed: boolean;
    /**
     * When the server first saw this configuration.
     *
     * @generated from field: google.protobuf.Timestamp created = 16;
     */
    created?: Timestamp | undefined;
    /**
     * Changes with the server's version and the model's configuration, and with
     * nothing else. Empty unless ready.
     *
     * @generated from field: string system_fingerprint = 17;
     */
    systemFingerprint: string;
    /**
     * True until the hub has given what the model's maker published: its template,
     * tokenizer and context length may still change.
     *
     * @generated from field: bool fetching = 18;
     */
    fetching: boolean;
};
/**
 * Describes the message trident.v1.ModelInfo.
 * Use `create(ModelInfoSchema)` to create a new message.
 */
export declare const ModelInfoSchema: GenMessage<ModelInfo>;
/**
 * ModelServiceListRequest asks for models.
 *
 * @generated from message trident.v1.ModelServiceListRequest
 */
export type ModelServiceListRequest = Message<"trident.v1.ModelServiceListRequest"> & {
    /**
     * False returns those that generate or embed and are ready, as OpenAI's list
     * does; true all that the engines know, in any state and of any tensors. Models
     * that their operator hides are in neither.
     *
     * @generated from field: bool all = 1;
     */
    all: boolean;
};
/**
 * Describes the message trident.v1.ModelServiceListRequest.
 * Use `create(ModelServiceListRequestSchema)` to create a new message.
 */
export declare const ModelServiceListRequestSchema: GenMessage<ModelServiceListRequest>;
/**
 * ModelServiceListResponse has the models.
 *
 * @generated from message trident.v1.ModelServiceListResponse
 */
export type ModelServiceListResponse = Message<"trident.v1.ModelServiceListResponse"> & {
    /**
     * The models, by name.
     *
     * @generated from field: repeated trident.v1.ModelInfo models = 1;
     */
    models: ModelInfo[];
};
/**
 * Describes the message trident.v1.ModelServiceListResponse.
 * Use `create(ModelServiceListResponseSchema)` to create a new message.
 */
export declare const ModelServiceListResponseSchema: GenMessage<ModelServiceListResponse>;
/**
 * ModelServiceGetRequest asks for one model.
 *
 * @generated from message trident.v1.ModelServiceGetRequest
 */
export type ModelServiceGetRequest = Message<"trident.v1.ModelServiceGetRequest"> & {
    /**
     * Any of its names. Required.
     *
     * @generated from field: string model = 1;
     */
    model: string;
};
/**
 * Describes the message trident.v1.ModelServiceGetRequest.
 * Use `create(ModelServiceGetRequestSchema)` to create a new message.
 */
export declare const ModelServiceGetRequestSchema: GenMessage<ModelServiceGetRequest>;
/**
 * ModelServiceGetResponse has the model.
 *
 * @generated from message trident.v1.ModelServiceGetResponse
 */
export type ModelServiceGetResponse = Message<"trident.v1.ModelServiceGetResponse"> & {
    /**
     * The model.
     *
     * @generated from field: trident.v1.ModelInfo model = 1;
     */
    model?: ModelInfo | undefined;
};
/**
 * Describes the message trident.v1.ModelServiceGetResponse.
 * Use `create(ModelServiceGetResponseSchema)` to create a new message.
 */
export declare const ModelServiceGetResponseSchema: GenMessage<ModelServiceGetResponse>;
/**
 * ModelServiceWatchRequest asks for models and their changes.
 *
 * @generated from message trident.v1.ModelServiceWatchRequest
 */
export type ModelServiceWatchRequest = Message<"trident.v1.ModelServiceWatchRequest"> & {
    /**
     * Which models, as in ModelServiceListRequest.
     *
     * @generated from field: bool all = 1;
     */
    all: boolean;
};
/**
 * Describes the message trident.v1.ModelServiceWatchRequest.
 * Use `create(ModelServiceWatchRequestSchema)` to create a new message.
 */
export declare const ModelServiceWatchRequestSchema: GenMessage<ModelServiceWatchRequest>;
/**
 * ModelServiceWatchResponse is all models in the first message, and a change in each
 * later one. A message with nothing in it after the first is a sign of life.
 *
 * @generated from message trident.v1.ModelServiceWatchResponse
 */
export type ModelServiceWatchResponse = Message<"trident.v1.ModelServiceWatchResponse"> & {
    /**
     * Models that are new or have changed, by name.
     *
     * @generated from field: repeated trident.v1.ModelInfo models = 1;
     */
    models: ModelInfo[];
    /**
     * Names of models that are gone, or no longer among those asked for.
     *
     * @generated from field: repeated string removed = 2;
     */
    removed: string[];
};
/**
 * Describes the message trident.v1.ModelServiceWatchResponse.
 * Use `create(ModelServiceWatchResponseSchema)` to create a new message.
 */
export declare const ModelServiceWatchResponseSchema: GenMessage<ModelServiceWatchResponse>;
/**
 * ModelServiceLoadRequest asks for a load.
 *
 * @generated from message trident.v1.ModelServiceLoadRequest
 */
export type ModelServiceLoadRequest = Message<"trident.v1.ModelServiceLoadRequest"> & {
    /**
     * The model's own name. Required.
     *
     * @generated from field: string model = 1;
     */
    model: string;
};
/**
 * Describes the message trident.v1.ModelServiceLoadRequest.
 * Use `create(ModelServiceLoadRequestSchema)` to create a new message.
 */
export declare const ModelServiceLoadRequestSchema: GenMessage<ModelServiceLoadRequest>;
/**
 * ModelServiceLoadResponse has the loaded model.
 *
 * @generated from message trident.v1.ModelServiceLoadResponse
 */
export type ModelServiceLoadResponse = Message<"trident.v1.ModelServiceLoadResponse"> & {
    /**
     * The model.
     *
     * @generated from field: trident.v1.ModelInfo model = 1;
     */
    model?: ModelInfo | undefined;
};
/**
 * Describes the message trident.v1.ModelServiceLoadResponse.
 * Use `create(ModelServiceLoadResponseSchema)` to create a new message.
 */
export declare const ModelServiceLoadResponseSchema: GenMessage<ModelServiceLoadResponse>;
/**
 * ModelServiceUnloadRequest asks for an unload.
 *
 * @generated from message trident.v1.ModelServiceUnloadRequest
 */
export type ModelServiceUnloadRequest = Message<"trident.v1.ModelServiceUnloadRequest"> & {
    /**
     * The model's own name. Required.
     *
     * @generated from field: string model = 1;
     */
    model: string;
};
/**
 * Describes the message trident.v1.ModelServiceUnloadRequest.
 * Use `create(ModelServiceUnloadRequestSchema)` to create a new message.
 */
export declare const ModelServiceUnloadRequestSchema: GenMessage<ModelServiceUnloadRequest>;
/**
 * ModelServiceUnloadResponse says that the model is gone.
 *
 * @generated from message trident.v1.ModelServiceUnloadResponse
 */
export type ModelServiceUnloadResponse = Message<"trident.v1.ModelServiceUnloadResponse"> & {};
/**
 * Describes the message trident.v1.ModelServiceUnloadResponse.
 * Use `create(ModelServiceUnloadResponseSchema)` to create a new message.
 */
export declare const ModelServiceUnloadResponseSchema: GenMessage<ModelServiceUnloadResponse>;
/**
 * ModelState is what a model is doing.
 *
 * @generated from enum trident.v1.ModelState
 */
export declare enum ModelState {
    /**
     * Not known.
     *
     * @generated from enum value: MODEL_STATE_UNSPECIFIED = 0;
     */
    UNSPECIFIED = 0,
    /**
     * In the repository, and never loaded.
     *
     * @generated from enum value: MODEL_STATE_NOT_LOADED = 1;
     */
    NOT_LOADED = 1,
    /**
     * Being loaded.
     *
     * @generated from enum value: MODEL_STATE_LOADING = 2;
     */
    LOADING = 2,
    /**
     * Serving requests.
     *
     * @generated from enum value: MODEL_STATE_READY = 3;
     */
    READY = 3,
    /**
     * Being unloaded, once its requests have ended.
     *
     * @generated from enum value: MODEL_STATE_UNLOADING = 4;
     */
    UNLOADING = 4,
    /**
     * Unloaded, or failed to load; the reason says which.
     *
     * @generated from enum value: MODEL_STATE_UNAVAILABLE = 5;
     */
    UNAVAILABLE = 5,
    /**
     * Broke down, and the engine is bringing it back by itself.
     *
     * @generated from enum value: MODEL_STATE_RECOVERING = 6;
     */
    RECOVERING = 6
}
/**
 * Describes the enum trident.v1.ModelState.
 */
export declare const ModelStateSchema: GenEnum<ModelState>;
/**
 * ModelTask is what a model can be asked for.
 *
 * @generated from enum trident.v1.ModelTask
 */
export declare enum ModelTask {
    /**
     * Not set.
     *
     * @generated from enum value: MODEL_TASK_UNSPECIFIED = 0;
     */
    UNSPECIFIED = 0,
    /**
     * Continuations of plain texts: CompletionService.
     *
     * @generated from enum value: MODEL_TASK_COMPLETE = 1;
     */
    COMPLETE = 1,
    /**
     * Chats: ChatService. The model has a chat template.
     *
     * @generated from enum value: MODEL_TASK_CHAT = 2;
     */
    CHAT = 2,
    /**
     * Vectors: EmbeddingService.
     *
     * @generated from enum value: MODEL_TASK_EMBED = 3;
     */
    EMBED = 3,
    /**
     * Tensors: InferService. Every model that is ready.
     *
     * @generated from enum value: MODEL_TASK_INFER = 4;
     */
    INFER = 4
}
/**
 * Describes the enum trident.v1.ModelTask.
 */
export declare const ModelTaskSchema: GenEnum<ModelTask>;
/**
 * ModelService tells of models and loads them. Codes and details are those of
 * ChatService.
 *
 * @generated from service trident.v1.ModelService
 */
export declare const ModelService: GenService<{
    /**
     * List returns the models, by name.
     *
     * @generated from rpc trident.v1.ModelService.List
     */
    list: {
        methodKind: "unary";
        input: typeof ModelServiceListRequestSchema;
        output: typeof ModelServiceListResponseSchema;
    };
    /**
     * Get returns one model by any of its names. NOT_FOUND for a name that nothing
     * has.
     *
     * @generated from rpc trident.v1.ModelService.Get
     */
    get: {
        methodKind: "unary";
        input: typeof ModelServiceGetRequestSchema;
        output: typeof ModelServiceGetResponseSchema;
    };
    /**
     * Watch returns all models at once and then each change, until the caller leaves
     * or the server stops, with UNAVAILABLE. Loads and unloads by this server show at
     * once, in each of their states; other changes within some seconds: the engine is
     * asked for them. A caller that falls behind by more than 16 changes is told of
     * the newest alone.
     *
     * @generated from rpc trident.v1.ModelService.Watch
     */
    watch: {
        methodKind: "server_streaming";
        input: typeof ModelServiceWatchRequestSchema;
        output: typeof ModelServiceWatchResponseSchema;
    };
    /**
     * Load loads a model of the engine's repository and returns once requests for it
     * are served. INVALID_ARGUMENT for a model that is loaded already, or that no
     * repository has, and where the engine lets nobody load models, which is
     * UNIMPLEMENTED. Leaving does not stop a load.
     *
     * @generated from rpc trident.v1.ModelService.Load
     */
    load: {
        methodKind: "unary";
        input: typeof ModelServiceLoadRequestSchema;
        output: typeof ModelServiceLoadResponseSchema;
    };
    /**
     * Unload unloads a model and returns when it is gone: its requests in flight end
     * first. INVALID_ARGUMENT for a model that is not loaded; otherwise as Load.
     *
     * @generated from rpc trident.v1.ModelService.Unload
     */
    unload: {
        methodKind: "unary";
        input: typeof ModelServiceUnloadRequestSchema;
        output: typeof ModelServiceUnloadResponseSchema;
    };
}>;
