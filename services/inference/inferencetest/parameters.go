package inferencetest

import "github.com/trident-inference/trident/gen/go/kserve"

// Text is a parameter of type string.
func Text(s string) *kserve.InferParameter {
	return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_StringParam{StringParam: s}}
}

// Whole is a parameter of type int64.
func Whole(n int64) *kserve.InferParameter {
	return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_Int64Param{Int64Param: n}}
}

// Truth is a parameter of type bool.
func Truth(b bool) *kserve.InferParameter {
	return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_BoolParam{BoolParam: b}}
}

// Double is a parameter of type double.
func Double(f float64) *kserve.InferParameter {
	return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_DoubleParam{DoubleParam: f}}
}

// Unsigned is a parameter of type uint64.
func Unsigned(n uint64) *kserve.InferParameter {
	return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_Uint64Param{Uint64Param: n}}
}

// Params are the parameters of a request or a tensor, by name.
type Params = map[string]*kserve.InferParameter
