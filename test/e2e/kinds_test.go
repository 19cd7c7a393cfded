package e2e

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestKindsAnswer(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.model, func(t *testing.T) {
			c := contracts(t)
			for _, test := range []struct {
				name    string
				ask     func() collected
				texts   []string
				finish  string
				tokens  int // number of tokens of the response
				limited bool
			}{
				{"a chat", func() collected { return c.chatOf(t, k, " one two three") }, []string{" one two three"}, "stop", k.tokens(3, 15), false},
				{"a continuation", func() collected { return c.continued(t, k, " the sea") }, []string{" the sea"}, "stop", k.tokens(2, 9), false},
				{"with the prompt", func() collected { return c.continued(t, k, " the sea", "echo", true) }, []string{" the sea the sea"}, "stop", k.tokens(2, 9), false},
				{"three choices", func() collected { return c.chatOf(t, k, " one", "n", 3) }, []string{" one", " one", " one"}, "stop", k.tokens(3, 15), false},
				{"a list of prompts", func() collected { return c.continued(t, k, []string{" one", " two"}, "n", 2) }, []string{" one", " one", " two", " two"}, "stop", k.tokens(4, 20), false},
				{"token ids", func() collected { return c.continued(t, k, k.ids()) }, []string{" the sea"}, "stop", k.tokens(2, 9), false},
				{"at its limit", func() collected { return c.chatOf(t, k, " one two three", "max_tokens", k.tokens(2, 8)) }, []string{" one two"}, "length", k.tokens(2, 8), true},
				{"a stop text", func() collected { return c.chatOf(t, k, " one two three", "stop", " two") }, []string{" one"}, "stop", 0, false},
				{"a stop text in pieces", func() collected { return c.chatOf(t, k, "abcSTOPdef", "stop", []string{"nine", "STOP"}) }, []string{"abc"}, "stop", 0, false},
				{"a stop text that stays", func() collected {
					return c.chatOf(t, k, "abcSTOPdef", "stop", "STOP", "include_stop_str_in_output", true)
				}, []string{"abcSTOP"}, "stop", 0, false},
				{"the beginning of a stop text", func() collected { return c.chatOf(t, k, "abcST", "stop", "STOP") }, []string{"abcST"}, "stop", 0, false},
				{"a call", func() collected {
					return c.chatOf(t, k, `<tool_call>{"name": "now", "arguments": {"in": "UTC"}}</tool_call>`, "tools", clock())
				}, []string{""}, "tool_calls", 0, false},
			} {
				if test.limited && !k.limits {
					continue
				}
				t.Run(test.name, func(t *testing.T) {
					got := test.ask()
					if !slices.Equal(got.texts, test.texts) || slices.ContainsFunc(got.finish, func(f string) bool { return f != test.finish }) {
						t.Errorf("texts %q, finish %q; want %q, %s", got.texts, got.finish, test.texts, test.finish)
					}
					u := got.usage
					// The executor's end token counts too.
					if u.Prompt == 0 || u.Completion == 0 || u.Total != u.Prompt+u.Completion || test.tokens > 0 && u.Completion != test.tokens && (!k.executor || u.Completion != test.tokens+len(test.texts)) {
						t.Errorf("usage %+v, want %d tokens in the answer", u, test.tokens)
					}
				})
			}
		})
	}
}

// TestKindsSingleCall checks that a streaming model's response ends after the single allowed tool
// call. The ensemble doesn't stream, or its characters would break, so its response has both calls.
func TestKindsSingleCall(t *testing.T) {
	t.Parallel()
	const call = `<tool_call>{"name": "now", "arguments": {"in": "UTC"}}</tool_call>`
	for _, k := range kinds() {
		if k.streamsCharacters {
			t.Run(k.model, func(t *testing.T) {
				got := contracts(t).chatOf(t, k, call+call, "tools", clock(), "parallel_tool_calls", false)
				if len(got.calls) != 1 || got.finish[0] != "tool_calls" || got.usage.Completion == 0 {
					t.Errorf("got %+v", got)
				}
			})
		}
	}
}

