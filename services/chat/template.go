// Package chat turns messages into prompts by a model's own chat template. It is
// pure: no network, clock or logger.
package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/trident-inference/trident/services/chat/jinja"
	"github.com/trident-inference/trident/services/inference"
)

// What one render may use: some seconds of one core, and a part of the memory
// that as many requests as are served at once must share.
const (
	maxSteps  = 5_000_000
	maxMemory = 256 << 20 // bytes
)

// Compile compiles the chat template of a model: Hugging Face's, or a Liquid one for a model
// that has none. Errors name the line.
func Compile(model string, source inference.TemplateSource) (inference.Template, error) {
	return compiler{}.compile(model, source)
}

// compiler compiles chat templates. The zero value has the real clock and the full limits.
type compiler struct {
	now  func() time.Time // what templates see of the clock; nil for time.Now
	part int              // of the limits, one in so many, for tests that come to all of them
}

func (c compiler) limited(limit int) int { return limit / max(c.part, 1) }

// compile parses a template and finds out how it wants its messages.
func (c compiler) compile(model string, source inference.TemplateSource) (inference.Template, error) {
	if source.Liquid {
		return c.compileHistory(source.Source, source.ImageToken)
	}
	plain, err := c.parse(model, source.Source, source)
	if err != nil {
		return nil, err
	}
	text, ok := source.Named[inference.TemplateToolUse]
	if !ok {
		return arrange(plain), nil
	}
	tools, err := c.parse(model+" "+inference.TemplateToolUse, text, source)
	if err != nil {
		return nil, err
	}
	return &byTools{plain: arrange(plain), tools: arrange(tools)}, nil
}

// byTools are two templates of a model, of which one is for chats with tools.
type byTools struct{ plain, tools *arranged }

// Render gives the prompt that asks for the next assistant message.
func (t *byTools) Render(ctx context.Context, req *inference.Request) (string, error) {
	if len(req.Tools) > 0 {
		return t.tools.Render(ctx, req)
	}
	return t.plain.Render(ctx, req)
}

func (c compiler) parse(model, source string, of inference.TemplateSource) (*template, error) {
	options := []jinja.Option{jinja.WithLimits(jinja.Limits{Steps: int64(c.limited(maxSteps)), Memory: int64(c.limited(maxMemory))})}
	if c.now != nil {
		options = append(options, jinja.WithClock(c.now))
	}
	parsed, err := jinja.Parse(model, source, options...)
	if err != nil {
		return nil, err
	}
	t := &template{
		parsed: parsed, tokens: of.Tokens, images: imagePlaces{token: of.ImageToken},
		// A template that doesn't know OpenAI's newer names gets the older ones.
		developer: strings.Contains(source, "developer"),
		efforts:   effortsOf(source),
		none:      asksForNone.MatchString(source),
	}
	t.parts = t.takesParts()
	t.images.shown = t.parts && t.showsImages()
	t.rawCalls = strings.Contains(source, "tool_calls") && t.takesRawCalls()
	return t, nil
}

// asksForNone finds templates that compare with none: they expect none as the content
// of messages without one. Others print "None", or fail on it or on a missing content,
// and get the empty string.
var asksForNone = regexp.MustCompile(`(?i)(\bis|[!=]=)\s+(not\s+)?none\b`)

// template renders one model's chats.
type template struct {
	parsed    *jinja.Template
	tokens    map[string]string
	developer bool // knows the role developer
	efforts   efforts
	parts     bool // reads content that is a list of parts
	images    imagePlaces
	none      bool // knows content that is none
	rawCalls  bool // shows arguments of tool calls that are strings
}

// takesParts tries the template on a content list: one that can't read lists
// fails on it, or prints it as a list.
func (t *template) takesParts() bool {
	out, err := t.probe(inference.Part{Kind: inference.PartText, Text: probeText})
	return err == nil && strings.Contains(out, probeText) && !strings.Contains(out, "'"+probeText) && !strings.Contains(out, `"`+probeText)
}

const probeText = "probe-text"

