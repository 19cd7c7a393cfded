package tokenizer

import (
	"context"
	"errors"
	"fmt"

	"github.com/trident-inference/trident/services/inference"
)

// Encoding is one input of an encoder model: a text or a pair of texts.
type Encoding struct {
	IDs []int
	// TypeIDs are the type of each id. The type distinguishes the texts of a pair.
	TypeIDs []int
	// Attention is 1 for each id. Padding has 0 and is added by the caller.
	Attention []int
	// Truncated reports whether tokens of a text were removed.
	Truncated bool
}

// ErrTooShort is returned when Truncation would have to remove all tokens of the text
// that its Strategy names, or more.
var ErrTooShort = errors.New("the text to truncate is too short")

// ErrNoSecond is returned when Truncation applies to the second text and there is only
// one.
var ErrNoSecond = errors.New("the truncation strategy only_second needs a pair of texts, but the input has only one text")

// EncodeSingle returns the ids and types of a text, truncated by cut unless it is nil.
// [Tokenizer.Encode] describes the other parameters.
func (t *Tokenizer) EncodeSingle(ctx context.Context, text string, special bool, cut *Truncation, left *inference.TextBudget) (Encoding, error) {
	return t.arrange(ctx, t.template.single, []string{text}, Arrangement{Special: special, Cut: cut, Left: left})
}

// Arrangement configures how one or two texts become the ids of one sequence.
type Arrangement struct {
	// Special adds the template's special tokens.
	Special bool
	// Cut truncates the texts. It may be nil.
	Cut *Truncation
	// Left is the remaining text budget: see [Tokenizer.Encode].
	Left *inference.TextBudget
}

// EncodePair returns the ids and types of two texts, arranged by the tokenizer's
// template.
func (t *Tokenizer) EncodePair(ctx context.Context, first, second string, a Arrangement) (Encoding, error) {
	parts := t.template.pair
	if texts(parts, firstText) == 0 || texts(parts, secondText) == 0 {
		return Encoding{}, errors.New("TemplateProcessing: the template pair must contain the texts A and B")
	}
	return t.arrange(ctx, parts, []string{first, second}, a)
}

func (t *Tokenizer) arrange(ctx context.Context, parts []templatePart, all []string, a Arrangement) (Encoding, error) {
	var ids [3][]int // indexed by templatePart.text
	for i, text := range all {
		var err error
		if ids[firstText+i], err = t.Encode(ctx, text, false, a.Left); err != nil {
			return Encoding{}, err
		}
	}
	truncated := false
	if a.Cut != nil {
		var err error
		if truncated, err = a.Cut.apply(ids[firstText:firstText+len(all)], added(parts, a.Special)); err != nil {
			return Encoding{}, err
		}
	}
	n := 0
	for _, part := range parts {
		n += len(ids[part.text]) + len(part.special)
	}
	e := Encoding{IDs: make([]int, 0, n), TypeIDs: make([]int, 0, n), Attention: make([]int, 0, n), Truncated: truncated}
	for _, part := range parts {
		switch {
		case part.text != noText:
			e.append(ids[part.text], part.kind)
		case a.Special:
			e.append(part.special, part.kind)
		}
	}
	return e, nil
}

// added returns the number of special tokens of a template.
func added(parts []templatePart, special bool) (n int) {
	if !special {
		return 0
	}
	for _, part := range parts {
		n += len(part.special)
	}
	return n
}

func (e *Encoding) append(ids []int, kind int) {
	e.IDs = append(e.IDs, ids...)
	for range ids {
		e.TypeIDs = append(e.TypeIDs, kind)
		e.Attention = append(e.Attention, 1)
	}
}

// Strategy selects the text that is truncated.
type Strategy string

// The truncation strategies of Hugging Face's library: which text of a pair is truncated.
const (
	// LongestFirst removes tokens of the longer text, and of both once their lengths
	// are equal.
	LongestFirst Strategy = "LongestFirst"
	OnlyFirst    Strategy = "OnlyFirst"
	OnlySecond   Strategy = "OnlySecond"
)

// Direction is the side of a text where tokens are removed or padding is added.
type Direction string

// The sides of Hugging Face's library on which tokens are removed or added.
const (
	Left  Direction = "Left"
	Right Direction = "Right"
)

// Truncation limits the number of ids. It is also the form of tokenizer.json.
type Truncation struct {
	Direction Direction `json:"direction"` // "" means Right
	// MaxLength is the maximum number of ids, including special tokens.
	MaxLength int      `json:"max_length"`
	Strategy  Strategy `json:"strategy"`
	// Stride is the number of tokens by which the parts of a long text would overlap.
	// Only the first part is returned, but a stride that leaves no room is an error,
	// as in Hugging Face's library.
	Stride int `json:"stride"`
}

func (c *Truncation) check() error {
	switch {
	case c.Direction != "" && c.Direction != Left && c.Direction != Right:
		return fmt.Errorf("truncation: direction %q is not supported", c.Direction)
	case c.Strategy != LongestFirst && c.Strategy != OnlyFirst && c.Strategy != OnlySecond:
		return fmt.Errorf("truncation: strategy %q is not supported", c.Strategy)
	case c.MaxLength < 0 || c.Stride < 0:
		return fmt.Errorf("truncation: max_length %d or stride %d is negative", c.MaxLength, c.Stride)
	}
	return nil
}