// clock is a list of one tool, with its keys in the order in which the typed services write them:
// chat templates show them to the model.
func clock() []json.RawMessage {
	return []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{"in":{"type":"string"}},"required":["in"]}}}`)}
}

// TestKindsCharacters checks that characters that consist of several tokens are complete. The
// ensemble decodes each token separately, so its streams lose such characters before Trident reads
// them.
func TestKindsCharacters(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.model, func(t *testing.T) {
			c := contracts(t)
			if !k.streamsCharacters {
				whole := c.post(t, "/v1/chat/completions", ask(unicodeText, "model", k.model)).want(t, http.StatusOK)
				if got := decode[completion](t, whole).Choices[0].Message.Content; got != unicodeText {
					t.Errorf("got %q", got)
				}
				return
			}
			if got := c.chatOf(t, k, unicodeText).texts[0]; got != unicodeText {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestKindsSampling checks the tensors of a request: names, shapes and values as the model declares
// them, and no other tensors.
func TestKindsSampling(t *testing.T) {
	t.Parallel()
	executor := map[string]string{
		"text_input": `[1, 1] [" one"]`, "max_tokens": "[1, 1] [5]", "stream": "[1, 1] [false]", "exclude_input_in_output": "[1, 1] [true]",
		"return_num_input_tokens": "[1, 1] [true]", "return_num_output_tokens": "[1, 1] [true]",
		"temperature": "[1, 1] [0.5]", "top_p": "[1, 1] [0.75]", "top_k": "[1, 1] [20]", "seed": "[1, 1] [7]", "frequency_penalty": "[1, 1] [0.5]",
		"presence_penalty": "[1, 1] [-0.5]", "repetition_penalty": "[1, 1] [1.25]", "min_tokens": "[1, 1] [2]", "stop_words": `[1, 2] ["x", "é"]`, "bad_words": `[1, 1] ["no"]`,
	}
	// A reshape removes a dimension of these inputs before the model reads them. The model bls
	// streams to end at a stop sequence; the ensemble doesn't, because streaming breaks its
	// characters.
	bls := map[string]string{}
	for name, value := range executor {
		bls[name] = value
		if name == "stream" {
			bls[name] = "[1, 1] [true]"
		}
		if strings.HasPrefix(name, "return_") {
			bls[name] = strings.Replace(value, "[1, 1]", "[1]", 1)
		}
	}
	executor["return_perf_metrics"] = "[1, 1] [true]" // the size of the blocks of bls isn't known
	common := []any{"max_tokens", 5, "temperature", 0.5, "top_p", 0.75, "top_k", 20, "seed", 7, "frequency_penalty", 0.5, "presence_penalty", -0.5, "stop", []string{"x", "é"}}
	whole := append(slices.Clone(common), "repetition_penalty", 1.25, "min_tokens", 2, "bad_words", []string{"no"})
	for _, test := range []struct {
		model string
		more  []any
		want  map[string]string
	}{
		{"ensemble", whole, executor},
		{"bls", whole, bls},
		{"llmapi", common, map[string]string{
			"text_input": `[1] [" one"]`, "sampling_param_max_tokens": "[1] [5]", "streaming": "[1] [true]", "sampling_param_exclude_input_from_output": "[1] [true]",
			"return_finish_reason": "[1] [true]", "sampling_param_return_perf_metrics": "[1] [true]", "sampling_param_temperature": "[1] [0.5]", "sampling_param_top_p": "[1] [0.75]", "sampling_param_top_k": "[1] [20]",
			"sampling_param_seed": "[1] [7]", "sampling_param_frequency_penalty": "[1] [0.5]", "sampling_param_presence_penalty": "[1] [-0.5]", "sampling_param_stop": `[2] ["x", "é"]`,
		}},
		{"vllm", append(whole, "min_p", 0.25, "stop_token_ids", []int{9}), map[string]string{
			"text_input": `[" one"]`, "stream": "[false]", "exclude_input_in_output": "[true]", "return_finish_reason": "[true]",
			"return_num_input_tokens": "[true]", "return_num_output_tokens": "[true]",
			"sampling_parameters": `["{\"temperature\":0.5,\"top_p\":0.75,\"top_k\":20,\"min_p\":0.25,\"seed\":7,\"frequency_penalty\":0.5,\"presence_penalty\":-0.5,` +
				`\"repetition_penalty\":1.25,\"max_tokens\":5,\"min_tokens\":2,\"stop\":[\"x\",\"\u00e9\"],\"stop_token_ids\":[9],\"bad_words\":[\"no\"]}"]`,
		}},
		{"plain", []any{"temperature", 0.5, "seed", 7}, map[string]string{"text_input": `[1, 1] [" one"]`, "temperature": "[1, 1] [0.5]", "random_seed": "[1, 1] [7]"}},
	} {
		t.Run(test.model, func(t *testing.T) {
			c := contracts(t)
			got := c.continued(t, kind{model: test.model}, " one", test.more...)
			given := c.inputsOf(t, got.id)
			if len(given) != 1 {
				t.Fatalf("%d requests", len(given))
			}
			for name, want := range test.want {
				if given[0][name] != want {
					t.Errorf("%s: got %s, want %s", name, given[0][name], want)
				}
				delete(given[0], name)
			}
			if len(given[0]) > 0 {
				t.Errorf("the request has additional fields: %v", given[0])
			}
		})
	}
	t.Run("choices have seeds of their own", func(t *testing.T) {
		c := contracts(t)
		seeds := map[string]bool{}
		for _, inputs := range c.inputsOf(t, c.continued(t, kind{model: "ensemble"}, " one", "n", 3, "seed", 7).id) {
			seeds[inputs["seed"]] = true
		}
		if len(seeds) != 3 {
			t.Errorf("seeds %v", seeds)
		}
	})
}

