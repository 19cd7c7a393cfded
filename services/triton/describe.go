package triton

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

type client = kserve.GRPCInferenceServiceClient

// call makes one unary call within a time limit.
func call[Request, Response any](
	ctx context.Context, e *Engine, timeout time.Duration,
	method func(client, context.Context, *Request, ...grpc.CallOption) (*Response, error), req *Request,
) (*Response, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	conn, err := e.connection(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := method(kserve.NewGRPCInferenceServiceClient(conn), ctx, req)
	if err != nil {
		if errors.Is(context.Cause(ctx), errTimeout) && timeout == e.config.CallTimeout {
			e.checkLink(ctx, conn, nil)
		}
		return nil, e.failure(ctx, err)
	}
	return answer, nil
}

// ServerLive implements [inference.Describer].
func (e *Engine) ServerLive(ctx context.Context, req *kserve.ServerLiveRequest) (*kserve.ServerLiveResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.ServerLive, req)
}

// ServerReady implements [inference.Describer].
func (e *Engine) ServerReady(ctx context.Context, req *kserve.ServerReadyRequest) (*kserve.ServerReadyResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.ServerReady, req)
}

// IsAbsent reports whether an error means that Triton doesn't serve a model. Triton 2.71 returns
// such an error for the readiness of a model, where other versions return that it isn't ready.
func IsAbsent(err error) bool {
	e, ok := errors.AsType[*inference.Error](err)
	return ok && (e.Reason == inference.ReasonModelNotFound || e.Reason == inference.ReasonModelNotReady)
}

// ModelReady implements [inference.Describer]. For a model that Triton doesn't serve it returns
// "not ready" and no error.
func (e *Engine) ModelReady(ctx context.Context, req *kserve.ModelReadyRequest) (*kserve.ModelReadyResponse, error) {
	answer, err := call(ctx, e, e.config.CallTimeout, client.ModelReady, req)
	if IsAbsent(err) {
		return &kserve.ModelReadyResponse{}, nil
	}
	if err == nil && e.health.check(req.GetName()) != nil {
		answer.Ready = false
	}
	return answer, err
}

// ServerMetadata implements [inference.Describer].
func (e *Engine) ServerMetadata(ctx context.Context, req *kserve.ServerMetadataRequest) (*kserve.ServerMetadataResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.ServerMetadata, req)
}

// ModelMetadata implements [inference.Describer].
func (e *Engine) ModelMetadata(ctx context.Context, req *kserve.ModelMetadataRequest) (*kserve.ModelMetadataResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.ModelMetadata, req)
}

// ModelConfig implements [inference.Describer].
func (e *Engine) ModelConfig(ctx context.Context, req *kserve.ModelConfigRequest) (*kserve.ModelConfigResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.ModelConfig, req)
}

// ModelStatistics implements [inference.Statistician].
func (e *Engine) ModelStatistics(ctx context.Context, req *kserve.ModelStatisticsRequest) (*kserve.ModelStatisticsResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.ModelStatistics, req)
}

// RepositoryIndex implements [inference.Repository].
func (e *Engine) RepositoryIndex(ctx context.Context, req *kserve.RepositoryIndexRequest) (*kserve.RepositoryIndexResponse, error) {
	index, err := call(ctx, e, e.config.CallTimeout, client.RepositoryIndex, req)
	if err == nil {
		e.health.faults().Mark(index, req.GetReady())
	}
	return index, err
}

// RepositoryModelLoad implements [inference.Repository]. It returns after the
// model has been loaded, which may take minutes.
func (e *Engine) RepositoryModelLoad(ctx context.Context, req *kserve.RepositoryModelLoadRequest) (*kserve.RepositoryModelLoadResponse, error) {
	answer, err := call(ctx, e, e.config.LoadTimeout, client.RepositoryModelLoad, req)
	if err == nil {
		e.health.clearFault(req.GetModelName(), "the model was loaded")
	}
	return answer, err
}

// RepositoryModelUnload implements [inference.Repository].
func (e *Engine) RepositoryModelUnload(ctx context.Context, req *kserve.RepositoryModelUnloadRequest) (*kserve.RepositoryModelUnloadResponse, error) {
	answer, err := call(ctx, e, e.config.LoadTimeout, client.RepositoryModelUnload, req)
	if err == nil {
		e.health.clearFault(req.GetModelName(), "the model was unloaded")
	}
	return answer, err
}

// TraceSetting implements [inference.Settings].
func (e *Engine) TraceSetting(ctx context.Context, req *kserve.TraceSettingRequest) (*kserve.TraceSettingResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.TraceSetting, req)
}

// LogSettings implements [inference.Settings].
func (e *Engine) LogSettings(ctx context.Context, req *kserve.LogSettingsRequest) (*kserve.LogSettingsResponse, error) {
	return call(ctx, e, e.config.CallTimeout, client.LogSettings, req)
}
