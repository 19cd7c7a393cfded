package triton

import (
	"context"
	"fmt"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/mem"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Forward implements [inference.Forwarder]. The request is sent in the buffers that
// it arrived in, and the responses keep their encoded form too.
func (e *Engine) Forward(ctx context.Context, req *inference.InferRequest) iter.Seq2[*inference.Response, error] {
	head := req.Head()
	forwarded := request{model: head.GetModelName(), id: head.GetId(), message: req.Encoded(), forwards: true}
	if req.Encoded() == nil {
		forwarded.message, forwarded.shared = head, sharedOutputs(head)
	} else if p := head.GetParameters()[enableEmptyFinal]; p != nil && !isBool(p) {
		forwarded.message = verbatim(req.Encoded()) // the client has set the parameter, and the server checks it
	}
	return e.stream(ctx, forwarded)
}

func isBool(p *kserve.InferParameter) bool {
	_, ok := p.GetParameterChoice().(*kserve.InferParameter_BoolParam)
	return ok
}

// Call implements [inference.Caller] with tritonserver's ModelInfer, whose errors
// have codes. The time limit for the first response applies to the whole call.
func (e *Engine) Call(ctx context.Context, req *inference.InferRequest) (mem.BufferSlice, error) {
	if err := e.health.check(req.Head().GetModelName()); err != nil {
		return nil, err
	}
	conn, err := e.connection(ctx)
	if err != nil {
		return nil, err
	}
	defer e.hold(conn)()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var idleTimer IdleTimer
	e.idleTimers.Watch(&idleTimer, nil, cancel, func() { e.checkLink(ctx, conn, cancel) })
	defer idleTimer.Stop()
	idleTimer.Begin()
	if conn.GetState() == connectivity.Ready { // a failed connection sends nothing
		inference.Sent(ctx)
	}
	var answer mem.BufferSlice
	err = conn.Invoke(withTrace(ctx), kserve.GRPCInferenceService_ModelInfer_FullMethodName, req.Encoded(), &answer, grpc.ForceCodecV2(asIs{}))
	if err != nil {
		answer.Free()
		if isInactive(context.Cause(ctx)) {
			e.checkLink(ctx, conn, nil)
		}
		return nil, e.failure(ctx, err)
	}
	return answer, nil
}

// asIs is a codec of encoded messages. It sends a mem.BufferSlice and receives
// into a *mem.BufferSlice.
type asIs struct{}

// Name returns the content subtype. The encoding is plain protobuf.
func (asIs) Name() string { return "proto" }

// Marshal returns the message with a further reference, which gRPC frees.
func (asIs) Marshal(v any) (mem.BufferSlice, error) {
	encoded, ok := v.(mem.BufferSlice)
	if !ok {
		return nil, fmt.Errorf("can't encode a value of type %T as a gRPC message", v)
	}
	encoded.Ref()
	return encoded, nil
}

// Unmarshal keeps the data with a reference of its own.
func (asIs) Unmarshal(data mem.BufferSlice, v any) error {
	to, ok := v.(*mem.BufferSlice)
	if !ok {
		return fmt.Errorf("can't decode a gRPC message into a value of type %T", v)
	}
	data.Ref()
	*to = data
	return nil
}
