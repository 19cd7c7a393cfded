package inference

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/budget"
)

// Fields of a ModelInferRequest on the wire. The generic protobuf code takes several times as
// long as this decoder for the fields of a small request. The generic code is used only for rare
// fields.
const (
	fieldModelName     protowire.Number = 1
	fieldModelVersion  protowire.Number = 2
	fieldRequestID     protowire.Number = 3
	fieldParameters    protowire.Number = 4
	fieldInputs        protowire.Number = 5
	fieldOutputs       protowire.Number = 6
	fieldRawContents   protowire.Number = 7
	fieldTensorName    protowire.Number = 1 // name of an InferInputTensor and of an InferRequestedOutputTensor
	fieldInputDatatype protowire.Number = 2
	fieldInputShape    protowire.Number = 3

	fieldInputParameters  protowire.Number = 4
	fieldInputContents    protowire.Number = 5
	fieldBytesContents    protowire.Number = 8 // bytes_contents of an input's contents
	fieldOutputParameters protowire.Number = 2
)

var (
	errWire = errors.New("the bytes are not in protobuf's wire format")
	errUTF8 = errors.New("a string field has invalid UTF-8")
)

// The maximum numbers of elements in the description of an input and of a requested output.
var (
	inputBudget  = budget.Of((&kserve.ModelInferRequest_InferInputTensor{}).ProtoReflect().Descriptor())           //nolint:gochecknoglobals // a constant, computed once for all requests
	outputBudget = budget.Of((&kserve.ModelInferRequest_InferRequestedOutputTensor{}).ProtoReflect().Descriptor()) //nolint:gochecknoglobals // a constant, computed once for all requests
)

// elements has the number of elements of a request's lists, by field.
type elements [fieldRawContents + 1]int

// add counts an element of a list. It returns a [*budget.Error] for the first element above the
// maximum of the list.
func (e *elements) add(number protowire.Number) error {
	var name string
	most := budget.Tensors
	switch number {
	case fieldParameters:
		most, name = budget.Keys, "parameters"
	case fieldInputs:
		name = "inputs"
	case fieldOutputs:
		name = "outputs"
	case fieldRawContents:
		name = "raw_input_contents"
	default:
		return nil
	}
	e[number]++
	return within(e[number], most, name, "elements")
}

// readHead decodes all fields except the tensors, and checks the tensors' descriptions against
// the budgets: a request may be forwarded without further decoding. Unknown fields are skipped.
func (m *InferRequest) readHead() error {
	var parameters []byte
	var counts elements
	err := m.each(func(number protowire.Number, c *cursor, size int) (err error) {
		if err := counts.add(number); err != nil {
			return err
		}
		switch number {
		case fieldModelName:
			m.head.ModelName, err = c.text(size)
		case fieldModelVersion:
			m.head.ModelVersion, err = c.text(size)
		case fieldRequestID:
			m.head.Id, err = c.text(size)
		case fieldParameters:
			parameters = protowire.AppendTag(parameters, number, protowire.BytesType)
			parameters, err = c.appendTo(protowire.AppendVarint(parameters, uint64(size)), size)
		case fieldInputs:
			err = checkInput(c, size)
		case fieldOutputs:
			err = checkOutput(c, size)
		default:
			err = c.skip(size)
		}
		return err
	})
	if err == nil && parameters != nil {
		err = proto.UnmarshalOptions{Merge: true}.Unmarshal(parameters, m.head)
	}
	return err
}

// checkInput reads over the description of an input. It returns a [*budget.Error] if the
// description has more elements than allowed.
func checkInput(c *cursor, size int) error {
	var dimensions, keys, texts int
	return c.fields(size, func(number protowire.Number, wire protowire.Type, n int) error {
		switch {
		case number == fieldInputShape && wire == protowire.BytesType:
			dimensions += c.varints(n)
			n = 0
		case number == fieldInputShape:
			dimensions++
		case number == fieldInputParameters:
			keys++
		case number == fieldInputContents:
			return c.fields(n, func(number protowire.Number, _ protowire.Type, n int) error {
				if number == fieldBytesContents {
					texts++
				}
				return cmp.Or(within(texts, budget.Strings, "contents.bytes_contents", "elements"), c.skip(n))
			})
		}
		return cmp.Or(within(dimensions, budget.Dimensions, "shape", "elements"), within(keys, budget.Keys, "parameters", "keys"), c.skip(n))
	})
}

