package inference

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// Parameters of a model's own config.pbtxt that Trident reads. They travel with
// the model, so that a remote Triton's models describe themselves.
const (
	paramTask          = "trident.task"           // generate or embed; default: what the tensors allow
	paramBackend       = "trident.backend"        // name of the contract; default: the first that the tensors allow
	paramChatTemplate  = "trident.chat_template"  // Jinja source
	paramContextLength = "trident.context_length" // tokens of prompt and answer together
	paramBOSToken      = "trident.bos_token"
	paramEOSToken      = "trident.eos_token"
	paramTokenizer     = "trident.tokenizer" // folder with a tokenizer.json, on Trident's machine
	paramHidden        = "trident.hidden"    // "true" keeps the model out of lists
	paramAliases       = "trident.aliases"   // further names, separated by commas
	paramLoRAs         = "trident.loras"     // names of its LoRA adapters, separated by commas
	// The dialects of its answers; default: what the chat template teaches. noParser
	// switches that off.
	paramToolParser      = "trident.tool_call_parser"
	paramReasoningParser = "trident.reasoning_parser"
)

const noParser = "none"

// Card is what Trident knows of one model. It is immutable: a model that was
// loaded anew gets a new Card.
type Card struct {
	Name    string
	Version string
	State   ModelState
	Reason  string // Triton's text on a model that isn't ready
	// Recovering is true for a model that is unavailable for a while only.
	Recovering bool
	Engine     Engine
	Config     *kserve.ModelConfig // nil unless ready
	// Backend is nil for a model that no backend of Trident's speaks to: it
	// takes tensors only.
	Backend Backend
	Tasks   Task
	// Template is nil for a model without a chat template.
	Template Template
	// ToolParser and ReasoningParser are the dialects of [Dialects] in which the
	// model writes; empty for none.
	ToolParser, ReasoningParser string
	// Tokenizer is nil where it isn't known: then the engine counts.
	Tokenizer Tokenizer
	// ContextLength in tokens, prompt and answer together; 0 when unknown.
	ContextLength int
	Hidden        bool
	// Fingerprint changes with this program and with the model's configuration, and
	// with nothing else: fp_ and ten hexadecimal digits. Empty unless ready.
	Fingerprint string
	// Aliases are further names of the model. A model that has one of them as its own
	// name keeps it.
	Aliases []string
	// LoRAs are the adapters that the model can be asked for; nil where that isn't
	// known.
	LoRAs []string
	// Loaded is when Trident first saw this configuration.
	Loaded time.Time
}

// newCard reads the model's configuration. A parameter that can't be read is an
// error that names it; the card is usable all the same, without that property.
func newCard(c *Catalog, engine Engine, m Model, now time.Time) (*Card, error) {
	card := &Card{
		Name: m.Name, Version: m.Version, State: m.State, Reason: m.Reason, Recovering: m.Recovering,
		Engine: engine, Config: m.Config, Loaded: now,
	}
	if m.Config == nil {
		return card, nil
	}
	card.Fingerprint = fingerprint(m)
	err := errors.Join(card.chooseBackend(c.backends), card.readParameters(c.templates, c.dialects, c.tokenizers))
	return card, err
}

// chooseBackend takes the backend that the model names, or the first whose tensors
// it declares.
func (c *Card) chooseBackend(backends []Backend) error {
	named := c.Config.GetParameters()[paramBackend].GetStringValue()
	for _, b := range backends {
		if named != "" && b.Name() != named {
			continue
		}
		if tasks := b.Tasks(c.Config); tasks != 0 {
			c.Backend, c.Tasks = b, tasks
			return nil
		}
	}
	if named != "" {
		return fmt.Errorf("parameter %s: the model doesn't declare the tensors of a backend named %q", paramBackend, named)
	}
	return nil
}

// fingerprint is made of what is known to shape a model's answers.
func fingerprint(m Model) string {
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

// readParameters takes each parameter by itself: one that can't be read spoils no
// other.
func (c *Card) readParameters(templates Templates, dialects Dialects, tokenizers Tokenizers) error {
	params := c.Config.GetParameters()
	c.ToolParser, c.ReasoningParser = dialects.Detect(params[paramChatTemplate].GetStringValue())
	var errs []error
	for _, p := range []struct {
		key  string
		read func(value string) error
	}{
		{paramTask, c.readTask},
		{paramContextLength, c.readContextLength},
		{paramTokenizer, func(value string) (err error) { c.Tokenizer, err = tokenizers.Load(value); return err }},
		{paramHidden, func(value string) (err error) { c.Hidden, err = strconv.ParseBool(value); return err }},
		{paramAliases, func(value string) error { c.Aliases = nameList(value); return nil }},
		{paramChatTemplate, func(value string) (err error) {
			tokens := TemplateSource{Source: value, BOSToken: params[paramBOSToken].GetStringValue(), EOSToken: params[paramEOSToken].GetStringValue()}
			c.Template, err = templates.Compile(c.Name, tokens)
			return err
		}},
		{paramToolParser, func(value string) (err error) {
			c.ToolParser, err = parserNamed(value, func() error { return dialects.Check(value, "") })
			return err
		}},
		{paramReasoningParser, func(value string) (err error) {
			c.ReasoningParser, err = parserNamed(value, func() error { return dialects.Check("", value) })
			return err
		}},
	} {
		value := params[p.key].GetStringValue()
		if value == "" {
			continue
		}
		if err := p.read(value); err != nil {
			errs = append(errs, fmt.Errorf("parameter %s: %w", p.key, err))
		}
	}
	return errors.Join(append(errs, c.readLoRAs(params[paramLoRAs].GetStringValue()))...)
}

// parserNamed is empty for a name that means none or isn't known.
func parserNamed(name string, check func() error) (string, error) {
	if name == noParser {
		return "", nil
	}
	if err := check(); err != nil {
		return "", err
	}
	return name, nil
}

func (c *Card) readTask(value string) error {
	switch value {
	case "generate":
		c.Tasks &= TaskGenerate
	case "embed":
		c.Tasks &= TaskEmbed
	default:
		return fmt.Errorf("%q is neither generate nor embed", value)
	}
	return nil
}

func (c *Card) readContextLength(value string) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 {
		return fmt.Errorf("%q is not a positive number of tokens", value)
	}
	c.ContextLength = n
	return nil
}

// same tells whether the engine still shows the model as this card has it.
func (c *Card) same(m Model) bool {
	return c.Version == m.Version && c.State == m.State && c.Reason == m.Reason && c.Recovering == m.Recovering && proto.Equal(c.Config, m.Config)
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
func (c *Card) Listed() bool { return c.State == ModelReady && c.Tasks != 0 && !c.Hidden }
