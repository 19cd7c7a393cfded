package inference

// Reason is the machine-readable cause of an [Error]: the field code of OpenAI's errors, and the
// field reason of ErrorDetail in the typed services. A reason is one of the constants below, so that
// clients receive no other value. The table of package wirecode has the statuses of each reason, its
// meaning and what clients can do.
type Reason uint8

// The reasons of errors of the core and of the engines. An error with ReasonNone has the code null
// in OpenAI's API.
const (
	ReasonNone Reason = iota
	ReasonModelNotFound
	ReasonContextLength
	ReasonUnsupported
	ReasonInvalidValue
	ReasonModelNotReady
	ReasonModelLoaded
	ReasonRateLimit
	ReasonOverloaded
	ReasonTimeout
	ReasonShuttingDown
	ReasonEngineGone
	ReasonInactive
	ReasonNotImplemented
	ReasonInvalidKey
	ReasonInvalidAuth
	ReasonAuthFailures // the address has failed authentication too often
	ReasonForbidden
	ReasonEndpointNotFound
	ReasonLastEndpoint
	ReasonStoreUnavailable
	ReasonPreviousNotFound // previous_response_id names no stored response
	ReasonResponseNotFound
	ReasonItemNotFound
)

// The reasons of requests that the HTTP layer refuses.
const (
	ReasonUnknownPath Reason = iota + ReasonItemNotFound + 1
	ReasonMethod
	ReasonBodyIncomplete
	ReasonBodyTimeout
	ReasonBodyTooLarge
	ReasonBodyEncoding
	ReasonOrigin
	ReasonHost
	ReasonHeaders
)

// String returns the reason as clients receive it. It returns "" for ReasonNone and for a number
// that is no reason.
func (r Reason) String() string {
	names := [...]string{
		ReasonModelNotFound:    "model_not_found",
		ReasonContextLength:    "context_length_exceeded",
		ReasonUnsupported:      "unsupported_parameter",
		ReasonInvalidValue:     "invalid_value",
		ReasonModelNotReady:    "model_not_ready",
		ReasonModelLoaded:      "model_already_loaded",
		ReasonRateLimit:        "rate_limit_exceeded",
		ReasonOverloaded:       "server_is_overloaded",
		ReasonTimeout:          "timeout",
		ReasonShuttingDown:     "shutting_down",
		ReasonEngineGone:       "engine_unavailable",
		ReasonInactive:         "engine_inactive",
		ReasonNotImplemented:   "not_implemented",
		ReasonInvalidKey:       "invalid_api_key",
		ReasonInvalidAuth:      "invalid_auth",
		ReasonAuthFailures:     "too_many_authentication_failures",
		ReasonForbidden:        "forbidden",
		ReasonEndpointNotFound: "endpoint_not_found",
		ReasonLastEndpoint:     "last_endpoint",
		ReasonStoreUnavailable: "store_unavailable",
		ReasonPreviousNotFound: "previous_response_not_found",
		ReasonResponseNotFound: "response_not_found",
		ReasonItemNotFound:     "item_not_found",
		ReasonUnknownPath:      "unknown_url",
		ReasonMethod:           "method_not_allowed",
		ReasonBodyIncomplete:   "incomplete_body",
		ReasonBodyTimeout:      "request_timeout",
		ReasonBodyTooLarge:     "content_too_large",
		ReasonBodyEncoding:     "unsupported_content_encoding",
		ReasonOrigin:           "origin_not_allowed",
		ReasonHost:             "host_not_allowed",
		ReasonHeaders:          "too_many_headers",
	}
	if int(r) < len(names) {
		return names[r]
	}
	return ""
}
