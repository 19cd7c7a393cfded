package tridentrpc

import (
	"context"

	"buf.build/go/protovalidate"
	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
)

// interceptor does for every call what no method has to know of: the rules of the schema,
// the record of the request, the form of errors. Deadlines come
// with the context: Connect makes them of the client's headers, and the core adds its
// own. The request's id goes in and out by the server's x-request-id.
type interceptor struct{ validator protovalidate.Validator }

// WrapUnary implements [connect.Interceptor].
func (i interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		rec := server.RecordOf(ctx)
		err := i.check(ctx, rec, req.Any())
		var answer connect.AnyResponse
		if err == nil {
			answer, err = next(ctx, req)
		}
		if err != nil {
			return nil, typedError(rec, err)
		}
		return answer, nil
	}
}

// WrapStreamingHandler implements it.
func (i interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		rec := server.RecordOf(ctx)
		if err := next(ctx, checkedConn{conn, ctx, i, rec}); err != nil {
			return typedError(rec, err)
		}
		return nil
	}
}

// WrapStreamingClient implements it; there is no client.
func (interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// checkedConn checks the one request of a stream as it comes.
type checkedConn struct {
	connect.StreamingHandlerConn

	ctx         context.Context //nolint:containedctx // the call's
	interceptor interceptor
	rec         *server.Record
}

// Receive implements [connect.StreamingHandlerConn].
func (c checkedConn) Receive(msg any) error {
	if err := c.StreamingHandlerConn.Receive(msg); err != nil {
		return err
	}
	return c.interceptor.check(c.ctx, c.rec, msg)
}

// check notes the model for the log, counts what the message holds, which may have been
// compressed, and holds the request to the models of its key and then to its rules.
func (i interceptor) check(ctx context.Context, rec *server.Record, msg any) error {
	switch m := msg.(type) {
	case interface{ GetModel() string }:
		rec.Model = m.GetModel()
	case *tridentv1.ChatStreamRequest:
		rec.Model = m.GetChat().GetModel()
	case *tridentv1.CompleteStreamRequest:
		rec.Model = m.GetCompletion().GetModel()
	}
	m, ok := msg.(proto.Message)
	if !ok {
		return nil
	}
	size := proto.Size(m)
	if err := admission.ArrivalOf(ctx).Weigh(int64(size)); err != nil {
		return err
	}
	if rec.Model != "" { // one that is missing breaks a rule
		if err := inference.MayUse(ctx, rec.Model); err != nil {
			return err
		}
	}
	var options []protovalidate.ValidationOption
	if size > fullyChecked {
		options = append(options, protovalidate.WithFailFast())
	}
	if err := i.validator.Validate(m, options...); err != nil {
		return invalid(err)
	}
	return nil
}

// fullyChecked is the encoded size in bytes of messages of which all broken rules are found,
// of larger ones the first: each takes kilobytes of memory, and a message may hold one in
// every other byte.
const fullyChecked = 16 << 10
