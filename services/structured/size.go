package structured

import (
	"fmt"
	"slices"
)

// maxSize bounds the size of a constraint, in units of 2.5 µs of CPU time: what one core took to compile it
// with xgrammar 0.1.27 for a vocabulary of 49,152 tokens. vLLM compiles one constraint at a
// time, and all requests with constraints wait for it.
//
// The size is that of the automata that xgrammar builds. An automaton has a copy of the repeated part for
// each repetition, so that the numbers of nested repetitions multiply. See the package's comment for what
// was measured.
const maxSize = 1_000_000

// Sizes of the parts of a grammar in xgrammar's automaton, as measured.
const (
	// ruleSize is the size of one rule of xgrammar's grammar. Each repeated or alternative group
	// becomes a rule.
	ruleSize = 100
	// byteSize is the size of one state of an automaton for each byte that the state accepts, as xgrammar
	// checks all tokens that start with this byte. For a state with more than mostBytes bytes, xgrammar
	// checks all tokens.
	byteSize  = 16
	mostBytes = 160
	// copiedSize is the size of one byte of a literal in a copied group.
	copiedSize = 16
	// runSize is the size of an element that may be empty, for each element beside it that may be empty
	// too.
	runSize = 7
	// inlineSize is the size of a byte or a class of a rule that xgrammar inlines.
	inlineSize = 3
	// pairFactor is the number of pairs of states that xgrammar compares in one unit of size.
	pairFactor = 32
	// copies is the largest number of repetitions that xgrammar unrolls. A class with more
	// repetitions has longStates states.
	copies     = 15
	longStates = 60
)

// Factors of the size of states from which xgrammar can match a token in many ways: by short
// ambiguous repetitions of a class, by a long one, and by several long ones. ambiguityFactor is added
// for each ambiguous repetition to the right, up to maxAmbiguity.
const (
	shortFactor     = 8
	longFactor      = 4
	severalFactor   = 50
	ambiguityFactor = 1
	maxAmbiguity    = 8
)

// maxSteps limits the number of elements that the search for exponentially growing automata
// visits.
const maxSteps = 1 << 17

// sizer adds up the size of a constraint.
type sizer struct {
	size      int64
	slow      int // long ambiguous repetitions of a class to the right
	ambiguous int // ambiguous repetitions to the right
	steps     int
	rules     map[string]*rule
	// ambiguousConstruct is the construct that can be read in too many ways. It is empty if there is no such construct.
	ambiguousConstruct string
	// largest is the repetition that adds most to the size.
	largest     *expr
	largestSize int64
}

// clamped keeps sizes from overflowing.
func clamped(n int64) int64 { return min(n, 1<<30) }

func (s *sizer) add(n, times int64) { s.size = clamped(s.size + clamped(n)*clamped(times)) }

// full reports whether the size is above the bound.
func (s *sizer) full() bool { return s.size > maxSize }

// refusal is the error about a constraint whose size is above the bound.
func (s *sizer) refusal(b Backends, path, what string) error {
	if !s.full() {
		return s.checkAmbiguity(b, path)
	}
	construct := fmt.Sprintf("%s whose size is above %d", what, maxSize)
	if s.largest != nil && s.largestSize > maxSize/2 {
		construct += ", most of it in the repetition " + s.largest.quantifier() + ","
	}
	return b.need(Guidance, path, construct)
}

// quantifier writes the number of repetitions.
func (x *expr) quantifier() string {
	switch {
	case x.sign && x.most == 1:
		return "?"
	case x.sign && x.least == 1:
		return "+"
	case x.sign:
		return "*"
	case x.most == unlimited:
		return fmt.Sprintf("{%d,}", x.least)
	case x.least == x.most:
		return fmt.Sprintf("{%d}", x.least)
	}
	return fmt.Sprintf("{%d,%d}", x.least, x.most)
}

// whole adds an expression after which only the bytes of follow may come.
func (s *sizer) whole(x *expr, follow byteSet) {
	s.mark(x, follow)
	s.checkWhole(x)
	s.part(x, 1, false)
	if !s.full() {
		s.chains(x)
	}
}

// varies reports whether a repetition has several numbers.
func (x *expr) varies() bool { return x.least != x.most }

// limit returns the greatest number of repetitions, or copies + 1 for none.
func (x *expr) limit() int {
	if x.most == unlimited {
		return copies + 1
	}
	return min(x.most, copies+1)
}

// long reports whether xgrammar doesn't write each number out.
func (x *expr) long() bool { return x.most > copies || x.least >= copies }

