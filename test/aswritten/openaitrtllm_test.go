package aswritten

// openaiTrtllmReadme is the README of openai_trtllm, with its clients and its templates of chats.
func openaiTrtllmReadme() document {
	const ready = "http://localhost:3000/health/ready"
	const conversation = "curl -s http://localhost:3000/v1/chat/completions -H 'Content-Type: application/json' -H 'Authorization: Bearer test' -d @conversation.json"
	ensemble := []modelFolder{{"models/ensemble", ensembleModel}}
	template := func(name, prompt string) []command {
		start := "trident -p 3000 --history-template-file templates/" + name + ".liquid"
		return []command{
			{Line: "--history-template-file templates/" + name + ".liquid", Runs: start, Source: "templates/" + name + ".liquid", Ready: []string{ready}, Outcome: passes},
			{Line: "a chat has the prompt of templates/" + name + ".liquid", Runs: conversation, Prints: []string{prompt}, Outcome: passes},
		}
	}
	return document{
		Title:      "openai_trtllm",
		Repository: "npuichigo/openai_trtllm",
		Commit:     "bfe9ae255a6b1c95fa42130a82856fb67e4d803b",
		File:       "README.md",
		Reads:      []string{"./target/release/openai_trtllm", "trident", "cargo run --release", "trident -p 3000"},
		Other:      []int{5},
		Groups: []group{
			{
				Name: "start", Models: ensemble, Triton: true,
				Commands: []command{
					{Block: 1, Line: "git clone --recursive https://github.com/npuichigo/openai_trtllm.git", Outcome: unrun, Note: installsPart},
					{Block: 2, Line: "cargo run --release", Ready: []string{ready}, Outcome: differs, Note: "Trident listens on port 9000 without `-p 3000`: [differences](from-openai-trtllm.md#what-differs)"},
					{Block: 3, Line: "./target/release/openai_trtllm --help", Prints: []string{`--host`, `--triton-endpoint`}, Outcome: passes, Note: "prints Trident's help"},
					{
						Line: "Trident starts with all flags of the proxy's help", Runs: "trident -H 0.0.0.0 -p 3000 -t http://localhost:8001 --history-template '{% for item in items %}{{ item.content }}{% endfor %}' --api-key test",
						Ready: []string{"http://localhost:3000/health/live"}, Outcome: passes,
					},
					{Line: "a request with the key succeeds", Runs: conversation, Prints: []string{`"content":"Be brief\.`}, Outcome: passes},
					{Line: "a request with another key gets 401", Runs: "curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer other' http://localhost:3000/v1/models", Prints: []string{"^401$"}, Outcome: passes},
					{Block: 4, Line: "docker compose build openai_trtllm docker compose up", Outcome: unrun, Note: needsImage + "; the next row has the arguments of the service"},
					{Line: "the command of docker-compose.yml", Source: "docker-compose.yml", Runs: "trident --host 0.0.0.0 --port 3000 --triton-endpoint http://localhost:8001", Ready: []string{ready}, Outcome: passes},
				},
			},
			{
				Name: "clients", Models: ensemble, Triton: true,
				Commands: []command{
					{Block: 2, Line: "cargo run --release", Ready: []string{ready}, Outcome: differs, Note: "Trident listens on port 9000 without `-p 3000`: [differences](from-openai-trtllm.md#what-differs)"},
					{
						Line: "client/openai_completion.py", Program: "completion.py", Source: "client/openai_completion.py",
						Prints: []string{`text='(Say this is a t|Name a test of a)`, `object='text_completion'`}, Outcome: passes,
					},
					{
						Line: "client/openai_completion_stream.py", Program: "completion_stream.py", Source: "client/openai_completion_stream.py",
						Prints: []string{`^(This is a story of a hero|Once there was a hero)`}, Outcome: passes,
					},
					{Line: "client/langchain_openai.py", Program: "langchain_llm.py", Outdated: true, Prints: []string{`USER: Answer as a do`}, Outcome: passes, Note: "uses the package langchain-openai, because LangChain no longer has `langchain.llms.OpenAI`"},
					{
						Line: "a start with a history template, which chats need", Runs: "trident -p 3000 --history-template-file templates/history_template.liquid", Ready: []string{ready}, Outcome: differs,
						Note: "Trident has no built-in template for chats: [differences](from-openai-trtllm.md#what-differs)",
					},
					{Line: "client/langchain_chat_openai.py", Program: "langchain_chat.py", Outdated: true, Prints: []string{`What is a model for\?`}, Outcome: passes, Note: "uses the package langchain-openai, because LangChain no longer has `langchain.chat_models.ChatOpenAI`"},
				},
			},
			{
				Name: "templates", Models: ensemble, Triton: true,
				Commands: concat(
					template("history_template", `"content":"System rules: Be brief\.\\nSystem: Answer in English\.\\nUser Ada: What is 2\+2\?\\nAssistant: 4\\nTool: exact\\nUser: Sure\?\\nASSISTANT:"`),
					template("history_template_baichuan", `System rules: Be brief\.\\n(.*)\\u003creserved_106\\u003e Ada: What is 2\+2\?\\n|System rules: Be brief\.\\n(.*)<reserved_106> Ada: What is 2\+2\?\\n`),
					template("history_template_custom_roles", `Robot rules: Be brief\.\\nRobot: Answer in English\.\\nCustomer Ada: What is 2\+2\?\\nSupport: 4\\nRobot: exact\\nCustomer: Sure\?\\nASSISTANT:`),
					template("history_template_llama3", `System(<|\\u003c)\|end_header_id\|`),
				),
			},
			{
				Name: "tracing", Models: ensemble, Triton: true, Collector: true,
				Commands: []command{
					{Block: 6, Line: "docker run --rm --name jaeger", Outcome: unrun, Note: "needs Docker and an image; in the next row, Trident sends traces to a collector of the test"},
					{Block: 7, Line: "OPENAI_TRTLLM_OTLP_ENDPOINT=http://localhost:4317 cargo run --release", Ready: []string{ready}, Outcome: differs, Note: "Trident listens on port 9000 without `-p 3000`: [differences](from-openai-trtllm.md#what-differs)"},
					{
						Line: "a completion is traced", Runs: `curl -s http://localhost:3000/v1/completions -d '{"model": "ensemble", "prompt": "Which way?"}'`,
						Prints: []string{`"object":"text_completion"`}, Traces: []string{"POST /v1/completions"}, Outcome: passes,
					},
				},
			},
		},
	}
}

func concat(lists ...[]command) (all []command) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}
