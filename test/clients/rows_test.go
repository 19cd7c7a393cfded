package clients

import (
	"path/filepath"
	"slices"
)

// models selects the models of a row's trident.
type models int

const (
	scripted models = iota // the model chat, which follows the rows' scripts: models/chat
	locked                 // the same model; clients need the API key none
	counted                // the same model with a tokenizer, which has a token for each byte as the model
	demo                   // the demo's models: models in the root of the source tree
	scored                 // the model ensemble of test/models-contract, which returns the logits of prompts
	encoded                // the scripted model, and encoders of test/encoders
	vectors                // the demo's embedding model
)

// flags returns the flags of the trident.
func (m models) flags(root string) []string {
	switch m {
	case locked:
		return []string{"--api-key=none"}
	case counted:
		return []string{"--tokenizer=chat=" + filepath.Join(root, "test", "models-contract", "vllm", "tokenizer")}
	case scored:
		return []string{"--tokenizer=ensemble=" + filepath.Join(root, "test", "models-contract", "ensemble", "tokenizer")}
	case encoded:
		return []string{"--tokenizer=joint=" + filepath.Join(root, "test", "models-contract", "ensemble", "tokenizer")}
	case scripted, demo, vectors:
	}
	return nil
}

// object is a JSON object.
type object = map[string]any

// script has the responses of the scripted model to a task: models/chat/1/model.py describes it.
type script struct {
	Task  string   `json:"task"`
	Steps []object `json:"steps"`
}

// row is a published program with a task. The code is on the page docs/recipes/NAME.md.
type row struct {
	Name    string // name of the page and of the test
	Program string // name of the program in the index of the pages
	Package string // name of the package that must be installed unchanged
	Extras  string // extras of the Python package, such as [proxy]
	Version string
	Hash    string // hash of the package's file: sha256:HEX, or npm's integrity
	List    list   // what installs the package
	// Modules has the hash of the installed files of npm's packages that the program consists of.
	Modules map[string]string
	// Commands has the files of commands in npm's packages that a package's install script would copy. tools/npm-ci.sh
	// runs no such scripts.
	Commands map[string]string
	Check    bool // runs in the check tier too

	Task    string // what the program has to do, for the index
	Models  models
	Scripts []script
	Ports   []string          // ports on the page, of servers that the page starts, which the test replaces
	Given   map[string]string // files that exist before the task

	Prints []string          // texts that standard output must contain after the task
	Files  map[string]string // files that the task must have written
	Wire   map[string]int    // number of requests by method, path and status
	// Startup lists further requests, of which there must be at least one each. The program sends them at its start and
	// may end before their responses.
	Startup []string
	// Sent has the number of requests whose bodies contain a text.
	Sent map[string]int
	// Retries has the number of requests that the program's SDK repeats, by method, path and status.
	Retries map[string]int
	// Ignored lists the fields that Trident must have reported as ignored.
	Ignored []string
	// Conversations has all prompts that the scripted model must have got. They aren't compared if there are none.
	Conversations []conversation
	Mutation      mutation // without this part of the responses the task must fail

	// More has further runs of the program. Such a run has a name and the fields from Models on, except Mutation. Its code is
	// that of the page's section Connect with the files of testdata/NAME, of which run.sh has the commands and trident.yaml
	// the settings of Trident.
	More []row
	page string // name of the page whose section Connect a further run has
}

// more returns the further runs with what the row knows about the program.
func (r *row) more() (more []row) {
	for _, m := range r.More {
		m.page, m.List, m.Commands = r.Name, r.List, r.Commands
		more = append(more, m)
	}
	return more
}

// decisionScripts returns the script of questions about an input: the scores of their answers.
func decisionScripts(input string) []script {
	return []script{{input, []object{{"scores": object{
		"it holds": 1, "it doesn't hold": 0, `"warm" - "not cold"`: 2, "true": 1, `"mild"`: 0, `"hot" - "above 60 degrees"`: 1, `"burning"`: 0,
	}}}}}
}

// call returns the step in which the model calls a tool.
func call(name string, arguments object) object {
	return object{"calls": []object{{"name": name, "arguments": arguments}}}
}

// text returns the step in which the model writes a text.
func text(s string) object { return object{"text": s} }

