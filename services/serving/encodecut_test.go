package serving_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// textsSent returns the texts that a model got, in the order of its inputs.
func textsSent(req *kserve.ModelInferRequest) string {
	var all []string
	for _, raw := range req.GetRawInputContents() {
		for len(raw) > 0 {
			size := binary.LittleEndian.Uint32(raw)
			all, raw = append(all, string(raw[4:4+size])), raw[4+size:]
		}
	}
	return strings.Join(all, " ")
}

// serveTexts returns a service with the model m, which takes a text for each of the inputs and answers 1.
func serveTexts(t *testing.T, parameters map[string]string, inputs ...string) (*serving.Service, *inferencetest.Engine) {
	t.Helper()
	config := &kserve.ModelConfig{
		Name: "m", MaxBatchSize: 8, Parameters: map[string]*kserve.ModelParameter{},
		Output: []*kserve.ModelOutput{{Name: "out", DataType: kserve.DataType_TYPE_FP32, Dims: []int64{1}}},
	}
	for _, in := range inputs {
		config.Input = append(config.Input, &kserve.ModelInput{Name: in, DataType: kserve.DataType_TYPE_STRING, Dims: []int64{1}})
	}
	for key, value := range parameters {
		config.Parameters[key] = &kserve.ModelParameter{StringValue: value}
	}
	engine := inferencetest.New()
	engine.AddOther("m", config, func(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		rows := req.GetInputs()[0].GetShape()[0]
		send(&inference.Response{Final: true, Outputs: []inference.Output{{Name: "out", Type: "FP32", Shape: []int64{rows, 1}, Raw: []byte(strings.Repeat("\x00\x00\x80\x3f", int(rows)))}}})
		return nil
	})
	return inferencetest.Service(t, serving.Default(), engine), engine
}

// TestEncodeCutsTexts checks the texts that a model gets that tokenizes texts itself: they are cut as they are for
// models that take token ids. The context of the model has 8 tokens, and each single text starts with one.
func TestEncodeCutsTexts(t *testing.T) {
	const long = "aababababababababb"
	one, two := []string{"text"}, []string{"query", "document"}
	for _, tt := range []struct {
		name   string
		inputs []string
		req    inference.EncodeRequest
		sent   string
		tokens int
		cut    bool
	}{
		{"a text that fits", one, inference.EncodeRequest{Inputs: texts("abb"), Truncate: inference.TruncateRight}, "abb", 3, false},
		{"the start of a text", one, inference.EncodeRequest{Inputs: texts(long), Truncate: inference.TruncateRight}, "aabababababab", 8, true},
		{"the end of a text", one, inference.EncodeRequest{Inputs: texts(long), Truncate: inference.TruncateLeft}, "ababababababb", 8, true},
		{"a limit of the client", one, inference.EncodeRequest{Inputs: texts(long), Truncate: inference.TruncateRight, MaxTokens: 3}, "aab", 3, true},
		{"a limit above the model's", one, inference.EncodeRequest{Inputs: texts(long), Truncate: inference.TruncateLeft, MaxTokens: 99}, "ababababababb", 8, true},
		{"a document", one, inference.EncodeRequest{Inputs: []inference.EncodeInput{{Input: inference.Input{Text: "abba"}, Type: inference.InputDocument}}, MaxSecond: 2}, "abb", 3, true},
		{"a query", one, inference.EncodeRequest{Inputs: []inference.EncodeInput{{Input: inference.Input{Text: "abba"}, Type: inference.InputQuery}}, MaxSecond: 2}, "abba", 4, false},
		{"an embedded pair", one, inference.EncodeRequest{Task: inference.TaskScore, Inputs: pairs("abba", "abba"), MaxSecond: 2}, "abba abb", 7, true},
		{"a document of a pair", two, inference.EncodeRequest{Task: inference.TaskScore, Inputs: pairs("abba", "abba"), MaxSecond: 2}, "abba abb", 5, true},
		{"a document of a pair that fits", two, inference.EncodeRequest{Task: inference.TaskScore, Inputs: pairs("abab", "abb"), MaxSecond: 2}, "abab abb", 4, false},
		{"the longer text of a pair", two, inference.EncodeRequest{Task: inference.TaskScore, Inputs: pairs("a", long), Truncate: inference.TruncateRight}, "a aabababababab", 8, true},
		{"its end", two, inference.EncodeRequest{Task: inference.TaskScore, Inputs: pairs("a", long), Truncate: inference.TruncateLeft, MaxTokens: 4}, "a ababb", 4, true},
		{"several megabytes", one, inference.EncodeRequest{Inputs: texts(strings.Repeat("ab", 2<<20)), Truncate: inference.TruncateRight}, strings.Repeat("ab", 7), 8, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, engine := serveTexts(t, encoderParameters(t), tt.inputs...)
			tt.req.Model = "m"
			if tt.req.Task == 0 {
				tt.req.Task = inference.TaskEmbed
			}
			a, err := inferencetest.Encode(t.Context(), s, &tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if got := textsSent(engine.Requests()[0]); got != tt.sent {
				t.Errorf("the model got %q, want %q", got, tt.sent)
			}
			if a.Results[0].Truncated != tt.cut || a.Usage.PromptTokens != tt.tokens || a.Usage.Unknown {
				t.Errorf("truncated %t, usage %+v, want %d tokens", a.Results[0].Truncated, a.Usage, tt.tokens)
			}
		})
	}
}

