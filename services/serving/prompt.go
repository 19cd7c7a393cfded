package serving

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
)

// oneTextBudget returns how many bytes of text a request with one text may have tokenized.
func oneTextBudget(c *catalog.Card) *inference.TextBudget {
	return &inference.TextBudget{Bytes: budget.Text(c.ContextLength), LongWords: budget.LongWords(c.ContextLength)}
}

// textBudget returns how many bytes of text a request with n texts may have tokenized.
func textBudget(c *catalog.Card, n int) *inference.TextBudget {
	left := oneTextBudget(c)
	if n > 1 {
		left.Bytes = budget.Texts(c.ContextLength)
	}
	return left
}

// startPrefix returns the prefix that engines add to every text, such as <s>, as an id and as text. The
// id and the text are empty if there is no prefix, or if the tokenizer adds a suffix too.
func startPrefix(t inference.Tokenizer) (id []int, text string) {
	ids, err := t.Encode(context.Background(), "", true, nil)
	if err != nil || len(ids) != 1 {
		return nil, ""
	}
	return ids, t.Decode(ids, false)
}

// trimStartPrefix removes the prefix that the engine adds from a rendered prompt. A repeated prefix
// degrades the answers of some models.
func trimStartPrefix(c *catalog.Card, prompt string) string {
	if c.Tokenizer == nil {
		return prompt
	}
	_, text := startPrefix(c.Tokenizer)
	return strings.TrimPrefix(prompt, text)
}

// textOf returns the text of a prompt of token ids, because engines take text. If the text would be
// tokenized to other ids, textOf refuses the prompt.
func textOf(ctx context.Context, c *catalog.Card, ids []int, left *inference.TextBudget) (string, error) {
	const param = "prompt"
	if c.Tokenizer == nil {
		return "", inference.Unsupported(param, "the tokenizer of the model `%s` isn't known: send the prompt as text, not as token ids", c.Name)
	}
	if id := slices.Max(ids); id >= c.Tokenizer.Size() {
		return "", inference.Invalid(param, "prompt contains the token id %d, but the token ids of the model `%s` are below %d", id, c.Name, c.Tokenizer.Size())
	}
	if id, _ := startPrefix(c.Tokenizer); len(id) > 0 && ids[0] == id[0] { //nolint:contextcheck // the call encodes an empty string
		ids = ids[1:]
	}
	text, err := decodeIDs(c, param, ids)
	if err != nil {
		return "", err
	}
	again, err := c.Tokenizer.Encode(ctx, text, false, left)
	if err != nil {
		return "", errTokenize(c, param, text, err)
	}
	if !slices.Equal(again, ids) {
		return "", inference.Unsupported(param, "prompt contains token ids that the tokenizer doesn't return for their text: send the prompt as text")
	}
	return text, nil
}

// checkTokens refuses a prompt with more token ids than the context length, before the prompt is
// decoded.
func checkTokens(c *catalog.Card, req *inference.Request, ids []int) error {
	if c.Tokenizer == nil || c.ContextLength == 0 || len(ids) < c.ContextLength || req.Sampling.TruncatePromptTokens != nil {
		return nil
	}
	asked := 0
	if p := req.Sampling.MaxTokens; p != nil {
		asked = *p
	}
	return tooLong(c, req.TextParam(), len(ids), asked)
}

// decodeFactor is the maximum ratio between the text of token ids and a text that is tokenized: some
// tokens have several hundred bytes.
const decodeFactor = 4

// decodeIDs returns the text of a field's token ids, within a budget.
func decodeIDs(c *catalog.Card, param string, ids []int) (string, error) {
	most, size := decodeFactor*budget.Text(c.ContextLength), 0
	for _, id := range ids {
		token, _ := c.Tokenizer.Token(id)
		if size += len(token); size > most {
			return "", inference.Invalid(param, "the text of the token ids in %s is longer than %d bytes: send fewer token ids in one request", param, most)
		}
	}
	return c.Tokenizer.Decode(ids, false), nil
}

// errTokenize returns the error of a field whose text, or whose last text, couldn't be tokenized.
func errTokenize(c *catalog.Card, param, text string, err error) error {
	if !errors.Is(err, inference.ErrTextTooLong) {
		return fmt.Errorf("tokenize the text: %w", err)
	}
	const advice = "send less text, or split it into several requests"
	e := &inference.Error{Code: inference.CodeInvalid, Reason: inference.ReasonContextLength, Param: param}
	if one := budget.Text(c.ContextLength); len(text) > one {
		e.Message = fmt.Sprintf("%s has %d bytes, but Trident tokenizes at most %d bytes for this model: %s", param, len(text), one, advice)
	} else {
		e.Message = fmt.Sprintf("%s is too long to be tokenized: all texts of a request together may have %d bytes after normalization, and their long words together %d bytes: %s",
			param, budget.Texts(c.ContextLength), budget.LongWords(c.ContextLength), advice)
	}
	return e
}

// countTexts returns the number of tokens of the longest text, and of all texts. Without a tokenizer the
// first number is 0, and the second an estimate.
func countTexts(ctx context.Context, c *catalog.Card, param string, texts []string) (longest, all int, err error) {
	left := textBudget(c, len(texts))
	for _, text := range texts {
		if c.Tokenizer == nil {
			all += estimate(len(text))
			continue
		}
		n, err := c.Tokenizer.Count(ctx, text, true, left)
		if err != nil {
			return 0, 0, errTokenize(c, param, text, err)
		}
		longest, all = max(longest, n), all+n
	}
	return longest, all, nil
}

// inputCheck is an input to check: a text, or token ids.
type inputCheck struct {
	param string
	text  string
	ids   []int // replace the text if not nil
	left  *inference.TextBudget
}

// checkInput returns the number of an input's tokens, and refuses an input that the model can't encode.
// The tokenizer must be known.
func checkInput(ctx context.Context, c *catalog.Card, in inputCheck) (int, error) {
	n := len(in.ids)
	if n > 0 {
		if id := slices.Max(in.ids); id >= c.Tokenizer.Size() {
			return 0, errUnknownToken(c, in.param, id)
		}
	} else {
		var err error
		if n, err = c.Tokenizer.Count(ctx, in.text, true, in.left); err != nil {
			return 0, errTokenize(c, in.param, in.text, err)
		}
	}
	if c.ContextLength > 0 && n > c.ContextLength {
		return 0, tooLong(c, in.param, n, 0)
	}
	return n, nil
}

// errUnknownToken returns the error of an input with a token id that the model doesn't have.
func errUnknownToken(c *catalog.Card, param string, id int) error {
	return inference.Invalid(param, "%s contains the token id %d, but the token ids of the model `%s` are below %d: send text (LangChain: check_embedding_ctx_length=False)",
		param, id, c.Name, c.Tokenizer.Size())
}

// tooLong returns the error of a prompt and a requested answer that exceed the context length.
func tooLong(c *catalog.Card, param string, prompt, asked int) *inference.Error {
	message := fmt.Sprintf("This model's maximum context length is %d tokens, but %s has %d tokens", c.ContextLength, param, prompt)
	if asked > 0 {
		message += fmt.Sprintf(" and %d tokens were requested for the answer", asked)
	}
	return &inference.Error{Code: inference.CodeInvalid, Reason: inference.ReasonContextLength, Param: param, Message: message}
}
