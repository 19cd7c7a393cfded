// Package serving runs requests. The [Service] resolves a model, admits the request, plans its jobs,
// runs them on the engine and reads the answers. Code that decides how one request is served belongs
// here, such as prompts, choices, stop sequences, log probabilities and timeouts. The package catalog
// describes models, admission decides whether a request may continue, and metering counts.
package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/images"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// Config is the configuration of the service.
type Config struct {
	// Bounds are the bounds at start. [admission.Controller.SetBounds] changes them.
	admission.Bounds

	// DefaultMaxTokens limits answers whose request sets no limit, in tokens. 0 means the remaining
	// context length, or 16 tokens if the context length isn't known.
	DefaultMaxTokens int
	// RequiredModels are the models that must be ready for the service to be ready. If the list is
	// empty, they are the models that were ready when the service was first ready.
	RequiredModels []string
	// MaxCallBytes limits the tool calls of one answer, in bytes. 0 means
	// [inference.DefaultMaxParseBytes].
	MaxCallBytes int
	// EncoderBatchDelay is the time that an input of an encoder waits for inputs of other requests while
	// the model is free. 0 sends it at once.
	EncoderBatchDelay time.Duration
	// EncoderQueueTokens is the maximum number of tokens that wait for one encoder. 0 means no maximum.
	EncoderQueueTokens int
	// Names are the operators' names of the fields; nil for the fields' own names.
	Names *configfield.Names
}

// Default returns the configuration without flags.
func Default() Config {
	return Config{
		Bounds: admission.Bounds{
			Server:    inference.Limits{InFlight: 1024, Queued: 1024},
			BodyBytes: 4 << 30, Reading: 8192, Decoding: 64, RequestTimeout: 30 * time.Minute,
		},
		MaxCallBytes: inference.DefaultMaxParseBytes, EncoderQueueTokens: 16 << 20,
	}
}

// Validate returns an error that names the first invalid field.
func (c Config) Validate() error {
	switch {
	case c.DefaultMaxTokens < 0:
		return configfield.Errorf("serving.DefaultMaxTokens", "%d is negative: give 0 or more tokens", c.DefaultMaxTokens)
	case c.MaxCallBytes < 0:
		return configfield.Errorf("serving.MaxCallBytes", "%d is negative: give 0 or more bytes", c.MaxCallBytes)
	}
	return errors.Join(c.validateEncoders(), c.Bounds.Validate())
}

func (c Config) validateEncoders() error {
	switch {
	case c.EncoderBatchDelay < 0:
		return configfield.Errorf("serving.EncoderBatchDelay", "%s is negative: give 0 or more", c.EncoderBatchDelay)
	case c.EncoderQueueTokens < 0:
		return configfield.Errorf("serving.EncoderQueueTokens", "%d is negative: give 0 or more tokens", c.EncoderQueueTokens)
	}
	return nil
}

const (
	// unknownContextMaxTokens is vLLM's default limit of an answer.
	unknownContextMaxTokens = 16
	// continuationTokens is OpenAI's default limit for continuations of plain text.
	continuationTokens = 16
)

// Service serves text and tensors with all engines. All methods may be called concurrently.
type Service struct {
	cfg       Config
	catalog   *catalog.Catalog
	images    *images.Reader
	admission *admission.Controller
	meters    *metering.Meters
	logits    *logitMemory
	encoders  encoderQueues
	needed    func(context.Context) error // reports why something that the service needs isn't there; may be nil
}

// New returns a service over the catalog's engines. The argument pictures reads the images of
// requests. New starts nothing.
func New(cfg Config, models *catalog.Catalog, reader *images.Reader) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	meters := metering.New(models.Knows)
	return &Service{cfg: cfg, catalog: models, images: reader, admission: admission.New(cfg.Bounds, meters), meters: meters, logits: newLogitMemory(budget.AllContextLogits, budget.ContextLogits), encoders: encoderQueues{maxValues: budget.EncodeValues, queues: map[string]*encoderQueue{}}}, nil
}

// Catalog returns the catalog of the models.
func (s *Service) Catalog() *catalog.Catalog { return s.catalog }

