package serving

import (
	"context"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
)

// paramTimeout is a request parameter of Triton's schedule policy extension: the maximum time of a
// request in the model's queue, in microseconds.
const paramTimeout = "timeout"

// takesTimeout reports whether the model's queue applies a request's timeout. Triton's dynamic
// batcher does if the configuration allows it; other schedulers don't.
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

// queueTimeout returns the remaining time of a request as its queue timeout. It returns nil if the
// model's queue doesn't apply timeouts, if the request has its own timeout, or if there is no
// deadline.
func queueTimeout(ctx context.Context, config *kserve.ModelConfig, given map[string]*kserve.InferParameter) *kserve.InferParameter {
	if given[paramTimeout] != nil || !takesTimeout(config) {
		return nil
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		return nil
	}
	left := max(1, time.Until(deadline).Microseconds()) // 0 means no timeout in Triton
	return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_Int64Param{Int64Param: left}}
}

// limitQueue adds the queue timeout to a request of tensors from a client.
func limitQueue(ctx context.Context, model *catalog.Resolution, m *inference.InferRequest) {
	if model.Card == nil {
		return
	}
	if p := queueTimeout(ctx, model.Card.Config, m.Head().GetParameters()); p != nil {
		_ = m.AddParameters(map[string]*kserve.InferParameter{paramTimeout: p}) // can't fail: the parameter is a number under a fixed name
	}
}

// limitText adds the queue timeout to a request that a backend has encoded.
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
