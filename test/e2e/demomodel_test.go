package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/test/tier"
)

// called is a response of the demo's chat model in a form common to all APIs.
type called struct {
	text, finish, name, arguments string
	prompt                        int // number of tokens of the prompt
}

// offer is a chat request with one tool in a form common to all APIs.
type offer struct {
	question, choice string // choice is auto, required, none or named
	answer           string // the only text that the model may write; empty for any text
}

const lookupParameters = `{"type":"object","properties":{"city":{"type":"string","enum":["Rome","Paris"]}},"required":["city"]}`

func (o offer) toolChoice(named any) any {
	if o.choice == "named" {
		return named
	}
	return o.choice
}

func (o offer) structured(body object) object {
	if o.answer != "" {
		body["structured_outputs"] = object{"choice": []string{o.answer}}
	}
	return body
}

func (o offer) chat() object {
	function := object{"name": "lookup", "parameters": json.RawMessage(lookupParameters)}
	return o.structured(ask(o.question, "max_tokens", 60, "temperature", 0, "tools", []object{{"type": "function", "function": function}},
		"tool_choice", o.toolChoice(object{"type": "function", "function": object{"name": "lookup"}})))
}

func (o offer) response() object {
	return o.structured(object{
		"model": "chat", "input": o.question, "max_output_tokens": 60, "temperature": 0,
		"tools":       []object{{"type": "function", "name": "lookup", "parameters": json.RawMessage(lookupParameters), "strict": false}},
		"tool_choice": o.toolChoice(object{"type": "function", "name": "lookup"}),
	})
}

func (o offer) typed() *tridentv1.ChatRequest {
	r := typedAsk(o.question, 60)
	r.Temperature = new(0.0)
	r.Tools = []*tridentv1.Tool{{Tool: &tridentv1.Tool_Function{Function: &tridentv1.FunctionTool{Name: "lookup", Parameters: lookupParameters}}}}
	modes := map[string]tridentv1.ToolMode{"auto": tridentv1.ToolMode_TOOL_MODE_AUTO, "required": tridentv1.ToolMode_TOOL_MODE_REQUIRED, "none": tridentv1.ToolMode_TOOL_MODE_NONE}
	if mode, ok := modes[o.choice]; ok {
		r.ToolChoice = &tridentv1.ToolChoice{Choice: &tridentv1.ToolChoice_Mode{Mode: mode}}
	} else {
		r.ToolChoice = &tridentv1.ToolChoice{Choice: &tridentv1.ToolChoice_Function{Function: "lookup"}}
	}
	if o.answer != "" {
		r.ResponseFormat = &tridentv1.ResponseFormat{Format: &tridentv1.ResponseFormat_Choice{Choice: &tridentv1.ChoiceFormat{Choices: []string{o.answer}}}}
	}
	return r
}

// TestDemoTools checks that the demo supports tools with each tool_choice, on each API, streaming
// and non-streaming. A model of its size rarely calls a tool by itself. So the test constrains the
// text if the model may choose. The check tier asks each API only for calls, and for the rest the
// non-streaming chat.
func TestDemoTools(t *testing.T) {
	t.Parallel()
	s := serving(t)
	const call = "<tool_call>\n{\"name\": \"lookup\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>"
	for _, tt := range []struct {
		name  string
		offer offer
		check func(called) bool
	}{
		{"auto, a call", offer{"Where is the Forum?", "auto", call}, func(c called) bool {
			return c.name == "lookup" && c.arguments == `{"city": "Rome"}` && c.text == "" && c.finish == "tool_calls"
		}},
		{"auto, a text", offer{"Where is the Forum?", "auto", "In Rome."}, func(c called) bool { return c.name == "" && c.text == "In Rome." && c.finish == "stop" }},
		{"required", offer{"Where is the Forum?", "required", ""}, calledLookup},
		{"named", offer{"Where is the Forum?", "named", ""}, calledLookup},
		{"none", offer{"Where is the Forum?", "none", "In Rome."}, func(c called) bool { return c.name == "" && c.text == "In Rome." && c.finish == "stop" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for surface, ask := range surfaceCalls(t, s) {
				if calls := tt.name == "auto, a call" || tt.name == "required"; !calls && surface != "chat" && !tier.Slow() {
					continue
				}
				got := ask(t, tt.offer)
				if !tt.check(got) {
					t.Errorf("%s: %+v", surface, got)
				}
				// A prompt without tools has at most 60 tokens. With the tool_choice `none` the prompt has no tools.
				const withoutTools = 60
				if shown := got.prompt > withoutTools; got.prompt == 0 || shown != (tt.offer.choice != "none") {
					t.Errorf("%s: the prompt has %d tokens", surface, got.prompt)
				}
			}
		})
	}
}

