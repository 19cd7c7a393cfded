package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// TestMigrateIsComplete checks that docs/guides/from-tritonserver.md describes the equivalent of each of
// tritonserver's flags.
func TestMigrateIsComplete(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root(t), "docs", "guides", "from-tritonserver.md"))
	if err != nil {
		t.Fatal(err)
	}
	path, err := tritonserver.Find()
	if err != nil {
		t.Fatal(err)
	}
	help, _ := exec.Command(path, "--help").CombinedOutput() // tritonserver exits with 1
	flags := regexp.MustCompile(`(?m)^ {2}--([a-z0-9-]+)`).FindAllStringSubmatch(string(help), -1)
	if len(flags) < 80 {
		t.Fatalf("tritonserver --help lists %d flags:\n%s", len(flags), help)
	}
	for _, f := range flags {
		if f[1] != "help" && !strings.Contains(string(page), "`--"+f[1]+"`") {
			t.Errorf("docs/guides/from-tritonserver.md doesn't name --%s", f[1])
		}
	}
}
