package serving

import (
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// logitMemory is the memory of the logits of prompts. Logits count from before their inference until they are
// read, because engines send those of a prompt in one message. Each model has a share, so that a model whose
// engine doesn't answer leaves the rest to other models. It may be used concurrently.
type logitMemory struct {
	total *semaphore.Weighted
	share int64 // bytes of one model

	mu     sync.Mutex
	models map[string]*modelLogits // the models with prompts that are being read, or that wait
}

// modelLogits is the share of one model.
type modelLogits struct {
	memory *semaphore.Weighted
	users  int
}

// newLogitMemory returns a memory of so many bytes, of which each model has at most a share.
func newLogitMemory(total, share int64) *logitMemory {
	return &logitMemory{total: semaphore.NewWeighted(total), share: share, models: map[string]*modelLogits{}}
}

// acquire waits for bytes of a model's share, and returns what releases them.
func (m *logitMemory) acquire(ctx context.Context, model string, size int64) (release func(), err error) {
	own := m.enter(model)
	if err := own.memory.Acquire(ctx, size); err != nil {
		m.leave(model)
		return nil, err
	}
	if err := m.total.Acquire(ctx, size); err != nil {
		own.memory.Release(size)
		m.leave(model)
		return nil, err
	}
	return func() {
		m.total.Release(size)
		own.memory.Release(size)
		m.leave(model)
	}, nil
}

// enter returns the share of a model for one prompt.
func (m *logitMemory) enter(model string) *modelLogits {
	m.mu.Lock()
	defer m.mu.Unlock()
	own := m.models[model]
	if own == nil {
		own = &modelLogits{memory: semaphore.NewWeighted(m.share)}
		m.models[model] = own
	}
	own.users++
	return own
}

// leave ends the use of a model's share by one prompt. Shares without prompts aren't kept.
func (m *logitMemory) leave(model string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	own := m.models[model]
	own.users--
	if own.users == 0 {
		delete(m.models, model)
	}
}
