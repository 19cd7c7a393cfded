package aswritten

// vllmReadme is the README of Triton's vLLM backend, with its sample client.
func vllmReadme() document {
	return document{
		Title:      "Triton's vLLM backend",
		Repository: "triton-inference-server/vllm_backend",
		Commit:     "8de0c148bda1da25de1e05ffaaf67116dacc7264",
		File:       "README.md",
		Reads:      []string{"./samples/model_repository", "samples/model_repository"},
		Other:      []int{5, 7, 9, 10, 11, 12},
		Groups: []group{{
			Name: "the sample", Models: []modelFolder{{"samples/model_repository/vllm_model", vllmModel}},
			Commands: []command{
				{Block: 1, Line: "docker pull nvcr.io/nvidia/tritonserver:<xx.yy>-vllm-python-py3", Outcome: unrun, Note: needsImage},
				{Block: 2, Line: "./build.py -v --enable-logging", Outcome: unrun, Note: "builds Triton and its images with Docker"},
				{Block: 3, Line: "git clone https://github.com/triton-inference-server/vllm_backend.git /tmp/vllm_backend", Outcome: unrun, Note: "The command installs the backend, which needs vLLM. Trident loads the backend as tritonserver does: [vLLM](vllm.md)"},
				{
					Block: 4, Line: "tritonserver --model-repository ./samples/model_repository",
					Ready: []string{kserveReady}, Outcome: passes,
					Note: "This is the second part of a command whose first part starts NVIDIA's image. The test starts no image: it runs this part with a link `tritonserver` to `trident`",
				},
				{
					Block: 6, Line: `curl -X POST localhost:8000/v2/models/vllm_model/generate -d '{"text_input": "What is Triton Inference Server?", "parameters": {"stream": false, "temperature": 0}}'`,
					Prints: []string{`"model_name":"vllm_model"`, `"model_version":"1"`, `"text_output":"What is Triton Inference Server\?`}, Outcome: passes,
				},
				{
					Line: "samples/client.py", Program: "client.py", Source: "samples/client.py", Runs: "--input-prompts prompts.txt --results-file results.txt",
					Prints: []string{`PASS: vLLM example`}, Outcome: passes,
				},
				{
					Line: "samples/client.py --streaming-mode", Program: "client.py", Source: "samples/client.py", Runs: "--streaming-mode --exclude-inputs-in-outputs --input-prompts prompts.txt --results-file results.txt",
					Prints: []string{`PASS: vLLM example`}, Outcome: passes,
				},
				{Line: "the results file of the sample client has the answers", Runs: "cat results.txt", Prints: []string{`The capital of France is`, `(?s)=========.*=========`}, Outcome: passes},
				{
					Block: 8, Line: "curl localhost:8002/metrics", Prints: []string{`nv_inference_request_success\{model="vllm_model"`, `trident_requests_total`}, Outcome: passes,
					Note: "vLLM's own metrics need the real backend",
				},
			},
		}},
	}
}