// TestKindsExecutor checks the features that only TensorRT-LLM's executor has.
func TestKindsExecutor(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","minimum":3}},"required":["name","age"]}`
	for _, k := range kinds() {
		t.Run(k.model, func(t *testing.T) {
			c := contracts(t)
			if !k.executor {
				t.Skip("the test doesn't apply to this kind of model")
			}
			for _, test := range []struct {
				name        string
				more        []any
				text, calls string
				finish      string
			}{
				{"json_schema", []any{"response_format", object{"type": "json_schema", "json_schema": object{"name": "x", "schema": json.RawMessage(schema)}}}, `{"name": "a", "age": 3}`, "", "stop"},
				{"json_object", []any{"response_format", object{"type": "json_object"}}, "{}", "", "stop"},
				{"choice", []any{"guided_choice", []string{"re\"d", "blue"}}, `re"d`, "", "stop"},
				{"regex", []any{"guided_regex", "yes"}, "yes", "", "stop"},
				{"grammar", []any{"guided_grammar", `root ::= "up" | "down"`}, "up", "", "stop"},
				{"a call that is demanded", []any{"tools", clock(), "tool_choice", "required"}, "", `now{"in": "a"}`, "tool_calls"},
				{"one tool", []any{"tools", clock(), "tool_choice", object{"type": "function", "function": object{"name": "now"}}}, "", `now{"in": "a"}`, "tool_calls"},
				{"a favoured token", []any{"logit_bias", object{"269": 100}, "max_tokens", 1}, " sea", "", "length"},
				{"no end", []any{"ignore_eos", true, "max_tokens", 4}, " one two one two", "", "length"},
				{"min_tokens", []any{"min_tokens", 3}, " one two one two", "", "stop"},
			} {
				t.Run(test.name, func(t *testing.T) {
					got := c.chatOf(t, k, " one two", test.more...)
					if got.texts[0] != test.text || strings.Join(got.calls, "|") != test.calls || got.finish[0] != test.finish {
						t.Errorf("got %q, calls %q, finish %s", got.texts[0], got.calls, got.finish[0])
					}
				})
			}
			t.Run("logprobs", func(t *testing.T) {
				for _, got := range []collected{
					c.chatOf(t, k, " one two sea", "logprobs", true, "max_tokens", 3),
					c.continued(t, k, " one two sea", "logprobs", 0, "max_tokens", 3),
				} {
					if joined := strings.Join(got.logprobs, "|"); joined != " one| two| sea" {
						t.Errorf("tokens %q", joined)
					}
				}
			})
			t.Run("the likeliest of several", func(t *testing.T) {
				a := c.post(t, "/v1/completions", object{"model": k.model, "prompt": " one", "n": 1, "best_of": 2}).want(t, http.StatusOK)
				if text := decode[chunkOrResponse](t, a).Choices[0].Text; text != " one" {
					t.Errorf("got %q", text)
				}
			})
		})
	}
}

