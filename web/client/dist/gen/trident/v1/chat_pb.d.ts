import type { GenEnum, GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { FinishReason, ResponseFormat, TokenLogprob, Usage } from "./generation_pb.js";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file trident/v1/chat.proto.
 */
export declare const file_trident_v1_chat: GenFile;
/**
 * ChatMessage is one turn of a conversation. An answer's message can be sent back
 * as it came.
 *
 * @generated from message trident.v1.ChatMessage
 */
export type ChatMessage = Message<"trident.v1.ChatMessage"> & {
    /**
     * Author. Required.
     *
     * @generated from field: trident.v1.Role role = 1;
     */
    role: Role;
    /**
     * Text. May be empty; U+0000 is kept. Empty beside tool_calls means that there
     * is none, which some templates tell apart from an empty text.
     *
     * @generated from field: string content = 2;
     */
    content: string;
    /**
     * Name to tell authors of the same role apart; empty means none. Reaches the
     * model only where its template uses it.
     *
     * @generated from field: string name = 3;
     */
    name: string;
    /**
     * The content in parts, instead of content: texts, and images for models that
     * read them.
     *
     * @generated from field: repeated trident.v1.ContentPart parts = 4;
     */
    parts: ContentPart[];
    /**
     * Calls that the assistant made. Only of ROLE_ASSISTANT.
     *
     * @generated from field: repeated trident.v1.ToolCall tool_calls = 5;
     */
    toolCalls: ToolCall[];
    /**
     * Which call this message answers. Required of ROLE_TOOL, without effect
     * elsewhere.
     *
     * @generated from field: string tool_call_id = 6;
     */
    toolCallId: string;
    /**
     * The assistant's refusal, which stands for the content where there is none.
     * Only of ROLE_ASSISTANT.
     *
     * @generated from field: string refusal = 7;
     */
    refusal: string;
    /**
     * What the assistant thought before its text; shown to the model again by
     * templates that do so. Only of ROLE_ASSISTANT.
     *
     * @generated from field: string reasoning = 8;
     */
    reasoning: string;
};
/**
 * Describes the message trident.v1.ChatMessage.
 * Use `create(ChatMessageSchema)` to create a new message.
 */
export declare const ChatMessageSchema: GenMessage<ChatMessage>;
/**
 * ContentPart is a piece of a message's content.
 *
 * @generated from message trident.v1.ContentPart
 */
export type ContentPart = Message<"trident.v1.ContentPart"> & {
    /**
     * The piece. Required.
     *
     * @generated from oneof trident.v1.ContentPart.part
     */
    part: {
        /**
         * Text.
         *
         * @generated from field: string text = 1;
         */
        value: string;
        case: "text";
    } | {
        /**
         * An image, of ROLE_USER.
         *
         * @generated from field: trident.v1.ImageUrl image_url = 2;
         */
        value: ImageUrl;
        case: "imageUrl";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message trident.v1.ContentPart.
 * Use `create(ContentPartSchema)` to create a new message.
 */
export declare const ContentPartSchema: GenMessage<ContentPart>;
/**
 * ImageUrl is an image: PNG, JPEG, GIF, WebP or BMP.
 *
 * @generated from message trident.v1.ImageUrl
 */
export type ImageUrl = Message<"trident.v1.ImageUrl"> & {
    /**
     * A data: URI in base64, or a public address that the server fetches where its
     * operator allows that. Required.
     *
     * @generated from field: string url = 1;
     */
    url: string;
};
/**
 * Describes the message trident.v1.ImageUrl.
 * Use `create(ImageUrlSchema)` to create a new message.
 */
export declare const ImageUrlSchema: GenMessage<ImageUrl>;
/**
 * Tool is what the model may call.
 *
 * @generated from message trident.v1.Tool
 */
export type Tool = Message<"trident.v1.Tool"> & {
    /**
     * The kind of tool. Required.
     *
     * @generated from oneof trident.v1.Tool.tool
     */
    tool: {
        /**
         * A function of the caller's.
         *
         * @generated from field: trident.v1.FunctionTool function = 1;
         */
        value: FunctionTool;
        case: "function";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message trident.v1.Tool.
 * Use `create(ToolSchema)` to create a new message.
 */
export declare const ToolSchema: GenMessage<Tool>;
/**
 * FunctionTool is a function that the caller runs when the model calls it.
 *
 * @generated from message trident.v1.FunctionTool
 */
export type FunctionTool = Message<"trident.v1.FunctionTool"> & {
    /**
     * Name: letters, digits, _ and -. Required.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * What it does, for the model. Empty for nothing.
     *
     * @generated from field: string description = 2;
     */
    description: string;
    /**
     * JSON schema of its arguments, as JSON text: its keys keep their order, which
     * reaches the prompt. Empty for a function without arguments.
     *
     * @generated from field: string parameters = 3;
     */
    parameters: string;
    /**
     * Whether calls must hold to the schema. They do where a call is demanded, by
     * tool_choice; elsewhere it has no effect. Unset is left out of the prompt.
     *
     * @generated from field: optional bool strict = 4;
     */
    strict?: boolean | undefined;
};
/**
 * Describes the message trident.v1.FunctionTool.
 * Use `create(FunctionToolSchema)` to create a new message.
 */
export declare const FunctionToolSchema: GenMessage<FunctionTool>;
/**
 * ToolChoice says whether a tool is called, or which.
 *
 * @generated from message trident.v1.ToolChoice
 */
export type ToolChoice = Message<"trident.v1.ToolChoice"> & {
    /**
     * The choice. Unset is TOOL_MODE_AUTO.
     *
     * @generated from oneof trident.v1.ToolChoice.choice
     */
    choice: {
        /**
         * Whether a tool is called.
         *
         * @generated from field: trident.v1.ToolMode mode = 1;
         */
        value: ToolMode;
        case: "mode";
    } | {
        /**
         * Name of the function that is called: a constraint on the answer.
         *
         * @generated from field: string function = 2;
         */
        value: string;
        case: "function";
    } | {
        case: undefined;
        value?: undefined;
    };
};
/**
 * Describes the message trident.v1.ToolChoice.
 * Use `create(ToolChoiceSchema)` to create a new message.
 */
export declare const ToolChoiceSchema: GenMessage<ToolChoice>;
/**
 * ToolCall is a call that an answer makes.
 *
 * @generated from message trident.v1.ToolCall
 */
export type ToolCall = Message<"trident.v1.ToolCall"> & {
    /**
     * Identifier of the call, for the message that answers it. Required.
     *
     * @generated from field: string id = 1;
     */
    id: string;
    /**
     * Name of the function. Required.
     *
     * @generated from field: string name = 2;
     */
    name: string;
    /**
     * Arguments as the model wrote them, usually a JSON object: check them before use.
     * Empty is {}. Arguments of an earlier call that aren't a JSON object with distinct
     * keys reach the chat template as a string.
     *
     * @generated from field: string arguments = 3;
     */
    arguments: string;
};
/**
 * Describes the message trident.v1.ToolCall.
 * Use `create(ToolCallSchema)` to create a new message.
 */
export declare const ToolCallSchema: GenMessage<ToolCall>;
/**
 * ToolCallDelta is the next piece of a call.
 *
 * @generated from message trident.v1.ToolCallDelta
 */
export type ToolCallDelta = Message<"trident.v1.ToolCallDelta"> & {
    /**
     * Position of the call in its answer, from 0. The pieces of one call come
     * together, the calls one after the other.
     *
     * @generated from field: uint32 index = 1;
     */
    index: number;
    /**
     * Identifier of the call. Only in its first piece.
     *
     * @generated from field: string id = 2;
     */
    id: string;
    /**
     * Name of the function. Only beside the id.
     *
     * @generated from field: string name = 3;
     */
    name: string;
    /**
     * Text to append to the arguments.
     *
     * @generated from field: string arguments = 4;
     */
    arguments: string;
};
/**
 * Describes the message trident.v1.ToolCallDelta.
 * Use `create(ToolCallDeltaSchema)` to create a new message.
 */
export declare const ToolCallDeltaSchema: GenMessage<ToolCallDelta>;
/**
 * ChatRequest asks for the next turn of a conversation. An unset option is the
 * model's own default, which its model card or its engine gives. An option that
 * the model cannot honour is refused, never ignored.
 *
 * @generated from message trident.v1.ChatRequest
 */
export type ChatRequest = Message<"trident.v1.ChatRequest"> & {
    /**
     * Model, as the server lists it; an alias or the name of a LoRA adapter is as
     * good. Required.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * The conversation so far, oldest message first. 1 to 16384.
     *
     * @generated from field: repeated trident.v1.ChatMessage messages = 2;
     */
    messages: ChatMessage[];
    /**
     * Most tokens to generate for each choice, 1 or more. Unset means as many as
     * the context has room for.
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
     * True returns the log probability of every token of the answer.
     *
     * @generated from field: bool logprobs = 13;
     */
    logprobs: boolean;
    /**
     * Number of likeliest tokens to return at each position, 0 to 20. Above 0 it
     * needs logprobs.
     *
     * @generated from field: uint32 top_logprobs = 14;
     */
    topLogprobs: number;
    /**
     * Number of independent answers, up to 128; 0 means 1. The prompt is counted
     * once, every answer's tokens are.
     *
     * @generated from field: uint32 n = 15;
     */
    n: number;
    /**
     * Least number of tokens of each answer: before it no stop counts. Not above
     * max_tokens.
     *
     * @generated from field: optional uint32 min_tokens = 16;
     */
    minTokens?: number | undefined;
    /**
     * Token ids that end an answer, at most 4096.
     *
     * @generated from field: repeated uint32 stop_token_ids = 17;
     */
    stopTokenIds: number[];
    /**
     * True keeps the stop text at the end of the answer. Unset is false.
     *
     * @generated from field: optional bool include_stop = 18;
     */
    includeStop?: boolean | undefined;
    /**
     * True goes on after the end-of-text token, until another limit ends the
     * answer. Unset is false.
     *
     * @generated from field: optional bool ignore_eos = 19;
     */
    ignoreEos?: boolean | undefined;
    /**
     * Texts that the answer must not hold, at most 4096, none of them empty.
     *
     * @generated from field: repeated string bad_words = 20;
     */
    badWords: string[];
    /**
     * The only token ids that may be drawn. Empty allows all.
     *
     * @generated from field: repeated uint32 allowed_token_ids = 21;
     */
    allowedTokenIds: number[];
    /**
     * Values added to tokens' logits before one is drawn, by token id, -100 to
     * 100: from practically never to practically always. At most 4096 tokens.
     *
     * @generated from field: map<uint32, float> logit_bias = 22;
     */
    logitBias: {
        [key: number]: number;
    };
    /**
     * False leaves special tokens in the text. Unset is the engine's default,
     * which for most is true.
     *
     * @generated from field: optional bool skip_special_tokens = 23;
     */
    skipSpecialTokens?: boolean | undefined;
    /**
     * True puts spaces between special tokens that stay in the text. Unset is the
     * engine's default.
     *
     * @generated from field: optional bool spaces_between_special_tokens = 24;
     */
    spacesBetweenSpecialTokens?: boolean | undefined;
    /**
     * Keeps only this many tokens of the prompt, its last ones, instead of
     * refusing a longer one; -1 keeps as many as the context holds. 0 is refused.
     * Unset keeps all.
     *
     * @generated from field: optional int32 truncate_prompt_tokens = 25;
     */
    truncatePromptTokens?: number | undefined;
    /**
     * The form that each answer must have. Unset leaves it free.
     *
     * @generated from field: trident.v1.ResponseFormat response_format = 26;
     */
    responseFormat?: ResponseFormat | undefined;
    /**
     * Which of a client's requests is served first where some must wait: the smaller
     * number; 0 is the model's default. It is Triton's scheduling priority, too, for
     * models with priority levels, and must be one of them there.
     *
     * @generated from field: uint32 priority = 27;
     */
    priority: number;
    /**
     * The caller's name for its user. No effect.
     *
     * @generated from field: string user = 28;
     */
    user: string;
    /**
     * The caller's own notes on the request, at most 16. No effect; they are not
     * logged.
     *
     * @generated from field: map<string, string> metadata = 29;
     */
    metadata: {
        [key: string]: string;
    };
    /**
     * What the model may call, in the order in which it reaches the prompt; at most
     * 1024. A model whose way of writing calls is not known refuses tools.
     *
     * @generated from field: repeated trident.v1.Tool tools = 30;
     */
    tools: Tool[];
    /**
     * Whether a tool is called, or which. Unset is TOOL_MODE_AUTO.
     *
     * @generated from field: trident.v1.ToolChoice tool_choice = 31;
     */
    toolChoice?: ToolChoice | undefined;
    /**
     * False ends an answer after its first call. Unset is true.
     *
     * @generated from field: optional bool parallel_tool_calls = 32;
     */
    parallelToolCalls?: boolean | undefined;
    /**
     * How long a reasoning model thinks: none, minimal, low, medium, high, xhigh or
     * max. It reaches chat templates that read reasoning_effort; those that read
     * enable_thinking take none. For other models anything but medium is refused.
     * Empty is the model's own default.
     *
     * @generated from field: string reasoning_effort = 33;
     */
    reasoningEffort: string;
    /**
     * Further variables for the chat template, such as enable_thinking: a JSON
     * object, as JSON text, whose keys keep their order. Empty for none.
     *
     * @generated from field: string chat_template_kwargs = 34;
     */
    chatTemplateKwargs: string;
};
/**
 * Describes the message trident.v1.ChatRequest.
 * Use `create(ChatRequestSchema)` to create a new message.
 */
export declare const ChatRequestSchema: GenMessage<ChatRequest>;
/**
 * ChatChoice is one complete answer.
 *
 * @generated from message trident.v1.ChatChoice
 */
export type ChatChoice = Message<"trident.v1.ChatChoice"> & {
    /**
     * Position among the answers, from 0.
     *
     * @generated from field: uint32 index = 1;
     */
    index: number;
    /**
     * The answer, by ROLE_ASSISTANT, with its tool calls. Its reasoning stands beside
     * it.
     *
     * @generated from field: trident.v1.ChatMessage message = 2;
     */
    message?: ChatMessage | undefined;
    /**
     * Why it ended; never FINISH_REASON_UNSPECIFIED.
     *
     * @generated from field: trident.v1.FinishReason finish_reason = 3;
     */
    finishReason: FinishReason;
    /**
     * The answer's tokens in order; empty unless the request has logprobs.
     *
     * @generated from field: repeated trident.v1.TokenLogprob logprobs = 4;
     */
    logprobs: TokenLogprob[];
    /**
     * What the model thought before it answered. Empty where it did not, or where
     * the server does not know how it marks that, which then stands in the message.
     *
     * @generated from field: string reasoning = 5;
     */
    reasoning: string;
};
/**
 * Describes the message trident.v1.ChatChoice.
 * Use `create(ChatChoiceSchema)` to create a new message.
 */
export declare const ChatChoiceSchema: GenMessage<ChatChoice>;
/**
 * ChatResponse is the complete result of Chat.
 *
 * @generated from message trident.v1.ChatResponse
 */
export type ChatResponse = Message<"trident.v1.ChatResponse"> & {
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
     * The answers, ordered by index.
     *
     * @generated from field: repeated trident.v1.ChatChoice choices = 4;
     */
    choices: ChatChoice[];
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
 * Describes the message trident.v1.ChatResponse.
 * Use `create(ChatResponseSchema)` to create a new message.
 */
export declare const ChatResponseSchema: GenMessage<ChatResponse>;
/**
 * ChatStreamRequest asks for the next turn of a conversation in pieces.
 *
 * @generated from message trident.v1.ChatStreamRequest
 */
export type ChatStreamRequest = Message<"trident.v1.ChatStreamRequest"> & {
    /**
     * What to answer, as for Chat. Required. Errors name its fields as Chat's do.
     *
     * @generated from field: trident.v1.ChatRequest chat = 1;
     */
    chat?: ChatRequest | undefined;
};
/**
 * Describes the message trident.v1.ChatStreamRequest.
 * Use `create(ChatStreamRequestSchema)` to create a new message.
 */
export declare const ChatStreamRequestSchema: GenMessage<ChatStreamRequest>;
/**
 * ChatDelta is the next piece of one answer.
 *
 * @generated from message trident.v1.ChatDelta
 */
export type ChatDelta = Message<"trident.v1.ChatDelta"> & {
    /**
     * Position of the answer that this piece belongs to, from 0. The pieces of
     * several answers are interleaved.
     *
     * @generated from field: uint32 index = 1;
     */
    index: number;
    /**
     * Text to append: whole characters of any number of tokens. Empty in a piece
     * that only ends the answer or whose tokens complete no character.
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
     * Why the answer ended, in its last piece and only there.
     *
     * @generated from field: trident.v1.FinishReason finish_reason = 4;
     */
    finishReason: FinishReason;
    /**
     * Reasoning to append, whole characters as text has them. It comes before the
     * text, in pieces of its own.
     *
     * @generated from field: string reasoning = 5;
     */
    reasoning: string;
    /**
     * Pieces of tool calls to append, in order.
     *
     * @generated from field: repeated trident.v1.ToolCallDelta tool_calls = 6;
     */
    toolCalls: ToolCallDelta[];
};
/**
 * Describes the message trident.v1.ChatDelta.
 * Use `create(ChatDeltaSchema)` to create a new message.
 */
export declare const ChatDeltaSchema: GenMessage<ChatDelta>;
/**
 * ChatStreamResponse is one message of the stream. Every piece of an answer is
 * one message, and the first says what the stream is; a message with the usage
 * follows when all answers have ended. A message with nothing in it is a sign of
 * life while the model is silent: it may come at any time and is to be skipped.
 *
 * @generated from message trident.v1.ChatStreamResponse
 */
export type ChatStreamResponse = Message<"trident.v1.ChatStreamResponse"> & {
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
     * The next piece of an answer; unset in the message with the usage.
     *
     * @generated from field: trident.v1.ChatDelta delta = 4;
     */
    delta?: ChatDelta | undefined;
    /**
     * Tokens read and written by the whole stream. Not sent where the model does
     * not tell and the server has no tokenizer for it.
     *
     * @generated from field: trident.v1.Usage usage = 5;
     */
    usage?: Usage | undefined;
    /**
     * As that of ChatResponse. Only beside the id.
     *
     * @generated from field: string system_fingerprint = 6;
     */
    systemFingerprint: string;
};
/**
 * Describes the message trident.v1.ChatStreamResponse.
 * Use `create(ChatStreamResponseSchema)` to create a new message.
 */
export declare const ChatStreamResponseSchema: GenMessage<ChatStreamResponse>;
/**
 * Role is the author of a message.
 *
 * @generated from enum trident.v1.Role
 */
export declare enum Role {
    /**
     * Not set; refused.
     *
     * @generated from enum value: ROLE_UNSPECIFIED = 0;
     */
    UNSPECIFIED = 0,
    /**
     * Instructions that stand above the conversation.
     *
     * @generated from enum value: ROLE_SYSTEM = 1;
     */
    SYSTEM = 1,
    /**
     * Instructions of the application's developer. Models whose template does
     * not know this author get them as ROLE_SYSTEM.
     *
     * @generated from enum value: ROLE_DEVELOPER = 2;
     */
    DEVELOPER = 2,
    /**
     * The person, or whoever asks.
     *
     * @generated from enum value: ROLE_USER = 3;
     */
    USER = 3,
    /**
     * The model, in earlier turns and in answers.
     *
     * @generated from enum value: ROLE_ASSISTANT = 4;
     */
    ASSISTANT = 4,
    /**
     * A tool, with what a call of it gave.
     *
     * @generated from enum value: ROLE_TOOL = 5;
     */
    TOOL = 5
}
/**
 * Describes the enum trident.v1.Role.
 */
export declare const RoleSchema: GenEnum<Role>;
/**
 * ToolMode says whether tools are called.
 *
 * @generated from enum trident.v1.ToolMode
 */
export declare enum ToolMode {
    /**
     * As TOOL_MODE_AUTO.
     *
     * @generated from enum value: TOOL_MODE_UNSPECIFIED = 0;
     */
    UNSPECIFIED = 0,
    /**
     * The model decides.
     *
     * @generated from enum value: TOOL_MODE_AUTO = 1;
     */
    AUTO = 1,
    /**
     * No tool is called, and the model does not learn of any.
     *
     * @generated from enum value: TOOL_MODE_NONE = 2;
     */
    NONE = 2,
    /**
     * At least one tool is called: a constraint on the answer.
     *
     * @generated from enum value: TOOL_MODE_REQUIRED = 3;
     */
    REQUIRED = 3
}
/**
 * Describes the enum trident.v1.ToolMode.
 */
export declare const ToolModeSchema: GenEnum<ToolMode>;
/**
 * ChatService continues conversations with any generating model behind this
 * server. It answers Connect, gRPC and gRPC-Web.
 *
 * Codes on every method, each with an ErrorDetail that names the field at fault:
 * INVALID_ARGUMENT for a field out of its range, for one that the model cannot
 * honour and for a prompt beyond the model's context; NOT_FOUND for an unknown
 * model; RESOURCE_EXHAUSTED where the server has too much to do, to be tried again
 * later; UNAVAILABLE while the server or model is not ready or went away;
 * DEADLINE_EXCEEDED for the caller's or the server's time limit.
 *
 * Cancelling a call, or just leaving, stops the model.
 *
 * @generated from service trident.v1.ChatService
 */
export declare const ChatService: GenService<{
    /**
     * Chat returns the whole answer once it is complete.
     *
     * @generated from rpc trident.v1.ChatService.Chat
     */
    chat: {
        methodKind: "unary";
        input: typeof ChatRequestSchema;
        output: typeof ChatResponseSchema;
    };
    /**
     * ChatStream returns the answer in pieces, each as soon as the model has it.
     * The pieces of a choice, joined in order, are the text that Chat returns. A
     * failure after the first piece ends the call with its code; what arrived
     * before stays valid.
     *
     * @generated from rpc trident.v1.ChatService.ChatStream
     */
    chatStream: {
        methodKind: "server_streaming";
        input: typeof ChatStreamRequestSchema;
        output: typeof ChatStreamResponseSchema;
    };
}>;
