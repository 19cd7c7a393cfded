import type { GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import type { ModelConfig } from "./model_config_pb.js";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file kserve/grpc_service.proto.
 */
export declare const file_kserve_grpc_service: GenFile;
/**
 * ServerLiveRequest asks for the liveness. It has no content.
 *
 * @generated from message inference.ServerLiveRequest
 */
export type ServerLiveRequest = Message<"inference.ServerLiveRequest"> & {};
/**
 * Describes the message inference.ServerLiveRequest.
 * Use `create(ServerLiveRequestSchema)` to create a new message.
 */
export declare const ServerLiveRequestSchema: GenMessage<ServerLiveRequest>;
/**
 * ServerLiveResponse is the response to ServerLive.
 *
 * @generated from message inference.ServerLiveResponse
 */
export type ServerLiveResponse = Message<"inference.ServerLiveResponse"> & {
    /**
     * True while the process can respond to requests.
     *
     * @generated from field: bool live = 1;
     */
    live: boolean;
};
/**
 * Describes the message inference.ServerLiveResponse.
 * Use `create(ServerLiveResponseSchema)` to create a new message.
 */
export declare const ServerLiveResponseSchema: GenMessage<ServerLiveResponse>;
/**
 * ServerReadyRequest asks for the readiness. It has no content.
 *
 * @generated from message inference.ServerReadyRequest
 */
export type ServerReadyRequest = Message<"inference.ServerReadyRequest"> & {};
/**
 * Describes the message inference.ServerReadyRequest.
 * Use `create(ServerReadyRequestSchema)` to create a new message.
 */
export declare const ServerReadyRequestSchema: GenMessage<ServerReadyRequest>;
/**
 * ServerReadyResponse is the response to ServerReady.
 *
 * @generated from message inference.ServerReadyResponse
 */
export type ServerReadyResponse = Message<"inference.ServerReadyResponse"> & {
    /**
     * True while inference requests are accepted.
     *
     * @generated from field: bool ready = 1;
     */
    ready: boolean;
};
/**
 * Describes the message inference.ServerReadyResponse.
 * Use `create(ServerReadyResponseSchema)` to create a new message.
 */
export declare const ServerReadyResponseSchema: GenMessage<ServerReadyResponse>;
/**
 * ModelReadyRequest names the model to ask about.
 *
 * @generated from message inference.ModelReadyRequest
 */
export type ModelReadyRequest = Message<"inference.ModelReadyRequest"> & {
    /**
     * Name of the model. Required.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Version in decimal, such as "3". If it is empty, the server chooses the
     * version.
     *
     * @generated from field: string version = 2;
     */
    version: string;
};
/**
 * Describes the message inference.ModelReadyRequest.
 * Use `create(ModelReadyRequestSchema)` to create a new message.
 */
export declare const ModelReadyRequestSchema: GenMessage<ModelReadyRequest>;
/**
 * ModelReadyResponse is the response to ModelReady.
 *
 * @generated from message inference.ModelReadyResponse
 */
export type ModelReadyResponse = Message<"inference.ModelReadyResponse"> & {
    /**
     * True while the model accepts requests. An unknown model is not ready, and
     * causes no error.
     *
     * @generated from field: bool ready = 1;
     */
    ready: boolean;
};
/**
 * Describes the message inference.ModelReadyResponse.
 * Use `create(ModelReadyResponseSchema)` to create a new message.
 */
export declare const ModelReadyResponseSchema: GenMessage<ModelReadyResponse>;
/**
 * ServerMetadataRequest asks for the server's description. It has no content.
 *
 * @generated from message inference.ServerMetadataRequest
 */
export type ServerMetadataRequest = Message<"inference.ServerMetadataRequest"> & {};
/**
 * Describes the message inference.ServerMetadataRequest.
 * Use `create(ServerMetadataRequestSchema)` to create a new message.
 */
export declare const ServerMetadataRequestSchema: GenMessage<ServerMetadataRequest>;
/**
 * ServerMetadataResponse describes the server.
 *
 * @generated from message inference.ServerMetadataResponse
 */
export type ServerMetadataResponse = Message<"inference.ServerMetadataResponse"> & {
    /**
     * Name of the server. It is "triton" unless the operator has set a server id.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Version of the server, such as "2.51.0".
     *
     * @generated from field: string version = 2;
     */
    version: string;
    /**
     * Protocol extensions that are compiled in, such as "classification" or
     * "model_repository". The list can contain disabled extensions.
     *
     * @generated from field: repeated string extensions = 3;
     */
    extensions: string[];
};
/**
 * Describes the message inference.ServerMetadataResponse.
 * Use `create(ServerMetadataResponseSchema)` to create a new message.
 */
export declare const ServerMetadataResponseSchema: GenMessage<ServerMetadataResponse>;
/**
 * ModelMetadataRequest names the model to describe.
 *
 * @generated from message inference.ModelMetadataRequest
 */
export type ModelMetadataRequest = Message<"inference.ModelMetadataRequest"> & {
    /**
     * Name of the model. Required.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Version in decimal. If it is empty, the server chooses the version.
     *
     * @generated from field: string version = 2;
     */
    version: string;
};
/**
 * Describes the message inference.ModelMetadataRequest.
 * Use `create(ModelMetadataRequestSchema)` to create a new message.
 */
export declare const ModelMetadataRequestSchema: GenMessage<ModelMetadataRequest>;
/**
 * ModelMetadataResponse describes a loaded model from a client's view.
 *
 * @generated from message inference.ModelMetadataResponse
 */
export type ModelMetadataResponse = Message<"inference.ModelMetadataResponse"> & {
    /**
     * Name of the model.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Versions that are ready, in decimal.
     *
     * @generated from field: repeated string versions = 2;
     */
    versions: string[];
    /**
     * Framework or backend, such as "onnxruntime_onnx", "python" or "ensemble".
     *
     * @generated from field: string platform = 3;
     */
    platform: string;
    /**
     * Inputs in the order of the configuration, including optional inputs.
     * ModelConfig returns which inputs are optional.
     *
     * @generated from field: repeated inference.ModelMetadataResponse.TensorMetadata inputs = 4;
     */
    inputs: ModelMetadataResponse_TensorMetadata[];
    /**
     * Outputs in the order of the configuration.
     *
     * @generated from field: repeated inference.ModelMetadataResponse.TensorMetadata outputs = 5;
     */
    outputs: ModelMetadataResponse_TensorMetadata[];
};
/**
 * Describes the message inference.ModelMetadataResponse.
 * Use `create(ModelMetadataResponseSchema)` to create a new message.
 */
export declare const ModelMetadataResponseSchema: GenMessage<ModelMetadataResponse>;
/**
 * TensorMetadata describes one input or output.
 *
 * @generated from message inference.ModelMetadataResponse.TensorMetadata
 */
export type ModelMetadataResponse_TensorMetadata = Message<"inference.ModelMetadataResponse.TensorMetadata"> & {
    /**
     * Name by which requests and responses refer to the tensor.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Element type of the protocol: BOOL, UINT8 to UINT64, INT8 to INT64, FP16,
     * BF16, FP32, FP64 or BYTES. The name of BYTES in configurations is
     * TYPE_STRING.
     *
     * @generated from field: string datatype = 2;
     */
    datatype: string;
    /**
     * Dimensions. -1 means any size. If the model has a batch dimension, this
     * dimension is first and is -1.
     *
     * @generated from field: repeated int64 shape = 3;
     */
    shape: bigint[];
};
/**
 * Describes the message inference.ModelMetadataResponse.TensorMetadata.
 * Use `create(ModelMetadataResponse_TensorMetadataSchema)` to create a new message.
 */
export declare const ModelMetadataResponse_TensorMetadataSchema: GenMessage<ModelMetadataResponse_TensorMetadata>;
/**
 * InferParameter is the value of a parameter of a request, a tensor or a
 * response. The value must have the type that the parameter requires. A
 * parameter without a value is refused.
 *
 * @generated from message inference.InferParameter
 */
export type InferParameter = Message<"inference.InferParameter"> & {
    /**
     * The value. Exactly one field is set.
     *
     * @generated from oneof inference.InferParameter.parameter_choice
     */
    parameterChoice: {
        /**
         * A Boolean value, as for "sequence_start" or "triton_final_response".
         *
         * @generated from field: bool bool_param = 1;
         */
        value: boolean;
        case: "boolParam";
    } | {
        /**
         * A signed integer, as for "sequence_id", "binary_data_size" or the
         * microseconds of "timeout".
         *
         * @generated from field: int64 int64_param = 2;
         */
        value: bigint;
        case: "int64Param";
    } | {
        /**
         * A string, as for "shared_memory_region" or for a "sequence_id" that is a
         * string.
         *
         * @generated from field: string string_param = 3;
         */
        value: string;
        case: "stringParam";
    } | {
        /**
         * A floating-point number, for parameters that models define.
         *
         * @generated from field: double double_param = 4;
         */
        value: number;
        case: "doubleParam";
    } | {
        /**
         * An unsigned integer, for values above the range of int64, as for
         * "priority".
         *
         * @generated from field: uint64 uint64_param = 5;
         */
        value: bigint;
        case: "uint64Param";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message inference.InferParameter.
 * Use `create(InferParameterSchema)` to create a new message.
 */
export declare const InferParameterSchema: GenMessage<InferParameter>;
/**
 * InferTensorContents holds the elements of a tensor as protobuf values,
 * flattened in row-major order. Exactly one field is set: the field of the
 * tensor's datatype. It has as many elements as the shape requires. FP16 and
 * BF16 have no field and can be sent only as raw bytes. Raw bytes are also
 * cheaper to encode and decode for all other datatypes.
 *
 * @generated from message inference.InferTensorContents
 */
export type InferTensorContents = Message<"inference.InferTensorContents"> & {
    /**
     * Elements of a BOOL tensor.
     *
     * @generated from field: repeated bool bool_contents = 1;
     */
    boolContents: boolean[];
    /**
     * Elements of an INT8, INT16 or INT32 tensor. Each element must be in the
     * range of this type.
     *
     * @generated from field: repeated int32 int_contents = 2;
     */
    intContents: number[];
    /**
     * Elements of an INT64 tensor.
     *
     * @generated from field: repeated int64 int64_contents = 3;
     */
    int64Contents: bigint[];
    /**
     * Elements of a UINT8, UINT16 or UINT32 tensor. Each element must be in the
     * range of this type.
     *
     * @generated from field: repeated uint32 uint_contents = 4;
     */
    uintContents: number[];
    /**
     * Elements of a UINT64 tensor.
     *
     * @generated from field: repeated uint64 uint64_contents = 5;
     */
    uint64Contents: bigint[];
    /**
     * Elements of an FP32 tensor.
     *
     * @generated from field: repeated float fp32_contents = 6;
     */
    fp32Contents: number[];
    /**
     * Elements of an FP64 tensor.
     *
     * @generated from field: repeated double fp64_contents = 7;
     */
    fp64Contents: number[];
    /**
     * Elements of a BYTES tensor, each of any length and without a length prefix.
     *
     * @generated from field: repeated bytes bytes_contents = 8;
     */
    bytesContents: Uint8Array[];
};
/**
 * Describes the message inference.InferTensorContents.
 * Use `create(InferTensorContentsSchema)` to create a new message.
 */
export declare const InferTensorContentsSchema: GenMessage<InferTensorContents>;
/**
 * ModelInferRequest asks a model for one inference.
 *
 * @generated from message inference.ModelInferRequest
 */
export type ModelInferRequest = Message<"inference.ModelInferRequest"> & {
    /**
     * Name of the model. Required.
     *
     * @generated from field: string model_name = 1;
     */
    modelName: string;
    /**
     * Version in decimal. If it is empty, the server chooses the version.
     *
     * @generated from field: string model_version = 2;
     */
    modelVersion: string;
    /**
     * Optional identifier that the caller chooses. Every response to this request
     * has the same identifier. A client that sends several requests in one stream
     * needs identifiers to match the responses to the requests.
     *
     * @generated from field: string id = 3;
     */
    id: string;
    /**
     * Request parameters. The server reads "sequence_id", "sequence_start",
     * "sequence_end", "priority", "timeout" (the maximum time in the queue, in
     * microseconds), and all names with the prefix "triton_". The model gets all
     * other parameters. If "triton_enable_empty_final_response" is true, a
     * decoupled model always sends a last response, even if this response has no
     * outputs.
     *
     * @generated from field: map<string, inference.InferParameter> parameters = 4;
     */
    parameters: {
        [key: string]: InferParameter;
    };
    /**
     * Inputs, in any order. Every required input of the model must be present.
     *
     * @generated from field: repeated inference.ModelInferRequest.InferInputTensor inputs = 5;
     */
    inputs: ModelInferRequest_InferInputTensor[];
    /**
     * Outputs to return. Empty means all outputs.
     *
     * @generated from field: repeated inference.ModelInferRequest.InferRequestedOutputTensor outputs = 6;
     */
    outputs: ModelInferRequest_InferRequestedOutputTensor[];
    /**
     * Data of the inputs as raw bytes: one entry for each input that is not in
     * shared memory, in the order of the inputs. Elements are little-endian and
     * packed in row-major order. A BOOL is one byte. A BYTES element is a 4-byte
     * little-endian length, followed by the bytes. Either all inputs use this
     * form, or no input does.
     *
     * @generated from field: repeated bytes raw_input_contents = 7;
     */
    rawInputContents: Uint8Array[];
};
/**
 * Describes the message inference.ModelInferRequest.
 * Use `create(ModelInferRequestSchema)` to create a new message.
 */
export declare const ModelInferRequestSchema: GenMessage<ModelInferRequest>;
/**
 * InferInputTensor is one input. The data are in contents, in
 * raw_input_contents or in shared memory.
 *
 * @generated from message inference.ModelInferRequest.InferInputTensor
 */
export type ModelInferRequest_InferInputTensor = Message<"inference.ModelInferRequest.InferInputTensor"> & {
    /**
     * Name of an input that the model declares. Undeclared names are refused.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Element type, as in the model's metadata: "FP32", "BYTES", ...
     *
     * @generated from field: string datatype = 2;
     */
    datatype: string;
    /**
     * Full shape, including the batch dimension. No dimension may be -1. An
     * empty shape is a scalar.
     *
     * @generated from field: repeated int64 shape = 3;
     */
    shape: bigint[];
    /**
     * Tensor parameters. With "shared_memory_region" (string),
     * "shared_memory_byte_size" and optionally "shared_memory_offset" (int64,
     * in bytes), the server reads the data from a registered region.
     *
     * @generated from field: map<string, inference.InferParameter> parameters = 4;
     */
    parameters: {
        [key: string]: InferParameter;
    };
    /**
     * The data as typed values. The field must be unset if the request uses
     * raw_input_contents.
     *
     * @generated from field: inference.InferTensorContents contents = 5;
     */
    contents?: InferTensorContents | undefined;
};
/**
 * Describes the message inference.ModelInferRequest.InferInputTensor.
 * Use `create(ModelInferRequest_InferInputTensorSchema)` to create a new message.
 */
export declare const ModelInferRequest_InferInputTensorSchema: GenMessage<ModelInferRequest_InferInputTensor>;
/**
 * InferRequestedOutputTensor asks for one output.
 *
 * @generated from message inference.ModelInferRequest.InferRequestedOutputTensor
 */
export type ModelInferRequest_InferRequestedOutputTensor = Message<"inference.ModelInferRequest.InferRequestedOutputTensor"> & {
    /**
     * Name of an output that the model declares.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Output parameters. With "classification" (int64, n), the server returns
     * the n highest values as strings instead of the tensor. With the shared
     * memory parameters of an input, the server writes the output into a
     * region.
     *
     * @generated from field: map<string, inference.InferParameter> parameters = 2;
     */
    parameters: {
        [key: string]: InferParameter;
    };
};
/**
 * Describes the message inference.ModelInferRequest.InferRequestedOutputTensor.
 * Use `create(ModelInferRequest_InferRequestedOutputTensorSchema)` to create a new message.
 */
export declare const ModelInferRequest_InferRequestedOutputTensorSchema: GenMessage<ModelInferRequest_InferRequestedOutputTensor>;
/**
 * ModelInferResponse is one response of a model.
 *
 * @generated from message inference.ModelInferResponse
 */
export type ModelInferResponse = Message<"inference.ModelInferResponse"> & {
    /**
     * Name of the model that sent the response.
     *
     * @generated from field: string model_name = 1;
     */
    modelName: string;
    /**
     * Version of the model that sent the response, in decimal.
     *
     * @generated from field: string model_version = 2;
     */
    modelVersion: string;
    /**
     * Identifier of the request. Empty if the request has no identifier.
     *
     * @generated from field: string id = 3;
     */
    id: string;
    /**
     * Response parameters. "triton_final_response" (bool) is true in the last
     * response to a request. Other parameters come from the model.
     *
     * @generated from field: map<string, inference.InferParameter> parameters = 4;
     */
    parameters: {
        [key: string]: InferParameter;
    };
    /**
     * Outputs. A response that only marks the end of a request has no outputs.
     *
     * @generated from field: repeated inference.ModelInferResponse.InferOutputTensor outputs = 5;
     */
    outputs: ModelInferResponse_InferOutputTensor[];
    /**
     * Data of the outputs as raw bytes: one entry for each output, in the order
     * of the outputs, in the format of raw_input_contents. The entry of an output
     * in shared memory is empty.
     *
     * @generated from field: repeated bytes raw_output_contents = 6;
     */
    rawOutputContents: Uint8Array[];
};
/**
 * Describes the message inference.ModelInferResponse.
 * Use `create(ModelInferResponseSchema)` to create a new message.
 */
export declare const ModelInferResponseSchema: GenMessage<ModelInferResponse>;
/**
 * InferOutputTensor is one output. The data are in contents, in
 * raw_output_contents or in shared memory.
 *
 * @generated from message inference.ModelInferResponse.InferOutputTensor
 */
export type ModelInferResponse_InferOutputTensor = Message<"inference.ModelInferResponse.InferOutputTensor"> & {
    /**
     * Name of the output.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Element type. It is BYTES for a classification.
     *
     * @generated from field: string datatype = 2;
     */
    datatype: string;
    /**
     * Full shape, including the batch dimension.
     *
     * @generated from field: repeated int64 shape = 3;
     */
    shape: bigint[];
    /**
     * Tensor parameters. The shared memory parameters name the region that has
     * the data.
     *
     * @generated from field: map<string, inference.InferParameter> parameters = 4;
     */
    parameters: {
        [key: string]: InferParameter;
    };
    /**
     * The data as typed values. The field is unset if the response uses
     * raw_output_contents, as Triton's responses always do.
     *
     * @generated from field: inference.InferTensorContents contents = 5;
     */
    contents?: InferTensorContents | undefined;
};
/**
 * Describes the message inference.ModelInferResponse.InferOutputTensor.
 * Use `create(ModelInferResponse_InferOutputTensorSchema)` to create a new message.
 */
export declare const ModelInferResponse_InferOutputTensorSchema: GenMessage<ModelInferResponse_InferOutputTensor>;
/**
 * ModelStreamInferResponse is one item of a response stream: a response, or the
 * failure of one request.
 *
 * @generated from message inference.ModelStreamInferResponse
 */
export type ModelStreamInferResponse = Message<"inference.ModelStreamInferResponse"> & {
    /**
     * Reason why a request failed. Empty in a response. A failure does not end
     * the stream, but the failed request gets no further responses.
     *
     * @generated from field: string error_message = 1;
     */
    errorMessage: string;
    /**
     * The response. If error_message is set, the response has at most the
     * request's id.
     *
     * @generated from field: inference.ModelInferResponse infer_response = 2;
     */
    inferResponse?: ModelInferResponse | undefined;
};
/**
 * Describes the message inference.ModelStreamInferResponse.
 * Use `create(ModelStreamInferResponseSchema)` to create a new message.
 */
export declare const ModelStreamInferResponseSchema: GenMessage<ModelStreamInferResponse>;
/**
 * ModelConfigRequest names the model whose configuration is returned.
 *
 * @generated from message inference.ModelConfigRequest
 */
export type ModelConfigRequest = Message<"inference.ModelConfigRequest"> & {
    /**
     * Name of the model. Required. The model must be loaded.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Version in decimal. If it is empty, the server chooses the version.
     *
     * @generated from field: string version = 2;
     */
    version: string;
};
/**
 * Describes the message inference.ModelConfigRequest.
 * Use `create(ModelConfigRequestSchema)` to create a new message.
 */
export declare const ModelConfigRequestSchema: GenMessage<ModelConfigRequest>;
/**
 * ModelConfigResponse is the response to ModelConfig.
 *
 * @generated from message inference.ModelConfigResponse
 */
export type ModelConfigResponse = Message<"inference.ModelConfigResponse"> & {
    /**
     * The configuration, completed by the server.
     *
     * @generated from field: inference.ModelConfig config = 1;
     */
    config?: ModelConfig | undefined;
};
/**
 * Describes the message inference.ModelConfigResponse.
 * Use `create(ModelConfigResponseSchema)` to create a new message.
 */
export declare const ModelConfigResponseSchema: GenMessage<ModelConfigResponse>;
/**
 * ModelStatisticsRequest names the model whose counters are returned.
 *
 * @generated from message inference.ModelStatisticsRequest
 */
export type ModelStatisticsRequest = Message<"inference.ModelStatisticsRequest"> & {
    /**
     * Name of the model. Empty means all models.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Version in decimal. Empty means all versions.
     *
     * @generated from field: string version = 2;
     */
    version: string;
};
/**
 * Describes the message inference.ModelStatisticsRequest.
 * Use `create(ModelStatisticsRequestSchema)` to create a new message.
 */
export declare const ModelStatisticsRequestSchema: GenMessage<ModelStatisticsRequest>;
/**
 * StatisticDuration is the number of events of one kind and their total
 * duration.
 *
 * @generated from message inference.StatisticDuration
 */
export type StatisticDuration = Message<"inference.StatisticDuration"> & {
    /**
     * Number of events since the model was loaded.
     *
     * @generated from field: uint64 count = 1;
     */
    count: bigint;
    /**
     * Total duration of the events, in nanoseconds.
     *
     * @generated from field: uint64 ns = 2;
     */
    ns: bigint;
};
/**
 * Describes the message inference.StatisticDuration.
 * Use `create(StatisticDurationSchema)` to create a new message.
 */
export declare const StatisticDurationSchema: GenMessage<StatisticDuration>;
/**
 * InferStatistics has the time of a model's requests by phase. In batched
 * phases, a request counts once, whatever the size of the batch.
 *
 * @generated from message inference.InferStatistics
 */
export type InferStatistics = Message<"inference.InferStatistics"> & {
    /**
     * Requests that succeeded, end to end. They include cache hits.
     *
     * @generated from field: inference.StatisticDuration success = 1;
     */
    success?: StatisticDuration | undefined;
    /**
     * Requests that failed, end to end.
     *
     * @generated from field: inference.StatisticDuration fail = 2;
     */
    fail?: StatisticDuration | undefined;
    /**
     * Time in the scheduler's queue.
     *
     * @generated from field: inference.StatisticDuration queue = 3;
     */
    queue?: StatisticDuration | undefined;
    /**
     * Time to prepare the inputs for the model, including copies to a GPU.
     *
     * @generated from field: inference.StatisticDuration compute_input = 4;
     */
    computeInput?: StatisticDuration | undefined;
    /**
     * Time in the model itself.
     *
     * @generated from field: inference.StatisticDuration compute_infer = 5;
     */
    computeInfer?: StatisticDuration | undefined;
    /**
     * Time to return the outputs, including copies from a GPU.
     *
     * @generated from field: inference.StatisticDuration compute_output = 6;
     */
    computeOutput?: StatisticDuration | undefined;
    /**
     * Requests whose response is from the response cache, and the time of the
     * lookup.
     *
     * @generated from field: inference.StatisticDuration cache_hit = 7;
     */
    cacheHit?: StatisticDuration | undefined;
    /**
     * Requests whose response was not in the response cache, and the time of
     * lookup and insertion.
     *
     * @generated from field: inference.StatisticDuration cache_miss = 8;
     */
    cacheMiss?: StatisticDuration | undefined;
};
/**
 * Describes the message inference.InferStatistics.
 * Use `create(InferStatisticsSchema)` to create a new message.
 */
export declare const InferStatisticsSchema: GenMessage<InferStatistics>;
/**
 * InferResponseStatistics has the time of a decoupled model's responses at one
 * position in the stream.
 *
 * @generated from message inference.InferResponseStatistics
 */
export type InferResponseStatistics = Message<"inference.InferResponseStatistics"> & {
    /**
     * Time in the model for this response.
     *
     * @generated from field: inference.StatisticDuration compute_infer = 1;
     */
    computeInfer?: StatisticDuration | undefined;
    /**
     * Time to return this response's outputs.
     *
     * @generated from field: inference.StatisticDuration compute_output = 2;
     */
    computeOutput?: StatisticDuration | undefined;
    /**
     * Responses that succeeded, from the start of the computation until they are
     * sent.
     *
     * @generated from field: inference.StatisticDuration success = 3;
     */
    success?: StatisticDuration | undefined;
    /**
     * Responses with an error.
     *
     * @generated from field: inference.StatisticDuration fail = 4;
     */
    fail?: StatisticDuration | undefined;
    /**
     * Responses without outputs, such as a response that only marks the end of a
     * request.
     *
     * @generated from field: inference.StatisticDuration empty_response = 5;
     */
    emptyResponse?: StatisticDuration | undefined;
    /**
     * Responses that were not sent because the request was cancelled.
     *
     * @generated from field: inference.StatisticDuration cancel = 6;
     */
    cancel?: StatisticDuration | undefined;
};
/**
 * Describes the message inference.InferResponseStatistics.
 * Use `create(InferResponseStatisticsSchema)` to create a new message.
 */
export declare const InferResponseStatisticsSchema: GenMessage<InferResponseStatistics>;
/**
 * InferBatchStatistics has the time of the executions with one batch size, by
 * phase.
 *
 * @generated from message inference.InferBatchStatistics
 */
export type InferBatchStatistics = Message<"inference.InferBatchStatistics"> & {
    /**
     * Batch size of these executions.
     *
     * @generated from field: uint64 batch_size = 1;
     */
    batchSize: bigint;
    /**
     * Time to prepare the inputs, per execution.
     *
     * @generated from field: inference.StatisticDuration compute_input = 2;
     */
    computeInput?: StatisticDuration | undefined;
    /**
     * Time in the model, per execution.
     *
     * @generated from field: inference.StatisticDuration compute_infer = 3;
     */
    computeInfer?: StatisticDuration | undefined;
    /**
     * Time to return the outputs, per execution.
     *
     * @generated from field: inference.StatisticDuration compute_output = 4;
     */
    computeOutput?: StatisticDuration | undefined;
};
/**
 * Describes the message inference.InferBatchStatistics.
 * Use `create(InferBatchStatisticsSchema)` to create a new message.
 */
export declare const InferBatchStatisticsSchema: GenMessage<InferBatchStatistics>;
/**
 * MemoryUsage is the memory that a model uses, if its backend reports it.
 *
 * @generated from message inference.MemoryUsage
 */
export type MemoryUsage = Message<"inference.MemoryUsage"> & {
    /**
     * Kind of memory: "CPU", "CPU_PINNED" or "GPU".
     *
     * @generated from field: string type = 1;
     */
    type: string;
    /**
     * Index of the device or memory node.
     *
     * @generated from field: int64 id = 2;
     */
    id: bigint;
    /**
     * Size in bytes.
     *
     * @generated from field: uint64 byte_size = 3;
     */
    byteSize: bigint;
};
/**
 * Describes the message inference.MemoryUsage.
 * Use `create(MemoryUsageSchema)` to create a new message.
 */
export declare const MemoryUsageSchema: GenMessage<MemoryUsage>;
/**
 * ModelStatistics has the counters of one version of a model.
 *
 * @generated from message inference.ModelStatistics
 */
export type ModelStatistics = Message<"inference.ModelStatistics"> & {
    /**
     * Name of the model.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Version in decimal.
     *
     * @generated from field: string version = 2;
     */
    version: string;
    /**
     * Time of the latest inference, in milliseconds since the Unix epoch. 0 means
     * that there was no inference.
     *
     * @generated from field: uint64 last_inference = 3;
     */
    lastInference: bigint;
    /**
     * Number of successful inferences. A request with a batch of n counts as n
     * inferences. Cache hits do not count.
     *
     * @generated from field: uint64 inference_count = 4;
     */
    inferenceCount: bigint;
    /**
     * Number of executions of the model. inference_count divided by
     * execution_count is the mean batch size. Cache hits do not count.
     *
     * @generated from field: uint64 execution_count = 5;
     */
    executionCount: bigint;
    /**
     * Time by phase over all requests.
     *
     * @generated from field: inference.InferStatistics inference_stats = 6;
     */
    inferenceStats?: InferStatistics | undefined;
    /**
     * Time by batch size, one entry for each size that occurred.
     *
     * @generated from field: repeated inference.InferBatchStatistics batch_stats = 7;
     */
    batchStats: InferBatchStatistics[];
    /**
     * Memory that the model uses. Empty if the backend does not report it.
     *
     * @generated from field: repeated inference.MemoryUsage memory_usage = 8;
     */
    memoryUsage: MemoryUsage[];
    /**
     * Time by response of a decoupled model. The key "0" is the first response to
     * a request, and "1" is the second response. Empty for other models.
     *
     * @generated from field: map<string, inference.InferResponseStatistics> response_stats = 9;
     */
    responseStats: {
        [key: string]: InferResponseStatistics;
    };
};
/**
 * Describes the message inference.ModelStatistics.
 * Use `create(ModelStatisticsSchema)` to create a new message.
 */
export declare const ModelStatisticsSchema: GenMessage<ModelStatistics>;
/**
 * ModelStatisticsResponse is the response to ModelStatistics.
 *
 * @generated from message inference.ModelStatisticsResponse
 */
export type ModelStatisticsResponse = Message<"inference.ModelStatisticsResponse"> & {
    /**
     * One entry for each version of each requested model.
     *
     * @generated from field: repeated inference.ModelStatistics model_stats = 1;
     */
    modelStats: ModelStatistics[];
};
/**
 * Describes the message inference.ModelStatisticsResponse.
 * Use `create(ModelStatisticsResponseSchema)` to create a new message.
 */
export declare const ModelStatisticsResponseSchema: GenMessage<ModelStatisticsResponse>;
/**
 * ModelRepositoryParameter is one value of a repository request's parameter.
 *
 * @generated from message inference.ModelRepositoryParameter
 */
export type ModelRepositoryParameter = Message<"inference.ModelRepositoryParameter"> & {
    /**
     * The value. Exactly one field is set.
     *
     * @generated from oneof inference.ModelRepositoryParameter.parameter_choice
     */
    parameterChoice: {
        /**
         * A Boolean value, as for "unload_dependents".
         *
         * @generated from field: bool bool_param = 1;
         */
        value: boolean;
        case: "boolParam";
    } | {
        /**
         * A signed integer. Triton defines no parameter of this type.
         *
         * @generated from field: int64 int64_param = 2;
         */
        value: bigint;
        case: "int64Param";
    } | {
        /**
         * A string, as for "config", which is a model configuration in JSON.
         *
         * @generated from field: string string_param = 3;
         */
        value: string;
        case: "stringParam";
    } | {
        /**
         * The content of a file, as for "file:<version>/<name>".
         *
         * @generated from field: bytes bytes_param = 4;
         */
        value: Uint8Array;
        case: "bytesParam";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message inference.ModelRepositoryParameter.
 * Use `create(ModelRepositoryParameterSchema)` to create a new message.
 */
export declare const ModelRepositoryParameterSchema: GenMessage<ModelRepositoryParameter>;
/**
 * RepositoryIndexRequest asks for the models in the repositories.
 *
 * @generated from message inference.RepositoryIndexRequest
 */
export type RepositoryIndexRequest = Message<"inference.RepositoryIndexRequest"> & {
    /**
     * Repository to list. Empty means all repositories. Triton accepts only an
     * empty name.
     *
     * @generated from field: string repository_name = 1;
     */
    repositoryName: string;
    /**
     * True lists only models that are ready.
     *
     * @generated from field: bool ready = 2;
     */
    ready: boolean;
};
/**
 * Describes the message inference.RepositoryIndexRequest.
 * Use `create(RepositoryIndexRequestSchema)` to create a new message.
 */
export declare const RepositoryIndexRequestSchema: GenMessage<RepositoryIndexRequest>;
/**
 * RepositoryIndexResponse is the response to RepositoryIndex.
 *
 * @generated from message inference.RepositoryIndexResponse
 */
export type RepositoryIndexResponse = Message<"inference.RepositoryIndexResponse"> & {
    /**
     * Models of the repositories, in no particular order.
     *
     * @generated from field: repeated inference.RepositoryIndexResponse.ModelIndex models = 1;
     */
    models: RepositoryIndexResponse_ModelIndex[];
};
/**
 * Describes the message inference.RepositoryIndexResponse.
 * Use `create(RepositoryIndexResponseSchema)` to create a new message.
 */
export declare const RepositoryIndexResponseSchema: GenMessage<RepositoryIndexResponse>;
/**
 * ModelIndex is one model, or one version of a model that was loaded.
 *
 * @generated from message inference.RepositoryIndexResponse.ModelIndex
 */
export type RepositoryIndexResponse_ModelIndex = Message<"inference.RepositoryIndexResponse.ModelIndex"> & {
    /**
     * Name of the model.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Version in decimal. Empty for a model that was never loaded.
     *
     * @generated from field: string version = 2;
     */
    version: string;
    /**
     * "READY", "LOADING", "UNLOADING" or "UNAVAILABLE". Empty for a model that
     * was never loaded.
     *
     * @generated from field: string state = 3;
     */
    state: string;
    /**
     * Reason for the state, such as the error of a failed load. Empty if there
     * is no reason.
     *
     * @generated from field: string reason = 4;
     */
    reason: string;
};
/**
 * Describes the message inference.RepositoryIndexResponse.ModelIndex.
 * Use `create(RepositoryIndexResponse_ModelIndexSchema)` to create a new message.
 */
export declare const RepositoryIndexResponse_ModelIndexSchema: GenMessage<RepositoryIndexResponse_ModelIndex>;
/**
 * RepositoryModelLoadRequest names the model to load.
 *
 * @generated from message inference.RepositoryModelLoadRequest
 */
export type RepositoryModelLoadRequest = Message<"inference.RepositoryModelLoadRequest"> & {
    /**
     * Repository to load from. If it is empty, the server finds the repository.
     * Triton accepts only an empty name.
     *
     * @generated from field: string repository_name = 1;
     */
    repositoryName: string;
    /**
     * Name of the model. Required.
     *
     * @generated from field: string model_name = 2;
     */
    modelName: string;
    /**
     * "config" (string) replaces config.pbtxt for this load with a configuration
     * in JSON. "file:<version>/<name>" (bytes) is a file. The files of the
     * request replace the model's folder, and require "config". Other names are
     * refused.
     *
     * @generated from field: map<string, inference.ModelRepositoryParameter> parameters = 3;
     */
    parameters: {
        [key: string]: ModelRepositoryParameter;
    };
};
/**
 * Describes the message inference.RepositoryModelLoadRequest.
 * Use `create(RepositoryModelLoadRequestSchema)` to create a new message.
 */
export declare const RepositoryModelLoadRequestSchema: GenMessage<RepositoryModelLoadRequest>;
/**
 * RepositoryModelLoadResponse reports that the model is ready. It has no
 * content.
 *
 * @generated from message inference.RepositoryModelLoadResponse
 */
export type RepositoryModelLoadResponse = Message<"inference.RepositoryModelLoadResponse"> & {};
/**
 * Describes the message inference.RepositoryModelLoadResponse.
 * Use `create(RepositoryModelLoadResponseSchema)` to create a new message.
 */
export declare const RepositoryModelLoadResponseSchema: GenMessage<RepositoryModelLoadResponse>;
/**
 * RepositoryModelUnloadRequest names the model to unload.
 *
 * @generated from message inference.RepositoryModelUnloadRequest
 */
export type RepositoryModelUnloadRequest = Message<"inference.RepositoryModelUnloadRequest"> & {
    /**
     * Repository of the model. If it is empty, the server finds the repository.
     * Triton accepts only an empty name.
     *
     * @generated from field: string repository_name = 1;
     */
    repositoryName: string;
    /**
     * Name of the model. Required. It is not an error if the model is not loaded.
     *
     * @generated from field: string model_name = 2;
     */
    modelName: string;
    /**
     * "unload_dependents" (bool, false) also unloads the models that an ensemble
     * is composed of.
     *
     * @generated from field: map<string, inference.ModelRepositoryParameter> parameters = 3;
     */
    parameters: {
        [key: string]: ModelRepositoryParameter;
    };
};
/**
 * Describes the message inference.RepositoryModelUnloadRequest.
 * Use `create(RepositoryModelUnloadRequestSchema)` to create a new message.
 */
export declare const RepositoryModelUnloadRequestSchema: GenMessage<RepositoryModelUnloadRequest>;
/**
 * RepositoryModelUnloadResponse reports that the unloading has started. It has
 * no content.
 *
 * @generated from message inference.RepositoryModelUnloadResponse
 */
export type RepositoryModelUnloadResponse = Message<"inference.RepositoryModelUnloadResponse"> & {};
/**
 * Describes the message inference.RepositoryModelUnloadResponse.
 * Use `create(RepositoryModelUnloadResponseSchema)` to create a new message.
 */
export declare const RepositoryModelUnloadResponseSchema: GenMessage<RepositoryModelUnloadResponse>;
/**
 * SystemSharedMemoryStatusRequest names the region to show.
 *
 * @generated from message inference.SystemSharedMemoryStatusRequest
 */
export type SystemSharedMemoryStatusRequest = Message<"inference.SystemSharedMemoryStatusRequest"> & {
    /**
     * Name of the region. Empty means all regions. An unknown name is an error.
     *
     * @generated from field: string name = 1;
     */
    name: string;
};
/**
 * Describes the message inference.SystemSharedMemoryStatusRequest.
 * Use `create(SystemSharedMemoryStatusRequestSchema)` to create a new message.
 */
export declare const SystemSharedMemoryStatusRequestSchema: GenMessage<SystemSharedMemoryStatusRequest>;
/**
 * SystemSharedMemoryStatusResponse is the response to SystemSharedMemoryStatus.
 *
 * @generated from message inference.SystemSharedMemoryStatusResponse
 */
export type SystemSharedMemoryStatusResponse = Message<"inference.SystemSharedMemoryStatusResponse"> & {
    /**
     * Regions by name.
     *
     * @generated from field: map<string, inference.SystemSharedMemoryStatusResponse.RegionStatus> regions = 1;
     */
    regions: {
        [key: string]: SystemSharedMemoryStatusResponse_RegionStatus;
    };
};
/**
 * Describes the message inference.SystemSharedMemoryStatusResponse.
 * Use `create(SystemSharedMemoryStatusResponseSchema)` to create a new message.
 */
export declare const SystemSharedMemoryStatusResponseSchema: GenMessage<SystemSharedMemoryStatusResponse>;
/**
 * RegionStatus is one registered region.
 *
 * @generated from message inference.SystemSharedMemoryStatusResponse.RegionStatus
 */
export type SystemSharedMemoryStatusResponse_RegionStatus = Message<"inference.SystemSharedMemoryStatusResponse.RegionStatus"> & {
    /**
     * Name by which requests refer to the region.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Key of the POSIX shared memory object, such as "/my_inputs".
     *
     * @generated from field: string key = 2;
     */
    key: string;
    /**
     * Offset of the region in the object, in bytes.
     *
     * @generated from field: uint64 offset = 3;
     */
    offset: bigint;
    /**
     * Size of the region in bytes.
     *
     * @generated from field: uint64 byte_size = 4;
     */
    byteSize: bigint;
};
/**
 * Describes the message inference.SystemSharedMemoryStatusResponse.RegionStatus.
 * Use `create(SystemSharedMemoryStatusResponse_RegionStatusSchema)` to create a new message.
 */
export declare const SystemSharedMemoryStatusResponse_RegionStatusSchema: GenMessage<SystemSharedMemoryStatusResponse_RegionStatus>;
/**
 * SystemSharedMemoryRegisterRequest describes a region to register.
 *
 * @generated from message inference.SystemSharedMemoryRegisterRequest
 */
export type SystemSharedMemoryRegisterRequest = Message<"inference.SystemSharedMemoryRegisterRequest"> & {
    /**
     * Name by which requests refer to the region. Required. The name must not be
     * registered yet.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Key of the POSIX shared memory object, as given to shm_open.
     *
     * @generated from field: string key = 2;
     */
    key: string;
    /**
     * Offset of the region in the object, in bytes.
     *
     * @generated from field: uint64 offset = 3;
     */
    offset: bigint;
    /**
     * Size of the region in bytes. The whole region must be in the object.
     *
     * @generated from field: uint64 byte_size = 4;
     */
    byteSize: bigint;
};
/**
 * Describes the message inference.SystemSharedMemoryRegisterRequest.
 * Use `create(SystemSharedMemoryRegisterRequestSchema)` to create a new message.
 */
export declare const SystemSharedMemoryRegisterRequestSchema: GenMessage<SystemSharedMemoryRegisterRequest>;
/**
 * SystemSharedMemoryRegisterResponse reports that requests can use the region.
 * It has no content.
 *
 * @generated from message inference.SystemSharedMemoryRegisterResponse
 */
export type SystemSharedMemoryRegisterResponse = Message<"inference.SystemSharedMemoryRegisterResponse"> & {};
/**
 * Describes the message inference.SystemSharedMemoryRegisterResponse.
 * Use `create(SystemSharedMemoryRegisterResponseSchema)` to create a new message.
 */
export declare const SystemSharedMemoryRegisterResponseSchema: GenMessage<SystemSharedMemoryRegisterResponse>;
/**
 * SystemSharedMemoryUnregisterRequest names the region to unregister.
 *
 * @generated from message inference.SystemSharedMemoryUnregisterRequest
 */
export type SystemSharedMemoryUnregisterRequest = Message<"inference.SystemSharedMemoryUnregisterRequest"> & {
    /**
     * Name of the region. Empty means all regions of system memory.
     *
     * @generated from field: string name = 1;
     */
    name: string;
};
/**
 * Describes the message inference.SystemSharedMemoryUnregisterRequest.
 * Use `create(SystemSharedMemoryUnregisterRequestSchema)` to create a new message.
 */
export declare const SystemSharedMemoryUnregisterRequestSchema: GenMessage<SystemSharedMemoryUnregisterRequest>;
/**
 * SystemSharedMemoryUnregisterResponse reports that the region is unregistered.
 * It has no content.
 *
 * @generated from message inference.SystemSharedMemoryUnregisterResponse
 */
export type SystemSharedMemoryUnregisterResponse = Message<"inference.SystemSharedMemoryUnregisterResponse"> & {};
/**
 * Describes the message inference.SystemSharedMemoryUnregisterResponse.
 * Use `create(SystemSharedMemoryUnregisterResponseSchema)` to create a new message.
 */
export declare const SystemSharedMemoryUnregisterResponseSchema: GenMessage<SystemSharedMemoryUnregisterResponse>;
/**
 * CudaSharedMemoryStatusRequest names the region to show.
 *
 * @generated from message inference.CudaSharedMemoryStatusRequest
 */
export type CudaSharedMemoryStatusRequest = Message<"inference.CudaSharedMemoryStatusRequest"> & {
    /**
     * Name of the region. Empty means all regions. An unknown name is an error.
     *
     * @generated from field: string name = 1;
     */
    name: string;
};
/**
 * Describes the message inference.CudaSharedMemoryStatusRequest.
 * Use `create(CudaSharedMemoryStatusRequestSchema)` to create a new message.
 */
export declare const CudaSharedMemoryStatusRequestSchema: GenMessage<CudaSharedMemoryStatusRequest>;
/**
 * CudaSharedMemoryStatusResponse is the response to CudaSharedMemoryStatus.
 *
 * @generated from message inference.CudaSharedMemoryStatusResponse
 */
export type CudaSharedMemoryStatusResponse = Message<"inference.CudaSharedMemoryStatusResponse"> & {
    /**
     * Regions by name.
     *
     * @generated from field: map<string, inference.CudaSharedMemoryStatusResponse.RegionStatus> regions = 1;
     */
    regions: {
        [key: string]: CudaSharedMemoryStatusResponse_RegionStatus;
    };
};
/**
 * Describes the message inference.CudaSharedMemoryStatusResponse.
 * Use `create(CudaSharedMemoryStatusResponseSchema)` to create a new message.
 */
export declare const CudaSharedMemoryStatusResponseSchema: GenMessage<CudaSharedMemoryStatusResponse>;
/**
 * RegionStatus is one registered region.
 *
 * @generated from message inference.CudaSharedMemoryStatusResponse.RegionStatus
 */
export type CudaSharedMemoryStatusResponse_RegionStatus = Message<"inference.CudaSharedMemoryStatusResponse.RegionStatus"> & {
    /**
     * Name by which requests refer to the region.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Number of the GPU with the region, as the server numbers its GPUs.
     *
     * @generated from field: uint64 device_id = 2;
     */
    deviceId: bigint;
    /**
     * Size of the region in bytes.
     *
     * @generated from field: uint64 byte_size = 3;
     */
    byteSize: bigint;
};
/**
 * Describes the message inference.CudaSharedMemoryStatusResponse.RegionStatus.
 * Use `create(CudaSharedMemoryStatusResponse_RegionStatusSchema)` to create a new message.
 */
export declare const CudaSharedMemoryStatusResponse_RegionStatusSchema: GenMessage<CudaSharedMemoryStatusResponse_RegionStatus>;
/**
 * CudaSharedMemoryRegisterRequest describes a region to register.
 *
 * @generated from message inference.CudaSharedMemoryRegisterRequest
 */
export type CudaSharedMemoryRegisterRequest = Message<"inference.CudaSharedMemoryRegisterRequest"> & {
    /**
     * Name by which requests refer to the region. Required. The name must not be
     * registered yet.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * The cudaIpcMemHandle_t of the allocation, as the CUDA runtime returned it.
     *
     * @generated from field: bytes raw_handle = 2;
     */
    rawHandle: Uint8Array;
    /**
     * Number of the GPU with the allocation, as the server numbers its GPUs.
     *
     * @generated from field: int64 device_id = 3;
     */
    deviceId: bigint;
    /**
     * Size of the region in bytes.
     *
     * @generated from field: uint64 byte_size = 4;
     */
    byteSize: bigint;
};
/**
 * Describes the message inference.CudaSharedMemoryRegisterRequest.
 * Use `create(CudaSharedMemoryRegisterRequestSchema)` to create a new message.
 */
export declare const CudaSharedMemoryRegisterRequestSchema: GenMessage<CudaSharedMemoryRegisterRequest>;
/**
 * CudaSharedMemoryRegisterResponse reports that requests can use the region. It
 * has no content.
 *
 * @generated from message inference.CudaSharedMemoryRegisterResponse
 */
export type CudaSharedMemoryRegisterResponse = Message<"inference.CudaSharedMemoryRegisterResponse"> & {};
/**
 * Describes the message inference.CudaSharedMemoryRegisterResponse.
 * Use `create(CudaSharedMemoryRegisterResponseSchema)` to create a new message.
 */
export declare const CudaSharedMemoryRegisterResponseSchema: GenMessage<CudaSharedMemoryRegisterResponse>;
/**
 * CudaSharedMemoryUnregisterRequest names the region to unregister.
 *
 * @generated from message inference.CudaSharedMemoryUnregisterRequest
 */
export type CudaSharedMemoryUnregisterRequest = Message<"inference.CudaSharedMemoryUnregisterRequest"> & {
    /**
     * Name of the region. Empty means all regions of GPU memory.
     *
     * @generated from field: string name = 1;
     */
    name: string;
};
/**
 * Describes the message inference.CudaSharedMemoryUnregisterRequest.
 * Use `create(CudaSharedMemoryUnregisterRequestSchema)` to create a new message.
 */
export declare const CudaSharedMemoryUnregisterRequestSchema: GenMessage<CudaSharedMemoryUnregisterRequest>;
/**
 * CudaSharedMemoryUnregisterResponse reports that the region is unregistered.
 * It has no content.
 *
 * @generated from message inference.CudaSharedMemoryUnregisterResponse
 */
export type CudaSharedMemoryUnregisterResponse = Message<"inference.CudaSharedMemoryUnregisterResponse"> & {};
/**
 * Describes the message inference.CudaSharedMemoryUnregisterResponse.
 * Use `create(CudaSharedMemoryUnregisterResponseSchema)` to create a new message.
 */
export declare const CudaSharedMemoryUnregisterResponseSchema: GenMessage<CudaSharedMemoryUnregisterResponse>;
/**
 * TraceSettingRequest names the trace settings to change.
 *
 * @generated from message inference.TraceSettingRequest
 */
export type TraceSettingRequest = Message<"inference.TraceSettingRequest"> & {
    /**
     * Settings to change, by name: "trace_level" (OFF, TIMESTAMPS, TENSORS),
     * "trace_rate" (one request in n), "trace_count" (-1: no limit), "trace_file"
     * and "log_frequency". Other settings remain unchanged.
     *
     * @generated from field: map<string, inference.TraceSettingRequest.SettingValue> settings = 1;
     */
    settings: {
        [key: string]: TraceSettingRequest_SettingValue;
    };
    /**
     * Model whose settings are changed. Empty means the server's settings, which
     * apply to all models without settings of their own.
     *
     * @generated from field: string model_name = 2;
     */
    modelName: string;
};
/**
 * Describes the message inference.TraceSettingRequest.
 * Use `create(TraceSettingRequestSchema)` to create a new message.
 */
export declare const TraceSettingRequestSchema: GenMessage<TraceSettingRequest>;
/**
 * SettingValue is the new value of one setting.
 *
 * @generated from message inference.TraceSettingRequest.SettingValue
 */
export type TraceSettingRequest_SettingValue = Message<"inference.TraceSettingRequest.SettingValue"> & {
    /**
     * The value as a string. Only "trace_level" can have several values. An
     * empty list resets the setting: a model's setting to the server's value,
     * and the server's setting to its value at startup.
     *
     * @generated from field: repeated string value = 1;
     */
    value: string[];
};
/**
 * Describes the message inference.TraceSettingRequest.SettingValue.
 * Use `create(TraceSettingRequest_SettingValueSchema)` to create a new message.
 */
export declare const TraceSettingRequest_SettingValueSchema: GenMessage<TraceSettingRequest_SettingValue>;
/**
 * TraceSettingResponse is the response to TraceSetting.
 *
 * @generated from message inference.TraceSettingResponse
 */
export type TraceSettingResponse = Message<"inference.TraceSettingResponse"> & {
    /**
     * All trace settings that apply, by name.
     *
     * @generated from field: map<string, inference.TraceSettingResponse.SettingValue> settings = 1;
     */
    settings: {
        [key: string]: TraceSettingResponse_SettingValue;
    };
};
/**
 * Describes the message inference.TraceSettingResponse.
 * Use `create(TraceSettingResponseSchema)` to create a new message.
 */
export declare const TraceSettingResponseSchema: GenMessage<TraceSettingResponse>;
/**
 * SettingValue is the value of one setting.
 *
 * @generated from message inference.TraceSettingResponse.SettingValue
 */
export type TraceSettingResponse_SettingValue = Message<"inference.TraceSettingResponse.SettingValue"> & {
    /**
     * The value as a string. "trace_level" can have several values.
     *
     * @generated from field: repeated string value = 1;
     */
    value: string[];
};
/**
 * Describes the message inference.TraceSettingResponse.SettingValue.
 * Use `create(TraceSettingResponse_SettingValueSchema)` to create a new message.
 */
export declare const TraceSettingResponse_SettingValueSchema: GenMessage<TraceSettingResponse_SettingValue>;
/**
 * LogSettingsRequest names the log settings to change.
 *
 * @generated from message inference.LogSettingsRequest
 */
export type LogSettingsRequest = Message<"inference.LogSettingsRequest"> & {
    /**
     * Settings to change, by name. Other settings remain unchanged.
     *
     * @generated from field: map<string, inference.LogSettingsRequest.SettingValue> settings = 1;
     */
    settings: {
        [key: string]: LogSettingsRequest_SettingValue;
    };
};
/**
 * Describes the message inference.LogSettingsRequest.
 * Use `create(LogSettingsRequestSchema)` to create a new message.
 */
export declare const LogSettingsRequestSchema: GenMessage<LogSettingsRequest>;
/**
 * SettingValue is the new value of one setting.
 *
 * @generated from message inference.LogSettingsRequest.SettingValue
 */
export type LogSettingsRequest_SettingValue = Message<"inference.LogSettingsRequest.SettingValue"> & {
    /**
     * The value, in the type that the setting requires.
     *
     * @generated from oneof inference.LogSettingsRequest.SettingValue.parameter_choice
     */
    parameterChoice: {
        /**
         * A Boolean value, as for "log_info", "log_warning" and "log_error".
         *
         * @generated from field: bool bool_param = 1;
         */
        value: boolean;
        case: "boolParam";
    } | {
        /**
         * A number, as for "log_verbose_level". 0 disables verbose messages.
         *
         * @generated from field: uint32 uint32_param = 2;
         */
        value: number;
        case: "uint32Param";
    } | {
        /**
         * A string, as for "log_format" ("default" or "ISO8601") and "log_file".
         *
         * @generated from field: string string_param = 3;
         */
        value: string;
        case: "stringParam";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message inference.LogSettingsRequest.SettingValue.
 * Use `create(LogSettingsRequest_SettingValueSchema)` to create a new message.
 */
export declare const LogSettingsRequest_SettingValueSchema: GenMessage<LogSettingsRequest_SettingValue>;
/**
 * LogSettingsResponse is the response to LogSettings.
 *
 * @generated from message inference.LogSettingsResponse
 */
export type LogSettingsResponse = Message<"inference.LogSettingsResponse"> & {
    /**
     * All log settings that are in force, by name.
     *
     * @generated from field: map<string, inference.LogSettingsResponse.SettingValue> settings = 1;
     */
    settings: {
        [key: string]: LogSettingsResponse_SettingValue;
    };
};
/**
 * Describes the message inference.LogSettingsResponse.
 * Use `create(LogSettingsResponseSchema)` to create a new message.
 */
export declare const LogSettingsResponseSchema: GenMessage<LogSettingsResponse>;
/**
 * SettingValue is the value of one setting.
 *
 * @generated from message inference.LogSettingsResponse.SettingValue
 */
export type LogSettingsResponse_SettingValue = Message<"inference.LogSettingsResponse.SettingValue"> & {
    /**
     * The value, in the type that the setting requires.
     *
     * @generated from oneof inference.LogSettingsResponse.SettingValue.parameter_choice
     */
    parameterChoice: {
        /**
         * A Boolean value, such as "log_info".
         *
         * @generated from field: bool bool_param = 1;
         */
        value: boolean;
        case: "boolParam";
    } | {
        /**
         * A number, such as "log_verbose_level".
         *
         * @generated from field: uint32 uint32_param = 2;
         */
        value: number;
        case: "uint32Param";
    } | {
        /**
         * A string, such as "log_file".
         *
         * @generated from field: string string_param = 3;
         */
        value: string;
        case: "stringParam";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message inference.LogSettingsResponse.SettingValue.
 * Use `create(LogSettingsResponse_SettingValueSchema)` to create a new message.
 */
export declare const LogSettingsResponse_SettingValueSchema: GenMessage<LogSettingsResponse_SettingValue>;
/**
 * GRPCInferenceService describes the server and its models, and runs inference
 * requests. It also manages the model repository, shared memory, tracing and
 * logging.
 *
 * If a request has an empty model version, the server chooses the version by
 * the model's version policy. This is the highest version that the server
 * serves.
 *
 * All methods return these codes: UNAVAILABLE for a server or model that is not
 * ready, NOT_FOUND for an unknown model, version or region, INVALID_ARGUMENT
 * for a malformed request, and UNIMPLEMENTED for a function that is disabled in
 * the server.
 *
 * @generated from service inference.GRPCInferenceService
 */
export declare const GRPCInferenceService: GenService<{
    /**
     * ServerLive reports whether the process can respond. The result doesn't
     * depend on the models. Use it to decide whether to restart the process.
     *
     * @generated from rpc inference.GRPCInferenceService.ServerLive
     */
    serverLive: {
        methodKind: "unary";
        input: typeof ServerLiveRequestSchema;
        output: typeof ServerLiveResponseSchema;
    };
    /**
     * ServerReady reports whether the server accepts inference requests.
     * Depending on how the server was started, one failed model can make the
     * server unready.
     *
     * @generated from rpc inference.GRPCInferenceService.ServerReady
     */
    serverReady: {
        methodKind: "unary";
        input: typeof ServerReadyRequestSchema;
        output: typeof ServerReadyResponseSchema;
    };
    /**
     * ModelReady reports whether one model is loaded and accepts requests. A
     * model whose worker process died may still report true.
     *
     * @generated from rpc inference.GRPCInferenceService.ModelReady
     */
    modelReady: {
        methodKind: "unary";
        input: typeof ModelReadyRequestSchema;
        output: typeof ModelReadyResponseSchema;
    };
    /**
     * ServerMetadata returns the server's name, its version and its protocol
     * extensions.
     *
     * @generated from rpc inference.GRPCInferenceService.ServerMetadata
     */
    serverMetadata: {
        methodKind: "unary";
        input: typeof ServerMetadataRequestSchema;
        output: typeof ServerMetadataResponseSchema;
    };
    /**
     * ModelMetadata returns a model's tensors as clients send and receive them,
     * including the batch dimension.
     *
     * @generated from rpc inference.GRPCInferenceService.ModelMetadata
     */
    modelMetadata: {
        methodKind: "unary";
        input: typeof ModelMetadataRequestSchema;
        output: typeof ModelMetadataResponseSchema;
    };
    /**
     * ModelInfer runs one request, which has exactly one response. Decoupled
     * models are refused with UNIMPLEMENTED, because they need ModelStreamInfer.
     *
     * @generated from rpc inference.GRPCInferenceService.ModelInfer
     */
    modelInfer: {
        methodKind: "unary";
        input: typeof ModelInferRequestSchema;
        output: typeof ModelInferResponseSchema;
    };
    /**
     * ModelStreamInfer runs any number of requests, and returns any number of
     * responses for each request. The responses of different requests are
     * interleaved in the order in which the models produce them, and the id
     * assigns a response to its request. If the client half-closes the stream,
     * running requests finish. If the client cancels the call, all requests are
     * cancelled.
     *
     * The error of a failed request is in error_message, and the stream stays
     * open. If the call has the metadata "triton_grpc_error: true", the first
     * failure ends the stream with a status instead.
     *
     * @generated from rpc inference.GRPCInferenceService.ModelStreamInfer
     */
    modelStreamInfer: {
        methodKind: "bidi_streaming";
        input: typeof ModelInferRequestSchema;
        output: typeof ModelStreamInferResponseSchema;
    };
    /**
     * ModelConfig returns the whole configuration of a loaded model, with the
     * values that the server filled in.
     *
     * @generated from rpc inference.GRPCInferenceService.ModelConfig
     */
    modelConfig: {
        methodKind: "unary";
        input: typeof ModelConfigRequestSchema;
        output: typeof ModelConfigResponseSchema;
    };
    /**
     * ModelStatistics returns the counters of one model or of all models. The
     * counters start at 0 when a model is loaded.
     *
     * @generated from rpc inference.GRPCInferenceService.ModelStatistics
     */
    modelStatistics: {
        methodKind: "unary";
        input: typeof ModelStatisticsRequestSchema;
        output: typeof ModelStatisticsResponseSchema;
    };
    /**
     * RepositoryIndex lists the models in the repositories, whether they are
     * loaded or not.
     *
     * @generated from rpc inference.GRPCInferenceService.RepositoryIndex
     */
    repositoryIndex: {
        methodKind: "unary";
        input: typeof RepositoryIndexRequestSchema;
        output: typeof RepositoryIndexResponseSchema;
    };
    /**
     * RepositoryModelLoad loads or reloads a model, and returns when the model is
     * ready or has failed. Without explicit model control, it fails with
     * UNAVAILABLE.
     *
     * @generated from rpc inference.GRPCInferenceService.RepositoryModelLoad
     */
    repositoryModelLoad: {
        methodKind: "unary";
        input: typeof RepositoryModelLoadRequestSchema;
        output: typeof RepositoryModelLoadResponseSchema;
    };
    /**
     * RepositoryModelUnload starts to unload a model and returns immediately.
     * Requests in flight finish, and new requests are refused.
     *
     * @generated from rpc inference.GRPCInferenceService.RepositoryModelUnload
     */
    repositoryModelUnload: {
        methodKind: "unary";
        input: typeof RepositoryModelUnloadRequestSchema;
        output: typeof RepositoryModelUnloadResponseSchema;
    };
    /**
     * SystemSharedMemoryStatus lists registered regions of system memory.
     *
     * @generated from rpc inference.GRPCInferenceService.SystemSharedMemoryStatus
     */
    systemSharedMemoryStatus: {
        methodKind: "unary";
        input: typeof SystemSharedMemoryStatusRequestSchema;
        output: typeof SystemSharedMemoryStatusResponseSchema;
    };
    /**
     * SystemSharedMemoryRegister registers a POSIX shared memory object on the
     * server's host for inputs and outputs of requests. If the name is already
     * registered, it fails with ALREADY_EXISTS.
     *
     * @generated from rpc inference.GRPCInferenceService.SystemSharedMemoryRegister
     */
    systemSharedMemoryRegister: {
        methodKind: "unary";
        input: typeof SystemSharedMemoryRegisterRequestSchema;
        output: typeof SystemSharedMemoryRegisterResponseSchema;
    };
    /**
     * SystemSharedMemoryUnregister removes the registration of one region or of
     * all regions. The client's memory remains allocated.
     *
     * @generated from rpc inference.GRPCInferenceService.SystemSharedMemoryUnregister
     */
    systemSharedMemoryUnregister: {
        methodKind: "unary";
        input: typeof SystemSharedMemoryUnregisterRequestSchema;
        output: typeof SystemSharedMemoryUnregisterResponseSchema;
    };
    /**
     * CudaSharedMemoryStatus lists registered regions of GPU memory.
     *
     * @generated from rpc inference.GRPCInferenceService.CudaSharedMemoryStatus
     */
    cudaSharedMemoryStatus: {
        methodKind: "unary";
        input: typeof CudaSharedMemoryStatusRequestSchema;
        output: typeof CudaSharedMemoryStatusResponseSchema;
    };
    /**
     * CudaSharedMemoryRegister registers a CUDA allocation of another process on
     * the server's host for inputs and outputs of requests. If the name is
     * already registered, it fails with ALREADY_EXISTS.
     *
     * @generated from rpc inference.GRPCInferenceService.CudaSharedMemoryRegister
     */
    cudaSharedMemoryRegister: {
        methodKind: "unary";
        input: typeof CudaSharedMemoryRegisterRequestSchema;
        output: typeof CudaSharedMemoryRegisterResponseSchema;
    };
    /**
     * CudaSharedMemoryUnregister removes the registration of one region or of all
     * regions. The client's memory remains allocated.
     *
     * @generated from rpc inference.GRPCInferenceService.CudaSharedMemoryUnregister
     */
    cudaSharedMemoryUnregister: {
        methodKind: "unary";
        input: typeof CudaSharedMemoryUnregisterRequestSchema;
        output: typeof CudaSharedMemoryUnregisterResponseSchema;
    };
    /**
     * TraceSetting changes the trace settings in the request and returns all
     * trace settings. An empty request changes nothing.
     *
     * @generated from rpc inference.GRPCInferenceService.TraceSetting
     */
    traceSetting: {
        methodKind: "unary";
        input: typeof TraceSettingRequestSchema;
        output: typeof TraceSettingResponseSchema;
    };
    /**
     * LogSettings changes the log settings in the request and returns all log
     * settings. An empty request changes nothing.
     *
     * @generated from rpc inference.GRPCInferenceService.LogSettings
     */
    logSettings: {
        methodKind: "unary";
        input: typeof LogSettingsRequestSchema;
        output: typeof LogSettingsResponseSchema;
    };
}>;
