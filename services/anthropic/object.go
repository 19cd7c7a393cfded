package anthropic

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/strictjson"
)

// rawMembers are the members of objects whose JSON is kept: the order of keys appears in the prompt.
var rawMembers = []string{"input", "input_schema", "schema"} //nolint:gochecknoglobals // a constant list

// readBody reads the body of a request. The members rawMembers that are objects are [json.RawMessage].
// Other values are those of [strictjson.Reader.Value].
func readBody(raw []byte) (object, error) {
	body := object{}
	err := strictjson.Read(raw, func(r *strictjson.Reader) error {
		if r.Peek() != '{' {
			return inference.Invalid("", "the request body must be a JSON object")
		}
		value, err := readValue(r)
		body.members, _ = value.(map[string]any)
		return err
	})
	if err != nil {
		return object{}, strictjson.BodyError(err)
	}
	return body, nil
}

func readValue(r *strictjson.Reader) (any, error) {
	switch r.Peek() {
	case '{':
		members := map[string]any{}
		if err := r.Count(); err != nil {
			return nil, err
		}
		return members, r.Object(func(key string) (err error) {
			if slices.Contains(rawMembers, key) && r.Peek() == '{' {
				members[key], err = r.Raw()
			} else {
				members[key], err = readValue(r)
			}
			return err
		})
	case '[':
		list := []any{}
		if err := r.Count(); err != nil {
			return nil, err
		}
		return list, r.Array(func(int) error {
			value, err := readValue(r)
			list = append(list, value)
			return err
		})
	}
	return r.Value(true)
}

// object is an object of the request at a path. Absent members and members that are null are the same.
type object struct {
	path    string
	members map[string]any
}

// at returns the path of a member.
func (o object) at(key string) string { return strictjson.JoinPath(o.path, key) }

// wrong returns the error of a member with a value of another type than wanted.
func (o object) wrong(key, wanted string) error {
	value, there := o.members[key]
	if _, raw := value.(json.RawMessage); raw {
		value = map[string]any{}
	}
	if !there {
		return inference.Invalid(o.at(key), "%s is required", o.at(key))
	}
	return inference.Invalid(o.at(key), "%s must be %s, got %s", o.at(key), wanted, strictjson.Show(value))
}

// has reports whether a member is there.
func (o object) has(key string) bool { return o.members[key] != nil }

// text returns a string. It returns "" for an absent one unless it is required.
func (o object) text(key string, required bool) (string, error) {
	s, ok := o.members[key].(string)
	if !ok && (required || o.has(key)) {
		return "", o.wrong(key, "a string")
	}
	return s, nil
}

// word returns a string that must be one of the words. It returns "" for an absent one unless it is
// required.
func (o object) word(key string, required bool, words ...string) (string, error) {
	s, err := o.text(key, required)
	if err != nil || !required && !o.has(key) || slices.Contains(words, s) {
		return s, err
	}
	return "", inference.Invalid(o.at(key), "%s must be %s, got %s", o.at(key), strictjson.ListWords(words), strictjson.Quote(s))
}

// flag returns a boolean, which is false if it is absent.
func (o object) flag(key string) (bool, error) {
	b, ok := o.members[key].(bool)
	if !ok && o.has(key) {
		return false, o.wrong(key, "true or false")
	}
	return b, nil
}

// child returns an object. ok is false if it is absent.
func (o object) child(key string) (child object, ok bool, err error) {
	members, ok := o.members[key].(map[string]any)
	if !ok && o.has(key) {
		return object{}, false, o.wrong(key, "an object")
	}
	return object{o.at(key), members}, ok, nil
}

// list returns a list. It returns nil for an absent one.
func (o object) list(key string) ([]any, error) {
	list, ok := o.members[key].([]any)
	if !ok && o.has(key) {
		return nil, o.wrong(key, "a list")
	}
	return list, nil
}

// raw returns the JSON of a required object in rawMembers.
func (o object) raw(key string) (json.RawMessage, error) {
	raw, ok := o.members[key].(json.RawMessage)
	if !ok {
		return nil, o.wrong(key, "an object")
	}
	return raw, nil
}

// integer returns an integer in a range, or nil for an absent one.
func (o object) integer(key string, least, most int64) (*int, error) {
	if !o.has(key) {
		return nil, nil //nolint:nilnil // nil means absent
	}
	n, ok := o.members[key].(int64)
	if !ok {
		return nil, o.wrong(key, "an integer")
	}
	if n < least || n > most {
		return nil, inference.Invalid(o.at(key), "%s must be from %d to %d, got %d", o.at(key), least, most, n)
	}
	return new(int(n)), nil
}

// share returns a number from 0 to 1, or nil for an absent one.
func (o object) share(key string) (*float64, error) {
	var f float64
	switch n := o.members[key].(type) {
	case nil:
		return nil, nil //nolint:nilnil // nil means absent
	case int64:
		f = float64(n)
	case float64:
		f = n
	default:
		return nil, o.wrong(key, "a number")
	}
	if f < 0 || f > 1 {
		return nil, inference.Invalid(o.at(key), "%s must be from 0 to 1, got %s", o.at(key), strictjson.Number(f))
	}
	return &f, nil
}

// item returns the object at an index of a list.
func item(path string, i int, value any) (object, error) {
	path += strictjson.Index(i)
	members, ok := value.(map[string]any)
	if !ok {
		return object{}, inference.Invalid(path, "%s must be an object, got %s", path, strictjson.Show(value))
	}
	return object{path, members}, nil
}

// keys returns the sorted keys.
func (o object) keys() []string { return slices.Sorted(maps.Keys(o.members)) }
