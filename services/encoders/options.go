package encoders

import (
	"context"
	"maps"
	"slices"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/strictjson"
)

// options are the members of requests that several operations share.
type options struct {
	model string

	// Truncation: of vLLM's API, of TEI's, and of Cohere's.
	truncateTokens *int
	side           string
	truncate       *bool
	direction      string
	documentTokens *int

	// Whether the model's activation function applies: names of vLLM's API, and TEI's.
	useActivation, activation, softmax, rawScores *bool

	dimensions  *int
	normalize   *bool
	promptName  string
	inputType   string
	instruction string
	priority    *int

	unused []server.IgnoredField
}

// ignore records an unknown member of an object at a path.
func (o *options) ignore(path, name string) {
	if len(o.unused) > server.MaxIgnored {
		return
	}
	name = strictjson.JoinPath(path, name)
	o.unused = append(o.unused, server.IgnoredField{Name: name, Reason: "unknown field " + name})
}

// object reads the object at a path of the request. Its unknown members are recorded as ignored.
func (o *options) object(r *strictjson.Reader, m members, path string, required ...string) error {
	var ignored []string
	err := m.object(r, &ignored, required...)
	for _, name := range ignored {
		o.ignore(path, name)
	}
	return err
}

// with returns the members of an operation: its own, and those of groups.
func with(own members, groups ...members) members {
	all := maps.Clone(own)
	for _, group := range groups {
		maps.Copy(all, group)
	}
	return all
}

// common are the members of requests that name a model.
func (o *options) common() members { return members{"model": anyTextIn(&o.model)} }

// vllm are the members of vLLM's requests.
func (o *options) vllm() members {
	return members{
		"model":                  anyTextIn(&o.model),
		"truncate_prompt_tokens": integerIn(&o.truncateTokens, -1),
		"truncation_side":        wordIn(&o.side, "left", "right"),
		"priority":               priorityIn(&o.priority),
		"user":                   skipText,
	}
}

// activations are the members of vLLM's requests for scores and classes.
func (o *options) activations() members {
	return members{"use_activation": flagIn(&o.useActivation), "activation": flagIn(&o.activation), "softmax": flagIn(&o.softmax)}
}

// tei are the members of TEI's requests about truncation.
func (o *options) tei() members {
	return members{"truncate": flagIn(&o.truncate), "truncation_direction": wordIn(&o.direction, "Left", "Right", "left", "right")}
}

// raw are the members of TEI's and infinity's requests for scores and classes.
func (o *options) raw() members { return members{"raw_scores": flagIn(&o.rawScores)} }

// priorityIn returns a reader of a priority.
func priorityIn(n **int) func(*strictjson.Reader) error { return integerIn(n, -1<<31) }

// request returns the request for a task, without its inputs. It names the only model if the client named none.
func (h *Handler) request(ctx context.Context, o *options, task inference.Task) (*inference.EncodeRequest, error) {
	if o.model == "" {
		only, err := h.service.Catalog().Only(ctx)
		if err != nil {
			return nil, err
		}
		o.model = only.Name
	}
	server.RecordOf(ctx).Model = o.model
	if err := server.Ignore(ctx, o.unused...); err != nil {
		return nil, err
	}
	req := &inference.EncodeRequest{ID: newID("enc"), Model: o.model, Task: task, Normalize: o.normalize, Priority: o.priority}
	if o.dimensions != nil {
		req.Dimensions = *o.dimensions
	}
	if o.documentTokens != nil {
		req.MaxSecond = *o.documentTokens
	}
	req.PromptName = o.promptName
	requests.SetInputType(req, o.inputType)
	o.setRaw(req)
	return req, o.setTruncation(req)
}

// setRaw applies the members about the model's activation function.
func (o *options) setRaw(req *inference.EncodeRequest) {
	for _, applies := range []*bool{o.softmax, o.activation, o.useActivation} {
		if applies != nil {
			req.Raw = !*applies
		}
	}
	if o.rawScores != nil && *o.rawScores {
		req.Raw = true
	}
}

// setTruncation applies the members about truncation.
func (o *options) setTruncation(req *inference.EncodeRequest) error {
	side := inference.TruncateRight
	if slices.Contains([]string{o.side, o.direction}, "left") || o.direction == "Left" {
		side = inference.TruncateLeft
	}
	if o.truncate != nil && *o.truncate {
		req.Truncate = side
	}
	switch n := o.truncateTokens; {
	case n == nil:
	case *n == 0:
		return inference.Invalid("truncate_prompt_tokens", "truncate_prompt_tokens must be -1 or at least 1, got 0")
	default:
		req.Truncate, req.MaxTokens = side, max(*n, 0)
	}
	return nil
}
