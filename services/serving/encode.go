package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/batching"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// Encode runs a request on an encoder and returns one result for each input. A model without
// [inference.TaskScore] scores pairs by the cosine of its embeddings. Errors are [*inference.Error]; the
// Param of an error about an input is that of [inference.EncodeRequest.InputParam]. Admission, deadline
// and cancellation are those of Generate: the request is one request, and the end of ctx ends all its
// inputs. When Encode returns, nothing of the request is still running, except batches with inputs of
// other requests.
func (s *Service) Encode(ctx context.Context, model *catalog.Resolution, req *inference.EncodeRequest) (*inference.EncodeAnswer, error) {
	e := &encoding{service: s, model: model, req: req}
	if err := s.serve(ctx, model, req.Operation(), requestedPriority(req.Priority), e); err != nil {
		return nil, err
	}
	return e.answer, nil
}

// encoding is the work of [Service.Encode] with its result.
type encoding struct {
	service *Service
	model   *catalog.Resolution
	req     *inference.EncodeRequest

	card    *catalog.Card
	encoder inference.Encoder
	form    inference.EncoderForm
	measure *metering.Measure
	units   []encodeUnit
	pairs   [][2]int // units of each pair, if the score is the cosine of their embeddings
	answer  *inference.EncodeAnswer
	values  atomic.Int64 // number of values of the results so far
}

// encodeUnit is one row of a batch: an input of the request, or one text of a pair whose embeddings are
// compared.
type encodeUnit struct {
	of    *encoding
	index int // index of the input in the request
	input inference.EncodeInput
	item  inference.EncodeItem
	batch batching.Item
}

func (e *encoding) do(t *admission.Ticket) (metering.Outcome, *inference.Usage, error) {
	e.measure = &t.Measure
	if err := e.plan(t); err != nil {
		return metering.OutcomeCanceled, nil, err
	}
	if err := e.reserve(t); err != nil {
		return metering.OutcomeCanceled, nil, err
	}
	if err := e.readImages(t); err != nil {
		return metering.OutcomeCanceled, nil, err
	}
	if err := e.run(t); err != nil {
		return metering.OutcomeCanceled, nil, err
	}
	if err := e.conclude(); err != nil {
		return metering.OutcomeCanceled, nil, err
	}
	return metering.OutcomeOK, &e.answer.Usage, nil
}

// plan confirms the model and lists what it encodes.
func (e *encoding) plan(ctx context.Context) error {
	if err := e.req.Validate(); err != nil {
		return err
	}
	if err := e.model.Confirm(ctx); err != nil {
		return err
	}
	e.card = e.model.Card
	e.measure.Settle(e.card.Name, e.model.LoRA)
	encoder, ok := e.card.Backend.(inference.Encoder)
	compares := e.req.Task == inference.TaskScore && e.card.Tasks&(inference.TaskScore|inference.TaskEmbed) == inference.TaskEmbed
	if !ok || e.card.Tasks&e.req.Task == 0 && !compares {
		return inference.NoTask(e.req.Model, e.req.Task)
	}
	if e.model.LoRA != "" {
		return inference.Unsupported("model", "the model `%s` is a LoRA adapter, which doesn't support embeddings", e.req.Model)
	}
	e.encoder, e.form = encoder, encoder.EncoderForm(e.card.Config)
	e.answer = &inference.EncodeAnswer{Results: make([]inference.Encoded, len(e.req.Inputs))}
	if err := e.checkInputs(); err != nil {
		return err
	}
	if compares {
		e.planPairs()
		return nil
	}
	e.units = make([]encodeUnit, len(e.req.Inputs))
	for i := range e.req.Inputs {
		e.units[i] = encodeUnit{of: e, index: i, input: e.req.Inputs[i], item: inference.EncodeItem{Task: e.req.Task, Result: &e.answer.Results[i]}}
	}
	return nil
}

