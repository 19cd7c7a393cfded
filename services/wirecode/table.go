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
		{inference.ReasonInvalidValue, inference.CodeInvalid, "A field is missing or has an invalid type or value, the body isn't JSON, a schema is invalid, or the request has more parts than the limits allow.", "Correct the field in `param`. [The budgets](limits.md#budgets-of-a-request) limit the parts of a request."},
		{inference.ReasonUnsupported, inference.CodeInvalid, "The model or its engine can't apply a field, or the field has no effect and Trident's settings refuse such fields.", "Leave the field out, or choose a model that supports the field. The message has the reason. [Kinds of models](backends.md) lists what each kind supports, and [the tables of fields](openai.md#request-fields) list all fields of the requests."},
		{inference.ReasonContextLength, inference.CodeInvalid, "The prompt, `max_tokens`, or both together exceed the model's context length. Or a text is longer than Trident's limit for tokenization.", "If the message names `max_tokens`, send a smaller number or leave the field out. Otherwise shorten the prompt, or send `truncate_prompt_tokens` if the operation has this field. `GET /v1/models` shows the context length as `max_model_len`."},
		{inference.ReasonNone, inference.CodeInvalid, "Triton or the model's backend refused the request. The message is Triton's.", "Correct the request as the message describes."},
		{inference.ReasonNotImplemented, inference.CodeUnsupported, "Triton's configuration doesn't support the operation. An example is a load of a model without the explicit model control mode.", "Start Triton with the setting that the message names. For in-process Triton, set {local.ControlMode}."},
		{inference.ReasonModelLoaded, inference.CodeInvalid, "A request to load a model names a model that is already loaded.", "No remedy is needed. To load the model's files again, unload the model first."},
		{inference.ReasonModelNotFound, inference.CodeInvalid, "A request to load or unload a model names an unknown model.", "Look up the name in the model repository. Only loaded models can be unloaded."},
		{inference.ReasonLastEndpoint, inference.CodeInvalid, "A request to drain an inference server names the only server that serves one of its models.", "Add another server first, or set `force`."},
		{inference.ReasonBodyIncomplete, inference.CodeInvalid, "The connection ended before the end of the body.", "Send the request again. If the error occurs often, check the proxies between the client and Trident."},
		{inference.ReasonInvalidKey, inference.CodeUnauthenticated, "The API key is missing, unknown or expired.", "Send a valid key in `Authorization: Bearer KEY` or in `x-api-key`. {auth.APIKeys} and {auth.APIKeysFile} set the [keys](../security.md#keys)."},
		{inference.ReasonInvalidAuth, inference.CodeUnauthenticated, "The operation is restricted, and the request lacks the header of its group.", "Send the header that {auth.Restricted} sets for the group."},
		{inference.ReasonForbidden, inference.CodeForbidden, "The key allows only some models, but the operation concerns the whole server. Or the header of a request from SageMaker or Vertex AI names an operation that changes the server.", "Use a key that allows all models. Operations that change the server must be sent to the port of the OpenAI API."},
		{inference.ReasonOrigin, inference.CodeForbidden, "A page of another site sent the request from a browser.", "Allow the page's origin with {server.CORSOrigins}."},
		{inference.ReasonModelNotFound, inference.CodeNotFound, "No model of this name is loaded, or the key doesn't allow the model.", "`GET /v1/models` lists the names."},
		{inference.ReasonUnknownPath, inference.CodeNotFound, "The path isn't served.", "The message names the most similar path."},
		{inference.ReasonPreviousNotFound, inference.CodeNotFound, "`previous_response_id` names a response that isn't stored, or is no longer stored.", "Send the whole conversation in `input`. {openai.ResponsesStoreTTL}, {openai.ResponsesStoreSize} and {openai.ResponsesStoreBytes} limit the store."},
		{inference.ReasonItemNotFound, inference.CodeNotFound, "An `item_reference` names an item that isn't stored, or is no longer stored.", "Send the item itself."},
		{inference.ReasonResponseNotFound, inference.CodeNotFound, "The path names a response that isn't stored, or is no longer stored.", "Responses with `\"store\": false` and responses of other keys can't be found."},
		{inference.ReasonEndpointNotFound, inference.CodeNotFound, "A request to drain or resume an inference server has an address that none of this Trident's inference servers has.", "`trident endpoint list` prints the addresses."},
		{inference.ReasonMethod, inference.CodeInvalid, "The path doesn't allow the method of the request.", "The header `Allow` lists the allowed methods."},
		{inference.ReasonBodyTimeout, inference.CodeInvalid, "The client stopped sending the body.", "Send the request again."},
		{inference.ReasonBodyTooLarge, inference.CodeInvalid, "The body is larger than the limit.", "Send a smaller body, or raise {server.MaxBody}."},
		{inference.ReasonBodyEncoding, inference.CodeInvalid, "The body is compressed.", "Send the body uncompressed, without `Content-Encoding`."},
		{inference.ReasonHost, inference.CodeForbidden, "The header `Host` of a request to a loopback server without keys has the name of another machine.", "Allow the name with {server.AllowedHosts}, or give clients keys. [The reason for this check](../security.md#host-names-of-a-loopback-server)."},
		{inference.ReasonRateLimit, inference.CodeLimited, "The key has too many requests in flight, sends requests too fast, or has used its tokens per minute. Or the requests of all clients exceed {admission.Server.Rate}. Or a KServe client reads its stream too slowly.", "Wait for `Retry-After`. [Limits](limits.md) describes each limit."},
		{inference.ReasonAuthFailures, inference.CodeLimited, "The key is missing or invalid, and many earlier requests from this address also had a missing or invalid key.", "Send a valid key. Requests with a valid key always pass this check."},
		{inference.ReasonHeaders, inference.CodeLimited, "The request has more than 100 header lines.", "Send fewer header lines."},
		{inference.ReasonNone, inference.CodeCanceled, "The client disconnected before the response. No client receives this status. It appears only in logs and metrics.", "No remedy is needed."},
		{inference.ReasonNone, inference.CodeInternal, "Trident, Triton or the model failed.", "Find the cause in the log by the request id."},
		{inference.ReasonOverloaded, inference.CodeOverloaded, "Too many or too large requests arrived at once, Trident's memory is short, or Triton's queue is full.", "Wait for `Retry-After`. {admission.Server.InFlight}, {admission.Server.Queued} and [further limits](limits.md) set how many requests Trident accepts."},
		{inference.ReasonModelNotReady, inference.CodeUnavailable, "The model is being loaded, unloaded or recovered, or has failed. Or no model is ready.", "Wait for `Retry-After`. `GET /v1/models` shows the states of the models."},
		{inference.ReasonEngineGone, inference.CodeUnavailable, "Triton can't be reached, or Triton stopped during the request.", "Wait for `Retry-After`. `trident health` prints the reason."},
		{inference.ReasonInactive, inference.CodeUnavailable, "The model sent nothing for longer than {triton.FirstResponse} or {triton.Inactivity} allows.", "Check the server of the model. If the model needs more time, raise the limit."},
		{inference.ReasonStoreUnavailable, inference.CodeUnavailable, "The shared store of responses can't be reached, and the request needs a stored response.", "Wait for `Retry-After`. The operator should check the server of {openai.ResponsesStore}."},
		{inference.ReasonShuttingDown, inference.CodeUnavailable, "Trident or Triton is shutting down.", "Send the request again. Another replica serves it, or Trident does after its restart."},
		{inference.ReasonTimeout, inference.CodeDeadlineExceeded, "The request exceeded {admission.RequestTimeout}, the time in the header `x-request-timeout`, or the deadline of the gRPC call.", "Request fewer tokens, or raise the limit."},
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
