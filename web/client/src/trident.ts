import type { MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { Caller, type CallOptions } from "./calls.js";
import type { ModelInferRequestSchema, ModelInferResponse } from "./gen/kserve/grpc_service_pb.js";
import { ChatService, type ChatDelta, type ChatRequestSchema, type ChatResponse } from "./gen/trident/v1/chat_pb.js";
import { CompletionService, type CompleteDelta, type CompleteRequestSchema, type CompleteResponse } from "./gen/trident/v1/completion_pb.js";
import { EmbeddingService, type EmbedRequestSchema, type EmbedResponse } from "./gen/trident/v1/embedding_pb.js";
import { InferService } from "./gen/trident/v1/infer_pb.js";
import { ModelService, type ModelInfo, type ModelServiceWatchResponse } from "./gen/trident/v1/model_pb.js";
import { ServerService, type ServerStatus } from "./gen/trident/v1/server_pb.js";
import { TextStream } from "./stream.js";

/** TridentOptions say where the server is and how to reach it. */
export interface TridentOptions {
  /** Address of the server, such as https://models.example. Without effect beside a transport. */
  baseUrl?: string;
  /** Sent as `Authorization: Bearer …`, for a proxy before the server that asks for it. */
  apiKey?: string;
  /** Headers of every call. */
  headers?: HeadersInit;
  /** Stands for globalThis.fetch. Without effect beside a transport. */
  fetch?: typeof globalThis.fetch;
  /** Stands for Connect over fetch, with binary messages: gRPC-Web, say, or connect-node's HTTP/2. */
  transport?: Transport;
  /** How often a call that the server refuses for now is tried again; 2 if unset. */
  maxRetries?: number;
}

/** ChatInit is a chat's request: the fields of ChatRequest that are set. */
export type ChatInit = MessageInitShape<typeof ChatRequestSchema>;

/** CompleteInit is a completion's request. */
export type CompleteInit = MessageInitShape<typeof CompleteRequestSchema>;

/** EmbedInit asks for vectors. */
export type EmbedInit = MessageInitShape<typeof EmbedRequestSchema>;

/** InferInit is KServe v2's request; inputs() makes its tensors. */
export type InferInit = MessageInitShape<typeof ModelInferRequestSchema>;

/** Trident calls a server. All its methods may be used at the same time, and fail with a TridentError. */
export type Trident = ReturnType<typeof createTrident>;

/** Makes a client. It opens no connection by itself. */
export function createTrident(options: TridentOptions) {
  const headers = new Headers(options.headers);
  if (options.apiKey) headers.set("Authorization", `Bearer ${options.apiKey}`);
  const caller = new Caller(headers, options.maxRetries ?? 2);
  const transport = options.transport ?? overFetch(options);
  return {
    chat: chat(caller, transport),
    completions: completions(caller, transport),
    embeddings: embeddings(caller, transport),
    models: models(caller, transport),
    server: server(caller, transport),
    ...tensors(caller, transport),
  };
}

function overFetch({ baseUrl, fetch }: TridentOptions): Transport {
  if (!baseUrl) throw new TypeError("createTrident needs a baseUrl or a transport");
  return createConnectTransport({
    baseUrl,
    useBinaryFormat: true,
    // A server that can't be reached is UNAVAILABLE, as one that says so itself.
    fetch: async (...args) => {
      try {
        return await (fetch ?? globalThis.fetch)(...args);
      } catch (cause) {
        if (args[1]?.signal?.aborted) throw cause;
        throw new ConnectError("the server cannot be reached", Code.Unavailable, undefined, undefined, cause);
      }
    },
  });
}

function chat(caller: Caller, transport: Transport) {
  const client = createClient(ChatService, transport);
  return {
    /** The whole answer, once it is complete. */
    create: (request: ChatInit, options?: CallOptions): Promise<ChatResponse> =>
      caller.unary((o) => client.chat(request, o), options),
    /** The answer in pieces. Once one has come, a failure is final; those that came stay valid. */
    stream: (request: ChatInit, options?: CallOptions): TextStream<ChatDelta> =>
      new TextStream(caller.stream((o) => client.chatStream({ chat: request }, o), options, (m) => m.delta !== undefined)),
  };
}

function completions(caller: Caller, transport: Transport) {
  const client = createClient(CompletionService, transport);
  return {
    /** The whole continuations of texts, once they are complete. */
    create: (request: CompleteInit, options?: CallOptions): Promise<CompleteResponse> =>
      caller.unary((o) => client.complete(request, o), options),
    /** The continuations in pieces, as a chat's. */
    stream: (request: CompleteInit, options?: CallOptions): TextStream<CompleteDelta> =>
      new TextStream(caller.stream((o) => client.completeStream({ completion: request }, o), options, (m) => m.delta !== undefined)),
  };
}

function embeddings(caller: Caller, transport: Transport) {
  const client = createClient(EmbeddingService, transport);
  return {
    /** The vectors of texts, in their order. */
    create: (request: EmbedInit, options?: CallOptions): Promise<EmbedResponse> =>
      caller.unary((o) => client.embed(request, o), options),
  };
}

/** Options of a call that may have had its effect when it fails: it is tried again only where they say so. */
const once = (options?: CallOptions): CallOptions => ({ ...options, maxRetries: options?.maxRetries ?? 0 });

/** Which models: those that generate or embed and are ready, or all. */
export interface Which {
  all?: boolean;
}

function models(caller: Caller, transport: Transport) {
  const client = createClient(ModelService, transport);
  return {
    /** The models, by name. */
    list: async (which: Which = {}, options?: CallOptions): Promise<ModelInfo[]> =>
      (await caller.unary((o) => client.list(which, o), options)).models,
    /** One model by any of its names. */
    get: async (model: string, options?: CallOptions): Promise<ModelInfo> =>
      (await caller.unary((o) => client.get({ model }, o), options)).model!,
    /** All models at once, and then each change, until the loop is left. A message without either is a sign of life. */
    watch: (which: Which = {}, options?: CallOptions): AsyncGenerator<ModelServiceWatchResponse, void, undefined> =>
      caller.stream((o) => client.watch(which, o), options),
    /** Loads a model, and returns it once it serves requests. */
    load: async (model: string, options?: CallOptions): Promise<ModelInfo> =>
      (await caller.unary((o) => client.load({ model }, o), once(options))).model!,
    /** Unloads a model, and returns when its last request has ended and it is gone. */
    unload: async (model: string, options?: CallOptions): Promise<void> => {
      await caller.unary((o) => client.unload({ model }, o), once(options));
    },
  };
}

function server(caller: Caller, transport: Transport) {
  const client = createClient(ServerService, transport);
  return {
    /** The server's load, at once and then every so many milliseconds (100 to 60000), until the loop is left. */
    watch: async function* (interval = 1000, options?: CallOptions): AsyncGenerator<ServerStatus, void, undefined> {
      for await (const { status } of caller.stream((o) => client.watch({ interval: durationFromMs(interval) }, o), options)) {
        if (status) yield status;
      }
    },
  };
}

function tensors(caller: Caller, transport: Transport) {
  const client = createClient(InferService, transport);
  // A sequence's request changes what the model keeps: it must not reach it twice.
  const careful = (request: InferInit, options?: CallOptions): CallOptions =>
    request.parameters?.["sequence_id"] ? once(options) : { ...options };
  return {
    /** Runs a model that gives one response, by its tensors. */
    infer: (request: InferInit, options?: CallOptions): Promise<ModelInferResponse> =>
      caller.unary((o) => client.infer(request, o), careful(request, options)),
    /** Runs a model, decoupled or not, and gives its responses as they come. */
    inferStream: async function* (request: InferInit, options?: CallOptions): AsyncGenerator<ModelInferResponse, void, undefined> {
      const headers = new Headers(options?.headers);
      headers.set("triton_grpc_error", "true"); // errors are the call's, with their codes
      for await (const { inferResponse } of caller.stream((o) => client.inferStream(request, o), { ...careful(request, options), headers })) {
        if (inferResponse) yield inferResponse;
      }
    },
  };
}
