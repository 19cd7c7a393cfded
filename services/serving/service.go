// Package serving runs requests: the [Service] resolves a model, admits the request, plans its
// jobs, runs them on the engine and reads the answers. Whatever decides how one request is
// served belongs here, such as prompts, choices, stop sequences, log probabilities and
// timeouts. What is known of models is in catalog, whether a request may go on in admission,
// and what is counted in metering.
package serving

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/images"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/metering"
)

// Config of the service.
type Config struct {
	// Bounds at start; [admission.Controller.SetBounds] changes them.
	admission.Bounds

	// DefaultMaxTokens bounds answers whose request sets no limit; 0 means the
	// room left in the model's context, or 16 tokens where that isn't known.
	DefaultMaxTokens int
	// RequiredModels are those without which the service isn't ready; none for those that
	// were ready when it first was.
	RequiredModels []string
	// MaxCallBytes bounds the tool calls of one answer, in bytes; 0 for
	// [inference.DefaultMaxParseBytes].
	MaxCallBytes int
}

// Default is the configuration without flags.
func Default() Config {
	return Config{
		Bounds: admission.Bounds{
			Server:    inference.Limits{InFlight: 1024, Queued: 1024},
			BodyBytes: 4 << 30, Reading: 8192, Decoding: 64, RequestTimeout: 30 * time.Minute,
		},
		MaxCallBytes: inference.DefaultMaxParseBytes,
	}
}

// Validate names the field that can't be used.
func (c Config) Validate() error {
	switch {
	case c.DefaultMaxTokens < 0:
		return configfield.Errorf("serving.DefaultMaxTokens", "%d is negative", c.DefaultMaxTokens)
	case c.MaxCallBytes < 0:
		return configfield.Errorf("serving.MaxCallBytes", "%d is negative", c.MaxCallBytes)
	}
	return c.Bounds.Validate()
}

const (
	// unknownContextMaxTokens is vLLM's own default for answers without a limit.
	unknownContextMaxTokens = 16
	// continuationTokens is OpenAI's for continuations of plain texts.
	continuationTokens = 16
)

// Service serves text and tensors from all engines. All methods may be called
// concurrently.
type Service struct {
	cfg       Config
	catalog   *catalog.Catalog
	images    *images.Reader
	admission *admission.Controller
	meters    *metering.Meters
}

// New makes a service over the catalog's engines. Pictures reads those of the requests. It
// starts nothing.
func New(cfg Config, models *catalog.Catalog, pictures *images.Reader) (*Service, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	meters := metering.New(models.Knows)
	return &Service{cfg: cfg, catalog: models, images: pictures, admission: admission.New(cfg.Bounds, meters), meters: meters}, nil
}

// Catalog returns the catalog of the models.
func (s *Service) Catalog() *catalog.Catalog { return s.catalog }

// Admission returns the controller that admits requests.
func (s *Service) Admission() *admission.Controller { return s.admission }

// Meters returns the meters of all requests.
func (s *Service) Meters() *metering.Meters { return s.meters }

// Ready is nil when every engine takes requests, the models that are required do, and
// none is being drained.
func (s *Service) Ready(ctx context.Context) error {
	if err := s.admission.Ready(); err != nil {
		return err
	}
	return s.catalog.Ready(ctx, s.cfg.RequiredModels...)
}

// Started is nil once the service has been ready, whatever comes later.
func (s *Service) Started(ctx context.Context) error {
	if s.catalog.WasReady() {
		return nil
	}
	return s.catalog.Ready(ctx, s.cfg.RequiredModels...)
}

// Generate runs a request on the model that its name stands for, and yields its Deltas, choices
// interleaved as they come, then one with the usage. The first error ends the stream; errors are
// [*inference.Error]. Leaving the loop, or the end of ctx, stops the model, and nothing of
// the request is left running when the loop has ended. From the first Delta on the model is the
// one that answers.
func (s *Service) Generate(ctx context.Context, model *catalog.Resolution, req *inference.Request) iter.Seq2[inference.Delta, error] {
	return func(yield func(inference.Delta, error) bool) {
		var priority int64
		if req.Priority != nil {
			priority = int64(*req.Priority)
		}
		g := &generation{service: s, model: model, req: req, yield: yield}
		if err := s.serve(ctx, model, req.Operation(), priority, g); err != nil {
			yield(inference.Delta{}, err)
		}
	}
}

