package toolparser

import "encoding/json"

// tool is the function of one of OpenAI's tool definitions.
type tool struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
	Strict     bool            `json:"strict"`

	read *properties // nil until the properties are first needed
}

// readTool reads a definition {"type": "function", "function": {…}}. It returns
// nil for anything else.
func readTool(definition json.RawMessage) *tool {
	var d struct {
		Function *tool `json:"function"`
	}
	if json.Unmarshal(definition, &d) != nil || d.Function == nil || d.Function.Name == "" {
		return nil
	}
	return d.Function
}

// toolset is the tools of a request. The tools are read when a call first needs
// them.
type toolset struct {
	definitions []json.RawMessage
	byName      map[string]*tool
}

// find returns the tool with this name, or nil.
func (t *toolset) find(name string) *tool {
	if t.byName == nil {
		t.byName = make(map[string]*tool, len(t.definitions))
		for _, d := range t.definitions {
			if found := readTool(d); found != nil {
				t.byName[found.Name] = found
			}
		}
	}
	return t.byName[name]
}

// knows reports whether a tool was offered. For a request without tools every
// name is known.
func (t *toolset) knows(name string) bool {
	return len(t.definitions) == 0 || t.find(name) != nil
}
