package triton

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// MaxUnanswered is the number of consecutive requests without a response after which a model
// is broken. One request may have a long prompt, and a few others may wait behind it.
const MaxUnanswered = 3

// FaultRetry is the time after which clients may retry a request to a broken model.
const FaultRetry = 2 * time.Second

// Faults holds the broken models of an engine, each with the reason.
type Faults map[string]string

// NotReady returns the error of a request to a model that isn't ready.
func NotReady(model, fault string) *inference.Error {
	return &inference.Error{
		Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady, Param: "model", RetryAfter: FaultRetry,
		Message: fmt.Sprintf("the model `%s` isn't ready: %s", model, fault),
	}
}

// Err returns the error of the first broken model by name, or nil if no model
// is broken.
func (f Faults) Err() error {
	if len(f) == 0 {
		return nil
	}
	model := slices.Min(slices.Collect(maps.Keys(f)))
	return NotReady(model, f[model])
}

// Mark shows the faults in a repository index. With ready, the index lists ready models
// only, and broken models are removed from it.
func (f Faults) Mark(index *kserve.RepositoryIndexResponse, ready bool) {
	if len(f) == 0 {
		return
	}
	if ready {
		index.Models = slices.DeleteFunc(index.GetModels(), func(row *indexRow) bool { return f[row.GetName()] != "" })
	}
	for _, row := range index.GetModels() {
		if fault := f[row.GetName()]; fault != "" {
			row.State, row.Reason = string(inference.ModelUnavailable), fault
		}
	}
}

// Changes is the channel of an [inference.Notifier]. Its capacity is one element.
type Changes chan struct{}

// Notify sends an element unless one is waiting already: the receiver then sees all changes
// up to its receipt. Notify doesn't block.
func (c Changes) Notify() {
	select {
	case c <- struct{}{}:
	default:
	}
}
