package aswritten

// Addresses of the documents that show when a server is ready.
const (
	frontendReady = "http://localhost:9000/health/ready"
	kserveReady   = "http://localhost:8000/v2/health/ready"
)

// Reasons that several commands share.
const (
	needsImage   = "needs Docker, a GPU and NVIDIA's image"
	installsPart = "installs the program that Trident replaces"
)

// frontendReadme is the README of Triton's OpenAI frontend.
func frontendReadme() document {
	const start = "python3 openai_frontend/main.py --model-repository tests/vllm_models --tokenizer meta-llama/Meta-Llama-3.1-8B-Instruct"
	llamaModel := modelFolder{"tests/vllm_models/llama-3.1-8b-instruct", vllmModel}
	return document{
		Title:      "Triton's OpenAI frontend",
		Repository: "triton-inference-server/server",
		Commit:     "e1db8a603d863b1317ee859bdeea2be19959462e",
		File:       "python/openai/README.md",
		Reads:      []string{"python3 openai_frontend/main.py", "trident", "/path/to/models", "models", "path/to/models", "models"},
		Other:      []int{3, 5, 7, 9, 13, 14, 17, 19, 24, 28, 30, 34, 36, 37, 42},
		Groups: []group{
			{
				Name: "vLLM", Check: true, Models: []modelFolder{llamaModel},
				Commands: []command{
					{Block: 1, Line: "docker run -it --net=host --gpus all --rm -v ${HOME}/.cache/huggingface:/root/.cache/huggingface -e HF_TOKEN nvcr.io/nvidia/tritonserver:26.07-vllm-python-py3", Outcome: unrun, Note: needsImage},
					{Block: 2, Line: start, Ready: []string{frontendReady}, Outcome: passes},
					{
						Block: 4, Line: `MODEL="llama-3.1-8b-instruct" curl -s http://localhost:9000/v1/chat/completions -H 'Content-Type: application/json' -d '{ "model": "'${MODEL}'", "messages": [{"role": "user", "content": "Say this is a test!"}] }' | jq`,
						Prints: []string{`"content": "Say this is a test!"`, `"object": "chat.completion"`, `"model": "llama-3.1-8b-instruct"`, `"finish_reason": "stop"`, `"prompt_tokens": \d+`}, Outcome: passes,
						Note: "the default length differs: [differences](from-triton-openai-frontend.md#what-differs)",
					},
					{
						Block: 6, Line: `MODEL="llama-3.1-8b-instruct" curl -s http://localhost:9000/v1/completions -H 'Content-Type: application/json' -d '{ "model": "'${MODEL}'", "prompt": "Machine learning is" }' | jq`,
						Prints: []string{`"text": "Machine learnin`, `"object": "text_completion"`, `"completion_tokens": 16`}, Outcome: passes,
					},
				},
			},
			{
				Name: "vLLM, programs", Models: []modelFolder{llamaModel},
				Commands: []command{
					{Block: 2, Line: start, Ready: []string{frontendReady}, Outcome: passes},
					{Block: 8, Line: `MODEL="llama-3.1-8b-instruct" TOKENIZER="meta-llama/Meta-Llama-3.1-8B-Instruct" genai-perf profile --model ${MODEL} --tokenizer ${TOKENIZER} --service-kind openai --endpoint-type chat --url localhost:9000 --streaming`, Outcome: unrun, Note: "genai-perf isn't installed; the next row is the command that genai-perf runs"},
					{
						Line: "perf_analyzer of genai-perf, with `--service-kind openai`", Runs: "perf_analyzer -m llama-3.1-8b-instruct --async --input-data inputs.json -i http --concurrency-range 1 --endpoint v1/chat/completions --service-kind openai -u localhost:9000 --measurement-interval 1000 --stability-percentage 999",
						Prints: []string{`Throughput: [1-9]`}, Outcome: passes,
					},
					{Block: 10, Line: "program with OpenAI's Python client", Program: "chat.py", Prints: []string{`(?m)^(What are LLMs\?|Which models are large\?)$`}, Outcome: passes},
					{Block: 11, Line: "cd /opt/tritonserver/python/openai/ pip install -r requirements-test.txt pytest -v tests/", Outcome: unrun, Note: "the tests start Triton's frontend themselves"},
				},
			},
			{
				Name: "LoRA adapters", Models: []modelFolder{{"models/gemma-2b", vllmModel}},
				Commands: []command{
					{Block: 12, Line: "python3 openai_frontend/main.py --lora-separator=_lora_", Runs: "trident --lora-separator=_lora_ --model-repository models", Ready: []string{frontendReady}, Outcome: passes},
					{Block: 12, Line: loraRequest("gemma-2b"), Prints: []string{`"model":"gemma-2b"`, `"text":"When was the`}, Outcome: passes},
					{Block: 12, Line: loraRequest("gemma-2b_lora_doll"), Prints: []string{`"model":"gemma-2b_lora_doll"`}, Outcome: passes},
					{Block: 12, Line: loraRequest("gemma-2b_lora_sheep"), Prints: []string{`"model":"gemma-2b_lora_sheep"`}, Outcome: passes},
					{Line: "GET /v1/models lists the adapters", Runs: "curl -s http://localhost:9000/v1/models", Prints: []string{`"id":"gemma-2b"`, `"id":"gemma-2b_lora_doll"`, `"id":"gemma-2b_lora_sheep"`}, Outcome: passes},
				},
			},
			{
				Name: "embedding models", Models: []modelFolder{{"tests/vllm_embedding_models/all-MiniLM-L6-v2", minilmModel}},
				Commands: []command{
					{Block: 15, Line: "docker run -it --net=host --gpus all --rm -v ${HOME}/.cache/huggingface:/root/.cache/huggingface -e HF_TOKEN nvcr.io/nvidia/tritonserver:26.07-vllm-python-py3", Outcome: unrun, Note: needsImage},
					{Block: 16, Line: "python3 openai_frontend/main.py --model-repository tests/vllm_embedding_models", Ready: []string{frontendReady}, Outcome: passes},
					{
						Block: 18, Line: `MODEL="all-MiniLM-L6-v2" curl -s http://localhost:9000/v1/embeddings -H 'Content-Type: application/json' -d '{ "model": "'${MODEL}'", "input": "The food was delicious and the waiter...", "dimensions": 10, "encoding_format": "float" }' | jq`,
						Prints: []string{`"object": "list"`, `"embedding": \[(\s+-?0\.\d+,){9}\s+-?0\.\d+\s+\]`, `"prompt_tokens": \d+`}, Outcome: passes,
					},
				},
			},
			{
				Name: "TensorRT-LLM", Models: []modelFolder{{"models/tensorrt_llm_bls", blsModel}},
				Commands: []command{
					{Block: 20, Line: "docker run -it --net=host --gpus all --rm -v ${HOME}/.cache/huggingface:/root/.cache/huggingface -e HF_TOKEN -e TRTLLM_ORCHESTRATOR=1 nvcr.io/nvidia/tritonserver:26.07-trtllm-python-py3", Outcome: unrun, Note: needsImage},
					{Block: 21, Line: "pip install /opt/tritonserver/python/triton*.whl", Outcome: unrun, Note: installsPart},
					{Block: 22, Line: "python3 openai_frontend/main.py --model-repository path/to/models --tokenizer meta-llama/Meta-Llama-3.1-8B-Instruct", Ready: []string{frontendReady}, Outcome: passes},
					{
						Block: 23, Line: `MODEL="tensorrt_llm_bls" curl -s http://localhost:9000/v1/chat/completions -H 'Content-Type: application/json' -d '{ "model": "'${MODEL}'", "messages": [{"role": "user", "content": "Say this is a test!"}] }' | jq`,
						Prints: []string{`"content": ".*Say this is a test!`, `"model": "tensorrt_llm_bls"`, `"object": "chat.completion"`}, Outcome: passes,
					},
				},
			},
			{
				Name: "KServe frontends", Models: []modelFolder{llamaModel},
				Commands: []command{
					{Block: 25, Line: start + " --enable-kserve-frontends", Ready: []string{frontendReady, kserveReady}, Outcome: passes},
				},
			},
			modelManagement(),
			toolCalling(start),
			{
				Name: "named tool calling", Models: []modelFolder{llamaModel},
				Commands: []command{
					{Block: 31, Line: start + " --tool-call-parser llama3", Ready: []string{frontendReady}, Outcome: passes},
					{
						Block: 35, Line: "program that forces a tool", Program: "named.py",
						Prints: []string{`function name: get_n_day_weather_forecast`, `function arguments: \{.*"num_days": ?\d+`, `tool calling result: `}, Outcome: passes,
					},
				},
			},
			restrictions(start),
			{
				Name: "request size", Models: []modelFolder{{"models/llama-3.1-8b-instruct", vllmModel}},
				Commands: []command{
					{Block: 41, Line: "python3 openai_frontend/main.py --model-repository /path/to/models --tokenizer meta-llama/Meta-Llama-3.1-8B-Instruct --http-max-input-size 67108864", Ready: []string{frontendReady}, Outcome: passes},
					{
						Line: "a request whose body exceeds the limit gets 413", Runs: `head -c 67108865 /dev/zero | curl -s -w '%{http_code}' -H 'Expect:' --data-binary @- http://localhost:9000/v1/completions`,
						Prints: []string{`413`, `67108864`}, Outcome: passes,
					},
				},
			},
		},
	}
}

