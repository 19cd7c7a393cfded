package inference

// TritonCode is the code of an error in Triton's own API, for the frontends that
// speak Triton's protocol.
type TritonCode uint8

// The codes of TRITONSERVER_Error_Code. TritonNone stands for an error that isn't
// Triton's, or whose code got lost.
const (
	TritonNone TritonCode = iota
	TritonUnknown
	TritonInternal
	TritonNotFound
	TritonInvalidArg
	TritonUnavailable
	TritonUnsupported
	TritonAlreadyExists
	TritonCancelled
)
