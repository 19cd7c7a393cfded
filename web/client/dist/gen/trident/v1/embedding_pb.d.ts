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
     * Embedding model, as the server lists it; an alias is as good. Required.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * What to embed, none of it empty: 1 to 2048 texts.
     *
     * @generated from field: repeated trident.v1.TextInput input = 2;
     */
    input: TextInput[];
    /**
     * Cuts the vectors to their first components, which are brought to unit length
     * again; not more than the model gives. 0 keeps them whole.
     *
     * @generated from field: uint32 dimensions = 3;
     */
    dimensions: number;
    /**
     * The caller's name for its user. No effect.
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
     * Position of the input, from 0.
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
 * EmbedResponse is the result of Embed.
 *
 * @generated from message trident.v1.EmbedResponse
 */
export type EmbedResponse = Message<"trident.v1.EmbedResponse"> & {
    /**
     * Model that answered, by the name in the request.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * One vector for each input, in their order.
     *
     * @generated from field: repeated trident.v1.Embedding embeddings = 2;
     */
    embeddings: Embedding[];
    /**
     * Tokens read; unset where the model does not tell and the server has no
     * tokenizer for it.
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
 * EmbeddingService makes vectors of texts, whose nearness is that of their
 * meanings. Codes, details and cancellation are those of ChatService.
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
