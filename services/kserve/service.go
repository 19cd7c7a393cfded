// Package kserve is the frontend of KServe v2 with Triton's extensions: by gRPC on a port of
// its own, and by gRPC, gRPC-Web and Connect on the shared one. [Service] has the methods of
// the protocol; it only translates, and several.go says how it speaks for several engines.
//
// What the transports share belongs here: the methods, their settings ([Config]), the ports
// ([Listener]) and the headers that become parameters ([Service.ForwardHTTP]). REST's paths
// and bodies belong to services/kserve/rest, which imports this package, and the tensors in
// its JSON to services/kserve/tensorjson. Codes of errors are in services/wirecode.
package kserve

import (
	"context"
	"strings"
	"sync"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/serving"
)

// Service answers inference.GRPCInferenceService from the shared service. Its
// methods may be used concurrently; their errors are [inference.Error], which the
// transports turn into their own.
type Service struct {
	cfg  Config
	core *serving.Service
	// forward is which headers become parameters.
	forward forwarding
	// streams counts the goroutines of streams.
	streams sync.WaitGroup
}

// New makes the frontend.
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

// ServerLive is true: who answers lives. An engine that is away doesn't make this
// process one to restart.
func (s *Service) ServerLive(context.Context, *kserve.ServerLiveRequest) (*kserve.ServerLiveResponse, error) {
	return &kserve.ServerLiveResponse{Live: true}, nil
}

// ServerReady is true when every engine takes requests and no stop was asked for.
func (s *Service) ServerReady(ctx context.Context, _ *kserve.ServerReadyRequest) (*kserve.ServerReadyResponse, error) {
	return &kserve.ServerReadyResponse{Ready: s.core.Ready(ctx) == nil}, nil
}

// ModelReady asks the model's engine.
func (s *Service) ModelReady(ctx context.Context, req *kserve.ModelReadyRequest) (*kserve.ModelReadyResponse, error) {
	return askOf(ctx, s, req.GetName(), inference.Describer.ModelReady, req)
}

// ModelMetadata asks the model's engine.
func (s *Service) ModelMetadata(ctx context.Context, req *kserve.ModelMetadataRequest) (*kserve.ModelMetadataResponse, error) {
	return askOf(ctx, s, req.GetName(), inference.Describer.ModelMetadata, req)
}

// ModelConfig asks the model's engine.
func (s *Service) ModelConfig(ctx context.Context, req *kserve.ModelConfigRequest) (*kserve.ModelConfigResponse, error) {
	return askOf(ctx, s, req.GetName(), inference.Describer.ModelConfig, req)
}

// RepositoryModelLoad loads a model in the repository that has it. A configuration
// or files of the request's own need [Config.AllowModelUpload].
func (s *Service) RepositoryModelLoad(ctx context.Context, req *kserve.RepositoryModelLoadRequest) (*kserve.RepositoryModelLoadResponse, error) {
	if err := s.needsFrontends(); err != nil {
		return nil, err
	}
	if err := mayParametrise(ctx, req.GetParameters()); err != nil {
		return nil, err
	}
	if len(req.GetParameters()) > 0 && !s.cfg.AllowModelUpload {
		return nil, Unsupported("a model is loaded as its repository has it: configurations and files of a load's own need --allow-model-upload")
	}
	if name := req.GetModelName(); strings.ContainsAny(name, `/\`) || name == "." || name == ".." { // to Triton it is part of a path
		return nil, &inference.Error{
			Code: inference.CodeInvalid, Triton: inference.TritonInternal,
			Message: "failed to load '" + name + "', failed to poll from model repository", // as for any that isn't there
		}
	}
	return &kserve.RepositoryModelLoadResponse{}, s.core.Control(ctx, req.GetModelName(), inference.ModelLoading, func(ctx context.Context, repository inference.Repository) error {
		_, err := repository.RepositoryModelLoad(ctx, req)
		return err
	})
}

// RepositoryModelUnload unloads a model where it is.
func (s *Service) RepositoryModelUnload(ctx context.Context, req *kserve.RepositoryModelUnloadRequest) (*kserve.RepositoryModelUnloadResponse, error) {
	if err := s.needsFrontends(); err != nil {
		return nil, err
	}
	if err := mayParametrise(ctx, req.GetParameters()); err != nil {
		return nil, err
	}
	return &kserve.RepositoryModelUnloadResponse{}, s.core.Control(ctx, req.GetModelName(), inference.ModelUnloading, func(ctx context.Context, repository inference.Repository) error {
		_, err := repository.RepositoryModelUnload(ctx, req)
		return err
	})
}

// mayParametrise refuses changes that reach other models: a configuration can make a
// model of others, and an unload can take others along.
func mayParametrise(ctx context.Context, parameters map[string]*kserve.ModelRepositoryParameter) error {
	if len(parameters) == 0 {
		return nil
	}
	return inference.MayAll(ctx)
}

// needsFrontends refuses what operators have not asked for.
func (s *Service) needsFrontends() error {
	if s.cfg.Enabled {
		return nil
	}
	return Unsupported("this server takes no changes by KServe's protocol: they need --enable-kserve-frontends")
}

// mayRegister refuses shared memory where operators haven't asked for it: who registers a
// region reads and writes what processes of this machine share. That a request comes from
// this machine says nothing of who sent it, as proxies and browsers are on it, too.
func (s *Service) mayRegister() error {
	if err := s.needsFrontends(); err != nil {
		return err
	}
	if !s.cfg.AllowSharedMemory {
		return Unsupported("shared memory is registered only by a server with --allow-shared-memory")
	}
	return nil
}

// Unsupported returns the error of what this server, or its engine, doesn't do.
func Unsupported(message string) error {
	return &inference.Error{Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented, Message: message}
}

// askOf asks the engine of a model.
func askOf[Interface, Req, Res any](ctx context.Context, s *Service, model string, method func(Interface, context.Context, *Req) (*Res, error), req *Req) (*Res, error) {
	engine, err := s.core.Catalog().EngineOf(ctx, model)
	if err != nil {
		return nil, err
	}
	return ask(ctx, engine, method, req)
}

// serves tells whether a model is that engine's, and one that the client may use.
func (s *Service) serves(ctx context.Context, engine inference.Engine, model string) bool {
	own, err := s.core.Catalog().EngineOf(ctx, model)
	return err == nil && own == engine
}

// ask calls a method of an interface that an engine may have.
func ask[Interface, Req, Res any](ctx context.Context, engine inference.Engine, method func(Interface, context.Context, *Req) (*Res, error), req *Req) (*Res, error) {
	able, ok := engine.(Interface)
	if !ok {
		return nil, Unsupported("the engine can't do that")
	}
	return method(able, ctx, req)
}