// checkOutput reads over the description of a requested output. It returns a [*budget.Error] if
// the description exceeds a budget.
func checkOutput(c *cursor, size int) error {
	var keys int
	return c.fields(size, func(number protowire.Number, _ protowire.Type, n int) error {
		if number == fieldOutputParameters {
			keys++
		}
		return cmp.Or(within(keys, budget.Keys, "parameters", "keys"), c.skip(n))
	})
}

// within returns a [*budget.Error] if the count of a field is above most.
func within(count, most int, field, what string) error {
	if count > most {
		return &budget.Error{Field: field, Most: most, What: what}
	}
	return nil
}

// readTensors decodes the descriptions of the tensors and returns the raw contents.
func (m *InferRequest) readTensors() (raw []Content, err error) {
	err = m.each(func(number protowire.Number, c *cursor, size int) error {
		switch number {
		case fieldInputs, fieldOutputs:
			b, err := c.whole(size)
			if err != nil {
				return err
			}
			if number == fieldInputs {
				return m.readInput(b)
			}
			return m.readOutput(b)
		case fieldRawContents:
			content, err := c.views(size)
			raw = append(raw, content)
			return err
		default:
			return c.skip(size)
		}
	})
	return raw, err
}

func (m *InferRequest) readInput(b []byte) error {
	in := &kserve.ModelInferRequest_InferInputTensor{}
	m.head.Inputs = append(m.head.Inputs, in)
	if plainInput(b, in) {
		return nil
	}
	if err := inputBudget.Check(b); err != nil {
		return err
	}
	return proto.Unmarshal(b, in)
}

func (m *InferRequest) readOutput(b []byte) error {
	out := &kserve.ModelInferRequest_InferRequestedOutputTensor{}
	m.head.Outputs = append(m.head.Outputs, out)
	number, name, rest := nextField(b)
	if number == fieldTensorName && len(rest) == 0 && utf8.Valid(name) {
		out.Name = string(name)
		return nil
	}
	if err := outputBudget.Check(b); err != nil {
		return err
	}
	return proto.Unmarshal(b, out)
}

// plainInput decodes an input that has only a name, a datatype and a packed shape, as protobuf's
// code encodes it. It returns false for any other input, and for an invalid one.
func plainInput(b []byte, in *kserve.ModelInferRequest_InferInputTensor) bool {
	for len(b) > 0 {
		number, value, rest := nextField(b)
		switch {
		case number == fieldTensorName && utf8.Valid(value):
			in.Name = string(value)
		case number == fieldInputDatatype && utf8.Valid(value):
			in.Datatype = string(value)
		case number == fieldInputShape:
			for len(value) > 0 {
				dim, n := protowire.ConsumeVarint(value)
				if n < 0 || len(in.GetShape()) == budget.Dimensions {
					return false
				}
				in.Shape, value = append(in.Shape, int64(dim)), value[n:]
			}
		default:
			return false
		}
		b = rest
	}
	return true
}

// nextField consumes a length-delimited field of a message. The number is 0 for any other field.
func nextField(b []byte) (number protowire.Number, value, rest []byte) {
	number, wire, n := protowire.ConsumeTag(b)
	if n < 0 || wire != protowire.BytesType {
		return 0, nil, nil
	}
	value, k := protowire.ConsumeBytes(b[n:])
	if k < 0 {
		return 0, nil, nil
	}
	return number, value, b[n+k:]
}

