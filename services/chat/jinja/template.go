package jinja

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Limits limit the resources of one Parse or Render, so that no template can hang or kill the
// process. Zero fields get the value of DefaultLimits.
type Limits struct {
	// Steps counts executed statements, calls and loop passes, plus the work inside built-ins
	// (one step per item, one per 64 bytes of text).
	Steps int64
	// Depth counts nested macro calls, recursive loops and nested values when printing.
	Depth int
	// Output is the maximum size in bytes of a render's output, and of any single value inside of
	// it.
	Output int64
	// Memory is the maximum sum in bytes of all values that a render creates, including garbage.
	Memory int64
}

// DefaultLimits returns limits that suit chats of several megabytes.
func DefaultLimits() Limits {
	return Limits{Steps: 10_000_000, Depth: 150, Output: 64 << 20, Memory: 1 << 30}
}

// Option changes how a template renders.
type Option func(*Template)

// WithLimits replaces DefaultLimits. Zero or negative fields keep their default.
func WithLimits(l Limits) Option {
	return func(t *Template) {
		if l.Steps > 0 {
			t.limits.Steps = l.Steps
		}
		if l.Depth > 0 {
			t.limits.Depth = l.Depth
		}
		if l.Output > 0 {
			t.limits.Output = l.Output
		}
		if l.Memory > 0 {
			t.limits.Memory = l.Memory
		}
	}
}

// WithClock replaces time.Now as the clock of strftime_now, which prints the time in its own location.
func WithClock(now func() time.Time) Option {
	return func(t *Template) { t.now = now }
}

// Template is a compiled template. It is immutable. Any number of goroutines may render it
// concurrently.
type Template struct {
	name   string
	body   []stmt
	root   *function
	names  []string // names to look up in the variables and globals, by their number in the tree
	limits Limits
	now    func() time.Time
	idle   sync.Pool // *runtime values, for the reuse of their memory
}

// Parse compiles source. The name only appears in error messages. Every error is a *SyntaxError.
func Parse(name, source string, opts ...Option) (*Template, error) {
	t := &Template{name: name, limits: DefaultLimits(), now: time.Now} //nolint:forbidigo // strftime_now's clock, unless WithClock sets another
	for _, o := range opts {
		o(t)
	}
	toks, err := lex(name, source)
	if err != nil {
		return nil, err
	}
	p := &parser{name: name, toks: toks}
	body, err := p.parse()
	if err != nil {
		return nil, err
	}
	t.body = body
	if err := resolve(t, body); err != nil {
		return nil, err
	}
	return t, nil
}

// Reads reports whether the template uses a variable of the caller, or a global, by this name.
func (t *Template) Reads(name string) bool { return slices.Contains(t.names, name) }

// Render executes the template with the variables in vars. It reads vars and never changes it. The
// caller must not change vars, or any value in it, during the render. A nil vars is empty. Errors
// are a *RaisedError (the template called raise_exception), a *RenderError or a *LimitError, or
// wrap ctx's error.
func (t *Template) Render(ctx context.Context, vars *Dict) (string, error) {
	if vars == nil {
		vars = NewDict()
	}
	if err := checkInput(vars, t.limits.Depth); err != nil {
		return "", at(err, t.name, 0)
	}
	rt := t.runtime()
	rt.ctx, rt.vars = ctx, vars
	_, err := rt.enter(t.root, nil).execAll(t.body)
	text := string(rt.buf)
	t.release(rt)
	if err != nil {
		return "", at(err, t.name, 0)
	}
	return text, nil
}

func (t *Template) runtime() *runtime {
	rt, ok := t.idle.Get().(*runtime)
	if !ok {
		rt = &runtime{t: t, values: make([]any, len(t.names)), buf: make([]byte, 0, 4096)}
	}
	rt.steps, rt.memory, rt.nextPoll = t.limits.Steps, t.limits.Memory, t.limits.Steps
	return rt
}

// maxKept is the maximum size in bytes of an output buffer that is kept for the next render.
const maxKept = 1 << 20

// release keeps the memory of a finished render for reuse, without its content.
func (t *Template) release(rt *runtime) {
	if cap(rt.buf) > maxKept {
		return
	}
	clear(rt.values)
	calls := rt.calls[:min(len(rt.calls), 16)]
	clear(rt.calls[len(calls):])
	clear(rt.paths)
	*rt = runtime{t: t, values: rt.values, buf: rt.buf[:0], calls: calls, paths: rt.paths}
	t.idle.Put(rt)
}

// runtime is the state of one render.
type runtime struct {
	t        *Template
	ctx      context.Context //nolint:containedctx // lives for one Render call, like the struct
	vars     *Dict
	values   []any // values of t.names; nil before the first lookup
	buf      []byte
	captured int              // start in buf of the block that is being captured
	calls    []*call          // finished calls, for reuse
	paths    map[string][]any // parsed attribute arguments of filters, keyed by the argument's string
	steps    int64            // number of steps that the render may still take
	nextPoll int64            // the context is checked when steps falls below nextPoll
	memory   int64            // number of bytes that the render may still allocate
	depth    int
}

