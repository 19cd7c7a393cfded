package responses

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/jsonstring"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/openai/internal/toolform"
	"github.com/trident-inference/trident/services/requests"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/strictjson"
)

// toolKey identifies a tool. The namespace is empty for tools without one.
type toolKey struct{ namespace, name string }

// tool is a tool that the request offers.
type tool struct {
	toolKey

	flat   string // name by which the model calls the tool
	custom bool
	format toolform.Format // format of a custom tool's input
	param  string          // field of the request that has the tool
}

// toolbox has the tools of a request. Models know only functions: the toolbox has the function of each
// tool, and leads from the calls of functions back to the tools. The zero value has no tools.
type toolbox struct {
	// definitions are the functions in the form of chats, in the order of the request.
	definitions []json.RawMessage
	// tools are the tools of the definitions. byKey has their indices, byFlat leads to them by the
	// names that the model uses.
	tools  []*tool
	byKey  map[toolKey]int
	byFlat map[string]*tool
	// byName leads to tools by their names without the namespaces. It is nil for a name of several tools.
	byName map[string]*tool
	// equal has the last number that was added to a name that several tools have.
	equal map[string]int
	// read is the number of definitions so far, with those that were replaced.
	read int
	// ignored are the tools and members of tools that have no effect, each place once. left has their
	// places without positions, and the types of the tools that were left out.
	ignored []server.IgnoredField
	left    map[string]bool

	checked *requests.Schemas
	// constrains reports whether the answer is constrained by the schemas of the tools.
	constrains bool
	auto       bool // the model may call tools, and calls of strict tools match their schemas
}

// addAll adds the tools of one field of the request.
func (b *toolbox) addAll(ctx context.Context, field string, list []json.RawMessage) error {
	for i, raw := range list {
		if err := b.add(ctx, field+strictjson.Index(i), raw); err != nil {
			return err
		}
	}
	return nil
}

// add adds a tool, or all tools of a namespace. It leaves out tools that the server doesn't run.
func (b *toolbox) add(ctx context.Context, param string, raw json.RawMessage) error {
	t, err := readTool(raw)
	if err != nil {
		return err
	}
	switch t.kind {
	case requests.FunctionType, toolCustom:
		return b.addTool(ctx, param, &definition{toolParam: t, raw: raw})
	case toolNamespace:
		about := toolform.NamespaceDescription(t.name, decode.Value(t.description))
		for i, below := range t.tools {
			tool, err := readTool(below)
			if err != nil {
				return err
			}
			if err := b.addTool(ctx, fmt.Sprintf("%s.tools[%d]", param, i), &definition{toolParam: tool, raw: below, namespace: t.name, about: about}); err != nil {
				return err
			}
			about = ""
		}
		return nil
	case toolMCP:
		return inference.Unsupported(param+".type", "%s.type must not be mcp: the server connects to no MCP servers. Configure the MCP server in the client, which then sends its tools as functions", param)
	}
	b.ignore(t.kind, param, fmt.Sprintf("%s is a tool of the type %s, which this server doesn't run: send only functions and custom tools", param, t.kind))
	return nil
}

// ignore records a place that has no effect. Places of one kind are recorded for the first.
func (b *toolbox) ignore(kind, param, reason string) {
	if b.left == nil {
		b.left = map[string]bool{}
	}
	if !b.left[kind] && len(b.ignored) <= server.MaxIgnored {
		b.ignored = append(b.ignored, server.IgnoredField{Name: param, Reason: reason})
	}
	b.left[kind] = true
}

// mostDefinitions is the maximum number of definitions of functions and custom tools in a request. A
// conversation may define its tools again and again.
const mostDefinitions = 16 * budget.Tools

// definition is the definition of a function or of a custom tool, which may be in a namespace.
type definition struct {
	*toolParam

	raw       json.RawMessage
	namespace string
	about     string // text about the namespace that the description ends with
}

