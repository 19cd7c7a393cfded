package serving

import (
	"context"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
)

// paramTimeout is the request parameter of Triton's schedule policy extension: for how
// many microseconds a request may wait in the model's queue.
const paramTimeout = "timeout"

// takesTimeout tells whether the model's queue heeds a request's timeout: Triton's
// dynamic batcher does where its configuration allows that, and no other scheduler.
func takesTimeout(config *kserve.ModelConfig) bool {
	batching := config.GetDynamicBatching()
	if batching.GetDefaultQueuePolicy().GetAllowTimeoutOverride() {
		return true
	}
	for _, policy := range batching.GetPriorityQueuePolicy() {
		if policy.GetAllowTimeoutOverride() {
			return true
		}
	}
	return false
}

// queueTimeout is what is left of a request's time, for a model whose queue heeds it
// and a request that says nothing of it; nil otherwise.
func queueTimeout(ctx context.Context, config *kserve.ModelConfig, given map[string]*kserve.InferParameter) *kserve.InferParameter {
	if given[paramTimeout] != nil || !takesTimeout(config) {
		return nil
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return nil
	}
	left := max(1, time.Until(deadline).Microseconds()) // 0 is none to Triton
	return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_Int64Param{Int64Param: left}}
}

// limitQueue adds the timeout to a request of a client's own.
func limitQueue(ctx context.Context, model *catalog.Resolution, m *inference.InferRequest) {
	if model.Card == nil {
		return
	}
	if p := queueTimeout(ctx, model.Card.Config, m.Head().GetParameters()); p != nil {
		_ = m.AddParameters(map[string]*kserve.InferParameter{paramTimeout: p}) // a number under a fixed name: can't fail
	}
}

// limitText adds it to a request that a backend has made.
func limitText(ctx context.Context, config *kserve.ModelConfig, req *kserve.ModelInferRequest) {
	p := queueTimeout(ctx, config, req.GetParameters())
	if p == nil {
		return
	}
	if req.Parameters == nil {
		req.Parameters = map[string]*kserve.InferParameter{}
	}
	req.Parameters[paramTimeout] = p
}
