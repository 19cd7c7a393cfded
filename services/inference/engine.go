package inference

import (
	"context"
	"iter"

	"google.golang.org/grpc/mem"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// Engine runs models: a remote tritonserver, or Triton in this process.
// All methods may be called concurrently. Errors are [*Error] where the cause
// is known; their messages may be shown to clients.
//
// What an engine can do beyond streaming it shows by further interfaces, found
// by assertion: [Forwarder], [Caller], [Starter], [Describer], [Statistician],
// [Repository], [SharedMemory], [Settings], [Sorter], [Metrics], [Notifier].
type Engine interface {
	// Stream runs one inference and yields its responses in order, ending after
	// the final one or after the first error. A model that isn't decoupled
	// yields one response. Nothing is sent before the first iteration. Leaving
	// the loop, or the end of ctx, cancels the request in the model; when Stream
	// returns, all that it started has ended. The request must not be changed
	// until then, but that its raw contents may be let go when [Sent] is called, which
	// an engine does once Triton has them. A stream without its first response, or without a
	// further one, for longer than the engine's limits ends with [CodeUnavailable].
	Stream(ctx context.Context, req *kserve.ModelInferRequest) iter.Seq2[*Response, error]
	// Ready is nil when the engine takes requests.
	Ready(ctx context.Context) error
	// Models lists the models that the engine knows, in any state.
	Models(ctx context.Context) ([]Model, error)
}

// Forwarder is an [Engine] that runs requests as clients have encoded them, and
// tells all that models answer. Its methods are as those of Engine.
type Forwarder interface {
	// Forward is [Engine.Stream] for clients of Triton's own protocol: a model's
	// error is a response with Err, which others may follow. An error that ends the
	// stream is one of the request or of the engine.
	Forward(ctx context.Context, m *InferRequest) iter.Seq2[*Response, error]
}

// Caller is an engine whose server speaks KServe v2 itself, so that a call can be
// passed on.
type Caller interface {
	// Call runs a request of a model that isn't decoupled and gives the encoded
	// ModelInferResponse, which the caller frees.
	Call(ctx context.Context, m *InferRequest) (mem.BufferSlice, error)
}

// sentKey is the context's for [WhenSent].
type sentKey struct{}

// WhenSent has a function called, by the goroutine that reads the stream, when a
// request that is streamed under the context has been handed to Triton.
func WhenSent(ctx context.Context, call func()) context.Context {
	return context.WithValue(ctx, sentKey{}, call)
}

// Sent is called by engines, with the context of a stream or one derived from it.
func Sent(ctx context.Context) {
	if call, ok := ctx.Value(sentKey{}).(func()); ok {
		call()
	}
}

// Starter loads models of its own accord after it was started.
type Starter interface {
	// AwaitModels waits until the models of the start have been loaded or have
	// failed; an error tells which failed, or that ctx has ended.
	AwaitModels(ctx context.Context) error
}

// Response is a view of one response, valid until the stream's next iteration.
type Response struct {
	// ID is the request's id, as the engine returned it.
	ID string
	// Version of the model that answered; empty where the engine doesn't say.
	Version string
	// Parameters that the model gave the response; nil for none.
	Parameters map[string]*kserve.InferParameter
	// Outputs in the engine's order; empty in an empty final response.
	Outputs []Output
	// Final marks the last response of the request.
	Final bool
	// Idle marks no response at all but a while of silence, for keep-alives.
	Idle bool
	// More is true when the next response is already here.
	More bool
	// Err is the model's error in place of outputs; only a [Forwarder] gives it.
	Err *Error
	// Encoded is the whole response as the engine's server has encoded it, a
	// ModelStreamInferResponse; nil where there is no such server, and of errors.
	Encoded mem.BufferSlice
	// Owner has the outputs' memory; nil for who can't part with it.
	Owner Owner
}

// End tells whether this is no response of a model's but only the end of the
// request's, which tritonserver sends to clients that ask for it. It then names the
// version that the request does, as a response without outputs may.
func (r *Response) End(req *kserve.ModelInferRequest) bool {
	return r.Final && r.Err == nil && len(r.Outputs) == 0 && len(r.Parameters) == 0 &&
		(r.Version == "" || r.Encoded != nil && r.Version == req.GetModelVersion())
}

// Owner has the memory that the outputs of a response lie in.
type Owner interface {
	// Take hands the memory of an output over, whose Raw is then valid until the
	// buffer, which is the same, is freed. It is nil for an output that is to be
	// copied instead.
	Take(output int) mem.Buffer
}

// Output is one tensor of a response.
type Output struct {
	Name string
	Type string // KServe v2 datatype: BYTES, FP32, UINT32 …
	// Shape may be empty for a scalar.
	Shape []int64
	// Raw is the tensor in row-major order, little-endian; BYTES elements are
	// each a little-endian u32 length and that many bytes.
	// Nil when the tensor lies in Shared.
	Raw []byte
	// Shared is where the request asked for the tensor to be put; nil for one
	// that comes in Raw.
	Shared *SharedRegion
}

// SharedRegion is a part of a region of shared memory that a client has
// registered. A tensor in it may be smaller than the part.
type SharedRegion struct {
	Name   string // of the region
	Offset uint64 // bytes from its start
	Size   uint64 // bytes
}

// ModelState is a model's state in the engine.
type ModelState string

// Triton's model states.
const (
	ModelNeverLoaded ModelState = ""
	ModelReady       ModelState = "READY"
	ModelLoading     ModelState = "LOADING"
	ModelUnloading   ModelState = "UNLOADING"
	ModelUnavailable ModelState = "UNAVAILABLE"
)

// Model is what an engine tells of one of its models.
type Model struct {
	Name string
	// Version that a request without a version reaches.
	Version string
	// Versions are all that the engine tells of, in any state.
	Versions []string
	State    ModelState
	// Reason is Triton's text on a model that isn't ready.
	Reason string
	// Recovering is true for a model that broke down and that the engine is
	// bringing back by itself.
	Recovering bool
	// Config is set for models that are ready.
	Config *kserve.ModelConfig
}

// Describer tells metadata and configuration in KServe v2 messages.
type Describer interface {
	ServerMetadata(context.Context, *kserve.ServerMetadataRequest) (*kserve.ServerMetadataResponse, error)
	ModelMetadata(context.Context, *kserve.ModelMetadataRequest) (*kserve.ModelMetadataResponse, error)
	ModelConfig(context.Context, *kserve.ModelConfigRequest) (*kserve.ModelConfigResponse, error)
	ModelReady(context.Context, *kserve.ModelReadyRequest) (*kserve.ModelReadyResponse, error)
	ServerLive(context.Context, *kserve.ServerLiveRequest) (*kserve.ServerLiveResponse, error)
	ServerReady(context.Context, *kserve.ServerReadyRequest) (*kserve.ServerReadyResponse, error)
}

// Statistician tells per-model statistics.
type Statistician interface {
	ModelStatistics(context.Context, *kserve.ModelStatisticsRequest) (*kserve.ModelStatisticsResponse, error)
}

// Repository lists, loads and unloads models.
type Repository interface {
	RepositoryIndex(context.Context, *kserve.RepositoryIndexRequest) (*kserve.RepositoryIndexResponse, error)
	RepositoryModelLoad(context.Context, *kserve.RepositoryModelLoadRequest) (*kserve.RepositoryModelLoadResponse, error)
	RepositoryModelUnload(context.Context, *kserve.RepositoryModelUnloadRequest) (*kserve.RepositoryModelUnloadResponse, error)
}

// SharedMemory registers memory that the clients on this host share with the
// engine, of the system and of GPUs. Requests name a region in the parameters of
// their inputs and requested outputs (KServe v2, Triton's shared memory
// extensions). A request without a name is for all regions of the kind.
type SharedMemory interface {
	SystemSharedMemoryStatus(context.Context, *kserve.SystemSharedMemoryStatusRequest) (*kserve.SystemSharedMemoryStatusResponse, error)
	SystemSharedMemoryRegister(context.Context, *kserve.SystemSharedMemoryRegisterRequest) (*kserve.SystemSharedMemoryRegisterResponse, error)
	SystemSharedMemoryUnregister(context.Context, *kserve.SystemSharedMemoryUnregisterRequest) (*kserve.SystemSharedMemoryUnregisterResponse, error)
	CudaSharedMemoryStatus(context.Context, *kserve.CudaSharedMemoryStatusRequest) (*kserve.CudaSharedMemoryStatusResponse, error)
	CudaSharedMemoryRegister(context.Context, *kserve.CudaSharedMemoryRegisterRequest) (*kserve.CudaSharedMemoryRegisterResponse, error)
	CudaSharedMemoryUnregister(context.Context, *kserve.CudaSharedMemoryUnregisterRequest) (*kserve.CudaSharedMemoryUnregisterResponse, error)
}

// Settings tells what an engine traces and logs, and changes it. A request
// without settings only asks; the answer has all of them, by tritonserver's names.
// What an engine can't change is [CodeUnsupported], a wrong value [CodeInvalid].
type Settings interface {
	// TraceSetting is about one model, or about all that have no settings of their
	// own. A setting with an empty list of values falls back to the global one, or
	// to what the engine started with.
	TraceSetting(context.Context, *kserve.TraceSettingRequest) (*kserve.TraceSettingResponse, error)
	LogSettings(context.Context, *kserve.LogSettingsRequest) (*kserve.LogSettingsResponse, error)
}

// Notifier reports that the state of a model has changed without a request for it: the model
// broke down, or recovered. [Engine.Models] returns the new states. The channel must have one
// receiver.
type Notifier interface {
	Changed() <-chan struct{}
}

// Sorter knows of responses whose they are.
type Sorter interface {
	// Mixed is how many came to another request than their own. Each ended the request
	// that it came to, and no client got it.
	Mixed() uint64
}

// Metrics tells an engine's own metrics.
type Metrics interface {
	// Metrics gives them in Prometheus's text format, version 0.0.4.
	Metrics(context.Context) ([]byte, error)
}
