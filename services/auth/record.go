package auth

import (
	"cmp"
	"maps"
	"slices"

	"github.com/trident-inference/trident/services/inference"
)

// Record is what a route needs of its callers and what it does. There is one for each
// operation of openapi/openai.yaml and openapi/kserve.yaml, for each procedure of gRPC and
// Connect, and for each page. Records don't change.
type Record struct {
	// Name is the operationId, or the procedure as /package.Service/Method.
	Name string
	// Pattern is the route's [http.ServeMux] pattern, which of a procedure is its name.
	// It is empty for requests that no route takes.
	Pattern string
	API     API
	// Surface that requests are counted under.
	Surface inference.Surface
	Access  Access
	Group   Group
	KServe  KServeGroup
	Effect  Effect
	Cost    Cost
	// Renews is set for a call that goes on for as long as the client likes and sends
	// request after request: each of them is admitted anew.
	Renews bool
}

// The surfaces beside those of inferences.
const (
	SurfaceHealth  inference.Surface = "health"
	SurfaceMetrics inference.Surface = "metrics"
)

// API is where a route is described, and whose errors its clients read.
type API uint8

// The APIs.
const (
	Pages     API = iota // files and documents, with errors of OpenAI's API
	OpenAI               // openapi/openai.yaml
	REST                 // openapi/kserve.yaml
	Procedure            // the services of gRPC and Connect
)

// Access is which clients may call a route of a server that has keys.
type Access uint8

// The classes of access. The zero value needs a key.
const (
	Client   Access = iota // clients with a key; the models that a key is for are the core's question
	Operator               // clients whose key is for all models
	Open                   // everyone: probes, and what is the same on all servers
)

// Group is a group of APIs by --openai-restricted-api.
type Group string

// The groups, by the names of Triton's own OpenAI frontend, and embedding. A group is a
// capability, on whichever surface it is asked for.
const (
	Inference  Group = "inference"
	Embedding  Group = "embedding"
	Repository Group = "model-repository"
	Metrics    Group = "metrics"
	Health     Group = "health"
	// Other is of what isn't in a group: it needs any of the headers.
	Other Group = ""
	// Free is of what is open whatever is restricted.
	Free Group = "-"
)

// KServeGroup is a group of methods by tritonserver's --grpc-restricted-protocol and
// --http-restricted-api. Empty is none.
type KServeGroup string

// The groups, by tritonserver's names.
const (
	KServeHealth       KServeGroup = "health"
	KServeMetadata     KServeGroup = "metadata"
	KServeInference    KServeGroup = "inference"
	KServeSharedMemory KServeGroup = "shared-memory"
	KServeModelConfig  KServeGroup = "model-config"
	KServeRepository   KServeGroup = "model-repository"
	KServeStatistics   KServeGroup = "statistics"
	KServeTrace        KServeGroup = "trace"
	KServeLogging      KServeGroup = "logging"
)

// Effect is what a request can do to the server.
type Effect uint8

// The effects.
const (
	Reads   Effect = iota // shows what there is
	Runs                  // computes an answer from the request, by a model or a tokenizer
	Changes               // changes models, settings, shared memory or what is kept of a client
)

// Cost is what the work of a request grows with.
type Cost uint8

// The classes of cost.
const (
	Constant  Cost = iota // nothing: the answer is ready
	Metadata              // the number of models, or an engine's answer about one
	Tokenizer             // the body, which is tokenized here
	Model                 // what a model makes of the body
	Loading               // the size of a model
)

// Find returns the record of a route by its pattern; nil for none.
func Find(pattern string) *Record { return byPattern[pattern] }

// Records returns all records in the order of their patterns.
func Records() []*Record {
	return slices.SortedFunc(maps.Values(byPattern), func(a, b *Record) int { return cmp.Compare(a.Pattern, b.Pattern) })
}

// Unmatched is the record of a request that no route of an API takes. It is closed:
// nothing is told of which paths there are.
func Unmatched(api API) *Record { return unmatched[api] }

// Predict is the record of a hosting platform's one path for all requests to models: it
// needs a key, and what the request turns out to be is admitted by that route's record.
func Predict() *Record { return predict }

var predict = &Record{Name: "predict", API: Pages, Surface: inference.SurfaceOther, Group: Free, Effect: Runs, Cost: Model} //nolint:gochecknoglobals // a constant

// Redirect is the record of a platform's request that names the path that it is meant for:
// it needs a key, and all else by the record of that route.
func Redirect() *Record { return redirect }

var redirect = &Record{Name: "redirect", API: Pages, Surface: inference.SurfaceOther, Group: Free, Effect: Reads, Cost: Constant} //nolint:gochecknoglobals // a constant

var unmatched = map[API]*Record{ //nolint:gochecknoglobals // a constant table
	Pages:     {API: Pages, Surface: inference.SurfaceOther},
	OpenAI:    {API: OpenAI, Surface: inference.SurfaceOpenAI},
	REST:      {API: REST, Surface: inference.SurfaceKServe},
	Procedure: {API: Procedure, Surface: inference.SurfaceOther},
}
