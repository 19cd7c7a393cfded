package auth

import "github.com/trident-inference/trident/services/inference"

// byPattern has the records of all routes by pattern, except those of Anthropic's API.
var byPattern = func() map[string]*Record { //nolint:gochecknoglobals // a constant table
	all := map[string]*Record{}
	add := func(r Record) { all[r.Pattern] = &r }
	for _, r := range openaiRecords {
		r.API, r.Surface = OpenAI, inference.SurfaceOpenAI
		add(r.counted())
	}
	for _, r := range restRecords {
		r.API, r.Surface = REST, inference.SurfaceKServe
		add(r.counted())
	}
	for _, r := range encoderRecords {
		r.API, r.Surface = Encoders, inference.SurfaceEncoders
		add(r)
	}
	for _, of := range procedures {
		for _, r := range of.methods {
			r.Name = "/" + of.service + "/" + r.Name
			r.API, r.Pattern, r.Surface = Procedure, r.Name, of.surface
			add(r)
		}
	}
	for _, r := range pages {
		add(r)
	}
	return all
}()

// counted sets the Surface of health probes of the whole server, so that metrics count them
// separately.
func (r Record) counted() Record {
	if r.Access == Open {
		r.Surface = SurfaceHealth
	}
	return r
}

// ofAnthropic has the records of Anthropic's API by pattern. Some of its patterns are those of OpenAI's
// API: a header distinguishes the requests.
var ofAnthropic = func() map[string]*Record { //nolint:gochecknoglobals // a constant table
	all := map[string]*Record{}
	for _, r := range anthropicRecords {
		r.API, r.Surface = Anthropic, inference.SurfaceAnthropic
		all[r.Pattern] = &r
	}
	return all
}()

var anthropicRecords = []Record{ //nolint:gochecknoglobals // a constant table
	{Name: "createMessage", Pattern: "POST /v1/messages", Group: Inference, Effect: Runs, Cost: Model},
	{Name: "countMessageTokens", Pattern: "POST /v1/messages/count_tokens", Group: Inference, Effect: Runs, Cost: Tokenizer},
	{Name: "listModels", Pattern: "GET /v1/models", Group: Repository, Effect: Reads, Cost: Metadata},
	{Name: "retrieveModel", Pattern: "GET /v1/models/{model_id}", Group: Repository, Effect: Reads, Cost: Metadata},
}

var encoderRecords = []Record{ //nolint:gochecknoglobals // a constant table
	{Name: "rerank", Pattern: "POST /v1/rerank", Group: Embedding, Effect: Runs, Cost: Model},
	{Name: "rerankV2", Pattern: "POST /v2/rerank", Group: Embedding, Effect: Runs, Cost: Model},
	{Name: "score", Pattern: "POST /v1/score", Group: Embedding, Effect: Runs, Cost: Model},
	{Name: "classify", Pattern: "POST /v1/classify", Group: Embedding, Effect: Runs, Cost: Model},
	{Name: "createModeration", Pattern: "POST /v1/moderations", Group: Embedding, Effect: Runs, Cost: Model},
	{Name: "pool", Pattern: "POST /pooling", Group: Embedding, Effect: Runs, Cost: Model},
	{Name: "teiRun", Pattern: "POST /tei/{model}", Group: Embedding, Effect: Runs, Cost: Model},
	{Name: "teiEmbed", Pattern: "POST /tei/{model}/embed", Group: Embedding, Effect: Runs, Cost: Model},
	{Name: "teiEmbedAll", Pattern: "POST /tei/{model}/embed_all", Group: Embedding, Effect: Runs, Cost: Model},
	{Name: "teiEmbedSparse", Pattern: "POST /tei/{model}/embed_sparse", Group: Embedding, Effect: Runs, Cost: Model},
	{Name: "teiPredict", Pattern: "POST /tei/{model}/predict", Group: Embedding, Effect: Runs, Cost: Model},
	{Name: "teiRerank", Pattern: "POST /tei/{model}/rerank", Group: Embedding, Effect: Runs, Cost: Model},
	{Name: "teiSimilarity", Pattern: "POST /tei/{model}/similarity", Group: Embedding, Effect: Runs, Cost: Model},
	{Name: "teiInfo", Pattern: "GET /tei/{model}/info", Group: Repository, Effect: Reads, Cost: Metadata},
	{Name: "infinityRerank", Pattern: "POST /infinity/rerank", Group: Embedding, Effect: Runs, Cost: Model},
	{Name: "infinityClassify", Pattern: "POST /infinity/classify", Group: Embedding, Effect: Runs, Cost: Model},
}

