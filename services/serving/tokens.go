package serving

import (
	"context"
	"fmt"
	"slices"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
)

// Tokens is a text, split into tokens by the tokenizer of a model.
type Tokens struct {
	IDs []int
	// Text returns a token as the model's vocabulary writes it.
	Text func(id int) (token string, ok bool)
	// ContextLength of the model in tokens, 0 if it isn't known.
	ContextLength int
}

// Tokenize returns the tokens of a request's only prompt, or of its messages as rendered by the
// model's chat template. With special, the tokens include those that the model expects around every
// text. A model whose tokenizer isn't known is [inference.CodeInvalid]. Admission, deadline and
// cancellation are those of Generate.
func (s *Service) Tokenize(ctx context.Context, model *catalog.Resolution, req *inference.Request, special bool) (*Tokens, error) {
	return call(ctx, s, model, func(ctx context.Context) (*Tokens, error) { return s.tokenize(ctx, model, req, special) })
}

func (s *Service) tokenize(ctx context.Context, model *catalog.Resolution, req *inference.Request, special bool) (*Tokens, error) {
	card, err := s.tokenizing(ctx, model)
	if err != nil {
		return nil, err
	}
	if err := s.checkParts(card, req); err != nil {
		return nil, err
	}
	text, err := s.readable(ctx, card, req)
	if err != nil {
		return nil, err
	}
	ids, err := card.Tokenizer.Encode(ctx, text, special, oneTextBudget(card))
	if err != nil {
		return nil, errTokenize(card, req.TextParam(), text, err)
	}
	return &Tokens{IDs: ids, Text: card.Tokenizer.Token, ContextLength: card.ContextLength}, nil
}

// readable returns the prompt of a request as text: the rendered chat, or the given prompt.
func (s *Service) readable(ctx context.Context, card *catalog.Card, req *inference.Request) (string, error) {
	if req.Messages == nil {
		return req.Prompts[0].Text, nil
	}
	return s.render(ctx, card, req)
}

// Detokenize returns the text of token ids, including that of special tokens. An id that the model
// doesn't have is [inference.CodeInvalid] on the field tokens. Other errors, admission, deadline and
// cancellation are those of Tokenize.
func (s *Service) Detokenize(ctx context.Context, model *catalog.Resolution, ids []int) (string, error) {
	return call(ctx, s, model, func(ctx context.Context) (string, error) { return s.detokenize(ctx, model, ids) })
}

func (s *Service) detokenize(ctx context.Context, model *catalog.Resolution, ids []int) (string, error) {
	card, err := s.tokenizing(ctx, model)
	if err != nil {
		return "", err
	}
	unknown := func(id int) bool { _, ok := card.Tokenizer.Token(id); return !ok }
	if i := slices.IndexFunc(ids, unknown); i >= 0 {
		return "", inference.Invalid(fmt.Sprintf("tokens[%d]", i), "tokens[%d]: the model `%s` has no token %d", i, model.Name, ids[i])
	}
	return decodeIDs(card, "tokens", ids)
}

// tokenizing returns the description (card) of a model. It returns an error if the model's
// tokenizer isn't known.
func (s *Service) tokenizing(ctx context.Context, model *catalog.Resolution) (*catalog.Card, error) {
	if err := model.Confirm(ctx); err != nil {
		return nil, err
	}
	return model.Card, s.needTokenizer(model.Card, model.Name, "the tokenizer of the model `%s` isn't known: set it")
}

// needTokenizer returns an error if the tokenizer of the named model isn't known. The argument lack
// is the first part of the error: the operation that isn't possible, and the missing setting.
func (s *Service) needTokenizer(c *catalog.Card, model, lack string) error {
	switch {
	case c.Tokenizer != nil:
		return nil
	case c.Fetching:
		return errFetching("tokenizer", model)
	}
	return inference.Unsupported("model", lack+" by %s, or by the parameter %s in its config.pbtxt", model, s.cfg.Names.Of("inference.SettingTokenizer"), inference.ParamPrefix+inference.SettingTokenizer)
}
