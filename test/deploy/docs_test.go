package deploy

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"go.yaml.in/yaml/v3"
)

// block is a code block of the documentation, as test/docs prints it.
type block struct {
	Page string
	Line int
	Code string
	Tool string // the tool that reads the block; empty for blocks that aren't marked check
}

// blockReaders have a function for each tool that reads files of deployments. It returns what the tool
// refuses.
var blockReaders = map[string]func(t *testing.T, code string) error{
	"compose":    readCompose,
	"kube":       readObjects,
	"container":  readContainer,
	"values":     readValues,
	"prometheus": readPrometheus,
	"hadolint":   readContainerFile,
	"systemd":    readUnit,
}

// TestPageBlocks reads the blocks of the documentation that are marked check with their tools.
func TestPageBlocks(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "run", "./test/docs", "-json")
	cmd.Dir = root
	text, err := cmd.Output()
	var all []block
	if err != nil || json.Unmarshal(text, &all) != nil || len(all) < 100 {
		t.Fatalf("go run ./test/docs -json: %v, %d blocks", err, len(all))
	}
	for _, b := range all {
		read := blockReaders[b.Tool]
		if read == nil {
			continue
		}
		t.Run(fmt.Sprintf("%s/%s", b.Tool, filepath.Base(b.Page)), func(t *testing.T) {
			if err := read(t, b.Code); err != nil {
				t.Errorf("%s:%d: %v", b.Page, b.Line, err)
			}
		})
	}
}

// TestBlockReaders checks that each tool accepts a correct file and refuses one with a wrong key.
func TestBlockReaders(t *testing.T) {
	for tool, c := range map[string]struct{ good, bad string }{
		"compose":    {"services:\n  a:\n    image: a\n", "services:\n  a:\n    images: a\n"},
		"kube":       {"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 80}]}\n", "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{ports: 80}]}\n"},
		"container":  {"livenessProbe: {httpGet: {path: /health/live, port: 9000}}\n", "livenessProbe: {httpGets: {path: /health/live, port: 9000}}\n"},
		"values":     {string(read(t, "deploy/helm/trident/ci/frontend-values.yaml")), "shapes: remote\n"},
		"prometheus": {"scrape_configs:\n  - job_name: a\n    static_configs: [{targets: ['a:9000']}]\n", "scrape_configs:\n  - job: a\n"},
		"hadolint":   {"FROM debian:13\nCOPY trident /usr/local/bin/\n", "FROM debian\nRUN cd /tmp\n"},
		"systemd":    {"[Service]\nExecStart=/usr/local/bin/trident\n", "[Service]\nExecStarts=/usr/local/bin/trident\n"},
	} {
		t.Run(tool, func(t *testing.T) {
			if err := blockReaders[tool](t, c.good); err != nil {
				t.Errorf("correct: %v", err)
			}
			if blockReaders[tool](t, c.bad) == nil {
				t.Error("a wrong key is accepted")
			}
		})
	}
}

// variable matches a variable of a compose file.
var variable = regexp.MustCompile(`\$\{?([A-Z][A-Z0-9_]*)`)

func readCompose(t *testing.T, code string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "compose.yaml")
	write(t, file, code)
	var env []string
	for _, name := range variable.FindAllStringSubmatch(code, -1) {
		env = append(env, name[1]+"=value")
	}
	options, err := cli.NewProjectOptions([]string{file}, cli.WithName("page"), cli.WithEnv(env))
	if err != nil {
		return err
	}
	_, err = options.LoadProject(t.Context())
	return err
}

func readObjects(t *testing.T, code string) error {
	t.Helper()
	if problems := conform(t, objects(t, map[string]string{"page": code})); len(problems) > 0 {
		return fmt.Errorf("%s", strings.Join(problems, "\n"))
	}
	return nil
}

// readContainer checks fields of a container as those of a pod's.
func readContainer(t *testing.T, code string) error {
	t.Helper()
	fields := object{}
	if err := yaml.Unmarshal([]byte(code), &fields); err != nil {
		return err
	}
	fields["name"], fields["image"] = "trident", "trident"
	pod := object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "page"}, "spec": object{"containers": []any{fields}}}
	if problems := conform(t, []object{pod}); len(problems) > 0 {
		return fmt.Errorf("%s", strings.Join(problems, "\n"))
	}
	return nil
}

// readValues renders Trident's chart with the values, and checks its objects.
func readValues(t *testing.T, code string) error {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(code), &values); err != nil {
		return err
	}
	files, err := templates(t, values)
	if err != nil {
		return err
	}
	maps.DeleteFunc(files, func(file, _ string) bool { return !strings.HasSuffix(file, ".yaml") })
	if problems := conform(t, objects(t, files)); len(problems) > 0 {
		return fmt.Errorf("%s", strings.Join(problems, "\n"))
	}
	return nil
}

// silent returns an error with the output of a tool if the tool fails or prints anything.
func silent(t *testing.T, name string, args ...string) error {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil || len(text) > 0 {
		return fmt.Errorf("%s: %v\n%s", filepath.Base(name), err, text)
	}
	return nil
}

func readPrometheus(t *testing.T, code string) error {
	t.Helper()
	program := optional(t, "promtool")
	file := filepath.Join(t.TempDir(), "prometheus.yaml")
	write(t, file, code)
	if text, err := exec.CommandContext(t.Context(), program, "check", "config", "--syntax-only", file).CombinedOutput(); err != nil {
		return fmt.Errorf("promtool: %w\n%s", err, text)
	}
	return nil
}

func readContainerFile(t *testing.T, code string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "Containerfile")
	write(t, file, code)
	return silent(t, tool(t, "hadolint"), "--no-color", file)
}

func readUnit(t *testing.T, code string) error {
	t.Helper()
	program := optional(t, "systemd-analyze")
	file := filepath.Join(t.TempDir(), "page.service")
	code = strings.ReplaceAll(code, "ExecStart=/usr/local/bin/trident", "ExecStart=/bin/true")
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		return err
	}
	return silent(t, program, "verify", "--man=no", file)
}
