// Package kube installs the Helm chart and the examples for Kubernetes in a real kube-apiserver with
// etcd, and checks what the API refuses. `make test-kube` builds the servers and runs the package.
//
// The package shows that the API accepts the objects, strictly and in a namespace for restricted pods,
// and that releases can be upgraded. No kubelet runs, so no container starts; the end-to-end suite runs
// the program.
package kube

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trident-inference/trident/test/tier"
)

// serversVariable is the environment variable that names the folder of the servers: .cache/kube,
// relative to the top of the source tree. `make test-kube` sets it.
const serversVariable = "TRIDENT_TEST_KUBE"

// TestKube installs the chart and the examples in one cluster. Each case has a namespace of its own.
func TestKube(t *testing.T) {
	tier.OnlySlow(t)
	servers := os.Getenv(serversVariable)
	if servers == "" {
		t.Skip("needs kube-apiserver and etcd: make test-kube")
	}
	if !filepath.IsAbs(servers) {
		servers = filepath.Join(root, servers)
	}
	c := startCluster(t, servers)
	h := newHelm(t, c)
	about := c.must(t, http.MethodGet, "/version", nil)
	t.Logf("kube-apiserver %s, %s", text(about, "gitVersion"), text(about, "platform"))
	if got := text(about, "gitVersion"); !strings.HasPrefix(got, "v1.37.") {
		t.Errorf("kube-apiserver %s, want 1.37", got)
	}
	c.define(t, filepath.Join(servers, "crds"), fromModules)
	t.Run("definitions", func(t *testing.T) { c.define(t, needsCRDs(t), fromFolder) })
	for _, o := range prerequisites() {
		c.accepts(t, o, "")
	}
	for _, s := range shapes() {
		t.Run("chart/"+s.name, func(t *testing.T) { testShape(t, c, h, s) })
	}
	t.Run("chart/frontend over in-process", func(t *testing.T) { testPair(t, c, h) })
	t.Run("chart/autoscaler turned on", func(t *testing.T) { testHandover(t, c, h) })
	t.Run("examples", func(t *testing.T) { testExamples(t, c) })
	t.Run("refused", func(t *testing.T) { testRefused(t, c, h) })
}
