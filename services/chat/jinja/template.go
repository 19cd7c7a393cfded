package jinja

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Limits bound what one Parse or Render may use, so that no template can hang or kill the process.
// Zero fields take the value of DefaultLimits.
type Limits struct {
	// Steps counts executed statements, calls and loop passes, plus the work inside built-ins
	// (one step per item, one per 64 bytes of text).
	Steps int64
	// Depth counts nested macro calls, recursive loops and nested values when printing.
	Depth int
	// Output is the largest text in bytes that a render, or any single value inside it, may reach.
	Output int64
	// Memory is the sum in bytes of all values that a render creates, garbage included.
	Memory int64
}

// DefaultLimits suit chats of several megabytes.
func DefaultLimits() Limits {
	return Limits{Steps: 10_000_000, Depth: 150, Output: 64 << 20, Memory: 1 << 30}
}

// Option changes how a template renders.
type Option func(*Template)

// WithLimits replaces DefaultLimits. Fields that are zero or less keep their default.
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

// Template is a compiled template. It is immutable: any number of goroutines may render it at once.
type Template struct {
	name   string
	body   []stmt
	root   *function
	names  []string // names looked up in the variables and globals, by their number in the tree
	limits Limits
	now    func() time.Time
	idle   sync.Pool // of *runtime, for their memory
}

// Parse compiles source. The name stands in error messages only. Every error is a *SyntaxError.
func Parse(name, source string, opts ...Option) (*Template, error) {
	t := &Template{name: name, limits: DefaultLimits(), now: time.Now} //nolint:forbidigo // strftime_now's clock, unless WithClock gives another
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

// Render executes the template with the variables of vars, which it reads and never changes; vars and
// all that it holds must not change meanwhile. A nil vars is an empty one. Errors are a *RaisedError
// (the template called raise_exception), a *RenderError, a *LimitError, or wrap ctx's error.
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

// maxKept is the largest output in bytes whose memory is kept for the next render.
const maxKept = 1 << 20

// release keeps the memory of a render that is over, and nothing of what it knew.
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
	ctx      context.Context //nolint:containedctx // lives for one Render call, as the struct does
	vars     *Dict
	values   []any // values of t.names, nil until first looked up
	buf      []byte
	captured int              // where in buf the block begins that is captured at the moment
	calls    []*call          // to be used again
	paths    map[string][]any // attributes that filters were given, parsed
	steps    int64            // left
	nextPoll int64            // when steps falls below it, the context is asked again
	memory   int64            // left
	depth    int
}

const pollEvery = 1024

// step charges n units of work and notices cancellation.
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

// grow charges the making of a value of n bytes. It is called before the memory is taken.
func (rt *runtime) grow(n int) error {
	if n < 0 || int64(n) > rt.t.limits.Output {
		return &LimitError{"output bytes", rt.t.limits.Output}
	}
	if rt.memory -= int64(n); rt.memory < 0 {
		return &LimitError{"memory bytes", rt.t.limits.Memory}
	}
	return rt.step(n >> 6)
}

// items charges the making of a list of n elements.
func (rt *runtime) items(n int) error {
	if n < 0 || int64(n) > rt.t.limits.Output/16 {
		return &LimitError{"output bytes", rt.t.limits.Output}
	}
	if err := rt.grow(16 * n); err != nil {
		return err
	}
	return rt.step(n)
}

// checkBuf stops a render whose output, or the block captured at the moment, is too long.
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

// capture runs fn and returns what fn wrote, which it takes from the output.
func (rt *runtime) capture(fn func() error) (string, error) {
	start := len(rt.buf)
	if err := rt.block(fn); err != nil {
		return "", err
	}
	return rt.cut(start), nil
}

// block runs fn, whose text is bounded and charged for like a value, and leaves it in the output.
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

// cut takes what was written since start from the output.
func (rt *runtime) cut(start int) string {
	text := string(rt.buf[start:])
	rt.buf = rt.buf[:start]
	return text
}

// frame holds the variables of one running function: the template, a macro, a recursive loop.
type frame struct {
	rt    *runtime
	outer *frame // of the function in whose source this one stands
	slots []any
	few   [6]any // the slots, if there are no more
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

// open gives the variables of a scope their first values.
func (f *frame) open(s *scope) {
	for i := range s.loads {
		switch l := &s.loads[i]; l.kind {
		case loadName:
			f.slots[l.slot] = f.rt.lookup(l.name)
		case loadOuter:
			f.slots[l.slot] = f.up(l.from.hops).slots[l.from.slot]
		case loadMissing:
			f.slots[l.slot] = missing
		case loadParam: // set by whoever opens the scope
		}
	}
}

// close makes the variables of a scope unknown again, also to macros that still refer to them.
func (f *frame) close(s *scope) {
	for i := range s.loads {
		f.slots[s.loads[i].slot] = missing
	}
}

// lookup finds a name in the caller's variables, then among the globals. Neither changes during a render.
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
