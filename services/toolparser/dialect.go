// Package toolparser parses the output of models: tool calls and reasoning in the format of
// each model family. It is pure: no network, clock or logger. Every parser is incremental.
// Its result doesn't depend on how the text is split, its time is linear in the text, and it
// holds back no more than necessary. Prompts belong to package chat, and stop sequences to
// package serving.
package toolparser

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/trident-inference/trident/services/inference"
)

// Dialects is the table of dialects: the formats in which models write tool calls and
// reasoning. It has no state, so concurrent use is safe.
type Dialects struct{}

// toolDialect is one format of tool calls.
type toolDialect struct {
	// names are those of vLLM's and Triton's --tool-call-parser. Trident's preferred name is
	// first.
	names []string
	read  func(r *reader) dialect
	// unified is set if one reader finds both reasoning and calls. read is then nil.
	unified unifiedDialect
	// recognize returns the string by which a chat template is recognized to show its model
	// this format, or "".
	recognize func(template string) string
	// text is set if the format has no special tokens.
	text bool
	// id builds a call's id from random letters and digits. If nil, ids have OpenAI's form.
	id func(random string) string
	// drop returns wrappers of text. They are removed even if no calls are read.
	drop func() wrappers
	// form describes the calls if they always begin with the same string; nil otherwise.
	form func() *callForm
	// forced describes answers that are calls, if a structural tag can; nil otherwise.
	forced func() *forcedForm
	// start returns the markers before the text of an answer. If nil, there are none.
	start answerStart
}

