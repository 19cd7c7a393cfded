//go:build cgo && linux

package local

import (
	"context"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/test/pause"
)

// TestTotalQueue checks the limit on the waiting bytes of all streams together. The stream with the
// most waiting bytes ends, and its responses are freed while its consumer still waits. Other streams
// continue.
func TestTotalQueue(t *testing.T) {
	config := suiteConfig(t)
	config.QueueBytes, config.TotalQueueBytes = 1<<20, 5<<18
	engine := start(t, config)
	defer stop(t, engine)
	const size = 64 << 10
	hold := func(count int32) (*pausedStream, func() error) {
		held := &pausedStream{release: make(chan struct{}), begun: make(chan struct{}), ended: make(chan error, 1)}
		// The delay lets the consumer take the first response alone.
		go held.stream(t.Context(), engine, numbered(count, number("SIZE", size), number("DELAY", 10)))
		<-held.begun
		return held, func() error {
			close(held.release)
			return <-held.ended
		}
	}
	_, readFirst := hold(13)
	awaitWaiting(t, engine, 13*size)
	second, readSecond := hold(11)
	awaitWaiting(t, engine, 11*size)                                             // the bytes of the first stream no longer wait
	if err := run(t, engine, numbered(200, number("SIZE", 1<<10))); err != nil { // the total is less than the limit
		t.Errorf("a stream that is read: %v", err)
	}
	if err := inference.AsError(readFirst()); err.Message != errOverflow.Message {
		t.Errorf("the first stream: %v", err)
	}
	if err := readSecond(); err != nil || second.got != 11 {
		t.Errorf("the second stream: %d responses, %v", second.got, err)
	}
	awaitWaiting(t, engine, 0)
	awaitLive(t, engine)
}

// pausedStream is a stream whose consumer pauses after the first response.
type pausedStream struct {
	begun, release chan struct{}
	ended          chan error
	got            int
}

func (l *pausedStream) stream(ctx context.Context, engine *Engine, req *kserve.ModelInferRequest) {
	for response, err := range engine.Stream(ctx, req) {
		if err != nil {
			l.ended <- err
			return
		}
		if response.Final {
			break
		}
		l.got++
		if l.got == 1 {
			close(l.begun)
			<-l.release
		}
	}
	l.ended <- nil
}

// awaitWaiting waits until the waiting responses have about this size in bytes.
func awaitWaiting(t *testing.T, engine *Engine, want int64) {
	t.Helper()
	var got int64
	if !pause.Until(10*time.Second, func() bool {
		got = engine.core.queue.waits.Load()
		return got >= want && got < want+128<<10 && (want > 0 || got == 0)
	}) {
		t.Fatalf("%d bytes wait, want %d", got, want)
	}
}