// TestEncodeCutRefused checks the errors of texts that can't be cut, for a model that tokenizes texts itself.
func TestEncodeCutRefused(t *testing.T) {
	known := encoderParameters(t)
	for _, tt := range []struct {
		name       string
		parameters map[string]string
		inputs     []string
		req        inference.EncodeRequest
		param      string
		message    string
	}{
		{"no tokenizer", nil, []string{"text"}, inference.EncodeRequest{Inputs: texts("ab"), Truncate: inference.TruncateRight, MaxTokens: 2}, "truncate_prompt_tokens", "truncate_prompt_tokens is not supported by the model `m`: it reads texts, and its tokenizer isn't known. Set the parameter trident.tokenizer in its config.pbtxt, or send shorter inputs"},
		{"no truncation", known, []string{"text"}, inference.EncodeRequest{Inputs: texts("a", "bbbbbbbb")}, "input[1]", "This model's maximum context length is 8 tokens, but input[1] has 9 tokens"},
		{"a query without room for a document", known, []string{"query", "document"}, inference.EncodeRequest{Task: inference.TaskScore, Inputs: pairs("bbbbbbbbb", "abb"), Truncate: inference.TruncateRight, MaxSecond: 1}, "input", "input can't be truncated: "},
		{"a document that is cut beside a long query", known, []string{"query", "document"}, inference.EncodeRequest{Task: inference.TaskScore, Inputs: pairs("bbbbbbbb", "abb"), MaxSecond: 1}, "input", "This model's maximum context length is 8 tokens, but input has 9 tokens"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, engine := serveTexts(t, tt.parameters, tt.inputs...)
			tt.req.Model = "m"
			if tt.req.Task == 0 {
				tt.req.Task = inference.TaskEmbed
			}
			_, err := inferencetest.Encode(t.Context(), s, &tt.req)
			if e := inference.AsError(err); err == nil || e.Code != inference.CodeInvalid || e.Param != tt.param || !strings.HasPrefix(e.Message, tt.message) || len(engine.Requests()) > 0 {
				t.Errorf("got  %v of %s\nwant %s", err, e.Param, tt.message)
			}
		})
	}
	s, engine := serveTexts(t, nil, "text")
	if _, err := inferencetest.Encode(t.Context(), s, &inference.EncodeRequest{Model: "m", Task: inference.TaskEmbed, Inputs: texts("abab"), Truncate: inference.TruncateRight}); err != nil || textsSent(engine.Requests()[0]) != "abab" {
		t.Errorf("without a tokenizer and a limit: %v", err)
	}
}

// TestEncodeCutsTokenIDs checks the token ids that models get, from a model with the tensors of an encoder and from
// vLLM.
func TestEncodeCutsTokenIDs(t *testing.T) {
	ids := inference.EncodeInputs([]inference.Input{{TokenIDs: []int{0, 1, 2, 1, 0}}})
	for _, tt := range []struct {
		side inference.TruncateSide
		want []int
	}{
		{inference.TruncateRight, []int{0, 1}},
		{inference.TruncateLeft, []int{1, 0}},
	} {
		req := &inference.EncodeRequest{Model: "m", Task: inference.TaskEmbed, Inputs: ids, Truncate: tt.side, MaxTokens: 2}
		s, engine := serveEncoder(t, inferencetest.EncoderConfig("m", 8, "last_hidden_state", -1, 2), perToken)
		a, err := inferencetest.Encode(t.Context(), s, req)
		if err != nil || !a.Results[0].Truncated || fmt.Sprint(inferencetest.Sequences(engine.Requests()[0])) != fmt.Sprint([][]int{tt.want}) {
			t.Errorf("%v: got %+v, %v", tt.side, a, err)
		}
		for name, parameters := range map[string]map[string]string{"known": encoderParameters(t), "unknown": {"trident.task": "embed"}} {
			s, engine = inferencetest.Serve(t, serving.Config{}, inferencetest.Embed(1), parameters)
			a, err = inferencetest.Encode(t.Context(), s, req)
			if err != nil || !a.Results[0].Truncated {
				t.Fatalf("%v, tokenizer %s: got %+v, %v", tt.side, name, a, err)
			}
			if got := inferencetest.Input(engine.Requests()[0], "embedding_request"); got != fmt.Sprintf(`{"input":[%d,%d]}`, tt.want[0], tt.want[1]) {
				t.Errorf("%v, tokenizer %s: the model got %s", tt.side, name, got)
			}
		}
	}
}
