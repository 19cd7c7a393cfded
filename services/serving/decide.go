package serving

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
	"github.com/trident-inference/trident/services/toolparser"
)

// DecisionRequest is an input and questions about it.
type DecisionRequest struct {
	// ID identifies the request in logs and in Triton's request id.
	ID string
	// Model is the name that the client used.
	Model string
	// Input are the messages that all questions are about, oldest first.
	Input []inference.Message
	// Questions are asked independently of each other.
	Questions []DecisionQuestion
}

// DecisionQuestion is a question with a fixed list of answers.
type DecisionQuestion struct {
	// Instructions are the texts and images of the question.
	Instructions []inference.Part
	// Task is a sentence after the instructions that introduces the answers.
	Task string
	// Options are the answers as the model reads them, at least two.
	Options []string
	// Words are labels for the options that the model gets if each of them is one token: one for each
	// option, or none.
	Words []string
	// Messages are the whole chat that asks the question. If they aren't nil, there are no Instructions, Task and
	// Options, and the model doesn't get the input of the request. The answers are the Words, each of which
	// must be one token.
	Messages []inference.Message
}

// DecisionAnswer is the answer to one question.
type DecisionAnswer struct {
	// Probabilities has the probability of each option, in their order. They sum to 1. Nil means that
	// the model declined to answer: its own filter of contents ended the inference.
	Probabilities []float64
	// Logits are numbers whose differences are those of the log probabilities of the options. They are nil if
	// Probabilities is.
	Logits []float64
}

// Decide answers questions by the probabilities that the model assigns to the labels of the options as
// the next token after the question. Each question is one inference, or several if it has more options
// than the engine returns log probabilities. A model without a tokenizer, or whose engine doesn't return
// log probabilities of given tokens, is [inference.CodeInvalid]. So is a label without a log
// probability. The Param of an error about the question with the index i starts with questions[i].
// Admission, deadline and cancellation are those of Generate.
func (s *Service) Decide(ctx context.Context, model *catalog.Resolution, req *DecisionRequest) ([]DecisionAnswer, *inference.Usage, error) {
	d := &decision{service: s, model: model, req: req, what: "decisions", param: func(i int) string { return fmt.Sprintf("questions[%d]", i) }}
	err := s.serve(ctx, model, inference.OperationDecision, 0, d)
	return d.answers, d.used, err
}

// decision is the work of [Service.Decide] with its result.
type decision struct {
	service *Service
	model   *catalog.Resolution
	req     *DecisionRequest
	what    string           // what the client asked for, for errors
	param   func(int) string // the request field that has a question, for errors
	// shorten returns the messages of a question without that many tokens of their text. Nil refuses prompts that
	// exceed the model's context.
	shorten func(ctx context.Context, question, tokens int) ([]inference.Message, error)

	run     *textRun // the run of the last attempt
	plans   []questionPlan
	tokens  int          // that the request may use
	scores  []scoreGroup // the inferences of the last attempt, by the index of the job
	answers []DecisionAnswer
	used    *inference.Usage
}

// questionPlan is a question as the model gets it.
type questionPlan struct {
	prompt string
	ids    []int             // token ids of the labels, in the order of the options
	images *inference.Images // nil if there are none
	// start and end are the indexes of the question's inferences.
	start, end int
}

// scoreGroup is an inference with some of a question's labels.
type scoreGroup struct {
	labels   []int // indexes of the question's options; the first one is in all groups of the question
	logprobs map[int]float64
	refused  bool
}