// Admission returns the controller that admits requests.
func (s *Service) Admission() *admission.Controller { return s.admission }

// Meters returns the meters of all requests.
func (s *Service) Meters() *metering.Meters { return s.meters }

// Need adds a condition of readiness: a service that needs what isn't there isn't ready, for the reason
// that needed returns. Call it before the first request.
func (s *Service) Need(needed func(context.Context) error) { s.needed = needed }

// Ready returns nil if every engine accepts requests, the required models are ready, and the service
// isn't being drained.
func (s *Service) Ready(ctx context.Context) error {
	if err := s.admission.Ready(); err != nil {
		return err
	}
	if s.needed != nil {
		if err := s.needed(ctx); err != nil {
			return err
		}
	}
	return s.catalog.Ready(ctx, s.cfg.RequiredModels...)
}

// Started returns nil once the service has been ready for the first time, in any later state.
func (s *Service) Started(ctx context.Context) error {
	if s.catalog.WasReady() {
		return nil
	}
	return s.catalog.Ready(ctx, s.cfg.RequiredModels...)
}

// requestedPriority returns the priority of a request for admission, which is 0 if the client requested none.
func requestedPriority(requested *int) int64 {
	if requested == nil {
		return 0
	}
	return int64(*requested)
}

// Generate runs a request on its model and yields its Deltas: those of the choices, interleaved as
// they arrive, and then one with the usage. The first error ends the stream. Errors are
// [*inference.Error]. Leaving the loop, or the end of ctx, stops the model. When the loop has ended,
// nothing of the request is still running. From the first Delta on, the resolution is that of the
// model that answers.
func (s *Service) Generate(ctx context.Context, model *catalog.Resolution, req *inference.Request) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		g := &generation{service: s, model: model, req: req, yield: yield}
		if err := s.serve(ctx, model, req.Operation(), requestedPriority(req.Priority), g); err != nil {
			yield(inference.Delta{}, err)
		}
	}
}

// generation is the work of [Service.Generate] with its result. The variables of the loop over the
// Deltas are fields, because each loop variable would be a separate allocation.
type generation struct {
	service *Service
	model   *catalog.Resolution
	req     *inference.Request
	yield   func(inference.Delta, error) bool

	err   error
	ended bool // reports whether an error or the caller ended the loop
}

func (g *generation) do(t *admission.Ticket) (metering.Outcome, *inference.Usage, error) {
	t.Measure.Streamed = g.req.Stream
	run, err := g.service.plan(t, g.model, g.req)
	if err != nil {
		return metering.OutcomeCanceled, nil, err
	}
	run.best(run.deltas(t))(g.take)
	if g.ended {
		g.spendUntilNow(t, run)
		return metering.OutcomeCanceled, nil, g.err
	}
	usage := run.usage()
	g.yield(inference.Delta{Usage: usage}, nil)
	return metering.OutcomeOK, usage, nil
}

// take is the body of the loop over the Deltas.
func (g *generation) take(delta inference.Delta, err error) bool {
	switch {
	case g.ended:
	case err != nil:
		g.err, g.ended = err, true
	default:
		g.ended = !g.yield(delta, nil)
	}
	return !g.ended
}

// CountPrompt returns the number of tokens of a chat's prompt, as the engine counts them. It doesn't
// use the engine. Errors are [*inference.Error].
func (s *Service) CountPrompt(ctx context.Context, model *catalog.Resolution, req *inference.Request) (int, error) {
	return call(ctx, s, model, func(ctx context.Context) (int, error) { return s.countPrompt(ctx, model, req) })
}

// call runs an operation within the admission that uses no engine and returns one value.
func call[T any](ctx context.Context, s *Service, model *catalog.Resolution, run func(context.Context) (T, error)) (T, error) {
	var none T
	t := &admission.Ticket{}
	if err := s.enter(ctx, t, model, 0); err != nil {
		return none, err
	}
	defer t.Leave()      //nolint:contextcheck // the ticket is the context
	value, err := run(t) //nolint:contextcheck // the ticket is the context
	if err != nil {
		return none, inference.Cause(t, err) //nolint:contextcheck // the ticket is the context
	}
	return value, nil
}

