package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/server/servertest"
	"github.com/trident-inference/trident/test/logbuffer"
)

// secured is a server with TLS, and the folder of its files cert, key and ca.
type secured struct {
	url, dir string
	log      *logbuffer.Buffer
	clock    wallClock
}

// startSecured serves a handler with TLS until the test ends. If clients isn't nil,
// clients need a certificate of that CA.
func startSecured(t *testing.T, own servertest.Pair, clients *servertest.Authority, handler http.HandlerFunc) *secured {
	t.Helper()
	s := &secured{dir: t.TempDir(), log: &logbuffer.Buffer{}}
	cfg := Default()
	cfg.Host, cfg.Port = "127.0.0.1", 0
	cfg.TLS = TLS{CertFile: servertest.Write(t, s.dir, "cert", own.Certificate), KeyFile: servertest.Write(t, s.dir, "key", own.Key)}
	if clients != nil {
		cfg.TLS.ClientCAFile = servertest.Write(t, s.dir, "ca", clients.PEM())
	}
	log := slog.New(slog.NewTextHandler(s.log, nil))
	certificates, err := newCertificates(cfg.TLS, s.clock.now, log)
	if err != nil {
		t.Fatal(err)
	}
	l := NewListener(cfg)
	if err := l.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.url = l.URL()
	server, err := New(Common{Config: cfg, Certificates: certificates, Core: noWork{}, Abort: func(err error) { t.Error(err) }, Log: log}, l, catchAllRoutes(handler))
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(server.Stop(context.Background()), l.Stop(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return s
}

// client returns a client with its own connections, which the test's cleanup closes.
func client(t *testing.T, config *tls.Config, protocols ...string) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config, Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP1(!slices.Contains(protocols, "h2"))
	transport.Protocols.SetHTTP2(!slices.Contains(protocols, "http/1.1"))
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// get returns the response, its body, and the name in the server's certificate.
func (s *secured) get(t *testing.T, c *http.Client) (answer *http.Response, body, name string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err = c.Do(req)
	if err != nil {
		return nil, "", "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer, string(text), answer.TLS.PeerCertificates[0].Subject.CommonName, err
}

func hello(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "hello by "+r.Proto) }

// TestTLS checks that a port with TLS serves HTTP/1.1 and HTTP/2 as negotiated, and that a client
// without TLS receives an error.
func TestTLS(t *testing.T) {
	authority := servertest.NewAuthority(t)
	s := startSecured(t, authority.Issue(t, "one"), nil, hello)
	if !strings.HasPrefix(s.url, "https://127.0.0.1:") {
		t.Errorf("the address is %s", s.url)
	}
	for _, test := range []struct{ protocol, chosen, want string }{{"h2", "h2", "hello by HTTP/2.0"}, {"http/1.1", "", "hello by HTTP/1.1"}, {"", "h2", "hello by HTTP/2.0"}} {
		answer, body, name, err := s.get(t, client(t, authority.Client(t), test.protocol))
		if err != nil || body != test.want || name != "one" || answer.TLS.NegotiatedProtocol != test.chosen || answer.TLS.Version != tls.VersionTLS13 {
			t.Errorf("%q: %q of %q, %v", test.protocol, body, name, err)
		}
	}
	old := authority.Client(t)
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if _, _, _, err := s.get(t, client(t, old)); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("TLS 1.1: %v", err)
	}
	if _, _, _, err := s.get(t, client(t, servertest.NewAuthority(t).Client(t))); err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Errorf("a client of another authority: %v", err)
	}
	resp, text := send(t, http.MethodGet, strings.Replace(s.url, "https:", "http:", 1), http.NoBody, nil)
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, "HTTP request to an HTTPS server") {
		t.Errorf("without TLS: %d %q", resp.StatusCode, text)
	}
}

