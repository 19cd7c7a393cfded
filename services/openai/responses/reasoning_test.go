package responses_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/openai/openaitest"
)

const (
	askSealed = `"include":["reasoning.encrypted_content"]`
	summaryOf = `{"content":[],"id":"rs_","status":%q,"summary":[{"text":%q,"type":"summary_text"}],"type":"reasoning"}`
)

// thinker answers every request with the same reasoning and text.
func thinker() inferencetest.Script { return inferencetest.StreamText("<think>Hm", "m</think>", "Yes") }

// outputOf returns the output items of a response that isn't a stream.
func outputOf(t *testing.T, body string) []json.RawMessage {
	t.Helper()
	openaitest.WantDocument(t, "Response", body)
	var answer struct{ Output []json.RawMessage }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Output) == 0 {
		t.Fatalf("%v in %s", err, body)
	}
	return answer.Output
}

// sealedOf returns the sealed reasoning of an item.
func sealedOf(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var it struct {
		Sealed string `json:"encrypted_content"`
	}
	if err := json.Unmarshal(raw, &it); err != nil {
		t.Fatal(err)
	}
	return it.Sealed
}

// TestSummaryEvents checks the order and the content of the events of reasoning as a summary, and that
// the response without a stream has the same items.
func TestSummaryEvents(t *testing.T) {
	server, _ := serveResponses(t, openai.Default(), thinker())
	_, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","stream":true,"reasoning":{"summary":"auto"}`))
	list := typedEvents(t, body)
	var got []string
	for _, e := range list[2:9] {
		got = append(got, maskIDs(e.raw))
	}
	item := fmt.Sprintf(summaryOf, completed, "Hmm")
	want := []string{
		`{"type":"response.output_item.added","output_index":0,"item":{"content":[],"id":"rs_","status":"in_progress","summary":[],"type":"reasoning"},"sequence_number":2}`,
		`{"type":"response.reasoning_summary_part.added","item_id":"rs_","output_index":0,"summary_index":0,"part":{"text":"","type":"summary_text"},"sequence_number":3}`,
		`{"type":"response.reasoning_summary_text.delta","item_id":"rs_","output_index":0,"summary_index":0,"delta":"Hm","sequence_number":4}`,
		`{"type":"response.reasoning_summary_text.delta","item_id":"rs_","output_index":0,"summary_index":0,"delta":"m","sequence_number":5}`,
		`{"type":"response.reasoning_summary_text.done","item_id":"rs_","output_index":0,"summary_index":0,"text":"Hmm","sequence_number":6}`,
		`{"type":"response.reasoning_summary_part.done","item_id":"rs_","output_index":0,"summary_index":0,"part":{"text":"Hmm","type":"summary_text"},"sequence_number":7}`,
		`{"type":"response.output_item.done","output_index":0,"item":` + item + `,"sequence_number":8}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	_, body = openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","reasoning":{"summary":"auto"}`))
	streamed := outputOf(t, string(list[len(list)-1].Response))
	for i, raw := range outputOf(t, body) {
		if maskIDs(string(raw)) != maskIDs(string(streamed[i])) {
			t.Errorf("item %d\n%s\nof the stream\n%s", i, raw, streamed[i])
		}
	}
}