// single reports whether an expression is one state of an automaton.
func (x *expr) single() bool { return x.op == opClass || x.op == opLiteral && x.length == 1 }

// mark sets the fields ambiguous and slow of an expression. follow has the bytes that may come after the
// expression.
func (s *sizer) mark(x *expr, follow byteSet) {
	switch x.op {
	case opRef:
		r := s.rules[x.name]
		r.follow, x.slow = r.follow.with(follow), r.body.slow
		x.depth, x.loops = r.body.depth, r.body.loops
	case opSequence:
		loops := 0
		for _, sub := range slices.Backward(x.subs) {
			s.mark(sub, follow)
			loops += sub.loops
			x.take(sub)
			if !sub.nullable {
				follow = byteSet{}
			}
			follow = follow.with(sub.first)
		}
		x.loops = min(loops, maxLoops+1)
	case opChoice:
		for _, sub := range x.subs {
			s.mark(sub, follow)
			x.take(sub)
		}
	case opRepeat:
		sub := x.subs[0]
		x.ambiguous = x.varies() && sub.first.meets(follow)
		if x.most != 1 {
			follow = follow.with(sub.first)
		}
		s.mark(sub, follow)
		x.depth = sub.depth
		if x.ambiguous {
			x.depth = min(sub.depth, maxDepth) + 1
		}
		x.loops = sub.loops * x.limit()
		if x.ambiguous && !sub.single() && x.limit() > copies {
			x.loops++
		}
		x.loops = min(x.loops, maxLoops+1)
		s.checkRepetition(x)
		x.slow = sub.slow || x.ambiguous && x.long() && sub.single()
	case opLiteral, opClass:
	}
}

// take sets what holds for a part of an expression.
func (x *expr) take(sub *expr) {
	x.slow = x.slow || sub.slow
	x.depth = max(x.depth, sub.depth)
	x.loops = max(x.loops, sub.loops)
}

// classSize is that of a state which reads a class.
func classSize(x *expr) int64 { return byteSize * int64(min(x.first.len(), mostBytes)) }

// factor is for states from which tokens reach long ambiguous repetitions.
func (s *sizer) factor() int64 {
	ambiguity := int64(ambiguityFactor * min(s.ambiguous, maxAmbiguity))
	switch s.slow {
	case 0:
		return 1 + ambiguity
	case 1:
		return longFactor + ambiguity
	}
	return severalFactor
}

// part adds an expression of which xgrammar makes a number of copies.
func (s *sizer) part(x *expr, times int64, copied bool) {
	switch x.op {
	case opLiteral:
		if copied {
			times *= copiedSize
		}
		s.add(int64(x.length), times)
	case opClass:
		s.add(classSize(x)*s.factor(), times)
	case opRef:
		s.add(ruleSize, times)
		if x.slow {
			s.slow++
		}
		s.ambiguous += min(x.depth, 1)
	case opSequence:
		run := int64(0)
		for _, sub := range slices.Backward(x.subs) {
			s.part(sub, times, copied)
			if !sub.nullable {
				run = 0
				continue
			}
			run++
			s.add(runSize*run, times)
		}
	case opChoice:
		s.add(ruleSize, times)
		slow, vague := s.slow, s.ambiguous
		mostSlow, mostAmbiguous := slow, vague
		for _, sub := range x.subs {
			s.slow, s.ambiguous = slow, vague
			s.lead(sub, times)
			s.part(sub, times, copied)
			mostSlow, mostAmbiguous = max(mostSlow, s.slow), max(mostAmbiguous, s.ambiguous)
		}
		s.slow, s.ambiguous = mostSlow, mostAmbiguous
	case opRepeat:
		before := s.size
		s.repetition(x, times, copied)
		if added := s.size - before; added > s.largestSize {
			s.largest, s.largestSize = x, added
		}
	}
}

// lead adds the size of the rule with which an alternative starts. xgrammar replaces the rule's name by the
// rule's body if the body names no other rule.
func (s *sizer) lead(x *expr, times int64) {
	if head := x.head(); head.op == opRef {
		s.add(s.rules[head.name].inline, times)
	}
}

// plain reports whether xgrammar makes no rules of what is in an expression.
func (x *expr) plain() bool {
	star := x.least == 0 && x.most == unlimited && x.op == opRepeat && x.subs[0].op == opClass
	if x.op == opRef || x.op == opRepeat && (x.long() || x.sign && !star) {
		return false
	}
	return !slices.ContainsFunc(x.subs, func(sub *expr) bool { return !sub.plain() })
}

