package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/chat"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/toolparser"
)

// describe reads the model's settings independently: a setting that can't be read doesn't affect
// the others.
func (c *Card) describe(catalog *Catalog, m inference.Model, others func(string) *kserve.ModelConfig) error {
	detected, detectErr := catalog.detect(m, others)
	given := catalog.settings(m, detected)
	published, publishErr := catalog.open(given.get(inference.SettingTokenizer))
	if c.Fetching = errors.Is(publishErr, inference.ErrFetching); c.Fetching {
		publishErr = nil
	}
	d := description{card: c, catalog: catalog, given: given, published: published}
	errs := []error{detectErr, publishErr}
	for _, read := range []struct {
		name string
		read func(inference.Setting) error
	}{
		{inference.SettingBackend, d.backend},
		{inference.SettingTask, d.task},
		{inference.SettingVision, d.vision},
		{inference.SettingTokenizer, d.tokenizer},
		{inference.SettingContextLength, d.contextLength},
		{inference.SettingPooling, d.encoder},
		{inference.SettingDefaultMaxTokens, d.defaultMaxTokens},
		{inference.SettingSamplingDefaults, d.samplingDefaults},
		{inference.SettingMaxLogprobs, d.maxLogprobs},
		{inference.SettingTokensPerBlock, d.tokensPerBlock},
		{inference.SettingChatTemplate, d.template},
		{inference.SettingToolParser, d.toolParser},
		{inference.SettingReasoningParser, d.reasoningParser},
		{inference.SettingStructuredOutputs, d.structuredOutputs},
		{inference.SettingLoRAs, d.loras},
		{inference.SettingAliases, d.aliases},
		{inference.SettingHidden, d.hidden},
	} {
		setting := given.get(read.name)
		if err := read.read(setting); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", cmp.Or(setting.Origin, read.name), err))
		}
	}
	return errors.Join(errs...)
}

// detect returns the settings found in the model's files.
func (c *Catalog) detect(m inference.Model, others func(string) *kserve.ModelConfig) ([]inference.Setting, error) {
	if c.library == nil {
		return nil, nil
	}
	return c.library.Detect(m, others)
}

// open reads the files that the model's maker published. It returns what it could read, and an
// empty [inference.Published] if nothing is known.
func (c *Catalog) open(tokenizer inference.Setting) (*inference.Published, error) {
	switch {
	case tokenizer.Value == "" || tokenizer.Value == noParser:
		return &inference.Published{}, nil
	case c.library == nil:
		return &inference.Published{Folder: tokenizer.Value, HasTokenizer: true}, nil
	}
	published, err := c.library.Open(tokenizer.Value)
	if published == nil {
		published = &inference.Published{}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", tokenizer.Origin, err)
	}
	return published, err
}

// description is the state while the card of a model is built.
type description struct {
	card      *Card
	catalog   *Catalog
	given     settings
	published *inference.Published
	// tools and reasoning are the dialects that the chat template teaches.
	tools, reasoning inference.Detected
}

// keep records a setting that applies to the card.
func (d *description) keep(name, value, origin string) {
	d.card.Settings = append(d.card.Settings, inference.Setting{Name: name, Value: value, Origin: origin})
}

// backend selects the backend that the setting names, or else the first one whose tensors the model
// declares.
func (d *description) backend(s inference.Setting) error {
	for _, b := range d.catalog.backends {
		if s.Value != "" && b.Name() != s.Value {
			continue
		}
		if tasks := b.Tasks(d.card.Config); tasks != 0 {
			d.card.Backend, d.card.Tasks = b, tasks
			d.keepGiven(s)
			d.keepGiven(d.given.get(inference.OutputParameter))
			return nil
		}
	}
	if out := d.given.get(inference.OutputParameter); out.Value != "" {
		return fmt.Errorf("%s: %q isn't an output of floats for each input or each token of an encoder", out.Origin, out.Value)
	}
	if s.Value != "" {
		return fmt.Errorf("the model doesn't declare the tensors of the backend %q: choose another backend, or change the tensors in its config.pbtxt", s.Value)
	}
	return nil
}

// keepGiven records a setting if it has a value.
func (d *description) keepGiven(s inference.Setting) {
	if s.Value != "" {
		d.keep(s.Name, s.Value, s.Origin)
	}
}

