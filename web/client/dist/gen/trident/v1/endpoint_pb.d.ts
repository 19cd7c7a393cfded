import type { GenEnum, GenFile, GenMessage, GenService } from "@bufbuild/protobuf/codegenv2";
import type { Message } from "@bufbuild/protobuf";
/**
 * Describes the file trident/v1/endpoint.proto.
 */
export declare const file_trident_v1_endpoint: GenFile;
/**
 * Endpoint is one inference server.
 *
 * @generated from message trident.v1.Endpoint
 */
export type Endpoint = Message<"trident.v1.Endpoint"> & {
    /**
     * Address of the server's gRPC port: host:port, or https://host:port with TLS.
     *
     * @generated from field: string address = 1;
     */
    address: string;
    /**
     * State of the server.
     *
     * @generated from field: trident.v1.EndpointState state = 2;
     */
    state: EndpointState;
    /**
     * Reason why the server is out of service or not ready. A drained server may have a
     * reason, too. Empty if there is no reason.
     *
     * @generated from field: string reason = 3;
     */
    reason: string;
    /**
     * Capacity of the server, relative to the other servers. The value is 0 for a drained
     * server that is currently not in the list of --triton-endpoint.
     *
     * @generated from field: double weight = 4;
     */
    weight: number;
    /**
     * Number of requests in flight at the server.
     *
     * @generated from field: uint32 in_flight = 5;
     */
    inFlight: number;
    /**
     * Number of requests, including retried requests, that were sent to the server since
     * it was added to the list.
     *
     * @generated from field: uint64 requests = 6;
     */
    requests: bigint;
    /**
     * Number of requests that failed because of the inference server.
     *
     * @generated from field: uint64 failures = 7;
     */
    failures: bigint;
    /**
     * Number of requests that failed at another server and were then retried at this
     * server.
     *
     * @generated from field: uint64 repeats = 8;
     */
    repeats: bigint;
    /**
     * Number of times that the server failed its health checks and was taken out of
     * service.
     *
     * @generated from field: uint64 outs = 9;
     */
    outs: bigint;
};
/**
 * Describes the message trident.v1.Endpoint.
 * Use `create(EndpointSchema)` to create a new message.
 */
export declare const EndpointSchema: GenMessage<Endpoint>;
/**
 * EndpointServiceListRequest asks for the inference servers.
 *
 * @generated from message trident.v1.EndpointServiceListRequest
 */
export type EndpointServiceListRequest = Message<"trident.v1.EndpointServiceListRequest"> & {};
/**
 * Describes the message trident.v1.EndpointServiceListRequest.
 * Use `create(EndpointServiceListRequestSchema)` to create a new message.
 */
export declare const EndpointServiceListRequestSchema: GenMessage<EndpointServiceListRequest>;
/**
 * EndpointServiceListResponse contains the inference servers.
 *
 * @generated from message trident.v1.EndpointServiceListResponse
 */
export type EndpointServiceListResponse = Message<"trident.v1.EndpointServiceListResponse"> & {
    /**
     * The servers, sorted by address. Drained servers that are currently not in the list
     * of --triton-endpoint follow at the end.
     *
     * @generated from field: repeated trident.v1.Endpoint endpoints = 1;
     */
    endpoints: Endpoint[];
};
/**
 * Describes the message trident.v1.EndpointServiceListResponse.
 * Use `create(EndpointServiceListResponseSchema)` to create a new message.
 */
export declare const EndpointServiceListResponseSchema: GenMessage<EndpointServiceListResponse>;
/**
 * EndpointServiceDrainRequest asks the server to drain an inference server.
 *
 * @generated from message trident.v1.EndpointServiceDrainRequest
 */
export type EndpointServiceDrainRequest = Message<"trident.v1.EndpointServiceDrainRequest"> & {
    /**
     * Address of the inference server, as List returns it. The scheme and the default
     * port 8001 may be left out. Required.
     *
     * @generated from field: string address = 1;
     */
    address: string;
    /**
     * Whether the server is drained even if no other server can serve one of its models.
     *
     * @generated from field: bool force = 2;
     */
    force: boolean;
};
/**
 * Describes the message trident.v1.EndpointServiceDrainRequest.
 * Use `create(EndpointServiceDrainRequestSchema)` to create a new message.
 */
export declare const EndpointServiceDrainRequestSchema: GenMessage<EndpointServiceDrainRequest>;
/**
 * EndpointServiceDrainResponse contains the drained server.
 *
 * @generated from message trident.v1.EndpointServiceDrainResponse
 */
export type EndpointServiceDrainResponse = Message<"trident.v1.EndpointServiceDrainResponse"> & {
    /**
     * The server.
     *
     * @generated from field: trident.v1.Endpoint endpoint = 1;
     */
    endpoint?: Endpoint | undefined;
};
/**
 * Describes the message trident.v1.EndpointServiceDrainResponse.
 * Use `create(EndpointServiceDrainResponseSchema)` to create a new message.
 */
