package triton

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that marshals requests
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Parameters of Triton's streams. With enableEmptyFinal, a request asks the
// server to flag its final response. A response has the flag in finalResponse.
const (
	enableEmptyFinal = "triton_enable_empty_final_response"
	finalResponse    = "triton_final_response"
)

// codec encodes and decodes the messages of ModelStreamInfer. It marshals *kserve.ModelInferRequest
// or an encoded request, and unmarshals into *frame. Generated code would build a tree of some
// twenty objects for each response. A frame has views into the message instead.
type codec struct {
	proto  encoding.CodecV2
	suffix mem.SliceBuffer
}

// verbatim is an encoded request that Marshal sends without a further
// parameter.
type verbatim mem.BufferSlice

func newCodec() *codec {
	value := protowire.AppendTag(nil, 1, protowire.VarintType) // InferParameter.bool_param
	value = protowire.AppendVarint(value, 1)
	entry := protowire.AppendTag(nil, 1, protowire.BytesType)
	entry = protowire.AppendString(entry, enableEmptyFinal)
	entry = protowire.AppendTag(entry, 2, protowire.BytesType)
	entry = protowire.AppendBytes(entry, value)
	suffix := protowire.AppendTag(nil, 4, protowire.BytesType) // ModelInferRequest.parameters
	suffix = protowire.AppendBytes(suffix, entry)
	return &codec{proto: encoding.GetCodecV2("proto"), suffix: suffix}
}

// Name returns the content subtype. The encoding is plain protobuf.
func (*codec) Name() string { return "proto" }

// Marshal appends enableEmptyFinal to the encoded request and leaves v
// unchanged. In protobuf's encoding, a later map entry for the same key wins.
func (c *codec) Marshal(v any) (mem.BufferSlice, error) {
	switch encoded := v.(type) {
	case mem.BufferSlice:
		encoded.Ref()
		return append(slices.Clip(encoded), c.suffix), nil
	case verbatim:
		mem.BufferSlice(encoded).Ref()
		return mem.BufferSlice(encoded), nil
	}
	data, err := c.proto.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(data, c.suffix), nil
}

// Unmarshal decodes a *frame, which keeps the data until the frame is freed.
func (*codec) Unmarshal(data mem.BufferSlice, v any) error {
	f, ok := v.(*frame)
	if !ok {
		return fmt.Errorf("can't decode a gRPC message into a value of type %T", v)
	}
	f.free()
	f.hold(data.MaterializeToBuffer(mem.DefaultBufferPool()))
	return f.decode(f.buffer.ReadOnlyData())
}

// frame is a ModelStreamInferResponse. Its response is a view into its buffer.
type frame struct {
	response inference.Response
	failure  string // error_message; empty if there is no error
	flagged  bool   // the response has the final flag

	names  *names // shared by the frames of a stream
	buffer mem.Buffer
	whole  [1]mem.Buffer // contains only the buffer
	// The slice raws and the following slices are kept for reuse.
	raws    [][]byte
	tensors [][]byte // the encoded outputs
	typed   bool     // an output has typed contents
	head    []byte   // the part of the encoded response before its first raw contents
}

// hold makes the frame the owner of the message's buffer.
func (f *frame) hold(buffer mem.Buffer) {
	f.buffer, f.whole[0] = buffer, buffer
	f.response.Encoded = f.whole[:]
}

// free releases the buffer, if the frame has one, and empties the frame.
func (f *frame) free() {
	if f.buffer != nil {
		f.buffer.Free()
		f.buffer, f.whole[0] = nil, nil
	}
	clear(f.response.Outputs)
	clear(f.raws)
	clear(f.tensors)
	f.response = inference.Response{Outputs: f.response.Outputs[:0]}
	f.failure, f.flagged, f.typed, f.head = "", false, false, nil
	f.raws, f.tensors = f.raws[:0], f.tensors[:0]
}

