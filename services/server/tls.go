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

// TLS names the files, in PEM, by which ports are served with TLS. The zero value
// is none.
type TLS struct {
	// CertFile is this server's certificate, with those between it and its authority.
	CertFile string
	// KeyFile is the certificate's key; empty where that stands in CertFile.
	KeyFile string
	// ClientCAFile has the authorities of clients' certificates. With it a client
	// without a certificate of theirs isn't served.
	ClientCAFile string
}

// Enabled tells whether there is TLS.
func (t TLS) Enabled() bool { return t.CertFile != "" }

func (t TLS) validate() error {
	if !t.Enabled() && (t.KeyFile != "" || t.ClientCAFile != "") {
		return configfield.Textf("%s, %s: they need %s", configfield.Field("server.TLS.KeyFile"), configfield.Field("server.TLS.ClientCAFile"), configfield.Field("server.TLS.CertFile"))
	}
	return nil
}

func (t TLS) keyFile() string { return cmp.Or(t.KeyFile, t.CertFile) }

// Certificates are what ports with TLS show to their clients and want of them. The
// files are looked at in each handshake, so that new ones count at once, whole
// connections keep what they have, and nobody has to be told; new ones that can't be
// used are logged and leave the old ones. Nil is no TLS. It may be used concurrently.
type Certificates struct {
	files  TLS
	log    *slog.Logger
	wall   func() time.Time // the clock by which certificates expire
	loaded atomic.Pointer[material]

	looking sync.Mutex
	seen    auth.FileStates // of the latest try
}

// material is what the files hold.
type material struct {
	certificate tls.Certificate
	clientCAs   *x509.CertPool // nil for clients without certificates
}

// NewCertificates reads the files; without [Config.TLS] it gives nil.
func NewCertificates(cfg Config, log *slog.Logger) (*Certificates, error) {
	if !cfg.TLS.Enabled() {
		return nil, nil //nolint:nilnil // nil is a use of the type
	}
	return newCertificates(cfg.TLS, time.Now, log)
}

func newCertificates(files TLS, wall func() time.Time, log *slog.Logger) (*Certificates, error) {
	c := &Certificates{files: files, log: log, wall: wall, seen: files.state()}
	if err := c.load(); err != nil {
		return nil, err
	}
	return c, nil
}

// Config is the configuration of a port whose protocols have these names, best
// first.
func (c *Certificates) Config(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			m := c.latest()
			answer := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols, Certificates: []tls.Certificate{m.certificate}, Time: c.wall}
			if m.clientCAs != nil {
				answer.ClientAuth, answer.ClientCAs = tls.RequireAndVerifyClientCert, m.clientCAs
			}
			return answer, nil
		},
	}
}

// Serve serves HTTP/1.1 and HTTP/2 on a listener, with TLS or, where there are no
// certificates, without. It returns when the server has been told to stop.
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

// WantsClients reports whether clients must show a certificate.
func (c *Certificates) WantsClients() bool { return c != nil && c.files.ClientCAFile != "" }

// latest is what the files hold now, or held when they could last be used. Who comes
// while another one looks takes what there is.
func (c *Certificates) latest() *material {
	if c.looking.TryLock() {
		defer c.looking.Unlock()
		if state := c.files.state(); !state.Equal(c.seen) {
			c.seen = state
			if err := c.load(); err != nil {
				c.log.Error("the new files for TLS can't be used: the old ones stay", "error", err)
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
	if c.wall().After(leaf.NotAfter) {
		c.log.Error("the certificate for TLS has expired", attrs...)
		return nil
	}
	c.log.Info("certificate for TLS", attrs...)
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
		return nil, configfield.Errorf("server.TLS.ClientCAFile", "%s has no certificate in PEM", t.ClientCAFile)
	}
	return m, nil
}
