package toolparser

import (
	"github.com/trident-inference/trident/services/inference"
)

// inputText reads an answer that is the only argument of one tool as text: its grammar holds for the
// text and not for JSON. It writes the JSON of the arguments around the text.
type inputText struct {
	*reader

	name   string
	opened bool
}

func newInputText(r *reader, name string) dialect { return &inputText{reader: r, name: name} }

func (t *inputText) step() bool {
	if !t.opened && (len(t.in) > 0 || t.final) {
		t.opened = true
		t.open(t.name)
		t.arguments([]byte(`{"` + inference.InputArgument + `":"`))
	}
	if len(t.in) > 0 {
		t.arguments(appendEscaped(nil, t.in))
		t.used += len(t.in)
		t.in = nil
	}
	if t.final && t.inCall {
		t.arguments([]byte(`"}`))
		t.close()
	}
	return false
}