func (s *Service) countPrompt(ctx context.Context, model *catalog.Resolution, req *inference.Request) (int, error) {
	run, prompts, err := s.readPrompts(ctx, model, req, "the tokens can't be counted without the tokenizer of the model `%s`: set it")
	if err != nil {
		return 0, err
	}
	longest, _, err := countTexts(ctx, run.card, req.TextParam(), prompts)
	return longest, err
}

// newTextRun confirms the model and records it on measure, which may be nil.
func (s *Service) newTextRun(ctx context.Context, model *catalog.Resolution, req *inference.Request, measure *metering.Measure) (*textRun, error) {
	if err := req.Validate(); err != nil {
		return nil, err
	}
	if err := model.Confirm(ctx); err != nil {
		return nil, err
	}
	card := model.Card
	measure.Settle(card.Name, model.LoRA)
	if card.Tasks&req.Task == 0 {
		return nil, inference.NoTask(req.Model, req.Task)
	}
	if err := s.checkParts(card, req); err != nil {
		return nil, err
	}
	return &textRun{card: card, req: req, lora: model.LoRA, measure: measure}, nil
}

// fillSampling sets the model's default of each sampling option that the request leaves unset.
func (r *textRun) fillSampling() {
	if r.card.SamplingDefaults == nil {
		return
	}
	filled := *r.req
	filled.Sampling = r.req.Sampling.Or(r.card.SamplingDefaults)
	r.req = &filled
}

// plan confirms the model and splits the request into jobs. It reserves the tokens that the request may
// use.
func (s *Service) plan(ctx *admission.Ticket, model *catalog.Resolution, req *inference.Request) (*textRun, error) {
	run, err := s.newTextRun(ctx, model, req, &ctx.Measure)
	if err != nil {
		return nil, err
	}
	card := run.card
	run.fillSampling()
	if err := run.planReading(&s.cfg); err != nil {
		return nil, err
	}
	if err := run.planConstraint(); err != nil {
		return nil, err
	}
	prompts, err := s.prompts(ctx, card, run.req)
	if err != nil {
		return nil, err
	}
	used, all, err := countTexts(ctx, card, req.TextParam(), prompts)
	if err != nil {
		return nil, err
	}
	maxTokens, err := s.answerTokens(card, req, used)
	if err != nil {
		return nil, err
	}
	if err := run.reserve(ctx, len(prompts), all, maxTokens); err != nil {
		return nil, err
	}
	if len(prompts) == 1 {
		run.onlyPrompt = used
		run.countPrompt()
	}
	// Images are fetched last: a request that can't be served must not cause downloads.
	if run.images, err = s.readImages(ctx, req); err != nil {
		return nil, err
	}
	if err := run.planScores(ctx, prompts, s.logits); err != nil {
		return nil, err
	}
	run.rank()
	run.planChoices(prompts, maxTokens)
	if req.OnlyPrompt() { // nothing else encodes the options of the generation
		err = run.checkOptions(run.jobs[0])
	}
	return run, err
}

// prompts returns the request's prompts, or its messages rendered by the model's template.
func (s *Service) prompts(ctx context.Context, card *catalog.Card, req *inference.Request) ([]string, error) {
	if req.Messages == nil {
		return plainPrompts(ctx, card, req)
	}
	ctx, span := child(ctx, "template")
	prompt, err := s.render(ctx, card, req)
	metering.EndSpan(span, err)
	if err != nil {
		return nil, err
	}
	return []string{trimStartPrefix(card, prompt)}, nil //nolint:contextcheck // the call encodes an empty string
}

// render returns the prompt of a chat.
func (s *Service) render(ctx context.Context, card *catalog.Card, req *inference.Request) (string, error) {
	switch {
	case card.Template == nil && card.Fetching:
		return "", errFetching("chat template", req.Model)
	case card.Template == nil:
		return "", inference.Unsupported("messages", "the model `%s` has no chat template: set one by %s, or by the parameter %s in its config.pbtxt",
			req.Model, s.cfg.Names.Of("inference.SettingChatTemplate"), inference.ParamPrefix+inference.SettingChatTemplate)
	}
	prompt, err := card.Template.Render(ctx, req)
	if err != nil {
		return "", fmt.Errorf("render chat template: %w", err)
	}
	return prompt, nil
}

