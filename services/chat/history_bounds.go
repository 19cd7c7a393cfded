package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/osteele/liquid/filters"
	"github.com/osteele/liquid/parser"
	liquid "github.com/osteele/liquid/render"
	"github.com/osteele/liquid/tags"
)

// Limits of one render of a history template. The library has no limits. A tag in
// each loop's body counts passes. Bytes are counted when they are written, and in
// the filters that produce them.
const (
	historySteps = 250_000
	historyBytes = 256 << 20 // maximum bytes of all strings and lists of one render, including garbage
)

type historyLimits struct{ steps, bytes int }

// budget has the loop iterations and the bytes of output that one render of a template may still
// use.
type budget struct {
	historyLimits

	ctx context.Context //nolint:containedctx // lives for one render, like the struct
	of  historyLimits
}

// budgetVar is the template variable that contains the *budget of the render. Templates can't name
// it.
const budgetVar = " budget"

// limitError is returned when a render exceeds one of its limits.
type limitError struct {
	most int
	what string
}

// Error implements error.
func (e *limitError) Error() string {
	return fmt.Sprintf("the template needs more than %d %s", e.most, e.what)
}

func (b *budget) step() error {
	b.steps--
	if b.steps < 0 {
		return &limitError{b.of.steps, "loop iterations"}
	}
	return b.ctx.Err()
}

func (b *budget) take(n int) error {
	if n < 0 || n > b.bytes {
		return &limitError{b.of.bytes, "bytes"}
	}
	b.bytes -= n
	return nil
}

// newHistoryConfig returns a configuration with the standard tags, except include,
// which reads files, and with the standard filters, which are charged to the
// budget.
func newHistoryConfig(b *budget) liquid.Config {
	config := liquid.NewConfig()
	filters.AddStandardFilters(chargedFilters{&config, b})
	tags.AddStandardTags(config)
	config.AddTag("include", func(string) (func(io.Writer, liquid.Context) error, error) {
		return nil, errors.New("include is not supported: a history template is a single file")
	})
	return config
}

// chargedFilters adds filters that subtract their cost from a budget before they run.
type chargedFilters struct {
	config *liquid.Config
	budget *budget
}

// AddFilter implements filters.FilterDictionary.
func (f chargedFilters) AddFilter(name string, filter any) {
	run := reflect.ValueOf(filter)
	in := slices.Collect(run.Type().Ins())
	failure := reflect.TypeFor[error]()
	out := []reflect.Type{run.Type().Out(0), failure}
	f.config.AddFilter(name, reflect.MakeFunc(reflect.FuncOf(in, out, false), func(args []reflect.Value) []reflect.Value {
		if err := f.budget.take(filterCost(name, args)); err != nil {
			return []reflect.Value{reflect.Zero(out[0]), reflect.ValueOf(&err).Elem()}
		}
		return append(run.Call(args), reflect.Zero(failure))[:2] // the filter's own error if it has one, otherwise nil
	}).Interface())
}

// filterCost returns an upper bound of the bytes that a filter produces, or of the
// steps that it takes.
func filterCost(name string, args []reflect.Value) int {
	size := 0
	for _, arg := range args {
		size = add(size, valueSize(arg))
	}
	switch name {
	case "replace": // each occurrence of the old string becomes a new string
		text, old := args[0].String(), args[1].String()
		return add(size, multiply(strings.Count(text, old), args[2].Len()))
	case "join": // the result has a separator per item; here a parameter with a default is a function
		separator := args[1].Call([]reflect.Value{reflect.ValueOf(" ")})[0].Len()
		return add(size, multiply(args[0].Len(), separator))
	case "split": // the result has a string header per part
		return multiply(size, reflect.TypeFor[string]().Size())
	case "uniq": // the filter compares each item with each other item
		return add(size, multiply(args[0].Len(), args[0].Len()))
	case "json", "inspect":
		return multiply(textSize(args[0]), 6) // a byte becomes at most six
	case "escape", "escape_once", "newline_to_br", "url_encode":
		return multiply(size, 6)
	}
	return size
}

