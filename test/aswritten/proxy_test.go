package aswritten

// proxyReadme is the README of the Python proxy for TensorRT-LLM.
func proxyReadme() document {
	const (
		ready = "http://localhost:11434/health/ready"
		base  = "http://localhost:11434"
		chat  = `-H 'Content-Type: application/json' -d '{"model": "ensemble", "messages": [{"role": "user", "content": "Which way?"}]}'`
		both  = "/opt/tritonserver/bin/tritonserver --model-store /models/mymodel/model & /opt/tritonserver/bin/tritonopenaiserver --tokenizer_dir /models/mymodel/tokenizer --engine_dir /models/mymodel/engine"
	)
	path := func(line, request string, prints ...string) command {
		return command{Block: 1, Line: line, Runs: "curl -s " + request, Prints: prints, Outcome: passes}
	}
	paths := []command{
		path("GET|POST /v1/models (or /models)", base+"/v1/models", `"object":"list"`, `"id":"ensemble"`),
		path("GET|POST /v1/models (or /models)", "-X POST "+base+"/v1/models", `"object":"list"`, `"id":"ensemble"`),
		path("GET|POST /v1/models (or /models)", base+"/models", `"id":"ensemble"`),
		path("GET /v1/models/{model} (or /models/{model})", base+"/v1/models/ensemble", `"object":"model"`),
		path("GET /v1/models/{model} (or /models/{model})", base+"/models/ensemble", `"object":"model"`),
		path("POST /v1/chat/completions", base+"/v1/chat/completions "+chat, `"object":"chat.completion"`, `Which way\?`),
		{
			Block: 1, Line: "streaming supported", Runs: `curl -sN ` + base + `/v1/chat/completions -d '{"model": "ensemble", "stream": true, "stream_options": {"include_usage": true}, "messages": [{"role": "user", "content": "Which way?"}]}'`,
			Prints: []string{`"object":"chat.completion.chunk"`, `"usage":\{`, `data: \[DONE\]`}, Outcome: passes,
		},
		{
			Block: 1, Line: "(or /v1/completions)", Runs: "curl -s " + base + "/v1/completions " + chat, Prints: []string{`/v1/chat/completions|"object":"chat.completion"`}, Outcome: differs,
			Note: "Trident returns 400, which names the path for chats: [differences](from-tritonopenaiserver.md#what-differs)",
		},
	}
	return document{
		Title:      "triton-inference-server-openai-api",
		Repository: "visitsb/triton-inference-server-openai-api",
		Commit:     "918782d4caeb765e52e0fa82aeb3af8a0218f03f",
		File:       "README.md",
		Reads: []string{
			"/opt/tritonserver/bin/", "", "/models/mymodel/model", "models", "/models/mymodel", "mymodel",
		},
		Other: []int{6, 9},
		Groups: []group{
			{
				Name: "next to tritonserver", Models: []modelFolder{{"models/ensemble", ensembleModel}}, Triton: true,
				Commands: concat([]command{
					{Block: 2, Line: "docker image pull visitsb/tritonserver:24.07-trtllm-python-py3", Outcome: unrun, Note: needsImage},
					{Block: 3, Line: "docker buildx build --no-cache --tag myimages/tritonserver:24.07-trtllm-python-py3 .", Outcome: unrun, Note: needsImage},
					{
						Block: 4, Line: "/opt/tritonserver/bin/tritonopenaiserver --tokenizer_dir /models/mymodel/tokenizer --engine_dir /models/mymodel/engine",
						Runs: "/opt/tritonserver/bin/tritonopenaiserver --tokenizer_dir /models/mymodel/tokenizer --engine_dir /models/mymodel/engine", Ready: []string{ready}, Outcome: passes,
						Note: "A real tritonserver runs next to Trident",
					},
				}, paths, []command{
					{
						Block: 8, Line: "perf_analyzer -m llama3 --async --endpoint v1/chat/completions --service-kind openai", Runs: "sed s/llama-3.1-8b-instruct/ensemble/ inputs.json > ensemble.json && perf_analyzer -m ensemble --async --input-data ensemble.json --endpoint v1/chat/completions --service-kind openai -u localhost:11434 --measurement-interval 1000 --stability-percentage 999 -i http --concurrency-range 1",
						Prints: []string{`Throughput: [1-9]`}, Outcome: passes, Note: "reads its inputs from a file in the format that genai-perf writes",
					},
				}),
			},
			{
				Name: "both programs", Models: []modelFolder{{"models/ensemble", ensembleModel}},
				Commands: []command{
					{
						Block: 4, Line: both, Runs: both, Ready: []string{ready, kserveReady}, Outcome: passes,
						Note: "This is the second part of a command whose first part starts the image. The test starts no image: it runs this part with links to `trident` that have both names",
					},
					path("POST /v1/chat/completions", base+"/v1/chat/completions "+chat, `"object":"chat.completion"`, `Which way\?`),
					{
						Block: 7, Line: "perf_analyzer -m llama3 --async --service-kind triton -u triton:8001 --measurement-interval 4000 --stability-percentage 999 -i grpc --streaming --shape max_tokens:1 --shape text_input:1 --concurrency-range 1",
						Outcome: unrun, Note: "Today's `ensemble` has further inputs, and the command doesn't set their shapes",
					},
					{Block: 5, Line: "sh -c '/opt/tritonserver/bin/tritonserver --model-store /models/mymodel/model & /opt/tritonserver/bin/tritonopenaiserver --tokenizer_dir /models/mymodel/tokenizer --engine_dir /models/mymodel/engine'", Ready: []string{ready, kserveReady}, Outcome: passes, Note: "the command of `docker-compose.yml`"},
				},
			},
		},
	}
}
