// Package decisions answers questions about an input by OpenAI's Decisions API. It converts the input and
// the questions to those of the core, and the probabilities to answers. How a model is asked, and what
// its log probabilities mean, belongs to package serving.
package decisions

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"strings"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai/internal/wire"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
)

// Answerer implements the operation /v1/decisions of the generated interface. It may be used concurrently.
type Answerer struct {
	service *serving.Service
}

// New returns an Answerer over the service.
func New(service *serving.Service) *Answerer { return &Answerer{service: service} }

// CreateDecision answers the questions of a request.
func (a *Answerer) CreateDecision(ctx context.Context, request api.CreateDecisionRequestObject) (api.CreateDecisionResponseObject, error) {
	body, rec := request.Body, server.RecordOf(ctx)
	rec.Model = body.Model
	questions, err := decodeQuestions(body.Questions)
	if err != nil {
		return nil, err
	}
	input, err := decodeInput(body.Input)
	if err != nil {
		return nil, err
	}
	req := &serving.DecisionRequest{ID: "decision_" + rand.Text(), Model: body.Model, Input: input}
	for i := range questions {
		req.Questions = append(req.Questions, questions[i].asked)
		if err := server.Ignore(ctx, questions[i].unused...); err != nil {
			return nil, err
		}
	}
	model := a.service.Resolve(req.Model)
	answers, used, err := a.service.Decide(ctx, &model, req)
	if err != nil {
		return nil, clientsNames(err)
	}
	response := api.CreateDecision200JSONResponse{Model: req.Model, Usage: usage(used, rec), Answers: make([]api.DecisionAnswer, len(answers))}
	for i := range answers {
		response.Answers[i] = questions[i].answer(answers[i].Probabilities)
	}
	return response, nil
}

// clientsNames renames messages, the core's name of the input, in errors.
func clientsNames(err error) error {
	const name = "messages"
	e, ok := errors.AsType[*inference.Error](err)
	if !ok || e.Param != name && !strings.HasPrefix(e.Param, name+"[") {
		return err
	}
	renamed := *e
	renamed.Param = "input"
	renamed.Message = strings.ReplaceAll(e.Message, e.Param, renamed.Param)
	return &renamed
}

// usage returns the counts in the form of the API, or nil if they aren't known.
func usage(used *inference.Usage, rec *server.Record) *api.DecisionUsage {
	counts := wire.Usage(used, rec)
	if counts == nil {
		return nil
	}
	return &api.DecisionUsage{InputTokens: counts.PromptTokens, OutputTokens: counts.CompletionTokens, TotalTokens: counts.TotalTokens}
}

// answer returns the answer to a question. The probabilities are nil if the model declined to answer.
func (q *question) answer(probabilities []float64) api.DecisionAnswer {
	switch {
	case probabilities == nil:
		return api.DecisionRefusalAnswer{Type: "refusal", Name: q.name}
	case q.kind == kindPredicate:
		return api.DecisionPredicateAnswer{Type: q.kind, Name: q.name, Probability: probabilities[0]}
	case q.kind == kindScore:
		return q.score(probabilities)
	}
	return q.choice(probabilities)
}

func (q *question) choice(probabilities []float64) api.DecisionAnswer {
	answer := api.DecisionChoiceAnswer{Type: q.kind, Name: q.name, Confidence: confidence(probabilities)}
	best := 0
	for i, probability := range probabilities {
		if probability > probabilities[best] {
			best = i
		}
		answer.Probabilities = append(answer.Probabilities, api.DecisionChoiceProbability{Value: q.values[i], Probability: probability})
	}
	answer.Choice = q.values[best]
	return answer
}

func (q *question) score(probabilities []float64) api.DecisionAnswer {
	answer := api.DecisionScoreAnswer{Type: q.kind, Name: q.name, Confidence: confidence(probabilities)}
	for i, probability := range probabilities {
		answer.Score += float64(i) * probability
		answer.Probabilities = append(answer.Probabilities, api.DecisionScoreProbability{Label: q.labels[i], Value: i, Probability: probability})
	}
	return answer
}

// confidence returns 1 minus the entropy of the probabilities, relative to the entropy of equal ones. It
// is 1 if one probability is 1, and 0 if all are equal.
func confidence(probabilities []float64) float64 {
	entropy := 0.0
	for _, p := range probabilities {
		if p > 0 {
			entropy -= p * math.Log(p)
		}
	}
	return min(max(1-entropy/math.Log(float64(len(probabilities))), 0), 1)
}