func (d *decision) do(t *admission.Ticket) (metering.Outcome, *inference.Usage, error) {
	outcome := metering.OutcomeCanceled // applies only without an error
	if err := d.plan(t, &t.Measure); err != nil {
		return outcome, nil, err
	}
	if err := t.Reserve(d.tokens); err != nil {
		return outcome, nil, err
	}
	card := d.run.card
	for {
		scoring := card.Scoring()
		if scoring == inference.ScoringNone {
			return outcome, nil, inference.Unsupported("model", "%s are not supported by the model `%s`: its engine returns no log probabilities of given tokens (logprobs and allowed_token_ids)", d.what, d.req.Model)
		}
		d.planJobs(scoring)
		err := d.ask(t)
		if refusesScoring(err) {
			card.LimitScoring(scoring - 1)
			continue
		}
		if err != nil {
			return outcome, nil, d.explainScoring(err)
		}
		d.used = d.run.usage()
		return metering.OutcomeOK, d.used, d.conclude()
	}
}

// plan renders the prompts and finds the labels of all questions.
func (d *decision) plan(ctx context.Context, measure *metering.Measure) error {
	base := &inference.Request{ID: d.req.ID, Model: d.req.Model, Task: inference.TaskGenerate, Messages: d.req.Input, NoReasoning: true}
	run, err := d.service.newTextRun(ctx, d.model, base, measure)
	if err != nil {
		return err
	}
	// Sampling with a temperature changes processed log probabilities, greedy sampling doesn't.
	base.Sampling = inference.Sampling{Temperature: new(0.0), MaxTokens: new(1), Logprobs: new(max(inference.MaxScoredIDs, run.card.MaxLogprobs))}
	d.run = run
	if run.card.Scoring() == inference.ScoringNone {
		return nil // the caller refuses the request
	}
	if err := d.service.needTokenizer(run.card, d.req.Model, d.what+" need the tokenizer of the model `%s`: set it"); err != nil {
		return err
	}
	if err := d.checkSize(); err != nil {
		return err
	}
	pictures, err := d.readImages(ctx)
	if err != nil {
		return err
	}
	left, finder := textBudget(run.card, len(d.req.Questions)), newLabelFinder(run.card.Tokenizer)
	d.plans = make([]questionPlan, len(d.req.Questions))
	for i := range d.req.Questions {
		d.plans[i].images = pictures[i]
		if err := d.planQuestion(ctx, i, finder, left); err != nil {
			return d.atQuestion(i, err)
		}
	}
	return nil
}

// checkSize refuses more messages in the prompts of all questions than a chat may have. The texts of the
// prompts have a budget of their own.
func (d *decision) checkSize() error {
	size := 1
	for i := range d.req.Input {
		size += 1 + len(d.req.Input[i].Parts) + len(d.req.Input[i].ToolCalls)
	}
	if questions := len(d.req.Questions); size*questions > budget.Messages {
		return inference.Invalid("input", "input has %d messages, parts and calls, and each of the %d questions has a prompt with all of them: together they may have %d. Ask fewer questions in one request", size-1, questions, budget.Messages)
	}
	return nil
}

// planQuestion renders the prompt of one question and subtracts it from the budget.
func (d *decision) planQuestion(ctx context.Context, i int, finder *labelFinder, left *inference.TextBudget) error {
	question, card := &d.req.Questions[i], d.run.card
	labels, err := finder.find(ctx, question, d.req.Model)
	if err != nil {
		return err
	}
	messages := question.Messages
	if messages == nil {
		messages = question.messages(d.req.Input, labels)
	}
	prompt, count, err := d.render(ctx, i, messages, left)
	for tries := 0; err == nil && d.shorten != nil && card.ContextLength > 0 && count >= card.ContextLength && tries < maxShortenings; tries++ {
		// Texts may have more tokens than before once they are cut, so that further cuts take more.
		if messages, err = d.shorten(ctx, i, count-card.ContextLength+1+2*tries); err == nil {
			prompt, count, err = d.render(ctx, i, messages, left)
		}
	}
	switch {
	case err != nil:
		return err
	case card.ContextLength > 0 && count >= card.ContextLength:
		return tooLong(card, d.textParam(i), count, 1)
	}
	d.tokens += count + 1 // the answer is one token
	plan := &d.plans[i]
	plan.prompt = prompt
	for _, label := range labels {
		plan.ids = append(plan.ids, label.id)
	}
	return nil
}

