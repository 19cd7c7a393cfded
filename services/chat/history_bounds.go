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

// What one render of a history template may use. The library has no bounds of its
// own: passes of loops are counted by a tag in each loop's body, bytes where they
// are written and in the filters that make them.
const (
	historySteps = 250_000
	historyBytes = 256 << 20 // of all texts and lists, garbage included
)

type historyLimits struct{ steps, bytes int }

// budget is what is left to a render.
type budget struct {
	historyLimits

	ctx context.Context //nolint:containedctx // lives for one render, as the struct does
	of  historyLimits
}

// budgetVar is the variable that holds the budget; no template can name it.
const budgetVar = " budget"

func (b *budget) step() error {
	b.steps--
	if b.steps < 0 {
		return fmt.Errorf("it needs more than %d passes of loops", b.of.steps)
	}
	return b.ctx.Err()
}

func (b *budget) take(n int) error {
	if n < 0 || n > b.bytes {
		return fmt.Errorf("it needs more than %d bytes", b.of.bytes)
	}
	b.bytes -= n
	return nil
}

// newHistoryConfig has the standard tags without include, which reads files, and
// the standard filters at the budget's charge.
func newHistoryConfig(b *budget) liquid.Config {
	config := liquid.NewConfig()
	filters.AddStandardFilters(chargedFilters{&config, b})
	tags.AddStandardTags(config)
	config.AddTag("include", func(string) (func(io.Writer, liquid.Context) error, error) {
		return nil, errors.New("include is not supported: a history template is one text")
	})
	return config
}

// chargedFilters adds filters that take from a budget before they run.
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
		return append(run.Call(args), reflect.Zero(failure))[:2] // the filter's own error, if it has one, or none
	}).Interface())
}

// filterCost bounds the bytes that a filter makes, or steps that it takes.
func filterCost(name string, args []reflect.Value) int {
	size := 0
	for _, arg := range args {
		size = add(size, valueSize(arg))
	}
	switch name {
	case "replace": // as many new texts as there are old ones
		text, old := args[0].String(), args[1].String()
		return add(size, multiply(strings.Count(text, old), args[2].Len()))
	case "join": // a separator, which is a function with a default here, for each item
		separator := args[1].Call([]reflect.Value{reflect.ValueOf(" ")})[0].Len()
		return add(size, multiply(args[0].Len(), separator))
	case "split": // a header for each text
		return multiply(size, reflect.TypeFor[string]().Size())
	case "uniq": // compares each with each
		return add(size, multiply(args[0].Len(), args[0].Len()))
	case "json", "inspect":
		return multiply(textSize(args[0]), 6) // a byte becomes six at most
	case "escape", "escape_once", "newline_to_br", "url_encode":
		return multiply(size, 6)
	}
	return size
}

// valueSize is the bytes of a text, or of a list with its texts; what else there is
// in a list is shared by its copies.
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

// textSize is the bytes of a value with all that it holds, as a text.
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

// add and multiply stay at a number beyond all budgets when they overflow.
func add(a, b int) int { return min(a+b, 2*historyBytes) }

func multiply[T int | uintptr](a int, b T) int {
	if b > 0 && a > 2*historyBytes/int(b) {
		return 2 * historyBytes
	}
	return a * int(b)
}

// bound puts counting into the template's loops and bounds into its captures. It
// refuses ranges, whose items may be without number.
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

// quoted matches texts in the arguments of tags.
var quoted = regexp.MustCompile(`"[^"]*"|'[^']*'`)

func noRange(token parser.Token) error {
	if strings.Contains(quoted.ReplaceAllString(token.Args, ""), "..") {
		return fmt.Errorf("line %d: ranges are not supported: %s", token.SourceLoc.LineNo, token.Source)
	}
	return nil
}

// newTag makes a node that runs a function. It writes nothing by itself, which
// would end the trimming of blanks.
func newTag(run func(io.Writer, liquid.Context) error) liquid.Node {
	config := liquid.NewConfig()
	config.AddTag("run", func(string) (func(io.Writer, liquid.Context) error, error) { return run, nil })
	node, _ := config.Compile("{% run %}", parser.SourceLoc{}) // has no syntax that could be wrong
	return node
}

func budgetOf(ctx liquid.Context) (*budget, error) {
	b, ok := ctx.Get(budgetVar).(*budget)
	if !ok {
		return nil, errors.New("there is no budget")
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

// capture sets a variable to what a block writes.
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
