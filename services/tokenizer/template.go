package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// template is the arrangement of one or two texts with special tokens by a
// post-processor.
type template struct{ single, pair []templatePart }

// templatePart is a text or special tokens.
type templatePart struct {
	text    int     // firstText, secondText, or noText for special tokens
	special []int32 // ids of special tokens
	kind    int32   // type id of the part's tokens
}

const (
	noText = iota
	firstText
	secondText
)

// untouched returns the template for a file without a post-processor.
func untouched() template {
	first, second := templatePart{text: firstText}, templatePart{text: secondText, kind: 1}
	return template{[]templatePart{first}, []templatePart{first, second}}
}

// around returns the special tokens before and after the text of the single
// template.
func (t template) around() (before, after []int32) {
	to := &before
	for _, part := range t.single {
		if part.text == noText {
			*to = append(*to, part.special...)
		} else {
			to = &after
		}
	}
	return before, after
}

// surrounded returns a template with special tokens before and after each text, as
// transformers builds it for Llama's family.
func surrounded(before, after []int32) template {
	around := func(text int, kind int32) (parts []templatePart) {
		for _, part := range []templatePart{{special: before, kind: kind}, {text: text, kind: kind}, {special: after, kind: kind}} {
			if part.text != noText || len(part.special) > 0 {
				parts = append(parts, part)
			}
		}
		return parts
	}
	single := around(firstText, 0)
	return template{single, slices.Concat(single, around(secondText, 1))}
}

// newTemplate returns the template of a post-processor. ok is false for a
// post-processor that only changes offsets.
func newTemplate(c *component) (t template, ok bool, err error) {
	if c == nil {
		return t, false, nil
	}
	switch c.kind {
	case "Sequence":
		return newTemplates(c)
	case "ByteLevel":
		return t, false, c.decode(&byteLevelJSON{})
	case "BertProcessing", "RobertaProcessing":
		t, err = newBertTemplate(c)
		return t, true, err
	case "TemplateProcessing":
		t, err = newTemplateProcessing(c)
		return t, true, err
	}
	return t, false, c.unknown("post-processor")
}

func newTemplates(c *component) (t template, ok bool, err error) {
	var f struct {
		typed
		Processors []*component `json:"processors"`
	}
	if err := c.decode(&f); err != nil {
		return t, false, err
	}
	for _, part := range f.Processors {
		next, arranges, err := newTemplate(part)
		switch {
		case err != nil:
			return t, false, err
		case arranges && ok:
			return t, false, errors.New("more than one post-processor that adds tokens is not supported")
		case arranges:
			t, ok = next, true
		}
	}
	return t, ok, nil
}

// tokenID is the id of a token, written as an array of the token and its id.
type tokenID struct{ id int32 }

// UnmarshalJSON reads the id.
func (t *tokenID) UnmarshalJSON(data []byte) error {
	var token string
	parts := []any{&token, &t.id}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if len(parts) != 2 {
		return fmt.Errorf("expected a JSON list of a token and its id, got %s", data)
	}
	return nil
}

func newBertTemplate(c *component) (template, error) {
	var f struct {
		typed
		Sep            *tokenID `json:"sep"`
		Cls            *tokenID `json:"cls"`
		TrimOffsets    bool     `json:"trim_offsets"`
		AddPrefixSpace bool     `json:"add_prefix_space"`
	}
	if err := c.decode(&f); err != nil {
		return template{}, err
	}
	if f.Sep == nil || f.Cls == nil {
		return template{}, fmt.Errorf("%s: the field sep or cls is missing", c.kind)
	}
	cls, sep := []int32{f.Cls.id}, []int32{f.Sep.id}
	single := []templatePart{{special: cls}, {text: firstText}, {special: sep}}
	second := []templatePart{{text: secondText, kind: 1}, {special: sep, kind: 1}}
	if c.kind == "RobertaProcessing" {
		second = []templatePart{{special: sep}, {text: secondText}, {special: sep}}
	}
	return template{single, slices.Concat(single, second)}, nil
}

// templateItem is one part of a template in the file: a text or a special token.
type templateItem struct {
	Sequence *struct {
		ID   string `json:"id"`
		Type int32  `json:"type_id"`
	}
	SpecialToken *struct {
		ID   string `json:"id"`
		Type int32  `json:"type_id"`
	}
}

type specialToken struct {
	ID     string   `json:"id"`
	IDs    []int32  `json:"ids"`
	Tokens []string `json:"tokens"`
}

func newTemplateProcessing(c *component) (t template, err error) {
	var f struct {
		typed
		Single        []templateItem          `json:"single"`
		Pair          []templateItem          `json:"pair"`
		SpecialTokens map[string]specialToken `json:"special_tokens"`
	}
	if err := c.decode(&f); err != nil {
		return t, err
	}
	if t.single, err = templateParts("single", f.Single, f.SpecialTokens); err != nil {
		return t, err
	}
	if t.pair, err = templateParts("pair", f.Pair, f.SpecialTokens); err != nil {
		return t, err
	}
	if n := texts(t.single, firstText); n != 1 {
		return t, fmt.Errorf("TemplateProcessing: the template single must contain the text once, not %d times", n)
	}
	if texts(t.single, secondText) > 0 {
		return t, errors.New("TemplateProcessing: the template single may contain only the text and special tokens")
	}
	return t, nil
}

func templateParts(name string, items []templateItem, tokens map[string]specialToken) (parts []templatePart, _ error) {
	for _, item := range items {
		switch {
		case item.Sequence != nil && item.Sequence.ID == "A":
			parts = append(parts, templatePart{text: firstText, kind: item.Sequence.Type})
		case item.Sequence != nil && item.Sequence.ID == "B":
			parts = append(parts, templatePart{text: secondText, kind: item.Sequence.Type})
		case item.SpecialToken != nil:
			token, ok := tokens[item.SpecialToken.ID]
			if !ok {
				return nil, fmt.Errorf("TemplateProcessing: special token %q is not defined", item.SpecialToken.ID)
			}
			parts = append(parts, templatePart{special: token.IDs, kind: item.SpecialToken.Type})
		default:
			return nil, fmt.Errorf("TemplateProcessing: the template %s may contain only the texts A and B and special tokens", name)
		}
	}
	return parts, nil
}

// texts returns how often a template contains a text.
func texts(parts []templatePart, text int) (n int) {
	for _, part := range parts {
		if part.text == text {
			n++
		}
	}
	return n
}
