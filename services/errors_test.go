package services

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/wirecode"
)

// parsed visits the sources of the program: those of services and cmd without tests and packages of
// tests.
func parsed(t *testing.T, visit func(path string, file *ast.File)) {
	t.Helper()
	for _, root := range []string{".", "../cmd/trident"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasSuffix(filepath.Dir(path), "test") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err == nil {
				visit(filepath.ToSlash(path), file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// enumerated returns the constants of a file of package inference whose names have a prefix, with their
// values: the constants are declared in the order of their values, which start at 0.
func enumerated(t *testing.T, path, prefix string) map[string]uint8 {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]uint8{}
	for _, declaration := range file.Decls {
		constants, ok := declaration.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST {
			continue
		}
		for _, spec := range constants.Specs {
			if name := spec.(*ast.ValueSpec).Names[0].Name; strings.HasPrefix(name, prefix) {
				values[name] = uint8(len(values))
			}
		}
	}
	return values
}

// reasonUses finds the reasons that sources give to errors, with the code of the error.
type reasonUses struct {
	t              *testing.T
	codes, reasons map[string]uint8
	helpers        map[string]inference.Code // functions that get a reason, and the code of their errors
	rows           map[wirecode.Row]bool     // rows without their texts
	used           map[wirecode.Row]bool
	path           string
}

// constant returns the value of an expression that names a constant.
func constant(values map[string]uint8, expression ast.Expr) (value uint8, ok bool) {
	if selector, qualified := expression.(*ast.SelectorExpr); qualified {
		expression = selector.Sel
	}
	if name, plain := expression.(*ast.Ident); plain {
		value, ok = values[name.Name]
	}
	return value, ok
}

// pair checks the code and the reason among some expressions. The code is fallback if none of them
// is a code.
func (u *reasonUses) pair(expressions []ast.Expr, fallback string) {
	var row wirecode.Row
	reasoned, coded := false, false
	for _, e := range expressions {
		if pair, ok := e.(*ast.KeyValueExpr); ok {
			e = pair.Value
		}
		if reason, ok := constant(u.reasons, e); ok {
			row.Reason, reasoned = inference.Reason(reason), true
		}
		if code, ok := constant(u.codes, e); ok {
			row.Code, coded = inference.Code(code), true
		}
	}
	if !reasoned || row.Reason == inference.ReasonNone {
		return
	}
	if !coded {
		if row.Code, coded = u.helpers[fallback]; !coded {
			u.t.Errorf("%s: %q gets the reason %s: the test doesn't know the code of its errors", u.path, fallback, row.Reason)
			return
		}
	}
	if u.used[row] = true; !u.rows[row] {
		u.t.Errorf("%s: an error has the code %s and the reason %s, which is no row of wirecode.Table", u.path, row.Code, row.Reason)
	}
}

func (u *reasonUses) visit(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.CompositeLit:
		u.pair(n.Elts, "")
	case *ast.AssignStmt:
		u.pair(n.Rhs, "=")
	case *ast.CallExpr:
		name := ""
		switch callee := n.Fun.(type) {
		case *ast.SelectorExpr:
			name = callee.Sel.Name
		case *ast.Ident:
			name = callee.Name
		}
		u.pair(n.Args, name)
	}
	return true
}

// TestErrorReasons checks that each error in the sources that has a reason is a row of wirecode.Table, and
// that the sources have an error for each row. The type of reasons has no other values, so that clients
// receive no other codes.
func TestErrorReasons(t *testing.T) {
	u := &reasonUses{
		t: t, codes: enumerated(t, "inference/errors.go", "Code"), reasons: enumerated(t, "inference/reason.go", "Reason"),
		helpers: map[string]inference.Code{
			"=":            inference.CodeInvalid, // vLLM's errors that name another field
			"refuse":       inference.CodeInvalid, // of the catalog
			"unread":       inference.CodeInvalid,
			"errNotStored": inference.CodeNotFound,
		},
		rows: map[wirecode.Row]bool{}, used: map[wirecode.Row]bool{},
	}
	for _, row := range wirecode.Table() {
		u.rows[wirecode.Row{Reason: row.Reason, Code: row.Code}] = true
	}
	parsed(t, func(path string, file *ast.File) {
		if !strings.HasPrefix(path, "wirecode/") && path != "inference/reason.go" {
			u.path = path
			ast.Inspect(file, u.visit)
		}
	})
	for row := range u.rows {
		if row.Reason != inference.ReasonNone && !u.used[row] {
			t.Errorf("no error has the code %s and the reason %s", row.Code, row.Reason)
		}
	}
	if len(u.reasons) < 30 || inference.Reason(len(u.reasons)).String() != "" || inference.Reason(len(u.reasons)-1).String() == "" {
		t.Errorf("reason.go declares %d reasons, which isn't their number", len(u.reasons))
	}
}

// TestErrorTypes checks that the types of errors are strings of package wirecode alone.
func TestErrorTypes(t *testing.T) {
	types := []string{
		wirecode.TypeInvalid, wirecode.TypeAuthentication, wirecode.TypeRateLimit, wirecode.TypeServer, wirecode.TypePermission,
		wirecode.TypeNotFound, wirecode.TypeTooLarge, wirecode.TypeTimeout, wirecode.TypeOverloaded, wirecode.TypeInternal,
	}
	found := 0
	parsed(t, func(path string, file *ast.File) {
		ast.Inspect(file, func(node ast.Node) bool {
			literal, ok := node.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, kind := range types {
				switch {
				case !strings.Contains(text, kind):
				case path == "wirecode/wirecode.go":
					found++
				default:
					t.Errorf("%s: the string %q has a type of errors: use the constant of wirecode", path, text)
				}
			}
			return true
		})
	})
	if found != len(types) {
		t.Errorf("package wirecode has %d types, want %d", found, len(types))
	}
}