export declare const EndpointServiceDrainResponseSchema: GenMessage<EndpointServiceDrainResponse>;
/**
 * EndpointServiceResumeRequest asks the server to put a drained inference server back
 * into service.
 *
 * @generated from message trident.v1.EndpointServiceResumeRequest
 */
export type EndpointServiceResumeRequest = Message<"trident.v1.EndpointServiceResumeRequest"> & {
    /**
     * Address of the inference server, as List returns it. The scheme and the default
     * port 8001 may be left out. Required.
     *
     * @generated from field: string address = 1;
     */
    address: string;
};
/**
 * Describes the message trident.v1.EndpointServiceResumeRequest.
 * Use `create(EndpointServiceResumeRequestSchema)` to create a new message.
 */
export declare const EndpointServiceResumeRequestSchema: GenMessage<EndpointServiceResumeRequest>;
/**
 * EndpointServiceResumeResponse contains the server.
 *
 * @generated from message trident.v1.EndpointServiceResumeResponse
 */
export type EndpointServiceResumeResponse = Message<"trident.v1.EndpointServiceResumeResponse"> & {
    /**
     * The server. Unset if the server is currently not in the list of --triton-endpoint.
     *
     * @generated from field: trident.v1.Endpoint endpoint = 1;
     */
    endpoint?: Endpoint | undefined;
};
/**
 * Describes the message trident.v1.EndpointServiceResumeResponse.
 * Use `create(EndpointServiceResumeResponseSchema)` to create a new message.
 */
export declare const EndpointServiceResumeResponseSchema: GenMessage<EndpointServiceResumeResponse>;
/**
 * EndpointState is the state of an inference server.
 *
 * @generated from enum trident.v1.EndpointState
 */
export declare enum EndpointState {
    /**
     * The state is unknown.
     *
     * @generated from enum value: ENDPOINT_STATE_UNSPECIFIED = 0;
     */
    UNSPECIFIED = 0,
    /**
     * The server gets requests.
     *
     * @generated from enum value: ENDPOINT_STATE_IN = 1;
     */
    IN = 1,
    /**
     * The server has been back in service for less than 10 seconds, and its share of the
     * requests is growing.
     *
     * @generated from enum value: ENDPOINT_STATE_STARTING = 2;
     */
    STARTING = 2,
    /**
     * The server reports that it is not ready. The server gets requests only if no other
     * server can serve them.
     *
     * @generated from enum value: ENDPOINT_STATE_NOT_READY = 3;
     */
    NOT_READY = 3,
    /**
     * The server fails its health checks and gets no requests.
     *
     * @generated from enum value: ENDPOINT_STATE_OUT = 4;
     */
    OUT = 4,
    /**
     * An operator has drained the server. It gets no requests.
     *
     * @generated from enum value: ENDPOINT_STATE_DRAINED = 5;
     */
    DRAINED = 5
}
/**
 * Describes the enum trident.v1.EndpointState.
 */
export declare const EndpointStateSchema: GenEnum<EndpointState>;
/**
 * EndpointService lists the inference servers of --triton-endpoint, takes an inference
 * server out of service, and puts it back into service. If this server has API keys,
 * the calls need a key that allows all models. The calls fail with UNIMPLEMENTED if
 * this server has no list of inference servers, because it has a single fixed server or
 * in-process Triton. Error details are the same as for ChatService.
 *
 * @generated from service trident.v1.EndpointService
 */
export declare const EndpointService: GenService<{
    /**
     * List returns the inference servers, by address.
     *
     * @generated from rpc trident.v1.EndpointService.List
     */
    list: {
        methodKind: "unary";
        input: typeof EndpointServiceListRequestSchema;
        output: typeof EndpointServiceListResponseSchema;
    };
    /**
     * Drain stops sending requests to an inference server. The requests in flight at the
     * inference server continue. The inference server stays drained until Resume, or
     * until this server restarts. Changes of the settings and lookups of DNS names don't
     * end the drain. A second drain of the same server changes nothing. Drain fails with
     * NOT_FOUND if no server has the address. Unless force is set, Drain fails with
     * INVALID_ARGUMENT and the reason last_endpoint if no other server can serve one of
     * the server's models.
     *
     * @generated from rpc trident.v1.EndpointService.Drain
     */
    drain: {
        methodKind: "unary";
        input: typeof EndpointServiceDrainRequestSchema;
        output: typeof EndpointServiceDrainResponseSchema;
    };
    /**
     * Resume sends requests to a drained inference server again, and increases its share
     * of the requests over 10 seconds. If the server is not drained, nothing changes.
     * Resume fails with NOT_FOUND if no server has the address.
     *
     * @generated from rpc trident.v1.EndpointService.Resume
     */
    resume: {
        methodKind: "unary";
        input: typeof EndpointServiceResumeRequestSchema;
        output: typeof EndpointServiceResumeResponseSchema;
    };
}>;
