package budget

import (
	"math"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Message has the maximum numbers of elements in the fields of a type of protobuf message. It
// checks encoded messages before they are decoded. It may be used concurrently.
//
// The schema limits repeated fields and maps (max_items and max_pairs of protovalidate). Without such a
// rule, a map has at most [Keys] entries, a list of messages [Tensors] and a list of strings [Strings].
// All messages inside of a message count towards [Values], and all strings inside of it count towards
// [Strings]. Numbers in lists with a limit in the schema count towards [TokenIDs], or [JSONTokenIDs].
// Numbers in other lists are the elements of tensors. The size of the message bounds the number of
// elements, and in protobuf's JSON [JSONElements] bounds it. Unknown fields count towards
// [UnknownFields].
type Message struct {
	fields  map[protowire.Number]*field
	byName  map[string]*field
	counted int // number of fields that have their own count
}

// field has the maximum number of elements of one field of a message.
type field struct {
	name   string
	of     *Message // nil if the field isn't a message
	list   bool     // the field is a list or a map
	entry  bool     // the field is a map
	most   int
	count  int // the field's index among the counted fields, or -1 if it has no own count
	number width
}

// width is the wire encoding of a numeric field.
type width uint8

const (
	notNumber width = iota
	varint
	fixed32
	fixed64
)

// Of derives the maximum numbers of elements in a message, and in all messages that it may contain,
// from their schema.
func Of(descriptor protoreflect.MessageDescriptor) *Message {
	return derive(descriptor, map[protoreflect.FullName]*Message{})
}

// Kinds has the limits of message types, by full message name.
type Kinds map[protoreflect.FullName]*Message

// Inputs returns the limits of the request messages of services.
func Inputs(services ...protoreflect.ServiceDescriptor) Kinds {
	kinds := Kinds{}
	for _, service := range services {
		for i := range service.Methods().Len() {
			input := service.Methods().Get(i).Input()
			kinds[input.FullName()] = Of(input)
		}
	}
	return kinds
}

// Check checks an encoded message that is going to be decoded into m, by [Message.Check]. A message
// of another type isn't limited.
func (k Kinds) Check(m proto.Message, encoded []byte) error {
	if of := k[m.ProtoReflect().Descriptor().FullName()]; of != nil {
		return of.Check(encoded)
	}
	return nil
}

// CheckJSON checks a message in protobuf's JSON, by [Message.CheckJSON].
func (k Kinds) CheckJSON(m proto.Message, text []byte) error {
	if of := k[m.ProtoReflect().Descriptor().FullName()]; of != nil {
		return of.CheckJSON(text)
	}
	return nil
}

func derive(descriptor protoreflect.MessageDescriptor, known map[protoreflect.FullName]*Message) *Message {
	if m := known[descriptor.FullName()]; m != nil {
		return m
	}
	fields := descriptor.Fields()
	m := &Message{fields: make(map[protowire.Number]*field, fields.Len()), byName: make(map[string]*field, 2*fields.Len())}
	known[descriptor.FullName()] = m
	for i := range fields.Len() {
		d := fields.Get(i)
		f := &field{name: string(d.Name()), list: d.IsList() || d.IsMap(), entry: d.IsMap(), count: -1, number: widthOf(d.Kind())}
		if d.Message() != nil {
			f.of = derive(d.Message(), known)
		}
		if f.list {
			f.most, f.count = mostOf(d), m.counted
			m.counted++
		}
		m.fields[d.Number()] = f
		m.byName[d.JSONName()], m.byName[f.name] = f, f
	}
	return m
}

// fieldLimits are the limits of fields of KServe's schema, which has no rules, and of fields with tighter
// rules in the schema. A list that is slightly too long is left to the schema's rules, because the errors
// of these rules have the name of the field and the request's id.
var fieldLimits = map[protoreflect.FullName]int{ //nolint:gochecknoglobals // a constant table
	"inference.ModelInferRequest.InferInputTensor.shape": Dimensions,
	"inference.ModelInferRequest.raw_input_contents":     Tensors,
	"inference.TraceSettingRequest.SettingValue.value":   Keys,
	"trident.v1.ChatRequest.stop":                        Stops,
	"trident.v1.CompleteRequest.stop":                    Stops,
	"trident.v1.EmbedRequest.input":                      Embedded,
}

// mostOf returns the schema's limit of a field, or the limit of the field's kind.
func mostOf(d protoreflect.FieldDescriptor) int {
	if most, ok := fieldLimits[d.FullName()]; ok {
		return most
	}
	if rules, ok := proto.GetExtension(d.Options(), validate.E_Field).(*validate.FieldRules); ok {
		if n := max(rules.GetRepeated().GetMaxItems(), rules.GetMap().GetMaxPairs()); n > 0 {
			return int(min(n, math.MaxInt32))
		}
	}
	switch {
	case d.IsMap():
		return Keys
	case d.Message() != nil:
		return Tensors
	case widthOf(d.Kind()) != notNumber:
		return math.MaxInt
	}
	return Strings
}

func widthOf(kind protoreflect.Kind) width {
	switch kind {
	case protoreflect.BoolKind, protoreflect.EnumKind, protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Uint32Kind,
		protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Uint64Kind:
		return varint
	case protoreflect.Sfixed32Kind, protoreflect.Fixed32Kind, protoreflect.FloatKind:
		return fixed32
	case protoreflect.Sfixed64Kind, protoreflect.Fixed64Kind, protoreflect.DoubleKind:
		return fixed64
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind, protoreflect.GroupKind:
	}
	return notNumber
}

// tally has the counts of one message.
type tally struct {
	values, strings, numbers, elements, unknown int
	mostNumbers, mostElements                   int
	counts                                      []int // numbers of elements of the counted fields of all messages that are being read
}

// add counts n elements of a field.
func (t *tally) add(f *field, counts []int, n int) *Error {
	if f.count >= 0 {
		counts[f.count] += n
		if counts[f.count] > f.most {
			return &Error{Field: f.name, Most: f.most, What: f.elements()}
		}
	}
	return t.total(f, n)
}

// total adds n elements of a field to the count of the whole message.
func (t *tally) total(f *field, n int) *Error {
	count, most, what, advice := &t.strings, Strings, "strings", ""
	switch {
	case f.of != nil:
		count, most, what = &t.values, Values, "values"
	case f.number != notNumber && !f.list:
		return nil
	case f.number != notNumber && f.most == math.MaxInt:
		count, most, what, advice = &t.elements, t.mostElements, "numbers", elementsAdvice
	case f.number != notNumber:
		count, most, what = &t.numbers, t.mostNumbers, "numbers"
	}
	*count += n
	if *count > most {
		return &Error{Field: f.name, Most: most, What: what, Advice: advice}
	}
	return nil
}

// elementsAdvice is the remedy for tensors beyond [JSONElements].
const elementsAdvice = "send the tensors as bytes in raw_input_contents, or the message in protobuf's binary encoding"

func (f *field) elements() string {
	if f.entry {
		return "keys"
	}
	return "elements"
}

// under prepends a field to an error's path.
func (e *Error) under(name string) *Error {
	if e.Field != "" {
		e.Field = name + "." + e.Field
	}
	return e
}

// Check returns an [*Error] for an encoded message that exceeds its budget. Input that isn't
// protobuf's wire format is left to the decoder.
func (m *Message) Check(encoded []byte) error {
	if err := m.check(encoded, &tally{mostNumbers: TokenIDs, mostElements: math.MaxInt}, Depth); err != nil {
		return err
	}
	return nil
}

func (m *Message) check(b []byte, t *tally, depth int) *Error {
	if depth == 0 {
		return &Error{Most: Depth, What: "levels of nesting"}
	}
	open := len(t.counts)
	for range m.counted {
		t.counts = append(t.counts, 0)
	}
	defer func() { t.counts = t.counts[:open] }()
	for len(b) > 0 {
		number, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return nil
		}
		b = b[n:]
		size := protowire.ConsumeFieldValue(number, wire, b)
		if size < 0 {
			return nil
		}
		f := m.fields[number]
		if f == nil {
			t.unknown++
			if t.unknown > UnknownFields {
				return &Error{Most: UnknownFields, What: "unknown fields"}
			}
		} else if err := f.check(b[:size], wire, t, open, depth); err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}

// check counts one occurrence of a field. The counts of the field's message start at open.
func (f *field) check(value []byte, wire protowire.Type, t *tally, open, depth int) *Error {
	n := 1
	if wire == protowire.BytesType {
		value, _ = protowire.ConsumeBytes(value)
		n = f.elementsIn(value)
	}
	if err := t.add(f, t.counts[open:], n); err != nil {
		return err
	}
	if f.of == nil || wire != protowire.BytesType {
		return nil
	}
	if err := f.of.check(value, t, depth-1); err != nil {
		return err.under(f.name)
	}
	return nil
}

// elementsIn returns the number of elements in a length-delimited value: one, except for packed
// numbers.
func (f *field) elementsIn(value []byte) int {
	switch f.number {
	case varint:
		n := 0
		for _, b := range value {
			if b < 0x80 {
				n++
			}
		}
		return n
	case fixed32:
		return len(value) / 4
	case fixed64:
		return len(value) / 8
	case notNumber:
	}
	return 1
}