// maxShortenings is the maximum number of times that a question's text is shortened.
const maxShortenings = 3

// textParam returns the request field that has the text of a question, for errors.
func (d *decision) textParam(question int) string {
	if d.req.Questions[question].Messages != nil {
		return d.param(question)
	}
	return "input"
}

// render returns the prompt of a question's messages and its number of tokens.
func (d *decision) render(ctx context.Context, question int, messages []inference.Message, left *inference.TextBudget) (prompt string, tokens int, err error) {
	card := d.run.card
	asked := *d.run.req
	asked.Messages = messages
	if err := card.CheckParts(&asked); err != nil {
		return "", 0, err
	}
	prompts, err := d.service.prompts(ctx, card, &asked)
	if err != nil {
		return "", 0, err
	}
	if prompt, err = d.withoutReasoning(prompts[0]); err != nil {
		return "", 0, err
	}
	if tokens, err = card.Tokenizer.Count(ctx, prompt, true, left); err != nil {
		return "", 0, errTokenize(card, d.textParam(question), prompt, err)
	}
	return prompt, tokens, nil
}

// withoutReasoning returns a prompt with the markers before the text of the model's answer. It refuses a prompt
// after which the model reasons before it answers, and models whose markers aren't certain.
func (d *decision) withoutReasoning(prompt string) (string, error) {
	card := d.run.card
	reasons, err := d.reasons(prompt)
	if err != nil {
		return "", fmt.Errorf("reasoning of the model %s: %w", card.Name, err)
	}
	if reasons {
		return "", inference.Unsupported("model", "%s are not supported by the model `%s`: its chat template has no switch that turns reasoning off", d.what, d.req.Model)
	}
	markers, known := toolparser.Dialects{}.AnswerStart(card.ToolParser, card.ReasoningParser, prompt)
	if !known {
		return "", inference.Unsupported("model", "%s are not supported by the model `%s`: it is not certain which markers it writes before the text of an answer (its parsers are %s)", d.what, d.req.Model, card.Parsers())
	}
	return prompt + markers, nil
}

// reasons reports whether the text after a prompt is reasoning.
func (d *decision) reasons(prompt string) (bool, error) {
	if d.run.card.ReasoningParser == "" {
		return false, nil
	}
	parser, err := toolparser.Dialects{}.Parser(&inference.ParserOptions{Reasoning: d.run.card.ReasoningParser, Prompt: prompt, ID: rand.Text})
	if err != nil {
		return false, err
	}
	pieces, _ := parser.Parse([]byte("A"))
	if len(pieces) == 0 {
		pieces = parser.Finish()
	}
	return len(pieces) > 0 && pieces[0].Kind == inference.PieceReasoning, nil
}

// readImages returns the images of each question: those of the input and then its own. Questions
// without images of their own share those of the input. The images of the input count once more for
// each other question, because a request with them is built for it.
func (d *decision) readImages(ctx context.Context) ([]*inference.Images, error) {
	input := (&inference.Request{Messages: d.req.Input}).ImageRefs()
	refs := input
	ends := make([]int, len(d.req.Questions)) // the end of a question's images in refs, or 0 if it has none of its own
	for i := range d.req.Questions {
		own := (&inference.Request{Messages: []inference.Message{{Parts: d.req.Questions[i].Instructions}}}).ImageRefs()
		if len(own) > 0 {
			refs = append(append(slices.Clip(refs), input...), own...)
			ends[i] = len(refs)
		}
	}
	pictures := make([]*inference.Images, len(ends))
	if len(refs) == 0 {
		return pictures, nil
	}
	if err := d.service.images.Check(refs); err != nil {
		return nil, err
	}
	list, err := d.service.images.Read(ctx, refs)
	if err != nil {
		return nil, fmt.Errorf("read the images of the request: %w", err)
	}
	start := len(input)
	shared := &inference.Images{List: list[:start]}
	for i, end := range ends {
		switch {
		case end > 0:
			pictures[i] = &inference.Images{List: list[start:end]}
			start = end
		case len(input) > 0:
			pictures[i] = shared
		}
	}
	return pictures, nil
}

