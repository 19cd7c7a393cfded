package kserve

import (
	"context"
	"maps"
	"slices"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Several engines appear as one server. The engine of a model answers questions
// about the model. This file combines the answers to other questions. With one
// engine it passes on that engine's answers.

// ServerMetadata returns the first engine's metadata, with the extensions that all
// engines have.
func (s *Service) ServerMetadata(ctx context.Context, req *kserve.ServerMetadataRequest) (*kserve.ServerMetadataResponse, error) {
	answers, err := callAll(ctx, s.core.Catalog().Engines(), inference.Describer.ServerMetadata, req)
	if err != nil {
		return nil, err
	}
	first := answers[0]
	first.Extensions = slices.DeleteFunc(first.GetExtensions(), func(extension string) bool {
		return slices.ContainsFunc(answers[1:], func(other *kserve.ServerMetadataResponse) bool {
			return !slices.Contains(other.GetExtensions(), extension)
		})
	})
	return first, nil
}

// ModelStatistics returns a model's statistics, or without a name those of all
// models, each from its own engine.
func (s *Service) ModelStatistics(ctx context.Context, req *kserve.ModelStatisticsRequest) (*kserve.ModelStatisticsResponse, error) {
	if req.GetName() != "" {
		return callModel(ctx, s, req.GetName(), inference.StatisticsReporter.ModelStatistics, req)
	}
	answer := &kserve.ModelStatisticsResponse{}
	return answer, eachEngine(s, func(engine inference.Engine) error {
		one, err := ask(ctx, engine, inference.StatisticsReporter.ModelStatistics, req)
		for _, row := range one.GetModelStats() {
			if s.serves(ctx, engine, row.GetName()) {
				answer.ModelStats = append(answer.ModelStats, row)
			}
		}
		return err
	})
}

// RepositoryIndex lists each model as the engine that serves it reports it.
func (s *Service) RepositoryIndex(ctx context.Context, req *kserve.RepositoryIndexRequest) (*kserve.RepositoryIndexResponse, error) {
	answer := &kserve.RepositoryIndexResponse{}
	return answer, eachEngine(s, func(engine inference.Engine) error {
		one, err := ask(ctx, engine, inference.Repository.RepositoryIndex, req)
		for _, row := range one.GetModels() {
			if s.serves(ctx, engine, row.GetName()) {
				answer.Models = append(answer.Models, row)
			}
		}
		return err
	})
}

// eachEngine calls do for each engine until the first error.
func eachEngine(s *Service, do func(inference.Engine) error) error {
	for _, engine := range s.core.Catalog().Engines() {
		if err := do(engine); err != nil {
			return err
		}
	}
	return nil
}

// TraceSetting reads or changes the settings of a model's engine. Without a model
// it changes those of all engines and returns the first engine's.
func (s *Service) TraceSetting(ctx context.Context, req *kserve.TraceSettingRequest) (*kserve.TraceSettingResponse, error) {
	if err := s.needsFrontends(); err != nil {
		return nil, err
	}
	if req.GetModelName() != "" {
		return callModel(ctx, s, req.GetModelName(), inference.Settings.TraceSetting, req)
	}
	if err := inference.MayAll(ctx); err != nil {
		return nil, err
	}
	return firstOf(callAll(ctx, s.core.Catalog().Engines(), inference.Settings.TraceSetting, req))
}

// LogSettings changes the settings of all engines and returns the first engine's.
func (s *Service) LogSettings(ctx context.Context, req *kserve.LogSettingsRequest) (*kserve.LogSettingsResponse, error) {
	if err := s.needsFrontends(); err != nil {
		return nil, err
	}
	return firstOf(callAll(ctx, s.core.Catalog().Engines(), inference.Settings.LogSettings, req))
}

// SystemSharedMemoryStatus returns the regions of all engines.
func (s *Service) SystemSharedMemoryStatus(ctx context.Context, req *kserve.SystemSharedMemoryStatusRequest) (*kserve.SystemSharedMemoryStatusResponse, error) {
	if err := s.needsFrontends(); err != nil {
		return nil, err
	}
	answers, err := callAny(ctx, s.core.Catalog().Engines(), inference.SharedMemory.SystemSharedMemoryStatus, req)
	if err != nil {
		return nil, err
	}
	for _, other := range answers[1:] {
		answers[0].Regions = union(answers[0].GetRegions(), other.GetRegions())
	}
	return answers[0], nil
}

// SystemSharedMemoryRegister registers a region with every engine that accepts it.
// An engine on another machine can't accept a region. The call fails if no engine
// accepts the region.
func (s *Service) SystemSharedMemoryRegister(ctx context.Context, req *kserve.SystemSharedMemoryRegisterRequest) (*kserve.SystemSharedMemoryRegisterResponse, error) {
	if err := s.mayRegister(); err != nil {
		return nil, err
	}
	return firstOf(callAny(ctx, s.core.Catalog().Engines(), inference.SharedMemory.SystemSharedMemoryRegister, req))
}

// SystemSharedMemoryUnregister unregisters a region from all engines.
func (s *Service) SystemSharedMemoryUnregister(ctx context.Context, req *kserve.SystemSharedMemoryUnregisterRequest) (*kserve.SystemSharedMemoryUnregisterResponse, error) {
	if err := s.needsFrontends(); err != nil {
		return nil, err
	}
	return firstOf(callAll(ctx, s.core.Catalog().Engines(), inference.SharedMemory.SystemSharedMemoryUnregister, req))
}

// CudaSharedMemoryStatus returns the regions of all engines.
func (s *Service) CudaSharedMemoryStatus(ctx context.Context, req *kserve.CudaSharedMemoryStatusRequest) (*kserve.CudaSharedMemoryStatusResponse, error) {
	if err := s.needsFrontends(); err != nil {
		return nil, err
	}
	answers, err := callAny(ctx, s.core.Catalog().Engines(), inference.SharedMemory.CudaSharedMemoryStatus, req)
	if err != nil {
		return nil, err
	}
	for _, other := range answers[1:] {
		answers[0].Regions = union(answers[0].GetRegions(), other.GetRegions())
	}
	return answers[0], nil
}

// CudaSharedMemoryRegister registers a region as SystemSharedMemoryRegister does.
func (s *Service) CudaSharedMemoryRegister(ctx context.Context, req *kserve.CudaSharedMemoryRegisterRequest) (*kserve.CudaSharedMemoryRegisterResponse, error) {
	if err := s.mayRegister(); err != nil {
		return nil, err
	}
	return firstOf(callAny(ctx, s.core.Catalog().Engines(), inference.SharedMemory.CudaSharedMemoryRegister, req))
}

// CudaSharedMemoryUnregister unregisters a region from all engines.
func (s *Service) CudaSharedMemoryUnregister(ctx context.Context, req *kserve.CudaSharedMemoryUnregisterRequest) (*kserve.CudaSharedMemoryUnregisterResponse, error) {
	if err := s.needsFrontends(); err != nil {
		return nil, err
	}
	return firstOf(callAll(ctx, s.core.Catalog().Engines(), inference.SharedMemory.CudaSharedMemoryUnregister, req))
}

// callAll calls a method of every engine. It fails if one of them fails.
func callAll[Interface, Req, Res any](ctx context.Context, engines []inference.Engine, method func(Interface, context.Context, *Req) (*Res, error), req *Req) ([]*Res, error) {
	answers := make([]*Res, len(engines))
	for i, engine := range engines {
		answer, err := ask(ctx, engine, method, req)
		if err != nil {
			return nil, err
		}
		answers[i] = answer
	}
	return answers, nil
}

// callAny calls a method of every engine and returns the successful answers. If
// there are none, it returns the first error.
func callAny[Interface, Req, Res any](ctx context.Context, engines []inference.Engine, method func(Interface, context.Context, *Req) (*Res, error), req *Req) ([]*Res, error) {
	var answers []*Res
	var first error
	for _, engine := range engines {
		answer, err := ask(ctx, engine, method, req)
		switch {
		case err == nil:
			answers = append(answers, answer)
		case first == nil:
			first = err
		}
	}
	if len(answers) == 0 {
		return nil, first
	}
	return answers, nil
}

// union returns the union of two maps. Values of the first one take precedence.
func union[V any](a, b map[string]V) map[string]V {
	all := make(map[string]V, len(a)+len(b))
	maps.Copy(all, b)
	maps.Copy(all, a)
	return all
}

func firstOf[Res any](answers []*Res, err error) (*Res, error) {
	if err != nil {
		return nil, err
	}
	return answers[0], nil
}
