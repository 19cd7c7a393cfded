package rest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/trident-inference/trident/services/kserve/tensorjson"
)

// sparse and complete select the fields that are written: only fields that are set,
// or all fields except unset messages.
const (
	sparse   = false
	complete = true
)

// messageJSON encodes a message as Triton does: protobuf's JSON with the original
// field names and with all integers as numbers, including those of 64 bits.
func messageJSON(m proto.Message, fields bool) json.RawMessage {
	return appendMessage(nil, m.ProtoReflect(), fields)
}

// messagesJSON encodes a list of messages.
func messagesJSON[M proto.Message](list []M, fields bool) json.RawMessage {
	b := []byte{'['}
	for i, m := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendMessage(b, m.ProtoReflect(), fields)
	}
	return append(b, ']')
}

func appendMessage(b []byte, m protoreflect.Message, fields bool) []byte {
	b = append(b, '{')
	begin := len(b)
	all := m.Descriptor().Fields()
	for i := range all.Len() {
		f := all.Get(i)
		if !m.Has(f) && (!fields || f.HasPresence()) {
			continue
		}
		if len(b) > begin {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), f.Name()...), '"', ':')
		b = appendField(b, f, m.Get(f), fields)
	}
	return append(b, '}')
}

func appendField(b []byte, f protoreflect.FieldDescriptor, v protoreflect.Value, fields bool) []byte {
	switch {
	case f.IsMap():
		return appendMap(b, f, v.Map(), fields)
	case !f.IsList():
		return appendValue(b, f, v, fields)
	}
	b = append(b, '[')
	for i := range v.List().Len() {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendValue(b, f, v.List().Get(i), fields)
	}
	return append(b, ']')
}

// appendMap appends the entries in the order of their keys.
func appendMap(b []byte, f protoreflect.FieldDescriptor, m protoreflect.Map, fields bool) []byte {
	var keys []protoreflect.MapKey
	for key := range m.Range {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b protoreflect.MapKey) int { return cmp.Compare(a.String(), b.String()) })
	b = append(b, '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(tensorjson.AppendQuoted(b, key.String()), ':')
		b = appendValue(b, f.MapValue(), m.Get(key), fields)
	}
	return append(b, '}')
}

func appendValue(b []byte, f protoreflect.FieldDescriptor, v protoreflect.Value, fields bool) []byte {
	switch value := v.Interface().(type) {
	case bool:
		return strconv.AppendBool(b, value)
	case int32, int64:
		return strconv.AppendInt(b, v.Int(), 10)
	case uint32, uint64:
		return strconv.AppendUint(b, v.Uint(), 10)
	case float32:
		return appendNumber(b, float64(value), 32)
	case float64:
		return appendNumber(b, value, 64)
	case []byte:
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), value), '"')
	case protoreflect.EnumNumber:
		if word := f.Enum().Values().ByNumber(value); word != nil {
			return append(append(append(b, '"'), word.Name()...), '"')
		}
		return strconv.AppendInt(b, int64(value), 10)
	case protoreflect.Message:
		return appendMessage(b, value, fields)
	}
	return tensorjson.AppendQuoted(b, v.String())
}

// appendNumber appends a number. Values that JSON can't represent have protobuf's
// form.
func appendNumber(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, bits)
}
