package tritontest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/test/pause"
)

// find returns a model's configuration, or tritonserver's error.
func (f *Fake) find(name, version string) (*kserve.ModelConfig, error) {
	config, ok := f.models()[name]
	if version != "" {
		if _, err := strconv.ParseInt(version, 10, 64); err != nil {
			return nil, status.Errorf(codes.InvalidArgument,
				"failed to get model version from specified version string '%s' (details: stol), version should be an integral value > 0", version)
		}
	}
	switch {
	case !ok:
		return nil, status.Errorf(codes.NotFound, "Request for unknown model: '%s' is not found", name)
	case version != "" && version != fakeVersion:
		return nil, status.Errorf(codes.NotFound, "Request for unknown model: '%s' version %s is not found", name, version)
	}
	return config, nil
}

// check returns tritonserver's error for a request that tritonserver refuses
// before the model receives it.
func check(config *kserve.ModelConfig, req *kserve.ModelInferRequest) error {
	declared := make(map[string]*kserve.ModelInput)
	for _, in := range config.GetInput() {
		declared[in.GetName()] = in
	}
	for i, in := range req.GetInputs() {
		if i >= len(req.GetRawInputContents()) {
			return invalid("unable to find data for input tensor '%s' for model '%s' in request.", in.GetName(), config.GetName())
		}
		if declared[in.GetName()] == nil {
			return invalid("unexpected inference input '%s' for model '%s'", in.GetName(), config.GetName())
		}
	}
	if err := checkMissing(config, req); err != nil {
		return err
	}
	for i, in := range req.GetInputs() {
		if err := checkInput(declared[in.GetName()], config, req, in, req.GetRawInputContents()[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkMissing(config *kserve.ModelConfig, req *kserve.ModelInferRequest) error {
	var got, missing []string
	for _, in := range req.GetInputs() {
		got = append(got, "'"+in.GetName()+"'")
	}
	required := 0
	for _, in := range config.GetInput() {
		if quoted := "'" + in.GetName() + "'"; !in.GetOptional() {
			required++
			if !slices.Contains(got, quoted) {
				missing = append(missing, quoted)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return invalid("%sexpected number of inputs between %d and %d but got %d inputs for model '%s'. Got input(s) [%s], "+
		"but missing required input(s) [%s]. Please provide all required input(s).", requestPrefix(req), required,
		len(config.GetInput()), len(got), config.GetName(), strings.Join(got, ","), strings.Join(missing, ","))
}

func checkInput(
	declared *kserve.ModelInput, config *kserve.ModelConfig, req *kserve.ModelInferRequest,
	in *kserve.ModelInferRequest_InferInputTensor, raw []byte,
) error {
	if want := datatype(declared.GetDataType()); in.GetDatatype() != want {
		return invalid("%sinference input '%s' data-type is '%s', but model '%s' expects '%s'",
			requestPrefix(req), in.GetName(), in.GetDatatype(), config.GetName(), want)
	}
	fits := func(dim, declared int64) bool { return declared == -1 || dim == declared }
	if !slices.EqualFunc(in.GetShape(), declared.GetDims(), fits) {
		return invalid("%sunexpected shape for input '%s' for model '%s'. Expected %s, got %s. ",
			requestPrefix(req), in.GetName(), config.GetName(), shape(declared.GetDims()), shape(in.GetShape()))
	}
	if in.GetDatatype() != "BYTES" {
		return nil
	}
	want := int64(1)
	for _, dim := range in.GetShape() {
		want *= dim
	}
	if got := int64(len(elements(raw))); got != want {
		return invalid("%sexpected %d string elements for inference input '%s' for model '%s', got %d",
			requestPrefix(req), want, in.GetName(), config.GetName(), got)
	}
	return nil
}

func invalid(format string, args ...any) error {
	return status.Errorf(codes.InvalidArgument, format, args...)
}

func requestPrefix(req *kserve.ModelInferRequest) string {
	if req.GetId() == "" {
		return ""
	}
	return "[request id: " + req.GetId() + "] "
}

func shape(dims []int64) string {
	return strings.ReplaceAll(fmt.Sprint(dims), " ", ",")
}

// tensor is a named tensor of a model.
type tensor struct {
	name, datatype string
	shape          []int64
	raw            []byte
}

func int32s(name string, values ...int32) tensor {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(v))
	}
	return tensor{name, "INT32", []int64{int64(len(values))}, raw}
}

func texts(name string, values ...string) tensor {
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(len(v)))
		raw = append(raw, v...)
	}
	return tensor{name, "BYTES", []int64{int64(len(values))}, raw}
}

// elements returns the elements of a BYTES tensor. It stops at a truncated
// element.
func elements(raw []byte) []string {
	var values []string
	for len(raw) >= 4 {
		n := int(binary.LittleEndian.Uint32(raw))
		if raw = raw[4:]; n > len(raw) {
			break
		}
		values = append(values, string(raw[:n]))
		raw = raw[n:]
	}
	return values
}

// echo implements test/models/echo.
func echo(a *answer) error {
	if fail := a.input("FAIL"); fail != nil {
		_, text, _ := strings.Cut(elements(fail)[0], ": ")
		return a.fail(true, text)
	}
	var outputs []tensor
	for _, name := range []string{"TEXT", "DATA"} {
		for i, in := range a.request.GetInputs() {
			if in.GetName() == name {
				outputs = append(outputs, tensor{name, in.GetDatatype(), in.GetShape(), a.request.GetRawInputContents()[i]})
			}
		}
	}
	return a.send(true, outputs...)
}

// streamModel implements test/models/stream.
type streamModel struct {
	mu      sync.Mutex
	records map[string]record
}

type record struct {
	state string
	sent  int32
}

func (m *streamModel) serve(a *answer) error {
	key := strings.Join(elements(a.input("KEY")), "")
	if a.input("COUNT") == nil {
		r := m.recordOf(key)
		if err := a.send(false, texts("STATE", r.state), int32s("INDEX", r.sent)); err != nil {
			return err
		}
		return a.send(true)
	}
	m.update(key, "running", 0)
	state, err := m.run(a, key)
	m.update(key, state, m.recordOf(key).sent)
	if err != nil {
		return err
	}
	return a.send(true)
}

func (m *streamModel) run(a *answer, key string) (string, error) {
	delay := time.Duration(number(a.input("DELAY"), 0)) * time.Millisecond
	size := int(number(a.input("SIZE"), 0))
	failAt := number(a.input("FAIL_AT"), -1)
	for i := range number(a.input("COUNT"), 0) {
		if err := pause.For(a.ctx(), delay); err != nil {
			return "cancelled", err
		}
		if i == failAt {
			return "failed", a.fail(false, fmt.Sprintf("response %d failed, as asked", i))
		}
		data := tensor{"DATA", "UINT8", []int64{int64(size)}, filled(size, byte(i))}
		if err := a.send(false, data, int32s("INDEX", i)); err != nil {
			return "cancelled", err
		}
		m.update(key, "running", i+1)
	}
	return "done", nil
}

func (m *streamModel) update(key, state string, sent int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.records[key] = record{state, sent}
}

func (m *streamModel) recordOf(key string) record {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.records[key]; ok {
		return r
	}
	return record{state: "unknown"}
}

// number returns the single element of an INT32 tensor, or otherwise if raw has
// another size.
func number(raw []byte, otherwise int32) int32 {
	if len(raw) != 4 {
		return otherwise
	}
	return int32(binary.LittleEndian.Uint32(raw))
}

func filled(size int, value byte) []byte {
	return bytes.Repeat([]byte{value}, size)
}
