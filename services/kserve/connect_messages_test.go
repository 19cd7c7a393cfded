package kserve_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/gen/go/kserve/kserveconnect"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve/kservetest"
	"github.com/trident-inference/trident/test/tier"
)

// TestEmptyMessages checks that a request message of zero bytes is handled as an empty
// ModelInferRequest with gRPC's framing. Connect calls no codec for such a message.
func TestEmptyMessages(t *testing.T) {
	address := "http://" + kservetest.ServeShared(t, kservetest.Open(), kservetest.StreamEngine())
	by := h2c()
	t.Cleanup(by.CloseIdleConnections)
	unknown := func(err error) {
		t.Helper()
		if connect.CodeOf(err) != connect.CodeNotFound || !strings.Contains(err.Error(), "no model ") {
			t.Errorf("got %v", err)
		}
	}
	for name, option := range map[string]connect.ClientOption{"gRPC": connect.WithGRPC(), "gRPC-Web": connect.WithGRPCWeb()} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{kserveconnect.GRPCInferenceServiceModelInferProcedure, tridentv1connect.InferServiceInferProcedure} {
				_, err := connect.NewClient[api.ModelInferRequest, api.ModelInferResponse](by, address+path, option).CallUnary(t.Context(), connect.NewRequest(&api.ModelInferRequest{}))
				unknown(err)
			}
			stream, err := connect.NewClient[api.ModelInferRequest, api.ModelStreamInferResponse](by, address+tridentv1connect.InferServiceInferStreamProcedure, option).
				CallServerStream(t.Context(), connect.NewRequest(&api.ModelInferRequest{}))
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			if !stream.Receive() || stream.Msg().GetErrorMessage() != "no model " {
				t.Errorf("got %v, %v", stream.Msg(), stream.Err())
			}
		})
	}
}

// rawGRPC sends a request in gRPC's framing to the shared port. The caller closes the
// body.
func rawGRPC(t *testing.T, by *http.Client, address, path string, m proto.Message, header map[string]string) *http.Response {
	t.Helper()
	encoded, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(encoded))), encoded...)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Te", "trailers")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	answer, err := by.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// TestCompressionOnRequest tests that gRPC's responses on the shared port are compressed
// exactly if the requests are.
func TestCompressionOnRequest(t *testing.T) {
	address := kservetest.ServeShared(t, kservetest.Open(), kservetest.StreamEngine())
	by := h2c()
	t.Cleanup(by.CloseIdleConnections)
	for _, encoding := range []string{"", "identity", "gzip", "deflate"} {
		answer := rawGRPC(t, by, address, kserveconnect.GRPCInferenceServiceServerLiveProcedure, &api.ServerLiveRequest{},
			map[string]string{"Grpc-Accept-Encoding": "identity, deflate, gzip", "Grpc-Encoding": encoding})
		_, err := io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		got := answer.Header.Get("Grpc-Encoding")
		if got == "" {
			got = "identity"
		}
		if want := cmp.Or(encoding, "identity"); err != nil || answer.StatusCode != http.StatusOK || got != want || answer.Trailer.Get("Grpc-Status") != "0" {
			t.Errorf("%q: got %d, %q, %v, %v", encoding, answer.StatusCode, got, answer.Trailer, err)
		}
	}
}

// TestStreamMemory streams more data than may be allocated for it: Connect must not keep
// the buffers into which messages were encoded.
func TestStreamMemory(t *testing.T) {
	if tier.Race {
		t.Skip("pools drop what comes back by chance: make bench-once")
	}
	const size, count = 256 << 10, 200
	tensor := make([]byte, size)
	address := kservetest.ServeShared(t, kservetest.Open(), kservetest.Decoupled(func(_ context.Context, _ *api.ModelInferRequest, send kservetest.SendFunc) error {
		for i := range count {
			send(&inference.Response{Version: "1", Final: i == count-1, Outputs: []inference.Output{{Name: "o", Type: "UINT8", Shape: []int64{size}, Raw: tensor}}})
		}
		return nil
	}))
	by := h2c()
	t.Cleanup(by.CloseIdleConnections)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	answer := rawGRPC(t, by, address, kserveconnect.GRPCInferenceServiceModelStreamInferProcedure, &api.ModelInferRequest{ModelName: "m"}, nil)
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	if err != nil || n < size*count || answer.Trailer.Get("Grpc-Status") != "0" {
		t.Fatalf("read %d, %v, %v", n, err, answer.Trailer)
	}
	runtime.ReadMemStats(&after)
	if allocated := int64(after.TotalAlloc - before.TotalAlloc); allocated > n/3 {
		t.Errorf("%d bytes were allocated for a stream of %d", allocated, n)
	}
}
