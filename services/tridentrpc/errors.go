package tridentrpc

import (
	"errors"
	"strings"

	"buf.build/go/protovalidate"
	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/wirecode"
)

// maxViolations is how many broken rules an error shows.
const maxViolations = 32

// connectError shows the client's part of an error, with its detail, and keeps its
// cause for the log.
func typedError(rec *server.Record, err error) error {
	rec.Error = err
	var own *connect.Error
	var known *inference.Error
	if over, ok := errors.AsType[*budget.Error](err); ok { // which Connect has wrapped
		err = inference.AsError(over)
	}
	if !errors.As(err, &known) && errors.As(err, &own) { // of Connect's, on the request
		if code, ok := wirecode.ClientFault(own.Code()); ok {
			rec.Error = &inference.Error{Code: code, Message: own.Message(), Err: own}
		}
		return own
	}
	e := inference.AsError(err)
	detail := &tridentv1.ErrorDetail{
		Reason: e.Reason, Param: budget.Cut(typedPath(e.Param), budget.NameBytes), RequestId: rec.RequestID,
		Violations: violations(err),
	}
	if e.RetryAfter > 0 {
		detail.RetryAfter = durationpb.New(e.RetryAfter)
	}
	answer := connect.NewError(wirecode.Connect(e.Code), errors.New(budget.Cut(typedPath(e.Message), budget.MessageBytes)))
	if d, err := connect.NewErrorDetail(detail); err == nil { // a message of ours always encodes
		answer.AddDetail(d)
	}
	return answer
}

// typedPath gives the parts of a message the name that they have here.
func typedPath(text string) string { return strings.ReplaceAll(text, "].content[", "].parts[") }

// invalid is the error of a request that breaks rules of its schema. Its cause keeps
// them.
func invalid(err error) error {
	broken, ok := errors.AsType[*protovalidate.ValidationError](err)
	if !ok || len(broken.Violations) == 0 {
		return err
	}
	first := violation(broken.Violations[0])
	e := inference.Invalid(first.GetField(), "%s", first.GetMessage())
	e.Err = err
	return e
}

// violations lists the broken rules of such an error; nil for others.
func violations(err error) []*tridentv1.FieldViolation {
	broken, ok := errors.AsType[*protovalidate.ValidationError](err)
	if !ok {
		return nil
	}
	var list []*tridentv1.FieldViolation
	for _, v := range broken.Violations[:min(len(broken.Violations), maxViolations)] {
		list = append(list, violation(v))
	}
	return list
}

// violation names the field as the plain request does where a stream's wraps it.
func violation(v *protovalidate.Violation) *tridentv1.FieldViolation {
	field, rule := protovalidate.FieldPathString(v.Proto.GetField()), v.Proto.GetRuleId()
	// A rule of ours on several fields is named by its message and the field at fault.
	of, name, _ := strings.Cut(rule, ".")
	several := strings.Contains(of, "_")
	if several && (field == "chat" || field == "completion") {
		field = ""
	}
	for _, wrapper := range []string{"chat.", "completion."} {
		field = strings.TrimPrefix(field, wrapper)
	}
	message := sentence(field, v.Proto.GetMessage())
	if several {
		field = strings.TrimPrefix(field+"."+name, ".")
	}
	return &tridentv1.FieldViolation{Field: budget.Cut(field, budget.NameBytes), Rule: rule, Message: budget.Cut(message, budget.MessageBytes)}
}

// sentence says what is wrong with a field.
func sentence(field, message string) string {
	switch {
	case field == "":
		return message
	case strings.HasPrefix(message, "must "):
		return field + " " + message
	case message == "value is required":
		return field + " is required"
	}
	return field + ": " + message
}
