package kserve

import (
	"context"
	"maps"
	"slices"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Several engines are one server. What is about a model its engine answers; the
// rest is put together here. With one engine all of it is that engine's answer.

// ServerMetadata is the first engine's, with the extensions that all have.
func (s *Service) ServerMetadata(ctx context.Context, req *kserve.ServerMetadataRequest) (*kserve.ServerMetadataResponse, error) {
	answers, err := askAll(ctx, s.core.Catalog().Engines(), inference.Describer.ServerMetadata, req)
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

// ModelStatistics without a name are those of all models, each by its own engine.
func (s *Service) ModelStatistics(ctx context.Context, req *kserve.ModelStatisticsRequest) (*kserve.ModelStatisticsResponse, error) {
	if req.GetName() != "" {
		return askOf(ctx, s, req.GetName(), inference.Statistician.ModelStatistics, req)
	}
	answer := &kserve.ModelStatisticsResponse{}
	return answer, eachEngine(s, func(engine inference.Engine) error {
		one, err := ask(ctx, engine, inference.Statistician.ModelStatistics, req)
		for _, row := range one.GetModelStats() {
			if s.serves(ctx, engine, row.GetName()) {
				answer.ModelStats = append(answer.ModelStats, row)
			}
		}
		return err
	})
}

// RepositoryIndex lists each model as the engine has it that serves it.
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

// eachEngine goes over the engines; the first error ends it.
func eachEngine(s *Service, do func(inference.Engine) error) error {
	for _, engine := range s.core.Catalog().Engines() {
		if err := do(engine); err != nil {
			return err
		}
	}
	return nil
}

// TraceSetting is about a model's engine, or changes those of all engines and tells
// the first's.
func (s *Service) TraceSetting(ctx context.Context, req *kserve.TraceSettingRequest) (*kserve.TraceSettingResponse, error) {
	if err := s.needsFrontends(); err != nil {
		return nil, err
	}
	if req.GetModelName() != "" {
		return askOf(ctx, s, req.GetModelName(), inference.Settings.TraceSetting, req)
	}
	if err := inference.MayAll(ctx); err != nil {
		return nil, err
	}
	return firstOf(askAll(ctx, s.core.Catalog().Engines(), inference.Settings.TraceSetting, req))
}

// LogSettings changes those of all engines and tells the first's.
func (s *Service) LogSettings(ctx context.Context, req *kserve.LogSettingsRequest) (*kserve.LogSettingsResponse, error) {
	if err := s.needsFrontends(); err != nil {
		return nil, err
	}
	return firstOf(askAll(ctx, s.core.Catalog().Engines(), inference.Settings.LogSettings, req))
}

// SystemSharedMemoryStatus tells of the regions of all engines.
func (s *Service) SystemSharedMemoryStatus(ctx context.Context, req *kserve.SystemSharedMemoryStatusRequest) (*kserve.SystemSharedMemoryStatusResponse, error) {
	if err := s.needsFrontends(); err != nil {
		return nil, err
	}
	answers, err := askAny(ctx, s.core.Catalog().Engines(), inference.SharedMemory.SystemSharedMemoryStatus, req)
	if err != nil {
		return nil, err
	}
	for _, other := range answers[1:] {
		answers[0].Regions = union(answers[0].GetRegions(), other.GetRegions())
	}
	return answers[0], nil
}

// SystemSharedMemoryRegister registers a region with every engine that takes it:
// one on another machine can't. It fails when none does.
func (s *Service) SystemSharedMemoryRegister(ctx context.Context, req *kserve.SystemSharedMemoryRegisterRequest) (*kserve.SystemSharedMemoryRegisterResponse, error) {
	if err := s.mayRegister(); err != nil {
		return nil, err
	}
	return firstOf(askAny(ctx, s.core.Catalog().Engines(), inference.SharedMemory.SystemSharedMemoryRegister, req))
}

// SystemSharedMemoryUnregister unregisters it everywhere.
func (s *Service) SystemSharedMemoryUnregister(ctx context.Context, req *kserve.SystemSharedMemoryUnregisterRequest) (*kserve.SystemSharedMemoryUnregisterResponse, error) {
	if err := s.needsFrontends(); err != nil {
		return nil, err
	}
	return firstOf(askAll(ctx, s.core.Catalog().Engines(), inference.SharedMemory.SystemSharedMemoryUnregister, req))
}

// CudaSharedMemoryStatus tells of the regions of all engines.
func (s *Service) CudaSharedMemoryStatus(ctx context.Context, req *kserve.CudaSharedMemoryStatusRequest) (*kserve.CudaSharedMemoryStatusResponse, error) {
	if err := s.needsFrontends(); err != nil {
		return nil, err
	}
	answers, err := askAny(ctx, s.core.Catalog().Engines(), inference.SharedMemory.CudaSharedMemoryStatus, req)
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
	return firstOf(askAny(ctx, s.core.Catalog().Engines(), inference.SharedMemory.CudaSharedMemoryRegister, req))
}

// CudaSharedMemoryUnregister unregisters it everywhere.
func (s *Service) CudaSharedMemoryUnregister(ctx context.Context, req *kserve.CudaSharedMemoryUnregisterRequest) (*kserve.CudaSharedMemoryUnregisterResponse, error) {
	if err := s.needsFrontends(); err != nil {
		return nil, err
	}
	return firstOf(askAll(ctx, s.core.Catalog().Engines(), inference.SharedMemory.CudaSharedMemoryUnregister, req))
}

// askAll asks every engine, of which each must answer.
func askAll[Interface, Req, Res any](ctx context.Context, engines []inference.Engine, method func(Interface, context.Context, *Req) (*Res, error), req *Req) ([]*Res, error) {
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

// askAny asks every engine and gives the answers that there are: at least one, or
// the first error.
func askAny[Interface, Req, Res any](ctx context.Context, engines []inference.Engine, method func(Interface, context.Context, *Req) (*Res, error), req *Req) ([]*Res, error) {
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

// union of two maps, of which the first one's values count.
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