// TestMutualTLS checks that a port with TLS.ClientCAFile refuses clients without a certificate of
// this CA.
func TestMutualTLS(t *testing.T) {
	authority, clients := servertest.NewAuthority(t), servertest.NewAuthority(t)
	s := startSecured(t, authority.Issue(t, "one"), clients, hello)
	known := authority.Client(t, clients.Issue(t, "client"))
	known.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	if _, body, _, err := s.get(t, client(t, known)); err != nil || body != "hello by HTTP/2.0" {
		t.Errorf("%q, %v", body, err)
	}
	for name, config := range map[string]*tls.Config{"none": authority.Client(t), "another authority's": authority.Client(t, authority.Issue(t, "client"))} {
		if _, body, _, err := s.get(t, client(t, config)); err == nil {
			t.Errorf("%s: %q, %v", name, body, err)
		}
	}
	// A client of the previous CA is refused, even if it resumes its session.
	servertest.Write(t, s.dir, "ca", authority.PEM())
	if _, body, _, err := s.get(t, client(t, known)); err == nil {
		t.Errorf("a client of the authority before: %q, %v", body, err)
	}
	if _, body, _, err := s.get(t, client(t, authority.Client(t, authority.Issue(t, "client")))); err != nil || body != "hello by HTTP/2.0" {
		t.Errorf("%q, %v", body, err)
	}
}

// TestNewCertificate checks a change of the certificate files while a stream runs. The stream
// continues, new connections get the new certificate, and an invalid certificate changes nothing.
func TestNewCertificate(t *testing.T) {
	authority := servertest.NewAuthority(t)
	more := make(chan string)
	s := startSecured(t, authority.Issue(t, "one"), nil, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/stream" {
			hello(w, r)
			return
		}
		for line := range more {
			_, _ = io.WriteString(w, line+"\n")
			_ = http.NewResponseController(w).Flush()
		}
	})
	for _, protocol := range []string{"h2", "http/1.1"} {
		t.Run(protocol, func(t *testing.T) {
			more = make(chan string)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/stream", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			go func() { more <- "before" }()
			stream, err := client(t, authority.Client(t), protocol).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Body.Close()
			lines := bufio.NewScanner(stream.Body)
			expect := func(want string) {
				if !lines.Scan() || lines.Text() != want {
					t.Fatalf("the stream has %q, want %q: %v", lines.Text(), want, lines.Err())
				}
			}
			expect("before")

			shows := func(want string) {
				if _, _, name, err := s.get(t, client(t, authority.Client(t), protocol)); err != nil || name != want {
					t.Errorf("shown is %q, want %q: %v", name, want, err)
				}
			}
			renewed := authority.Issue(t, "two-"+protocol)
			servertest.Write(t, s.dir, "key", renewed.Key)
			servertest.Write(t, s.dir, "cert", renewed.Certificate)
			shows("two-" + protocol)
			servertest.Write(t, s.dir, "cert", renewed.Certificate[:200]) // the file is half written
			shows("two-" + protocol)
			shows("two-" + protocol)
			another := authority.Issue(t, "three-"+protocol)
			servertest.Write(t, s.dir, "cert", another.Certificate) // the key follows
			shows("two-" + protocol)
			servertest.Write(t, s.dir, "key", another.Key)
			shows("three-" + protocol)

			more <- "after"
			expect("after")
			close(more)
			if lines.Scan() || lines.Err() != nil {
				t.Errorf("the stream ends with %q, %v", lines.Text(), lines.Err())
			}
		})
	}
	for words, want := range map[string]int{"the previous ones stay in use": 4, "names=\"[two-h2 localhost]\"": 1, "private key does not match": 2} {
		if n := strings.Count(s.log.String(), words); n != want {
			t.Errorf("the log has %q %d times, want %d:\n%s", words, n, want, s.log)
		}
	}
	if strings.Contains(s.log.String(), "PRIVATE") {
		t.Errorf("the log shows a key:\n%s", s.log)
	}
}

