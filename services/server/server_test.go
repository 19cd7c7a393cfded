package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/test/logbuffer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noWork is a core that has nothing in flight and admits everything.
type noWork struct{}

func (noWork) Drain(context.Context) {}

func (noWork) Arrive(context.Context) *admission.Arrival { return nil }

// wallClock is a clock that tests can set. It keeps running.
type wallClock struct{ ahead atomic.Int64 }

func (w *wallClock) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// set sets the clock to the real time plus ahead; a negative value sets it back.
func (w *wallClock) set(ahead time.Duration) { w.ahead.Store(int64(ahead)) }

// catchAllRoutes returns routes that serve probes and all paths without a route by the
// handler.
func catchAllRoutes(handler http.Handler) []Route {
	return []Route{
		{Pattern: "/", Handler: handler, Record: auth.Unmatched(auth.OpenAI)}, {Pattern: "GET /health/live", Handler: handler}, {Pattern: "GET /health/ready", Handler: handler},
	}
}

// start serves a handler on a free port until the test ends.
func start(t *testing.T, cfg Config, core Core, handler http.HandlerFunc) (url string, log *logbuffer.Buffer, stop func() error) {
	t.Helper()
	cfg.Host, cfg.Port = "127.0.0.1", 0
	log = &logbuffer.Buffer{}
	l := NewListener(cfg)
	if err := l.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := New(Common{Config: cfg, Core: core, Abort: func(err error) { t.Error(err) }, Log: slog.New(slog.NewTextHandler(log, nil))}, l, catchAllRoutes(handler))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceValue(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return errors.Join(s.Stop(ctx), l.Stop(ctx))
	})
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String(), log, stop
}

func send(t *testing.T, method, url string, body io.Reader, header map[string]string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range header {
		req.Header.Set(key, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

// open starts a request and returns its response. The test's cleanup closes the
// body.
func open(t *testing.T, url string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func TestRequestIDAndLogLine(t *testing.T) {
	url, log, stop := start(t, Default(), noWork{}, func(_ http.ResponseWriter, r *http.Request) {
		rec := RecordOf(r.Context())
		rec.Model, rec.PromptTokens, rec.CompletionTokens, rec.FirstToken, rec.MalformedCalls = "m", 3, 4, time.Now(), 2
	})
	tests := []struct {
		name, id string
		kept     bool
	}{
		{"the client's", "abc-1", true},
		{"made here", "", false},
		{"too long", strings.Repeat("x", 200), false},
		{"not ASCII", "id\xff", false},
	}
	for _, tt := range tests {
		resp, _ := send(t, http.MethodPost, url+"/x", nil, map[string]string{"X-Request-Id": tt.id})
		got := resp.Header.Get("X-Request-Id")
		if kept := got == tt.id; kept != tt.kept || got == "" {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	line := `level=INFO msg=request method=POST path=/x status=200 request_id=abc-1 duration=`
	if !strings.Contains(log.String(), line) || !strings.Contains(log.String(), "model=m prompt_tokens=3 completion_tokens=4 first_token=") || !strings.Contains(log.String(), " malformed_calls=2\n") {
		t.Errorf("log:\n%s", log)
	}
	if n := strings.Count(log.String(), "msg=request"); n != len(tests) {
		t.Errorf("%d lines for %d requests", n, len(tests))
	}
}

// TestLogLevels tests that failures of the server are logged as errors, also if
// the status was sent before.
func TestLogLevels(t *testing.T) {
	tests := []struct {
		name   string
		status int
		err    error
		want   string
	}{
		{"served", 200, nil, "INFO"},
		{"the client's fault", 400, &inference.Error{Code: inference.CodeInvalid}, "INFO"},
		{"the client left", 200, &inference.Error{Code: inference.CodeCanceled}, "INFO"},
		{"Triton went away in a stream", 200, &inference.Error{Code: inference.CodeUnavailable}, "ERROR"},
		{"refused as the server is overloaded", 503, &inference.Error{Code: inference.CodeOverloaded}, "WARN"},
		{"refused as the server stops", 503, &inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonShuttingDown}, "WARN"},
		{"refused as the model is loading", 503, &inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady}, "WARN"},
		{"Triton is gone", 503, &inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonEngineGone}, "ERROR"},
		{"refused by the client's limits", 429, &inference.Error{Code: inference.CodeLimited}, "INFO"},
		{"without a key", 401, &inference.Error{Code: inference.CodeUnauthenticated}, "INFO"},
		{"the model broke in a stream", 200, &inference.Error{Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady}, "WARN"},
		{"a defect", 500, errors.New("oops"), "ERROR"},
		{"a body that is too large", 413, &http.MaxBytesError{}, "INFO"},
		{"an unknown path", 404, errors.New("this path is not served"), "INFO"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url, log, stop := start(t, Default(), noWork{}, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(tt.status)
				RecordOf(r.Context()).Error = tt.err
			})
			send(t, http.MethodPost, url, nil, nil)
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(log.String(), "level="+tt.want+" msg=request") {
				t.Errorf("log:\n%s", log)
			}
		})
	}
}

func TestPanicIsA500AndOneLine(t *testing.T) {
	url, log, stop := start(t, Default(), noWork{}, func(http.ResponseWriter, *http.Request) { panic("broken") })
	resp, body := send(t, http.MethodGet, url, nil, nil)
	if resp.StatusCode != http.StatusInternalServerError || resp.Header.Get("X-Request-Id") == "" || strings.Contains(body, "broken") ||
		!strings.Contains(body, `"type":"server_error","param":null,"code":null`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if strings.Count(log.String(), "msg=panic") != 1 || !strings.Contains(log.String(), "status=500") {
		t.Errorf("log:\n%s", log)
	}
}

// TestPanicInAnAnswerClosesTheConnection checks that the server closes the connection if a handler
// panics within a response, so that the truncated response can't look complete.
func TestPanicInAnAnswerClosesTheConnection(t *testing.T) {
	url, _, _ := start(t, Default(), noWork{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic("broken")
	})
	resp := open(t, url)
	if body, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("the client took %q for a whole answer", body)
	}
}

// TestIdleResponsesStayOpen tests that the write timeout doesn't limit how long a
// model may be idle, on both protocols.
func TestIdleResponsesStayOpen(t *testing.T) {
	t.Parallel()
	cfg := Default()
	cfg.WriteTimeout = 500 * time.Millisecond
	url, _, _ := start(t, cfg, noWork{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for range 2 {
			select {
			case <-time.After(2 * cfg.WriteTimeout):
			case <-r.Context().Done():
				return
			}
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
		}
	})
	for _, h2 := range []bool{false, true} {
		transport := &http.Transport{Protocols: new(http.Protocols)}
		transport.Protocols.SetHTTP1(!h2)
		transport.Protocols.SetUnencryptedHTTP2(h2)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			t.Fatalf("HTTP/2 %v: %v", h2, err)
		}
		if body, err := io.ReadAll(resp.Body); string(body) != "xx" || err != nil || resp.ProtoMajor == 2 != h2 {
			t.Errorf("HTTP/2 %v: %s, %q, %v", h2, resp.Proto, body, err)
		}
		_ = resp.Body.Close()
		transport.CloseIdleConnections()
	}
}

