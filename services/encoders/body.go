package encoders

import (
	"fmt"
	"math"
	"net/http"
	"slices"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/strictjson"
)

// members are the readers of an object's members, by their names. A member that is null is absent.
type members map[string]func(r *strictjson.Reader) error

// object reads an object. Each required member must be there. Members that are unknown are skipped and added to
// ignored.
func (m members) object(r *strictjson.Reader, ignored *[]string, required ...string) error {
	if r.Peek() != '{' {
		return r.Mismatch("an object")
	}
	seen := make(map[string]bool, len(m))
	err := r.Object(func(key string) error {
		read := m[key]
		if read == nil {
			if len(*ignored) <= server.MaxIgnored {
				*ignored = append(*ignored, budget.Cut(key, budget.NameBytes))
			}
			_, err := r.Value(false)
			return err
		}
		if r.Peek() == 'n' {
			_, err := r.Value(false)
			return err
		}
		seen[key] = true
		return read(r)
	})
	if err != nil {
		return err
	}
	for _, key := range required {
		if !seen[key] {
			return strictjson.Missing(key)
		}
	}
	return nil
}

// read reads the body of a request. Errors are [*inference.Error] with params such as documents[3].
func (m members) read(r *http.Request, required ...string) error {
	raw, err := server.ReadBody(r)
	if err != nil {
		return err
	}
	if err := requests.MayUse(r.Context(), raw); err != nil {
		return err
	}
	var ignored []string
	err = strictjson.Read(raw, func(in *strictjson.Reader) error {
		if in.Peek() != '{' {
			return inference.Invalid("", "the request body must be a JSON object")
		}
		return m.object(in, &ignored, required...)
	})
	if err != nil {
		return strictjson.BodyError(err)
	}
	for _, name := range ignored {
		if err := server.Ignore(r.Context(), server.IgnoredField{Name: name, Reason: "unknown field " + name}); err != nil {
			return err
		}
	}
	return nil
}

// named returns the error of a value.
func named(format string, args ...any) error {
	return &strictjson.Error{Message: fmt.Sprintf(format, args...), Named: true}
}

// text reads a string that isn't empty.
func text(r *strictjson.Reader) (string, error) {
	s, err := r.Text()
	if err == nil && s == "" {
		err = named("must not be empty")
	}
	return s, err
}

// textIn returns a reader of a string that isn't empty.
func textIn(s *string) func(*strictjson.Reader) error {
	return func(r *strictjson.Reader) (err error) {
		*s, err = text(r)
		return err
	}
}

// anyTextIn returns a reader of a string.
func anyTextIn(s *string) func(*strictjson.Reader) error {
	return func(r *strictjson.Reader) (err error) {
		*s, err = r.Text()
		return err
	}
}

// skipText reads a string that has no effect.
func skipText(r *strictjson.Reader) error {
	_, err := r.Text()
	return err
}

// flagIn returns a reader of a boolean.
func flagIn(b **bool) func(*strictjson.Reader) error {
	return func(r *strictjson.Reader) error {
		value, err := r.Value(true)
		if err != nil {
			return err
		}
		flag, ok := value.(bool)
		if !ok {
			return strictjson.Wrong("true or false", value)
		}
		*b = &flag
		return nil
	}
}

// integerIn returns a reader of an integer from least to the largest of 32 bits.
func integerIn(n **int, least int64) func(*strictjson.Reader) error {
	return func(r *strictjson.Reader) error {
		value, err := r.Value(true)
		if err != nil {
			return err
		}
		i, ok := value.(int64)
		if !ok || i < least || i > math.MaxInt32 {
			return strictjson.Wrong(fmt.Sprintf("an integer from %d to %d", least, math.MaxInt32), value)
		}
		*n = new(int(i))
		return nil
	}
}

// wordIn returns a reader of one of the words.
func wordIn(s *string, words ...string) func(*strictjson.Reader) error {
	return func(r *strictjson.Reader) error {
		value, err := r.Value(true)
		if err != nil {
			return err
		}
		word, ok := value.(string)
		if !ok || !slices.Contains(words, word) {
			return named("must be %s, got %s", strictjson.ListWords(words), strictjson.Quote(value))
		}
		*s = word
		return nil
	}
}

