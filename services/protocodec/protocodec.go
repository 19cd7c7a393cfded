// Package protocodec has Connect codecs of protobuf and JSON for Trident's handlers. The
// codecs check a message's budget before they decode the message. Unlike Connect's own
// codecs, they append to the buffer that Connect reuses. The budgets belong to package
// budget.
//
// A service that passes messages on undecoded wraps [Binary] and [JSON] itself:
// services/kserve does.
package protocodec

import (
	"errors"
	"fmt"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/services/budget"
)

// The content subtypes of JSON. Browsers add the charset.
const (
	JSONName        = "json"
	JSONCharsetName = "json; charset=utf-8"
)

// Options returns the handler options for messages with the given maximum numbers of elements.
func Options(kinds budget.Kinds) []connect.HandlerOption {
	return []connect.HandlerOption{
		connect.WithCodec(Binary{kinds}), connect.WithCodec(JSON{JSONName, kinds}), connect.WithCodec(JSON{JSONCharsetName, kinds}),
	}
}

// Binary is the codec of protobuf. It may be used concurrently.
type Binary struct{ Kinds budget.Kinds }

// Name is the content subtype.
func (Binary) Name() string { return "proto" }

// Marshal encodes a message.
func (c Binary) Marshal(v any) ([]byte, error) { return c.MarshalAppend(nil, v) }

// MarshalAppend appends an encoded message to a buffer. Connect prefers it to Marshal:
// Connect reuses the buffer for the next message, but would retain each buffer that Marshal
// returns.
func (Binary) MarshalAppend(to []byte, v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, errNotProto(v)
	}
	return proto.MarshalOptions{}.MarshalAppend(to, m)
}

// Unmarshal decodes a message. It returns an error if the message has more elements than its type
// allows.
func (c Binary) Unmarshal(data []byte, v any) error {
	m, ok := v.(proto.Message)
	if !ok {
		return errNotProto(v)
	}
	if err := c.Kinds.Check(m, data); err != nil {
		return err
	}
	return proto.Unmarshal(data, m)
}

// JSON is the codec of protobuf's JSON format. It may be used concurrently.
type JSON struct {
	Subtype string
	Kinds   budget.Kinds
}

// Name is the content subtype.
func (c JSON) Name() string { return c.Subtype }

// Marshal encodes a message.
func (c JSON) Marshal(v any) ([]byte, error) { return c.MarshalAppend(nil, v) }

// MarshalAppend is [Binary.MarshalAppend] for JSON.
func (JSON) MarshalAppend(to []byte, v any) ([]byte, error) {
	m, ok := v.(proto.Message)
	if !ok {
		return nil, errNotProto(v)
	}
	return protojson.MarshalOptions{}.MarshalAppend(to, m)
}

var errNoJSON = errors.New("zero-length payload is not a valid JSON object")

// Unmarshal checks a message's budget and decodes it. It ignores unknown fields, as the
// binary codec does.
func (c JSON) Unmarshal(data []byte, v any) error {
	if len(data) == 0 {
		return errNoJSON
	}
	m, ok := v.(proto.Message)
	if !ok {
		return errNotProto(v)
	}
	if err := c.Kinds.CheckJSON(m, data); err != nil {
		return err
	}
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, m)
}

func errNotProto(v any) error { return fmt.Errorf("%T is not a protobuf message", v) }
