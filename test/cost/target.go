package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// call is how requests of one operation are sent.
type call struct {
	surface   string
	operation string
	native    bool // by KServe's own gRPC port
	path      string
	content   string // the content type
	framing   framing
	endless   bool // its answer doesn't end by itself
	header    func(payload []byte) map[string]string
	base      []byte // the smallest valid request
}

// framing is what stands around a message.
type framing int

const (
	unframed framing = iota
	connectStream
	grpc
)

func (c *call) String() string { return c.surface + " " + c.operation }

// target is a call with one field of its request filled. A body of n units grows with n.
type target struct {
	*call

	field string
	fill  string
	body  func(n int) []byte
}

func (t *target) String() string {
	return fmt.Sprintf("%s: %s, %s", t.call, cmp.Or(t.field, "the message"), t.fill)
}

// units is how many units make a body of about that many bytes.
func (t *target) units(size int) int {
	const few, more = 64, 1 << 10
	each := max(1, (len(t.body(more))-len(t.body(few)))/(more-few))
	n := max(1, size/each)
	if got := len(t.body(n)); got > size { // numbers get longer
		n = max(1, int(float64(n)*float64(size)/float64(got)))
	}
	return n
}

// fill is a way to fill a field: a JSON value of n units.
type fill struct {
	name string
	make func(n int) string
}

// unitText is the least string that fields take.
const unitText = "a"

// list has n elements. Each has a string of its own where the element has one, as lists of
// equal elements may be refused.
func list(name, element string) fill {
	head, tail, numbered := strings.Cut(element, strconv.Quote(unitText))
	return fill{name, func(n int) string {
		var b strings.Builder
		b.WriteByte('[')
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			if !numbered {
				b.WriteString(element)
				continue
			}
			b.WriteString(head + `"` + unitText)
			b.WriteString(strconv.Itoa(i))
			b.WriteString(`"` + tail)
		}
		b.WriteByte(']')
		return b.String()
	}}
}

// keys is an object of n members.
func keys(name, value string) fill {
	return fill{name, func(n int) string { return object(n, value) }}
}

func object(n int, value string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('"')
		b.WriteString(strconv.Itoa(i))
		b.WriteString(`":`)
		b.WriteString(value)
	}
	b.WriteByte('}')
	return b.String()
}

// around puts a value between two texts.
func around(name, head string, inner fill, tail string) fill {
	return fill{name, func(n int) string { return head + inner.make(n) + tail }}
}

// repeated is a text of n units between two others.
func repeated(name, head, unit, tail string) fill {
	return fill{name, func(n int) string { return head + strings.Repeat(unit, n) + tail }}
}

func deep(name, open, inner, closing string) fill {
	return fill{name, func(n int) string { return strings.Repeat(open, n) + inner + strings.Repeat(closing, n) }}
}

// texts fill a string.
func texts() []fill {
	return []fill{
		repeated("a long word", `"`, "a", `"`),
		repeated("many words", `"`, "a ", `"`),
		repeated("brackets", `"`, "(", `"`),
	}
}

// free fill a field that may hold any JSON.
func free() []fill {
	return append(forms(),
		keys("many keys", "0"),
		around("a long list", `{"a":`, list("", "0"), "}"),
		deep("deep objects", `{"a":`, "0", "}"),
		around("deep lists", `{"a":`, deep("", "[", "", "]"), "}"),
		around("a long text", `{"a":`, repeated("", `"`, "a", `"`), "}"),
	)
}

// forms fill a field that may hold a JSON Schema.
func forms() []fill {
	return []fill{
		around("properties", `{"type":"object","properties":`, keys("", "{}"), "}"),
		around("patterns", `{"type":"object","properties":`, keys("", `{"type":"string","pattern":"^[a-z]{1,9}$"}`), "}"),
		around("required", `{"type":"object","required":`, list("", `"a"`), "}"),
		around("anyOf", `{"anyOf":`, list("", "{}"), "}"),
		around("enum", `{"enum":`, list("", `"a"`), "}"),
		around("references", `{"$defs":{"a":{"type":"string"}},"type":"object","properties":`, keys("", `{"$ref":"#/$defs/a"}`), "}"),
		around("deep schemas", "", deep("", `{"items":`, "{}", "}"), ""),
		around("a long pattern", `{"type":"string","pattern":`, repeated("", `"`, "a|", `"`), "}"),
	}
}