// mayContinue reports whether further responses may follow a failure, which only requests that are
// forwarded allow. The failure of a refused request has no final flag, and no response follows.
func (f *frame) mayContinue(forwards bool) bool { return forwards && f.flagged }

// size returns the size of the frame's message in bytes.
func (f *frame) size() int { return f.buffer.Len() }

var (
	errUTF8     = errors.New("a string in the inference server's response isn't valid UTF-8")
	errContents = errors.New("the inference server's response has another number of raw contents than of outputs")
)

// decode reads the message as [proto.Unmarshal] does, with the fields in any
// order. The frame must be empty.
func (f *frame) decode(b []byte) error {
	if f.decodeKnown(b) {
		return nil
	}
	err := f.decodeAll(b)
	if err == nil {
		f.remember(b)
	}
	return err
}

func (f *frame) decodeAll(b []byte) error {
	w := walker{rest: b}
	for w.next() {
		switch {
		case w.is(1, protowire.BytesType):
			f.failure = strings.ToValidUTF8(string(w.bytes), "\uFFFD")
		case w.is(2, protowire.BytesType):
			if err := f.decodeResponse(w.bytes); err != nil {
				return err
			}
		}
	}
	if w.err != nil {
		return w.err
	}
	return f.assign()
}

func (f *frame) decodeResponse(b []byte) (err error) {
	w := walker{rest: b}
	for at := 0; w.next() && err == nil; at = len(b) - len(w.rest) {
		switch {
		case w.is(2, protowire.BytesType):
			f.response.Version, err = f.names.version.intern(w.bytes)
		case w.is(3, protowire.BytesType):
			f.response.ID, err = f.names.request.intern(w.bytes)
		case w.is(4, protowire.BytesType):
			err = f.decodeParameter(w.bytes)
		case w.is(5, protowire.BytesType):
			err = f.decodeOutput(w.bytes)
		case w.is(6, protowire.BytesType):
			if len(f.raws) == 0 {
				f.head = b[:at]
			}
			f.raws = append(f.raws, w.bytes)
		}
	}
	return firstError(err, w.err)
}

func (f *frame) decodeOutput(b []byte) error {
	recent := f.names.output(len(f.response.Outputs))
	if !recent.is(b) {
		if err := recent.decode(b); err != nil {
			return err
		}
	}
	f.typed = f.typed || recent.typed
	f.response.Outputs = append(f.response.Outputs, recent.output)
	f.tensors = append(f.tensors, b)
	return nil
}