var openaiRecords = []Record{ //nolint:gochecknoglobals // a constant table
	{Name: "createChatCompletion", Pattern: "POST /v1/chat/completions", Group: Inference, Effect: Runs, Cost: Model},
	{Name: "createCompletion", Pattern: "POST /v1/completions", Group: Inference, Effect: Runs, Cost: Model},
	{Name: "createEmbedding", Pattern: "POST /v1/embeddings", Group: Embedding, Effect: Runs, Cost: Model},
	{Name: "createDecision", Pattern: "POST /v1/decisions", Group: Inference, Effect: Runs, Cost: Model},
	{Name: "tokenize", Pattern: "POST /v1/tokenize", Group: Inference, Effect: Runs, Cost: Tokenizer},
	{Name: "countChatInputTokens", Pattern: "POST /v1/chat/completions/input_tokens", Group: Inference, Effect: Runs, Cost: Tokenizer},
	{Name: "renderChatCompletion", Pattern: "POST /v1/chat/completions/render", Group: Inference, Effect: Runs, Cost: Tokenizer},
	{Name: "renderCompletion", Pattern: "POST /v1/completions/render", Group: Inference, Effect: Runs, Cost: Tokenizer},
	{Name: "detokenize", Pattern: "POST /v1/detokenize", Group: Inference, Effect: Runs, Cost: Tokenizer},
	{Name: "createResponse", Pattern: "POST /v1/responses", Group: Inference, Effect: Runs, Cost: Model},
	{Name: "countResponseInputTokens", Pattern: "POST /v1/responses/input_tokens", Group: Inference, Effect: Runs, Cost: Tokenizer},
	{Name: "retrieveResponse", Pattern: "GET /v1/responses/{response_id}", Group: Inference, Effect: Reads, Cost: Metadata},
	{Name: "deleteResponse", Pattern: "DELETE /v1/responses/{response_id}", Group: Inference, Effect: Changes, Cost: Metadata},
	{Name: "listResponseInputItems", Pattern: "GET /v1/responses/{response_id}/input_items", Group: Inference, Effect: Reads, Cost: Metadata},
	{Name: "cancelResponse", Pattern: "POST /v1/responses/{response_id}/cancel", Group: Inference, Effect: Changes, Cost: Metadata},
	{Name: "listModels", Pattern: "GET /v1/models", Group: Repository, Effect: Reads, Cost: Metadata},
	{Name: "retrieveModel", Pattern: "GET /v1/models/{model}", Group: Repository, Effect: Reads, Cost: Metadata},
	{Name: "loadModel", Pattern: "POST /v1/models/{model}/load", Group: Repository, Effect: Changes, Cost: Loading},
	{Name: "unloadModel", Pattern: "POST /v1/models/{model}/unload", Group: Repository, Effect: Changes, Cost: Loading},
	{Name: "checkLive", Pattern: "GET /health/live", Access: Open, Group: Health, Effect: Reads, Cost: Constant},
	{Name: "checkReady", Pattern: "GET /health/ready", Access: Open, Group: Health, Effect: Reads, Cost: Constant},
	{Name: "checkStartup", Pattern: "GET /health/startup", Access: Open, Group: Health, Effect: Reads, Cost: Constant},
	{Name: "getVersion", Pattern: "GET /version", Group: Health, Effect: Reads, Cost: Constant},
}

