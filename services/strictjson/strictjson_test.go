package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/strictjson"
)

func read(text string) (value any, err error) {
	err = strictjson.Read([]byte(text), func(r *strictjson.Reader) (err error) {
		value, err = r.Value(true)
		return err
	})
	return value, err
}

// TestRead checks the values that are decoded from valid JSON, and the error messages for invalid
// JSON.
func TestRead(t *testing.T) {
	for text, want := range map[string]any{
		`{ "a": [1, 16.0, -0.5, "\u00e9\n", true, null], "b": {} }`: map[string]any{"a": []any{int64(1), int64(16), -0.5, "é\n", true, nil}, "b": map[string]any{}},
		`9223372036854775807`: int64(math.MaxInt64), `-9223372036854775808`: int64(math.MinInt64), `1e300`: 1e300,
		`9223372036854775808`: 9223372036854775808.0, `-9223372036854775809`: -9223372036854775808.0, `-9223372036854775809.0`: -9223372036854775808.0,
		`"\ud800"`: "\ufffd",
	} {
		if got, err := read(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %#v, %v", text, got, err)
		}
	}
	for text, want := range map[string]struct{ param, message string }{
		"":                                  {"", "the request body is not valid JSON: the JSON text is empty"},
		"{":                                 {"", "the request body is not valid JSON: a key in quotes is expected at byte 1, where the text ends"},
		"[1,]":                              {"", "the request body is not valid JSON: an element is expected after the comma at byte 3 (']')"},
		"1 2":                               {"", "the request body is not valid JSON: unexpected data follows the JSON value at byte 2 ('2')"},
		"01":                                {"", "the request body is not valid JSON: a number without leading zeros is expected at byte 2, where the text ends"},
		"\"\xff\"":                          {"", "the request body is not valid JSON: the JSON text is not UTF-8 at byte 1"},
		`{"a": [{"b": 1, "b": 2}]}`:         {"a[0].b", "a[0].b is given twice"},
		`{"a": [1e999]}`:                    {"a[0]", "a[0] is a number too large for 64 bits"},
		strings.Repeat("[", budget.Depth+1): {"", "the request body is not valid JSON: arrays and objects are nested deeper than 128 levels at byte 128 ('[')"},
		"[" + strings.Repeat("1,", budget.Values) + "1]": {"", "the request body holds too many values: at most 262144 numbers, strings, lists and objects together are allowed"},
	} {
		_, err := read(text)
		e := inference.AsError(strictjson.BodyError(err))
		if err == nil || e.Code != inference.CodeInvalid || e.Param != want.param || e.Message != want.message {
			t.Errorf("%.40q: got %q %s", text, e.Param, e.Message)
		}
	}
}

// TestKinds checks the values that must have a kind: strings, token ids, and others.
func TestKinds(t *testing.T) {
	text := func(r *strictjson.Reader) (any, error) { return r.Text() }
	ids := func(r *strictjson.Reader) (any, error) { return r.AppendTokenID([]int{7}) }
	other := func(r *strictjson.Reader) (any, error) { return nil, r.Mismatch("a list") }
	missing := func(*strictjson.Reader) (any, error) { return nil, strictjson.Missing("a") }
	for name, test := range map[string]struct {
		read          func(*strictjson.Reader) (any, error)
		text, message string
		want          any
	}{
		"a string":                {read: text, text: `""`, want: ""},
		"no string":               {read: text, text: `1`, message: "must be a string, got 1"},
		"no JSON for a string":    {read: text, text: `x`, message: "a value is expected"},
		"a token id":              {read: ids, text: `2147483647`, want: []int{7, math.MaxInt32}},
		"a large token id":        {read: ids, text: `2147483648`, message: "must be a token id, got 2147483648"},
		"a negative token id":     {read: ids, text: `-1`, message: "must be a token id, got -1"},
		"half a token id":         {read: ids, text: `0.5`, message: "must be a token id, got 0.5"},
		"a string for an id":      {read: ids, text: `"1"`, message: "must be a token id, got "},
		"a huge number for an id": {read: ids, text: `1e999`, message: "is a number too large for 64 bits"},
		"another kind":            {read: other, text: `{}`, message: "must be a list, got "},
		"no JSON":                 {read: other, text: `x`, message: "a value is expected"},
		"a missing key":           {read: missing, text: `{}`, message: "is required"},
	} {
		var got any
		err := strictjson.ReadPart([]byte(test.text), func(r *strictjson.Reader) (err error) {
			got, err = test.read(r)
			return err
		})
		switch {
		case test.message == "" && (err != nil || !reflect.DeepEqual(got, test.want)):
			t.Errorf("%s: got %#v, %v", name, got, err)
		case test.message != "" && (err == nil || !strings.Contains(err.Error(), test.message)):
			t.Errorf("%s: got %v, want %q", name, err, test.message)
		}
	}
}

