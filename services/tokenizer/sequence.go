package tokenizer

import (
	"context"
	"errors"
	"fmt"

	"github.com/trident-inference/trident/services/inference"
)

// Sequence returns the ids and types of a text or of two texts, arranged by the tokenizer's
// template. [inference.SequenceEncoder] describes it.
func (t *Tokenizer) Sequence(ctx context.Context, in inference.Texts, o inference.SequenceOptions) (inference.Sequence, error) {
	parts := t.template.single
	if in.Second != nil {
		if parts = t.template.pair; texts(parts, firstText) == 0 || texts(parts, secondText) == 0 {
			return inference.Sequence{}, errors.New("TemplateProcessing: the template pair must contain the texts A and B")
		}
	}
	e := t.encoder(ctx, o.Left)
	defer t.release(e)
	if err := e.encode(t, in.First); err != nil {
		return inference.Sequence{}, err
	}
	all := [][]int32{e.ids, nil}[:1]
	if in.Second != nil {
		n := len(e.ids)
		if err := e.encode(t, *in.Second); err != nil {
			return inference.Sequence{}, err
		}
		all = append(all[:0], e.ids[:n], e.ids[n:])
	}
	return t.arrange(parts, all, o)
}

// arrange truncates the ids of texts and puts them into the parts of a template.
func (t *Tokenizer) arrange(parts []templatePart, all [][]int32, o inference.SequenceOptions) (s inference.Sequence, _ error) {
	for i, ids := range all {
		s.Tokens[i] = len(ids)
	}
	if o.Truncation != nil {
		if err := checkTruncation(o.Truncation); err != nil {
			return s, err
		}
		// Hugging Face's library checks the stride against a single text, whatever the input is.
		if n := t.Added(false); o.Truncation.MaxTokens-n < o.Truncation.Stride {
			return s, noRoom(o.Truncation, n)
		}
		if err := truncate(o.Truncation, all, specials(parts, !o.Plain)); err != nil {
			return s, err
		}
	}
	n, typed := 0, false
	for _, part := range parts {
		ids := part.ids(all, o.Plain)
		n += len(ids)
		typed = typed || part.kind != 0 && len(ids) > 0
	}
	for i, ids := range all {
		s.Removed[i] = s.Tokens[i] - len(ids)
	}
	if o.Limit > 0 && n > o.Limit {
		return s, &inference.SequenceTooLongError{Tokens: n, Limit: o.Limit}
	}
	s.IDs = make([]int32, 0, n)
	if typed {
		s.TypeIDs = make([]int32, 0, n)
	}
	for _, part := range parts {
		s.IDs = append(s.IDs, part.ids(all, o.Plain)...)
		for typed && len(s.TypeIDs) < len(s.IDs) {
			s.TypeIDs = append(s.TypeIDs, part.kind)
		}
	}
	return s, nil
}

// ids returns the ids of a part, given those of the texts.
func (p *templatePart) ids(all [][]int32, plain bool) []int32 {
	switch {
	case p.text != noText:
		return all[p.text-firstText]
	case plain:
		return nil
	}
	return p.special
}

// Added returns the number of special tokens that Sequence adds to a text or to a pair.
func (t *Tokenizer) Added(pair bool) int {
	if pair {
		return specials(t.template.pair, true)
	}
	return specials(t.template.single, true)
}

// specials returns the number of special tokens of a template.
func specials(parts []templatePart, special bool) (n int) {
	if !special {
		return 0
	}
	for _, part := range parts {
		n += len(part.special)
	}
	return n
}

// checkTruncation returns an error for settings that no text fits.
func checkTruncation(c *inference.Truncation) error {
	switch {
	case c.Side != "" && c.Side != inference.LeftSide && c.Side != inference.RightSide:
		return truncationError("direction %q is not supported", c.Side)
	case c.Strategy != inference.LongestFirst && c.Strategy != inference.OnlyFirst && c.Strategy != inference.OnlySecond:
		return truncationError("strategy %q is not supported", c.Strategy)
	case c.MaxTokens < 0 || c.Stride < 0:
		return truncationError("max_length %d or stride %d is negative", c.MaxTokens, c.Stride)
	}
	return nil
}

func truncationError(format string, values ...any) error {
	return inference.TruncationError(fmt.Sprintf(format, values...))
}

