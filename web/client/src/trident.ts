import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { Caller, type CallOptions } from "./calls.js";
import type { ModelInferRequestSchema, ModelInferResponse } from "./gen/kserve/grpc_service_pb.js";
import { ChatService, type ChatDelta, type ChatRequestSchema, type ChatResponse } from "./gen/trident/v1/chat_pb.js";
import { CompletionService, type CompleteDelta, type CompleteRequestSchema, type CompleteResponse } from "./gen/trident/v1/completion_pb.js";
import { EmbeddingService, type EmbedRequestSchema, type EmbedResponse } from "./gen/trident/v1/embedding_pb.js";
import { EndpointService, type Endpoint } from "./gen/trident/v1/endpoint_pb.js";
import {
  EncoderService,
  type ClassifyRequestSchema,
  type ClassifyResponse,
  type RerankRequestSchema,
  type RerankResponse,
  type ScoreRequestSchema,
  type ScoreResponse,
} from "./gen/trident/v1/encoder_pb.js";
import { InferService } from "./gen/trident/v1/infer_pb.js";
import { ModelService, type ModelInfo, type ModelServiceWatchResponse } from "./gen/trident/v1/model_pb.js";
import { ServerService, type ServerStatus } from "./gen/trident/v1/server_pb.js";
import { TextStream } from "./stream.js";

/** TridentOptions are the server's address and the options of the connection. */
export interface TridentOptions {
  /** Address of the server, such as https://models.example. No effect if transport is set. */
  baseUrl?: string;
  /** API key of the server, or of a proxy in front of it, sent as `Authorization: Bearer …`. */
  apiKey?: string;
  /** Headers that the client sends with each call. */
  headers?: HeadersInit;
  /** Replaces globalThis.fetch. No effect if transport is set. */
  fetch?: typeof globalThis.fetch;
  /** Replaces Connect over fetch with binary messages, for example with gRPC-Web or connect-node's HTTP/2. */
  transport?: Transport;
  /** Maximum number of retries of a call that the server refuses temporarily; 2 if unset. */
  maxRetries?: number;
}

/** ChatInit is a chat request: an object with the fields of ChatRequest that are set. */
export type ChatInit = MessageInitShape<typeof ChatRequestSchema>;

/** CompleteInit is a completion request. */
export type CompleteInit = MessageInitShape<typeof CompleteRequestSchema>;

/** EmbedInit is an embedding request. */
export type EmbedInit = MessageInitShape<typeof EmbedRequestSchema>;
/** RerankInit is a request to rank documents. */
export type RerankInit = MessageInitShape<typeof RerankRequestSchema>;
/** ScoreInit is a request for the scores of pairs of texts. */
export type ScoreInit = MessageInitShape<typeof ScoreRequestSchema>;
/** ClassifyInit is a request for the classes of texts. */
export type ClassifyInit = MessageInitShape<typeof ClassifyRequestSchema>;

/** InferInit is a request of KServe v2; inputs() builds its tensors. */
export type InferInit = MessageInitShape<typeof ModelInferRequestSchema>;

/** Trident is a client of one server. All its methods may be called concurrently; they throw a TridentError. */
export type Trident = ReturnType<typeof createTrident>;

/** Creates a client. It doesn't open a connection before the first call. */
export function createTrident(options: TridentOptions) {
  const headers = new Headers(options.headers);
  if (options.apiKey) headers.set("Authorization", `Bearer ${options.apiKey}`);
  const caller = new Caller(headers, options.maxRetries ?? 2);
  const transport = options.transport ?? overFetch(options);
  return {
    chat: chat(caller, transport),
    completions: completions(caller, transport),
    embeddings: embeddings(caller, transport),
    encoders: encoders(caller, transport),
    models: models(caller, transport),
    server: server(caller, transport),
    endpoints: endpoints(caller, transport),
    ...tensors(caller, transport),
  };
}

function overFetch({ baseUrl, fetch }: TridentOptions): Transport {
  if (!baseUrl) throw new TypeError("createTrident needs a baseUrl or a transport");
  return createConnectTransport({
    baseUrl,
    useBinaryFormat: true,
    // An unreachable server is UNAVAILABLE, like a server that returns this code.
    fetch: async (...args) => {
      try {
        return await (fetch ?? globalThis.fetch)(...args);
      } catch (cause) {
        if (args[1]?.signal?.aborted) throw cause;
        throw new ConnectError(`the server at ${baseUrl} cannot be reached`, Code.Unavailable, undefined, undefined, cause);
      }
    },
  });
}

function chat(caller: Caller, transport: Transport) {
  const client = createClient(ChatService, transport);
  return {
    /** Returns the complete response. */
    create: (request: ChatInit, options?: CallOptions): Promise<ChatResponse> =>
      caller.unary((o) => client.chat(request, o), options),
    /** Returns the response in pieces. After the first piece a failure is final; the received pieces stay valid. */
    stream: (request: ChatInit, options?: CallOptions): TextStream<ChatDelta> =>
      new TextStream(caller.stream((o) => client.chatStream({ chat: request }, o), options, (m) => m.delta !== undefined)),
  };
}

