package main

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// fills returns the fills of a field in the protocol's encoding.
func (w *messages) fills(f protoreflect.FieldDescriptor) []fieldFill {
	if w.json {
		return jsonFills(f)
	}
	return w.wireFills(f)
}

func jsonFills(f protoreflect.FieldDescriptor) []fieldFill {
	var list []fill
	switch {
	case f.IsMap():
		list = append(list, keys(first("many keys"), elementText(f.MapValue())))
	case f.IsList():
		list = elementsOf(f)
	case f.Kind() == protoreflect.StringKind:
		for _, t := range texts() {
			t.name.further = true // the wire format has the first one
			list = append(list, t)
		}
	case f.Kind() == protoreflect.BytesKind:
		list = append(list, fill{first("many bytes"), func(n int) string { return strconv.Quote(base64.StdEncoding.EncodeToString(make([]byte, n))) }})
	case f.Message() != nil:
		list = append(list, deep(first("deep objects"), `{"a":`, "0", "}"), keys(further("many unknown keys"), "0"))
	}
	fills := make([]fieldFill, len(list))
	for i, l := range list {
		fills[i] = fieldFill{l.name, func(n int) []byte { return []byte(l.make(n)) }}
	}
	return fills
}

func elementsOf(f protoreflect.FieldDescriptor) []fill {
	element := elementText(f)
	fills := []fill{list(first("many elements"), element)}
	if f.Message() != nil && element != "{}" {
		fills = append(fills, list(first("many empty messages"), "{}"))
	}
	return fills
}

func elementText(f protoreflect.FieldDescriptor) string {
	if f.Kind() == protoreflect.BytesKind {
		return `""`
	}
	return smallestValue(f, nil)
}

// wireFills returns the fills of a field in the wire format. All protocols read lists that aren't
// packed in the same way.
func (w *messages) wireFills(f protoreflect.FieldDescriptor) []fieldFill {
	switch {
	case f.IsMap():
		return []fieldFill{{first("many keys"), func(n int) []byte { return w.entries(f, n) }}}
	case f.IsList() && f.Message() != nil:
		return w.wireMessages(f)
	case f.IsList() && f.Kind() == protoreflect.StringKind, f.IsList() && f.Kind() == protoreflect.BytesKind:
		return []fieldFill{
			{first("many elements"), func(n int) []byte { return distinct(f, n) }},
			{first("many empty elements"), func(n int) []byte { return times(n, delimited(f, nil)) }},
		}
	case f.IsList():
		number := scalar(f)
		single := append(protowire.AppendTag(nil, f.Number(), number.wire), number.one...)
		return []fieldFill{
			{first("many elements"), func(n int) []byte { return delimited(f, times(n, number.one)) }},
			{w.alike(first("many elements, unpacked")), func(n int) []byte { return times(n, single) }},
		}
	case f.Message() != nil:
		return []fieldFill{{first("many occurrences"), func(n int) []byte { return times(n, delimited(f, nil)) }}}
	case f.Kind() == protoreflect.BytesKind:
		return []fieldFill{{first("many bytes"), func(n int) []byte { return delimited(f, make([]byte, n)) }}}
	case f.Kind() == protoreflect.StringKind:
		return w.wireTexts(f)
	}
	return nil
}

func (w *messages) wireMessages(f protoreflect.FieldDescriptor) []fieldFill {
	fills := []fieldFill{{first("many empty messages"), func(n int) []byte { return times(n, delimited(f, nil)) }}}
	element, err := w.message(f.Message(), nil, string(f.FullName()), 1)
	if err == nil && len(element) > 0 {
		fills = append(fills, fieldFill{first("many elements"), func(n int) []byte { return times(n, delimited(f, element)) }})
	}
	return fills
}

// wireTexts returns the fills of a string. Some contain JSON, because some strings are read as
// JSON. All protocols read the content of a string in the same way, so only one of them has these
// fills.
func (w *messages) wireTexts(f protoreflect.FieldDescriptor) []fieldFill {
	var list []fieldFill
	for _, t := range texts() {
		list = append(list, fieldFill{w.alike(t.name), func(n int) []byte { return delimited(f, []byte(strings.Trim(t.make(n), `"`))) }})
	}
	if w.framing == grpc {
		return list
	}
	for _, t := range slices.Concat(free(), forms()) {
		list = append(list, fieldFill{further("JSON: " + t.name.name), func(n int) []byte { return delimited(f, []byte(t.make(n))) }})
	}
	return list
}

// alike marks a fill that other protocols have too.
func (w *messages) alike(name fillName) fillName {
	if w.framing == grpc {
		name.further = true
	}
	return name
}

// entries returns n entries of a map.
func (w *messages) entries(f protoreflect.FieldDescriptor, n int) []byte {
	value := protowire.AppendTag(nil, 2, protowire.BytesType)
	if f.MapValue().Message() == nil && f.MapValue().Kind() != protoreflect.StringKind && f.MapValue().Kind() != protoreflect.BytesKind {
		number := scalar(f.MapValue())
		value = append(protowire.AppendTag(nil, 2, number.wire), number.one...)
	} else {
		value = append(value, 0)
	}
	var all []byte
	for i := range n {
		entry := append(mapKey(f, i), value...)
		all = protowire.AppendTag(all, f.Number(), protowire.BytesType)
		all = protowire.AppendBytes(all, entry)
	}
	return all
}

// distinct returns n different strings.
func distinct(f protoreflect.FieldDescriptor, n int) []byte {
	var all []byte
	for i := range n {
		all = protowire.AppendTag(all, f.Number(), protowire.BytesType)
		all = protowire.AppendString(all, unitText+strconv.Itoa(i))
	}
	return all
}

func times(n int, unit []byte) []byte { return []byte(strings.Repeat(string(unit), n)) }

// unknown returns a fill of fields that the message doesn't have.
func (w *messages) unknown() fieldFill {
	if w.json {
		members := around(inner(), `"unknown":`, keys(inner(), "0"), "")
		return fieldFill{first("many unknown keys"), func(n int) []byte { return []byte(members.make(n)) }}
	}
	const number = 1 << 14
	unit := protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.VarintType), 1)
	return fieldFill{first("many unknown fields"), func(n int) []byte { return times(n, unit) }}
}

// number is the encoding of a scalar 1.
type number struct {
	wire protowire.Type
	one  []byte
}

func scalar(f protoreflect.FieldDescriptor) number {
	switch f.Kind() {
	case protoreflect.FloatKind, protoreflect.Fixed32Kind, protoreflect.Sfixed32Kind:
		return number{protowire.Fixed32Type, make([]byte, 4)}
	case protoreflect.DoubleKind, protoreflect.Fixed64Kind, protoreflect.Sfixed64Kind:
		return number{protowire.Fixed64Type, make([]byte, 8)}
	default:
		return number{protowire.VarintType, []byte{1}}
	}
}
