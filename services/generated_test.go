package services

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is generated from layers")

// TestLayers checks that the generated parts of the documents and of .golangci.yml agree with the
// variable layers.
func TestLayers(t *testing.T) {
	for _, g := range []struct {
		file, begin, end string
		text             func() string
	}{
		{"README.md", "<!-- layers: written by go test ./services -run TestLayers -update -->\n", "<!-- end of layers -->\n", table},
		{"../.golangci.yml", "        # layers: written by go test ./services -run TestLayers -update\n", "        # end of layers\n", depguard},
		{"../.golangci.yml", "      # layers: written by go test ./services -run TestLayers -update\n", "      # end of layers\n", clocks},
		{"../docs/contributing/architecture.md", "<!-- picture: written by go test ./services -run TestLayers -update -->\n", "<!-- end of picture -->\n", diagram},
	} {
		old, err := os.ReadFile(g.file)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, begins := bytes.Cut(old, []byte("\n"+g.begin))
		_, after, ends := bytes.Cut(rest, []byte("\n"+g.end))
		if !begins || !ends {
			t.Fatalf("%s has no lines %q and %q", g.file, g.begin, g.end)
		}
		written := slices.Concat(before, []byte("\n"+g.begin+g.text()+g.end), after)
		if bytes.Equal(old, written) {
			continue
		}
		if !*update {
			t.Errorf("%s differs from layers: run go test ./services -run TestLayers -update", g.file)
			continue
		}
		if err := os.WriteFile(g.file, written, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// diagram returns the diagram of the program's packages by layer, in Mermaid's language. It omits
// imports that follow from other imports.
func diagram() string {
	imports := map[string]map[string]bool{}
	for _, r := range layers {
		if r.layer != tool {
			imports[r.path] = importsOf(r)
		}
	}
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TB\n")
	for _, l := range []layer{process, frontend, core, engine, pure} {
		fmt.Fprintf(&b, "  subgraph %s\n", l)
		for _, path := range of(l) {
			fmt.Fprintf(&b, "    %s[\"%s\"]\n", node(path), strings.TrimPrefix(path, "services/"))
		}
		b.WriteString("  end\n")
	}
	for _, path := range slices.Sorted(maps.Keys(imports)) {
		for _, target := range slices.Sorted(maps.Keys(imports[path])) {
			if !follows(imports, path, target) {
				fmt.Fprintf(&b, "  %s --> %s\n", node(path), node(target))
			}
		}
	}
	b.WriteString("```\n")
	return b.String()
}

// node returns the name of a package's box in the diagram.
func node(path string) string {
	return strings.NewReplacer("services/", "", "/", "_", "-", "_").Replace(path)
}

// importsOf returns the packages of the program that a package may import.
func importsOf(r packageRow) map[string]bool {
	all := map[string]bool{}
	for _, other := range layers {
		if other.layer != tool && other.path != r.path && slices.ContainsFunc(r.imports, func(pattern string) bool { return matches(pattern, other.path) }) {
			all[other.path] = true
		}
	}
	return all
}

// follows reports whether an import is implied by the imports of another imported package.
func follows(imports map[string]map[string]bool, path, target string) bool {
	for between := range imports[path] {
		if between != target && reaches(imports, between, target) {
			return true
		}
	}
	return false
}

// reaches reports whether a package imports another one, directly or indirectly. Imports have no
// cycles.
func reaches(imports map[string]map[string]bool, path, target string) bool {
	if imports[path][target] {
		return true
	}
	for next := range imports[path] {
		if reaches(imports, next, target) {
			return true
		}
	}
	return false
}

// depguard returns the linter's lists of files of the core and of pure packages.
func depguard() string {
	var b strings.Builder
	for _, l := range []struct {
		layer layer
		deny  [][2]string
	}{
		{core, [][2]string{
			{"net/http", "the core knows no frontend"},
			{"connectrpc.com/connect", "the core knows no frontend"},
			{module + "gen/go/openai", "wire types stay in their frontend; the core speaks KServe tensors"},
			{module + "gen/go/trident", "wire types stay in their frontend; the core speaks KServe tensors"},
		}},
		{pure, [][2]string{
			{"net$", "this package is pure: no network"},
			{"net/http", "this package is pure: no network"},
			{"google.golang.org/grpc$", "this package is pure: no network"},
			{"log/slog", "this package is pure: return an error, the caller logs"},
		}},
	} {
		fmt.Fprintf(&b, "        %s:\n          list-mode: lax\n          files:\n", l.layer)
		for _, path := range of(l.layer) {
			fmt.Fprintf(&b, "            - \"**/%s/*.go\"\n", path)
		}
		b.WriteString("            - \"!$test\"\n          deny:\n")
		for _, deny := range l.deny {
			fmt.Fprintf(&b, "            - { pkg: %s, desc: %q }\n", deny[0], deny[1])
		}
	}
	return b.String()
}

// clocks returns the linter's exception for all packages that aren't pure from the rule against
// reading the clock.
func clocks() string {
	paths := of(pure)
	for i, path := range paths {
		paths[i] = strings.TrimPrefix(path, "services/")
	}
	return fmt.Sprintf("      - path-except: ^services/(%s)/[^/]*$\n        linters: [forbidigo]\n        text: \"this package is pure\"\n", strings.Join(paths, "|"))
}

// table returns the table of services/README.md.
func table() string {
	var b strings.Builder
	b.WriteString("| package | layer | purpose | may import |\n|---|---|---|---|\n")
	for _, r := range layers {
		imports := make([]string, 0, len(r.imports))
		for _, path := range r.imports {
			if path == "services/*" {
				path = "all of services"
			}
			imports = append(imports, strings.TrimPrefix(path, "services/"))
		}
		if len(imports) == 0 {
			imports = []string{"nothing"}
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", strings.TrimPrefix(r.path, "services/"), r.layer, r.purpose, strings.Join(imports, ", "))
	}
	return b.String()
}

// of returns the paths of a layer's packages.
func of(l layer) []string {
	var paths []string
	for _, r := range layers {
		if r.layer == l {
			paths = append(paths, r.path)
		}
	}
	slices.Sort(paths)
	return paths
}
