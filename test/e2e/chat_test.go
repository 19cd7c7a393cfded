package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// tokensMade returns the number of tokens that the chat model has generated, or 0 if it can't be
// read.
func (s *trident) tokensMade(t *testing.T) float64 {
	t.Helper()
	if inProcess() {
		return 0
	}
	return s.metric(t, generatedTokens)
}

// TestChatStream checks the headers, the events and the end of a streamed chat, and that the first
// tokens arrive while the model still generates the others.
func TestChatStream(t *testing.T) {
	s := serving(t)
	const tokens = 80
	before := s.tokensMade(t)
	events := s.openChat(t, ask("Count from one to a hundred in words.", "max_tokens", tokens, "ignore_eos", true))
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache", "X-Accel-Buffering": "no", "Content-Length": "",
	} {
		if got := events.response.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	var all []chunk
	contents, generated := 0, 0.0
	for c := range events.chunks(t) {
		all = append(all, c)
		if c.content() == "" {
			continue
		}
		contents++
		if contents == 1 && !inProcess() {
			generated = s.tokensMade(t) - before
			if running := s.metric(t, generationsInProgress); running != 1 || generated >= tokens {
				t.Errorf("when the first text arrived, %v of %d tokens were generated and %v generations ran: the text didn't arrive during the generation",
					generated, tokens, running)
			}
		}
	}
	if contents < tokens/2 || events.reads.count < tokens/4 {
		t.Errorf("%d tokens arrived in %d events and %d reads, not one by one", tokens, contents, events.reads.count)
	}
	if made := s.tokensMade(t) - before; made != tokens && !inProcess() {
		t.Errorf("the model counts %v tokens, want %d", made, tokens)
	}
	checkChunks(t, all, 1)
	if finish := all[len(all)-1].Choices[0].FinishReason; text(finish) != "length" {
		t.Errorf("finish_reason %s, want length", text(finish))
	}
	for _, c := range all {
		if c.Usage != nil {
			t.Errorf("usage %s, although the request doesn't ask for it", c.Usage)
		}
	}
}

// checkChunks checks the chunks of a complete stream of n choices and returns the choices' texts.
// All chunks have the same id. Each choice has first the role, then content, then the finish
// reason, and each of these only in its place.
func checkChunks(t *testing.T, all []chunk, n int) []string {
	t.Helper()
	if len(all) == 0 {
		t.Fatal("no chunks")
	}
	if first := all[0]; !strings.HasPrefix(first.ID, "chatcmpl-") || first.Model != "chat" || first.Created == 0 {
		t.Errorf("the first chunk has id %q, model %q, created %d", first.ID, first.Model, first.Created)
	}
	texts, finished, begun := make([]string, n), make([]bool, n), make([]bool, n)
	for _, c := range all {
		if c.ID != all[0].ID || c.Created != all[0].Created || c.Model != all[0].Model {
			t.Errorf("chunk with id %q, created %d and model %s differs from the first chunk", c.ID, c.Created, c.Model)
		}
		for _, choice := range c.Choices {
			i := choice.Index
			if hasRole := choice.Delta.Role != ""; hasRole == begun[i] {
				t.Errorf("choice %d: chunk with a role: %v, choice has already started: %v", i, hasRole, begun[i])
			}
			if finished[i] {
				t.Errorf("choice %d continues after its finish_reason: %+v", i, choice)
			}
			if !utf8.ValidString(choice.Delta.Content) || strings.ContainsRune(choice.Delta.Content, utf8.RuneError) {
				t.Errorf("choice %d: a character was cut: %q", i, choice.Delta.Content)
			}
			begun[i], finished[i] = true, choice.FinishReason != nil
			texts[i] += choice.Delta.Content
		}
	}
	if slices.Contains(finished, false) {
		t.Errorf("choices without a finish_reason: %v", finished)
	}
	return texts
}

// streamed returns the chunks of a streamed chat. The usage is nil if the stream has none.
func (s *trident) streamed(t *testing.T, body object) ([]chunk, *usage) {
	t.Helper()
	var all []chunk
	var total *usage
	for c := range s.openChat(t, body).chunks(t) {
		if len(c.Choices) > 0 {
			all = append(all, c)
			continue
		}
		if total != nil {
			t.Error("two chunks without choices")
		}
		if err := json.Unmarshal(c.Usage, &total); err != nil {
			t.Errorf("usage: %v", err)
		}
	}
	return all, total
}

