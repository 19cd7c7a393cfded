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

// maxViolations is the maximum number of violated rules in an error.
const maxViolations = 32

// typedError returns the client's part of an error with its detail, and records the
// whole error for the log.
func typedError(rec *server.Record, err error) error {
	rec.Error = err
	var own *connect.Error
	var known *inference.Error
	if over, ok := errors.AsType[*budget.Error](err); ok { // Connect has wrapped it
		err = inference.AsError(over)
	}
	if !errors.As(err, &known) && errors.As(err, &own) { // Connect's own error about the request
		if code, ok := wirecode.ClientFault(own.Code()); ok {
			rec.Error = &inference.Error{Code: code, Message: own.Message(), Err: own}
		}
		return own
	}
	e := inference.AsError(err)
	detail := &tridentv1.ErrorDetail{
		Reason: e.Reason.String(), Param: budget.Cut(typedPath(e.Param), budget.NameBytes), RequestId: rec.RequestID,
		Violations: violations(err),
	}
	if e.RetryAfter > 0 {
		detail.RetryAfter = durationpb.New(e.RetryAfter)
	}
	answer := connect.NewError(wirecode.Connect(e.Code), errors.New(budget.Cut(typedPath(e.Message), budget.MessageBytes)))
	if d, err := connect.NewErrorDetail(detail); err == nil { // a message of this schema always encodes
		answer.AddDetail(d)
	}
	return answer
}

// typedPath replaces content by parts in a path, which is the field's name in this
// schema.
func typedPath(text string) string { return strings.ReplaceAll(text, "].content[", "].parts[") }

// invalid returns the error of a request that violates rules of its schema. The
// error's cause has all violated rules.
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

// violations returns the rules of the schema that a request violates, if err is about
// them, and nil for other errors.
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

// violation names the field by its path in the plain request, without the message that
// wraps it in a stream.
func violation(v *protovalidate.Violation) *tridentv1.FieldViolation {
	field, rule := protovalidate.FieldPathString(v.Proto.GetField()), v.Proto.GetRuleId()
	// Our rules on several fields have the invalid field in their name.
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

// sentence returns a message that names the field.
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
