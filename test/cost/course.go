package main

import (
	"context"
	"slices"
	"time"
)

// halfBody is half of the default --http-max-input-size, in bytes.
const halfBody = 32 << 20

// A field is filled to some sizes, each sizeFactor times the one before.
const (
	sizeCount  = 4
	sizeFactor = 4
)

// course is a target measured by one encoding: the sizes up to the reader's limit, or those
// beyond it up to half of the largest body.
type course struct {
	target *target
	zip    bool
	steps  []*step
}

func (c *course) String() string {
	if c.zip {
		return c.target.String() + ", gzipped"
	}
	return c.target.String()
}

// worst is the step that took the most CPU.
func (c *course) worst() *step {
	return slices.MaxFunc(c.steps, func(a, b *step) int { return int(a.cpu - b.cpu) })
}

// scope is how much is measured: make cost takes three minutes, cost --all an hour.
type scope struct {
	all bool
}

// probeSize is enough for most readers to refuse a body, in bytes, and textSize enough for
// what reads the content of strings.
const (
	probeSize = 8 << 20
	textSize  = 4 << 20
)

// has reports whether a target is measured.
func (s scope) has(t *target) bool { return s.all || !t.fill.further }

// most is the size of a target's largest body.
func (s scope) most(t *target) int {
	if t.text && !s.all {
		return textSize
	}
	return halfBody
}

// measure fills a target's field.
func (m *meter) measure(ctx context.Context, t *target, s scope) ([]*course, error) {
	if _, err := m.base(ctx, t.call); err != nil {
		return nil, err
	}
	if skip, err := m.ignores(ctx, t); skip || err != nil {
		return nil, err
	}
	if t.text && !s.all {
		if list, err := m.glance(ctx, t, s); len(list) > 0 || err != nil {
			return list, err
		}
	}
	top, limit, err := m.reach(ctx, t, s)
	if err != nil {
		return nil, err
	}
	beyond := sizes(top, limit)
	if limit > 0 && !s.all {
		beyond = []int{top}
	}
	type plan struct {
		units []int
		zip   bool
	}
	// What is compressed is read as what isn't once it is decompressed.
	plans := []plan{{sizes(limit, 0), false}, {beyond, false}, {last(sizes(limit, 0)), true}, {last(beyond), true}}
	if !m.zips[t.call] { // whatever is in it, it is refused: one shows it
		plans[2].units, plans[3].units = nil, []int{top}
		if m.refused[t.call] {
			plans[3].units = nil
		}
		m.refused[t.call] = true
	}
	var list []*course
	for _, p := range plans {
		if len(p.units) == 0 {
			continue
		}
		steps, err := m.steps(ctx, t, p.units, p.zip)
		if err != nil {
			return nil, err
		}
		list = append(list, &course{t, p.zip, steps})
	}
	return list, nil
}

// ignores reports whether a field that a JSON Schema would fill isn't read as one.
func (m *meter) ignores(ctx context.Context, t *target) (bool, error) {
	if t.schema == nil {
		return false, nil
	}
	var classes []string
	for _, value := range []string{`{"type":0}`, `{"a":0}`} {
		class, err := m.answered(ctx, t.call, t.schema(value))
		if err != nil {
			return false, err
		}
		classes = append(classes, class)
	}
	return classes[0] == classes[1], nil
}

// readingTime is the CPU time that a text of textSize may take that is only passed on.
const readingTime = 60 * time.Millisecond

// glance measures a long text alone. Nothing more is to be seen of those that are cheap and
// answered as a short one is.
func (m *meter) glance(ctx context.Context, t *target, s scope) ([]*course, error) {
	steps, err := m.steps(ctx, t, []int{t.units(s.most(t))}, false)
	if err != nil || steps[0].cpu > readingTime {
		return nil, err
	}
	short, err := m.classOf(ctx, t, 1)
	if err != nil || short != steps[0].answer.class() {
		return nil, err
	}
	return []*course{{t, false, steps}}, nil
}

// reach finds the largest body to send and the reader's limit, both in units. A limit of 0
// is none.
func (m *meter) reach(ctx context.Context, t *target, s scope) (top, limit int, err error) {
	sizes := []int{s.most(t)}
	if !s.all && sizes[0] > probeSize {
		sizes = []int{probeSize, sizes[0]}
	}
	for _, size := range sizes {
		top = t.units(size)
		if limit, err = m.limit(ctx, t, top); err != nil || limit > 0 {
			break
		}
	}
	return top, limit, err
}

// last is the last size, if there is one.
func last(sizes []int) []int { return sizes[max(0, len(sizes)-1):] }

// sizes are up to four, each a quarter of the next, up to the most and above the least.
func sizes(most, least int) []int {
	var list []int
	for n := most; n > least && len(list) < sizeCount; n /= sizeFactor {
		list = append(list, n)
	}
	slices.Reverse(list)
	return list
}

// limit finds the largest number of units that is answered otherwise than the top, to an
// eighth: the reader's limit, or 0 where the top is answered as one unit is.
func (m *meter) limit(ctx context.Context, t *target, top int) (int, error) {
	at, err := m.classOf(ctx, t, top)
	if err != nil {
		return 0, err
	}
	within, beyond := 0, top
	for n := 1; n < top; n *= sizeFactor {
		class, err := m.classOf(ctx, t, n)
		if err != nil {
			return 0, err
		}
		if class == at {
			beyond = n
			break
		}
		within = n
	}
	const part = 8 // of the limit, which the answer may be off by
	for beyond-within > max(1, within/part) {
		middle := (within + beyond) / 2
		class, err := m.classOf(ctx, t, middle)
		if err != nil {
			return 0, err
		}
		if class == at {
			beyond = middle
		} else {
			within = middle
		}
	}
	return within, nil
}

// classOf has a body of so many units answered.
func (m *meter) classOf(ctx context.Context, t *target, units int) (string, error) {
	s, err := m.step(ctx, t, units, false)
	if err != nil {
		return "", err
	}
	return s.answer.class(), nil
}

func (m *meter) answered(ctx context.Context, c *call, body []byte) (string, error) {
	p, err := c.pack(body, false)
	if err != nil {
		return "", err
	}
	m.sent++
	m.atRest = false
	got, err := m.client.send(ctx, p)
	return got.class(), err
}

// greatest is the step that took the most memory beside what its size allows.
func (c *course) greatest() *step {
	return slices.MaxFunc(c.steps, func(a, b *step) int { return int(a.memory - a.memoryBound() - b.memory + b.memoryBound()) })
}

// excess is the memory of that step without what its size allows.
func (c *course) excess() int64 { return c.greatest().memory - memoryTimes*int64(c.greatest().decoded) }
