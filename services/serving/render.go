package serving

import (
	"context"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
)

// Rendered are the prompts of a request as its model gets them.
type Rendered struct {
	Prompts []RenderedPrompt
	// Sampling are the options as the model gets them. A forced tool call is a constraint.
	Sampling inference.Sampling
	// MaxTokens limits each answer, in tokens.
	MaxTokens int
}

// RenderedPrompt is a prompt with its token ids. The engine adds the tokens before every text, which are
// in IDs only.
type RenderedPrompt struct {
	Text string
	IDs  []int
}

// Render returns the prompts that Generate would send for a request, without using the engine. A model
// whose tokenizer isn't known, and a request with images, are [inference.CodeInvalid]. Other errors,
// admission, deadline and cancellation are those of Generate.
func (s *Service) Render(ctx context.Context, model *catalog.Resolution, req *inference.Request) (*Rendered, error) {
	return call(ctx, s, model, func(ctx context.Context) (*Rendered, error) { return s.renderAll(ctx, model, req) })
}

func (s *Service) renderAll(ctx context.Context, model *catalog.Resolution, req *inference.Request) (*Rendered, error) {
	const truncate = "truncate_prompt_tokens"
	if req.Sampling.TruncatePromptTokens != nil {
		return nil, inference.Unsupported(truncate, "%s is not supported here: the engine truncates prompts", truncate)
	}
	run, prompts, err := s.readPrompts(ctx, model, req, "the prompt can't be rendered without the tokenizer of the model `%s`: set it")
	if err != nil {
		return nil, err
	}
	if err := run.planConstraint(); err != nil {
		return nil, err
	}
	rendered, left, longest := &Rendered{Sampling: run.req.Sampling}, textBudget(run.card, len(prompts)), 0
	for _, text := range prompts {
		ids, err := run.card.Tokenizer.Encode(ctx, text, true, left)
		if err != nil {
			return nil, errTokenize(run.card, req.TextParam(), text, err)
		}
		rendered.Prompts, longest = append(rendered.Prompts, RenderedPrompt{Text: text, IDs: ids}), max(longest, len(ids))
	}
	if rendered.MaxTokens, err = s.answerTokens(run.card, req, longest); err != nil {
		return nil, err
	}
	return rendered, run.checkEncoding(&inference.Job{Prompt: prompts[0], MaxTokens: rendered.MaxTokens})
}

// checkEncoding refuses options that the model's tensors don't have. It encodes the requests of a job without
// sending them.
func (r *textRun) checkEncoding(job *inference.Job) error {
	scorer, err := r.scorer()
	if err != nil {
		return err
	}
	if scorer != nil {
		if _, err := scorer.EncodeScore(&r.card.Target, r.req, job); err != nil {
			return err
		}
		r.planNext()
	}
	return r.checkOptions(job)
}

// checkOptions refuses options that the model's tensors don't have, of the generation of a job. A request that
// generates nothing is refused as the one that generates a token.
func (r *textRun) checkOptions(job *inference.Job) error {
	req, generation := r.req, job
	if req.OnlyPrompt() {
		asked, one := *req, *job
		asked.Sampling.MaxTokens, one.MaxTokens = new(1), 1
		if !r.hidden { // the log probabilities are those of the prompt, which the generation doesn't return
			asked.Sampling.Logprobs = nil
		}
		req, generation = &asked, &one
	}
	_, err := r.card.Backend.Encode(&r.card.Target, req, generation)
	return r.bestOfError(err)
}

// readPrompts returns a run with the prompts of its request, for operations that don't use the engine and
// need the tokenizer. The argument lack is that of needTokenizer.
func (s *Service) readPrompts(ctx context.Context, model *catalog.Resolution, req *inference.Request, lack string) (*textRun, []string, error) {
	run, err := s.newTextRun(ctx, model, req, nil)
	if err != nil {
		return nil, nil, err
	}
	if err := s.needTokenizer(run.card, req.Model, lack); err != nil {
		return nil, nil, err
	}
	run.fillSampling()
	if err := run.planReading(&s.cfg); err != nil {
		return nil, nil, err
	}
	prompts, err := s.prompts(ctx, run.card, run.req)
	if err != nil {
		return nil, nil, err
	}
	if len(req.ImageRefs()) > 0 {
		return nil, nil, inference.Unsupported(req.ImagesParam(), "the tokens of images can't be counted: only the model itself knows their number")
	}
	return run, prompts, nil
}