// TestSummaryKinds checks which values of a request turn reasoning into a summary, and that concise is
// reported, because nothing shortens the reasoning.
func TestSummaryKinds(t *testing.T) {
	server, _ := serveResponses(t, openai.Default(), thinker())
	content, summary := fmt.Sprintf(thoughtOf, "Hmm", completed), fmt.Sprintf(summaryOf, completed, "Hmm")
	for _, tt := range []struct{ reasoning, item, echo, ignored string }{
		{`{}`, content, `"summary":null`, ""},
		{`{"summary":null,"effort":"medium"}`, content, `"summary":null`, ""},
		{`{"summary":"auto"}`, summary, `"summary":"auto"`, ""},
		{`{"summary":"detailed"}`, summary, `"summary":"detailed"`, ""},
		{`{"summary":"concise"}`, summary, `"summary":"concise"`, "reasoning.summary"},
		{`{"generate_summary":"auto"}`, summary, `"summary":"auto"`, ""},
		{`{"generate_summary":"concise"}`, summary, `"summary":"concise"`, "reasoning.generate_summary"},
		{`{"generate_summary":"concise","summary":"detailed"}`, summary, `"summary":"detailed"`, ""},
	} {
		resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","reasoning":`+tt.reasoning))
		if got := maskIDs(string(outputOf(t, body)[0])); got != tt.item || !strings.Contains(body, tt.echo) || resp.Header.Get(ignoredHeader) != tt.ignored {
			t.Errorf("%s: %s, ignored %q, in %s", tt.reasoning, got, resp.Header.Get(ignoredHeader), body)
		}
	}
	strict, _ := serveResponses(t, openai.Config{Strict: true}, thinker())
	resp, body := openaitest.Do(t, http.MethodPost, strict.URL+responsePath, respond(`"input":"hi","reasoning":{"summary":"concise"}`))
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"param":"reasoning.summary","code":"unsupported_parameter"`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestSealedReasoning checks that sealed reasoning which a client sends back, without the reasoning
// itself, gives the model the same prompt as previous_response_id and as the reasoning itself.
func TestSealedReasoning(t *testing.T) {
	const want = `[{"role": "user", "content": "hi"}, {"thinking": "Hmm", "role": "assistant", "content": "Yes", "reasoning_content": "Hmm"}, {"role": "user", "content": "go on"}]`
	const again = `{"role":"user","content":"go on"}`
	for _, settings := range []string{"", `,"reasoning":{"summary":"auto"}`} {
		server, engine := serveResponses(t, openai.Default(), thinker())
		_, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","store":false,`+askSealed+settings))
		output := outputOf(t, body)
		sealed := sealedOf(t, output[0])
		if sealed == "" || strings.Contains(sealed, base64.RawURLEncoding.EncodeToString([]byte("Hmm"))) {
			t.Fatalf("sealed %q in %s", sealed, body)
		}
		history := `"store":false,"input":[{"role":"user","content":"hi"},{"type":"reasoning","summary":[],"encrypted_content":"` + sealed + `"},` + string(output[1]) + `,` + again + `]`
		resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(history))
		if got := lastPrompt(engine); resp.StatusCode != http.StatusOK || got != want || resp.Header.Get(ignoredHeader) != "" {
			t.Errorf("the seal alone%s: %v, prompt %s, response %s", settings, resp.Header, got, body)
		}
		create(t, server, `"model":"chat","store":false,"input":[{"role":"user","content":"hi"},`+string(output[0])+`,`+string(output[1])+`,`+again+`]`)
		if got := lastPrompt(engine); got != want {
			t.Errorf("the whole item%s: prompt %s", settings, got)
		}
		id := create(t, server, `"model":"chat","input":"hi",`+askSealed+settings)
		create(t, server, `"model":"chat","previous_response_id":"`+id+`","input":[`+again+`]`)
		if got := lastPrompt(engine); got != want {
			t.Errorf("previous_response_id%s: prompt %s", settings, got)
		}
	}
}

// TestSealedStream checks that a stream has the sealed reasoning in the completed item and in the
// completed response, and that no response has it unasked.
func TestSealedStream(t *testing.T) {
	server, engine := serveResponses(t, openai.Default(), thinker())
	_, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","stream":true,`+askSealed))
	var sealed string
	list := typedEvents(t, body)
	for _, e := range list {
		if e.Type == "response.output_item.done" && strings.Contains(e.raw, `"reasoning"`) {
			sealed = sealedOf(t, e.Item)
		}
	}
	if got := sealedOf(t, outputOf(t, string(list[len(list)-1].Response))[0]); sealed == "" || got != sealed || strings.Count(body, `"encrypted_content"`) != 2 {
		t.Errorf("item %q, response %q, in %s", sealed, got, body)
	}
	create(t, server, `"model":"chat","store":false,"input":[{"type":"reasoning","encrypted_content":"`+sealed+`"},{"role":"user","content":"go on"}]`)
	if got := lastPrompt(engine); !strings.Contains(got, `"reasoning_content": "Hmm"`) {
		t.Errorf("prompt %s", got)
	}
	for _, stream := range []string{"true", "false"} {
		if _, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","stream":`+stream)); strings.Contains(body, "encrypted_content") {
			t.Errorf("unasked: %s", body)
		}
	}
}

