//go:build cgo && linux

package local

import (
	"bytes"
	"runtime"
	"testing"
	"time"

	"google.golang.org/grpc/mem"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/test/backends/burst"
)

// TestTake checks that an output that Owner.Take returned stays valid after the stream and after
// the stop of the engine. An output that isn't freed explicitly is freed when no reference is left.
func TestTake(t *testing.T) {
	engine := start(t, burstConfig(t, burst.Model{Name: "echo", Echo: true}))
	stopped := false
	defer func() {
		if !stopped {
			stop(t, engine)
		}
	}()
	const size = 1 << 20
	want := bytes.Repeat([]byte("tensors "), size/8)
	var kept []mem.Buffer
	for range 4 {
		kept = append(kept, take(t, engine, want))
	}
	if small := take(t, engine, want[:ownedBytes-1]); small != nil {
		t.Errorf("%d bytes were given away, which are to be copied", small.Len())
	}
	awaitLive(t, engine)
	stop(t, engine)
	stopped = true
	for _, buffer := range kept {
		if !bytes.Equal(buffer.ReadOnlyData(), want) {
			t.Error("what was taken has changed")
		}
		buffer.Free()
	}
}

// TestTakeFirst checks that an output that Owner.Take returned may be freed before its response.
// Another request must not get the memory while the response exists.
func TestTakeFirst(t *testing.T) {
	engine := start(t, burstConfig(t, burst.Model{Name: "echo", Echo: true}))
	defer stop(t, engine)
	for _, size := range []int{ownedBytes, 1 << 20, 40 << 20} {
		content, other := bytes.Repeat([]byte("a"), size), bytes.Repeat([]byte("b"), size)
		for range 5 {
			for response, err := range engine.Forward(t.Context(), echoed(content)) {
				if err != nil {
					t.Fatal(err)
				}
				taken := response.Owner.Take(0)
				if taken == nil {
					t.Fatalf("%d bytes were not given away", size)
				}
				taken.Free()
				if !bytes.Equal(response.Outputs[0].Raw, content) {
					t.Error("the response has changed")
				}
				for inner, err := range engine.Forward(t.Context(), echoed(other)) {
					if err != nil || !bytes.Equal(inner.Outputs[0].Raw, other) || !bytes.Equal(response.Outputs[0].Raw, content) {
						t.Errorf("another request's: %v", err)
					}
				}
			}
		}
	}
	awaitLive(t, engine)
	if n := ownedNow.Load(); n != 0 {
		t.Errorf("%d bytes are kept", n)
	}
}

// TestTakeBound checks that Owner.Take returns nil when the outputs that were taken and not freed
// have mostOwned bytes in total. The caller then copies the output.
func TestTakeBound(t *testing.T) {
	engine := start(t, burstConfig(t, burst.Model{Name: "echo", Echo: true}))
	defer stop(t, engine)
	content := make([]byte, 40<<20)
	var kept mem.BufferSlice
	for taken := take(t, engine, content); taken != nil; taken = take(t, engine, content) {
		kept = append(kept, taken)
	}
	if most := mostOwned / len(content); len(kept) != most {
		t.Errorf("%d outputs of %d bytes are kept, not %d", len(kept), len(content), most)
	}
	kept.Free()
	if again := take(t, engine, content); again == nil || ownedNow.Load() != int64(len(content)) {
		t.Errorf("%d bytes are kept", ownedNow.Load())
	} else {
		again.Free()
	}
}

// TestTakeLost checks that the memory of outputs from Owner.Take is freed even if grpc-go drops a
// buffer without calling Free.
func TestTakeLost(t *testing.T) {
	engine := start(t, burstConfig(t, burst.Model{Name: "echo", Echo: true}))
	defer stop(t, engine)
	content := make([]byte, 1<<20)
	const calls, warm = 300, 40
	var grown int64
	for i := range calls {
		if take(t, engine, content) == nil {
			t.Fatal("nothing was given away")
		}
		if i == warm {
			grown = -resident(t)
		}
		if i%10 == 0 {
			runtime.GC()
			runtime.Gosched()
		}
	}
	if grown += resident(t); grown > calls<<20/3 {
		t.Errorf("%d responses of 1 MiB that were lost grew the process by %d MiB", calls-warm, grown>>20)
	}
	for late := time.Now().Add(10 * time.Second); ownedNow.Load() > 0 && time.Now().Before(late); {
		runtime.GC()
		runtime.Gosched()
	}
	if left := ownedNow.Load(); left != 0 {
		t.Errorf("%d bytes are kept", left)
	}
}

// take sends a request to the echo model and takes its output. It checks that a
// second Take returns nil. It returns nil if the output must be copied.
func take(t *testing.T, engine *Engine, content []byte) (taken mem.Buffer) {
	t.Helper()
	var responses int
	for response, err := range engine.Forward(t.Context(), echoed(content)) {
		if err != nil {
			t.Fatal(err)
		}
		responses++
		if len(response.Outputs) != 1 || !bytes.Equal(response.Outputs[0].Raw, content) {
			t.Fatalf("got %d outputs", len(response.Outputs))
		}
		taken = response.Owner.Take(0)
		if again := response.Owner.Take(0); taken != nil && again != nil {
			t.Error("the same memory was given away twice")
		}
	}
	if responses != 1 {
		t.Fatalf("%d responses", responses)
	}
	return taken
}

func echoed(content []byte) *inference.InferRequest {
	req := request(input{"input", "UINT8", content})
	req.ModelName, req.Inputs[0].Shape = "echo", []int64{int64(len(content))}
	return inference.InferRequestOf(req)
}
