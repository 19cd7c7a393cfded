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
		purpose: "Has the types that all packages share: requests, messages, deltas, usage, errors, tensor requests, clients and surfaces. It also has the interfaces of engines and backends, and imports no other core package.",
		imports: []string{"gen/go/kserve", "services/budget"},
	},
	{
		path: "services/metering", layer: core,
		purpose: "Counts requests and tokens by model, surface and operation. It also measures times and the load, and records the spans of a request.",
		imports: []string{"services/inference"},
	},
	{
		path: "services/admission", layer: core,
		purpose: "Decides whether a request may continue: limits, rate limits, fair queues, deadlines and the drain. It also records the bytes and decode slots that requests hold while they are read.",
		imports: []string{"gen/go/kserve", "services/admission/requestctx", "services/configfield", "services/inference", "services/metering", "services/ratelimit"},
	},
	{
		path: "services/admission/requestctx", layer: core,
		purpose: "Has the context of an admitted request. This context costs less than the standard library's contexts.",
		imports: []string{},
	},
	{
		path: "services/catalog", layer: core,
		purpose: "Describes the models: cards and the settings from which they are built, names, readiness, loads and unloads, watchers and LoRA adapters.",
		imports: []string{"gen/go/kserve", "services/chat", "services/configfield", "services/inference", "services/tokenizer", "services/toolparser", "services/vector"},
	},
	{
		path: "services/batching", layer: core,
		purpose: "Queues the inputs for an encoder, and cuts the inputs of all requests into batches of similar lengths.",
		imports: []string{"services/inference"},
	},
	{
		path: "services/serving", layer: core,
		purpose: "Runs requests: resolves the model, admits the request, plans prompts and choices, runs the jobs on the engine, and reads and streams the responses.",
		imports: []string{"gen/go/kserve", "services/admission", "services/batching", "services/budget", "services/catalog", "services/configfield", "services/images", "services/inference", "services/metering", "services/toolparser", "services/vector"},
	},
	{
		path: "services/ratelimit", layer: pure,
		purpose: "Has the arithmetic of rate limits, which are buckets that fill at a rate. It also has the interface of a store whose buckets several servers share.",
		imports: []string{},
	},
	{
		path: "services/budget", layer: pure,
		purpose: "Has the limits of the data of one request that the server reads, and checks encoded messages against them ([docs/reference/limits.md](../docs/reference/limits.md#budgets-of-a-request)).",
		imports: []string{},
	},
	{
		path: "services/configfield", layer: pure,
		purpose: "Has the errors of configurations, which name the invalid field, and the names of fields in error messages, logs and metric help at run time. `cmd/trident/fields.go` has the flag of each field.",
		imports: []string{},
	},
	{
		path: "services/contracts", layer: pure,
		purpose: "Converts requests to tensors, and tensors to responses, with one file per kind of model ([docs/reference/backends.md](../docs/reference/backends.md)).",
		imports: []string{"gen/go/kserve", "services/configfield", "services/inference", "services/structured", "services/vector"},
	},
	{
		path: "services/vector", layer: pure,
		purpose: "Computes with embedding vectors: datatypes of tensors, pooling, normalization, quantization, similarity and the vectors' JSON.",
		imports: []string{},
	},
	{
		path: "services/structured", layer: pure,
		purpose: "Describes which grammars and schemas the structured output backends (xgrammar, llguidance and outlines) enforce, and the form in which they accept them.",
		imports: []string{},
	},
	{
		path: "services/chat", layer: pure,
		purpose: "Converts messages to prompts with a model's own chat template.",
		imports: []string{"services/chat/jinja", "services/inference"},
	},
	{
		path: "services/chat/jinja", layer: pure,
		purpose:    "Interprets Jinja, the language of chat templates.",
		imports:    []string{},
		fileReason: "an interpreter of one language: each file has a group of its filters, tests or statements",
	},
	{
		path: "services/toolparser", layer: pure,
		purpose:    "Separates models' outputs into text, reasoning and tool calls. Each format has a file or an entry in a table. The package also builds the constraints for `tool_choice`.",
		imports:    []string{"services/inference"},
		fileReason: "one file a format",
	},
	{
		path: "services/tokenizer", layer: pure,
		purpose: "Converts text to token ids and back, with a model's `tokenizer.json`.",
		imports: []string{"services/budget", "services/inference"},
	},
	{
		path: "services/requests", layer: pure,
		purpose: "Checks the parts of chats and completions that all text surfaces share: tools, JSON Schemas, structured outputs, and fields whose text is a JSON object.",
		imports: []string{"services/budget", "services/inference", "services/strictjson"},
	},
	{
		path: "services/strictjson", layer: pure,
		purpose: "Reads clients' JSON strictly and within budgets. Its errors name the invalid value.",
		imports: []string{"services/budget", "services/inference"},
	},
	{
		path: "services/protocodec", layer: pure,
		purpose: "Has Connect codecs that check messages against their budgets. A service that forwards messages without decoding them wraps these codecs.",
		imports: []string{"services/budget"},
	},
	{
		path: "services/kserve/tensorjson", layer: pure,
		purpose: "Checks, reads and writes the JSON tensors of KServe's REST API as tritonserver does.",
		imports: []string{"services/inference"},
	},
	{
		path: "services/balance", layer: pure,
		purpose: "Chooses one of many endpoints: policies, loads, slow starts, and which endpoint has which prefix. Its callers supply the time and the random numbers.",
		imports: []string{},
	},
	{
		path: "services/triton", layer: engine,
		purpose: "Has the engine for a remote tritonserver, over gRPC.",
		imports: []string{"gen/go/kserve", "services/configfield", "services/inference", "services/triton/extension", "services/triton/grpcconn"},
	},
	{
		path: "services/triton/grpcconn", layer: engine,
		purpose: "Is a gRPC client for streams of small messages over one HTTP/2 connection. Its reader wakes the consumer of a stream once for all messages that have arrived.",
		imports: []string{},
	},
	{
		path: "services/triton/fleet", layer: engine,
		purpose: "Has the engine over several inference servers: their health, which of them serve a model, and repeats on another server.",
		imports: []string{"gen/go/kserve", "services/balance", "services/configfield", "services/inference", "services/triton"},
	},
	{
		path: "services/triton/extension", layer: engine,
		purpose: "Has the functions that tritonserver's frontends add to Triton's core: shared memory, classification, and trace and log settings.",
		imports: []string{"gen/go/kserve", "services/inference"},
	},
	{
		path: "services/triton/local", layer: engine,
		purpose: "Has the engine that runs libtritonserver in process (cgo, Linux). In other builds, it returns an error.",
		imports: []string{"gen/go/kserve", "services/configfield", "services/inference", "services/triton", "services/triton/extension"},
	},
	{
		path: "services/modelfiles", layer: engine,
		purpose: "Reads the files of models: from Triton's repository, from folders in Hugging Face's layout, from Hugging Face's hub and from the hub's cache.",
		imports: []string{"gen/go/kserve", "services/inference"},
	},
	{
		path: "services/state", layer: engine,
		purpose: "Stores what several Tridents share in Valkey or Redis: records, rate limits, and which Tridents are alive.",
		imports: []string{"services/configfield", "services/inference", "services/ratelimit"},
	},
	{
		path: "services/state/statetest", layer: tool,
		purpose: "Runs a redis-server for tests.",
		imports: []string{"services/state"},
	},
	{
		path: "services/images", layer: engine,
		purpose: "Reads the images of requests, from `data:` URIs and from addresses that may be fetched.",
		imports: []string{"services/configfield", "services/inference"},
	},
	{
		path: "services/wirecode", layer: frontend,
		purpose: "Maps errors of the core to the codes of gRPC, Connect and HTTP, once for all frontends. It also has the exceptions of KServe's and OpenAI's APIs.",
		imports: []string{"services/inference"},
	},
	{
		path: "services/eventstream", layer: frontend,
		purpose: "Writes server-sent events over HTTP: the buffer, the header and keep-alive comments.",
		imports: []string{},
	},
	{
		path: "services/auth", layer: frontend,
		purpose: "Checks API keys and the headers of restricted groups. It has one record per route with the access that the route needs and its effects.",
		imports: []string{"services/configfield", "services/inference"},
	},
	{
		path: "services/server", layer: frontend,
		purpose: "Has the listener, request ids, the log line, CORS, limits, the drain and the routes of the playground's files.",
		imports: []string{"services/admission", "services/auth", "services/budget", "services/configfield", "services/inference", "services/wirecode", "web"},
	},
	{
		path: "services/openai", layer: frontend,
		purpose: "Serves OpenAI's API: routes, the validation of bodies against the document, chats, completions, embeddings, tokens and models.",
		imports: []string{"gen/go/openai", "openapi", "services/auth", "services/budget", "services/catalog", "services/configfield", "services/inference", "services/jsonstring", "services/openai/decisions", "services/openai/internal/decode", "services/openai/internal/toolform", "services/openai/internal/wire", "services/openai/responses", "services/requests", "services/seal", "services/server", "services/serving", "services/state", "services/strictjson", "services/vector"},
	},
	{
		path: "services/encoders", layer: frontend,
		purpose: "Serves the APIs that rank, score, classify and embed texts: those of vLLM, Jina, Cohere, TEI and infinity, and OpenAI's moderations.",
		imports: []string{"gen/go/encoders", "gen/go/kserve", "openapi", "services/auth", "services/budget", "services/catalog", "services/configfield", "services/inference", "services/jsonstring", "services/requests", "services/server", "services/serving", "services/strictjson", "services/vector", "services/wirecode"},
	},
	{
		path: "services/anthropic", layer: frontend,
		purpose: "Serves Anthropic's Messages API. It converts messages to the core's messages and back, and has the events of a stream, token counts and the list of models.",
		imports: []string{"gen/go/anthropic", "openapi", "services/auth", "services/budget", "services/catalog", "services/eventstream", "services/inference", "services/jsonstring", "services/requests", "services/seal", "services/server", "services/serving", "services/strictjson", "services/wirecode"},
	},
	{
		path: "services/jsonstring", layer: pure,
		purpose: "Encodes JSON strings, for frontends that append the JSON of events to a buffer.",
		imports: []string{},
	},
	{
		path: "services/openai/responses", layer: frontend,
		purpose: "Serves the Responses API. It converts items to messages and back, and has the events of a stream and the stored responses that later requests continue.",
		imports: []string{"gen/go/openai", "services/budget", "services/catalog", "services/inference", "services/jsonstring", "services/openai/internal/decode", "services/openai/internal/toolform", "services/openai/internal/wire", "services/requests", "services/seal", "services/server", "services/serving", "services/state", "services/strictjson", "services/wirecode"},
	},
	{
		path: "services/openai/decisions", layer: frontend,
		purpose: "Serves OpenAI's Decisions API. It converts inputs and questions to those of the core, and probabilities to answers.",
		imports: []string{"gen/go/openai", "services/budget", "services/inference", "services/jsonstring", "services/openai/internal/decode", "services/openai/internal/toolform", "services/openai/internal/wire", "services/server", "services/serving", "services/strictjson"},
	},
	{
		path: "services/openai/internal/toolform", layer: frontend,
		purpose: "Converts custom tools and tools of namespaces to functions, because models know only functions. It reads the calls of these functions, and has the texts that describe these tools to models.",
		imports: []string{"services/inference", "services/jsonstring"},
	},
	{
		path: "services/openai/internal/decode", layer: frontend,
		purpose: "Reads the parts of request bodies that several operations of OpenAI's API share: members, content parts, calls, constraints and unsupported fields.",
		imports: []string{"services/budget", "services/inference", "services/openai/internal/toolform", "services/requests", "services/strictjson"},
	},
	{
		path: "services/openai/internal/wire", layer: frontend,
		purpose: "Writes the parts of responses that several operations of OpenAI's API share: the error object, server-sent events, JSON strings and usage.",
		imports: []string{"gen/go/openai", "services/budget", "services/eventstream", "services/inference", "services/server", "services/wirecode"},
	},
	{
		path: "services/seal", layer: frontend,
		purpose: "Encrypts the reasoning that clients keep for the server, with keys that replicas share.",
		imports: []string{"services/configfield"},
	},
	{
		path: "services/tridentrpc", layer: frontend,
		purpose: "Serves the typed services of `api/trident`, with the same request checks as OpenAI's API, and their npm client.",
		imports: []string{"gen/go/trident/v1", "gen/go/trident/v1/tridentv1connect", "services/admission", "services/budget", "services/catalog", "services/inference", "services/metering", "services/protocodec", "services/requests", "services/server", "services/serving", "services/strictjson", "services/vector", "services/wirecode", "web/client"},
	},
	{
		path: "services/kserve", layer: frontend,
		purpose: "Serves KServe v2 with Triton's extensions by gRPC and Connect, and forwards the messages. It has the service methods and the settings that REST also uses.",
		imports: []string{"gen/go/health/grpc_health_v1connect", "gen/go/kserve", "gen/go/kserve/kserveconnect", "gen/go/trident/v1", "gen/go/trident/v1/tridentv1connect", "services/admission", "services/auth", "services/budget", "services/catalog", "services/configfield", "services/inference", "services/protocodec", "services/server", "services/serving", "services/wirecode"},
	},
	{
		path: "services/kserve/rest", layer: frontend,
		purpose: "Serves KServe v2 by REST: paths, bodies, compression and the generate extension. It calls the methods of the service in `kserve`.",
		imports: []string{"gen/go/kserve", "gen/go/kserverest", "openapi", "services/admission", "services/auth", "services/budget", "services/catalog", "services/eventstream", "services/inference", "services/kserve", "services/kserve/tensorjson", "services/server", "services/serving", "services/wirecode"},
	},
	{
		path: "services/cloud", layer: frontend,
		purpose: "Serves the ports of SageMaker and Vertex AI, whose paths lead to the handlers of the shared port.",
		imports: []string{"services/admission", "services/auth", "services/budget", "services/catalog", "services/configfield", "services/inference", "services/server", "services/wirecode"},
	},
	{
		path: "services/metrics", layer: frontend,
		purpose: "Writes the metrics page, which includes Triton's metrics. It reads the meters of the service, of authentication, of the ports and of the memory.",
		imports: []string{"services/admission", "services/auth", "services/batching", "services/configfield", "services/inference", "services/memory", "services/metering", "services/server", "services/serving", "services/state"},
	},
	{
		path: "openapi", layer: frontend,
		purpose: "Embeds the OpenAPI documents, and serves them to clients as JSON.",
		imports: []string{},
	},
	{
		path: "web", layer: frontend,
		purpose: "Embeds the playground's files.",
		imports: []string{},
	},
	{
		path: "web/client", layer: frontend,
		purpose: "Embeds the built npm package `@trident/client`.",
		imports: []string{},
	},
	{
		path: "cmd/trident", layer: process,
		purpose: "Is the program: flags, configuration, start and stop. `serve.go` lists the modules.",
		imports: []string{"cmd/trident/hangup", "gen/go/trident/v1", "gen/go/trident/v1/tridentv1connect", "services/*"},
	},
	{
		path: "cmd/trident/hangup", layer: process,
		purpose: "Catches SIGHUP before other packages are initialized.",
		imports: []string{},
	},
	{
		path: "services/memory", layer: process,
		purpose: "Keeps the process below its memory limit: finds the limit, sets Go's soft limit, and compares Go's memory with it ([docs/reference/limits.md](../docs/reference/limits.md#memory)).",
		imports: []string{"services/admission", "services/catalog", "services/configfield", "services/inference"},
	},
	{
		path: "services/tracing", layer: process,
		purpose: "Sends spans to a collector by OTLP.",
		imports: []string{"services/configfield"},
	},
	{
		path: "services/server/servertest", layer: tool,
		purpose: "Creates certificates for tests of TLS.",
		imports: []string{},
	},
	{
		path: "services/openai/openaitest", layer: tool,
		purpose: "Has requests, schemas of the document and generated values, for tests of the OpenAI frontend.",
		imports: []string{"gen/go/kserve", "openapi", "services/inference", "services/inference/inferencetest", "services/serving"},
	},
	{
		path: "services/kserve/kservetest", layer: tool,
		purpose: "Serves KServe's surface on loopback ports for tests of the transports, and runs a tritonserver, with which the tests compare this surface.",
		imports: []string{"gen/go/kserve", "services/auth", "services/inference", "services/inference/inferencetest", "services/kserve", "services/kserve/rest", "services/server", "services/serving", "services/triton/local", "services/triton/tritonserver", "services/triton/tritontest", "test/pause"},
	},
	{
		path: "cmd/tridentbench", layer: tool,
		purpose:    "Measures the time, CPU time and memory that Trident adds to Triton: `make bench`.",
		fileReason: "one program; a file for each comparison, for each kind of server that is measured, and for the reports",
		imports:    []string{"gen/go/kserve", "services/admission", "services/auth", "services/catalog", "services/inference", "services/kserve", "services/openai", "services/server", "services/tokenizer", "services/triton/local", "services/triton/tritonserver", "test/backends/burst", "test/chart", "test/encoders"},
	},
	{
		path: "cmd/tridentrelease", layer: tool,
		purpose: "Builds the files of a release: archives, wheels, packages and SBOMs.",
		imports: []string{"web/client"},
	},
	{
		path: "cmd/tridentsim", layer: tool,
		purpose: "Simulates a fleet of vLLM-like servers, to compare the rule of `services/balance` with the rules of other projects.",
		imports: []string{"services/balance", "test/chart"},
	},
	{
		path: "examples/go-connect", layer: tool,
		purpose: "Is an example program in Go that chats through the generated package alone.",
		imports: []string{"gen/go/trident/v1", "gen/go/trident/v1/tridentv1connect"},
	},
	{
		path: "test/cost", layer: tool,
		purpose: "Measures the CPU time and memory of hostile requests, which it generates from the OpenAPI documents and the proto descriptors: `make cost`.",
		imports: []string{"gen/go/kserve", "gen/go/trident/v1", "openapi", "services/triton/tritonserver", "test/backends/burst", "test/cost/probe", "test/pause"},
	},
	{
		path: "test/cost/probe", layer: tool,
		purpose: "Makes the measured program return its free memory to the kernel.",
		imports: []string{},
	},
	{
		path: "test/backends/burst", layer: tool,
		purpose: "Builds our own Triton backend and model repositories for measurements. Its models use almost no CPU time.",
		imports: []string{"services/triton/tritonserver"},
	},
	{
		path: "test/chart", layer: tool,
		purpose: "Draws bar charts as SVG, in light and dark colors, for the documents with measurements.",
		imports: []string{},
	},
	{
		path: "test/demo", layer: tool,
		purpose: "Starts Trident with the demo models: `make run`.",
		imports: []string{"services/triton/tritonserver"},
	},
	{
		path: "test/deploy", layer: tool,
		purpose: "Checks the files of `deploy/` with the tools that read them.",
		imports: []string{},
	},
	{
		path: "test/docs", layer: tool,
		purpose: "Counts the code blocks of the documentation, and checks them with the tools that users pass them to: `make docs-blocks`.",
		imports: []string{"test/docs/blocks"},
	},
	{
		path: "test/docs/blocks", layer: tool,
		purpose: "Reads the code blocks of the documentation, and the words that state how a test checks each block.",
		imports: []string{},
	},
	{
		path: "test/epp", layer: tool,
		purpose: "Runs llm-d's endpoint picker in front of three Tridents: `make test-epp`. It also checks the guide's Envoy configuration against Envoy's protos.",
		imports: []string{},
	},
	{
		path: "test/e2e", layer: tool,
		purpose: "Has the end-to-end suite: real clients call the trident program in front of a real Triton.",
		imports: []string{"services/triton/tritonserver"},
	},
	{
		path: "test/encoders", layer: tool,
		purpose: "Creates encoder models for Triton, from Python packages and from random seeds, for tests.",
		imports: []string{"services/triton/tritonserver"},
	},
	{
		path: "test/golden", layer: tool,
		purpose: "Compares test results with answers of Python's Jinja and tokenizers. The answers are recorded in golden files or come from Python itself.",
		imports: []string{"services/triton/tritonserver", "test/tier"},
	},
	{
		path: "test/clients", layer: tool,
		purpose: "Runs published clients, unmodified, against the trident program.",
		imports: []string{"services/triton/tritonserver", "test/logbuffer"},
	},
	{
		path: "test/kube", layer: tool,
		purpose: "Installs the Helm chart and the examples in a real kube-apiserver: `make test-kube`.",
		imports: []string{},
	},
	{
		path: "test/aswritten", layer: tool,
		purpose: "Runs the commands of other projects' documents against the program, and writes the page with their outcomes.",
		imports: []string{"services/triton/tritonserver", "test/logbuffer", "test/tier"},
	},
	{
		path: "test/release", layer: tool,
		purpose: "Installs and starts the files of a release, and builds the release twice: `make test-release`.",
		imports: []string{},
	},
	{
		path: "test/suite", layer: tool,
		purpose: "Runs the test suites, compares their results with the inventory, and reports them: `make check`, `make check-slow`, `make flake`.",
		imports: []string{},
	},
	{
		path: "test/cputime", layer: tool,
		purpose: "Measures CPU time, for tests with a CPU time limit.",
		imports: []string{},
	},
	{
		path: "test/logbuffer", layer: tool,
		purpose: "Keeps a log in memory, for tests that read the log while the program runs.",
		imports: []string{"test/pause"},
	},
	{
		path: "test/pause", layer: tool,
		purpose: "Waits for a time or for a condition, in tests and in measuring programs.",
		imports: []string{},
	},
	{
		path: "test/tier", layer: tool,
		purpose: "Reports to tests whether they run in the check tier or in the slow tier.",
		imports: []string{},
	},
	{
		path: "test/vllm/constraints", layer: tool,
		purpose: "Generates constraints of structured outputs, and checks responses against them, for tests.",
		imports: []string{},
	},
	{
		path: "test/vllm", layer: tool,
		purpose: "Measures with vLLM's own code which constraints its backends enforce, and compares `services/structured` with the results.",
		imports: []string{"services/structured", "test/tier", "test/vllm/constraints"},
	},
	{
		path: "test/mutations", layer: tool,
		purpose: "Checks that the tests catch defects, by changing one place of the product at a time.",
		imports: []string{},
	},
	{
		path: "test/dnsserver", layer: tool,
		purpose: "Runs a DNS server for tests. Its name has the addresses that the test sets.",
		imports: []string{},
	},
	{
		path: "test/soak", layer: tool,
		purpose: "Keeps many streams running and injects one fault after another: `make soak`, and with several servers `make soak-fleet`.",
		imports: []string{"gen/go/kserve", "gen/go/trident/v1", "gen/go/trident/v1/tridentv1connect", "services/triton/tritonserver", "test/backends/burst", "test/dnsserver", "test/pause"},
	},
	{
		path: "services/triton/tritonserver", layer: tool,
		purpose: "Runs a real tritonserver, or a program with Triton in it, as a child process, and removes what this process leaves behind. Tests and `make run` use it.",
		imports: []string{},
	},
	{
		path: "services/triton/tritontest", layer: tool,
		purpose: "Has a fake tritonserver and the suite that every engine must pass.",
		imports: []string{"gen/go/kserve", "services/inference", "services/triton", "services/triton/extension", "services/triton/tritonserver", "test/pause"},
	},
	{
		path: "services/inference/inferencetest", layer: tool,
		purpose: "Has an engine that answers by scripts, for tests of the core and the frontends.",
		imports: []string{"gen/go/kserve", "services/catalog", "services/contracts", "services/images", "services/inference", "services/serving", "services/tokenizer", "services/toolparser"},
	},
}
