package serving_test

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// perToken returns the vector [id+1, 1] of each token.
func perToken(ids []int) []float32 {
	var values []float32
	for _, id := range ids {
		values = append(values, float32(id+1), 1)
	}
	return values
}

// sum returns the sum of the ids as the only logit.
func sum(ids []int) []float32 {
	total := 0
	for _, id := range ids {
		total += id
	}
	return []float32{float32(total)}
}

// encoderParameters returns the parameters of an encoder with the tokenizer of the tests, and more.
func encoderParameters(tb testing.TB, more ...string) map[string]string {
	tb.Helper()
	parameters := withTokenizer(tb, "")
	delete(parameters, "trident.chat_template")
	for i := 0; i < len(more); i += 2 {
		parameters["trident."+more[i]] = more[i+1]
	}
	return parameters
}

// serveEncoder returns a service with the model m.
func serveEncoder(t *testing.T, config *kserve.ModelConfig, row func([]int) []float32, more ...string) (*serving.Service, *inferencetest.Engine) {
	t.Helper()
	engine := inferencetest.New()
	engine.AddEncoder(config, encoderParameters(t, more...), row)
	return inferencetest.Service(t, serving.Default(), engine), engine
}

func texts(list ...string) []inference.EncodeInput {
	inputs := make([]inference.EncodeInput, len(list))
	for i := range list {
		inputs[i].Text = list[i]
	}
	return inputs
}

func pairs(list ...string) []inference.EncodeInput {
	inputs := make([]inference.EncodeInput, len(list)/2)
	for i := range inputs {
		inputs[i] = inference.EncodeInput{Input: inference.Input{Text: list[2*i]}, Second: &list[2*i+1]}
	}
	return inputs
}

// showEncoded prints the results, rounded.
func showEncoded(a *inference.EncodeAnswer) string {
	var all []string
	for _, r := range a.Results {
		var parts []string
		switch {
		case r.Vector != nil:
			parts = append(parts, fmt.Sprintf("%.3g", r.Vector))
		case r.Tokens.Rows > 0:
			parts = append(parts, fmt.Sprintf("%dx%d %.3g", r.Tokens.Rows, r.Tokens.Columns, r.Tokens.Values))
		case r.Sparse != nil:
			for _, w := range r.Sparse {
				parts = append(parts, fmt.Sprintf("%d:%.3g", w.ID, w.Weight))
			}
		case r.Classes != nil:
			parts = append(parts, fmt.Sprintf("%.3g", r.Classes))
		default:
			parts = append(parts, fmt.Sprintf("%.3g", r.Score))
		}
		if r.Truncated {
			parts = append(parts, "truncated")
		}
		all = append(all, strings.Join(parts, " "))
	}
	return strings.Join(all, "; ")
}

