// Scores, classes and vectors of texts.
import { enumDesc, fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { file_trident_v1_generation } from "./generation_pb.js";
/**
 * Describes the file trident/v1/encoder.proto.
 */
export const file_trident_v1_encoder = /*@__PURE__*/ fileDesc("Chh0cmlkZW50L3YxL2VuY29kZXIucHJvdG8SCnRyaWRlbnQudjEiSgoKVHJ1bmNhdGlvbhIoCgRzaWRlGAEgASgOMhoudHJpZGVudC52MS5UcnVuY2F0aW9uU2lkZRISCgptYXhfdG9rZW5zGAIgASgNItgBCg1SZXJhbmtSZXF1ZXN0Eg0KBW1vZGVsGAEgASgJEg0KBXF1ZXJ5GAIgASgJEhEKCWRvY3VtZW50cxgDIAMoCRINCgV0b3BfbhgEIAEoDRIYChByZXR1cm5fZG9jdW1lbnRzGAUgASgIEhMKC2luc3RydWN0aW9uGAYgASgJEioKCnRydW5jYXRpb24YByABKAsyFi50cmlkZW50LnYxLlRydW5jYXRpb24SHwoXbWF4X3Rva2Vuc19wZXJfZG9jdW1lbnQYCCABKA0SCwoDcmF3GAkgASgIIkAKDlJhbmtlZERvY3VtZW50Eg0KBWluZGV4GAEgASgNEg0KBXNjb3JlGAIgASgBEhAKCGRvY3VtZW50GAMgASgJIm4KDlJlcmFua1Jlc3BvbnNlEg0KBW1vZGVsGAEgASgJEisKB3Jlc3VsdHMYAiADKAsyGi50cmlkZW50LnYxLlJhbmtlZERvY3VtZW50EiAKBXVzYWdlGAMgASgLMhEudHJpZGVudC52MS5Vc2FnZSKKAQoMU2NvcmVSZXF1ZXN0Eg0KBW1vZGVsGAEgASgJEg0KBWZpcnN0GAIgAygJEg4KBnNlY29uZBgDIAMoCRITCgtpbnN0cnVjdGlvbhgEIAEoCRIqCgp0cnVuY2F0aW9uGAUgASgLMhYudHJpZGVudC52MS5UcnVuY2F0aW9uEgsKA3JhdxgGIAEoCCJQCg1TY29yZVJlc3BvbnNlEg0KBW1vZGVsGAEgASgJEg4KBnNjb3JlcxgCIAMoARIgCgV1c2FnZRgDIAEoCzIRLnRyaWRlbnQudjEuVXNhZ2UifwoPQ2xhc3NpZnlSZXF1ZXN0Eg0KBW1vZGVsGAEgASgJEiQKBWlucHV0GAIgAygLMhUudHJpZGVudC52MS5UZXh0SW5wdXQSKgoKdHJ1bmNhdGlvbhgDIAEoCzIWLnRyaWRlbnQudjEuVHJ1bmNhdGlvbhILCgNyYXcYBCABKAgiRQoOQ2xhc3NpZmljYXRpb24SDQoFaW5kZXgYASABKA0SDQoFbGFiZWwYAiABKA0SFQoNcHJvYmFiaWxpdGllcxgDIAMoASKAAQoQQ2xhc3NpZnlSZXNwb25zZRINCgVtb2RlbBgBIAEoCRIOCgZsYWJlbHMYAiADKAkSKwoHcmVzdWx0cxgDIAMoCzIaLnRyaWRlbnQudjEuQ2xhc3NpZmljYXRpb24SIAoFdXNhZ2UYBCABKAsyES50cmlkZW50LnYxLlVzYWdlIokBChJFbWJlZFRva2Vuc1JlcXVlc3QSDQoFbW9kZWwYASABKAkSJAoFaW5wdXQYAiADKAsyFS50cmlkZW50LnYxLlRleHRJbnB1dBISCgppbnB1dF90eXBlGAMgASgJEioKCnRydW5jYXRpb24YBCABKAsyFi50cmlkZW50LnYxLlRydW5jYXRpb24iQQoMVG9rZW5WZWN0b3JzEg0KBWluZGV4GAEgASgNEhIKCmRpbWVuc2lvbnMYAiABKA0SDgoGdmFsdWVzGAMgAygCInEKE0VtYmVkVG9rZW5zUmVzcG9uc2USDQoFbW9kZWwYASABKAkSKQoHcmVzdWx0cxgCIAMoCzIYLnRyaWRlbnQudjEuVG9rZW5WZWN0b3JzEiAKBXVzYWdlGAMgASgLMhEudHJpZGVudC52MS5Vc2FnZSKJAQoSRW1iZWRTcGFyc2VSZXF1ZXN0Eg0KBW1vZGVsGAEgASgJEiQKBWlucHV0GAIgAygLMhUudHJpZGVudC52MS5UZXh0SW5wdXQSEgoKaW5wdXRfdHlwZRgDIAEoCRIqCgp0cnVuY2F0aW9uGAQgASgLMhYudHJpZGVudC52MS5UcnVuY2F0aW9uIkEKDFNwYXJzZVZlY3RvchINCgVpbmRleBgBIAEoDRIRCgl0b2tlbl9pZHMYAiADKA0SDwoHd2VpZ2h0cxgDIAMoAiJxChNFbWJlZFNwYXJzZVJlc3BvbnNlEg0KBW1vZGVsGAEgASgJEikKB3Jlc3VsdHMYAiADKAsyGC50cmlkZW50LnYxLlNwYXJzZVZlY3RvchIgCgV1c2FnZRgDIAEoCzIRLnRyaWRlbnQudjEuVXNhZ2UqZgoOVHJ1bmNhdGlvblNpZGUSHwobVFJVTkNBVElPTl9TSURFX1VOU1BFQ0lGSUVEEAASGQoVVFJVTkNBVElPTl9TSURFX1JJR0hUEAESGAoUVFJVTkNBVElPTl9TSURFX0xFRlQQAjKPAwoORW5jb2RlclNlcnZpY2USRAoGUmVyYW5rEhkudHJpZGVudC52MS5SZXJhbmtSZXF1ZXN0GhoudHJpZGVudC52MS5SZXJhbmtSZXNwb25zZSIDkAIBEkEKBVNjb3JlEhgudHJpZGVudC52MS5TY29yZVJlcXVlc3QaGS50cmlkZW50LnYxLlNjb3JlUmVzcG9uc2UiA5ACARJKCghDbGFzc2lmeRIbLnRyaWRlbnQudjEuQ2xhc3NpZnlSZXF1ZXN0GhwudHJpZGVudC52MS5DbGFzc2lmeVJlc3BvbnNlIgOQAgESUwoLRW1iZWRUb2tlbnMSHi50cmlkZW50LnYxLkVtYmVkVG9rZW5zUmVxdWVzdBofLnRyaWRlbnQudjEuRW1iZWRUb2tlbnNSZXNwb25zZSIDkAIBElMKC0VtYmVkU3BhcnNlEh4udHJpZGVudC52MS5FbWJlZFNwYXJzZVJlcXVlc3QaHy50cmlkZW50LnYxLkVtYmVkU3BhcnNlUmVzcG9uc2UiA5ACAUJCWkBnaXRodWIuY29tL3RyaWRlbnQtaW5mZXJlbmNlL3RyaWRlbnQvZ2VuL2dvL3RyaWRlbnQvdjE7dHJpZGVudHYxYgZwcm90bzM", [file_trident_v1_generation]);
/**
 * Describes the message trident.v1.Truncation.
 * Use `create(TruncationSchema)` to create a new message.
 */
export const TruncationSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 0);
/**
 * Describes the message trident.v1.RerankRequest.
 * Use `create(RerankRequestSchema)` to create a new message.
 */