func TestChatStreamUsage(t *testing.T) {
	s := serving(t)
	for _, test := range []struct {
		name string
		more []any
		want int // completion tokens
	}{
		{"to the limit", []any{"max_tokens", 5}, 5},
		{"three choices", []any{"max_tokens", 5, "n", 3, "ignore_eos", true}, 15},
		{"constrained", []any{"guided_choice", []string{"yes"}}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			more := append([]any{"temperature", 0, "seed", 7}, test.more...)
			all, streamed := s.streamed(t, ask("Tell me about the sea.", append(more, "stream_options", object{"include_usage": true})...))
			for _, c := range all {
				if string(c.Usage) != "null" {
					t.Errorf("usage %q in a chunk with choices, want null", c.Usage)
				}
			}
			if streamed == nil {
				t.Fatal("no chunk with the usage")
			}
			whole := s.chat(t, ask("Tell me about the sea.", more...))
			if *streamed != whole.Usage {
				t.Errorf("usage %+v in the stream, %+v without", *streamed, whole.Usage)
			}
			u := whole.Usage
			if u.Prompt < 10 || u.Total != u.Prompt+u.Completion || test.want > 0 && u.Completion != test.want || u.Completion < 1 {
				t.Errorf("usage %+v, want %d completion tokens", u, test.want)
			}
		})
	}
	t.Run("not wanted", func(t *testing.T) {
		all, total := s.streamed(t, ask("Hello.", "max_tokens", 2, "stream_options", object{"include_usage": false}))
		checkChunks(t, all, 1)
		if total != nil {
			t.Errorf("usage %+v", *total)
		}
	})
}

func TestChat(t *testing.T) {
	t.Parallel()
	s := serving(t)
	const schema = `{"type":"object","properties":{"name":{"type":"string","enum":["Ada","Bob"]},"age":{"type":"integer","minimum":1,"maximum":99}},"required":["name","age"],"additionalProperties":false}`
	for _, test := range []struct {
		name   string
		body   object
		n      int
		finish string
		tokens int // completion tokens of all choices, 0 for any number
		check  func(t *testing.T, text string)
	}{
		{"max_tokens", ask("Tell me about the sea.", "max_tokens", 5), 1, "length", 5, notEmpty},
		{"max_completion_tokens wins", ask("Tell me about the sea.", "max_tokens", 50, "max_completion_tokens", 3), 1, "length", 3, notEmpty},
		{"greedy", ask("What is the capital of France?", "temperature", 0, "seed", 1, "max_tokens", 40), 1, "", 0, notEmpty},
		{"three choices", ask("Name a fruit.", "n", 3, "max_tokens", 4, "ignore_eos", true), 3, "length", 12, notEmpty},
		{"top_p of 0", ask("Name a fruit.", "top_p", 0, "max_tokens", 4), 1, "", 0, notEmpty},
		{"roles and parts", object{"model": "chat", "max_tokens": 4, "messages": []object{
			{"role": "system", "content": "You are terse."},
			{"role": "user", "content": []object{{"type": "text", "text": "Hello"}, {"type": "text", "text": "there"}}},
			{"role": "assistant", "content": "Hi."},
			{"role": "user", "content": "Go on."},
		}}, 1, "", 0, notEmpty},
		{"stop", ask("Repeat.", "guided_regex", "one two three", "stop", "two"), 1, "stop", 0, equal("one ")},
		{"stop list", ask("Repeat.", "guided_regex", "one two three", "stop", []string{"nine", "three"}), 1, "stop", 0, equal("one two ")},
		{"json_schema", ask("Who?", "response_format", object{"type": "json_schema", "json_schema": object{
			"name": "person", "strict": true, "schema": json.RawMessage(schema),
		}}), 1, "stop", 0, checkPerson},
		{"guided_json", ask("Who?", "guided_json", json.RawMessage(schema)), 1, "stop", 0, checkPerson},
		{"json_object", ask("Give me a JSON object.", "response_format", object{"type": "json_object"}, "max_tokens", 20), 1, "", 0, jsonObject},
		{"choice", ask("Red or blue?", "structured_outputs", object{"choice": []string{"red", "blue"}}), 1, "stop", 0, oneOf("red", "blue")},
		{"characters", ask("Repeat.", "guided_choice", []string{unicodeText}), 1, "stop", 0, equal(unicodeText)},
	} {
		t.Run(test.name, func(t *testing.T) {
			whole := s.chat(t, test.body)
			if len(whole.Choices) != test.n || !strings.HasPrefix(whole.ID, "chatcmpl-") || whole.Model != "chat" {
				t.Fatalf("%d choices, id %q, model %q", len(whole.Choices), whole.ID, whole.Model)
			}
			if test.tokens > 0 && whole.Usage.Completion != test.tokens {
				t.Errorf("%d completion tokens, want %d", whole.Usage.Completion, test.tokens)
			}
			for i, c := range whole.Choices {
				if c.Index != i || test.finish != "" && c.FinishReason != test.finish {
					t.Errorf("choice %d has index %d and finish_reason %q, want %q", i, c.Index, c.FinishReason, test.finish)
				}
				if test.check != nil {
					test.check(t, c.Message.Content)
				}
			}
			all, _ := s.streamed(t, test.body)
			for _, text := range checkChunks(t, all, test.n) {
				if test.check != nil {
					test.check(t, text)
				}
			}
		})
	}
}

