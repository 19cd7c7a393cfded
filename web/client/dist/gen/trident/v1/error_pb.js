// Details of errors for programs.
import { fileDesc, messageDesc } from "@bufbuild/protobuf/codegenv2";
import { file_google_protobuf_duration } from "@bufbuild/protobuf/wkt";
/**
 * Describes the file trident/v1/error.proto.
 */
export const file_trident_v1_error = /*@__PURE__*/ fileDesc("ChZ0cmlkZW50L3YxL2Vycm9yLnByb3RvEgp0cmlkZW50LnYxIqABCgtFcnJvckRldGFpbBIOCgZyZWFzb24YASABKAkSDQoFcGFyYW0YAiABKAkSLgoKdmlvbGF0aW9ucxgDIAMoCzIaLnRyaWRlbnQudjEuRmllbGRWaW9sYXRpb24SLgoLcmV0cnlfYWZ0ZXIYBCABKAsyGS5nb29nbGUucHJvdG9idWYuRHVyYXRpb24SEgoKcmVxdWVzdF9pZBgFIAEoCSI+Cg5GaWVsZFZpb2xhdGlvbhINCgVmaWVsZBgBIAEoCRIMCgRydWxlGAIgASgJEg8KB21lc3NhZ2UYAyABKAlCQlpAZ2l0aHViLmNvbS90cmlkZW50LWluZmVyZW5jZS90cmlkZW50L2dlbi9nby90cmlkZW50L3YxO3RyaWRlbnR2MWIGcHJvdG8z", [file_google_protobuf_duration]);
/**
 * Describes the message trident.v1.ErrorDetail.
 * Use `create(ErrorDetailSchema)` to create a new message.
 */
export const ErrorDetailSchema = /*@__PURE__*/ messageDesc(file_trident_v1_error, 0);
/**
 * Describes the message trident.v1.FieldViolation.
 * Use `create(FieldViolationSchema)` to create a new message.
 */
export const FieldViolationSchema = /*@__PURE__*/ messageDesc(file_trident_v1_error, 1);
