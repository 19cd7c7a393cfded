package services

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is the prefix of our own import paths.
const module = "github.com/trident-inference/trident/"

// arrows are the imports that each package may have of ours, tests aside. They
// point inward, to services/inference; a new package needs a line here, which is
// a decision. gen/ holds generated messages and may be imported where named.
var arrows = map[string][]string{
	"services/budget":                  {},
	"services/inference":               {"gen/go/kserve", "services/budget"},
	"services/serving":                 {"gen/go/kserve", "services/admission", "services/budget", "services/catalog", "services/images", "services/inference", "services/metering", "services/toolparser"},
	"services/catalog":                 {"gen/go/kserve", "services/inference", "services/tokenizer", "services/toolparser"},
	"services/admission":               {"gen/go/kserve", "services/inference", "services/metering"},
	"services/metering":                {"services/inference"},
	"services/contracts":               {"gen/go/kserve", "services/inference", "services/structured"},
	"services/chat":                    {"services/chat/jinja", "services/inference"},
	"services/toolparser":              {"services/inference"},
	"services/chat/jinja":              {},
	"services/tokenizer":               {"services/budget", "services/inference"},
	"services/modelfiles":              {"gen/go/kserve", "services/inference"},
	"services/images":                  {"services/inference"},
	"services/triton":                  {"gen/go/kserve", "services/inference", "services/triton/extension"},
	"services/triton/extension":        {"gen/go/kserve", "services/inference"},
	"services/triton/local":            {"gen/go/kserve", "services/inference", "services/triton", "services/triton/extension"},
	"services/cloud":                   {"services/admission", "services/auth", "services/budget", "services/catalog", "services/inference", "services/server"},
	"services/server":                  {"services/admission", "services/auth", "services/budget", "services/inference", "services/wirecode", "web"},
	"services/memory":                  {"services/admission", "services/catalog", "services/inference"},
	"services/metrics":                 {"services/admission", "services/auth", "services/inference", "services/memory", "services/metering", "services/server", "services/serving"},
	"services/structured":              {},
	"services/tracing":                 {},
	"services/server/servertest":       {},
	"services/openai":                  {"gen/go/openai", "openapi", "services/auth", "services/budget", "services/catalog", "services/inference", "services/requests", "services/server", "services/serving", "services/strictjson", "services/wirecode"},
	"services/tridentrpc":              {"gen/go/trident/v1", "gen/go/trident/v1/tridentv1connect", "services/admission", "services/budget", "services/catalog", "services/inference", "services/metering", "services/protocodec", "services/requests", "services/server", "services/serving", "services/wirecode", "web/client"},
	"services/kserve":                  {"gen/go/health/grpc_health_v1connect", "gen/go/kserve", "gen/go/kserve/kserveconnect", "gen/go/trident/v1", "gen/go/trident/v1/tridentv1connect", "services/admission", "services/auth", "services/budget", "services/inference", "services/protocodec", "services/server", "services/serving", "services/wirecode"},
	"services/kserve/rest":             {"gen/go/kserve", "gen/go/kserverest", "openapi", "services/admission", "services/auth", "services/budget", "services/inference", "services/kserve", "services/kserve/tensorjson", "services/server", "services/serving", "services/wirecode"},
	"services/kserve/tensorjson":       {"services/inference"},
	"services/kserve/kservetest":       {"gen/go/kserve", "services/auth", "services/inference", "services/inference/inferencetest", "services/kserve", "services/kserve/rest", "services/server", "services/serving", "services/triton/local", "services/triton/tritonserver", "services/triton/tritontest"},
	"services/auth":                    {"services/inference"},
	"services/wirecode":                {"services/inference"},
	"services/protocodec":              {"services/budget"},
	"services/requests":                {"services/budget", "services/inference", "services/strictjson"},
	"services/strictjson":              {"services/budget", "services/inference"},
	"cmd/trident":                      {"cmd/trident/hangup", "services/*"},
	"cmd/trident/hangup":               {},
	"cmd/tridentbench":                 {"gen/go/kserve", "services/admission", "services/auth", "services/inference", "services/kserve", "services/openai", "services/server", "services/triton/local", "services/triton/tritonserver", "test/backends/burst"},
	"cmd/tridentrelease":               {},
	"examples/go-connect":              {"gen/go/trident/v1", "gen/go/trident/v1/tridentv1connect"},
	"openapi":                          {},
	"web/client":                       {},
	"web":                              {},
	"test/cost":                        {"gen/go/kserve", "gen/go/trident/v1", "openapi", "services/triton/tritonserver", "test/backends/burst", "test/cost/probe"},
	"test/cost/probe":                  {},
	"test/backends/burst":              {"services/triton/tritonserver"},
	"test/demo":                        {"services/triton/tritonserver"},
	"test/deploy":                      {},
	"test/e2e":                         {"services/triton/tritonserver"},
	"test/golden":                      {"services/triton/tritonserver", "test/tier"},
	"test/suite":                       {},
	"test/tier":                        {},
	"test/vllm":                        {"services/structured", "test/tier"},
	"test/mutations":                   {},
	"test/soak":                        {"gen/go/kserve", "gen/go/trident/v1", "gen/go/trident/v1/tridentv1connect", "services/triton/tritonserver", "test/backends/burst"},
	"services/triton/tritonserver":     {},
	"services/triton/tritontest":       {"gen/go/kserve", "services/inference", "services/triton", "services/triton/extension", "services/triton/tritonserver"},
	"services/inference/inferencetest": {"gen/go/kserve", "services/catalog", "services/chat", "services/contracts", "services/images", "services/inference", "services/serving", "services/tokenizer", "services/toolparser"},
}

