package tritontest

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// fakeVersion is the only version of each of the fake's models.
const fakeVersion = "1"

// ServerLive implements the KServe v2 service, as do the methods below.
func (f *Fake) ServerLive(ctx context.Context, _ *kserve.ServerLiveRequest) (*kserve.ServerLiveResponse, error) {
	return &kserve.ServerLiveResponse{Live: true}, f.gate.wait(ctx)
}

// ServerReady returns true from the start.
func (f *Fake) ServerReady(ctx context.Context, _ *kserve.ServerReadyRequest) (*kserve.ServerReadyResponse, error) {
	return &kserve.ServerReadyResponse{Ready: true}, f.gate.wait(ctx)
}

// ModelReady returns false for unknown models.
func (f *Fake) ModelReady(ctx context.Context, req *kserve.ModelReadyRequest) (*kserve.ModelReadyResponse, error) {
	_, err := f.find(req.GetName(), req.GetVersion())
	return &kserve.ModelReadyResponse{Ready: err == nil}, f.gate.wait(ctx)
}

// ServerMetadata returns the server name "triton", as the real one does.
func (f *Fake) ServerMetadata(ctx context.Context, _ *kserve.ServerMetadataRequest) (*kserve.ServerMetadataResponse, error) {
	return &kserve.ServerMetadataResponse{Name: "triton", Version: "2.51.0"}, f.gate.wait(ctx)
}

