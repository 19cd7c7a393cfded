//go:build cgo && linux

package local

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"slices"
	"strings"
	"unsafe"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
	"github.com/trident-inference/trident/services/triton/extension"
)

// Flags of a request to TRITONSERVER. The parameters sequence_start and sequence_end set the flags.
const (
	flagSequenceStart = 1
	flagSequenceEnd   = 2
)

// block is C memory for a request. Its pieces are allocated from front to back.
type block struct {
	memory []byte
	used   int
}

// align is the alignment of each piece of a block, in bytes. It is sufficient
// for the elements of any tensor type, and for vectors of elements.
const align = 16

func newBlock(size int) *block {
	size = max(size, align)
	return &block{memory: unsafe.Slice((*byte)(C.malloc(C.size_t(size))), size)}
}

func (b *block) free() { C.free(unsafe.Pointer(&b.memory[0])) }

// allocate returns the next piece. It panics if the block is too small, which is a
// defect.
func (b *block) allocate(size int) []byte {
	piece := b.memory[b.used : b.used+size]
	b.used += padded(size)
	return piece
}

func padded(size int) int { return (size + align - 1) / align * align }

func (b *block) text(s string) *C.char {
	piece := b.allocate(len(s) + 1)
	copy(piece, s)
	piece[len(s)] = 0
	return (*C.char)(unsafe.Pointer(&piece[0]))
}

// array returns a piece for n values of a type, all zero.
func array[T any](b *block, n int) []T {
	if n == 0 {
		return nil
	}
	var zero T
	piece := b.allocate(n * int(unsafe.Sizeof(zero)))
	clear(piece)
	return unsafe.Slice((*T)(unsafe.Pointer(&piece[0])), n)
}

// newRequest creates Triton's request, of which the caller is one owner. raw
// has the raw contents, which are separate from req.
func (c *core) newRequest(stream uint64, req *kserve.ModelInferRequest, raw []inference.Content) (*C.tr_request, *extras, error) {
	if err := checkRequest(req); err != nil {
		return nil, nil, err
	}
	version, err := parseVersion(req.GetModelVersion())
	if err == nil {
		err = extension.Parameters(req.GetParameters()).Check()
	}
	if err != nil {
		return nil, nil, err
	}
	x, err := c.extrasOf(req, version)
	if err != nil {
		return nil, nil, err
	}
	request, err := c.copyRequest(stream, version, req, raw, x)
	if err != nil {
		release(x.leases())
		return nil, nil, err
	}
	c.queue.hold(stream, x.leases())
	return request, x, nil
}

// copyRequest copies the request into C memory.
func (c *core) copyRequest(stream uint64, version C.int64_t, req *kserve.ModelInferRequest, raw []inference.Content, x *extras) (*C.tr_request, error) {
	contents, err := contentsOf(req, raw, x)
	if err != nil {
		return nil, err
	}
	b := newBlock(sizeOf(req, contents) + x.size())
	in := &array[C.tr_inference](b, 1)[0]
	in.stream = C.uint64_t(stream)
	in.model, in.version = b.text(req.GetModelName()), version
	in.id = b.text(req.GetId())
	putTensors(b, in, req, contents, x)
	putParameters(b, in, req.GetParameters())
	var request *C.tr_request
	if err := failure(C.tr_request_new(c.server, c.queue.c, in, unsafe.Pointer(&b.memory[0]), &request)); err != nil {
		b.free()
		return nil, err
	}
	return request, nil
}

// checkRequest returns an error for a request that the C API can't represent.
func checkRequest(req *kserve.ModelInferRequest) error {
	ends := hasZero(req.GetModelName()) || hasZero(req.GetId())
	for _, in := range req.GetInputs() {
		ends = ends || hasZero(in.GetName())
	}
	for _, out := range req.GetOutputs() {
		ends = ends || hasZero(out.GetName())
	}
	for key, p := range req.GetParameters() {
		ends = ends || hasZero(key) || hasZero(p.GetStringParam())
	}
	if ends {
		return invalid("names and parameters must not contain a zero byte")
	}
	return nil
}

func hasZero(s string) bool { return strings.IndexByte(s, 0) >= 0 }

// contentsOf returns the inputs' contents as raw bytes, in the order of the inputs.
// An input in shared memory has no contents in the request and gets nil. As in
// tritonserver, surplus raw contents are ignored.
func contentsOf(req *kserve.ModelInferRequest, raw []inference.Content, x *extras) ([]inference.Content, error) {
	contents := make([]inference.Content, len(req.GetInputs()))
	for i, in := range req.GetInputs() {
		if x.shared(i).lease != nil {
			continue
		}
		if err := extension.CheckContents(req, in); err != nil {
			return nil, err
		}
		switch {
		case in.GetContents() != nil:
			contents[i] = inference.Content{triton.Flatten(in.GetDatatype(), in.GetContents())}
		case len(raw) > 0:
			contents[i], raw = raw[0], raw[1:]
		default:
			return nil, invalid("unable to find data for input tensor '" + in.GetName() + "' for model '" + req.GetModelName() + "' in request.")
		}
	}
	return contents, nil
}

// sizeOf returns the size of the block that the request needs, in bytes.
func sizeOf(req *kserve.ModelInferRequest, contents []inference.Content) int {
	text := func(s string) int { return padded(len(s) + 1) }
	size := padded(C.sizeof_tr_inference) + text(req.GetModelName()) + text(req.GetId())
	size += padded(len(req.GetInputs()) * C.sizeof_tr_tensor)
	for i, in := range req.GetInputs() {
		size += text(in.GetName()) + padded(len(in.GetShape())*8) + padded(contents[i].Len())
	}
	size += padded(len(req.GetOutputs()) * int(unsafe.Sizeof((*C.char)(nil))))
	for _, out := range req.GetOutputs() {
		size += text(out.GetName())
	}
	size += padded(len(req.GetParameters()) * C.sizeof_tr_parameter)
	for key, p := range req.GetParameters() {
		size += text(key) + text(p.GetStringParam())
	}
	return size
}