// takesRawCalls reports whether the template shows a tool call whose arguments are a
// string.
func (t *template) takesRawCalls() bool {
	probing := *t
	probing.rawCalls = true
	call := inference.ToolCall{ID: "call000001", Name: "probe", Arguments: json.RawMessage(probeText), Malformed: true}
	vars, err := probing.vars(&inference.Request{Messages: []inference.Message{
		{Role: "user", Text: "probe-user"}, {Role: "assistant", NoContent: true, ToolCalls: []inference.ToolCall{call}},
	}})
	if err != nil {
		return false
	}
	out, err := t.parsed.Render(context.Background(), vars)
	return err == nil && strings.Contains(out, probeText)
}

// probe renders a message that is a list.
func (t *template) probe(parts ...inference.Part) (string, error) {
	probing := *t
	probing.parts, probing.images.shown = true, true
	vars, err := probing.vars(&inference.Request{Messages: []inference.Message{{Role: "user", Parts: parts}}})
	if err != nil {
		return "", err
	}
	return t.parsed.Render(context.Background(), vars)
}

// Render gives the prompt that asks for the next assistant message, unless the
// request leaves that out or the last message open.
func (t *template) Render(ctx context.Context, req *inference.Request) (string, error) {
	vars, err := t.vars(req)
	if err != nil {
		return "", err
	}
	prompt, err := t.parsed.Render(ctx, vars)
	var raised *jinja.RaisedError
	switch {
	case err == nil && req.Continue:
		return open(prompt, &req.Messages[len(req.Messages)-1])
	case err == nil:
		return prompt, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &raised):
		return "", inference.Invalid("messages", "the model's chat template refuses these messages: %s", raised.Message)
	}
	return "", &inference.Error{
		Code: inference.CodeInvalid, Reason: inference.ReasonInvalidValue, Param: "messages",
		Message: "the model's chat template can't render these messages", Err: err,
	}
}

// open ends a prompt with the text of its last message, where transformers'
// continue_final_message does.
func open(prompt string, last *inference.Message) (string, error) {
	text := last.Text
	for _, p := range last.Parts {
		if p.Text != "" {
			text = p.Text
		}
	}
	trimmed := strings.TrimSpace(text)
	at := strings.LastIndex(prompt, trimmed)
	if trimmed == "" || at < 0 {
		return "", inference.Invalid("continue_final_message", "the last message has no text, or not in the prompt that the chat template makes: it can't be continued")
	}
	prompt, rest := prompt[:at+len(trimmed)], prompt[at+len(trimmed):]
	if tail := strings.TrimLeftFunc(text, unicode.IsSpace)[len(trimmed):]; strings.HasPrefix(rest, tail) {
		prompt += tail
	}
	return prompt, nil
}

// vars are the variables that transformers' apply_chat_template gives a
// template; the request's own may add to them and win.
func (t *template) vars(req *inference.Request) (*jinja.Dict, error) {
	messages := make([]any, len(req.Messages))
	places := placer{imagePlaces: t.images}
	for i := range req.Messages {
		content, err := t.content(&places, i, &req.Messages[i])
		if err != nil {
			return nil, err
		}
		m, err := t.message(&req.Messages[i], content)
		if err != nil {
			return nil, inference.Invalid(fmt.Sprintf("messages[%d].tool_calls", i), "tool call arguments must be a JSON object: %v", err)
		}
		messages[i] = m
	}
	vars := jinja.NewDict()
	vars.Set("messages", messages)
	vars.Set("tools", nil)
	vars.Set("documents", nil)
	vars.Set("add_generation_prompt", !req.Closed)
	for name, token := range t.tokens {
		vars.Set(name, token)
	}
	if len(req.Tools) > 0 {
		tools, err := decodeAll(req.Tools)
		if err != nil {
			return nil, inference.Invalid("tools", "tools must be JSON objects: %v", err)
		}
		vars.Set("tools", tools)
	}
	if err := t.efforts.set(vars, req.ReasoningEffort); err != nil {
		return nil, err
	}
	return vars, merge(vars, req.TemplateArgs)
}