// toolDialects returns the dialects in the order in which templates are tried. The list is
// built once, because each request searches it.
var toolDialects = sync.OnceValue(func() []toolDialect { //nolint:gochecknoglobals // never changed
	return []toolDialect{
		{names: []string{"openai", "harmony"}, unified: newHarmony, recognize: recognizeHarmony, start: startWith(harmonyChannel + "final" + harmonyMessage)},
		{names: []string{"inkling"}, unified: newInkling, recognize: recognizeInkling, start: startUnknown},
		{names: []string{"muse_glimmer"}, unified: newMuseGlimmer, recognize: recognizeMuseGlimmer, start: startUnknown},
		{names: []string{"muse", "musespark1x"}, unified: newMuse, recognize: recognizeMuse, start: startUnknown},
		{names: []string{"deepseek_v3"}, read: newDeepseekV3, recognize: recognizeDeepseekV3, form: deepseekV3Form, forced: forcedDeepseekV3},
		{names: []string{"deepseek_v31"}, read: newDeepseekV31, recognize: recognizeDeepseekV31, form: deepseekV31Form, forced: forcedDeepseekV31},
		{names: []string{"deepseek_v41"}, read: newDeepseekV41, recognize: recognizeDeepseekV41},
		{names: []string{"deepseek_v4"}, read: newDeepseekV4, recognize: recognizeDeepseekV4},
		{names: []string{"deepseek_v32"}, read: newDeepseekV32, recognize: recognizeDeepseekV32},
		{names: []string{"kimi_k3"}, read: newKimiK3, recognize: recognizeKimiK3, drop: kimiK3Wrappers, start: startWith(kimiK3Text)},
		{names: []string{"kimi_k2"}, read: newKimiK2, recognize: recognizeKimiK2, form: kimiK2Form, forced: forcedKimiK2},
		{names: []string{"minimax_m3"}, read: newMiniMaxM3, recognize: recognizeMiniMaxM3},
		{names: []string{"minimax_m2"}, read: newMiniMaxM2, recognize: recognizeMiniMaxM2, form: invokeForm},
		{names: []string{"dots"}, read: newDots, recognize: recognizeDots, form: invokeForm},
		{names: []string{"hy_v3"}, read: newHYV3, recognize: recognizeHYV3},
		{names: []string{"hy_v4"}, read: newHYV3, recognize: recognizeHYV4},
		{names: []string{"k2_horizon"}, read: newK2Horizon, recognize: recognizeK2Horizon, drop: k2Wrappers},
		{names: []string{"plamo3"}, read: newPlamo3, recognize: recognizePlamo3, text: true, forced: forcedPlamo3},
		{names: []string{"glm45", "glm47", "ling3", "poolside_v1"}, read: newGLM45, recognize: recognizeGLM45},
		{names: []string{"gemma4"}, read: newGemma4, recognize: recognizeGemma4},
		{names: []string{"functiongemma"}, read: newFunctionGemma, recognize: recognizeFunctionGemma},
		{names: []string{"cohere_command4"}, read: newCohere4, recognize: recognizeCohere4, drop: cohere4Wrappers, forced: forcedCohere, start: startWith(cohere4Text)},
		{names: []string{"cohere_command3"}, read: newCohere3, recognize: recognizeCohere3, drop: cohere3Wrappers, forced: forcedCohere, start: startWith(cohere3Text)},
		{names: []string{"step3"}, read: newStep3, recognize: recognizeStep3},
		{names: []string{"seed_oss"}, read: newSeedOSS, recognize: recognizeSeedOSS, form: qwenForm},
		{names: []string{"longcat"}, read: newLongCat, recognize: recognizeLongCat},
		{names: []string{"apertus"}, read: newApertus, recognize: recognizeApertus, forced: forcedApertus},
		{names: []string{"internlm"}, read: newInternLM, recognize: recognizeInternLM, forced: forcedInternLM},
		{names: []string{"gigachat3"}, read: newGigaChat3, recognize: recognizeGigaChat3, drop: gigaChatWrappers},
		{names: []string{"lfm2"}, read: newLFM2, recognize: recognizeLFM2},
		{names: []string{"olmo3"}, read: newOlmo3, recognize: recognizeOlmo3},
		{names: []string{"minicpm5"}, read: newMiniCPM5, recognize: recognizeMiniCPM5},
		{names: []string{"mistral"}, read: newMistral, recognize: recognizeMistral, id: mistralID},
		{names: []string{"llama4_pythonic"}, read: newLlama4, recognize: recognizeLlama4},
		{names: []string{"llama3_json", "llama3", "llama4_json"}, read: newLlama3, recognize: recognizeLlama3, forced: forcedLlama3},
		{names: []string{"mimo"}, read: newMiMo, recognize: recognizeMiMo, form: qwenForm},
		{names: []string{"qwen3_coder", "qwen3_xml", "step3p5", "step5"}, read: newQwen3Coder, recognize: recognizeQwen3Coder, form: qwenForm},
		{names: []string{"granite"}, read: newGranite, recognize: recognizeGranite, forced: listForm("<|tool_call|>", "")},
		{names: []string{"granite-20b-fc"}, read: newGranite20bFC, recognize: recognizeGranite20bFC, forced: forcedGranite20b},
		{names: []string{"hunyuan_a13b"}, read: newHunyuanA13B, recognize: recognizeHunyuanA13B, drop: hunyuanWrappers, forced: listForm("<tool_calls>", "</tool_calls>"), start: startUnknown},
		{names: []string{"jamba"}, read: newJamba, recognize: recognizeJamba, forced: listForm("<tool_calls>", "</tool_calls>")},
		{names: []string{"ernie45"}, read: newErnie45, recognize: recognizeErnie45, drop: ernieWrappers, form: hermesForm, forced: forcedHermes, start: startUnknown},
		{names: []string{"xlam"}, read: newXLAM, recognize: recognizeXLAM},
		{names: []string{"hermes", "granite4", "qwen3_json"}, read: newHermes, recognize: recognizeHermes, form: hermesForm, forced: forcedHermes},
		{names: []string{"phi4_mini_json", "firefunction"}, read: newFunctools, recognize: recognizeFunctools, forced: listForm("functools", "")},
		{names: []string{"pythonic"}, read: newPythonic, recognize: recognizeNone, text: true},
		{names: []string{"json"}, read: newJSON, recognize: recognizeNone, text: true},
	}
})

// reasoningDialect is one format of reasoning.
type reasoningDialect struct {
	names     []string // names of the format, as in vLLM's --reasoning-parser
	tags      func(prompt string) *tags
	unified   unifiedDialect // set if one reader finds both reasoning and calls; tags is then nil
	recognize func(template string) string
	special   bool // the format has special tokens
	// drop returns wrappers of the text after the reasoning.
	drop func() wrappers
	// lead is emitted before an answer that is text only.
	lead string
	// start returns the markers before the text of an answer. If nil, there are none.
	start answerStart
}

