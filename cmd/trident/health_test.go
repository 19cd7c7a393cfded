package main

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/server/servertest"
)

func TestHealth(t *testing.T) {
	ready := false
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health/live", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /health/ready", func(w http.ResponseWriter, _ *http.Request) {
		if !ready {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"error":{"message":"no inference server is known","code":"engine_unavailable"}}`))
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	f := readLine(t, "--host=0.0.0.0", "--openai-port="+port)
	for _, probe := range []string{"live", "ready", "startup"} {
		err := healthCommand{Probe: probe, connection: connection{Timeout: time.Minute, Address: strings.TrimPrefix(server.URL, "http://")}}.Run(f)
		if (err == nil) != (probe == "live") || err != nil && err.Error() != "the "+probe+" probe failed: 503 Service Unavailable: no inference server is known" {
			t.Errorf("%s: %v", probe, err)
		}
	}
	ready = true
	for _, probe := range []string{"live", "ready", "startup"} {
		if err := (healthCommand{Probe: probe, connection: connection{Timeout: time.Minute}}).Run(readLine(t, "--host=127.0.0.1", "--openai-port="+port)); err != nil {
			t.Errorf("%s: %v", probe, err)
		}
	}
	server.Close()
	if err := (healthCommand{Probe: "live", connection: connection{Timeout: time.Second}}).Run(readLine(t, "--host=127.0.0.1", "--openai-port="+port)); err == nil || !strings.Contains(err.Error(), "live probe failed: ") {
		t.Errorf("a probe of a closed port: %v", err)
	}
}

// TestHealthByTLS checks that the certificate of --tls-cert is accepted by itself,
// and other certificates with --ca.
func TestHealthByTLS(t *testing.T) {
	authority := servertest.NewAuthority(t)
	own, other := authority.Issue(t, "trident.example"), authority.Issue(t, "other.example")
	folder := t.TempDir()
	file := func(name string, data []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ownFile, otherFile, ca := file("own.pem", append(own.Key, own.Certificate...)), file("other.pem", append(other.Certificate, other.Key...)), file("ca.pem", authority.PEM())
	pair, err := tls.X509KeyPair(own.Certificate, own.Key)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	here := []string{"--host=127.0.0.1", "--openai-port=" + port}
	for _, test := range []struct {
		name    string
		args    []string
		command healthCommand
		err     string
	}{
		{"its own certificate", append(here, "--tls-cert="+ownFile), healthCommand{connection: connection{Cert: otherFile}}, ""},
		{"another one", append(here, "--tls-cert="+otherFile), healthCommand{connection: connection{Cert: otherFile}}, "isn't the one of --tls-cert"},
		{"an authority", nil, healthCommand{connection: connection{Address: server.URL, CA: ca, Cert: otherFile}}, ""},
		{"an unknown authority", nil, healthCommand{connection: connection{Address: server.URL, Cert: otherFile}}, "certificate signed by unknown authority"},
		{"no client's certificate", append(here, "--tls-cert="+ownFile), healthCommand{}, "certificate required"},
		{"no certificate in the file", nil, healthCommand{connection: connection{CA: file("empty", nil)}}, "--ca: "},
		{"a file that isn't there", append(here, "--tls-cert=/no/such"), healthCommand{}, "--tls-cert: open /no/such"},
		{"a certificate without a key", here, healthCommand{connection: connection{Cert: ca}}, "--cert, --key: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.command.Probe, test.command.Timeout = "ready", time.Minute
			err := test.command.Run(readLine(t, test.args...))
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %v, want %q", err, test.err)
			}
		})
	}
}