// vision determines whether the model takes images. A model that ignores images without an error
// needs a setting that enables them.
func (d *description) vision(s inference.Setting) error {
	if d.card.Backend == nil {
		return nil
	}
	d.card.Images = d.card.Backend.Extras(d.card.Config).Images
	if s.Value == "" {
		if d.card.Images.Most > 0 && d.card.Images.Silent {
			d.card.Images.Most = 0
			d.card.noImagesReason = "Trident can't detect that it reads images: if it does, set its parameter " + inference.ParamPrefix + inference.SettingVision + " to true"
		}
		return nil
	}
	sees, err := strconv.ParseBool(s.Value)
	if err != nil {
		return fmt.Errorf("%q is not a boolean: write true or false", s.Value)
	}
	if !sees {
		d.card.Images.Most = 0
	} else if d.card.Images.Most == 0 {
		return errors.New("the model declares no input for images in its config.pbtxt")
	}
	d.keep(s.Name, s.Value, s.Origin)
	return nil
}

// structuredOutputs determines the backend that enforces structured outputs in the engine. An
// unknown value is an error, and the default applies.
func (d *description) structuredOutputs(s inference.Setting) error {
	if d.card.Backend == nil {
		return nil
	}
	extras := d.card.Backend.Extras(d.card.Config)
	d.card.StructuredOutputs = extras.StructuredOutputs
	if !extras.Structured || d.card.Tasks&inference.TaskGenerate == 0 {
		return nil
	}
	if s.Value == "" || !slices.Contains(inference.StructuredOutputs(), s.Value) {
		if extras.StructuredOutputs != "" {
			d.keep(s.Name, extras.StructuredOutputs, "the default")
		}
		if s.Value != "" {
			return fmt.Errorf("%q is not one of %s", s.Value, strings.Join(inference.StructuredOutputs(), ", "))
		}
		return nil
	}
	d.card.StructuredOutputs = s.Value
	d.keep(s.Name, s.Value, s.Origin)
	return nil
}

func (d *description) task(s inference.Setting) error {
	if s.Value == "" {
		return nil
	}
	task, ok := inference.ParseTask(s.Value)
	if !ok {
		return fmt.Errorf("%q is not a task: write one of %s", s.Value, strings.Join((inference.TaskGenerate|inference.TasksEncode).Names(), ", "))
	}
	d.card.Tasks &= task
	d.keep(s.Name, s.Value, s.Origin)
	return nil
}

func (d *description) tokenizer(s inference.Setting) error {
	if s.Value == "" || s.Value == noParser || d.published.Folder == "" {
		return nil
	}
	d.keep(s.Name, s.Value, s.Origin)
	if !d.published.HasTokenizer {
		return fmt.Errorf("%s has no tokenizer.json: the engine counts the tokens of prompts", s.Value)
	}
	var err error
	if d.card.Tokenizer, err = d.catalog.tokenizers.Load(d.published.Folder); err == nil {
		d.card.Prompts = &PromptCounts{}
	}
	return err
}

func (d *description) contextLength(s inference.Setting) error {
	if s.Value == "" {
		s = d.published.ContextLength
		s.Name = inference.SettingContextLength
	}
	return d.numberOfTokens(s, &d.card.ContextLength)
}

func (d *description) defaultMaxTokens(s inference.Setting) error {
	return d.numberOfTokens(s, &d.card.DefaultMaxTokens)
}

func (d *description) tokensPerBlock(s inference.Setting) error {
	return d.numberOfTokens(s, &d.card.TokensPerBlock)
}

// numberOfTokens reads a setting that is a number of tokens.
func (d *description) numberOfTokens(s inference.Setting, to *int) error {
	if s.Value == "" {
		return nil
	}
	n, err := strconv.Atoi(s.Value)
	if err != nil || n < 1 {
		return fmt.Errorf("%q is not a number of tokens: write 1 or more", s.Value)
	}
	*to = n
	d.keepGiven(s)
	return nil
}

// maxLogprobs limits how many log probabilities the engine is asked for.
func (d *description) maxLogprobs(s inference.Setting) error {
	if s.Value == "" {
		return nil
	}
	n, err := strconv.Atoi(s.Value)
	if err != nil || n < -1 || n == 0 {
		return fmt.Errorf("%q is not a number of log probabilities: write 1 or more, or -1 for the whole vocabulary", s.Value)
	}
	if n < 0 {
		n = inference.MaxLogprobs
	}
	d.card.MaxLogprobs = min(n, inference.MaxLogprobs)
	d.keepGiven(s)
	return nil
}

// template compiles the chat template of the setting, or else the published one unless the setting
// disables it, or else the history template.
func (d *description) template(s inference.Setting) error {
	source, name := d.published.Template, inference.SettingChatTemplate
	switch history := d.given.get(inference.SettingHistoryTemplate); {
	case s.Value != "" && s.Value != noParser:
		source.Source, source.Named = s.Value, nil
	case s.Value == "" && source.Source != "":
		s.Origin = d.published.TemplateOrigin
	case history.Value == "" || s.Value == "" && d.card.Fetching:
		return nil
	default:
		source.Source, source.Named, source.Liquid = history.Value, nil, true
		s.Origin, name = history.Origin, inference.SettingHistoryTemplate
	}
	source.Tokens = d.tokens(source.Tokens)
	source.ImageToken = d.imageToken()
	d.detectParsers(source)
	var err error
	if d.card.Template, err = chat.Compile(d.card.Name, source); err != nil {
		return err
	}
	d.keep(name, templateSetting(source), s.Origin)
	return nil
}