// generation is the work of [Service.Generate], and what has come of it. It has the variables of
// the loop over the Deltas: in a loop each of them would be an allocation of its own.
type generation struct {
	service *Service
	model   *catalog.Resolution
	req     *inference.Request
	yield   func(inference.Delta, error) bool

	err   error
	ended bool // by an error, or by the caller
}

func (g *generation) do(t *admission.Ticket) (metering.Outcome, *inference.Usage, error) {
	t.Measure.Streamed = g.req.Stream
	run, err := g.service.plan(t, g.model, g.req, &t.Measure)
	if err != nil {
		return metering.OutcomeCanceled, nil, err
	}
	run.best(run.deltas(t))(g.take)
	if g.ended {
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

// CountPrompt is how many tokens the prompt of a chat has, as the engine will count
// them. Errors are [*inference.Error]; the model isn't asked.
func (s *Service) CountPrompt(ctx context.Context, model *catalog.Resolution, req *inference.Request) (int, error) {
	return call(ctx, s, model, func(ctx context.Context) (int, error) { return s.countPrompt(ctx, model, req) })
}

// call runs what asks no model and gives one value within the admission.
func call[T any](ctx context.Context, s *Service, model *catalog.Resolution, run func(context.Context) (T, error)) (T, error) {
	var none T
	t := &admission.Ticket{}
	if err := s.enter(ctx, t, model, 0); err != nil {
		return none, err
	}
	defer t.Leave()
	value, err := run(t) //nolint:contextcheck // the ticket is the context
	if err != nil {
		return none, inference.Cause(t, err) //nolint:contextcheck // likewise
	}
	return value, nil
}

func (s *Service) countPrompt(ctx context.Context, model *catalog.Resolution, req *inference.Request) (int, error) {
	run, err := s.newTextRun(ctx, model, req, nil)
	if err != nil {
		return 0, err
	}
	if err := needTokenizer(run.card, req.Model, "the tokens of the model `%s` can't be counted here: give its tokenizer"); err != nil {
		return 0, err
	}
	if err := run.planReading(s.cfg.MaxCallBytes); err != nil {
		return 0, err
	}
	prompts, err := s.prompts(ctx, run.card, run.req)
	if err != nil {
		return 0, err
	}
	if len(req.ImageRefs()) > 0 {
		return 0, inference.Unsupported(req.ImagesParam(), "the tokens of images can't be counted here: the model alone knows them")
	}
	return longestOf(ctx, run.card, req.TextParam(), prompts)
}

// newRun confirms the model, and records it on the measure, which may be nil.
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
		return nil, inference.NoTask(req)
	}
	if err := s.checkParts(card, req); err != nil {
		return nil, err
	}
	return &textRun{card: card, req: req, lora: model.LoRA, measure: measure}, nil
}

// plan confirms the model and splits the request into jobs.
func (s *Service) plan(ctx context.Context, model *catalog.Resolution, req *inference.Request, measure *metering.Measure) (*textRun, error) {
	run, err := s.newTextRun(ctx, model, req, measure)
	if err != nil {
		return nil, err
	}
	card := run.card
	if req.Task == inference.TaskEmbed {
		if run.lora != "" {
			return nil, inference.Unsupported("model", "the model `%s` is a LoRA adapter, which has no embeddings", req.Model)
		}
		if err := checkInputs(ctx, card, req.Inputs); err != nil {
			return nil, err
		}
		run.planInputs()
		return run, nil
	}
	if err := run.planReading(s.cfg.MaxCallBytes); err != nil {
		return nil, err
	}
	if err := run.planConstraint(); err != nil {
		return nil, err
	}
	prompts, err := s.prompts(ctx, card, run.req)
	if err != nil {
		return nil, err
	}
	maxTokens, err := s.maxTokens(ctx, card, req, prompts)
	if err != nil {
		return nil, err
	}
	if least := req.Sampling.MinTokens; least != nil && *least > maxTokens {
		return nil, inference.Invalid("min_tokens", "min_tokens must not be above the tokens that the answer may have (%d), got %d", maxTokens, *least)
	}
	// Nothing is fetched for a request that can't be served.
	if run.images, err = s.readImages(ctx, req); err != nil {
		return nil, err
	}
	run.rank()
	run.planChoices(prompts, maxTokens)
	return run, nil
}