func calledLookup(c called) bool {
	return c.name == "lookup" && (c.arguments == `{"city":"Rome"}` || c.arguments == `{"city":"Paris"}`) && c.text == "" && (c.finish == "tool_calls" || c.finish == "stop")
}

// TestDemoToolsBesideSchema checks the answer to a chat with tools and a JSON schema. With
// tool_choice auto, it is a tool call or JSON that matches the schema. With tool_choice required,
// it is a tool call.
func TestDemoToolsBesideSchema(t *testing.T) {
	t.Parallel()
	s := serving(t)
	const schema = `{"type":"object","properties":{"sea":{"type":"string","enum":["calm","rough"]}},"required":["sea"]}`
	for _, choice := range []string{"auto", "required"} {
		for seed := range tier.Size(2, 10) {
			body := offer{"How is the sea at Rome?", choice, ""}.chat()
			body["seed"], body["temperature"] = seed, 1.5
			body["response_format"] = object{"type": "json_schema", "json_schema": object{"name": "sea", "schema": json.RawMessage(schema)}}
			got := ofMessages(t, []json.RawMessage{s.post(t, "/v1/chat/completions", body).want(t, http.StatusOK).body})
			text := got.name == "" && (got.text == `{"sea":"calm"}` || got.text == `{"sea":"rough"}`) && got.finish == "stop"
			if called := calledLookup(got); !called && (!text || choice == "required") {
				t.Errorf("%s, seed %d: %+v", choice, seed, got)
			}
		}
	}
}

// ofTyped returns the tool call of a typed response.
func ofTyped(answer *tridentv1.ChatResponse) called {
	choice := answer.GetChoices()[0]
	c := called{text: choice.GetMessage().GetContent(), finish: typedFinish(choice.GetFinishReason()), prompt: int(answer.GetUsage().GetPromptTokens())}
	for _, call := range choice.GetMessage().GetToolCalls() {
		c.name, c.arguments = c.name+call.GetName(), c.arguments+call.GetArguments()
	}
	return c
}

