// Chat with typed messages, for browsers and for programs that don't want to parse
// JSON events.
import { enumDesc, fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { file_google_protobuf_timestamp } from "@bufbuild/protobuf/wkt";
import { file_trident_v1_generation } from "./generation_pb.js";
/**
 * Describes the file trident/v1/chat.proto.
 */
export const file_trident_v1_chat = /*@__PURE__*/ fileDesc("ChV0cmlkZW50L3YxL2NoYXQucHJvdG8SCnRyaWRlbnQudjEi2AEKC0NoYXRNZXNzYWdlEh4KBHJvbGUYASABKA4yEC50cmlkZW50LnYxLlJvbGUSDwoHY29udGVudBgCIAEoCRIMCgRuYW1lGAMgASgJEiYKBXBhcnRzGAQgAygLMhcudHJpZGVudC52MS5Db250ZW50UGFydBIoCgp0b29sX2NhbGxzGAUgAygLMhQudHJpZGVudC52MS5Ub29sQ2FsbBIUCgx0b29sX2NhbGxfaWQYBiABKAkSDwoHcmVmdXNhbBgHIAEoCRIRCglyZWFzb25pbmcYCCABKAkiUAoLQ29udGVudFBhcnQSDgoEdGV4dBgBIAEoCUgAEikKCWltYWdlX3VybBgCIAEoCzIULnRyaWRlbnQudjEuSW1hZ2VVcmxIAEIGCgRwYXJ0IhcKCEltYWdlVXJsEgsKA3VybBgBIAEoCSI8CgRUb29sEiwKCGZ1bmN0aW9uGAEgASgLMhgudHJpZGVudC52MS5GdW5jdGlvblRvb2xIAEIGCgR0b29sImUKDEZ1bmN0aW9uVG9vbBIMCgRuYW1lGAEgASgJEhMKC2Rlc2NyaXB0aW9uGAIgASgJEhIKCnBhcmFtZXRlcnMYAyABKAkSEwoGc3RyaWN0GAQgASgISACIAQFCCQoHX3N0cmljdCJrCgpUb29sQ2hvaWNlEiQKBG1vZGUYASABKA4yFC50cmlkZW50LnYxLlRvb2xNb2RlSAASEgoIZnVuY3Rpb24YAiABKAlIABIZChFhbGxvd2VkX2Z1bmN0aW9ucxgDIAMoCUIICgZjaG9pY2UiNwoIVG9vbENhbGwSCgoCaWQYASABKAkSDAoEbmFtZRgCIAEoCRIRCglhcmd1bWVudHMYAyABKAkiSwoNVG9vbENhbGxEZWx0YRINCgVpbmRleBgBIAEoDRIKCgJpZBgCIAEoCRIMCgRuYW1lGAMgASgJEhEKCWFyZ3VtZW50cxgEIAEoCSLpCgoLQ2hhdFJlcXVlc3QSDQoFbW9kZWwYASABKAkSKQoIbWVzc2FnZXMYAiADKAsyFy50cmlkZW50LnYxLkNoYXRNZXNzYWdlEhcKCm1heF90b2tlbnMYAyABKA1IAIgBARIYCgt0ZW1wZXJhdHVyZRgEIAEoAUgBiAEBEhIKBXRvcF9wGAUgASgBSAKIAQESEgoFdG9wX2sYBiABKA1IA4gBARISCgVtaW5fcBgHIAEoAUgEiAEBEhEKBHNlZWQYCCABKANIBYgBARIMCgRzdG9wGAkgAygJEh0KEHByZXNlbmNlX3BlbmFsdHkYCiABKAFIBogBARIeChFmcmVxdWVuY3lfcGVuYWx0eRgLIAEoAUgHiAEBEh8KEnJlcGV0aXRpb25fcGVuYWx0eRgMIAEoAUgIiAEBEhAKCGxvZ3Byb2JzGA0gASgIEhQKDHRvcF9sb2dwcm9icxgOIAEoDRIJCgFuGA8gASgNEhcKCm1pbl90b2tlbnMYECABKA1ICYgBARIWCg5zdG9wX3Rva2VuX2lkcxgRIAMoDRIZCgxpbmNsdWRlX3N0b3AYEiABKAhICogBARIXCgppZ25vcmVfZW9zGBMgASgISAuIAQESEQoJYmFkX3dvcmRzGBQgAygJEhkKEWFsbG93ZWRfdG9rZW5faWRzGBUgAygNEjoKCmxvZ2l0X2JpYXMYFiADKAsyJi50cmlkZW50LnYxLkNoYXRSZXF1ZXN0LkxvZ2l0Qmlhc0VudHJ5EiAKE3NraXBfc3BlY2lhbF90b2tlbnMYFyABKAhIDIgBARIqCh1zcGFjZXNfYmV0d2Vlbl9zcGVjaWFsX3Rva2VucxgYIAEoCEgNiAEBEiMKFnRydW5jYXRlX3Byb21wdF90b2tlbnMYGSABKAVIDogBARIzCg9yZXNwb25zZV9mb3JtYXQYGiABKAsyGi50cmlkZW50LnYxLlJlc3BvbnNlRm9ybWF0EhAKCHByaW9yaXR5GBsgASgNEgwKBHVzZXIYHCABKAkSNwoIbWV0YWRhdGEYHSADKAsyJS50cmlkZW50LnYxLkNoYXRSZXF1ZXN0Lk1ldGFkYXRhRW50cnkSHwoFdG9vbHMYHiADKAsyEC50cmlkZW50LnYxLlRvb2wSKwoLdG9vbF9jaG9pY2UYHyABKAsyFi50cmlkZW50LnYxLlRvb2xDaG9pY2USIAoTcGFyYWxsZWxfdG9vbF9jYWxscxggIAEoCEgPiAEBEhgKEHJlYXNvbmluZ19lZmZvcnQYISABKAkSHAoUY2hhdF90ZW1wbGF0ZV9rd2FyZ3MYIiABKAkaMAoOTG9naXRCaWFzRW50cnkSCwoDa2V5GAEgASgNEg0KBXZhbHVlGAIgASgCOgI4ARovCg1NZXRhZGF0YUVudHJ5EgsKA2tleRgBIAEoCRINCgV2YWx1ZRgCIAEoCToCOAFCDQoLX21heF90b2tlbnNCDgoMX3RlbXBlcmF0dXJlQggKBl90b3BfcEIICgZfdG9wX2tCCAoGX21pbl9wQgcKBV9zZWVkQhMKEV9wcmVzZW5jZV9wZW5hbHR5QhQKEl9mcmVxdWVuY3lfcGVuYWx0eUIVChNfcmVwZXRpdGlvbl9wZW5hbHR5Qg0KC19taW5fdG9rZW5zQg8KDV9pbmNsdWRlX3N0b3BCDQoLX2lnbm9yZV9lb3NCFgoUX3NraXBfc3BlY2lhbF90b2tlbnNCIAoeX3NwYWNlc19iZXR3ZWVuX3NwZWNpYWxfdG9rZW5zQhkKF190cnVuY2F0ZV9wcm9tcHRfdG9rZW5zQhYKFF9wYXJhbGxlbF90b29sX2NhbGxzIrUBCgpDaGF0Q2hvaWNlEg0KBWluZGV4GAEgASgNEigKB21lc3NhZ2UYAiABKAsyFy50cmlkZW50LnYxLkNoYXRNZXNzYWdlEi8KDWZpbmlzaF9yZWFzb24YAyABKA4yGC50cmlkZW50LnYxLkZpbmlzaFJlYXNvbhIqCghsb2dwcm9icxgEIAMoCzIYLnRyaWRlbnQudjEuVG9rZW5Mb2dwcm9iEhEKCXJlYXNvbmluZxgFIAEoCSK9AQoMQ2hhdFJlc3BvbnNlEgoKAmlkGAEgASgJEg0KBW1vZGVsGAIgASgJEisKB2NyZWF0ZWQYAyABKAsyGi5nb29nbGUucHJvdG9idWYuVGltZXN0YW1wEicKB2Nob2ljZXMYBCADKAsyFi50cmlkZW50LnYxLkNoYXRDaG9pY2USIAoFdXNhZ2UYBSABKAsyES50cmlkZW50LnYxLlVzYWdlEhoKEnN5c3RlbV9maW5nZXJwcmludBgGIAEoCSI6ChFDaGF0U3RyZWFtUmVxdWVzdBIlCgRjaGF0GAEgASgLMhcudHJpZGVudC52MS5DaGF0UmVxdWVzdCLHAQoJQ2hhdERlbHRhEg0KBWluZGV4GAEgASgNEgwKBHRleHQYAiABKAkSKgoIbG9ncHJvYnMYAyADKAsyGC50cmlkZW50LnYxLlRva2VuTG9ncHJvYhIvCg1maW5pc2hfcmVhc29uGAQgASgOMhgudHJpZGVudC52MS5GaW5pc2hSZWFzb24SEQoJcmVhc29uaW5nGAUgASgJEi0KCnRvb2xfY2FsbHMYBiADKAsyGS50cmlkZW50LnYxLlRvb2xDYWxsRGVsdGEiwAEKEkNoYXRTdHJlYW1SZXNwb25zZRIKCgJpZBgBIAEoCRINCgVtb2RlbBgCIAEoCRIrCgdjcmVhdGVkGAMgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcBIkCgVkZWx0YRgEIAEoCzIVLnRyaWRlbnQudjEuQ2hhdERlbHRhEiAKBXVzYWdlGAUgASgLMhEudHJpZGVudC52MS5Vc2FnZRIaChJzeXN0ZW1fZmluZ2VycHJpbnQYBiABKAkqcwoEUm9sZRIUChBST0xFX1VOU1BFQ0lGSUVEEAASDwoLUk9MRV9TWVNURU0QARISCg5ST0xFX0RFVkVMT1BFUhACEg0KCVJPTEVfVVNFUhADEhIKDlJPTEVfQVNTSVNUQU5UEAQSDQoJUk9MRV9UT09MEAUqZQoIVG9vbE1vZGUSGQoVVE9PTF9NT0RFX1VOU1BFQ0lGSUVEEAASEgoOVE9PTF9NT0RFX0FVVE8QARISCg5UT09MX01PREVfTk9ORRACEhYKElRPT0xfTU9ERV9SRVFVSVJFRBADMpcBCgtDaGF0U2VydmljZRI5CgRDaGF0EhcudHJpZGVudC52MS5DaGF0UmVxdWVzdBoYLnRyaWRlbnQudjEuQ2hhdFJlc3BvbnNlEk0KCkNoYXRTdHJlYW0SHS50cmlkZW50LnYxLkNoYXRTdHJlYW1SZXF1ZXN0Gh4udHJpZGVudC52MS5DaGF0U3RyZWFtUmVzcG9uc2UwAUJCWkBnaXRodWIuY29tL3RyaWRlbnQtaW5mZXJlbmNlL3RyaWRlbnQvZ2VuL2dvL3RyaWRlbnQvdjE7dHJpZGVudHYxYgZwcm90bzM", [file_google_protobuf_timestamp, file_trident_v1_generation]);
/**
 * Describes the message trident.v1.ChatMessage.
 * Use `create(ChatMessageSchema)` to create a new message.
 */
export const ChatMessageSchema = /*@__PURE__*/ messageDesc(file_trident_v1_chat, 0);
/**
 * Describes the message trident.v1.ContentPart.
 * Use `create(ContentPartSchema)` to create a new message.
 */
export const ContentPartSchema = /*@__PURE__*/ messageDesc(file_trident_v1_chat, 1);
/**
 * Describes the message trident.v1.ImageUrl.
 * Use `create(ImageUrlSchema)` to create a new message.
 */
export const ImageUrlSchema = /*@__PURE__*/ messageDesc(file_trident_v1_chat, 2);
/**
 * Describes the message trident.v1.Tool.
 * Use `create(ToolSchema)` to create a new message.
 */
export const ToolSchema = /*@__PURE__*/ messageDesc(file_trident_v1_chat, 3);
/**
 * Describes the message trident.v1.FunctionTool.
 * Use `create(FunctionToolSchema)` to create a new message.
 */
export const FunctionToolSchema = /*@__PURE__*/ messageDesc(file_trident_v1_chat, 4);
/**
 * Describes the message trident.v1.ToolChoice.
 * Use `create(ToolChoiceSchema)` to create a new message.
 */
export const ToolChoiceSchema = /*@__PURE__*/ messageDesc(file_trident_v1_chat, 5);
/**
 * Describes the message trident.v1.ToolCall.
 * Use `create(ToolCallSchema)` to create a new message.
 */
export const ToolCallSchema = /*@__PURE__*/ messageDesc(file_trident_v1_chat, 6);
/**
 * Describes the message trident.v1.ToolCallDelta.
 * Use `create(ToolCallDeltaSchema)` to create a new message.
 */
export const ToolCallDeltaSchema = /*@__PURE__*/ messageDesc(file_trident_v1_chat, 7);
/**
 * Describes the message trident.v1.ChatRequest.
 * Use `create(ChatRequestSchema)` to create a new message.
 */
export const ChatRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_chat, 8);
/**
 * Describes the message trident.v1.ChatChoice.
 * Use `create(ChatChoiceSchema)` to create a new message.
 */
