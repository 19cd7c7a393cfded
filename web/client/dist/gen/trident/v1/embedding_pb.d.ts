import type { GenEnum, GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import type { TextInput, Usage } from "./generation_pb.js";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file trident/v1/embedding.proto.
 */
export declare const file_trident_v1_embedding: GenFile;
/**
 * EmbedRequest asks for the vectors of texts.
 *
 * @generated from message trident.v1.EmbedRequest
 */
export type EmbedRequest = Message<"trident.v1.EmbedRequest"> & {
    /**
     * Name of the embedding model in the server's list, or an alias of the model.
     * Required.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * The inputs: 1 to 2048 texts, none of them empty.
     *
     * @generated from field: repeated trident.v1.TextInput input = 2;
     */
    input: TextInput[];
    /**
     * Number of components of each vector. The vectors are cut to their first components
     * and normalized to unit length again. The number must not be above the number of
     * components that the model returns. 0 keeps the whole vectors.
     *
     * @generated from field: uint32 dimensions = 3;
     */
    dimensions: number;
    /**
     * The caller's identifier of its user. The field has no effect.
     *
     * @generated from field: string user = 4;
     */
    user: string;
    /**
     * The purpose of the inputs: query, document, or the name of one of the model's
     * prompts. The purpose selects the prompt that is put before each input.
     *
     * @generated from field: string input_type = 5;
     */
    inputType: string;
    /**
     * The truncation of inputs that are too long.
     *
     * @generated from field: trident.v1.Truncation truncation = 6;
     */
    truncation?: Truncation | undefined;
    /**
     * Whether vectors are scaled to unit length. Unset means the model's setting.
     *
     * @generated from field: optional bool normalize = 7;
     */
    normalize?: boolean | undefined;
    /**
     * Type of the components.
     *
     * @generated from field: trident.v1.VectorType vector_type = 8;
     */
    vectorType: VectorType;
};
/**
 * Describes the message trident.v1.EmbedRequest.
 * Use `create(EmbedRequestSchema)` to create a new message.
 */
export declare const EmbedRequestSchema: GenMessage<EmbedRequest>;
/**
 * Truncation is the rule for texts that are too long.
 *
 * @generated from message trident.v1.Truncation
 */
export type Truncation = Message<"trident.v1.Truncation"> & {
    /**
     * The side of the text that is cut off.
     *
     * @generated from field: trident.v1.TruncationSide side = 1;
     */
    side: TruncationSide;
    /**
     * Maximum number of tokens of a text or of a pair, including special tokens. 0 means
     * the model's own maximum.
     *
     * @generated from field: uint32 max_tokens = 2;
     */
    maxTokens: number;
};
/**
 * Describes the message trident.v1.Truncation.
 * Use `create(TruncationSchema)` to create a new message.
 */
export declare const TruncationSchema: GenMessage<Truncation>;
/**
 * Embedding is the vector of one input.
 *
 * @generated from message trident.v1.Embedding
 */
export type Embedding = Message<"trident.v1.Embedding"> & {
    /**
     * Index of the input, from 0.
     *
     * @generated from field: uint32 index = 1;
     */
    index: number;
    /**
     * The vector. The request's field normalize sets whether the vector has unit length.
     * Empty if the request's vector_type selects a type other than floating-point
     * numbers.
     *
     * @generated from field: repeated float values = 2;
     */
    values: number[];
    /**
     * The vector's components, if the request's vector_type selects a type other than
     * floating-point numbers.
     *
     * @generated from field: bytes quantized = 3;
     */
    quantized: Uint8Array;
};
/**
 * Describes the message trident.v1.Embedding.
 * Use `create(EmbeddingSchema)` to create a new message.
 */
export declare const EmbeddingSchema: GenMessage<Embedding>;
/**
 * EmbedResponse is the response of Embed.
 *
 * @generated from message trident.v1.EmbedResponse
 */
export type EmbedResponse = Message<"trident.v1.EmbedResponse"> & {
    /**
     * Name of the model, as in the request.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * One vector for each input, in the order of the inputs.
     *
     * @generated from field: repeated trident.v1.Embedding embeddings = 2;
     */
    embeddings: Embedding[];
    /**
     * Number of tokens that the model read. Unset if the model doesn't report the number
     * and the server has no tokenizer for the model.
     *
     * @generated from field: trident.v1.Usage usage = 3;
     */
    usage?: Usage | undefined;
};
/**
 * Describes the message trident.v1.EmbedResponse.
 * Use `create(EmbedResponseSchema)` to create a new message.
 */
export declare const EmbedResponseSchema: GenMessage<EmbedResponse>;
/**
 * VectorType is the type of the components of vectors.
 *
 * @generated from enum trident.v1.VectorType
 */
export declare enum VectorType {
    /**
     * Floating-point numbers, in the field values.
     *
     * @generated from enum value: VECTOR_TYPE_UNSPECIFIED = 0;
     */
    UNSPECIFIED = 0,
    /**
     * Whole numbers from -127 to 127. Each number has one byte.
     *
     * @generated from enum value: VECTOR_TYPE_INT8 = 1;
     */
    INT8 = 1,
    /**
     * Whole numbers from 1 to 255. Each number has one byte.
     *
     * @generated from enum value: VECTOR_TYPE_UINT8 = 2;
     */
    UINT8 = 2,
    /**
     * Each byte has the signs of 8 components, the first one in the highest bit. 128 is
     * subtracted from each byte.
     *
     * @generated from enum value: VECTOR_TYPE_BINARY = 3;
     */
    BINARY = 3,
    /**
     * Each byte has the signs of 8 components, the first one in the highest bit.
     *
     * @generated from enum value: VECTOR_TYPE_UBINARY = 4;
     */
    UBINARY = 4
}
/**
 * Describes the enum trident.v1.VectorType.
 */
export declare const VectorTypeSchema: GenEnum<VectorType>;
/**
 * TruncationSide is the side of a text that is cut off if the text is too long.
 *
 * @generated from enum trident.v1.TruncationSide
 */
export declare enum TruncationSide {
    /**
     * Texts aren't cut. A text that is too long is refused.
     *
     * @generated from enum value: TRUNCATION_SIDE_UNSPECIFIED = 0;
     */
    UNSPECIFIED = 0,
    /**
     * The start of the text remains.
     *
     * @generated from enum value: TRUNCATION_SIDE_RIGHT = 1;
     */
    RIGHT = 1,
    /**
     * The end of the text remains.
     *
     * @generated from enum value: TRUNCATION_SIDE_LEFT = 2;
     */
    LEFT = 2
}
/**
 * Describes the enum trident.v1.TruncationSide.
 */
export declare const TruncationSideSchema: GenEnum<TruncationSide>;
/**
 * EmbeddingService returns vectors for texts. Texts of similar meaning have vectors
 * that are close to each other. Codes, error details and cancellation are the same as
 * for ChatService.
 *
 * @generated from service trident.v1.EmbeddingService
 */
export declare const EmbeddingService: GenService<{
    /**
     * Embed returns one vector for each input.
     *
     * @generated from rpc trident.v1.EmbeddingService.Embed
     */
    embed: {
        methodKind: "unary";
        input: typeof EmbedRequestSchema;
        output: typeof EmbedResponseSchema;
    };
}>;