// TestEncodeTasks checks the result of each task, with the settings and the options that change it. The
// tokens of ab are 3 (which starts each text) and 2; those of a and b are 0 and 1.
func TestEncodeTasks(t *testing.T) {
	tokens := func() *kserve.ModelConfig { return inferencetest.EncoderConfig("m", 8, "last_hidden_state", -1, 2) }
	logits := func(n int64) *kserve.ModelConfig { return inferencetest.EncoderConfig("m", 0, "logits", n) }
	vocabulary := func(ids []int) []float32 { // a logit of each token of the vocabulary after each token
		var values []float32
		for _, id := range ids {
			values = append(values, float32(id), -1, 0, float32(2*id))
		}
		return values
	}
	for _, tt := range []struct {
		name   string
		config *kserve.ModelConfig
		row    func([]int) []float32
		more   []string
		req    inference.EncodeRequest
		want   string
	}{
		{"an embedding", tokens(), perToken, nil, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("ab", "b")}, "[0.962 0.275]; [0.949 0.316]"},
		{"as the model returns it", tokens(), perToken, []string{"normalize", "false"}, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("ab", "b")}, "[3.5 1]; [3 1]"},
		{"as the client asks", tokens(), perToken, nil, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("ab"), Normalize: new(false)}, "[3.5 1]"},
		{"one dimension", tokens(), perToken, nil, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("ab"), Dimensions: 1}, "[1]"},
		{"cls", tokens(), perToken, []string{"pooling", "cls", "normalize", "false"}, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("ab", "abab")}, "[4 1]; [4 1]"},
		{"last", tokens(), perToken, []string{"pooling", "last", "normalize", "false"}, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("ab", "abb")}, "[3 1]; [2 1]"},
		{"max", tokens(), perToken, []string{"pooling", "max", "normalize", "false"}, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("ab", "abb")}, "[4 1]; [4 1]"},
		{"weighted", tokens(), perToken, []string{"pooling", "weighted_mean", "normalize", "false"}, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("ab")}, "[3.33 1]"},
		{
			"token ids", tokens(), perToken,
			[]string{"normalize", "false"},
			inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: inference.EncodeInputs([]inference.Input{{TokenIDs: []int{0, 1}}})},
			"[1.5 1]",
		},
		{
			"a prompt by its name", tokens(), perToken,
			[]string{"normalize", "false", "prompts", `{"query":"b","document":"bb"}`},
			inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("ab"), PromptName: "query"},
			"[3 1]",
		},
		{
			"a prompt by the type", tokens(), perToken,
			[]string{"normalize", "false", "prompts", `{"query":"b","passage":"bb"}`, "pooling", "max"},
			inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("ab"), Type: inference.InputDocument},
			"[4 1]",
		},
		{
			"without the prompt's tokens", tokens(), perToken,
			[]string{"normalize", "false", "prompts", `{"query":"bb"}`, "include_prompt", "false"},
			inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("ab"), Type: inference.InputQuery},
			"[2.5 1]",
		},
		{"lower case", tokens(), perToken, []string{"normalize", "false", "lower_case", "true"}, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("AB")}, "[3.5 1]"},
		{"the start of a long text", tokens(), perToken, []string{"normalize", "false"}, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("ababababababababb"), Truncate: inference.TruncateRight}, "[3.12 1] truncated"},
		{"its end", tokens(), perToken, []string{"normalize", "false"}, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("aabababababababab", "b"), Truncate: inference.TruncateLeft, MaxTokens: 2}, "[3.5 1] truncated; [3 1]"},
		{"vectors of tokens", tokens(), perToken, nil, inference.EncodeRequest{Task: inference.TaskTokenEmbed, Inputs: texts("ab", "")}, "2x2 [0.97 0.243 0.949 0.316]; 1x2 [0.97 0.243]"},
		{"vectors of tokens with one dimension", tokens(), perToken, nil, inference.EncodeRequest{Task: inference.TaskTokenEmbed, Inputs: texts("ab"), Dimensions: 1}, "2x1 [1 1]"},
		{"SPLADE", inferencetest.EncoderConfig("m", 8, "logits", -1, -1), vocabulary, nil, inference.EncodeRequest{Task: inference.TaskSparse, Inputs: texts("ab")}, "0:1.39 3:1.95"},
		{"a score", logits(1), sum, nil, inference.EncodeRequest{Task: inference.TaskScore, Inputs: pairs("a", "a", "b", "ab")}, "0.5; 0.953"},
		{"a raw score", logits(1), sum, nil, inference.EncodeRequest{Task: inference.TaskScore, Inputs: pairs("b", "ab"), Raw: true}, "3"},
		{"a score without activation", logits(1), sum, []string{"activation", "none"}, inference.EncodeRequest{Task: inference.TaskScore, Inputs: pairs("b", "ab")}, "3"},
		{"a document that is too long", logits(1), sum, []string{"activation", "none"}, inference.EncodeRequest{Task: inference.TaskScore, Inputs: pairs("b", "abab"), MaxSecond: 1}, "3 truncated"},
		{"the cosine of embeddings", tokens(), perToken, nil, inference.EncodeRequest{Task: inference.TaskScore, Inputs: pairs("ab", "ab", "ab", "b")}, "1; 0.999"},
		{"classes", logits(2), func(ids []int) []float32 { return append(sum(ids), 0) }, nil, inference.EncodeRequest{Task: inference.TaskClassify, Inputs: texts("", "ab")}, "[0.953 0.0474]; [0.993 0.00669]"},
		{"classes by themselves", logits(2), func(ids []int) []float32 { return append(sum(ids), 0) }, []string{"activation", "sigmoid"}, inference.EncodeRequest{Task: inference.TaskClassify, Inputs: texts("")}, "[0.953 0.5]"},
		{"a vector of the model", inferencetest.EncoderConfig("m", 8, "sentence_embedding", 1), sum, []string{"normalize", "false"}, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("ab")}, "[5]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := serveEncoder(t, tt.config, tt.row, tt.more...)
			tt.req.Model = "m"
			a, err := inferencetest.Encode(t.Context(), s, &tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if got := showEncoded(a); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if a.Usage.PromptTokens == 0 || a.Usage.Unknown {
				t.Errorf("usage %+v", a.Usage)
			}
		})
	}
}

