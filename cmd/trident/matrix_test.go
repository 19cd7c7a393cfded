package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/fx"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/cloud"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/kserve/rest"
	"github.com/trident-inference/trident/services/metrics"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/server/servertest"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/test/logbuffer"
	"github.com/trident-inference/trident/web"
)

// The matrix is generated from the records of services/auth: each route, in many spellings
// of its path, by clients with each kind of key, on each listener. The checks don't depend
// on how the gate finds a route. A response to a client without access must be a refusal, a
// redirect, or the public response of an open route.

// caller is a kind of client in the access matrix, by its API key.
type caller struct {
	name, key string
	// admitted reports whether the server admits the caller at all.
	admitted bool
}

func callers() []caller {
	return []caller{
		{"without a key", "", false},
		{"with a wrong key", "sk-wrong", false},
		{"with an expired key", "sk-expired", false},
		{"with a key for a model", "sk-some", true},
		{"with a key", "sk-all", true},
	}
}

const matrixKeys = `
- {name: everything, key: sk-all}
- {name: some, key: sk-some, models: [own]}
- {name: expired, key: sk-expired, expires: 2001-02-03}
`

// matrixTarget is the program under test, with its listeners.
type matrixTarget struct {
	listeners map[string]http.Handler
	native    string // address of the gRPC port
	engine    *inferencetest.Engine
	service   *serving.Service
}

// canary occurs only in data for clients of all models. No request contains it.
const canary = "canary"

// startMatrix starts the whole program. The listeners are then called without connections.
func startMatrix(tb testing.TB, args ...string) *matrixTarget {
	tb.Helper()
	return startMatrixOn(tb, inferencetest.New(), args...)
}

// startMatrixOn is startMatrix with an engine that has more models.
func startMatrixOn(tb testing.TB, engine *inferencetest.Engine, args ...string) *matrixTarget {
	tb.Helper()
	tb.Setenv("AIP_PREDICT_ROUTE", "/v1/models/m:predict")
	tb.Setenv("AIP_HEALTH_ROUTE", "/health")
	engine.AddModel("own", inferencetest.StreamText("x"), map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	engine.AddModel("other", inferencetest.StreamText(canary), map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.aliases": "alias-" + canary})
	target := &matrixTarget{engine: engine, listeners: map[string]http.Handler{}}
	cfg, err := parse(append([]string{
		"--host=127.0.0.1", "--openai-port=0", "--enable-kserve-frontends", "--kserve-grpc-port=0", "--kserve-http-port=0", "--metrics-port=0", "--triton-endpoint=127.0.0.1:1",
		"--shutdown-timeout=1s", "--allow-vertex-ai", "--vertex-ai-port=0", "--sagemaker-port=" + freePort(tb), "--vertex-ai-default-model=other",
	}, args...)...)
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Table = nil
	log, level := &logbuffer.Buffer{}, &slog.LevelVar{}
	var shared *server.Server
	var ownREST *rest.Server
	var page *metrics.Server
	var platforms *cloud.Endpoints
	app := application(&flags{}, cfg, slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level})), func(err error) { tb.Error(err) },
		fx.Decorate(func([]inference.Engine) []inference.Engine { return []inference.Engine{engine} }), fx.Populate(&shared, &ownREST, &page, &platforms, &target.service))
	if err := app.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := app.Stop(context.Background()); err != nil {
			tb.Error(err)
		}
	})
	level.Set(slog.LevelError) // there are many refusals
	for _, found := range addresses.FindAllStringSubmatch(log.String(), -1) {
		if found[1] == "listening for KServe v2 by gRPC" {
			target.native = found[2]
		}
	}
	target.listeners = map[string]http.Handler{
		"shared": shared, "REST": ownREST, "metrics": page, cloud.NameSageMaker: platforms.Handler(cloud.NameSageMaker), cloud.NameVertexAI: platforms.Handler(cloud.NameVertexAI),
	}
	target.listeners["Vertex AI by redirect"] = viaRedirect(target.listeners[cloud.NameVertexAI])
	return target
}