// surfaceCalls returns a function for each API that sends a chat with a tool to the demo and
// returns the tool call.
func surfaceCalls(t *testing.T, s *trident) map[string]func(*testing.T, offer) called {
	t.Helper()
	typed := tridentv1connect.NewChatServiceClient(client, s.url)
	return map[string]func(*testing.T, offer) called{
		"chat": func(t *testing.T, o offer) called {
			t.Helper()
			return ofMessages(t, []json.RawMessage{s.post(t, "/v1/chat/completions", o.chat()).want(t, http.StatusOK).body})
		},
		"chat stream": func(t *testing.T, o offer) called {
			t.Helper()
			body := o.chat()
			body["stream_options"] = object{"include_usage": true}
			var events []json.RawMessage
			for data := range s.openChat(t, body).events(t) {
				if string(data) != "[DONE]" {
					events = append(events, data)
				}
			}
			return ofMessages(t, events)
		},
		"response": func(t *testing.T, o offer) called {
			t.Helper()
			return ofResponse(t, s.post(t, responsesPath, o.response()).want(t, http.StatusOK).body)
		},
		"response stream": func(t *testing.T, o offer) called {
			t.Helper()
			var last struct {
				Type     string
				Response json.RawMessage
			}
			for data := range s.openResponse(t, o.response()).typedEvents(t) {
				if err := json.Unmarshal(data, &last); err != nil {
					t.Fatal(err)
				}
			}
			if last.Type != "response.completed" {
				t.Errorf("the last event is %s", last.Type)
			}
			return ofResponse(t, last.Response)
		},
		"typed": func(t *testing.T, o offer) called {
			t.Helper()
			answer, err := typed.Chat(t.Context(), o.typed())
			if err != nil {
				t.Fatal(err)
			}
			return ofTyped(answer)
		},
		"typed stream": func(t *testing.T, o offer) called {
			t.Helper()
			stream, err := typed.ChatStream(t.Context(), &tridentv1.ChatStreamRequest{Chat: o.typed()})
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			var c called
			for stream.Receive() {
				if n := stream.Msg().GetUsage().GetPromptTokens(); n > 0 {
					c.prompt = int(n)
				}
				delta := stream.Msg().GetDelta()
				c.text += delta.GetText()
				if reason := delta.GetFinishReason(); reason != tridentv1.FinishReason_FINISH_REASON_UNSPECIFIED {
					c.finish = typedFinish(reason)
				}
				for _, call := range delta.GetToolCalls() {
					c.name, c.arguments = c.name+call.GetName(), c.arguments+call.GetArguments()
				}
			}
			if err := stream.Err(); err != nil {
				t.Fatal(err)
			}
			return c
		},
	}
}

func typedFinish(reason tridentv1.FinishReason) string {
	return strings.ToLower(strings.TrimPrefix(reason.String(), "FINISH_REASON_"))
}

