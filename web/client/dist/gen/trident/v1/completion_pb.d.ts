import type { GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { FinishReason, ResponseFormat, TextInput, TokenLogprob, Usage } from "./generation_pb.js";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file trident/v1/completion.proto.
 */
export declare const file_trident_v1_completion: GenFile;
/**
 * CompleteRequest asks for continuations of texts. An unset option is the model's
 * own default; one that the model cannot honour is refused, never ignored.
 *
 * @generated from message trident.v1.CompleteRequest
 */
export type CompleteRequest = Message<"trident.v1.CompleteRequest"> & {
    /**
     * Model, as the server lists it; an alias or the name of a LoRA adapter is as
     * good. Required.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * The texts to continue, each n times. At least one; together no more than 128
     * choices. The choices of the first one come first.
     *
     * @generated from field: repeated trident.v1.TextInput prompt = 2;
     */
    prompt: TextInput[];
    /**
     * Most tokens to generate for each choice, 1 or more. Unset means 16, or less
     * where the context has less room.
     *
     * @generated from field: optional uint32 max_tokens = 3;
     */
    maxTokens?: number | undefined;
    /**
     * Randomness, 0 to 2. 0 always takes the likeliest token.
     *
     * @generated from field: optional double temperature = 4;
     */
    temperature?: number | undefined;
    /**
     * Share of probability to choose from, 0 to 1: the likeliest tokens whose
     * probabilities reach it. 1 is no restriction.
     *
     * @generated from field: optional double top_p = 5;
     */
    topP?: number | undefined;
    /**
     * Number of likeliest tokens to choose from. 0 is no restriction.
     *
     * @generated from field: optional uint32 top_k = 6;
     */
    topK?: number | undefined;
    /**
     * Least probability of a token as a share of the likeliest one's, 0 to 1. 0 is
     * no restriction.
     *
     * @generated from field: optional double min_p = 7;
     */
    minP?: number | undefined;
    /**
     * Start of the random numbers. Equal requests with equal seeds tend to give
     * equal answers; engines that batch do not promise it. The answers of n have
     * seeds of their own, one after the other.
     *
     * @generated from field: optional int64 seed = 8;
     */
    seed?: bigint | undefined;
    /**
     * Texts that end the answer, at most 4, none of them empty. They are not part
     * of the answer.
     *
     * @generated from field: repeated string stop = 9;
     */
    stop: string[];
    /**
     * Taken off the score of every token that the answer already holds, -2 to 2. 0
     * is neutral; above it, new tokens are likelier.
     *
     * @generated from field: optional double presence_penalty = 10;
     */
    presencePenalty?: number | undefined;
    /**
     * Taken off the score of a token for each time that the answer already holds
     * it, -2 to 2. 0 is neutral; above it, repetition is less likely.
     *
     * @generated from field: optional double frequency_penalty = 11;
     */
    frequencyPenalty?: number | undefined;
    /**
     * Factor by which the score of every token that prompt or answer already hold
     * shrinks, above 0. 1 is neutral; above it, repetition is less likely.
     *
     * @generated from field: optional double repetition_penalty = 12;
     */
    repetitionPenalty?: number | undefined;
    /**
     * Log probabilities to return of every token: its own and this many of the
     * likeliest tokens at its position, 0 to 20. Unset returns none.
     *
     * @generated from field: optional uint32 logprobs = 13;
     */
    logprobs?: number | undefined;
    /**
     * Number of independent continuations of each text, up to 128; 0 means 1.
     *
     * @generated from field: uint32 n = 14;
     */
    n: number;
    /**
     * Number of continuations made of each text, of which the n likeliest by token
     * are returned; up to 20 and not below n, and in a stream not above it. 0 means n.
     *
     * @generated from field: uint32 best_of = 15;
     */
    bestOf: number;
    /**
     * True puts the prompt before each continuation. Not together with logprobs.
     *
     * @generated from field: bool echo = 16;
     */
    echo: boolean;
    /**
     * Least number of tokens of each answer: before it no stop counts. Not above
     * max_tokens.
     *
     * @generated from field: optional uint32 min_tokens = 17;
     */
    minTokens?: number | undefined;
    /**
     * Token ids that end an answer, at most 4096.
     *
     * @generated from field: repeated uint32 stop_token_ids = 18;
     */
    stopTokenIds: number[];
    /**
     * True keeps the stop text at the end of the answer. Unset is false.
     *
     * @generated from field: optional bool include_stop = 19;
     */
    includeStop?: boolean | undefined;
    /**
     * True goes on after the end-of-text token, until another limit ends the
     * answer. Unset is false.
     *
     * @generated from field: optional bool ignore_eos = 20;
     */
    ignoreEos?: boolean | undefined;
    /**
     * Texts that the answer must not hold, at most 4096, none of them empty.
     *
     * @generated from field: repeated string bad_words = 21;
     */
    badWords: string[];
    /**
     * The only token ids that may be drawn. Empty allows all.
     *
     * @generated from field: repeated uint32 allowed_token_ids = 22;
     */
    allowedTokenIds: number[];
    /**
     * Values added to tokens' logits before one is drawn, by token id, -100 to
     * 100: from practically never to practically always. At most 4096 tokens.
     *
     * @generated from field: map<uint32, float> logit_bias = 23;
     */
    logitBias: {
        [key: number]: number;
    };
    /**
     * False leaves special tokens in the text. Unset is the engine's default,
     * which for most is true.
     *
     * @generated from field: optional bool skip_special_tokens = 24;
     */
    skipSpecialTokens?: boolean | undefined;
    /**
     * True puts spaces between special tokens that stay in the text. Unset is the
     * engine's default.
     *
     * @generated from field: optional bool spaces_between_special_tokens = 25;
     */
    spacesBetweenSpecialTokens?: boolean | undefined;
    /**
     * Keeps only this many tokens of the prompt, its last ones, instead of
     * refusing a longer one; -1 keeps as many as the context holds. 0 is refused.
     * Unset keeps all.
     *
     * @generated from field: optional int32 truncate_prompt_tokens = 26;
     */
    truncatePromptTokens?: number | undefined;
    /**
     * The form that each answer must have. Unset leaves it free.
     *
     * @generated from field: trident.v1.ResponseFormat response_format = 27;
     */
    responseFormat?: ResponseFormat | undefined;
    /**
     * Which of a client's requests is served first where some must wait: the smaller
     * number; 0 is the model's default. It is Triton's scheduling priority, too, for
     * models with priority levels, and must be one of them there.
     *
     * @generated from field: uint32 priority = 28;
     */
    priority: number;
    /**
     * The caller's name for its user. No effect.
     *
     * @generated from field: string user = 29;
     */
    user: string;
    /**
     * The caller's own notes on the request, at most 16. No effect; they are not
     * logged.
     *
     * @generated from field: map<string, string> metadata = 30;
     */
    metadata: {
        [key: string]: string;
    };
};
/**
 * Describes the message trident.v1.CompleteRequest.
 * Use `create(CompleteRequestSchema)` to create a new message.
 */
export declare const CompleteRequestSchema: GenMessage<CompleteRequest>;
/**
 * CompleteChoice is one complete continuation.
 *
 * @generated from message trident.v1.CompleteChoice
 */
export type CompleteChoice = Message<"trident.v1.CompleteChoice"> & {
    /**
     * Position among the continuations, from 0.
     *
     * @generated from field: uint32 index = 1;
     */
    index: number;
    /**
     * The text.
     *
     * @generated from field: string text = 2;
     */
    text: string;
    /**
     * Why it ended; never FINISH_REASON_UNSPECIFIED.
     *
     * @generated from field: trident.v1.FinishReason finish_reason = 3;
     */
    finishReason: FinishReason;
    /**
     * The text's tokens in order; empty unless the request has logprobs.
     *
     * @generated from field: repeated trident.v1.TokenLogprob logprobs = 4;
     */
    logprobs: TokenLogprob[];
};
/**
 * Describes the message trident.v1.CompleteChoice.
 * Use `create(CompleteChoiceSchema)` to create a new message.
 */
export declare const CompleteChoiceSchema: GenMessage<CompleteChoice>;
/**
 * CompleteResponse is the complete result of Complete.
 *
 * @generated from message trident.v1.CompleteResponse
 */
export type CompleteResponse = Message<"trident.v1.CompleteResponse"> & {
    /**
     * Identifier of this result, for logs and questions to the operator.
     *
     * @generated from field: string id = 1;
     */
    id: string;
    /**
     * Model that answered, by the name in the request.
     *
     * @generated from field: string model = 2;
     */
    model: string;
    /**
     * When the request was accepted, in whole seconds.
     *
     * @generated from field: google.protobuf.Timestamp created = 3;
     */
    created?: Timestamp | undefined;
    /**
     * The continuations, ordered by index.
     *
     * @generated from field: repeated trident.v1.CompleteChoice choices = 4;
     */
    choices: CompleteChoice[];
    /**
     * Tokens read and written; unset where the model does not tell and the server
     * has no tokenizer for it.
     *
     * @generated from field: trident.v1.Usage usage = 5;
     */
    usage?: Usage | undefined;
    /**
     * Changes with the server's version and the model's configuration, and with
     * nothing else.
     *
     * @generated from field: string system_fingerprint = 6;
     */
    systemFingerprint: string;
};
/**
 * Describes the message trident.v1.CompleteResponse.
 * Use `create(CompleteResponseSchema)` to create a new message.
 */
export declare const CompleteResponseSchema: GenMessage<CompleteResponse>;
/**
 * CompleteStreamRequest asks for continuations in pieces.
 *
 * @generated from message trident.v1.CompleteStreamRequest
 */
export type CompleteStreamRequest = Message<"trident.v1.CompleteStreamRequest"> & {
    /**
     * What to continue, as for Complete. Required. Errors name its fields as
     * Complete's do.
     *
     * @generated from field: trident.v1.CompleteRequest completion = 1;
     */
    completion?: CompleteRequest | undefined;
};
/**
 * Describes the message trident.v1.CompleteStreamRequest.
 * Use `create(CompleteStreamRequestSchema)` to create a new message.
 */
export declare const CompleteStreamRequestSchema: GenMessage<CompleteStreamRequest>;
/**
 * CompleteDelta is the next piece of one continuation.
 *
 * @generated from message trident.v1.CompleteDelta
 */
export type CompleteDelta = Message<"trident.v1.CompleteDelta"> & {
    /**
     * Position of the continuation that this piece belongs to, from 0. The pieces of
     * several are interleaved.
     *
     * @generated from field: uint32 index = 1;
     */
    index: number;
    /**
     * Text to append: whole characters of any number of tokens. Empty in a piece
     * that only ends the text or whose tokens complete no character.
     *
     * @generated from field: string text = 2;
     */
    text: string;
    /**
     * Tokens of this piece in order; empty unless the request has logprobs.
     *
     * @generated from field: repeated trident.v1.TokenLogprob logprobs = 3;
     */
    logprobs: TokenLogprob[];
    /**
     * Why the text ended, in its last piece and only there.
     *
     * @generated from field: trident.v1.FinishReason finish_reason = 4;
     */
    finishReason: FinishReason;
};
/**
 * Describes the message trident.v1.CompleteDelta.
 * Use `create(CompleteDeltaSchema)` to create a new message.
 */
export declare const CompleteDeltaSchema: GenMessage<CompleteDelta>;
/**
 * CompleteStreamResponse is one message of the stream, as ChatStreamResponse.
 *
 * @generated from message trident.v1.CompleteStreamResponse
 */
export type CompleteStreamResponse = Message<"trident.v1.CompleteStreamResponse"> & {
    /**
     * Identifier of this result. Only in the first message with a piece.
     *
     * @generated from field: string id = 1;
     */
    id: string;
    /**
     * Model that answers, by the name in the request. Only beside the id.
     *
     * @generated from field: string model = 2;
     */
    model: string;
    /**
     * When the request was accepted, in whole seconds. Only beside the id.
     *
     * @generated from field: google.protobuf.Timestamp created = 3;
     */
    created?: Timestamp | undefined;
    /**
     * The next piece of a continuation; unset in the message with the usage.
     *
     * @generated from field: trident.v1.CompleteDelta delta = 4;
     */
    delta?: CompleteDelta | undefined;
    /**
     * Tokens read and written by the whole stream. Not sent where the model does
     * not tell and the server has no tokenizer for it.
     *
     * @generated from field: trident.v1.Usage usage = 5;
     */
    usage?: Usage | undefined;
    /**
     * As that of CompleteResponse. Only beside the id.
     *
     * @generated from field: string system_fingerprint = 6;
     */
    systemFingerprint: string;
};
/**
 * Describes the message trident.v1.CompleteStreamResponse.
 * Use `create(CompleteStreamResponseSchema)` to create a new message.
 */
export declare const CompleteStreamResponseSchema: GenMessage<CompleteStreamResponse>;
/**
 * CompletionService continues texts as they are, without a chat template. Codes,
 * details and cancellation are those of ChatService.
 *
 * @generated from service trident.v1.CompletionService
 */
export declare const CompletionService: GenService<{
    /**
     * Complete returns the whole texts once they are complete.
     *
     * @generated from rpc trident.v1.CompletionService.Complete
     */
    complete: {
        methodKind: "unary";
        input: typeof CompleteRequestSchema;
        output: typeof CompleteResponseSchema;
    };
    /**
     * CompleteStream returns the texts in pieces, each as soon as the model has it.
     * The pieces of a choice, joined in order, are the text that Complete returns. A
     * failure after the first piece ends the call with its code; what arrived before
     * stays valid.
     *
     * @generated from rpc trident.v1.CompletionService.CompleteStream
     */
    completeStream: {
        methodKind: "server_streaming";
        input: typeof CompleteStreamRequestSchema;
        output: typeof CompleteStreamResponseSchema;
    };
}>;