// viaRedirect sends a request through a platform's port with the redirect header.
func viaRedirect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Vertex-Ai-Triton-Redirect", r.RequestURI)
		r.Method, r.RequestURI, r.URL = http.MethodPost, "/v1/models/m:predict", &url.URL{Path: "/v1/models/m:predict"}
		next.ServeHTTP(w, r)
	})
}

// matrixRequest is one request of the matrix. It is copied for each client.
type matrixRequest struct {
	name    string
	record  *auth.Record
	request http.Request
	alter   func(r *http.Request, path string)
	path    string
	exact   bool // the path is spelled as the route
	first   bool // first request of its class; the gate only depends on the class
}

// matrixBody is valid for most routes with a body, because they ignore unknown fields.
const matrixBody = `{"model":"other","messages":[{"role":"user","content":"hi"}],"prompt":"hi","text_input":"hi","input":"hi"}`

// kserveBody is the body for KServe's procedures.
const kserveBody = `{"modelName":"other","name":"other"}`

// typedBody is the body for the typed services.
const typedBody = `{"model":"other","messages":[{"role":"ROLE_USER","content":"hi"}],"prompt":"hi","inputs":["hi"]}`

// matrixRequests returns all routes in all spellings, except those that net/http rejects
// before any handler.
func matrixRequests(tb testing.TB) []matrixRequest {
	tb.Helper()
	var all []matrixRequest
	classes := map[auth.Record]bool{}
	for _, record := range auth.Records() {
		class := *record
		class.Name, class.Pattern = "", ""
		first := !classes[class]
		classes[class] = true
		method, path, ok := strings.Cut(record.Pattern, " ")
		if !ok {
			method, path = http.MethodPost, record.Pattern
		}
		path = matrixPath(tb, path)
		for _, s := range pathSpellings() {
			target := s.target(path)
			u, err := url.ParseRequestURI(target)
			if err != nil {
				continue
			}
			r := http.Request{Method: method, URL: u, RequestURI: target, Host: "localhost:9000", Proto: "HTTP/2.0", ProtoMajor: 2, RemoteAddr: "127.0.0.1:1234"}
			if u.Host != "" {
				r.Host = u.Host
			}
			all = append(all, matrixRequest{name: s.name, record: record, request: r, alter: s.alter, path: path, exact: target == path && s.alter == nil, first: first})
		}
	}
	return all
}

// matrixPath replaces the wildcards of a pattern's path by names.
func matrixPath(tb testing.TB, path string) string {
	tb.Helper()
	if path == "/assets/" {
		files, err := fs.Glob(web.Playground(), "assets/*.svg")
		if err != nil || len(files) == 0 {
			tb.Fatal(files, err)
		}
		return "/" + files[0]
	}
	return strings.NewReplacer("{$}", "", "{model}", "other", "{version}", "1", "{repository}", "r", "{region}", "r", "{response_id}", "resp_1").Replace(path)
}

// matrixAnswer is the response to a request of the access matrix.
type matrixAnswer struct {
	status int
	body   string
	header http.Header
}

func (a matrixAnswer) String() string { return fmt.Sprintf("%d %.200s", a.status, a.body) }

// manyFailures is a part of the error for clients from an address with many failures.
const manyFailures = "too many requests from this address have failed"

// denied reports whether authentication failed, in the format of any API.
func (a matrixAnswer) denied() bool {
	if a.status == http.StatusUnauthorized || strings.Contains(a.body+a.header.Get("Grpc-Message"), manyFailures) {
		return true
	}
	return a.status == http.StatusOK && (strings.Contains(a.body, `"code":"unauthenticated"`) || a.header.Get("Grpc-Status") == "16")
}

// forbidden reports whether the client isn't permitted to make the request.
func (a matrixAnswer) forbidden() bool {
	return a.status == http.StatusForbidden || a.status == http.StatusOK && strings.Contains(a.body, `"code":"permission_denied"`)
}

// redirected reports whether the response redirects to another spelling.
func (a matrixAnswer) redirected() bool { return a.status >= 300 && a.status < 400 }

// cancelOnFlush ends a streaming request at its first message.
type cancelOnFlush struct {
	*httptest.ResponseRecorder

	cancel context.CancelFunc
}

