package triton

import (
	"context"
	"fmt"
	"iter"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Forward implements [inference.Forwarder]: the request goes out in the buffers that
// it came in, and the responses are given as they came too.
func (e *Engine) Forward(ctx context.Context, req *inference.InferRequest) iter.Seq2[*inference.Response, error] {
	if req.Encoded() == nil {
		return e.stream(ctx, req.Head().GetModelName(), req.Head().GetId(), req.Head(), func(s *stream) {
			s.forwards, s.shared = true, sharedOutputs(req.Head())
		})
	}
	var out any = req.Encoded()
	if p := req.Head().GetParameters()[enableEmptyFinal]; p != nil && !isBool(p) {
		out = verbatim(req.Encoded()) // the server has the word on it
	}
	return e.stream(ctx, req.Head().GetModelName(), req.Head().GetId(), out, func(s *stream) { s.forwards = true })
}

func isBool(p *kserve.InferParameter) bool {
	_, ok := p.GetParameterChoice().(*kserve.InferParameter_BoolParam)
	return ok
}

// Call implements [inference.Caller] by tritonserver's own ModelInfer, whose errors
// have codes. All of its time is the wait for a first response.
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
	var silence Silence
	e.silences.Watch(&silence, nil, cancel, func() { e.suspect(ctx, conn, cancel) })
	defer silence.Stop()
	silence.Begin()
	var answer mem.BufferSlice
	err = conn.Invoke(withTrace(ctx), kserve.GRPCInferenceService_ModelInfer_FullMethodName, req.Encoded(), &answer, grpc.ForceCodecV2(asIs{}))
	if err != nil {
		answer.Free()
		if isInactive(context.Cause(ctx)) {
			e.suspect(ctx, conn, nil)
		}
		return nil, e.failure(ctx, err)
	}
	return answer, nil
}

// asIs is a codec of messages that are encoded: mem.BufferSlice, and a pointer to
// one for what comes.
type asIs struct{}

// Name is the content subtype: the wire is plain protobuf.
func (asIs) Name() string { return "proto" }

// Marshal gives the message once more to the one who frees it.
func (asIs) Marshal(v any) (mem.BufferSlice, error) {
	encoded, ok := v.(mem.BufferSlice)
	if !ok {
		return nil, fmt.Errorf("can't encode %T", v)
	}
	encoded.Ref()
	return encoded, nil
}

// Unmarshal keeps the data.
func (asIs) Unmarshal(data mem.BufferSlice, v any) error {
	to, ok := v.(*mem.BufferSlice)
	if !ok {
		return fmt.Errorf("can't decode into %T", v)
	}
	data.Ref()
	*to = data
	return nil
}
