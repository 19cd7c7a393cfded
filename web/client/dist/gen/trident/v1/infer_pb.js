// Inference of KServe v2 in a form that browsers can call.
import { fileDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { file_kserve_grpc_service } from "../../kserve/grpc_service_pb.js";
/**
 * Describes the file trident/v1/infer.proto.
 */
export const file_trident_v1_infer = /*@__PURE__*/ fileDesc("ChZ0cmlkZW50L3YxL2luZmVyLnByb3RvEgp0cmlkZW50LnYxMqgBCgxJbmZlclNlcnZpY2USRAoFSW5mZXISHC5pbmZlcmVuY2UuTW9kZWxJbmZlclJlcXVlc3QaHS5pbmZlcmVuY2UuTW9kZWxJbmZlclJlc3BvbnNlElIKC0luZmVyU3RyZWFtEhwuaW5mZXJlbmNlLk1vZGVsSW5mZXJSZXF1ZXN0GiMuaW5mZXJlbmNlLk1vZGVsU3RyZWFtSW5mZXJSZXNwb25zZTABQkJaQGdpdGh1Yi5jb20vdHJpZGVudC1pbmZlcmVuY2UvdHJpZGVudC9nZW4vZ28vdHJpZGVudC92MTt0cmlkZW50djFiBnByb3RvMw", [file_kserve_grpc_service]);
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
export const InferService = /*@__PURE__*/ serviceDesc(file_trident_v1_infer, 0);
