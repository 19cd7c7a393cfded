package wirecode

import (
	"net/http"

	"github.com/trident-inference/trident/services/inference"
)

// Row is an error that clients receive. Its statuses and types follow from Code and Reason by the
// functions of this package.
type Row struct {
	Reason inference.Reason
	Code   inference.Code
	// When is the cause of the error, and Remedy what resolves it. Both are Markdown. Fields of
	// configurations are in braces, such as {server.MaxBody}: documents have their flags there.
	When, Remedy string
}

// Table returns all errors that clients receive, in the order of their HTTP statuses. A reason may
// have several rows. Errors of KServe's API have no reason.
func Table() []Row {
	return []Row{
		{inference.ReasonInvalidValue, inference.CodeInvalid, "A field is missing or has an invalid type or value, the body isn't JSON, a schema is invalid, or the request has more parts than one may have.", "Correct the field in `param`. [The budgets](limits.md#budgets-of-a-request) bound the parts of a request."},
		{inference.ReasonUnsupported, inference.CodeInvalid, "The model or its engine can't honour a field. With strict checks: the field has no effect.", "Leave the field out, or choose a model that supports it. [The tables of fields](openai.md#request-fields) list what each kind of model supports."},
		{inference.ReasonContextLength, inference.CodeInvalid, "The prompt, or the prompt and the requested tokens, are longer than the model's context. Or a text is longer than what Trident tokenizes.", "Shorten the prompt, request fewer tokens, or send `truncate_prompt_tokens` where the operation has it."},
		{inference.ReasonNone, inference.CodeInvalid, "Triton or the model's backend refused the request. The message is Triton's.", "Correct the request by the message."},
		{inference.ReasonNotImplemented, inference.CodeUnsupported, "Triton doesn't support the operation as it is configured, such as loads of models without explicit control mode.", "Start Triton, or Trident ({local.ControlMode}), with the setting that the message names."},
		{inference.ReasonModelLoaded, inference.CodeInvalid, "A load names a model that is loaded.", "None is needed. Unload the model first to load its files again."},
		{inference.ReasonModelNotFound, inference.CodeInvalid, "A load or an unload names an unknown model.", "Look up the name in the model repository. An unload takes only loaded models."},
		{inference.ReasonLastEndpoint, inference.CodeInvalid, "A drain names the only inference server that serves a model.", "Add another server first, or set `force`."},
		{inference.ReasonBodyIncomplete, inference.CodeInvalid, "The connection ended before the end of the body.", "Send the request again. Look at proxies between the client and Trident if it happens often."},
		{inference.ReasonInvalidKey, inference.CodeUnauthenticated, "The API key is missing, unknown or expired.", "Send a valid key in `Authorization: Bearer KEY` or in `x-api-key`. [Keys](../security.md#keys) come from {auth.APIKeys} and {auth.APIKeysFile}."},
		{inference.ReasonInvalidAuth, inference.CodeUnauthenticated, "The operation is restricted, and the request lacks the header of its group.", "Send the header that {auth.Restricted} sets for the group."},
		{inference.ReasonForbidden, inference.CodeForbidden, "The key is limited to its own models, and the operation concerns the whole server. Or a header of SageMaker or Vertex AI names an operation that changes the server.", "Use a key without a limit on models, or the operator's own port."},
		{inference.ReasonOrigin, inference.CodeForbidden, "A page of another site sent the request from a browser.", "Allow the page's origin with {server.CORSOrigins}."},
		{inference.ReasonModelNotFound, inference.CodeNotFound, "No model of this name is loaded, or the key doesn't allow it.", "`GET /v1/models` lists the names."},
		{inference.ReasonUnknownPath, inference.CodeNotFound, "The path isn't served.", "The message names the most similar path."},
		{inference.ReasonPreviousNotFound, inference.CodeNotFound, "`previous_response_id` names a response that isn't stored, or is no longer stored.", "Send the whole conversation in `input`. {openai.ResponsesStoreTTL}, {openai.ResponsesStoreSize} and {openai.ResponsesStoreBytes} bound the store."},
		{inference.ReasonItemNotFound, inference.CodeNotFound, "An `item_reference` names an item that isn't stored, or is no longer stored.", "Send the item itself."},
		{inference.ReasonResponseNotFound, inference.CodeNotFound, "The path names a response that isn't stored, or is no longer stored.", "Responses with `\"store\": false`, and those of other keys, are never found."},
		{inference.ReasonEndpointNotFound, inference.CodeNotFound, "A drain or a resume names an address that is no inference server of this Trident.", "`trident endpoint list` has the addresses."},
		{inference.ReasonMethod, inference.CodeInvalid, "The path takes another method.", "The header `Allow` has the methods."},
		{inference.ReasonBodyTimeout, inference.CodeInvalid, "The client stopped sending the body.", "Send the request again."},
		{inference.ReasonBodyTooLarge, inference.CodeInvalid, "The body is larger than the limit.", "Send less, or raise {server.MaxBody}."},
		{inference.ReasonBodyEncoding, inference.CodeInvalid, "The body is compressed.", "Send it without `Content-Encoding`."},
		{inference.ReasonHost, inference.CodeForbidden, "The header `Host` of a request to a loopback server without keys has the name of another machine.", "Allow the name with {server.AllowedHosts}, or give clients keys. [The reason for this check](../security.md#host-names-of-a-loopback-server)."},
		{inference.ReasonRateLimit, inference.CodeLimited, "The key has too many requests in flight or sends them too fast, or the requests of all clients exceed {admission.Server.Rate}. Or a KServe client reads its stream too slowly.", "Wait for `Retry-After`. [Limits](limits.md) describes each limit."},
		{inference.ReasonAuthFailures, inference.CodeLimited, "The key is missing or invalid, and so were those of many requests from this address.", "Send a valid key: it always passes."},
		{inference.ReasonHeaders, inference.CodeLimited, "The request has more than 100 header lines.", "Send fewer."},
		{inference.ReasonNone, inference.CodeCanceled, "The client disconnected before the response. No client receives this status: it is for logs and metrics.", "None is needed."},
		{inference.ReasonNone, inference.CodeInternal, "Trident, Triton or the model failed.", "The log has the cause, with the request id."},
		{inference.ReasonOverloaded, inference.CodeOverloaded, "More requests, or larger ones, came at once than Trident takes, memory is short, or Triton's queue is full.", "Wait for `Retry-After`. {admission.Server.InFlight}, {admission.Server.Queued} and [further limits](limits.md) set how many are taken."},
		{inference.ReasonModelNotReady, inference.CodeUnavailable, "The model loads, unloads, has failed or is being recovered, or no model is ready.", "Wait for `Retry-After`. `GET /v1/models` and `trident models` have the states."},
		{inference.ReasonEngineGone, inference.CodeUnavailable, "Triton can't be reached, or it ended during the request.", "Wait for `Retry-After`. `trident health` has the reason."},
		{inference.ReasonInactive, inference.CodeUnavailable, "The model sent nothing for longer than {triton.FirstResponse} or {triton.Inactivity} allow.", "Look at the model's server. Raise the limit if the model needs longer."},
		{inference.ReasonStoreUnavailable, inference.CodeUnavailable, "The shared store of responses can't be reached, and the request needs a stored response.", "Wait for `Retry-After`. The operator looks at the server of {openai.ResponsesStore}."},
		{inference.ReasonShuttingDown, inference.CodeUnavailable, "Trident or Triton is shutting down.", "Send the request again: another replica or the next start serves it."},
		{inference.ReasonTimeout, inference.CodeDeadlineExceeded, "The request took longer than {admission.RequestTimeout}, the header `x-request-timeout` or the deadline of gRPC allow.", "Request fewer tokens, or raise the limit."},
	}
}

// ownStatus returns the HTTP status of a reason that HTTP has a status for. It returns 0 for other
// reasons: their status is that of the error's code.
func ownStatus(reason inference.Reason) int {
	switch reason { //nolint:exhaustive // the others have the status of their code
	case inference.ReasonMethod:
		return http.StatusMethodNotAllowed
	case inference.ReasonBodyTimeout:
		return http.StatusRequestTimeout
	case inference.ReasonBodyTooLarge:
		return http.StatusRequestEntityTooLarge
	case inference.ReasonBodyEncoding:
		return http.StatusUnsupportedMediaType
	case inference.ReasonHost:
		return http.StatusMisdirectedRequest
	case inference.ReasonHeaders:
		return http.StatusRequestHeaderFieldsTooLarge
	}
	return 0
}