// loraRequest is the request of the README for a model or an adapter.
func loraRequest(model string) string {
	return `curl -s http://localhost:9000/v1/completions -H 'Content-Type: application/json' -d '{ "model": "` + model + `", "temperature": 0, "prompt": "When was the wheel invented?" }'`
}

func modelManagement() group {
	const explicit = "python3 openai_frontend/main.py --model-repository /path/to/models --tokenizer meta-llama/Meta-Llama-3.1-8B-Instruct --model-control-mode explicit"
	const live = "http://localhost:9000/health/live"
	const list = "curl -s http://localhost:9000/v1/models"
	model := func(name string) string { return "http://localhost:9000/v1/models/" + name }
	return group{
		Name: "model management", Models: []modelFolder{{"models/llama-3.1-8b-instruct", vllmModel}, {"models/model-a", vllmModel}, {"models/model-b", vllmModel}},
		Commands: []command{
			{Block: 26, Line: explicit + " --load-model llama-3.1-8b-instruct", Ready: []string{model("llama-3.1-8b-instruct")}, Outcome: passes},
			{Block: 26, Line: explicit + " --load-model model-a --load-model model-b", Ready: []string{model("model-a"), model("model-b")}, Outcome: passes},
			{Block: 26, Line: explicit + " --load-model '*'", Ready: []string{model("model-a"), model("model-b"), model("llama-3.1-8b-instruct")}, Outcome: passes},
			{Block: 26, Line: explicit, Ready: []string{live}, Outcome: passes},
			{Line: "at the start, no model is loaded", Runs: list, Prints: []string{`"data":\[\]`}, Outcome: passes},
			{
				Block: 27, Line: `MODEL="llama-3.1-8b-instruct" curl -s -X POST http://localhost:9000/v1/models/${MODEL}/load | jq`,
				Prints: []string{`"id": "llama-3.1-8b-instruct"`, `"object": "model"`}, Outcome: passes,
			},
			{Line: "after the load, the model is listed", Runs: list, Prints: []string{`"id":"llama-3.1-8b-instruct"`}, Outcome: passes},
			{
				Block: 29, Line: `MODEL="llama-3.1-8b-instruct" curl -s -X POST http://localhost:9000/v1/models/${MODEL}/unload | jq`,
				Prints: []string{`"status": "success"`, `"model": "llama-3.1-8b-instruct"`}, Outcome: passes,
			},
		},
	}
}