// TestEncodeErrors checks that an error names the input at fault and the reason.
func TestEncodeErrors(t *testing.T) {
	tokens := inferencetest.EncoderConfig("m", 8, "last_hidden_state", -1, 2)
	scores := inferencetest.EncoderConfig("m", 8, "logits", 1)
	documents := func(i int) string { return fmt.Sprintf("documents[%d]", i) }
	for _, tt := range []struct {
		name           string
		config         *kserve.ModelConfig
		row            func([]int) []float32
		more           []string
		req            inference.EncodeRequest
		param, message string
	}{
		{"too long", tokens, perToken, nil, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("a", "bbbbbbbb")}, "input[1]", "This model's maximum context length is 8 tokens, but input[1] has 9 tokens"},
		{"a document that is too long", scores, sum, nil, inference.EncodeRequest{Task: inference.TaskScore, Inputs: pairs("a", "a", "a", "bbbbbbbb"), Param: documents}, "documents[1]", "This model's maximum context length is 8 tokens, but documents[1] has 9 tokens"},
		{"longer than the client allows", tokens, perToken, nil, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("abb"), MaxTokens: 2}, "input", "input has 3 tokens, but at most 2 are allowed"},
		{"10 MiB", tokens, perToken, nil, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("a", strings.Repeat("ab", 5<<20))}, "input[1]", "input[1] has 10485760 bytes, but Trident tokenizes at most 524288 bytes for this model: send less text, or split it into several requests"},
		{"an unknown token id", tokens, perToken, nil, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: inference.EncodeInputs([]inference.Input{{TokenIDs: []int{4}}})}, "input", "input contains the token id 4, but the token ids of the model `m` are below 4: send text (LangChain: check_embedding_ctx_length=False)"},
		{"more token ids than fit", tokens, perToken, nil, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: inference.EncodeInputs([]inference.Input{{TokenIDs: make([]int, 9)}})}, "input", "This model's maximum context length is 8 tokens, but input has 9 tokens"},
		{"an input type of a model without prompts", tokens, perToken, nil, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("a"), PromptName: "query", PromptParam: "input_type"}, "input_type", "input_type is not supported by the model `m`: it has no prompts"},
		{"an unknown prompt", tokens, perToken, []string{"prompts", `{"a":"b","c":"d"}`}, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("a"), PromptName: "query"}, "prompt_name", "the model `m` has no prompt \"query\", but: a, c"},
		{"an unknown input type", tokens, perToken, []string{"prompts", `{"a":"b","c":"d"}`}, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("a"), PromptName: "query", PromptParam: "input_type"}, "input_type", "the model `m` has no prompt \"query\", but: a, c"},
		{"another task", tokens, perToken, nil, inference.EncodeRequest{Task: inference.TaskClassify, Inputs: texts("a")}, "model", "the model `m` doesn't support classification"},
		{"no pair", scores, sum, nil, inference.EncodeRequest{Task: inference.TaskScore, Inputs: texts("a")}, "input", "input must be a pair of texts"},
		{"a pair", tokens, perToken, nil, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: pairs("a", "b")}, "input", "input must be a single text, not a pair"},
		{"more dimensions than there are", tokens, perToken, nil, inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: texts("a"), Dimensions: 3}, "dimensions", "the model `m` returns embeddings of 2 dimensions, but 3 were requested"},
		{"no room", tokens, perToken, nil, inference.EncodeRequest{Task: inference.TaskSparse, Inputs: texts("a")}, "model", "the model `m` doesn't support sparse vectors"},
		{"labels that don't match", inferencetest.EncoderConfig("m", 8, "logits", 2), func([]int) []float32 { return []float32{1, 2} }, []string{"labels", "a, b, c"}, inference.EncodeRequest{Task: inference.TaskClassify, Inputs: texts("a")}, "model", "the model `m` returns 2 classes, but has 3 labels: set the parameter trident.labels in its config.pbtxt"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := serveEncoder(t, tt.config, tt.row, tt.more...)
			tt.req.Model = "m"
			_, err := inferencetest.Encode(t.Context(), s, &tt.req)
			if e := inference.AsError(err); err == nil || e.Param != tt.param || e.Message != tt.message {
				t.Errorf("got  %v\nwant %s", err, tt.message)
			}
		})
	}
}

