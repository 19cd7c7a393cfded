package inference

import (
	"context"
	"errors"
)

// Tokenizer is a model's tokenizer, which converts text to token ids and back. It may be used
// concurrently.
type Tokenizer interface {
	// Encode returns the token ids of a text. With special, they include the special tokens that
	// the model's tokenizer adds around every text. Encode stops when ctx ends and returns its
	// error. The argument left is the remaining budget, from which the text is subtracted; nil
	// means that the text isn't limited. A text that exceeds the budget is [ErrTextTooLong].
	Encode(ctx context.Context, text string, special bool, left *TextBudget) ([]int, error)
	// Count returns the number of ids that Encode would return.
	Count(ctx context.Context, text string, special bool, left *TextBudget) (int, error)
	// Decode returns the text of token ids. With skipSpecial, special tokens are left out.
	Decode(ids []int, skipSpecial bool) string
	// Token returns a token as the vocabulary writes it, which may differ from its text.
	Token(id int) (token string, ok bool)
	// Size returns the size of the vocabulary. All ids are below it.
	Size() int
}

// TextBudget is the remaining budget for tokenizing a request's texts, in bytes of their
// normalized forms. Only one goroutine may use it at a time.
type TextBudget struct {
	Bytes int
	// LongWords is the remaining budget for words of more than [budget.LongWord] bytes, in bytes.
	LongWords int
}

// ErrTextTooLong is returned for a text that exceeds its [TextBudget].
var ErrTextTooLong = errors.New("the text is too long to be tokenized")
