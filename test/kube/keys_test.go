package kube

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/server/servertest"
)

// keys are the files of a temporary CA and of a certificate that it has signed. The servers and the
// administrator share the certificate.
type keys struct {
	ca, cert, key string
	authority     *servertest.Authority
	pair          servertest.Pair
}

// newKeys writes keys into the folder.
func newKeys(t *testing.T, dir string) *keys {
	t.Helper()
	authority := servertest.NewAuthority(t)
	pair := authority.Issue(t, "admin", "system:masters") // whose members are administrators
	return &keys{
		ca:        servertest.Write(t, dir, "ca.pem", authority.PEM()),
		cert:      servertest.Write(t, dir, "cert.pem", pair.Certificate),
		key:       servertest.Write(t, dir, "key.pem", pair.Key),
		authority: authority, pair: pair,
	}
}

// client returns the administrator's client.
func (k *keys) client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: k.authority.Client(t, k.pair)}
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
