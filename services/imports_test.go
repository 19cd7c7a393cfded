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

// confined lists imports that only the named files or packages may have.
var confined = map[string]func(path string) bool{
	"C":               func(path string) bool { return strings.HasPrefix(path, "services/triton/local/") },
	"go.uber.org/fx":  wiring,
	"go.uber.org/dig": wiring,
}

// wiring reports whether a file may import fx.
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
	for _, r := range layers {
		if !seen[r.path] {
			t.Errorf("layers has a row for %s, which has no Go files: delete the row", r.path)
		}
	}
}

// skipped reports whether a folder has no hand-written Go files of this module.
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
	i := slices.IndexFunc(layers, func(r packageRow) bool { return r.path == pkg })
	var allowed []string
	if i >= 0 {
		allowed = layers[i].imports
	} else if pkg != "services" {
		t.Errorf("%s: package %s has no row in layers", path, pkg)
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