export const RerankRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 1);
/**
 * Describes the message trident.v1.RankedDocument.
 * Use `create(RankedDocumentSchema)` to create a new message.
 */
export const RankedDocumentSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 2);
/**
 * Describes the message trident.v1.RerankResponse.
 * Use `create(RerankResponseSchema)` to create a new message.
 */
export const RerankResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 3);
/**
 * Describes the message trident.v1.ScoreRequest.
 * Use `create(ScoreRequestSchema)` to create a new message.
 */
export const ScoreRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 4);
/**
 * Describes the message trident.v1.ScoreResponse.
 * Use `create(ScoreResponseSchema)` to create a new message.
 */
export const ScoreResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 5);
/**
 * Describes the message trident.v1.ClassifyRequest.
 * Use `create(ClassifyRequestSchema)` to create a new message.
 */
export const ClassifyRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 6);
/**
 * Describes the message trident.v1.Classification.
 * Use `create(ClassificationSchema)` to create a new message.
 */
export const ClassificationSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 7);
/**
 * Describes the message trident.v1.ClassifyResponse.
 * Use `create(ClassifyResponseSchema)` to create a new message.
 */
export const ClassifyResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 8);
/**
 * Describes the message trident.v1.EmbedTokensRequest.
 * Use `create(EmbedTokensRequestSchema)` to create a new message.
 */
