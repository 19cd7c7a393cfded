// Package kserve is the frontend of KServe v2 with Triton's extensions. It serves gRPC on a
// separate port, and gRPC, gRPC-Web and Connect on the shared port. [Service] has the
// methods of the protocol and only translates; several.go combines several engines.
// Inference without the protocol's rules belongs to package serving.
//
// This package has the common parts of the transports: the methods, their settings
// ([Config]), the ports ([Listener]) and the headers that become parameters
// ([Service.ForwardHTTP]). services/kserve/rest has REST's paths and bodies and imports this
// package. services/kserve/tensorjson has the tensors in REST's JSON, and services/wirecode
// the codes of errors.
package kserve

import (
	"context"
	"strings"
	"sync"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/serving"
)

// Service implements inference.GRPCInferenceService over the shared service. Its methods may be
// used concurrently. The errors of the methods are [inference.Error], which the transports
// convert.
type Service struct {
	cfg  Config
	core *serving.Service
	// forward selects the headers that become parameters.
	forward forwarding
	// streams counts the goroutines of streams.
	streams sync.WaitGroup
}

// New returns the frontend.
func New(cfg Config, core *serving.Service) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	forward, err := newForwarding(cfg)
	if err != nil {
		return nil, err
	}
	return &Service{cfg: cfg, core: core, forward: forward}, nil
}

// ServerLive always returns true: a response means that the process is alive. An unreachable
// engine is no reason to restart this process.
func (s *Service) ServerLive(context.Context, *kserve.ServerLiveRequest) (*kserve.ServerLiveResponse, error) {
	return &kserve.ServerLiveResponse{Live: true}, nil
}

// ServerReady returns true if every engine accepts requests and no shutdown has started.
func (s *Service) ServerReady(ctx context.Context, _ *kserve.ServerReadyRequest) (*kserve.ServerReadyResponse, error) {
	return &kserve.ServerReadyResponse{Ready: s.core.Ready(ctx) == nil}, nil
}

// ModelReady queries the model's engine.
func (s *Service) ModelReady(ctx context.Context, req *kserve.ModelReadyRequest) (*kserve.ModelReadyResponse, error) {
	return callModel(ctx, s, req.GetName(), inference.Describer.ModelReady, req)
}

// ModelMetadata queries the model's engine.
func (s *Service) ModelMetadata(ctx context.Context, req *kserve.ModelMetadataRequest) (*kserve.ModelMetadataResponse, error) {
	return callModel(ctx, s, req.GetName(), inference.Describer.ModelMetadata, req)
}

// ModelConfig queries the model's engine.
func (s *Service) ModelConfig(ctx context.Context, req *kserve.ModelConfigRequest) (*kserve.ModelConfigResponse, error) {
	return callModel(ctx, s, req.GetName(), inference.Describer.ModelConfig, req)
}

// RepositoryModelLoad loads a model in the repository that has it. A request with a
// configuration or files needs [Config.AllowModelUpload].
func (s *Service) RepositoryModelLoad(ctx context.Context, req *kserve.RepositoryModelLoadRequest) (*kserve.RepositoryModelLoadResponse, error) {
	if err := s.needsFrontends(); err != nil {
		return nil, err
	}
	if err := checkControlParameters(ctx, req.GetParameters()); err != nil {
		return nil, err
	}
	if len(req.GetParameters()) > 0 && !s.cfg.AllowModelUpload {
		return nil, Unsupported("a load request must not contain a configuration or files: to allow them, start the server with " + s.cfg.Names.Of("kserve.AllowModelUpload"))
	}
	if name := req.GetModelName(); strings.ContainsAny(name, `/\`) || name == "." || name == ".." { // Triton would use it as a part of a path
		return nil, &inference.Error{
			Code: inference.CodeInvalid, Triton: inference.TritonInternal,
			Message: "failed to load '" + name + "', failed to poll from model repository", // the message for a model that doesn't exist
		}
	}
	return &kserve.RepositoryModelLoadResponse{}, s.core.Control(ctx, req.GetModelName(), inference.ModelLoading, func(ctx context.Context, repository inference.Repository) error {
		_, err := repository.RepositoryModelLoad(ctx, req)
		return err
	})
}

// RepositoryModelUnload unloads a model in the engine that has it.
func (s *Service) RepositoryModelUnload(ctx context.Context, req *kserve.RepositoryModelUnloadRequest) (*kserve.RepositoryModelUnloadResponse, error) {
	if err := s.needsFrontends(); err != nil {
		return nil, err
	}
	if err := checkControlParameters(ctx, req.GetParameters()); err != nil {
		return nil, err
	}
	return &kserve.RepositoryModelUnloadResponse{}, s.core.Control(ctx, req.GetModelName(), inference.ModelUnloading, func(ctx context.Context, repository inference.Repository) error {
		_, err := repository.RepositoryModelUnload(ctx, req)
		return err
	})
}

// checkControlParameters refuses parameters that affect other models: a configuration can refer to
// other models, and an unload can include dependent models.
func checkControlParameters(ctx context.Context, parameters map[string]*kserve.ModelRepositoryParameter) error {
	if len(parameters) == 0 {
		return nil
	}
	return inference.MayAll(ctx)
}

// needsFrontends returns an error unless [Config.Enabled] is set.
func (s *Service) needsFrontends() error {
	if s.cfg.Enabled {
		return nil
	}
	return Unsupported("this server accepts no changes by the KServe protocol: to allow them, start the server with " + s.cfg.Names.Of("kserve.Enabled"))
}

// mayRegister refuses shared memory unless the operator allows it. A client that registers a
// region can read and write the shared memory of processes on this machine. A loopback
// address doesn't identify the sender, since proxies and browsers are on this machine, too.
func (s *Service) mayRegister() error {
	if err := s.needsFrontends(); err != nil {
		return err
	}
	if !s.cfg.AllowSharedMemory {
		return Unsupported("shared memory is not allowed on this server: to allow it, start the server with " + s.cfg.Names.Of("kserve.AllowSharedMemory"))
	}
	return nil
}

// Unsupported returns the error of a feature that this server or its engine doesn't support.
func Unsupported(message string) error {
	return &inference.Error{Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented, Message: message}
}

// callModel calls a method of a model's engine.
func callModel[Interface, Req, Res any](ctx context.Context, s *Service, model string, method func(Interface, context.Context, *Req) (*Res, error), req *Req) (*Res, error) {
	engine, err := s.core.Catalog().EngineOf(ctx, model)
	if err != nil {
		return nil, err
	}
	return ask(ctx, engine, method, req)
}

// serves reports whether the engine has the model and the client may use it.
func (s *Service) serves(ctx context.Context, engine inference.Engine, model string) bool {
	own, err := s.core.Catalog().EngineOf(ctx, model)
	return err == nil && own == engine
}

// ask calls a method of an optional interface of an engine.
func ask[Interface, Req, Res any](ctx context.Context, engine inference.Engine, method func(Interface, context.Context, *Req) (*Res, error), req *Req) (*Res, error) {
	able, ok := engine.(Interface)
	if !ok {
		return nil, Unsupported("the model's engine does not support this operation")
	}
	return method(able, ctx, req)
}