// confined are imports that only the named files or packages may have.
var confined = map[string]func(path string) bool{
	"C":               func(path string) bool { return strings.HasPrefix(path, "services/triton/local/") },
	"go.uber.org/fx":  wiring,
	"go.uber.org/dig": wiring,
}

// wiring files are the only ones that know fx.
func wiring(path string) bool {
	base := filepath.Base(path)
	return base == "module.go" || base == "module_test.go" || strings.HasPrefix(path, "cmd/trident/")
}

func TestImports(t *testing.T) {
	seen := map[string]bool{}
	root := ".."
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path := filepath.ToSlash(strings.TrimPrefix(file, root+"/"))
		if entry.IsDir() && skipped(path) {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		seen[filepath.ToSlash(filepath.Dir(path))] = true
		checkFile(t, file, path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range arrows {
		if !seen[pkg] {
			t.Errorf("arrows has a line for %s, which has no Go files: delete the line", pkg)
		}
	}
}

// skipped are folders without Go files of this module's own.
func skipped(path string) bool {
	base := filepath.Base(path)
	return path == "gen" || path == "tools" || path == "api" || path == "test/e2e/sdk" || base == "node_modules" ||
		base == "testdata" || (strings.HasPrefix(base, ".") && len(base) > 2)
}

func checkFile(t *testing.T, file, path string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	pkg := filepath.ToSlash(filepath.Dir(path))
	allowed, known := arrows[pkg]
	if !known && pkg != "services" {
		t.Errorf("%s: package %s has no line in arrows", path, pkg)
	}
	for _, spec := range parsed.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if may := confined[target]; may != nil && !may(path) {
			t.Errorf("%s must not import %s", path, target)
		}
		ours, isOurs := strings.CutPrefix(target, module)
		if isOurs && !strings.HasSuffix(path, "_test.go") && !slices.ContainsFunc(allowed, func(pattern string) bool { return matches(pattern, ours) }) {
			t.Errorf("%s: package %s must not import %s", path, pkg, ours)
		}
	}
}

func matches(pattern, path string) bool {
	if prefix, wild := strings.CutSuffix(pattern, "*"); wild {
		return strings.HasPrefix(path, prefix)
	}
	return pattern == path
}
