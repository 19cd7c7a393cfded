package inference

import (
	"fmt"
	"slices"
	"strings"
)

// Tokenizer is a model's own: texts to token ids and back. It may be used
// concurrently.
type Tokenizer interface {
	// Encode gives the token ids of a text; with special also those that the
	// model's maker puts around every text.
	Encode(text string, special bool) ([]int, error)
	// Count is how many ids Encode would give.
	Count(text string, special bool) (int, error)
	// Decode gives the text of token ids; with skipSpecial without that of special
	// tokens.
	Decode(ids []int, skipSpecial bool) string
	// Token gives a token as the vocabulary writes it, not as it reads in a text.
	Token(id int) (token string, ok bool)
	// Size of the vocabulary: ids are below it.
	Size() int
}

// Tokenizers reads tokenizers.
type Tokenizers interface {
	// Load reads the tokenizer in a folder. Errors may name the folder: they are
	// for the log.
	Load(folder string) (Tokenizer, error)
}

// begins is what engines put before every text by themselves, such as <s>: its
// ids and its text, empty for nothing. It isn't known of tokenizers that end
// texts, too.
func begins(t Tokenizer) (id []int, text string) {
	ids, err := t.Encode("", true)
	if err != nil || len(ids) != 1 {
		return nil, ""
	}
	return ids, t.Decode(ids, false)
}

// withoutBegin takes what the engine adds off a rendered prompt that has it
// already: twice, it spoils the answers of some models.
func (c *Card) withoutBegin(prompt string) string {
	if c.Tokenizer == nil {
		return prompt
	}
	_, text := begins(c.Tokenizer)
	return strings.TrimPrefix(prompt, text)
}

// textOf gives the text of a prompt of token ids, as engines take texts. Where
// they would read other ids in it, the prompt is refused.
func (c *Card) textOf(ids []int) (string, error) {
	const param = "prompt"
	if c.Tokenizer == nil {
		return "", Unsupported(param, "the tokenizer of the model `%s` isn't known: send the prompt as text, not as token ids", c.Name)
	}
	if id := slices.Max(ids); id >= c.Tokenizer.Size() {
		return "", Invalid(param, "prompt holds the token id %d, but the model `%s` has %d tokens", id, c.Name, c.Tokenizer.Size())
	}
	if id, _ := begins(c.Tokenizer); len(id) > 0 && ids[0] == id[0] {
		ids = ids[1:]
	}
	text := c.Tokenizer.Decode(ids, false)
	again, err := c.Tokenizer.Encode(text, false)
	if err != nil {
		return "", fmt.Errorf("tokenize prompt: %w", err)
	}
	if !slices.Equal(again, ids) {
		return "", Unsupported(param, "prompt holds token ids that their text isn't read as: send it as text")
	}
	return text, nil
}

// longest is the number of tokens of the longest text, as the engine will count
// them, or 0 where that isn't known.
func (c *Card) longest(texts []string) (int, error) {
	if c.Tokenizer == nil {
		return 0, nil
	}
	most := 0
	for _, text := range texts {
		n, err := c.Tokenizer.Count(text, true)
		if err != nil {
			return 0, fmt.Errorf("count tokens: %w", err)
		}
		most = max(most, n)
	}
	return most, nil
}

// checkInputs refuses inputs that the model can't embed, as far as its tokenizer
// is known.
func (c *Card) checkInputs(inputs []Input) error {
	if c.Tokenizer == nil {
		return nil
	}
	for i, in := range inputs {
		param := fmt.Sprintf("input[%d]", i)
		if len(inputs) == 1 {
			param = "input"
		}
		n := len(in.TokenIDs)
		if n > 0 {
			if id := slices.Max(in.TokenIDs); id >= c.Tokenizer.Size() {
				return Invalid(param, "%s holds the token id %d, but the model `%s` has %d tokens: send texts (LangChain: check_embedding_ctx_length=False)",
					param, id, c.Name, c.Tokenizer.Size())
			}
		} else {
			var err error
			if n, err = c.longest([]string{in.Text}); err != nil {
				return err
			}
		}
		if c.ContextLength > 0 && n > c.ContextLength {
			return c.tooLong(param, n, 0)
		}
	}
	return nil
}

// tooLong says that a prompt and the answer asked for don't fit into the context.
func (c *Card) tooLong(param string, prompt, asked int) *Error {
	message := fmt.Sprintf("this model's context is %d tokens, but %s has %d", c.ContextLength, param, prompt)
	if asked > 0 {
		message += fmt.Sprintf(" and %d were asked for in the answer", asked)
	}
	return &Error{Code: CodeInvalid, Reason: ReasonContextLength, Param: param, Message: message}
}