// truncate truncates one text or two. special is the number of special tokens that are
// added to them.
func truncate(c *inference.Truncation, ids [][]int32, special int) error {
	room := c.MaxTokens - special
	if room < 0 {
		return noRoom(c, special)
	}
	total := 0
	for _, text := range ids {
		total += len(text)
	}
	if total <= room {
		return nil
	}
	lengths, err := lengthsOf(c, ids, room, total)
	if err != nil {
		return err
	}
	for i := range ids {
		switch n := lengths[i]; {
		case n >= len(ids[i]):
		case n > 0 && c.Stride >= n:
			return noRoom(c, special)
		case c.Side == inference.LeftSide:
			ids[i] = ids[i][len(ids[i])-n:]
		default:
			ids[i] = ids[i][:n]
		}
	}
	return nil
}

func noRoom(c *inference.Truncation, special int) error {
	return truncationError("max_length %d has no room for %d special tokens and a stride of %d", c.MaxTokens, special, c.Stride)
}

// lengthsOf returns the lengths to which texts are truncated.
func lengthsOf(c *inference.Truncation, ids [][]int32, room, total int) (lengths [2]int, _ error) {
	if room == 0 { // with every strategy, no ids of the texts remain
		return lengths, nil
	}
	for i, text := range ids {
		lengths[i] = len(text)
	}
	cut := 0
	switch {
	case c.Strategy == inference.OnlySecond && len(ids) < 2:
		return lengths, truncationError("the strategy only_second needs a pair of texts, but the input has only one text")
	case c.Strategy == inference.OnlySecond:
		cut = 1
	case c.Strategy == inference.LongestFirst && len(ids) == 2:
		lengths[0], lengths[1] = shares(lengths[0], lengths[1], room)
		return lengths, nil
	case c.Strategy == inference.LongestFirst:
		return [2]int{room}, nil
	}
	if lengths[cut] -= total - room; lengths[cut] <= 0 {
		return lengths, truncationError("the text to truncate is too short: it has %d tokens, but %d tokens would have to be removed", len(ids[cut]), total-room)
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

// Truncation returns the truncation of tokenizer.json, or nil if it has none. Encode and
// Sequence don't apply it.
func (t *Tokenizer) Truncation() *inference.Truncation { return (*inference.Truncation)(t.truncation) }

// Padding returns the padding of tokenizer.json, or nil if it has none. The caller applies it.
func (t *Tokenizer) Padding() *inference.Padding { return (*inference.Padding)(t.padding) }

// truncation is the truncation of tokenizer.json.
type truncation inference.Truncation

// UnmarshalJSON reads the form of tokenizer.json.
func (c *truncation) UnmarshalJSON(data []byte) error {
	var f struct {
		Direction inference.Side               `json:"direction"`
		MaxLength int                          `json:"max_length"`
		Strategy  inference.TruncationStrategy `json:"strategy"`
		Stride    int                          `json:"stride"`
	}
	if err := strict(data, &f); err != nil {
		return fmt.Errorf("truncation: %w", err)
	}
	read := inference.Truncation{MaxTokens: f.MaxLength, Strategy: f.Strategy, Side: f.Direction, Stride: f.Stride}
	*c = truncation(read)
	return checkTruncation(&read)
}

// padding is the padding of tokenizer.json.
type padding inference.Padding

// UnmarshalJSON reads the form of tokenizer.json.
func (p *padding) UnmarshalJSON(data []byte) error {
	var f struct {
		Strategy  paddingStrategy `json:"strategy"`
		Direction inference.Side  `json:"direction"`
		Multiple  *int            `json:"pad_to_multiple_of"`
		ID        int             `json:"pad_id"`
		Type      int             `json:"pad_type_id"`
		Token     string          `json:"pad_token"`
	}
	if err := strict(data, &f); err != nil {
		return fmt.Errorf("padding: %w", err)
	}
	if f.Direction != inference.LeftSide && f.Direction != inference.RightSide {
		return fmt.Errorf("padding: direction %q is not supported", f.Direction)
	}
	*p = padding{Fixed: int(f.Strategy), Side: f.Direction, Multiple: or(f.Multiple), ID: f.ID, TypeID: f.Type, Token: f.Token}
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