// TestCertificatesExpire checks what happens when certificates expire while the server runs. Clients
// with an expired certificate are refused, and existing connections continue. The log reports that
// the server's own certificate has expired. All clients are served again once the clock is set back.
func TestCertificatesExpire(t *testing.T) {
	authority, clients := servertest.NewAuthority(t), servertest.NewAuthority(t)
	s := startSecured(t, authority.Issue(t, "one"), clients, hello)
	shown := clients.Issue(t, "client")
	served := func(c *http.Client) error {
		_, body, _, err := s.get(t, c)
		if err == nil && body != "hello by HTTP/2.0" {
			t.Errorf("the answer is %q", body)
		}
		return err
	}
	resumes := authority.Client(t, shown)
	resumes.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	connected := client(t, authority.Client(t, shown))
	if err := errors.Join(served(connected), served(client(t, resumes))); err != nil {
		t.Fatal(err)
	}
	s.clock.set(2 * time.Hour)
	if err := served(connected); err != nil {
		t.Errorf("a connection that there was: %v", err)
	}
	for how, config := range map[string]*tls.Config{"anew": authority.Client(t, shown), "by a session from before": resumes} {
		if err := served(client(t, config)); err == nil {
			t.Errorf("%s, with a certificate that is over, it is served", how)
		}
	}
	if strings.Contains(s.log.String(), "the TLS certificate has expired: replace it") {
		t.Errorf("the log has the expiry before the files are read again: %s", s.log)
	}
	renewed := authority.Issue(t, "two") // valid for an hour from now, which is in the past by the server's clock
	servertest.Write(t, s.dir, "key", renewed.Key)
	servertest.Write(t, s.dir, "cert", renewed.Certificate)
	_ = served(client(t, authority.Client(t, shown)))
	if n := strings.Count(s.log.String(), "level=ERROR msg=\"the TLS certificate has expired: replace it\""); n != 1 {
		t.Errorf("%d times in the log: %s", n, s.log)
	}
	s.clock.set(0)
	if err := errors.Join(served(client(t, authority.Client(t, shown))), served(client(t, resumes))); err != nil {
		t.Errorf("by the right clock: %v", err)
	}
}

// TestOneFile checks that NewCertificates finds the private key in TLS.CertFile if no TLS.KeyFile
// is set.
func TestOneFile(t *testing.T) {
	pair := servertest.NewAuthority(t).Issue(t, "one")
	file := servertest.Write(t, t.TempDir(), "both", slices.Concat(pair.Certificate, pair.Key))
	if _, err := NewCertificates(Config{TLS: TLS{CertFile: file}}, slog.New(slog.DiscardHandler)); err != nil {
		t.Error(err)
	}
}

// TestRefusedCertificates checks that the errors of NewCertificates name the configuration field
// and the file.
func TestRefusedCertificates(t *testing.T) {
	dir := t.TempDir()
	pair := servertest.NewAuthority(t).Issue(t, "one")
	cert, key := servertest.Write(t, dir, "cert", pair.Certificate), servertest.Write(t, dir, "key", pair.Key)
	for name, test := range map[string]struct {
		files TLS
		words []string
	}{
		"no file":      {TLS{CertFile: dir + "/none", KeyFile: key}, []string{"server.TLS.CertFile", "/none: no such file"}},
		"no key":       {TLS{CertFile: cert}, []string{"server.TLS.KeyFile " + cert, "found a certificate rather than a key"}},
		"swapped":      {TLS{CertFile: key, KeyFile: cert}, []string{"server.TLS.CertFile " + key}},
		"no authority": {TLS{CertFile: cert, KeyFile: key, ClientCAFile: key}, []string{"server.TLS.ClientCAFile", key, "no certificate"}},
		"no such ca":   {TLS{CertFile: cert, KeyFile: key, ClientCAFile: dir + "/none"}, []string{"server.TLS.ClientCAFile", "no such file"}},
	} {
		_, err := NewCertificates(Config{TLS: test.files}, slog.New(slog.DiscardHandler))
		for _, words := range test.words {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v doesn't say %q", name, err, words)
			}
		}
	}
	if c, err := NewCertificates(Default(), slog.New(slog.DiscardHandler)); c != nil || err != nil {
		t.Errorf("without TLS: %v, %v", c, err)
	}
}
