// Package servertest creates certificates for tests of servers and clients with TLS.
// Servers for tests belong to the packages that test them.
package servertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority is a CA whose certificates are valid for an hour.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority returns a CA with a new key.
func NewAuthority(tb testing.TB) *Authority {
	tb.Helper()
	template := template(tb, "an authority of tests")
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign
	key := newKey(tb)
	return &Authority{sign(tb, template, template, key, key), key}
}

// Pair is a certificate with its key, in PEM.
type Pair struct{ Certificate, Key []byte }

// Issue returns a certificate with this name, for a server on the loopback interface
// or for a client. Its subject belongs to the organizations.
func (a *Authority) Issue(tb testing.TB, name string, organizations ...string) Pair {
	tb.Helper()
	template := template(tb, name)
	template.Subject.Organization = organizations
	template.DNSNames, template.IPAddresses = []string{name, "localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	key := newKey(tb)
	certificate := sign(tb, template, a.certificate, key, a.key)
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	return Pair{encode("CERTIFICATE", certificate.Raw), encode("PRIVATE KEY", encoded)}
}

// PEM returns the CA's own certificate.
func (a *Authority) PEM() []byte { return encode("CERTIFICATE", a.certificate.Raw) }

// Client returns the configuration of a client that trusts only this CA and sends
// the given certificates.
func (a *Authority) Client(tb testing.TB, pairs ...Pair) *tls.Config {
	tb.Helper()
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	config.RootCAs.AddCert(a.certificate)
	for _, p := range pairs {
		certificate, err := tls.X509KeyPair(p.Certificate, p.Key)
		if err != nil {
			tb.Fatal(err)
		}
		config.Certificates = append(config.Certificates, certificate)
	}
	return config
}

// Write creates or atomically replaces a file in the folder and returns its path.
func Write(tb testing.TB, dir, name string, content []byte) string {
	tb.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		tb.Fatal(err)
	}
	return path
}

func template(tb testing.TB, name string) *x509.Certificate {
	tb.Helper()
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		tb.Fatal(err)
	}
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Minute), NotAfter: now.Add(time.Hour),
	}
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func sign(tb testing.TB, template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) *x509.Certificate {
	tb.Helper()
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		tb.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		tb.Fatal(err)
	}
	return certificate
}

func encode(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}