// list reads a list of at least one item, and of at most [budget.EncodeInputs].
func list(r *strictjson.Reader, wanted string, item func(i int) error) error {
	if r.Peek() != '[' {
		return r.Mismatch(wanted)
	}
	n := 0
	err := r.Array(func(i int) error {
		if i == budget.EncodeInputs {
			return named("exceeds the maximum of %d entries: send fewer", budget.EncodeInputs)
		}
		n++
		return item(i)
	})
	if err == nil && n == 0 {
		err = named("must not be empty")
	}
	return err
}

// textsIn returns a reader of a list of strings that aren't empty.
func textsIn(texts *[]string) func(*strictjson.Reader) error {
	return func(r *strictjson.Reader) error {
		*texts = nil
		return list(r, "a list of strings", func(int) error {
			s, err := text(r)
			*texts = append(*texts, s)
			return err
		})
	}
}

// oneOrMoreIn returns a reader of a string or of a list of strings. one is set for a string, and may be nil.
func oneOrMoreIn(texts *[]string, one *bool) func(*strictjson.Reader) error {
	return func(r *strictjson.Reader) error {
		switch r.Peek() {
		case '"':
			s, err := text(r)
			*texts = []string{s}
			if one != nil {
				*one = true
			}
			return err
		case '[':
			return textsIn(texts)(r)
		}
		return r.Mismatch("a string or a list of strings")
	}
}

// documentsIn returns a reader of a list of strings, or of objects with the member text.
func (o *options) documentsIn(texts *[]string) func(*strictjson.Reader) error {
	return func(r *strictjson.Reader) error {
		*texts = nil
		return list(r, "a list of strings or objects", func(i int) error {
			var document string
			var err error
			switch r.Peek() {
			case '"':
				document, err = text(r)
			case '{':
				err = o.object(r, members{"text": textIn(&document)}, "documents"+strictjson.Index(i), "text")
			default:
				err = r.Mismatch("a string or an object with the member text")
			}
			*texts = append(*texts, document)
			return err
		})
	}
}

// inputsIn returns a reader of a text, of the token ids of a text, or of a list of both. one is set for a single text
// or list of ids.
func inputsIn(inputs *[]inference.Input, one *bool) func(*strictjson.Reader) error {
	const wanted = "a string, a list of strings, a list of token ids or a list of token id lists"
	return func(r *strictjson.Reader) error {
		switch r.Peek() {
		case '"':
			s, err := text(r)
			*inputs, *one = []inference.Input{{Text: s}}, true
			return err
		case '[':
		default:
			return r.Mismatch(wanted)
		}
		var ids []int
		err := r.Array(func(i int) error {
			c := r.Peek()
			if c != '"' && c != '[' || ids != nil {
				var err error
				if *inputs != nil {
					return r.Mismatch("a string or a list of token ids")
				}
				ids, err = r.AppendTokenID(ids)
				return err
			}
			if i == budget.EncodeInputs {
				return named("exceeds the maximum of %d entries: send fewer", budget.EncodeInputs)
			}
			input, err := entry(r)
			*inputs = append(*inputs, input)
			return err
		})
		if ids != nil {
			*inputs, *one = []inference.Input{{TokenIDs: ids}}, true
		}
		if err == nil && *inputs == nil {
			err = named("must not be empty")
		}
		return err
	}
}

// entry reads a text or a list of token ids.
func entry(r *strictjson.Reader) (in inference.Input, err error) {
	if r.Peek() == '"' {
		in.Text, err = text(r)
		return in, err
	}
	err = r.Array(func(int) (err error) {
		in.TokenIDs, err = r.AppendTokenID(in.TokenIDs)
		return err
	})
	if err == nil && in.TokenIDs == nil {
		err = named("must not be empty")
	}
	return in, err
}
