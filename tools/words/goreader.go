package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// readGo returns the comments and strings of a Go file.
func readGo(file string, source []byte) ([]item, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if ast.IsGenerated(parsed) {
		return nil, nil
	}
	r := goReader{set: set, file: file, lines: strings.Split(string(source), "\n"), test: strings.HasSuffix(file, "_test.go")}
	r.comments(parsed)
	r.strings(parsed)
	return r.items, nil
}

type goReader struct {
	set   *token.FileSet
	file  string
	lines []string
	test  bool
	items []item
}

func (r *goReader) line(p token.Pos) int { return r.set.Position(p).Line }

func (r *goReader) comments(parsed *ast.File) {
	exported := exportedDocs(parsed)
	for _, group := range parsed.Comments {
		first, last := r.line(group.Pos()), r.line(group.End())
		found := item{file: r.file, line: first, last: last, kind: comment, text: commentText(r.lines[first-1:last], r.set.Position(group.Pos()).Column-1)}
		if name := exported[group]; name != "" {
			found.kind, found.name = doc, name
		}
		found.next = following(r.lines, first, last)
		r.items = append(r.items, found)
	}
}

// exportedDocs maps the comments of exported declarations to their names.
func exportedDocs(parsed *ast.File) map[*ast.CommentGroup]string {
	docs := map[*ast.CommentGroup]string{}
	for _, d := range parsed.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && exportedReceiver(d) {
				docs[d.Doc] = d.Name.Name
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				// The comment of a group in parentheses describes all of its members.
				if d.Lparen == token.NoPos {
					docs[d.Doc] = specName(s)
				}
				switch s := s.(type) {
				case *ast.TypeSpec:
					docs[s.Doc] = specName(s)
				case *ast.ValueSpec:
					docs[s.Doc] = specName(s)
				}
			}
		}
	}
	delete(docs, nil)
	return docs
}

// specName returns the exported name that a specification declares, or "".
func specName(s ast.Spec) string {
	var name *ast.Ident
	switch s := s.(type) {
	case *ast.TypeSpec:
		name = s.Name
	case *ast.ValueSpec:
		name = s.Names[0]
	}
	if name == nil || !name.IsExported() {
		return ""
	}
	return name.Name
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return true
	}
	for t := d.Recv.List[0].Type; ; {
		switch inner := t.(type) {
		case *ast.StarExpr:
			t = inner.X
		case *ast.IndexExpr:
			t = inner.X
		case *ast.IndexListExpr:
			t = inner.X
		case *ast.Ident:
			return inner.IsExported()
		default:
			return false
		}
	}
}

// strings reads the literals and finds their use.
func (r *goReader) strings(parsed *ast.File) {
	var path []ast.Node
	ast.Inspect(parsed, func(n ast.Node) bool {
		if n == nil {
			path = path[:len(path)-1]
			return true
		}
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			r.tag(n)
		case *ast.BinaryExpr:
			if text, ok := joinedLiterals(n); ok && n.Op == token.ADD {
				r.literal(path, n, text, false)
				return false
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && !isTag(path, n) {
				text, err := strconv.Unquote(n.Value)
				if err == nil {
					r.literal(path, n, text, n.Value[0] == '`')
				}
			}
		}
		path = append(path, n)
		return true
	})
}

func isTag(path []ast.Node, lit *ast.BasicLit) bool {
	field, ok := path[len(path)-1].(*ast.Field)
	return ok && field.Tag == lit
}

// tag adds the help of a flag from its field's tag.
func (r *goReader) tag(field *ast.Field) {
	if field.Tag == nil {
		return
	}
	text, err := strconv.Unquote(field.Tag.Value)
	if err != nil {
		return
	}
	line := r.line(field.Tag.Pos())
	if value := reflect.StructTag(text).Get("help"); value != "" {
		r.items = append(r.items, item{file: r.file, line: line, last: line, kind: help, text: value, flat: true})
	}
}

// joinedLiterals returns the text of a sum of literals. Other operands appear as %s.
func joinedLiterals(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, err := strconv.Unquote(e.Value)
			return text, err == nil
		}
	case *ast.BinaryExpr:
		left, found := joinedLiterals(e.X)
		right, too := joinedLiterals(e.Y)
		if e.Op != token.ADD || !found && !too {
			return "", false
		}
		if !found {
			left = "%s"
		}
		if !too {
			right = "%s"
		}
		return left + right, true
	case *ast.ParenExpr:
		return joinedLiterals(e.X)
	}
	return "", false
}

func (r *goReader) literal(path []ast.Node, n ast.Expr, text string, raw bool) {
	k := r.use(path, n)
	switch {
	case k == "" || r.test && k != message:
		return
	case k == message && !proseLike(text), words(text) < 2:
		return
	}
	r.items = append(r.items, item{file: r.file, line: r.line(n.Pos()), last: r.line(n.End()), kind: k, text: text, flat: !raw})
}

// use returns the kind of a literal, by the nearest call or field that it is passed to.
func (r *goReader) use(path []ast.Node, n ast.Node) kind {
	inner := n
	for i := len(path) - 1; i >= 0; i-- {
		switch p := path[i].(type) {
		case *ast.CallExpr:
			if k := callUse(p, inner); k != "" {
				return k
			}
		case *ast.KeyValueExpr:
			if key, ok := p.Key.(*ast.Ident); ok && p.Value == inner {
				switch key.Name {
				case "Message", "Err":
					return failure
				case "Help":
					return metric
				}
			}
		case *ast.FuncLit, *ast.BlockStmt:
			i = 0
		}
		inner = path[i]
	}
	if r.test {
		return "" // these strings are inputs of tests
	}
	return message
}

var (
	errorCalls = regexp.MustCompile(`(?i)(^|\.)(errorf?|invalid|unsupported|internal|within|mismatch|\w*fail(ed|f|at)?|refuse\w*|flawf?|problemf?|wrongf?|because|schemaerror|errkey)$|^errors\.New$|^status\.(Errorf?|New)$`)
	logCalls   = regexp.MustCompile(`(?i)(^|\.)log(ger)?\.(Debug|Info|Warn|Error|Log|LogAttrs)(Context)?$|^slog\.\w+$`)
	testCalls  = regexp.MustCompile(`^(t|tb|b|f)\.(Error|Errorf|Fatal|Fatalf|Log|Logf|Skip|Skipf)$`)
	metrics    = regexp.MustCompile(`(^|\.)(NewDesc|desc|counter|gauge|histogram)$`)
)

// callUse returns the kind of a string that is passed to a call, or "" if the call doesn't show a
// use.
func callUse(call *ast.CallExpr, argument ast.Node) kind {
	name := callName(call.Fun)
	switch {
	case argument == call.Fun:
		return ""
	case testCalls.MatchString(name):
		return message
	case logCalls.MatchString(name):
		return logged
	case errorCalls.MatchString(name):
		return failure
	case metrics.MatchString(name):
		return metric
	}
	return ""
}

func callName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return callName(e.X) + "." + e.Sel.Name
	}
	return ""
}