// unicodeText has characters of several tokens, and characters that JSON escapes.
const unicodeText = "日本語 🎉🏳️‍🌈 \"quoted\" \\ </s> é\tend"

func notEmpty(t *testing.T, text string) {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		t.Errorf("the text is %q", text)
	}
}

func equal(want string) func(t *testing.T, text string) { return oneOf(want) }

func oneOf(want ...string) func(t *testing.T, text string) {
	return func(t *testing.T, text string) {
		t.Helper()
		if !slices.Contains(want, text) {
			t.Errorf("the text is %q, want one of %q", text, want)
		}
	}
}

// jsonObject checks a response that may have been cut at its token limit.
func jsonObject(t *testing.T, text string) {
	t.Helper()
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&object{}); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q is not a JSON object: %v", text, err)
	}
}

func checkPerson(t *testing.T, text string) {
	t.Helper()
	var p struct {
		Name string
		Age  int
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil || (p.Name != "Ada" && p.Name != "Bob") || p.Age < 1 || p.Age > 99 {
		t.Errorf("%q doesn't match the schema: %v", text, err)
	}
}

func TestChatLogprobs(t *testing.T) {
	t.Parallel()
	s := serving(t)
	// Without a seed the model writes invalid bytes now and then, which are U+FFFD in the text.
	body := func(more ...any) object {
		return ask("Say a number.", append([]any{"logprobs", true, "max_tokens", 8, "temperature", 1.9, "seed", 4, "ignore_eos", true}, more...)...)
	}
	check := func(t *testing.T, l *logprobs, text string, tokens, top int) {
		t.Helper()
		if l == nil || l.text() != text {
			t.Fatalf("the tokens' bytes aren't the text %q: %+v", text, l)
		}
		if len(l.Content) > tokens || tokens > 0 && len(l.Content) == 0 {
			t.Errorf("%d entries for %d tokens", len(l.Content), tokens)
		}
		for _, token := range l.Content {
			if token.Logprob > 0 || len(token.TopLogprobs) != top {
				t.Errorf("token %q: logprob %v, %d alternatives, want %d", token.Token, token.Logprob, len(token.TopLogprobs), top)
			}
			for i, alt := range token.TopLogprobs {
				if i > 0 && alt.Logprob > token.TopLogprobs[i-1].Logprob {
					t.Errorf("token %q: the alternatives aren't the likeliest first: %+v", token.Token, token.TopLogprobs)
				}
			}
			if top > 0 && token.Logprob > token.TopLogprobs[0].Logprob {
				t.Errorf("token %q is likelier (%v) than the likeliest (%v)", token.Token, token.Logprob, token.TopLogprobs[0].Logprob)
			}
		}
	}
	for _, top := range []int{0, 3} {
		whole := s.chat(t, body("top_logprobs", top)).Choices[0]
		check(t, whole.Logprobs, whole.Message.Content, 8, top)
		all, _ := s.streamed(t, body("top_logprobs", top))
		collected := &logprobs{}
		for _, c := range all {
			if l := c.Choices[0].Logprobs; l != nil {
				collected.Content = append(collected.Content, l.Content...)
			}
		}
		check(t, collected, checkChunks(t, all, 1)[0], 8, top)
	}
	t.Run("not asked for", func(t *testing.T) {
		if l := s.chat(t, ask("Hello.", "max_tokens", 2)).Choices[0].Logprobs; l != nil {
			t.Errorf("%+v", l)
		}
	})
}

// TestContextLength checks the message and the code of the error that POST /v1/chat/completions
// returns for a too long prompt. Clients depend on both.
func TestContextLength(t *testing.T) {
	t.Parallel()
	s := serving(t)
	for _, test := range []struct {
		name  string
		body  object
		param string
	}{
		{"prompt", ask(strings.Repeat("word ", 3000)), "messages"},
		{"prompt, streamed", ask(strings.Repeat("word ", 3000), "stream", true), "messages"},
		{"answer", ask("Hello.", "max_tokens", 5000), "max_tokens"},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := s.post(t, "/v1/chat/completions", test.body).want(t, http.StatusBadRequest).failure(t)
			if text(e.Code) != "context_length_exceeded" || text(e.Param) != test.param || !strings.Contains(text(e.Message), "2048") {
				t.Errorf("code %s, param %s, message %s", text(e.Code), text(e.Param), text(e.Message))
			}
		})
	}
}