// TestEncodeLongTexts checks that a text beyond the budget is cut before it is tokenized, if the client
// asks for a truncation.
func TestEncodeLongTexts(t *testing.T) {
	s, engine := serveEncoder(t, inferencetest.EncoderConfig("m", 8, "last_hidden_state", -1, 2), perToken)
	a, err := inferencetest.Encode(t.Context(), s, &inference.EncodeRequest{Model: "m", Task: inference.TaskEmbed, Inputs: texts(strings.Repeat("ab", 5<<20)), Truncate: inference.TruncateRight})
	if err != nil || !a.Results[0].Truncated {
		t.Fatalf("got %+v, %v", a, err)
	}
	if got := fmt.Sprint(inferencetest.Sequences(engine.Requests()[0])); got != "[[3 2 2 2 2 2 2 2]]" {
		t.Errorf("the model got %s", got)
	}
}

// TestEncodeLabels checks the names of classes, with and without the setting.
func TestEncodeLabels(t *testing.T) {
	two := func([]int) []float32 { return []float32{1, 1} }
	for setting, want := range map[string]string{"": "[LABEL_0 LABEL_1]", `["a, b","c"]`: "[a, b c]", "x,y": "[x y]"} {
		s, _ := serveEncoder(t, inferencetest.EncoderConfig("m", 8, "logits", 2), two, "labels", setting)
		a, err := inferencetest.Encode(t.Context(), s, &inference.EncodeRequest{Model: "m", Task: inference.TaskClassify, Inputs: texts("a")})
		if err != nil || fmt.Sprint(a.Labels) != want || a.Results[0].Classes[0] != 0.5 {
			t.Errorf("%s: got %+v, %v", setting, a, err)
		}
	}
}

// TestEncodeTensors checks what the model gets: types of the second texts, padding, and one request for
// the inputs of all.
func TestEncodeTensors(t *testing.T) {
	s, engine := serveEncoder(t, inferencetest.EncoderConfig("m", 8, "logits", 1), sum, "pad_token_id", "1")
	if _, err := inferencetest.Encode(t.Context(), s, &inference.EncodeRequest{ID: "id-1", Model: "m", Task: inference.TaskScore, Inputs: pairs("a", "b", "a", "abab")}); err != nil {
		t.Fatal(err)
	}
	if len(engine.Requests()) != 1 {
		t.Fatalf("%d requests", len(engine.Requests()))
	}
	req := engine.Requests()[0]
	got := map[string]string{}
	for i, in := range req.GetInputs() {
		var numbers []byte
		for n := 0; n < len(req.GetRawInputContents()[i]); n += 8 {
			numbers = append(numbers, '0'+req.GetRawInputContents()[i][n])
		}
		got[in.GetName()] = fmt.Sprintf("%v %s", in.GetShape(), numbers)
	}
	want := map[string]string{"input_ids": "[2 3] 022011", "attention_mask": "[2 3] 111110", "token_type_ids": "[2 3] 011010"}
	if !maps.Equal(got, want) || req.GetId() != "id-1" || req.GetOutputs()[0].GetName() != "logits" {
		t.Errorf("got %v of %s", got, req)
	}
}

