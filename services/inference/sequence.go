package inference

import (
	"context"
	"fmt"
)

// SequenceEncoder encodes texts for encoder models, which read a whole sequence at once. A
// model's [Tokenizer] may implement it. It may be used concurrently.
type SequenceEncoder interface {
	// Sequence returns the ids of a text or of a pair of texts, arranged as the model's
	// tokenizer arranges them. Errors are those of [Tokenizer.Encode], [TruncationError] and
	// [SequenceTooLongError].
	Sequence(ctx context.Context, in Texts, o SequenceOptions) (Sequence, error)
	// Added returns the number of special tokens that Sequence adds to a text or to a pair.
	Added(pair bool) int
	// Truncation and Padding are the settings of the tokenizer's file, or nil. Sequence
	// doesn't apply them.
	Truncation() *Truncation
	Padding() *Padding
}

// Texts is the input of an encoder model: a text, or a pair of texts such as a query and a
// document.
type Texts struct {
	First string
	// Second is nil for a single text.
	Second *string
}

// SequenceOptions configures how texts become one sequence.
type SequenceOptions struct {
	// Plain leaves out the special tokens.
	Plain bool
	// Truncation removes tokens of texts that are too long. It may be nil.
	Truncation *Truncation
	// Limit is the maximum number of ids after the truncation, including special tokens.
	// With more ids Sequence fails with [SequenceTooLongError]. 0 disables it.
	Limit int
	// Left is the remaining text budget: see [Tokenizer.Encode].
	Left *TextBudget
}

// Sequence is the encoded input of an encoder model. Its attention mask is 1 for each id. The
// caller adds padding.
type Sequence struct {
	IDs []int32
	// TypeIDs are the types of the ids, which distinguish the texts of a pair. They are nil
	// if all of them are 0.
	TypeIDs []int32
	// Tokens is the number of tokens of each text before the truncation, without special
	// tokens, and Removed how many of them the truncation removed.
	Tokens, Removed [2]int
}

// Truncated reports whether tokens of a text were removed.
func (s *Sequence) Truncated() bool { return s.Removed[0]+s.Removed[1] > 0 }

// TruncationStrategy selects the text that is truncated.
type TruncationStrategy string

// The truncation strategies of Hugging Face's library.
const (
	// LongestFirst removes tokens of the longer text, and of both once their lengths are
	// equal.
	LongestFirst TruncationStrategy = "LongestFirst"
	OnlyFirst    TruncationStrategy = "OnlyFirst"
	OnlySecond   TruncationStrategy = "OnlySecond"
)

// Side is the side of a text or of a sequence.
type Side string

// The sides of Hugging Face's library on which tokens are removed or padding is added.
const (
	LeftSide  Side = "Left"
	RightSide Side = "Right"
)

// Truncation limits the number of ids of a sequence.
type Truncation struct {
	// MaxTokens is the maximum number of ids, including special tokens.
	MaxTokens int
	Strategy  TruncationStrategy
	// Side is the side of a text where tokens are removed. "" means RightSide.
	Side Side
	// Stride is the number of tokens by which the parts of a long text would overlap.
	// Only the first part is returned, but a stride that leaves no room is an error,
	// as in Hugging Face's library.
	Stride int
}

// TruncationError is returned for a truncation that isn't possible: its limit has no room for
// the special tokens, or its strategy would remove a whole text. It describes the reason.
type TruncationError string

func (e TruncationError) Error() string { return "truncation: " + string(e) }

// SequenceTooLongError is returned for a sequence with more ids than its limit.
type SequenceTooLongError struct {
	// Tokens is the number of ids, including special tokens.
	Tokens, Limit int
}

func (e *SequenceTooLongError) Error() string {
	return fmt.Sprintf("the input has %d tokens with its special tokens, but the limit is %d", e.Tokens, e.Limit)
}

// Padding is how the sequences of a batch get the same length.
type Padding struct {
	// Fixed is the length to pad to. If it is 0, the length is that of the longest
	// sequence of a batch.
	Fixed int
	Side  Side
	// Multiple is the number to a multiple of which the length is rounded up. 0
	// disables rounding.
	Multiple   int
	ID, TypeID int
	Token      string
}