// TestKindsSeveralTexts checks that a model with several texts in a response returns several
// choices.
func TestKindsSeveralTexts(t *testing.T) {
	t.Parallel()
	c := contracts(t)
	for _, test := range []struct {
		name string
		n    int
		want []string
	}{
		{"one was asked for", 1, []string{"one", "two"}},
		{"two were asked for", 2, []string{"one", "one", "two", "two"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, got := range []collected{c.chatOf(t, kind{model: "plain"}, "one|two", "n", test.n), c.continued(t, kind{model: "plain"}, "one|two", "n", test.n)} {
				if !slices.Equal(got.texts, test.want) || slices.ContainsFunc(got.finish, func(f string) bool { return f != "stop" }) {
					t.Errorf("texts %q, finish %q", got.texts, got.finish)
				}
			}
		})
	}
}

// TestKindsRefuse checks that a kind refuses unsupported features with the name of the field, and
// that errors of the model are passed on.
func TestKindsRefuse(t *testing.T) {
	t.Parallel()
	c := contracts(t)
	long := strings.Repeat("x", 250) // the models accept less, and Trident's limit is higher
	for _, test := range []struct {
		model, name string
		more        []any
		param, code string
		message     string
	}{
		{"ensemble", "top_logprobs", []any{"logprobs", true, "top_logprobs", 2}, "top_logprobs", "unsupported_parameter", "ensemble"},
		{"ensemble", "min_p", []any{"min_p", 0.5}, "min_p", "unsupported_parameter", "min_p"},
		{"ensemble", "stop_token_ids", []any{"stop_token_ids", []int{5}}, "stop_token_ids", "unsupported_parameter", ""},
		{"ensemble", "a structural tag", []any{"structured_outputs", object{"structural_tag": "x"}}, "structured_outputs.structural_tag", "unsupported_parameter", ""},
		{"ensemble", "a piece of a character", []any{"logit_bias", object{"200": 1}}, "logit_bias", "unsupported_parameter", "token 200"},
		{"ensemble", "an unknown token", []any{"logit_bias", object{"9999": 1}}, "logit_bias", "invalid_value", "9999"},
		{"bls", "a long prompt", []any{"messages", []object{{"role": "user", "content": long}}}, "messages", "context_length_exceeded", "This model's maximum context length is 200 tokens, but messages has 250"},
		{"ensemble", "a long prompt", []any{"messages", []object{{"role": "user", "content": long}}}, "messages", "context_length_exceeded", "200 tokens"},
		{"llmapi", "a long prompt", []any{"messages", []object{{"role": "user", "content": long}}}, "messages", "context_length_exceeded", "200 tokens"},
		{"llmapi", "a prompt beyond the context", []any{"messages", []object{{"role": "user", "content": long + long}}}, "messages", "context_length_exceeded", "300 tokens"},
		{"llmapi", "logprobs", []any{"logprobs", true}, "logprobs", "unsupported_parameter", "llmapi"},
		{"llmapi", "logit_bias", []any{"logit_bias", object{"5": 1}}, "logit_bias", "unsupported_parameter", ""},
		{"llmapi", "a schema", []any{"response_format", object{"type": "json_object"}}, "response_format", "unsupported_parameter", ""},
		{"llmapi", "a call that is demanded", []any{"tools", clock(), "tool_choice", "required"}, "tool_choice", "unsupported_parameter", ""},
		{"llmapi", "min_tokens", []any{"min_tokens", 2}, "min_tokens", "unsupported_parameter", ""},
		{"llmapi", "ignore_eos", []any{"ignore_eos", true}, "ignore_eos", "unsupported_parameter", ""},
		{"plain", "a limit", []any{"max_tokens", 5}, "max_tokens", "unsupported_parameter", "plain"},
		{"plain", "a limit by its newer name", []any{"max_completion_tokens", 5}, "max_completion_tokens", "unsupported_parameter", ""},
		{"plain", "top_p", []any{"top_p", 0.5}, "top_p", "unsupported_parameter", ""},
		{"plain", "a seed that is too large", []any{"seed", 1 << 40}, "seed", "invalid_value", "INT32"},
		{"plain", "an image", []any{"messages", []object{{"role": "user", "content": []object{
			{"type": "image_url", "image_url": object{"url": "data:image/png;base64,AA=="}},
		}}}}, "messages[0].content[0]", "unsupported_parameter", ""},
	} {
		t.Run(test.model+": "+test.name, func(t *testing.T) {
			for _, stream := range []bool{false, true} {
				body := ask("Hello.", append([]any{"model", test.model, "stream", stream}, test.more...)...)
				e := c.post(t, "/v1/chat/completions", body).want(t, http.StatusBadRequest).failure(t)
				if text(e.Param) != test.param || text(e.Code) != test.code || !strings.Contains(text(e.Message), test.message) {
					t.Errorf("param %s, code %s: %s", text(e.Param), text(e.Code), text(e.Message))
				}
				for _, secret := range []string{"Traceback", "/src/", ".py"} {
					if strings.Contains(text(e.Message), secret) {
						t.Errorf("the message contains %q: %s", secret, text(e.Message))
					}
				}
			}
		})
	}
}

