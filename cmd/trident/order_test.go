package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/cloud"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/server/servertest"
	"github.com/trident-inference/trident/test/cputime"
	"github.com/trident-inference/trident/test/tier"
)

const orderKeys = `
- {name: spent, key: sk-spent, limits: {rate: 0.0001, burst: 1}}
- {name: full, key: sk-full, limits: {in_flight: 1, queued: 1}}
- {name: some, key: sk-some, models: [own]}
- {name: one, key: sk-one, limits: {in_flight: 1, rate: 0.0001, burst: 1}}
`

// hostile is a request whose body takes seconds to decode.
type hostile struct {
	listener, method, path, kind string
	header                       []string
	body                         []byte
	api                          auth.API
	record                       *auth.Record // of the route; nil for the routes of hosting platforms
}

// countingBody is a body that counts the bytes that are read from it.
type countingBody struct {
	io.Reader

	n int
}

func (u *countingBody) Read(p []byte) (int, error) {
	n, err := u.Reader.Read(p)
	u.n += n
	return n, err
}

func (*countingBody) Close() error { return nil }

// hostiles returns requests to each operation and procedure that does work, on each listener
// that serves it, in each protocol.
func hostiles(tb testing.TB) (all []hostile) {
	tb.Helper()
	nested := []byte(`{"model":"own","messages":[` + strings.Repeat("{},", 1<<20) + `{}]}`)
	message := append([]byte("\x0a\x03own"), bytes.Repeat([]byte{0x12, 0}, 2<<20)...) // the message has a long list of empty messages
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := w.Write(message); err != nil || w.Close() != nil {
		tb.Fatal(err)
	}
	enveloped := append([]byte{1, 0, 0, byte(zipped.Len() >> 8), byte(zipped.Len())}, zipped.Bytes()...)
	for _, record := range auth.Records() {
		if record.Effect != auth.Runs {
			continue
		}
		method, path, spaced := strings.Cut(record.Pattern, " ")
		if !spaced {
			method, path = http.MethodPost, record.Pattern
		}
		h := hostile{listener: "shared", method: method, path: matrixPath(tb, path), kind: "application/json", body: nested, api: record.API, record: record}
		switch record.API {
		case auth.OpenAI, auth.Anthropic, auth.Encoders:
			all = append(all, h)
		case auth.REST:
			all = append(all, h)
			h.listener = "REST"
			all = append(all, h)
			h.listener = "Vertex AI by redirect"
			all = append(all, h)
		case auth.Pages: // the requests of hosting platforms are added below
		case auth.Procedure:
			for _, kind := range []string{"application/json", "application/proto", "application/connect+proto", "application/grpc", "application/grpc-web+proto"} {
				if streams(record) == (kind == "application/json" || kind == "application/proto") || kind == "application/connect+proto" && !streams(record) {
					if !strings.HasPrefix(kind, "application/grpc") {
						continue
					}
				}
				h.kind, h.body, h.header = kind, enveloped, []string{"Grpc-Encoding", "gzip", "Connect-Content-Encoding", "gzip"}
				switch kind {
				case "application/json":
					h.body, h.header = nested, nil
				case "application/proto":
					h.body, h.header = zipped.Bytes(), []string{"Content-Encoding", "gzip"}
				}
				all = append(all, h)
			}
		}
	}
	return append(all,
		hostile{listener: cloud.NameSageMaker, method: http.MethodPost, path: "/invocations", kind: "application/json", body: nested, api: auth.Pages},
		hostile{listener: cloud.NameVertexAI, method: http.MethodPost, path: "/v1/models/m:predict", kind: "application/json", body: nested, api: auth.Pages},
	)
}

// ask sends the request with a key. It returns the response and the number of body bytes that
// were read.
func (h *hostile) ask(target *matrixTarget, key string, lines ...string) (matrixAnswer, int) {
	body := &countingBody{Reader: bytes.NewReader(h.body)}
	r := httptest.NewRequest(h.method, h.path, body)
	r.Host, r.ProtoMajor, r.Proto, r.ContentLength = "localhost", 2, "HTTP/2.0", int64(len(h.body))
	r.Header.Set("Content-Type", h.kind)
	r.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i+1 < len(h.header); i += 2 {
		r.Header.Set(h.header[i], h.header[i+1])
	}
	for i := 0; i+1 < len(lines); i += 2 {
		r.Header.Add(lines[i], lines[i+1])
	}
	w := httptest.NewRecorder()
	target.listeners[h.listener].ServeHTTP(w, r)
	header := w.Result().Header
	maps.Copy(header, w.Result().Trailer)
	return matrixAnswer{w.Code, w.Body.String(), header}, body.n
}

