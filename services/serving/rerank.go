package serving

import (
	"context"
	"fmt"
	"slices"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// Score scores pairs of texts, whose task is [inference.TaskScore], by the best way that the model has. It returns the
// model's own scores, or the cosines of its embeddings. The score of a model that generates is the probability that it
// answers yes to the question whether the second text fits the first one. The instruction describes the task of the
// client's search to a model that generates; "" selects a general one. Score refuses an instruction for other models.
// Errors, admission, deadline and cancellation are those of Encode.
func (s *Service) Score(ctx context.Context, model *catalog.Resolution, req *inference.EncodeRequest, instruction string) (*inference.EncodeAnswer, error) {
	work := &pairScoring{encoding: encoding{service: s, model: model, req: req}, instruction: instruction}
	if err := s.serve(ctx, model, req.Operation(), requestedPriority(req.Priority), work); err != nil {
		return nil, err
	}
	return work.answer, nil
}

// pairScoring is the work of [Service.Score] with its result.
type pairScoring struct {
	encoding

	instruction string
}

func (w *pairScoring) do(t *admission.Ticket) (metering.Outcome, *inference.Usage, error) {
	if err := w.model.Confirm(t); err != nil {
		return metering.OutcomeCanceled, nil, err
	}
	if judges(w.model.Card) {
		return w.generate(t)
	}
	if w.instruction != "" {
		return metering.OutcomeCanceled, nil, inference.Unsupported("instruction", "instruction is not supported by the model `%s`: only models that generate text read it", w.req.Model)
	}
	return w.encoding.do(t)
}

// judges reports whether a model scores pairs by generating. A vLLM model whose task isn't set may also embed: it
// generates if it has a chat template.
func judges(card *catalog.Card) bool {
	switch {
	case card.Tasks&inference.TaskScore != 0 || card.Tasks&inference.TaskGenerate == 0:
		return false
	case card.Tasks&inference.TaskEmbed != 0:
		return card.Template != nil
	}
	return true
}

// generate scores the pairs by a model that generates.
func (w *pairScoring) generate(t *admission.Ticket) (metering.Outcome, *inference.Usage, error) {
	if most := budget.Embedded; len(w.req.Inputs) > most {
		return metering.OutcomeCanceled, nil, inference.Invalid(w.req.InputParam(most), "%s exceeds the maximum of %d pairs for a model that generates text: send fewer", w.req.InputParam(most), most)
	}
	d := &decision{service: w.service, model: w.model, req: &DecisionRequest{ID: w.req.ID, Model: w.req.Model, Input: []inference.Message{}}, what: "scores", param: w.req.InputParam}
	for i := range w.req.Inputs {
		messages, err := w.messages(t, i)
		if err != nil {
			return metering.OutcomeCanceled, nil, err
		}
		d.req.Questions = append(d.req.Questions, DecisionQuestion{Messages: messages, Words: []string{"yes", "no"}})
	}
	if w.req.Truncate != inference.TruncateNever {
		d.shorten = w.shortened
	}
	outcome, used, err := d.do(t)
	if err != nil {
		return outcome, nil, err
	}
	w.answer = &inference.EncodeAnswer{Results: make([]inference.Encoded, len(w.req.Inputs)), Usage: *used}
	for i := range w.answer.Results {
		if d.answers[i].Probabilities == nil {
			return metering.OutcomeCanceled, nil, inference.Unsupported(w.req.InputParam(i), "%s: the model `%s` declined to answer: its own filter of contents ended the inference", w.req.InputParam(i), w.req.Model)
		}
		result := &w.answer.Results[i]
		result.Score, result.PromptTokens = d.answers[i].Probabilities[0], d.run.promptTokens[i]
		if w.req.Raw {
			result.Score = d.answers[i].Logits[0] - d.answers[i].Logits[1]
		}
	}
	return outcome, used, nil
}

// The chat that asks whether a document fits a query, in the form that Qwen3-Reranker was trained with. Other chat models
// understand it too.
const (
	scoreSystem      = `Judge whether the Document meets the requirements based on the Query and the Instruct provided. Note that the answer can only be "yes" or "no".`
	scoreInstruction = "Given a web search query, retrieve relevant passages that answer the query"
)

// messages returns the chat that asks whether the second text of a pair fits the first one.
func (w *pairScoring) messages(ctx context.Context, i int) ([]inference.Message, error) {
	document, err := w.limited(ctx, i)
	if err != nil {
		return nil, err
	}
	return w.chat(w.req.Inputs[i].Text, document), nil
}

func (w *pairScoring) chat(query, document string) []inference.Message {
	instruction := w.instruction
	if instruction == "" {
		instruction = scoreInstruction
	}
	return []inference.Message{
		{Role: "system", Text: scoreSystem},
		{Role: "user", Text: fmt.Sprintf("<Instruct>: %s\n<Query>: %s\n<Document>: %s", instruction, query, document)},
	}
}

// limited returns the document of a pair with at most the maximum number of tokens of documents.
func (w *pairScoring) limited(ctx context.Context, i int) (string, error) {
	card, document := w.model.Card, *w.req.Inputs[i].Second
	if w.req.MaxSecond == 0 || len(document) <= w.req.MaxSecond || card.Tokenizer == nil { // a token has at least one byte
		return document, nil
	}
	ids, err := card.Tokenizer.Encode(ctx, document, false, oneTextBudget(card))
	if err != nil {
		return "", errTokenize(card, w.req.InputParam(i), document, err)
	}
	if len(ids) <= w.req.MaxSecond {
		return document, nil
	}
	return card.Tokenizer.Decode(ids[:w.req.MaxSecond], false), nil
}

// shortened returns the chat of a pair without that many tokens of its document.
func (w *pairScoring) shortened(ctx context.Context, i, tokens int) ([]inference.Message, error) {
	card := w.model.Card
	document, err := w.limited(ctx, i)
	if err != nil {
		return nil, err
	}
	ids, err := card.Tokenizer.Encode(ctx, document, false, oneTextBudget(card))
	if err != nil {
		return nil, errTokenize(card, w.req.InputParam(i), document, err)
	}
	left := max(0, len(ids)-tokens)
	if w.req.Truncate == inference.TruncateLeft {
		ids = ids[len(ids)-left:]
	} else {
		ids = slices.Clip(ids[:left])
	}
	return w.chat(w.req.Inputs[i].Text, card.Tokenizer.Decode(ids, false)), nil
}
