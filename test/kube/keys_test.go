package kube

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// keys are the files of a temporary CA and of a certificate that it has signed. The servers and the
// administrator share the certificate.
type keys struct{ ca, cert, key string }

// newKeys writes keys into the folder.
func newKeys(t *testing.T, dir string) *keys {
	t.Helper()
	k := &keys{ca: filepath.Join(dir, "ca.pem"), cert: filepath.Join(dir, "cert.pem"), key: filepath.Join(dir, "key.pem")}
	caKey, ownKey := newKey(t), newKey(t)
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	own := &x509.Certificate{
		SerialNumber: big.NewInt(2),
		// Members of system:masters are administrators.
		Subject:   pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	writePEM(t, k.ca, "CERTIFICATE", sign(t, ca, ca, caKey, caKey))
	writePEM(t, k.cert, "CERTIFICATE", sign(t, own, ca, ownKey, caKey))
	private, err := x509.MarshalECPrivateKey(ownKey)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, k.key, "EC PRIVATE KEY", private)
	return k
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign returns the certificate of key, signed by the parent's key.
func sign(t *testing.T, template, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
}

// client returns the administrator's client.
func (k *keys) client(t *testing.T) *http.Client {
	t.Helper()
	own, err := tls.LoadX509KeyPair(k.cert, k.key)
	if err != nil {
		t.Fatal(err)
	}
	ca, err := os.ReadFile(k.ca)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{own}, RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

// writeKubeconfig writes the administrator's settings for the server, and returns their path.
func (k *keys) writeKubeconfig(t *testing.T, dir, server string) string {
	t.Helper()
	settings, err := json.Marshal(object{
		"apiVersion": "v1", "kind": "Config", "current-context": "test",
		"contexts": []any{object{"name": "test", "context": object{"cluster": "test", "user": "admin"}}},
		"clusters": []any{object{"name": "test", "cluster": object{"server": server, "certificate-authority": k.ca}}},
		"users":    []any{object{"name": "admin", "user": object{"client-certificate": k.cert, "client-key": k.key}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(path, settings, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