func (h *hostile) String() string { return h.listener + " " + h.path + " " + h.kind }

// refusedAs reports whether a response is a refusal in the format of the called API, with a
// text, an HTTP status and a gRPC code.
func (h *hostile) refusedAs(a matrixAnswer, text string, status int, code codes.Code) bool {
	trailer := a.header.Get("Grpc-Status") + a.header.Get(http.TrailerPrefix+"Grpc-Status")
	message := a.header.Get("Grpc-Message") + a.header.Get(http.TrailerPrefix+"Grpc-Message")
	name := map[codes.Code]string{codes.ResourceExhausted: "resource_exhausted", codes.NotFound: "not_found"}[code]
	switch {
	case strings.HasPrefix(h.kind, "application/grpc-web"):
		return a.status == http.StatusOK && strings.Contains(a.body+message, text) && strings.Contains(strings.ToLower(a.body)+"grpc-status: "+trailer, fmt.Sprintf("grpc-status: %d", code))
	case strings.HasPrefix(h.kind, "application/grpc"):
		return a.status == http.StatusOK && strings.Contains(message, text) && trailer == fmt.Sprint(int(code))
	case strings.HasPrefix(h.kind, "application/connect+"):
		return a.status == http.StatusOK && strings.Contains(a.body, `"code":"`+name+`"`) && strings.Contains(a.body, text)
	case h.api == auth.Procedure:
		return a.status == status && strings.Contains(a.body, `"code":"`+name+`"`) && strings.Contains(a.body, text)
	case h.api == auth.REST:
		return a.status == status && strings.HasPrefix(a.body, `{"error":"`) && strings.Contains(a.body, text)
	case h.api == auth.Encoders: // the forms of OpenAI's API, TEI and Cohere
		prefix := `{"error":{"code":"`
		if strings.HasPrefix(h.path, "/tei/") {
			prefix = `{"error":"`
		} else if h.path == "/v2/rerank" {
			prefix = `{"id":"req_`
		}
		return a.status == status && strings.HasPrefix(a.body, prefix) && strings.Contains(a.body, text)
	}
	return a.status == status && strings.HasPrefix(a.body, `{"error":{"message":"`) && strings.Contains(a.body, text)
}

