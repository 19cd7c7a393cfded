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

// interceptor does the common work of all calls: the rules of the schema, the record of the
// request, and the form of errors. The context has the deadline: Connect derives it from the
// client's headers, and the core adds its own. The request id is read from and written to
// the server's x-request-id.
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

// WrapStreamingHandler implements [connect.Interceptor].
func (i interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		rec := server.RecordOf(ctx)
		if err := next(ctx, checkedConn{conn, ctx, i, rec}); err != nil {
			return typedError(rec, err)
		}
		return nil
	}
}

// WrapStreamingClient implements [connect.Interceptor]. This package has no client.
func (interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// checkedConn checks the one request of a stream when it is received.
type checkedConn struct {
	connect.StreamingHandlerConn

	ctx         context.Context //nolint:containedctx // the call's context
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

// check records the model for the log and checks the request. It counts the decoded size,
// since the message may have been compressed. It then checks that the key allows the model,
// and the rules of the schema.
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
	if rec.Model != "" { // a missing model violates a rule
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

// fullyChecked is the maximum encoded size, in bytes, of messages for which all violated
// rules are found. For larger messages only the first is found. Each violation takes
// kilobytes of memory, and a message may have one in every other byte.
const fullyChecked = 16 << 10
