package clients

// catQuestion is a query of the programs, about documents on the pages.
const catQuestion = "Where does the cat sit?"

// retrievalRows returns the programs that embed, rank and classify texts. Their models are trained, except for the
// classifiers.
func retrievalRows() []row {
	return []row{
		{
			Name: "openai-embeddings", Program: "OpenAI's Python SDK for embeddings", Package: "openai", Version: "3.57.0", List: "litellm",
			Hash:     "sha256:f97bc74024c06ced8428b56c4a3594066709d3082779bf9d0b4b6092fbf587a8",
			Task:     "texts with the same meaning have similar vectors, vectors can have fewer dimensions, an image and its description have similar vectors, and a classifier moderates a text",
			Models:   encoded,
			Prints:   []string{"384 near\n64\n", "\nred\n"},
			Wire:     map[string]int{"POST /v1/embeddings 200": 4, "POST /v1/moderations 200": 1},
			Mutation: mutation{Field: "embedding"},
		},
		{
			Name: "cohere", Program: "Cohere's Python SDK", Package: "cohere", Version: "7.3.1", List: "cohere",
			Hash:     "sha256:89fff06d20c0e70c96678948599c0fb9e7d5e4241c2592a16fdd111a84e11d5a",
			Task:     "documents are ranked, the response has the billed units, and an unknown model raises `NotFoundError`",
			Models:   encoded,
			Prints:   []string{"The cat sits on the mat.\n", "search units: 1", "404\n"},
			Wire:     map[string]int{"POST /v2/rerank 200": 1, "POST /v2/rerank 404": 1},
			Mutation: mutation{Field: "relevance_score"},
		},
		{
			Name: "huggingface-hub", Program: "Hugging Face's InferenceClient", Package: "huggingface-hub", Version: "2.4.0", List: "cohere",
			Hash:   "sha256:42ecfd93ede47bdd333daebbf66a32d7bfe2e18752754fe4d2d4f98a0179d801",
			Task:   "texts are embedded, compared and classified through the API of text-embeddings-inference",
			Models: encoded,
			Prints: []string{"(2, 384) 1.0\nnear\nscience "},
			Wire: map[string]int{
				"POST /tei/embedding 200": 2, "POST /tei/topics 200": 1,
			},
			Ignored:  []string{"parameters"},
			Mutation: mutation{Field: "score"},
		},
		{
			Name: "infinity", Program: "infinity's Python client", Package: "infinity-client", Version: "0.0.78", List: "infinity",
			Hash:     "sha256:25564115601026d5651d86e8189e52de08d19fb61f223deddd195805679e52dc",
			Task:     "texts and an image are embedded, and texts are ranked and classified",
			Models:   encoded,
			Prints:   []string{"384\nThe cat sits on the mat.\n", "\nred\n"},
			Wire:     map[string]int{"POST /infinity/embeddings 200": 3, "POST /infinity/rerank 200": 1, "POST /infinity/classify 200": 1},
			Mutation: mutation{Field: "index"},
		},
		{
			Name: "open-webui-rerank", Program: "Open WebUI with a reranker", Package: "open-webui", Version: "0.12.4", List: "openwebui",
			Hash:     "sha256:02e9caba96234db3fa17a92e56163b3f7f2b8ca8227fa886b85c178d696483f6",
			Task:     "passages are found by vectors and by words, and the best ones are selected by Open WebUI's external reranker",
			Models:   encoded,
			Ports:    []string{"8080"},
			Prints:   []string{"The cat sits on the mat. True\n"},
			Wire:     map[string]int{"POST /v1/embeddings 200": 4, "POST /v1/rerank 200": 1},
			Mutation: mutation{Field: "relevance_score"},
		},
		{
			Name: "litellm-rerank", Program: "LiteLLM with rerankers", Package: "litellm", Version: "1.108.7", List: "litellm",
			Hash:   "sha256:0c8a062e285b793b110a44bae485a2beb83c21381a9e4c62001547f296b0e5af",
			Task:   "documents are ranked through the APIs of vLLM, Cohere, infinity and Jina",
			Models: encoded,
			Prints: []string{"hosted_vllm ['The cat sits on the mat.'", "cohere ['The cat sits on the mat.'", "infinity ['The cat sits on the mat.'", "jina_ai ['The cat sits on the mat.'", "\n384\n"},
			Wire: map[string]int{
				"POST /rerank 200": 1, "POST /v2/rerank 200": 1, "POST /infinity/rerank 200": 1, "POST /v1/rerank 200": 1, "POST /v1/embeddings 200": 1,
			},
			Mutation: mutation{Field: "results"},
		},
		{
			Name: "langchain-retrieval", Program: "RAG with LangChain", Package: "langchain-cohere", Version: "0.6.0", List: "retrieval",
			Hash:     "sha256:524bc2f390b96a0b1bb98ec6e97f209fe7cd1654e6608e6e89db2e78b6c75838",
			Task:     "documents are found by vectors, the best one is selected by a reranker, and a chat model answers",
			Models:   encoded,
			Scripts:  []script{{catQuestion, []object{text("On the mat.")}}},
			Prints:   []string{"The cat sits on the mat.\nOn the mat.\n"},
			Wire:     map[string]int{"POST /v1/embeddings 200": 2, "POST /v2/rerank 200": 1, "POST /v1/chat/completions 200": 1},
			Mutation: mutation{Field: "relevance_score"},
		},
		{
			Name: "llamaindex-retrieval", Program: "RAG with LlamaIndex", Package: "llama-index-embeddings-openai-like", Version: "0.4.0", List: "retrieval",
			Hash:     "sha256:b847b4c58388e1faf197a037c63917082d40a05cb3b551641d61e8567fa66828",
			Task:     "documents are found by vectors, and the best one is selected by a reranker with the API of text-embeddings-inference",
			Models:   encoded,
			Prints:   []string{"The cat sits on the mat.\n"},
			Wire:     map[string]int{"POST /v1/embeddings 200": 2, "POST /tei/reranker/rerank 200": 1},
			Mutation: mutation{Field: "score"},
		},
		{
			Name: "haystack-retrieval", Program: "RAG with Haystack", Package: "haystack-ai", Version: "3.4.1", List: "retrieval",
			Hash:     "sha256:f9093156d534adcf92ef68d03601c11b67f0945e81b00e999504b68bce4fdd80",
			Task:     "documents are found by vectors, and ranked by the rankers for text-embeddings-inference and Cohere",
			Models:   encoded,
			Prints:   []string{"HuggingFaceTEIRanker ", "CohereRanker ", "The cat sits on the mat.\n"},
			Wire:     map[string]int{"POST /v1/embeddings 200": 2, "POST /rerank 200": 1, "POST /v2/rerank 200": 1},
			Mutation: mutation{Field: "embedding"},
		},
	}
}
