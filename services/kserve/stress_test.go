package kserve_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/gen/go/kserve/kserveconnect"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/kserve/kservetest"
	"github.com/trident-inference/trident/services/server/servertest"
)

// stressTime returns how long the test starts streams. TRIDENT_TEST_STRESS=20s sets
// a longer time.
func stressTime(t *testing.T) time.Duration {
	t.Helper()
	value := os.Getenv("TRIDENT_TEST_STRESS")
	if value == "" {
		return 2 * time.Second
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// hangTimeout is longer than any stream of the stress test takes.
const hangTimeout = time.Minute

// counting responds to a request with as many responses of 4 KiB as its input
// specifies, and ends when it is cancelled.
func counting() *inferencetest.Engine {
	engine := kservetest.Decoupled(func(ctx context.Context, req *api.ModelInferRequest, send kservetest.SendFunc) error {
		n := binary.LittleEndian.Uint32(req.GetRawInputContents()[0])
		tensor := make([]byte, 4<<10)
		for i := range n {
			if ctx.Err() != nil || !send(&inference.Response{Version: "1", Final: i == n-1, Outputs: []inference.Output{{Name: "o", Type: "UINT8", Shape: []int64{4 << 10}, Raw: tensor}}}) {
				return ctx.Err()
			}
		}
		return nil
	})
	return engine
}

// TestStress sends many concurrent streams through a few connections of the shared
// port, with all protocols, with and without TLS. Some are cancelled at any time,
// some read slowly, and some end their sending early. No stream may hang, complete
// streams must get every response, and nothing may run on at the end.
func TestStress(t *testing.T) {
	engine := counting()
	address := kservetest.ServeShared(t, kservetest.Open(), engine)
	authority := servertest.NewAuthority(t)
	certificates, known := mutual(t, authority)
	secureAddress := kservetest.ServeSharedBy(t, certificates, kservetest.Open(), engine)
	plain := h2c()
	t.Cleanup(plain.CloseIdleConnections)
	secure := &http.Client{Transport: &http.Transport{TLSClientConfig: known, ForceAttemptHTTP2: true}}
	t.Cleanup(secure.CloseIdleConnections)
	until := time.Now().Add(stressTime(t))
	var workers sync.WaitGroup
	var whole, left atomic.Int64
	for name, options := range map[string][]connect.ClientOption{
		"Connect": nil, "gRPC": {connect.WithGRPC()}, "gRPC-Web": {connect.WithGRPCWeb()}, "Connect with gzip": {connect.WithSendGzip()},
	} {
		for of, client := range map[string]kserveconnect.GRPCInferenceServiceClient{
			name: kserveconnect.NewGRPCInferenceServiceClient(plain, "http://"+address, options...), name + " and TLS": kserveconnect.NewGRPCInferenceServiceClient(secure, "https://"+secureAddress, options...),
		} {
			for worker := range 6 {
				workers.Go(func() {
					for n := 0; time.Now().Before(until) && !t.Failed(); n++ {
						random := rand.New(rand.NewPCG(uint64(worker), uint64(n)))
						stayed, err := stressStream(t.Context(), client, random)
						if err != nil {
							t.Errorf("%s, stream %d of %d: %v", of, n, worker, err)
						}
						if stayed {
							whole.Add(1)
						} else {
							left.Add(1)
						}
					}
				})
			}
		}
	}
	workers.Wait()
	kservetest.Await(t, "requests go on after their streams", func() bool { return engine.Active() == 0 })
	t.Logf("%d streams ended by themselves, %d were left", whole.Load(), left.Load())
	if whole.Load() == 0 || left.Load() == 0 {
		t.Error("not all was tried")
	}
}

// stressStream runs one stream, and reports whether it ran to its end.
func stressStream(ctx context.Context, client kserveconnect.GRPCInferenceServiceClient, random *rand.Rand) (stayed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, hangTimeout)
	defer cancel()
	leaves := random.IntN(2) == 0
	late := time.Duration(random.IntN(100)) * time.Millisecond
	slow := random.IntN(4) == 0
	requests := random.IntN(20)
	counts := make([]uint32, requests)
	for i := range counts {
		counts[i] = 1 + random.Uint32N(20)
	}
	stream, err := client.ModelStreamInfer(ctx)
	if err != nil {
		return false, err
	}
	if leaves {
		defer time.AfterFunc(late, cancel).Stop()
	}
	var sending sync.WaitGroup
	var sent error
	sending.Go(func() { sent = stressSend(stream, counts) })
	got, received := stressReceive(stream, slow)
	sending.Wait()
	_ = stream.CloseResponse()
	switch want := total(counts); {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return !leaves, fmt.Errorf("it hangs after %d of %d responses: %w", got, want, received)
	case leaves:
		return false, nil
	case sent != nil || !errors.Is(received, io.EOF) || got != want:
		return true, fmt.Errorf("%d of %d responses: %w, %w", got, want, sent, received)
	}
	return true, nil
}

func total(counts []uint32) (sum int) {
	for _, n := range counts {
		sum += int(n)
	}
	return sum
}

type stressed = *connect.BidiStreamForClientSimple[api.ModelInferRequest, api.ModelStreamInferResponse]

func stressSend(stream stressed, counts []uint32) error {
	for i, n := range counts {
		req := tensor("m", "N", "UINT32", []int64{1}, binary.LittleEndian.AppendUint32(nil, n))
		req.Id = fmt.Sprint(i)
		if err := stream.Send(req); err != nil {
			return err
		}
	}
	return stream.CloseRequest()
}

// stressReceive returns the number of responses.
func stressReceive(stream stressed, slow bool) (n int, err error) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		m, err := stream.Receive()
		if err != nil {
			return n, err
		}
		if m.GetErrorMessage() != "" {
			return n, errors.New(m.GetErrorMessage())
		}
		n++
		if slow {
			<-tick.C
		}
	}
}
