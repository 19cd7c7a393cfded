package kserve_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/gen/go/kserve/kserveconnect"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/kserve/kservetest"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/test/tier"
)

// restBody is an inference over REST.
const restBody = `{"inputs": [{"name": "IN", "datatype": "UINT8", "shape": [1], "data": [7]}]}`

// smallLimit is the body limit of the shared port in these tests, in bytes.
const smallLimit = 1 << 20

// serveSmall serves shouting's model, which isn't decoupled here, on a shared port with
// smallLimit.
func serveSmall(t *testing.T) string {
	t.Helper()
	shared := server.Default()
	shared.MaxBody = smallLimit
	return kservetest.ServeSharedAs(t, shared, nil, kservetest.Open(), kservetest.SingleResponseEngine())
}

// sized returns a request whose encoding has n bytes.
func sized(t *testing.T, n int) *api.ModelInferRequest {
	t.Helper()
	req := func(raw int) *api.ModelInferRequest {
		return tensor("m", "IN", "UINT8", []int64{int64(raw)}, make([]byte, raw))
	}
	r := req(2*n - proto.Size(req(n)))
	if proto.Size(r) != n {
		t.Fatalf("the request takes %d bytes, want %d", proto.Size(r), n)
	}
	return r
}

// TestMessageLimit checks that each protocol of the shared port serves messages of the maximum size
// and refuses messages that are one byte larger.
func TestMessageLimit(t *testing.T) {
	address := serveSmall(t)
	by := h2c()
	t.Cleanup(by.CloseIdleConnections)
	const head = 5 // bytes before each message of gRPC; they count towards the bodies of unary calls
	for _, test := range []struct {
		name        string
		options     []connect.ClientOption
		unary, most int // maximum bytes of a message in a unary call, and in a stream
	}{
		{"Connect", nil, smallLimit, smallLimit},
		{"Connect with gzip", []connect.ClientOption{connect.WithSendGzip()}, smallLimit, smallLimit},
		{"gRPC", []connect.ClientOption{connect.WithGRPC()}, smallLimit - head, smallLimit},
		{"gRPC with gzip", []connect.ClientOption{connect.WithGRPC(), connect.WithSendGzip()}, smallLimit, smallLimit},
		{"gRPC-Web", []connect.ClientOption{connect.WithGRPCWeb()}, smallLimit - head, smallLimit},
	} {
		client := kserveconnect.NewGRPCInferenceServiceClient(by, "http://"+address, test.options...)
		t.Run(test.name, func(t *testing.T) {
			req := sized(t, test.unary)
			if answer, err := client.ModelInfer(t.Context(), req); err != nil || !bytes.Equal(answer.GetRawOutputContents()[0], req.GetRawInputContents()[0]) {
				t.Errorf("%d bytes: %v", test.unary, err)
			}
			if _, err := client.ModelInfer(t.Context(), sized(t, test.unary+1)); connect.CodeOf(err) != connect.CodeResourceExhausted {
				t.Errorf("%d bytes: %v", test.unary+1, err)
			}
		})
		t.Run(test.name+", stream", func(t *testing.T) { checkStreamLimit(t, client, test.most) })
	}
	t.Run("REST", func(t *testing.T) {
		for more, want := range map[int]int{0: http.StatusOK, 1: http.StatusBadRequest} {
			status, answer := post(t, "http://"+address+"/v2/models/m/infer", restBody+strings.Repeat(" ", smallLimit-len(restBody)+more))
			if status != want || want != http.StatusOK && !bytes.Contains(answer, []byte("exceeds the maximum allowed input size of 1048576 bytes")) {
				t.Errorf("%d bytes more: %d %s", more, status, answer)
			}
		}
	})
}

// checkStreamLimit checks that a stream accepts two messages of the maximum size and fails
// at a larger one.
func checkStreamLimit(t *testing.T, client kserveconnect.GRPCInferenceServiceClient, most int) {
	t.Helper()
	s, err := client.ModelStreamInfer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.CloseResponse()
	for range 2 {
		if err := s.Send(sized(t, most)); err != nil {
			t.Fatal(err)
		}
		if m, err := s.Receive(); err != nil || m.GetErrorMessage() != "" {
			t.Fatalf("%d bytes: %v, %v", most, m.GetErrorMessage(), err)
		}
	}
	if err := s.Send(sized(t, most+1)); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if _, err := s.Receive(); connect.CodeOf(err) != connect.CodeResourceExhausted {
		t.Errorf("%d bytes: %v", most+1, err)
	}
	_ = s.CloseRequest()
}