// TestPausedBody tests that a client that stops within its body gets a response,
// whether or not the handler reads the body. Its connection is closed.
func TestPausedBody(t *testing.T) {
	for _, reads := range []bool{true, false} {
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var err error
			if reads {
				_, err = io.Copy(io.Discard, r.Body)
			}
			w.WriteHeader(http.StatusTeapot)
			_, _ = fmt.Fprint(w, errors.Is(err, os.ErrDeadlineExceeded))
		})
		server := httptest.NewServer(limitBody(Config{MaxBody: 1000}, 100*time.Millisecond, handler))
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn) // this ends when the server closes the connection
		if !strings.HasPrefix(string(answer), "HTTP/1.1 418") || !strings.Contains(string(answer), fmt.Sprint(reads)) {
			t.Errorf("handler reads %v: %q, %v", reads, answer, err)
		}
		_ = conn.Close()
		server.Close()
	}
}

func TestBodyLimit(t *testing.T) {
	cfg := Default()
	cfg.MaxBody = 1000
	url, _, _ := start(t, cfg, noWork{}, func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		_, _ = fmt.Fprint(w, n, " ", err)
	})
	tests := []struct {
		name, want string
		size       int
		chunked    bool
	}{
		{"at the limit", "1000 <nil>", 1000, false},
		{"above", "0 http: request body too large", 1001, false},
		{"above, chunked", "1000 http: request body too large", 1001, true},
		{"far above, chunked", "1000 http: request body too large", 20 << 20, true},
		{"far above: the client still gets its answer", "0 http: request body too large", 20 << 20, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var body io.Reader = strings.NewReader(strings.Repeat("x", tt.size))
			if tt.chunked {
				body = io.MultiReader(body) // hides the length
			}
			if _, got := send(t, http.MethodPost, url, body, nil); got != tt.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestCrossOrigin(t *testing.T) {
	ok := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "served") }
	tests := []struct {
		name    string
		allowed []string
		origin  string
		served  bool
		shown   string // Access-Control-Allow-Origin
	}{
		{"no browser", nil, "", true, ""},
		{"a page of this host", nil, "http://localhost:3000", true, "http://localhost:3000"},
		{"by address", nil, "http://[::1]:8080", true, "http://[::1]:8080"},
		{"elsewhere", nil, "https://evil.example", false, ""},
		{"a name that only looks local", nil, "http://localhost.evil.example", false, ""},
		{"allowed", []string{"https://app.example"}, "https://app.example", true, "https://app.example"},
		{"all", []string{"*"}, "https://any.example", true, "*"},
		{"a file", nil, "null", false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := Default()
			cfg.CORSOrigins = tt.allowed
			url, _, _ := start(t, cfg, noWork{}, ok)
			header := map[string]string{}
			if tt.origin != "" {
				header["Origin"] = tt.origin
			}
			resp, body := send(t, http.MethodPost, url, nil, header)
			if served := body == "served"; served != tt.served || (resp.StatusCode == http.StatusForbidden) == tt.served {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
			if got := resp.Header.Get("Access-Control-Allow-Origin"); got != tt.shown {
				t.Errorf("Access-Control-Allow-Origin %q", got)
			}
			preflight := map[string]string{"Origin": tt.origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-stainless-os"}
			resp, _ = send(t, http.MethodOptions, url, nil, preflight)
			if got := resp.Header.Get("Access-Control-Allow-Origin"); tt.origin != "" && got != tt.shown {
				t.Errorf("preflight: Access-Control-Allow-Origin %q", got)
			}
		})
	}
}

// blocking is a core whose work ends with the grace period.
type blocking struct {
	noWork

	release chan struct{}
}

func (b blocking) Drain(ctx context.Context) { <-ctx.Done(); close(b.release) }

func TestStopGracePeriod(t *testing.T) {
	cfg := Default()
	cfg.ShutdownTimeout = 50 * time.Millisecond
	work := blocking{release: make(chan struct{})}
	entered := make(chan struct{})
	url, _, stop := start(t, cfg, work, func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-work.release
		_, _ = io.WriteString(w, "cancelled with an answer")
	})
	answer := make(chan string)
	go func() {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, http.NoBody)
		if err != nil {
			answer <- err.Error()
			return
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		answer <- string(text)
	}()
	<-entered
	if err := stop(); err != nil {
		t.Error(err)
	}
	if got := <-answer; got != "cancelled with an answer" {
		t.Errorf("got %q", got)
	}
}

