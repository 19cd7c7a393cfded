import type { GenEnum, GenFile, GenMessage } from "@bufbuild/protobuf/codegenv2";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file trident/v1/generation.proto.
 */
export declare const file_trident_v1_generation: GenFile;
/**
 * TopLogprob is one of the likeliest tokens at a position.
 *
 * @generated from message trident.v1.TopLogprob
 */
export type TopLogprob = Message<"trident.v1.TopLogprob"> & {
    /**
     * Text of the token. If a token is only a part of a character, the text is U+FFFD.
     *
     * @generated from field: string token = 1;
     */
    token: string;
    /**
     * Bytes of the token. The bytes of all tokens, joined, are the generated text
     * in UTF-8.
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
 * TokenLogprob is a generated token with the likeliest tokens at its position.
 *
 * @generated from message trident.v1.TokenLogprob
 */
export type TokenLogprob = Message<"trident.v1.TokenLogprob"> & {
    /**
     * Text of the token. If a token is only a part of a character, the text is U+FFFD.
     *
     * @generated from field: string token = 1;
     */
    token: string;
    /**
     * Bytes of the token. The bytes of all tokens, joined, are the generated text
     * in UTF-8.
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
     * The likeliest tokens, in descending order of probability. The request sets the
     * number of these tokens. The list doesn't always contain the generated token.
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
 * Usage is the number of tokens, counted by the model's own tokenizer.
 *
 * @generated from message trident.v1.Usage
 */
export type Usage = Message<"trident.v1.Usage"> & {
    /**
     * Number of tokens of the rendered prompt, including the tokens of the chat template.
     *
     * @generated from field: uint32 prompt_tokens = 1;
     */
    promptTokens: number;
    /**
     * Number of tokens of all choices together, including the tokens that end the
     * choices.
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
 * ResponseFormat is the required format of a choice (structured outputs). The backend
 * enforces the format while it samples tokens. The server refuses a format that the
 * model's backend can't enforce.
 *
 * @generated from message trident.v1.ResponseFormat
 */
export type ResponseFormat = Message<"trident.v1.ResponseFormat"> & {
    /**
     * The format. Unset means any text.
     *
     * @generated from oneof trident.v1.ResponseFormat.format
     */
    format: {
        /**
         * Any text. This is the same as no format.
         *
         * @generated from field: trident.v1.TextFormat text = 1;
         */
        value: TextFormat;
        case: "text";
    } | {
        /**
         * One JSON object of any schema.
         *
         * @generated from field: trident.v1.JsonObjectFormat json_object = 2;
         */
        value: JsonObjectFormat;
        case: "jsonObject";
    } | {
        /**
         * JSON that matches a schema.
         *
         * @generated from field: trident.v1.JsonSchemaFormat json_schema = 3;
         */
        value: JsonSchemaFormat;
        case: "jsonSchema";
    } | {
        /**
         * Text that matches a regular expression as a whole. The expression is in the
         * engine's dialect.
         *
         * @generated from field: string regex = 4;
         */
        value: string;
        case: "regex";
    } | {
        /**
         * One of several strings.
         *
         * @generated from field: trident.v1.ChoiceFormat choice = 5;
         */
        value: ChoiceFormat;
        case: "choice";
    } | {
        /**
         * Text that matches a context-free grammar. The grammar is in the engine's dialect,
         * such as EBNF or Lark.
         *
         * @generated from field: string grammar = 6;
         */
        value: string;
        case: "grammar";
    } | {
        /**
         * Text whose parts between tags are constrained. The value is the engine's
         * structural tags as JSON.
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
 * TextFormat is the format of any text.
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
 * JsonObjectFormat is the format of one JSON object of any schema.
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
 * JsonSchemaFormat is the format of JSON that matches a schema.
 *
 * @generated from message trident.v1.JsonSchemaFormat
 */
export type JsonSchemaFormat = Message<"trident.v1.JsonSchemaFormat"> & {
    /**
     * The JSON schema, as a JSON string. The keys of the schema keep their order, and
     * most engines generate the object's keys in this order. Empty means
     * {"type":"object"}.
     *
     * @generated from field: string schema = 1;
     */
    schema: string;
    /**
     * Name of the schema for the client's own use. The name has no effect.
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
 * ChoiceFormat is the format of one of several strings.
 *
 * @generated from message trident.v1.ChoiceFormat
 */
export type ChoiceFormat = Message<"trident.v1.ChoiceFormat"> & {
    /**
     * The strings: 1 to 16384.
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
 * TokenIds is a text as the ids of its tokens in the model's own vocabulary.
 *
 * @generated from message trident.v1.TokenIds
 */
export type TokenIds = Message<"trident.v1.TokenIds"> & {
    /**
     * The ids in order, at least one. All lists of a request have at most 1048576
     * ids together, or 524288 in JSON.
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
         * The text as a string. It may be empty only in requests to continue the text.
         *
         * @generated from field: string text = 1;
         */
        value: string;
        case: "text";
    } | {
        /**
         * The text as token ids. The server must have the model's tokenizer, or the model
         * must accept token ids.
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
 * FinishReason is the reason why a choice ended.
 *
 * @generated from enum trident.v1.FinishReason
 */
export declare enum FinishReason {
    /**
     * The choice hasn't ended yet. This value occurs only in streams.
     *
     * @generated from enum value: FINISH_REASON_UNSPECIFIED = 0;
     */
    UNSPECIFIED = 0,
    /**
     * The model ended the text, or a stop sequence appeared.
     *
     * @generated from enum value: FINISH_REASON_STOP = 1;
     */
    STOP = 1,
    /**
     * The maximum number of tokens was reached, or the context was full.
     *
     * @generated from enum value: FINISH_REASON_LENGTH = 2;
     */
    LENGTH = 2,
    /**
     * The backend withheld the rest of the text.
     *
     * @generated from enum value: FINISH_REASON_CONTENT_FILTER = 3;
     */
    CONTENT_FILTER = 3,
    /**
     * The message calls tools and waits for their results.
     *
     * @generated from enum value: FINISH_REASON_TOOL_CALLS = 4;
     */
    TOOL_CALLS = 4
}
/**
 * Describes the enum trident.v1.FinishReason.
 */
export declare const FinishReasonSchema: GenEnum<FinishReason>;
