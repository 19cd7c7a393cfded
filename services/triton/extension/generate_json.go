package extension

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/trident-inference/trident/services/inference"
)

// value is a JSON value, not yet decoded.
type value json.RawMessage

// members are an object's, in their order.
type members []struct {
	name  string
	value value
}

// depthLimit is how deep lists may lie in each other.
const depthLimit = 100

// parse checks that the body is one JSON value.
func parse(body []byte) (value, error) {
	const prefix = "failed to parse the request JSON buffer: "
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, invalid(prefix + "The document is empty. at 0")
	}
	if !utf8.Valid(body) {
		return nil, invalid(prefix + "Invalid encoding in string.")
	}
	var v json.RawMessage
	err := json.Unmarshal(body, &v)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return nil, invalid(prefix+"%s at %d", syntax, syntax.Offset)
	}
	return value(v), err
}

func (v value) kind() byte { return bytes.TrimLeft(v, " \t\r\n")[0] }

// object gives the members of an object.
func (v value) object() (members, error) {
	if v.kind() != '{' {
		return nil, errors.New("attempt to access JSON non-object as object")
	}
	var all members
	d := json.NewDecoder(bytes.NewReader(v))
	_, err := d.Token()
	for err == nil && d.More() {
		var name json.Token
		var member json.RawMessage
		if name, err = d.Token(); err == nil {
			err = d.Decode(&member)
		}
		all = append(all, struct {
			name  string
			value value
		}{fmt.Sprint(name), value(member)})
	}
	return all, err
}

func (m members) find(name string) (value, bool) {
	for _, each := range m {
		if each.name == name {
			return each.value, true
		}
	}
	return nil, false
}

// decoded gives a string, bool, int64, or float64; nil for anything else. A number
// is an int64 when it has neither fraction nor exponent and fits.
func (v value) decoded() any {
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var decoded any
	if err := d.Decode(&decoded); err != nil {
		return nil
	}
	switch decoded := decoded.(type) {
	case string, bool:
		return decoded
	case json.Number:
		if n, err := decoded.Int64(); err == nil {
			return n
		}
		if f, err := decoded.Float64(); err == nil {
			return f
		}
	}
	return nil
}

func (v value) text() (string, error) {
	if s, ok := v.decoded().(string); ok {
		return s, nil
	}
	return "", errors.New("attempt to access JSON non-string as string")
}

// elements gives what the lists in a tensor's value hold in all, and the length of
// the outermost one; a value that is no list is one element.
func (v value) elements() (length int, flat []value, err error) {
	if v.kind() != '[' {
		return 1, []value{v}, nil
	}
	d := json.NewDecoder(bytes.NewReader(v))
	if _, err := d.Token(); err != nil {
		return 0, nil, err
	}
	for ; d.More(); length++ {
		if flat, err = flatten(flat, d, 1); err != nil {
			return 0, nil, err
		}
	}
	return length, flat, nil
}

// flatten adds the decoder's next value, or what the lists in it hold.
func flatten(to []value, d *json.Decoder, depth int) ([]value, error) {
	var next json.RawMessage
	if err := d.Decode(&next); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	v := value(next)
	if v.kind() != '[' {
		return append(to, v), nil
	}
	depth++
	if depth > depthLimit {
		return nil, invalid("JSON nesting depth exceeds maximum allowed limit (%d)", depthLimit)
	}
	inner := json.NewDecoder(bytes.NewReader(v))
	_, err := inner.Token()
	for err == nil && inner.More() {
		to, err = flatten(to, inner, depth)
	}
	return to, err
}

// number gives the digits of a number.
func (v value) number() (string, bool) {
	text := strings.TrimSpace(string(v))
	return text, text != "" && (text[0] == '-' || text[0] >= '0' && text[0] <= '9')
}

func (v value) signed(bits int) (int64, error) {
	text, _ := v.number()
	n, err := strconv.ParseInt(text, 10, bits)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is beyond the range of INT%d", text, bits)
	case err != nil:
		return 0, errors.New("attempt to access JSON non-signed-integer as signed-integer")
	}
	return n, nil
}

func (v value) unsigned(bits int) (uint64, error) {
	text, _ := v.number()
	n, err := strconv.ParseUint(text, 10, bits)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%s is beyond the range of UINT%d", text, bits)
	case err != nil:
		return 0, errors.New("attempt to access JSON non-unsigned-integer as unsigned-integer")
	}
	return n, nil
}

func (v value) double() (float64, error) {
	text, ok := v.number()
	if !ok {
		return 0, errors.New("attempt to access JSON non-number as double")
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, errors.New("Number too big to be stored in double.") //nolint:revive // tritonserver's text
	}
	return f, nil
}

func (v value) truth() (bool, error) {
	if b, ok := v.decoded().(bool); ok {
		return b, nil
	}
	return false, errors.New("attempt to access JSON non-boolean as boolean")
}

// because puts what failed before an error that the client's value has caused.
func because(what string, err error) error {
	if known, ok := errors.AsType[*inference.Error](err); ok {
		return invalid("%s: %s", what, known.Message)
	}
	return invalid("%s: %s", what, err)
}