function completions(caller: Caller, transport: Transport) {
  const client = createClient(CompletionService, transport);
  return {
    /** Returns the complete continuations. */
    create: (request: CompleteInit, options?: CallOptions): Promise<CompleteResponse> =>
      caller.unary((o) => client.complete(request, o), options),
    /**
     * Returns the continuations in pieces. After the first piece a failure is final; the received
     * pieces stay valid.
     */
    stream: (request: CompleteInit, options?: CallOptions): TextStream<CompleteDelta> =>
      new TextStream(caller.stream((o) => client.completeStream({ completion: request }, o), options, (m) => m.delta !== undefined)),
  };
}

function embeddings(caller: Caller, transport: Transport) {
  const client = createClient(EmbeddingService, transport);
  return {
    /** Returns the vectors of the inputs, in their order. */
    create: (request: EmbedInit, options?: CallOptions): Promise<EmbedResponse> =>
      caller.unary((o) => client.embed(request, o), options),
  };
}

function encoders(caller: Caller, transport: Transport) {
  const client = createClient(EncoderService, transport);
  return {
    /** Returns the documents in the order of their relevance to the query. */
    rerank: (request: RerankInit, options?: CallOptions): Promise<RerankResponse> =>
      caller.unary((o) => client.rerank(request, o), options),
    /** Returns the scores of the pairs, in their order. */
    score: (request: ScoreInit, options?: CallOptions): Promise<ScoreResponse> =>
      caller.unary((o) => client.score(request, o), options),
    /** Returns the classes of the texts, in their order. */
    classify: (request: ClassifyInit, options?: CallOptions): Promise<ClassifyResponse> =>
      caller.unary((o) => client.classify(request, o), options),
  };
}

/** Returns the options of a call that possibly has taken effect when it fails. Such a call is retried only if the caller sets maxRetries. */
const once = (options?: CallOptions): CallOptions => ({ ...options, maxRetries: options?.maxRetries ?? 0 });

/** Selects the models that generate or embed and are ready, or all models. */
export interface Which {
  all?: boolean;
}

function models(caller: Caller, transport: Transport) {
  const client = createClient(ModelService, transport);
  return {
    /** Returns the models by name. */
    list: async (which: Which = {}, options?: CallOptions): Promise<ModelInfo[]> =>
      (await caller.unary((o) => client.list(which, o), options)).models,
    /** Returns one model by any of its names. */
    get: async (model: string, options?: CallOptions): Promise<ModelInfo> =>
      (await caller.unary((o) => client.get({ model }, o), options)).model!,
    /**
     * Yields all models at once, and then each change, until the loop ends. An empty
     * message is a keep-alive.
     */
    watch: (which: Which = {}, options?: CallOptions): AsyncGenerator<ModelServiceWatchResponse, void, undefined> =>
      caller.stream((o) => client.watch(which, o), options),
    /** Loads a model, and returns it when it serves requests. */
    load: async (model: string, options?: CallOptions): Promise<ModelInfo> =>
      (await caller.unary((o) => client.load({ model }, o), once(options))).model!,
    /** Unloads a model, and returns when its last request has ended and it is unloaded. */
    unload: async (model: string, options?: CallOptions): Promise<void> => {
      await caller.unary((o) => client.unload({ model }, o), once(options));
    },
  };
}

function server(caller: Caller, transport: Transport) {
  const client = createClient(ServerService, transport);
  return {
    /**
     * Yields the server's load, at once and then at this interval in milliseconds (100 to 60000),
     * until the loop ends.
     */
    watch: async function* (interval = 1000, options?: CallOptions): AsyncGenerator<ServerStatus, void, undefined> {
      for await (const { status } of caller.stream((o) => client.watch({ interval: durationFromMs(interval) }, o), options)) {
        if (status) yield status;
      }
    },
  };
}

function endpoints(caller: Caller, transport: Transport) {
  const client = createClient(EndpointService, transport);
  return {
    /** Returns the inference servers of --triton-endpoint by address. */
    list: async (options?: CallOptions): Promise<Endpoint[]> =>
      (await caller.unary((o) => client.list({}, o), options)).endpoints,
    /**
     * Stops sending requests to an inference server; its requests in flight continue. With force, also
     * if no other server can serve a model of it.
     */
    drain: async (address: string, force = false, options?: CallOptions): Promise<Endpoint> =>
      (await caller.unary((o) => client.drain({ address, force }, o), options)).endpoint!,
    /** Sends requests to a drained inference server again. It is undefined if the server isn't in the list at present. */
    resume: async (address: string, options?: CallOptions): Promise<Endpoint | undefined> =>
      (await caller.unary((o) => client.resume({ address }, o), options)).endpoint,
  };
}

function tensors(caller: Caller, transport: Transport) {
  const client = createClient(InferService, transport);
  // A request of a sequence changes the model's state, so it must not reach the
  // model twice.
  const careful = (request: InferInit, options?: CallOptions): CallOptions =>
    request.parameters?.["sequence_id"] ? once(options) : { ...options };
  return {
    /** Runs a model by its tensors and returns its only response. */
    infer: (request: InferInit, options?: CallOptions): Promise<ModelInferResponse> =>
      caller.unary((o) => client.infer(request, o), careful(request, options)),
    /** Runs a model, decoupled or not, and yields its responses as they come. */
    inferStream: async function* (request: InferInit, options?: CallOptions): AsyncGenerator<ModelInferResponse, void, undefined> {
      const headers = new Headers(options?.headers);
      headers.set("triton_grpc_error", "true"); // an error ends the call with its code
      for await (const { inferResponse } of caller.stream((o) => client.inferStream(request, o), { ...careful(request, options), headers })) {
        if (inferResponse) yield inferResponse;
      }
    },
  };
}
