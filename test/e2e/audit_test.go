package e2e

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/trident-inference/trident/test/tier"
)

// leastAccessibility is the lowest score of accessibility that a view may have, of Lighthouse's 100.
const leastAccessibility = 95

// TestPlaygroundAudit checks that Lighthouse finds each view of the playground accessible.
func TestPlaygroundAudit(t *testing.T) {
	tier.OnlySlow(t)
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is missing, which the test uses as browser: apt-get install chromium")
	}
	address := serving(t).url
	dir := filepath.Join(root(t), "tools", "lighthouse")
	if err := installModules(t, dir); err != nil {
		t.Fatal(err)
	}
	args := []string{"accessibility.mjs"}
	views := []string{"chat", "embeddings", "ranking", "models", "metrics"}
	for _, view := range views {
		args = append(args, address+"/#/"+view)
	}
	printed := nodeOutput(t, dir, args, "CHROMIUM="+chromium)
	lines := strings.Split(strings.TrimSpace(printed), "\n")
	if len(lines) != len(views) {
		t.Fatalf("got %d scores of %d views:\n%s", len(lines), len(views), printed)
	}
	for i, line := range lines {
		fields := strings.Fields(line)
		if score, err := strconv.Atoi(fields[1]); err != nil || score < leastAccessibility {
			t.Errorf("%s: the score is %s, want at least %d; failed audits: %s", views[i], fields[1], leastAccessibility, strings.Join(fields[2:], ", "))
		}
	}
	t.Log(printed)
}

// nodeOutput returns the standard output of a Node program in a folder.
func nodeOutput(t *testing.T, dir string, args []string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), installed(t, "node"), args...)
	cmd.Dir, cmd.Env = dir, environment(env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, failureOf(err))
	}
	return string(out)
}
