package server

import (
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/trident-inference/trident/test/logbuffer"
)

// profile serves profiles on a free port until the test ends.
func profile(t *testing.T, address string) (p *Profiler, log *logbuffer.Buffer) {
	t.Helper()
	log = &logbuffer.Buffer{}
	p = NewProfiler(Config{ProfileAddress: address}, slog.New(slog.NewTextHandler(log, nil)))
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := p.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if log.String() != "" {
		t.Errorf("the start of the profiler logs %s", log)
	}
	p.Report()
	return p, log
}

func TestProfiles(t *testing.T) {
	_, log := profile(t, "127.0.0.1:0")
	_, url, _ := strings.Cut(strings.TrimSpace(log.String()), "url=")
	tests := []struct {
		name, path string
		status     int
		want       string
	}{
		{"the list", "", http.StatusOK, "goroutine"},
		{"goroutines", "goroutine?debug=1", http.StatusOK, "server.TestProfiles"},
		{"heap", "heap?debug=1", http.StatusOK, "heap profile:"},
		{"a trace", "trace?seconds=0.01", http.StatusOK, "go 1."},
		{"symbols", "symbol", http.StatusOK, "num_symbols"},
		{"the command line is secret", "cmdline", http.StatusNotFound, "Unknown profile"},
		{"nothing else", "../vars", http.StatusNotFound, "404"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := send(t, http.MethodGet, url+tt.path, nil, nil)
			if resp.StatusCode != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("%d %.200s", resp.StatusCode, body)
			}
		})
	}
}

func TestProfileCPU(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second, the shortest CPU profile")
	}
	_, log := profile(t, "127.0.0.1:0")
	_, url, _ := strings.Cut(strings.TrimSpace(log.String()), "url=")
	resp, body := send(t, http.MethodGet, url+"profile?seconds=1", nil, nil)
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(body, "\x1f\x8b") {
		t.Errorf("%d %.200q", resp.StatusCode, body)
	}
}

// TestProfilesOnlyOnTheirPort tests that the port for clients never serves profiles,
// and that no port does without an address.
func TestProfilesOnlyOnTheirPort(t *testing.T) {
	cfg := Default()
	cfg.ProfileAddress = "127.0.0.1:0"
	url, _, _ := start(t, cfg, noWork{}, http.NotFound)
	if resp, body := send(t, http.MethodGet, url+"/debug/pprof/", nil, nil); resp.StatusCode != http.StatusNotFound {
		t.Errorf("%d %.200s", resp.StatusCode, body)
	}
	if _, log := profile(t, ""); log.String() != "" {
		t.Errorf("without an address: %s", log)
	}
}

func TestProfileAddress(t *testing.T) {
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := NewProfiler(Config{ProfileAddress: l.Addr().String()}, slog.New(slog.DiscardHandler))
	if err := p.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "in use: stop the other program or choose another address with server.ProfileAddress") {
		t.Errorf("a busy port: %v", err)
	}
	for address, valid := range map[string]bool{
		"": true, "localhost:6060": true, ":6060": true, "[::1]:0": true,
		"6060": false, "localhost": false, "localhost:": false, "localhost:70000": false, "::1:x": false,
	} {
		cfg := Default()
		cfg.ProfileAddress = address
		if err := cfg.Validate(); (err == nil) != valid {
			t.Errorf("%q: %v", address, err)
		}
	}
}
