/**
 * Client of Trident's typed services: chats, completions, embeddings, ranks, models, the server's load,
 * and any model by its tensors. It needs only fetch from its environment. The messages are
 * documented in api/trident/v1. The services for Connect's own clients are in @trident/client/gen/.
 */
export { Code } from "@connectrpc/connect";
export {
  createTrident,
  type ChatInit,
  type ClassifyInit,
  type CompleteInit,
  type EmbedInit,
  type InferInit,
  type RerankInit,
  type ScoreInit,
  type Trident,
  type TridentOptions,
  type Which,
} from "./trident.js";
export type { CallOptions } from "./calls.js";
export { TridentError } from "./error.js";
export { TextStream } from "./stream.js";
export { inputs, outputs, type Tensor } from "./tensors.js";
export * from "./gen/trident/v1/chat_pb.js";
export * from "./gen/trident/v1/completion_pb.js";
export * from "./gen/trident/v1/embedding_pb.js";
export * from "./gen/trident/v1/encoder_pb.js";
export * from "./gen/trident/v1/error_pb.js";
export * from "./gen/trident/v1/generation_pb.js";
export * from "./gen/trident/v1/model_pb.js";
export * from "./gen/trident/v1/server_pb.js";
export type { ModelInferRequest, ModelInferResponse } from "./gen/kserve/grpc_service_pb.js";
