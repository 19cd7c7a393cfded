package serving

import (
	"context"
	"fmt"

	"github.com/trident-inference/trident/services/inference"
)

// cutText shortens a text of a model that tokenizes texts itself to the limit of the request, if the request truncates.
// Without the model's tokenizer, a request with a limit of its own is refused.
func (e *encoding) cutText(ctx context.Context, u *encodeUnit) error {
	if e.req.Truncate == inference.TruncateNever || u.input.TokenIDs != nil {
		return nil
	}
	switch {
	case e.card.Tokenizer == nil && e.req.MaxTokens == 0:
		return nil // the model refuses a text that is too long
	case e.card.Tokenizer == nil:
		return inference.Unsupported("truncate_prompt_tokens", "truncate_prompt_tokens is not supported by the model `%s`: it reads texts, and its tokenizer isn't known. Set the parameter %s in its config.pbtxt, or send shorter inputs",
			e.req.Model, inference.ParamPrefix+inference.SettingTokenizer)
	}
	limit := e.limit()
	if limit == 0 {
		return nil
	}
	text := e.shorten(u, u.input.Text)
	all, err := e.card.Tokenizer.Count(ctx, text, true, nil)
	if err != nil || all <= limit || u.input.Second != nil {
		u.input.Text = text
		return err
	}
	ids, err := e.card.Tokenizer.Encode(ctx, text, false, nil)
	if err != nil {
		return fmt.Errorf("encode a text to cut it: %w", err)
	}
	left := max(0, limit-(all-len(ids)))
	if e.req.Truncate == inference.TruncateLeft {
		ids = ids[len(ids)-left:]
	} else {
		ids = ids[:left]
	}
	u.input.Text, u.item.Result.Truncated = e.card.Tokenizer.Decode(ids, false), true
	return nil
}
