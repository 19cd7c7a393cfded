package inference

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// Fields of a ModelInferRequest on the wire.
const (
	lastHeadField   protowire.Number = 4 // the name, the version, the id and the parameters come first
	lastTensorField protowire.Number = 6 // then what is said of the tensors
	rawContentField protowire.Number = 7
)

// usualFields is how many bytes the fields without tensors mostly take.
const usualFields = 128

// InferRequest is a ModelInferRequest of KServe v2 as its client has encoded it, so
// that it can be passed on without being rebuilt. What Trident itself must know of
// it is decoded, the tensors aren't. One goroutine may use it at a time.
type InferRequest struct {
	head    *kserve.ModelInferRequest
	encoded mem.BufferSlice
	tensors []Content                 // raw ones, of a request that has been split
	split   bool                      // the head has the tensors' descriptions, too
	wrong   error                     // what a split has found
	request *kserve.ModelInferRequest // nil until it is asked for
	joined  mem.BufferSlice           // of tensors that lay in several buffers
}

// NewInferRequest takes over the buffers of an encoded request, which [InferRequest.Free]
// frees, also when there is an error.
func NewInferRequest(encoded mem.BufferSlice) (*InferRequest, error) {
	m := &InferRequest{head: &kserve.ModelInferRequest{}, encoded: encoded}
	head, _, err := m.fields(1, lastHeadField)
	if err == nil {
		err = proto.Unmarshal(head, m.head)
	}
	if err != nil {
		m.Free()
		return nil, errDecode(err)
	}
	return m, nil
}

// InferRequestOf is that of a request that was never encoded.
func InferRequestOf(req *kserve.ModelInferRequest) *InferRequest {
	return &InferRequest{head: req, request: req}
}

func errDecode(err error) *Error {
	return &Error{Code: CodeInvalid, Reason: ReasonInvalidValue, Message: "the request isn't a ModelInferRequest of KServe v2", Err: err}
}

// Head is the request's model name, version, id and parameters; the rest of it
// may be there or not, and comes with [InferRequest.Split].
func (m *InferRequest) Head() *kserve.ModelInferRequest { return m.head }

// Encoded is the request on the wire, nil for one that wasn't encoded. It is the
// message's own until it is freed.
func (m *InferRequest) Encoded() mem.BufferSlice { return m.encoded }

// Size of the encoded request in bytes.
func (m *InferRequest) Size() int { return m.encoded.Len() }

// AddParameters sets parameters, in place of those that the request has by the same
// names. What is encoded stays as it is: of a map's entries on the wire the last one
// counts.
func (m *InferRequest) AddParameters(more map[string]*kserve.InferParameter) error {
	if len(more) == 0 {
		return nil
	}
	if m.head.Parameters == nil {
		m.head.Parameters = make(map[string]*kserve.InferParameter, len(more))
	}
	maps.Copy(m.head.GetParameters(), more)
	if m.encoded == nil { // the head is all of the request
		return nil
	}
	encoded, err := proto.Marshal(&kserve.ModelInferRequest{Parameters: more})
	if err != nil {
		return errDecode(err)
	}
	m.encoded = append(slices.Clip(m.encoded), mem.SliceBuffer(encoded))
	m.request = nil // has them not
	return nil
}

// Content is a raw tensor, in the pieces that it lies in.
type Content [][]byte

// Len is its size in bytes.
func (c Content) Len() (n int) {
	for _, piece := range c {
		n += len(piece)
	}
	return n
}

// Contents gives raw contents that lie in one piece each.
func Contents(raw [][]byte) []Content {
	contents := make([]Content, len(raw))
	for i := range raw {
		contents[i] = raw[i : i+1 : i+1]
	}
	return contents
}

// Request decodes all of it. The raw contents are views of the message, copied
// only where one lies in several buffers, and end with it.
func (m *InferRequest) Request() (*kserve.ModelInferRequest, error) {
	if m.request != nil {
		return m.request, nil
	}
	req, contents, err := m.Split()
	if err != nil {
		return nil, err
	}
	for i, content := range contents {
		req.RawInputContents[i] = m.join(content)
	}
	m.request = req
	return req, nil
}