// planJobs creates the inferences of all questions.
func (d *decision) planJobs(scoring inference.Scoring) {
	card := d.run.card
	d.run = &textRun{card: card, req: d.run.req, lora: d.run.lora, measure: d.run.measure, promptTokens: make([]int, len(d.plans))}
	d.scores = nil
	most := card.MaxLogprobs
	if scoring == inference.ScoringIDs {
		most = inference.MaxScoredIDs
	}
	for i := range d.plans {
		plan := &d.plans[i]
		size := most
		if scoring == inference.ScoringTop {
			size = len(plan.ids) // further inferences would return the same tokens
		}
		plan.start = len(d.scores)
		for _, labels := range groups(len(plan.ids), size) {
			candidates := &inference.Candidates{Scoring: scoring, Most: card.MaxLogprobs}
			for _, label := range labels {
				candidates.IDs = append(candidates.IDs, plan.ids[label])
			}
			d.run.jobs = append(d.run.jobs, &inference.Job{
				Index: len(d.run.jobs), Prompt: plan.prompt, PromptIndex: i, MaxTokens: 1, Images: plan.images, Candidates: candidates,
			})
			d.scores = append(d.scores, scoreGroup{labels: labels, logprobs: map[int]float64{}})
		}
		plan.end = len(d.scores)
	}
}

// groups splits the indexes below n into lists of at most size, which is at least 2. All lists start with
// the index 0, so that the scores of several inferences can be compared by its score.
func groups(n, size int) [][]int {
	size = max(size, 2)
	var lists [][]int
	for next := 1; next < n; {
		list := []int{0}
		for ; next < n && len(list) < size; next++ {
			list = append(list, next)
		}
		lists = append(lists, list)
	}
	return lists
}

// ask runs the inferences and keeps the log probabilities of the labels.
func (d *decision) ask(ctx context.Context) error {
	for delta, err := range d.run.deltas(ctx) {
		if err != nil {
			return err
		}
		if delta.Index >= len(d.scores) { // a model that generates several texts; the first ones are enough
			continue
		}
		group := &d.scores[delta.Index]
		group.refused = group.refused || delta.Finish == inference.FinishContentFilter
		if len(delta.Logprobs) > 0 && len(group.logprobs) == 0 {
			first := &delta.Logprobs[0]
			group.logprobs[first.ID] = first.Logprob
			for _, other := range first.Top {
				group.logprobs[other.ID] = other.Logprob
			}
		}
	}
	return nil
}

// conclude computes the answers.
func (d *decision) conclude() error {
	answers := make([]DecisionAnswer, len(d.plans))
	for i := range answers {
		scores, err := d.scoresOf(i)
		if err != nil {
			return err
		}
		answers[i] = DecisionAnswer{Probabilities: shares(scores), Logits: scores}
	}
	d.answers = answers
	return nil
}

// scoresOf returns the scores of a question's options, whose differences are those of their log
// probabilities. It returns nil if the model declined to answer.
func (d *decision) scoresOf(question int) ([]float64, error) {
	plan := &d.plans[question]
	ids, inferences := plan.ids, d.scores[plan.start:plan.end]
	scores := make([]float64, len(ids))
	missing, incomparable := 0, false
	for g := range inferences {
		group := &inferences[g]
		if group.refused {
			return nil, nil
		}
		base := 0.0
		if g > 0 {
			base = scores[0] - group.logprobs[ids[0]]
		}
		for _, label := range group.labels {
			logprob, found := group.logprobs[ids[label]]
			switch {
			case !found:
				missing++
			case label == 0 && logprob <= inference.MinLogprob && len(inferences) > 1:
				incomparable = true
			case g == 0 || label > 0:
				scores[label] = logprob + base
			}
		}
	}
	switch {
	case missing > 0:
		return nil, d.errMissing(question, missing)
	case incomparable:
		return nil, d.errImpossible(question, "the label of the first answer, by which the inferences of a question with many answers are compared: ask for fewer answers, or for another one first")
	case !slices.ContainsFunc(scores, func(score float64) bool { return score > inference.MinLogprob }):
		return nil, d.errImpossible(question, "the label of each answer: there are no probabilities to compare")
	}
	return scores, nil
}