// fixed returns tags that don't depend on the prompt.
func fixed(t func() *tags) func(string) *tags { return func(string) *tags { return t() } }

var reasoningDialects = sync.OnceValue(func() []reasoningDialect { //nolint:gochecknoglobals // never changed
	return []reasoningDialect{
		{names: []string{"openai_gptoss", "gpt_oss", "harmony"}, unified: newHarmony, recognize: recognizeHarmony, special: true, start: startWith(harmonyChannel + "final" + harmonyMessage)},
		{names: []string{"inkling"}, unified: newInkling, recognize: recognizeInkling, special: true, start: startUnknown},
		{names: []string{"muse_glimmer"}, unified: newMuseGlimmer, recognize: recognizeMuseGlimmer, special: true, start: startUnknown},
		{names: []string{"muse", "musespark1x"}, unified: newMuse, recognize: recognizeMuse, special: true, start: startUnknown},
		{names: []string{"k2_horizon"}, tags: fixed(k2HorizonTags), recognize: recognizeK2Thoughts},
		{names: []string{"plamo3"}, tags: fixed(plamo3Tags), recognize: func(t string) string { return matchAll(t, plamoThought) }},
		{names: []string{"kimi_k3"}, tags: fixed(kimiK3Tags), recognize: recognizeKimiK3, special: true, drop: kimiK3Wrappers, start: startWith(kimiK3Text)},
		{names: []string{"gemma4"}, tags: fixed(gemma4Tags), recognize: func(t string) string { return matchAll(t, "<|channel>", "<channel|>") }, special: true},
		{names: []string{"cohere_command4"}, tags: fixed(cohereTags), recognize: func(t string) string { return matchAll(t, "<|START_THINKING|>", "<|START_TEXT|>") }, special: true, drop: cohere4Wrappers, start: startWith(cohere4Text)},
		{names: []string{"cohere_command3"}, tags: fixed(cohereTags), recognize: func(t string) string { return matchAll(t, "<|START_THINKING|>") }, special: true, drop: cohere3Wrappers, start: startWith(cohere3Text)},
		{names: []string{"mistral"}, tags: fixed(mistralTags), recognize: func(t string) string { return matchAll(t, "[THINK]") }, special: true},
		{names: []string{"granite"}, tags: fixed(graniteTags), recognize: func(t string) string { return matchAll(t, "Here is my thought process:") }},
		{names: []string{"seed_oss"}, tags: fixed(seedTags), recognize: func(t string) string { return matchAll(t, "<seed:think>") }},
		{names: []string{"minimax_m3"}, tags: fixed(miniMaxM3Tags), recognize: func(t string) string { return matchAll(t, "<mm:think>") }},
		{names: []string{"minimax_m2"}, tags: fixed(miniMaxM2Tags), recognize: func(t string) string { return matchAll(t, "<minimax:tool_call>", "<think>") }},
		{names: []string{"minimax_m2_append_think"}, lead: "<think>", recognize: recognizeNone},
		{names: []string{"deepseek_v4", "deepseek_v41"}, tags: fixed(deepseekV4Tags), recognize: func(t string) string { return matchAll(t, "｜DSML｜", "</think>") }},
		{names: []string{"hy_v3", "hy_v4"}, tags: hyV3Tags, recognize: func(t string) string { return cmp.Or(recognizeHYV3(t), recognizeHYV4(t)) }},
		{names: []string{"glm45", "glm47", "ling3", "poolside_v1"}, tags: fixed(glm45Tags), recognize: func(t string) string { return matchAll(t, argKey, "</think>") }},
		{names: []string{"kimi_k2"}, tags: fixed(kimiK2Tags), recognize: func(t string) string { return matchAll(t, "<|tool_calls_section_begin|>", "</think>") }},
		{names: []string{"hunyuan_a13b"}, tags: fixed(thinkTags), recognize: recognizeHunyuanThoughts, drop: hunyuanWrappers, start: startHunyuan},
		{names: []string{"ernie45"}, tags: fixed(deepseekR1Tags), recognize: func(t string) string { return matchAll(t, "</think>", "<response>", "<tool_call>") }, drop: ernieWrappers, start: startUnknown},
		{names: []string{"deepseek_r1", "step3"}, tags: fixed(deepseekR1Tags), recognize: recognizeDeepseekR1},
		{names: []string{"step3p5", "step5"}, tags: fixed(step3p5Tags), recognize: recognizeNone},
		{names: []string{"qwen3", "mimo", "nemotron_v3", "granite_thinking_parser", "deepseek_v3", "holo2", "olmo3", "minicpmv"}, tags: fixed(qwen3Tags), recognize: func(t string) string { return matchAll(t, "</think>") }},
	}
})