// valueSize returns the bytes of a string, or of a list with its strings. Other
// values in a list need no further bytes, because copies of the list share them.
func valueSize(v reflect.Value) int {
	v = inside(v)
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Slice:
		size := multiply(v.Len(), 16)
		for i := range v.Len() {
			if item := inside(v.Index(i)); item.Kind() == reflect.String {
				size = add(size, item.Len())
			}
		}
		return size
	default:
		return 16
	}
}

// textSize returns the bytes of a value's string form, including everything in it.
func textSize(v reflect.Value) int {
	v = inside(v)
	size := valueSize(v)
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			size = add(size, textSize(v.Index(i)))
		}
	case reflect.Map:
		for entry := v.MapRange(); entry.Next(); {
			size = add(size, add(textSize(entry.Key()), textSize(entry.Value())))
		}
	default:
	}
	return size
}

func inside(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

// add and multiply saturate at a number above all budgets instead of overflowing.
func add(a, b int) int { return min(a+b, 2*historyBytes) }

func multiply[T int | uintptr](a int, b T) int {
	if b > 0 && a > 2*historyBytes/int(b) {
		return 2 * historyBytes
	}
	return a * int(b)
}

// bound inserts counters into the template's loops and limits into its captures. It
// rejects ranges, because their number of items is unlimited.
func bound(root liquid.Node) (liquid.Node, error) {
	top := []liquid.Node{root}
	if err := boundAll(top); err != nil {
		return nil, err
	}
	return top[0], nil
}

func boundAll(nodes []liquid.Node) error {
	for i, node := range nodes {
		switch n := node.(type) {
		case *liquid.SeqNode:
			if err := boundAll(n.Children); err != nil {
				return err
			}
		case *liquid.ObjectNode:
			if err := noRange(n.Token); err != nil {
				return err
			}
		case *liquid.TagNode:
			if err := noRange(n.Token); err != nil {
				return err
			}
		case *liquid.BlockNode:
			if err := boundBlock(n); err != nil {
				return err
			}
			if n.Name == "capture" {
				nodes[i] = newTag(func(_ io.Writer, ctx liquid.Context) error { return capture(n, ctx) })
			}
		}
	}
	return nil
}

func boundBlock(n *liquid.BlockNode) error {
	if err := noRange(n.Token); err != nil {
		return err
	}
	if err := boundAll(n.Body); err != nil {
		return err
	}
	if n.Name == "for" || n.Name == "tablerow" {
		n.Body = append([]liquid.Node{newTag(countPass)}, n.Body...)
	}
	for _, clause := range n.Clauses {
		if err := boundBlock(clause); err != nil {
			return err
		}
	}
	return nil
}

// quoted matches quoted strings in the arguments of tags.
var quoted = regexp.MustCompile(`"[^"]*"|'[^']*'`)

func noRange(token parser.Token) error {
	if strings.Contains(quoted.ReplaceAllString(token.Args, ""), "..") {
		return fmt.Errorf("line %d: Liquid ranges are not supported: %s", token.SourceLoc.LineNo, token.Source)
	}
	return nil
}

// newTag returns a node that runs a function. The node writes nothing, because
// output would end the trimming of blanks.
func newTag(run func(io.Writer, liquid.Context) error) liquid.Node {
	config := liquid.NewConfig()
	config.AddTag("run", func(string) (func(io.Writer, liquid.Context) error, error) { return run, nil })
	node, _ := config.Compile("{% run %}", parser.SourceLoc{}) // the syntax is constant and valid
	return node
}

func budgetOf(ctx liquid.Context) (*budget, error) {
	b, ok := ctx.Get(budgetVar).(*budget)
	if !ok {
		return nil, errors.New("the history template is rendered without a budget")
	}
	return b, nil
}

func countPass(_ io.Writer, ctx liquid.Context) error {
	b, err := budgetOf(ctx)
	if err != nil {
		return err
	}
	return b.step()
}

// capture sets a variable to the output of a block.
func capture(block *liquid.BlockNode, ctx liquid.Context) error {
	b, err := budgetOf(ctx)
	if err != nil {
		return err
	}
	text := &boundedWriter{budget: b}
	if err := ctx.RenderBlock(text, block); err != nil {
		return err
	}
	ctx.Set(strings.TrimSpace(block.Args), text.String())
	return nil
}
