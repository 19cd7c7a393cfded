package responses_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/openai/openaitest"
)

// listing is a page of the list of a response's items.
type listing struct {
	Data    []json.RawMessage
	HasMore bool    `json:"has_more"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
}

func inputItems(t *testing.T, server *httptest.Server, id, query string) listing {
	t.Helper()
	resp, body := openaitest.Do(t, http.MethodGet, server.URL+responsePath+"/"+id+"/input_items"+query, "")
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	openaitest.WantDocument(t, "ResponseItemList", body)
	var l listing
	if err := json.Unmarshal([]byte(body), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestPreviousResponse checks that a request that continues a stored response, by the response's id
// or by the ids of its items, gives the model the same prompt as a request with all items. The stored
// response has a call.
func TestPreviousResponse(t *testing.T) {
	server, engine := serveResponses(t, openai.Default(), inferencetest.StreamText("<think>Hm</think>", "Wait.", callNow))
	resp, first := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"instructions":"Be kind.","input":"hi",`+flatTools))
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, first)
	}
	var answer struct {
		ID     string
		Output []json.RawMessage
	}
	var call struct {
		ID     string
		CallID string `json:"call_id"`
	}
	if err := json.Unmarshal([]byte(first), &answer); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(answer.Output[2], &call); err != nil {
		t.Fatal(err)
	}
	output := `{"type":"function_call_output","call_id":"` + call.CallID + `","output":"noon"}`
	if _, body := openaitest.Do(t, http.MethodGet, server.URL+responsePath+"/"+answer.ID, ""); body != first {
		t.Errorf("kept as\n%s\nanswered as\n%s", body, first)
	}

	chained := create(t, server, `"model":"chat","previous_response_id":"`+answer.ID+`","input":[`+output+`]`)
	create(t, server, `"model":"chat","input":[{"role":"user","content":"hi"},`+string(answer.Output[0])+`,`+string(answer.Output[1])+`,`+string(answer.Output[2])+`,`+output+`]`)
	var references []string
	for _, raw := range answer.Output {
		var it struct{ ID string }
		if err := json.Unmarshal(raw, &it); err != nil {
			t.Fatal(err)
		}
		references = append(references, `{"type":"item_reference","id":"`+it.ID+`"}`)
	}
	create(t, server, `"model":"chat","input":[{"role":"user","content":"hi"},`+strings.Join(references, ",")+`,`+output+`]`)
	var prompts []string
	for _, req := range engine.Requests()[1:] {
		prompts = append(prompts, inferencetest.Input(req, "text_input"))
	}
	want := `[{"role": "user", "content": "hi"}, {"thinking": "Hm", "role": "assistant", "content": "Wait.", "tool_calls": [{"id": "` + call.CallID +
		`", "type": "function", "function": {"name": "now", "arguments": {}}}], "reasoning_content": "Hm"}, {"role": "tool", "content": "noon", "tool_call_id": "` + call.CallID + `"}]`
	if !slices.Equal(prompts, []string{want, want, want}) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(prompts, "\n"), want)
	}

	var kinds []string
	for _, raw := range inputItems(t, server, chained, "?order=asc").Data {
		kinds = append(kinds, maskIDs(string(raw)))
	}
	if wantKinds := []string{
		`{"content":[{"text":"hi","type":"input_text"}],"id":"msg_","role":"user","status":"completed","type":"message"}`,
		fmt.Sprintf(thoughtOf, "Hm", completed), `{"content":[{"type":"output_text","text":"Wait.","annotations":[],"logprobs":[]}],"id":"msg_","role":"assistant","status":"completed","type":"message"}`,
		fmt.Sprintf(callOf, "{}", "now", completed), `{"call_id":"call_","id":"fco_","output":"noon","status":"completed","type":"function_call_output"}`,
	}; !slices.Equal(kinds, wantKinds) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(kinds, "\n"), strings.Join(wantKinds, "\n"))
	}

	// A response stays complete when the response that it continues is deleted.
	if resp, body := openaitest.Do(t, http.MethodDelete, server.URL+responsePath+"/"+answer.ID, ""); resp.StatusCode != http.StatusOK || body != `{"deleted":true,"id":"`+answer.ID+`","object":"response"}`+"\n" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	create(t, server, `"model":"chat","previous_response_id":"`+chained+`"`)
	requests := engine.Requests()
	if got := inferencetest.Input(requests[len(requests)-1], "text_input"); !strings.HasPrefix(got, strings.TrimSuffix(want, "]")+`, {"thinking": "Hm", "role": "assistant", "content": "Wait.`) {
		t.Errorf("got %s", got)
	}
}

