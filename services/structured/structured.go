// Package structured checks constraints on the form of an answer. It knows which of vLLM's
// structured outputs backends enforce which JSON Schema keyword, regular expression and grammar. It
// is pure: no network, clock or logger.
//
// testdata/vllm.jsonl has the result of vLLM's own code for each construct, measured by test/vllm.
// The tests compare this package with it. A backend that ignores a keyword, or lets the model write
// more than the constraint allows, doesn't support the keyword.
package structured

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Backends is a set of vLLM's structured outputs backends.
type Backends uint8

// The backends. Auto is the set to assume if vLLM selects the backend itself: vLLM keeps the
// backend that its first request needed, and terminates on a constraint that this backend doesn't
// support.
const (
	XGrammar Backends = 1 << iota
	Guidance
	Outlines

	Auto = XGrammar | Guidance
)

// Values of the model setting besides the names of backends.
const (
	SettingAuto = "auto"
	SettingNone = "none"
)

// names are the names of the backends in vLLM and in the setting.
var names = []struct { //nolint:gochecknoglobals // a constant table
	backend Backends
	name    string
}{{XGrammar, "xgrammar"}, {Guidance, "guidance"}, {Outlines, "outlines"}}

// Settings returns the values of the setting.
func Settings() []string {
	return []string{SettingAuto, "xgrammar", "guidance", "outlines", SettingNone}
}

// Of returns the backends of a value of the setting. The value "none" has no backends.
func Of(setting string) (Backends, error) {
	switch setting {
	case SettingAuto:
		return Auto, nil
	case SettingNone:
		return 0, nil
	}
	for _, n := range names {
		if n.name == setting {
			return n.backend, nil
		}
	}
	return 0, fmt.Errorf("%q is not one of %s", setting, strings.Join(Settings(), ", "))
}

// String returns the comma-separated names of the backends.
func (b Backends) String() string {
	var list []string
	for _, n := range names {
		if b&n.backend != 0 {
			list = append(list, n.name)
		}
	}
	return strings.Join(list, ", ")
}

// RefusalError is returned for a construct that at least one of the backends doesn't support.
type RefusalError struct {
	// Path is the path from the constraint to the construct, such as properties.age.minimum. It is
	// empty for the constraint itself.
	Path string
	// Construct is the name of the construct for the client.
	Construct string
	// Takers are the backends that support the construct. The set is empty if the construct is
	// invalid, or if no backend supports it.
	Takers Backends
	// Wrong is the fault of a constraint that can't be parsed or fulfilled.
	Wrong string
}

func (r *RefusalError) Error() string {
	text := r.Construct
	if r.Wrong != "" {
		text = r.Wrong
	}
	if r.Path != "" {
		text = r.Path + ": " + text
	}
	return text
}

// need returns an error unless all backends are among the takers of a construct.
func (b Backends) need(takers Backends, path, construct string) error {
	if b&^takers == 0 {
		return nil
	}
	return &RefusalError{Path: path, Construct: construct, Takers: takers}
}

func wrongf(path, format string, args ...any) error {
	return &RefusalError{Path: path, Wrong: fmt.Sprintf(format, args...)}
}

// Judge returns a constraint in a form that all of the backends support. The result may have
// another kind. An error is a [*RefusalError].
//
// The caller must have checked that the value has the given kind, and that a schema is a JSON
// Schema.
func (b Backends) Judge(kind string, value json.RawMessage) (string, json.RawMessage, error) {
	switch kind {
	case "json_object":
		return kind, value, b.need(XGrammar|Guidance, "", "any JSON object")
	case "json":
		schema, err := b.schema(value)
		return kind, schema, err
	case "regex":
		pattern, err := b.regexValue(value)
		return kind, pattern, err
	case "choice":
		return b.choice(value)
	case "grammar":
		grammar, err := b.grammarValue(value)
		return kind, grammar, err
	case "structural_tag":
		tag, err := b.tag(value)
		return kind, tag, err
	}
	return kind, value, nil
}

// choice checks a list of texts.
func (b Backends) choice(value json.RawMessage) (string, json.RawMessage, error) {
	var choices []string
	if err := json.Unmarshal(value, &choices); err != nil {
		return "", nil, wrongf("", "it is not a list of texts")
	}
	if len(choices) == 0 {
		return "", nil, wrongf("", "it has no choices")
	}
	escaped := false
	for i, choice := range choices {
		path := fmt.Sprintf("[%d]", i)
		for _, r := range choice {
			switch {
			case r == 0:
				if err := b.need(Guidance|Outlines, path, "the character NUL"); err != nil {
					return "", nil, err
				}
			case r == '\n' || r == '\r' || r == '\t':
				escaped = true
			case (r < ' ' || r == 0x7f) && b == Auto: // llguidance can't parse the character in the grammar that vLLM builds for xgrammar
				return "", nil, &RefusalError{Path: path, Construct: "a control character", Takers: XGrammar | Guidance | Outlines}
			case r > 0x7e:
				if err := b.need(XGrammar|Guidance, path, "a character beyond ASCII"); err != nil {
					return "", nil, err
				}
			}
		}
	}
	// For xgrammar, vLLM builds a grammar of the choices, in which it doesn't escape line ends and
	// tabs.
	if !escaped || b&XGrammar == 0 {
		return "choice", value, nil
	}
	quoted := make([]string, len(choices))
	for i, choice := range choices {
		quoted[i] = quoteEBNF(choice)
	}
	grammar, err := marshal("root ::= " + strings.Join(quoted, " | "))
	return "grammar", grammar, err
}

// tag checks a structural tag. Only xgrammar enforces it: llguidance lets the model write text that
// isn't such a tag.
func (b Backends) tag(value json.RawMessage) (json.RawMessage, error) {
	if err := b.need(XGrammar, "", "a structural tag"); err != nil {
		return nil, err
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	root, err := parse([]byte(text))
	if err != nil || root.kind != kindObject {
		return nil, wrongf("", "it is not a JSON object")
	}
	if err := b.tagSchemas(root, ""); err != nil {
		return nil, err
	}
	return marshal(string(root.appendJSON(nil)))
}

// tagSchemas checks the schemas in a structural tag of either form.
func (b Backends) tagSchemas(n *node, path string) error {
	for i := range n.members {
		m := &n.members[i]
		below := join(path, m.name)
		if m.name == "schema" || m.name == "json_schema" {
			schema, err := b.schemaNode(m.value, below)
			if err != nil {
				return err
			}
			m.value = schema
			continue
		}
		if err := b.tagSchemas(m.value, below); err != nil {
			return err
		}
	}
	for i, item := range n.items {
		if err := b.tagSchemas(item, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// marshal is json.Marshal without HTML escaping, which would change regular expressions.
func marshal(v any) (json.RawMessage, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n")), nil
}
