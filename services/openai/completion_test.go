package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
)

const completionPath = "/v1/completions"

// echoing is a model that continues a prompt by ">" and the prompt, each with
// log probabilities if requested. The first seed has the lowest probability.
func echoing(_ context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
	var sampling struct{ Seed, Logprobs *int }
	if err := json.Unmarshal([]byte(inferencetest.Input(req, "sampling_parameters")), &sampling); err != nil {
		return err
	}
	prompt := inferencetest.Input(req, "text_input")
	name := ">"
	logprob := -1.0
	if sampling.Seed != nil {
		name, logprob = fmt.Sprint(*sampling.Seed), -10/float64(*sampling.Seed)
	}
	for i, text := range []string{name, prompt} {
		finish := ""
		if i == 1 {
			finish = "length"
		}
		resp := inferencetest.Token(text, finish)
		if sampling.Logprobs != nil {
			list := fmt.Sprintf(`[{"5":{"logprob":%g,"rank":2,"decoded_token":%q},"6":{"logprob":-0.5,"rank":1,"decoded_token":"ü"}}]`, logprob, text)
			resp.Outputs = append(resp.Outputs, inferencetest.Bytes("logprobs", list))
		}
		send(resp)
	}
	return nil
}

func complete(fields string) string { return `{"model":"chat",` + fields + `}` }

func TestCompletion(t *testing.T) {
	choice := func(index int, text, logprobs string) string {
		return fmt.Sprintf(`{"finish_reason":"length","index":%d,"logprobs":%s,"text":%q}`, index, logprobs, text)
	}
	for _, tt := range []struct {
		name, fields string
		choices      []string
		prompt       int // prompt tokens; 7 per prompt
		completion   int // completion tokens; 1 per response
	}{
		{"one", `"prompt":"é"`, []string{choice(0, ">é", "null")}, 7, 2},
		{"empty", `"prompt":""`, []string{choice(0, ">", "null")}, 7, 2},
		{"echo", `"prompt":"a","echo":true`, []string{choice(0, "a>a", "null")}, 7, 2},
		{"several, each twice", `"prompt":["a","b"],"n":2,"seed":4`, []string{
			choice(0, "4a", "null"), choice(1, "5a", "null"), choice(2, "4b", "null"), choice(3, "5b", "null"),
		}, 14, 8},
		{"logprobs", `"prompt":"é","logprobs":0`, []string{
			choice(0, ">é", `{"text_offset":[0,1],"token_logprobs":[-1,-1],"tokens":[">","é"],"top_logprobs":null}`),
		}, 7, 2},
		{"logprobs with alternatives", `"prompt":"x","logprobs":1`, []string{
			choice(0, ">x", `{"text_offset":[0,1],"token_logprobs":[-1,-1],"tokens":[">","x"],"top_logprobs":[{">":-1,"ü":-0.5},{"x":-1,"ü":-0.5}]}`),
		}, 7, 2},
		{"best of", `"prompt":["a","b"],"n":2,"best_of":4,"seed":1`, []string{
			choice(0, "4a", "null"), choice(1, "3a", "null"), choice(2, "4b", "null"), choice(3, "3b", "null"),
		}, 14, 16},
		{"best of n", `"prompt":"a","n":2,"best_of":2,"seed":1`, []string{choice(0, "1a", "null"), choice(1, "2a", "null")}, 7, 4},
		{"neutral", `"prompt":"a","suffix":"","best_of":1,"logit_bias":{},"stop":[],"echo":false,"user":"u","length_penalty":1`, []string{choice(0, ">a", "null")}, 7, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, engine := serve(t, Config{}, echoing)
			resp, body := openaitest.Do(t, http.MethodPost, server.URL+completionPath, complete(tt.fields))
			var answer struct {
				ID, Object, Model string
				Created           int64
				Choices           []map[string]any
				Usage             map[string]int
			}
			if err := json.Unmarshal([]byte(body), &answer); err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("%d %s %v", resp.StatusCode, body, err)
			}
			var choices []string
			for _, c := range answer.Choices {
				text, err := json.Marshal(c)
				if err != nil {
					t.Fatal(err)
				}
				choices = append(choices, strings.ReplaceAll(string(text), `\u003e`, ">"))
			}
			if !slices.Equal(choices, tt.choices) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(choices, "\n"), strings.Join(tt.choices, "\n"))
			}
			if !strings.HasPrefix(answer.ID, "cmpl-") || answer.Object != "text_completion" || answer.Model != "chat" || answer.Created == 0 {
				t.Errorf("got %s", body)
			}
			if u := answer.Usage; u["prompt_tokens"] != tt.prompt || u["completion_tokens"] != tt.completion || u["total_tokens"] != tt.prompt+tt.completion {
				t.Errorf("usage %v", u)
			}
			if sent := inferencetest.Input(engine.Requests()[0], "sampling_parameters"); !strings.Contains(sent, `"max_tokens":16`) {
				t.Errorf("sent %s", sent)
			}
		})
	}
}

func TestCompletionStream(t *testing.T) {
	server, _ := serve(t, Config{}, echoing)
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+completionPath,
		complete(`"prompt":"é\n","stream":true,"echo":true,"stream_options":{"include_usage":true}`))
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("Content-Type %q", got)
	}
	want := []string{
		`{"choices":[{"finish_reason":null,"index":0,"logprobs":null,"text":"é\n\u003e"}],"usage":null}`,
		`{"choices":[{"finish_reason":"length","index":0,"logprobs":null,"text":"é\n"}],"usage":null}`,
		`{"choices":[],"usage":{"completion_tokens":2,"prompt_tokens":7,"total_tokens":9}}`,
		`[DONE]`,
	}
	var got []string
	for _, event := range events(body) {
		if !strings.HasPrefix(event, "[") && !strings.Contains(event, `"object":"text_completion"`) {
			t.Errorf("no text_completion: %s", event)
		}
		got = append(got, masked(t, event))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	_, body = openaitest.Do(t, http.MethodPost, server.URL+completionPath, complete(`"prompt":["é","b"],"stream":true,"logprobs":0`))
	for _, want := range []string{
		`"logprobs":{"text_offset":[0],"token_logprobs":[-1],"tokens":["\u003e"],"top_logprobs":null}`, `"text_offset":[1]`, `"index":1,"text":"b"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing in %s", want, body)
		}
	}
	if strings.Contains(body, "usage") || strings.Count(body, `"finish_reason":"length"`) != 2 {
		t.Errorf("got %s", body)
	}
}

// TestEchoRefuses checks that a completion that generates nothing is refused for the options that its model doesn't
// have, as the completion of one token is, for each kind of model.
func TestEchoRefuses(t *testing.T) {
	for kind, add := range fieldKinds {
		engine, checked := inferencetest.New(), 0
		add(t, engine)
		f := fieldTest{server: fieldServer(t, Config{}, engine), engine: engine, path: completionPath}
		for field, row := range fieldTables(t)["POST "+completionPath] {
			for _, p := range probesOf(kind, "POST "+completionPath)[field] {
				if row[kind] != refused {
					continue
				}
				want := f.send(t, false, p.with, p.fields, `"echo":true,"max_tokens":1`)
				got := f.send(t, false, p.with, p.fields, `"echo":true,"max_tokens":0`)
				if want.status != http.StatusBadRequest || got.status != want.status || got.body != want.body && field != "min_tokens" || got.sent != "" {
					t.Errorf("%s, %s: %d %s\nwant %d %s", kind, p.fields, got.status, got.body, want.status, want.body)
				}
				checked++
			}
		}
		if checked < 2 {
			t.Errorf("%s: %d options", kind, checked)
		}
	}
}