func putTensors(b *block, to *C.tr_inference, req *kserve.ModelInferRequest, contents []inference.Content, x *extras) {
	inputs := array[C.tr_tensor](b, len(req.GetInputs()))
	for i, in := range req.GetInputs() {
		shape := array[int64](b, len(in.GetShape()))
		copy(shape, in.GetShape())
		data := b.allocate(contents[i].Len())
		at := 0
		for _, piece := range contents[i] {
			at += copy(data[at:], piece)
		}
		inputs[i] = C.tr_tensor{
			name:     b.text(in.GetName()),
			shape:    (*C.int64_t)(unsafe.SliceData(shape)),
			base:     unsafe.Pointer(unsafe.SliceData(data)),
			dims:     C.uint64_t(len(shape)),
			size:     C.size_t(len(data)),
			datatype: datatypeNumber(in.GetDatatype()),
		}
		if shared := x.shared(i); shared.lease != nil {
			where := &array[C.tr_place](b, 1)[0]
			*where = shared.at(b, inputs[i].name)
			inputs[i].base, inputs[i].size, inputs[i].place = where.base, where.size, where
		}
	}
	outputs := array[*C.char](b, len(req.GetOutputs()))
	for i, out := range req.GetOutputs() {
		outputs[i] = b.text(out.GetName())
	}
	to.inputs, to.input_count = unsafe.SliceData(inputs), C.uint32_t(len(inputs))
	to.outputs, to.output_count = unsafe.SliceData(outputs), C.uint32_t(len(outputs))
	x.put(b, to, outputs)
}

// putParameters sets the fields that Triton's frontends derive from parameters,
// which have been checked. It passes the other parameters on to the model.
func putParameters(b *block, to *C.tr_inference, parameters map[string]*kserve.InferParameter) {
	list := array[C.tr_parameter](b, len(parameters))
	n := 0
	for key, p := range parameters {
		if !putKnown(b, to, key, p) {
			list[n] = parameter(b, key, p)
			n++
		}
	}
	to.parameters, to.parameter_count = unsafe.SliceData(list), C.uint32_t(n)
}

// putKnown sets the field for a parameter that Triton interprets. It returns
// false for other parameters.
func putKnown(b *block, to *C.tr_inference, key string, p *kserve.InferParameter) bool {
	switch key {
	case "sequence_id":
		if s, ok := p.GetParameterChoice().(*kserve.InferParameter_StringParam); ok {
			to.correlation = b.text(s.StringParam)
		} else {
			to.correlation_id = C.uint64_t(p.GetInt64Param())
		}
	case "sequence_start":
		putFlag(to, flagSequenceStart, p)
	case "sequence_end":
		putFlag(to, flagSequenceEnd, p)
	case "priority":
		to.priority = C.uint64_t(p.GetInt64Param()) + C.uint64_t(p.GetUint64Param())
	case "timeout":
		to.timeout = C.uint64_t(p.GetInt64Param())
	default: // the engine always flags the final response
		return key == "triton_enable_empty_final_response"
	}
	return true
}

func putFlag(to *C.tr_inference, flag C.uint32_t, p *kserve.InferParameter) {
	if p.GetBoolParam() {
		to.flags |= flag
	}
}

// parameter returns a parameter of the model in the shim's form.
func parameter(b *block, key string, p *kserve.InferParameter) C.tr_parameter {
	to := C.tr_parameter{name: b.text(key)}
	switch choice := p.GetParameterChoice().(type) {
	case *kserve.InferParameter_StringParam:
		to._type, to.text = C.ts_parameter_string, b.text(choice.StringParam)
	case *kserve.InferParameter_BoolParam:
		to._type = C.ts_parameter_bool
		if choice.BoolParam {
			to.integer = 1
		}
	case *kserve.InferParameter_DoubleParam:
		to._type, to.number = C.ts_parameter_double, C.double(choice.DoubleParam)
	default:
		to._type, to.integer = C.ts_parameter_int, C.int64_t(p.GetInt64Param())
	}
	return to
}

// parseVersion returns a version as a number. The number -1 selects the version
// by the model's policy.
func parseVersion(version string) (C.int64_t, error) {
	n, err := extension.Version(version)
	return C.int64_t(n), err
}

func invalid(message string) error {
	return &inference.Error{Code: inference.CodeInvalid, Triton: inference.TritonInvalidArg, Message: message}
}

func unsupported(message string) error {
	return &inference.Error{
		Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented, Triton: inference.TritonUnsupported, Message: message,
	}
}

// datatypes are the KServe v2 datatypes. The index of each one is Triton's
// number for it.
func datatypes() [15]string {
	return [...]string{
		"INVALID", "BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64",
		"FP16", "FP32", "FP64", "BYTES", "BF16",
	}
}

func datatypeName(number C.int) string {
	if all := datatypes(); number > 0 && int(number) < len(all) {
		return all[number]
	}
	return "INVALID"
}

// datatypeNumber returns Triton's number for a datatype. For an unknown name it
// returns 0, which Triton refuses.
func datatypeNumber(name string) C.int {
	all := datatypes()
	return C.int(max(slices.Index(all[:], name), 0))
}