func firstError(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// decodeParameter reads an entry of the parameters: the final flag, or a
// parameter of the model.
func (f *frame) decodeParameter(b []byte) error {
	var key []byte
	var value bool
	w := walker{rest: b}
	for w.next() {
		switch {
		case w.is(1, protowire.BytesType):
			key = w.bytes
		case w.is(2, protowire.BytesType):
			var err error
			if value, err = decodeBool(w.bytes, value); err != nil {
				return err
			}
		}
	}
	if string(key) == finalResponse {
		f.flagged, f.response.Final = true, value
		return w.err
	}
	return firstError(w.err, f.keepParameter(b))
}

// keepParameter adds a parameter of the model to the response.
func (f *frame) keepParameter(b []byte) error {
	entry := protowire.AppendTag(nil, 4, protowire.BytesType) // ModelInferResponse.parameters
	var parsed kserve.ModelInferResponse
	if err := proto.Unmarshal(protowire.AppendBytes(entry, b), &parsed); err != nil {
		return err
	}
	if f.response.Parameters == nil {
		f.response.Parameters = parsed.GetParameters()
	} else {
		maps.Copy(f.response.Parameters, parsed.GetParameters())
	}
	return nil
}

// decodeBool returns InferParameter's bool_param. It returns false if another
// member of the oneof comes last.
func decodeBool(b []byte, value bool) (bool, error) {
	w := walker{rest: b}
	for w.next() {
		switch {
		case w.is(1, protowire.VarintType):
			value = w.varint != 0
		case w.is(2, protowire.VarintType), w.is(3, protowire.BytesType), w.is(4, protowire.Fixed64Type), w.is(5, protowire.VarintType):
			value = false
		}
	}
	return value, w.err
}

// assign sets the contents of the outputs, which are raw for all outputs, or
// typed.
func (f *frame) assign() error {
	outputs := f.response.Outputs
	if len(f.raws) == 0 && f.typed {
		for i, b := range f.tensors {
			var tensor kserve.ModelInferResponse_InferOutputTensor
			if err := proto.Unmarshal(b, &tensor); err != nil {
				return err
			}
			outputs[i].Raw = Flatten(tensor.GetDatatype(), tensor.GetContents())
		}
		return nil
	}
	if len(f.raws) != 0 && len(f.raws) != len(outputs) {
		return errContents
	}
	for i, raw := range f.raws {
		outputs[i].Raw = raw
	}
	return nil
}

// known is the part of a stream's latest response that precedes the raw contents, encoded and
// decoded. Most responses of a stream differ in their raw contents alone.
type known struct {
	head        []byte // the encoded fields; empty if none are known
	id, version string
	outputs     []inference.Output // without contents
	flagged     bool
}

// maxHead is the maximum size of a known head, in bytes.
const maxHead = 1 << 10

// decodeKnown decodes a message whose response begins with the known head, and has nothing but raw
// contents after it. It returns false, and leaves the frame as it was, for any other message.
func (f *frame) decodeKnown(b []byte) bool {
	k := &f.names.known
	body, only := onlyResponse(b)
	if !only || len(k.head) == 0 || !bytes.HasPrefix(body, k.head) {
		return false
	}
	outputs := f.response.Outputs // empty
	outputs = append(outputs, k.outputs...)
	w := walker{rest: body[len(k.head):]}
	for i := range outputs {
		if !w.next() || !w.is(6, protowire.BytesType) {
			clear(outputs)
			return false
		}
		outputs[i].Raw = w.bytes
	}
	if len(w.rest) > 0 {
		clear(outputs)
		return false
	}
	f.response.Outputs, f.response.ID, f.response.Version, f.flagged = outputs, k.id, k.version, k.flagged
	return true
}

// remember makes the response's head the known one, unless it is the last response or has
// parameters of the model.
func (f *frame) remember(b []byte) {
	body, only := onlyResponse(b)
	if !only || len(f.head) == 0 || len(f.head) > maxHead || f.typed || f.response.Final || f.response.Parameters != nil {
		return
	}
	w := walker{rest: body[len(f.head):]}
	for range f.raws {
		w.next() // it was decoded, so it has no errors
	}
	if len(w.rest) > 0 { // other fields follow the head, which the decoded values may be from
		return
	}
	k := &f.names.known
	k.head, k.outputs = append(k.head[:0], f.head...), append(k.outputs[:0], f.response.Outputs...)
	k.id, k.version, k.flagged = f.response.ID, f.response.Version, f.flagged
	for i := range k.outputs {
		k.outputs[i].Raw = nil
	}
}

// onlyResponse returns the encoded response of a message that has no other field.
func onlyResponse(b []byte) (body []byte, ok bool) {
	w := walker{rest: b}
	ok = w.next() && w.is(2, protowire.BytesType) && len(w.rest) == 0
	return w.bytes, ok
}

// walker iterates over the fields of a message.
type walker struct {
	rest   []byte
	number protowire.Number
	wire   protowire.Type
	bytes  []byte // contents of the current field, if its wire type is BytesType
	varint uint64 // value of the current field, if its wire type is VarintType
	err    error
}

func (w *walker) is(number protowire.Number, wire protowire.Type) bool {
	return w.number == number && w.wire == wire
}

func (w *walker) next() bool {
	if len(w.rest) == 0 || w.err != nil {
		return false
	}
	if w.short() {
		return true
	}
	var n int
	if w.number, w.wire, n = protowire.ConsumeTag(w.rest); n >= 0 {
		w.rest = w.rest[n:]
		switch w.wire {
		case protowire.BytesType:
			w.bytes, n = protowire.ConsumeBytes(w.rest)
		case protowire.VarintType:
			w.varint, n = protowire.ConsumeVarint(w.rest)
		default:
			n = protowire.ConsumeFieldValue(w.number, w.wire, w.rest)
		}
	}
	if n < 0 {
		w.err = protowire.ParseError(n)
		return false
	}
	w.rest = w.rest[n:]
	return true
}

// short reads a field of BytesType whose tag and length take one byte each. Most
// fields of a token's response are such fields, and protowire takes several
// times as long for them.
func (w *walker) short() bool {
	const tagBytes, lengthAt, contentAt = 0x07, 1, 2
	if len(w.rest) < contentAt || w.rest[0] >= 0x80 || protowire.Type(w.rest[0]&tagBytes) != protowire.BytesType || w.rest[0] < 1<<3 {
		return false
	}
	end := contentAt + int(w.rest[lengthAt])
	if w.rest[lengthAt] >= 0x80 || end > len(w.rest) {
		return false
	}
	w.number, w.wire = protowire.Number(w.rest[0]>>3), protowire.BytesType
	w.bytes, w.rest = w.rest[contentAt:end:end], w.rest[end:]
	return true
}

// names caches the strings and outputs of a stream's latest response. The next response mostly has
// the same ones, and then needs no memory and no decoding. names isn't safe for concurrent use.
type names struct {
	request interned // the request's id, which its responses have too
	version interned // the model's version
	outputs []description
	known   known
}

// output returns the cached description of the i-th output.
func (n *names) output(i int) *description {
	if i == len(n.outputs) {
		n.outputs = append(n.outputs, description{})
	}
	return &n.outputs[i]
}

// maxDescription is the maximum size of a cached output, in bytes. An output with
// typed contents may have any size.
const maxDescription = 256

// description is an InferOutputTensor: an output's name, type and shape.
type description struct {
	encoded        []byte // the encoded output; empty if the output isn't cached
	output         inference.Output
	typed          bool // the encoded output includes its contents
	name, datatype interned
}

func (d *description) is(b []byte) bool { return len(d.encoded) > 0 && bytes.Equal(d.encoded, b) }

func (d *description) decode(b []byte) (err error) {
	// A response may still use the previous shape, so the new one needs its own
	// memory.
	d.encoded, d.output, d.typed = d.encoded[:0], inference.Output{Shape: []int64{}}, false
	w := walker{rest: b}
	for w.next() && err == nil {
		switch {
		case w.is(1, protowire.BytesType):
			d.output.Name, err = d.name.intern(w.bytes)
		case w.is(2, protowire.BytesType):
			d.output.Type, err = d.datatype.intern(w.bytes)
		case w.is(3, protowire.BytesType):
			err = d.decodeShape(w.bytes)
		case w.is(3, protowire.VarintType):
			d.output.Shape = append(d.output.Shape, int64(w.varint))
		case w.is(5, protowire.BytesType):
			d.typed = true
		}
	}
	if err = firstError(err, w.err); err == nil && len(b) <= maxDescription {
		d.encoded = append(d.encoded, b...)
	}
	return err
}

func (d *description) decodeShape(b []byte) error {
	for len(b) > 0 {
		v, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		d.output.Shape = append(d.output.Shape, int64(v))
		b = b[n:]
	}
	return nil
}

// interned is a string that is reused while the next values are equal.
type interned string

// intern returns the bytes as a string, without an allocation if they equal the
// previous ones. It returns an error if they aren't UTF-8.
func (s *interned) intern(b []byte) (string, error) {
	if string(b) == string(*s) {
		return string(*s), nil
	}
	if !utf8.Valid(b) {
		return "", errUTF8
	}
	*s = interned(b)
	return string(*s), nil
}
