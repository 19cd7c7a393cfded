package services

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Limits on the shape of services and cmd. The limit on complexity is in .golangci.yml
// (gocognit).
const (
	// mostFiles is the maximum number of files of a package, without tests.
	mostFiles = 30
	// longFunction is the maximum number of lines of 95 of 100 functions.
	longFunction = 40
	// leastDoc is the minimum number of words of a package comment.
	leastDoc = 10
	// mostParameters is the maximum number of positional parameters of a function.
	mostParameters = 5
)

// TestShape checks the number of files of each package, its package comment, and the
// length of functions.
func TestShape(t *testing.T) {
	files := map[string]int{}
	documented := map[string]bool{}
	var lengths []int
	eachFile(t, func(pkg string, set *token.FileSet, file *ast.File) {
		files[pkg]++
		doc := file.Doc.Text()
		documented[pkg] = documented[pkg] || len(strings.Fields(doc)) >= leastDoc && (!strings.Contains(pkg, "services") || strings.Contains(doc, "belong"))
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				lengths = append(lengths, set.Position(f.End()).Line-set.Position(f.Pos()).Line+1)
			}
		}
	})
	for pkg, n := range files {
		if reason := fileReason(pkg); n > mostFiles && reason == "" {
			t.Errorf("%s has %d files, more than %d: split it by reasons to change, or give the reason that keeps it one in layers", pkg, n, mostFiles)
		} else if n <= mostFiles && reason != "" {
			t.Errorf("%s has %d files: delete wide in its row of layers", pkg, n)
		}
		if !documented[pkg] {
			t.Errorf("%s has no package comment that describes what belongs in it, and where the rest belongs", pkg)
		}
	}
	slices.Sort(lengths)
	if n := lengths[len(lengths)*95/100]; n > longFunction {
		t.Errorf("5 of 100 functions have %d lines or more: shorten them to %d", n, longFunction)
	}
}

// TestParameters checks the number of positional parameters of functions. Parameters
// that belong together should be a struct.
func TestParameters(t *testing.T) {
	eachFile(t, func(_ string, set *token.FileSet, file *ast.File) {
		ast.Inspect(file, func(node ast.Node) bool {
			if f, ok := node.(*ast.FuncType); ok && f.Params.NumFields() > mostParameters {
				t.Errorf("%s: a function has %d parameters, more than %d: make a struct of those that belong together", set.Position(f.Pos()), f.Params.NumFields(), mostParameters)
			}
			return true
		})
	})
}

// eachFile reads the files of services and cmd, except tests.
func eachFile(t *testing.T, read func(pkg string, set *token.FileSet, file *ast.File)) {
	t.Helper()
	for _, root := range []string{"services", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", root), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			read(strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../"), set, file)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// fileReason returns the reason why a package may have more files than mostFiles.
func fileReason(pkg string) string {
	if i := slices.IndexFunc(layers, func(r packageRow) bool { return r.path == pkg }); i >= 0 {
		return layers[i].fileReason
	}
	return ""
}
