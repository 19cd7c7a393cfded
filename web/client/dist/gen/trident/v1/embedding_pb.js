// Embeddings of text.
import { fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { file_trident_v1_generation } from "./generation_pb.js";
/**
 * Describes the file trident/v1/embedding.proto.
 */
export const file_trident_v1_embedding = /*@__PURE__*/ fileDesc("Chp0cmlkZW50L3YxL2VtYmVkZGluZy5wcm90bxIKdHJpZGVudC52MSJlCgxFbWJlZFJlcXVlc3QSDQoFbW9kZWwYASABKAkSJAoFaW5wdXQYAiADKAsyFS50cmlkZW50LnYxLlRleHRJbnB1dBISCgpkaW1lbnNpb25zGAMgASgNEgwKBHVzZXIYBCABKAkiKgoJRW1iZWRkaW5nEg0KBWluZGV4GAEgASgNEg4KBnZhbHVlcxgCIAMoAiJrCg1FbWJlZFJlc3BvbnNlEg0KBW1vZGVsGAEgASgJEikKCmVtYmVkZGluZ3MYAiADKAsyFS50cmlkZW50LnYxLkVtYmVkZGluZxIgCgV1c2FnZRgDIAEoCzIRLnRyaWRlbnQudjEuVXNhZ2UyVQoQRW1iZWRkaW5nU2VydmljZRJBCgVFbWJlZBIYLnRyaWRlbnQudjEuRW1iZWRSZXF1ZXN0GhkudHJpZGVudC52MS5FbWJlZFJlc3BvbnNlIgOQAgFCQlpAZ2l0aHViLmNvbS90cmlkZW50LWluZmVyZW5jZS90cmlkZW50L2dlbi9nby90cmlkZW50L3YxO3RyaWRlbnR2MWIGcHJvdG8z", [file_trident_v1_generation]);
/**
 * Describes the message trident.v1.EmbedRequest.
 * Use `create(EmbedRequestSchema)` to create a new message.
 */
export const EmbedRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_embedding, 0);
/**
 * Describes the message trident.v1.Embedding.
 * Use `create(EmbeddingSchema)` to create a new message.
 */
export const EmbeddingSchema = /*@__PURE__*/ messageDesc(file_trident_v1_embedding, 1);
/**
 * Describes the message trident.v1.EmbedResponse.
 * Use `create(EmbedResponseSchema)` to create a new message.
 */
export const EmbedResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_embedding, 2);
/**
 * EmbeddingService returns vectors for texts. Texts of similar meaning have
 * vectors that are close to each other. Codes, error details and cancellation
 * are those of ChatService.
 *
 * @generated from service trident.v1.EmbeddingService
 */
export const EmbeddingService = /*@__PURE__*/ serviceDesc(file_trident_v1_embedding, 0);
