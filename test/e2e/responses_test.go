package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

const responsesPath = "/v1/responses"

// responseEvent is an event of a response's stream.
type responseEvent struct {
	Type     string
	Sequence int `json:"sequence_number"`
	Delta    string
	Response *response
	Code     *string
}

type response struct {
	ID     string
	Status string
	Output []struct {
		Type    string
		Content []struct{ Text string }
	}
	Usage *struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
	}
	Error *struct{ Code string }
}

// openResponse streams a response on a new connection.
func (s *trident) openResponse(t *testing.T, body object) *stream {
	t.Helper()
	body["stream"] = true
	return s.open(t, client, s.request(t, http.MethodPost, responsesPath, body))
}

// responseEvents yields each event as it arrives.
func (s *stream) responseEvents(t *testing.T, yield func(responseEvent)) {
	t.Helper()
	count := 0
	for data := range s.typedEvents(t) {
		var e responseEvent
		if err := json.Unmarshal(data, &e); err != nil {
			t.Errorf("%v in %s", err, data)
		}
		if e.Sequence != count {
			t.Errorf("event %d: %s", count, data)
		}
		count++
		yield(e)
	}
}

// TestResponseStream checks the headers, the events and the end of a streamed response, and that the
// first tokens arrive while the model still generates the others.
func TestResponseStream(t *testing.T) {
	s := serving(t)
	const tokens = 80
	before := s.tokensMade(t)
	events := s.openResponse(t, object{"model": "chat", "input": "Count from one to a hundred in words.", "max_output_tokens": tokens, "ignore_eos": true})
	if got := events.response.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("Content-Type %q", got)
	}
	var last responseEvent
	var pieces []string
	events.responseEvents(t, func(e responseEvent) {
		last = e
		if e.Type != "response.output_text.delta" {
			return
		}
		if pieces = append(pieces, e.Delta); len(pieces) == 1 && !inProcess() {
			if made := s.tokensMade(t) - before; made >= tokens {
				t.Errorf("all %v tokens were generated when the first text arrived", made)
			}
		}
	})
	if len(pieces) < tokens/2 || events.reads.count < tokens/4 {
		t.Errorf("%d tokens arrived in %d pieces and %d reads, not one by one", tokens, len(pieces), events.reads.count)
	}
	r := last.Response
	if last.Type != "response.incomplete" || r.Usage.Output != tokens || r.Output[0].Content[0].Text != strings.Join(pieces, "") {
		t.Errorf("the end is %+v", last)
	}
	kept := decode[response](t, s.get(t, responsesPath+"/"+r.ID).want(t, http.StatusOK))
	if kept.Status != "incomplete" || kept.Output[0].Content[0].Text != r.Output[0].Content[0].Text {
		t.Errorf("the stored response is %+v", kept)
	}
}

// TestResponseConversation checks that the prompt of a continued response grows by the previous turn,
// whether the server or the client repeats that turn.
func TestResponseConversation(t *testing.T) {
	t.Parallel()
	s := serving(t)
	ask := func(body object) response {
		body["model"], body["max_output_tokens"], body["ignore_eos"] = "chat", 6, true
		return decode[response](t, s.post(t, responsesPath, body).want(t, http.StatusOK))
	}
	first := ask(object{"input": "My name is Ada."})
	byID := ask(object{"input": "What is my name?", "previous_response_id": first.ID})
	byItems := ask(object{"input": []any{
		object{"role": "user", "content": "My name is Ada."},
		object{"role": "assistant", "content": first.Output[0].Content[0].Text},
		object{"role": "user", "content": "What is my name?"},
	}})
	if byID.Usage.Input != byItems.Usage.Input || byID.Usage.Input <= first.Usage.Input+first.Usage.Output {
		t.Errorf("prompts of %d, %d and %d tokens", first.Usage.Input, byID.Usage.Input, byItems.Usage.Input)
	}
	list := decode[struct{ Data []object }](t, s.get(t, responsesPath+"/"+byID.ID+"/input_items?order=asc").want(t, http.StatusOK))
	if len(list.Data) != 3 || list.Data[1]["role"] != "assistant" {
		t.Errorf("input items %v", list.Data)
	}
	s.do(t, http.MethodDelete, responsesPath+"/"+first.ID, nil).want(t, http.StatusOK)
	for _, a := range []answer{
		s.get(t, responsesPath+"/"+first.ID).want(t, http.StatusNotFound),
		s.post(t, responsesPath, object{"model": "chat", "input": marker, "previous_response_id": first.ID}).want(t, http.StatusNotFound),
		s.post(t, responsesPath+"/"+byID.ID+"/cancel", nil).want(t, http.StatusBadRequest),
	} {
		a.failure(t)
	}
}

// TestResponseForms checks JSON that matches a schema, and a forced tool call.
func TestResponseForms(t *testing.T) {
	t.Parallel()
	s := serving(t)
	schema := object{"type": "object", "properties": object{"yes": object{"type": "boolean"}}, "required": []string{"yes"}, "additionalProperties": false}
	formed := decode[response](t, s.post(t, responsesPath, object{
		"model": "chat", "input": "Is water wet?", "text": object{"format": object{"type": "json_schema", "name": "answer", "schema": schema}},
	}).want(t, http.StatusOK))
	if text := formed.Output[0].Content[0].Text; text != `{"yes":true}` && text != `{"yes":false}` {
		t.Errorf("%q doesn't match the schema", text)
	}
	var last responseEvent
	arguments := ""
	s.openResponse(t, object{
		"model": "chat", "input": "Is water wet?", "tool_choice": "required", "parallel_tool_calls": false,
		"tools": []object{{"type": "function", "name": "answer", "strict": true, "parameters": schema}},
	}).responseEvents(t, func(e responseEvent) {
		if last = e; e.Type == "response.function_call_arguments.delta" {
			arguments += e.Delta
		}
	})
	if !json.Valid([]byte(arguments)) || last.Type != "response.completed" || last.Response.Output[0].Type != "function_call" {
		t.Errorf("%s, then %+v", arguments, last)
	}
}

// TestResponseClientLeaves checks that the model stops if the client disconnects.
func TestResponseClientLeaves(t *testing.T) {
	s := serving(t)
	events := s.openResponse(t, object{"model": "chat", "input": "Write a very long story.", "max_output_tokens": 1500, "ignore_eos": true})
	for range events.typedEvents(t) {
		break // the first delta has arrived
	}
	_ = events.response.Body.Close()
	if inProcess() {
		checkFree(t, s)
	} else if !poll(lateLimit, func() bool { return s.metric(t, generationsInProgress) == 0 }) {
		t.Error("the model still generates")
	}
}
