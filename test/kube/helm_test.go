package kube

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// root is the top of the source tree, relative to this package.
const root = "../.."

// chart is the folder of the Helm chart.
var chart = filepath.Join(root, "deploy", "helm", "trident")

// helm is the Helm program with the settings of a cluster's administrator.
type helm struct {
	program string
	env     []string
}

// newHelm returns the Helm that tools/helm pins, with empty folders for its own files.
func newHelm(t *testing.T, c *cluster) *helm {
	t.Helper()
	program, err := exec.CommandContext(t.Context(), "go", "-C", filepath.Join(root, "tools", "helm"), "tool", "-n", "helm").Output()
	if err != nil {
		t.Fatalf("build Helm: %v", err)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + c.kubeconfig}
	for _, name := range []string{"HOME", "HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME", "HELM_PLUGINS"} {
		env = append(env, name+"="+t.TempDir())
	}
	return &helm{strings.TrimSpace(string(program)), env}
}

// run runs Helm. The error contains what Helm printed about it; notes has other messages, such as the
// API's warnings.
func (h *helm) run(t *testing.T, namespace string, args ...string) (out []byte, notes string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), h.program, append(args, "--namespace="+namespace)...)
	var stdout, stderr bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = h.env, &stdout, &stderr
	err = cmd.Run()
	return stdout.Bytes(), stderr.String(), err
}

// must runs Helm, which has to succeed without messages.
func (h *helm) must(t *testing.T, namespace string, args ...string) []byte {
	t.Helper()
	out, notes, err := h.run(t, namespace, args...)
	if err != nil || notes != "" {
		t.Fatalf("helm %v: %v\n%s", args, err, notes)
	}
	return out
}
