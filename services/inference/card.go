package inference

import (
	"fmt"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// Parameters of a model's own config.pbtxt that Trident reads. They travel with
// the model, so that a remote Triton's models describe themselves.
const (
	paramTask          = "trident.task"           // generate or embed; default: what the tensors allow
	paramChatTemplate  = "trident.chat_template"  // Jinja source
	paramContextLength = "trident.context_length" // tokens of prompt and answer together
	paramBOSToken      = "trident.bos_token"
	paramEOSToken      = "trident.eos_token"
	paramHidden        = "trident.hidden" // "true" keeps the model out of lists
)

// Card is what Trident knows of one model. It is immutable: a model that was
// loaded anew gets a new Card.
type Card struct {
	Name    string
	Version string
	State   ModelState
	Reason  string // Triton's text on a model that isn't ready
	Engine  Engine
	Config  *kserve.ModelConfig // nil unless ready
	// Backend is nil for a model that no backend of Trident's speaks to: it
	// takes tensors only.
	Backend Backend
	Tasks   Task
	// Template is nil for a model without a chat template.
	Template Template
	// ContextLength in tokens, prompt and answer together; 0 when unknown.
	ContextLength int
	Hidden        bool
	// Loaded is when Trident first saw this configuration.
	Loaded time.Time
}

// newCard reads the model's configuration. A parameter that can't be read is an
// error that names it; the card is usable all the same, without that property.
func newCard(engine Engine, m Model, backends []Backend, templates Templates, now time.Time) (*Card, error) {
	card := &Card{
		Name: m.Name, Version: m.Version, State: m.State, Reason: m.Reason,
		Engine: engine, Config: m.Config, Loaded: now,
	}
	if m.Config == nil {
		return card, nil
	}
	for _, b := range backends {
		if tasks := b.Tasks(m.Config); tasks != 0 {
			card.Backend, card.Tasks = b, tasks
			break
		}
	}
	err := card.readParameters(templates)
	return card, err
}

func (c *Card) readParameters(templates Templates) error {
	params := c.Config.GetParameters()
	value := func(key string) string { return params[key].GetStringValue() }
	c.Hidden = value(paramHidden) == "true"
	switch task := value(paramTask); task {
	case "":
	case "generate":
		c.Tasks &= TaskGenerate
	case "embed":
		c.Tasks &= TaskEmbed
	default:
		return fmt.Errorf("model %s: parameter %s: %q is neither generate nor embed", c.Name, paramTask, task)
	}
	if s := value(paramContextLength); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return fmt.Errorf("model %s: parameter %s: %q is not a positive number of tokens", c.Name, paramContextLength, s)
		}
		c.ContextLength = n
	}
	if s := value(paramChatTemplate); s != "" {
		t, err := templates.Compile(c.Name, TemplateSource{Source: s, BOSToken: value(paramBOSToken), EOSToken: value(paramEOSToken)})
		if err != nil {
			return fmt.Errorf("model %s: parameter %s: %w", c.Name, paramChatTemplate, err)
		}
		c.Template = t
	}
	return nil
}

// same tells whether the engine still shows the model as this card has it.
func (c *Card) same(m Model) bool {
	return c.Version == m.Version && c.State == m.State && c.Reason == m.Reason && proto.Equal(c.Config, m.Config)
}

// Listed tells whether the model belongs in lists of generation and embedding
// models.
func (c *Card) Listed() bool { return c.State == ModelReady && c.Tasks != 0 && !c.Hidden }