const pollEvery = 1024

// step charges n units of work and checks for cancellation.
func (rt *runtime) step(n int) error {
	rt.steps -= int64(n)
	if rt.steps > rt.nextPoll {
		return nil
	}
	if rt.steps < 0 {
		return &LimitError{"steps", rt.t.limits.Steps}
	}
	rt.nextPoll = rt.steps - pollEvery
	if err := rt.ctx.Err(); err != nil {
		return fmt.Errorf("template %s: %w", rt.t.name, err)
	}
	return nil
}

// grow charges the creation of a value of n bytes. It must be called before the allocation.
func (rt *runtime) grow(n int) error {
	if n < 0 || int64(n) > rt.t.limits.Output {
		return &LimitError{"output bytes", rt.t.limits.Output}
	}
	if rt.memory -= int64(n); rt.memory < 0 {
		return &LimitError{"memory bytes", rt.t.limits.Memory}
	}
	return rt.step(n >> 6)
}

// items charges the creation of a list of n elements.
func (rt *runtime) items(n int) error {
	if n < 0 || int64(n) > rt.t.limits.Output/16 {
		return &LimitError{"output bytes", rt.t.limits.Output}
	}
	if err := rt.grow(16 * n); err != nil {
		return err
	}
	return rt.step(n)
}

// checkBuf returns an error if the output, or the block that is being captured, is too long.
func (rt *runtime) checkBuf() error {
	if int64(len(rt.buf)-rt.captured) > rt.t.limits.Output {
		return &LimitError{"output bytes", rt.t.limits.Output}
	}
	return nil
}

func (rt *runtime) push() error {
	if rt.depth >= rt.t.limits.Depth {
		return &LimitError{"depth", int64(rt.t.limits.Depth)}
	}
	rt.depth++
	return nil
}

func (rt *runtime) pop() { rt.depth-- }

// capture runs fn, removes from the output what fn wrote, and returns it.
func (rt *runtime) capture(fn func() error) (string, error) {
	start := len(rt.buf)
	if err := rt.block(fn); err != nil {
		return "", err
	}
	return rt.cut(start), nil
}

// block runs fn and leaves its text in the output. The text is limited and charged like a value.
func (rt *runtime) block(fn func() error) error {
	outer := rt.captured
	rt.captured = len(rt.buf)
	err := fn()
	n := len(rt.buf) - rt.captured
	rt.captured = outer
	if err != nil {
		return err
	}
	return rt.grow(n)
}

// cut removes from the output what was written since start, and returns it.
func (rt *runtime) cut(start int) string {
	text := string(rt.buf[start:])
	rt.buf = rt.buf[:start]
	return text
}

// frame holds the variables of one running function: the template, a macro, a recursive loop.
type frame struct {
	rt    *runtime
	outer *frame // frame of the function that encloses this one in the source
	slots []any
	few   [6]any // storage for up to six slots
}

func (rt *runtime) enter(fn *function, outer *frame) *frame {
	f := &frame{rt: rt, outer: outer}
	if fn.slots <= len(f.few) {
		f.slots = f.few[:fn.slots]
	} else {
		f.slots = make([]any, fn.slots)
	}
	for i := range f.slots {
		f.slots[i] = missing
	}
	f.open(&fn.scope)
	return f
}

func (f *frame) up(hops int) *frame {
	for ; hops > 0; hops-- {
		f = f.outer
	}
	return f
}

// open sets the variables of a scope to their initial values.
func (f *frame) open(s *scope) {
	for i := range s.loads {
		switch l := &s.loads[i]; l.kind {
		case loadName:
			f.slots[l.slot] = f.rt.lookup(l.name)
		case loadOuter:
			f.slots[l.slot] = f.up(l.from.hops).slots[l.from.slot]
		case loadMissing:
			f.slots[l.slot] = missing
		case loadParam: // the function that opens the scope sets it
		}
	}
}

// close makes the variables of a scope unknown again, for macros that still refer to them too.
func (f *frame) close(s *scope) {
	for i := range s.loads {
		f.slots[s.loads[i].slot] = missing
	}
}

// lookup returns a name's value from the caller's variables, else from the globals. Neither changes
// during a render.
func (rt *runtime) lookup(name int) any {
	if v := rt.values[name]; v != nil {
		if v == none {
			return nil
		}
		return v
	}
	key := rt.t.names[name]
	v, ok := rt.vars.Get(key)
	if !ok {
		if v, ok = globals[key]; !ok {
			v = missing
		}
	}
	rt.values[name] = v
	if v == nil {
		rt.values[name] = none
	}
	return v
}