// TestEncodeManyInputs checks a request with 10,000 texts: the results have the order of the inputs.
func TestEncodeManyInputs(t *testing.T) {
	s, engine := serveEncoder(t, inferencetest.EncoderConfig("m", 256, "last_hidden_state", -1, 2), perToken, "normalize", "false", "pooling", "last")
	list := make([]string, 10_000)
	for i := range list {
		list[i] = strings.Repeat("ab", i%7) + []string{"a", "b", "ab"}[i%3]
	}
	req := &inference.EncodeRequest{Model: "m", Task: inference.TaskEmbed, Inputs: texts(list...), Param: func(i int) string { return fmt.Sprintf("texts[%d]", i) }}
	a, err := inferencetest.Encode(t.Context(), s, req)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if want := []float32{1, 2, 3}[i%3]; a.Results[i].Vector[0] != want {
			t.Fatalf("result %d is %v, want %v", i, a.Results[i].Vector, want)
		}
	}
	if n := len(engine.Requests()); n < 40 || n > 50 {
		t.Errorf("%d batches", n)
	}
}

// TestEncodeLargeResults checks that the results of a request are bounded.
func TestEncodeLargeResults(t *testing.T) {
	s, _ := serveEncoder(t, inferencetest.EncoderConfig("m", 8, "last_hidden_state", -1, 2), perToken)
	serving.LimitResults(s, 200)
	inputs := texts(slices.Repeat([]string{strings.Repeat("ab", 7)}, 12)...) // each has 8 tokens, whose vectors have 2 numbers
	if _, err := inferencetest.Encode(t.Context(), s, &inference.EncodeRequest{Model: "m", Task: inference.TaskTokenEmbed, Inputs: inputs}); err != nil {
		t.Errorf("192 numbers: %v", err)
	}
	inputs = append(inputs, inputs...)
	req := &inference.EncodeRequest{Model: "m", Task: inference.TaskTokenEmbed, Inputs: inputs, Param: func(i int) string { return fmt.Sprintf("texts[%d]", i) }}
	_, err := inferencetest.Encode(t.Context(), s, req)
	if e := inference.AsError(err); err == nil || e.Param != "texts" || e.Message != "the results have more than 200 numbers: send fewer or shorter inputs in one request" {
		t.Errorf("got %v", err)
	}
}

