// Scores, classes and vectors of texts.
import { fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { file_trident_v1_embedding } from "./embedding_pb.js";
import { file_trident_v1_generation } from "./generation_pb.js";
/**
 * Describes the file trident/v1/encoder.proto.
 */
export const file_trident_v1_encoder = /*@__PURE__*/ fileDesc("Chh0cmlkZW50L3YxL2VuY29kZXIucHJvdG8SCnRyaWRlbnQudjEi2AEKDVJlcmFua1JlcXVlc3QSDQoFbW9kZWwYASABKAkSDQoFcXVlcnkYAiABKAkSEQoJZG9jdW1lbnRzGAMgAygJEg0KBXRvcF9uGAQgASgNEhgKEHJldHVybl9kb2N1bWVudHMYBSABKAgSEwoLaW5zdHJ1Y3Rpb24YBiABKAkSKgoKdHJ1bmNhdGlvbhgHIAEoCzIWLnRyaWRlbnQudjEuVHJ1bmNhdGlvbhIfChdtYXhfdG9rZW5zX3Blcl9kb2N1bWVudBgIIAEoDRILCgNyYXcYCSABKAgiQAoOUmFua2VkRG9jdW1lbnQSDQoFaW5kZXgYASABKA0SDQoFc2NvcmUYAiABKAESEAoIZG9jdW1lbnQYAyABKAkibgoOUmVyYW5rUmVzcG9uc2USDQoFbW9kZWwYASABKAkSKwoHcmVzdWx0cxgCIAMoCzIaLnRyaWRlbnQudjEuUmFua2VkRG9jdW1lbnQSIAoFdXNhZ2UYAyABKAsyES50cmlkZW50LnYxLlVzYWdlIooBCgxTY29yZVJlcXVlc3QSDQoFbW9kZWwYASABKAkSDQoFZmlyc3QYAiADKAkSDgoGc2Vjb25kGAMgAygJEhMKC2luc3RydWN0aW9uGAQgASgJEioKCnRydW5jYXRpb24YBSABKAsyFi50cmlkZW50LnYxLlRydW5jYXRpb24SCwoDcmF3GAYgASgIIlAKDVNjb3JlUmVzcG9uc2USDQoFbW9kZWwYASABKAkSDgoGc2NvcmVzGAIgAygBEiAKBXVzYWdlGAMgASgLMhEudHJpZGVudC52MS5Vc2FnZSJ/Cg9DbGFzc2lmeVJlcXVlc3QSDQoFbW9kZWwYASABKAkSJAoFaW5wdXQYAiADKAsyFS50cmlkZW50LnYxLlRleHRJbnB1dBIqCgp0cnVuY2F0aW9uGAMgASgLMhYudHJpZGVudC52MS5UcnVuY2F0aW9uEgsKA3JhdxgEIAEoCCJFCg5DbGFzc2lmaWNhdGlvbhINCgVpbmRleBgBIAEoDRINCgVsYWJlbBgCIAEoDRIVCg1wcm9iYWJpbGl0aWVzGAMgAygBIoABChBDbGFzc2lmeVJlc3BvbnNlEg0KBW1vZGVsGAEgASgJEg4KBmxhYmVscxgCIAMoCRIrCgdyZXN1bHRzGAMgAygLMhoudHJpZGVudC52MS5DbGFzc2lmaWNhdGlvbhIgCgV1c2FnZRgEIAEoCzIRLnRyaWRlbnQudjEuVXNhZ2UiiQEKEkVtYmVkVG9rZW5zUmVxdWVzdBINCgVtb2RlbBgBIAEoCRIkCgVpbnB1dBgCIAMoCzIVLnRyaWRlbnQudjEuVGV4dElucHV0EhIKCmlucHV0X3R5cGUYAyABKAkSKgoKdHJ1bmNhdGlvbhgEIAEoCzIWLnRyaWRlbnQudjEuVHJ1bmNhdGlvbiJBCgxUb2tlblZlY3RvcnMSDQoFaW5kZXgYASABKA0SEgoKZGltZW5zaW9ucxgCIAEoDRIOCgZ2YWx1ZXMYAyADKAIicQoTRW1iZWRUb2tlbnNSZXNwb25zZRINCgVtb2RlbBgBIAEoCRIpCgdyZXN1bHRzGAIgAygLMhgudHJpZGVudC52MS5Ub2tlblZlY3RvcnMSIAoFdXNhZ2UYAyABKAsyES50cmlkZW50LnYxLlVzYWdlIokBChJFbWJlZFNwYXJzZVJlcXVlc3QSDQoFbW9kZWwYASABKAkSJAoFaW5wdXQYAiADKAsyFS50cmlkZW50LnYxLlRleHRJbnB1dBISCgppbnB1dF90eXBlGAMgASgJEioKCnRydW5jYXRpb24YBCABKAsyFi50cmlkZW50LnYxLlRydW5jYXRpb24iQQoMU3BhcnNlVmVjdG9yEg0KBWluZGV4GAEgASgNEhEKCXRva2VuX2lkcxgCIAMoDRIPCgd3ZWlnaHRzGAMgAygCInEKE0VtYmVkU3BhcnNlUmVzcG9uc2USDQoFbW9kZWwYASABKAkSKQoHcmVzdWx0cxgCIAMoCzIYLnRyaWRlbnQudjEuU3BhcnNlVmVjdG9yEiAKBXVzYWdlGAMgASgLMhEudHJpZGVudC52MS5Vc2FnZTKPAwoORW5jb2RlclNlcnZpY2USRAoGUmVyYW5rEhkudHJpZGVudC52MS5SZXJhbmtSZXF1ZXN0GhoudHJpZGVudC52MS5SZXJhbmtSZXNwb25zZSIDkAIBEkEKBVNjb3JlEhgudHJpZGVudC52MS5TY29yZVJlcXVlc3QaGS50cmlkZW50LnYxLlNjb3JlUmVzcG9uc2UiA5ACARJKCghDbGFzc2lmeRIbLnRyaWRlbnQudjEuQ2xhc3NpZnlSZXF1ZXN0GhwudHJpZGVudC52MS5DbGFzc2lmeVJlc3BvbnNlIgOQAgESUwoLRW1iZWRUb2tlbnMSHi50cmlkZW50LnYxLkVtYmVkVG9rZW5zUmVxdWVzdBofLnRyaWRlbnQudjEuRW1iZWRUb2tlbnNSZXNwb25zZSIDkAIBElMKC0VtYmVkU3BhcnNlEh4udHJpZGVudC52MS5FbWJlZFNwYXJzZVJlcXVlc3QaHy50cmlkZW50LnYxLkVtYmVkU3BhcnNlUmVzcG9uc2UiA5ACAUJCWkBnaXRodWIuY29tL3RyaWRlbnQtaW5mZXJlbmNlL3RyaWRlbnQvZ2VuL2dvL3RyaWRlbnQvdjE7dHJpZGVudHYxYgZwcm90bzM", [file_trident_v1_embedding, file_trident_v1_generation]);
/**
 * Describes the message trident.v1.RerankRequest.
 * Use `create(RerankRequestSchema)` to create a new message.
 */
export const RerankRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 0);
/**
 * Describes the message trident.v1.RankedDocument.
 * Use `create(RankedDocumentSchema)` to create a new message.
 */