var restRecords = []Record{ //nolint:gochecknoglobals // a constant table
	{Name: "getServerMetadata", Pattern: "GET /v2", Group: Repository, KServe: KServeMetadata, Effect: Reads, Cost: Metadata},
	{Name: "checkServerLive", Pattern: "GET /v2/health/live", Access: Open, Group: Health, KServe: KServeHealth, Effect: Reads, Cost: Constant},
	{Name: "checkServerReady", Pattern: "GET /v2/health/ready", Access: Open, Group: Health, KServe: KServeHealth, Effect: Reads, Cost: Constant},
	{Name: "getAllStatistics", Pattern: "GET /v2/models/stats", Group: Repository, KServe: KServeStatistics, Effect: Reads, Cost: Metadata},
	{Name: "getModelMetadata", Pattern: "GET /v2/models/{model}", Group: Repository, KServe: KServeMetadata, Effect: Reads, Cost: Metadata},
	{Name: "checkModelReady", Pattern: "GET /v2/models/{model}/ready", Group: Health, KServe: KServeHealth, Effect: Reads, Cost: Metadata},
	{Name: "getModelConfig", Pattern: "GET /v2/models/{model}/config", Group: Repository, KServe: KServeModelConfig, Effect: Reads, Cost: Metadata},
	{Name: "getModelStatistics", Pattern: "GET /v2/models/{model}/stats", Group: Repository, KServe: KServeStatistics, Effect: Reads, Cost: Metadata},
	{Name: "inferModel", Pattern: "POST /v2/models/{model}/infer", Group: Inference, KServe: KServeInference, Effect: Runs, Cost: Model},
	{Name: "generateModel", Pattern: "POST /v2/models/{model}/generate", Group: Inference, KServe: KServeInference, Effect: Runs, Cost: Model},
	{Name: "generateStreamModel", Pattern: "POST /v2/models/{model}/generate_stream", Group: Inference, KServe: KServeInference, Effect: Runs, Cost: Model},
	{Name: "getModelVersionMetadata", Pattern: "GET /v2/models/{model}/versions/{version}", Group: Repository, KServe: KServeMetadata, Effect: Reads, Cost: Metadata},
	{Name: "checkModelVersionReady", Pattern: "GET /v2/models/{model}/versions/{version}/ready", Group: Health, KServe: KServeHealth, Effect: Reads, Cost: Metadata},
	{Name: "getModelVersionConfig", Pattern: "GET /v2/models/{model}/versions/{version}/config", Group: Repository, KServe: KServeModelConfig, Effect: Reads, Cost: Metadata},
	{Name: "getModelVersionStatistics", Pattern: "GET /v2/models/{model}/versions/{version}/stats", Group: Repository, KServe: KServeStatistics, Effect: Reads, Cost: Metadata},
	{Name: "inferModelVersion", Pattern: "POST /v2/models/{model}/versions/{version}/infer", Group: Inference, KServe: KServeInference, Effect: Runs, Cost: Model},
	{Name: "generateModelVersion", Pattern: "POST /v2/models/{model}/versions/{version}/generate", Group: Inference, KServe: KServeInference, Effect: Runs, Cost: Model},
	{Name: "generateStreamModelVersion", Pattern: "POST /v2/models/{model}/versions/{version}/generate_stream", Group: Inference, KServe: KServeInference, Effect: Runs, Cost: Model},
	{Name: "getModelTraceSetting", Pattern: "GET /v2/models/{model}/trace/setting", KServe: KServeTrace, Effect: Reads, Cost: Metadata},
	{Name: "setModelTraceSetting", Pattern: "POST /v2/models/{model}/trace/setting", KServe: KServeTrace, Effect: Changes, Cost: Metadata},
	{Name: "getTraceSetting", Pattern: "GET /v2/trace/setting", Access: Operator, KServe: KServeTrace, Effect: Reads, Cost: Metadata},
	{Name: "setTraceSetting", Pattern: "POST /v2/trace/setting", Access: Operator, KServe: KServeTrace, Effect: Changes, Cost: Metadata},
	{Name: "getLogSettings", Pattern: "GET /v2/logging", Access: Operator, KServe: KServeLogging, Effect: Reads, Cost: Metadata},
	{Name: "setLogSettings", Pattern: "POST /v2/logging", Access: Operator, KServe: KServeLogging, Effect: Changes, Cost: Metadata},
	{Name: "indexRepository", Pattern: "POST /v2/repository/index", Group: Repository, KServe: KServeRepository, Effect: Reads, Cost: Metadata},
	{Name: "loadModel", Pattern: "POST /v2/repository/models/{model}/load", Group: Repository, KServe: KServeRepository, Effect: Changes, Cost: Loading},
	{Name: "unloadModel", Pattern: "POST /v2/repository/models/{model}/unload", Group: Repository, KServe: KServeRepository, Effect: Changes, Cost: Loading},
	{Name: "indexNamedRepository", Pattern: "POST /v2/repository/{repository}/index", Group: Repository, KServe: KServeRepository, Effect: Reads, Cost: Metadata},
	{Name: "loadModelOfRepository", Pattern: "POST /v2/repository/{repository}/models/{model}/load", Group: Repository, KServe: KServeRepository, Effect: Changes, Cost: Loading},
	{Name: "unloadModelOfRepository", Pattern: "POST /v2/repository/{repository}/models/{model}/unload", Group: Repository, KServe: KServeRepository, Effect: Changes, Cost: Loading},
	{Name: "getSystemSharedMemoryStatus", Pattern: "GET /v2/systemsharedmemory/status", Access: Operator, KServe: KServeSharedMemory, Effect: Reads, Cost: Metadata},
	{Name: "registerSystemSharedMemory", Pattern: "POST /v2/systemsharedmemory/register", Access: Operator, KServe: KServeSharedMemory, Effect: Changes, Cost: Metadata},
	{Name: "unregisterSystemSharedMemory", Pattern: "POST /v2/systemsharedmemory/unregister", Access: Operator, KServe: KServeSharedMemory, Effect: Changes, Cost: Metadata},
	{Name: "getSystemSharedMemoryRegionStatus", Pattern: "GET /v2/systemsharedmemory/region/{region}/status", Access: Operator, KServe: KServeSharedMemory, Effect: Reads, Cost: Metadata},
	{Name: "registerSystemSharedMemoryRegion", Pattern: "POST /v2/systemsharedmemory/region/{region}/register", Access: Operator, KServe: KServeSharedMemory, Effect: Changes, Cost: Metadata},
	{Name: "unregisterSystemSharedMemoryRegion", Pattern: "POST /v2/systemsharedmemory/region/{region}/unregister", Access: Operator, KServe: KServeSharedMemory, Effect: Changes, Cost: Metadata},
	{Name: "getCUDASharedMemoryStatus", Pattern: "GET /v2/cudasharedmemory/status", Access: Operator, KServe: KServeSharedMemory, Effect: Reads, Cost: Metadata},
	{Name: "registerCUDASharedMemory", Pattern: "POST /v2/cudasharedmemory/register", Access: Operator, KServe: KServeSharedMemory, Effect: Changes, Cost: Metadata},
	{Name: "unregisterCUDASharedMemory", Pattern: "POST /v2/cudasharedmemory/unregister", Access: Operator, KServe: KServeSharedMemory, Effect: Changes, Cost: Metadata},
	{Name: "getCUDASharedMemoryRegionStatus", Pattern: "GET /v2/cudasharedmemory/region/{region}/status", Access: Operator, KServe: KServeSharedMemory, Effect: Reads, Cost: Metadata},
	{Name: "registerCUDASharedMemoryRegion", Pattern: "POST /v2/cudasharedmemory/region/{region}/register", Access: Operator, KServe: KServeSharedMemory, Effect: Changes, Cost: Metadata},
	{Name: "unregisterCUDASharedMemoryRegion", Pattern: "POST /v2/cudasharedmemory/region/{region}/unregister", Access: Operator, KServe: KServeSharedMemory, Effect: Changes, Cost: Metadata},
}

