// Package structured checks constraints on the form of an answer. It knows which of vLLM's
// structured outputs backends enforce which JSON Schema keyword, regular expression and grammar. It
// is pure: no network, clock or logger. Sending a constraint to an engine belongs to package
// contracts.
//
// It bounds what a constraint costs the engine. vLLM compiles one constraint at a time, and makes the
// masks of tokens between the steps of all requests: one constraint can delay all requests. xgrammar
// writes out each number of repetitions up to 15, so that nested numbers multiply. xgrammar makes
// automata deterministic, which can double the number of states with each character after a repeated
// class. xgrammar follows all readings of an ambiguous expression. The size of a constraint estimates
// the compilation before it is sent: 1,000,000 stand for 2.5 s. The table has the measured seconds of
// CPU time for one thread, on a core with AVX-512, with xgrammar 0.1.27 and the 49,152 tokens of
// SmolLM2:
//
//	constraint                            size       measured
//	[0-9]{4}-[0-9]{2}-[0-9]{2}            1,300      0.00
//	a UUID                                8,200      0.00
//	an address of email                   23,000     0.01
//	[a-z]{1,64}                           25,000     0.10
//	.{0,1000}                             154,000    0.31
//	a schema of one maxLength above 15    154,000    0.39
//	.{0,100},.{0,100}                     922,000    0.64
//	[ab]*a[ab]{12}                        961,000    0.79
//	six limits of length in a schema      924,000    2.4
//	([a-z]{1,15},){1,15}                  751,000    1.6
//	300 properties that aren't required   575,000    1.3
//	[ab]*a[ab]{13}                        3,300,000  4.5: refused
//	([a-z]{1,64} ){1,10}                  1,400,000  6.5: refused
//	([a-z]{1,20},){1,100}                 3,000,000  13: refused
//	([a-z]{1,20} ?){1,5}                  19,000,000 22: refused
//
// Of 200 random expressions of sizes from 50,000 on that are sent, 193 took up to 2 s, and the slowest
// 8.2 s. A vocabulary of three times as many tokens takes about three times as long.
//
// testdata/vllm.jsonl has the results of vLLM's own code for each construct, measured by
// test/vllm. The tests compare this package with them. A backend doesn't support a construct
// if it ignores a keyword or lets the model write more than the constraint allows.
package structured

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Backends is a set of vLLM's structured outputs backends.
type Backends uint8

// The backends of structured outputs. Auto is the set to assume if vLLM selects the backend itself:
// vLLM keeps the backend that its first request needed, and terminates on a constraint that this
// backend doesn't support.
const (
	XGrammar Backends = 1 << iota
	Guidance
	Outlines

	Auto = XGrammar | Guidance
)

// Values of the model setting structured_outputs besides the names of backends.
const (
	SettingAuto = "auto"
	SettingNone = "none"
)

// names are the names of the structured output backends, as vLLM and Trident's setting spell them.
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
	// SupportedBy are the backends that support the construct. The set is empty if the construct is
	// invalid, or if no backend supports it.
	SupportedBy Backends
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
func (b Backends) need(supporting Backends, path, construct string) error {
	if b&^supporting == 0 {
		return nil
	}
	return &RefusalError{Path: path, Construct: construct, SupportedBy: supporting}
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

// choice checks and converts the list of strings of a choice constraint, one of which the model
// must write.
func (b Backends) choice(value json.RawMessage) (string, json.RawMessage, error) {
	var choices []string
	if err := json.Unmarshal(value, &choices); err != nil {
		return "", nil, wrongf("", "the choices are not a list of strings")
	}
	if len(choices) == 0 {
		return "", nil, wrongf("", "the list of choices is empty")
	}
	escaped, size := false, &sizer{}
	for i, choice := range choices {
		size.add(int64(len(choice)), 1)
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
				return "", nil, &RefusalError{Path: path, Construct: "a control character", SupportedBy: XGrammar | Guidance | Outlines}
			case r > 0x7e:
				if err := b.need(XGrammar|Guidance, path, "a character beyond ASCII"); err != nil {
					return "", nil, err
				}
			}
		}
	}
	if err := size.refusal(b, "", "a list of choices"); err != nil {
		return "", nil, err
	}
	// vLLM makes a grammar of choices for xgrammar, and escapes no line ends and tabs in it.
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
		return nil, wrongf("", "the structural tag is not a JSON object")
	}
	size := int64(len(text)) // size of the tag's literals
	if err := b.tagParts(root, "", &size); err != nil {
		return nil, err
	}
	return marshal(string(root.appendJSON(nil)))
}

// tagParts judges the schemas, expressions and grammars in a structural tag, in both of its
// forms.
func (b Backends) tagParts(n *node, path string, size *int64) error {
	format, _ := n.get("type").text()
	for i := range n.members {
		m := &n.members[i]
		below := join(path, m.name)
		var err error
		switch text, isText := m.value.text(); {
		case m.name == "schema" || m.name == "json_schema":
			m.value, err = b.schemaNode(m.value, below, size)
		case isText && (format == "regex" && m.name == "pattern" || format == m.name && m.name == "grammar"):
			m.value, err = b.tagText(format, text, below, size)
		default:
			err = b.tagParts(m.value, below, size)
		}
		if err != nil {
			return err
		}
	}
	for i, item := range n.items {
		if err := b.tagParts(item, fmt.Sprintf("%s[%d]", path, i), size); err != nil {
			return err
		}
	}
	return nil
}

// tagText judges an expression or a grammar in a structural tag.
func (b Backends) tagText(format, text, path string, size *int64) (*node, error) {
	value, err := marshal(text)
	if err != nil {
		return nil, err
	}
	judge := b.regexSized
	if format == "grammar" {
		judge = b.grammarSized
	}
	value, s, err := judge(value)
	if err == nil {
		s.add(*size, 1)
		*size = s.size
		err = s.refusal(b, "", "a structural tag")
	}
	if refusal, ok := errors.AsType[*RefusalError](err); ok {
		refusal.Path = strings.TrimSuffix(join(path, refusal.Path), ".")
	}
	if err != nil {
		return nil, err
	}
	var judged string
	err = json.Unmarshal(value, &judged)
	return str(judged), err
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
