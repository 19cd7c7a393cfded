package auth

import (
	"cmp"
	"maps"
	"slices"

	"github.com/trident-inference/trident/services/inference"
)

// Record describes a route: what it requires of its callers, and its effect and cost. Each
// operation of the documents in openapi has a record, as have each
// procedure of gRPC and Connect and each page. Records are immutable.
type Record struct {
	// Name is the operationId, or the procedure as /package.Service/Method.
	Name string
	// Pattern is the route's [http.ServeMux] pattern. For a procedure the pattern is its
	// name. Pattern is empty for requests that match no route.
	Pattern string
	API     API
	// Surface is the API as which metrics count the requests.
	Surface inference.Surface
	Access  Access
	Group   Group
	KServe  KServeGroup
	Effect  Effect
	Cost    Cost
	// Renews is set for a call that lasts as long as the client likes and that sends many
	// requests. Each of these requests is admitted separately.
	Renews bool
}

// The values of [inference.Surface] for requests that aren't requests of an inference API.
const (
	SurfaceHealth  inference.Surface = "health"
	SurfaceMetrics inference.Surface = "metrics"
)

// API is the document or the services that describe a route. It selects the form of
// errors.
type API uint8

// The APIs to which a route can belong. They determine the form of error responses.
const (
	Pages     API = iota // files and documents, with errors of OpenAI's API
	OpenAI               // the API of openapi/openai.yaml
	REST                 // KServe's REST API, described by openapi/kserve.yaml
	Procedure            // the services of gRPC and Connect
	Anthropic            // the API of openapi/anthropic.yaml
	Encoders             // the APIs of openapi/encoders.yaml
)

// Access is the class of clients that may call a route of a server with keys.
type Access uint8

// The classes of clients that may call a route. The zero value requires a key.
const (
	Client   Access = iota // clients with a key; the core checks which models the key allows
	Operator               // clients whose key allows all models
	Open                   // all clients: for probes, and for content that is the same on all servers
)

// Group is a group of APIs of --openai-restricted-api.
type Group string

// The groups have the names of Triton's own OpenAI frontend, plus embedding. A group is a
// capability, on all surfaces that offer the capability.
const (
	Inference  Group = "inference"
	Embedding  Group = "embedding"
	Repository Group = "model-repository"
	Metrics    Group = "metrics"
	Health     Group = "health"
	// Other is for routes that are in no group: they need any one of the headers.
	Other Group = ""
	// Free is for routes that no restriction closes.
	Free Group = "-"
)

// KServeGroup is a group of methods of tritonserver's --grpc-restricted-protocol and
// --http-restricted-api. An empty group means that the method is in no group.
type KServeGroup string

// The groups of APIs that operators can restrict, by tritonserver's names.
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

// Effect is the effect of a request on the server.
type Effect uint8

// The effects that a call of a route can have.
const (
	Reads   Effect = iota // shows existing state
	Runs                  // computes an answer from the request, by a model or a tokenizer
	Changes               // changes models, settings, shared memory or stored data of a client
)

// Cost is the quantity with which the work of a request grows.
type Cost uint8

// The classes of cost of a route's calls: what determines the work of a call.
const (
	Constant  Cost = iota // the call has no cost, because the response is ready
	Metadata              // the cost depends on the number of models, or on an engine's answer about one model
	Tokenizer             // the cost depends on the body, which Trident tokenizes
	Model                 // the cost is the work of a model on the body
	Loading               // the cost depends on the size of a model, which is loaded or unloaded
)

// Find returns the record of a route by its pattern, or nil if there is none.
// If Anthropic's API has the pattern too, the record is that of the other API.
func Find(pattern string) *Record { return FindOf(Pages, pattern) }

// FindOf is [Find] for a route of an API. It returns the record of another API if the API has no route with
// the pattern.
func FindOf(api API, pattern string) *Record {
	if r := ofAnthropic[pattern]; r != nil && (api == Anthropic || byPattern[pattern] == nil) {
		return r
	}
	return byPattern[pattern]
}

// Records returns all records in the order of their patterns.
func Records() []*Record {
	all := slices.AppendSeq(slices.Collect(maps.Values(byPattern)), maps.Values(ofAnthropic))
	slices.SortFunc(all, func(a, b *Record) int {
		return cmp.Or(cmp.Compare(a.Pattern, b.Pattern), cmp.Compare(a.API, b.API))
	})
	return all
}

// Unmatched returns the record of a request that matches no route of an API. Such a
// request needs a key, so that the response doesn't reveal which paths exist.
func Unmatched(api API) *Record { return unmatched[api] }

// Predict returns the record of a hosting platform's one path for all requests to models.
// The record requires a key. The request is then also admitted by the record of the route
// that it leads to.
func Predict() *Record { return predict }

var predict = &Record{Name: "predict", API: Pages, Surface: inference.SurfaceOther, Group: Free, Effect: Runs, Cost: Model} //nolint:gochecknoglobals // a constant

// Redirect returns the record of a platform's request whose header names its path. The
// record requires a key. The record of the route at that path has all other requirements.
func Redirect() *Record { return redirect }

var redirect = &Record{Name: "redirect", API: Pages, Surface: inference.SurfaceOther, Group: Free, Effect: Reads, Cost: Constant} //nolint:gochecknoglobals // a constant

var unmatched = map[API]*Record{ //nolint:gochecknoglobals // a constant table
	Pages:     {API: Pages, Surface: inference.SurfaceOther},
	OpenAI:    {API: OpenAI, Surface: inference.SurfaceOpenAI},
	REST:      {API: REST, Surface: inference.SurfaceKServe},
	Procedure: {API: Procedure, Surface: inference.SurfaceOther},
	Anthropic: {API: Anthropic, Surface: inference.SurfaceAnthropic},
	Encoders:  {API: Encoders, Surface: inference.SurfaceEncoders},
}
