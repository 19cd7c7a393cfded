package extension

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// LatestVersion selects the version that a model's version policy chooses.
const LatestVersion = -1

// Version parses the model version of a request. An empty string means
// [LatestVersion]. As in tritonserver, characters after the digits are ignored.
func Version(text string) (int64, error) {
	if text == "" {
		return LatestVersion, nil
	}
	digits := strings.TrimLeft(text, " \t\n\v\f\r")
	end := strings.IndexFunc(strings.TrimLeft(digits, "+-"), func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		digits = digits[:len(digits)-len(strings.TrimLeft(digits, "+-"))+end]
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	switch {
	case err != nil:
		return 0, invalid("failed to get model version from specified version string '%s' (details: stol), version should be an integral value > 0", text)
	case n < 0:
		return 0, invalid("invalid model version specified '%s' , version should be an integral value > 0", text)
	}
	return n, nil
}

// enableEmptyFinal is the only reserved parameter that requests may have.
const enableEmptyFinal = "triton_enable_empty_final_response"

// Check returns an error if a request has an invalid parameter. If several
// parameters are invalid, it returns the error of the first one by name.
// tritonserver's order is random.
func (p Parameters) Check() error {
	if len(p) == 0 { // this case is usual, and sorting an empty map allocates memory too
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(p)) {
		if err := p.check(key); err != nil {
			return err
		}
	}
	return nil
}

func (p Parameters) check(key string) error {
	kind := kindOf(p[key])
	negative := p[key].GetInt64Param() < 0
	switch {
	case key == "sequence_id":
		return wants(key, "int64_param or string_param.", kind == kindInt || kind == kindString)
	case key == "sequence_start", key == "sequence_end", key == enableEmptyFinal:
		return wants(key, "bool_param.", kind == kindBool)
	case key == "priority" && negative:
		return invalid("invalid value for 'priority', expected value >= 0.")
	case key == "priority":
		return wants(key, "int64_param or uint64_param.", kind == kindInt || kind == kindUint)
	case key == "timeout":
		return wants(key, "int64_param.", kind == kindInt)
	case strings.HasPrefix(key, "triton_"):
		return invalid("parameter keys starting with 'triton_' are reserved for Triton usage. Only the following keys starting with 'triton_' are allowed: %s", enableEmptyFinal)
	}
	return wants(key, "int64_param, bool_param, or string_param.", kind != kindNone && kind != kindUint)
}

func wants(key, kinds string, right bool) error {
	if right {
		return nil
	}
	return invalid("invalid value type for '%s' parameter, expected %s", key, kinds)
}

// kind is the type of a parameter's value.
type kind int

const (
	kindNone kind = iota
	kindInt
	kindUint
	kindString
	kindBool
	kindDouble
)

func kindOf(p *kserve.InferParameter) kind {
	switch p.GetParameterChoice().(type) {
	case *kserve.InferParameter_Int64Param:
		return kindInt
	case *kserve.InferParameter_Uint64Param:
		return kindUint
	case *kserve.InferParameter_StringParam:
		return kindString
	case *kserve.InferParameter_BoolParam:
		return kindBool
	case *kserve.InferParameter_DoubleParam:
		return kindDouble
	}
	return kindNone
}

// CheckContents returns an error if the typed contents of a request's input are
// invalid. An input without typed contents is valid.
func CheckContents(req *kserve.ModelInferRequest, in *kserve.ModelInferRequest_InferInputTensor) error {
	c := in.GetContents()
	if c == nil {
		return nil
	}
	if len(req.GetRawInputContents()) > 0 {
		return invalid("contents field must not be specified when using raw_input_contents for '%s' for model '%s'", in.GetName(), req.GetModelName())
	}
	supplied := false
	for _, field := range []struct {
		filled bool
		types  []string // datatypes that use the field; the error message names the last one
	}{
		{len(c.GetBoolContents()) > 0, []string{"BOOL"}},
		{len(c.GetIntContents()) > 0, []string{"INT8", "INT16", "INT32"}},
		{len(c.GetInt64Contents()) > 0, []string{"INT64"}},
		{len(c.GetUintContents()) > 0, []string{"UINT8", "UINT16", "UINT32"}},
		{len(c.GetUint64Contents()) > 0, []string{"UINT64"}},
		{len(c.GetFp32Contents()) > 0, []string{"FP32"}},
		{len(c.GetFp64Contents()) > 0, []string{"FP64"}},
		{len(c.GetBytesContents()) > 0, []string{"BYTES"}},
	} {
		switch {
		case !field.filled:
			continue
		case supplied:
			return invalid("unexpected explicit tensor data for input tensor '%s' for model '%s', binary data was already supplied.", in.GetName(), req.GetModelName())
		case !slices.Contains(field.types, in.GetDatatype()):
			return invalid("unexpected explicit tensor data for input tensor '%s' for model '%s' of type '%s', expected datatype '%s'",
				in.GetName(), req.GetModelName(), field.types[len(field.types)-1], knownType(in.GetDatatype()))
		}
		supplied = true
	}
	return nil
}

// knownType returns a datatype as Triton prints it.
func knownType(name string) string {
	known := []string{"BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64", "FP16", "FP32", "FP64", "BYTES", "BF16"}
	if slices.Contains(known, name) {
		return name
	}
	return "<invalid>"
}
