//go:build cgo && linux

package local

/*
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"unsafe"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton/extension"
)

// extras are the extensions that the parameters of a request's inputs and
// outputs ask for.
type extras struct {
	inputs  []place           // shared memory of the inputs, one element for each input
	outputs []requestedOutput // extensions of the outputs, one element for each requested output
	batches bool              // reports whether the model batches; set if an output is classified
}

// place is a tensor's region in shared memory. lease is nil if the tensor isn't
// in shared memory.
type place struct {
	lease *extension.Lease
	part  *inference.SharedRegion
}

// requestedOutput describes how to return a requested output.
type requestedOutput struct {
	place
	classes uint32 // 0 for the tensor itself
}

// extrasOf returns nil for a request without such parameters, which then has no
// further cost. As in Triton, unknown parameters are ignored.
func (c *core) extrasOf(req *kserve.ModelInferRequest, version C.int64_t) (*extras, error) {
	if !parametrised(req) {
		return nil, nil //nolint:nilnil // the request has no such parameters
	}
	x := &extras{inputs: make([]place, len(req.GetInputs())), outputs: make([]requestedOutput, len(req.GetOutputs()))}
	err := x.read(c.regions, req)
	if err == nil && x.classifies() {
		x.batches, err = c.modelBatches(req.GetModelName(), version)
	}
	if err != nil {
		release(x.leases())
		return nil, err
	}
	return x, nil
}

func parametrised(req *kserve.ModelInferRequest) bool {
	for _, in := range req.GetInputs() {
		if len(in.GetParameters()) > 0 {
			return true
		}
	}
	for _, out := range req.GetOutputs() {
		if len(out.GetParameters()) > 0 {
			return true
		}
	}
	return false
}

func (x *extras) read(regions *extension.Registry, req *kserve.ModelInferRequest) (err error) {
	for i, in := range req.GetInputs() {
		if x.inputs[i], err = placeOf(regions, in.GetName(), in.GetParameters()); err != nil {
			return err
		}
		if x.inputs[i].lease != nil && in.GetContents() != nil {
			return invalid("unexpected 'content' provided when using shared memory for input tensor '" + in.GetName() +
				"' for model '" + req.GetModelName() + "'")
		}
	}
	for i, out := range req.GetOutputs() {
		if x.outputs[i].classes, err = extension.Parameters(out.GetParameters()).Classes(); err != nil {
			return err
		}
		if x.outputs[i].place, err = placeOf(regions, out.GetName(), out.GetParameters()); err != nil {
			return err
		}
	}
	return nil
}

func placeOf(regions *extension.Registry, tensor string, parameters extension.Parameters) (place, error) {
	part, err := parameters.Shared(tensor)
	if err != nil || part == nil {
		return place{}, err
	}
	lease, err := regions.Use(*part)
	return place{lease: lease, part: part}, err
}

func (x *extras) classifies() bool {
	for _, out := range x.outputs {
		if out.classes > 0 {
			return true
		}
	}
	return false
}

// leases returns the leases of all regions that the request uses.
func (x *extras) leases() []*extension.Lease {
	if x == nil {
		return nil
	}
	var all []*extension.Lease
	for _, p := range x.inputs {
		if p.lease != nil {
			all = append(all, p.lease)
		}
	}
	for _, out := range x.outputs {
		if out.lease != nil {
			all = append(all, out.lease)
		}
	}
	return all
}

func release(leases []*extension.Lease) {
	for _, lease := range leases {
		lease.Release()
	}
}

// shared returns the input's place. It has no lease if the contents are in the
// request.
func (x *extras) shared(input int) place {
	if x == nil {
		return place{}
	}
	return x.inputs[input]
}

// modelBatches reports whether the first dimension of the model's tensors is the
// batch.
func (c *core) modelBatches(model string, version C.int64_t) (bool, error) {
	name := C.CString(model)
	defer C.free(unsafe.Pointer(name))
	var batches C.bool
	err := failure(C.tr_model_batches(c.server, name, version, &batches))
	return bool(batches), err
}

// size returns the size of the places in a block, in bytes.
func (x *extras) size() int {
	if x == nil {
		return 0
	}
	return (len(x.inputs) + len(x.outputs)) * padded(C.sizeof_tr_place+extension.HandleSize+align)
}

// put writes the places of the outputs into the block for the shim.
func (x *extras) put(b *block, to *C.tr_inference, outputs []*C.char) {
	if x == nil {
		return
	}
	to.shares, to.keeps = C.bool(len(x.leases()) > 0), true
	places := array[C.tr_place](b, len(x.outputs))
	n := 0
	for i, out := range x.outputs {
		if out.lease != nil {
			places[n] = out.at(b, outputs[i])
			n++
		}
	}
	to.places, to.place_count = unsafe.SliceData(places), C.uint32_t(n)
}

// at returns the shared memory in which a tensor lies, as a struct for the C shim.
func (p place) at(b *block, name *C.char) C.tr_place {
	to := C.tr_place{
		name:      name,
		base:      p.lease.Address,
		size:      C.size_t(p.part.Size),
		memory_id: C.int64_t(p.lease.Device),
	}
	if p.lease.CUDA {
		handle := b.allocate(len(p.lease.Handle))
		copy(handle, p.lease.Handle)
		to.handle = unsafe.Pointer(unsafe.SliceData(handle))
	}
	return to
}

// extend completes the view of a response whose request has extras.
func (s *stream) extend(req *kserve.ModelInferRequest, x *extras, outputs []C.tr_output) error {
	for i := range s.response.Outputs {
		out := &s.response.Outputs[i]
		out.Shared = nil
		want := x.find(req, out.Name)
		switch {
		case want == nil:
		case bool(outputs[i].shared):
			out.Raw, out.Shared = nil, want.part
		case want.classes > 0:
			if err := s.classify(out, uint32(i), want.classes, x.batches); err != nil {
				return err
			}
		}
	}
	return nil
}

func (x *extras) find(req *kserve.ModelInferRequest, output string) *requestedOutput {
	for i, out := range req.GetOutputs() {
		if out.GetName() == output {
			return &x.outputs[i]
		}
	}
	return nil
}

func (s *stream) classify(out *inference.Output, index, classes uint32, batches bool) (err error) {
	label := func(class int) string { return C.GoString(C.tr_label(s.current, C.uint32_t(index), C.size_t(class))) }
	out.Raw, out.Shape, err = extension.Classify(out, classes, batches, label)
	out.Type = "BYTES"
	return err
}

// parametersOf returns the parameters of a model's response.
func parametersOf(event *C.tr_event) (map[string]*kserve.InferParameter, error) {
	all := make(map[string]*kserve.InferParameter, event.parameter_count)
	for i := range event.parameter_count {
		var p C.tr_parameter
		if err := failure(C.tr_response_parameter(event, i, &p)); err != nil {
			return nil, err
		}
		to := &kserve.InferParameter{}
		switch p._type {
		case C.ts_parameter_string:
			to.ParameterChoice = &kserve.InferParameter_StringParam{StringParam: C.GoString(p.text)}
		case C.ts_parameter_bool:
			to.ParameterChoice = &kserve.InferParameter_BoolParam{BoolParam: p.integer != 0}
		case C.ts_parameter_double:
			to.ParameterChoice = &kserve.InferParameter_DoubleParam{DoubleParam: float64(p.number)}
		default:
			to.ParameterChoice = &kserve.InferParameter_Int64Param{Int64Param: int64(p.integer)}
		}
		all[C.GoString(p.name)] = to
	}
	return all, nil
}
