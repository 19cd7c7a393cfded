package server

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/auth"
)

// withHostCheck returns a handler that responds with 200 to requests that the host check of a port
// admits.
func withHostCheck(tb testing.TB, cfg Config, certificates *Certificates, gate *auth.Gate) http.Handler {
	tb.Helper()
	fine := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	routes := []Route{{Pattern: "/", Handler: fine, Record: auth.Unmatched(auth.OpenAI)}, {Pattern: "/v2/", Handler: fine, Record: auth.Unmatched(auth.REST)}}
	for _, record := range auth.Records() {
		routes = append(routes, recordedRoute(record, fine))
	}
	s, err := New(Common{Config: cfg, Certificates: certificates, Gate: gate, Core: noWork{}, Log: slog.New(slog.DiscardHandler)}, NewListener(cfg), routes)
	if err != nil {
		tb.Fatal(err)
	}
	return s.http.Handler
}

// askAs sends a request with the given Host header.
func askAs(h http.Handler, host, method, path, kind string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, http.NoBody)
	r.Host = host
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// TestHosts tests that on a loopback port without keys a request must have an address in Host,
// or a name that foreign DNS can't define.
func TestHosts(t *testing.T) {
	own, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	cfg := Default()
	cfg.AllowedHosts = []string{"Models.example.com"}
	served := []string{
		"", "127.0.0.1", "127.0.0.1:9000", "127.8.8.8", "[::1]", "[::1]:9000", "10.1.2.3:80", "192.0.2.1", "[fe80::1]:9000", "localhost", "localhost:9000", "LocalHost.",
		"app.localhost:9000", "a.b.localhost", own, strings.ToUpper(own) + ":9000", "host.docker.internal:9000", "host.containers.internal", "models.example.com", "MODELS.example.com:443",
	}
	refused := []string{
		"evil.example", "evil.example:9000", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1.nip.io:9000", "xlocalhost", "localhost:9000:1", "evil@127.0.0.1", "127.0.0.1@evil.example",
		"example.com", "other.models.example.com", "models.example.com.evil.example", "0x7f000001", "2130706433", "127.1", "[evil.example]", "host.docker.internal.evil.example", " ", "::ffff:evil",
	}
	for _, host := range []string{"127.0.0.1", "localhost", "::1", "127.1.2.3"} {
		cfg.Host = host
		h := withHostCheck(t, cfg, nil, nil)
		for _, name := range served {
			if w := askAs(h, name, http.MethodGet, "/v1/models", ""); w.Code != http.StatusOK {
				t.Errorf("%s as %q: %d %s", host, name, w.Code, w.Body)
			}
		}
		for _, name := range refused {
			w := askAs(h, name, http.MethodGet, "/v1/models", "")
			if w.Code != http.StatusMisdirectedRequest || !strings.Contains(w.Body.String(), "server.AllowedHosts") || strings.Contains(w.Body.String(), "evil") {
				t.Errorf("%s as %q: %d %s", host, name, w.Code, w.Body)
			}
		}
	}
	for _, host := range []string{"0.0.0.0", "", "::", "192.0.2.1", "trident.example"} {
		cfg.Host = host
		if w := askAs(withHostCheck(t, cfg, nil, nil), "evil.example", http.MethodGet, "/v1/models", ""); w.Code != http.StatusOK {
			t.Errorf("%s, which other machines reach: %d", host, w.Code)
		}
	}
}

// TestHostsOfKeyedServers tests that every Host is served as soon as clients need keys or
// certificates.
func TestHostsOfKeyedServers(t *testing.T) {
	cfg := Default()
	cfg.Host = "127.0.0.1"
	gate, _ := newGate(t, auth.Config{})
	h := withHostCheck(t, cfg, nil, gate)
	if w := askAs(h, "evil.example", http.MethodGet, "/health/live", ""); w.Code != http.StatusMisdirectedRequest {
		t.Errorf("without keys: %d", w.Code)
	}
	var section auth.KeySection
	if err := section.Add(auth.KeyEntry{Name: "a", Key: []string{"k"}}); err != nil {
		t.Fatal(err)
	}
	apply, err := gate.Prepare(section)
	if err != nil {
		t.Fatal(err)
	}
	apply()
	if w := askAs(h, "evil.example", http.MethodGet, "/health/live", ""); w.Code != http.StatusOK {
		t.Errorf("with keys: %d", w.Code)
	}
	certified := &Certificates{files: TLS{CertFile: "a", ClientCAFile: "b"}}
	if w := askAs(withHostCheck(t, cfg, certified, nil), "evil.example", http.MethodGet, "/v1/models", ""); w.Code != http.StatusOK {
		t.Errorf("with clients' certificates: %d", w.Code)
	}
	certified.files.ClientCAFile = ""
	if w := askAs(withHostCheck(t, cfg, certified, nil), "evil.example", http.MethodGet, "/v1/models", ""); w.Code != http.StatusMisdirectedRequest {
		t.Errorf("with a certificate of its own alone: %d", w.Code)
	}
}

