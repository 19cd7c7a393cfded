package kserve

import (
	"math/bits"
	"sync"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// The response parameter that marks the last response to a request in a stream, and
// the request parameter that enables a last response without tensors.
const (
	finalResponse    = "triton_final_response"
	enableEmptyFinal = "triton_enable_empty_final_response"
)

// The numbers of the fields that this file encodes.
const (
	fieldInferResponse = 2 // infer_response of ModelStreamInferResponse
	fieldModelName     = 1 // this and the next 4 are fields of ModelInferResponse
	fieldModelVersion  = 2
	fieldID            = 3
	fieldOutputs       = 5
	fieldRawContents   = 6
	fieldOutputName    = 1 // this and the next 2 are fields of InferOutputTensor
	fieldDatatype      = 2
	fieldShape         = 3
)

// encodeInfer encodes a response as a ModelInferResponse. Tensors that the engine
// hands over aren't copied; others are copied once.
func encodeInfer(req *kserve.ModelInferRequest, resp *inference.Response) (mem.BufferSlice, error) {
	parameters, err := encodeParameters(resp.Parameters)
	if err != nil {
		return nil, err
	}
	a := answer{req: req, resp: resp, parameters: parameters}
	return a.encode(), nil
}

// encodeStream encodes a response as a ModelStreamInferResponse, which states whether
// it is the request's last.
func encodeStream(req *kserve.ModelInferRequest, resp *inference.Response) (mem.BufferSlice, error) {
	parameters, err := encodeParameters(resp.Parameters)
	if err != nil {
		return nil, err
	}
	a := answer{req: req, resp: resp, parameters: parameters, final: notFinal}
	if resp.Final {
		a.final = isFinal
	}
	return a.encode(), nil
}

// encodeFailure encodes an error in a stream. The encoded error of a refused request
// has only the request's id. The encoded error of a failed response also states
// whether other responses follow.
func encodeFailure(req *kserve.ModelInferRequest, text string, refused, final bool) (mem.BufferSlice, error) {
	response := &kserve.ModelInferResponse{Id: req.GetId()}
	if !refused {
		response.ModelName, response.ModelVersion = req.GetModelName(), req.GetModelVersion()
		response.Parameters = map[string]*kserve.InferParameter{finalResponse: {ParameterChoice: &kserve.InferParameter_BoolParam{BoolParam: final}}}
	}
	b, err := proto.Marshal(&kserve.ModelStreamInferResponse{ErrorMessage: text, InferResponse: response})
	return mem.BufferSlice{mem.SliceBuffer(b)}, err
}

// encodeParameters encodes the parameters of a ModelInferResponse.
func encodeParameters(parameters map[string]*kserve.InferParameter) ([]byte, error) {
	if len(parameters) == 0 {
		return nil, nil
	}
	return proto.Marshal(&kserve.ModelInferResponse{Parameters: parameters})
}

// The encoded parameter that states whether a response is final: an entry of the field
// with the key and a bool_param.
const (
	finalEntry = "\x22\x1b\x0a\x15" + finalResponse + "\x12\x02\x08"
	isFinal    = finalEntry + "\x01"
	notFinal   = finalEntry + "\x00"
)

// answer is a ModelInferResponse to encode.
type answer struct {
	req        *kserve.ModelInferRequest
	resp       *inference.Response
	parameters []byte // the response's parameters, encoded
	final      string // encoded final flag, isFinal or notFinal; empty outside of streams
}

func (a *answer) size() int {
	size := sizeText(fieldModelName, a.req.GetModelName()) + sizeText(fieldModelVersion, a.version()) + sizeText(fieldID, a.req.GetId()) + len(a.parameters) + len(a.final)
	for i := range a.resp.Outputs {
		out := &a.resp.Outputs[i]
		size += protowire.SizeTag(fieldOutputs) + protowire.SizeBytes(sizeOutput(out))
		size += protowire.SizeTag(fieldRawContents) + protowire.SizeBytes(len(out.Raw))
	}
	return size
}

// version returns the version that responded. For the end of a request without
// responses it is the requested version.
func (a *answer) version() string {
	if a.resp.Version == "" {
		return a.req.GetModelVersion()
	}
	return a.resp.Version
}

// encode returns the message in pieces: its own bytes in one pooled buffer, and the
// tensors that the engine hands over.
func (a *answer) encode() mem.BufferSlice {
	taken, elsewhere := a.take()
	size := a.size()
	own := size - elsewhere
	if a.final != "" {
		own += protowire.SizeTag(fieldInferResponse) + protowire.SizeVarint(uint64(size))
	}
	whole := replies.Get(own)
	rest := mem.NewBuffer(whole, replies)
	b := (*whole)[:0]
	if a.final != "" {
		b = protowire.AppendTag(b, fieldInferResponse, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(size))
	}
	b = a.appendHead(b)
	var pieces mem.BufferSlice
	cut := 0
	for i := range a.resp.Outputs {
		b = protowire.AppendTag(b, fieldRawContents, protowire.BytesType)
		if i >= len(taken) || taken[i] == nil { // the tensor is copied
			b = protowire.AppendBytes(b, a.resp.Outputs[i].Raw)
			continue
		}
		b = protowire.AppendVarint(b, uint64(taken[i].Len()))
		var before mem.Buffer
		before, rest = mem.SplitUnsafe(rest, len(b)-cut)
		cut = len(b)
		pieces = append(pieces, before, taken[i])
	}
	if rest.Len() == 0 {
		rest.Free()
		return pieces
	}
	return append(pieces, rest)
}

// take returns the tensors that the engine hands over, by output, and nil for each
// output that must be copied. size is the total size of the returned tensors, in
// bytes.
func (a *answer) take() (taken []mem.Buffer, size int) {
	if a.resp.Owner == nil {
		return nil, 0
	}
	for i := range a.resp.Outputs {
		tensor := a.resp.Owner.Take(i)
		if tensor == nil {
			continue
		}
		if taken == nil {
			taken = make([]mem.Buffer, len(a.resp.Outputs))
		}
		taken[i] = tensor
		size += tensor.Len()
	}
	return taken, size
}

func (a *answer) appendHead(b []byte) []byte {
	b = appendText(b, fieldModelName, a.req.GetModelName())
	b = appendText(b, fieldModelVersion, a.version())
	b = appendText(b, fieldID, a.req.GetId())
	b = append(append(b, a.parameters...), a.final...)
	for i := range a.resp.Outputs {
		out := &a.resp.Outputs[i]
		b = protowire.AppendTag(b, fieldOutputs, protowire.BytesType)
		b = appendOutput(protowire.AppendVarint(b, uint64(sizeOutput(out))), out)
	}
	return b
}

func sizeOutput(out *inference.Output) int {
	size := sizeText(fieldOutputName, out.Name) + sizeText(fieldDatatype, out.Type)
	if len(out.Shape) > 0 {
		size += protowire.SizeTag(fieldShape) + protowire.SizeBytes(sizeShape(out.Shape))
	}
	return size
}

func sizeShape(shape []int64) (size int) {
	for _, d := range shape {
		size += protowire.SizeVarint(uint64(d))
	}
	return size
}

func appendOutput(b []byte, out *inference.Output) []byte {
	b = appendText(b, fieldOutputName, out.Name)
	b = appendText(b, fieldDatatype, out.Type)
	if len(out.Shape) == 0 {
		return b
	}
	b = protowire.AppendTag(b, fieldShape, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(sizeShape(out.Shape)))
	for _, d := range out.Shape {
		b = protowire.AppendVarint(b, uint64(d))
	}
	return b
}

func sizeText(field protowire.Number, s string) int {
	if s == "" {
		return 0
	}
	return protowire.SizeTag(field) + protowire.SizeBytes(len(s))
}

func appendText(b []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

// replies is the pool of the buffers into which responses are encoded.
var replies mem.BufferPool = new(bufferPool) //nolint:gochecknoglobals // shared so that all calls reuse the buffers

// bufferPool is a [mem.BufferPool] that doesn't clear returned buffers. grpc-go's own
// pool clears them, which takes as long as filling a buffer with a large tensor.
// bufferPool may be used concurrently.
type bufferPool struct{ sizes [bits.UintSize + 1]sync.Pool } // the index of sizes is the number of bits of a buffer's capacity

// Get returns a buffer with arbitrary content. Small buffers are new: grpc-go never returns them.
func (p *bufferPool) Get(length int) *[]byte {
	if mem.IsBelowBufferPoolingThreshold(length) {
		b := make([]byte, length)
		return &b
	}
	if b, ok := p.sizes[bits.Len(uint(length))].Get().(*[]byte); ok && cap(*b) >= length {
		*b = (*b)[:length]
		return b
	}
	b := make([]byte, length)
	return &b
}

// Put returns a buffer to the pool.
func (p *bufferPool) Put(b *[]byte) { p.sizes[bits.Len(uint(cap(*b)))].Put(b) }