// procedures are the methods of each service; Name is the method's name here.
// TraceSetting and the loads have further requirements, which depend on the message of
// a call. The frontend checks these requirements.
var procedures = []struct { //nolint:gochecknoglobals // a constant table
	service string
	surface inference.Surface
	methods []Record
}{
	{"inference.GRPCInferenceService", inference.SurfaceKServe, []Record{
		{Name: "ServerLive", Access: Open, Group: Health, KServe: KServeHealth, Effect: Reads, Cost: Constant},
		{Name: "ServerReady", Access: Open, Group: Health, KServe: KServeHealth, Effect: Reads, Cost: Constant},
		{Name: "ModelReady", Group: Health, KServe: KServeHealth, Effect: Reads, Cost: Metadata},
		{Name: "ServerMetadata", Group: Repository, KServe: KServeMetadata, Effect: Reads, Cost: Metadata},
		{Name: "ModelMetadata", Group: Repository, KServe: KServeMetadata, Effect: Reads, Cost: Metadata},
		{Name: "ModelInfer", Group: Inference, KServe: KServeInference, Effect: Runs, Cost: Model},
		{Name: "ModelStreamInfer", Group: Inference, KServe: KServeInference, Effect: Runs, Cost: Model, Renews: true},
		{Name: "ModelConfig", Group: Repository, KServe: KServeModelConfig, Effect: Reads, Cost: Metadata},
		{Name: "ModelStatistics", Group: Repository, KServe: KServeStatistics, Effect: Reads, Cost: Metadata},
		{Name: "RepositoryIndex", Group: Repository, KServe: KServeRepository, Effect: Reads, Cost: Metadata},
		{Name: "RepositoryModelLoad", Group: Repository, KServe: KServeRepository, Effect: Changes, Cost: Loading},
		{Name: "RepositoryModelUnload", Group: Repository, KServe: KServeRepository, Effect: Changes, Cost: Loading},
		{Name: "SystemSharedMemoryStatus", Access: Operator, KServe: KServeSharedMemory, Effect: Reads, Cost: Metadata},
		{Name: "SystemSharedMemoryRegister", Access: Operator, KServe: KServeSharedMemory, Effect: Changes, Cost: Metadata},
		{Name: "SystemSharedMemoryUnregister", Access: Operator, KServe: KServeSharedMemory, Effect: Changes, Cost: Metadata},
		{Name: "CudaSharedMemoryStatus", Access: Operator, KServe: KServeSharedMemory, Effect: Reads, Cost: Metadata},
		{Name: "CudaSharedMemoryRegister", Access: Operator, KServe: KServeSharedMemory, Effect: Changes, Cost: Metadata},
		{Name: "CudaSharedMemoryUnregister", Access: Operator, KServe: KServeSharedMemory, Effect: Changes, Cost: Metadata},
		{Name: "TraceSetting", KServe: KServeTrace, Effect: Changes, Cost: Metadata},
		{Name: "LogSettings", Access: Operator, KServe: KServeLogging, Effect: Changes, Cost: Metadata},
	}},
	{"trident.v1.ChatService", inference.SurfaceConnect, []Record{
		{Name: "Chat", Group: Inference, KServe: KServeInference, Effect: Runs, Cost: Model},
		{Name: "ChatStream", Group: Inference, KServe: KServeInference, Effect: Runs, Cost: Model},
	}},
	{"trident.v1.CompletionService", inference.SurfaceConnect, []Record{
		{Name: "Complete", Group: Inference, KServe: KServeInference, Effect: Runs, Cost: Model},
		{Name: "CompleteStream", Group: Inference, KServe: KServeInference, Effect: Runs, Cost: Model},
	}},
	{"trident.v1.EmbeddingService", inference.SurfaceConnect, []Record{
		{Name: "Embed", Group: Embedding, KServe: KServeInference, Effect: Runs, Cost: Model},
	}},
	{"trident.v1.EncoderService", inference.SurfaceConnect, []Record{
		{Name: "Rerank", Group: Embedding, KServe: KServeInference, Effect: Runs, Cost: Model},
		{Name: "Score", Group: Embedding, KServe: KServeInference, Effect: Runs, Cost: Model},
		{Name: "Classify", Group: Embedding, KServe: KServeInference, Effect: Runs, Cost: Model},
		{Name: "EmbedTokens", Group: Embedding, KServe: KServeInference, Effect: Runs, Cost: Model},
		{Name: "EmbedSparse", Group: Embedding, KServe: KServeInference, Effect: Runs, Cost: Model},
	}},
	{"trident.v1.InferService", inference.SurfaceConnect, []Record{
		{Name: "Infer", Group: Inference, KServe: KServeInference, Effect: Runs, Cost: Model},
		{Name: "InferStream", Group: Inference, KServe: KServeInference, Effect: Runs, Cost: Model},
	}},
	{"trident.v1.ModelService", inference.SurfaceConnect, []Record{
		{Name: "List", Group: Repository, KServe: KServeMetadata, Effect: Reads, Cost: Metadata},
		{Name: "Get", Group: Repository, KServe: KServeMetadata, Effect: Reads, Cost: Metadata},
		{Name: "Watch", Group: Repository, KServe: KServeMetadata, Effect: Reads, Cost: Metadata},
		{Name: "Load", Group: Repository, KServe: KServeRepository, Effect: Changes, Cost: Loading},
		{Name: "Unload", Group: Repository, KServe: KServeRepository, Effect: Changes, Cost: Loading},
	}},
	{"trident.v1.ServerService", inference.SurfaceConnect, []Record{
		{Name: "Watch", Group: Metrics, KServe: KServeStatistics, Effect: Reads, Cost: Metadata},
	}},
	{"trident.v1.EndpointService", inference.SurfaceConnect, []Record{
		{Name: "List", Access: Operator, Group: Repository, KServe: KServeMetadata, Effect: Reads, Cost: Metadata},
		{Name: "Drain", Access: Operator, Group: Repository, KServe: KServeRepository, Effect: Changes, Cost: Metadata},
		{Name: "Resume", Access: Operator, Group: Repository, KServe: KServeRepository, Effect: Changes, Cost: Metadata},
	}},
	{"grpc.health.v1.Health", SurfaceHealth, []Record{
		{Name: "Check", Access: Open, Group: Health, KServe: KServeHealth, Effect: Reads, Cost: Constant},
		{Name: "List", Group: Health, KServe: KServeHealth, Effect: Reads, Cost: Constant},
		{Name: "Watch", Group: Health, KServe: KServeHealth, Effect: Reads, Cost: Constant},
	}},
	{"grpc.reflection.v1.ServerReflection", inference.SurfaceOther, []Record{{Name: "ServerReflectionInfo", Effect: Reads, Cost: Constant}}},
	{"grpc.reflection.v1alpha.ServerReflection", inference.SurfaceOther, []Record{{Name: "ServerReflectionInfo", Effect: Reads, Cost: Constant}}},
}