// merge adds the request's own variables. Those that its fields decide, and have
// checked, can't be set in this way; saying what holds anyway does no harm.
func merge(vars *jinja.Dict, args json.RawMessage) error {
	if len(args) == 0 {
		return nil
	}
	reserved := map[string]any{
		"messages": nil, "tools": nil, "documents": nil, "add_generation_prompt": true, "continue_final_message": false,
	}
	decoded, err := jinja.DecodeJSON(args)
	extra, ok := decoded.(*jinja.Dict)
	if err != nil || !ok {
		return inference.Invalid("chat_template_kwargs", "chat_template_kwargs must be a JSON object")
	}
	for _, key := range extra.Keys() {
		value, _ := extra.Get(key)
		neutral, taken := reserved[key]
		switch {
		case !taken:
			vars.Set(key, value)
		case value != nil && value != neutral:
			param := "chat_template_kwargs." + key
			return inference.Unsupported(param, "%s can't be set: the request itself decides about %s", param, key)
		}
	}
	return nil
}

func decodeAll(raw []json.RawMessage) ([]any, error) {
	values := make([]any, len(raw))
	for i, r := range raw {
		v, err := jinja.DecodeJSON(r)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

func (t *template) message(m *inference.Message, content any) (*jinja.Dict, error) {
	d := jinja.NewDict()
	if m.Reasoning != "" {
		d.Set("thinking", m.Reasoning) // the name that harmony's templates have
	}
	d.Set("role", t.role(m.Role))
	if content == nil && !t.none {
		content = ""
	}
	d.Set("content", content)
	if m.Name != "" {
		d.Set("name", m.Name)
	}
	if m.ToolCallID != "" {
		d.Set("tool_call_id", m.ToolCallID)
	}
	if len(m.ToolCalls) > 0 {
		calls, err := t.toolCalls(m.ToolCalls)
		if err != nil {
			return nil, err
		}
		d.Set("tool_calls", calls)
	}
	if m.Reasoning != "" {
		d.Set("reasoning_content", m.Reasoning)
	}
	return d, nil
}

// role maps OpenAI's roles to those that templates know. Constants cost no memory.
func (t *template) role(role string) any {
	switch {
	case role == "user":
		return "user"
	case role == "assistant":
		return "assistant"
	case role == "developer" && !t.developer:
		return "system"
	case role == "function":
		return "tool"
	}
	return role
}

// content keeps a list for templates that read lists, but for one with images that the
// template doesn't show.
func (t *template) content(places *placer, index int, m *inference.Message) (any, error) {
	if m.Parts != nil && !m.NoContent && t.parts && (t.images.shown || !hasImages(m)) {
		return partList(m.Parts), nil
	}
	return places.text(index, m)
}

// textOf is the content as one text, or nil: lists become their texts, a line each,
// as vLLM joins them.
func textOf(m *inference.Message) any {
	switch {
	case m.NoContent && m.Refusal != "":
		return m.Refusal
	case m.NoContent:
		return nil
	case m.Parts == nil:
		return m.Text
	}
	texts := make([]string, 0, len(m.Parts))
	for _, p := range m.Parts {
		if p.Kind != inference.PartImage {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func partList(parts []inference.Part) []any {
	list := make([]any, len(parts))
	for i, p := range parts {
		d := jinja.NewDict()
		if p.Kind == inference.PartImage {
			d.Set("type", "image") // what templates call it
		} else {
			d.Set("type", "text")
			d.Set("text", p.Text)
		}
		list[i] = d
	}
	return list
}

// toolCalls gives templates the arguments as objects, not as OpenAI's strings.
func (t *template) toolCalls(calls []inference.ToolCall) ([]any, error) {
	list := make([]any, len(calls))
	for i := range calls {
		args, err := t.arguments(&calls[i])
		if err != nil {
			return nil, err
		}
		function := jinja.NewDict()
		function.Set("name", calls[i].Name)
		function.Set("arguments", args)
		call := jinja.NewDict()
		call.Set("id", calls[i].ID)
		call.Set("type", "function")
		call.Set("function", function)
		list[i] = call
	}
	return list, nil
}

// arguments returns the arguments of a call for the template. What the model wrote as
// malformed arguments is shown as a string. A template that shows objects only gets one:
// the last value of each repeated key, or the string as the value of one key.
func (t *template) arguments(call *inference.ToolCall) (any, error) {
	if call.Malformed && t.rawCalls {
		return string(call.Arguments), nil
	}
	args, err := jinja.DecodeJSON(call.Arguments)
	if _, object := args.(*jinja.Dict); object || !call.Malformed {
		return args, err
	}
	wrapped := jinja.NewDict()
	wrapped.Set("arguments", string(call.Arguments))
	return wrapped, nil
}
