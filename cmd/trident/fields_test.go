package main

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/trident-inference/trident/services/configfield"
)

var (
	fieldName   = regexp.MustCompile(`^[a-z]+(\.[A-Z]\w+)+$`)
	flagLiteral = regexp.MustCompile(`--[a-z][a-z0-9]*(-[a-z0-9]+)*`)
)

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

// TestFields compares the table that maps configuration fields to flags with the services' errors
// and with the command line. Each field in an error must have a flag, and each flag of the table
// must exist.
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
	own := []configfield.Field{
		"triton.ConnectTimeout", "triton.CallTimeout", "triton.LoadTimeout", // no flag sets them
		"inference.GRPCInferenceService", // a service of gRPC, no field
	}
	packages := map[string]bool{}
	for field, flag := range fieldFlags() {
		pkg, _, _ := strings.Cut(string(field), ".")
		packages[pkg] = true
		if !slices.ContainsFunc(parser.Model.Flags, func(f *kong.Flag) bool { return f.Name == flag || "no-"+f.Name == flag && f.Tag.Negatable != "" }) {
			t.Errorf("%s: there is no flag --%s", field, flag)
		}
		if prefix := string(field[:strings.LastIndex(string(field), ".")]); !named[string(field)] && !named[prefix] {
			t.Errorf("%s: nothing in services names it: delete it", field)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		pkg, _, _ := strings.Cut(name, ".")
		field := configfield.Field(name)
		group := slices.ContainsFunc(slices.Collect(maps.Keys(fieldFlags())), func(f configfield.Field) bool { return strings.HasPrefix(string(f), name+".") })
		if packages[pkg] && fieldFlags()[field] == "" && !group && !slices.Contains(own, field) {
			t.Errorf("%s: services name the field, and no flag of fieldFlags sets it", name)
		}
	}
}

// TestFlagNames checks that each configuration that names fields at run time has the flags' names.
func TestFlagNames(t *testing.T) {
	cfg, err := parse("--model-repository=a", "--triton-endpoint=a:1")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for name, value := range reflect.ValueOf(cfg).Fields() {
		if value.Kind() != reflect.Struct {
			continue
		}
		for _, field := range value.Fields() {
			names, ok := reflect.TypeAssert[*configfield.Names](field)
			if !ok {
				continue
			}
			found++
			if got := names.Of("server.Port"); got != "--openai-port" {
				t.Errorf("%s calls the port %q", name.Name, got)
			}
		}
	}
	if found < 9 {
		t.Errorf("%d configurations have names", found)
	}
}

// otherFlags are the string literals of services that name a flag which trident has too, by
// file and flag, with the reason why they aren't of trident's configuration.
var otherFlags = map[string]string{
	"kserve/rest/body.go --http-max-input-size":         "tritonserver's own text, which clients of both get",
	"state/statetest/statetest.go --port":               "the command line of a redis-server for tests",
	"triton/health.go --model-control-mode":             "the flag of the tritonserver that is called",
	"triton/tritonserver/server.go --backend-config":    "the command line of a tritonserver for tests",
	"triton/tritonserver/server.go --exit-timeout-secs": "the command line of a tritonserver for tests",
	"triton/tritonserver/server.go --model-repository":  "the command line of a tritonserver for tests",
}

// TestNoFlagsInServices checks that services name fields of configurations and no flags: only
// cmd/trident knows which flag sets a field.
func TestNoFlagsInServices(t *testing.T) {
	flags := knownFlags(t)
	for name := range maps.Clone(flags) {
		flags["no-"+name] = true
	}
	used := map[string]bool{}
	eachString(t, func(path, text string) {
		for _, flag := range flagLiteral.FindAllString(text, -1) {
			place := strings.TrimPrefix(path, "../../services/") + " " + flag
			switch {
			case !flags[flag[len("--"):]]:
			case otherFlags[place] == "":
				t.Errorf("%s in %q: name the field by configfield.Names or in an error of configfield", place, text)
			default:
				used[place] = true
			}
		}
	})
	for place := range otherFlags {
		if !used[place] {
			t.Errorf("%s: no such text is left: delete the exception", place)
		}
	}
}

// TestFlagged checks that flagged replaces the names of configuration fields in an error by the
// names of flags, also in wrapped and joined errors.
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