// errMissing is the error of a question some of whose labels have no log probability.
func (d *decision) errMissing(question, missing int) error {
	param := d.param(question)
	return inference.Unsupported(param, "%s: the engine of the model `%s` returned no log probability of %d of the %d answers. They aren't among the %d likeliest tokens: set logprobs_mode of the engine to processed_logprobs, or raise its max_logprobs",
		param, d.req.Model, missing, len(d.plans[question].ids), d.run.card.MaxLogprobs)
}

// errImpossible is the error of a question with labels that can't follow the prompt.
func (d *decision) errImpossible(question int, which string) error {
	param := d.param(question)
	return inference.Unsupported(param, "%s: the engine of the model `%s` returned the probability 0 of %s", param, d.req.Model, which)
}

// shares converts scores to probabilities that sum to 1. It returns nil for nil.
func shares(scores []float64) []float64 {
	if scores == nil {
		return nil
	}
	highest := math.Inf(-1)
	for _, score := range scores {
		highest = max(highest, score)
	}
	sum := 0.0
	probabilities := make([]float64, len(scores))
	for i, score := range scores {
		if score > inference.MinLogprob {
			probabilities[i] = math.Exp(score - highest)
		}
		sum += probabilities[i]
	}
	for i := range probabilities {
		probabilities[i] /= sum
	}
	return probabilities
}

// refusesScoring reports whether the engine refused the way in which it was asked for log probabilities.
func refusesScoring(err error) bool {
	e, ok := errors.AsType[*inference.Error](err)
	return ok && e.Code == inference.CodeInvalid && (e.Param == "logprob_token_ids" || e.Reason == inference.ReasonUnsupported && (e.Param == "allowed_token_ids" || e.Param == ""))
}

// explainScoring explains an engine's refusal of token ids or of a number of log probabilities, which no client
// sent.
func (d *decision) explainScoring(err error) error {
	e, ok := errors.AsType[*inference.Error](err)
	if !ok || e.Code != inference.CodeInvalid {
		return err
	}
	switch e.Param {
	case "allowed_token_ids":
		return inference.Unsupported("model", "%s are not supported by the model `%s`: its tokenizer has labels whose token ids its engine doesn't have. Set the model's parameter %s to the tokenizer of the engine",
			d.what, d.req.Model, inference.ParamPrefix+inference.SettingTokenizer)
	case "top_logprobs", "logprobs":
		return inference.Unsupported("model", "%s need more log probabilities than the engine of the model `%s` returns: %s. Set the model's parameter %s to that number, or raise max_logprobs of the engine",
			d.what, d.req.Model, e.Message, inference.ParamPrefix+inference.SettingMaxLogprobs)
	}
	return err
}

// atQuestion adds the question to the error of a field of its prompt.
func (d *decision) atQuestion(i int, err error) error {
	e, ok := errors.AsType[*inference.Error](err)
	if !ok || !strings.HasPrefix(e.Param, "question") || strings.HasPrefix(e.Param, "questions[") {
		return err
	}
	named := *e
	named.Param = d.param(i) + strings.TrimPrefix(e.Param, "question")
	named.Message = strings.ReplaceAll(e.Message, e.Param, named.Param)
	return &named
}
