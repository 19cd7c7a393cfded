package catalog

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"runtime/debug"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// noParser switches a dialect off.
const noParser = "none"

// Card is what Trident knows of one model. It is immutable: a model that was
// loaded anew gets a new Card.
type Card struct {
	inference.Target

	Version string
	// Versions are all that the engine tells of.
	Versions []string
	State    inference.ModelState
	Reason   string // Triton's text on a model that isn't ready
	// Recovering is true for a model that is unavailable for a while only.
	Recovering bool
	Engine     inference.Engine
	// Backend is nil for a model that no backend of Trident's speaks to: it
	// takes tensors only.
	Backend inference.Backend
	Tasks   inference.Task
	// Images is how the model takes pictures.
	Images inference.ImageInput
	// blind says why it takes none although it declares an input for them.
	blind string
	// Template is nil for a model without a chat template.
	Template inference.Template
	// ToolParser and ReasoningParser are the dialects of [toolparser.Dialects] in which the
	// model writes; empty for none.
	ToolParser, ReasoningParser string
	// ContextLength in tokens, prompt and answer together; 0 when unknown.
	ContextLength int
	// DefaultMaxTokens bounds answers whose request sets no limit; 0 for what holds for
	// all models.
	DefaultMaxTokens int
	Hidden           bool
	// Fingerprint changes with this program and with the model's configuration, and
	// with nothing else: fp_ and ten hexadecimal digits. Empty unless ready.
	Fingerprint string
	// Aliases are further names of the model. A model that has one of them as its own
	// name keeps it.
	Aliases []string
	// LoRAs are the adapters that the model can be asked for; nil where that isn't
	// known.
	LoRAs []string
	loras *loras
	// Settings are the values of this card with their origins.
	Settings []inference.Setting
	// overrides are those that it was made with.
	overrides []inference.Override
	// Fetching is true until the hub has given what the model's maker published;
	// then the model gets a new Card.
	Fetching bool
	// Loaded is when Trident first saw this configuration.
	Loaded time.Time
}

// newCard reads the model's configuration. A setting that can't be read is an
// error that names it; the card is usable all the same, without that property.
func newCard(c *Catalog, engine inference.Engine, m inference.Model, others func(string) *kserve.ModelConfig) (*Card, error) {
	card := &Card{
		Target: inference.Target{Name: m.Name, Config: m.Config}, Version: m.Version, Versions: m.Versions, State: m.State, Reason: m.Reason, Recovering: m.Recovering,
		Engine: engine, Loaded: time.Now(),
		overrides: c.overridesOf(m.Name),
	}
	if m.Config == nil {
		return card, nil
	}
	card.Fingerprint = fingerprint(m)
	err := card.describe(c, m, others)
	return card, err
}

// fingerprint is made of what is known to shape a model's answers.
func fingerprint(m inference.Model) string {
	hash := sha256.New()
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, s := range build.Settings {
			if s.Key == "vcs.revision" {
				_, _ = io.WriteString(hash, s.Value) // a hash takes all there is
			}
		}
		_, _ = io.WriteString(hash, build.Main.Version)
	}
	config, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.Config)
	if err != nil { // it came as a message
		return ""
	}
	_, _ = hash.Write(append([]byte("\x00"+m.Version+"\x00"), config...))
	return "fp_" + hex.EncodeToString(hash.Sum(nil)[:5])
}

// same tells whether the engine still shows the model as this card has it.
func (c *Card) same(m inference.Model) bool {
	return c.Version == m.Version && c.State == m.State && c.Reason == m.Reason && c.Recovering == m.Recovering && slices.Equal(c.Versions, m.Versions) && proto.Equal(c.Config, m.Config)
}

// Kind names what speaks to the model: a backend of Trident's, or nothing but raw
// tensors.
func (c *Card) Kind() string {
	if c.Backend == nil {
		return "tensors only"
	}
	return c.Backend.Name()
}

// Parsers names the dialects of tool calls and of reasoning, for people.
func (c *Card) Parsers() string {
	if c.ToolParser == "" && c.ReasoningParser == "" {
		return noParser
	}
	return cmp.Or(c.ToolParser, noParser) + ", " + cmp.Or(c.ReasoningParser, noParser)
}

// Listed tells whether the model belongs in lists of generation and embedding
// models.
func (c *Card) Listed() bool { return c.State == inference.ModelReady && c.Tasks != 0 && !c.Hidden }

// SeesImages tells whether chats may have pictures: the model takes them, and what makes
// its prompts gives them a place.
func (c *Card) SeesImages(ctx context.Context) bool {
	if c.Images.Most == 0 || c.Template == nil {
		return false
	}
	_, err := c.Template.Render(ctx, &inference.Request{Model: c.Name, Task: inference.TaskGenerate, Messages: []inference.Message{{
		Role: "user", Parts: []inference.Part{{Kind: inference.PartText, Text: "what is this?"}, {Kind: inference.PartImage}},
	}}})
	return err == nil
}

// CheckParts refuses the first part that the model can't read.
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
					return inference.Unsupported(inference.PartParam(i, j), "the model `%s` takes no more than %d images in a request", req.Model, c.Images.Most)
				}
				if c.blind != "" {
					return inference.Unsupported(inference.PartParam(i, j), "this model takes no %s content: %s", p.Kind, c.blind)
				}
			case inference.PartAudio, inference.PartFile:
			}
			return inference.Unsupported(inference.PartParam(i, j), "this model takes no %s content", req.Messages[i].Parts[j].Kind)
		}
	}
	return nil
}
