package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton/local"
)

// engineLoop receives tokens from Trident's in-process engine directly, without
// a server. The cost of a server beyond the cost of engineLoop is the cost of
// the API.
type engineLoop struct{ engine *local.Engine }

// startEngine starts an engine. It also returns the function that stops it.
func startEngine(ctx context.Context, repository string, log *slog.Logger) (*local.Engine, func() error, error) {
	cfg := local.Default()
	cfg.Repositories = []string{repository}
	engine, err := local.New(cfg, log)
	if err != nil {
		return nil, nil, err
	}
	if err := engine.Start(ctx); err != nil {
		return nil, nil, err
	}
	stop := func() error { return engine.Stop(context.WithoutCancel(ctx)) }
	if err := engine.AwaitModels(ctx); err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return engine, stop, nil
}

func (l engineLoop) open(_ context.Context, j *job) ([]session, error) {
	request, err := inferRequest(j)
	if err != nil {
		return nil, err
	}
	sessions := make([]session, j.Streams)
	for i := range sessions {
		sessions[i] = &engineSession{engine: l.engine, request: request, tokens: j.Tokens}
	}
	return sessions, nil
}

type engineSession struct {
	engine  inference.Engine
	request *kserve.ModelInferRequest
	tokens  int
}

// run treats responses that the engine yields without a wait as one arrival. The
// driver counts the responses of one read as one arrival, too.
func (s *engineSession) run(ctx context.Context, rec *recorder) error {
	waiting, before := 0, rec.tokens
	rec.begin()
	for response, err := range s.engine.Stream(ctx, s.request) {
		if err != nil {
			return err
		}
		for i := range response.Outputs {
			if out := &response.Outputs[i]; out.Name == textOutput {
				if text := textOf(out.Raw); len(text) > 0 {
					waiting++
					if rec.sampling {
						rec.text = append(rec.text, text...)
					}
				}
			}
		}
		if !response.More {
			rec.arrived(waiting)
			waiting = 0
		}
	}
	return complete(rec.tokens-before, s.tokens)
}

func (*engineSession) close() {}

func complete(tokens, want int) error {
	if tokens != want {
		return fmt.Errorf("the model sent %d tokens, not %d", tokens, want)
	}
	return nil
}

// textOutput is the text tensor in the contract of Triton's vLLM backend.
const textOutput = "text_output"

// textOf returns the only element of a BYTES tensor, which follows a length of
// four bytes.
func textOf(raw []byte) []byte { return raw[min(4, len(raw)):] }

// inferRequest returns a request with the content of Trident's own request for a
// chat, or a request for nothing but the text.
func inferRequest(j *job) (*kserve.ModelInferRequest, error) {
	sampling, err := json.Marshal(map[string]int{"max_tokens": j.Tokens})
	if err != nil {
		return nil, err
	}
	r := requestBuilder{&kserve.ModelInferRequest{ModelName: j.Model, Id: "bench"}, []int64{1}}
	if j.Ensemble {
		r.shape = []int64{1, 1} // the ensemble has a batch dimension
	}
	r.text("text_input", []byte(prompt))
	r.add("stream", "BOOL", []byte{1})
	switch {
	case j.Ensemble:
		r.add("max_tokens", "INT32", binary.LittleEndian.AppendUint32(nil, uint32(j.Tokens)))
	default:
		r.text("sampling_parameters", sampling)
	}
	switch {
	case j.TextAlone && j.Ensemble:
		r.request.Outputs = []*kserve.ModelInferRequest_InferRequestedOutputTensor{{Name: textOutput}}
	case !j.TextAlone:
		for _, name := range []string{"exclude_input_in_output", "return_finish_reason", "return_num_input_tokens", "return_num_output_tokens"} {
			if !j.Ensemble || name != "return_finish_reason" { // the ensemble has no such input
				r.add(name, "BOOL", []byte{1})
			}
		}
	}
	return r.request, nil
}

// requestBuilder adds inputs of one element.
type requestBuilder struct {
	request *kserve.ModelInferRequest
	shape   []int64
}

func (r *requestBuilder) text(name string, value []byte) {
	r.add(name, "BYTES", append(binary.LittleEndian.AppendUint32(nil, uint32(len(value))), value...))
}

func (r *requestBuilder) add(name, datatype string, raw []byte) {
	r.request.Inputs = append(r.request.Inputs, &kserve.ModelInferRequest_InferInputTensor{Name: name, Datatype: datatype, Shape: r.shape})
	r.request.RawInputContents = append(r.request.RawInputContents, raw)
}
