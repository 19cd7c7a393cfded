import type { GenEnum, GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file trident/v1/model.proto.
 */
export declare const file_trident_v1_model: GenFile;
/**
 * ModelFeatures are the features of a generative model besides plain text. The server
 * refuses requests that need a feature whose field is false.
 *
 * @generated from message trident.v1.ModelFeatures
 */
export type ModelFeatures = Message<"trident.v1.ModelFeatures"> & {
    /**
     * The model streams its responses in pieces. If false, a stream has the whole
     * response as one piece at the end.
     *
     * @generated from field: bool streaming = 1;
     */
    streaming: boolean;
    /**
     * The model supports tools in chats.
     *
     * @generated from field: bool tools = 2;
     */
    tools: boolean;
    /**
     * The model supports images in chats.
     *
     * @generated from field: bool images = 3;
     */
    images: boolean;
    /**
     * Maximum number of images of one request. 0 means no limit.
     *
     * @generated from field: uint32 max_images = 4;
     */
    maxImages: number;
    /**
     * The model returns log probabilities of the generated tokens.
     *
     * @generated from field: bool logprobs = 5;
     */
    logprobs: boolean;
    /**
     * The model returns log probabilities of the likeliest tokens at each position.
     *
     * @generated from field: bool top_logprobs = 6;
     */
    topLogprobs: boolean;
    /**
     * The model supports structured outputs (response_format) and forced tool calls.
     *
     * @generated from field: bool structured_output = 7;
     */
    structuredOutput: boolean;
    /**
     * The server separates the model's reasoning from its text.
     *
     * @generated from field: bool reasoning = 8;
     */
    reasoning: boolean;
    /**
     * Inputs may be token ids, because the server has the model's tokenizer or the model
     * accepts token ids.
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
 * SamplingDefaults are the values of options that a request leaves unset. A value
 * that only the engine knows is unset.
 *
 * @generated from message trident.v1.SamplingDefaults
 */
export type SamplingDefaults = Message<"trident.v1.SamplingDefaults"> & {
    /**
     * Maximum number of tokens of a choice of a chat. Unset means the rest of the model's
     * context.
     *
     * @generated from field: optional uint32 max_tokens = 1;
     */
    maxTokens?: number | undefined;
    /**
     * Value of temperature for chats whose ChatRequest leaves temperature unset. Unset
     * if only the engine knows the default.
     *
     * @generated from field: optional double temperature = 2;
     */
    temperature?: number | undefined;
    /**
     * Value of top_p for chats whose ChatRequest leaves top_p unset. Unset if only the
     * engine knows the default.
     *
     * @generated from field: optional double top_p = 3;
     */
    topP?: number | undefined;
    /**
     * Value of top_k for chats whose ChatRequest leaves top_k unset. Unset if only the
     * engine knows the default.
     *
     * @generated from field: optional uint32 top_k = 4;
     */
    topK?: number | undefined;
    /**
     * Value of min_p for chats whose ChatRequest leaves min_p unset. Unset if only the
     * engine knows the default.
     *
     * @generated from field: optional double min_p = 5;
     */
    minP?: number | undefined;
    /**
     * Value of presence_penalty for chats whose ChatRequest leaves presence_penalty
     * unset. Unset if only the engine knows the default.
     *
     * @generated from field: optional double presence_penalty = 6;
     */
    presencePenalty?: number | undefined;
    /**
     * Value of frequency_penalty for chats whose ChatRequest leaves frequency_penalty
     * unset. Unset if only the engine knows the default.
     *
     * @generated from field: optional double frequency_penalty = 7;
     */
    frequencyPenalty?: number | undefined;
    /**
     * Value of repetition_penalty for chats whose ChatRequest leaves
     * repetition_penalty unset. Unset if only the engine knows the default.
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
 * ModelInfo is the server's information on one model. If a model is not ready, only
 * its name, versions, state, reason, load_allowed and unload_allowed are known.
 *
 * @generated from message trident.v1.ModelInfo
 */
export type ModelInfo = Message<"trident.v1.ModelInfo"> & {
    /**
     * The model's own name.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Other names that requests may use. They are the model's aliases and, if the
     * operator allows LoRA adapters, names that combine the model's name and an adapter's
     * name.
     *
     * @generated from field: repeated string aliases = 2;
     */
    aliases: string[];
    /**
     * Version that serves requests without a version.
     *
     * @generated from field: string version = 3;
     */
    version: string;
    /**
     * All versions that the engine reports, including the version in the field version.
     *
     * @generated from field: repeated string versions = 4;
     */
    versions: string[];
    /**
     * State of the model.
     *
     * @generated from field: trident.v1.ModelState state = 5;
     */
    state: ModelState;
    /**
     * The engine's message about a model that is not ready. Empty if there is no
     * message.
     *
     * @generated from field: string reason = 6;
     */
    reason: string;
    /**
     * Tasks of the model, in the order of the enum.
     *
     * @generated from field: repeated trident.v1.ModelTask tasks = 7;
     */
    tasks: ModelTask[];
    /**
     * The interface by which the server calls the model, such as vllm, tensorrtllm,
     * llmapi or python. It is "tensors only" for a model whose tensors match no
     * interface.
     *
     * @generated from field: string kind = 8;
     */
    kind: string;
    /**
     * Triton's backend or platform that runs the model, such as vllm, python or
     * onnxruntime_onnx.
     *
     * @generated from field: string backend = 9;
     */
    backend: string;
    /**
     * Maximum number of tokens of prompt and generated text together. 0 means that the
     * maximum is not known.
     *
     * @generated from field: uint32 context_length = 10;
     */
    contextLength: number;
    /**
     * Features of a generative model besides plain text. Unset for other models.
     *
     * @generated from field: trident.v1.ModelFeatures features = 11;
     */
    features?: ModelFeatures | undefined;
    /**
     * Default options of a generative model. Unset for other models.
     *
     * @generated from field: trident.v1.SamplingDefaults defaults = 12;
     */
    defaults?: SamplingDefaults | undefined;
    /**
     * Names of the model's known LoRA adapters.
     *
     * @generated from field: repeated string loras = 13;
     */
    loras: string[];
    /**
     * Whether Load may be called. It may be called if the engine allows loading and the
     * model is not loaded.
     *
     * @generated from field: bool load_allowed = 14;
     */
    loadAllowed: boolean;
    /**
     * Whether Unload may be called. It may be called if the engine allows unloading and
     * the model is ready.
     *
     * @generated from field: bool unload_allowed = 15;
     */
    unloadAllowed: boolean;
    /**
     * Time at which the server first read this configuration.
     *
     * @generated from field: google.protobuf.Timestamp created = 16;
     */
    created?: Timestamp | undefined;
    /**
     * Identifier of the server's version and the model's configuration. The identifier
     * changes only if the version or the configuration changes. Empty unless the model is
     * ready.
     *
     * @generated from field: string system_fingerprint = 17;
     */
    systemFingerprint: string;
    /**
     * True while the server downloads the files of the model's publisher from the hub.
     * During the download, the chat template, tokenizer and context length may still
     * change.
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
     * False returns the ready models that generate text, or that embed, score or classify
     * texts, as OpenAI's list does. True returns all models of the engines, in any state
     * and with any tensors. Neither list has models that the operator hides.
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
 * ModelServiceListResponse contains the models.
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
     * Name or alias of the model. Required.
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
 * ModelServiceGetResponse contains the model.
 *
 * @generated from message trident.v1.ModelServiceGetResponse
 */
export type ModelServiceGetResponse = Message<"trident.v1.ModelServiceGetResponse"> & {
    /**
     * Description of the model.
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
     * False selects the ready models that generate text, or that embed, score or classify
     * texts. True selects all models of the engines, in any state and with any tensors.
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
 * ModelServiceWatchResponse contains all models in the first message, and a change
 * in each later message. An empty message after the first one is a keep-alive.
 *
 * @generated from message trident.v1.ModelServiceWatchResponse
 */
export type ModelServiceWatchResponse = Message<"trident.v1.ModelServiceWatchResponse"> & {
    /**
     * New and changed models, by name.
     *
     * @generated from field: repeated trident.v1.ModelInfo models = 1;
     */
    models: ModelInfo[];
    /**
     * Names of models that are removed, or that the request no longer selects.
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
 * ModelServiceLoadRequest asks the server to load a model.
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
 * ModelServiceLoadResponse contains the loaded model.
 *
 * @generated from message trident.v1.ModelServiceLoadResponse
 */
export type ModelServiceLoadResponse = Message<"trident.v1.ModelServiceLoadResponse"> & {
    /**
     * Description of the model.
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
 * ModelServiceUnloadRequest asks the server to unload a model.
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
 * ModelServiceUnloadResponse is empty: the model is unloaded.
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
 * ModelState is the state of a model.
 *
 * @generated from enum trident.v1.ModelState
 */
export declare enum ModelState {
    /**
     * The state is unknown.
     *
     * @generated from enum value: MODEL_STATE_UNSPECIFIED = 0;
     */
    UNSPECIFIED = 0,
    /**
     * The model is in the repository and has never been loaded.
     *
     * @generated from enum value: MODEL_STATE_NOT_LOADED = 1;
     */
    NOT_LOADED = 1,
    /**
     * The model is being loaded.
     *
     * @generated from enum value: MODEL_STATE_LOADING = 2;
     */
    LOADING = 2,
    /**
     * The model serves requests.
     *
     * @generated from enum value: MODEL_STATE_READY = 3;
     */
    READY = 3,
    /**
     * The model is unloaded as soon as its requests have ended.
     *
     * @generated from enum value: MODEL_STATE_UNLOADING = 4;
     */
    UNLOADING = 4,
    /**
     * The model was unloaded, or failed to load. The field reason has the cause.
     *
     * @generated from enum value: MODEL_STATE_UNAVAILABLE = 5;
     */
    UNAVAILABLE = 5,
    /**
     * The model failed, and the engine is restarting the model without a request from a
     * client.
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
 * ModelTask is a kind of request that a model serves.
 *
 * @generated from enum trident.v1.ModelTask
 */
export declare enum ModelTask {
    /**
     * The task isn't set.
     *
     * @generated from enum value: MODEL_TASK_UNSPECIFIED = 0;
     */
    UNSPECIFIED = 0,
    /**
     * The model continues plain text: CompletionService.
     *
     * @generated from enum value: MODEL_TASK_COMPLETE = 1;
     */
    COMPLETE = 1,
    /**
     * The model answers chats: ChatService. It has a chat template.
     *
     * @generated from enum value: MODEL_TASK_CHAT = 2;
     */
    CHAT = 2,
    /**
     * The model computes embedding vectors: EmbeddingService.
     *
     * @generated from enum value: MODEL_TASK_EMBED = 3;
     */
    EMBED = 3,
    /**
     * The model accepts tensors: InferService. Every model that is ready has this
     * task.
     *
     * @generated from enum value: MODEL_TASK_INFER = 4;
     */
    INFER = 4,
    /**
     * The model scores pairs of texts: EncoderService.Rerank and Score. Models that
     * compute embedding vectors and models that answer chats can also rank documents.
     *
     * @generated from enum value: MODEL_TASK_SCORE = 5;
     */
    SCORE = 5,
    /**
     * The model classifies texts: EncoderService.Classify.
     *
     * @generated from enum value: MODEL_TASK_CLASSIFY = 6;
     */
    CLASSIFY = 6
}
/**
 * Describes the enum trident.v1.ModelTask.
 */
export declare const ModelTaskSchema: GenEnum<ModelTask>;
/**
 * ModelService lists, loads and unloads models. Codes and error details are the same as
 * for ChatService.
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
     * Get returns one model by any of its names. Get fails with NOT_FOUND if no model has
     * the name.
     *
     * @generated from rpc trident.v1.ModelService.Get
     */
    get: {
        methodKind: "unary";
        input: typeof ModelServiceGetRequestSchema;
        output: typeof ModelServiceGetResponseSchema;
    };
    /**
     * Watch returns all models immediately, and then each change. The stream ends when
     * the client cancels the call, or with UNAVAILABLE when the server stops. If this
     * server loads or unloads a model, Watch sends each new state immediately. Watch
     * sends other changes within some seconds, because the server polls the engine for
     * them. A client that falls behind by more than 16 changes gets only the newest
     * state.
     *
     * @generated from rpc trident.v1.ModelService.Watch
     */
    watch: {
        methodKind: "server_streaming";
        input: typeof ModelServiceWatchRequestSchema;
        output: typeof ModelServiceWatchResponseSchema;
    };
    /**
     * Load loads a model of the engine's repository and returns when the model serves
     * requests. Load fails with INVALID_ARGUMENT if the model is already loaded or no
     * repository contains it. Load fails with UNIMPLEMENTED if the engine doesn't allow
     * loading. If the client disconnects, the load continues.
     *
     * @generated from rpc trident.v1.ModelService.Load
     */
    load: {
        methodKind: "unary";
        input: typeof ModelServiceLoadRequestSchema;
        output: typeof ModelServiceLoadResponseSchema;
    };
    /**
     * Unload unloads a model and returns when its requests in flight have ended and the
     * model is unloaded. Unload fails with INVALID_ARGUMENT if the model is not loaded.
     * Other errors are the same as for Load.
     *
     * @generated from rpc trident.v1.ModelService.Unload
     */
    unload: {
        methodKind: "unary";
        input: typeof ModelServiceUnloadRequestSchema;
        output: typeof ModelServiceUnloadResponseSchema;
    };
}>;
