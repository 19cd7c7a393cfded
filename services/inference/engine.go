package inference

import (
	"context"
	"iter"

	"google.golang.org/grpc/mem"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// Engine runs models. It is a remote tritonserver or in-process Triton. All methods may be called
// concurrently. Errors are [*Error] if the cause is known; their messages may be shown to
// clients.
//
// An engine implements further interfaces for optional features. Callers detect them by type
// assertion: [Forwarder], [Caller], [Starter], [Describer], [StatisticsReporter], [Repository],
// [SharedMemory], [Settings], [MixedCounter], [Metrics], [Notifier], [EndpointReporter],
// [Drainer], [Placer].
type Engine interface {
	// Stream runs one inference and yields its responses in order. It ends after the final
	// response or the first error. A model that isn't decoupled yields one response. Nothing is
	// sent before the first iteration. Leaving the loop, or the end of ctx, cancels the request
	// in the model. When Stream returns, everything that it started has ended. The request must
	// not be changed until then. The raw contents of the request are the exception: they may be
	// released when [Sent] is called, which an engine does once Triton has them. If the first or
	// a further response takes longer than the engine's limits, the stream ends with
	// [CodeUnavailable].
	Stream(ctx context.Context, req *kserve.ModelInferRequest) iter.Seq2[*Response, error]
	// Ready returns nil if the engine accepts requests.
	Ready(ctx context.Context) error
	// Models lists the models that the engine knows, in any state.
	Models(ctx context.Context) ([]Model, error)
}

// Forwarder is an [Engine] that runs requests as clients encoded them and returns all responses
// of the model. Its methods follow the rules of Engine's methods.
type Forwarder interface {
	// Forward is [Engine.Stream] for clients of Triton's own protocol. A model's error is a
	// response with Err, and further responses may follow. An error that ends the stream comes
	// from the request or the engine.
	Forward(ctx context.Context, m *InferRequest) iter.Seq2[*Response, error]
}

// Caller is an engine whose server speaks KServe v2 itself, so that unary calls can be forwarded.
type Caller interface {
	// Call runs a request of a model that isn't decoupled. It returns the encoded
	// ModelInferResponse, which the caller must free.
	Call(ctx context.Context, m *InferRequest) (mem.BufferSlice, error)
}

// sentKey is the context key of [WhenSent].
type sentKey struct{}

// WhenSent registers a function that is called once a request streamed under the context has been
// handed to Triton. The goroutine that reads the stream calls the function.
func WhenSent(ctx context.Context, call func()) context.Context {
	return context.WithValue(ctx, sentKey{}, call)
}

// Sent calls the function of [WhenSent]. Engines call it with the context of a stream or a
// context derived from it.
func Sent(ctx context.Context) {
	if call, ok := ctx.Value(sentKey{}).(func()); ok {
		call()
	}
}

// Ends returns the channels that are closed when the client ends a request, and when the server
// ends it, for callers that wait for one of them while the request runs. A context with separate
// channels for the two ends implements Ends itself. Two separate channels cost less than the
// context's Done, which must join the two ends.
func Ends(ctx context.Context) (client, service <-chan struct{}) {
	if joined, ok := ctx.(interface {
		Ends() (client, service <-chan struct{})
	}); ok {
		return joined.Ends()
	}
	return ctx.Done(), nil
}

// Remote is an [Engine] that runs on another server.
type Remote interface {
	// Address returns the server's address, as the operator configured it, for the log.
	Address() string
}

// Starter is an [Engine] that continues to load models after its own start.
type Starter interface {
	// AwaitModels waits until the models of the start have been loaded or have failed. The error
	// lists the failed models, or reports that ctx has ended.
	AwaitModels(ctx context.Context) error
}

// Response is a view of one response. It is valid until the stream's next iteration.
type Response struct {
	// ID is the request's id, as the engine returned it.
	ID string
	// Version of the model that answered. It is empty if the engine doesn't report it.
	Version string
	// Parameters of the response, set by the model. They are nil if there are none.
	Parameters map[string]*kserve.InferParameter
	// Outputs are in the engine's order. An empty final response has none.
	Outputs []Output
	// Final marks the last response of the request.
	Final bool
	// Idle marks a placeholder without a response. It is sent while the model is idle, for
	// keep-alives.
	Idle bool
	// More is true if the next response has already arrived.
	More bool
	// Err is the model's error in place of outputs. Only a [Forwarder] sets it.
	Err *Error
	// Encoded is the whole response as the engine's server encoded it, a
	// ModelStreamInferResponse. It is nil if there is no such server, and for errors.
	Encoded mem.BufferSlice
	// Owner owns the memory of the outputs. It is nil if the memory can't be handed over.
	Owner Owner
}

// End reports whether this response has no content and only marks the end of the request.
// tritonserver sends such a response to clients that request it. Such a response has no model
// version, or, if a server encoded the response, the version in the request.
func (r *Response) End(req *kserve.ModelInferRequest) bool {
	return r.Final && r.Err == nil && len(r.Outputs) == 0 && len(r.Parameters) == 0 &&
		(r.Version == "" || r.Encoded != nil && r.Version == req.GetModelVersion())
}

// Owner owns the memory of a response's outputs.
type Owner interface {
	// Take transfers the memory of an output to the caller. The returned buffer is that memory:
	// the output's Raw stays valid until the buffer is freed. Take returns nil for an output that
	// must be copied instead.
	Take(output int) mem.Buffer
}

// Output is one tensor of a response.
type Output struct {
	Name string
	Type string // KServe v2 datatype: BYTES, FP32, UINT32 …
	// Shape may be empty for a scalar.
	Shape []int64
	// Raw is the tensor in row-major order, little-endian. Each BYTES element is a little-endian
	// uint32 length followed by that many bytes. Raw is nil if the tensor lies in Shared.
	Raw []byte
	// Shared is the memory region that the request named for the tensor. It is nil if the tensor
	// is in Raw.
	Shared *SharedRegion
}

// SharedRegion is a part of a shared memory region that a client has registered. A tensor in it
// may be smaller than the part.
type SharedRegion struct {
	Name   string // name of the shared memory region
	Offset uint64 // number of bytes from the start of the region to the part
	Size   uint64 // size of the part in bytes
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

// Model is an engine's description of one of its models.
type Model struct {
	Name string
	// Version that serves requests without a version.
	Version string
	// Versions are all versions that the engine lists, in any state.
	Versions []string
	State    ModelState
	// Reason is Triton's message about a model that isn't ready.
	Reason string
	// Recovering is true for a model that broke down and that the engine is recovering by itself.
	Recovering bool
	// Config is the model's configuration in Triton. It is set only for models that are ready.
	Config *kserve.ModelConfig
	// Differing describes the servers of an engine over several servers that list the model, but
	// not as it is here. Requests don't go to them. Each entry has the server's address and is for
	// the operator only.
	Differing []string
}

// Describer returns metadata and configuration as KServe v2 messages.
type Describer interface {
	ServerMetadata(context.Context, *kserve.ServerMetadataRequest) (*kserve.ServerMetadataResponse, error)
	ModelMetadata(context.Context, *kserve.ModelMetadataRequest) (*kserve.ModelMetadataResponse, error)
	ModelConfig(context.Context, *kserve.ModelConfigRequest) (*kserve.ModelConfigResponse, error)
	ModelReady(context.Context, *kserve.ModelReadyRequest) (*kserve.ModelReadyResponse, error)
	ServerLive(context.Context, *kserve.ServerLiveRequest) (*kserve.ServerLiveResponse, error)
	ServerReady(context.Context, *kserve.ServerReadyRequest) (*kserve.ServerReadyResponse, error)
}

// StatisticsReporter returns statistics of each model.
type StatisticsReporter interface {
	ModelStatistics(context.Context, *kserve.ModelStatisticsRequest) (*kserve.ModelStatisticsResponse, error)
}

// Repository lists, loads and unloads models.
type Repository interface {
	RepositoryIndex(context.Context, *kserve.RepositoryIndexRequest) (*kserve.RepositoryIndexResponse, error)
	RepositoryModelLoad(context.Context, *kserve.RepositoryModelLoadRequest) (*kserve.RepositoryModelLoadResponse, error)
	RepositoryModelUnload(context.Context, *kserve.RepositoryModelUnloadRequest) (*kserve.RepositoryModelUnloadResponse, error)
}

// SharedMemory registers system and GPU memory that clients on this host share with the engine.
// Requests name a region in the parameters of their inputs and requested outputs (KServe v2,
// Triton's shared memory extensions). A request without a name applies to all regions of the
// kind.
type SharedMemory interface {
	SystemSharedMemoryStatus(context.Context, *kserve.SystemSharedMemoryStatusRequest) (*kserve.SystemSharedMemoryStatusResponse, error)
	SystemSharedMemoryRegister(context.Context, *kserve.SystemSharedMemoryRegisterRequest) (*kserve.SystemSharedMemoryRegisterResponse, error)
	SystemSharedMemoryUnregister(context.Context, *kserve.SystemSharedMemoryUnregisterRequest) (*kserve.SystemSharedMemoryUnregisterResponse, error)
	CudaSharedMemoryStatus(context.Context, *kserve.CudaSharedMemoryStatusRequest) (*kserve.CudaSharedMemoryStatusResponse, error)
	CudaSharedMemoryRegister(context.Context, *kserve.CudaSharedMemoryRegisterRequest) (*kserve.CudaSharedMemoryRegisterResponse, error)
	CudaSharedMemoryUnregister(context.Context, *kserve.CudaSharedMemoryUnregisterRequest) (*kserve.CudaSharedMemoryUnregisterResponse, error)
}

// Settings reads and changes an engine's trace and log settings. A request without settings only
// reads. The response has all settings by tritonserver's names. A setting that the engine can't
// change is [CodeUnsupported], an invalid value [CodeInvalid].
type Settings interface {
	// TraceSetting applies to one model, or to all models without their own settings. A setting
	// with an empty list of values is reset to the global setting, or to the value of the
	// engine's start.
	TraceSetting(context.Context, *kserve.TraceSettingRequest) (*kserve.TraceSettingResponse, error)
	LogSettings(context.Context, *kserve.LogSettingsRequest) (*kserve.LogSettingsResponse, error)
}

// Notifier reports that the state of a model has changed without a request for it: the model
// broke down, or recovered. [Engine.Models] returns the new states. The channel must have one
// receiver.
type Notifier interface {
	Changed() <-chan struct{}
}

// MixedCounter counts responses that arrived at another request than their own.
type MixedCounter interface {
	// Mixed returns the number of responses that arrived at another request than their own. Each
	// ended the request that received it. No client received such a response.
	Mixed() uint64
}

// EndpointReporter is an [Engine] over several servers.
type EndpointReporter interface {
	// Endpoints returns the state of each server and the counters of all.
	Endpoints() EndpointReport
}

// Drainer is an [Engine] over several servers that operators take out and in at run time. Both
// methods return [CodeNotFound] for an unknown address. They change nothing for a server that is in
// the wanted state already.
type Drainer interface {
	EndpointReporter
	// Drain stops sending requests to a server, until Resume or the end of the engine. Requests in
	// flight continue. Without force it returns [CodeInvalid] if no other server can serve a model
	// of the server. It logs the client under the context.
	Drain(ctx context.Context, address string, force bool) (Endpoint, error)
	// Resume sends requests to a drained server again. It returns the zero Endpoint if the server
	// isn't in the engine's list at present.
	Resume(ctx context.Context, address string) (Endpoint, error)
}

// EndpointReport is the state of the servers of an engine.
type EndpointReport struct {
	// Endpoints are the servers in the order of their addresses.
	Endpoints []Endpoint
	// Absent are the addresses of drained servers that aren't in the list at present.
	Absent []string
	// RepeatsRefused is the number of failed requests that weren't repeated on another server,
	// because the budget of repeats was spent.
	RepeatsRefused uint64
}

// Endpoint is the state of one server.
type Endpoint struct {
	// Address is the address of the server's gRPC port.
	Address string
	State   EndpointState
	// Reason is why the server is out or not ready, also while it is drained.
	Reason   string
	InFlight int // number of requests in flight
	// Weight is the capacity of the server in relation to others.
	Weight float64
	// The numbers of requests since the server came into the list: all attempts, those that
	// failed by the server's fault, and those that were repeats of failed ones elsewhere.
	Requests, Failures, Repeats uint64
	Outs                        uint64 // number of times that the server was taken out
	// MetricsURL is the URL of the server's own metrics, or empty.
	MetricsURL string
}

// EndpointState is the state of a server for the choice of the next request's server.
type EndpointState string

// The states of a server.
const (
	EndpointIn       EndpointState = "in"        // gets requests
	EndpointStarting EndpointState = "starting"  // gets a growing share of requests since it is back
	EndpointNotReady EndpointState = "not_ready" // gets requests only if no other server can serve them
	EndpointOut      EndpointState = "out"       // gets no requests, because it fails health checks
	EndpointDrained  EndpointState = "drained"   // gets no requests, because an operator has drained it
)

// EndpointStates returns all states.
func EndpointStates() []EndpointState {
	return []EndpointState{EndpointIn, EndpointStarting, EndpointNotReady, EndpointOut, EndpointDrained}
}

// Metrics returns an engine's own metrics.
type Metrics interface {
	// Metrics returns the metrics in Prometheus's text format, version 0.0.4.
	Metrics(context.Context) ([]byte, error)
}
