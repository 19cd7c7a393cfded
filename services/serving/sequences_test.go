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

// plainModel returns a model with inputs for a text and a limit, and with the parameters.
func plainModel(params map[string]string) *kserve.ModelConfig {
	config := &kserve.ModelConfig{
		Name: "m", ModelTransactionPolicy: &kserve.ModelTransactionPolicy{Decoupled: true}, Parameters: map[string]*kserve.ModelParameter{},
		Input: []*kserve.ModelInput{
			{Name: "text_input", DataType: kserve.DataType_TYPE_STRING, Dims: []int64{1}},
			{Name: "max_tokens", DataType: kserve.DataType_TYPE_INT32, Dims: []int64{1}},
			{Name: "return_log_probs", DataType: kserve.DataType_TYPE_BOOL, Dims: []int64{1}, Optional: true},
			{Name: "return_num_output_tokens", DataType: kserve.DataType_TYPE_BOOL, Dims: []int64{1}, Optional: true},
		},
		Output: []*kserve.ModelOutput{{Name: "text_output"}, {Name: "output_log_probs"}},
	}
	for key, value := range params {
		config.Parameters[key] = &kserve.ModelParameter{StringValue: value}
	}
	return config
}

// respondWith returns a script of responses. Each response is a list of texts; an element "2=x" is the text
// x with the index 2. No response has token counts. The last response is final, or an empty response
// follows it.
func respondWith(empty bool, responses ...[]string) inferencetest.Script {
	return func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		for i, texts := range responses {
			resp := &inference.Response{Final: i == len(responses)-1 && !empty}
			var raw []byte
			for _, text := range texts {
				if index, rest, ok := strings.Cut(text, "="); ok {
					var n uint32
					_, _ = fmt.Sscan(index, &n)
					resp.Outputs = append(resp.Outputs, inference.Output{Name: "sequence_index", Type: "INT32", Raw: binary.LittleEndian.AppendUint32(nil, n)})
					text = rest
				}
				raw = append(raw, inferencetest.Bytes("", text).Raw...)
			}
			resp.Outputs = append(resp.Outputs, inference.Output{Name: "text_output", Type: "BYTES", Raw: raw})
			if !send(resp) {
				return nil
			}
		}
		if empty {
			send(&inference.Response{Final: true})
		}
		return nil
	}
}

// TestSeveralTexts checks that each text that a model generates for a request becomes a choice.
func TestSeveralTexts(t *testing.T) {
	tests := []struct {
		name   string
		script inferencetest.Script
		set    func(*inference.Request)
		want   string // the texts by choice
		err    string // the field at fault
	}{
		{"in one piece", respondWith(false, []string{"a", "b", "c"}), nil, "a(stop)|b(stop)|c(stop)", ""},
		{"in a stream", respondWith(true, []string{"a", "b"}, []string{"c", "d"}), nil, "ac(stop)|bd(stop)", ""},
		{"by their index", respondWith(true, []string{"1=x"}, []string{"0=a"}, []string{"1=y"}), nil, "a(stop)|xy(stop)", ""},
		{"two were asked for", respondWith(false, []string{"a", "b"}), func(r *inference.Request) { r.N = 2 }, "a(stop)|a(stop)|b(stop)|b(stop)", ""},
		{"one stops early", respondWith(true, []string{"ax", "b"}, []string{"y", "c"}), func(r *inference.Request) { r.Sampling.Stop = []string{"x"} }, "a(stop)|bc(stop)", ""},
		{"all stop early", respondWith(true, []string{"ax", "bx"}, []string{"y", "c"}), func(r *inference.Request) { r.Sampling.Stop = []string{"x"} }, "a(stop)|b(stop)", ""},
		{"with the prompt", respondWith(false, []string{"a", "b"}), func(r *inference.Request) { r.Echo = true }, "pa(stop)|pb(stop)", ""},
		{"characters in pieces", respondWith(true, []string{"\xc3", "b"}, []string{"\xa9", "\xc3"}), nil, "é(stop)|b\xc3(stop)", ""},
		{"the likeliest", respondWith(false, []string{"a", "b"}), func(r *inference.Request) { r.BestOf, r.Stream = 2, false }, "", "best_of"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			engine := inferencetest.New()
			engine.AddOther("m", plainModel(nil), tt.script)
			s := inferencetest.Service(t, serving.Config{}, engine)
			req := &inference.Request{Model: "m", Task: inference.TaskGenerate, Stream: true, Prompts: []inference.Input{{Text: "p"}}}
			if tt.set != nil {
				tt.set(req)
			}
			a := inferencetest.Collect(t.Context(), s, req)
			if tt.err != "" {
				if a.Err == nil || a.Err.Param != tt.err {
					t.Errorf("got %v", a.Err)
				}
				return
			}
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			var got []string
			for i := range len(a.Texts) {
				got = append(got, fmt.Sprintf("%s(%s)", a.Texts[i], a.Finish[i]))
			}
			if joined := strings.Join(got, "|"); joined != tt.want {
				t.Errorf("got %q, want %q", joined, tt.want)
			}
			if engine.Active() != 0 {
				t.Error("the model still runs")
			}
		})
	}
}

// TestTokenizerCounts checks that the tokenizer counts the tokens of prompt and answer if the model
// doesn't, and that the finish reason follows from the count.
func TestTokenizerCounts(t *testing.T) {
	limit := 2
	tests := []struct {
		name   string
		params map[string]string
		script inferencetest.Script
		want   string
	}{
		{"one text", withTokenizer(t, ""), respondWith(true, []string{"a"}, []string{"b"}), "4+1 stop"}, // <s> ab b a, ab
		{"at the limit", withTokenizer(t, ""), respondWith(false, []string{"abab"}), "4+2 length"},
		{"several texts", withTokenizer(t, ""), respondWith(false, []string{"b", "ab"}), "4+2 stop"},
		{"no tokenizer", nil, respondWith(false, []string{"abab"}), "0+0 stop"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			engine := inferencetest.New()
			engine.AddOther("m", plainModel(tt.params), tt.script)
			s := inferencetest.Service(t, serving.Config{}, engine)
			req := &inference.Request{Model: "m", Task: inference.TaskGenerate, Stream: true, Prompts: []inference.Input{{Text: "abba"}}}
			req.Sampling.MaxTokens = &limit
			a := inferencetest.Collect(t.Context(), s, req)
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			if got := fmt.Sprintf("%d+%d %s", a.Usage.PromptTokens, a.Usage.CompletionTokens, a.Finish[0]); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// TestBackendOfAModel checks that a model's parameter selects the tensors (contract) that Service
// exchanges with the model.
func TestBackendOfAModel(t *testing.T) {
	for _, tt := range []struct{ named, want string }{
		{"", "tensorrtllm"},
		{"python", "python"},
		{"vllm", "tensors only"},
		{"nim", "tensors only"},
	} {
		t.Run(tt.named, func(t *testing.T) {
			engine := inferencetest.New()
			engine.AddOther("m", plainModel(map[string]string{"trident.backend": tt.named}), respondWith(false, []string{"a"}))
			s := inferencetest.Service(t, serving.Config{}, engine)
			_ = inferencetest.Collect(t.Context(), s, inferencetest.ChatRequest(1)) // the models are known afterwards
			card, err := s.Catalog().Model(t.Context(), "m")
			switch {
			case tt.want == "tensors only":
				if inference.AsError(err).Reason != inference.ReasonModelNotFound {
					t.Errorf("got %v", err)
				}
			case err != nil || card.Card.Kind() != tt.want:
				t.Errorf("got %v, %v", card, err)
			}
		})
	}
}
