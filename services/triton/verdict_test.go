package triton

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

func TestVerdict(t *testing.T) {
	const of = "Failed to process the request(s) for model instance 'chat_0_0', message: "
	for _, test := range []struct {
		name string
		err  error
		want Verdict
	}{
		{"final response", nil, WorkingModel},
		{"silence", Inactive(time.Second), UnresponsiveModel},
		// Triton's errors, if the kernel's notice of the process's end doesn't
		// end the request first.
		{"stub", Failure(inference.CodeInternal, of+"Stub process 'chat_0_0' is not healthy."), UnresponsiveModel},
		{"stub of a send", Failure(inference.CodeInternal, of+"Stub process is not healthy."), UnresponsiveModel},
		{"mutex", Failure(inference.CodeInternal, of+"Failed to obtain the health mutex."), UnresponsiveModel},
		{"vLLM", Failure(inference.CodeInternal, "Error generating stream: EngineCore encountered an issue. See stack trace (above) for the root cause."), DeadEngine},
		{"vLLM as an exception", Failure(inference.CodeInternal, of+"vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."), DeadEngine},
		{"vLLM before V1", Failure(inference.CodeInternal, "Error generating stream: Background loop has errored already."), DeadEngine},
		{"vLLM's other process", Failure(inference.CodeInternal, "Error generating stream: Engine loop is not running. Inspect the stacktrace to find the original error: RuntimeError()"), DeadEngine},
		{"vLLM's health check", Failure(inference.CodeUnavailable, "Model is unavailable due to unhealthy vLLM engine"), DeadEngine},
		{"vLLM's health check where models can't be unloaded", Failure(inference.CodeInternal, of+"PythonBackendException: explicit model load / unload is not allowed if polling is enabled"), DeadEngine},
		{"an unload that isn't allowed", Failure(inference.CodeUnavailable, "explicit model load / unload is not allowed if polling is enabled"), WorkingModel},
		{"the server is gone", unreachable(errors.New("refused")), NoVerdict},
		{"quoted text", Failure(inference.CodeInvalid, "bad prompt 'EngineCore encountered an issue'"), WorkingModel},
		{"quoted stub", Failure(inference.CodeInternal, of+"ValueError: Stub process is not healthy."), NoVerdict},
		{"the request's fault", Failure(inference.CodeInvalid, "unexpected inference input 'X' for model 'chat'"), WorkingModel},
		{"shared memory is full", Failure(inference.CodeInternal, of+"Failed to increase the shared memory pool size for key 'x' to 1 bytes: No space left on device"), WorkingModel},
		{"out of the GPU's memory", Failure(inference.CodeInternal, of+"OutOfMemoryError: CUDA out of memory."), WorkingModel},
		{"not loaded", Failure(inference.CodeNotFound, "Request for unknown model: 'chat' has no available versions"), NoVerdict},
		{"client left", Ended(cancelled(), context.Canceled), NoVerdict},
		{"mixed up", errMixed, NoVerdict},
		{"shutdown", errStopped, NoVerdict},
		{"another error", errors.New("x"), NoVerdict},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := VerdictOn(test.err); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