func toolCalling(start string) group {
	return group{
		Name: "tool calling", Models: []modelFolder{{"tests/vllm_models/llama-3.1-8b-instruct", scriptedModel}},
		Commands: []command{
			{Block: 31, Line: start + " --tool-call-parser llama3", Ready: []string{frontendReady}, Outcome: passes},
			{Block: 32, Line: start + " --tool-call-parser llama3 --max-tool-call-parse-bytes 131072", Ready: []string{frontendReady}, Outcome: passes},
			{
				Block: 33, Line: "program that calls a tool", Program: "tool.py",
				Prints: []string{`function name: get_current_weather`, `function arguments: \{"city": ?"Dallas", ?"state": ?"TX", ?"unit": ?"fahrenheit"\}`, `tool calling result: `}, Outcome: passes,
			},
		},
	}
}

func restrictions(start string) group {
	const chat = ` -X POST http://localhost:9000/v1/chat/completions -d '{"model": "my-model", "messages": [{"role": "user", "content": "Hello"}]}'`
	const status = "curl -s -o /dev/null -w '%{http_code} ' "
	const models = " http://localhost:9000/v1/models; "
	return group{
		Name: "restricted APIs", Models: []modelFolder{{"tests/vllm_models/my-model", vllmModel}},
		Commands: []command{
			{Block: 38, Line: `--openai-restricted-api "inference api-key my-secret-key"`, Runs: start + ` --openai-restricted-api "inference api-key my-secret-key"`, Ready: []string{frontendReady}, Outcome: passes},
			{Block: 39, Line: `curl -H "api-key: my-secret-key"` + chat, Prints: []string{`"content":"Hello"`}, Outcome: passes},
			{Line: "the same request without the header gets 401", Runs: status + chat, Prints: []string{`^401`}, Outcome: passes},
			{
				Block: 40, Line: `--openai-restricted-api "inference user-key user-secret" --openai-restricted-api "model-repository admin-key admin-secret"`,
				Runs:  start + ` --openai-restricted-api "inference user-key user-secret" --openai-restricted-api "model-repository admin-key admin-secret"`,
				Ready: []string{frontendReady}, Outcome: passes,
			},
			{
				Line:   "each API accepts the header of its group, and refuses the header of the other group",
				Runs:   status + `-H "user-key: user-secret"` + chat + "; " + status + `-H "admin-key: admin-secret"` + chat + "; " + status + `-H "admin-key: admin-secret"` + models + status + `-H "user-key: user-secret"` + models,
				Prints: []string{`^200 401 200 401 $`}, Outcome: passes,
			},
			{
				Block: 40, Line: `--openai-restricted-api "inference,model-repository shared-key shared-secret"`,
				Runs:  start + ` --openai-restricted-api "inference,model-repository shared-key shared-secret"`,
				Ready: []string{frontendReady}, Outcome: passes,
			},
			{Line: "both APIs accept the header, and refuse requests without it", Runs: status + `-H "shared-key: shared-secret"` + chat + "; " + status + `-H "shared-key: shared-secret"` + models + status + models, Prints: []string{`^200 200 401 $`}, Outcome: passes},
		},
	}
}
