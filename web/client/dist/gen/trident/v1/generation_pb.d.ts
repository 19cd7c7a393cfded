import type { GenEnum, GenFile, GenMessage } from "@bufbuild/protobuf/codegenv2";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file trident/v1/generation.proto.
 */
export declare const file_trident_v1_generation: GenFile;
/**
 * TopLogprob is a token that the model weighed at a position.
 *
 * @generated from message trident.v1.TopLogprob
 */
export type TopLogprob = Message<"trident.v1.TopLogprob"> & {
    /**
     * Text of the token. A piece of a character, which cannot stand alone, shows
     * as U+FFFD.
     *
     * @generated from field: string token = 1;
     */
    token: string;
    /**
     * The token's real bytes. Joined over tokens they are the answer in UTF-8.
     *
     * @generated from field: bytes token_bytes = 2;
     */
    tokenBytes: Uint8Array;
    /**
     * Natural logarithm of the token's probability, 0 or below.
     *
     * @generated from field: double logprob = 3;
     */
    logprob: number;
};
/**
 * Describes the message trident.v1.TopLogprob.
 * Use `create(TopLogprobSchema)` to create a new message.
 */
export declare const TopLogprobSchema: GenMessage<TopLogprob>;
/**
 * TokenLogprob is a token of the answer with what the model weighed in its
 * place.
 *
 * @generated from message trident.v1.TokenLogprob
 */
export type TokenLogprob = Message<"trident.v1.TokenLogprob"> & {
    /**
     * Text of the token. A piece of a character, which cannot stand alone, shows
     * as U+FFFD.
     *
     * @generated from field: string token = 1;
     */
    token: string;
    /**
     * The token's real bytes. Joined over tokens they are the answer in UTF-8.
     *
     * @generated from field: bytes token_bytes = 2;
     */
    tokenBytes: Uint8Array;
    /**
     * Natural logarithm of the token's probability, 0 or below.
     *
     * @generated from field: double logprob = 3;
     */
    logprob: number;
    /**
     * The likeliest tokens, the likeliest first; as many as the request asks for.
     * The chosen token need not be among them.
     *
     * @generated from field: repeated trident.v1.TopLogprob top = 4;
     */
    top: TopLogprob[];
};
/**
 * Describes the message trident.v1.TokenLogprob.
 * Use `create(TokenLogprobSchema)` to create a new message.
 */
export declare const TokenLogprobSchema: GenMessage<TokenLogprob>;
/**
 * Usage counts tokens, in the model's own tokenizer.
 *
 * @generated from message trident.v1.Usage
 */
export type Usage = Message<"trident.v1.Usage"> & {
    /**
     * Tokens of the rendered prompt, the template's own included.
     *
     * @generated from field: uint32 prompt_tokens = 1;
     */
    promptTokens: number;
    /**
     * Tokens of all answers together, the one that ends an answer included.
     *
     * @generated from field: uint32 completion_tokens = 2;
     */
    completionTokens: number;
};
/**
 * Describes the message trident.v1.Usage.
 * Use `create(UsageSchema)` to create a new message.
 */
export declare const UsageSchema: GenMessage<Usage>;
/**
 * ResponseFormat is the form that an answer must have, which holds while tokens
 * are drawn. A model whose backend cannot hold to a form refuses it.
 *
 * @generated from message trident.v1.ResponseFormat
 */
