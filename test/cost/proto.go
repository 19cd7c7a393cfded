package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// protocol is one of gRPC, gRPC-Web and Connect, with the encoding of its messages.
type protocol struct {
	surface string
	native  bool // uses KServe's own port
	json    bool
	framing framing // framing of all calls, except Connect's streams, which have their own framing
}

func protocols() []protocol {
	return []protocol{
		{surface: "Connect JSON", json: true},
		{surface: "Connect proto"},
		{surface: "gRPC", framing: grpc},
		{surface: "gRPC of KServe's port", native: true, framing: grpc},
	}
}

// link is a step from a message to one of its fields.
type link struct {
	message protoreflect.MessageDescriptor
	field   protoreflect.FieldDescriptor
}

// services returns the targets of all procedures in one protocol. A field of a message is filled in
// the first procedure that has it, because all procedures decode it in the same way.
func (p protocol) services(files ...protoreflect.FileDescriptor) ([]*target, error) {
	w := &messages{protocol: p, seen: map[protoreflect.FullName]bool{}}
	for _, file := range files {
		for i := range file.Services().Len() {
			methods := file.Services().Get(i).Methods()
			for j := range methods.Len() {
				if m := methods.Get(j); !m.IsStreamingClient() {
					if err := w.method(m); err != nil {
						return nil, err
					}
				}
			}
		}
	}
	return w.targets, nil
}

// messages collects the fields of procedures' requests.
type messages struct {
	protocol

	seen    map[protoreflect.FullName]bool
	call    *call
	targets []*target
}

func (w *messages) method(m protoreflect.MethodDescriptor) error {
	w.call = &call{
		surface: w.surface, operation: string(m.Name()), native: w.native, framing: w.framing, endless: m.Name() == "Watch",
		path: fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name()), content: "application/proto",
	}
	switch {
	case w.framing == grpc:
		w.call.content = "application/grpc+proto"
	case m.IsStreamingServer():
		w.call.framing = connectStream
		w.call.content = "application/connect+proto"
	}
	if w.json {
		w.call.content = strings.Replace(w.call.content, "proto", "json", 1)
	}
	base, err := w.encode(nil, m.Input(), nil, 1)
	if err != nil {
		return err
	}
	w.call.base = base
	before := len(w.targets)
	if err := w.visit(m.Input(), nil); err != nil || len(w.targets) == before {
		return err // its fields belong to previous procedures, or it has none
	}
	return w.add(m.Input(), nil, w.unknown())
}

// visit adds the fields of a message that no previous procedure had.
func (w *messages) visit(message protoreflect.MessageDescriptor, path []link) error {
	if w.seen[message.FullName()] {
		return nil
	}
	w.seen[message.FullName()] = true
	fields := message.Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		to := append(slices.Clip(path), link{message, f})
		for _, fill := range w.fills(f) {
			if err := w.add(message, to, fill); err != nil {
				return err
			}
		}
		if of := valueOf(f); of != nil {
			if err := w.visit(of, to); err != nil {
				return err
			}
		}
	}
	return nil
}

// valueOf returns the message type of a field, or nil.
func valueOf(f protoreflect.FieldDescriptor) protoreflect.MessageDescriptor {
	if f.IsMap() {
		return f.MapValue().Message()
	}
	return f.Message()
}

// fieldFill fills a field with n units: its value in JSON, or all its occurrences in the wire
// format.
type fieldFill struct {
	name fillName
	make func(n int) []byte
}

func (w *messages) add(root protoreflect.MessageDescriptor, path []link, f fieldFill) error {
	text := len(path) > 0 && path[len(path)-1].field.Kind() == protoreflect.StringKind && !path[len(path)-1].field.IsList()
	names := make([]string, len(path))
	for i, l := range path {
		names[i] = string(l.field.Name())
	}
	if len(path) > 0 {
		root = path[0].message
	}
	if _, err := w.encode(path, root, f.make, 1); err != nil {
		return fmt.Errorf("%s %s: %w", w.call, strings.Join(names, "."), err)
	}
	w.targets = append(w.targets, &target{call: w.call, field: strings.Join(names, "."), fill: f.name, text: text, body: func(n int) []byte {
		body, err := w.encode(path, root, f.make, n)
		if err != nil {
			return nil // the encoding of one unit had no error
		}
		return body
	}})
	return nil
}

