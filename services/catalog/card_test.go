package catalog_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
)

// countingTemplate is a template that knows two efforts. It counts its renderings.
type countingTemplate struct{ rendered atomic.Int32 }

func (c *countingTemplate) Render(ctx context.Context, req *inference.Request) (string, error) {
	c.rendered.Add(1)
	if req.ReasoningEffort == "low" || req.ReasoningEffort == "high" {
		return "", inference.Unsupported("reasoning_effort", "not supported")
	}
	return "x", ctx.Err()
}

// TestEffortsAreRenderedOnce checks that concurrent requests for the efforts of a model render its template once for
// each effort, and that an interrupted rendering isn't kept.
func TestEffortsAreRenderedOnce(t *testing.T) {
	template := &countingTemplate{}
	card := &catalog.Card{Template: template}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if got := card.Efforts(canceled); got != nil {
		t.Errorf("interrupted: %q", got)
	}
	template.rendered.Store(0)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if got := card.Efforts(t.Context()); !slices.Equal(got, []string{inference.EffortNone, inference.EffortDefault}) {
				t.Errorf("%q", got)
			}
		})
	}
	group.Wait()
	if n := template.rendered.Load(); n != 4 {
		t.Errorf("%d renderings", n)
	}
}

// BenchmarkEfforts measures what each request with a setting of reasoning does.
func BenchmarkEfforts(b *testing.B) {
	card := &catalog.Card{Template: &countingTemplate{}}
	for b.Loop() {
		if len(card.Efforts(b.Context())) != 2 {
			b.Fatal("no efforts")
		}
	}
}