export const EmbedTokensRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 9);
/**
 * Describes the message trident.v1.TokenVectors.
 * Use `create(TokenVectorsSchema)` to create a new message.
 */
export const TokenVectorsSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 10);
/**
 * Describes the message trident.v1.EmbedTokensResponse.
 * Use `create(EmbedTokensResponseSchema)` to create a new message.
 */
export const EmbedTokensResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 11);
/**
 * Describes the message trident.v1.EmbedSparseRequest.
 * Use `create(EmbedSparseRequestSchema)` to create a new message.
 */
export const EmbedSparseRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 12);
/**
 * Describes the message trident.v1.SparseVector.
 * Use `create(SparseVectorSchema)` to create a new message.
 */
export const SparseVectorSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 13);
/**
 * Describes the message trident.v1.EmbedSparseResponse.
 * Use `create(EmbedSparseResponseSchema)` to create a new message.
 */
export const EmbedSparseResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_encoder, 14);
/**
 * TruncationSide is the side of a text that is cut if the text is too long.
 *
 * @generated from enum trident.v1.TruncationSide
 */
export var TruncationSide;
(function (TruncationSide) {
    /**
     * Texts aren't cut: one that is too long is refused.
     *
     * @generated from enum value: TRUNCATION_SIDE_UNSPECIFIED = 0;
     */
    TruncationSide[TruncationSide["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * The start of the text remains.
     *
     * @generated from enum value: TRUNCATION_SIDE_RIGHT = 1;
     */
    TruncationSide[TruncationSide["RIGHT"] = 1] = "RIGHT";
    /**
     * The end of the text remains.
     *
     * @generated from enum value: TRUNCATION_SIDE_LEFT = 2;
     */
    TruncationSide[TruncationSide["LEFT"] = 2] = "LEFT";
})(TruncationSide || (TruncationSide = {}));
/**
 * Describes the enum trident.v1.TruncationSide.
 */
export const TruncationSideSchema = /*@__PURE__*/ enumDesc(file_trident_v1_encoder, 0);
/**
 * EncoderService ranks, scores and classifies texts, and returns the vectors of
 * their tokens. EmbeddingService returns one vector for each text. Codes, error
 * details and cancellation are those of ChatService.
 *
 * @generated from service trident.v1.EncoderService
 */
export const EncoderService = /*@__PURE__*/ serviceDesc(file_trident_v1_encoder, 0);
