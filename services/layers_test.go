package services

// module is the prefix of the module's import paths.
const module = "github.com/trident-inference/trident/"

// A layer is a group of packages with the same rules. Imports point from later layers to
// earlier ones, and within a layer where [layers] allows it.
type layer string

const (
	// core packages don't depend on frontends.
	core layer = "core"
	// pure packages only compute: no network, no log, no clock.
	pure layer = "pure"
	// engine packages are called by the core: Triton, model files, images.
	engine layer = "engine"
	// frontend packages are called by clients.
	frontend layer = "frontend"
	// process packages belong to the whole program.
	process layer = "process"
	// tool packages aren't part of the program: tests, benchmarks, releases.
	tool layer = "tool"
)

// packageRow is one package: its purpose, and the packages of this module that it may import,
// except in tests.
type packageRow struct {
	path       string
	layer      layer
	purpose    string   // its purpose, for services/README.md
	imports    []string // a trailing * matches all paths with this prefix
	fileReason string   // reason why the package may have more files than mostFiles
}

// layers lists all packages of the module. A new package needs a row here, which is a
// design decision. `go test ./services -run TestLayers -update` writes the parts that are
// generated from it: the table of services/README.md, the diagram of
// docs/contributing/architecture.md, and the linter's lists in .golangci.yml.
var layers = []packageRow{
	{
		path: "services/inference", layer: core,
		purpose: "the vocabulary: requests, messages, deltas, usage, errors, requests of tensors, clients and surfaces; the interfaces of engines and backends; a leaf",
		imports: []string{"gen/go/kserve", "services/budget"},
	},
	{
		path: "services/metering", layer: core,
		purpose: "what is counted of requests: figures by model, surface and operation, times, the load, the spans of a request",
		imports: []string{"services/inference"},
	},
	{
		path: "services/admission", layer: core,
		purpose: "whether a request may go on: limits, rates, queues and their turns, deadlines, the drain; the bytes and decode slots that requests hold while they are read",
		imports: []string{"gen/go/kserve", "services/admission/requestctx", "services/configfield", "services/inference", "services/metering", "services/ratelimit"},
	},
	{
		path: "services/admission/requestctx", layer: core,
		purpose: "the context of an admitted request, and what it saves beside the standard library's",
		imports: []string{},
	},
	{
		path: "services/catalog", layer: core,
		purpose: "what is known of the models: cards and the settings that make them, names, readiness, loads and unloads, watchers, LoRA adapters",
		imports: []string{"gen/go/kserve", "services/chat", "services/configfield", "services/inference", "services/tokenizer", "services/toolparser", "services/vector"},
	},
	{
		path: "services/batching", layer: core,
		purpose: "the inputs that wait for an encoder, cut into batches of similar lengths over all requests",
		imports: []string{"services/inference"},
	},
	{
		path: "services/serving", layer: core,
		purpose: "runs requests: resolves the model, admits, plans prompts and choices, runs the jobs on the engine, reads the answers, streams",
		imports: []string{"gen/go/kserve", "services/admission", "services/batching", "services/budget", "services/catalog", "services/configfield", "services/images", "services/inference", "services/metering", "services/toolparser", "services/vector"},
	},
	{
		path: "services/ratelimit", layer: pure,
		purpose: "the arithmetic of rates: buckets that fill at a rate; the interface of a store whose buckets several servers share",
		imports: []string{},
	},
	{
		path: "services/budget", layer: pure,
		purpose: "the limits of what one request may make the server read, and the checks of encoded messages against them ([docs/reference/limits.md](../docs/reference/limits.md#budgets-of-a-request))",
		imports: []string{},
	},
	{
		path: "services/configfield", layer: pure,
		purpose: "errors of configurations, which name the field at fault, and the names of fields in texts of the run; `cmd/trident/fields.go` has the flag of each field",
		imports: []string{},
	},
	{
		path: "services/contracts", layer: pure,
		purpose: "requests to tensors and back, one file a kind of model ([docs/reference/backends.md](../docs/reference/backends.md))",
		imports: []string{"gen/go/kserve", "services/configfield", "services/inference", "services/structured", "services/vector"},
	},
	{
		path: "services/vector", layer: pure,
		purpose: "vectors of embeddings: datatypes of tensors, pooling, normalization, quantization, similarity, their JSON",
		imports: []string{},
	},
	{
		path: "services/structured", layer: pure,
		purpose: "which constraints the backends of structured outputs (xgrammar, llguidance, outlines) hold answers to, and the form in which they take them",
		imports: []string{},
	},
	{
		path: "services/chat", layer: pure,
		purpose: "messages to prompts by a model's own template",
		imports: []string{"services/chat/jinja", "services/inference"},
	},
	{
		path: "services/chat/jinja", layer: pure,
		purpose:    "an interpreter of the Jinja that models' chat templates are written in",
		imports:    []string{},
		fileReason: "an interpreter of one language: each file has a group of its filters, tests or statements",
	},
	{
		path: "services/toolparser", layer: pure,
		purpose:    "models' answers to text, reasoning and tool calls, one file or one entry of a table a dialect; the constraints of tool_choice",
		imports:    []string{"services/inference"},
		fileReason: "one file a format",
	},
	{
		path: "services/tokenizer", layer: pure,
		purpose: "texts to token ids and back by a model's tokenizer.json",
		imports: []string{"services/budget", "services/inference"},
	},
	{
		path: "services/requests", layer: pure,
		purpose: "the checks of chats and completions that all surfaces of text share: tools, JSON Schemas, structured outputs, objects as text",
		imports: []string{"services/budget", "services/inference", "services/strictjson"},
	},
	{
		path: "services/strictjson", layer: pure,
		purpose: "JSON of clients, read strictly and within budgets, with errors that name the value at fault",
		imports: []string{"services/budget", "services/inference"},
	},
	{
		path: "services/protocodec", layer: pure,
		purpose: "Connect's codecs that hold messages to their budgets; messages that aren't decoded belong to the service that passes them on",
		imports: []string{"services/budget"},
	},
	{
		path: "services/kserve/tensorjson", layer: pure,
		purpose: "the tensors of KServe's REST as JSON: checks, reads and writes them as tritonserver does",
		imports: []string{"services/inference"},
	},
	{
		path: "services/balance", layer: pure,
		purpose: "the choice of one of many endpoints: policies, loads, slow starts, who has which prefix; time and random numbers come from its callers",
		imports: []string{},
	},
	{
		path: "services/triton", layer: engine,
		purpose: "the engine over gRPC to a running tritonserver",
		imports: []string{"gen/go/kserve", "services/configfield", "services/inference", "services/triton/extension", "services/triton/grpcconn"},
	},
	{
		path: "services/triton/grpcconn", layer: engine,
		purpose: "a gRPC client for streams of small messages: one HTTP/2 connection, whose reader wakes a stream's consumer once for all that has come",
		imports: []string{},
	},
	{
		path: "services/triton/fleet", layer: engine,
		purpose: "the engine over several inference servers: their health, which of them serve a model, repeats on another one",
		imports: []string{"gen/go/kserve", "services/balance", "services/configfield", "services/inference", "services/triton"},
	},
	{
		path: "services/triton/extension", layer: engine,
		purpose: "what tritonserver's frontends do beside the core: shared memory, classification, trace and log settings",
		imports: []string{"gen/go/kserve", "services/inference"},
	},
	{
		path: "services/triton/local", layer: engine,
		purpose: "the engine by libtritonserver in this process (cgo, Linux); elsewhere it says that it is missing",
		imports: []string{"gen/go/kserve", "services/configfield", "services/inference", "services/triton", "services/triton/extension"},
	},
	{
		path: "services/modelfiles", layer: engine,
		purpose: "what is known of models beside their tensors: their files in Triton's repository, folders of Hugging Face's layout, its hub and the cache of it",
		imports: []string{"gen/go/kserve", "services/inference"},
	},
	{
		path: "services/state", layer: engine,
		purpose: "what several Tridents share in Valkey or Redis: records, rates, and which Tridents are alive",
		imports: []string{"services/configfield", "services/inference", "services/ratelimit"},
	},
	{
		path: "services/state/statetest", layer: tool,
		purpose: "runs a redis-server for tests",
		imports: []string{"services/state"},
	},
	{
		path: "services/images", layer: engine,
		purpose: "requests' pictures: data: URIs, and addresses that may be fetched",
		imports: []string{"services/configfield", "services/inference"},
	},
	{
		path: "services/wirecode", layer: frontend,
		purpose: "errors of the core to the codes of gRPC, Connect and HTTP, once for all frontends; what KServe and OpenAI do otherwise stands beside",
		imports: []string{"services/inference"},
	},
	{
		path: "services/eventstream", layer: frontend,
		purpose: "server-sent events over HTTP: the buffer, the header, keep-alive comments",
		imports: []string{},
	},
	{
		path: "services/auth", layer: frontend,
		purpose: "the gate: API keys, the headers of restricted groups, and one record a route of what it needs and does",
		imports: []string{"services/configfield", "services/inference"},
	},
	{
		path: "services/server", layer: frontend,
		purpose: "the listener, request ids, the log line, CORS, limits, the drain, the playground's files",
		imports: []string{"services/admission", "services/auth", "services/budget", "services/configfield", "services/inference", "services/wirecode", "web"},
	},
	{
		path: "services/openai", layer: frontend,
		purpose: "OpenAI's API: routes, the check of bodies against the document, chats, completions, embeddings, tokens, models",
		imports: []string{"gen/go/openai", "openapi", "services/auth", "services/budget", "services/catalog", "services/configfield", "services/inference", "services/jsonstring", "services/openai/decisions", "services/openai/internal/decode", "services/openai/internal/toolform", "services/openai/internal/wire", "services/openai/responses", "services/requests", "services/seal", "services/server", "services/serving", "services/state", "services/strictjson", "services/vector"},
	},
	{
		path: "services/encoders", layer: frontend,
		purpose: "the APIs that rank, score, classify and embed texts: vLLM's, Jina's, Cohere's, TEI's, infinity's, and OpenAI's moderations",
		imports: []string{"gen/go/encoders", "gen/go/kserve", "openapi", "services/auth", "services/budget", "services/catalog", "services/configfield", "services/inference", "services/jsonstring", "services/requests", "services/server", "services/serving", "services/strictjson", "services/vector", "services/wirecode"},
	},
	{
		path: "services/anthropic", layer: frontend,
		purpose: "Anthropic's Messages API: messages to those of the core and back, the events of a stream, the count of tokens, its list of models",
		imports: []string{"gen/go/anthropic", "openapi", "services/auth", "services/budget", "services/catalog", "services/eventstream", "services/inference", "services/jsonstring", "services/requests", "services/seal", "services/server", "services/serving", "services/strictjson", "services/wirecode"},
	},
	{
		path: "services/jsonstring", layer: pure,
		purpose: "JSON strings, for frontends that append the JSON of events to a buffer",
		imports: []string{},
	},
	{
		path: "services/openai/responses", layer: frontend,
		purpose: "the Responses API: items to messages and back, the events of a stream, the responses that later requests continue from",
		imports: []string{"gen/go/openai", "services/budget", "services/catalog", "services/inference", "services/jsonstring", "services/openai/internal/decode", "services/openai/internal/toolform", "services/openai/internal/wire", "services/requests", "services/seal", "services/server", "services/serving", "services/state", "services/strictjson", "services/wirecode"},
	},
	{
		path: "services/openai/decisions", layer: frontend,
		purpose: "OpenAI's Decisions API: inputs and questions to those of the core, probabilities to answers",
		imports: []string{"gen/go/openai", "services/budget", "services/inference", "services/jsonstring", "services/openai/internal/decode", "services/openai/internal/toolform", "services/openai/internal/wire", "services/server", "services/serving", "services/strictjson"},
	},
	{
		path: "services/openai/internal/toolform", layer: frontend,
		purpose: "tools that models don't know, as functions: custom tools and tools of namespaces, and the texts that models read about them",
		imports: []string{"services/inference", "services/jsonstring"},
	},
	{
		path: "services/openai/internal/decode", layer: frontend,
		purpose: "the parts of request bodies that several operations of OpenAI's API share: members, parts, calls, constraints, unsupported fields",
		imports: []string{"services/budget", "services/inference", "services/openai/internal/toolform", "services/requests", "services/strictjson"},
	},
	{
		path: "services/openai/internal/wire", layer: frontend,
		purpose: "what the answers of several operations of OpenAI's API share: the error object, server-sent events, JSON strings, usage",
		imports: []string{"gen/go/openai", "services/budget", "services/eventstream", "services/inference", "services/server", "services/wirecode"},
	},
	{
		path: "services/seal", layer: frontend,
		purpose: "reasoning that clients keep for the server: sealed with keys that replicas share",
		imports: []string{"services/configfield"},
	},
	{
		path: "services/tridentrpc", layer: frontend,
		purpose: "the typed services of api/trident: their requests are checked as OpenAI's; their npm client",
		imports: []string{"gen/go/trident/v1", "gen/go/trident/v1/tridentv1connect", "services/admission", "services/budget", "services/catalog", "services/inference", "services/metering", "services/protocodec", "services/requests", "services/server", "services/serving", "services/strictjson", "services/vector", "services/wirecode", "web/client"},
	},
	{
		path: "services/kserve", layer: frontend,
		purpose: "KServe v2 with Triton's extensions, by gRPC and Connect: passes messages on; the service and the settings that REST has too",
		imports: []string{"gen/go/health/grpc_health_v1connect", "gen/go/kserve", "gen/go/kserve/kserveconnect", "gen/go/trident/v1", "gen/go/trident/v1/tridentv1connect", "services/admission", "services/auth", "services/budget", "services/catalog", "services/configfield", "services/inference", "services/protocodec", "services/server", "services/serving", "services/wirecode"},
	},
	{
		path: "services/kserve/rest", layer: frontend,
		purpose: "KServe v2 by REST: paths, bodies, compression, the generate extension; calls the methods of kserve's service",
		imports: []string{"gen/go/kserve", "gen/go/kserverest", "openapi", "services/admission", "services/auth", "services/budget", "services/catalog", "services/eventstream", "services/inference", "services/kserve", "services/kserve/tensorjson", "services/server", "services/serving", "services/wirecode"},
	},
	{
		path: "services/cloud", layer: frontend,
		purpose: "the ports of SageMaker and Vertex AI, whose paths lead to the handlers of the shared port",
		imports: []string{"services/admission", "services/auth", "services/budget", "services/catalog", "services/configfield", "services/inference", "services/server", "services/wirecode"},
	},
	{
		path: "services/metrics", layer: frontend,
		purpose: "the page of metrics, with Triton's own: reads the meters of the service, of the gate, of the ports and of the memory",
		imports: []string{"services/admission", "services/auth", "services/batching", "services/configfield", "services/inference", "services/memory", "services/metering", "services/server", "services/serving", "services/state"},
	},
	{
		path: "openapi", layer: frontend,
		purpose: "the OpenAPI documents, embedded, and their JSON for clients",
		imports: []string{},
	},
	{
		path: "web", layer: frontend,
		purpose: "the playground's files, embedded",
		imports: []string{},
	},
	{
		path: "web/client", layer: frontend,
		purpose: "`@trident/client`, with its build in the binary",
		imports: []string{},
	},
	{
		path: "cmd/trident", layer: process,
		purpose: "the program: flags, configuration, the start and the stop; lists the modules (`serve.go`)",
		imports: []string{"cmd/trident/hangup", "gen/go/trident/v1", "gen/go/trident/v1/tridentv1connect", "services/*"},
	},
	{
		path: "cmd/trident/hangup", layer: process,
		purpose: "catches SIGHUP before other packages are set up",
		imports: []string{},
	},
	{
		path: "services/memory", layer: process,
		purpose: "the memory limit of the process: finds it, sets Go's soft limit, measures Go's memory against it ([docs/reference/limits.md](../docs/reference/limits.md#memory))",
		imports: []string{"services/admission", "services/catalog", "services/configfield", "services/inference"},
	},
	{
		path: "services/tracing", layer: process,
		purpose: "sends spans to a collector by OTLP",
		imports: []string{"services/configfield"},
	},
	{
		path: "services/server/servertest", layer: tool,
		purpose: "makes certificates, for tests of TLS",
		imports: []string{},
	},
	{
		path: "services/openai/openaitest", layer: tool,
		purpose: "requests, schemas of the document and made-up values, for tests of the OpenAI frontend",
		imports: []string{"gen/go/kserve", "openapi", "services/inference", "services/inference/inferencetest", "services/serving"},
	},
	{
		path: "services/kserve/kservetest", layer: tool,
		purpose: "KServe's surface on loopback ports, and a tritonserver to compare it with: tests of its transports",
		imports: []string{"gen/go/kserve", "services/auth", "services/inference", "services/inference/inferencetest", "services/kserve", "services/kserve/rest", "services/server", "services/serving", "services/triton/local", "services/triton/tritonserver", "services/triton/tritontest", "test/pause"},
	},
	{
		path: "cmd/tridentbench", layer: tool,
		purpose:    "measures what Trident adds to Triton: `make bench`",
		fileReason: "one program; a file for each comparison, for each kind of server that is measured, and for the reports",
		imports:    []string{"gen/go/kserve", "services/admission", "services/auth", "services/catalog", "services/inference", "services/kserve", "services/openai", "services/server", "services/tokenizer", "services/triton/local", "services/triton/tritonserver", "test/backends/burst", "test/chart", "test/encoders"},
	},
	{
		path: "cmd/tridentrelease", layer: tool,
		purpose: "makes the files of a release: archives, wheels, packages, SBOMs",
		imports: []string{"web/client"},
	},
	{
		path: "cmd/tridentsim", layer: tool,
		purpose: "simulates a fleet of vLLM-like servers, to compare the rule of services/balance with those of other projects",
		imports: []string{"services/balance", "test/chart"},
	},
	{
		path: "examples/go-connect", layer: tool,
		purpose: "a Go program that chats by the generated package alone",
		imports: []string{"gen/go/trident/v1", "gen/go/trident/v1/tridentv1connect"},
	},
	{
		path: "test/cost", layer: tool,
		purpose: "measures what hostile requests cost, made of the OpenAPI documents and the proto descriptors: `make cost`",
		imports: []string{"gen/go/kserve", "gen/go/trident/v1", "openapi", "services/triton/tritonserver", "test/backends/burst", "test/cost/probe", "test/pause"},
	},
	{
		path: "test/cost/probe", layer: tool,
		purpose: "has the program that is measured give its free memory back",
		imports: []string{},
	},
	{
		path: "test/backends/burst", layer: tool,
		purpose: "builds a Triton backend of our own and repositories of models that cost nothing: tests, measuring",
		imports: []string{"services/triton/tritonserver"},
	},
	{
		path: "test/chart", layer: tool,
		purpose: "draws bar charts as SVG, light and dark, for the documents of measurements",
		imports: []string{},
	},
	{
		path: "test/demo", layer: tool,
		purpose: "starts Trident with the demo models: `make run`",
		imports: []string{"services/triton/tritonserver"},
	},
	{
		path: "test/deploy", layer: tool,
		purpose: "checks the files of deploy/ by the tools that read them",
		imports: []string{},
	},
	{
		path: "test/docs", layer: tool,
		purpose: "counts the code blocks of the documentation, and reads them with the tools that users give them to: `make docs-blocks`",
		imports: []string{"test/docs/blocks"},
	},
	{
		path: "test/docs/blocks", layer: tool,
		purpose: "reads the code blocks of the documentation, and the words that say how each is kept true",
		imports: []string{},
	},
	{
		path: "test/epp", layer: tool,
		purpose: "runs llm-d's endpoint picker in front of three Tridents: `make test-epp`; checks Envoy's configuration of the guide by its protos",
		imports: []string{},
	},
	{
		path: "test/e2e", layer: tool,
		purpose: "the end-to-end suite: the trident program before a real Triton, called by real clients",
		imports: []string{"services/triton/tritonserver"},
	},
	{
		path: "test/encoders", layer: tool,
		purpose: "makes encoder models for Triton from Python packages and from seeds: tests",
		imports: []string{"services/triton/tritonserver"},
	},
	{
		path: "test/golden", layer: tool,
		purpose: "compares with Python's Jinja and tokenizers by recorded answers (golden files), or with Python itself: tests",
		imports: []string{"services/triton/tritonserver", "test/tier"},
	},
	{
		path: "test/clients", layer: tool,
		purpose: "runs published clients, unmodified, against the trident program",
		imports: []string{"services/triton/tritonserver", "test/logbuffer"},
	},
	{
		path: "test/kube", layer: tool,
		purpose: "installs the Helm chart and the examples in a real kube-apiserver: `make test-kube`",
		imports: []string{},
	},
	{
		path: "test/aswritten", layer: tool,
		purpose: "runs the commands of other projects' documents against the program: tests, and the page with their outcomes",
		imports: []string{"services/triton/tritonserver", "test/logbuffer", "test/tier"},
	},
	{
		path: "test/release", layer: tool,
		purpose: "installs and starts the files of a release, and builds it twice: `make test-release`",
		imports: []string{},
	},
	{
		path: "test/suite", layer: tool,
		purpose: "runs the suites of tests, compares them with the inventory, and reports: `make check`, `make check-slow`, `make flake`",
		imports: []string{},
	},
	{
		path: "test/cputime", layer: tool,
		purpose: "measures CPU time for tests that hold work to a bound",
		imports: []string{},
	},
	{
		path: "test/logbuffer", layer: tool,
		purpose: "keeps a log in memory for tests that read it while the program runs",
		imports: []string{"test/pause"},
	},
	{
		path: "test/pause", layer: tool,
		purpose: "waits for a time or for a condition, in tests and in the programs that measure",
		imports: []string{},
	},
	{
		path: "test/tier", layer: tool,
		purpose: "which tests run by default, and which in the slow tier",
		imports: []string{},
	},
	{
		path: "test/vllm/constraints", layer: tool,
		purpose: "makes up constraints of structured outputs and judges answers to them: tests",
		imports: []string{},
	},
	{
		path: "test/vllm", layer: tool,
		purpose: "measures by vLLM's own code which constraints its backends hold answers to: `services/structured` is held to it",
		imports: []string{"services/structured", "test/tier", "test/vllm/constraints"},
	},
	{
		path: "test/mutations", layer: tool,
		purpose: "checks that the tests catch defects, by changing one place of the product at a time",
		imports: []string{},
	},
	{
		path: "test/dnsserver", layer: tool,
		purpose: "a DNS server of a test, whose name has the addresses that the test sets",
		imports: []string{},
	},
	{
		path: "test/soak", layer: tool,
		purpose: "keeps many streams running and breaks one thing after the other: `make soak`, and with several servers `make soak-fleet`",
		imports: []string{"gen/go/kserve", "gen/go/trident/v1", "gen/go/trident/v1/tridentv1connect", "services/triton/tritonserver", "test/backends/burst", "test/dnsserver", "test/pause"},
	},
	{
		path: "services/triton/tritonserver", layer: tool,
		purpose: "runs a real tritonserver, or a program with Triton in it, as a child process that leaves nothing: tests, `make run`",
		imports: []string{},
	},
	{
		path: "services/triton/tritontest", layer: tool,
		purpose: "a fake tritonserver and the suite that every engine passes",
		imports: []string{"gen/go/kserve", "services/inference", "services/triton", "services/triton/extension", "services/triton/tritonserver", "test/pause"},
	},
	{
		path: "services/inference/inferencetest", layer: tool,
		purpose: "an engine that plays scripts, for tests of the core and the frontends",
		imports: []string{"gen/go/kserve", "services/catalog", "services/contracts", "services/images", "services/inference", "services/serving", "services/tokenizer", "services/toolparser"},
	},
}