func plainPrompts(ctx context.Context, card *catalog.Card, req *inference.Request) ([]string, error) {
	texts, left := make([]string, len(req.Prompts)), textBudget(card, len(req.Prompts))
	for i, p := range req.Prompts {
		texts[i] = p.Text
		if p.TokenIDs == nil {
			continue
		}
		if err := checkTokens(card, req, p.TokenIDs); err != nil {
			return nil, err
		}
		var err error
		if texts[i], err = textOf(ctx, card, p.TokenIDs, left); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// answerTokens returns the maximum number of tokens of an answer to a prompt of used tokens. It refuses a
// minimum above it.
func (s *Service) answerTokens(card *catalog.Card, req *inference.Request, used int) (int, error) {
	most, err := s.maxTokens(card, req, used)
	if err != nil {
		return 0, err
	}
	if least := req.Sampling.MinTokens; least != nil && *least > most {
		return 0, inference.Invalid("min_tokens", "min_tokens must not be above the maximum number of tokens of the answer (%d), got %d", most, *least)
	}
	return most, nil
}

// maxTokens returns the token limit of each choice: the requested one, or OpenAI's default for plain
// text, or the remaining context length. If the prompt can't be counted here, the limit is the whole
// context length, because the engine ends an answer that fills it. The argument used is the number of
// tokens of the longest prompt, or 0 if it isn't known.
func (s *Service) maxTokens(card *catalog.Card, req *inference.Request, used int) (int, error) {
	asked := 0
	if p := req.Sampling.MaxTokens; p != nil {
		asked = *p
	}
	if length := card.ContextLength; req.FitContext && length > used {
		asked = min(asked, length-used)
	}
	truncates := req.Sampling.TruncatePromptTokens != nil
	switch length := card.ContextLength; {
	case length > 0 && used >= length && !truncates:
		return 0, tooLong(card, req.TextParam(), used, asked)
	case req.OnlyPrompt():
		return 0, nil
	case length > 0 && asked > length:
		return 0, &inference.Error{
			Code: inference.CodeInvalid, Reason: inference.ReasonContextLength, Param: "max_tokens",
			Message: fmt.Sprintf("This model's maximum context length is %d tokens, but max_tokens requests %d tokens for the answer alone", length, asked),
		}
	case length > 0 && used+asked > length && !truncates:
		return 0, tooLong(card, req.TextParam(), used, asked)
	case asked > 0:
		return asked, nil
	case req.Prompts != nil && length > used:
		return min(continuationTokens, length-used), nil
	case req.Prompts != nil:
		return continuationTokens, nil
	case s.defaultMaxTokens(card) > 0:
		return s.defaultMaxTokens(card), nil
	case length > 0 && truncates:
		return length, nil
	case length > 0:
		return length - used, nil
	}
	return unknownContextMaxTokens, nil
}

// defaultMaxTokens returns the model's own limit, or the limit of all models, or 0 for no limit.
func (s *Service) defaultMaxTokens(card *catalog.Card) int {
	return cmp.Or(card.DefaultMaxTokens, s.cfg.DefaultMaxTokens)
}

// Defaults returns the known sampling options that apply to a model's requests that don't set them.
func (s *Service) Defaults(card *catalog.Card) inference.Sampling {
	var d inference.Sampling
	if card.Backend != nil {
		d = card.Backend.Extras(card.Config).Defaults
	}
	if own := card.SamplingDefaults; own != nil {
		d = own.Or(&d)
	}
	switch {
	case s.defaultMaxTokens(card) > 0:
		d.MaxTokens = new(s.defaultMaxTokens(card))
	case card.ContextLength == 0:
		d.MaxTokens = new(unknownContextMaxTokens)
	}
	return d
}

// errFetching returns the error for a part of a model that is still being fetched.
func errFetching(what, model string) error {
	return &inference.Error{
		Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady, Param: "model", RetryAfter: 2 * time.Second,
		Message: fmt.Sprintf("the %s of the model `%s` is still being fetched from the Hugging Face hub: try again later", what, model),
	}
}