// TestMalformedArguments checks that the prompt of a continued response has malformed tool call
// arguments as the model wrote them.
func TestMalformedArguments(t *testing.T) {
	server, engine := serveResponses(t, openai.Default(), inferencetest.StreamText(`<tool_call>{"name": "now", "arguments": {"a": `))
	id := create(t, server, `"model":"chat","input":"hi",`+flatTools)
	create(t, server, `"model":"chat","previous_response_id":"`+id+`","input":"go on"`)
	requests := engine.Requests()
	if got := inferencetest.Input(requests[len(requests)-1], "text_input"); !strings.Contains(got, `"arguments": "{\"a\": "`) {
		t.Errorf("got %s", got)
	}
}

// TestResponsesBelongToClients tests that no client can read another client's responses
// and items, whatever it sends.
func TestResponsesBelongToClients(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("chat", inferencetest.StreamText("x"), map[string]string{"trident.chat_template": `{{ messages | tojson }}`})
	handler := newHandler(t, openai.Default(), engine)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(inference.WithClient(r.Context(), &inference.Client{Name: r.URL.Query().Get("client")})))
	}))
	t.Cleanup(server.Close)
	for client, want := range map[string]int{"b": http.StatusNotFound, "": http.StatusNotFound, "a": http.StatusOK} {
		resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath+"?client=a", `{"model":"chat","input":"hi"}`)
		var made struct {
			ID     string
			Output []struct{ ID string }
		}
		if err := json.Unmarshal([]byte(body), &made); err != nil || resp.StatusCode != http.StatusOK || len(made.Output) != 1 {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
		own, query := server.URL+responsePath+"/"+made.ID, "?client="+client
		for _, try := range []struct{ method, url, body string }{
			{http.MethodPost, server.URL + responsePath + query, `{"model":"chat","input":"go on","previous_response_id":"` + made.ID + `"}`},
			{http.MethodPost, server.URL + responsePath + query, `{"model":"chat","input":[{"type":"item_reference","id":"` + made.Output[0].ID + `"},{"role":"user","content":"go on"}]}`},
			{http.MethodGet, own + query, ""},
			{http.MethodGet, own + "/input_items" + query, ""},
			{http.MethodDelete, own + query, ""},
		} {
			if resp, body := openaitest.Do(t, try.method, try.url, try.body); resp.StatusCode != want {
				t.Errorf("client %q: %s %s: %d %s", client, try.method, try.url, resp.StatusCode, body)
			}
		}
	}
}