// TestNativeMessageLimit checks the maximum message size of KServe's own gRPC port. It accepts
// larger messages than the shared port, up to 2 GiB minus one byte. Only the head of a frame
// announces that size here.
func TestNativeMessageLimit(t *testing.T) {
	address := serveNative(t, kservetest.Open(), kservetest.SingleResponseEngine())
	client := api.NewGRPCInferenceServiceClient(dial(t, address))
	req := sized(t, 65<<20)
	if answer, err := client.ModelInfer(t.Context(), req); err != nil || !bytes.Equal(answer.GetRawOutputContents()[0], req.GetRawInputContents()[0]) {
		t.Errorf("65 MiB: %v", err)
	}
	for claimed, want := range map[uint32]codes.Code{1<<31 - 1: codes.Internal, 1 << 31: codes.ResourceExhausted} {
		if code, _ := postFrame(t, address, "ModelInfer", binary.BigEndian.AppendUint32([]byte{0}, claimed)); code != want {
			t.Errorf("%d bytes that don't come: %s", claimed, code)
		}
	}
	zeros := sized(t, tier.Size(21<<20, 63<<20)) // this request compresses to a thousandth of its size
	if _, err := client.ModelInfer(t.Context(), zeros, grpc.UseCompressor("gzip")); status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "send it without compression") {
		t.Errorf("%d bytes of zeros, compressed: %v", proto.Size(zeros), err)
	}
	if _, err := rand.Read(zeros.GetRawInputContents()[0][:2<<20]); err != nil { // with these random bytes the request compresses to a thirtieth
		t.Fatal(err)
	}
	if _, err := client.ModelInfer(t.Context(), zeros, grpc.UseCompressor("gzip")); err != nil {
		t.Errorf("%d bytes, compressed: %v", proto.Size(zeros), err)
	}
}

// TestNativeMessageLimitOfMemory tests that gRPC's port limits messages to a part of the
// memory if that is less than 2 GiB.
func TestNativeMessageLimitOfMemory(t *testing.T) {
	cfg := kservetest.Open()
	cfg.MaxMessage = 1 << 20
	address := serveNative(t, cfg, kservetest.SingleResponseEngine())
	client := api.NewGRPCInferenceServiceClient(dial(t, address))
	if _, err := client.ModelInfer(t.Context(), sized(t, 1<<20)); err != nil {
		t.Errorf("1 MiB: %v", err)
	}
	if code, _ := postFrame(t, address, "ModelInfer", binary.BigEndian.AppendUint32([]byte{0}, 1<<20+1)); code != codes.ResourceExhausted {
		t.Errorf("a byte more, which doesn't come: %s", code)
	}
}

// TestCompressionRatio checks that a compressed request is refused if it decompresses to more than
// budget.InflatedBytes and to many times its compressed size, although it is smaller than the maximum
// message.
func TestCompressionRatio(t *testing.T) {
	address := kservetest.ServeShared(t, kservetest.Open(), kservetest.SingleResponseEngine())
	by := h2c()
	t.Cleanup(by.CloseIdleConnections)
	for name, options := range map[string][]connect.ClientOption{"Connect": nil, "gRPC": {connect.WithGRPC()}, "gRPC-Web": {connect.WithGRPCWeb()}, "JSON": {connect.WithProtoJSON()}} {
		t.Run(name, func(t *testing.T) {
			client := kserveconnect.NewGRPCInferenceServiceClient(by, "http://"+address, append(options, connect.WithSendGzip())...)
			within, beyond := sized(t, budget.InflatedBytes), sized(t, budget.InflatedBytes+1)
			if name == "JSON" { // its base64 is longer
				within, beyond = sized(t, 2_000_000), sized(t, 4_000_000)
			}
			if _, err := client.ModelInfer(t.Context(), within); err != nil {
				t.Errorf("within: %v", err)
			}
			if _, err := client.ModelInfer(t.Context(), beyond); connect.CodeOf(err) != connect.CodeInvalidArgument || !strings.Contains(err.Error(), budget.ErrInflated.Error()) {
				t.Errorf("beyond: %v", err)
			}
		})
	}
	for size, want := range map[int]int{budget.InflatedBytes: http.StatusOK, budget.InflatedBytes + 64<<10: http.StatusBadRequest} {
		for _, encoding := range []string{"gzip", "deflate"} {
			padded := kservetest.Compress(t, encoding, restBody+strings.Repeat(" ", size-len(restBody)))
			status, answer := post(t, "http://"+address+"/v2/models/m/infer", padded, "Content-Encoding", encoding)
			if status != want || want != http.StatusOK && string(answer) != `{"error":"`+budget.ErrInflated.Error()+`"}` {
				t.Errorf("REST, %d bytes by %s: %d %s", size, encoding, status, answer)
			}
		}
	}
}

