package server

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/configfield"
)

// TLS has the PEM files with which ports serve TLS. The zero value disables TLS.
type TLS struct {
	// CertFile has this server's certificate and the intermediate CA certificates.
	CertFile string
	// KeyFile has the certificate's key; if empty, CertFile has the key, too.
	KeyFile string
	// ClientCAFile is the CA bundle that verifies client certificates. If set,
	// clients without a valid certificate are refused.
	ClientCAFile string
}

// Enabled reports whether TLS is configured.
func (t TLS) Enabled() bool { return t.CertFile != "" }

func (t TLS) validate() error {
	if !t.Enabled() && (t.KeyFile != "" || t.ClientCAFile != "") {
		return configfield.Textf("%s and %s have no effect without %s: set it too", configfield.Field("server.TLS.KeyFile"), configfield.Field("server.TLS.ClientCAFile"), configfield.Field("server.TLS.CertFile"))
	}
	return nil
}

func (t TLS) keyFile() string { return cmp.Or(t.KeyFile, t.CertFile) }

// Certificates are the server's certificate and the CA bundle for client
// certificates. Each handshake checks the files for changes, so that new certificates
// apply at once without a signal; existing connections aren't affected. Invalid new
// files are logged and the previous certificates stay. A nil Certificates means no
// TLS. Certificates may be used concurrently.
type Certificates struct {
	files  TLS
	log    *slog.Logger
	now    func() time.Time // the clock by which certificates expire
	loaded atomic.Pointer[material]

	reloading sync.Mutex
	seen      auth.FileStates // states of the certificate files at the latest attempt to load them
}

// material is the content of the certificate files.
type material struct {
	certificate tls.Certificate
	clientCAs   *x509.CertPool // nil if clients need no certificate
}

// NewCertificates reads the files. It returns nil if TLS isn't configured.
func NewCertificates(cfg Config, log *slog.Logger) (*Certificates, error) {
	if !cfg.TLS.Enabled() {
		return nil, nil //nolint:nilnil // a nil Certificates is valid
	}
	return newCertificates(cfg.TLS, time.Now, log)
}

func newCertificates(files TLS, wall func() time.Time, log *slog.Logger) (*Certificates, error) {
	c := &Certificates{files: files, log: log, now: wall, seen: files.state()}
	if err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

// Config returns the TLS configuration of a port with the given protocols, in order
// of preference.
func (c *Certificates) Config(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			m := c.latest()
			answer := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols, Certificates: []tls.Certificate{m.certificate}, Time: c.now}
			if m.clientCAs != nil {
				answer.ClientAuth, answer.ClientCAs = tls.RequireAndVerifyClientCert, m.clientCAs
			}
			return answer, nil
		},
	}
}

// Serve serves HTTP/1.1 and HTTP/2 on a listener, with TLS unless c is nil. It
// returns when the server is shut down.
func (c *Certificates) Serve(s *http.Server, l net.Listener) error {
	s.Protocols = new(http.Protocols)
	s.Protocols.SetHTTP1(true)
	if c == nil {
		s.Protocols.SetUnencryptedHTTP2(true)
		return s.Serve(l)
	}
	s.Protocols.SetHTTP2(true)
	s.TLSConfig = c.Config("h2", "http/1.1")
	return s.ServeTLS(l, "", "")
}

// WantsClients reports whether clients must send a certificate.
func (c *Certificates) WantsClients() bool { return c != nil && c.files.ClientCAFile != "" }

// latest returns the current content of the files, or the last valid content. While
// one handshake checks the files, concurrent handshakes use the loaded content.
func (c *Certificates) latest() *material {
	if c.reloading.TryLock() {
		defer c.reloading.Unlock()
		if state := c.files.state(); !state.Equal(c.seen) {
			c.seen = state
			if err := c.load(); err != nil {
				c.log.Error("the changed TLS files can't be used: the previous ones stay in use", "error", err)
			}
		}
	}
	return c.loaded.Load()
}

func (c *Certificates) load() error {
	m, err := c.files.load()
	if err != nil {
		return err
	}
	c.loaded.Store(m)
	leaf := m.certificate.Leaf
	attrs := []any{"names", leaf.DNSNames, "addresses", leaf.IPAddresses, "expires", leaf.NotAfter, "clients_need_one", m.clientCAs != nil}
	if c.now().After(leaf.NotAfter) {
		c.log.Error("the TLS certificate has expired: replace it", attrs...)
		return nil
	}
	c.log.Info("loaded the TLS certificate", attrs...)
	return nil
}

func (t TLS) state() auth.FileStates { return auth.StateOf(t.CertFile, t.keyFile(), t.ClientCAFile) }

func (t TLS) load() (*material, error) {
	certificate, err := tls.LoadX509KeyPair(t.CertFile, t.keyFile())
	if err != nil {
		return nil, configfield.Textf("%s %s, %s %s: %w", configfield.Field("server.TLS.CertFile"), t.CertFile, configfield.Field("server.TLS.KeyFile"), t.keyFile(), err)
	}
	m := &material{certificate: certificate}
	if t.ClientCAFile == "" {
		return m, nil
	}
	authorities, err := os.ReadFile(t.ClientCAFile)
	if err != nil {
		return nil, configfield.Errorf("server.TLS.ClientCAFile", "%w", err)
	}
	m.clientCAs = x509.NewCertPool()
	if !m.clientCAs.AppendCertsFromPEM(authorities) {
		return nil, configfield.Errorf("server.TLS.ClientCAFile", "%s contains no certificate in PEM format", t.ClientCAFile)
	}
	return m, nil
}
