package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/trident-inference/trident/services/configfield"
)

var fieldName = regexp.MustCompile(`^[a-z]+(\.[A-Z]\w+)+$`)

// eachString visits the string literals of the sources of services, except tests.
func eachString(t *testing.T, visit func(path, text string)) {
	t.Helper()
	err := filepath.WalkDir("../../services", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					visit(filepath.ToSlash(path), text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestFields compares the table of fields and flags with the services' errors and with the
// command line. Each field in an error must have a flag, and each flag of the table must
// exist.
func TestFields(t *testing.T) {
	named := map[string]bool{}
	eachString(t, func(_, text string) {
		if fieldName.MatchString(text) {
			named[text] = true
		}
	})
	parser, err := newParser(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	own := []configfield.Field{"triton.ConnectTimeout", "triton.CallTimeout", "triton.LoadTimeout"} // these fields have no flag
	packages := map[string]bool{}
	for field, flag := range fieldFlags() {
		pkg, _, _ := strings.Cut(string(field), ".")
		packages[pkg] = true
		if !slices.ContainsFunc(parser.Model.Flags, func(f *kong.Flag) bool { return f.Name == flag || "no-"+f.Name == flag && f.Tag.Negatable != "" }) {
			t.Errorf("%s: there is no flag --%s", field, flag)
		}
		if prefix := string(field[:strings.LastIndex(string(field), ".")]); !named[string(field)] && !named[prefix] {
			t.Errorf("%s: no error of services names it: delete it", field)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		pkg, _, _ := strings.Cut(name, ".")
		field := configfield.Field(name)
		group := slices.ContainsFunc(slices.Collect(maps.Keys(fieldFlags())), func(f configfield.Field) bool { return strings.HasPrefix(string(f), name+".") })
		if packages[pkg] && fieldFlags()[field] == "" && !group && !slices.Contains(own, field) {
			t.Errorf("%s: errors name the field, and no flag of fieldFlags sets it", name)
		}
	}
}

// TestFlagged checks that flags replace fields at any depth of an error.
func TestFlagged(t *testing.T) {
	err := flagged(errors.Join(errors.New("start"), configfield.Errorf("server.Port", "%d is no port", 70000)))
	if got, want := err.Error(), "start\n--openai-port: 70000 is no port"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if e, ok := errors.AsType[*configfield.Error](err); !ok || e.Field != "server.Port" {
		t.Error("the field is lost")
	}
	if flagged(nil) != nil {
		t.Error("nil became an error")
	}
}