// TestSlowClientEndsTheAnswer tests that a response is aborted after the write
// timeout if its client reads nothing. A client that reads slowly isn't
// affected.
func TestSlowClientEndsTheAnswer(t *testing.T) {
	t.Parallel()
	cfg := Default()
	cfg.WriteTimeout = time.Second
	ended := make(chan error)
	url, _, _ := start(t, cfg, noWork{}, func(w http.ResponseWriter, _ *http.Request) {
		block := make([]byte, 8<<20)
		for {
			if _, err := w.Write(block); err != nil {
				ended <- err
				return
			}
		}
	})
	resp := open(t, url)
	pace := time.NewTicker(20 * time.Millisecond)
	defer pace.Stop()
	for began := time.Now(); time.Since(began) < 2*cfg.WriteTimeout; {
		select {
		case <-pace.C:
			if _, err := io.CopyN(io.Discard, resp.Body, 256<<10); err != nil {
				t.Fatal(err)
			}
		case err := <-ended:
			t.Fatalf("a client that reads was let go: %v", err)
		}
	}
	if err := <-ended; !errors.Is(err, os.ErrDeadlineExceeded) { // the test times out if no write fails
		t.Errorf("ended by %v", err)
	}
}

// TestStopIsBounded tests that a canceled request that waits for a client that
// reads nothing doesn't delay the stop.
func TestStopIsBounded(t *testing.T) {
	cfg := Default()
	cfg.ShutdownTimeout, cfg.WriteTimeout = 50*time.Millisecond, time.Hour
	handlers := &waiting{}
	writing := make(chan struct{})
	url, _, stop := start(t, cfg, handlers, func(w http.ResponseWriter, _ *http.Request) {
		handlers.Add(1)
		defer handlers.Done()
		close(writing)
		for block := make([]byte, 1<<20); ; {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	open(t, url)
	<-writing
	if err := stop(); err != nil { // stop must succeed within 10 s; otherwise it returns the context's error
		t.Error(err)
	}
}

// waiting is a core that waits for its handlers without a limit.
type waiting struct {
	noWork
	sync.WaitGroup
}

func (w *waiting) Drain(context.Context) { w.Wait() }

func TestBusyPort(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	cfg := Default()
	cfg.Host, cfg.Port = "127.0.0.1", l.Addr().(*net.TCPAddr).Port
	err = NewListener(cfg).Start(t.Context())
	if err == nil || !strings.Contains(err.Error(), "is in use") || !strings.Contains(err.Error(), "server.Port") {
		t.Errorf("got %v", err)
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"server.Port":             func(c *Config) { c.Port = 70000 },
		"server.MaxBody":          func(c *Config) { c.MaxBody = 0 },
		"server.ShutdownTimeout":  func(c *Config) { c.ShutdownTimeout = -1 },
		"\"https://a.example/\"":  func(c *Config) { c.CORSOrigins = []string{"https://a.example/"} },
		"server.WriteTimeout":     func(c *Config) { c.WriteTimeout = 0 },
		"server.CORSOrigins":      func(c *Config) { c.CORSOrigins = []string{"example.com"} },
		"server.TLS.KeyFile":      func(c *Config) { c.TLS.KeyFile = "key" },
		"server.TLS.ClientCAFile": func(c *Config) { c.TLS.ClientCAFile = "ca" },
	} {
		cfg := Default()
		change(&cfg)
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error about %s, got %v", want, err)
		}
	}
}