// ModelMetadata derives the metadata from the configuration.
func (f *Fake) ModelMetadata(ctx context.Context, req *kserve.ModelMetadataRequest) (*kserve.ModelMetadataResponse, error) {
	config, err := f.find(req.GetName(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	metadata := &kserve.ModelMetadataResponse{Name: config.GetName(), Versions: []string{fakeVersion}, Platform: config.GetBackend()}
	for _, in := range config.GetInput() {
		metadata.Inputs = append(metadata.Inputs, &kserve.ModelMetadataResponse_TensorMetadata{
			Name: in.GetName(), Datatype: datatype(in.GetDataType()), Shape: in.GetDims(),
		})
	}
	for _, out := range config.GetOutput() {
		metadata.Outputs = append(metadata.Outputs, &kserve.ModelMetadataResponse_TensorMetadata{
			Name: out.GetName(), Datatype: datatype(out.GetDataType()), Shape: out.GetDims(),
		})
	}
	return metadata, f.gate.wait(ctx)
}

// datatype returns the KServe datatype of a type in a configuration.
func datatype(t kserve.DataType) string {
	if t == kserve.DataType_TYPE_STRING {
		return "BYTES"
	}
	return strings.TrimPrefix(t.String(), "TYPE_")
}

// ModelConfig returns the configuration as it is in the repository.
func (f *Fake) ModelConfig(ctx context.Context, req *kserve.ModelConfigRequest) (*kserve.ModelConfigResponse, error) {
	config, err := f.find(req.GetName(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	return &kserve.ModelConfigResponse{Config: config}, f.gate.wait(ctx)
}

// ModelStatistics returns the number of requests of each model.
func (f *Fake) ModelStatistics(ctx context.Context, req *kserve.ModelStatisticsRequest) (*kserve.ModelStatisticsResponse, error) {
	if _, known := f.models()[req.GetName()]; !known && req.GetName() != "" {
		return nil, status.Errorf(codes.InvalidArgument, "requested model '%s' is not available", req.GetName())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	answer := &kserve.ModelStatisticsResponse{}
	for _, name := range slices.Sorted(maps.Keys(f.models())) {
		if req.GetName() == "" || req.GetName() == name {
			answer.ModelStats = append(answer.ModelStats, &kserve.ModelStatistics{
				Name: name, Version: fakeVersion, InferenceCount: f.counts[name], ExecutionCount: f.counts[name],
			})
		}
	}
	return answer, f.gate.wait(ctx)
}

// TraceSetting changes and returns the settings. The fake traces no request.
func (f *Fake) TraceSetting(ctx context.Context, req *kserve.TraceSettingRequest) (*kserve.TraceSettingResponse, error) {
	if _, known := f.models()[req.GetModelName()]; !known && req.GetModelName() != "" {
		return nil, status.Error(codes.NotFound, "Request for unknown model: '"+req.GetModelName()+"' is not found")
	}
	if err := f.gate.wait(ctx); err != nil {
		return nil, err
	}
	settings := f.settings()
	answer, err := settings.traces.Setting(req)
	return answer, settingError(err)
}

// LogSettings changes and returns the settings. The fake logs nothing.
func (f *Fake) LogSettings(ctx context.Context, req *kserve.LogSettingsRequest) (*kserve.LogSettingsResponse, error) {
	if err := f.gate.wait(ctx); err != nil {
		return nil, err
	}
	settings := f.settings()
	answer, err := settings.logs.Setting(req)
	return answer, settingError(err)
}

// settingError returns tritonserver's status for an error of the settings.
func settingError(err error) error {
	if err == nil {
		return nil
	}
	code := codes.InvalidArgument
	if inference.AsError(err).Code == inference.CodeUnsupported {
		code = codes.Unimplemented
	}
	return status.Error(code, err.Error())
}

// RepositoryIndex lists all models as ready.
func (f *Fake) RepositoryIndex(ctx context.Context, _ *kserve.RepositoryIndexRequest) (*kserve.RepositoryIndexResponse, error) {
	index := &kserve.RepositoryIndexResponse{}
	for _, name := range slices.Sorted(maps.Keys(f.models())) {
		index.Models = append(index.Models, &kserve.RepositoryIndexResponse_ModelIndex{Name: name, Version: fakeVersion, State: "READY"})
	}
	return index, f.gate.wait(ctx)
}

// RepositoryModelLoad returns the error of a server outside the explicit
// control mode.
func (*Fake) RepositoryModelLoad(context.Context, *kserve.RepositoryModelLoadRequest) (*kserve.RepositoryModelLoadResponse, error) {
	return nil, errNotExplicit()
}

// RepositoryModelUnload returns the error of a server outside the explicit
// control mode.
func (*Fake) RepositoryModelUnload(context.Context, *kserve.RepositoryModelUnloadRequest) (*kserve.RepositoryModelUnloadResponse, error) {
	return nil, errNotExplicit()
}

func errNotExplicit() error {
	return status.Error(codes.Unavailable, "explicit model load / unload is not allowed if polling is enabled")
}

type inferStream = grpc.BidiStreamingServer[kserve.ModelInferRequest, kserve.ModelStreamInferResponse]

// ModelStreamInfer serves a stream's requests one after the other. Errors are
// sent as error messages in the stream.
func (f *Fake) ModelStreamInfer(stream inferStream) error {
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f.serve(stream, req); err != nil {
			return err
		}
	}
}

func (f *Fake) serve(stream inferStream, req *kserve.ModelInferRequest) error {
	a := &answer{fake: f, stream: stream, request: req}
	config, err := f.find(req.GetModelName(), req.GetModelVersion())
	if err == nil {
		err = check(config, req)
	}
	if err != nil {
		return a.refuse(status.Convert(err).Message())
	}
	f.mu.Lock()
	f.counts[config.GetName()]++
	model := f.stream
	f.mu.Unlock()
	if config.GetName() == "echo" {
		return echo(a)
	}
	return model.serve(a)
}

// answer sends the responses of one request.
type answer struct {
	fake    *Fake
	stream  inferStream
	request *kserve.ModelInferRequest
}

func (a *answer) ctx() context.Context { return a.stream.Context() }

// input returns the contents of an input, or nil if the request doesn't have
// it.
func (a *answer) input(name string) []byte {
	for i, in := range a.request.GetInputs() {
		if in.GetName() == name {
			return a.request.GetRawInputContents()[i]
		}
	}
	return nil
}

// send sends one response, with the flag that marks the final response.
func (a *answer) send(final bool, tensors ...tensor) error {
	response := a.response(final)
	if len(tensors) > 0 {
		response.ModelVersion = fakeVersion
	}
	for _, t := range tensors {
		response.Outputs = append(response.Outputs, &kserve.ModelInferResponse_InferOutputTensor{
			Name: t.name, Datatype: t.datatype, Shape: t.shape,
		})
		response.RawOutputContents = append(response.RawOutputContents, t.raw)
	}
	return a.write(&kserve.ModelStreamInferResponse{InferResponse: response})
}

// fail sends a model's error.
func (a *answer) fail(final bool, text string) error {
	return a.write(&kserve.ModelStreamInferResponse{ErrorMessage: text, InferResponse: a.response(final)})
}

// refuse sends the error of a request that doesn't reach a model.
func (a *answer) refuse(text string) error {
	return a.write(&kserve.ModelStreamInferResponse{
		ErrorMessage:  text,
		InferResponse: &kserve.ModelInferResponse{Id: a.request.GetId()},
	})
}

func (a *answer) response(final bool) *kserve.ModelInferResponse {
	return &kserve.ModelInferResponse{
		ModelName: a.request.GetModelName(),
		Id:        a.request.GetId(),
		Parameters: map[string]*kserve.InferParameter{
			"triton_final_response": {ParameterChoice: &kserve.InferParameter_BoolParam{BoolParam: final}},
		},
	}
}

func (a *answer) write(message *kserve.ModelStreamInferResponse) error {
	if err := a.fake.gate.wait(a.ctx()); err != nil {
		return err
	}
	return a.stream.Send(message)
}
