package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// listing is a page of items.
type listing struct {
	Data    []json.RawMessage
	HasMore bool    `json:"has_more"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
}

func inputItems(t *testing.T, server *httptest.Server, id, query string) listing {
	t.Helper()
	resp, body := do(t, http.MethodGet, server.URL+responsePath+"/"+id+"/input_items"+query, "")
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	wantDocument(t, "ResponseItemList", body)
	var l listing
	if err := json.Unmarshal([]byte(body), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestPreviousResponse goes on from a response with a call, by its id and by its
// items' own: the model sees the same as if the client had sent all of it.
func TestPreviousResponse(t *testing.T) {
	server, engine := serveResponses(t, Default(), inferencetest.Say("<think>Hm</think>", "Wait.", sayNow))
	resp, first := do(t, http.MethodPost, server.URL+responsePath, respond(`"instructions":"Be kind.","input":"hi",`+flatTools))
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
	if _, body := do(t, http.MethodGet, server.URL+responsePath+"/"+answer.ID, ""); body != first {
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

	// What went on from a response stays whole without it.
	if resp, body := do(t, http.MethodDelete, server.URL+responsePath+"/"+answer.ID, ""); resp.StatusCode != http.StatusOK || body != `{"deleted":true,"id":"`+answer.ID+`","object":"response"}`+"\n" {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	create(t, server, `"model":"chat","previous_response_id":"`+chained+`"`)
	requests := engine.Requests()
	if got := inferencetest.Input(requests[len(requests)-1], "text_input"); !strings.HasPrefix(got, strings.TrimSuffix(want, "]")+`, {"thinking": "Hm", "role": "assistant", "content": "Wait.`) {
		t.Errorf("got %s", got)
	}
}

// TestCallsThatBroke: what a model wrote wrong can't be shown to it again.
func TestCallsThatBroke(t *testing.T) {
	server, _ := serveResponses(t, Default(), inferencetest.Say(`<tool_call>{"name": "now", "arguments": {"a": `))
	id := create(t, server, `"model":"chat","input":"hi",`+flatTools)
	resp, body := do(t, http.MethodPost, server.URL+responsePath, respond(`"previous_response_id":"`+id+`","input":"go on"`))
	if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"param":"previous_response_id"`) || !strings.Contains(body, "call of `now`") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestResponsesAreTheirClients: what one client had kept isn't there for another, nor
// its items, whatever the other sends.
func TestResponsesAreTheirClients(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("chat", inferencetest.Say("x"), map[string]string{"trident.chat_template": `{{ messages | tojson }}`})
	handler := newHandler(Default(), inferencetest.Service(t, serving.Config{}, engine), newValidator(t))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(inference.WithClient(r.Context(), &inference.Client{Name: r.URL.Query().Get("client")})))
	}))
	t.Cleanup(server.Close)
	for client, want := range map[string]int{"b": http.StatusNotFound, "": http.StatusNotFound, "a": http.StatusOK} {
		resp, body := do(t, http.MethodPost, server.URL+responsePath+"?client=a", `{"model":"chat","input":"hi"}`)
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
			if resp, body := do(t, try.method, try.url, try.body); resp.StatusCode != want {
				t.Errorf("client %q: %s %s: %d %s", client, try.method, try.url, resp.StatusCode, body)
			}
		}
	}
}

func TestKeptResponses(t *testing.T) {
	server, _ := serveResponses(t, Default(), inferencetest.Say("x"))
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
			resp, body := do(t, tt.method, server.URL+tt.path, "")
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

// TestNothingIsKept by a server without a store, and it says so.
func TestNothingIsKept(t *testing.T) {
	server, _ := serveResponses(t, Config{}, inferencetest.Say("x"))
	_, body := do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","store":true`))
	if !strings.Contains(body, `"store":false`) {
		t.Errorf("got %s", body)
	}
	resp, body := do(t, http.MethodPost, server.URL+responsePath, respond(`"previous_response_id":"resp_x"`))
	if resp.StatusCode != http.StatusNotFound || !strings.Contains(body, "--responses-store-size") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// keep puts a response of one new item, whose text has that many bytes, after those
// of the previous one.
func keep(s *responseStore, id string, size int, previous *keptResponse) *keptResponse {
	r := &keptResponse{id: id, output: []*item{{id: "msg_" + id, kind: itemMessage, text: strings.Repeat("x", size)}}}
	if previous != nil {
		r.input = append(slices.Clone(previous.input), previous.output...)
	}
	s.put(r)
	return r
}

