// Package inferencetest is an engine for tests of the core and of the frontends:
// its models speak the vLLM backend's contract and say what a test tells them to.
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

// Script is one inference: it sends responses until it returns or send is false.
// An error it returns ends the stream with it.
type Script func(ctx context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error

// Engine runs scripts. Fields may be changed between requests; methods may be
// called concurrently.
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

// New makes an engine without models.
func New() *Engine {
	return &Engine{models: map[string]inference.Model{}, scripts: map[string]Script{}}
}

// AddModel adds a ready model of the vLLM contract, with parameters of its
// config.pbtxt.
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

// Configure changes a model's configuration, as a load with another one does.
func (e *Engine) Configure(name string, change func(*kserve.ModelConfig)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.models[name]
	m.Config = proto.CloneOf(m.Config)
	change(m.Config)
	e.models[name] = m
}

// AddOther adds a ready model of any other contract.
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

// Break makes a model one that broke down and is being brought back.
func (e *Engine) Break(name, fault string) {
	e.SetState(name, inference.ModelUnavailable, fault)
	e.mu.Lock()
	defer e.mu.Unlock()
	m := e.models[name]
	m.Recovering, m.Config = true, nil
	e.models[name] = m
}

// SetDown makes the engine fail everything with err; nil brings it back.
func (e *Engine) SetDown(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.down = err
}

// Requests are those seen so far.
func (e *Engine) Requests() []*kserve.ModelInferRequest {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.requests)
}

// Active counts the streams that run now.
func (e *Engine) Active() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.active
}

// Ready is nil unless the engine is down.
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

// vllmConfig declares the contract's tensors.
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

// Bytes is a BYTES tensor of one element.
func Bytes(name, value string) inference.Output {
	raw := binary.LittleEndian.AppendUint32(nil, uint32(len(value)))
	return inference.Output{Name: name, Type: "BYTES", Shape: []int64{1}, Raw: append(raw, value...)}
}

// Uint32 is a UINT32 tensor of one element.
func Uint32(name string, value uint32) inference.Output {
	return inference.Output{Name: name, Type: "UINT32", Shape: []int64{1}, Raw: binary.LittleEndian.AppendUint32(nil, value)}
}

// Token is a response as the vLLM backend streams them: a piece of text, one
// output token, and in the last one the finish reason.
func Token(text, finish string) *inference.Response {
	final := finish != ""
	if !final {
		finish = "None"
	}
	return &inference.Response{Final: final, Outputs: []inference.Output{
		Bytes("text_output", text), Bytes("finish_reason", finish), Uint32("num_input_tokens", 7), Uint32("num_output_tokens", 1),
	}}
}

// Say is a script that streams the pieces and ends with stop.
func Say(pieces ...string) Script {
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

// Embed is a script that answers every input with one vector.
func Embed(vector ...float32) Script {
	return func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		text, err := json.Marshal(vector)
		send(&inference.Response{Final: true, Outputs: []inference.Output{Bytes("text_output", string(text)), Uint32("num_input_tokens", 3)}})
		return err
	}
}

// Input is the value of a BYTES input of a request, empty where there is none.
func Input(req *kserve.ModelInferRequest, name string) string {
	for i, in := range req.GetInputs() {
		if in.GetName() == name && in.GetDatatype() == "BYTES" {
			return string(req.GetRawInputContents()[i][4:])
		}
	}
	return ""
}

// ChatTemplate prints each role and content.
const ChatTemplate = `{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]`

// Service makes a started service over the engines; it is stopped with the test.
func Service(tb testing.TB, cfg serving.Config, engines ...inference.Engine) *serving.Service {
	tb.Helper()
	return Seeing(tb, cfg, images.Default(), engines...)
}

// Separated is a Service with a separator between the names of models and LoRA adapters.
func Separated(tb testing.TB, separator string, cfg serving.Config, engines ...inference.Engine) *serving.Service {
	tb.Helper()
	return start(tb, catalog.Config{LoRASeparator: separator}, cfg, images.Default(), engines)
}

// Seeing is a Service that reads pictures under given rules.
func Seeing(tb testing.TB, cfg serving.Config, rules images.Config, engines ...inference.Engine) *serving.Service {
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

// Open makes a started service over the engines for examples, which have no test that
// could stop it.
func Open(cfg serving.Config, engines ...inference.Engine) (service *serving.Service, stop func(), err error) {
	return open(catalog.Config{}, cfg, images.Default(), engines)
}

func open(names catalog.Config, cfg serving.Config, rules images.Config, engines []inference.Engine) (*serving.Service, func(), error) {
	models := catalog.New(names, engines, contracts.All(contracts.Config{}), tokenizer.NewFolders(), slog.New(slog.DiscardHandler))
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
