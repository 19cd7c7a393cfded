// Package inferencetest provides an engine for tests of the core and of the frontends. Its models
// implement the vLLM backend's contract and answer by scripts that a test supplies. Helpers of
// one package's tests belong to that package.
package inferencetest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/contracts"
	"github.com/trident-inference/trident/services/images"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/tokenizer"
)

// Script is one inference. It sends responses until it returns or send returns false. The stream
// ends with the error that it returns.
type Script func(ctx context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error

// Engine runs scripts. Its methods may be called concurrently.
type Engine struct {
	mu       sync.Mutex
	models   map[string]inference.Model
	scripts  map[string]Script
	down     error
	requests []*kserve.ModelInferRequest
	active   int
	explicit bool
	loading  func(model string) error
}

// New returns an engine without models.
func New() *Engine {
	return &Engine{models: map[string]inference.Model{}, scripts: map[string]Script{}}
}

// AddModel adds a ready model of the vLLM contract. The parameters are those of its config.pbtxt.
func (e *Engine) AddModel(name string, script Script, parameters map[string]string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	config := vllmConfig(name)
	for key, value := range parameters {
		config.Parameters[key] = &kserve.ModelParameter{StringValue: value}
	}
	e.models[name] = inference.Model{Name: name, Version: "1", State: inference.ModelReady, Config: config}
	e.scripts[name] = script
}

// Configure changes a model's configuration, as a load with another configuration does.
func (e *Engine) Configure(name string, change func(*kserve.ModelConfig)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.models[name]
	m.Config = proto.CloneOf(m.Config)
	change(m.Config)
	e.models[name] = m
}

// AddOther adds a ready model of another contract.
func (e *Engine) AddOther(name string, config *kserve.ModelConfig, script Script) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.models[name] = inference.Model{Name: name, Version: "1", State: inference.ModelReady, Config: config}
	e.scripts[name] = script
}

// SetState changes a model's state, as an unload does.
func (e *Engine) SetState(name string, state inference.ModelState, reason string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.models[name]
	m.State, m.Reason = state, reason
	e.models[name] = m
}

// Break puts a model into the state of a breakdown with recovery in progress.
func (e *Engine) Break(name, fault string) {
	e.SetState(name, inference.ModelUnavailable, fault)
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.models[name]
	m.Recovering, m.Config = true, nil
	e.models[name] = m
}

// SetDown makes all calls of the engine fail with err. Nil ends that.
func (e *Engine) SetDown(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = err
}

// Requests returns the requests received so far.
func (e *Engine) Requests() []*kserve.ModelInferRequest {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.requests)
}

// Active returns the number of running streams.
func (e *Engine) Active() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.active
}

// Ready returns nil unless the engine is down.
func (e *Engine) Ready(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.down
}

// Models lists the models.
func (e *Engine) Models(context.Context) ([]inference.Model, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Collect(maps.Values(e.models)), e.down
}

// Stream runs the model's script.
func (e *Engine) Stream(ctx context.Context, req *kserve.ModelInferRequest) iter.Seq2[*inference.Response, error] {
	return func(yield func(*inference.Response, error) bool) {
		script, err := e.begin(req)
		if err != nil {
			yield(nil, err)
			return
		}
		defer e.end()
		left := false
		err = script(ctx, req, func(resp *inference.Response) bool {
			if ctx.Err() != nil || left {
				return false
			}
			left = !yield(resp, nil)
			return !left
		})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil && !left {
			yield(nil, err)
		}
	}
}

func (e *Engine) begin(req *kserve.ModelInferRequest) (Script, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.down != nil {
		return nil, e.down
	}
	script := e.scripts[req.GetModelName()]
	if script == nil {
		return nil, &inference.Error{Code: inference.CodeNotFound, Reason: inference.ReasonModelNotFound, Message: "no model " + req.GetModelName()}
	}
	e.requests = append(e.requests, req)
	e.active++
	return script, nil
}

func (e *Engine) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.active--
	e.finishUnloads()
}

// vllmConfig returns a configuration with the tensors of the vLLM contract.
func vllmConfig(name string) *kserve.ModelConfig {
	config := &kserve.ModelConfig{
		Name: name, Backend: "vllm", Parameters: map[string]*kserve.ModelParameter{},
		ModelTransactionPolicy: &kserve.ModelTransactionPolicy{Decoupled: true},
	}
	for _, in := range []string{
		"text_input", "stream", "sampling_parameters", "exclude_input_in_output", "embedding_request",
		"return_finish_reason", "return_logprobs", "return_num_input_tokens", "return_num_output_tokens",
	} {
		config.Input = append(config.Input, &kserve.ModelInput{Name: in, Dims: []int64{1}})
	}
	config.Input = append(config.Input, &kserve.ModelInput{Name: "image", DataType: kserve.DataType_TYPE_STRING, Dims: []int64{-1}, Optional: true})
	for _, out := range []string{"text_output", "finish_reason", "logprobs", "num_input_tokens", "num_output_tokens"} {
		config.Output = append(config.Output, &kserve.ModelOutput{Name: out, Dims: []int64{-1}})
	}
	return config
}

