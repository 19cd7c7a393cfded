package anthropic

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	api "github.com/trident-inference/trident/gen/go/anthropic"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/strictjson"
	"github.com/trident-inference/trident/services/wirecode"
)

// requestIDHeader is the header with the id of the request that Anthropic's SDKs read.
const requestIDHeader = "Request-Id"

// shouldRetryHeader is the header by which Anthropic's SDKs decide whether to send the request again. Without it the
// status decides: they repeat requests that got 408, 409, 429 or a status of 500 or more.
const shouldRetryHeader = "X-Should-Retry"

// retryMillisHeader is the header with the milliseconds until another attempt, which Anthropic's SDKs prefer to the
// seconds of Retry-After.
const retryMillisHeader = "Retry-After-Ms"

// threadError is the error of a request that continues a conversation in the server. Anthropic's SDKs send
// the whole conversation then.
type threadError struct{}

func (threadError) Error() string {
	return "thread is not supported: the server stores no conversations; send the whole conversation, without thread"
}

// paramError converts an error of the generated code about a header or a query.
func paramError(err error) error {
	if e, ok := errors.AsType[*api.InvalidParamFormatError](err); ok {
		return inference.Invalid(e.ParamName, "%s has a value of an invalid type", e.ParamName)
	}
	return inference.Invalid("", "a header or the query of the request is invalid")
}

// describe returns the status and the object of any error. An unknown error becomes an internal error,
// whose message appears only in the log.
func describe(err error) (status int, object api.ErrorObject, retryAfter time.Duration) {
	if e, ok := errors.AsType[threadError](err); ok {
		details := &api.ErrorDetails{ErrorCode: api.ErrorDetailsErrorCodeThreadUnsupportedRequest, Unsupported: []string{"thread"}}
		return http.StatusBadRequest, api.ErrorObject{Type: wirecode.TypeInvalid, Message: e.Error(), Details: details}, 0
	}
	e := inference.AsError(err)
	if tooLarge, ok := errors.AsType[*server.TooLargeError](err); ok {
		e = tooLarge.Refusal()
	}
	status, kind := wirecode.Anthropic(e.Code, e.Reason)
	return status, api.ErrorObject{Type: api.ErrorObjectType(kind), Message: budget.Cut(e.Message, budget.MessageBytes)}, e.RetryAfter
}

// errorBody returns the body of a failed response, or the data of an error event.
func errorBody(object api.ErrorObject, requestID string) []byte {
	body, err := json.Marshal(api.ErrorResponse{Type: api.ErrorResponseTypeError, Error: object, RequestID: requestID})
	if err != nil { // strings always encode
		return []byte(`{"type":"error","error":{"type":"` + wirecode.TypeInternal + `","message":"internal error"},"request_id":""}`)
	}
	return body
}

// writeError responds with an error to a request without a response so far.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	rec := server.RecordOf(r.Context())
	rec.Error = err
	status, object, retryAfter := describe(err)
	header := w.Header()
	header.Set(requestIDHeader, rec.RequestID)
	if retryAfter > 0 {
		header.Set("Retry-After", wirecode.RetryAfter(retryAfter))
		header.Set(retryMillisHeader, strconv.FormatInt(max(1, retryAfter.Milliseconds()), 10))
		header.Set(shouldRetryHeader, "true")
	}
	if status == http.StatusGatewayTimeout { // the same request would take as long again
		header.Set(shouldRetryHeader, "false")
	}
	if status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", "Bearer")
	}
	header.Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(errorBody(object, rec.RequestID)) //nolint:gosec // JSON, whose strings are escaped; the client may have disconnected
}

// tooLongPrefix is the prefix of errors by which clients of Anthropic's API recognize that they have to shorten
// the conversation.
const tooLongPrefix = "prompt is too long: "

// clientsNames renames the fields in the core's errors to those of Anthropic's API. The turn may be nil.
func (t *turn) clientsNames(err error) error {
	e, ok := errors.AsType[*inference.Error](err)
	if !ok || t == nil {
		return err
	}
	renamed := *e
	renamed.Param, renamed.Message = t.clientsName(e.Param, e.Message)
	switch bad := e.Code == inference.CodeInvalid || e.Code == inference.CodeUnsupported; {
	case e.Reason == inference.ReasonContextLength:
		renamed.Message = tooLongPrefix + renamed.Message
	case bad && !strings.Contains(renamed.Message, renamed.Param): // Anthropic's errors have no other place for it
		renamed.Message = renamed.Param + ": " + renamed.Message
	}
	return &renamed
}

// clientsName renames a field of the core, and the field in a message about it.
func (t *turn) clientsName(param, message string) (newParam, newMessage string) {
	core := param
	rename := func(from, to string) {
		param, message = strings.ReplaceAll(param, from, to), strings.ReplaceAll(message, from, to)
	}
	switch {
	case strings.HasPrefix(core, "messages["):
		from, origin := t.imageOrigin(core)
		if from == "" {
			from, origin = originOf(core, "messages", t.origins)
		}
		if from != "" {
			rename(from, origin)
			rename(".image_url.url", ".source")
			rename("takes no image_url content", "takes no image content")
		}
	case strings.HasPrefix(core, "tools["):
		if from, origin := originOf(core, "tools", t.toolOrigins); from != "" {
			rename(from, origin)
			rename(".function.parameters", ".input_schema")
			rename(".function.", ".")
		}
	case core == "stop" || strings.HasPrefix(core, "stop["):
		param, message = strings.Replace(param, "stop", "stop_sequences", 1), strings.Replace(message, "stop", "stop_sequences", 1)
	}
	return param, message
}

// originOf returns the element of a list of the core that is the prefix of a path, and the path of the element
// in the request. Both are "" if the element isn't in origins.
func originOf(path, list string, origins []string) (element, origin string) {
	for i, origin := range origins {
		if element := list + strictjson.Index(i); strings.HasPrefix(path, element) {
			return element, origin
		}
	}
	return "", ""
}

// imageOrigin returns the part of a message of the core that is the prefix of a path, and the path of the part
// in the request, if the part is an image. Both are "" otherwise. The parts of the core have other positions
// than the blocks of the request, because results of tools are messages and some blocks are left out.
func (t *turn) imageOrigin(path string) (element, origin string) {
	images := t.images
	for i := range t.req.Messages {
		for j := range t.req.Messages[i].Parts {
			if t.req.Messages[i].Parts[j].Kind != inference.PartImage || len(images) == 0 {
				continue
			}
			if element := "messages" + strictjson.Index(i) + ".content" + strictjson.Index(j); strings.HasPrefix(path, element) {
				return element, images[0]
			}
			images = images[1:]
		}
	}
	return "", ""
}