// pages are the same on all servers, except the metrics. No OpenAPI document lists
// them.
var pages = []Record{ //nolint:gochecknoglobals // a constant table
	{Name: "playground", Pattern: "GET /{$}", Surface: inference.SurfaceOther, Access: Open, Group: Free, Effect: Reads, Cost: Constant},
	{Name: "probe", Pattern: "HEAD /{$}", Surface: inference.SurfaceOther, Access: Open, Group: Free, Effect: Reads, Cost: Constant},
	{Name: "playgroundFiles", Pattern: "GET /assets/", Surface: inference.SurfaceOther, Access: Open, Group: Free, Effect: Reads, Cost: Constant},
	{Name: "clientPackage", Pattern: "GET /client.tgz", Surface: inference.SurfaceOther, Access: Open, Group: Free, Effect: Reads, Cost: Constant},
	{Name: "openaiDocument", Pattern: "GET /openapi.json", Surface: inference.SurfaceOpenAI, Access: Open, Group: Free, Effect: Reads, Cost: Constant},
	{Name: "anthropicDocument", Pattern: "GET /v1/messages/openapi.json", Surface: inference.SurfaceAnthropic, Access: Open, Group: Free, Effect: Reads, Cost: Constant},
	{Name: "encodersDocument", Pattern: "GET /v1/rerank/openapi.json", Surface: inference.SurfaceEncoders, Access: Open, Group: Free, Effect: Reads, Cost: Constant},
	{Name: "kserveDocument", Pattern: "GET /v2/openapi.json", Surface: inference.SurfaceKServe, Access: Open, Group: Free, Effect: Reads, Cost: Constant},
	{Name: "metrics", Pattern: "GET /metrics", Surface: SurfaceMetrics, Access: Operator, Group: Metrics, Effect: Reads, Cost: Metadata},
}