// Bytes returns a BYTES tensor of one element.
func Bytes(name, value string) inference.Output {
	raw := binary.LittleEndian.AppendUint32(nil, uint32(len(value)))
	return inference.Output{Name: name, Type: "BYTES", Shape: []int64{1}, Raw: append(raw, value...)}
}

// Uint32 returns a UINT32 tensor of one element.
func Uint32(name string, value uint32) inference.Output {
	return inference.Output{Name: name, Type: "UINT32", Shape: []int64{1}, Raw: binary.LittleEndian.AppendUint32(nil, value)}
}

// Token returns a response as the vLLM backend streams them. It has a piece of text, one output
// token, and, if it is the last response, the finish reason.
func Token(text, finish string) *inference.Response {
	final := finish != ""
	if !final {
		finish = "None"
	}
	return &inference.Response{Final: final, Outputs: []inference.Output{
		Bytes("text_output", text), Bytes("finish_reason", finish), Uint32("num_input_tokens", 7), Uint32("num_output_tokens", 1),
	}}
}

// StreamText returns a script that streams the pieces and ends with the finish reason stop.
func StreamText(pieces ...string) Script {
	return func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		for i, piece := range pieces {
			finish := ""
			if i == len(pieces)-1 {
				finish = "stop"
			}
			if resp := Token(piece, finish); !send(resp) {
				break
			}
		}
		return nil
	}
}

// Embed returns a script that answers every input with one vector.
func Embed(vector ...float32) Script {
	return func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		text, err := json.Marshal(vector)
		send(&inference.Response{Final: true, Outputs: []inference.Output{Bytes("text_output", string(text)), Uint32("num_input_tokens", 3)}})
		return err
	}
}

// Input returns the value of a BYTES input of a request, or "" if the request lacks it.
func Input(req *kserve.ModelInferRequest, name string) string {
	for i, in := range req.GetInputs() {
		if in.GetName() == name && in.GetDatatype() == "BYTES" {
			return string(req.GetRawInputContents()[i][4:])
		}
	}
	return ""
}

// ChatTemplate prints the role and content of each message.
const ChatTemplate = `{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]`

// Service returns a started service over the engines. The end of the test stops it.
func Service(tb testing.TB, cfg serving.Config, engines ...inference.Engine) *serving.Service {
	tb.Helper()
	return ServiceWithImages(tb, cfg, images.Default(), engines...)
}

// ServiceWithSeparator returns a Service with a separator between the names of models and LoRA adapters.
func ServiceWithSeparator(tb testing.TB, separator string, cfg serving.Config, engines ...inference.Engine) *serving.Service {
	tb.Helper()
	return start(tb, catalog.Config{LoRASeparator: separator}, cfg, images.Default(), engines)
}

// ServiceWithImages returns a Service that reads images under the given rules.
func ServiceWithImages(tb testing.TB, cfg serving.Config, rules images.Config, engines ...inference.Engine) *serving.Service {
	tb.Helper()
	return start(tb, catalog.Config{}, cfg, rules, engines)
}

func start(tb testing.TB, names catalog.Config, cfg serving.Config, rules images.Config, engines []inference.Engine) *serving.Service {
	tb.Helper()
	service, stop, err := open(names, cfg, rules, engines)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(stop)
	return service
}

// Open returns a started service over the engines, for examples: they have no test that could
// stop the service.
func Open(cfg serving.Config, engines ...inference.Engine) (service *serving.Service, stop func(), err error) {
	return open(catalog.Config{}, cfg, images.Default(), engines)
}

// tokenizers caches the tokenizers of all services of a test binary. Parsing a tokenizer of 50,000 tokens
// takes half a second with the race detector.
var tokenizers = tokenizer.NewFolders() //nolint:gochecknoglobals // a cache that is safe for concurrent use

// Tokenizers returns the tokenizers of the services, for tests that need the tokenizer of a model.
func Tokenizers() *tokenizer.Folders { return tokenizers }

func open(names catalog.Config, cfg serving.Config, rules images.Config, engines []inference.Engine) (*serving.Service, func(), error) {
	names.Names, rules.Names = cfg.Names, cfg.Names // all parts use the same names of fields, as in one program
	models := catalog.New(names, engines, contracts.All(contracts.Config{Names: cfg.Names}), Tokenizers(), slog.New(slog.DiscardHandler))
	reader, err := images.New(rules)
	if err != nil {
		return nil, nil, err
	}
	service, err := serving.New(cfg, models, reader)
	if err != nil {
		return nil, nil, err
	}
	models.Start()
	return service, models.Stop, nil
}
