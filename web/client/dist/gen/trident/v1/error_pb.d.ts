import type { GenFile, GenMessage } from "@bufbuild/protobuf/codegenv2";
import type { Duration } from "@bufbuild/protobuf/wkt";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file trident/v1/error.proto.
 */
export declare const file_trident_v1_error: GenFile;
/**
 * ErrorDetail is the detail of errors of this package's services. Errors of
 * InferService, and errors before or during authentication, have no ErrorDetail.
 * ErrorDetail replaces google.rpc's ErrorInfo, BadRequest and RetryInfo. A client in a
 * browser can therefore read all details with the code generated from this package
 * alone.
 *
 * @generated from message trident.v1.ErrorDetail
 */
export type ErrorDetail = Message<"trident.v1.ErrorDetail"> & {
    /**
     * Reason of the error. It is the error's code in OpenAI's API, such as invalid_value,
     * unsupported_parameter, context_length_exceeded or model_not_found. Empty for an
     * internal error.
     *
     * @generated from field: string reason = 1;
     */
    reason: string;
    /**
     * Path of the request's invalid field, such as messages[2].content. Empty if the
     * error doesn't concern a field.
     *
     * @generated from field: string param = 2;
     */
    param: string;
    /**
     * All fields that violate a validation rule, at most 32. If the request message is
     * larger than 16 KiB, only the first of these fields is listed. Empty for any other
     * error. The fields reason and param and the error's message describe the first
     * violation.
     *
     * @generated from field: repeated trident.v1.FieldViolation violations = 3;
     */
    violations: FieldViolation[];
    /**
     * Time to wait before a retry. Unset if the server doesn't know the time.
     *
     * @generated from field: google.protobuf.Duration retry_after = 4;
     */
    retryAfter?: Duration | undefined;
    /**
     * The request's identifier in the server's log. The header x-request-id has the
     * same value.
     *
     * @generated from field: string request_id = 5;
     */
    requestId: string;
};
/**
 * Describes the message trident.v1.ErrorDetail.
 * Use `create(ErrorDetailSchema)` to create a new message.
 */
export declare const ErrorDetailSchema: GenMessage<ErrorDetail>;
/**
 * FieldViolation is a field that violates a validation rule.
 *
 * @generated from message trident.v1.FieldViolation
 */
export type FieldViolation = Message<"trident.v1.FieldViolation"> & {
    /**
     * Path of the field.
     *
     * @generated from field: string field = 1;
     */
    field: string;
    /**
     * Identifier of the rule, such as double.lte.
     *
     * @generated from field: string rule = 2;
     */
    rule: string;
    /**
     * A description of the violation for people.
     *
     * @generated from field: string message = 3;
     */
    message: string;
};
/**
 * Describes the message trident.v1.FieldViolation.
 * Use `create(FieldViolationSchema)` to create a new message.
 */
export declare const FieldViolationSchema: GenMessage<FieldViolation>;