func (w cancelOnFlush) Flush() {
	w.ResponseRecorder.Flush()
	if w.Body.Len() > 0 {
		w.cancel()
	}
}

// ask sends the request to a listener, with additional header lines.
func (x *matrixRequest) ask(h http.Handler, lines ...string) matrixAnswer {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r := x.request.WithContext(ctx)
	u := *x.request.URL
	body := []byte(matrixBody)
	r.URL, r.Header = &u, http.Header{"Content-Type": {"application/json"}}
	if x.record.API == auth.Procedure {
		if body = []byte(typedBody); x.record.Surface == inference.SurfaceKServe {
			body = []byte(kserveBody)
		}
		if streams(x.record) {
			r.Header.Set("Content-Type", "application/connect+json")
			body = append([]byte{0, 0, 0, 0, byte(len(body))}, body...)
		}
	}
	if r.Method == http.MethodGet {
		body = nil
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	for i := 0; i < len(lines); i += 2 {
		r.Header.Set(lines[i], lines[i+1])
	}
	if x.alter != nil {
		x.alter(r, x.path)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(cancelOnFlush{w, cancel}, r)
	return matrixAnswer{w.Code, w.Body.String(), w.Header()}
}

// streams reports whether Connect envelopes a procedure's messages.
func streams(record *auth.Record) bool {
	return strings.HasSuffix(record.Name, "Stream") || strings.HasSuffix(record.Name, "/Watch") || strings.HasSuffix(record.Name, "Info") || strings.HasSuffix(record.Name, "StreamInfer")
}

// ofListener reports whether a listener is tested with a request. The listeners are tested
// with all routes that they serve, and with one request per class of the other routes.
func ofListener(listener string, x *matrixRequest) bool {
	return listener == "shared" || listener == "REST" && x.record.API == auth.REST || x.first
}

// eachListener runs a check for each request of each listener, concurrently.
func eachListener(t *testing.T, target *matrixTarget, requests []matrixRequest, check func(listener string, h http.Handler, x *matrixRequest)) {
	t.Helper()
	var done sync.WaitGroup
	for name, h := range target.listeners {
		done.Go(func() {
			for i := range requests {
				if x := &requests[i]; ofListener(name, x) {
					check(name, h, x)
				}
			}
		})
	}
	done.Wait()
}

// openResponses returns the responses of the open routes of a listener, keyed by status and
// body.
func openResponses(h http.Handler, requests []matrixRequest, open func(*auth.Record) bool) map[string]bool {
	answers := map[string]bool{}
	for i := range requests {
		if x := &requests[i]; x.exact && open(x.record) {
			a := x.ask(h)
			answers[fmt.Sprint(a.status, a.body)] = true
			answers[fmt.Sprint(a.status)] = true // HEAD responses have no body
		}
	}
	return answers
}

// TestMatrix checks the access of every client to every route, in every spelling, on every
// listener.
func TestMatrix(t *testing.T) {
	target := startMatrix(t, "--api-keys-file="+servertest.Write(t, t.TempDir(), "keys", []byte(matrixKeys)))
	requests := matrixRequests(t)
	if n := len(pathSpellings()); n < 40 {
		t.Fatalf("%d spellings", n)
	}
	open := map[string]map[string]bool{}
	for name, h := range target.listeners {
		open[name] = openResponses(h, requests, func(r *auth.Record) bool { return r.Access == auth.Open })
	}
	var asked atomic.Int64
	began := time.Now()
	for _, c := range callers() {
		eachListener(t, target, requests, func(listener string, h http.Handler, x *matrixRequest) {
			asked.Add(1)
			a := x.ask(h, keyLines(c)...)
			checkAnswer(t, listener, x, c, a, open[listener][fmt.Sprint(a.status, a.body)])
		})
		asked.Add(checkCalls(t, target, requests, c))
		for _, r := range target.engine.Requests() {
			if !c.admitted || c.key == "sk-some" && r.GetModelName() == "other" {
				t.Fatalf("a request %s reached the model %s", c.name, r.GetModelName())
			}
		}
	}
	if len(target.engine.Requests()) == 0 {
		t.Error("no request at all reached a model")
	}
	t.Logf("%d requests of %d routes in %s", asked.Load(), len(auth.Records()), time.Since(began).Round(time.Millisecond))
}

// checkAnswer checks a response to a client. open reports whether it is the public response
// of an open route.
func checkAnswer(t *testing.T, listener string, x *matrixRequest, c caller, a matrixAnswer, open bool) {
	t.Helper()
	what := listener + ": " + x.record.Name + " " + x.name + " " + c.name
	switch {
	case listener == "metrics": // the metrics port requires no key
		if a.status == http.StatusOK && !strings.Contains(a.body, "trident_") {
			t.Errorf("%s: %s", what, a)
		}
	case !c.admitted && !a.denied() && !a.redirected() && !open && (x.record.Access != auth.Open || !a.refusedMethod()):
		t.Errorf("%s: %s", what, a)
	case c.admitted && a.denied():
		t.Errorf("%s: %s", what, a)
	case c.key == "sk-some" && strings.Contains(a.body, canary):
		t.Errorf("%s shows another model: %s", what, a)
	case x.exact && listener == "shared":
		checkExact(t, x, c, a)
	}
}

// traceSetting needs an operator if its message names no model, as in this test.
const traceSetting = "/inference.GRPCInferenceService/TraceSetting"

// checkCalls makes the checks of TestMatrix on the gRPC port, over a connection.
func checkCalls(t *testing.T, target *matrixTarget, requests []matrixRequest, c caller) (asked int64) {
	t.Helper()
	conn := dial(t, target.native)
	ctx := t.Context()
	if c.key != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.key)
	}
	for i := range requests {
		x := &requests[i]
		if x.record.API != auth.Procedure || x.alter != nil || !x.first && !x.exact || !strings.HasPrefix(x.request.RequestURI, "/") {
			continue
		}
		asked++
		var answer emptypb.Empty
		err := conn.Invoke(ctx, x.request.RequestURI, &emptypb.Empty{}, &answer)
		code := grpcstatus.Code(err)
		operator := x.record.Access == auth.Operator && c.key == "sk-some"
		what := "gRPC: " + x.record.Name + " " + x.name + " " + c.name
		switch {
		case !c.admitted && code != codes.Unauthenticated && (code != codes.ResourceExhausted || !strings.Contains(err.Error(), manyFailures)) && code != codes.Unimplemented && (x.record.Access != auth.Open || !x.exact):
			t.Errorf("%s: %v", what, err)
		case c.admitted && code == codes.Unauthenticated, x.exact && x.record.Name != traceSetting && code != codes.Unimplemented && operator != (code == codes.PermissionDenied):
			t.Errorf("%s: %v", what, err)
		case c.key == "sk-some" && strings.Contains(fmt.Sprint(err)+string(answer.ProtoReflect().GetUnknown()), canary):
			t.Errorf("%s shows another model: %v", what, err)
		}
	}
	return asked
}

