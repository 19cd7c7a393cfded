//go:build cgo && linux

package local

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/trident-inference/trident/test/backends/burst"
	"github.com/trident-inference/trident/test/cputime"
)

// BenchmarkStreams measures the cost of a response from Triton's core to the loop
// over a stream. The cost is the CPU time of the whole process, which includes
// the model, Triton and the engine. Run it with TRIDENT_TEST_LOCAL=1. Compare two
// commits with benchstat on the column cpu-ns/response.
func BenchmarkStreams(b *testing.B) {
	engine := start(b, burstConfig(b, burst.Model{Name: "burst"}))
	defer func() {
		if err := engine.Stop(b.Context()); err != nil {
			b.Error(err)
		}
	}()
	const tokens = 500
	for _, streams := range []int{1, 64} {
		b.Run(fmt.Sprintf("%d", streams), func(b *testing.B) {
			b.ReportAllocs()
			before := cputime.Process(b)
			for b.Loop() {
				var group errgroup.Group
				for range streams {
					group.Go(func() error {
						for _, err := range engine.Stream(b.Context(), generation("burst", tokens)) {
							if err != nil {
								return err
							}
						}
						return nil
					})
				}
				if err := group.Wait(); err != nil {
					b.Fatal(err)
				}
			}
			responses := float64(b.N * streams * tokens)
			b.ReportMetric(float64(cputime.Process(b)-before)/responses, "cpu-ns/response")
			b.ReportMetric(responses/b.Elapsed().Seconds(), "responses/s")
		})
	}
}
