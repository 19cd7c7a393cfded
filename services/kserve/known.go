package kserve

import (
	"slices"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// knownHead is the latest response of a request, encoded up to the contents of its tensors. Most
// responses of a stream differ in these contents alone.
type knownHead struct {
	encoded []byte // empty if there was no response
	version string
	outputs []inference.Output // without contents
}

// sizeOf makes the head of the response the known one and returns the size of the response, as a
// ModelInferResponse. It returns 0 for responses that need other code: the last one, those with
// parameters or an error, encoded ones, and large ones.
func (k *knownHead) sizeOf(req *kserve.ModelInferRequest, resp *inference.Response) int {
	if resp.Final || resp.Err != nil || resp.Encoded != nil || len(resp.Parameters) > 0 {
		return 0
	}
	size := 0
	for i := range resp.Outputs {
		size += protowire.SizeTag(fieldRawContents) + protowire.SizeBytes(len(resp.Outputs[i].Raw))
	}
	if size > mostJoined { // the head isn't encoded for nothing
		return 0
	}
	if len(k.encoded) == 0 || k.version != resp.Version || !sameTensors(k.outputs, resp.Outputs) {
		k.learn(req, resp)
	}
	if size += len(k.encoded); size > mostJoined {
		return 0
	}
	return size
}

// sameTensors reports whether tensors differ in their contents alone.
func sameTensors(a, b []inference.Output) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if x, y := &a[i], &b[i]; x.Name != y.Name || x.Type != y.Type || !slices.Equal(x.Shape, y.Shape) {
			return false
		}
	}
	return true
}

func (k *knownHead) learn(req *kserve.ModelInferRequest, resp *inference.Response) {
	head := answer{req: req, resp: resp, final: notFinal}
	k.encoded, k.version, k.outputs = head.appendHead(k.encoded[:0]), resp.Version, k.outputs[:0]
	for i := range resp.Outputs {
		out := &resp.Outputs[i]
		k.outputs = append(k.outputs, inference.Output{Name: out.Name, Type: out.Type, Shape: slices.Clone(out.Shape)}) // the shape may lie in the engine's memory
	}
}

// encode encodes the response of the size.
func (k *knownHead) encode(resp *inference.Response, size int) mem.BufferSlice {
	b := replies.Get(wholeSize(size))
	*b = k.append((*b)[:0], resp, size)
	return mem.BufferSlice{mem.NewBuffer(b, replies)}
}

// wholeSize returns the size of a ModelStreamInferResponse with a response of the size.
func wholeSize(size int) int {
	return protowire.SizeTag(fieldInferResponse) + protowire.SizeBytes(size)
}

// append appends the response of the size as a ModelStreamInferResponse.
func (k *knownHead) append(b []byte, resp *inference.Response, size int) []byte {
	b = protowire.AppendTag(b, fieldInferResponse, protowire.BytesType)
	b = append(protowire.AppendVarint(b, uint64(size)), k.encoded...)
	for i := range resp.Outputs {
		b = protowire.AppendBytes(protowire.AppendTag(b, fieldRawContents, protowire.BytesType), resp.Outputs[i].Raw)
	}
	return b
}
