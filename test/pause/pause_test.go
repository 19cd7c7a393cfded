package pause_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/test/pause"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := pause.For(t.Context(), time.Minute); err != nil || time.Since(start) != time.Minute {
			t.Errorf("%v after %s, want nil after a minute", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if err := pause.For(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("%v after %s, want the end of the context after a second", err, time.Since(start))
		}
		if err := pause.For(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v after the end of the context", err)
		}
		if err := pause.For(t.Context(), 0); err != nil {
			t.Errorf("%v for no time at all", err)
		}
	})
}

func TestUntil(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration // time until the condition is met
		met   bool
		took  time.Duration
	}{
		{"at once", 0, true, 0},
		{"between two looks", 12 * time.Millisecond, true, 15 * time.Millisecond},
		{"at the limit", 998 * time.Millisecond, true, time.Second},
		{"too late", 1001 * time.Millisecond, false, time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				met := pause.Until(time.Second, func() bool { return time.Since(start) >= tt.after })
				if took := time.Since(start); met != tt.met || took != tt.took {
					t.Errorf("%t after %s, want %t after %s", met, took, tt.met, tt.took)
				}
			})
		})
	}
}