// ofMessages returns the common form of a complete chat, or of the chunks of a streamed chat.
func ofMessages(t *testing.T, chats []json.RawMessage) called {
	t.Helper()
	type message struct {
		Content   string
		ToolCalls []struct {
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	var c called
	for _, raw := range chats {
		var chat struct {
			Choices []struct {
				Message, Delta message
				FinishReason   *string `json:"finish_reason"`
			}
			Usage *usage
		}
		if err := json.Unmarshal(raw, &chat); err != nil {
			t.Fatal(err)
		}
		if chat.Usage != nil {
			c.prompt = chat.Usage.Prompt
		}
		for _, choice := range chat.Choices {
			c.text += choice.Message.Content + choice.Delta.Content
			if choice.FinishReason != nil {
				c.finish = *choice.FinishReason
			}
			for _, call := range append(choice.Message.ToolCalls, choice.Delta.ToolCalls...) {
				c.name, c.arguments = c.name+call.Function.Name, c.arguments+call.Function.Arguments
			}
		}
	}
	return c
}

// ofResponse returns the common form of a response of the Responses API. Its finish reason follows
// from its output.
func ofResponse(t *testing.T, raw json.RawMessage) called {
	t.Helper()
	var r struct {
		Status string
		Output []struct {
			Type, Name, Arguments string
			Content               []struct{ Text string }
		}
		Usage struct {
			Input int `json:"input_tokens"`
		}
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	c := called{prompt: r.Usage.Input, finish: r.Status}
	for _, item := range r.Output {
		c.name, c.arguments = c.name+item.Name, c.arguments+item.Arguments
		for _, part := range item.Content {
			c.text += part.Text
		}
	}
	if r.Status == "completed" {
		if c.finish = "stop"; c.name != "" {
			c.finish = "tool_calls"
		}
	}
	return c
}

// TestDemoSpecialTokens checks that skip_special_tokens decides whether the text contains special
// tokens. The token that ends a response is never in the text. The logit biases that force special
// tokens are sent through Triton's own port.
func TestDemoSpecialTokens(t *testing.T) {
	t.Parallel()
	s, err := demoModels(t).start(t, kservePorts()...).kserve(client)
	if err != nil {
		t.Fatal(err)
	}
	rest := &trident{url: "http://" + s.rest}
	const comment, imEnd, endOfText = 9, 2, 0
	for _, tt := range []struct {
		name       string
		parameters object
		want       string
	}{
		{"left out", object{"logit_bias": object{fmt.Sprint(comment): 100}}, ""},
		{"left out when asked for", object{"logit_bias": object{fmt.Sprint(comment): 100}, "skip_special_tokens": true}, ""},
		{"in the text", object{"logit_bias": object{fmt.Sprint(comment): 100}, "skip_special_tokens": false}, "<issue_comment><issue_comment><issue_comment>"},
		{"the end", object{"logit_bias": object{fmt.Sprint(imEnd): 100}, "skip_special_tokens": false}, ""},
		{"the end of texts", object{"logit_bias": object{fmt.Sprint(endOfText): 100}, "skip_special_tokens": false}, ""},
		{"a text without them", object{"structured_outputs": `{"choice": ["a < b"]}`, "skip_special_tokens": false, "max_tokens": 8}, "a < b"},
		{"at a stop sequence", object{"logit_bias": object{fmt.Sprint(comment): 100}, "skip_special_tokens": false, "stop": []string{"t><"}}, "<issue_commen"},
		{"to the end of a stop sequence", object{"logit_bias": object{fmt.Sprint(comment): 100}, "skip_special_tokens": false, "stop": []string{"z", "t><"}, "include_stop_str_in_output": true}, "<issue_comment><"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := object{"max_tokens": 3, "temperature": 0}
			maps.Copy(all, tt.parameters)
			parameters, err := json.Marshal(all)
			if err != nil {
				t.Fatal(err)
			}
			answer := decode[struct {
				Text string `json:"text_output"`
			}](t, rest.post(t, "/v2/models/chat/generate", object{
				"text_input": "<|im_start|>user\nHello.<|im_end|>\n<|im_start|>assistant\n", "exclude_input_in_output": true, "sampling_parameters": string(parameters),
			}).want(t, http.StatusOK))
			if answer.Text != tt.want {
				t.Errorf("got %q, want %q", answer.Text, tt.want)
			}
		})
	}
}

// llamaCPP runs a command of the script that calls the engines of the demo's chat model by their
// Python packages.
func llamaCPP[T any](t *testing.T, command string, question any) T {
	t.Helper()
	input, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(root(t), ".venv", "bin", "python"), filepath.Join("testdata", "llamacpp.py"), command)
	cmd.Stdin, cmd.Env = bytes.NewReader(input), append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	var answer T
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatalf("%v in %.200s", err, out)
	}
	return answer
}

// TestDemoTokenizer checks that the tokenizer in the demo's folder belongs to the model's weights,
// and that it returns the same token ids as llama.cpp.
func TestDemoTokenizer(t *testing.T) {
	t.Parallel()
	made, err := exec.CommandContext(t.Context(), filepath.Join(root(t), ".venv", "bin", "python"), filepath.Join(root(t), "tools", "gguf-tokenizer.py")).Output()
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(root(t), "models", "chat", "tokenizer", "tokenizer.json"))
	if err != nil || !bytes.Equal(made, kept) {
		t.Errorf("tokenizer.json isn't the output of tools/gguf-tokenizer.py for the weights: %v", err)
	}
	var file struct {
		AddedTokens []struct{ Content string } `json:"added_tokens"`
	}
	if err := json.Unmarshal(kept, &file); err != nil {
		t.Fatal(err)
	}
	shown := append(llamaCPP[[]string](t, "special", nil), "<|endoftext|>", "<|im_end|>")
	slices.Sort(shown)
	var special []string
	for _, token := range file.AddedTokens {
		special = append(special, token.Content)
	}
	slices.Sort(special)
	if !slices.Equal(shown, special) {
		t.Errorf("sampling.py has the special tokens %q, but the tokenizer has %q", shown, special)
	}
	s := serving(t)
	texts := demoTexts(t)
	for i, want := range llamaCPP[[][]int](t, "tokens", texts) {
		got := decode[struct{ Tokens []int }](t, s.post(t, "/v1/tokenize", object{"model": "chat", "prompt": texts[i]}).want(t, http.StatusOK)).Tokens
		if !slices.Equal(got, want) {
			t.Fatalf("%.200q: Trident has %d tokens and llama.cpp %d; the first difference is at %d", texts[i], len(got), len(want), differAt(got, want))
		}
	}
}

