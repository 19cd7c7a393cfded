package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
)

type (
	indexRow   = kserve.RepositoryIndexResponse_ModelIndex
	statistics = kserve.ModelStatistics
)

// RepositoryIndex implements [inference.Repository]. It lists each version of each model once, in
// the best state that a server reports. The reason has the number of servers where it isn't ready.
func (e *Engine) RepositoryIndex(ctx context.Context, req *kserve.RepositoryIndexRequest) (*kserve.RepositoryIndexResponse, error) {
	members, err := e.some(ctx)
	if err != nil {
		return nil, err
	}
	answers, errs := askAll(ctx, members, (*triton.Engine).RepositoryIndex, req)
	answers = slices.DeleteFunc(answers, func(a *kserve.RepositoryIndexResponse) bool { return a == nil })
	if len(answers) == 0 {
		return nil, partly(members, errs)
	}
	return &kserve.RepositoryIndexResponse{Models: mergeIndexes(answers)}, nil
}

// mergeIndexes merges the rows of the same version of a model.
func mergeIndexes(indexes []*kserve.RepositoryIndexResponse) []*indexRow {
	rows := map[target][]*indexRow{}
	var order []target
	for _, index := range indexes {
		for _, row := range index.GetModels() {
			key := target{row.GetName(), row.GetVersion()}
			if rows[key] == nil {
				order = append(order, key)
			}
			rows[key] = append(rows[key], row)
		}
	}
	merged := make([]*indexRow, 0, len(order))
	for _, key := range order {
		merged = append(merged, mergeRows(rows[key], len(indexes)))
	}
	slices.SortFunc(merged, func(a, b *indexRow) int {
		return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), compareVersions(a.GetVersion(), b.GetVersion()))
	})
	return merged
}

// compareVersions compares versions by their numbers.
func compareVersions(a, b string) int {
	x, _ := strconv.ParseInt(a, 10, 64)
	y, _ := strconv.ParseInt(b, 10, 64)
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
}

// mergeRows merges the rows of one version of a model on some of the servers.
func mergeRows(rows []*indexRow, servers int) *indexRow {
	best := slices.MaxFunc(rows, func(a, b *indexRow) int {
		return cmp.Compare(progress(inference.ModelState(a.GetState())), progress(inference.ModelState(b.GetState())))
	})
	ready := 0
	for _, row := range rows {
		if row.GetState() == string(inference.ModelReady) {
			ready++
		}
	}
	if ready > 0 && ready < servers {
		best.Reason = fmt.Sprintf("ready on %d of %d servers", ready, servers)
	}
	return best
}

// progress orders the states of models: a model that is ready comes last.
func progress(s inference.ModelState) int { return slices.Index(progressOfStates, s) }

// progressOfStates are the states of models, that which is closest to ready last.
var progressOfStates = []inference.ModelState{ //nolint:gochecknoglobals // a constant table
	inference.ModelNeverLoaded, inference.ModelUnavailable, inference.ModelUnloading, inference.ModelLoading, inference.ModelReady,
}

// ModelStatistics implements [inference.StatisticsReporter] by the sums of all servers that are
// in. Servers without the model are left out.
func (e *Engine) ModelStatistics(ctx context.Context, req *kserve.ModelStatisticsRequest) (*kserve.ModelStatisticsResponse, error) {
	members, err := e.some(ctx)
	if err != nil {
		return nil, err
	}
	answers, errs := askAll(ctx, members, (*triton.Engine).ModelStatistics, req)
	missing := 0
	for _, err := range errs {
		if err != nil && inference.AsError(err).Code == inference.CodeNotFound {
			missing++
		}
	}
	for i := range errs {
		if errs[i] != nil && missing < len(members) && inference.AsError(errs[i]).Code == inference.CodeNotFound {
			errs[i] = nil
		}
	}
	if err := partly(members, errs); err != nil {
		return nil, err
	}
	return &kserve.ModelStatisticsResponse{ModelStats: sum(answers)}, nil
}

// sum adds the statistics of the same version of a model.
func sum(answers []*kserve.ModelStatisticsResponse) []*statistics {
	sums := map[target]*statistics{}
	var list []*statistics
	for _, answer := range answers {
		for _, row := range answer.GetModelStats() {
			key := target{row.GetName(), row.GetVersion()}
			if sums[key] == nil {
				sums[key] = row
				list = append(list, row)
				continue
			}
			addStatistics(sums[key], row)
		}
	}
	slices.SortFunc(list, func(a, b *statistics) int {
		return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), compareVersions(a.GetVersion(), b.GetVersion()))
	})
	return list
}

// addStatistics adds the statistics of another server to all.
func addStatistics(all, other *statistics) {
	all.LastInference = max(all.GetLastInference(), other.GetLastInference())
	all.InferenceCount += other.GetInferenceCount()
	all.ExecutionCount += other.GetExecutionCount()
	if all.GetInferenceStats() == nil {
		all.InferenceStats = &kserve.InferStatistics{}
	}
	addNumbers(all.GetInferenceStats(), other.GetInferenceStats())
	all.MemoryUsage = append(all.MemoryUsage, other.GetMemoryUsage()...)
	for _, batch := range other.GetBatchStats() {
		i := slices.IndexFunc(all.GetBatchStats(), func(b *kserve.InferBatchStatistics) bool { return b.GetBatchSize() == batch.GetBatchSize() })
		if i < 0 {
			all.BatchStats = append(all.BatchStats, batch)
			continue
		}
		size := batch.GetBatchSize()
		addNumbers(all.GetBatchStats()[i], batch)
		all.BatchStats[i].BatchSize = size
	}
	for key, response := range other.GetResponseStats() {
		if all.ResponseStats == nil {
			all.ResponseStats = map[string]*kserve.InferResponseStatistics{}
		}
		if all.GetResponseStats()[key] == nil {
			all.ResponseStats[key] = response
			continue
		}
		addNumbers(all.GetResponseStats()[key], response)
	}
}

// addNumbers adds all numbers of a message, and of the messages in it, to those of another.
func addNumbers(to, from proto.Message) { addFields(to.ProtoReflect(), from.ProtoReflect()) }

func addFields(to, from protoreflect.Message) {
	from.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch field.Kind() {
		case protoreflect.Uint64Kind:
			to.Set(field, protoreflect.ValueOfUint64(to.Get(field).Uint()+value.Uint()))
		case protoreflect.MessageKind:
			addFields(to.Mutable(field).Message(), value.Message())
		default: // statistics have no other kinds
		}
		return true
	})
}