// notesServer is an MCP server on standard input and output, with one tool.
const notesServer = `import json
import sys

TOOL = {"name": "write_note", "description": "Writes a note.",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}
for line in sys.stdin:
    request = json.loads(line)
    method, parameters = request["method"], request.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": parameters["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "notes", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [TOOL]}
    elif method == "tools/call":
        with open("note.txt", "w") as note:
            written = note.write(parameters["arguments"]["text"])
        result = {"content": [{"type": "text", "text": f"{written} characters"}]}
    else:
        result = {}
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
`

func rows() []row { return slices.Concat(generatingRows(), retrievalRows()) }

// generatingRows returns the programs whose models write texts.
func generatingRows() []row {
	return []row{
		{
			Name: "openai-node", Program: "OpenAI's Node SDK", Package: "openai", Version: "7.57.0", List: sdkNode, Check: true,
			Hash: "sha512-RbmrdE5NdfW6nGq/FaCJ3KFCZpotoExPzruQUSMCTw/ouUFO08vpvVdSmgmPxQMFAiv9EXZCEXvcWYU+n6NzsQ==",
			Modules: map[string]string{
				"openai": "a303b467d6d982c906e157964c3b0ab7b0bc97694396d9f57a64ad3c2d0accfc",
			},
			Task:     "runTools calls a function that writes a file, in a streamed chat",
			Scripts:  []script{{"Note that the kettle is on.", []object{call("write_note", object{"text": "The kettle is on."}), text("Noted: {result}")}}},
			Prints:   []string{"Noted: 17 characters\n"},
			Files:    map[string]string{"note.txt": "The kettle is on."},
			Wire:     map[string]int{"POST /v1/chat/completions 200": 2},
			Mutation: mutation{Field: "tool_calls"},
			More: []row{{
				Name:    "openai-node-decisions",
				Models:  counted,
				Scripts: decisionScripts("The sauna is hot."),
				Prints:  []string{"true 0.7311\nwarm 0.7311 0.1601\n1.0000 mild 0.2119 hot 0.5761 burning 0.2119\n"},
				Wire:    map[string]int{"POST /v1/decisions 200": 1},
			}, {
				Name:   "openai-node-embeddings",
				Models: vectors,
				Prints: []string{"384 The cat sits on the mat.\ntrue\n"},
				Wire:   map[string]int{"POST /v1/embeddings 200": 1, "POST /v1/rerank 200": 1},
			}},
		},
		{
			Name: "openai", Program: "OpenAI's Python SDK", Package: "openai", Version: "3.57.0", List: "litellm",
			Hash:     "sha256:f97bc74024c06ced8428b56c4a3594066709d3082779bf9d0b4b6092fbf587a8",
			Task:     "decisions return the probabilities of a predicate, a choice and a score, in any order of the values",
			Models:   counted,
			Scripts:  decisionScripts("The forge is hot."),
			Prints:   []string{"true 0.7311\nwarm warm=0.7311 True=0.2689\nwarm True=0.2689 warm=0.7311\n1.0000 mild=0.2119 hot=0.5761 burning=0.2119\nanswers: 4, tokens: 4\n"},
			Wire:     map[string]int{"POST /v1/decisions 200": 1},
			Mutation: mutation{Field: "probability"},
		},
		{
			Name: "langchain-openai", Program: "LangChain's OpenAIDecisions", Package: "langchain-openai", Version: "1.7.4", List: "agents",
			Hash:     "sha256:aaee93369765bac7ebf640aab62f8ae16df403ed982737ae51f88f6a24a151ab",
			Task:     "decisions about a text and about a conversation return the probabilities of a predicate, a choice and a score",
			Models:   counted,
			Scripts:  decisionScripts("The stove is hot."),
			Prints:   []string{"0.7311 warm {'warm': 0.7311, True: 0.2689} 1.0 {0: 0.2119, 1: 0.5761, 2: 0.2119}\n0.7311 warm {'warm': 0.7311, True: 0.2689} 1.0 {0: 0.2119, 1: 0.5761, 2: 0.2119}\n"},
			Wire:     map[string]int{"POST /v1/decisions 200": 2},
			Mutation: mutation{Field: "confidence"},
		},
		{
			Name: "openai-agents", Program: "OpenAI's Agents SDK", Package: "openai-agents", Version: "0.24.0", List: "agents",
			Hash: "sha256:18d4ac34e84ed937333ec8ce46395ed3521ffcbb0a521780a4c2eaa451467f49",
			Task: "an agent hands a task to another agent, which writes a file, with both APIs",
			Scripts: []script{{"Note that the door is open.", []object{
				call("transfer_to_clerk", object{}), call("write_note", object{"text": "The door is open."}), text("Noted: {result}"),
			}}},
			Prints:   []string{"chat_completions Clerk Noted: 17 characters\n", "responses Clerk Noted: 17 characters\n"},
			Files:    map[string]string{"chat_completions.txt": "The door is open.", "responses.txt": "The door is open."},
			Wire:     map[string]int{"POST /v1/chat/completions 200": 3, "POST /v1/responses 200": 3},
			Ignored:  []string{"tools[0].function.strict", "tools[0].strict"},
			Mutation: mutation{Field: "name"},
		},
		{
			Name: "langgraph", Program: "LangGraph", Package: "langgraph", Version: "1.2.24", List: "agents",
			Hash:     "sha256:312f9a75c1aa0dde5571da32c5c24b891e726fa9781b835b956ec6d9746fa943",
			Task:     "a graph with a tool node writes a file, in streamed chats",
			Scripts:  []script{{"Note that the window is shut.", []object{call("write_note", object{"text": "The window is shut."}), text("Noted: {result}")}}},
			Prints:   []string{"Noted: 19 characters\n"},
			Files:    map[string]string{"note.txt": "The window is shut."},
			Wire:     map[string]int{"POST /v1/chat/completions 200": 2},
			Mutation: mutation{Field: "arguments"},
		},
		{
			Name: "pydantic-ai", Program: "Pydantic AI", Package: "pydantic-ai-slim", Extras: "[openai]", Version: "2.38.0", List: "agents",
			Hash: "sha256:58bcb7d574eca0f69831855b550236844172bb393d21f7c477faa1bb7d368822",
			Task: "an agent calls a tool and returns an object",
			Scripts: []script{{"How warm is the cellar?", []object{
				call("temperature", object{"room": "cellar"}), call("final_result", object{"room": "cellar", "degrees": 19}),
			}}},
			Prints:   []string{"Report(room='cellar', degrees=19)\n"},
			Wire:     map[string]int{"POST /v1/chat/completions 200": 2},
			Mutation: mutation{Field: "tool_calls"},
		},
		{
			Name: "instructor", Program: "instructor", Package: "instructor", Version: "1.17.0", List: "agents",
			Hash: "sha256:f6b1832d178e899ee0a6a3f247e221f19580fa525c815211c02447691d761217",
			Task: "each mode extracts an object from a text",
			Scripts: []script{{"Ada is 36 years old.", []object{{
				"calls": []object{{"name": "Person", "arguments": object{"name": "Ada", "age": 36}}}, "json": object{"name": "Ada", "age": 36},
			}}}},
			Prints: []string{
				"FUNCTIONS Person(name='Ada', age=36)\n", "TOOLS Person(name='Ada', age=36)\n", "TOOLS_STRICT Person(name='Ada', age=36)\n",
				"PARALLEL_TOOLS [Person(name='Ada', age=36)]\n", "JSON Person(name='Ada', age=36)\n", "JSON_O1 Person(name='Ada', age=36)\n",
				"MD_JSON Person(name='Ada', age=36)\n", "JSON_SCHEMA Person(name='Ada', age=36)\n", "RESPONSES_TOOLS Person(name='Ada', age=36)\n",
				"RESPONSES_TOOLS_WITH_INBUILT_TOOLS Person(name='Ada', age=36)\n",
			},
			Wire:     map[string]int{"POST /v1/chat/completions 200": 8, "POST /v1/responses 200": 2},
			Mutation: mutation{Field: "arguments"},
		},
		{
			Name: "llm", Program: "llm", Package: "llm", Version: "0.36", List: "agents",
			Hash: "sha256:801263d046854d15e3f45ee8da5024c23c313d129f67c7c93961649c531bb050",
			Task: "the command calls a function that writes a file, and fills a schema",
			Scripts: []script{
				{"Note that the lamp is off.", []object{call("write_note", object{"text": "The lamp is off."}), text("Noted: {result}")}},
				{"Grace is 85 years old.", []object{{"json": object{"name": "Grace", "age": 85}}}},
			},
			Prints:   []string{"Noted: 16 characters\n", `{"age": 85, "name": "Grace"}`},
			Files:    map[string]string{"note.txt": "The lamp is off."},
			Wire:     map[string]int{"POST /v1/chat/completions 200": 3},
			Mutation: mutation{Field: "content"},
		},
		{
			Name: "haystack", Program: "Haystack", Package: "haystack-ai", Version: "3.4.1", List: "agents",
			Hash:     "sha256:f9093156d534adcf92ef68d03601c11b67f0945e81b00e999504b68bce4fdd80",
			Task:     "an Agent with a tool writes a file",
			Scripts:  []script{{"Note that the gate is locked.", []object{call("write_note", object{"text": "The gate is locked."}), text("Noted: {result}")}}},
			Prints:   []string{"Noted: 19 characters\n"},
			Files:    map[string]string{"note.txt": "The gate is locked."},
			Wire:     map[string]int{"POST /v1/chat/completions 200": 2},
			Mutation: mutation{Field: "tool_calls"},
		},
		{
			Name: "anthropic", Program: "Anthropic's Python SDK", Package: "anthropic", Version: "2.14.0", List: "anthropic",
			Hash:   "sha256:5cf986851f61c0858ac88c6f7c28490369a68ff4a89c309849605b764da0664d",
			Task:   "the tool runner, a stream, a parsed object and the count of tokens work, each error raises its own class, and the SDK retries a refused request",
			Models: counted,
			Scripts: []script{
				{"Note that the oven is hot.", []object{call("write_note", object{"text": "The oven is hot."}), text("Noted: {result}")}},
				{"How are the owls?", []object{text("Awake.")}},
				{"Edsger is 72 years old.", []object{{"json": object{"name": "Edsger", "age": 72}}}},
			},
			Prints: []string{
				"Noted: 16 characters\nstreamed Awake. end_turn\nPerson(name='Edsger', age=72)\ncounted True ['chat']\nfirst Awake.\n" +
					"AuthenticationError authentication_error req_\nNotFoundError not_found_error req_\nBadRequestError invalid_request_error req_\n" +
					"ContentTooLargeError request_too_large req_\nRateLimitError rate_limit_error req_\nretried Awake.\n",
			},
			Files: map[string]string{"note.txt": "The oven is hot."},
			Wire: map[string]int{
				"POST /v1/messages 200": 6, "POST /v1/messages 400": 2, "POST /v1/messages 401": 1, "POST /v1/messages 404": 1, "POST /v1/messages 413": 1,
				"POST /v1/messages 429": 2, "POST /v1/messages/count_tokens 200": 1, "GET /v1/models 200": 1,
			},
			Retries:  map[string]int{"POST /v1/messages 429": 1},
			Mutation: mutation{Field: "input"},
			More:     []row{sdkErrors("anthropic-errors", "APIStatusError 200")},
		},
		{
			Name: "anthropic-node", Program: "Anthropic's TypeScript SDK", Package: "@anthropic-ai/sdk", Version: "1.14.0", List: node,
			Hash:    "sha512-nADYXUd5fn9Zgw2nHi1iKyt/kb1UUt1cN3RbdxEI6XjTDTxbx4LLG4GnMrxWyS9GgXQllFOyAKSiFM3joDNK9A==",
			Modules: map[string]string{"@anthropic-ai/sdk": "43c4b6fad567b581e788e36a9911db2be4951f759137e5093bdda9a7194d0001"},
			Task:    "the tool runner, a stream, a parsed object and the count of tokens work, each error raises its own class, and the SDK retries a refused request",
			Models:  counted,
			Scripts: []script{
				{"Note that the fridge is cold.", []object{call("write_note", object{"text": "The fridge is cold."}), text("Noted: {result}")}},
				{"How are the bats?", []object{text("Asleep.")}},
				{"Barbara is 86 years old.", []object{{"json": object{"name": "Barbara", "age": 86}}}},
			},
			Prints: []string{
				"Noted: 19 characters\nAsleep. end_turn\n{ name: 'Barbara', age: 86 }\ncounted true [ 'chat' ]\nfirst Asleep.\n" +
					"AuthenticationError authentication_error req_\nNotFoundError not_found_error req_\nBadRequestError invalid_request_error req_\n" +
					"ContentTooLargeError request_too_large req_\nRateLimitError rate_limit_error req_\nretried Asleep.\n",
			},
			Files: map[string]string{"note.txt": "The fridge is cold."},
			Wire: map[string]int{
				"POST /v1/messages 200": 6, "POST /v1/messages 400": 2, "POST /v1/messages 401": 1, "POST /v1/messages 404": 1, "POST /v1/messages 413": 1,
				"POST /v1/messages 429": 2, "POST /v1/messages/count_tokens 200": 1, "GET /v1/models 200": 1,
			},
			Retries:  map[string]int{"POST /v1/messages 429": 1},
			Mutation: mutation{Field: "input"},
			More:     []row{sdkErrors("anthropic-node-errors", "APIError undefined")},
		},
		{
			Name: "langchain-anthropic", Program: "LangChain's ChatAnthropic", Package: "langchain-anthropic", Version: "1.7.10", List: "anthropic",
			Hash: "sha256:9ba64332784bddedabbeb24f5f5759f2d0dfe58244e0ef07e313e039b21ecb1f",
			Task: "a model with a tool writes a file, in streamed messages, and returns an object",
			Scripts: []script{
				{"Note that the attic is dusty.", []object{call("write_note", object{"text": "The attic is dusty."}), text("Noted: {result}")}},
				{"Donald is 87 years old.", []object{{"json": object{"name": "Donald", "age": 87}}}},
			},
			Prints:   []string{"Noted: 19 characters\nPerson(name='Donald', age=87)\n"},
			Files:    map[string]string{"note.txt": "The attic is dusty."},
			Wire:     map[string]int{"POST /v1/messages 200": 3},
			Mutation: mutation{Field: "partial_json"},
		},
		{
			Name: "litellm-anthropic", Program: "LiteLLM with Anthropic's API", Package: "litellm", Version: "1.108.7", List: "litellm",
			Hash:   "sha256:0c8a062e285b793b110a44bae485a2beb83c21381a9e4c62001547f296b0e5af",
			Task:   "the library calls a tool, reads a stream, and raises its own class for each error",
			Models: locked,
			Scripts: []script{
				{"Ring the bell twice.", []object{call("bell", object{"times": 2}), text("Rung: {result}")}},
			},
			Prints:   []string{"Rung: {\"times\": 2}\nAuthenticationError\nNotFoundError\nBadRequestError\n"},
			Wire:     map[string]int{"POST /v1/messages 200": 2, "POST /v1/messages 400": 1, "POST /v1/messages 401": 1, "POST /v1/messages 404": 1},
			Mutation: mutation{Field: "input"},
		},
		{
			Name: "ai-sdk-anthropic", Program: "Vercel's AI SDK with Anthropic's API", Package: "@ai-sdk/anthropic", Version: "4.0.105", List: node,
			Hash:    "sha512-i6kmv6y+FGTBxOPtLRrb5I+92WcFFGubhd33CD0JeaSyFOnLJ8my4a9olkAgyR9fACHMzxFBmoEHd0uO4i72bA==",
			Modules: map[string]string{"ai": "49a05c8a784006eb12194616c4f376210d0025c3aa40abbc0be112311383c7d2", "@ai-sdk/anthropic": "492a983e02fff5c91f76bfd8284231f98a3f47c718d74a4b7c6f9c6df7404537"},
			Task:    "streamText calls a tool that writes a file, and generateText returns an object",
			Scripts: []script{
				{"Note that the sink is full.", []object{call("write_note", object{"text": "The sink is full."}), text("Noted: {result}")}},
				{"Frances is 88 years old.", []object{{"json": object{"name": "Frances", "age": 88}}}},
			},
			Prints:   []string{"Noted: 17 characters\n", "{ name: 'Frances', age: 88 }\n"},
			Files:    map[string]string{"note.txt": "The sink is full."},
			Wire:     map[string]int{"POST /v1/messages 200": 3},
			Ignored:  []string{"tools[0].eager_input_streaming"},
			Mutation: mutation{Field: "stop_reason"},
		},
		{
			Name: "llamaindex", Program: "LlamaIndex", Package: "llama-index-core", Version: "0.14.25", List: "llamaindex",
			Hash:     "sha256:caa7d9c5ac9b13dc33400cf8d5e92e689b6d1e4497eb9bfa50d6f52ca2eb22a1",
			Task:     "a FunctionAgent with a tool writes a file, in streamed chats",
			Scripts:  []script{{"Note that the stove is cold.", []object{call("write_note", object{"text": "The stove is cold."}), text("Noted: {result}")}}},
			Prints:   []string{"Noted: 18 characters\n"},
			Files:    map[string]string{"note.txt": "The stove is cold."},
			Wire:     map[string]int{"POST /v1/chat/completions 200": 2},
			Mutation: mutation{Field: "tool_calls"},
		},
		{
			Name: "semantic-kernel", Program: "Semantic Kernel", Package: "semantic-kernel", Version: "1.45.0", List: "semantickernel",
			Hash:     "sha256:57b744fa7dc00cc3c151145bc0420684346b72230ba6620a8fbdd7c6345b6f81",
			Task:     "a ChatCompletionAgent with a plugin writes a file",
			Scripts:  []script{{"Note that the cat is fed.", []object{call("Notes-write_note", object{"text": "The cat is fed."}), text("Noted: {result}")}}},
			Prints:   []string{"Noted: 15 characters\n"},
			Files:    map[string]string{"note.txt": "The cat is fed."},
			Wire:     map[string]int{"POST /v1/chat/completions 200": 2},
			Mutation: mutation{Field: "tool_calls"},
		},
		{
			Name: "ai-sdk", Program: "Vercel's AI SDK", Package: "ai", Version: "7.0.173", List: node,
			Hash: "sha512-dLea37zT1h7cjkUsBprU4Rq35HJqhtHHaq1jTAXjHQoyfpeswpgCrhjZJWdWc10gjEAxmz114py7iLGQ3xIMxw==",
			Modules: map[string]string{
				"ai":                        "49a05c8a784006eb12194616c4f376210d0025c3aa40abbc0be112311383c7d2",
				"@ai-sdk/openai-compatible": "dabbbd27481751ef8a9ead19bbe0f20e97b2bcc8fdece67bdd2330fa0c28d1db",
			},
			Task: "streamText calls a tool that writes a file, and generateText returns an object",
			Scripts: []script{
				{"Note that the tap is open.", []object{call("write_note", object{"text": "The tap is open."}), text("Noted: {result}")}},
				{"Alan is 41 years old.", []object{{"json": object{"name": "Alan", "age": 41}}}},
			},
			Prints:   []string{"Noted: 16 characters\n", "{ name: 'Alan', age: 41 }\n"},
			Files:    map[string]string{"note.txt": "The tap is open."},
			Wire:     map[string]int{"POST /v1/chat/completions 200": 3},
			Mutation: mutation{Field: "finish_reason"},
		},
		{
			Name: "aider", Program: "aider", Package: "aider-chat", Version: "0.86.2", List: "aider",
			Hash: "sha256:64f6a0c66c9f4633ad9f479bca3e64ebcba02b9da03c6b604b74a44736b2416e",
			Task: "the command edits a file",
			Scripts: []script{{"Let the program greet Bob.", []object{text(
				"greet.py\n```python\n<<<<<<< SEARCH\nprint(\"Hello, Ann\")\n=======\nprint(\"Hello, Bob\")\n>>>>>>> REPLACE\n```\n",
			)}}},
			Given:    map[string]string{"greet.py": "print(\"Hello, Ann\")\n"},
			Prints:   []string{"Applied edit to greet.py\n"},
			Files:    map[string]string{"greet.py": "print(\"Hello, Bob\")\n"},
			Wire:     map[string]int{"POST /v1/chat/completions 200": 1},
			Mutation: mutation{Field: "delta"},
		},
		{
			Name: "litellm", Program: "LiteLLM", Package: "litellm", Extras: "[proxy]", Version: "1.108.7", List: "litellm",
			Hash:    "sha256:0c8a062e285b793b110a44bae485a2beb83c21381a9e4c62001547f296b0e5af",
			Task:    "the library and the proxy chat, and the library raises its own class for each error",
			Models:  locked,
			Scripts: []script{{"Say that the bell rings.", []object{text("The bell rings.")}}},
			Ports:   []string{"4000"},
			Prints: []string{
				"The bell rings.\nTrue AuthenticationError\nTrue NotFoundError\nTrue BadRequestError\nTrue ContextWindowExceededError\n",
				`"content":"The bell rings."`,
			},
			Wire: map[string]int{
				"GET /v1/models 200": 1, "POST /v1/chat/completions 200": 2, "POST /v1/chat/completions 400": 2,
				"POST /v1/chat/completions 401": 1, "POST /v1/chat/completions 404": 1,
			},
			Mutation: mutation{Field: "choices"},
		},
		{
			Name: "codex", Program: "Codex CLI", Package: "@openai/codex", Version: "0.169.0", List: node,
			Hash: "sha512-KhzYlkKPxoNssR8CEm45IjqnFWn7UtlF4CiD3tOJPea51xBs7MaHy0UQG9GSbCqk6Lrjn5QdJDV0QD1/FgWlGw==",
			Modules: map[string]string{
				"@openai/codex":           "7f852d113825f833d3e8d857d394b8e7817f526343b8d73624857bb39ed2b184",
				"@openai/codex-linux-x64": "f2896ab27890f08c0a1850b970b7b126c94afe9ef305e64ef1d2069884eac954",
			},
			Task: "codex exec patches a file, runs a command, calls a tool of an MCP server, sends its earlier reasoning back to the model and compacts its history",
			Scripts: []script{
				{"Let the program greet Eve.", []object{
					call("apply_patch", object{"input": "*** Begin Patch\n*** Update File: greet.py\n@@\n-print(\"Hello, Ann\")\n+print(\"Hello, Eve\")\n*** End Patch\n"}),
					text("Patched: {result}"),
				}},
				{"Print the date of the moon landing.", []object{
					call("exec_command", object{"cmd": "echo 1969-07-20 > landing.txt; cat landing.txt"}), text("Printed: {result}"),
				}},
				{"Note that the boat is moored.", []object{call("mcp__notes__write_note", object{"text": "The boat is moored."}), text("Noted: {result}")}},
				{"Count the moons of Mars.", []object{{"think": "Phobos and Deimos orbit Mars.", "text": "Two moons."}}},
				{"Repeat your thought.", []object{text("Thought: {think}")}},
				{"Dig the tunnel.", []object{call("exec_command", object{"cmd": "echo dug > tunnel.txt"})}},
				{"CONTEXT CHECKPOINT COMPACTION", []object{text("Handed over: the tunnel is dug.")}},
				{"Handed over: the tunnel is dug.", []object{text("The history was compacted.")}},
			},
			Given: map[string]string{"greet.py": "print(\"Hello, Ann\")\n", "notes.py": notesServer},
			Prints: []string{
				"Patched: ", "Success. Updated the following files:\nM greet.py\n", "Printed: ", "\n1969-07-20\n", "Noted: ", "\n19 characters\n",
				"Two moons.\n", "Thought: Phobos and Deimos orbit Mars.\n", "The history was compacted.\n",
			},
			Files:    map[string]string{"greet.py": "print(\"Hello, Eve\")\n", "landing.txt": "1969-07-20\n", "tunnel.txt": "dug\n", "note.txt": "The boat is moored."},
			Wire:     map[string]int{"GET /v1/models 200": 6, "POST /v1/responses 200": 11},
			Ignored:  []string{"client_metadata", "tools[13]", "tools[6].format"}, // tools[13] is web_search
			Mutation: mutation{Event: "response.output_item.done"},
		},
		{
			Name: "claude-code", Program: "Claude Code", Package: "@anthropic-ai/claude-code", Version: "2.1.332", List: node,
			Hash: "sha512-tvSh6bLvEbd97APD31AnojOrRC3AmcRj5R8sF8QIQitu3x2ucOb1kKmTkGDw41kjva+CGJfpkt+wYouk6yv56Q==",
			Modules: map[string]string{
				"@anthropic-ai/claude-code":           "b985c3e4420cbf6631fbf797d34bfad2bf1bdca7f4a5ad07b9015faa9666a48a",
				"@anthropic-ai/claude-code-linux-x64": "36752100d3c6cdfdb340ce1c1e5de60934f80a869d797d14206a61018ad275e8",
			},
			Commands: map[string]string{"claude": "@anthropic-ai/claude-code-linux-x64/claude"},
			Task:     "claude -p reads, edits and runs a program in 21 turns, resumes the conversation with its reasoning, and compacts it",
			Scripts: []script{
				{"Let the program greet Zoe.", append(greetings("Ann", "Bea", "Cid", "Dan", "Eli", "Fay", "Gus", "Zoe"),
					object{"think": "Zoe was greeted.", "text": "The program printed: {result}"})},
				{"Recall your thought.", []object{text("Recalled: {think}")}},
				{"Your task is to create a detailed summary", []object{text("<analysis>{think}</analysis>\n<summary>Summary: {think}</summary>")}},
				{"Summary: Zoe was greeted.", append(greetings("Zoe", "Amy"), text("The conversation was compacted."))},
				{"Count the legs of a spider.", []object{text("Eight legs.")}},
			},
			Given:  map[string]string{"greet.py": "print(\"Hello, Ann\")\n"},
			Prints: []string{"The program printed: Hello, Zoe\n", "Recalled: Zoe was greeted.\n", "The conversation was compacted.\n", "Eight legs.\n\"id\":\"claude-chat\"\n"},
			Files: map[string]string{
				"greet.py":     "print(\"Hello, Amy\")\n",
				"greeting.txt": "Hello, Bea\nHello, Cid\nHello, Dan\nHello, Eli\nHello, Fay\nHello, Gus\nHello, Zoe\nHello, Amy\n",
			},
			Wire:    map[string]int{"POST /v1/messages 200": 29},
			Startup: []string{"GET /v1/models 200"},
			Ignored: []string{"anthropic-beta", "context_management", "system[0]", "tools[2].defer_loading"},
			Conversations: []conversation{
				// 21 turns with a tool and the last one, the continued conversation, and the request for the summary.
				{Task: "Let the program greet Zoe.", Prompts: 24, Last: []string{
					"\tprint(\"Hello, Gus\")", "Hello, Zoe", "Recall your thought.", "Your task is to create a detailed summary",
				}},
				{Task: "Summary: Zoe was greeted.", Prompts: 4, Last: []string{"\tprint(\"Hello, Zoe\")", "Hello, Amy"}, Continues: true},
				{Task: "Count the legs of a spider.", Prompts: 1},
			},
			Mutation: mutation{Event: "content_block_stop"},
			More:     claudeCodeRuns(),
		},
		{
			Name: "open-webui", Program: "Open WebUI", Package: "open-webui", Version: "0.12.4", List: "openwebui",
			Hash:    "sha256:02e9caba96234db3fa17a92e56163b3f7f2b8ca8227fa886b85c178d696483f6",
			Task:    "a program lists the models and chats through Open WebUI's own API, with and without streaming",
			Scripts: []script{{"Say that the sun sets.", []object{text("The sun sets.")}}},
			Ports:   []string{"8080"},
			Prints:  []string{"['chat']\nThe sun sets.\nThe sun sets.\n"},
			Wire: map[string]int{
				"GET /v1/models 200": 1, "POST /v1/chat/completions 200": 2,
			},
			Mutation: mutation{Field: "choices"},
		},
		{
			Name: "lm-eval", Program: "lm-evaluation-harness", Package: "lm-eval", Extras: "[api]", Version: "0.4.13", List: "lmeval",
			Hash:     "sha256:5daaa1973bf874005f64f28d3834b875f6886f0d6475878e6a6c821994a5286a",
			Task:     "the harness runs a task with generated answers on the demo model and scores it",
			Models:   demo,
			Prints:   []string{`"resps": [["The capital of Germany is Berlin."]]`, "|exact_match|↑  |    1|"},
			Wire:     map[string]int{"POST /v1/chat/completions 200": 3},
			Mutation: mutation{Field: "content"},
		},
		{
			Name: "lm-eval-loglikelihood", Program: "lm-evaluation-harness by log probabilities", Package: "lm-eval", Extras: "[api]", Version: "0.4.13", List: "lmeval",
			Hash:     "sha256:5daaa1973bf874005f64f28d3834b875f6886f0d6475878e6a6c821994a5286a",
			Task:     "the harness scores a multiple-choice task by the log probabilities of its answers; the accuracy equals the one computed without the harness",
			Models:   scored,
			Given:    tokenizerFiles(),
			Prints:   accuracies(),
			Wire:     map[string]int{"POST /v1/completions 200": 21},
			Mutation: mutation{Field: "token_logprobs"},
		},
	}
}
