package inference

import (
	"context"
	"errors"
)

// Tokenizer is a model's own: texts to token ids and back. It may be used
// concurrently.
type Tokenizer interface {
	// Encode gives the token ids of a text; with special also those that the
	// model's maker puts around every text. It ends with ctx, whose error it returns. The
	// text takes from left, which may be nil; beyond it is [ErrTextTooLong].
	Encode(ctx context.Context, text string, special bool, left *TextBudget) ([]int, error)
	// Count is how many ids Encode would give.
	Count(ctx context.Context, text string, special bool, left *TextBudget) (int, error)
	// Decode gives the text of token ids; with skipSpecial without that of special
	// tokens.
	Decode(ids []int, skipSpecial bool) string
	// Token gives a token as the vocabulary writes it, not as it reads in a text.
	Token(id int) (token string, ok bool)
	// Size of the vocabulary: ids are below it.
	Size() int
}

// TextBudget is what may still be tokenized of a request's texts, in bytes of their normal
// forms. One goroutine may use it at a time.
type TextBudget struct {
	Bytes int
	// LongWords are those of words of more than [budget.LongWord] bytes.
	LongWords int
}

// ErrTextTooLong is returned for a text that is longer than its [TextBudget].
var ErrTextTooLong = errors.New("the text is too long to be tokenized")