// encode returns a message whose field at the end of the path is filled with n units. The other
// fields are those of the smallest valid messages along the path.
func (w *messages) encode(path []link, root protoreflect.MessageDescriptor, filled func(int) []byte, n int) ([]byte, error) {
	if len(path) == 0 {
		base, err := w.message(root, nil, "", n)
		if err != nil || filled == nil {
			return base, err
		}
		return w.join(base, filled(n)), nil
	}
	leaf := string(path[len(path)-1].field.FullName())
	var content []byte
	for i, l := range slices.Backward(path) {
		base, err := w.message(l.message, l.field, leaf, n)
		if err != nil {
			return nil, err
		}
		var value []byte
		if i == len(path)-1 {
			value = filled(n)
		} else {
			value = w.occurrence(l.field, content)
		}
		if w.json {
			value = append([]byte(strconv.Quote(l.field.JSONName())+":"), value...)
		}
		content = w.join(base, value)
	}
	return content, nil
}

// join appends a field to the fields of a message.
func (w *messages) join(base, field []byte) []byte {
	if !w.json {
		return append(slices.Clip(base), field...)
	}
	inner := strings.TrimSuffix(string(base), "}")
	if inner != "{" {
		inner += ","
	}
	return append([]byte(inner), append(field, '}')...)
}

// occurrence returns a field that contains one message.
func (w *messages) occurrence(f protoreflect.FieldDescriptor, content []byte) []byte {
	switch {
	case w.json && f.IsMap():
		return append([]byte(`{"0":`), append(content, '}')...)
	case w.json && f.IsList():
		return append([]byte{'['}, append(content, ']')...)
	case w.json:
		return content
	case f.IsMap():
		entry := protowire.AppendBytes(protowire.AppendTag(nil, 2, protowire.BytesType), content)
		return delimited(f, append(mapKey(f, 0), entry...))
	}
	return delimited(f, content)
}

func delimited(f protoreflect.FieldDescriptor, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, f.Number(), protowire.BytesType), content)
}

// mapKey returns the key of an entry.
func mapKey(f protoreflect.FieldDescriptor, i int) []byte {
	if f.MapKey().Kind() == protoreflect.StringKind {
		return protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), strconv.Itoa(i))
	}
	return protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(i))
}

// message returns the smallest valid message without a field, and without the other members of its
// oneof.
func (w *messages) message(d protoreflect.MessageDescriptor, without protoreflect.FieldDescriptor, leaf string, n int) ([]byte, error) {
	text := strings.ReplaceAll(smallest(d, leaf, nil), `"@n"`, strconv.Itoa(n))
	m := dynamicpb.NewMessage(d)
	if err := protojson.Unmarshal([]byte(text), m); err != nil {
		return nil, fmt.Errorf("%s of %s: %w", text, d.FullName(), err)
	}
	if without != nil {
		m.Clear(without)
		if of := without.ContainingOneof(); of != nil && m.WhichOneof(of) != nil {
			m.Clear(m.WhichOneof(of))
		}
	}
	if w.json {
		encoded, err := protojson.Marshal(m)
		if err != nil {
			return nil, err
		}
		var compact map[string]json.RawMessage // protojson varies its white space
		if err := json.Unmarshal(encoded, &compact); err != nil {
			return nil, err
		}
		return json.Marshal(compact)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(m)
}

// smallest returns the JSON of the smallest message that the rules of its fields allow, for a
// request with the field leaf.
func smallest(d protoreflect.MessageDescriptor, leaf string, within []protoreflect.FullName) string {
	for _, special := range specialMessages() {
		if special.message == string(d.FullName()) && strings.HasPrefix(leaf, special.leaf) {
			return special.text
		}
	}
	if slices.Contains(within, d.FullName()) {
		return "{}"
	}
	within = append(within, d.FullName())
	members := map[string]string{}
	for i := range d.Oneofs().Len() {
		of := d.Oneofs().Get(i)
		if rules, _ := proto.GetExtension(of.Options(), validate.E_Oneof).(*validate.OneofRules); rules.GetRequired() {
			members[of.Fields().Get(0).JSONName()] = smallestValue(of.Fields().Get(0), within)
		}
	}
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		rules, _ := proto.GetExtension(f.Options(), validate.E_Field).(*validate.FieldRules)
		switch {
		case f.ContainingOneof() != nil:
		case rules.GetRequired(), rules.GetString().GetMinLen() > 0, rules.GetString().HasPattern(), len(rules.GetEnum().GetNotIn()) > 0:
			members[f.JSONName()] = smallestValue(f, within)
		case rules.GetRepeated().GetMinItems() > 0:
			members[f.JSONName()] = "[" + smallestValue(f, within) + "]"
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		parts = append(parts, strconv.Quote(name)+":"+members[name])
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// smallestValue returns one value of a field.
func smallestValue(f protoreflect.FieldDescriptor, within []protoreflect.FullName) string {
	switch f.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind:
		if f.Name() == "model" {
			return strconv.Quote(textModel)
		}
		return strconv.Quote(unitText)
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return smallest(f.Message(), "", within)
	case protoreflect.BoolKind:
		return "false"
	default:
		return "1"
	}
}
