import type { GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { FinishReason, ResponseFormat, TextInput, TokenLogprob, Usage } from "./generation_pb.js";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file trident/v1/completion.proto.
 */
export declare const file_trident_v1_completion: GenFile;
/**
 * CompleteRequest asks for continuations of prompts. An unset option has the model's
 * default. The server refuses an option that the model doesn't support, instead of
 * ignoring the option.
 *
 * @generated from message trident.v1.CompleteRequest
 */
export type CompleteRequest = Message<"trident.v1.CompleteRequest"> & {
    /**
     * Name of the model in the server's list, an alias of the model, or the name of a
     * LoRA adapter. Required.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * The prompts to continue. The server returns n choices for each prompt. A request
     * has at least one prompt, and at most 128 choices in total. The response has the
     * choices of the first prompt first.
     *
     * @generated from field: repeated trident.v1.TextInput prompt = 2;
     */
    prompt: TextInput[];
    /**
     * Maximum number of tokens to generate for each choice, 1 or more. Unset means 16
     * tokens, or the rest of the model's context if the rest is shorter.
     *
     * @generated from field: optional uint32 max_tokens = 3;
     */
    maxTokens?: number | undefined;
    /**
     * Randomness, 0 to 2. 0 always selects the likeliest token.
     *
     * @generated from field: optional double temperature = 4;
     */
    temperature?: number | undefined;
    /**
     * Nucleus sampling, 0 to 1: the model samples from the likeliest tokens whose
     * probabilities add up to this value. 1 means no restriction.
     *
     * @generated from field: optional double top_p = 5;
     */
    topP?: number | undefined;
    /**
     * Number of likeliest tokens to sample from. 0 means no restriction.
     *
     * @generated from field: optional uint32 top_k = 6;
     */
    topK?: number | undefined;
    /**
     * Minimum probability of a token, as a fraction of the likeliest token's probability,
     * 0 to 1. 0 means no restriction.
     *
     * @generated from field: optional double min_p = 7;
     */
    minP?: number | undefined;
    /**
     * Seed of the random numbers. Equal requests with equal seeds usually get equal
     * responses, but engines that batch requests don't guarantee it. With n above 1,
     * the choices have consecutive seeds.
     *
     * @generated from field: optional int64 seed = 8;
     */
    seed?: bigint | undefined;
    /**
     * Stop sequences, which end the generated text: at most 4, none of them empty.
     * The text doesn't contain them.
     *
     * @generated from field: repeated string stop = 9;
     */
    stop: string[];
    /**
     * Penalty subtracted from the logit of each token that the generated text already
     * contains, -2 to 2. 0 has no effect. Values above 0 make new tokens likelier.
     *
     * @generated from field: optional double presence_penalty = 10;
     */
    presencePenalty?: number | undefined;
    /**
     * Penalty subtracted from the logit of a token for each of its occurrences in the
     * generated text, -2 to 2. 0 has no effect. Values above 0 make repetition less
     * likely.
     *
     * @generated from field: optional double frequency_penalty = 11;
     */
    frequencyPenalty?: number | undefined;
    /**
     * Factor that reduces the logit of each token that the prompt or the generated text
     * already contains. It must be above 0. 1 has no effect. Values above 1 make
     * repetition less likely.
     *
     * @generated from field: optional double repetition_penalty = 12;
     */
    repetitionPenalty?: number | undefined;
    /**
     * Number of likeliest tokens whose log probabilities are returned at each position, 0
     * to 20. The log probability of the chosen token is returned too. Unset returns no
     * log probabilities.
     *
     * @generated from field: optional uint32 logprobs = 13;
     */
    logprobs?: number | undefined;
    /**
     * Number of independent continuations of each prompt, up to 128. 0 means 1.
     *
     * @generated from field: uint32 n = 14;
     */
    n: number;
    /**
     * Number of continuations generated for each prompt, up to 20. The server returns the
     * n continuations with the highest log probability per token. best_of must be at
     * least n. In a stream, best_of must be equal to n. 0 means n.
     *
     * @generated from field: uint32 best_of = 15;
     */
    bestOf: number;
    /**
     * True puts the prompt before each continuation. echo can't be used together with
     * logprobs.
     *
     * @generated from field: bool echo = 16;
     */
    echo: boolean;
    /**
     * Minimum number of tokens of each choice. Until a choice has this number of tokens,
     * stop sequences and stop tokens have no effect. The minimum must not be above
     * max_tokens.
     *
     * @generated from field: optional uint32 min_tokens = 17;
     */
    minTokens?: number | undefined;
    /**
     * Ids of the tokens that end a choice, at most 4096.
     *
     * @generated from field: repeated uint32 stop_token_ids = 18;
     */
    stopTokenIds: number[];
    /**
     * True keeps the stop sequence at the end of the text. Unset means false.
     *
     * @generated from field: optional bool include_stop = 19;
     */
    includeStop?: boolean | undefined;
    /**
     * True continues after the end-of-text token, until another limit ends the choice.
     * Unset means false.
     *
     * @generated from field: optional bool ignore_eos = 20;
     */
    ignoreEos?: boolean | undefined;
    /**
     * Strings that the generated text must not contain: at most 4096, none of them
     * empty.
     *
     * @generated from field: repeated string bad_words = 21;
     */
    badWords: string[];
    /**
     * Ids of the tokens that the model may generate. Empty allows all tokens.
     *
     * @generated from field: repeated uint32 allowed_token_ids = 22;
     */
    allowedTokenIds: number[];
    /**
     * Values added to the logits of tokens before sampling, by token id, -100 to 100.
     * -100 practically forbids a token, and 100 practically forces it. The map has at
     * most 4096 tokens.
     *
     * @generated from field: map<uint32, float> logit_bias = 23;
     */
    logitBias: {
        [key: number]: number;
    };
    /**
     * False keeps special tokens in the text. Unset means the engine's default, which is
     * true for most engines.
     *
     * @generated from field: optional bool skip_special_tokens = 24;
     */
    skipSpecialTokens?: boolean | undefined;
    /**
     * True puts spaces between special tokens that are kept in the text. Unset means the
     * engine's default.
     *
     * @generated from field: optional bool spaces_between_special_tokens = 25;
     */
    spacesBetweenSpecialTokens?: boolean | undefined;
    /**
     * Maximum number of prompt tokens. A longer prompt is cut to its last tokens instead
     * of being refused. -1 keeps as many tokens as fit into the context. 0 is refused.
     * Unset keeps all tokens.
     *
     * @generated from field: optional int32 truncate_prompt_tokens = 26;
     */
    truncatePromptTokens?: number | undefined;
    /**
     * The required format of each choice. Unset means any text.
     *
     * @generated from field: trident.v1.ResponseFormat response_format = 27;
     */
    responseFormat?: ResponseFormat | undefined;
    /**
     * Priority among queued requests of the same client. The request with the smaller
     * number is served first. 0 is the model's default. For models with priority levels
     * the value is also Triton's scheduling priority, and must be one of the levels.
     *
     * @generated from field: uint32 priority = 28;
     */
    priority: number;
    /**
     * The caller's identifier of its user. The field has no effect.
     *
     * @generated from field: string user = 29;
     */
    user: string;
    /**
     * Key-value pairs of the caller, at most 16. The pairs have no effect and are not
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
     * Index of the continuation, from 0.
     *
     * @generated from field: uint32 index = 1;
     */
    index: number;
    /**
     * Text of the continuation.
     *
     * @generated from field: string text = 2;
     */
    text: string;
    /**
     * Reason why the continuation ended. It is never FINISH_REASON_UNSPECIFIED.
     *
     * @generated from field: trident.v1.FinishReason finish_reason = 3;
     */
    finishReason: FinishReason;
    /**
     * The tokens of the text in order. Empty unless the request has logprobs.
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
 * CompleteResponse is the complete response of Complete.
 *
 * @generated from message trident.v1.CompleteResponse
 */
export type CompleteResponse = Message<"trident.v1.CompleteResponse"> & {
    /**
     * Identifier of this response, for logs and for questions to the operator.
     *
     * @generated from field: string id = 1;
     */
    id: string;
    /**
     * Name of the model, as in the request.
     *
     * @generated from field: string model = 2;
     */
    model: string;
    /**
     * Time at which the request was accepted, in whole seconds.
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
     * Number of tokens that the model read and wrote. Unset if the model doesn't report
     * the numbers and the server has no tokenizer for the model.
     *
     * @generated from field: trident.v1.Usage usage = 5;
     */
    usage?: Usage | undefined;
    /**
     * Identifier of the server's version and the model's configuration. The identifier
     * changes only if the version or the configuration changes.
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
     * The request, as for Complete. Required. Errors name the request's fields without
     * the prefix completion, as errors of Complete do.
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
     * Index of the continuation that this piece belongs to, from 0. The pieces of
     * several continuations are interleaved.
     *
     * @generated from field: uint32 index = 1;
     */
    index: number;
    /**
     * Text to append. It has whole characters of any number of tokens. Empty if the piece
     * only ends the continuation, or if the tokens of the piece complete no character.
     *
     * @generated from field: string text = 2;
     */
    text: string;
    /**
     * Tokens of this piece in order. Empty unless the request has logprobs.
     *
     * @generated from field: repeated trident.v1.TokenLogprob logprobs = 3;
     */
    logprobs: TokenLogprob[];
    /**
     * Reason why the continuation ended. It is only in the last piece of the
     * continuation.
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
 * CompleteStreamResponse is one message of the stream, with the same rules as
 * ChatStreamResponse.
 *
 * @generated from message trident.v1.CompleteStreamResponse
 */
export type CompleteStreamResponse = Message<"trident.v1.CompleteStreamResponse"> & {
    /**
     * Identifier of this response. It is only in the first message with a piece.
     *
     * @generated from field: string id = 1;
     */
    id: string;
    /**
     * Name of the model, as in the request. It is only in the message with the id.
     *
     * @generated from field: string model = 2;
     */
    model: string;
    /**
     * Time at which the request was accepted, in whole seconds. It is only in the message
     * with the id.
     *
     * @generated from field: google.protobuf.Timestamp created = 3;
     */
    created?: Timestamp | undefined;
    /**
     * The next piece of a continuation. Unset in the message with the usage.
     *
     * @generated from field: trident.v1.CompleteDelta delta = 4;
     */
    delta?: CompleteDelta | undefined;
    /**
     * Number of tokens that the model read and wrote in the whole stream. It is not sent
     * if the model doesn't report the numbers and the server has no tokenizer for the
     * model.
     *
     * @generated from field: trident.v1.Usage usage = 5;
     */
    usage?: Usage | undefined;
    /**
     * Identifier of the server's version and the model's configuration. The identifier
     * changes only if the version or the configuration changes. It is only in the message
     * with the id.
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
 * CompletionService continues text without a chat template. Codes, error details and
 * cancellation are the same as for ChatService.
 *
 * @generated from service trident.v1.CompletionService
 */
export declare const CompletionService: GenService<{
    /**
     * Complete returns the complete response.
     *
     * @generated from rpc trident.v1.CompletionService.Complete
     */
    complete: {
        methodKind: "unary";
        input: typeof CompleteRequestSchema;
        output: typeof CompleteResponseSchema;
    };
    /**
     * CompleteStream returns the response in pieces, and sends each piece as soon as the
     * model generates it. The pieces of a choice, joined in order, are the text that
     * Complete returns. A failure after the first piece ends the call with the failure's
     * code. The earlier pieces remain valid.
     *
     * @generated from rpc trident.v1.CompletionService.CompleteStream
     */
    completeStream: {
        methodKind: "server_streaming";
        input: typeof CompleteStreamRequestSchema;
        output: typeof CompleteStreamResponseSchema;
    };
}>;