// checkInputs refuses inputs that aren't pairs if the task needs pairs, and inputs that the model can't take.
func (e *encoding) checkInputs() error {
	for i := range e.req.Inputs {
		in := &e.req.Inputs[i]
		if err := e.checkImage(i); err != nil {
			return err
		}
		switch {
		case e.req.Task == inference.TaskScore && (in.Second == nil || in.TokenIDs != nil):
			return inference.Invalid(e.req.InputParam(i), "%s must be a pair of texts", e.req.InputParam(i))
		case in.Second != nil && e.req.Task != inference.TaskScore && e.req.Task != inference.TaskClassify:
			return inference.Invalid(e.req.InputParam(i), "%s must be a single text, not a pair", e.req.InputParam(i))
		case in.TokenIDs != nil && e.card.Encoder.TextsOnly:
			return inference.Unsupported(e.req.InputParam(i), "the model `%s` takes texts: send %s as text, not as token ids", e.req.Model, e.req.InputParam(i))
		}
	}
	if refs := e.req.ImageRefs(); len(refs) > 0 {
		return e.service.images.Check(refs)
	}
	return nil
}

// planPairs lists the texts of all pairs. Equal texts of the same type are embedded once.
func (e *encoding) planPairs() {
	type key struct {
		text string
		kind inference.InputType
	}
	known := map[key]int{}
	unit := func(i int, text string, kind inference.InputType) int {
		at, ok := known[key{text, kind}]
		if !ok {
			at = len(e.units)
			known[key{text, kind}] = at
			input := inference.EncodeInput{Input: inference.Input{Text: text}, Type: kind}
			e.units = append(e.units, encodeUnit{index: i, input: input, item: inference.EncodeItem{Task: inference.TaskEmbed, Result: &inference.Encoded{}}})
		}
		return at
	}
	for i := range e.req.Inputs {
		in := &e.req.Inputs[i]
		e.pairs = append(e.pairs, [2]int{unit(i, in.Text, inference.InputQuery), unit(i, *in.Second, inference.InputDocument)})
	}
	for i := range e.units {
		e.units[i].of = e
	}
}

// run prepares the units and adds them to the queue, in parts, so that the model works while the rest is
// tokenized.
func (e *encoding) run(ctx context.Context) error {
	if span := spanOf(ctx); span.IsRecording() {
		ctx = trace.ContextWithSpan(ctx, span)
	}
	queue := e.service.queueOf(e.card, e.form)
	waiting := queue.Begin(ctx)
	left, added, tokens := textBudget(e.card, len(e.units)), 0, 0
	var failure error
	for i := range e.units {
		if failure = e.prepare(ctx, &e.units[i], left); failure != nil {
			break
		}
		tokens += e.units[i].batch.Length
		if last := i == len(e.units)-1; last || tokens >= partOfBatches*e.card.Encoder.MaxBatchTokens {
			if failure = waiting.Add(itemsOf(e.units[added : i+1])...); failure != nil { //nolint:contextcheck // a batch belongs to several requests, each of which has its own context
				break
			}
			added, tokens = i+1, 0
		}
	}
	if failure != nil {
		waiting.Cancel(failure)
	}
	return waiting.Wait() //nolint:contextcheck // a batch belongs to several requests, each of which has its own context
}

// partOfBatches is the number of full batches that a request tokenizes before it adds them to the queue:
// more make batches of more similar lengths.
const partOfBatches = 8

func itemsOf(units []encodeUnit) []*batching.Item {
	items := make([]*batching.Item, len(units))
	for i := range units {
		units[i].batch.Value = &units[i]
		items[i] = &units[i].batch
	}
	return items
}

// prepare puts the prompt before a text, and tokenizes it.
func (e *encoding) prepare(ctx context.Context, u *encodeUnit, left *inference.TextBudget) error {
	prompt, err := e.promptOf(&u.input)
	if err != nil {
		return err
	}
	if u.textless() {
		u.item.Input, u.batch.Length = &u.input, u.imageLength()
		return nil
	}
	if u.input.TokenIDs == nil && u.input.Second == nil {
		u.input.Text = prompt + u.input.Text
	}
	if e.card.Encoder.LowerCase {
		u.input.Text = strings.ToLower(u.input.Text)
		if u.input.Second != nil {
			u.input.Second = new(strings.ToLower(*u.input.Second))
		}
	}
	u.item.Input = &u.input
	if err := ctx.Err(); err != nil {
		return err
	}
	if e.form.TokenIDs {
		return e.tokenize(ctx, u, prompt, left)
	}
	err = e.measureText(ctx, u, left)
	u.batch.Length += u.imageLength()
	return err
}