// TestMatrixOfGroups checks a server on which all groups of APIs are restricted to requests with a
// header. A request without that header is only served if its response is the same on all servers.
func TestMatrixOfGroups(t *testing.T) {
	target := startMatrix(t, "--openai-restricted-api", "inference,embedding,model-repository,metrics,health", "admin-key", "one", "--allowed-host=other.example")
	requests := matrixRequests(t)
	free := map[string]map[string]bool{}
	for name, h := range target.listeners {
		free[name] = openResponses(h, requests, func(r *auth.Record) bool { return r.Group == auth.Free })
	}
	eachListener(t, target, requests, func(listener string, h http.Handler, x *matrixRequest) {
		a := x.ask(h)
		if listener != "metrics" && !a.denied() && !a.redirected() && !free[listener][fmt.Sprint(a.status, a.body)] && (x.record.Group != auth.Free || !a.refusedMethod()) && !a.ofPlatform() {
			t.Errorf("%s: %s %s: %s", listener, x.record.Name, x.name, a)
		}
		if a := x.ask(h, "admin-key", "one"); a.denied() {
			t.Errorf("%s: %s %s with the header: %s", listener, x.record.Name, x.name, a)
		}
	})
	checkCalls(t, target, requests, caller{name: "without the header"})
}

// ofPlatform reports whether a platform's port refused the path of a redirect. The group of
// APIs isn't known at that point.
func (a matrixAnswer) ofPlatform() bool {
	return a.status == http.StatusBadRequest && strings.Contains(a.body, "names a path that isn't served") ||
		a.status == http.StatusForbidden && strings.Contains(a.body, "names an operation that changes the server")
}

