package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/trident-inference/trident/test/tier"
)

// TestSite builds two versions of the documentation's site, and reads it in a real Chromium from file://: themes, widths,
// the search, the list of versions, diagrams. If TRIDENT_TEST_SHOTS is set, the test writes screenshots to that folder.
func TestSite(t *testing.T) {
	t.Parallel()
	tier.OnlySlow(t)
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is missing, which the test uses as browser: apt-get install chromium")
	}
	if err := command(root(t), filepath.Join(root(t), "tools", "setup-docs.sh")); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	for _, version := range []string{"0.9.0", "0.10.0"} {
		if err := command(root(t), filepath.Join(root(t), ".venv-docs", "bin", "python"), filepath.Join("tools", "docs", "build.py"), version, out); err != nil {
			t.Fatal(err)
		}
	}
	runNode(t, nodePrograms(t), []string{"CHROMIUM=" + chromium, "TRIDENT_SITE=" + out, "TRIDENT_SHOTS=" + os.Getenv("TRIDENT_TEST_SHOTS")}, "site.test.mjs")
}
