package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// FuzzMessages checks that both operations answer any body in the form of the document and without a failure of
// the server, and that they accept the bodies that the document describes.
func FuzzMessages(f *testing.F) {
	handler := serve(f, Config{}, inferencetest.StreamText("<think>a</think>b", "<tool_call>{\"name\": \"f\", \"arguments\": {}}", "</tool_call>"), abilities())
	for _, seed := range []string{
		toolTurns(2),
		request(`[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]`, `,"stream":true,"stop_sequences":["b"],"thinking":{"type":"enabled","budget_tokens":1}`),
		request(`[{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgo="}},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"d"}}]}]`, `,"tool_choice":{"type":"any"},"tools":[{"name":"f","input_schema":{}}]`),
		request(`[{"role":"user","content":[{"type":"tool_result","tool_use_id":"i","content":[{"type":"tool_reference","tool_name":"f"},{"type":"search_result","title":"","source":"","content":[]}]}]}]`, `,"output_config":{"effort":"max","format":{"type":"json_schema","schema":{}}}`),
		`{"model":"m","messages":[{"role":"user","content":"a"}]}`,
	} {
		f.Add(true, seed)
		f.Add(false, seed)
	}
	f.Fuzz(func(t *testing.T, count bool, body string) {
		path, form := "/v1/messages", "Message"
		if count {
			path, form = "/v1/messages/count_tokens", "MessageTokensCount"
		}
		answer := handler.post(t, path, body)
		switch text := answer.Body.String(); {
		case answer.Code >= http.StatusInternalServerError:
			t.Fatalf("%d %s", answer.Code, text)
		case strings.HasPrefix(answer.Header().Get("Content-Type"), "text/event-stream"):
			all := events(t, text)
			if last := all[len(all)-1].name; last != "message_stop" && last != "error" {
				t.Errorf("the stream ends with %s", last)
			}
		case answer.Code == http.StatusOK:
			wantDocument(t, form, text)
		default:
			wantDocument(t, "ErrorResponse", text)
		}
	})
}

// TestDocumentedBodies checks that the document accepts the bodies of the tests that are served, except their
// unknown parts, and that it has the fields that the decoder knows.
func TestDocumentedBodies(t *testing.T) {
	for name, known := range map[string][]string{"CreateMessageRequest": append(promptFields(), answerFields()...), "CountMessageTokensRequest": promptFields()} {
		fields := schema(t, name).Properties
		if len(fields) != len(known) {
			t.Errorf("%s has %d fields, the decoder knows %d", name, len(fields), len(known))
		}
		for _, field := range known {
			if fields[field] == nil {
				t.Errorf("%s has no %s", name, field)
			}
		}
	}
	var body any
	if err := json.Unmarshal([]byte(toolTurns(2)), &body); err != nil {
		t.Fatal(err)
	}
	if err := schema(t, "CreateMessageRequest").VisitJSON(body); err != nil {
		t.Error(err)
	}
}
