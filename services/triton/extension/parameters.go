package extension

import (
	"math"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Parameters of inputs and requested outputs that Triton interprets.
const (
	regionKey         = "shared_memory_region"
	offsetKey         = "shared_memory_offset"
	sizeKey           = "shared_memory_byte_size"
	classificationKey = "classification"
)

// Parameters are the parameters of an input or a requested output.
type Parameters map[string]*kserve.InferParameter

// Shared returns the part of a region that a tensor's parameters name, or nil
// without a region.
func (p Parameters) Shared(tensor string) (*inference.SharedRegion, error) {
	region, shared := p[regionKey]
	name, text := region.GetParameterChoice().(*kserve.InferParameter_StringParam)
	if shared && !text {
		return nil, wrongType(regionKey, tensor, "string_param")
	}
	offset, _, err := p.integer(offsetKey, tensor)
	if err != nil {
		return nil, err
	}
	size, sized, err := p.integer(sizeKey, tensor)
	switch {
	case err != nil:
		return nil, err
	case !shared:
		return nil, nil //nolint:nilnil // the tensor isn't in a region
	case !sized:
		return nil, invalid("'%s' must be specified along with '%s' parameter for tensor '%s'", sizeKey, regionKey, tensor)
	}
	return &inference.SharedRegion{Name: name.StringParam, Offset: offset, Size: size}, nil
}

// integer reads a number that is only valid together with a region. A negative
// number is converted to a large one, as in C, which is beyond any region.
func (p Parameters) integer(key, tensor string) (number uint64, there bool, err error) {
	parameter, there := p[key]
	if !there {
		return 0, false, nil
	}
	if _, shared := p[regionKey]; !shared {
		return 0, false, invalid("'%s' can not be specified without '%s' parameter for tensor '%s'", key, regionKey, tensor)
	}
	choice, ok := parameter.GetParameterChoice().(*kserve.InferParameter_Int64Param)
	if !ok {
		return 0, false, wrongType(key, tensor, "int64_param")
	}
	return uint64(choice.Int64Param), true, nil
}

func wrongType(key, tensor, want string) error {
	return invalid("invalid value type for '%s' parameter for tensor '%s', expected %s.", key, tensor, want)
}

// Classes returns the number of classes that a requested output's parameters ask
// for. It returns 0 if they ask for the tensor itself.
func (p Parameters) Classes() (uint32, error) {
	parameter, there := p[classificationKey]
	if !there {
		return 0, nil
	}
	choice, ok := parameter.GetParameterChoice().(*kserve.InferParameter_Int64Param)
	switch {
	case !ok:
		return 0, invalid("invalid value type for 'classification' parameter, expected int64_param")
	case choice.Int64Param <= 0:
		return 0, invalid("invalid value for 'classification' parameter, expected >= 0")
	case p[regionKey] != nil:
		return 0, invalid("output can't set both 'shared_memory_region' and 'classification'")
	}
	return uint32(min(choice.Int64Param, math.MaxUint32)), nil
}