// promptNames returns the names of the prompts of a type, in order.
func promptNames(kind inference.InputType) []string {
	switch kind {
	case inference.InputQuery:
		return []string{"query", "search_query", "queries", "s2p_query"}
	case inference.InputDocument:
		return []string{"document", "passage", "search_document", "corpus"}
	default:
		return nil
	}
}

// promptOf returns the text that is put before an input.
func (e *encoding) promptOf(in *inference.EncodeInput) (string, error) {
	prompts := e.card.Encoder.Prompts
	if name := e.req.PromptName; name != "" {
		param := cmp.Or(e.req.PromptParam, "prompt_name")
		prompt, ok := prompts[name]
		if len(prompts) == 0 {
			return "", inference.Unsupported(param, "%s is not supported by the model `%s`: it has no prompts", param, e.req.Model)
		}
		if !ok {
			return "", inference.Invalid(param, "the model `%s` has no prompt %q, but: %s", e.req.Model, name, strings.Join(slices.Sorted(maps.Keys(prompts)), ", "))
		}
		return prompt, nil
	}
	kind := in.Type
	if kind == inference.InputAny {
		kind = e.req.Type
	}
	for _, name := range promptNames(kind) {
		if prompt, ok := prompts[name]; ok {
			return prompt, nil
		}
	}
	return prompts[e.card.Encoder.DefaultPrompt], nil
}

// measureText sets the length of a text that the model tokenizes itself: the number of tokens by the
// model's tokenizer if it is known, or else an estimate from the number of bytes.
func (e *encoding) measureText(ctx context.Context, u *encodeUnit, left *inference.TextBudget) (err error) {
	e.cutIDs(u)
	texts := u.input.Text
	if u.input.Second != nil {
		texts += " " + *u.input.Second
	}
	var n int
	switch {
	case e.card.Tokenizer == nil:
		u.batch.Length = max(1, len(texts)/bytesPerToken)
		return e.checkCut(u)
	case e.cuts(u):
		n, err = e.cutText(ctx, u, left)
	default:
		n, err = checkInput(ctx, e.card, inputCheck{param: e.req.InputParam(u.index), text: texts, ids: u.input.TokenIDs, left: left})
	}
	u.batch.Length = max(1, n)
	if e.card.Encoder.TextsOnly {
		u.item.Result.PromptTokens = n
	}
	return err
}

// bytesPerToken is the estimated number of bytes of a token.
const bytesPerToken = 4

// tokenize finds the token ids of a unit, within the limits of the model and of the request.
func (e *encoding) tokenize(ctx context.Context, u *encodeUnit, prompt string, left *inference.TextBudget) error {
	param, limit := e.req.InputParam(u.index), e.limit()
	if u.input.TokenIDs != nil {
		if err := e.takeIDs(u, param, limit); err != nil {
			return err
		}
		u.batch.Length = max(1, len(u.item.Sequence.IDs))
		return nil
	}
	var err error
	if u.item.Sequence, err = e.sequence(ctx, u, left); err != nil {
		return err
	}
	if len(u.item.Sequence.IDs) == 0 {
		return inference.Invalid(param, "%s must not be empty: this model's tokenizer adds no start token", param)
	}
	if prompt != "" && e.card.Encoder.ExcludePrompt {
		n, err := e.card.Tokenizer.Count(ctx, prompt, true, nil)
		if err != nil {
			return err
		}
		u.item.Prompt = max(0, n-1) // without the token at the end
	}
	u.batch.Length = len(u.item.Sequence.IDs)
	return nil
}

// sequence tokenizes the texts of a unit, within the limits of the model and of the request. Texts beyond the budget of
// tokenized texts are shortened in the unit.
func (e *encoding) sequence(ctx context.Context, u *encodeUnit, left *inference.TextBudget) (s inference.Sequence, err error) {
	param := e.req.InputParam(u.index)
	sequences, ok := e.card.Tokenizer.(inference.SequenceEncoder)
	if !ok {
		return s, fmt.Errorf("model %s: the tokenizer makes no sequences", e.card.Name)
	}
	options := inference.SequenceOptions{Limit: e.limit(), Left: left}
	u.input.Text = e.shorten(u, u.input.Text)
	if u.input.Second != nil {
		u.input.Second = new(e.shorten(u, *u.input.Second))
	}
	texts := inference.Texts{First: u.input.Text, Second: u.input.Second}
	if options.Truncation, err = e.truncation(ctx, sequences, texts, u.input.Type); err != nil {
		return s, errTokenize(e.card, param, texts.First, err)
	}
	if s, err = sequences.Sequence(ctx, texts, options); err != nil {
		return s, e.errSequence(param, texts, err)
	}
	u.item.Result.Truncated = u.item.Result.Truncated || s.Truncated()
	return s, nil
}