// recognizeDeepseekR1 distinguishes R1 from V3.1, whose template can switch reasoning off.
func recognizeDeepseekR1(template string) string {
	if strings.Contains(template, "thinking") {
		return ""
	}
	return matchAll(template, "<｜Assistant｜>", "</think>")
}

// matchAll returns the parts joined by spaces if a template has all of them, otherwise "".
func matchAll(template string, parts ...string) string {
	for _, p := range parts {
		if !strings.Contains(template, p) {
			return ""
		}
	}
	return strings.Join(parts, " ")
}

// Detect returns the dialects that a chat template shows its model. A name is empty if the
// template shows no dialect.
func (Dialects) Detect(template string) (tools, reasoning inference.Detected) {
	for _, d := range toolDialects() {
		if sign := d.recognize(template); sign != "" {
			tools = inference.Detected{Name: d.names[0], Sign: sign}
			break
		}
	}
	for _, d := range reasoningDialects() {
		if sign := d.recognize(template); sign != "" {
			return tools, inference.Detected{Name: d.names[0], Sign: sign}
		}
	}
	return tools, inference.Detected{}
}

// SpecialTokens reports whether the engine must leave special tokens in the text.
func (Dialects) SpecialTokens(tools, reasoning string) bool {
	t, err := toolsNamed(tools)
	special := err == nil && (t.read != nil || t.unified != nil) && !t.text
	r, err := reasoningNamed(reasoning)
	return special || err == nil && r.special
}

// toolsNamed returns the dialect with this name, and an empty dialect for "". It returns an
// error for an unknown name.
func toolsNamed(name string) (toolDialect, error) {
	if name == "" {
		return toolDialect{}, nil
	}
	for _, d := range toolDialects() {
		if slices.Contains(d.names, name) {
			return d, nil
		}
	}
	var known []string
	for _, d := range toolDialects() {
		known = append(known, d.names...)
	}
	return toolDialect{}, fmt.Errorf("unknown tool-call parser %q: it must be one of %s", name, strings.Join(known, ", "))
}

func reasoningNamed(name string) (reasoningDialect, error) {
	if name == "" {
		return reasoningDialect{}, nil
	}
	for _, d := range reasoningDialects() {
		if slices.Contains(d.names, name) {
			return d, nil
		}
	}
	var known []string
	for _, d := range reasoningDialects() {
		known = append(known, d.names...)
	}
	return reasoningDialect{}, fmt.Errorf("unknown reasoning parser %q: it must be one of %s", name, strings.Join(known, ", "))
}

// Check returns an error if a name is unknown. The name "" is valid and selects no parser.
func (Dialects) Check(tools, reasoning string) error {
	_, toolsErr := toolsNamed(tools)
	_, reasoningErr := reasoningNamed(reasoning)
	return errors.Join(toolsErr, reasoningErr)
}

// ConstrainsInput reports whether [inference.ToolChoice] may have an Input for models of these
// dialects. Answers of models whose dialect is unified have markers around the text of a call. Where an answer's start
// is reasoning without an opening tag, an input is not distinguishable from reasoning.
func (Dialects) ConstrainsInput(tools, reasoning string) bool {
	t, err := toolsNamed(tools)
	r, otherErr := reasoningNamed(reasoning)
	assumed := r.tags != nil && r.tags("").assumed
	return err == nil && otherErr == nil && !assumed && t.unified == nil && r.unified == nil
}

