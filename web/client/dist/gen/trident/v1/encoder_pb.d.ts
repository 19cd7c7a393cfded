import type { GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import type { Truncation } from "./embedding_pb.js";
import type { TextInput, Usage } from "./generation_pb.js";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file trident/v1/encoder.proto.
 */
export declare const file_trident_v1_encoder: GenFile;
/**
 * RerankRequest asks for the order of documents.
 *
 * @generated from message trident.v1.RerankRequest
 */
export type RerankRequest = Message<"trident.v1.RerankRequest"> & {
    /**
     * Name of the model in the server's list, or an alias of the model. Required.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * The text with which the documents are compared. Required.
     *
     * @generated from field: string query = 2;
     */
    query: string;
    /**
     * The documents: 1 to 16384, none of them empty.
     *
     * @generated from field: repeated string documents = 3;
     */
    documents: string[];
    /**
     * Maximum number of results. 0 returns all results.
     *
     * @generated from field: uint32 top_n = 4;
     */
    topN: number;
    /**
     * Whether the results contain the documents.
     *
     * @generated from field: bool return_documents = 5;
     */
    returnDocuments: boolean;
    /**
     * The task for which the relevance is judged. Only generative rerankers support this
     * field. Requests to other models are refused.
     *
     * @generated from field: string instruction = 6;
     */
    instruction: string;
    /**
     * The truncation of a query and a document that are too long together.
     *
     * @generated from field: trident.v1.Truncation truncation = 7;
     */
    truncation?: Truncation | undefined;
    /**
     * Maximum number of tokens of a document. A longer document is cut to this number. 0
     * means no maximum.
     *
     * @generated from field: uint32 max_tokens_per_document = 8;
     */
    maxTokensPerDocument: number;
    /**
     * Whether scores are the model's raw outputs (logits), without the activation
     * function.
     *
     * @generated from field: bool raw = 9;
     */
    raw: boolean;
};
/**
 * Describes the message trident.v1.RerankRequest.
 * Use `create(RerankRequestSchema)` to create a new message.
 */
export declare const RerankRequestSchema: GenMessage<RerankRequest>;
/**
 * RankedDocument is a document with its relevance.
 *
 * @generated from message trident.v1.RankedDocument
 */
export type RankedDocument = Message<"trident.v1.RankedDocument"> & {
    /**
     * Index of the document in the request, from 0.
     *
     * @generated from field: uint32 index = 1;
     */
    index: number;
    /**
     * The relevance of the document.
     *
     * @generated from field: double score = 2;
     */
    score: number;
    /**
     * The document. Empty unless the request's return_documents is true.
     *
     * @generated from field: string document = 3;
     */
    document: string;
};
/**
 * Describes the message trident.v1.RankedDocument.
 * Use `create(RankedDocumentSchema)` to create a new message.
 */
export declare const RankedDocumentSchema: GenMessage<RankedDocument>;
/**
 * RerankResponse is the response of Rerank.
 *
 * @generated from message trident.v1.RerankResponse
 */
export type RerankResponse = Message<"trident.v1.RerankResponse"> & {
    /**
     * Name of the model, as in the request.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * The documents, the most relevant first.
     *
     * @generated from field: repeated trident.v1.RankedDocument results = 2;
     */
    results: RankedDocument[];
    /**
     * Number of tokens that the model read. Unset if the tokens of the request weren't
     * counted.
     *
     * @generated from field: trident.v1.Usage usage = 3;
     */
    usage?: Usage | undefined;
};
/**
 * Describes the message trident.v1.RerankResponse.
 * Use `create(RerankResponseSchema)` to create a new message.
 */
export declare const RerankResponseSchema: GenMessage<RerankResponse>;
/**
 * ScoreRequest asks for the scores of pairs.
 *
 * @generated from message trident.v1.ScoreRequest
 */
export type ScoreRequest = Message<"trident.v1.ScoreRequest"> & {
    /**
     * Name of the model in the server's list, or an alias of the model. Required.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * The first texts of the pairs, such as queries. The list has as many texts as the
     * field second, or one text for all pairs.
     *
     * @generated from field: repeated string first = 2;
     */
    first: string[];
    /**
     * The second texts of the pairs, such as documents: 1 to 16384 texts.
     *
     * @generated from field: repeated string second = 3;
     */
    second: string[];
    /**
     * The task for which the scores are computed. Only generative rerankers support this
     * field. Requests to other models are refused.
     *
     * @generated from field: string instruction = 4;
     */
    instruction: string;
    /**
     * The truncation of pairs that are too long.
     *
     * @generated from field: trident.v1.Truncation truncation = 5;
     */
    truncation?: Truncation | undefined;
    /**
     * Whether scores are the model's raw outputs (logits), without the activation
     * function.
     *
     * @generated from field: bool raw = 6;
     */
    raw: boolean;
};
/**
 * Describes the message trident.v1.ScoreRequest.
 * Use `create(ScoreRequestSchema)` to create a new message.
 */
export declare const ScoreRequestSchema: GenMessage<ScoreRequest>;
/**
 * ScoreResponse is the response of Score.
 *
 * @generated from message trident.v1.ScoreResponse
 */
export type ScoreResponse = Message<"trident.v1.ScoreResponse"> & {
    /**
     * Name of the model, as in the request.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * The scores, in the order of the pairs.
     *
     * @generated from field: repeated double scores = 2;
     */
    scores: number[];
    /**
     * Number of tokens that the model read. Unset if the tokens of the request weren't
     * counted.
     *
     * @generated from field: trident.v1.Usage usage = 3;
     */
    usage?: Usage | undefined;
};
/**
 * Describes the message trident.v1.ScoreResponse.
 * Use `create(ScoreResponseSchema)` to create a new message.
 */
export declare const ScoreResponseSchema: GenMessage<ScoreResponse>;
/**
 * ClassifyRequest asks for the classes of texts.
 *
 * @generated from message trident.v1.ClassifyRequest
 */
export type ClassifyRequest = Message<"trident.v1.ClassifyRequest"> & {
    /**
     * Name of the model in the server's list, or an alias of the model. Required.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * The texts: 1 to 16384, none of them empty.
     *
     * @generated from field: repeated trident.v1.TextInput input = 2;
     */
    input: TextInput[];
    /**
     * The truncation of texts that are too long.
     *
     * @generated from field: trident.v1.Truncation truncation = 3;
     */
    truncation?: Truncation | undefined;
    /**
     * Whether the response has the model's raw outputs (logits) instead of probabilities,
     * without the activation function.
     *
     * @generated from field: bool raw = 4;
     */
    raw: boolean;
};
/**
 * Describes the message trident.v1.ClassifyRequest.
 * Use `create(ClassifyRequestSchema)` to create a new message.
 */
export declare const ClassifyRequestSchema: GenMessage<ClassifyRequest>;
/**
 * Classification has the classes of a text.
 *
 * @generated from message trident.v1.Classification
 */
export type Classification = Message<"trident.v1.Classification"> & {
    /**
     * Index of the text in the request, from 0.
     *
     * @generated from field: uint32 index = 1;
     */
    index: number;
    /**
     * Index of the likeliest class in the labels of the response.
     *
     * @generated from field: uint32 label = 2;
     */
    label: number;
    /**
     * The probability of each class, in the order of the labels of the response.
     *
     * @generated from field: repeated double probabilities = 3;
     */
    probabilities: number[];
};
/**
 * Describes the message trident.v1.Classification.
 * Use `create(ClassificationSchema)` to create a new message.
 */
export declare const ClassificationSchema: GenMessage<Classification>;
/**
 * ClassifyResponse is the response of Classify.
 *
 * @generated from message trident.v1.ClassifyResponse
 */
export type ClassifyResponse = Message<"trident.v1.ClassifyResponse"> & {
    /**
     * Name of the model, as in the request.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * The labels of the classes.
     *
     * @generated from field: repeated string labels = 2;
     */
    labels: string[];
    /**
     * The classes, in the order of the texts.
     *
     * @generated from field: repeated trident.v1.Classification results = 3;
     */
    results: Classification[];
    /**
     * Number of tokens that the model read. Unset if the tokens of the request weren't
     * counted.
     *
     * @generated from field: trident.v1.Usage usage = 4;
     */
    usage?: Usage | undefined;
};
/**
 * Describes the message trident.v1.ClassifyResponse.
 * Use `create(ClassifyResponseSchema)` to create a new message.
 */
export declare const ClassifyResponseSchema: GenMessage<ClassifyResponse>;
/**
 * EmbedTokensRequest asks for the vectors of the tokens of texts.
 *
 * @generated from message trident.v1.EmbedTokensRequest
 */
export type EmbedTokensRequest = Message<"trident.v1.EmbedTokensRequest"> & {
    /**
     * Name of the model in the server's list, or an alias of the model. Required.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * The texts: 1 to 16384, none of them empty.
     *
     * @generated from field: repeated trident.v1.TextInput input = 2;
     */
    input: TextInput[];
    /**
     * The purpose of the texts: query, document, or the name of one of the model's
     * prompts. The purpose selects the prompt that is put before each text.
     *
     * @generated from field: string input_type = 3;
     */
    inputType: string;
    /**
     * The truncation of texts that are too long.
     *
     * @generated from field: trident.v1.Truncation truncation = 4;
     */
    truncation?: Truncation | undefined;
};
/**
 * Describes the message trident.v1.EmbedTokensRequest.
 * Use `create(EmbedTokensRequestSchema)` to create a new message.
 */
export declare const EmbedTokensRequestSchema: GenMessage<EmbedTokensRequest>;
/**
 * TokenVectors has the vectors of the tokens of a text.
 *
 * @generated from message trident.v1.TokenVectors
 */
export type TokenVectors = Message<"trident.v1.TokenVectors"> & {
    /**
     * Index of the text in the request, from 0.
     *
     * @generated from field: uint32 index = 1;
     */
    index: number;
    /**
     * Number of components of each vector.
     *
     * @generated from field: uint32 dimensions = 2;
     */
    dimensions: number;
    /**
     * The vectors, one after the other, in the order of the tokens.
     *
     * @generated from field: repeated float values = 3;
     */
    values: number[];
};
/**
 * Describes the message trident.v1.TokenVectors.
 * Use `create(TokenVectorsSchema)` to create a new message.
 */
export declare const TokenVectorsSchema: GenMessage<TokenVectors>;
/**
 * EmbedTokensResponse is the response of EmbedTokens.
 *
 * @generated from message trident.v1.EmbedTokensResponse
 */
export type EmbedTokensResponse = Message<"trident.v1.EmbedTokensResponse"> & {
    /**
     * Name of the model, as in the request.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * The vectors, in the order of the texts.
     *
     * @generated from field: repeated trident.v1.TokenVectors results = 2;
     */
    results: TokenVectors[];
    /**
     * Number of tokens that the model read. Unset if the tokens of the request weren't
     * counted.
     *
     * @generated from field: trident.v1.Usage usage = 3;
     */
    usage?: Usage | undefined;
};
/**
 * Describes the message trident.v1.EmbedTokensResponse.
 * Use `create(EmbedTokensResponseSchema)` to create a new message.
 */
export declare const EmbedTokensResponseSchema: GenMessage<EmbedTokensResponse>;
/**
 * EmbedSparseRequest asks for the sparse vectors of texts.
 *
 * @generated from message trident.v1.EmbedSparseRequest
 */
export type EmbedSparseRequest = Message<"trident.v1.EmbedSparseRequest"> & {
    /**
     * Name of the model in the server's list, or an alias of the model. Required.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * The texts: 1 to 16384, none of them empty.
     *
     * @generated from field: repeated trident.v1.TextInput input = 2;
     */
    input: TextInput[];
    /**
     * The purpose of the texts: query, document, or the name of one of the model's
     * prompts. The purpose selects the prompt that is put before each text.
     *
     * @generated from field: string input_type = 3;
     */
    inputType: string;
    /**
     * The truncation of texts that are too long.
     *
     * @generated from field: trident.v1.Truncation truncation = 4;
     */
    truncation?: Truncation | undefined;
};
/**
 * Describes the message trident.v1.EmbedSparseRequest.
 * Use `create(EmbedSparseRequestSchema)` to create a new message.
 */
export declare const EmbedSparseRequestSchema: GenMessage<EmbedSparseRequest>;
/**
 * SparseVector has the weights of tokens for a text.
 *
 * @generated from message trident.v1.SparseVector
 */
export type SparseVector = Message<"trident.v1.SparseVector"> & {
    /**
     * Index of the text in the request, from 0.
     *
     * @generated from field: uint32 index = 1;
     */
    index: number;
    /**
     * Ids of tokens of the vocabulary, in ascending order.
     *
     * @generated from field: repeated uint32 token_ids = 2;
     */
    tokenIds: number[];
    /**
     * The weights of the tokens, above 0.
     *
     * @generated from field: repeated float weights = 3;
     */
    weights: number[];
};
/**
 * Describes the message trident.v1.SparseVector.
 * Use `create(SparseVectorSchema)` to create a new message.
 */
export declare const SparseVectorSchema: GenMessage<SparseVector>;
/**
 * EmbedSparseResponse is the response of EmbedSparse.
 *
 * @generated from message trident.v1.EmbedSparseResponse
 */
export type EmbedSparseResponse = Message<"trident.v1.EmbedSparseResponse"> & {
    /**
     * Name of the model, as in the request.
     *
     * @generated from field: string model = 1;
     */
    model: string;
    /**
     * The vectors, in the order of the texts.
     *
     * @generated from field: repeated trident.v1.SparseVector results = 2;
     */
    results: SparseVector[];
    /**
     * Number of tokens that the model read. Unset if the tokens of the request weren't
     * counted.
     *
     * @generated from field: trident.v1.Usage usage = 3;
     */
    usage?: Usage | undefined;
};
/**
 * Describes the message trident.v1.EmbedSparseResponse.
 * Use `create(EmbedSparseResponseSchema)` to create a new message.
 */
export declare const EmbedSparseResponseSchema: GenMessage<EmbedSparseResponse>;
/**
 * EncoderService ranks, scores and classifies texts, and returns the vectors of their
 * tokens. EmbeddingService returns one vector for each text. Codes, error details and
 * cancellation are the same as for ChatService.
 *
 * @generated from service trident.v1.EncoderService
 */
export declare const EncoderService: GenService<{
    /**
     * Rerank ranks documents by their relevance to a query.
     *
     * @generated from rpc trident.v1.EncoderService.Rerank
     */
    rerank: {
        methodKind: "unary";
        input: typeof RerankRequestSchema;
        output: typeof RerankResponseSchema;
    };
    /**
     * Score returns the score of each pair of texts.
     *
     * @generated from rpc trident.v1.EncoderService.Score
     */
    score: {
        methodKind: "unary";
        input: typeof ScoreRequestSchema;
        output: typeof ScoreResponseSchema;
    };
    /**
     * Classify returns the probabilities of the classes of each text.
     *
     * @generated from rpc trident.v1.EncoderService.Classify
     */
    classify: {
        methodKind: "unary";
        input: typeof ClassifyRequestSchema;
        output: typeof ClassifyResponseSchema;
    };
    /**
     * EmbedTokens returns one vector for each token of each text, for late
     * interaction.
     *
     * @generated from rpc trident.v1.EncoderService.EmbedTokens
     */
    embedTokens: {
        methodKind: "unary";
        input: typeof EmbedTokensRequestSchema;
        output: typeof EmbedTokensResponseSchema;
    };
    /**
     * EmbedSparse returns the weights of tokens of the vocabulary for each text.
     *
     * @generated from rpc trident.v1.EncoderService.EmbedSparse
     */
    embedSparse: {
        methodKind: "unary";
        input: typeof EmbedSparseRequestSchema;
        output: typeof EmbedSparseResponseSchema;
    };
}>;