// limit returns the maximum number of tokens of an input, or 0 if there is none.
func (e *encoding) limit() int {
	limit := e.card.ContextLength
	if n := e.req.MaxTokens; n > 0 && (limit == 0 || n < limit) {
		limit = n
	}
	return limit
}

// shorten cuts a text that would exceed the budget of tokenized texts, if the request truncates. The model
// reads only tokens of what remains, because the budget is many times its length.
func (e *encoding) shorten(u *encodeUnit, text string) string {
	most := budget.Text(e.card.ContextLength)
	if e.req.Truncate == inference.TruncateNever || len(text) <= most || e.limit() == 0 {
		return text
	}
	u.item.Result.Truncated = true
	if e.req.Truncate == inference.TruncateLeft {
		text = text[len(text)-most:]
		for text != "" && !utf8.RuneStart(text[0]) {
			text = text[1:]
		}
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// truncation returns how a text or a pair is truncated, or nil. A maximum of the second text removes only
// tokens of that text.
func (e *encoding) truncation(ctx context.Context, sequences inference.SequenceEncoder, texts inference.Texts, kind inference.InputType) (*inference.Truncation, error) {
	limit := e.limit()
	cut := &inference.Truncation{MaxTokens: limit, Strategy: inference.LongestFirst, Side: inference.RightSide}
	if e.req.Truncate == inference.TruncateLeft {
		cut.Side = inference.LeftSide
	}
	most := e.req.MaxSecond
	switch {
	case most > 0 && texts.Second != nil:
		first, err := e.card.Tokenizer.Count(ctx, texts.First, false, nil)
		if err != nil {
			return nil, err
		}
		most += first + sequences.Added(true)
		cut.Strategy = inference.OnlySecond
	case most > 0 && kind == inference.InputDocument:
		most += sequences.Added(false)
	default:
		most = 0
	}
	truncates := e.req.Truncate != inference.TruncateNever && limit > 0
	switch {
	case most > 0 && (!truncates || most < limit):
		cut.MaxTokens = most
	case !truncates:
		return nil, nil //nolint:nilnil // nothing is truncated
	}
	return cut, nil
}

// takeIDs checks the token ids of an input, which the model gets as they are.
func (e *encoding) takeIDs(u *encodeUnit, param string, limit int) error {
	ids := u.input.TokenIDs
	if id := slices.Max(ids); id >= e.card.Tokenizer.Size() {
		return errUnknownToken(e.card, param, id)
	}
	e.cutIDs(u)
	if ids = u.input.TokenIDs; limit > 0 && len(ids) > limit {
		return tooLong(e.card, param, len(ids), 0)
	}
	u.item.Sequence.IDs = make([]int32, len(ids))
	for i, id := range ids {
		u.item.Sequence.IDs[i] = int32(id)
	}
	return nil
}

// errSequence returns the error of an input that couldn't be tokenized.
func (e *encoding) errSequence(param string, texts inference.Texts, err error) error {
	if long, ok := errors.AsType[*inference.SequenceTooLongError](err); ok {
		if long.Limit < e.card.ContextLength {
			return inference.Invalid(param, "%s has %d tokens, but at most %d are allowed", param, long.Tokens, long.Limit)
		}
		return tooLong(e.card, param, long.Tokens, 0)
	}
	if truncation, ok := errors.AsType[inference.TruncationError](err); ok {
		return inference.Invalid(param, "%s can't be truncated: %s", param, string(truncation))
	}
	longest := texts.First
	if texts.Second != nil && len(*texts.Second) > len(longest) {
		longest = *texts.Second
	}
	return errTokenize(e.card, param, longest, err)
}
