package kserve

import (
	"context"
	"errors"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/protocodec"
)

// request is a ModelInferRequest as received. The receiver must free it.
type request struct{ *inference.InferRequest }

// decoded replaces a missing request by an empty one. Connect calls no codec for a message
// of zero bytes.
func (r *request) decoded() *request {
	if r.InferRequest == nil {
		r.InferRequest, _ = inference.NewInferRequest(mem.BufferSlice{}) // an empty message is valid
	}
	return r
}

// reply is an encoded ModelInferResponse, or in a stream an encoded
// ModelStreamInferResponse. A joined reply is several of the latter, each with gRPC's prefix of a
// message. Sending a reply frees it.
type reply struct {
	encoded mem.BufferSlice
	stream  bool
	joined  bool
}

// message decodes the reply for clients that receive JSON.
func (r *reply) message() (proto.Message, error) {
	var m proto.Message = &kserve.ModelInferResponse{}
	if r.stream {
		m = &kserve.ModelStreamInferResponse{}
	}
	return m, proto.Unmarshal(r.encoded.Materialize(), m)
}

// infer implements ModelInfer. The caller must free the reply.
func (s *Service) infer(ctx context.Context, req *request) (*reply, error) {
	defer req.Free()
	answer := &reply{}
	err := s.core.Infer(ctx, s.core.ResolveOwn(req.Head().GetModelName()), req.InferRequest, func(resp *inference.Response) (err error) {
		answer.encoded, err = encodedInfer(req.InferRequest, resp)
		return err
	})
	if err != nil {
		answer.encoded.Free()
		return nil, err
	}
	return answer, nil
}

func encodedInfer(req *inference.InferRequest, resp *inference.Response) (mem.BufferSlice, error) {
	if resp.Encoded != nil {
		resp.Encoded.Ref()
		return resp.Encoded, nil
	}
	return encodeInfer(req.Head(), resp)
}

// kinds returns the maximum numbers of elements in the requests of the service's methods, of
// health's and of reflection's.
func kinds() budget.Kinds {
	return budget.Inputs(
		kserve.File_kserve_grpc_service_proto.Services().ByName("GRPCInferenceService"),
		grpc_health_v1.File_grpc_health_v1_health_proto.Services().ByName("Health"),
	)
}

// decoding is a message to decode, and the codec's error. grpc-go would turn an error that
// the codec returns into an internal error.
type decoding struct {
	message any
	arrival *admission.Arrival // arrival of the call; decoding waits until the arrival has a decode slot
	err     error
}

// grpcCodec is grpc-go's protobuf codec, except that it doesn't decode requests and
// replies of inferences. It checks the budgets of messages.
type grpcCodec struct {
	proto encoding.CodecV2
	kinds budget.Kinds
}

func newGRPCCodec() grpcCodec { return grpcCodec{encoding.GetCodecV2("proto"), kinds()} }

// Name returns the content subtype.
func (grpcCodec) Name() string { return "proto" }

// Marshal passes a reply's buffers on without a copy.
func (c grpcCodec) Marshal(v any) (mem.BufferSlice, error) {
	if r, ok := v.(*reply); ok {
		return r.encoded, nil
	}
	return c.proto.Marshal(v)
}

// Unmarshal keeps a reference to a request's buffers.
func (c grpcCodec) Unmarshal(data mem.BufferSlice, v any) error {
	d, ok := v.(*decoding)
	if !ok {
		return c.unmarshal(data, v)
	}
	if _, runs := d.message.(*request); runs {
		if d.err = d.arrival.Decode(); d.err != nil {
			return nil
		}
		defer d.arrival.Decoded()
	}
	err := c.unmarshal(data, d.message)
	if over, is := errors.AsType[*budget.Error](err); is {
		d.err = over
		return nil
	}
	return err
}

func (c grpcCodec) unmarshal(data mem.BufferSlice, v any) (err error) {
	switch v := v.(type) {
	case *request:
		data.Ref()
		v.InferRequest, err = inference.NewInferRequest(data)
		return err
	case proto.Message:
		whole := data.MaterializeToBuffer(mem.DefaultBufferPool())
		defer whole.Free()
		if err := c.kinds.Check(v, whole.ReadOnlyData()); err != nil {
			return err
		}
		return c.proto.Unmarshal(mem.BufferSlice{whole}, v)
	}
	return c.proto.Unmarshal(data, v)
}

// codecs returns Connect's codecs for handlers. They don't decode requests and replies of
// inferences, and pass all other messages to protocodec.
func codecs(kinds budget.Kinds) []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithCodec(binaryCodec{protocodec.Binary{Kinds: kinds}}),
		connect.WithCodec(jsonCodec{protocodec.JSON{Subtype: protocodec.JSONName, Kinds: kinds}}),
		connect.WithCodec(jsonCodec{protocodec.JSON{Subtype: protocodec.JSONCharsetName, Kinds: kinds}}),
	}
}

// binaryCodec is the protobuf codec. It copies a request out of Connect's buffer once.
type binaryCodec struct{ protocodec.Binary }

// Marshal returns the bytes of a reply.
func (c binaryCodec) Marshal(v any) ([]byte, error) { return c.MarshalAppend(nil, v) }

// MarshalAppend appends the bytes of a reply.
func (c binaryCodec) MarshalAppend(to []byte, v any) ([]byte, error) {
	r, ok := v.(*reply)
	if !ok {
		return c.Binary.MarshalAppend(to, v)
	}
	defer r.encoded.Free()
	to = slices.Grow(to, r.encoded.Len())
	for _, piece := range r.encoded {
		to = append(to, piece.ReadOnlyData()...)
	}
	return to, nil
}

// Unmarshal copies a request.
func (c binaryCodec) Unmarshal(data []byte, v any) (err error) {
	r, ok := v.(*request)
	if !ok {
		return c.Binary.Unmarshal(data, v)
	}
	r.InferRequest, err = inference.NewInferRequest(mem.BufferSlice{mem.Copy(data, mem.DefaultBufferPool())})
	return err
}

// jsonCodec is the JSON codec for the same messages.
type jsonCodec struct{ protocodec.JSON }

// Marshal decodes a reply and encodes it as JSON.
func (c jsonCodec) Marshal(v any) ([]byte, error) { return c.MarshalAppend(nil, v) }

// MarshalAppend is [binaryCodec.MarshalAppend] for JSON.
func (c jsonCodec) MarshalAppend(to []byte, v any) ([]byte, error) {
	r, ok := v.(*reply)
	if !ok {
		return c.JSON.MarshalAppend(to, v)
	}
	defer r.encoded.Free()
	m, err := r.message()
	if err != nil {
		return nil, err
	}
	return c.JSON.MarshalAppend(to, m)
}

// Unmarshal decodes a request from JSON and encodes it as protobuf.
func (c jsonCodec) Unmarshal(data []byte, v any) error {
	r, ok := v.(*request)
	if !ok {
		return c.JSON.Unmarshal(data, v)
	}
	decoded := &kserve.ModelInferRequest{}
	if err := c.JSON.Unmarshal(data, decoded); err != nil {
		return err
	}
	encoded, err := proto.Marshal(decoded)
	if err != nil {
		return err
	}
	r.InferRequest, err = inference.NewInferRequest(mem.BufferSlice{mem.SliceBuffer(encoded)})
	return err
}
