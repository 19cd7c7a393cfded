// Package chat converts messages to prompts with a model's own chat template. It is pure: no
// network, clock or logger. Parsing what models write belongs to package toolparser, and the
// template language to package jinja.
package chat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/trident-inference/trident/services/chat/jinja"
	"github.com/trident-inference/trident/services/inference"
)

// Limits of one render: a few seconds of one core, and a share of the memory for all
// concurrent requests.
const (
	maxSteps  = 5_000_000
	maxMemory = 256 << 20 // maximum bytes that one render may allocate
)

// Compile compiles the chat template of a model: a Hugging Face template, or a Liquid
// template for a model without one. Errors name the line.
func Compile(model string, source inference.TemplateSource) (inference.Template, error) {
	return compiler{}.compile(model, source)
}

// compiler compiles chat templates. The zero value uses the real clock and the full limits.
type compiler struct {
	now  func() time.Time // clock of templates; nil for time.Now
	part int              // divisor of the limits, for tests that reach all limits
}

func (c compiler) limited(limit int) int { return limit / max(c.part, 1) }

// compile parses a template and probes which messages it shows.
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

// byTools is a model's two templates, one of them for chats with tools.
type byTools struct{ plain, tools *arranged }

// Render returns the prompt for the next assistant message.
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
		// A template without OpenAI's newer names gets the older names.
		developer: strings.Contains(source, "developer"),
		efforts:   effortsOf(source),
		none:      comparesWithNone.MatchString(source),
		documents: parsed.Reads(documentsVariable),
	}
	t.parts = t.takesParts()
	t.images.shown = t.parts && t.showsImages()
	t.rawCalls = strings.Contains(source, "tool_calls") && t.takesRawCalls()
	return t, nil
}

// comparesWithNone matches templates that compare a value with none. They expect none as the
// content of messages without content. Other templates print "None", or fail on none or a
// missing content, and so get the empty string.
var comparesWithNone = regexp.MustCompile(`(?i)(\bis|[!=]=)\s+(not\s+)?none\b`)

// template renders one model's chats.
type template struct {
	parsed    *jinja.Template
	tokens    map[string]string
	developer bool // the template knows the role developer
	efforts   efforts
	parts     bool // the template reads content that is a list of parts
	images    imagePlaces
	none      bool // the template handles None as content
	documents bool // the template reads documents
	rawCalls  bool // the template shows arguments of tool calls that are strings
}

// takesParts probes the template with a content list. A template that can't read lists
// fails, or prints the list itself.
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

// probe renders a message whose content is a list.
func (t *template) probe(parts ...inference.Part) (string, error) {
	probing := *t
	probing.parts, probing.images.shown = true, true
	vars, err := probing.vars(&inference.Request{Messages: []inference.Message{{Role: "user", Parts: parts}}})
	if err != nil {
		return "", err
	}
	return t.parsed.Render(context.Background(), vars)
}

// Render returns the prompt for the next assistant message, unless the request omits the
// generation prompt or leaves the last message open.
func (t *template) Render(ctx context.Context, req *inference.Request) (string, error) {
	marked, err := markEnd(req)
	if err != nil {
		return "", err
	}
	vars, err := t.vars(marked)
	if err != nil {
		return "", err
	}
	prompt, err := t.parsed.Render(ctx, vars)
	var raised *jinja.RaisedError
	switch {
	case err == nil && req.Continue:
		return cutAtMark(prompt, req)
	case err == nil:
		return prompt, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.As(err, &raised):
		return "", inference.Invalid("messages", "the model's chat template refuses these messages: %s", raised.Message)
	}
	return "", unrendered("chat template", failureOf(err), err)
}

// failureOf returns a template's own message about its failure, with the line. The message omits
// the template's name, which may be another name than the client's. For other errors it returns an
// empty string.
func failureOf(err error) string {
	if e, ok := errors.AsType[*jinja.RenderError](err); ok {
		if e.Line == 0 {
			return e.Message
		}
		return fmt.Sprintf("line %d: %s", e.Line, e.Message)
	}
	if e, ok := errors.AsType[*jinja.LimitError](err); ok {
		return e.Error()
	}
	return ""
}

// unrendered returns the error of a template that fails on the messages of a request. The failure
// is the template's own message for the client, and err is the whole error for the log.
func unrendered(kind, failure string, err error) *inference.Error {
	message := fmt.Sprintf("the model's %s can't render these messages", kind)
	if failure != "" {
		message += ": " + failure
	}
	return &inference.Error{Code: inference.CodeInvalid, Reason: inference.ReasonInvalidValue, Param: "messages", Message: message, Err: err}
}

// vars returns the variables that transformers' apply_chat_template passes to a template.
// The request's own variables are added and take precedence.
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
	documents, err := t.documentList(req)
	if err != nil {
		return nil, err
	}
	vars.Set(documentsVariable, documents)
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
	if err := t.efforts.set(vars, t.efforts.effort(req)); err != nil {
		return nil, err
	}
	return vars, merge(vars, req.TemplateArgs)
}

// documentsVariable is the template variable with the documents of a request.
const documentsVariable = "documents"

// documentList returns the documents of a request for the template, or nil.
func (t *template) documentList(req *inference.Request) (any, error) {
	switch {
	case len(req.Documents) == 0:
		return nil, nil //nolint:nilnil // None is the value of a chat without documents
	case !t.documents:
		return nil, noDocuments(req.Model)
	}
	list, err := jinja.DecodeJSON(req.Documents)
	if err != nil {
		return nil, inference.Invalid(documentsVariable, "documents must be a JSON list: %v", err)
	}
	return list, nil
}

func noDocuments(model string) error {
	return inference.Unsupported(documentsVariable, "documents are not supported by the model `%s`: its chat template doesn't read them; put their text into a message", model)
}

// merge adds the request's own variables. It rejects variables that request fields set and
// validate, unless the value is the neutral one.
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
			return inference.Unsupported(param, "%s can't be set: the server sets %s from the other fields of the request", param, key)
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
		d.Set("thinking", m.Reasoning) // harmony's templates use this name
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

// role converts OpenAI's roles to the template's roles. Constants don't allocate.
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

// content returns a list for templates that read lists, except for a list with images that
// the template doesn't show.
func (t *template) content(places *placer, index int, m *inference.Message) (any, error) {
	if m.Parts != nil && !m.NoContent && t.parts && (t.images.shown || !hasImages(m)) {
		return partList(m.Parts), nil
	}
	return places.text(index, m)
}

// textOf returns the content as one string, or nil. The texts of a list are joined with line
// breaks, as in vLLM.
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
			d.Set("type", "image") // chat templates use this name
		} else {
			d.Set("type", "text")
			d.Set("text", p.Text)
		}
		list[i] = d
	}
	return list
}

// toolCalls returns calls for the template. Arguments are objects and not strings as in
// OpenAI's API.
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

// arguments returns the arguments of a call for the template. Malformed arguments are shown
// as the string that the model wrote. A template that only shows objects gets an object with
// the last value of each repeated key, or with the string as the value of one key.
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