// Parser returns a parser for one choice's answer. An unknown dialect is an error that lists
// the known dialects.
func (Dialects) Parser(options *inference.ParserOptions) (inference.Parser, error) {
	tools, err := toolsNamed(options.Tools)
	if err != nil {
		return nil, err
	}
	reasoning, err := reasoningNamed(options.Reasoning)
	if err != nil {
		return nil, err
	}
	if options.Native && tools.forced == nil {
		return nil, fmt.Errorf("calls in the format %q can't be forced in the model's own form", options.Tools)
	}
	if options.ID == nil {
		return nil, errors.New("a parser needs ids for tool calls: set ParserOptions.ID")
	}
	p := &parser{choice: options.Choice}
	r := newReader(&p.sink, options, tools.id)
	unified := tools.unified
	if unified == nil {
		unified = reasoning.unified
	}
	drop := tools.drop
	if drop == nil {
		drop = reasoning.drop
	}
	p.dialect = answer(r, options, tools, unified, drop)
	if options.Continued == nil {
		p.lead = reasoning.lead
	}
	if reasoning.tags != nil && unified == nil {
		p.thinking = newThinking(&p.sink, reasoning.tags(options.Prompt), options, p.dialect)
		if options.Native {
			p.thinking.constrained = []string{tools.forced().begin()}
		}
	}
	return p, nil
}

func newReader(s *sink, options *inference.ParserOptions, id func(string) string) *reader {
	if id == nil {
		id = func(random string) string { return "call_" + random }
	}
	r := &reader{
		sink: s, tools: &toolset{definitions: options.Definitions}, fresh: true, singleCall: options.Single, limit: options.MaxBytes,
		ids: func() string { return id(options.ID()) },
	}
	if r.limit == 0 {
		r.limit = inference.DefaultMaxParseBytes
	}
	return r
}

// answer returns the dialect that reads what follows the reasoning.
func answer(r *reader, options *inference.ParserOptions, tools toolDialect, unified unifiedDialect, drop func() wrappers) dialect {
	if options.Native {
		return tools.read(r) // no unified dialect has a form of its own
	}
	forced := forcedCalls(r, options.Choice)
	if options.Either {
		forced = newEither(r)
	}
	switch none := options.Choice.Mode == inference.ToolNone || tools.read == nil; {
	case unified != nil:
		return unified(r, options.Choice.Mode != inference.ToolNone && options.Tools != "", forced)
	case forced != nil:
		return forced
	case none && drop != nil:
		return newPlain(r, drop())
	case none:
		return newPlain(r, nil)
	}
	return tools.read(r)
}

// forcedCalls returns a dialect for an answer that was constrained to calls. It returns nil
// if the choice doesn't force a call.
func forcedCalls(r *reader, choice inference.ToolChoice) dialect {
	switch {
	case choice.Mode == inference.ToolRequired:
		return newRequired(r)
	case choice.Mode == inference.ToolNamed && choice.Input != nil:
		return newInputText(r, choice.Name)
	case choice.Mode == inference.ToolNamed:
		return newNamed(r, choice.Name)
	}
	return nil
}

// parser is a chain of an optional reasoning dialect and a dialect of tool calls.
type parser struct {
	sink     sink
	thinking *thinking
	dialect  dialect
	lead     string // text that is emitted before the answer
	choice   inference.ToolChoice
	refused  refusedCalls
}

// Parse reads more of the text.
func (p *parser) Parse(text []byte) ([]inference.Piece, inference.ParseState) {
	p.feed(text, false)
	pieces, state := p.allowed(), p.dialect.base().state
	if state != inference.ParseOpen {
		pieces = append(pieces, p.refused.end()...)
	}
	return pieces, state
}

// Finish returns what was held back.
func (p *parser) Finish() []inference.Piece {
	p.feed(nil, true)
	return append(p.allowed(), p.refused.end()...)
}

func (p *parser) feed(text []byte, final bool) {
	p.sink.reset()
	if p.lead != "" && len(text) > 0 {
		text = p.sink.join([]byte(p.lead), text)
		p.lead = ""
	}
	switch {
	case p.dialect.base().state != inference.ParseOpen:
	case p.thinking != nil:
		p.thinking.feed(text, final)
	default:
		feed(p.dialect, text, final)
	}
}