// TestUselessSeals checks that sealed reasoning which can't be opened is ignored and reported, and
// refused by a strict server. The summary of the item remains.
func TestUselessSeals(t *testing.T) {
	server, engine := serveResponses(t, openai.Default(), thinker())
	other, _ := serveResponses(t, openai.Default(), thinker())
	strict, _ := serveResponses(t, openai.Config{Strict: true}, thinker())
	_, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi",`+askSealed))
	sealed := sealedOf(t, outputOf(t, body)[0])
	_, body = openaitest.Do(t, http.MethodPost, other.URL+responsePath, respond(`"input":"hi",`+askSealed))
	others := sealedOf(t, outputOf(t, body)[0])
	for name, useless := range map[string]string{
		"foreign": "gAAAAABpsomethingOfOpenAI", "changed": sealed[:len(sealed)-6] + "AAAAAA", "cut": sealed[:len(sealed)/2], "of another start": others,
	} {
		t.Run(name, func(t *testing.T) {
			request := func(members string) string {
				return respond(`"input":[{"role":"user","content":"hi"},{"type":"reasoning",` + members + `"encrypted_content":"` + useless + `"},{"role":"assistant","content":"Yes"},{"role":"user","content":"go on"}]`)
			}
			for members, reasoning := range map[string]string{
				"": `{"role": "assistant", "content": "Yes"}`,
				`"summary":[{"type":"summary_text","text":"short"}],`: `"reasoning_content": "short"}`,
			} {
				resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, request(members))
				if got := lastPrompt(engine); resp.StatusCode != http.StatusOK || resp.Header.Get(ignoredHeader) != "input[1].encrypted_content" || !strings.Contains(got, reasoning) {
					t.Errorf("%d %v, prompt %s, response %s", resp.StatusCode, resp.Header, got, body)
				}
			}
			resp, body := openaitest.Do(t, http.MethodPost, strict.URL+responsePath, request(""))
			if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"param":"input[1].encrypted_content","code":"unsupported_parameter"`) || !strings.Contains(body, "send the reasoning as content") {
				t.Errorf("strict: %d %s", resp.StatusCode, body)
			}
			// The content of an item needs no seal.
			resp, body = openaitest.Do(t, http.MethodPost, strict.URL+responsePath, request(`"content":[{"type":"reasoning_text","text":"whole"}],`))
			if resp.StatusCode != http.StatusOK || resp.Header.Get(ignoredHeader) != "" {
				t.Errorf("with content: %d %v %s", resp.StatusCode, resp.Header, body)
			}
		})
	}
}

// TestSealsBelongToClients checks that no client can use another client's sealed reasoning.
func TestSealsBelongToClients(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("chat", thinker(), map[string]string{"trident.chat_template": `{{ messages | tojson }}`, "trident.reasoning_parser": "qwen3"})
	handler := newHandler(t, openai.Default(), engine)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(inference.WithClient(r.Context(), &inference.Client{Name: r.URL.Query().Get("client")})))
	}))
	t.Cleanup(server.Close)
	_, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath+"?client=a", respond(`"input":"hi","store":false,`+askSealed))
	history := respond(`"input":[{"type":"reasoning","encrypted_content":"` + sealedOf(t, outputOf(t, body)[0]) + `"},{"role":"user","content":"go on"}]`)
	for client, opened := range map[string]bool{"a": true, "b": false, "": false} {
		resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath+"?client="+client, history)
		if got := lastPrompt(engine); resp.StatusCode != http.StatusOK || strings.Contains(got, "Hmm") != opened || (resp.Header.Get(ignoredHeader) == "") != opened {
			t.Errorf("client %q: %v, prompt %s, response %s", client, resp.Header, got, body)
		}
	}
}

// TestReplicasShareSeals checks that servers with the same file of keys open each other's reasoning, and
// that a server whose file can't be used doesn't start.
func TestReplicasShareSeals(t *testing.T) {
	cfg := openai.Default()
	cfg.SealKeyFile = filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(cfg.SealKeyFile, []byte(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32))), 0o600); err != nil {
		t.Fatal(err)
	}
	one, _ := serveResponses(t, cfg, thinker())
	two, engine := serveResponses(t, cfg, thinker())
	_, body := openaitest.Do(t, http.MethodPost, one.URL+responsePath, respond(`"input":"hi","store":false,`+askSealed))
	create(t, two, `"model":"chat","input":[{"type":"reasoning","encrypted_content":"`+sealedOf(t, outputOf(t, body)[0])+`"},{"role":"user","content":"go on"}]`)
	if got := lastPrompt(engine); !strings.Contains(got, `"reasoning_content": "Hmm"`) {
		t.Errorf("prompt %s", got)
	}
	cfg.SealKeyFile += "-missing"
	if _, err := openai.New(cfg, nil, nil); err == nil || !strings.Contains(err.Error(), "openai.SealKeyFile") {
		t.Errorf("a missing file: %v", err)
	}
}

// TestSealedItemsAreListed checks that the list of a response's items has sealed reasoning as the client
// sent it, and not the reasoning in it.
func TestSealedItemsAreListed(t *testing.T) {
	server, _ := serveResponses(t, openai.Default(), thinker())
	_, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi",`+askSealed))
	sealed := sealedOf(t, outputOf(t, body)[0])
	id := create(t, server, `"model":"chat","input":[{"type":"reasoning","encrypted_content":"`+sealed+`"},{"role":"user","content":"go on"}]`)
	first := inputItems(t, server, id, "?order=asc").Data[0]
	if got, want := maskIDs(string(first)), `{"content":[],"encrypted_content":"`+sealed+`","id":"rs_","status":"completed","summary":[],"type":"reasoning"}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestSealedBytesAreBounded checks that the sealed reasoning of a request is refused by its size before
// any of it is opened.
func TestSealedBytesAreBounded(t *testing.T) {
	server, engine := serveResponses(t, openai.Default(), thinker())
	item := `{"type":"reasoning","encrypted_content":"` + strings.Repeat("x", budget.SealedBytes/4) + `"},`
	for n, want := range map[int]int{4: http.StatusOK, 5: http.StatusBadRequest} {
		resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":[`+strings.Repeat(item, n)+`{"role":"user","content":"go on"}]`))
		if resp.StatusCode != want || want != http.StatusOK && !strings.Contains(body, "more than 16 MiB of encrypted_content") {
			t.Errorf("%d items: %d %s", n, resp.StatusCode, body)
		}
	}
	if got := len(engine.Requests()); got != 1 {
		t.Errorf("the model got %d requests", got)
	}
}