func differAt(a, b []int) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

// demoTexts returns pages of the documentation, all characters up to U+2FFF with their neighbours,
// and random mixtures.
func demoTexts(t *testing.T) []string {
	t.Helper()
	var texts []string
	pages, err := filepath.Glob(filepath.Join(root(t), "docs", "reference", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text[:min(len(text), 8000)]))
	}
	const last, step = 0x3000, 0x80
	for first := rune(1); first < last; first += step {
		var b strings.Builder
		for c := first; c < first+step; c++ {
			fmt.Fprintf(&b, "a %[1]c%[1]c 1%[1]c\n", c)
		}
		texts = append(texts, b.String())
	}
	alphabet := []string{"a", "bc", " ", "  ", "\t", "\n", "\r\n", "7", "42", "'s", "'re", "é", "中文", "😀", "\u00a0", "\u3000", ".", "-", "_", "<|im_end|>", "<|im_start|>", "<repo_name>", "<|", "½", "Ⅷ", "٣", "\u200d", "\ufeff", "the", " The"}
	random := rand.New(rand.NewPCG(1, 2)) // the fixed seed yields the same texts each time
	for range tier.Size(100, 1000) {
		var b strings.Builder
		for range 1 + random.IntN(40) {
			b.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		texts = append(texts, b.String())
	}
	return texts
}

// TestDemoTokens checks that token ids can be prompts, that the text of such prompts is returned,
// and that usage has their number.
func TestDemoTokens(t *testing.T) {
	t.Parallel()
	s := serving(t)
	for _, text := range []string{"The sea is", "In 1969, <|im_start|>we went", "é 中文 😀\r\n\tx"} {
		ids := decode[struct {
			Tokens []int
			Count  int
		}](t, s.post(t, "/v1/tokenize", object{"model": "chat", "prompt": text}).want(t, http.StatusOK))
		if back := decode[struct{ Prompt string }](t, s.post(t, "/v1/detokenize", object{"model": "chat", "tokens": ids.Tokens}).want(t, http.StatusOK)); back.Prompt != text || ids.Count == 0 {
			t.Errorf("the round trip of %q returned %q with %d tokens", text, back.Prompt, ids.Count)
		}
		for _, prompt := range []any{text, ids.Tokens} {
			if whole := decode[struct{ Usage usage }](t, s.post(t, "/v1/completions", object{"model": "chat", "prompt": prompt, "max_tokens": 1}).want(t, http.StatusOK)); whole.Usage.Prompt != ids.Count {
				t.Errorf("%v: usage has %d tokens, want %d", prompt, whole.Usage.Prompt, ids.Count)
			}
		}
	}
	chat := ask("How many tokens are 123 words?", "max_tokens", 1)
	count := decode[struct{ Count int }](t, s.post(t, "/v1/tokenize", chat).want(t, http.StatusOK)).Count
	if got := s.chat(t, chat).Usage.Prompt; got != count || count == 0 {
		t.Errorf("a chat has %d tokens by its tokenizer, but %d in usage", count, got)
	}
}