// apply truncates one text or two. special is the number of special tokens that are
// added to them.
func (c *Truncation) apply(ids [][]int, special int) (truncated bool, _ error) {
	if err := c.check(); err != nil {
		return false, err
	}
	room := c.MaxLength - special
	if room < c.Stride {
		return false, c.noRoom(special)
	}
	total := 0
	for _, text := range ids {
		total += len(text)
	}
	if total <= room {
		return false, nil
	}
	lengths, err := c.lengths(ids, room, total)
	for i, n := range lengths {
		switch {
		case n >= len(ids[i]):
		case n > 0 && c.Stride >= n:
			return false, c.noRoom(special)
		case c.Direction == Left:
			ids[i] = ids[i][len(ids[i])-n:]
		default:
			ids[i] = ids[i][:n]
		}
	}
	return true, err
}

func (c *Truncation) noRoom(special int) error {
	return fmt.Errorf("truncation: max_length %d has no room for %d special tokens and a stride of %d", c.MaxLength, special, c.Stride)
}

// lengths returns the lengths to which texts are truncated.
func (c *Truncation) lengths(ids [][]int, room, total int) ([]int, error) {
	if room == 0 { // with every strategy, no ids of the texts remain
		return make([]int, len(ids)), nil
	}
	lengths := make([]int, len(ids))
	for i, text := range ids {
		lengths[i] = len(text)
	}
	cut := 0
	switch {
	case c.Strategy == OnlySecond && len(ids) < 2:
		return nil, ErrNoSecond
	case c.Strategy == OnlySecond:
		cut = 1
	case c.Strategy == LongestFirst && len(ids) == 2:
		lengths[0], lengths[1] = shares(lengths[0], lengths[1], room)
		return lengths, nil
	case c.Strategy == LongestFirst:
		return []int{room}, nil
	}
	if lengths[cut] -= total - room; lengths[cut] <= 0 {
		return nil, fmt.Errorf("%w: it has %d tokens, but %d tokens would have to be removed", ErrTooShort, len(ids[cut]), total-room)
	}
	return lengths, nil
}

// shares divides the room between two texts that need more. The shorter text stays
// whole if it needs at most half.
func shares(first, second, room int) (int, int) {
	short, long := min(first, second), room-min(first, second)
	if long < short {
		short = room / 2
		long = short + room%2
	}
	if first > second {
		return long, short
	}
	return short, long
}

// Padding is the padding of tokenizer.json. The caller applies it.
type Padding struct {
	// Fixed is the length to pad to. If it is 0, the length is that of the longest
	// text of a batch.
	Fixed     int
	Direction Direction
	// Multiple is the number to a multiple of which the length is rounded up. 0
	// disables rounding.
	Multiple int
	ID, Type int
	Token    string
}

// Truncation returns the truncation of tokenizer.json, or nil if it has none. Encode
// doesn't apply it.
func (t *Tokenizer) Truncation() *Truncation { return t.truncation }

// Padding returns the padding of tokenizer.json, or nil if it has none.
func (t *Tokenizer) Padding() *Padding { return t.padding }

// UnmarshalJSON reads the form of tokenizer.json.
func (c *Truncation) UnmarshalJSON(data []byte) error {
	type plainTruncation Truncation // a type without this method
	if err := strict(data, (*plainTruncation)(c)); err != nil {
		return fmt.Errorf("truncation: %w", err)
	}
	return c.check()
}

// UnmarshalJSON reads the form of tokenizer.json.
func (p *Padding) UnmarshalJSON(data []byte) error {
	var f struct {
		Strategy  paddingStrategy `json:"strategy"`
		Direction Direction       `json:"direction"`
		Multiple  *int            `json:"pad_to_multiple_of"`
		ID        int             `json:"pad_id"`
		Type      int             `json:"pad_type_id"`
		Token     string          `json:"pad_token"`
	}
	if err := strict(data, &f); err != nil {
		return fmt.Errorf("padding: %w", err)
	}
	if f.Direction != Left && f.Direction != Right {
		return fmt.Errorf("padding: direction %q is not supported", f.Direction)
	}
	*p = Padding{Fixed: int(f.Strategy), Direction: f.Direction, Multiple: or(f.Multiple), ID: f.ID, Type: f.Type, Token: f.Token}
	if p.Multiple < 0 {
		return fmt.Errorf("padding: pad_to_multiple_of %d is negative", p.Multiple)
	}
	return nil
}

// paddingStrategy is a fixed length, or 0 for the length of the longest text of a
// batch. The file has {"Fixed":N} or "BatchLongest".
type paddingStrategy int

// UnmarshalJSON reads both forms.
func (s *paddingStrategy) UnmarshalJSON(data []byte) error {
	if string(data) == `"BatchLongest"` {
		*s = 0
		return nil
	}
	var f struct {
		Fixed *int
	}
	if err := strict(data, &f); err != nil {
		return err
	}
	if f.Fixed == nil || *f.Fixed < 0 {
		return fmt.Errorf("strategy %s is not supported", data)
	}
	*s = paddingStrategy(*f.Fixed)
	return nil
}
