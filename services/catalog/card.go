package catalog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// noParser is the value that disables a dialect.
const noParser = "none"

// Card describes one model. Its fields are immutable: a model that is reloaded gets a new Card.
type Card struct {
	inference.Target

	Version string
	// Versions are all versions that the engine lists.
	Versions []string
	State    inference.ModelState
	Reason   string // Triton's message about a model that isn't ready
	// Recovering is true for a model that is temporarily unavailable.
	Recovering bool
	// Differing describes the servers that had the model otherwise when the card was made, and
	// that requests don't go to.
	Differing []string
	Engine    inference.Engine
	// Backend is nil for a model that none of Trident's backends supports. Such a model accepts
	// only requests of tensors.
	Backend inference.Backend
	Tasks   inference.Task
	// Images is the way in which the model takes images.
	Images inference.ImageInput
	// noImagesReason is the reason why the model takes no images although it declares an input for them.
	noImagesReason string
	// Template is the model's chat template. It is nil for a model without a chat template.
	Template inference.Template
	// ToolParser and ReasoningParser are the dialects of [toolparser.Dialects] that the model
	// writes. They are empty if there is none.
	ToolParser, ReasoningParser string
	// ContextLength is the maximum number of tokens of prompt and answer together, 0 if unknown.
	ContextLength int
	// MaxLogprobs is the maximum number of log probabilities that the engine returns for one position, at most
	// [inference.MaxLogprobs].
	MaxLogprobs int
	// scoring is one more than the best way of scoring that the engine hasn't refused, and 0 as long as it
	// has refused none.
	scoring atomic.Uint32
	// DefaultMaxTokens limits answers whose request sets no limit, in tokens. 0 means that the
	// limit for all models applies.
	DefaultMaxTokens int
	// SamplingDefaults are the sampling options of requests that don't set them. It is nil if the
	// engine's defaults apply.
	SamplingDefaults *inference.Sampling
	Hidden           bool
	// Prompts compares the tokenizer with the engine. It is nil without a tokenizer.
	Prompts *PromptCounts
	// Fingerprint is fp_ and ten hexadecimal digits. It changes only with this program and with the
	// model's version and configuration. It is empty unless the model is ready.
	Fingerprint string
	// Aliases are further names of the model. If another model has an alias as its own name, that
	// model keeps the name.
	Aliases []string
	// LoRAs are the adapters that clients can request. They are nil if the adapters aren't known.
	LoRAs []string
	loras *loras
	// Settings are the values of this card with their origins.
	Settings []inference.Setting
	// overrides are the operator's settings that the card was built with.
	overrides []inference.Override
	// Fetching is true while the files of the model's maker are being fetched from the hub. The
	// model gets a new Card afterwards.
	Fetching bool
	// Loaded is the time when Trident first saw this configuration.
	Loaded  time.Time
	efforts knownEfforts
}

// knownEfforts are the reasoning efforts of a chat template, once they are known.
type knownEfforts struct {
	mu    sync.Mutex
	known bool
	list  []string
}

// newCard reads the model's configuration. The error names each setting that can't be read. The
// card is usable nevertheless, without those properties.
func newCard(c *Catalog, engine inference.Engine, m inference.Model, others func(string) *kserve.ModelConfig) (*Card, error) {
	card := &Card{
		Target: inference.Target{Name: m.Name, Config: m.Config}, Version: m.Version, Versions: m.Versions, State: m.State, Reason: m.Reason, Recovering: m.Recovering, Differing: m.Differing,
		Engine: engine, Loaded: time.Now(),
		overrides: c.overridesOf(m.Name), MaxLogprobs: inference.DefaultMaxLogprobs,
	}
	if m.Config == nil {
		return card, nil
	}
	card.Fingerprint = fingerprint(m)
	err := card.describe(c, m, others)
	return card, err
}

// fingerprint is computed from everything known that affects a model's answers.
func fingerprint(m inference.Model) string {
	hash := sha256.New()
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, s := range build.Settings {
			if s.Key == "vcs.revision" {
				_, _ = io.WriteString(hash, s.Value) // writes to a hash can't fail
			}
		}
		_, _ = io.WriteString(hash, build.Main.Version)
	}
	config, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Config)
	if err != nil { // can't fail: the configuration was received as a message
		return ""
	}
	_, _ = hash.Write(append([]byte("\x00"+m.Version+"\x00"), config...))
	return "fp_" + hex.EncodeToString(hash.Sum(nil)[:5])
}

