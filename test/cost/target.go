package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// call describes the requests of one operation.
type call struct {
	surface   string
	operation string
	native    bool // uses KServe's own gRPC port
	path      string
	content   string // content type of the requests
	framing   framing
	endless   bool // the response of the call doesn't end by itself
	header    func(payload []byte) map[string]string
	base      []byte // the smallest valid request
}

// framing is how a request body contains a protobuf message: alone, or with the prefix of a
// protocol.
type framing int

const (
	unframed framing = iota
	connectStream
	grpc
)

func (c *call) String() string { return c.surface + " " + c.operation }

// target is a call with one filled field in its request. A body of n units grows with n.
type target struct {
	*call

	field string
	fill  fillName
	text  bool // the field is a string
	body  func(n int) []byte
	made  map[int][]byte // the large bodies that were generated last, keyed by n
	// schema returns a body with a value of the field, if the fill is for fields that are read as
	// JSON Schemas; nil for all other fills.
	schema func(value string) []byte
}

// fillName identifies a way of filling a field.
type fillName struct {
	name string
	// further reports whether another fill of the field costs about the same. make cost skips such
	// fills; cost --all measures all fills.
	further bool
}

func (t *target) String() string {
	return fmt.Sprintf("%s: %s, %s", t.call, cmp.Or(t.field, "the message"), t.fill.name)
}

// filled returns a body of n units. The last large bodies are cached: each is sent several times,
// and generating one takes as long as its request.
func (t *target) filled(n int) []byte {
	const large, few = 1 << 20, 3
	if made := t.made[n]; made != nil {
		return made
	}
	body := t.body(n)
	if len(body) >= large {
		if t.made == nil || len(t.made) == few {
			t.made = make(map[int][]byte, few)
		}
		t.made[n] = body
	}
	return body
}

// units returns the number of units of a body of about this size in bytes.
func (t *target) units(size int) int {
	const few, more = 64, 1 << 10
	each := max(1, (len(t.body(more))-len(t.body(few)))/(more-few))
	n := max(1, size/each)
	if got := len(t.body(n)); got > size { // numbers get longer
		n = max(1, int(float64(n)*float64(size)/float64(got)))
	}
	return n
}

// fill fills a field with a JSON value of n units.
type fill struct {
	name fillName
	make func(n int) string
}

func first(name string) fillName { return fillName{name: name} }

func further(name string) fillName { return fillName{name, true} }

// inner returns the name of a part's fill.
func inner() fillName { return fillName{} }

// unitText is the shortest string that fields accept.
const unitText = "a"

// list returns a fill of n elements. If the element contains a string, each gets a different one,
// because lists of equal elements may be refused.
func list(name fillName, element string) fill {
	head, tail, numbered := strings.Cut(element, strconv.Quote(unitText))
	return fill{name, func(n int) string {
		var b strings.Builder
		b.Grow(n * (len(",") + len(element) + len(strconv.Itoa(n))))
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

// keys returns a fill of an object with n members.
func keys(name fillName, value string) fill {
	return fill{name, func(n int) string { return object(n, value) }}
}

func object(n int, value string) string {
	var b strings.Builder
	b.Grow(n * (len(`"":,`) + len(strconv.Itoa(n)) + len(value)))
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

// around returns a fill that puts a value between two texts.
func around(name fillName, head string, part fill, tail string) fill {
	return fill{name, func(n int) string { return head + part.make(n) + tail }}
}

// repeated returns a fill of a string of n units.
func repeated(name fillName, unit string) fill {
	return fill{name, func(n int) string { return `"` + strings.Repeat(unit, n) + `"` }}
}

func deep(name fillName, open, inside, closing string) fill {
	return fill{name, func(n int) string { return strings.Repeat(open, n) + inside + strings.Repeat(closing, n) }}
}

// texts returns the fills of a string.
func texts() []fill {
	return []fill{
		repeated(first("many words"), "a "),
		repeated(further("a long word"), "a"),
		repeated(further("brackets"), "("),
	}
}

// free returns the fills of a field that may contain any JSON.
func free() []fill {
	return []fill{
		keys(first("many keys"), "0"),
		around(first("a long list"), `{"a":`, list(inner(), "0"), "}"),
		deep(first("deep objects"), `{"a":`, "0", "}"),
		around(further("deep lists"), `{"a":`, deep(inner(), "[", "", "]"), "}"),
		around(further("a long text"), `{"a":`, repeated(inner(), "a"), "}"),
	}
}

// forms returns the fills of a field that may contain a JSON Schema.
func forms() []fill {
	return []fill{
		around(first("properties"), `{"type":"object","properties":`, keys(inner(), "{}"), "}"),
		around(first("patterns"), `{"type":"object","properties":`, keys(inner(), `{"type":"string","pattern":"^[a-z]{1,9}$"}`), "}"),
		around(first("required"), `{"type":"object","required":`, list(inner(), `"a"`), "}"),
		around(first("anyOf"), `{"anyOf":`, list(inner(), "{}"), "}"),
		around(first("enum"), `{"enum":`, list(inner(), `"a"`), "}"),
		around(first("references"), `{"$defs":{"a":{"type":"string"}},"type":"object","properties":`, keys(inner(), `{"$ref":"#/$defs/a"}`), "}"),
		around(first("deep schemas"), "", deep(inner(), `{"items":`, "{}", "}"), ""),
		around(first("a long pattern"), `{"type":"string","pattern":`, repeated(inner(), "a|"), "}"),
	}
}
