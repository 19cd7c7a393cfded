package kserve

import (
	"errors"
	"fmt"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
)

// request is a ModelInferRequest as it came. Who receives it frees it.
type request struct{ *inference.InferRequest }

// decoded makes a message of no bytes what it says, a request without anything: Connect
// asks no codec about it.
func (r *request) decoded() *request {
	if r.InferRequest == nil {
		r.InferRequest, _ = inference.NewInferRequest(mem.BufferSlice{}) // nothing to be wrong
	}
	return r
}

// reply is an encoded ModelInferResponse, or ModelStreamInferResponse of a stream.
// Sending it frees it.
type reply struct {
	encoded mem.BufferSlice
	stream  bool
}

// message decodes the reply for clients that read JSON.
func (r *reply) message() (proto.Message, error) {
	var m proto.Message = &kserve.ModelInferResponse{}
	if r.stream {
		m = &kserve.ModelStreamInferResponse{}
	}
	return m, proto.Unmarshal(r.encoded.Materialize(), m)
}

// kinds are the budgets of what the service's methods take, and of health's and
// reflection's.
func kinds() budget.Kinds {
	return budget.Inputs(
		kserve.File_kserve_grpc_service_proto.Services().ByName("GRPCInferenceService"),
		grpc_health_v1.File_grpc_health_v1_health_proto.Services().ByName("Health"),
	)
}

// decoding is a message that is to be decoded, and what was wrong with it: grpc-go would
// make an internal error of an error of the codec's.
type decoding struct {
	message any
	arrival *admission.Arrival // of the call; it waits for the decode slot
	wrong   error
}

// grpcCodec is grpc-go's codec of protobuf that leaves requests and replies of
// inferences as they are, and holds messages to their budgets.
type grpcCodec struct {
	proto encoding.CodecV2
	kinds budget.Kinds
}

func newGRPCCodec() grpcCodec { return grpcCodec{encoding.GetCodecV2("proto"), kinds()} }

// Name is the content subtype.
func (grpcCodec) Name() string { return "proto" }

// Marshal hands a reply's buffers over.
func (c grpcCodec) Marshal(v any) (mem.BufferSlice, error) {
	if r, ok := v.(*reply); ok {
		return r.encoded, nil
	}
	return c.proto.Marshal(v)
}

// Unmarshal keeps a request's buffers.
func (c grpcCodec) Unmarshal(data mem.BufferSlice, v any) error {
	d, ok := v.(*decoding)
	if !ok {
		return c.unmarshal(data, v)
	}
	if _, runs := d.message.(*request); runs {
		if d.wrong = d.arrival.Decode(); d.wrong != nil {
			return nil
		}
		defer d.arrival.Decoded()
	}
	err := c.unmarshal(data, d.message)
	if over, is := errors.AsType[*budget.Error](err); is {
		d.wrong = over
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

// Codecs are Connect's for handlers: they hold messages to their budgets before they decode
// them, and leave requests and replies of inferences as they are.
func Codecs(kinds budget.Kinds) []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithCodec(connectCodec{kinds}), connect.WithCodec(jsonCodec{"json", kinds}), connect.WithCodec(jsonCodec{"json; charset=utf-8", kinds}),
	}
}

// connectCodec is that of protobuf. What comes is copied out of Connect's buffer once.
type connectCodec struct{ kinds budget.Kinds }

// Name is the content subtype.
func (connectCodec) Name() string { return "proto" }

// Marshal gives a reply's bytes.
func (c connectCodec) Marshal(v any) ([]byte, error) { return c.MarshalAppend(nil, v) }

// MarshalAppend is what Connect asks for where it is there: it keeps what it is given for
// the next message, and would keep each message that it is given anew.
func (connectCodec) MarshalAppend(to []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case *reply:
		defer v.encoded.Free()
		to = slices.Grow(to, v.encoded.Len())
		for _, piece := range v.encoded {
			to = append(to, piece.ReadOnlyData()...)
		}
		return to, nil
	case proto.Message:
		return proto.MarshalOptions{}.MarshalAppend(to, v)
	}
	return nil, errNotProto(v)
}

// Unmarshal copies a request.
func (c connectCodec) Unmarshal(data []byte, v any) (err error) {
	switch v := v.(type) {
	case *request:
		v.InferRequest, err = inference.NewInferRequest(mem.BufferSlice{mem.Copy(data, mem.DefaultBufferPool())})
		return err
	case proto.Message:
		if err := c.kinds.Check(v, data); err != nil {
			return err
		}
		return proto.Unmarshal(data, v)
	}
	return errNotProto(v)
}

// jsonCodec is Connect's codec of JSON for the same messages.
type jsonCodec struct {
	name  string
	kinds budget.Kinds
}

// Name is json, or the same with the charset that browsers add.
func (c jsonCodec) Name() string { return c.name }

// Marshal decodes replies and encodes them again.
func (c jsonCodec) Marshal(v any) ([]byte, error) { return c.MarshalAppend(nil, v) }

// MarshalAppend is [connectCodec.MarshalAppend] for JSON.
func (jsonCodec) MarshalAppend(to []byte, v any) ([]byte, error) {
	options := protojson.MarshalOptions{}
	switch v := v.(type) {
	case *reply:
		defer v.encoded.Free()
		m, err := v.message()
		if err != nil {
			return nil, err
		}
		return options.MarshalAppend(to, m)
	case proto.Message:
		return options.MarshalAppend(to, v)
	}
	return nil, errNotProto(v)
}

var errNoJSON = errors.New("zero-length payload is not a valid JSON object")

// Unmarshal reads JSON. Unknown fields mean nothing, as in protobuf.
func (c jsonCodec) Unmarshal(data []byte, v any) error {
	if len(data) == 0 {
		return errNoJSON
	}
	options := protojson.UnmarshalOptions{DiscardUnknown: true}
	switch v := v.(type) {
	case *request:
		decoded := &kserve.ModelInferRequest{}
		if err := c.kinds.CheckJSON(decoded, data); err != nil {
			return err
		}
		if err := options.Unmarshal(data, decoded); err != nil {
			return err
		}
		encoded, err := proto.Marshal(decoded)
		if err != nil {
			return err
		}
		v.InferRequest, err = inference.NewInferRequest(mem.BufferSlice{mem.SliceBuffer(encoded)})
		return err
	case proto.Message:
		if err := c.kinds.CheckJSON(v, data); err != nil {
			return err
		}
		return options.Unmarshal(data, v)
	}
	return errNotProto(v)
}

func errNotProto(v any) error { return fmt.Errorf("%T is no message of this service", v) }
