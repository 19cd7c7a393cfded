package inferencetest

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/serving"
)

// WithTemplate returns the parameters of a model with [ChatTemplate].
func WithTemplate() map[string]string {
	return map[string]string{"trident.chat_template": ChatTemplate}
}

// Serve returns a service over an engine with one model, m.
func Serve(tb testing.TB, cfg serving.Config, script Script, params map[string]string) (*serving.Service, *Engine) {
	tb.Helper()
	engine := New()
	engine.AddModel("m", script, params)
	return Service(tb, cfg, engine), engine
}

// EngineWithManyNames returns an engine whose models have many names.
func EngineWithManyNames() *Engine {
	engine := New()
	say := StreamText("x")
	engine.AddModel("plain", say, map[string]string{"trident.loras": "none"})
	engine.AddModel("org/chat", say, map[string]string{"trident.aliases": "gpt-4o, org/small ,,plain,gpt-4o", "trident.loras": "doll,sheep"})
	engine.AddModel("other", say, map[string]string{"trident.aliases": "gpt-4o,ghost"})
	engine.AddModel("secret", say, map[string]string{"trident.hidden": "true", "trident.aliases": "whisper", "trident.loras": "x"})
	engine.AddModel("vectors", Embed(1), map[string]string{"trident.task": "embed", "trident.loras": "x"})
	engine.AddModel("away", say, nil)
	engine.AddModel("a_lora_b", say, map[string]string{"trident.loras": "c"})
	return engine
}

// ChatRequest returns a chat request to the model m for n choices.
func ChatRequest(n int) *inference.Request {
	return &inference.Request{
		Model: "m", Task: inference.TaskGenerate, N: n, Stream: true,
		Messages: []inference.Message{{Role: "user", Text: "hi"}},
	}
}

// PlainRequest returns a request to continue a text.
func PlainRequest(model string) *inference.Request {
	return &inference.Request{Model: model, Task: inference.TaskGenerate, Prompts: []inference.Input{{Text: "x"}}}
}

// EncodedRequest returns a request as its client encoded it.
func EncodedRequest(tb testing.TB, req *kserve.ModelInferRequest) *inference.InferRequest {
	tb.Helper()
	encoded, err := proto.Marshal(req)
	if err != nil {
		tb.Fatal(err)
	}
	m, err := inference.NewInferRequest(mem.BufferSlice{mem.SliceBuffer(encoded)})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// Answer is the result of a request, by choice.
type Answer struct {
	Texts  map[int]string
	Finish map[int]inference.FinishReason
	Usage  *inference.Usage
	Err    *inference.Error
}

// Failure returns the error, or nil.
func (a *Answer) Failure() error {
	if a.Err == nil {
		return nil
	}
	return a.Err
}

// Generate calls the service's Generate for the model that the request names.
func Generate(ctx context.Context, s *serving.Service, req *inference.Request) iter.Seq2[inference.Delta, error] {
	model := s.Resolve(req.Model)
	return s.Generate(ctx, &model, req)
}

// Encode calls the service's Encode for the model that the request names.
func Encode(ctx context.Context, s *serving.Service, req *inference.EncodeRequest) (*inference.EncodeAnswer, error) {
	model := s.Resolve(req.Model)
	return s.Encode(ctx, &model, req)
}

// CountPrompt calls the service's CountPrompt for the model that the request names.
func CountPrompt(ctx context.Context, s *serving.Service, req *inference.Request) (int, error) {
	model := s.Resolve(req.Model)
	return s.CountPrompt(ctx, &model, req)
}

// Forward calls the service's Forward for the model that the request names.
func Forward(ctx context.Context, s *serving.Service, m *inference.InferRequest) iter.Seq2[*inference.Response, error] {
	return s.Forward(ctx, s.ResolveOwn(m.Head().GetModelName()), m)
}

// Infer calls the service's Infer for the model that the request names.
func Infer(ctx context.Context, s *serving.Service, m *inference.InferRequest, use func(*inference.Response) error) error {
	return s.Infer(ctx, s.ResolveOwn(m.Head().GetModelName()), m, use)
}

// Collect runs a request to its end and returns the answer.
func Collect(ctx context.Context, s *serving.Service, req *inference.Request) *Answer {
	a := &Answer{Texts: map[int]string{}, Finish: map[int]inference.FinishReason{}}
	for d, err := range Generate(ctx, s, req) {
		switch {
		case err != nil:
			a.Err = inference.AsError(err)
		case d.Usage != nil:
			u := *d.Usage
			a.Usage = &u
		default:
			a.Texts[d.Index] += string(d.Text)
			if d.Finish != inference.FinishNone {
				a.Finish[d.Index] += d.Finish // concatenation shows a repeated finish reason
			}
		}
	}
	return a
}

// Last returns the error that a stream ends with.
func Last(stream iter.Seq2[*inference.Response, error]) error {
	var last error
	for _, err := range stream {
		last = err
	}
	return last
}

// Drain drains a service. Requests still running after a second are canceled.
func Drain(s *serving.Service) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s.Admission().Drain(ctx)
}

// String returns a parameter of type string.
func String(s string) *kserve.InferParameter {
	return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_StringParam{StringParam: s}}
}

// Int64 returns a parameter of type int64.
func Int64(n int64) *kserve.InferParameter {
	return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_Int64Param{Int64Param: n}}
}

// Bool returns a parameter of type bool.
func Bool(b bool) *kserve.InferParameter {
	return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_BoolParam{BoolParam: b}}
}

// Float64 returns a parameter of type double.
func Float64(f float64) *kserve.InferParameter {
	return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_DoubleParam{DoubleParam: f}}
}

// Uint64 returns a parameter of type uint64.
func Uint64(n uint64) *kserve.InferParameter {
	return &kserve.InferParameter{ParameterChoice: &kserve.InferParameter_Uint64Param{Uint64Param: n}}
}

// Params are the parameters of a request or a tensor, by name.
type Params = map[string]*kserve.InferParameter

// WantInvalid checks the param and the message of the error that a client receives.
func WantInvalid(tb testing.TB, err error, param, message string) {
	tb.Helper()
	var e *inference.Error
	if !errors.As(err, &e) {
		tb.Fatalf("got error %v, want an inference.Error", err)
	}
	if e.Code != inference.CodeInvalid || e.Param != param || e.Message != message {
		tb.Errorf("got  %v %q: %s\nwant %v %q: %s", e.Code, e.Param, e.Message, inference.CodeInvalid, param, message)
	}
}