// imageToken returns the token of the setting, or else the token of the model's family. Models that
// insert images themselves need no token.
func (d *description) imageToken() string {
	if d.card.Images.Most == 0 {
		return ""
	}
	s := d.given.get(inference.SettingImageToken)
	if s.Value == "" && d.card.Images.Placed {
		return inference.NoImageToken
	}
	if s.Value == "" {
		s = d.published.ImageToken
	}
	if s.Value != "" {
		d.keep(inference.SettingImageToken, s.Value, s.Origin)
	}
	return s.Value
}

// tokens returns the published special tokens, overridden by those of the settings.
func (d *description) tokens(published map[string]string) map[string]string {
	tokens := maps.Clone(published)
	if tokens == nil {
		tokens = map[string]string{}
	}
	for _, name := range []string{inference.SettingBOSToken, inference.SettingEOSToken} {
		if s := d.given.get(name); s.Value != "" {
			tokens[name] = s.Value
		}
	}
	return tokens
}

// detectParsers selects the dialects that the template teaches. Settings may replace them.
func (d *description) detectParsers(source inference.TemplateSource) {
	d.tools, d.reasoning = (toolparser.Dialects{}).Detect(source.Source)
	if text, ok := source.Named[inference.TemplateToolUse]; ok {
		var also inference.Detected
		d.tools, also = (toolparser.Dialects{}).Detect(text)
		d.reasoning = cmp.Or(d.reasoning, also)
	}
	d.card.ToolParser, d.card.ReasoningParser = d.tools.Name, d.reasoning.Name
}

func (d *description) toolParser(s inference.Setting) (err error) {
	d.card.ToolParser, err = d.parser(s, d.tools, func() error { return (toolparser.Dialects{}).Check(s.Value, "") })
	return err
}

func (d *description) reasoningParser(s inference.Setting) (err error) {
	d.card.ReasoningParser, err = d.parser(s, d.reasoning, func() error { return (toolparser.Dialects{}).Check("", s.Value) })
	return err
}

// parser returns the dialect of the setting, or else the detected one. It returns "" for the value
// none and for an unknown name.
func (d *description) parser(s inference.Setting, detected inference.Detected, check func() error) (string, error) {
	switch s.Value {
	case "":
		if detected.Name != "" {
			d.keep(s.Name, detected.Name, "the chat template: "+detected.Sign)
		}
		return detected.Name, nil
	case noParser:
		d.keep(s.Name, noParser, s.Origin)
		return "", nil
	}
	if err := check(); err != nil {
		return "", err
	}
	d.keep(s.Name, s.Value, s.Origin)
	return s.Value, nil
}

func (d *description) loras(s inference.Setting) error {
	d.card.loras = &loras{
		model: d.card.Name, version: d.card.Version, library: d.catalog.library,
		sending: make(chan struct{}, 1), states: map[loraKey]*loraState{},
	}
	if d.card.Backend != nil { // a model that isn't loaded may have no known backend
		d.card.loras.form = d.card.Backend.Extras(d.card.Config).LoRA
	}
	var err error
	switch s.Value {
	case "":
	case noParser:
		d.card.loras.listed = []string{}
	default:
		err = d.card.loras.list(s.Value)
		d.keepGiven(s)
	}
	d.card.LoRAs = d.card.loras.listed
	return err
}

func (d *description) aliases(s inference.Setting) error {
	d.card.Aliases = nameList(s.Value)
	d.keepGiven(s)
	return nil
}

func (d *description) hidden(s inference.Setting) error {
	if s.Value == "" {
		return nil
	}
	value, err := strconv.ParseBool(s.Value)
	if err != nil {
		return fmt.Errorf("%q is not a boolean: write true or false", s.Value)
	}
	d.card.Hidden = value
	d.keep(s.Name, s.Value, s.Origin)
	return nil
}

// templateSetting returns the value of a template in a card's settings.
func templateSetting(s inference.TemplateSource) string {
	syntax := "Jinja"
	if s.Liquid {
		syntax = "Liquid"
	}
	parts := append([]string{fmt.Sprintf("%s, %d characters", syntax, utf8.RuneCountInString(s.Source))}, slices.Sorted(maps.Keys(s.Named))...)
	return strings.Join(parts, ", ")
}