// addTool adds a tool. It replaces an earlier tool of the same name.
func (b *toolbox) addTool(ctx context.Context, param string, def *definition) error {
	b.ignoreMembers(param, def.toolParam)
	t := &tool{toolKey: toolKey{def.namespace, def.name}, custom: def.kind == toolCustom, format: def.format, param: param}
	at, known := b.byKey[t.toolKey]
	b.read++
	switch {
	case b.read > mostDefinitions:
		return inference.Invalid(param, "%s exceeds the maximum of %d definitions of tools in a request", param, mostDefinitions)
	case known:
		t.flat = b.tools[at].flat
	case len(b.tools) == budget.Tools:
		return inference.Invalid(param, "%s exceeds the maximum of %d tools in a request", param, budget.Tools)
	default:
		t.flat = b.free(toolform.Flatten(t.namespace, t.name))
	}
	function, err := b.function(ctx, def, t)
	if err != nil {
		return err
	}
	if known {
		b.tools[at], b.definitions[at] = t, function
	} else {
		b.byKey[t.toolKey] = len(b.tools)
		b.tools, b.definitions = append(b.tools, t), append(b.definitions, function)
	}
	b.byFlat[t.flat] = t
	if other, several := b.byName[t.name]; several && (other == nil || other.toolKey != t.toolKey) {
		b.byName[t.name] = nil
	} else {
		b.byName[t.name] = t
	}
	return nil
}

// free returns the name, or if another tool has it, the name with a number.
func (b *toolbox) free(name string) string {
	if b.byFlat == nil {
		b.byKey, b.byFlat, b.byName, b.equal = map[toolKey]int{}, map[string]*tool{}, map[string]*tool{}, map[string]int{}
	}
	unique := name
	for b.byFlat[unique] != nil {
		b.equal[name] = max(b.equal[name], 1) + 1
		unique = fmt.Sprintf("%s_%d", name, b.equal[name])
	}
	return unique
}

// ignoreMembers records the members of a tool that have no effect.
func (b *toolbox) ignoreMembers(param string, t *toolParam) {
	for _, member := range []struct {
		name, why string
		used      bool
	}{
		{"output_schema", "describe the tool's output in its description", !requests.Neutral(t.outputSchema)},
		{"defer_loading", "all tools are in the prompt", decode.Value(t.deferLoading)},
		{"allowed_callers", "only the model calls tools", len(t.allowedCallers) > 0 && !slices.Contains(t.allowedCallers, "direct")},
	} {
		if member.used {
			at := param + "." + member.name
			b.ignore(member.name, at, fmt.Sprintf("%s is not supported: %s", at, member.why))
		}
	}
}

// function returns the tool's function, in the form of chats.
func (b *toolbox) function(ctx context.Context, def *definition, t *tool) (json.RawMessage, error) {
	if t.custom {
		description := strings.TrimSpace(decode.Value(def.description) + "\n\n" + def.about)
		return (&toolform.Tool{Name: t.flat, Description: description, Format: def.format}).Function(), nil
	}
	if (b.constrains || b.auto && decode.Value(def.strict)) && !requests.Neutral(def.parameters) {
		err := b.checked.Check(ctx, &inference.Structured{Kind: "json", Value: def.parameters, Param: t.param + ".parameters"})
		if err != nil {
			return nil, err
		}
	}
	return nestTool(def.raw, t.flat, def.about)
}

// nestTool moves the members of a function under the key function, as in chats. It keeps their order,
// which appears in the prompt. The function gets the name, and its description ends with the text
// about.
func nestTool(raw json.RawMessage, name, about string) (json.RawMessage, error) {
	nested := []byte(`{"type":"function","function":`)
	open := byte('{')
	member := func(key string, value []byte) {
		nested = append(append(append(append(nested, open), jsonstring.Quoted(key)...), ':'), value...)
		open = ','
	}
	err := strictjson.ReadPart(raw, func(r *strictjson.Reader) error {
		return r.Object(func(key string) error {
			value, err := r.Raw()
			if err != nil || string(value) == "null" || !slices.Contains([]string{"name", "description", "parameters", "strict"}, key) {
				return err
			}
			switch {
			case key == "name":
				value = jsonstring.Quoted(name)
			case key == "description" && about != "":
				var own string
				if err := json.Unmarshal(value, &own); err != nil {
					return err
				}
				value, about = jsonstring.Quoted(strings.TrimSpace(own+"\n\n"+about)), ""
			}
			member(key, value)
			return nil
		})
	})
	if err != nil {
		return nil, strictjson.BodyError(err)
	}
	if about != "" {
		member("description", jsonstring.Quoted(about))
	}
	return append(nested, "}}"...), nil
}

