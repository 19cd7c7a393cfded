// The models of the server.
import { enumDesc, fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { file_google_protobuf_timestamp } from "@bufbuild/protobuf/wkt";
/**
 * Describes the file trident/v1/model.proto.
 */
export const file_trident_v1_model = /*@__PURE__*/ fileDesc("ChZ0cmlkZW50L3YxL21vZGVsLnByb3RvEgp0cmlkZW50LnYxIr4BCg1Nb2RlbEZlYXR1cmVzEhEKCXN0cmVhbWluZxgBIAEoCBINCgV0b29scxgCIAEoCBIOCgZpbWFnZXMYAyABKAgSEgoKbWF4X2ltYWdlcxgEIAEoDRIQCghsb2dwcm9icxgFIAEoCBIUCgx0b3BfbG9ncHJvYnMYBiABKAgSGQoRc3RydWN0dXJlZF9vdXRwdXQYByABKAgSEQoJcmVhc29uaW5nGAggASgIEhEKCXRva2VuX2lkcxgJIAEoCCLgAgoQU2FtcGxpbmdEZWZhdWx0cxIXCgptYXhfdG9rZW5zGAEgASgNSACIAQESGAoLdGVtcGVyYXR1cmUYAiABKAFIAYgBARISCgV0b3BfcBgDIAEoAUgCiAEBEhIKBXRvcF9rGAQgASgNSAOIAQESEgoFbWluX3AYBSABKAFIBIgBARIdChBwcmVzZW5jZV9wZW5hbHR5GAYgASgBSAWIAQESHgoRZnJlcXVlbmN5X3BlbmFsdHkYByABKAFIBogBARIfChJyZXBldGl0aW9uX3BlbmFsdHkYCCABKAFIB4gBAUINCgtfbWF4X3Rva2Vuc0IOCgxfdGVtcGVyYXR1cmVCCAoGX3RvcF9wQggKBl90b3Bfa0IICgZfbWluX3BCEwoRX3ByZXNlbmNlX3BlbmFsdHlCFAoSX2ZyZXF1ZW5jeV9wZW5hbHR5QhUKE19yZXBldGl0aW9uX3BlbmFsdHki1gMKCU1vZGVsSW5mbxIMCgRuYW1lGAEgASgJEg8KB2FsaWFzZXMYAiADKAkSDwoHdmVyc2lvbhgDIAEoCRIQCgh2ZXJzaW9ucxgEIAMoCRIlCgVzdGF0ZRgFIAEoDjIWLnRyaWRlbnQudjEuTW9kZWxTdGF0ZRIOCgZyZWFzb24YBiABKAkSJAoFdGFza3MYByADKA4yFS50cmlkZW50LnYxLk1vZGVsVGFzaxIMCgRraW5kGAggASgJEg8KB2JhY2tlbmQYCSABKAkSFgoOY29udGV4dF9sZW5ndGgYCiABKA0SKwoIZmVhdHVyZXMYCyABKAsyGS50cmlkZW50LnYxLk1vZGVsRmVhdHVyZXMSLgoIZGVmYXVsdHMYDCABKAsyHC50cmlkZW50LnYxLlNhbXBsaW5nRGVmYXVsdHMSDQoFbG9yYXMYDSADKAkSFAoMbG9hZF9hbGxvd2VkGA4gASgIEhYKDnVubG9hZF9hbGxvd2VkGA8gASgIEisKB2NyZWF0ZWQYECABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wEhoKEnN5c3RlbV9maW5nZXJwcmludBgRIAEoCRIQCghmZXRjaGluZxgSIAEoCCImChdNb2RlbFNlcnZpY2VMaXN0UmVxdWVzdBILCgNhbGwYASABKAgiQQoYTW9kZWxTZXJ2aWNlTGlzdFJlc3BvbnNlEiUKBm1vZGVscxgBIAMoCzIVLnRyaWRlbnQudjEuTW9kZWxJbmZvIicKFk1vZGVsU2VydmljZUdldFJlcXVlc3QSDQoFbW9kZWwYASABKAkiPwoXTW9kZWxTZXJ2aWNlR2V0UmVzcG9uc2USJAoFbW9kZWwYASABKAsyFS50cmlkZW50LnYxLk1vZGVsSW5mbyInChhNb2RlbFNlcnZpY2VXYXRjaFJlcXVlc3QSCwoDYWxsGAEgASgIIlMKGU1vZGVsU2VydmljZVdhdGNoUmVzcG9uc2USJQoGbW9kZWxzGAEgAygLMhUudHJpZGVudC52MS5Nb2RlbEluZm8SDwoHcmVtb3ZlZBgCIAMoCSIoChdNb2RlbFNlcnZpY2VMb2FkUmVxdWVzdBINCgVtb2RlbBgBIAEoCSJAChhNb2RlbFNlcnZpY2VMb2FkUmVzcG9uc2USJAoFbW9kZWwYASABKAsyFS50cmlkZW50LnYxLk1vZGVsSW5mbyIqChlNb2RlbFNlcnZpY2VVbmxvYWRSZXF1ZXN0Eg0KBW1vZGVsGAEgASgJIhwKGk1vZGVsU2VydmljZVVubG9hZFJlc3BvbnNlKskBCgpNb2RlbFN0YXRlEhsKF01PREVMX1NUQVRFX1VOU1BFQ0lGSUVEEAASGgoWTU9ERUxfU1RBVEVfTk9UX0xPQURFRBABEhcKE01PREVMX1NUQVRFX0xPQURJTkcQAhIVChFNT0RFTF9TVEFURV9SRUFEWRADEhkKFU1PREVMX1NUQVRFX1VOTE9BRElORxAEEhsKF01PREVMX1NUQVRFX1VOQVZBSUxBQkxFEAUSGgoWTU9ERUxfU1RBVEVfUkVDT1ZFUklORxAGKrABCglNb2RlbFRhc2sSGgoWTU9ERUxfVEFTS19VTlNQRUNJRklFRBAAEhcKE01PREVMX1RBU0tfQ09NUExFVEUQARITCg9NT0RFTF9UQVNLX0NIQVQQAhIUChBNT0RFTF9UQVNLX0VNQkVEEAMSFAoQTU9ERUxfVEFTS19JTkZFUhAEEhQKEE1PREVMX1RBU0tfU0NPUkUQBRIXChNNT0RFTF9UQVNLX0NMQVNTSUZZEAYyxAMKDE1vZGVsU2VydmljZRJWCgRMaXN0EiMudHJpZGVudC52MS5Nb2RlbFNlcnZpY2VMaXN0UmVxdWVzdBokLnRyaWRlbnQudjEuTW9kZWxTZXJ2aWNlTGlzdFJlc3BvbnNlIgOQAgESUwoDR2V0EiIudHJpZGVudC52MS5Nb2RlbFNlcnZpY2VHZXRSZXF1ZXN0GiMudHJpZGVudC52MS5Nb2RlbFNlcnZpY2VHZXRSZXNwb25zZSIDkAIBElsKBVdhdGNoEiQudHJpZGVudC52MS5Nb2RlbFNlcnZpY2VXYXRjaFJlcXVlc3QaJS50cmlkZW50LnYxLk1vZGVsU2VydmljZVdhdGNoUmVzcG9uc2UiA5ACATABElEKBExvYWQSIy50cmlkZW50LnYxLk1vZGVsU2VydmljZUxvYWRSZXF1ZXN0GiQudHJpZGVudC52MS5Nb2RlbFNlcnZpY2VMb2FkUmVzcG9uc2USVwoGVW5sb2FkEiUudHJpZGVudC52MS5Nb2RlbFNlcnZpY2VVbmxvYWRSZXF1ZXN0GiYudHJpZGVudC52MS5Nb2RlbFNlcnZpY2VVbmxvYWRSZXNwb25zZUJCWkBnaXRodWIuY29tL3RyaWRlbnQtaW5mZXJlbmNlL3RyaWRlbnQvZ2VuL2dvL3RyaWRlbnQvdjE7dHJpZGVudHYxYgZwcm90bzM", [file_google_protobuf_timestamp]);
/**
 * Describes the message trident.v1.ModelFeatures.
 * Use `create(ModelFeaturesSchema)` to create a new message.
 */
export const ModelFeaturesSchema = /*@__PURE__*/ messageDesc(file_trident_v1_model, 0);
/**
 * Describes the message trident.v1.SamplingDefaults.
 * Use `create(SamplingDefaultsSchema)` to create a new message.
 */
export const SamplingDefaultsSchema = /*@__PURE__*/ messageDesc(file_trident_v1_model, 1);
/**
 * Describes the message trident.v1.ModelInfo.
 * Use `create(ModelInfoSchema)` to create a new message.
 */
export const ModelInfoSchema = /*@__PURE__*/ messageDesc(file_trident_v1_model, 2);
/**
 * Describes the message trident.v1.ModelServiceListRequest.
 * Use `create(ModelServiceListRequestSchema)` to create a new message.
 */
export const ModelServiceListRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_model, 3);
/**
 * Describes the message trident.v1.ModelServiceListResponse.
 * Use `create(ModelServiceListResponseSchema)` to create a new message.
 */
