import type { GenEnum, GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import type { FinishReason, ResponseFormat, TokenLogprob, Usage } from "./generation_pb.js";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file trident/v1/chat.proto.
 */
export declare const file_trident_v1_chat: GenFile;
/**
 * ChatMessage is one turn of a conversation. The message of a response can be sent
 * back unchanged.
 *
 * @generated from message trident.v1.ChatMessage
 */
export type ChatMessage = Message<"trident.v1.ChatMessage"> & {
    /**
     * Author of the message. Required.
     *
     * @generated from field: trident.v1.Role role = 1;
     */
    role: Role;
    /**
     * Text of the message. The text may be empty, and may contain U+0000. If the message
     * has tool_calls, an empty content means null, which some templates distinguish from
     * an empty string.
     *
     * @generated from field: string content = 2;
     */
    content: string;
    /**
     * Name that distinguishes authors of the same role. Empty means no name. The name is
     * in the prompt only if the model's chat template uses it.
     *
     * @generated from field: string name = 3;
     */
    name: string;
    /**
     * The content as a list of parts, instead of the field content. A part is a text, or
     * an image if the model supports images.
     *
     * @generated from field: repeated trident.v1.ContentPart parts = 4;
     */
    parts: ContentPart[];
    /**
     * Tool calls of the assistant. Only allowed for ROLE_ASSISTANT.
     *
     * @generated from field: repeated trident.v1.ToolCall tool_calls = 5;
     */
    toolCalls: ToolCall[];
    /**
     * Identifier of the tool call that this message answers. It is required for
     * ROLE_TOOL, and has no effect for other roles.
     *
     * @generated from field: string tool_call_id = 6;
     */
    toolCallId: string;
    /**
     * The assistant's refusal, which replaces the content if the content is empty.
     * Only allowed for ROLE_ASSISTANT.
     *
     * @generated from field: string refusal = 7;
     */
    refusal: string;
    /**
     * The assistant's reasoning before its text. Some chat templates put the reasoning
     * into the prompt again. Only allowed for ROLE_ASSISTANT.
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
     * The part. Required.
     *
     * @generated from oneof trident.v1.ContentPart.part
     */
    part: {
        /**
         * A text part.
         *
         * @generated from field: string text = 1;
         */
        value: string;
        case: "text";
    } | {
        /**
         * An image. Only allowed for ROLE_USER.
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
     * A data: URI in base64, or a URL with a public address. The server fetches URLs only
     * if its operator allows it. Required.
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
 * Tool is a tool that the model may call.
 *
 * @generated from message trident.v1.Tool
 */
export type Tool = Message<"trident.v1.Tool"> & {
    /**
     * The tool, by its kind. Required.
     *
     * @generated from oneof trident.v1.Tool.tool
     */
    tool: {
        /**
         * A function that the caller runs.
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
     * Name of the function: 1 to 64 letters, digits, _ or -. Required.
     *
     * @generated from field: string name = 1;
     */
    name: string;
    /**
     * Description of the function for the model. Empty means no description.
     *
     * @generated from field: string description = 2;
     */
    description: string;
    /**
     * JSON schema of the arguments, as a JSON string. The keys of the schema keep their
     * order in the prompt. Empty means a function without arguments.
     *
     * @generated from field: string parameters = 3;
     */
    parameters: string;
    /**
     * Whether the arguments of calls must match the schema. The arguments of tool calls
     * that tool_choice forces always match the schema. For other calls the schema is
     * enforced only if the engine supports structural tags (vLLM with xgrammar).
     * Otherwise the field has no effect, and the response header X-Trident-Ignored-Fields
     * lists it. If unset, the field is left out of the prompt.
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
 * ToolChoice selects whether the model calls a tool, and which one.
 *
 * @generated from message trident.v1.ToolChoice
 */
export type ToolChoice = Message<"trident.v1.ToolChoice"> & {
    /**
     * The choice. Unset means TOOL_MODE_AUTO.
     *
     * @generated from oneof trident.v1.ToolChoice.choice
     */
    choice: {
        /**
         * Whether the model may or must call a tool.
         *
         * @generated from field: trident.v1.ToolMode mode = 1;
         */
        value: ToolMode;
        case: "mode";
    } | {
        /**
         * Name of the function that the model must call. The response is constrained to a
         * call of this function.
         *
         * @generated from field: string function = 2;
         */
        value: string;
        case: "function";
    } | {
        case: undefined;
        value?: undefined;
    };
    /**
     * Names of the functions that the model may call, with TOOL_MODE_AUTO or
     * TOOL_MODE_REQUIRED. The prompt contains all tools, and the response is constrained
     * to calls of the named functions. Empty means all tools.
     *
     * @generated from field: repeated string allowed_functions = 3;
     */
    allowedFunctions: string[];
};
/**
 * Describes the message trident.v1.ToolChoice.
 * Use `create(ToolChoiceSchema)` to create a new message.
 */
export declare const ToolChoiceSchema: GenMessage<ToolChoice>;
/**
 * ToolCall is a tool call in a response.
 *
 * @generated from message trident.v1.ToolCall
 */
export type ToolCall = Message<"trident.v1.ToolCall"> & {
    /**
     * Identifier of the call. The message with the call's result has the same identifier.
     * Required.
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
     * Arguments as the model wrote them, usually a JSON object. Check the arguments
     * before use. Empty means {}. If the arguments in a request's message aren't a JSON
     * object with distinct keys, the chat template gets the arguments as a string.
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
 * ToolCallDelta is the next piece of a tool call.
 *
 * @generated from message trident.v1.ToolCallDelta
 */
export type ToolCallDelta = Message<"trident.v1.ToolCallDelta"> & {
    /**
     * Index of the call in its response, from 0. All pieces of one call come
     * before the pieces of the next call.
     *
     * @generated from field: uint32 index = 1;
     */
    index: number;
    /**
     * Identifier of the call. It is only in the first piece of the call.
     *
     * @generated from field: string id = 2;
     */
    id: string;
    /**
     * Name of the function. It is only in the piece with the id.
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
 * ChatRequest asks for the next turn of a conversation. An unset option has the model's
 * default, which is from the model card or from the engine. The server refuses an
 * option that the model doesn't support, instead of ignoring the option.
 *
 * @generated from message trident.v1.ChatRequest
 */
export type ChatRequest = Message<"trident.v1.ChatRequest"> & {
    /**
     * Name of the model in the server's list, an alias of the model, or the name of a
     * LoRA adapter. Required.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * The conversation so far, oldest message first: 1 to 16384 messages.
     *
     * @generated from field: repeated trident.v1.ChatMessage messages = 2;
     */
    messages: ChatMessage[];
    /**
     * Maximum number of tokens to generate for each choice, 1 or more. Unset means the
     * rest of the model's context.
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
     * True returns the log probability of each generated token.
     *
     * @generated from field: bool logprobs = 13;
     */
    logprobs: boolean;
    /**
     * Number of likeliest tokens to return at each position, 0 to 20. If the number is
     * above 0, logprobs must be true.
     *
     * @generated from field: uint32 top_logprobs = 14;
     */
    topLogprobs: number;
    /**
     * Number of independent choices, up to 128. 0 means 1. The usage includes the tokens
     * of the prompt once, and the tokens of all choices.
     *
     * @generated from field: uint32 n = 15;
     */
    n: number;
    /**
     * Minimum number of tokens of each choice. Until a choice has this number of tokens,
     * stop sequences and stop tokens have no effect. The minimum must not be above
     * max_tokens.
     *
     * @generated from field: optional uint32 min_tokens = 16;
     */
    minTokens?: number | undefined;
    /**
     * Ids of the tokens that end a choice, at most 4096.
     *
     * @generated from field: repeated uint32 stop_token_ids = 17;
     */
    stopTokenIds: number[];
    /**
     * True keeps the stop sequence at the end of the text. Unset means false.
     *
     * @generated from field: optional bool include_stop = 18;
     */
    includeStop?: boolean | undefined;
    /**
     * True continues after the end-of-text token, until another limit ends the choice.
     * Unset means false.
     *
     * @generated from field: optional bool ignore_eos = 19;
     */
    ignoreEos?: boolean | undefined;
    /**
     * Strings that the generated text must not contain: at most 4096, none of them
     * empty.
     *
     * @generated from field: repeated string bad_words = 20;
     */
    badWords: string[];
    /**
     * Ids of the tokens that the model may generate. Empty allows all tokens.
     *
     * @generated from field: repeated uint32 allowed_token_ids = 21;
     */
    allowedTokenIds: number[];
    /**
     * Values added to the logits of tokens before sampling, by token id, -100 to 100.
     * -100 practically forbids a token, and 100 practically forces it. The map has at
     * most 4096 tokens.
     *
     * @generated from field: map<uint32, float> logit_bias = 22;
     */
    logitBias: {
        [key: number]: number;
    };
    /**
     * False keeps special tokens in the text. Unset means the engine's default, which is
     * true for most engines.
     *
     * @generated from field: optional bool skip_special_tokens = 23;
     */
    skipSpecialTokens?: boolean | undefined;
    /**
     * True puts spaces between special tokens that are kept in the text. Unset means the
     * engine's default.
     *
     * @generated from field: optional bool spaces_between_special_tokens = 24;
     */
    spacesBetweenSpecialTokens?: boolean | undefined;
    /**
     * Maximum number of prompt tokens. A longer prompt is cut to its last tokens instead
     * of being refused. -1 keeps as many tokens as fit into the context. 0 is refused.
     * Unset keeps all tokens.
     *
     * @generated from field: optional int32 truncate_prompt_tokens = 25;
     */
    truncatePromptTokens?: number | undefined;
    /**
     * The required format of each choice. Unset means any text.
     *
     * @generated from field: trident.v1.ResponseFormat response_format = 26;
     */
    responseFormat?: ResponseFormat | undefined;
    /**
     * Priority among queued requests of the same client. The request with the smaller
     * number is served first. 0 is the model's default. For models with priority levels
     * the value is also Triton's scheduling priority, and must be one of the levels.
     *
     * @generated from field: uint32 priority = 27;
     */
    priority: number;
    /**
     * The caller's identifier of its user. The field has no effect.
     *
     * @generated from field: string user = 28;
     */
    user: string;
    /**
     * Key-value pairs of the caller, at most 16. The pairs have no effect and are not
     * logged.
     *
     * @generated from field: map<string, string> metadata = 29;
     */
    metadata: {
        [key: string]: string;
    };
    /**
     * Tools that the model may call, at most 1024. The prompt has the tools in the same
     * order. The server refuses tools if it doesn't know the model's syntax of tool
     * calls.
     *
     * @generated from field: repeated trident.v1.Tool tools = 30;
     */
    tools: Tool[];
    /**
     * Whether the model calls a tool, and which one. Unset means TOOL_MODE_AUTO.
     *
     * @generated from field: trident.v1.ToolChoice tool_choice = 31;
     */
    toolChoice?: ToolChoice | undefined;
    /**
     * False ends a choice after its first tool call. Unset means true.
     *
     * @generated from field: optional bool parallel_tool_calls = 32;
     */
    parallelToolCalls?: boolean | undefined;
    /**
     * Amount of reasoning: none, minimal, low, medium, high, xhigh or max. Chat templates
     * that read reasoning_effort get the value. For other templates the server accepts
     * medium, which has no effect. If such a template reads enable_thinking, the server
     * also accepts none, which turns reasoning off. Empty means the model's default.
     *
     * @generated from field: string reasoning_effort = 33;
     */
    reasoningEffort: string;
    /**
     * Additional variables for the chat template, such as enable_thinking. The value is a
     * JSON object as a string. The keys of the object keep their order. Empty means no
     * variables.
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
 * ChatChoice is one complete choice.
 *
 * @generated from message trident.v1.ChatChoice
 */
export type ChatChoice = Message<"trident.v1.ChatChoice"> & {
    /**
     * Index of the choice, from 0.
     *
     * @generated from field: uint32 index = 1;
     */
    index: number;
    /**
     * The message, with ROLE_ASSISTANT and its tool calls. The reasoning isn't in the
     * message, but in the choice's field reasoning.
     *
     * @generated from field: trident.v1.ChatMessage message = 2;
     */
    message?: ChatMessage | undefined;
    /**
     * Reason why the choice ended. It is never FINISH_REASON_UNSPECIFIED.
     *
     * @generated from field: trident.v1.FinishReason finish_reason = 3;
     */
    finishReason: FinishReason;
    /**
     * The tokens of the choice in order. Empty unless the request has logprobs.
     *
     * @generated from field: repeated trident.v1.TokenLogprob logprobs = 4;
     */
    logprobs: TokenLogprob[];
    /**
     * The model's reasoning before its text. Empty if the model didn't reason. If the
     * server doesn't know the model's format of reasoning, this field is empty, and the
     * reasoning is part of the message's content.
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
 * ChatResponse is the complete response of Chat.
 *
 * @generated from message trident.v1.ChatResponse
 */
export type ChatResponse = Message<"trident.v1.ChatResponse"> & {
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
     * The choices, ordered by index.
     *
     * @generated from field: repeated trident.v1.ChatChoice choices = 4;
     */
    choices: ChatChoice[];
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
     * The request, as for Chat. Required. Errors name the request's fields without the
     * prefix chat, as errors of Chat do.
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
 * ChatDelta is the next piece of one choice.
 *
 * @generated from message trident.v1.ChatDelta
 */
export type ChatDelta = Message<"trident.v1.ChatDelta"> & {
    /**
     * Index of the choice that this piece belongs to, from 0. The pieces of
     * several choices are interleaved.
     *
     * @generated from field: uint32 index = 1;
     */
    index: number;
    /**
     * Text to append. It has whole characters of any number of tokens. Empty if the piece
     * only ends the choice, or if the tokens of the piece complete no character.
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
     * Reason why the choice ended. It is only in the last piece of the choice.
     *
     * @generated from field: trident.v1.FinishReason finish_reason = 4;
     */
    finishReason: FinishReason;
    /**
     * Reasoning to append, in whole characters. Pieces with reasoning come before the
     * pieces with text.
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
 * ChatStreamResponse is one message of the stream. Each message has one piece of a
 * choice. The first of these messages also identifies the stream. After all choices
 * have ended, one message has the usage. An empty message is a keep-alive. A keep-alive
 * may come at any time, and clients ignore it.
 *
 * @generated from message trident.v1.ChatStreamResponse
 */
export type ChatStreamResponse = Message<"trident.v1.ChatStreamResponse"> & {
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
     * The next piece of a choice. Unset in the message with the usage.
     *
     * @generated from field: trident.v1.ChatDelta delta = 4;
     */
    delta?: ChatDelta | undefined;
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
     * The role isn't set. Requests with this value are refused.
     *
     * @generated from enum value: ROLE_UNSPECIFIED = 0;
     */
    UNSPECIFIED = 0,
    /**
     * Instructions that take precedence over the conversation.
     *
     * @generated from enum value: ROLE_SYSTEM = 1;
     */
    SYSTEM = 1,
    /**
     * Instructions of the application's developer. If the model's chat template doesn't
     * know this role, the message gets ROLE_SYSTEM.
     *
     * @generated from enum value: ROLE_DEVELOPER = 2;
     */
    DEVELOPER = 2,
    /**
     * The user of the application.
     *
     * @generated from enum value: ROLE_USER = 3;
     */
    USER = 3,
    /**
     * The model, in earlier turns and in responses.
     *
     * @generated from enum value: ROLE_ASSISTANT = 4;
     */
    ASSISTANT = 4,
    /**
     * A tool. The message contains the result of a tool call.
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
 * ToolMode selects whether the model may or must call tools.
 *
 * @generated from enum trident.v1.ToolMode
 */
export declare enum ToolMode {
    /**
     * The mode isn't set, which means TOOL_MODE_AUTO.
     *
     * @generated from enum value: TOOL_MODE_UNSPECIFIED = 0;
     */
    UNSPECIFIED = 0,
    /**
     * The model decides whether it calls a tool.
     *
     * @generated from enum value: TOOL_MODE_AUTO = 1;
     */
    AUTO = 1,
    /**
     * The model calls no tool and the prompt contains no tools.
     *
     * @generated from enum value: TOOL_MODE_NONE = 2;
     */
    NONE = 2,
    /**
     * The model calls at least one tool. The response is constrained to tool calls.
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
 * ChatService continues conversations with any generative model of this server. The
 * service is available over Connect, gRPC and gRPC-Web.
 *
 * All methods return the following codes. Errors have an ErrorDetail, which names the
 * invalid field. Only errors before or during authentication have no ErrorDetail.
 *   - INVALID_ARGUMENT: a field is out of range or not supported by the model, or the
 *     prompt exceeds the model's context.
 *   - NOT_FOUND: the model is unknown.
 *   - UNAUTHENTICATED: the API key is missing or invalid.
 *   - PERMISSION_DENIED: the API key or the request's host isn't allowed.
 *   - RESOURCE_EXHAUSTED: the client exceeded a limit. The client may retry later.
 *   - UNAVAILABLE: the server is overloaded, or the server or the model isn't ready or
 *     has stopped. The client may retry later.
 *   - DEADLINE_EXCEEDED: the time limit of the caller or of the server has passed.
 *
 * If the client cancels the call or disconnects, the model stops.
 *
 * @generated from service trident.v1.ChatService
 */
export declare const ChatService: GenService<{
    /**
     * Chat returns the complete response.
     *
     * @generated from rpc trident.v1.ChatService.Chat
     */
    chat: {
        methodKind: "unary";
        input: typeof ChatRequestSchema;
        output: typeof ChatResponseSchema;
    };
    /**
     * ChatStream returns the response in pieces, and sends each piece as soon as the
     * model generates it. The pieces of a choice, joined in order, are the text that Chat
     * returns. A failure after the first piece ends the call with the failure's code. The
     * earlier pieces remain valid.
     *
     * @generated from rpc trident.v1.ChatService.ChatStream
     */
    chatStream: {
        methodKind: "server_streaming";
        input: typeof ChatStreamRequestSchema;
        output: typeof ChatStreamResponseSchema;
    };
}>;