// elements is how many bytes and classes xgrammar writes an expression out as.
func (x *expr) elements() int64 {
	n := int64(x.length)
	if x.op == opClass {
		n = 1
	}
	for _, sub := range x.subs {
		n = clamped(n + sub.elements())
	}
	if x.op == opRepeat {
		n = clamped(n * x.copies())
	}
	return n
}

func (s *sizer) repetition(x *expr, times int64, copied bool) {
	if x.sign { // the repetition becomes a separate rule, which all copies of the surrounding expression share
		s.add(ruleSize, times)
		times = 1
	}
	if x.subs[0].single() {
		s.repeatedClass(x, times, copied)
	} else {
		s.repeatedGroup(x, times, copied)
	}
}

func (s *sizer) repeatedGroup(x *expr, times int64, copied bool) {
	sub := x.subs[0]
	if x.most != 1 && sub.slow { // the next repetition follows
		s.slow += 2
	}
	if x.most != 1 && sub.depth > 0 {
		s.ambiguous += 2
	}
	if x.ambiguous {
		s.ambiguous++
	}
	if x.varies() {
		s.add(ruleSize, times)
	}
	number := x.copies()
	s.lead(sub, clamped(times*min(number, copies)))
	s.part(sub, clamped(times*number), copied || number > 1)
}

func (s *sizer) repeatedClass(x *expr, times int64, copied bool) {
	states := int64(x.most)
	switch {
	case x.sign:
		states = x.copies()
	case x.most > copies && x.varies():
		states = longStates
	case x.most > copies:
		states = copies + 1
	case x.most == unlimited:
		states = int64(min(x.least, copies) + 1)
	}
	factor := s.factor()
	switch {
	case !x.ambiguous:
	case !x.long():
		factor = max(factor, shortFactor+s.factor()-1)
		s.ambiguous++
	default:
		s.ambiguous++
		s.slow++
		if copied || times > 1 {
			s.slow++
		}
		factor = s.factor()
	}
	s.add(clamped(states*classSize(x.subs[0]))*factor, times)
}

// copies is how often xgrammar writes out what is repeated.
func (x *expr) copies() int64 {
	least, most := int64(x.least), int64(x.most)
	switch {
	case x.sign && least == 1: // one, or one before others
		return 2
	case x.sign:
		return 1
	case most == unlimited:
		return min(least, copies) + 1
	case most > copies && least >= copies:
		return copies + 1
	case most > copies:
		return sum(max(least, 1), copies-1) + copies + 1
	}
	return sum(max(least, 1), most)
}

// sum is that of the integers from one to another.
func sum(from, to int64) int64 {
	if from > to {
		return 0
	}
	return (from + to) * (to - from + 1) / 2
}

// chain is a sequence from which xgrammar builds a deterministic automaton. If the sequence has a repeated
// class, the automaton has a state for each subset of the elements after the class. Once an element accepts
// only some of the characters of the class, each later element doubles the number of states.
type chain struct {
	repeated byteSet // the characters that are repeated
	filtered bool    // reports whether an element has accepted only some of the repeated characters
	doubled  int
}

// chains adds what the automata of an expression have more than states of elements.
func (s *sizer) chains(x *expr) {
	switch x.op {
	case opChoice:
		for _, sub := range x.subs {
			s.chains(sub)
		}
		s.overlaps(x)
	case opSequence, opRepeat, opClass, opLiteral, opRef:
		s.follow(x, &chain{})
	}
}

// overlaps doubles the states for each alternative that starts with a class of which another
// takes a character as well.
func (s *sizer) overlaps(x *expr) {
	var all, twice byteSet
	for _, sub := range x.subs {
		for i := range all {
			twice[i] |= all[i] & sub.first[i]
		}
		all = all.with(sub.first)
	}
	doubled := 0
	for _, sub := range x.subs {
		if head := sub.head(); head.op == opClass && head.first.meets(twice) && sub != head {
			doubled++
			s.add(classSize(head), 1<<min(doubled, 30))
		}
	}
}

// head is the first element of an expression, without a number of repetitions that is one number.
func (x *expr) head() *expr {
	for {
		switch {
		case x.op == opSequence && len(x.subs) > 0:
			x = x.subs[0]
		case x.op == opRepeat && !x.varies():
			x = x.subs[0]
		default:
			return x
		}
	}
}