func TestStoredResponses(t *testing.T) {
	server, _ := serveResponses(t, openai.Default(), inferencetest.StreamText("x"))
	id := create(t, server, `"model":"chat","input":[`+strings.Repeat(`{"role":"user","content":"a"},`, 24)+`{"role":"user","content":"last"}]`)
	unkept := create(t, server, `"model":"chat","store":false,"input":"hi"`)
	path := responsePath + "/" + id
	for _, tt := range []struct {
		name, method, path string
		status             int
		want               string
	}{
		{"unknown", "GET", responsePath + "/resp_x", 404, `"param":"response_id","code":"response_not_found"`},
		{"not kept", "GET", responsePath + "/" + unkept, 404, `"code":"response_not_found"`},
		{"as a stream", "GET", path + "?stream=true", 400, `"param":"stream","code":"unsupported_parameter"`},
		{"not as a stream", "GET", path + "?stream=false&include[]=reasoning.encrypted_content", 200, `"status":"completed"`},
		{"as a maybe", "GET", path + "?stream=maybe", 400, `"param":"stream","code":"invalid_value"`},
		{"an alias", "GET", "/responses/" + id, 200, id},
		{"KServe's prefix", "GET", "/openai" + path, 200, id},
		{"cancelled", "POST", path + "/cancel", 400, "background"},
		{"unknown and cancelled", "POST", responsePath + "/resp_x/cancel", 404, "response_not_found"},
		{"items of an unknown one", "GET", responsePath + "/resp_x/input_items", 404, "response_not_found"},
		{"no items", "GET", path + "/input_items?limit=0", 400, `"param":"limit"`},
		{"too many items", "GET", path + "/input_items?limit=101", 400, `"param":"limit"`},
		{"how many items", "GET", path + "/input_items?limit=many", 400, `"param":"limit"`},
		{"items in another order", "GET", path + "/input_items?order=random", 400, `"param":"order"`},
		{"items after none", "GET", path + "/input_items?after=msg_x", 400, `"param":"after"`},
		{"posted", "POST", path, 405, "use GET"},
		{"an unknown one deleted", "DELETE", responsePath + "/resp_x", 404, "response_not_found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			resp, body := openaitest.Do(t, tt.method, server.URL+tt.path, "")
			if resp.StatusCode != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
	first := inputItems(t, server, id, "")
	if len(first.Data) != 20 || !first.HasMore || !strings.Contains(string(first.Data[0]), `"last"`) {
		t.Errorf("first page %s", first.Data)
	}
	second := inputItems(t, server, id, "?after="+*first.LastID)
	if len(second.Data) != 5 || second.HasMore {
		t.Errorf("second page %s", second.Data)
	}
	if empty := inputItems(t, server, id, "?limit=1&after="+*second.LastID); len(empty.Data) != 0 || empty.HasMore || empty.FirstID != nil {
		t.Errorf("after the last %+v", empty)
	}
	if oldest := inputItems(t, server, id, "?order=asc&limit=24"); len(oldest.Data) != 24 || !oldest.HasMore || *oldest.FirstID != *second.LastID {
		t.Errorf("oldest first %+v", oldest)
	}
}

// TestServerWithoutStore checks that requests for stored responses fail with an error about the
// missing store, if the server has no response store.
func TestServerWithoutStore(t *testing.T) {
	server, _ := serveResponses(t, openai.Config{}, inferencetest.StreamText("x"))
	_, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","store":true`))
	if !strings.Contains(body, `"store":false`) {
		t.Errorf("got %s", body)
	}
	resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"previous_response_id":"resp_x"`))
	if resp.StatusCode != http.StatusNotFound || !strings.Contains(body, "openai.ResponsesStoreSize") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestStoreIsShared checks that concurrent requests can store, continue and delete responses of the
// same store.
func TestStoreIsShared(t *testing.T) {
	t.Parallel()
	server, _ := serveResponses(t, openai.Config{ResponsesStoreSize: 3, ResponsesStoreBytes: 20_000, ResponsesStoreTTL: time.Minute}, inferencetest.StreamText("x", "y"))
	first := create(t, server, `"model":"chat","input":"hi"`)
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			_, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","stream":true`))
			var r struct{ ID string }
			if err := json.Unmarshal(typedEvents(t, body)[0].Response, &r); err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{r.ID, first} { // stored or evicted: both are valid
				resp, body := openaitest.Do(t, http.MethodPost, server.URL+responsePath, respond(`"previous_response_id":"`+id+`"`))
				if resp.StatusCode != http.StatusOK && !strings.Contains(body, "previous_response_not_found") {
					t.Errorf("%d %s", resp.StatusCode, body)
				}
			}
			openaitest.Do(t, http.MethodDelete, server.URL+responsePath+"/"+r.ID, "")
		})
	}
}
