package responses_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/openai/openaitest"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/state"
	"github.com/trident-inference/trident/services/state/statetest"
	"github.com/trident-inference/trident/test/tier"
)

// replica is one of several servers with one store.
type replica struct {
	*httptest.Server

	engine *inferencetest.Engine
	store  *state.Store
}

// replicas starts servers that share a store. The query of a request names its client.
func replicas(t *testing.T, shared *statetest.Server, script inferencetest.Script) [2]replica {
	t.Helper()
	var all [2]replica
	for i := range all {
		engine := inferencetest.New()
		engine.AddModel("chat", script, map[string]string{
			"trident.chat_template":    `{{ messages | tojson }}{% if tools %}{{ tools | tojson }}{% endif %}`,
			"trident.tool_call_parser": "hermes", "trident.reasoning_parser": "qwen3",
		})
		store := shared.Open()
		handler, err := openai.New(openai.Default(), inferencetest.Service(t, serving.Config{}, engine), store)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handler.ServeHTTP(w, r.WithContext(inference.WithClient(r.Context(), &inference.Client{Name: r.URL.Query().Get("client")})))
		}))
		t.Cleanup(server.Close)
		all[i] = replica{server, engine, store}
	}
	return all
}

func (r *replica) prompt() string {
	requests := r.engine.Requests()
	return inferencetest.Input(requests[len(requests)-1], "text_input")
}

// TestFollowUpsAtOtherReplicas continues conversations at another replica than the one that answered,
// and checks that the model gets each whole conversation.
func TestFollowUpsAtOtherReplicas(t *testing.T) {
	all := replicas(t, statetest.Start(t), inferencetest.StreamText("<think>Hm</think>", "Wait.", callNow))
	for n := range tier.Size(20, 1_000) {
		first := create(t, all[n%2].Server, fmt.Sprintf(`"model":"chat","input":"question %d",%s`, n, flatTools))
		other := &all[(n+1)%2]
		create(t, other.Server, `"model":"chat","input":"go on","previous_response_id":"`+first+`"`)
		prompt := other.prompt()
		for _, part := range []string{fmt.Sprintf(`"content": "question %d"`, n), `"Wait."`, `"reasoning_content": "Hm"`, `"name": "now"`, `"go on"`} {
			if !strings.Contains(prompt, part) {
				t.Fatalf("conversation %d lacks %s: %s", n, part, prompt)
			}
		}
	}
}

// TestSharedResponses checks that all operations on a stored response have the same results at each
// replica, and only for its client.
func TestSharedResponses(t *testing.T) {
	all := replicas(t, statetest.Start(t), inferencetest.StreamText("<think>Hm</think>", "Wait.", callNow))
	_, made := openaitest.Do(t, http.MethodPost, all[0].URL+responsePath+"?client=a", respond(`"input":[{"role":"user","content":[{"type":"input_text","text":"hi"},{"type":"input_text","text":"there"}]}],`+flatTools))
	var response struct {
		ID     string
		Output []struct{ ID string }
	}
	if err := json.Unmarshal([]byte(made), &response); err != nil || len(response.Output) != 3 {
		t.Fatalf("%v %s", err, made)
	}
	path := responsePath + "/" + response.ID
	var items [2]string
	for i := range all {
		if resp, body := openaitest.Do(t, http.MethodGet, all[i].URL+path+"?client=a", ""); resp.StatusCode != http.StatusOK || body != made {
			t.Errorf("replica %d: %d %s", i, resp.StatusCode, body)
		}
		_, items[i] = openaitest.Do(t, http.MethodGet, all[i].URL+path+"/input_items?client=a", "")
	}
	if items[0] != items[1] || !strings.Contains(items[0], `"there"`) {
		t.Errorf("the items are\n%s\n%s", items[0], items[1])
	}
	reference := `{"model":"chat","input":[{"type":"item_reference","id":"` + response.Output[1].ID + `"},{"role":"user","content":"go on"}]}`
	for client, want := range map[string]int{"a": http.StatusOK, "b": http.StatusNotFound, "": http.StatusNotFound} {
		if resp, body := openaitest.Do(t, http.MethodPost, all[1].URL+responsePath+"?client="+client, reference); resp.StatusCode != want {
			t.Errorf("client %q refers to an item: %d %s", client, resp.StatusCode, body)
		}
	}
	for _, try := range []struct {
		client string
		want   int
	}{{"b", http.StatusNotFound}, {"a", http.StatusOK}, {"a", http.StatusNotFound}} {
		if resp, body := openaitest.Do(t, http.MethodDelete, all[1].URL+path+"?client="+try.client, ""); resp.StatusCode != try.want {
			t.Errorf("client %q deletes: %d %s", try.client, resp.StatusCode, body)
		}
	}
	if resp, _ := openaitest.Do(t, http.MethodGet, all[0].URL+path+"?client=a", ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("the deleted response: %d", resp.StatusCode)
	}
}

