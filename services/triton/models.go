package triton

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"golang.org/x/sync/errgroup"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// configCalls is the maximum number of concurrent calls for configurations.
const configCalls = 8

// Models returns the server's models by name, with the configurations of those
// that are ready. If the server doesn't return a model's configuration, because
// the model is broken or was unloaded meanwhile, the model is listed as
// unavailable with the reason. Models returns an error if the server is down or
// overloaded, or if ctx has ended.
func (e *Engine) Models(ctx context.Context) ([]inference.Model, error) {
	index, err := e.RepositoryIndex(ctx, &kserve.RepositoryIndexRequest{})
	if err != nil {
		return nil, err
	}
	models := FromIndex(index.GetModels())
	faults := e.health.faults()
	for i := range models {
		models[i].Recovering = faults[models[i].Name] != ""
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(configCalls)
	for i := range models {
		if m := &models[i]; m.State == inference.ModelReady {
			group.Go(func() error { return e.configure(ctx, m) })
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return models, nil
}

func (e *Engine) configure(ctx context.Context, m *inference.Model) error {
	answer, err := e.ModelConfig(ctx, &kserve.ModelConfigRequest{Name: m.Name, Version: m.Version})
	if err == nil {
		m.Config = answer.GetConfig()
		return nil
	}
	failed := inference.AsError(err)
	if !ofModel(failed) {
		return err
	}
	m.State, m.Reason = inference.ModelUnavailable, failed.Message
	return nil
}

// ofModel reports whether an error is about one model. Other errors would
// affect any call.
func ofModel(err *inference.Error) bool {
	switch err.Code {
	case inference.CodeUnavailable:
		return err.Reason == inference.ReasonModelNotReady
	case inference.CodeOverloaded, inference.CodeLimited, inference.CodeDeadlineExceeded, inference.CodeCanceled:
		return false
	default:
		return true
	}
}

type indexRow = kserve.RepositoryIndexResponse_ModelIndex

// FromIndex merges the versions of each model in the index into one model. It
// uses the latest ready version, which serves requests without a version. If no
// version is ready, it uses the latest.
func FromIndex(rows []*indexRow) []inference.Model {
	rows = slices.SortedFunc(slices.Values(rows), func(a, b *indexRow) int {
		return cmp.Or(
			cmp.Compare(a.GetName(), b.GetName()),
			compareBool(readyRow(b), readyRow(a)),
			cmp.Compare(version(b), version(a)),
		)
	})
	versions := map[string][]string{}
	for _, row := range rows {
		if row.GetVersion() != "" {
			versions[row.GetName()] = append(versions[row.GetName()], row.GetVersion())
		}
	}
	rows = slices.CompactFunc(rows, func(a, b *indexRow) bool { return a.GetName() == b.GetName() })
	models := make([]inference.Model, len(rows))
	for i, row := range rows {
		models[i] = inference.Model{
			Name:     row.GetName(),
			Version:  row.GetVersion(),
			Versions: versions[row.GetName()],
			State:    inference.ModelState(row.GetState()),
			Reason:   clean(row.GetReason()),
		}
	}
	return models
}

func readyRow(row *indexRow) bool {
	return row.GetState() == string(inference.ModelReady)
}

// version returns the version as a number, for sorting. It returns 0 if the row
// has no number.
func version(row *indexRow) int64 {
	n, err := strconv.ParseInt(row.GetVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// compareBool orders false before true.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
