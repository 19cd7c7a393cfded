package anthropic

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/jsonstring"
	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/strictjson"
)

// turn is a request for a message.
type turn struct {
	req   *inference.Request
	model catalog.Resolution
	// omits reports whether the response has only the signature of the reasoning.
	omits bool
	// warms reports whether the model only has to read the prompt.
	warms bool
	// origins and toolOrigins are the paths of the core's messages and tools in the request, for errors.
	origins, toolOrigins []string
	// images are the paths of the images in the request, in the order of the core's parts.
	images []string
}

// promptFields returns the fields of the body that the prompt depends on.
func promptFields() []string {
	return []string{"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "cache_control"}
}

// answerFields returns the fields of the body that only requests for messages have.
func answerFields() []string {
	return []string{"max_tokens", "stream", "stop_sequences", "temperature", "top_p", "top_k", "metadata", "service_tier"}
}

// turn reads a request. With count, only the prompt is wanted.
func (h *Handler) turn(r *http.Request, beta *string, count bool) (*turn, error) {
	raw, err := server.ReadBody(r)
	if err != nil {
		return nil, err
	}
	ctx := r.Context()
	if err := requests.MayUse(ctx, raw); err != nil {
		return nil, err
	}
	body, err := readBody(raw)
	if err != nil {
		return nil, err
	}
	model, err := body.text("model", true)
	if err == nil && model == "" {
		err = inference.Invalid("model", "model must not be empty")
	}
	if err != nil {
		return nil, err
	}
	server.RecordOf(ctx).Model = model
	t := &turn{model: h.service.Resolve(model), req: &inference.Request{ID: "msg_" + rand.Text(), Model: model, Task: inference.TaskGenerate}}
	t.req.Unenforced = func(field, reason string) error {
		name, reason := t.clientsName(field, reason)
		return server.Ignore(ctx, server.IgnoredField{Name: name, Reason: reason})
	}
	d := &decoder{open: func(sealed string) (string, error) { return h.seals.Open(sealed, inference.ClientName(ctx)) }}
	if err := t.decode(ctx, d, body, count); err != nil {
		return t, err
	}
	if err := server.Ignore(ctx, d.fields...); err != nil {
		return t, err
	}
	return t, ignoreBeta(ctx, beta)
}

// ignoreBeta reports the header anthropic-beta as ignored, if the request has it.
func ignoreBeta(ctx context.Context, beta *string) error {
	if beta == nil || *beta == "" {
		return nil
	}
	const name = "anthropic-beta"
	return server.Ignore(ctx, server.IgnoredField{Name: name, Reason: name + " has no effect: the server has no beta features"})
}

// decode reads the body.
func (t *turn) decode(ctx context.Context, d *decoder, body object, count bool) error {
	known := promptFields()
	if !count {
		known = append(known, answerFields()...)
	}
	if body.has("thread") { // without it, the model would see only the newest messages
		return threadError{}
	}
	d.unknown(body, known...)
	if err := t.decodeMessages(d, body); err != nil {
		return err
	}
	if err := t.decodeTools(d, body); err != nil {
		return err
	}
	if err := t.decodeReasoning(ctx, d, body); err != nil {
		return err
	}
	if !count {
		if err := t.decodeAnswer(d, body); err != nil {
			return err
		}
	}
	return requests.Check(ctx, t.req)
}

// decodeMessages reads the system prompt and the conversation.
func (t *turn) decodeMessages(d *decoder, body object) error {
	const key = "messages"
	if err := d.system(body); err != nil {
		return err
	}
	list, ok := body.members[key].([]any)
	switch {
	case !ok:
		return body.wrong(key, "a list of messages")
	case len(list) == 0:
		return inference.Invalid(key, "messages must be a list of at least 1 message")
	case len(list) > budget.Messages:
		return inference.Invalid(key, "messages exceeds the maximum of %d messages in a request", budget.Messages)
	}
	for i, value := range list {
		o, err := item(key, i, value)
		if err == nil {
			err = d.message(o)
		}
		if err != nil {
			return err
		}
	}
	n := len(d.messages)
	switch {
	case n == 0 || n == 1 && d.origins[0] == "system":
		return inference.Invalid(key, "messages has nothing that the model can read: send a text")
	case n > budget.Messages:
		return inference.Invalid(key, "messages has more than %d messages and results of tools: start a new conversation", budget.Messages)
	}
	last := &d.messages[n-1]
	t.req.Messages, t.origins, t.images = d.messages, d.origins, d.images
	t.req.Continue = last.Role == roleAssistant && last.Text != "" && len(last.ToolCalls) == 0
	t.req.Closed = t.req.Continue
	return nil
}

// decodeTools reads the tools and the tool choice.
func (t *turn) decodeTools(d *decoder, body object) error {
	list, err := body.list("tools")
	if err != nil {
		return err
	}
	if len(list) > budget.Tools {
		return inference.Invalid("tools", "tools exceeds the maximum of %d tools in a request", budget.Tools)
	}
	names := toolNames{}
	for i, value := range list {
		o, err := item("tools", i, value)
		if err != nil {
			return err
		}
		definition, err := d.tool(o)
		if err != nil {
			return err
		}
		if definition != nil {
			if err := names.add(o); err != nil {
				return err
			}
			t.req.Tools, t.toolOrigins = append(t.req.Tools, definition), append(t.toolOrigins, o.path)
		}
	}
	choice, ok, err := body.child("tool_choice")
	if err != nil || !ok {
		return err
	}
	return t.decodeChoice(d, choice)
}

// toolNames has the path of each tool by its name.
type toolNames map[string]string

// add returns an error for a tool with the name of a previous one: a call of it would be ambiguous.
func (n toolNames) add(o object) error {
	name, _ := o.members["name"].(string)
	if before, taken := n[name]; taken {
		return inference.Invalid(o.at("name"), "%s is the name of %s, too: the names of tools must be unique, got %s twice", o.at("name"), before, strictjson.Quote(name))
	}
	n[name] = o.path
	return nil
}

// tool returns the definition of a tool in the form of chats, or nil for a tool that isn't the client's.
func (d *decoder) tool(o object) (json.RawMessage, error) {
	kind, err := o.text("type", false)
	if err != nil {
		return nil, err
	}
	if kind != "" && kind != "custom" {
		d.add(o.path, "is a tool of the type "+strictjson.Quote(kind)+", which the model doesn't know: it is left out")
		return nil, nil
	}
	name, err := o.text("name", true)
	if err == nil && name == "" {
		err = inference.Invalid(o.at("name"), "%s must not be empty", o.at("name"))
	}
	if err != nil {
		return nil, err
	}
	description, err := o.text("description", false)
	if err != nil {
		return nil, err
	}
	schema, err := o.raw("input_schema")
	if err != nil {
		return nil, err
	}
	strict, err := o.flag("strict")
	if err != nil {
		return nil, err
	}
	d.toolExtras(o)
	definition := append([]byte(`{"type":"function","function":{"name":`), jsonstring.Quoted(name)...)
	if description != "" {
		definition = append(append(definition, `,"description":`...), jsonstring.Quoted(description)...)
	}
	definition = append(append(definition, `,"parameters":`...), schema...)
	if strict {
		definition = append(definition, `,"strict":true`...)
	}
	return append(definition, "}}"...), nil
}

// toolExtras records the members of a tool that have no effect, unless their values mean none.
func (d *decoder) toolExtras(o object) {
	extras := map[string]string{
		"defer_loading": "all tools are in the prompt", "eager_input_streaming": "the input of a call is sent when it is complete",
		"input_examples": "models don't read examples", "allowed_callers": "only the model calls tools",
	}
	known := append(slices.Collect(maps.Keys(extras)), "type", "name", "description", "input_schema", "strict", "cache_control")
	d.unknown(o, known...)
	for _, key := range slices.Sorted(maps.Keys(extras)) {
		if o.has(key) && !meansNone(key, o.members[key]) {
			d.add(o.at(key), "has no effect: "+extras[key])
		}
	}
}

// meansNone reports whether the value of a member of a tool is the one without an effect.
func meansNone(key string, value any) bool {
	switch value := value.(type) {
	case bool:
		return !value
	case []any:
		return len(value) == 0 || key == "allowed_callers" && slices.Contains(value, any("direct"))
	}
	return false
}

// decodeChoice reads the tool choice.
func (t *turn) decodeChoice(d *decoder, o object) error {
	d.unknown(o, "type", "name", "disable_parallel_tool_use")
	kind, err := o.word("type", true, "auto", "any", "tool", "none")
	if err != nil {
		return err
	}
	if t.req.SingleCall, err = o.flag("disable_parallel_tool_use"); err != nil {
		return err
	}
	name, err := o.text("name", kind == "tool")
	if err != nil {
		return err
	}
	switch kind {
	case "any":
		t.req.ToolChoice.Mode = inference.ToolRequired
	case "none":
		t.req.ToolChoice.Mode = inference.ToolNone
	case "tool":
		t.req.ToolChoice = inference.ToolChoice{Mode: inference.ToolNamed, Name: name}
	}
	if len(t.req.Tools) == 0 && (kind == "any" || kind == "tool") {
		return inference.Invalid(o.path, "%s forces a call, but there are no tools that the model can call", o.path)
	}
	return nil
}

// decodeReasoning reads the fields about reasoning and the form of the answer.
func (t *turn) decodeReasoning(ctx context.Context, d *decoder, body object) error {
	thinking, ok, err := body.child("thinking")
	if err != nil {
		return err
	}
	kind := ""
	if ok {
		d.unknown(thinking, "type", "budget_tokens", "display")
		if kind, err = t.decodeThinking(d, thinking); err != nil {
			return err
		}
	}
	config, _, err := body.child("output_config")
	if err != nil {
		return err
	}
	d.unknown(config, "format", "effort")
	effort, err := config.word("effort", false, "low", inference.EffortDefault, "high", "xhigh", "max")
	if err != nil {
		return err
	}
	if kind != "" || effort != "" {
		t.setEffort(ctx, d, kind, effort)
	}
	format, ok, err := config.child("format")
	if err != nil || !ok {
		return err
	}
	d.unknown(format, "type", "schema")
	if _, err := format.word("type", true, "json_schema"); err != nil {
		return err
	}
	schema, err := format.raw("schema")
	if err != nil {
		return err
	}
	t.req.Sampling.Structured = &inference.Structured{Kind: "json", Value: schema, Param: format.at("schema")}
	return nil
}

// decodeThinking returns the type of the setting.
func (t *turn) decodeThinking(d *decoder, o object) (string, error) {
	kind, err := o.word("type", true, "enabled", thinkingDisabled, "adaptive")
	if err != nil {
		return "", err
	}
	tokens, err := o.integer("budget_tokens", 1, 1<<30)
	if err != nil {
		return "", err
	}
	if tokens != nil {
		d.add(o.at("budget_tokens"), "has no effect: the reasoning has no limit of its own")
	}
	display, err := o.word("display", false, "summarized", "omitted")
	t.omits = display == "omitted"
	return kind, err
}

// thinkingDisabled is the type of [api.ThinkingConfig] that switches reasoning off.
const thinkingDisabled = "disabled"

// setEffort sets the switches of the chat template. Settings that the template can't express are recorded as
// ignored.
func (t *turn) setEffort(ctx context.Context, d *decoder, thinking, effort string) {
	card := t.model.Card
	if card == nil { // the request fails later
		return
	}
	efforts := card.Efforts(ctx)
	switches := slices.Contains(efforts, inference.EffortNone)
	switch {
	case thinking == thinkingDisabled && switches:
		t.req.ReasoningEffort = inference.EffortNone
		if effort != "" && effort != inference.EffortDefault {
			d.add("output_config.effort", "has no effect: thinking is disabled")
		}
		return
	case thinking == thinkingDisabled && card.ReasoningParser != "":
		d.add("thinking.type", "has no effect: the chat template of the model has no switch for reasoning")
	case thinking != "" && thinking != thinkingDisabled && switches:
		t.req.TemplateArgs = json.RawMessage(`{"enable_thinking":true}`)
	case thinking != "" && thinking != thinkingDisabled && card.ReasoningParser == "":
		d.add("thinking.type", "has no effect: the model isn't known to reason, and its chat template has no switch for reasoning")
	}
	most := effort
	if effort == "xhigh" || effort == "max" {
		most = "high"
	}
	switch supported := slices.Contains(efforts, most); {
	case effort == "" || effort == inference.EffortDefault && !supported:
	case supported && most == effort:
		t.req.ReasoningEffort = effort
	case supported:
		t.req.ReasoningEffort = most
		d.add("output_config.effort", fmt.Sprintf("has the effect of %s: the chat template of the model doesn't know %s", most, effort))
	default:
		d.add("output_config.effort", "has no effect: the chat template of the model doesn't distinguish it")
	}
}

// decodeAnswer reads the fields about the answer.
func (t *turn) decodeAnswer(d *decoder, body object) error {
	if !body.has("max_tokens") {
		return inference.Invalid("max_tokens", "max_tokens is required")
	}
	s := &t.req.Sampling
	var err error
	if s.MaxTokens, err = body.integer("max_tokens", 0, 1<<30); err != nil {
		return err
	}
	if t.warms = *s.MaxTokens == 0; t.warms {
		s.MaxTokens = new(1)
	}
	t.req.FitContext, s.ReportStop = true, true
	if t.req.Stream, err = body.flag("stream"); err != nil {
		return err
	}
	if s.Temperature, err = body.share("temperature"); err != nil {
		return err
	}
	if s.TopP, err = body.share("top_p"); err != nil {
		return err
	}
	if s.TopK, err = body.integer("top_k", 0, 1<<30); err != nil {
		return err
	}
	if s.TopK != nil && *s.TopK == 0 {
		s.TopK = nil
	}
	if s.Stop, err = stopSequences(body); err != nil {
		return err
	}
	if _, err := body.word("service_tier", false, "auto", "standard_only"); err != nil {
		return err
	}
	metadata, _, err := body.child("metadata")
	if err != nil {
		return err
	}
	d.unknown(metadata, "user_id")
	_, err = metadata.text("user_id", false)
	return err
}

// stopSequences returns the stop sequences without empty ones, which have no effect.
func stopSequences(body object) ([]string, error) {
	const key = "stop_sequences"
	list, err := body.list(key)
	if err != nil {
		return nil, err
	}
	var texts []string
	for i, value := range list {
		text, ok := value.(string)
		if !ok {
			at := key + strictjson.Index(i)
			return nil, inference.Invalid(at, "%s must be a string, got %s", at, strictjson.Show(value))
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	return texts, nil
}