export type ResponseFormat = Message<"trident.v1.ResponseFormat"> & {
    /**
     * The form. Unset leaves the answer free.
     *
     * @generated from oneof trident.v1.ResponseFormat.format
     */
    format: {
        /**
         * Text of any form, as without a format.
         *
         * @generated from field: trident.v1.TextFormat text = 1;
         */
        value: TextFormat;
        case: "text";
    } | {
        /**
         * One JSON object, of any schema.
         *
         * @generated from field: trident.v1.JsonObjectFormat json_object = 2;
         */
        value: JsonObjectFormat;
        case: "jsonObject";
    } | {
        /**
         * JSON of a schema.
         *
         * @generated from field: trident.v1.JsonSchemaFormat json_schema = 3;
         */
        value: JsonSchemaFormat;
        case: "jsonSchema";
    } | {
        /**
         * Text that a regular expression matches whole, in the engine's dialect.
         *
         * @generated from field: string regex = 4;
         */
        value: string;
        case: "regex";
    } | {
        /**
         * One of several texts.
         *
         * @generated from field: trident.v1.ChoiceFormat choice = 5;
         */
        value: ChoiceFormat;
        case: "choice";
    } | {
        /**
         * Text of a context-free grammar, in the engine's dialect (EBNF, Lark).
         *
         * @generated from field: string grammar = 6;
         */
        value: string;
        case: "grammar";
    } | {
        /**
         * Text with parts of a form of their own, between tags: the engine's
         * structural tags, as JSON.
         *
         * @generated from field: string structural_tag = 7;
         */
        value: string;
        case: "structuralTag";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message trident.v1.ResponseFormat.
 * Use `create(ResponseFormatSchema)` to create a new message.
 */
export declare const ResponseFormatSchema: GenMessage<ResponseFormat>;
/**
 * TextFormat is text of any form.
 *
 * @generated from message trident.v1.TextFormat
 */
export type TextFormat = Message<"trident.v1.TextFormat"> & {};
/**
 * Describes the message trident.v1.TextFormat.
 * Use `create(TextFormatSchema)` to create a new message.
 */
export declare const TextFormatSchema: GenMessage<TextFormat>;
/**
 * JsonObjectFormat is one JSON object, of any schema.
 *
 * @generated from message trident.v1.JsonObjectFormat
 */
export type JsonObjectFormat = Message<"trident.v1.JsonObjectFormat"> & {};
/**
 * Describes the message trident.v1.JsonObjectFormat.
 * Use `create(JsonObjectFormatSchema)` to create a new message.
 */
export declare const JsonObjectFormatSchema: GenMessage<JsonObjectFormat>;
/**
 * JsonSchemaFormat is JSON of a schema.
 *
 * @generated from message trident.v1.JsonSchemaFormat
 */
export type JsonSchemaFormat = Message<"trident.v1.JsonSchemaFormat"> & {
    /**
     * The JSON schema, as JSON text: its keys keep their order, in which most
     * engines write them. Empty is {"type":"object"}.
     *
     * @generated from field: string schema = 1;
     */
    schema: string;
    /**
     * Name of the schema, for the client's own use; no effect.
     *
     * @generated from field: string name = 2;
     */
    name: string;
};
/**
 * Describes the message trident.v1.JsonSchemaFormat.
 * Use `create(JsonSchemaFormatSchema)` to create a new message.
 */
export declare const JsonSchemaFormatSchema: GenMessage<JsonSchemaFormat>;
/**
 * ChoiceFormat is one of several texts.
 *
 * @generated from message trident.v1.ChoiceFormat
 */
export type ChoiceFormat = Message<"trident.v1.ChoiceFormat"> & {
    /**
     * The texts. 1 to 16384.
     *
     * @generated from field: repeated string choices = 1;
     */
    choices: string[];
};
/**
 * Describes the message trident.v1.ChoiceFormat.
 * Use `create(ChoiceFormatSchema)` to create a new message.
 */
export declare const ChoiceFormatSchema: GenMessage<ChoiceFormat>;
/**
 * TokenIds is a text as the ids of its tokens, in the model's own vocabulary.
 *
 * @generated from message trident.v1.TokenIds
 */
export type TokenIds = Message<"trident.v1.TokenIds"> & {
    /**
     * The ids, in order. At least one; a request's lists have at most 1048576 together, or 524288 in JSON.
     *
     * @generated from field: repeated uint32 ids = 1;
     */
    ids: number[];
};
/**
 * Describes the message trident.v1.TokenIds.
 * Use `create(TokenIdsSchema)` to create a new message.
 */
export declare const TokenIdsSchema: GenMessage<TokenIds>;
/**
 * TextInput is a text to continue or to embed.
 *
 * @generated from message trident.v1.TextInput
 */
export type TextInput = Message<"trident.v1.TextInput"> & {
    /**
     * The text, in one of two forms. Required.
     *
     * @generated from oneof trident.v1.TextInput.input
     */
    input: {
        /**
         * As characters. May be empty where a text is continued.
         *
         * @generated from field: string text = 1;
         */
        value: string;
        case: "text";
    } | {
        /**
         * As token ids, where the server has the model's tokenizer or the model
         * takes ids itself.
         *
         * @generated from field: trident.v1.TokenIds token_ids = 2;
         */
        value: TokenIds;
        case: "tokenIds";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message trident.v1.TextInput.
 * Use `create(TextInputSchema)` to create a new message.
 */
export declare const TextInputSchema: GenMessage<TextInput>;
/**
 * FinishReason is why an answer ended.
 *
 * @generated from enum trident.v1.FinishReason
 */
export declare enum FinishReason {
    /**
     * Not ended yet; only in a stream.
     *
     * @generated from enum value: FINISH_REASON_UNSPECIFIED = 0;
     */
    UNSPECIFIED = 0,
    /**
     * The model was done, or a stop sequence appeared.
     *
     * @generated from enum value: FINISH_REASON_STOP = 1;
     */
    STOP = 1,
    /**
     * The limit of tokens was reached, or the context was full.
     *
     * @generated from enum value: FINISH_REASON_LENGTH = 2;
     */
    LENGTH = 2,
    /**
     * The backend withheld the rest.
     *
     * @generated from enum value: FINISH_REASON_CONTENT_FILTER = 3;
     */
    CONTENT_FILTER = 3,
    /**
     * The answer calls tools and waits for what they give.
     *
     * @generated from enum value: FINISH_REASON_TOOL_CALLS = 4;
     */
    TOOL_CALLS = 4
}
/**
 * Describes the enum trident.v1.FinishReason.
 */
export declare const FinishReasonSchema: GenEnum<FinishReason>;