export const ModelServiceListResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_model, 4);
/**
 * Describes the message trident.v1.ModelServiceGetRequest.
 * Use `create(ModelServiceGetRequestSchema)` to create a new message.
 */
export const ModelServiceGetRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_model, 5);
/**
 * Describes the message trident.v1.ModelServiceGetResponse.
 * Use `create(ModelServiceGetResponseSchema)` to create a new message.
 */
export const ModelServiceGetResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_model, 6);
/**
 * Describes the message trident.v1.ModelServiceWatchRequest.
 * Use `create(ModelServiceWatchRequestSchema)` to create a new message.
 */
export const ModelServiceWatchRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_model, 7);
/**
 * Describes the message trident.v1.ModelServiceWatchResponse.
 * Use `create(ModelServiceWatchResponseSchema)` to create a new message.
 */
export const ModelServiceWatchResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_model, 8);
/**
 * Describes the message trident.v1.ModelServiceLoadRequest.
 * Use `create(ModelServiceLoadRequestSchema)` to create a new message.
 */
export const ModelServiceLoadRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_model, 9);
/**
 * Describes the message trident.v1.ModelServiceLoadResponse.
 * Use `create(ModelServiceLoadResponseSchema)` to create a new message.
 */
export const ModelServiceLoadResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_model, 10);
/**
 * Describes the message trident.v1.ModelServiceUnloadRequest.
 * Use `create(ModelServiceUnloadRequestSchema)` to create a new message.
 */
