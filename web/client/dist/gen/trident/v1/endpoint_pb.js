// The inference servers behind this server.
import { enumDesc, fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2";
/**
 * Describes the file trident/v1/endpoint.proto.
 */
export const file_trident_v1_endpoint = /*@__PURE__*/ fileDesc("Chl0cmlkZW50L3YxL2VuZHBvaW50LnByb3RvEgp0cmlkZW50LnYxIrsBCghFbmRwb2ludBIPCgdhZGRyZXNzGAEgASgJEigKBXN0YXRlGAIgASgOMhkudHJpZGVudC52MS5FbmRwb2ludFN0YXRlEg4KBnJlYXNvbhgDIAEoCRIOCgZ3ZWlnaHQYBCABKAESEQoJaW5fZmxpZ2h0GAUgASgNEhAKCHJlcXVlc3RzGAYgASgEEhAKCGZhaWx1cmVzGAcgASgEEg8KB3JlcGVhdHMYCCABKAQSDAoEb3V0cxgJIAEoBCIcChpFbmRwb2ludFNlcnZpY2VMaXN0UmVxdWVzdCJGChtFbmRwb2ludFNlcnZpY2VMaXN0UmVzcG9uc2USJwoJZW5kcG9pbnRzGAEgAygLMhQudHJpZGVudC52MS5FbmRwb2ludCI9ChtFbmRwb2ludFNlcnZpY2VEcmFpblJlcXVlc3QSDwoHYWRkcmVzcxgBIAEoCRINCgVmb3JjZRgCIAEoCCJGChxFbmRwb2ludFNlcnZpY2VEcmFpblJlc3BvbnNlEiYKCGVuZHBvaW50GAEgASgLMhQudHJpZGVudC52MS5FbmRwb2ludCIvChxFbmRwb2ludFNlcnZpY2VSZXN1bWVSZXF1ZXN0Eg8KB2FkZHJlc3MYASABKAkiRwodRW5kcG9pbnRTZXJ2aWNlUmVzdW1lUmVzcG9uc2USJgoIZW5kcG9pbnQYASABKAsyFC50cmlkZW50LnYxLkVuZHBvaW50KrUBCg1FbmRwb2ludFN0YXRlEh4KGkVORFBPSU5UX1NUQVRFX1VOU1BFQ0lGSUVEEAASFQoRRU5EUE9JTlRfU1RBVEVfSU4QARIbChdFTkRQT0lOVF9TVEFURV9TVEFSVElORxACEhwKGEVORFBPSU5UX1NUQVRFX05PVF9SRUFEWRADEhYKEkVORFBPSU5UX1NUQVRFX09VVBAEEhoKFkVORFBPSU5UX1NUQVRFX0RSQUlORUQQBTKqAgoPRW5kcG9pbnRTZXJ2aWNlElwKBExpc3QSJi50cmlkZW50LnYxLkVuZHBvaW50U2VydmljZUxpc3RSZXF1ZXN0GicudHJpZGVudC52MS5FbmRwb2ludFNlcnZpY2VMaXN0UmVzcG9uc2UiA5ACARJaCgVEcmFpbhInLnRyaWRlbnQudjEuRW5kcG9pbnRTZXJ2aWNlRHJhaW5SZXF1ZXN0GigudHJpZGVudC52MS5FbmRwb2ludFNlcnZpY2VEcmFpblJlc3BvbnNlEl0KBlJlc3VtZRIoLnRyaWRlbnQudjEuRW5kcG9pbnRTZXJ2aWNlUmVzdW1lUmVxdWVzdBopLnRyaWRlbnQudjEuRW5kcG9pbnRTZXJ2aWNlUmVzdW1lUmVzcG9uc2VCQlpAZ2l0aHViLmNvbS90cmlkZW50LWluZmVyZW5jZS90cmlkZW50L2dlbi9nby90cmlkZW50L3YxO3RyaWRlbnR2MWIGcHJvdG8z");
/**
 * Describes the message trident.v1.Endpoint.
 * Use `create(EndpointSchema)` to create a new message.
 */
export const EndpointSchema = /*@__PURE__*/ messageDesc(file_trident_v1_endpoint, 0);
/**
 * Describes the message trident.v1.EndpointServiceListRequest.
 * Use `create(EndpointServiceListRequestSchema)` to create a new message.
 */
export const EndpointServiceListRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_endpoint, 1);
/**
 * Describes the message trident.v1.EndpointServiceListResponse.
 * Use `create(EndpointServiceListResponseSchema)` to create a new message.
 */
