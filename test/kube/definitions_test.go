package kube

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// crdsVariable is the environment variable that names the folder of further definitions. It is
// relative to the top of the source tree.
const crdsVariable = "TRIDENT_TEST_CRDS"

// establishLimit is the time that the API has to serve a new definition.
const establishLimit = time.Minute

// fromModules lists the files of definitions that tools/setup-kube.sh takes from Go modules.
var fromModules = []string{
	"gateway.networking.k8s.io_gatewayclasses.yaml", "gateway.networking.k8s.io_gateways.yaml", "gateway.networking.k8s.io_httproutes.yaml",
	"monitoring.coreos.com_podmonitors.yaml", "monitoring.coreos.com_servicemonitors.yaml",
}

// fromFolder lists the files of definitions that crdsVariable's folder must have.
var fromFolder = []string{
	"inferencepools.yaml", "leaderworkersets.yaml",
	"kserve_clusterservingruntimes.yaml", "kserve_inferenceservices.yaml", "kserve_llminferenceservices.yaml", "kserve_servingruntimes.yaml",
}

// fromOutside lists the groups of API that are defined by files of crdsVariable's folder.
var fromOutside = []string{"inference.networking.k8s.io", "leaderworkerset.x-k8s.io", "serving.kserve.io"}

// needsCRDs skips a test without the folder of definitions, and returns the folder.
func needsCRDs(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(crdsVariable)
	if dir == "" {
		t.Skip("needs the definitions of KServe, InferencePool and LeaderWorkerSet: set " + crdsVariable + " to a folder with " + fmt.Sprint(fromFolder))
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	return dir
}

// define installs definitions and waits until the API serves them.
func (c *cluster) define(t *testing.T, dir string, files []string) {
	t.Helper()
	for _, name := range files {
		for _, o := range documentsOf(t, filepath.Join(dir, name)) {
			if o["kind"] != "CustomResourceDefinition" {
				t.Fatalf("%s contains a %v", name, o["kind"])
			}
			c.accepts(t, o, "")
			c.established(t, o)
		}
	}
}

// established waits until the API serves all versions of a definition.
func (c *cluster) established(t *testing.T, o object) {
	t.Helper()
	await(t, title(o)+" is served", establishLimit, func(ctx context.Context) error {
		for _, version := range at(o, "spec", "versions").([]any) {
			if at(version, "served") != true {
				continue
			}
			path := fmt.Sprintf("/apis/%s/%s/%s", text(o, "spec", "group"), text(version, "name"), text(o, "spec", "names", "plural"))
			if err := c.serves(ctx, path); err != nil {
				return err
			}
		}
		return nil
	})
}