// startOrder starts the program with the keys of these tests and a model whose answers come
// when the test ends them.
func startOrder(t *testing.T, args ...string) (_ *matrixTarget, end func()) {
	t.Helper()
	ended := make(chan struct{})
	engine := inferencetest.New()
	engine.AddModel("slow", func(ctx context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		select {
		case <-ended:
			send(inferencetest.Token("x", "stop"))
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	args = append(args, "--api-keys-file="+servertest.Write(t, t.TempDir(), "keys", []byte(orderKeys)))
	return startMatrixOn(t, engine, args...), sync.OnceFunc(func() { close(ended) })
}

// slowChat returns a request for the slow model.
func slowChat() *hostile {
	return &hostile{
		listener: "shared", method: http.MethodPost, path: "/v1/completions", kind: "application/json",
		body: []byte(`{"model":"slow","prompt":"hi"}`),
	}
}

// inFlight waits until the given numbers of requests are running and waiting.
func (m *matrixTarget) inFlight(t *testing.T, running, waiting int) {
	t.Helper()
	for late := time.Now().Add(20 * time.Second); ; {
		total, _ := m.service.Meters().Load(t.Context())
		if total.InFlight == running+waiting && total.Waiting == waiting {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("%+v", total)
		}
		runtime.Gosched()
	}
}

// TestOrder checks that no API reads the body of a request whose API key is at its limits. Such
// requests cost almost nothing.
func TestOrder(t *testing.T) {
	target, end := startOrder(t)
	all := hostiles(t)
	var asked sync.WaitGroup
	defer asked.Wait()
	defer end()
	for i := range 2 { // these requests fill the slot and the queue
		asked.Go(func() {
			if a, _ := slowChat().ask(target, "sk-full"); a.status != http.StatusOK {
				t.Errorf("an honest request: %s", a)
			}
		})
		target.inFlight(t, 1, i)
	}
	if a, _ := (&hostile{listener: "shared", method: http.MethodPost, path: "/v1/completions", kind: "application/json", body: []byte(`{"model":7}`)}).ask(target, "sk-spent"); a.status != http.StatusBadRequest {
		t.Fatalf("a request that breaks a rule: %s", a)
	}
	surfaces := map[string]bool{}
	for key, text := range map[string]string{"sk-spent": "too many requests of this API key: the rate limit", "sk-full": "too many requests of this API key: 1 are in flight and 1 are queued"} {
		began := cputime.Process(t)
		for i := range all {
			h := &all[i]
			surfaces[h.listener+" "+h.kind] = true
			a, read := h.ask(target, key)
			if read > 0 || !h.refusedAs(a, text, http.StatusTooManyRequests, codes.ResourceExhausted) {
				t.Errorf("%s %s: %d bytes were read: %s %v", key, h, read, a, a.header)
			}
			if h.api != auth.Procedure && a.header.Get("Retry-After") == "" {
				t.Errorf("%s %s has no Retry-After: %v", key, h, a.header)
			}
			if key == "sk-spent" && h.api == auth.OpenAI && a.header.Get("X-Ratelimit-Remaining-Requests") != "0" {
				t.Errorf("%s %s: %v", key, h, a.header)
			}
		}
		limit := time.Millisecond
		if tier.Race {
			limit *= 10
		}
		if each := (cputime.Process(t) - began) / time.Duration(len(all)); each > limit {
			t.Errorf("%s: a refusal takes %s of CPU", key, each)
		} else {
			t.Logf("%s: a refusal takes %s of CPU", key, each)
		}
		checkOrderOfCalls(t, target, key, text)
	}
	if len(surfaces) < 9 {
		t.Errorf("surfaces: %v", slices.Sorted(maps.Keys(surfaces)))
	}
	if n := len(target.engine.Requests()); n > 1 {
		t.Errorf("%d requests reached a model", n)
	}
}

// checkOrderOfCalls calls the gRPC port without sending a message. A refusal then happens
// before any message is read.
func checkOrderOfCalls(t *testing.T, target *matrixTarget, key, text string) {
	t.Helper()
	conn := dial(t, target.native)
	for _, method := range []string{"ModelInfer", "ModelStreamInfer"} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+key)
		stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/inference.GRPCInferenceService/"+method)
		if err == nil {
			err = stream.RecvMsg(&emptypb.Empty{})
		}
		answer := grpcstatus.Convert(err)
		if answer.Code() != codes.ResourceExhausted || !strings.Contains(answer.Message(), text) || len(answer.Details()) != 1 {
			t.Errorf("%s of %s: %v %v", method, key, err, answer.Details())
		}
	}
}

// TestOrderOfModels checks that a key for other models gets no information about other errors
// of a request.
func TestOrderOfModels(t *testing.T) {
	target, end := startOrder(t)
	defer end()
	for _, h := range []hostile{
		{path: "/v1/chat/completions", body: []byte(`{"model":"slow","messages":[{}]}`), api: auth.OpenAI},
		{path: "/v1/tokenize", body: []byte(`{"messages":7,"model":"slow"}`), api: auth.OpenAI},
		{path: "/v1/embeddings", body: []byte(`{"model":"slow"}`), api: auth.OpenAI},
		{path: "/trident.v1.ChatService/Chat", body: []byte(`{"model":"slow","messages":[{},{}]}`), api: auth.Procedure},
		{path: "/trident.v1.EmbeddingService/Embed", body: []byte(`{"model":"slow"}`), api: auth.Procedure},
		{path: "/v2/models/slow/infer", body: []byte(`{"inputs":7}`), api: auth.REST},
	} {
		h.listener, h.method, h.kind = "shared", http.MethodPost, "application/json"
		if a, read := h.ask(target, "sk-some"); !h.refusedAs(a, "this API key may not use it", http.StatusNotFound, codes.NotFound) || h.api == auth.REST && read > 0 {
			t.Errorf("%s: %s", &h, a)
		}
	}
}

// TestOneAtATime checks that a key limited to one request never has two in flight, and that
// the work of a request ends when its client disconnects.
func TestOneAtATime(t *testing.T) {
	target, end := startOrder(t)
	defer end()
	ctx, cancel := context.WithCancel(t.Context())
	var first sync.WaitGroup
	first.Go(func() {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/completions", strings.NewReader(`{"model":"slow","prompt":"hi"}`))
		r.Host = "localhost"
		r.Header.Set("Authorization", "Bearer sk-one")
		target.listeners["shared"].ServeHTTP(httptest.NewRecorder(), r)
	})
	target.inFlight(t, 1, 0)
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			if a, read := slowChat().ask(target, "sk-one"); a.status != http.StatusTooManyRequests || read > 0 {
				t.Errorf("another one at once: %d bytes were read: %s", read, a)
			}
		})
	}
	others.Wait()
	cancel()
	first.Wait()
	target.inFlight(t, 0, 0)
	if _, all := target.service.Admission().Holdings(); all.Bytes != 0 || all.Reading != 0 || all.Decoding != 0 {
		t.Errorf("held: %+v", all)
	}
}