// TestStoreAway checks that requests are answered while the store is away, as responses that aren't
// stored, and that what needs the store is a 503 within half a second.
func TestStoreAway(t *testing.T) {
	shared := statetest.Start(t)
	all := replicas(t, shared, inferencetest.StreamText("x"))
	id := create(t, all[0].Server, `"model":"chat","input":"hi"`)
	shared.Stop()
	_, body := openaitest.Do(t, http.MethodPost, all[0].URL+responsePath, respond(`"input":"hi"`))
	if got := whole(t, body); got["status"] != "completed" || got["store"] != false {
		t.Errorf("the answer is %s", body)
	}
	for _, try := range []struct{ method, path, body string }{
		{http.MethodGet, "/" + id, ""},
		{http.MethodGet, "/" + id + "/input_items", ""},
		{http.MethodDelete, "/" + id, ""},
		{http.MethodPost, "", respond(`"input":"hi","previous_response_id":"` + id + `"`)},
		{http.MethodPost, "", respond(`"input":[{"type":"item_reference","id":"msg_1"}]`)},
	} {
		began := time.Now()
		resp, body := openaitest.Do(t, try.method, all[1].URL+responsePath+try.path, try.body)
		if resp.StatusCode != http.StatusServiceUnavailable || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "store_unavailable") {
			t.Errorf("%s %s: %d %s", try.method, try.path, resp.StatusCode, body)
		}
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("%s %s took %s", try.method, try.path, took)
		}
	}
}

// TestResponseOfDeadReplica checks what other replicas return of a response that is in progress, whose
// client has disconnected, and whose replica has died.
func TestResponseOfDeadReplica(t *testing.T) {
	proceed := make(chan struct{})
	all := replicas(t, statetest.Start(t), func(ctx context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		send(inferencetest.Token("x", ""))
		select {
		case <-proceed:
		case <-ctx.Done():
			return ctx.Err()
		}
		send(inferencetest.Token("y", "stop"))
		return nil
	})
	begin := func() (id string, leave func()) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, all[0].URL+responsePath, strings.NewReader(respond(`"input":"hi","stream":true`)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if _, rest, found := strings.Cut(lines.Text(), `"id":"resp_`); found {
				id, _, _ = strings.Cut(rest, `"`)
				break
			}
		}
		return "resp_" + id, func() {
			cancel()
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	await := func(id, status string) string {
		t.Helper()
		var body string
		for range 500 {
			var resp *http.Response
			if resp, body = openaitest.Do(t, http.MethodGet, all[1].URL+responsePath+"/"+id, ""); resp.StatusCode == http.StatusOK && whole(t, body)["status"] == status {
				return body
			}
			<-time.After(10 * time.Millisecond)
		}
		t.Errorf("the response isn't %s: %s", status, body)
		return body
	}
	left, leave := begin()
	await(left, "in_progress")
	if resp, body := openaitest.Do(t, http.MethodPost, all[1].URL+responsePath, respond(`"input":"hi","previous_response_id":"`+left+`"`)); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "hasn't ended") {
		t.Errorf("a response in progress is continued: %d %s", resp.StatusCode, body)
	}
	leave()
	openaitest.WantDocument(t, "Response", await(left, "failed"))

	lost, leave := begin()
	await(lost, "in_progress")
	if err := all[0].store.Stop(t.Context()); err != nil { // as if its lease had ended
		t.Error(err)
	}
	if body := await(lost, "failed"); !strings.Contains(body, "stopped before its end") {
		t.Errorf("of a dead replica: %s", body)
	}
	if resp, body := openaitest.Do(t, http.MethodPost, all[1].URL+responsePath, respond(`"input":"hi","previous_response_id":"`+lost+`"`)); resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, "has failed") {
		t.Errorf("a failed response is continued: %d %s", resp.StatusCode, body)
	}
	close(proceed)
	leave()
}
