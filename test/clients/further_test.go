package clients

import (
	"slices"
	"strings"
)

// greetings returns the steps in which the model reads greet.py, replaces each name by the next one, and runs the program.
func greetings(names ...string) (steps []object) {
	for i, name := range names[1:] {
		steps = append(steps,
			call("Read", object{"file_path": "greet.py"}),
			call("Edit", object{"file_path": "greet.py", "old_string": names[i], "new_string": name}),
			call("Bash", object{"command": "python3 greet.py | tee -a greeting.txt", "description": "Runs the program"}),
		)
	}
	return steps
}

// words returns the step in which the model prints many words, with a reasoning.
func words(thought string) object {
	step := call("Bash", object{"command": "seq -f 'word %g' 430", "description": "Prints words"})
	step["think"] = thought
	return step
}

// sdkErrors returns the run in which an SDK of Anthropic gets the errors of a busy server and of a failing model, whose classes
// the page's task doesn't have. inStream has the class and the status of errors inside a stream.
func sdkErrors(name, inStream string) row {
	const busy = "too many requests of this model: 1 are in flight and 0 are queued, which is the limit: try again later\n"
	return row{
		Name: name,
		Scripts: []script{
			{name + ": How are the elks?", []object{text("Fine.")}},
			{name + ": Hold the line.", []object{{"text": "The line is held.", "wait": 60}}},
			{name + ": Cross the bridge.", []object{{"text": "The bridge is long.", "fail": "the bridge is broken"}}},
			{name + ": Sink the ship.", []object{{"text": "", "fail": "the ship is afloat"}}},
		},
		Prints: []string{
			"forbidden: PermissionDeniedError 403 permission_error req_ this origin may not call this server: allow it with --cors-origin\n" +
				"first: Fine.\nlimited: Fine.\n" +
				"failed: InternalServerError 500 api_error req_ Error generating stream: the ship is afloat\n" +
				"failed in a stream: The bridge is " + inStream + " api_error req_ Error generating stream: the bridge is broken\n" +
				"overloaded: OverloadedError 529 overloaded_error req_ " + busy +
				"after the overload: Fine.\n" +
				"late in a stream: The line is he" + inStream + " timeout_error req_ the request exceeded its time limit\n" +
				"late: GatewayTimeoutError 504 timeout_error req_ the request exceeded its time limit\n",
		},
		Wire: map[string]int{
			"POST /v1/messages 200": 6, "POST /v1/messages 403": 1, "POST /v1/messages 429": 1, "POST /v1/messages 500": 3, "POST /v1/messages 504": 1, "POST /v1/messages 529": 2,
		},
		// A 504 says that a repetition is of no use, and the SDKs don't repeat streams that have begun.
		Retries: map[string]int{"POST /v1/messages 429": 1, "POST /v1/messages 500": 2, "POST /v1/messages 529": 1},
	}
}