// same reports whether the engine's description of the model still equals this card.
func (c *Card) same(m inference.Model) bool {
	return c.Version == m.Version && c.State == m.State && c.Reason == m.Reason && c.Recovering == m.Recovering && slices.Equal(c.Versions, m.Versions) && proto.Equal(c.Config, m.Config)
}

// Scoring returns the best way in which the model may be asked for the log probabilities of given tokens.
func (c *Card) Scoring() inference.Scoring {
	best := inference.ScoringNone
	if c.Backend != nil {
		best = c.Backend.Extras(c.Config).Scoring
	}
	if known := c.scoring.Load(); known > 0 {
		best = min(best, inference.Scoring(known-1))
	}
	return best
}

// LimitScoring records that the engine refuses all better ways of scoring, until the model is loaded again.
func (c *Card) LimitScoring(best inference.Scoring) {
	for {
		known := c.scoring.Load()
		if known > 0 && known <= uint32(best)+1 || c.scoring.CompareAndSwap(known, uint32(best)+1) {
			return
		}
	}
}

// Kind returns the name of the model's backend, or "tensors only" if it has none.
func (c *Card) Kind() string {
	if c.Backend == nil {
		return "tensors only"
	}
	return c.Backend.Name()
}

// Parsers returns the dialects of tool calls and of reasoning, for display.
func (c *Card) Parsers() string {
	if c.ToolParser == "" && c.ReasoningParser == "" {
		return noParser
	}
	return cmp.Or(c.ToolParser, noParser) + ", " + cmp.Or(c.ReasoningParser, noParser)
}

// Listed reports whether the model belongs in lists of generation and embedding models.
func (c *Card) Listed() bool { return c.State == inference.ModelReady && c.Tasks != 0 && !c.Hidden }

// SeesImages reports whether chats may have images: the model takes them, and its chat template
// renders them.
func (c *Card) SeesImages(ctx context.Context) bool {
	if c.Images.Most == 0 || c.Template == nil {
		return false
	}
	_, err := c.Template.Render(ctx, &inference.Request{Model: c.Name, Task: inference.TaskGenerate, Messages: []inference.Message{{
		Role: "user", Parts: []inference.Part{{Kind: inference.PartText, Text: "what is this?"}, {Kind: inference.PartImage}},
	}}})
	return err == nil
}

// Efforts returns the reasoning efforts that chats may set, from the least to the most. It returns
// nil if the model's chat template doesn't distinguish them. The first call renders the template, and
// others return the same list, which must not be changed.
func (c *Card) Efforts(ctx context.Context) []string {
	if c.Template == nil {
		return nil
	}
	e := &c.efforts
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.known {
		return e.list
	}
	list := c.renderEfforts(ctx)
	if ctx.Err() == nil { // the rendering wasn't interrupted
		e.known, e.list = true, list
	}
	return list
}

// renderEfforts returns the efforts with which the template renders a chat.
func (c *Card) renderEfforts(ctx context.Context) []string {
	var efforts []string
	for _, effort := range []string{inference.EffortNone, "low", inference.EffortDefault, "high"} {
		_, err := c.Template.Render(ctx, &inference.Request{
			Model: c.Name, Task: inference.TaskGenerate, ReasoningEffort: effort, Messages: []inference.Message{{Role: "user", Text: "hello"}},
		})
		if err == nil {
			efforts = append(efforts, effort)
		}
	}
	if len(efforts) < 2 { // every template takes the default
		return nil
	}
	return efforts
}

// CheckParts returns an error for the first content part that the model can't read.
func (c *Card) CheckParts(req *inference.Request) error {
	images := 0
	for i := range req.Messages {
		for j := range req.Messages[i].Parts {
			switch p := &req.Messages[i].Parts[j]; p.Kind {
			case inference.PartText, inference.PartRefusal:
				continue
			case inference.PartImage:
				images++
				if images <= c.Images.Most {
					continue
				}
				if c.Images.Most > 0 {
					return inference.Unsupported(p.Path(i, j), "the model `%s` takes at most %d images in a request", req.Model, c.Images.Most)
				}
				if c.noImagesReason != "" {
					return inference.Unsupported(p.Path(i, j), "this model takes no %s content: %s", p.Kind, c.noImagesReason)
				}
			case inference.PartAudio, inference.PartFile:
			}
			return inference.Unsupported(req.Messages[i].Parts[j].Path(i, j), "this model takes no %s content", req.Messages[i].Parts[j].Kind)
		}
	}
	return nil
}