// TestHeaderLines checks that more than a hundred header lines are refused before
// authentication, in the format of each API.
func TestHeaderLines(t *testing.T) {
	target, end := startOrder(t)
	defer end()
	var few, many []string
	for i := range 110 {
		if many = append(many, fmt.Sprintf("X-Line-%d", i%7), "v"); i < 80 {
			few = append(few, fmt.Sprintf("X-Line-%d", i), "v")
		}
	}
	for _, h := range hostiles(t) {
		if h.listener == "Vertex AI by redirect" {
			h.api = auth.Pages // refused before the platform's header is read
		}
		a, read := h.ask(target, "sk-wrong", many...)
		if read > 0 || !h.refusedAs(a, "lines, more than 100: send fewer", http.StatusRequestHeaderFieldsTooLarge, codes.ResourceExhausted) {
			t.Errorf("%s: %d bytes were read: %s %v", &h, read, a, a.header)
		}
	}
	if a, _ := slowChat().ask(target, "sk-wrong", few...); a.status != http.StatusUnauthorized {
		t.Errorf("80 lines more: %s", a)
	}
	conn := dial(t, target.native)
	for lines, want := range map[int]codes.Code{80: codes.Unauthenticated, 110: codes.ResourceExhausted} {
		md := metadata.MD{}
		for i := range lines {
			md.Append(fmt.Sprintf("x-line-%d", i%7), "v")
		}
		ctx := metadata.NewOutgoingContext(t.Context(), md)
		if err := conn.Invoke(ctx, "/inference.GRPCInferenceService/ModelInfer", &emptypb.Empty{}, &emptypb.Empty{}); grpcstatus.Code(err) != want {
			t.Errorf("gRPC, %d lines: %v", lines, err)
		}
	}
}

// TestAuthenticationFailures checks that the number of requests with invalid API keys is limited by
// address. A valid key from the same address still works.
func TestAuthenticationFailures(t *testing.T) {
	target, end := startOrder(t)
	defer end()
	h := &hostile{listener: "shared", method: http.MethodGet, path: "/v1/models", api: auth.OpenAI}
	statuses := map[int]int{}
	for range 300 {
		a, _ := h.ask(target, "sk-wrong")
		statuses[a.status]++
		if a.status == http.StatusTooManyRequests && (a.header.Get("Retry-After") == "" || !strings.Contains(a.body, `"code":"too_many_authentication_failures"`) || !strings.Contains(a.body, "Incorrect API key provided")) {
			t.Fatalf("%s %v", a, a.header)
		}
	}
	if statuses[http.StatusUnauthorized] < 100 || statuses[http.StatusTooManyRequests] < 100 || len(statuses) != 2 {
		t.Errorf("statuses %v", statuses)
	}
	if a, _ := h.ask(target, "sk-some"); a.status != http.StatusOK {
		t.Errorf("a right key: %s", a)
	}
}
