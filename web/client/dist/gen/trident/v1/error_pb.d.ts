import type { GenFile, GenMessage } from "@bufbuild/protobuf/codegenv2";
import type { Duration } from "@bufbuild/protobuf/wkt";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file trident/v1/error.proto.
 */
export declare const file_trident_v1_error: GenFile;
/**
 * ErrorDetail is the detail of every error of the services of this package but
 * InferService. It is one message of our own instead of google.rpc's ErrorInfo,
 * BadRequest and RetryInfo, so that a client in a browser can read it by what is
 * generated of this package alone.
 *
 * @generated from message trident.v1.ErrorDetail
 */
export type ErrorDetail = Message<"trident.v1.ErrorDetail"> & {
    /**
     * Why, in the words that OpenAI's clients find as an error's code, such as
     * invalid_value, unsupported_parameter, context_length_exceeded or
     * model_not_found. Empty of an internal error.
     *
     * @generated from field: string reason = 1;
     */
    reason: string;
    /**
     * Path of the request's field at fault, such as messages[2].content. Empty where
     * it is none.
     *
     * @generated from field: string param = 2;
     */
    param: string;
    /**
     * All fields that break a rule of their own, at most 32; of a message over 16 KiB
     * the first one only. Empty for any other error. The first one is the one that
     * reason, param and the error's message are of.
     *
     * @generated from field: repeated trident.v1.FieldViolation violations = 3;
     */
    violations: FieldViolation[];
    /**
     * When to try again. Unset says nothing.
     *
     * @generated from field: google.protobuf.Duration retry_after = 4;
     */
    retryAfter?: Duration | undefined;
    /**
     * The request's identifier, by which the server's log has it; the header
     * x-request-id has the same.
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
 * FieldViolation is a field that breaks a rule.
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
     * The rule, such as double.lte.
     *
     * @generated from field: string rule = 2;
     */
    rule: string;
    /**
     * What is wrong, for people.
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