export const EndpointServiceListResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_endpoint, 2);
/**
 * Describes the message trident.v1.EndpointServiceDrainRequest.
 * Use `create(EndpointServiceDrainRequestSchema)` to create a new message.
 */
export const EndpointServiceDrainRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_endpoint, 3);
/**
 * Describes the message trident.v1.EndpointServiceDrainResponse.
 * Use `create(EndpointServiceDrainResponseSchema)` to create a new message.
 */
export const EndpointServiceDrainResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_endpoint, 4);
/**
 * Describes the message trident.v1.EndpointServiceResumeRequest.
 * Use `create(EndpointServiceResumeRequestSchema)` to create a new message.
 */
export const EndpointServiceResumeRequestSchema = /*@__PURE__*/ messageDesc(file_trident_v1_endpoint, 5);
/**
 * Describes the message trident.v1.EndpointServiceResumeResponse.
 * Use `create(EndpointServiceResumeResponseSchema)` to create a new message.
 */
export const EndpointServiceResumeResponseSchema = /*@__PURE__*/ messageDesc(file_trident_v1_endpoint, 6);
/**
 * EndpointState is the state of an inference server.
 *
 * @generated from enum trident.v1.EndpointState
 */
export var EndpointState;
(function (EndpointState) {
    /**
     * The state is unknown.
     *
     * @generated from enum value: ENDPOINT_STATE_UNSPECIFIED = 0;
     */
    EndpointState[EndpointState["UNSPECIFIED"] = 0] = "UNSPECIFIED";
    /**
     * The server gets requests.
     *
     * @generated from enum value: ENDPOINT_STATE_IN = 1;
     */
    EndpointState[EndpointState["IN"] = 1] = "IN";
    /**
     * The server has been back in service for less than 10 seconds, and its share of the
     * requests is growing.
     *
     * @generated from enum value: ENDPOINT_STATE_STARTING = 2;
     */
    EndpointState[EndpointState["STARTING"] = 2] = "STARTING";
    /**
     * The server reports that it is not ready. The server gets requests only if no other
     * server can serve them.
     *
     * @generated from enum value: ENDPOINT_STATE_NOT_READY = 3;
     */
    EndpointState[EndpointState["NOT_READY"] = 3] = "NOT_READY";
    /**
     * The server fails its health checks and gets no requests.
     *
     * @generated from enum value: ENDPOINT_STATE_OUT = 4;
     */
    EndpointState[EndpointState["OUT"] = 4] = "OUT";
    /**
     * An operator has drained the server. It gets no requests.
     *
     * @generated from enum value: ENDPOINT_STATE_DRAINED = 5;
     */
    EndpointState[EndpointState["DRAINED"] = 5] = "DRAINED";
})(EndpointState || (EndpointState = {}));
/**
 * Describes the enum trident.v1.EndpointState.
 */
export const EndpointStateSchema = /*@__PURE__*/ enumDesc(file_trident_v1_endpoint, 0);
/**
 * EndpointService lists the inference servers of --triton-endpoint, takes an inference
 * server out of service, and puts it back into service. If this server has API keys,
 * the calls need a key that allows all models. The calls fail with UNIMPLEMENTED if
 * this server has no list of inference servers, because it has a single fixed server or
 * in-process Triton. Error details are the same as for ChatService.
 *
 * @generated from service trident.v1.EndpointService
 */
export const EndpointService = /*@__PURE__*/ serviceDesc(file_trident_v1_endpoint, 0);