// TestEncodeStrings checks models that take strings: their texts, scores that are returned as they are, and
// token ids that they can't take.
func TestEncodeStrings(t *testing.T) {
	strs := func(name string, output *kserve.ModelOutput, inputs ...string) *kserve.ModelConfig {
		config := &kserve.ModelConfig{Name: name, MaxBatchSize: 8, Output: []*kserve.ModelOutput{output}}
		for _, in := range inputs {
			config.Input = append(config.Input, &kserve.ModelInput{Name: in, DataType: kserve.DataType_TYPE_STRING, Dims: []int64{1}})
		}
		return config
	}
	out := func(n int64) *kserve.ModelOutput {
		return &kserve.ModelOutput{Name: "out", DataType: kserve.DataType_TYPE_FP32, Dims: []int64{n}}
	}
	// The values of a row are the lengths of its texts, and as many zeros as the output needs.
	lengths := func(n int) inferencetest.Script {
		return func(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
			rows := int(req.GetInputs()[0].GetShape()[0])
			values := make([]float32, rows*n)
			for in, raw := range req.GetRawInputContents() {
				for row := range rows {
					size := binary.LittleEndian.Uint32(raw)
					values[row*n+in*(n-1)] += float32(size)
					raw = raw[4+size:]
				}
			}
			var raw []byte
			for _, v := range values {
				raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
			}
			send(&inference.Response{Final: true, Outputs: []inference.Output{{Name: "out", Type: "FP32", Shape: []int64{int64(rows), int64(n)}, Raw: raw}}})
			return nil
		}
	}
	engine := inferencetest.New()
	engine.AddOther("text", strs("text", out(2), "input_text"), lengths(2))
	engine.AddOther("pair", strs("pair", out(1), "document", "query"), lengths(1))
	s := inferencetest.Service(t, serving.Default(), engine)
	for _, tt := range []struct {
		req  inference.EncodeRequest
		want string
	}{
		{inference.EncodeRequest{Model: "text", Task: inference.TaskEmbed, Inputs: texts("abc", "é"), Normalize: new(false)}, "[3 0]; [2 0]"},
		{inference.EncodeRequest{Model: "text", Task: inference.TaskEmbed, Inputs: texts("abc")}, "[1 0]"},
		{inference.EncodeRequest{Model: "text", Task: inference.TaskScore, Inputs: pairs("abc", "x")}, "1"},
		{inference.EncodeRequest{Model: "pair", Task: inference.TaskScore, Inputs: pairs("abc", "x", "", "four")}, "4; 4"},
	} {
		a, err := inferencetest.Encode(t.Context(), s, &tt.req)
		if err != nil || showEncoded(a) != tt.want || !a.Usage.Unknown {
			t.Errorf("%s: got %+v, %v, want %s", tt.req.Model, a, err, tt.want)
		}
	}
	_, err := inferencetest.Encode(t.Context(), s, &inference.EncodeRequest{Model: "text", Task: inference.TaskEmbed, Inputs: inference.EncodeInputs([]inference.Input{{TokenIDs: []int{1}}})})
	if e := inference.AsError(err); err == nil || e.Param != "input" || e.Message != "the model `text` takes texts: send input as text, not as token ids" {
		t.Errorf("token ids: %v", err)
	}
}

