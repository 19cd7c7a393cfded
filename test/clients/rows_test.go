package clients

// models selects the models of a row's trident.
type models int

const (
	scripted models = iota // the model chat, which follows the rows' scripts: models/chat
	demo                   // the demo's models: models in the root of the source tree
)

// object is a JSON object.
type object = map[string]any

// script has the responses of the scripted model to a task: models/chat/1/model.py describes it.
type script struct {
	Task  string   `json:"task"`
	Steps []object `json:"steps"`
}

// row is a published program with a task. The code is on the page docs/clients/NAME.md.
type row struct {
	Name    string // name of the page and of the test
	Program string // name of the program in the index of the pages
	Package string // name of the package that must be installed unchanged
	Version string
	Hash    string // hash of the package's file: sha256:HEX, or npm's integrity
	List    list   // what installs the package
	Check   bool   // runs in the check tier too

	Task    string // what the program has to do, for the index
	Models  models
	Scripts []script
	Ports   []string          // ports on the page, of servers that the page starts, which the test replaces
	Given   map[string]string // files that exist before the task

	Prints []string          // texts that standard output must contain after the task
	Files  map[string]string // files that the task must have written
	Wire   map[string]int    // number of requests by method, path and status
	// Ignored lists the fields that Trident must have reported as ignored.
	Ignored  []string
	Mutation mutation // without this part of the responses the task must fail
}

// call returns the step in which the model calls a tool.
func call(name string, arguments object) object {
	return object{"calls": []object{{"name": name, "arguments": arguments}}}
}

// text returns the step in which the model writes a text.
func text(s string) object { return object{"text": s} }

func rows() []row {
	return []row{
		{
			Name: "openai-node", Program: "OpenAI's Node SDK", Package: "openai", Version: "7.57.0", List: sdkNode, Check: true,
			Hash:     "sha512-RbmrdE5NdfW6nGq/FaCJ3KFCZpotoExPzruQUSMCTw/ouUFO08vpvVdSmgmPxQMFAiv9EXZCEXvcWYU+n6NzsQ==",
			Task:     "runTools calls a function that writes a file, in a streamed chat",
			Scripts:  []script{{"Note that the kettle is on.", []object{call("write_note", object{"text": "The kettle is on."}), text("Noted: {result}")}}},
			Prints:   []string{"Noted: 17 characters\n"},
			Files:    map[string]string{"note.txt": "The kettle is on."},
			Wire:     map[string]int{"POST /v1/chat/completions 200": 2},
			Mutation: mutation{Field: "tool_calls"},
		},
	}
}