export const RankedDocumentSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 1);
/**
 * Describes the message trident.v1.RerankResponse.
 * Use `create(RerankResponseSchema)` to create a new message.
 */
export const RerankResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 2);
/**
 * Describes the message trident.v1.ScoreRequest.
 * Use `create(ScoreRequestSchema)` to create a new message.
 */
export const ScoreRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 3);
/**
 * Describes the message trident.v1.ScoreResponse.
 * Use `create(ScoreResponseSchema)` to create a new message.
 */
export const ScoreResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 4);
/**
 * Describes the message trident.v1.ClassifyRequest.
 * Use `create(ClassifyRequestSchema)` to create a new message.
 */
export const ClassifyRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 5);
/**
 * Describes the message trident.v1.Classification.
 * Use `create(ClassificationSchema)` to create a new message.
 */
export const ClassificationSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 6);
/**
 * Describes the message trident.v1.ClassifyResponse.
 * Use `create(ClassifyResponseSchema)` to create a new message.
 */
export const ClassifyResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 7);
/**
 * Describes the message trident.v1.EmbedTokensRequest.
 * Use `create(EmbedTokensRequestSchema)` to create a new message.
 */
export const EmbedTokensRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 8);
/**
 * Describes the message trident.v1.TokenVectors.
 * Use `create(TokenVectorsSchema)` to create a new message.
 */
export const TokenVectorsSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 9);
/**
 * Describes the message trident.v1.EmbedTokensResponse.
 * Use `create(EmbedTokensResponseSchema)` to create a new message.
 */
export const EmbedTokensResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 10);
/**
 * Describes the message trident.v1.EmbedSparseRequest.
 * Use `create(EmbedSparseRequestSchema)` to create a new message.
 */
export const EmbedSparseRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 11);
/**
 * Describes the message trident.v1.SparseVector.
 * Use `create(SparseVectorSchema)` to create a new message.
 */
export const SparseVectorSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 12);
/**
 * Describes the message trident.v1.EmbedSparseResponse.
 * Use `create(EmbedSparseResponseSchema)` to create a new message.
 */
export const EmbedSparseResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 13);
/**
 * EncoderService ranks, scores and classifies texts, and returns the vectors of their
 * tokens. EmbeddingService returns one vector for each text. Codes, error details and
 * cancellation are the same as for ChatService.
 *
 * @generated from service trident.v1.EncoderService
 */
export const EncoderService = /*@__PURE__*/ serviceDesc(file_trident_v1_encoder, 0);