// TestKindsNeutral checks that no kind of model backend refuses a request because of a value that
// has no effect.
func TestKindsNeutral(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.model, func(t *testing.T) {
			c := contracts(t)
			got := c.chatOf(t, k, " one", "temperature", 1, "top_p", 1, "n", 1, "frequency_penalty", 0, "presence_penalty", 0, "logit_bias", object{}, "stop", nil,
				"logprobs", false, "tools", []object{}, "seed", nil, "response_format", object{"type": "text"}, "top_k", -1, "min_p", 0, "repetition_penalty", 1,
				"min_tokens", 0, "ignore_eos", false, "stop_token_ids", []int{}, "bad_words", []string{}, "skip_special_tokens", true)
			if got.texts[0] != " one" {
				t.Errorf("got %q", got.texts)
			}
		})
	}
}

// TestKindsPromptTokens checks that a stream has the number of the prompt's tokens that the model
// itself has counted, after the model is no longer asked for it.
func TestKindsPromptTokens(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		if k.model != "vllm" && !k.executor {
			continue // the model doesn't count
		}
		t.Run(k.model, func(t *testing.T) {
			c := contracts(t)
			for i := range 20 {
				c.continued(t, k, strings.Repeat(" one", 1+i%5)) // with and without a stream, whose usage must be equal
			}
			unasked := 0
			for range 3 {
				body := object{"model": k.model, "prompt": " one two", "max_tokens": 20, "stream": true, "stream_options": object{"include_usage": true}}
				var got collected
				for data := range c.open(t, client, c.request(t, http.MethodPost, "/v1/completions", body)).events(t) {
					if string(data) != "[DONE]" {
						if err := got.add(data); err != nil {
							t.Fatal(err)
						}
					}
				}
				for _, inputs := range c.inputsOf(t, got.id) {
					if strings.HasSuffix(inputs["return_num_input_tokens"], "[false]") {
						unasked++
					}
				}
				if want := c.continued(t, k, " one two").usage.Prompt; got.usage.Prompt != want || want == 0 {
					t.Errorf("the prompt has %d tokens, not %d", got.usage.Prompt, want)
				}
			}
			if unasked < 2 { // one of 32 streams asks
				t.Errorf("%d of 3 streams didn't ask the model for the number of the prompt's tokens", unasked)
			}
		})
	}
}