// TestMalformed checks that the error message for malformed JSON names the offending byte and the
// expected token.
func TestMalformed(t *testing.T) {
	for text, want := range map[string]string{
		`,1`:            "a value is expected at byte 0 (',')",
		`tru`:           "a value is expected at byte 0 ('t')",
		`[`:             "a value is expected at byte 1, where the text ends",
		`[1,`:           "a value is expected at byte 3, where the text ends",
		`[1,,2]`:        "a value is expected at byte 3 (',')",
		`[1 2]`:         "a comma or ']' is expected at byte 3 ('2')",
		`[1}`:           "a comma or ']' is expected at byte 2 ('}')",
		`{"a":1 "b":2}`: "a comma or '}' is expected at byte 7 ('\"')",
		`{"a" 1}`:       "a colon is expected at byte 5 ('1')",
		`{"a":}`:        "a value is expected at byte 5 ('}')",
		`{"a":1,}`:      "an element is expected after the comma at byte 7 ('}')",
		`{"a":1,]`:      "a key in quotes is expected at byte 7 (']')",
		`{1:2}`:         "a key in quotes is expected at byte 1 ('1')",
		`[01]`:          "a number without leading zeros is expected at byte 3 (']')",
		`-`:             "a number without leading zeros is expected at byte 1, where the text ends",
		`[1.]`:          "digits are expected after the point at byte 3 (']')",
		`[1.5e+]`:       "digits are expected in the exponent at byte 6 (']')",
		`"a`:            "a closing quote is expected at byte 2, where the text ends",
		"\"a\n\"":       "control characters in strings must be escaped at byte 2 ('\\n')",
		`"\`:            "an escape is expected at byte 2, where the text ends",
		`"\x"`:          "a valid escape sequence is expected at byte 2 ('x')",
		`"\u12g4"`:      "four hexadecimal digits are expected after \\u at byte 5 ('g')",
	} {
		if _, err := read(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// TestWithin checks that Within limits the JSON values of one field, and not of the fields after
// it.
func TestWithin(t *testing.T) {
	const text = `{"few": [1, 2], "more": [1, 2, 3]}`
	fields := func(most int) (names []string, err error) {
		return names, strictjson.Read([]byte(text), func(r *strictjson.Reader) error {
			return r.Object(func(name string) error {
				names = append(names, name)
				if name != "few" {
					_, err := r.Value(false)
					return err
				}
				_, err := r.Within(most, func() (any, error) { return r.Value(true) })
				return err
			})
		})
	}
	if names, err := fields(3); err != nil || len(names) != 2 {
		t.Errorf("at the bound: %v, %v", names, err)
	}
	if names, err := fields(2); !errors.Is(err, strictjson.ErrFieldFull) || len(names) != 1 {
		t.Errorf("above the bound: %v, %v", names, err)
	}
}

// TestWords checks how error messages show values: short words whole, other strings by size only.
func TestWords(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{strictjson.Quote("word"), `"word"`},
		{strictjson.Quote(strings.Repeat("x", 41)), "a string of 41 bytes"},
		{strictjson.Show("secret"), "a string of 6 bytes"},
		{strictjson.Show([]any{1, 2}), "a list of 2"},
		{strictjson.Show(map[string]any{}), "an object"},
		{strictjson.Show(nil), "null"},
		{strictjson.Show(0.5), "0.5"},
		{strictjson.Number(1e21), "1e+21"},
		{strictjson.ListWords([]string{"a"}), "a"},
		{strictjson.ListWords([]string{"a", "b", "c"}), "a, b or c"},
		{strictjson.PathOf("tools", []any{map[string]any{"type": 1}}, []string{"0", "type"}), "tools[0].type"},
	} {
		if test.got != test.want {
			t.Errorf("got %s, want %s", test.got, test.want)
		}
	}
}

// FuzzRead compares the reader with encoding/json: an accepted text is JSON with the same value.
func FuzzRead(f *testing.F) {
	for _, text := range []string{`{"a": [1, -0, 2.5e-7, "é\ud83d\ude00\n", null, true, {"b": {}}]}`, "[", `"\ud800"`, "1e999", "[[],[[]]]", `{"a":1,"a":2}`, `"\`, "-", "{}x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := read(text)
		if err != nil {
			if json.Valid([]byte(text)) && utf8.ValidString(text) && !strings.Contains(err.Error(), "twice") && !strings.Contains(err.Error(), "too") && !strings.Contains(err.Error(), "deeper") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		var want any
		if err := json.NewDecoder(bytes.NewReader([]byte(text))).Decode(&want); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		encoded, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		var again any
		if err := json.Unmarshal(encoded, &again); err != nil || !reflect.DeepEqual(again, want) {
			t.Errorf("%q: got %#v, want %#v", text, got, want)
		}
	})
}
