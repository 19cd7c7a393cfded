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

// Fields of a ModelInferRequest on the wire. Protobuf's own code, which is for any
// message, takes several times as long for those of a small request; here it is for what
// requests seldom have.
const (
	fieldModelName     protowire.Number = 1
	fieldModelVersion  protowire.Number = 2
	fieldRequestID     protowire.Number = 3
	fieldParameters    protowire.Number = 4
	fieldInputs        protowire.Number = 5
	fieldOutputs       protowire.Number = 6
	fieldRawContents   protowire.Number = 7
	fieldTensorName    protowire.Number = 1 // of an input or an output
	fieldInputDatatype protowire.Number = 2
	fieldInputShape    protowire.Number = 3

	fieldInputParameters  protowire.Number = 4
	fieldInputContents    protowire.Number = 5
	fieldBytesContents    protowire.Number = 8 // of an input's contents
	fieldOutputParameters protowire.Number = 2
)

var (
	errWire = errors.New("not protobuf's wire format")
	errUTF8 = errors.New("a string has invalid UTF-8")
)

// The budgets of tensors' descriptions.
var (
	inputBudget  = budget.Of((&kserve.ModelInferRequest_InferInputTensor{}).ProtoReflect().Descriptor())           //nolint:gochecknoglobals // a constant, made once for all requests
	outputBudget = budget.Of((&kserve.ModelInferRequest_InferRequestedOutputTensor{}).ProtoReflect().Descriptor()) //nolint:gochecknoglobals // the same
)

// elements counts those of a request's lists, by field.
type elements [fieldRawContents + 1]int

// add returns a [*budget.Error] for the first element beyond its budget.
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

// readHead decodes what isn't of the tensors, and holds their descriptions to the budgets:
// a request may be passed on without being decoded further. Unknown fields are left out.
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

// checkInput goes over the description of an input and returns a [*budget.Error] where it
// holds more than its budgets.
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

// checkOutput is the same for an output.
func checkOutput(c *cursor, size int) error {
	var keys int
	return c.fields(size, func(number protowire.Number, _ protowire.Type, n int) error {
		if number == fieldOutputParameters {
			keys++
		}
		return cmp.Or(within(keys, budget.Keys, "parameters", "keys"), c.skip(n))
	})
}

// within returns a [*budget.Error] for a field that holds more than the most.
func within(count, most int, field, what string) error {
	if count > most {
		return &budget.Error{Field: field, Most: most, What: what}
	}
	return nil
}

// readTensors decodes what is said of the tensors, and gives the raw contents.
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

// plainInput decodes an input that has but a name, a datatype and a shape, which is
// packed as protobuf's code packs it. It is false for any other, and for what is wrong.
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

// nextField takes a field that has a length off a message; the number is 0 for any other.
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

// each goes over the fields of the schema, which read takes off the cursor. All of them
// have a length; others of their numbers are unknown ones.
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

// cursor goes over a message that lies in several buffers.
type cursor struct {
	rest mem.BufferSlice // those not begun
	part []byte          // what is left of the one begun
	left int             // bytes in both: to add them up for each field takes clients at their word for how many buffers there are
}

// take takes bytes off the buffer begun.
func (c *cursor) take(n int) []byte {
	taken := c.part[:n:n]
	c.part, c.left = c.part[n:], c.left-n
	return taken
}

// ended begins the next buffer when one is used up.
func (c *cursor) ended() bool {
	for len(c.part) == 0 {
		if len(c.rest) == 0 {
			return true
		}
		c.part, c.rest = c.rest[0].ReadOnlyData(), c.rest[1:]
	}
	return false
}

// maxVarint is how many bytes a number takes at most.
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

// field reads what stands before a field's value: its number, its type on the wire, and how
// many bytes the value takes.
func (c *cursor) field() (protowire.Number, protowire.Type, int, error) {
	if p := c.part; len(p) > 1 && p[0]|p[1] < 0x80 { // a byte each, as of most fields
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

// size is how many bytes a field's value takes; of a varint it is read over.
func (c *cursor) size(wire protowire.Type) (int, error) {
	switch wire {
	case protowire.BytesType:
		n, err := c.varint()
		if err == nil && n > uint64(c.left) {
			err = fmt.Errorf("a field of %d bytes in the last %d: %w", n, c.left, io.ErrUnexpectedEOF)
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

// fields goes over the fields in the next bytes, which read takes off the cursor. What can't
// be read is left to who decodes it.
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

// varints goes over the next bytes, which are packed varints, and counts them.
func (c *cursor) varints(n int) (count int) {
	_ = c.each(n, func(piece []byte) { // there are as many bytes: size has said so
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

// whole gives the next bytes in one piece, which is a view where they lie so.
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

// views gives the next bytes without a copy, in at least one piece.
func (c *cursor) views(n int) (content Content, err error) {
	if n == 0 {
		return Content{nil}, nil
	}
	err = c.each(n, func(piece []byte) { content = append(content, piece) })
	return content, err
}

// each gives the next bytes, in the pieces that they lie in.
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