// follow adds an expression to a chain. A group of alternatives, and a group with several possible numbers
// of repetitions, is a rule in xgrammar and therefore one element of the chain.
func (s *sizer) follow(x *expr, c *chain) {
	s.steps++
	if s.steps > maxSteps {
		s.size = clamped(1 << 30)
	}
	if s.full() {
		return
	}
	switch x.op {
	case opLiteral:
		c.element(x)
	case opClass:
		doubled := c.element(x)
		s.add(classSize(x), 1<<doubled-1)
		s.add(1, 1<<(2*doubled)/pairFactor)
	case opRef:
		*c = chain{}
	case opSequence:
		for _, sub := range x.subs {
			s.follow(sub, c)
		}
	case opChoice:
		s.chains(x)
		*c = chain{}
	case opRepeat:
		s.followRepeat(x, c)
	}
}

func (s *sizer) followRepeat(x *expr, c *chain) {
	sub := x.subs[0]
	switch {
	case sub.op == opClass && x.most == unlimited && (!x.sign || x.least == 0):
		c.repeated = c.repeated.with(sub.first)
	case !x.varies() && x.least <= copies:
		for range x.least {
			s.follow(sub, c)
		}
	default:
		own := &chain{}
		number := x.most
		if number == unlimited {
			number = max(x.least, 1)
		}
		for range min(number, copies) {
			s.follow(sub, own)
		}
		*c = chain{}
	}
}

// element goes over one and returns how often the states have doubled.
func (c *chain) element(x *expr) int {
	if x.op == opClass && c.filtered && c.doubled < 30 {
		c.doubled++
	}
	if c.repeated.meets(x.first) && !x.first.contains(c.repeated) {
		c.filtered = true
	}
	return c.doubled
}

// maxPasses is the maximum number of passes over a grammar's rules that find which bytes may come first in
// each rule and after each rule. If the passes don't suffice, any byte is assumed.
const maxPasses = 16

// size is that of the rules that root needs.
func (g *grammarParser) size() *sizer {
	s := &sizer{rules: g.rules}
	_, order := g.needed()
	s.add(ruleSize, int64(len(order)))
	if s.full() {
		return s
	}
	passes(func(last bool) (changed bool) {
		for _, r := range order {
			changed = g.settle(r.body, last) || changed
		}
		return changed
	})
	passes(func(last bool) bool { return s.markRules(order, last) })
	s.checkRecursiveRules(order)
	s.checkWhole(g.rules["root"].body)
	for _, r := range order {
		if r.body.plain() {
			r.inline = clamped(inlineSize * r.body.elements())
		}
	}
	slow := slices.ContainsFunc(order, func(r *rule) bool { return r.body.slow })
	for _, r := range order {
		s.slow, s.ambiguous = 0, 0
		if slow { // the slow repetition may come after the rule
			s.slow = 1
		}
		s.lead(r.body, 1)
		s.part(r.body, 1, false)
	}
	for _, r := range order {
		s.chains(r.body)
	}
	return s
}

// passes repeats a pass until the pass changes nothing. After maxPasses passes, it runs a last pass, which
// must assume any byte where the bytes aren't known.
func passes(pass func(last bool) (changed bool)) {
	for range maxPasses {
		if !pass(false) {
			return
		}
	}
	pass(true)
}

// settle finds what an expression starts with, by what the rules in it do as far as known.
func (g *grammarParser) settle(x *expr, last bool) (changed bool) {
	for _, sub := range x.subs {
		changed = g.settle(sub, last) || changed
	}
	first, nullable := x.first, x.nullable
	switch x.op {
	case opRef:
		body := g.rules[x.name].body
		x.first, x.nullable = x.first.with(body.first), body.nullable || last
		if last {
			x.first = byteSet{}.not()
		}
	case opSequence:
		x.nullable = true
		for _, sub := range x.subs {
			if x.nullable {
				x.first = x.first.with(sub.first)
			}
			x.nullable = x.nullable && sub.nullable
		}
	case opChoice:
		for _, sub := range x.subs {
			x.first, x.nullable = x.first.with(sub.first), x.nullable || sub.nullable
		}
	case opRepeat:
		x.first, x.nullable = x.subs[0].first, x.least == 0 || x.subs[0].nullable
	case opLiteral, opClass:
	}
	return changed || x.first != first || x.nullable != nullable
}

// markRules marks the rules' bodies, and reports whether it has learnt what follows one.
func (s *sizer) markRules(order []*rule, last bool) (changed bool) {
	type known struct {
		follow byteSet
		depth  int
		loops  int
		slow   bool
	}
	before := make([]known, len(order))
	for i, r := range order {
		if last {
			r.follow = byteSet{}.not()
		}
		before[i] = known{r.follow, r.body.depth, r.body.loops, r.body.slow}
	}
	for _, r := range order {
		s.mark(r.body, r.follow)
	}
	for i, r := range order {
		changed = changed || before[i] != known{r.follow, r.body.depth, r.body.loops, r.body.slow}
	}
	return changed
}
