package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestVersion compares every file that repeats the version of Trident with the constant of
// this package: the changelog, the npm client and its dependents, the OpenAPI documents, the
// Makefile, and Helm charts.
func TestVersion(t *testing.T) {
	root := filepath.Join("..", "..")
	for _, row := range []struct{ name, file, pattern string }{
		{"the latest version of the changelog", "CHANGELOG.md", `(?m)^## \[(\d[^\]]*)\]`},
		{"the OpenAPI document", "openapi/openai.yaml", `(?m)^info:\n(?:  .*\n)*?  version: (.+)$`},
		{"the overlay of its Go types", "openapi/openai.overlay.yaml", `(?m)^info:\n(?:  .*\n)*?  version: (.+)$`},
		{"the OpenAPI document of the encoders' APIs", "openapi/encoders.yaml", `(?m)^info:\n(?:  .*\n)*?  version: (.+)$`},
		{"the OpenAPI document of Anthropic's API", "openapi/anthropic.yaml", `(?m)^info:\n(?:  .*\n)*?  version: (.+)$`},
		{"the OpenAPI document of KServe's REST", "openapi/kserve.yaml", `(?m)^info:\n(?:  .*\n)*?  version: (.+)$`},
	} {
		t.Run(row.name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(root, row.file))
			if err != nil {
				t.Fatal(err)
			}
			found := regexp.MustCompile(row.pattern).FindSubmatch(text)
			if found == nil {
				t.Fatalf("%s has no version", row.file)
			}
			if got := string(found[1]); got != version {
				t.Errorf("%s has the version %s, cmd/trident/main.go has %s", row.file, got, version)
			}
		})
	}
	for _, row := range []struct{ file, pack string }{
		{"web/client/package.json", ""},
		{"web/client/package-lock.json", ""},
		{"web/client/package-lock.json", "self"},
		{"web/playground/package-lock.json", "../client"},
		{"examples/web-connect/package-lock.json", "../../web/client"},
	} {
		t.Run(row.file+" "+row.pack, func(t *testing.T) { checkPackage(t, filepath.Join(root, row.file), row.pack) })
	}
	t.Run("charts of Helm", func(t *testing.T) { checkCharts(t, filepath.Join(root, "deploy")) })
}

// checkPackage checks the version in npm's package file, or of a package in a lock file.
func checkPackage(t *testing.T, file, pack string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var npm struct {
		Version  string
		Packages map[string]struct{ Version string }
	}
	if err := json.Unmarshal(text, &npm); err != nil {
		t.Fatal(err)
	}
	got := npm.Version
	switch pack {
	case "":
	case "self":
		got = npm.Packages[""].Version
	default:
		got = npm.Packages[pack].Version
	}
	if got != version {
		t.Errorf("%s has the version %q, cmd/trident/main.go has %s", file, got, version)
	}
}

// checkCharts checks both versions of each Helm chart in dir.
func checkCharts(t *testing.T, dir string) {
	t.Helper()
	charts, err := filepath.Glob(filepath.Join(dir, "*", "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	deeper, err := filepath.Glob(filepath.Join(dir, "*", "*", "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(charts, deeper...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"version", "appVersion"} {
			found := regexp.MustCompile(`(?m)^` + key + `: "?([^"\n]+)"?$`).FindSubmatch(text)
			if len(found) < 2 || string(found[1]) != version {
				t.Errorf("%s has %s %q, cmd/trident/main.go has %s", file, key, found, version)
			}
		}
	}
}

// TestMakefileVersion checks that the Makefile reads the version of Trident from main.go.
func TestMakefileVersion(t *testing.T) {
	program, err := exec.LookPath("make")
	if err != nil {
		t.Skip("needs make")
	}
	cmd := exec.CommandContext(t.Context(), program, "-n", "build")
	cmd.Dir = filepath.Join("..", "..")
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := "-X main.version=" + version; !strings.Contains(string(text), want) {
		t.Errorf("make build doesn't have %q:\n%s", want, text)
	}
}
