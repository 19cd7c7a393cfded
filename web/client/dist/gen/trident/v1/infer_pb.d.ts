import type { GenFile, GenService } from "@bufbuild/protobuf/codegenv2";
import type { ModelInferRequestSchema, ModelInferResponseSchema, ModelStreamInferResponseSchema } from "../../kserve/grpc_service_pb.js";
/**
 * Describes the file trident/v1/infer.proto.
 */
export declare const file_trident_v1_infer: GenFile;
/**
 * InferService runs any model by its tensors, with KServe v2's own messages. It
 * differs from inference.GRPCInferenceService in one thing: a stream has a single
 * request, because browsers cannot send request streams.
 *
 * In JSON a request's tensors have at most 1048576 numbers together. Larger tensors go in
 * raw_input_contents, or in the binary encoding.
 *
 * Codes and texts of errors are those of inference.GRPCInferenceService, which are
 * tritonserver's.
 *
 * @generated from service trident.v1.InferService
 */
export declare const InferService: GenService<{
    /**
     * Infer runs a model that gives one response, as ModelInfer does.
     *
     * @generated from rpc trident.v1.InferService.Infer
     */
    infer: {
        methodKind: "unary";
        input: typeof ModelInferRequestSchema;
        output: typeof ModelInferResponseSchema;
    };
    /**
     * InferStream runs a model once and returns its responses as they come, decoupled
     * models' too, as ModelStreamInfer does with one request. The first error ends
     * the call as its status where the header triton_grpc_error is true; else it is a
     * message with error_message, and the call succeeds. Leaving cancels the model.
     *
     * @generated from rpc trident.v1.InferService.InferStream
     */
    inferStream: {
        methodKind: "server_streaming";
        input: typeof ModelInferRequestSchema;
        output: typeof ModelStreamInferResponseSchema;
    };
}>;