// TestMisdirected checks that a request with a refused Host header receives an error in the form of
// the API to which its path belongs.
func TestMisdirected(t *testing.T) {
	cfg := Default()
	cfg.Host = "127.0.0.1"
	gate, err := auth.New(auth.Config{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	h := withHostCheck(t, cfg, nil, gate)
	for _, test := range []struct {
		path, kind string
		status     int
		want       string // part of the body, or value of the header Grpc-Status
	}{
		{"/v1/chat/completions", "application/json", 421, `"type":"invalid_request_error","param":null,"code":"host_not_allowed"}}`},
		{"/nothing", "", 421, `"code":"host_not_allowed"}}`},
		{"/v2/models/m/infer", "application/json", 421, `{"error":"this server doesn't serve the host`},
		{"/trident.v1.ChatService/Chat", "application/json", 421, `{"code":"permission_denied","message":"this server doesn't serve the host`},
		{"/trident.v1.ChatService/Chat", "application/proto", 421, `{"code":"permission_denied","message":"this server doesn't serve the host`},
		{"/trident.v1.ChatService/ChatStream", "application/connect+json", 200, `"code":"permission_denied"`},
		{"/trident.v1.ChatService/Chat", "application/grpc-web+proto", 200, "7"},
		{"/inference.GRPCInferenceService/ModelInfer", "application/grpc", 200, "7"},
	} {
		w := askAs(h, "evil.example", http.MethodPost, test.path, test.kind)
		response := w.Body.String() + w.Header().Get("Grpc-Status") + w.Header().Get(http.TrailerPrefix+"Grpc-Status")
		if w.Code != test.status || !strings.Contains(response, test.want) {
			t.Errorf("%s %s: %d %s %v", test.path, test.kind, w.Code, w.Body, w.Header())
		}
	}
	r := httptest.NewRequest(http.MethodOptions, "/v1/chat/completions", http.NoBody)
	r.Host = "evil.example"
	r.Header.Set("Origin", "http://localhost:3000")
	r.Header.Set("Access-Control-Request-Method", "POST")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusMisdirectedRequest || w.Header().Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a preflight: %d %v", w.Code, w.Header())
	}
}

// TestHostsOnTheWire tests that the request's target takes precedence over its header, and
// that HTTP/1.0 may have neither.
func TestHostsOnTheWire(t *testing.T) {
	url, log, _ := start(t, Default(), noWork{}, func(http.ResponseWriter, *http.Request) {})
	address := strings.TrimPrefix(url, "http://")
	for request, want := range map[string]int{
		"GET /v1/models HTTP/1.1\r\nHost: evil.example\r\n":                                421,
		"GET /v1/models HTTP/1.1\r\nHost: " + address + "\r\n":                             200,
		"GET http://evil.example/v1/models HTTP/1.1\r\nHost: " + address + "\r\n":          421,
		"GET http://" + address + "/v1/models HTTP/1.1\r\nHost: evil.example\r\n":          200,
		"GET /v1/models HTTP/1.0\r\n":                                                      200,
		"GET /v1/models HTTP/1.0\r\nHost: evil.example\r\n":                                421,
		"GET /v1/models HTTP/1.1\r\n":                                                      400,
		"GET /v1/models HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n":             400,
		"GET /v1/models HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost\r\n": 421,
	} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, request+"Connection: close\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		_ = conn.Close()
		if resp.StatusCode != want {
			t.Errorf("%q: %d, want %d", request, resp.StatusCode, want)
		}
	}
	if !strings.Contains(log.String(), "status=421") || !strings.Contains(log.String(), "server.AllowedHosts") {
		t.Errorf("the log says nothing of it: %s", log)
	}
}

// TestProfilesHosts tests that the profiler accepts only names of this machine, since profiles
// need no key.
func TestProfilesHosts(t *testing.T) {
	cfg := Default()
	cfg.ProfileAddress = "localhost:6060"
	p := NewProfiler(cfg, slog.New(slog.DiscardHandler))
	if w := askAs(p.http.Handler, "evil.example", http.MethodGet, "/debug/pprof/", ""); w.Code != http.StatusMisdirectedRequest ||
		!strings.Contains(w.Body.String(), "server.AllowedHosts=NAME, or use the IP address of the port in the request") { // keys would change nothing
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := askAs(p.http.Handler, "localhost:6060", http.MethodGet, "/debug/pprof/", ""); w.Code != http.StatusOK {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestAllowedHosts(t *testing.T) {
	for name, fine := range map[string]bool{
		"models.example.com": true, "trident": true, "xn--bcher-kva.example": true, "": false, "https://models.example.com": false, "models.example.com:443": false,
		"*.example.com": false, "a b": false, "a/b": false, "*": false, "bücher.example": false,
	} {
		cfg := Default()
		cfg.AllowedHosts = []string{name}
		if err := cfg.Validate(); (err == nil) != fine || err != nil && !strings.Contains(err.Error(), "server.AllowedHosts") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
