package inference

import (
	"errors"
	"maps"
	"math"
	"slices"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/budget"
)

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
	decoded kserve.ModelInferRequest  // the head, of a request that was encoded
}

// NewInferRequest takes over the buffers of an encoded request, which [InferRequest.Free]
// frees, also when there is an error.
func NewInferRequest(encoded mem.BufferSlice) (*InferRequest, error) {
	m := &InferRequest{encoded: encoded}
	m.head = &m.decoded
	if err := m.readHead(); err != nil {
		m.Free()
		return nil, errDecode(err)
	}
	return m, nil
}

// InferRequestOf is that of a request that was never encoded.
func InferRequestOf(req *kserve.ModelInferRequest) *InferRequest {
	return &InferRequest{head: req, request: req}
}

// errDecode is the error of what can't be decoded, or is beyond a budget.
func errDecode(err error) *Error {
	if over, ok := errors.AsType[*budget.Error](err); ok {
		known := AsError(over)
		known.Err = over
		return known
	}
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
	contents, err := m.readTensors()
	if err != nil {
		m.head.Inputs, m.head.Outputs = nil, nil
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

// Elements returns the number of elements of a shape. It isn't ok for a shape that no
// tensor can have.
func Elements(shape []int64) (count int64, ok bool) {
	count = 1
	for _, d := range shape {
		if d < 0 || d > 0 && count > math.MaxInt64/d {
			return 0, false
		}
		count *= d
	}
	return count, true
}