// TestCompaction checks the request by which Codex compacts a conversation: without tools, after the
// calls and the sealed reasoning of earlier turns.
func TestCompaction(t *testing.T) {
	server, engine := serveResponses(t, openai.Default(), inferencetest.StreamText("<think>Hm</think>", callNow))
	_, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","store":false,"tool_choice":"auto",`+askSealed+`,`+flatTools))
	output := outputOf(t, body)
	var call struct {
		ID string `json:"call_id"`
	}
	if err := json.Unmarshal(output[1], &call); err != nil {
		t.Fatal(err)
	}
	_, body = openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"stream":true,"tool_choice":"auto","parallel_tool_calls":false,"reasoning":{"summary":"auto"},"store":false,`+askSealed+
		`,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]},{"type":"reasoning","summary":[],"encrypted_content":"`+sealedOf(t, output[0])+`"},`+string(output[1])+
		`,{"type":"function_call_output","call_id":"`+call.ID+`","output":"noon"},{"type":"message","role":"user","content":[{"type":"input_text","text":"Sum up."}]}]`))
	if list := typedEvents(t, body); list[len(list)-1].Type != "response.completed" {
		t.Fatal(body)
	}
	want := `[{"role": "user", "content": "hi"}, {"thinking": "Hm", "role": "assistant", "content": "", "tool_calls": [{"id": "` + call.ID + `", "type": "function", "function": {"name": "now", "arguments": {}}}], ` +
		`"reasoning_content": "Hm"}, {"role": "tool", "content": "noon", "tool_call_id": "` + call.ID + `"}, {"role": "user", "content": "Sum up."}]`
	if got := lastPrompt(engine); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
