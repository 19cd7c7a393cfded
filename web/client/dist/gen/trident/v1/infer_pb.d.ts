import type { GenFile, GenService } from "@bufbuild/protobuf/codegenv2";
import type { ModelInferRequestSchema, ModelInferResponseSchema, ModelStreamInferResponseSchema } from "../../kserve/grpc_service_pb.js";
/**
 * Describes the file trident/v1/infer.proto.
 */
export declare const file_trident_v1_infer: GenFile;
/**
 * InferService runs any model with tensors as inputs and outputs, with the messages of
 * KServe v2. InferService differs from inference.GRPCInferenceService in one point: a
 * stream has a single request, because browsers can't stream requests.
 *
 * In JSON, all tensors of a request together have at most 1048576 numbers. Larger
 * tensors must be sent in raw_input_contents or in the binary encoding.
 *
 * Errors have the codes and messages of inference.GRPCInferenceService, which are the
 * same as tritonserver's.
 *
 * @generated from service trident.v1.InferService
 */
export declare const InferService: GenService<{
    /**
     * Infer runs a model that returns one response, as ModelInfer does.
     *
     * @generated from rpc trident.v1.InferService.Infer
     */
    infer: {
        methodKind: "unary";
        input: typeof ModelInferRequestSchema;
        output: typeof ModelInferResponseSchema;
    };
    /**
     * InferStream runs a model once and returns its responses as they arrive, like
     * ModelStreamInfer with one request. The model may be decoupled. If the header
     * triton_grpc_error is true, the first error ends the call as its status. Otherwise
     * the stream has a message with error_message, and the call succeeds. If the client
     * cancels or disconnects, the model is cancelled.
     *
     * @generated from rpc trident.v1.InferService.InferStream
     */
    inferStream: {
        methodKind: "server_streaming";
        input: typeof ModelInferRequestSchema;
        output: typeof ModelStreamInferResponseSchema;
    };
}>;