export const ModelServiceUnloadRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_model, 11);
/**
 * Describes the message trident.v1.ModelServiceUnloadResponse.
 * Use `create(ModelServiceUnloadResponseSchema)` to create a new message.
 */
export const ModelServiceUnloadResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_model, 12);
/**
 * ModelState is the state of a model.
 *
 * @generated from enum trident.v1.ModelState
 */
export var ModelState;
(function (ModelState) {
    /**
     * The state is unknown.
     *
     * @generated from enum value: MODEL_STATE_UNSPECIFIED = 0;
     */
    ModelState[ModelState["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * The model is in the repository and has never been loaded.
     *
     * @generated from enum value: MODEL_STATE_NOT_LOADED = 1;
     */
    ModelState[ModelState["NOT_LOADED"] = 1] = "NOT_LOADED";
    /**
     * The model is being loaded.
     *
     * @generated from enum value: MODEL_STATE_LOADING = 2;
     */
    ModelState[ModelState["LOADING"] = 2] = "LOADING";
    /**
     * The model serves requests.
     *
     * @generated from enum value: MODEL_STATE_READY = 3;
     */
    ModelState[ModelState["READY"] = 3] = "READY";
    /**
     * The model is unloaded as soon as its requests have ended.
     *
     * @generated from enum value: MODEL_STATE_UNLOADING = 4;
     */
    ModelState[ModelState["UNLOADING"] = 4] = "UNLOADING";
    /**
     * The model was unloaded, or failed to load. The field reason has the cause.
     *
     * @generated from enum value: MODEL_STATE_UNAVAILABLE = 5;
     */
    ModelState[ModelState["UNAVAILABLE"] = 5] = "UNAVAILABLE";
    /**
     * The model failed, and the engine is restarting the model without a request from a
     * client.
     *
     * @generated from enum value: MODEL_STATE_RECOVERING = 6;
     */
    ModelState[ModelState["RECOVERING"] = 6] = "RECOVERING";
})(ModelState || (ModelState = {}));
/**
 * Describes the enum trident.v1.ModelState.
 */
export const ModelStateSchema = /*@__PURE__*/ enumDesc(file_trident_v1_model, 0);
/**
 * ModelTask is a kind of request that a model serves.
 *
 * @generated from enum trident.v1.ModelTask
 */
export var ModelTask;
(function (ModelTask) {
    /**
     * The task isn't set.
     *
     * @generated from enum value: MODEL_TASK_UNSPECIFIED = 0;
     */
    ModelTask[ModelTask["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * The model continues plain text: CompletionService.
     *
     * @generated from enum value: MODEL_TASK_COMPLETE = 1;
     */
    ModelTask[ModelTask["COMPLETE"] = 1] = "COMPLETE";
    /**
     * The model answers chats: ChatService. It has a chat template.
     *
     * @generated from enum value: MODEL_TASK_CHAT = 2;
     */
    ModelTask[ModelTask["CHAT"] = 2] = "CHAT";
    /**
     * The model computes embedding vectors: EmbeddingService.
     *
     * @generated from enum value: MODEL_TASK_EMBED = 3;
     */
    ModelTask[ModelTask["EMBED"] = 3] = "EMBED";
    /**
     * The model accepts tensors: InferService. Every model that is ready has this
     * task.
     *
     * @generated from enum value: MODEL_TASK_INFER = 4;
     */
    ModelTask[ModelTask["INFER"] = 4] = "INFER";
    /**
     * The model scores pairs of texts: EncoderService.Rerank and Score. Models that
     * compute embedding vectors and models that answer chats can also rank documents.
     *
     * @generated from enum value: MODEL_TASK_SCORE = 5;
     */
    ModelTask[ModelTask["SCORE"] = 5] = "SCORE";
    /**
     * The model classifies texts: EncoderService.Classify.
     *
     * @generated from enum value: MODEL_TASK_CLASSIFY = 6;
     */
    ModelTask[ModelTask["CLASSIFY"] = 6] = "CLASSIFY";
})(ModelTask || (ModelTask = {}));
/**
 * Describes the enum trident.v1.ModelTask.
 */
export const ModelTaskSchema = /*@__PURE__*/ enumDesc(file_trident_v1_model, 1);
/**
 * ModelService lists, loads and unloads models. Codes and error details are the same as
 * for ChatService.
 *
 * @generated from service trident.v1.ModelService
 */
export const ModelService = /*@__PURE__*/ serviceDesc(file_trident_v1_model, 0);
