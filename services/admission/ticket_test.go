package admission_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// TestEnds checks that the context of a request and the contexts derived from it end with the
// expected error and cause, for each way in which a request can end.
func TestEnds(t *testing.T) {
	stop := func(s *serving.Service, _ context.CancelFunc) { go inferencetest.Drain(s) }
	for name, c := range map[string]struct {
		end     func(s *serving.Service, cancel context.CancelFunc)
		client  bool
		err     error
		derives bool // a derived context is created before the end
	}{
		"the deadline passes":          {func(*serving.Service, context.CancelFunc) {}, false, context.DeadlineExceeded, false},
		"the deadline passes, derived": {func(*serving.Service, context.CancelFunc) {}, false, context.DeadlineExceeded, true},
		"the client leaves":            {func(_ *serving.Service, cancel context.CancelFunc) { cancel() }, true, context.Canceled, false},
		"the client leaves, derived":   {func(_ *serving.Service, cancel context.CancelFunc) { cancel() }, true, context.Canceled, true},
		"the server stops":             {stop, false, context.Canceled, false},
		"the server stops, derived":    {stop, false, context.Canceled, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				waits := func(ctx context.Context, _ *kserve.ModelInferRequest, _ func(*inference.Response) bool) error {
					derived := ctx
					if c.derives {
						var release context.CancelFunc
						derived, release = context.WithCancel(ctx)
						defer release()
					}
					client, service := inference.Ends(ctx)
					left := false
					select {
					case <-client:
						left = true
					case <-service:
					}
					synctest.Wait() // a client's end goes on to what is derived
					if left != c.client || !errors.Is(ctx.Err(), c.err) || derived.Err() == nil {
						t.Errorf("the client disconnected: %t, %v, derived %v", left, ctx.Err(), derived.Err())
					}
					if again, _ := inference.Ends(context.WithoutCancel(ctx)); again != nil {
						t.Error("a context without an end has one")
					}
					late, release := context.WithCancel(ctx)
					defer release()
					<-late.Done()
					if !errors.Is(context.Cause(late), context.Cause(ctx)) {
						t.Errorf("derived at the end: %v, not %v", context.Cause(late), context.Cause(ctx))
					}
					if _, over := inference.Ends(ctx); !left {
						<-over
					}
					return ctx.Err()
				}
				s, engine := inferencetest.Serve(t, serving.Config{Bounds: admission.Bounds{RequestTimeout: time.Minute}}, waits, inferencetest.WithTemplate())
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := make(chan error)
				go func() {
					done <- inferencetest.Last(inferencetest.Forward(ctx, s, inference.InferRequestOf(&kserve.ModelInferRequest{ModelName: "m"})))
				}()
				synctest.Wait()
				c.end(s, cancel)
				if err := <-done; err == nil || engine.Active() != 0 {
					t.Errorf("%v, %d active", err, engine.Active())
				}
			})
		})
	}
}
