package tokenizer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// newTemplate is the special tokens that a post-processor puts before and after
// one text. What it does to pairs of texts and to offsets is of no use here.
func newTemplate(c *component) (before, after []int, err error) {
	if c == nil {
		return nil, nil, nil
	}
	switch c.kind {
	case "Sequence":
		return newTemplates(c)
	case "ByteLevel":
		return nil, nil, c.decode(&byteLevelJSON{})
	case "BertProcessing", "RobertaProcessing":
		return newBertTemplate(c)
	case "TemplateProcessing":
		return newSingle(c)
	}
	return nil, nil, c.unknown("post-processor")
}

func newTemplates(c *component) (before, after []int, err error) {
	var f struct {
		typed
		Processors []*component `json:"processors"`
	}
	if err := c.decode(&f); err != nil {
		return nil, nil, err
	}
	for _, part := range f.Processors {
		b, a, err := newTemplate(part)
		if err != nil {
			return nil, nil, err
		}
		if len(b)+len(a) > 0 && len(before)+len(after) > 0 {
			return nil, nil, errors.New("more than one post-processor that adds tokens is not supported")
		}
		before, after = slices.Concat(before, b), slices.Concat(after, a)
	}
	return before, after, nil
}

// tokenID is a token and its id, written as an array of both.
type tokenID struct{ id int }

// UnmarshalJSON reads the id.
func (t *tokenID) UnmarshalJSON(data []byte) error {
	var token string
	parts := []any{&token, &t.id}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	if len(parts) != 2 {
		return fmt.Errorf("%s where a token and its id are expected", data)
	}
	return nil
}

func newBertTemplate(c *component) (before, after []int, err error) {
	var f struct {
		typed
		Sep            *tokenID `json:"sep"`
		Cls            *tokenID `json:"cls"`
		TrimOffsets    bool     `json:"trim_offsets"`
		AddPrefixSpace bool     `json:"add_prefix_space"`
	}
	if err := c.decode(&f); err != nil {
		return nil, nil, err
	}
	if f.Sep == nil || f.Cls == nil {
		return nil, nil, fmt.Errorf("%s: sep or cls is missing", c.kind)
	}
	return []int{f.Cls.id}, []int{f.Sep.id}, nil
}

// templateItem is one part of a template: the text or a special token.
type templateItem struct {
	Sequence *struct {
		ID   string `json:"id"`
		Type int    `json:"type_id"`
	}
	SpecialToken *struct {
		ID   string `json:"id"`
		Type int    `json:"type_id"`
	}
}

func newSingle(c *component) (before, after []int, err error) {
	var f struct {
		typed
		Single        []templateItem  `json:"single"`
		Pair          json.RawMessage `json:"pair"`
		SpecialTokens map[string]struct {
			ID     string   `json:"id"`
			IDs    []int    `json:"ids"`
			Tokens []string `json:"tokens"`
		} `json:"special_tokens"`
	}
	if err := c.decode(&f); err != nil {
		return nil, nil, err
	}
	texts := 0
	for _, item := range f.Single {
		switch {
		case item.Sequence != nil && item.Sequence.ID == "A":
			texts++
		case item.SpecialToken != nil:
			token, ok := f.SpecialTokens[item.SpecialToken.ID]
			if !ok {
				return nil, nil, fmt.Errorf("TemplateProcessing: special token %q is not defined", item.SpecialToken.ID)
			}
			if texts == 0 {
				before = append(before, token.IDs...)
			} else {
				after = append(after, token.IDs...)
			}
		default:
			return nil, nil, errors.New("TemplateProcessing: single has more than the text and special tokens")
		}
	}
	if texts != 1 {
		return nil, nil, fmt.Errorf("TemplateProcessing: single has the text %d times", texts)
	}
	return before, after, nil
}
