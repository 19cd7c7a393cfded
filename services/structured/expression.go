package structured

import "math/bits"

// byteSet is a set of bytes.
type byteSet [4]uint64

// span returns the bytes from one to another.
func span(from, to byte) (s byteSet) {
	for c := int(from); c <= int(to); c++ {
		s[c>>6] |= 1 << (c & 63)
	}
	return s
}

func (s byteSet) with(t byteSet) byteSet {
	return byteSet{s[0] | t[0], s[1] | t[1], s[2] | t[2], s[3] | t[3]}
}

func (s byteSet) meets(t byteSet) bool {
	return s[0]&t[0]|s[1]&t[1]|s[2]&t[2]|s[3]&t[3] != 0
}

func (s byteSet) contains(t byteSet) bool { return s.with(t) == s }

func (s byteSet) not() byteSet { return byteSet{^s[0], ^s[1], ^s[2], ^s[3]} }

func (s byteSet) len() int {
	return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) + bits.OnesCount64(s[2]) + bits.OnesCount64(s[3])
}

type op uint8

const (
	opLiteral  op = iota // the expression matches a string
	opClass              // the expression matches one character of a set
	opRef                // the expression refers to a rule of the grammar
	opSequence           // the expression matches all of subs in sequence
	opChoice             // the expression matches one of subs
	opRepeat             // the expression matches repetitions of subs[0]
)

// expr is a part of a regular expression, or of a rule's body.
type expr struct {
	op       op
	first    byteSet // the bytes with which the matched strings start
	nullable bool    // reports whether the expression matches the empty string
	length   int     // length of a literal in bytes
	name     string  // name of the rule to which an opRef refers
	subs     []*expr
	least    int
	most     int  // maximum number of repetitions; unlimited if there is none
	sign     bool // reports whether the repetition is written as ?, * or +
	// ambiguous reports whether one character of the answer can both continue and follow this
	// repetition. slow reports whether the expression contains a long ambiguous repetition of a class.
	// depth is the nesting depth of its ambiguous repetitions. loops is the number of ambiguous
	// repetitions of groups without a low limit, up to maxLoops + 1. size.go sets these fields.
	ambiguous, slow bool
	depth, loops    int
}

const unlimited = -1

func literalOf(text string) *expr {
	x := &expr{op: opLiteral, length: len(text), nullable: text == ""}
	if text != "" {
		x.first = span(text[0], text[0])
	}
	return x
}

// classOf returns a class of ASCII characters. A negated one has all characters beyond ASCII.
func classOf(set byteSet, negated bool) *expr {
	if negated {
		set = set.not()
	}
	return &expr{op: opClass, first: set}
}

func sequenceOf(subs []*expr) *expr {
	if len(subs) == 1 {
		return subs[0]
	}
	x := &expr{op: opSequence, subs: subs, nullable: true}
	for _, sub := range subs {
		if x.nullable {
			x.first = x.first.with(sub.first)
		}
		x.nullable = x.nullable && sub.nullable
	}
	return x
}

func choiceOf(subs []*expr) *expr {
	if len(subs) == 1 {
		return subs[0]
	}
	x := &expr{op: opChoice, subs: subs}
	for _, sub := range subs {
		x.first = x.first.with(sub.first)
		x.nullable = x.nullable || sub.nullable
	}
	return x
}

func repeatOf(sub *expr, least, most int, sign bool) *expr {
	return &expr{op: opRepeat, subs: []*expr{sub}, first: sub.first, nullable: sub.nullable || least == 0, least: least, most: most, sign: sign}
}

// builder makes an expr in the order in which it is read. Its zero value is ready.
type builder struct {
	groups []group // the open groups, the innermost last
}

type group struct{ choices, sequence []*expr }

func (b *builder) open() { b.groups = append(b.groups, group{}) }

// or starts the next alternative of the innermost group.
func (b *builder) or() {
	g := &b.groups[len(b.groups)-1]
	g.choices, g.sequence = append(g.choices, sequenceOf(g.sequence)), nil
}

// close ends the innermost group.
func (b *builder) close() *expr {
	b.or()
	last := len(b.groups) - 1
	x := choiceOf(b.groups[last].choices)
	b.groups = b.groups[:last]
	return x
}

func (b *builder) add(x *expr) {
	g := &b.groups[len(b.groups)-1]
	g.sequence = append(g.sequence, x)
}

// sign repeats what was added last as ?, * or + says.
func (b *builder) sign(sign byte) {
	switch sign {
	case '?':
		b.wrap(0, 1, true)
	case '*':
		b.wrap(0, unlimited, true)
	case '+':
		b.wrap(1, unlimited, true)
	}
}

// repeat repeats what was added last.
func (b *builder) repeat(least, most int) { b.wrap(least, most, false) }

func (b *builder) wrap(least, most int, sign bool) {
	g := &b.groups[len(b.groups)-1]
	last := len(g.sequence) - 1
	g.sequence[last] = repeatOf(g.sequence[last], least, most, sign)
}