// each calls the function read for each field of the schema; read must consume the field from the
// cursor. All fields of the schema are length-delimited, so a field of another wire type is
// unknown.
func (m *InferRequest) each(read func(number protowire.Number, c *cursor, size int) error) error {
	c := cursor{rest: m.encoded, left: m.encoded.Len()}
	unknown := 0
	for !c.ended() {
		number, wire, size, err := c.field()
		switch {
		case err != nil:
			return err
		case !number.IsValid():
			return errWire
		case wire == protowire.BytesType && number <= fieldRawContents:
			err = read(number, &c, size)
		case unknown == budget.UnknownFields:
			return &budget.Error{Most: budget.UnknownFields, What: "unknown fields"}
		default:
			unknown++
			err = c.skip(size)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// cursor reads a message that is spread over several buffers.
type cursor struct {
	rest mem.BufferSlice // buffers not yet started
	part []byte          // the rest of the current buffer
	// left is the number of bytes in rest and part. It is kept, because adding them up for each
	// field would let a client choose the cost by its number of buffers.
	left int
}

// take consumes n bytes of the current buffer.
func (c *cursor) take(n int) []byte {
	taken := c.part[:n:n]
	c.part, c.left = c.part[n:], c.left-n
	return taken
}

// ended reports whether the message ends here. It advances to the next buffer if the current one
// is used up.
func (c *cursor) ended() bool {
	for len(c.part) == 0 {
		if len(c.rest) == 0 {
			return true
		}
		c.part, c.rest = c.rest[0].ReadOnlyData(), c.rest[1:]
	}
	return false
}

// maxVarint is the maximum length of a varint in bytes.
const maxVarint = 10

func (c *cursor) varint() (uint64, error) {
	if v, n := protowire.ConsumeVarint(c.part); n > 0 {
		c.take(n)
		return v, nil
	}
	var bytes [maxVarint]byte
	for i := range bytes {
		if c.ended() {
			return 0, io.ErrUnexpectedEOF
		}
		bytes[i] = c.take(1)[0]
		if bytes[i] < 0x80 {
			v, n := protowire.ConsumeVarint(bytes[:i+1])
			if n < 0 {
				return 0, protowire.ParseError(n)
			}
			return v, nil
		}
	}
	return 0, errWire
}

// field reads the tag of a field: its number, its wire type and the number of bytes of its value.
func (c *cursor) field() (protowire.Number, protowire.Type, int, error) {
	if p := c.part; len(p) > 1 && p[0]|p[1] < 0x80 { // the tag, and the size or value, have one byte each, as in most fields
		number, wire := protowire.DecodeTag(uint64(p[0]))
		switch n := int(p[1]); {
		case wire == protowire.VarintType:
			c.take(2)
			return number, wire, 0, nil
		case wire == protowire.BytesType && n <= c.left-2:
			c.take(2)
			return number, wire, n, nil
		}
	}
	tag, err := c.varint()
	if err != nil {
		return 0, 0, 0, err
	}
	number, wire := protowire.DecodeTag(tag)
	size, err := c.size(wire)
	return number, wire, size, err
}

// size returns the number of bytes of a field's value. It consumes a varint and returns 0.
func (c *cursor) size(wire protowire.Type) (int, error) {
	switch wire {
	case protowire.BytesType:
		n, err := c.varint()
		if err == nil && n > uint64(c.left) {
			err = fmt.Errorf("a field declares %d bytes, but only %d bytes are left: %w", n, c.left, io.ErrUnexpectedEOF)
		}
		return int(n), err
	case protowire.VarintType:
		_, err := c.varint()
		return 0, err
	case protowire.Fixed32Type:
		return 4, nil
	case protowire.Fixed64Type:
		return 8, nil
	case protowire.StartGroupType, protowire.EndGroupType:
	}
	return 0, errWire
}

// fields calls the function read for each field in the next bytes; read must consume the field
// from the cursor. Bytes that can't be parsed are skipped: the decoder reports them.
func (c *cursor) fields(size int, read func(number protowire.Number, wire protowire.Type, n int) error) error {
	end := c.left - size
	for c.left > end {
		number, wire, n, err := c.field()
		if err != nil || n > c.left-end {
			break
		}
		if err := read(number, wire, n); err != nil {
			return err
		}
	}
	return c.skip(max(0, c.left-end))
}

// varints consumes the next bytes, which are packed varints, and returns their number.
func (c *cursor) varints(n int) (count int) {
	_ = c.each(n, func(piece []byte) { // can't fail: size has checked the length
		for _, b := range piece {
			if b < 0x80 {
				count++
			}
		}
	})
	return count
}

func (c *cursor) skip(n int) error {
	return c.each(n, func([]byte) {})
}

// whole returns the next bytes as one slice. It is a view if the bytes lie in one buffer.
func (c *cursor) whole(n int) (b []byte, err error) {
	if n <= len(c.part) {
		return c.take(n), nil
	}
	return c.appendTo(make([]byte, 0, n), n)
}

func (c *cursor) text(n int) (string, error) {
	b, err := c.whole(n)
	if err == nil && !utf8.Valid(b) {
		err = errUTF8
	}
	return string(b), err
}

func (c *cursor) appendTo(to []byte, n int) ([]byte, error) {
	err := c.each(n, func(piece []byte) { to = append(to, piece...) })
	return to, err
}

// views returns the next bytes without a copy, as at least one piece.
func (c *cursor) views(n int) (content Content, err error) {
	if n == 0 {
		return Content{nil}, nil
	}
	err = c.each(n, func(piece []byte) { content = append(content, piece) })
	return content, err
}

// each calls the function take for the next n bytes, buffer by buffer.
func (c *cursor) each(n int, take func(piece []byte)) error {
	for n > 0 {
		if c.ended() {
			return io.ErrUnexpectedEOF
		}
		piece := c.take(min(n, len(c.part)))
		take(piece)
		n -= len(piece)
	}
	return nil
}
