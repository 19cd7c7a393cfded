package main

import (
	"context"
	"slices"
	"time"
)

// halfBody is half of the default --http-max-input-size, in bytes.
const halfBody = 32 << 20

// A field is filled to several sizes, each sizeFactor times the previous one.
const (
	sizeCount  = 4
	sizeFactor = 4
)

// series is the measurement of a target in one encoding: either the sizes up to the reader's limit,
// or the sizes beyond it up to half of the largest body.
type series struct {
	target *target
	zip    bool
	steps  []*step
}

func (c *series) String() string {
	if c.zip {
		return c.target.String() + ", gzipped"
	}
	return c.target.String()
}

// worst returns the measurement with the most CPU time.
func (c *series) worst() *step {
	return slices.MaxFunc(c.steps, func(a, b *step) int { return int(a.cpu - b.cpu) })
}

// scope is the extent of the measurement: make cost takes three minutes, cost --all an hour.
type scope struct {
	all bool
}

// probeSize, in bytes, is the size at which most readers refuse a body. textSize is the size for
// code that reads the content of strings.
const (
	probeSize = 8 << 20
	textSize  = 4 << 20
)

// has reports whether a target is measured.
func (s scope) has(t *target) bool { return s.all || !t.fill.further }

// most returns the size of a target's largest body.
func (s scope) most(t *target) int {
	if t.text && !s.all {
		return textSize
	}
	return halfBody
}

// measure measures requests with a target's field filled to several sizes.
func (m *meter) measure(ctx context.Context, t *target, s scope) ([]*series, error) {
	if _, err := m.base(ctx, t.call); err != nil {
		return nil, err
	}
	if skip, err := m.ignores(ctx, t); skip || err != nil {
		return nil, err
	}
	if t.text && !s.all {
		if list, err := m.quickCheck(ctx, t, s); len(list) > 0 || err != nil {
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
	// A compressed body is read like an uncompressed one after decompression, so only the largest
	// sizes are measured compressed.
	plans := []plan{{sizes(limit, 0), false}, {beyond, false}, {last(sizes(limit, 0)), true}, {last(beyond), true}}
	if !m.zips[t.call] { // gzip is refused whatever the content, so one body is enough
		plans[2].units, plans[3].units = nil, []int{top}
		if m.refused[t.call] {
			plans[3].units = nil
		}
		m.refused[t.call] = true
	}
	var list []*series
	for _, p := range plans {
		if len(p.units) == 0 {
			continue
		}
		steps, err := m.steps(ctx, t, p.units, p.zip)
		if err != nil {
			return nil, err
		}
		list = append(list, &series{t, p.zip, steps})
	}
	return list, nil
}

// ignores reports whether the server doesn't read a field as a JSON Schema, although the fill is
// for such fields.
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

// readingTime is the maximum CPU time of a text of textSize that is only passed on.
const readingTime = 60 * time.Millisecond

// quickCheck measures one long text. If it is cheap and gets the same response as a short text, further
// measurements aren't needed.
func (m *meter) quickCheck(ctx context.Context, t *target, s scope) ([]*series, error) {
	steps, err := m.steps(ctx, t, []int{t.units(s.most(t))}, false)
	if err != nil || steps[0].cpu > readingTime {
		return nil, err
	}
	short, err := m.classOf(ctx, t, 1)
	if err != nil || short != steps[0].answer.class() {
		return nil, err
	}
	return []*series{{t, false, steps}}, nil
}

// reach returns the largest body to send and the reader's limit, both in units. A limit of 0 means
// no limit.
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

// last returns the last size, if there is one.
func last(sizes []int) []int { return sizes[max(0, len(sizes)-1):] }

// sizes returns up to four sizes, each a quarter of the next one, up to most and above least.
func sizes(most, least int) []int {
	var list []int
	for n := most; n > least && len(list) < sizeCount; n /= sizeFactor {
		list = append(list, n)
	}
	slices.Reverse(list)
	return list
}

// limit returns the largest number of units with another response than top, to within an eighth. This
// is the reader's limit. limit returns 0 if top has the same response as one unit.
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
	const part = 8 // the result may be too small by this fraction of the limit
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

// classOf sends a body of this many units and returns the class of the response.
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

// largest returns the step with the most memory above the bound for its size.
func (c *series) largest() *step {
	return slices.MaxFunc(c.steps, func(a, b *step) int { return int(a.memory - a.memoryBound() - b.memory + b.memoryBound()) })
}

// excess returns the memory of that step minus the bound for its size.
func (c *series) excess() int64 { return c.largest().memory - memoryTimes*int64(c.largest().decoded) }
