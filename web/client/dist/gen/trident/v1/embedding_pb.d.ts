import type { GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
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
     * Name of the embedding model, as the server lists it, or an alias. Required.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * The inputs, none of them empty: 1 to 2048.
     *
     * @generated from field: repeated trident.v1.TextInput input = 2;
     */
    input: TextInput[];
    /**
     * Number of components to keep: the vectors are cut to their first components
     * and normalized to unit length again. At most the number that the model
     * returns. 0 keeps the whole vectors.
     *
     * @generated from field: uint32 dimensions = 3;
     */
    dimensions: number;
    /**
     * The caller's identifier of its user. It has no effect.
     *
     * @generated from field: string user = 4;
     */
    user: string;
};
/**
 * Describes the message trident.v1.EmbedRequest.
 * Use `create(EmbedRequestSchema)` to create a new message.
 */
export declare const EmbedRequestSchema: GenMessage<EmbedRequest>;
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
     * The vector, of unit length.
     *
     * @generated from field: repeated float values = 2;
     */
    values: number[];
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
     * Number of tokens read. Unset if the model doesn't report them and the server
     * has no tokenizer for the model.
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
 * EmbeddingService returns vectors for texts. Texts of similar meaning have
 * vectors that are close to each other. Codes, error details and cancellation
 * are those of ChatService.
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