func wantKept(t *testing.T, s *responseStore, ids ...string) {
	t.Helper()
	var got []string
	for e := s.order.Front(); e != nil; e = e.Next() {
		got = append(got, e.Value.(*keptResponse).id)
	}
	if !slices.Equal(got, ids) || len(s.kept) != len(ids) {
		t.Errorf("kept %v, want %v", got, ids)
	}
	var used int64
	items := map[*item]bool{}
	for e := s.order.Front(); e != nil; e = e.Next() {
		r := e.Value.(*keptResponse)
		used += r.cost()
		for it := range r.items {
			if !items[it] {
				used += it.cost()
			}
			items[it] = true
		}
	}
	if s.used != used || len(s.refs) != len(items) || len(s.byID) != len(items) {
		t.Errorf("%d bytes of %d, %d refs and %d ids of %d items", s.used, used, len(s.refs), len(s.byID), len(items))
	}
}

func TestStoreCount(t *testing.T) {
	s := newResponseStore(Config{ResponsesStoreSize: 2, ResponsesStoreBytes: 1 << 20, ResponsesStoreTTL: time.Hour})
	a := keep(s, "a", 1, nil)
	b := keep(s, "b", 1, a)
	keep(s, "c", 1, b)
	wantKept(t, s, "b", "c")
	if s.get("a") != nil || s.get("b") != b || s.item("msg_a") == nil {
		t.Error("b lost what a left to it")
	}
	keep(s, "d", 1, nil)
	keep(s, "e", 1, nil)
	wantKept(t, s, "d", "e")
	if s.item("msg_a") != nil {
		t.Error("an item of nobody is kept")
	}
	if !s.remove("d") || s.remove("d") {
		t.Error("removed not once")
	}
	wantKept(t, s, "e")
	s.remove("e")
	wantKept(t, s)
	if s.used != 0 {
		t.Errorf("%d bytes of nothing", s.used)
	}
}

// TestStoreBytes: shared items count once; what is too large is not kept.
func TestStoreBytes(t *testing.T) {
	s := newResponseStore(Config{ResponsesStoreSize: 100, ResponsesStoreBytes: 12_000, ResponsesStoreTTL: time.Hour})
	a := keep(s, "a", 5000, nil)
	b := keep(s, "b", 1000, a)
	wantKept(t, s, "a", "b")
	keep(s, "c", 1000, b) // a goes, but for the text that the others have
	keep(s, "d", 1000, nil)
	if s.get("a") != nil || s.get("b") == nil || s.used > 12_000 {
		t.Errorf("%d bytes", s.used)
	}
	wantKept(t, s, "b", "c", "d")
	keep(s, "e", 20_000, nil)
	wantKept(t, s)
}

func TestStoreTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newResponseStore(Config{ResponsesStoreSize: 100, ResponsesStoreBytes: 1 << 20, ResponsesStoreTTL: time.Hour})
		keep(s, "a", 1, nil)
		<-time.After(40 * time.Minute)
		keep(s, "b", 1, nil)
		<-time.After(20*time.Minute - 1)
		if s.get("a") == nil {
			t.Error("a ended early")
		}
		<-time.After(1)
		if s.get("a") != nil || s.item("msg_a") != nil || s.remove("a") {
			t.Error("a lives too long")
		}
		wantKept(t, s, "b")
		<-time.After(time.Hour)
		keep(s, "c", 1, nil)
		wantKept(t, s, "c")
	})
}

// TestStoreIsShared by requests that run at once.
func TestStoreIsShared(t *testing.T) {
	t.Parallel()
	server, _ := serveResponses(t, Config{ResponsesStoreSize: 3, ResponsesStoreBytes: 20_000, ResponsesStoreTTL: time.Minute}, inferencetest.Say("x", "y"))
	first := create(t, server, `"model":"chat","input":"hi"`)
	for i := range 8 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			_, body := do(t, http.MethodPost, server.URL+responsePath, respond(`"input":"hi","stream":true`))
			var r struct{ ID string }
			if err := json.Unmarshal(typedEvents(t, body)[0].Response, &r); err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{r.ID, first} { // there, or gone: both are right
				resp, body := do(t, http.MethodPost, server.URL+responsePath, respond(`"previous_response_id":"`+id+`"`))
				if resp.StatusCode != http.StatusOK && !strings.Contains(body, "previous_response_not_found") {
					t.Errorf("%d %s", resp.StatusCode, body)
				}
			}
			do(t, http.MethodDelete, server.URL+responsePath+"/"+r.ID, "")
		})
	}
}
