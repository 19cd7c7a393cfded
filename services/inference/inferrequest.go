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

// InferRequest is a KServe v2 ModelInferRequest as its client encoded it, so that it can be
// forwarded without re-encoding. The fields that Trident needs are decoded; the tensors aren't.
// Only one goroutine may use it at a time.
type InferRequest struct {
	head     *kserve.ModelInferRequest
	encoded  mem.BufferSlice
	tensors  []Content                 // raw tensors of a split request
	split    bool                      // the head has the descriptions of the tensors too
	splitErr error                     // the error of splitting the request, or nil
	request  *kserve.ModelInferRequest // nil until Request is called
	joined   mem.BufferSlice           // copies of tensors that lay in several buffers
	decoded  kserve.ModelInferRequest  // the head of a request that was encoded
}

// NewInferRequest takes ownership of the buffers of an encoded request. [InferRequest.Free] frees
// them. NewInferRequest frees them itself if it returns an error.
func NewInferRequest(encoded mem.BufferSlice) (*InferRequest, error) {
	m := &InferRequest{encoded: encoded}
	m.head = &m.decoded
	if err := m.readHead(); err != nil {
		m.Free()
		return nil, errDecode(err)
	}
	return m, nil
}

// InferRequestOf returns the InferRequest of a request that was never encoded.
func InferRequestOf(req *kserve.ModelInferRequest) *InferRequest {
	return &InferRequest{head: req, request: req}
}

// errDecode returns the error of a request that can't be decoded or exceeds a budget.
func errDecode(err error) *Error {
	if over, ok := errors.AsType[*budget.Error](err); ok {
		known := AsError(over)
		known.Err = over
		return known
	}
	return &Error{Code: CodeInvalid, Reason: ReasonInvalidValue, Message: "the request is not a valid ModelInferRequest message of KServe v2", Err: err}
}

// Head returns the request's model name, version, id and parameters. The other fields may be
// missing until [InferRequest.Split] is called.
func (m *InferRequest) Head() *kserve.ModelInferRequest { return m.head }

// Encoded returns the encoded request, or nil if it wasn't encoded. The buffers belong to the
// message and are valid until it is freed.
func (m *InferRequest) Encoded() mem.BufferSlice { return m.encoded }

// Size returns the size of the encoded request in bytes.
func (m *InferRequest) Size() int { return m.encoded.Len() }

// AddParameters sets parameters and replaces those of the same names. The encoded bytes of the
// client stay as they are: the new parameters are appended, since the last entry of a map key on
// the wire applies.
func (m *InferRequest) AddParameters(more map[string]*kserve.InferParameter) error {
	if len(more) == 0 {
		return nil
	}
	if m.head.Parameters == nil {
		m.head.Parameters = make(map[string]*kserve.InferParameter, len(more))
	}
	maps.Copy(m.head.GetParameters(), more)
	if m.encoded == nil { // the head is the whole request
		return nil
	}
	encoded, err := proto.Marshal(&kserve.ModelInferRequest{Parameters: more})
	if err != nil {
		return errDecode(err)
	}
	m.encoded = append(slices.Clip(m.encoded), mem.SliceBuffer(encoded))
	m.request = nil // the decoded request lacks the new parameters
	return nil
}

// Content is a raw tensor, as the pieces of the buffers that contain it.
type Content [][]byte

// Len returns the size in bytes.
func (c Content) Len() (n int) {
	for _, piece := range c {
		n += len(piece)
	}
	return n
}

// Contents returns raw contents that have one piece each.
func Contents(raw [][]byte) []Content {
	contents := make([]Content, len(raw))
	for i := range raw {
		contents[i] = raw[i : i+1 : i+1]
	}
	return contents
}

// Request decodes the whole request. The raw contents are views of the message and are valid
// until it is freed. A tensor is copied only if it lies in several buffers.
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

// Split decodes the request without its raw contents, which it returns separately. The raw
// contents are views of the message and are valid until the message is freed. The returned
// request is the head, whose own raw contents are empty. If the whole request has been decoded
// before, Split returns the whole request instead.
func (m *InferRequest) Split() (*kserve.ModelInferRequest, []Content, error) {
	switch {
	case m.request != nil:
		return m.request, Contents(m.request.GetRawInputContents()), nil
	case m.split:
		return m.head, m.tensors, m.splitErr
	}
	m.split = true
	contents, err := m.readTensors()
	if err != nil {
		m.head.Inputs, m.head.Outputs = nil, nil
		m.splitErr = errDecode(err)
		return m.head, nil, m.splitErr
	}
	if len(contents) > 0 {
		m.head.RawInputContents = make([][]byte, len(contents))
	}
	m.tensors = contents
	return m.head, contents, nil
}

// join copies the pieces of a content into one buffer, which belongs to the message.
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

// Free releases the buffers. The message must not be used afterwards.
func (m *InferRequest) Free() {
	m.encoded.Free()
	m.joined.Free()
	m.encoded, m.joined = nil, nil
}

// Elements returns the number of elements of a shape. It returns false for a shape that no tensor
// can have.
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
