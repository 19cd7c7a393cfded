package kserve_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/trident-inference/trident/services/kserve/kservetest"
)

// TestBadMessages sends messages that no correct client sends. Each must get an
// error and allocate little memory, and the port must continue to serve.
func TestBadMessages(t *testing.T) {
	framed := func(claimed uint32, message ...byte) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{0}, claimed), message...)
	}
	whole := func(message ...byte) []byte { return framed(uint32(len(message)), message...) }
	const most = 32 << 20 // bytes that a message may make the server allocate
	for port, address := range map[string]string{"native": serveNative(t, kservetest.Open(), kservetest.StreamEngine()), "shared": kservetest.ServeShared(t, kservetest.Open(), kservetest.StreamEngine())} {
		for _, method := range []string{"ModelInfer", "ModelStreamInfer", "ModelMetadata"} {
			for _, test := range []struct {
				name string
				body []byte
			}{
				{"a message cut off", whole(0x0a, 5, 'm')},
				{"a length of 2 GiB inside", whole(0x3a, 0xff, 0xff, 0xff, 0xff, 7, 1, 2, 3)},
				{"a length of 16 EiB inside", whole(0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1)},
				{"a field of no number", whole(0, 1)},
				{"groups without end", whole(bytes.Repeat([]byte{0x0b}, 1<<20)...)},
				{"a frame of 2 GiB, of which nothing comes", framed(1<<31 - 1)},
				{"a frame of 4 GiB", framed(1<<32-1, 0x0a, 1, 'm')},
				{"a frame cut off", framed(100, 0x0a, 1, 'm')},
				{"half a frame's head", []byte{0, 0, 0}},
				{"compressed by nothing known", append([]byte{1}, whole(1, 2, 3)[1:]...)},
			} {
				t.Run(port+", "+method+": "+test.name, func(t *testing.T) {
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					code, answer := postFrame(t, address, method, test.body)
					runtime.ReadMemStats(&after)
					refused := method == "ModelStreamInfer" && bytes.Contains(answer, []byte("no model ")) // a stream refuses in a response, with status OK
					if code == codes.OK && !refused || code == codes.DeadlineExceeded {
						t.Errorf("answered with %s, %q", code, answer)
					}
					if n := after.TotalAlloc - before.TotalAlloc; n > most {
						t.Errorf("%d bytes were allocated", n)
					}
				})
			}
		}
		if code, _ := postFrame(t, address, "ServerLive", whole()); code != codes.OK {
			t.Errorf("%s: afterwards %s", port, code)
		}
	}
}

// postFrame sends a body over gRPC and returns the status and the response.
func postFrame(t *testing.T, address, method string, body []byte) (code codes.Code, answer []byte) {
	t.Helper()
	by := h2c()
	defer by.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/inference.GRPCInferenceService/"+method, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Te", "trailers")
	resp, err := by.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	status, err := strconv.Atoi(cmp.Or(resp.Trailer.Get("Grpc-Status"), resp.Header.Get("Grpc-Status")))
	if err != nil {
		t.Fatalf("no status: %v, %v", resp.Header, resp.Trailer)
	}
	return codes.Code(status), answer
}