export const ChatChoiceSchema = /*@__PURE__*/ messageDesc(file_trident_v1_chat, 9);
/**
 * Describes the message trident.v1.ChatResponse.
 * Use `create(ChatResponseSchema)` to create a new message.
 */
export const ChatResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_chat, 10);
/**
 * Describes the message trident.v1.ChatStreamRequest.
 * Use `create(ChatStreamRequestSchema)` to create a new message.
 */
export const ChatStreamRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_chat, 11);
/**
 * Describes the message trident.v1.ChatDelta.
 * Use `create(ChatDeltaSchema)` to create a new message.
 */
export const ChatDeltaSchema = /*@__PURE__*/ messageDesc(file_trident_v1_chat, 12);
/**
 * Describes the message trident.v1.ChatStreamResponse.
 * Use `create(ChatStreamResponseSchema)` to create a new message.
 */
export const ChatStreamResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_chat, 13);
/**
 * Role is the author of a message.
 *
 * @generated from enum trident.v1.Role
 */
export var Role;
(function (Role) {
    /**
     * The role isn't set. Requests with this value are refused.
     *
     * @generated from enum value: ROLE_UNSPECIFIED = 0;
     */
    Role[Role["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * Instructions that take precedence over the conversation.
     *
     * @generated from enum value: ROLE_SYSTEM = 1;
     */
    Role[Role["SYSTEM"] = 1] = "SYSTEM";
    /**
     * Instructions of the application's developer. If the model's chat template doesn't
     * know this role, the message gets ROLE_SYSTEM.
     *
     * @generated from enum value: ROLE_DEVELOPER = 2;
     */
    Role[Role["DEVELOPER"] = 2] = "DEVELOPER";
    /**
     * The user of the application.
     *
     * @generated from enum value: ROLE_USER = 3;
     */
    Role[Role["USER"] = 3] = "USER";
    /**
     * The model, in earlier turns and in responses.
     *
     * @generated from enum value: ROLE_ASSISTANT = 4;
     */
    Role[Role["ASSISTANT"] = 4] = "ASSISTANT";
    /**
     * A tool. The message contains the result of a tool call.
     *
     * @generated from enum value: ROLE_TOOL = 5;
     */
    Role[Role["TOOL"] = 5] = "TOOL";
})(Role || (Role = {}));
/**
 * Describes the enum trident.v1.Role.
 */
export const RoleSchema = /*@__PURE__*/ enumDesc(file_trident_v1_chat, 0);
/**
 * ToolMode selects whether the model may or must call tools.
 *
 * @generated from enum trident.v1.ToolMode
 */
export var ToolMode;
(function (ToolMode) {
    /**
     * The mode isn't set, which means TOOL_MODE_AUTO.
     *
     * @generated from enum value: TOOL_MODE_UNSPECIFIED = 0;
     */
    ToolMode[ToolMode["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * The model decides whether it calls a tool.
     *
     * @generated from enum value: TOOL_MODE_AUTO = 1;
     */
    ToolMode[ToolMode["AUTO"] = 1] = "AUTO";
    /**
     * The model calls no tool and the prompt contains no tools.
     *
     * @generated from enum value: TOOL_MODE_NONE = 2;
     */
    ToolMode[ToolMode["NONE"] = 2] = "NONE";
    /**
     * The model calls at least one tool. The response is constrained to tool calls.
     *
     * @generated from enum value: TOOL_MODE_REQUIRED = 3;
     */
    ToolMode[ToolMode["REQUIRED"] = 3] = "REQUIRED";
})(ToolMode || (ToolMode = {}));
/**
 * Describes the enum trident.v1.ToolMode.
 */
export const ToolModeSchema = /*@__PURE__*/ enumDesc(file_trident_v1_chat, 1);
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
export const ChatService = /*@__PURE__*/ serviceDesc(file_trident_v1_chat, 0);