// TestMatrixOfHosts checks that a loopback server without API keys refuses every request whose Host
// header has another host name, in every spelling of the path.
func TestMatrixOfHosts(t *testing.T) {
	target := startMatrix(t)
	requests := slices.DeleteFunc(matrixRequests(t), func(x matrixRequest) bool {
		return !x.first || x.request.URL.Host != "" || strings.Contains(x.name, "authority")
	})
	for i := range requests {
		requests[i].request.Host = "other.example:9000"
	}
	eachListener(t, target, requests, func(listener string, h http.Handler, x *matrixRequest) {
		if a := x.ask(h); a.status != http.StatusMisdirectedRequest && !a.forbidden() {
			t.Errorf("%s: %s %s: %s", listener, x.record.Name, x.name, a)
		}
	})
	if n := len(target.engine.Requests()); n > 0 {
		t.Errorf("%d requests reached a model", n)
	}
}

// keyLines returns the header lines with a client's key.
func keyLines(c caller) []string {
	if c.key == "" {
		return nil
	}
	return []string{"Authorization", "Bearer " + c.key}
}

// refusedMethod reports whether the route rejected the method, the content type or the body.
func (a matrixAnswer) refusedMethod() bool {
	return a.status == http.StatusMethodNotAllowed || a.status == http.StatusUnsupportedMediaType || a.status == http.StatusBadRequest
}

// checkExact checks a request in the route's own spelling against the route's record.
func checkExact(t *testing.T, x *matrixRequest, c caller, a matrixAnswer) {
	t.Helper()
	operator := x.record.Access == auth.Operator && c.key == "sk-some"
	switch {
	case !c.admitted && a.denied() == (x.record.Access == auth.Open):
		t.Errorf("%s %s: %s", x.record.Name, c.name, a)
	case c.admitted && a.forbidden() != operator:
		t.Errorf("%s %s: %s", x.record.Name, c.name, a)
	case c.key == "sk-all" && (a.status == http.StatusMethodNotAllowed || strings.Contains(a.body, "unknown_url") || a.body == `{"error":"Not Found"}`):
		t.Errorf("%s isn't served: %s", x.record.Name, a)
	}
}

// FuzzSpellings sends arbitrary targets without a key to the shared port. The response must
// be a refusal, a redirect to another spelling, or the public response of an open route.
func FuzzSpellings(f *testing.F) {
	target := startMatrix(f, "--api-key=sk-all")
	requests := matrixRequests(f)
	open := openResponses(target.listeners["shared"], requests, func(r *auth.Record) bool { return r.Access == auth.Open })
	for i := range requests {
		if x := &requests[i]; x.first && x.alter == nil {
			f.Add(x.request.Method, x.request.RequestURI)
		}
	}
	f.Fuzz(func(t *testing.T, method, raw string) {
		u, err := url.ParseRequestURI(raw)
		if err != nil || method == "" || strings.ContainsFunc(method, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return
		}
		x := &matrixRequest{record: auth.Unmatched(auth.OpenAI), request: http.Request{Method: method, URL: u, RequestURI: raw, Host: "localhost", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}}
		a := x.ask(target.listeners["shared"])
		if !a.denied() && !a.redirected() && !a.refusedMethod() && !open[fmt.Sprint(a.status, a.body)] && !strings.HasPrefix(a.header.Get("Content-Type"), "image/") && a.status != http.StatusNoContent {
			t.Errorf("%s %q: %s", method, raw, a)
		}
		if n := len(target.engine.Requests()); n > 0 {
			t.Fatalf("%s %q reached a model", method, raw)
		}
	})
}
