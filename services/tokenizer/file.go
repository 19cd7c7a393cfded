package tokenizer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// maxID limits the ids of a file, because tokens are stored in a slice.
const maxID = 1 << 22

// file is tokenizer.json. Its parts are decoded strictly, because an unknown
// field might change their meaning.
type file struct {
	Version       string       `json:"version"`
	Truncation    *truncation  `json:"truncation"` // applied by the caller
	Padding       *padding     `json:"padding"`    // applied by the caller
	AddedTokens   []addedToken `json:"added_tokens"`
	Normalizer    *component   `json:"normalizer"`
	PreTokenizer  *component   `json:"pre_tokenizer"`
	PostProcessor *component   `json:"post_processor"`
	Decoder       *component   `json:"decoder"`
	Model         component    `json:"model"`
}

// component is a part of tokenizer.json, such as the decoder. Its type determines its other fields.
type component struct {
	kind string
	raw  json.RawMessage
}

// UnmarshalJSON stores the part for decode.
func (c *component) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '{' {
		return fmt.Errorf("expected a JSON object, got %.20s", data)
	}
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	c.kind, c.raw = head.Type, bytes.Clone(data)
	return nil
}

// decode reads the part's fields. target's struct must have every field, and
// embeds typed for the type itself.
func (c *component) decode(target any) error {
	if err := strict(c.raw, target); err != nil {
		return fmt.Errorf("%s: %w", c.kind, err)
	}
	return nil
}

// bare checks that the part has no fields.
func (c *component) bare() error { return c.decode(&typed{}) }

type typed struct {
	Type string `json:"type"`
}

// unknown returns the error of a part whose type isn't supported.
func (c *component) unknown(what string) error {
	if c.kind == "" {
		return fmt.Errorf("the %s has no type", what)
	}
	return fmt.Errorf("%s %q is not supported", what, c.kind)
}

func strict(data []byte, target any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	err := d.Decode(target)
	if err == nil && d.More() {
		err = errors.New("the JSON text has more than one value")
	}
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// Parse builds a tokenizer from the content of a tokenizer.json.
func Parse(data []byte) (*Tokenizer, error) {
	var f file
	if err := strict(data, &f); err != nil {
		return nil, err
	}
	if f.Version != "1.0" {
		return nil, fmt.Errorf("version %q is not supported: it must be 1.0", f.Version)
	}
	t := &Tokenizer{encoders: &sync.Pool{}, truncation: f.Truncation, padding: f.Padding}
	props := sync.OnceValue(newProperties)
	var err error
	if t.normalizer, err = newNormalizer(f.Normalizer, props); err != nil {
		return nil, err
	}
	if t.splitters, err = newSplitters(f.PreTokenizer, props); err != nil {
		return nil, err
	}
	alphabet := dropAlphabet(&t.splitters)
	tokens, build, err := newModel(&f.Model)
	if err != nil {
		return nil, err
	}
	f.Model.raw = nil
	if t.model, err = build(alphabet); err != nil {
		return nil, err
	}
	if err := t.fill(tokens, f.AddedTokens, props); err != nil {
		return nil, err
	}
	arranged, ok, err := newTemplate(f.PostProcessor)
	if err != nil {
		return nil, err
	}
	if !ok {
		arranged = untouched()
	}
	t.arrangeBy(arranged)
	if t.decoders, err = newDecoders(f.Decoder); err != nil {
		return nil, err
	}
	return t, nil
}

// fill builds the vocabulary from the model's ids and the added tokens.
func (t *Tokenizer) fill(of vocab, added []addedToken, props func() *properties) error {
	v := &t.vocabulary
	v.ids, v.models = of.ids, max(len(of.ids), len(of.list))
	v.empty, v.addedIDs, v.special = map[int32]bool{}, map[string]int32{}, map[string]bool{}
	v.tokens = make([]string, v.models+len(added))
	for token, id := range of.ids {
		if err := v.set(token, id); err != nil {
			return err
		}
	}
	for id, token := range of.list {
		if err := v.set(token, int32(id)); err != nil {
			return err
		}
	}
	var word *set
	if slices.ContainsFunc(added, func(a addedToken) bool { return a.SingleWord }) {
		word = props().word
	}
	return t.add(added, word)
}

func (v *vocabulary) set(token string, id int32) error {
	if id < 0 || id > maxID {
		return fmt.Errorf("the token %q has the id %d, but the maximum id is %d", token, id, maxID)
	}
	for int(id) >= len(v.tokens) {
		v.tokens = append(v.tokens, "")
	}
	if v.tokens[id] = token; token == "" {
		v.empty[id] = true
	}
	return nil
}