// bombSize is the decompressed size of the bombs, in bytes.
const bombSize = 512 << 20

// bombs has a compressed body of bombSize zeros for each compression.
var bombs = map[string]func() []byte{
	"gzip": sync.OnceValue(func() []byte {
		return zeros(func(w io.Writer) (packer, error) { return gzip.NewWriterLevel(w, gzip.BestSpeed) })
	}),
	"deflate": sync.OnceValue(func() []byte {
		return zeros(func(w io.Writer) (packer, error) { return zlib.NewWriterLevel(w, zlib.BestSpeed) })
	}),
}

type packer interface {
	io.WriteCloser
	Flush() error
}

// zeros compresses the first two parts of a bomb and repeats the second one, whose
// references to the previous text stay valid. The checksum at the end is invalid, but a
// reader that gets there has failed the test already.
func zeros(by func(io.Writer) (packer, error)) []byte {
	var b bytes.Buffer
	w, err := by(&b)
	if err != nil {
		panic(err)
	}
	part := make([]byte, 1<<20)
	var ends [2]int
	for i := range ends {
		_, err := w.Write(part)
		if err := errors.Join(err, w.Flush()); err != nil {
			panic(err)
		}
		ends[i] = b.Len()
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	all := b.Bytes()
	second := all[ends[0]:ends[1]]
	return slices.Concat(all[:ends[1]], bytes.Repeat(second, bombSize/len(part)-2), all[ends[1]:])
}

// TestBombs sends small bodies that decompress to half a gigabyte. Each protocol must refuse them
// within its memory limit.
func TestBombs(t *testing.T) {
	native, shared := serveNative(t, kservetest.Open(), kservetest.SingleResponseEngine()), serveSmall(t)
	for encoding, bomb := range bombs {
		frame := append(binary.BigEndian.AppendUint32([]byte{1}, uint32(len(bomb()))), bomb()...)
		for _, test := range []struct {
			name, address, method, kind, header string
			body                                []byte
			want                                string // code and part of the message
			most                                uint64 // bytes that may be allocated
		}{
			{"gRPC's port", native, "ModelInfer", "application/grpc", "Grpc-Encoding", frame, "13 grpc: failed to read decompressed data: the message is larger than 4 MiB and more than 100 times as large as its compressed form: send it without compression", 256 << 20},
			{"gRPC's port, stream", native, "ModelStreamInfer", "application/grpc", "Grpc-Encoding", frame, "13 grpc: failed to read decompressed data: the message is larger than 4 MiB and more than 100 times as large as its compressed form: send it without compression", 256 << 20},
			{"gRPC", shared, "ModelInfer", "application/grpc", "Grpc-Encoding", frame, "8 message is larger than configured max 1048576", 16 << 20},
			{"gRPC, stream", shared, "ModelStreamInfer", "application/grpc", "Grpc-Encoding", frame, "8 message is larger than configured max 1048576", 16 << 20},
			{"gRPC-Web", shared, "ModelInfer", "application/grpc-web", "Grpc-Encoding", frame, "8 message is larger than configured max 1048576", 16 << 20},
			{"Connect", shared, "ModelInfer", "application/proto", "Content-Encoding", bomb(), `"code":"resource_exhausted"`, 16 << 20},
			{"Connect with JSON", shared, "ServerLive", "application/json", "Content-Encoding", bomb(), `"code":"resource_exhausted"`, 16 << 20},
			{"Connect, stream", shared, "ModelStreamInfer", "application/connect+proto", "Connect-Content-Encoding", frame, `"code":"resource_exhausted"`, 16 << 20},
			{"REST", shared, "", "", "Content-Encoding", bomb(), "exceeds the maximum allowed input size", 16 << 20},
		} {
			t.Run(test.name+" "+encoding, func(t *testing.T) {
				path := "/inference.GRPCInferenceService/" + test.method
				if test.method == "" {
					path = "/v2/models/m/infer"
				}
				header := http.Header{"Content-Type": {test.kind}, "Te": {"trailers"}, test.header: {encoding}}
				var got string
				used := allocated(func() { got = postRaw(t, "http://"+test.address+path, header, test.body) })
				if !strings.Contains(got, test.want) {
					t.Errorf("got %q, want %q", got, test.want)
				}
				if used > test.most {
					t.Errorf("%d MiB were allocated", used>>20)
				}
			})
		}
	}
	if _, err := api.NewGRPCInferenceServiceClient(dial(t, native)).ServerLive(t.Context(), &api.ServerLiveRequest{}); err != nil {
		t.Error(err)
	}
}

// allocated returns the number of bytes that were allocated during a call.
func allocated(while func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	while()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// postRaw sends a body over HTTP/2 and returns the status and message of the response, from
// wherever the protocol has them.
func postRaw(t *testing.T, url string, header http.Header, body []byte) string {
	t.Helper()
	by := h2c()
	defer by.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header
	resp, err := by.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if encoding := resp.Header.Get("Connect-Content-Encoding"); encoding != "" && answer[0]&1 != 0 { // bit 0 marks a compressed message
		answer = []byte(kservetest.Decompress(t, encoding, answer[5:])) // the flags and the length take 5 bytes
	}
	var texts []string
	for _, h := range []http.Header{resp.Header, resp.Trailer} {
		if h.Get("Grpc-Status") != "" {
			texts = append(texts, h.Get("Grpc-Status")+" "+h.Get("Grpc-Message"))
		}
	}
	return fmt.Sprintf("%d %s %s", resp.StatusCode, strings.Join(texts, " "), answer)
}

// TestDeepJSON tests that deeply nested JSON in Connect's calls returns an error instead of
// growing the stack.
func TestDeepJSON(t *testing.T) {
	address := kservetest.ServeShared(t, kservetest.Open(), kservetest.SingleResponseEngine())
	const depth = 1 << 20
	for _, method := range []string{"ModelInfer", "ServerMetadata", "RepositoryModelLoad", "TraceSetting"} {
		for name, body := range map[string]string{
			"lists": `{"x":` + strings.Repeat("[", depth), "whole lists": `{"x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + "}",
			"objects": strings.Repeat(`{"x":`, depth), "known fields": strings.Repeat(`{"parameters":`, depth), "nothing else": strings.Repeat("[", depth),
			"in a map": `{"parameters":{"a":{"x":` + strings.Repeat(`{"a":`, depth),
		} {
			t.Run(method+", "+name, func(t *testing.T) {
				var status int
				var answer []byte
				used := allocated(func() { status, answer = post(t, "http://"+address+"/inference.GRPCInferenceService/"+method, body) })
				if status != http.StatusBadRequest || !bytes.Contains(answer, []byte(`"code":"invalid_argument"`)) || len(answer) > 4096 {
					t.Errorf("got %d %.4096s", status, answer)
				}
				if most := max(64<<20, 6*uint64(len(body))); used > most { // the limit leaves room for a buffer that grows, and for a copy
					t.Errorf("%d of %d MiB were allocated", used>>20, most>>20)
				}
			})
		}
	}
	if _, err := api.NewGRPCInferenceServiceClient(dial(t, address)).ServerLive(context.WithoutCancel(t.Context()), &api.ServerLiveRequest{}); status.Code(err) != codes.OK {
		t.Error(err)
	}
}
