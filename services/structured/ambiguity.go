package structured

import "fmt"

// maxDepth bounds how deep ambiguous repetitions nest.
const maxDepth = 2

// maxLoops is the largest number of ambiguous repetitions of groups without a low limit that an answer
// can go through. With more such repetitions in an answer, llguidance is slow as well.
const maxLoops = 2

// checkAmbiguity returns the error for expressions that xgrammar matches in very many ways at once. The
// engine would take seconds or minutes for each token of an answer. Such expressions are
// repetitions of an ambiguous part without a low limit, nested ambiguous repetitions, several
// in a row, and rules that refer to themselves in this way.
func (s *sizer) checkAmbiguity(b Backends, path string) error {
	if s.ambiguousConstruct == "" {
		return nil
	}
	return b.need(Guidance|Outlines, path, s.ambiguousConstruct)
}

// checkRepetition sets ambiguousConstruct for a repetition of which the parts are marked.
func (s *sizer) checkRepetition(x *expr) {
	sub := x.subs[0]
	switch {
	case sub.single() || sub.depth == 0:
	case x.most == unlimited || x.most > copies:
		s.ambiguousConstruct = "the repetition " + x.quantifier() + " of something whose parts can be split in several ways"
	case x.depth > maxDepth:
		s.ambiguousConstruct = "the repetition " + x.quantifier() + " around repetitions whose parts can be split in several ways"
	}
}

// checkWhole sets ambiguousConstruct for a whole expression that is marked.
func (s *sizer) checkWhole(x *expr) {
	if x.loops > maxLoops && s.ambiguousConstruct == "" {
		s.ambiguousConstruct = fmt.Sprintf("more than %d repetitions of groups in a row, whose parts can be split in several ways,", maxLoops)
	}
}

// checkRecursiveRules sets ambiguousConstruct for rules that name themselves.
func (s *sizer) checkRecursiveRules(order []*rule) {
	all := s.cyclic(order, func(x *expr) []*expr { return x.subs })
	left := s.cyclic(order, func(x *expr) []*expr { return ends(x, 1) })
	right := s.cyclic(order, func(x *expr) []*expr { return ends(x, -1) })
	for _, r := range order {
		switch {
		case all[r] && r.body.depth > 0:
			s.ambiguousConstruct = "the rule " + r.name + ", which repeats itself and whose parts can be split in several ways,"
		case left[r] && right[r]:
			s.ambiguousConstruct = "the rule " + r.name + ", which names itself both first and last,"
		}
	}
}

// ends returns the parts with which an expression may start, or end if step is -1.
func ends(x *expr, step int) []*expr {
	if x.op != opSequence {
		return x.subs
	}
	at := 0
	if step < 0 {
		at = len(x.subs) - 1
	}
	var parts []*expr
	for ; at >= 0 && at < len(x.subs); at += step {
		parts = append(parts, x.subs[at])
		if !x.subs[at].nullable {
			break
		}
	}
	return parts
}

// cyclic returns the rules that refer to themselves, directly or through other rules, in the given
// parts of expressions.
func (s *sizer) cyclic(order []*rule, parts func(*expr) []*expr) map[*rule]bool {
	c := &components{sizer: s, parts: parts, index: map[*rule]int{}, low: map[*rule]int{}, open: map[*rule]bool{}, cyclic: map[*rule]bool{}}
	for _, r := range order {
		if c.index[r] == 0 {
			c.visit(r)
		}
	}
	return c.cyclic
}

// components finds strongly connected components of rules by Tarjan's algorithm.
type components struct {
	sizer  *sizer
	parts  func(*expr) []*expr
	index  map[*rule]int // position of each rule in the order of visits, from 1
	low    map[*rule]int // the lowest index to which each rule leads back
	open   map[*rule]bool
	stack  []*rule
	cyclic map[*rule]bool
}

func (c *components) visit(r *rule) {
	c.index[r] = len(c.index) + 1
	c.low[r] = c.index[r]
	c.stack = append(c.stack, r)
	c.open[r] = true
	c.refs(r, r.body)
	if c.low[r] != c.index[r] {
		return
	}
	for last := len(c.stack) - 1; ; last-- {
		other := c.stack[last]
		c.open[other] = false
		c.stack = c.stack[:last]
		if other == r {
			return
		}
		c.cyclic[other], c.cyclic[r] = true, true
	}
}

func (c *components) refs(r *rule, x *expr) {
	if x.op == opRef {
		other := c.sizer.rules[x.name]
		switch {
		case other == r:
			c.cyclic[r] = true
		case c.index[other] == 0:
			c.visit(other)
			c.low[r] = min(c.low[r], c.low[other])
		case c.open[other]:
			c.low[r] = min(c.low[r], c.index[other])
		}
		return
	}
	for _, part := range c.parts(x) {
		c.refs(r, part)
	}
}
