// Messages that the services for text generation share.
import { enumDesc, fileDesc, messageDesc } from "@bufbuild/protobuf/codegenv2";
/**
 * Describes the file trident/v1/generation.proto.
 */
export const file_trident_v1_generation = /*@__PURE__*/ fileDesc("Cht0cmlkZW50L3YxL2dlbmVyYXRpb24ucHJvdG8SCnRyaWRlbnQudjEiQQoKVG9wTG9ncHJvYhINCgV0b2tlbhgBIAEoCRITCgt0b2tlbl9ieXRlcxgCIAEoDBIPCgdsb2dwcm9iGAMgASgBImgKDFRva2VuTG9ncHJvYhINCgV0b2tlbhgBIAEoCRITCgt0b2tlbl9ieXRlcxgCIAEoDBIPCgdsb2dwcm9iGAMgASgBEiMKA3RvcBgEIAMoCzIWLnRyaWRlbnQudjEuVG9wTG9ncHJvYiI5CgVVc2FnZRIVCg1wcm9tcHRfdG9rZW5zGAEgASgNEhkKEWNvbXBsZXRpb25fdG9rZW5zGAIgASgNIpYCCg5SZXNwb25zZUZvcm1hdBImCgR0ZXh0GAEgASgLMhYudHJpZGVudC52MS5UZXh0Rm9ybWF0SAASMwoLanNvbl9vYmplY3QYAiABKAsyHC50cmlkZW50LnYxLkpzb25PYmplY3RGb3JtYXRIABIzCgtqc29uX3NjaGVtYRgDIAEoCzIcLnRyaWRlbnQudjEuSnNvblNjaGVtYUZvcm1hdEgAEg8KBXJlZ2V4GAQgASgJSAASKgoGY2hvaWNlGAUgASgLMhgudHJpZGVudC52MS5DaG9pY2VGb3JtYXRIABIRCgdncmFtbWFyGAYgASgJSAASGAoOc3RydWN0dXJhbF90YWcYByABKAlIAEIICgZmb3JtYXQiDAoKVGV4dEZvcm1hdCISChBKc29uT2JqZWN0Rm9ybWF0IjAKEEpzb25TY2hlbWFGb3JtYXQSDgoGc2NoZW1hGAEgASgJEgwKBG5hbWUYAiABKAkiHwoMQ2hvaWNlRm9ybWF0Eg8KB2Nob2ljZXMYASADKAkiFwoIVG9rZW5JZHMSCwoDaWRzGAEgAygNIk8KCVRleHRJbnB1dBIOCgR0ZXh0GAEgASgJSAASKQoJdG9rZW5faWRzGAIgASgLMhQudHJpZGVudC52MS5Ub2tlbklkc0gAQgcKBWlucHV0Kp8BCgxGaW5pc2hSZWFzb24SHQoZRklOSVNIX1JFQVNPTl9VTlNQRUNJRklFRBAAEhYKEkZJTklTSF9SRUFTT05fU1RPUBABEhgKFEZJTklTSF9SRUFTT05fTEVOR1RIEAISIAocRklOSVNIX1JFQVNPTl9DT05URU5UX0ZJTFRFUhADEhwKGEZJTklTSF9SRUFTT05fVE9PTF9DQUxMUxAEQkJaQGdpdGh1Yi5jb20vdHJpZGVudC1pbmZlcmVuY2UvdHJpZGVudC9nZW4vZ28vdHJpZGVudC92MTt0cmlkZW50djFiBnByb3RvMw");
/**
 * Describes the message trident.v1.TopLogprob.
 * Use `create(TopLogprobSchema)` to create a new message.
 */
export const TopLogprobSchema = /*@__PURE__*/ messageDesc(file_trident_v1_generation, 0);
/**
 * Describes the message trident.v1.TokenLogprob.
 * Use `create(TokenLogprobSchema)` to create a new message.
 */
export const TokenLogprobSchema = /*@__PURE__*/ messageDesc(file_trident_v1_generation, 1);
/**
 * Describes the message trident.v1.Usage.
 * Use `create(UsageSchema)` to create a new message.
 */
export const UsageSchema = /*@__PURE__*/ messageDesc(file_trident_v1_generation, 2);
/**
 * Describes the message trident.v1.ResponseFormat.
 * Use `create(ResponseFormatSchema)` to create a new message.
 */
export const ResponseFormatSchema = /*@__PURE__*/ messageDesc(file_trident_v1_generation, 3);
/**
 * Describes the message trident.v1.TextFormat.
 * Use `create(TextFormatSchema)` to create a new message.
 */
export const TextFormatSchema = /*@__PURE__*/ messageDesc(file_trident_v1_generation, 4);
/**
 * Describes the message trident.v1.JsonObjectFormat.
 * Use `create(JsonObjectFormatSchema)` to create a new message.
 */
export const JsonObjectFormatSchema = /*@__PURE__*/ messageDesc(file_trident_v1_generation, 5);
/**
 * Describes the message trident.v1.JsonSchemaFormat.
 * Use `create(JsonSchemaFormatSchema)` to create a new message.
 */
export const JsonSchemaFormatSchema = /*@__PURE__*/ messageDesc(file_trident_v1_generation, 6);
/**
 * Describes the message trident.v1.ChoiceFormat.
 * Use `create(ChoiceFormatSchema)` to create a new message.
 */
export const ChoiceFormatSchema = /*@__PURE__*/ messageDesc(file_trident_v1_generation, 7);
/**
 * Describes the message trident.v1.TokenIds.
 * Use `create(TokenIdsSchema)` to create a new message.
 */
export const TokenIdsSchema = /*@__PURE__*/ messageDesc(file_trident_v1_generation, 8);
/**
 * Describes the message trident.v1.TextInput.
 * Use `create(TextInputSchema)` to create a new message.
 */
export const TextInputSchema = /*@__PURE__*/ messageDesc(file_trident_v1_generation, 9);
/**
 * FinishReason is the reason why a choice ended.
 *
 * @generated from enum trident.v1.FinishReason
 */
export var FinishReason;
(function (FinishReason) {
    /**
     * The choice hasn't ended yet. This value occurs only in streams.
     *
     * @generated from enum value: FINISH_REASON_UNSPECIFIED = 0;
     */
    FinishReason[FinishReason["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * The model ended the text, or a stop sequence appeared.
     *
     * @generated from enum value: FINISH_REASON_STOP = 1;
     */
    FinishReason[FinishReason["STOP"] = 1] = "STOP";
    /**
     * The maximum number of tokens was reached, or the context was full.
     *
     * @generated from enum value: FINISH_REASON_LENGTH = 2;
     */
    FinishReason[FinishReason["LENGTH"] = 2] = "LENGTH";
    /**
     * The backend withheld the rest of the text.
     *
     * @generated from enum value: FINISH_REASON_CONTENT_FILTER = 3;
     */
    FinishReason[FinishReason["CONTENT_FILTER"] = 3] = "CONTENT_FILTER";
    /**
     * The message calls tools and waits for their results.
     *
     * @generated from enum value: FINISH_REASON_TOOL_CALLS = 4;
     */
    FinishReason[FinishReason["TOOL_CALLS"] = 4] = "TOOL_CALLS";
})(FinishReason || (FinishReason = {}));
/**
 * Describes the enum trident.v1.FinishReason.
 */
export const FinishReasonSchema = /*@__PURE__*/ enumDesc(file_trident_v1_generation, 0);