// claudeCodeRuns returns the further runs of Claude Code.
func claudeCodeRuns() []row {
	return []row{{
		Name: "claude-code-compaction", // Claude Code compacts the conversation by itself, because its context is full
		Scripts: []script{
			{"Print the words until the end.", slices.Repeat([]object{words("The words were printed.")}, 40)},
			{"Summary: The words were printed.", append(slices.Repeat([]object{words("It goes on.")}, 4), text("The end."))},
		},
		Prints:  []string{"The end.\n"},
		Wire:    map[string]int{"POST /v1/messages 200": 27},
		Startup: []string{"GET /v1/models 200"},
		Ignored: []string{"anthropic-beta", "context_management", "system[0]", "tools[2].defer_loading"},
		Conversations: []conversation{
			// 22 turns with a tool, and the request for the summary. Claude Code keeps the last call and its result after the
			// summary, so that this request doesn't have them.
			{Task: "Print the words until the end.", Prompts: 23, Last: []string{"Your task is to create a detailed summary"}, Unanswered: true},
			{Task: "Summary: The words were printed.", Prompts: 4, Last: []string{"It goes on."}, Continues: true},
		},
	}, {
		Name: "claude-code-strict", // --strict refuses what Claude Code sends, also with the variables that make it send less
		Prints: []string{
			"API Error: 400 context_management is an unknown field\nexit code 1\n" +
				"API Error: 400 system[0] has the line x-anthropic-billing-header:, which changes with every request: it is left out of the prompt\nexit code 1\n" +
				"API Error: 400 anthropic-beta has no effect: the server has no beta features\nexit code 1\n",
		},
		Wire:    map[string]int{"POST /v1/messages 400": 8},
		Startup: []string{"GET /v1/models 200"},
	}, {
		Name:    "claude-code-keys", // API keys, and the variables of further models
		Scripts: []script{{"Sort the shelves.", []object{text("Sorted.")}}},
		Prints:  []string{"Failed to authenticate. API Error: 401 Incorrect API key provided\nexit code 1\n" + strings.Repeat("Sorted.\n", 4)},
		Wire:    map[string]int{"POST /v1/messages 401": 1, "POST /v1/messages 200": 4},
		Startup: []string{"GET /v1/models 200", "GET /v1/models 401"},
		Sent: map[string]int{
			`"model":"claude-small"`: 1, `"model":"claude-middle"`: 1, `"model":"claude-large"`: 1, `"model":"claude-chat"`: 2,
		},
		Ignored: []string{"anthropic-beta", "context_management", "system[0]", "tools[10].defer_loading"},
	}, {
		Name: "claude-code-names", // the names of models that Claude Code knows
		Scripts: []script{
			{"Sort the boxes of", []object{text("Sorted.")}},
			{"Print the words of the boxes.", slices.Repeat([]object{words("The boxes were printed.")}, 40)},
			{"Summary: The boxes were printed.", append(slices.Repeat([]object{words("It goes on.")}, 4), text("The end."))},
		},
		Prints:  []string{strings.Repeat("Sorted.\n", 3) + "The end.\n"},
		Wire:    map[string]int{"POST /v1/messages 200": 22},
		Startup: []string{"GET /v1/models 200"},
		Sent:    map[string]int{`"model":"claude-haiku-5-5"`: 1, `"model":"claude-sonnet-5-5"`: 1, `"model":"claude-opus-5-5"`: 20},
		Ignored: []string{"anthropic-beta", "context_management", "messages[1].output_config", "system[0]", "tools[2].defer_loading"},
		Conversations: []conversation{
			{Task: "Sort the boxes of haiku.", Prompts: 1},
			{Task: "Sort the boxes of sonnet.", Prompts: 1},
			{Task: "Sort the boxes of opus.", Prompts: 1},
			{Task: "Print the words of the boxes.", Prompts: 15, Last: []string{"Your task is to create a detailed summary"}, Continues: true, Unanswered: true},
			{Task: "Summary: The boxes were printed.", Prompts: 4, Last: []string{"It goes on."}, Continues: true},
		},
	}, {
		Name: "claude-code-tools", // all tools, without Claude Code's search for tools
		Scripts: []script{
			{"Count the letters.", []object{call("Bash", object{"command": "printf trident | wc -c", "description": "Counts letters"}), text("Letters: {result}")}},
			{"Count the letters again.", []object{call("Bash", object{"command": "printf server | wc -c", "description": "Counts letters"}), text("Letters: {result}")}},
		},
		Prints:        []string{"Letters: 7\nLetters: 6\n"},
		Wire:          map[string]int{"POST /v1/messages 200": 4},
		Startup:       []string{"GET /v1/models 200"},
		Ignored:       []string{"anthropic-beta", "context_management", "system[0]"},
		Conversations: []conversation{{Task: "Count the letters.", Prompts: 4, Last: []string{"\"name\": \"WebFetch\"", "Count the letters again."}}},
	}}
}