// Split decodes all but the raw contents, which it gives apart: views of the
// message, which end with it. In the request itself, which is the head, they are
// empty then.
func (m *InferRequest) Split() (*kserve.ModelInferRequest, []Content, error) {
	switch {
	case m.request != nil:
		return m.request, Contents(m.request.GetRawInputContents()), nil
	case m.split:
		return m.head, m.tensors, m.wrong
	}
	m.split = true
	fields, contents, err := m.fields(lastHeadField+1, lastTensorField)
	if err == nil {
		err = proto.UnmarshalOptions{Merge: true}.Unmarshal(fields, m.head)
	}
	if err != nil {
		m.wrong = errDecode(err)
		return m.head, nil, m.wrong
	}
	if len(contents) > 0 {
		m.head.RawInputContents = make([][]byte, len(contents))
	}
	m.tensors = contents
	return m.head, contents, nil
}

// join puts a content's pieces together, in a buffer of the message's.
func (m *InferRequest) join(content Content) []byte {
	if len(content) == 1 {
		return content[0]
	}
	pool := mem.DefaultBufferPool()
	whole := pool.Get(content.Len())
	m.joined = append(m.joined, mem.NewBuffer(whole, pool))
	joined := (*whole)[:0]
	for _, piece := range content {
		joined = append(joined, piece...)
	}
	return joined
}

// Free lets go of the buffers. The message must not be used any more.
func (m *InferRequest) Free() {
	m.encoded.Free()
	m.joined.Free()
	m.encoded, m.joined = nil, nil
}

// fields gives the encoded fields of these numbers, and the raw contents if theirs
// is the next one. Unknown fields are left out.
func (m *InferRequest) fields(first, last protowire.Number) (fields []byte, raw []Content, err error) {
	c := cursor{rest: m.encoded}
	fields = make([]byte, 0, usualFields)
	for !c.ended() {
		tag, err := c.varint()
		if err != nil {
			return nil, nil, err
		}
		number, wire := protowire.DecodeTag(tag)
		size, err := c.size(wire)
		switch {
		case err != nil:
			return nil, nil, err
		case !number.IsValid():
			return nil, nil, errWire
		case number == rawContentField && last == rawContentField-1 && wire == protowire.BytesType:
			content, err := c.views(size)
			if err != nil {
				return nil, nil, err
			}
			raw = append(raw, content)
		case number < first || number > last || wire != protowire.BytesType: // none of those wanted is of another type
			if err := c.skip(size); err != nil {
				return nil, nil, err
			}
		default:
			fields = protowire.AppendVarint(protowire.AppendVarint(fields, tag), uint64(size))
			if fields, err = c.appendTo(fields, size); err != nil {
				return nil, nil, err
			}
		}
	}
	return fields, raw, nil
}

var errWire = errors.New("not protobuf's wire format")

// cursor goes over a message that lies in several buffers.
type cursor struct {
	rest mem.BufferSlice // those not begun
	part []byte          // what is left of the one begun
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
		c.part = c.part[n:]
		return v, nil
	}
	var bytes [maxVarint]byte
	for i := range bytes {
		if c.ended() {
			return 0, io.ErrUnexpectedEOF
		}
		bytes[i], c.part = c.part[0], c.part[1:]
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

// size is how many bytes a field's value takes; of a varint it is read over.
func (c *cursor) size(wire protowire.Type) (int, error) {
	switch wire {
	case protowire.BytesType:
		n, err := c.varint()
		if left := uint64(len(c.part) + c.rest.Len()); err == nil && n > left {
			err = fmt.Errorf("a field of %d bytes in the last %d: %w", n, left, io.ErrUnexpectedEOF)
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

func (c *cursor) skip(n int) error {
	return c.each(n, func([]byte) {})
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
		step := min(n, len(c.part))
		take(c.part[:step:step])
		c.part, n = c.part[step:], n-step
	}
	return nil
}