// called returns the tool that the model calls by this name. Models may leave out the namespace. It
// returns nil if no tool or several tools have the name.
func (b *toolbox) called(name string) *tool {
	if t := b.byFlat[name]; t != nil {
		return t
	}
	return b.byName[name]
}

// flat returns the name by which the model called a tool in an earlier turn.
func (b *toolbox) flat(key toolKey) string {
	if at, known := b.byKey[key]; known {
		return b.tools[at].flat
	}
	return toolform.Flatten(key.namespace, key.name)
}

// choose returns the tool choice with the names by which the model calls the tools. Where a call of a
// custom tool is forced and the model's engine enforces the tool's format, the choice has the format.
// Other formats are recorded as ignored.
func (b *toolbox) choose(ctx context.Context, choice inference.ToolChoice, model *catalog.Resolution) inference.ToolChoice {
	choice.Name = b.chosen(choice.Name)
	for i, name := range choice.Allowed {
		choice.Allowed[i] = b.chosen(name)
	}
	var enforced *tool
	if t := b.forced(&choice); t != nil {
		if c := t.format.Structured(t.param + ".format.definition"); c != nil && b.checked.Structured(ctx, c) == nil && serving.EnforcesInput(ctx, model, c) {
			choice = inference.ToolChoice{Mode: inference.ToolNamed, Name: t.flat, Input: c}
			enforced = t
		}
	}
	for _, t := range b.tools {
		if t.format.Syntax != "" && t != enforced {
			at := t.param + ".format"
			b.ignore("format", at, at+" is not enforced: the prompt has the grammar, but the model may write other text")
		}
	}
	return choice
}

// chosen returns the name that the model uses for a tool, or the name itself if no tool has it.
func (b *toolbox) chosen(name string) string {
	if t := b.called(name); t != nil {
		return t.flat
	}
	return name
}

// forced returns the only tool that the model may and must call, or nil.
func (b *toolbox) forced(choice *inference.ToolChoice) *tool {
	switch {
	case choice.Mode == inference.ToolNamed:
		return b.byFlat[choice.Name]
	case choice.Mode == inference.ToolRequired && len(choice.Allowed) == 1:
		return b.byFlat[choice.Allowed[0]]
	case choice.Mode == inference.ToolRequired && len(b.tools) == 1:
		return b.tools[0]
	}
	return nil
}

// echoTools returns the tools of the request as the response has them: functions with all members, other
// tools as the client sent them, and no tools that were left out.
func echoTools(tools []json.RawMessage) ([]json.RawMessage, error) {
	list := []json.RawMessage{}
	for i, raw := range tools {
		t, err := readTool(raw)
		if err != nil {
			return nil, fmt.Errorf("tools[%d]: %w", i, err)
		}
		switch t.kind {
		case requests.FunctionType:
			parameters := t.parameters
			if len(parameters) == 0 {
				parameters = json.RawMessage("null")
			}
			list = append(list, encoded(functionSetting{Type: t.kind, Name: t.name, Description: t.description, Parameters: parameters, Strict: t.strict}))
		case toolCustom, toolNamespace:
			list = append(list, raw)
		}
	}
	return list, nil
}

// functionSetting is a function as responses repeat it (FunctionTool of the document).
type functionSetting struct {
	Description *string         `json:"description"`
	Name        string          `json:"name"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      *bool           `json:"strict"`
	Type        string          `json:"type"`
}