// TestDemoGrammar checks that an object generated by a schema that lists properties has only the
// listed properties, each at most once. The object may have other properties if the client's schema
// contains additionalProperties or patternProperties, if several schemas describe the object, as in
// allOf, or if a required property isn't listed.
func TestDemoGrammar(t *testing.T) {
	t.Parallel()
	type texts map[string]bool
	cases := []struct {
		name, schema string
		texts        texts
	}{
		{"nothing is said", `{"type":"object","properties":{"a":{},"b":{}}}`, texts{`{}`: true, `{"a":1}`: true, `{"a":1,"b":2}`: true, `{"a":1,"a":2}`: false, `{"c":1}`: false, `{"a":1,"c":1,"c":1}`: false}},
		{"no properties are listed", `{"type":"object","properties":{}}`, texts{`{}`: true, `{"a":1}`: false}},
		{"an object", `{"type":"object"}`, texts{`{}`: true, `{"a":{"b":1}}`: true, `[]`: false}},
		{"the client opens it", `{"type":"object","properties":{"a":{}},"additionalProperties":true}`, texts{`{"a":1,"c":2}`: true}},
		{"the client says of which type others are", `{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"string"}}`, texts{`{"a":1,"c":"x"}`: true, `{"a":1,"c":2}`: false}},
		{"by their names", `{"type":"object","properties":{"a":{}},"patternProperties":{"^x":{}}}`, texts{`{"a":1,"x":2}`: true}},
		{"within", `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{}}},"c":{"type":"object"}}}`, texts{`{"a":{"b":1}}`: true, `{"a":{"d":1}}`: false, `{"c":{"d":1}}`: true}},
		{"in a list", `{"type":"array","items":{"type":"object","properties":{"a":{}}}}`, texts{`[{"a":1},{}]`: true, `[{"b":1}]`: false}},
		{"one of several", `{"anyOf":[{"type":"object","properties":{"a":{}},"required":["a"]},{"type":"null"}]}`, texts{`{"a":1}`: true, `null`: true, `{"a":1,"b":1}`: false}},
		{"a definition", `{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}},"$ref":"#/$defs/n"}`, texts{`{"next":{"next":{}}}`: true, `{"next":{"a":1}}`: false}},
		{"a definition alone in allOf", `{"$defs":{"n":{"type":"object","properties":{"a":{}}}},"type":"object","properties":{"n":{"allOf":[{"$ref":"#/$defs/n"}],"description":"d"}}}`, texts{`{"n":{"a":1}}`: true, `{"n":{"b":1}}`: false}},
		{"two together", `{"allOf":[{"type":"object","properties":{"a":{"type":"object","properties":{"c":{}}}}},{"type":"object","properties":{"a":{"type":"object","properties":{"d":{}}},"b":{}}}]}`, texts{`{"a":{"c":1,"d":1},"b":2}`: true}},
		{"a definition and more", `{"$defs":{"n":{"type":"object","properties":{"a":{}}}},"allOf":[{"$ref":"#/$defs/n"},{"type":"object","properties":{"b":{}}}]}`, texts{`{"a":1,"b":1}`: true}},
		{"properties beside anyOf", `{"type":"object","properties":{"a":{}},"anyOf":[{"properties":{"b":{}}},{"properties":{"c":{}}}]}`, texts{`{"a":1,"b":1}`: true}},
		{"a required one that isn't listed", `{"type":"object","properties":{"a":{}},"required":["z"]}`, texts{`{"z":1}`: true}},
		{"a property of that name", `{"type":"object","properties":{"additionalProperties":{"type":"object","properties":{"x":{}}},"allOf":{"type":"string"}}}`, texts{`{"additionalProperties":{"x":1},"allOf":"s"}`: true, `{"additionalProperties":{"y":1}}`: false, `{"b":1}`: false}},
		{"data", `{"const":{"properties":{"a":1}}}`, texts{`{"properties":{"a":1}}`: true}},
	}
	type question struct {
		Schema json.RawMessage `json:"schema"`
		Texts  []string        `json:"texts"`
	}
	questions := make([]question, len(cases))
	for i, c := range cases {
		questions[i] = question{json.RawMessage(c.schema), slices.Sorted(maps.Keys(c.texts))}
	}
	answers := llamaCPP[[][]bool](t, "grammar", questions)
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for j, text := range questions[i].Texts {
				if answers[i][j] != c.texts[text] {
					t.Errorf("%s: taken is %v", text, answers[i][j])
				}
			}
		})
	}
}