// prompts are the request's own, or its messages rendered by the model's own
// template.
func (s *Service) prompts(ctx context.Context, card *catalog.Card, req *inference.Request) ([]string, error) {
	if req.Messages == nil {
		return plainPrompts(ctx, card, req)
	}
	ctx, span := child(ctx, "template")
	prompt, err := render(ctx, card, req)
	metering.EndSpan(span, err)
	if err != nil {
		return nil, err
	}
	return []string{withoutBegin(card, prompt)}, nil //nolint:contextcheck // it encodes an empty string
}

// render makes the prompt of a chat.
func render(ctx context.Context, card *catalog.Card, req *inference.Request) (string, error) {
	switch {
	case card.Template == nil && card.Fetching:
		return "", errFetching("chat template", req.Model)
	case card.Template == nil:
		return "", inference.Unsupported("messages", "the model `%s` has no chat template: give one by --chat-template, or by the parameter %s in its config.pbtxt",
			req.Model, inference.ParamPrefix+inference.SettingChatTemplate)
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

// maxTokens is the bound on each choice: what was asked for, or OpenAI's default
// for plain texts, or the room left in the context. Where the prompt can't be
// counted here the context itself means that, as the engine ends an answer that
// fills it.
func (s *Service) maxTokens(ctx context.Context, card *catalog.Card, req *inference.Request, prompts []string) (int, error) {
	used, err := longestOf(ctx, card, req.TextParam(), prompts)
	if err != nil {
		return 0, err
	}
	asked := 0
	if p := req.Sampling.MaxTokens; p != nil {
		asked = *p
	}
	truncates := req.Sampling.TruncatePromptTokens != nil
	switch length := card.ContextLength; {
	case length > 0 && used+max(asked, 1) > length && used > 0 && !truncates:
		return 0, tooLong(card, req.TextParam(), used, asked)
	case length > 0 && asked > length:
		return 0, &inference.Error{
			Code: inference.CodeInvalid, Reason: inference.ReasonContextLength, Param: req.TextParam(),
			Message: fmt.Sprintf("This model's maximum context length is %d tokens, but %d were asked for in the answer alone", length, asked),
		}
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

// defaultMaxTokens is the model's own, or that of all; 0 for none.
func (s *Service) defaultMaxTokens(card *catalog.Card) int {
	return cmp.Or(card.DefaultMaxTokens, s.cfg.DefaultMaxTokens)
}

// Defaults are the sampling options that hold for requests to a model which leave them
// unset, as far as they are known.
func (s *Service) Defaults(card *catalog.Card) inference.Sampling {
	var d inference.Sampling
	if card.Backend != nil {
		d = card.Backend.Extras(card.Config).Defaults
	}
	switch {
	case s.defaultMaxTokens(card) > 0:
		d.MaxTokens = new(s.defaultMaxTokens(card))
	case card.ContextLength == 0:
		d.MaxTokens = new(unknownContextMaxTokens)
	}
	return d
}

// errFetching says that something of a model isn't there yet.
func errFetching(what, model string) error {
	return &inference.Error{
		Code: inference.CodeUnavailable, Reason: inference.ReasonModelNotReady, Param: "model", RetryAfter: 2 * time.Second,
		Message: fmt.Sprintf("the %s of the model `%s` is still being fetched", what, model),
	}
}
