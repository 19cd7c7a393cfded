package serving

import (
	"context"
	"fmt"

	"github.com/trident-inference/trident/services/inference"
)

// checkCut refuses a request that truncates to a limit of its own, if the tokenizer of a model that takes texts isn't
// known. The model itself refuses a text that is too long.
func (e *encoding) checkCut(u *encodeUnit) error {
	if e.req.Truncate == inference.TruncateNever || e.req.MaxTokens == 0 || u.input.TokenIDs != nil {
		return nil
	}
	return inference.Unsupported("truncate_prompt_tokens", "truncate_prompt_tokens is not supported by the model `%s`: it reads texts, and its tokenizer isn't known. Set the parameter %s in its config.pbtxt, or send shorter inputs",
		e.req.Model, inference.ParamPrefix+inference.SettingTokenizer)
}

// cuts reports whether the texts of a unit may have to be cut for a model that tokenizes texts itself. A token has at
// least one byte, so that a shorter second text needs no tokenizer.
func (e *encoding) cuts(u *encodeUnit) bool {
	switch most := e.req.MaxSecond; {
	case u.input.TokenIDs != nil:
		return false
	case e.req.Truncate != inference.TruncateNever && e.limit() > 0:
		return true
	case u.input.Second != nil:
		return most > 0 && len(*u.input.Second) > most
	default:
		return most > 0 && u.input.Type == inference.InputDocument && len(u.input.Text) > most
	}
}

// cutIDs cuts the token ids of a unit to the limits of the model and of the request, if the request truncates.
func (e *encoding) cutIDs(u *encodeUnit) {
	n, limit := len(u.input.TokenIDs), e.limit()
	if e.req.Truncate == inference.TruncateNever || limit == 0 || n <= limit {
		return
	}
	if e.req.Truncate == inference.TruncateLeft {
		u.input.TokenIDs = u.input.TokenIDs[n-limit:]
	} else {
		u.input.TokenIDs = u.input.TokenIDs[:limit]
	}
	u.item.Result.Truncated = true
}

// cutText cuts the texts of a unit as they would be cut for a model that takes token ids, and returns the number of
// tokens that the model then reads.
func (e *encoding) cutText(ctx context.Context, u *encodeUnit, left *inference.TextBudget) (int, error) {
	sequence, err := e.sequence(ctx, u, left)
	if err != nil {
		return 0, err
	}
	for i, text := range []*string{&u.input.Text, u.input.Second} {
		removed := sequence.Removed[i]
		if removed == 0 {
			continue
		}
		ids, err := e.card.Tokenizer.Encode(ctx, *text, false, nil) // the text is within the budget, because it was tokenized before
		if err != nil {
			return 0, fmt.Errorf("encode a text to cut it: %w", err)
		}
		if e.req.Truncate == inference.TruncateLeft {
			ids = ids[removed:]
		} else {
			ids = ids[:len(ids)-removed]
		}
		*text = e.card.Tokenizer.Decode(ids, false)
	}
	return len(sequence.IDs), nil
}
