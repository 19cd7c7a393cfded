// The status and load of the server.
import { fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
import { file_google_protobuf_duration, file_google_protobuf_timestamp } from "@bufbuild/protobuf/wkt";
/**
 * Describes the file trident/v1/server.proto.
 */
export const file_trident_v1_server = /*@__PURE__*/ fileDesc("Chd0cmlkZW50L3YxL3NlcnZlci5wcm90bxIKdHJpZGVudC52MSJIChlTZXJ2ZXJTZXJ2aWNlV2F0Y2hSZXF1ZXN0EisKCGludGVydmFsGAEgASgLMhkuZ29vZ2xlLnByb3RvYnVmLkR1cmF0aW9uIkYKGlNlcnZlclNlcnZpY2VXYXRjaFJlc3BvbnNlEigKBnN0YXR1cxgBIAEoCzIYLnRyaWRlbnQudjEuU2VydmVyU3RhdHVzIvQBCgxTZXJ2ZXJTdGF0dXMSKAoEdGltZRgBIAEoCzIaLmdvb2dsZS5wcm90b2J1Zi5UaW1lc3RhbXASDwoHdmVyc2lvbhgCIAEoCRIrCgdzdGFydGVkGAMgASgLMhouZ29vZ2xlLnByb3RvYnVmLlRpbWVzdGFtcBINCgVyZWFkeRgEIAEoCBIOCgZyZWFzb24YBSABKAkSFQoNbWF4X2luX2ZsaWdodBgGIAEoDRIfCgV0b3RhbBgHIAEoCzIQLnRyaWRlbnQudjEuTG9hZBIlCgZtb2RlbHMYCCADKAsyFS50cmlkZW50LnYxLk1vZGVsTG9hZCI6CglNb2RlbExvYWQSDQoFbW9kZWwYASABKAkSHgoEbG9hZBgCIAEoCzIQLnRyaWRlbnQudjEuTG9hZCL6AQoETG9hZBIRCglpbl9mbGlnaHQYASABKA0SDgoGcXVldWVkGAIgASgNEhkKEXRva2Vuc19wZXJfc2Vjb25kGAMgASgBEjIKE3RpbWVfdG9fZmlyc3RfdG9rZW4YBCABKAsyFS50cmlkZW50LnYxLlF1YW50aWxlcxIqCgtpbnRlcl90b2tlbhgFIAEoCzIVLnRyaWRlbnQudjEuUXVhbnRpbGVzEhAKCHJlcXVlc3RzGAYgASgEEhAKCGZhaWx1cmVzGAcgASgEEhUKDXByb21wdF90b2tlbnMYCCABKAQSGQoRY29tcGxldGlvbl90b2tlbnMYCSABKAQiQQoJUXVhbnRpbGVzEgsKA3A1MBgBIAEoARILCgNwOTAYAiABKAESCwoDcDk5GAMgASgBEg0KBWNvdW50GAQgASgEMm4KDVNlcnZlclNlcnZpY2USXQoFV2F0Y2gSJS50cmlkZW50LnYxLlNlcnZlclNlcnZpY2VXYXRjaFJlcXVlc3QaJi50cmlkZW50LnYxLlNlcnZlclNlcnZpY2VXYXRjaFJlc3BvbnNlIgOQAgEwAUJCWkBnaXRodWIuY29tL3RyaWRlbnQtaW5mZXJlbmNlL3RyaWRlbnQvZ2VuL2dvL3RyaWRlbnQvdjE7dHJpZGVudHYxYgZwcm90bzM", [file_google_protobuf_duration, file_google_protobuf_timestamp]);
/**
 * Describes the message trident.v1.ServerServiceWatchRequest.
 * Use `create(ServerServiceWatchRequestSchema)` to create a new message.
 */
export const ServerServiceWatchRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_server, 0);
/**
 * Describes the message trident.v1.ServerServiceWatchResponse.
 * Use `create(ServerServiceWatchResponseSchema)` to create a new message.
 */
export const ServerServiceWatchResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_server, 1);
/**
 * Describes the message trident.v1.ServerStatus.
 * Use `create(ServerStatusSchema)` to create a new message.
 */
export const ServerStatusSchema = /*@__PURE__*/ messageDesc(file_trident_v1_server, 2);
/**
 * Describes the message trident.v1.ModelLoad.
 * Use `create(ModelLoadSchema)` to create a new message.
 */
export const ModelLoadSchema = /*@__PURE__*/ messageDesc(file_trident_v1_server, 3);
/**
 * Describes the message trident.v1.Load.
 * Use `create(LoadSchema)` to create a new message.
 */
export const LoadSchema = /*@__PURE__*/ messageDesc(file_trident_v1_server, 4);
/**
 * Describes the message trident.v1.Quantiles.
 * Use `create(QuantilesSchema)` to create a new message.
 */
export const QuantilesSchema = /*@__PURE__*/ messageDesc(file_trident_v1_server, 5);
/**
 * ServerService returns the server's load, including the requests of all APIs.
 *
 * @generated from service trident.v1.ServerService
 */
export const ServerService = /*@__PURE__*/ serviceDesc(file_trident_v1_server, 0);