// TestEncodeBadAnswers checks that a model's answer that can't be read is an error.
func TestEncodeBadAnswers(t *testing.T) {
	for name, row := range map[string]func([]int) []float32{
		"no number": func(ids []int) []float32 { return slices.Repeat([]float32{float32(math.NaN())}, 2*len(ids)) },
		"zeros":     func(ids []int) []float32 { return make([]float32, 2*len(ids)) },
		"nothing":   func([]int) []float32 { return nil },
	} {
		s, _ := serveEncoder(t, inferencetest.EncoderConfig("m", 8, "last_hidden_state", -1, 2), row)
		_, err := inferencetest.Encode(t.Context(), s, &inference.EncodeRequest{Model: "m", Task: inference.TaskEmbed, Inputs: texts("ab")})
		if e := inference.AsError(err); err == nil || e.Code != inference.CodeInternal {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// imageOf returns a data: URI of an image of about that many bytes.
func imageOf(size int) string {
	return "data:image/gif;base64," + base64.StdEncoding.EncodeToString(append([]byte("GIF89a"), make([]byte, size)...))
}

// TestEncodeImages checks that images and texts are joined to batches by their sizes, that a prompt is put before texts alone,
// and that the images of a request have the limits of all requests.
func TestEncodeImages(t *testing.T) {
	var mu sync.Mutex
	var batches []string
	lengths := func(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		rows, raw := req.GetInputs()[0].GetShape()[0], []byte(nil)
		first := req.GetRawInputContents()[0]
		mu.Lock()
		batches = append(batches, fmt.Sprintf("%d %s", rows, first[4:4+binary.LittleEndian.Uint32(first)]))
		mu.Unlock()
		for range rows {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(1))
		}
		send(&inference.Response{Final: true, Outputs: []inference.Output{{Name: "out", Type: "FP32", Shape: []int64{rows, 1}, Raw: raw}}})
		return nil
	}
	config := &kserve.ModelConfig{
		Name: "m", Backend: "python", MaxBatchSize: 64, Parameters: map[string]*kserve.ModelParameter{
			"trident.prompts": {StringValue: `{"query": "find: "}`}, "trident.default_prompt_name": {StringValue: "query"},
		},
		Output: []*kserve.ModelOutput{{Name: "out", DataType: kserve.DataType_TYPE_FP32, Dims: []int64{1}}},
	}
	for _, name := range []string{"text", "image"} {
		config.Input = append(config.Input, &kserve.ModelInput{Name: name, DataType: kserve.DataType_TYPE_STRING, Dims: []int64{1}, Optional: name == "image"})
	}
	engine := inferencetest.New()
	engine.AddOther("m", config, lengths)
	counted := proto.CloneOf(config)
	counted.Name = "counted"
	for key, value := range encoderParameters(t) {
		counted.Parameters[key] = &kserve.ModelParameter{StringValue: value}
	}
	delete(counted.GetParameters(), "trident.prompts")
	delete(counted.GetParameters(), "trident.default_prompt_name")
	engine.AddOther("counted", counted, lengths)
	s := inferencetest.Service(t, serving.Default(), engine)
	input := func(text, image string) inference.EncodeInput {
		in := inference.EncodeInput{Input: inference.Input{Text: text}}
		if image != "" {
			in.Image = &inference.ImageRef{URL: image, Param: "input.image"}
		}
		return in
	}
	for _, tt := range []struct {
		name   string
		inputs []inference.EncodeInput
		want   string
	}{
		{"small images", []inference.EncodeInput{input("", imageOf(9)), input("", imageOf(99)), input("", imageOf(999))}, "3 "},
		{"large images", []inference.EncodeInput{input("", imageOf(7<<20)), input("", imageOf(7<<20)), input("", imageOf(7<<20))}, "1 ; 1 ; 1 "},
		{"a text", []inference.EncodeInput{input("a", "")}, "1 find: a"},
		{"an image with a text", []inference.EncodeInput{input("a", imageOf(9))}, "1 find: a"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			batches = nil
			a, err := inferencetest.Encode(t.Context(), s, &inference.EncodeRequest{Model: "m", Task: inference.TaskEmbed, Inputs: tt.inputs})
			if got := strings.Join(batches, "; "); err != nil || len(a.Results) != len(tt.inputs) || got != tt.want {
				t.Errorf("the model got %q, %v", got, err)
			}
		})
	}
	for _, text := range []string{"", "ab"} {
		_, _, unknown := usageOf(t, s, "m", input(text, imageOf(9)))
		prompt, total, counted := usageOf(t, s, "counted", input(text, imageOf(9)), input("b", ""))
		if !unknown || counted || prompt != total || prompt == 0 {
			t.Errorf("%q: usage is unknown without a tokenizer: %v; with a tokenizer %v, %d tokens", text, unknown, counted, prompt)
		}
	}
	many := slices.Repeat([]inference.EncodeInput{input("", imageOf(9))}, 17)
	_, err := inferencetest.Encode(t.Context(), s, &inference.EncodeRequest{Model: "m", Task: inference.TaskEmbed, Inputs: many})
	if e := inference.AsError(err); err == nil || e.Code != inference.CodeInvalid || e.Param != "input.image" || !strings.Contains(e.Message, "at most 16 images") {
		t.Errorf("17 images: %v", err)
	}
}

// usageOf returns the usage of a request, and the sum of the tokens of its results.
func usageOf(t *testing.T, s *serving.Service, model string, inputs ...inference.EncodeInput) (prompt, total int, unknown bool) {
	t.Helper()
	a, err := inferencetest.Encode(t.Context(), s, &inference.EncodeRequest{Model: model, Task: inference.TaskEmbed, Inputs: inputs})
	if err != nil {
		t.Fatal(err)
	}
	for i := range a.Results {
		total += a.Results[i].PromptTokens
	}
	return a.Usage.PromptTokens, total, a.Usage.Unknown
}
