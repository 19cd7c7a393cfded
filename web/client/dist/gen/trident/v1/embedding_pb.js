// Embeddings of text.
import { enumDesc, fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { file_trident_v1_generation } from "./generation_pb.js";
/**
 * Describes the file trident/v1/embedding.proto.
 */
export const file_trident_v1_embedding = /*@__PURE__*/ fileDesc("Chp0cmlkZW50L3YxL2VtYmVkZGluZy5wcm90bxIKdHJpZGVudC52MSL4AQoMRW1iZWRSZXF1ZXN0Eg0KBW1vZGVsGAEgASgJEiQKBWlucHV0GAIgAygLMhUudHJpZGVudC52MS5UZXh0SW5wdXQSEgoKZGltZW5zaW9ucxgDIAEoDRIMCgR1c2VyGAQgASgJEhIKCmlucHV0X3R5cGUYBSABKAkSKgoKdHJ1bmNhdGlvbhgGIAEoCzIWLnRyaWRlbnQudjEuVHJ1bmNhdGlvbhIWCglub3JtYWxpemUYByABKAhIAIgBARIrCgt2ZWN0b3JfdHlwZRgIIAEoDjIWLnRyaWRlbnQudjEuVmVjdG9yVHlwZUIMCgpfbm9ybWFsaXplIkoKClRydW5jYXRpb24SKAoEc2lkZRgBIAEoDjIaLnRyaWRlbnQudjEuVHJ1bmNhdGlvblNpZGUSEgoKbWF4X3Rva2VucxgCIAEoDSI9CglFbWJlZGRpbmcSDQoFaW5kZXgYASABKA0SDgoGdmFsdWVzGAIgAygCEhEKCXF1YW50aXplZBgDIAEoDCJrCg1FbWJlZFJlc3BvbnNlEg0KBW1vZGVsGAEgASgJEikKCmVtYmVkZGluZ3MYAiADKAsyFS50cmlkZW50LnYxLkVtYmVkZGluZxIgCgV1c2FnZRgDIAEoCzIRLnRyaWRlbnQudjEuVXNhZ2UqhwEKClZlY3RvclR5cGUSGwoXVkVDVE9SX1RZUEVfVU5TUEVDSUZJRUQQABIUChBWRUNUT1JfVFlQRV9JTlQ4EAESFQoRVkVDVE9SX1RZUEVfVUlOVDgQAhIWChJWRUNUT1JfVFlQRV9CSU5BUlkQAxIXChNWRUNUT1JfVFlQRV9VQklOQVJZEAQqZgoOVHJ1bmNhdGlvblNpZGUSHwobVFJVTkNBVElPTl9TSURFX1VOU1BFQ0lGSUVEEAASGQoVVFJVTkNBVElPTl9TSURFX1JJR0hUEAESGAoUVFJVTkNBVElPTl9TSURFX0xFRlQQAjJVChBFbWJlZGRpbmdTZXJ2aWNlEkEKBUVtYmVkEhgudHJpZGVudC52MS5FbWJlZFJlcXVlc3QaGS50cmlkZW50LnYxLkVtYmVkUmVzcG9uc2UiA5ACAUJCWkBnaXRodWIuY29tL3RyaWRlbnQtaW5mZXJlbmNlL3RyaWRlbnQvZ2VuL2dvL3RyaWRlbnQvdjE7dHJpZGVudHYxYgZwcm90bzM", [file_trident_v1_generation]);
/**
 * Describes the message trident.v1.EmbedRequest.
 * Use `create(EmbedRequestSchema)` to create a new message.
 */
export const EmbedRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_embedding, 0);
/**
 * Describes the message trident.v1.Truncation.
 * Use `create(TruncationSchema)` to create a new message.
 */
export const TruncationSchema = /*@__PURE__*/ messageDesc(file_trident_v1_embedding, 1);
/**
 * Describes the message trident.v1.Embedding.
 * Use `create(EmbeddingSchema)` to create a new message.
 */
export const EmbeddingSchema = /*@__PURE__*/ messageDesc(file_trident_v1_embedding, 2);
/**
 * Describes the message trident.v1.EmbedResponse.
 * Use `create(EmbedResponseSchema)` to create a new message.
 */
export const EmbedResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_embedding, 3);
/**
 * VectorType is the type of the components of vectors.
 *
 * @generated from enum trident.v1.VectorType
 */
export var VectorType;
(function (VectorType) {
    /**
     * Floating-point numbers, in the field values.
     *
     * @generated from enum value: VECTOR_TYPE_UNSPECIFIED = 0;
     */
    VectorType[VectorType["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * Whole numbers from -127 to 127. Each number has one byte.
     *
     * @generated from enum value: VECTOR_TYPE_INT8 = 1;
     */
    VectorType[VectorType["INT8"] = 1] = "INT8";
    /**
     * Whole numbers from 1 to 255. Each number has one byte.
     *
     * @generated from enum value: VECTOR_TYPE_UINT8 = 2;
     */
    VectorType[VectorType["UINT8"] = 2] = "UINT8";
    /**
     * Each byte has the signs of 8 components, the first one in the highest bit. 128 is
     * subtracted from each byte.
     *
     * @generated from enum value: VECTOR_TYPE_BINARY = 3;
     */
    VectorType[VectorType["BINARY"] = 3] = "BINARY";
    /**
     * Each byte has the signs of 8 components, the first one in the highest bit.
     *
     * @generated from enum value: VECTOR_TYPE_UBINARY = 4;
     */
    VectorType[VectorType["UBINARY"] = 4] = "UBINARY";
})(VectorType || (VectorType = {}));
/**
 * Describes the enum trident.v1.VectorType.
 */
export const VectorTypeSchema = /*@__PURE__*/ enumDesc(file_trident_v1_embedding, 0);
/**
 * TruncationSide is the side of a text that is cut off if the text is too long.
 *
 * @generated from enum trident.v1.TruncationSide
 */
export var TruncationSide;
(function (TruncationSide) {
    /**
     * Texts aren't cut. A text that is too long is refused.
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
export const TruncationSideSchema = /*@__PURE__*/ enumDesc(file_trident_v1_embedding, 1);
/**
 * EmbeddingService returns vectors for texts. Texts of similar meaning have vectors
 * that are close to each other. Codes, error details and cancellation are the same as
 * for ChatService.
 *
 * @generated from service trident.v1.EmbeddingService
 */
export const EmbeddingService = /*@__PURE__*/ serviceDesc(file_trident_v1_embedding, 0);
