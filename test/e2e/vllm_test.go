package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/vllm/constraints"
)

// vllmLimit bounds the load of the real backend's model.
const vllmLimit = 20 * time.Minute

// TestVLLM checks Trident with a real vLLM backend, by running vllmSuite. The backend must be
// installed by hand: see docs/contributing/vllm-testing.md.
func TestVLLM(t *testing.T) {
	settings := emptySettings(t)
	s, model := startVLLM(t, "--config="+settings)
	vllmSuite(t, contract{trident: s, settings: settings}, model)
}

// startVLLM starts trident in front of the real backend, and waits until its model is ready.
func startVLLM(t *testing.T, more ...string) (s *trident, model string) {
	t.Helper()
	at := os.Getenv("TRIDENT_TEST_VLLM")
	if at == "" {
		t.Skip("TRIDENT_TEST_VLLM names no tritonserver or model repository with the vLLM backend: see docs/contributing/vllm-testing.md")
	}
	flags := append([]string{"--lora-separator=_lora_"}, more...)
	if strings.Contains(at, "/") {
		path, err := filepath.Abs(at)
		if err != nil {
			t.Fatal(err)
		}
		flags = append(flags, "--model-repository="+path)
	} else {
		flags = append(flags, "--triton-endpoint="+at)
	}
	s = start(t, append(flags, strings.Fields(os.Getenv("TRIDENT_TEST_VLLM_FLAGS"))...)...)
	if !poll(vllmLimit, func() bool {
		a := s.get(t, "/v1/models")
		var list struct{ Data []struct{ ID string } }
		if a.status != http.StatusOK || json.Unmarshal(a.body, &list) != nil || len(list.Data) == 0 || s.get(t, "/health/ready").status != http.StatusOK {
			return false
		}
		model = list.Data[0].ID
		return true
	}) {
		t.Fatalf("no model is served:\n%s", s.log)
	}
	if named := os.Getenv("TRIDENT_TEST_VLLM_MODEL"); named != "" {
		model = named
	}
	return s, model
}

// TestVLLMContract runs vllmSuite with a model that has the tensors of the vLLM backend but no
// weights, so that no GPU is needed.
func TestVLLMContract(t *testing.T) {
	t.Parallel()
	settings := emptySettings(t)
	s := contractModel(t).startAt(t, root(t), "--lora-separator=_lora_", "--config="+settings)
	if !poll(startLimit, func() bool { return s.get(t, "/v1/models/vllm").status == http.StatusOK }) {
		t.Fatalf("the model isn't served:\n%s", s.log)
	}
	vllmSuite(t, contract{trident: s, settings: settings}, "vllm")
}

// vllmSuite checks the behavior of a model of vLLM's contract, regardless of its text. Sampling is
// greedy, so that streaming and non-streaming responses are equal.
func vllmSuite(t *testing.T, c contract, model string) {
	t.Helper()
	k := kind{model: model}
	chat := func(t *testing.T, more ...any) collected {
		t.Helper()
		return c.chatOf(t, k, "Name three colours.", append([]any{"temperature", 0, "max_tokens", 40}, more...)...)
	}
	t.Run("answers", func(t *testing.T) {
		got := chat(t)
		if got.texts[0] == "" || !slices.Contains([]string{"stop", "length"}, got.finish[0]) {
			t.Errorf("got %+v", got)
		}
		if u := got.usage; u.Prompt == 0 || u.Completion == 0 || u.Completion > 40 || u.Total != u.Prompt+u.Completion {
			t.Errorf("usage %+v", u)
		}
	})
	t.Run("limits", func(t *testing.T) {
		for _, n := range []int{1, 5} {
			if got := chat(t, "max_tokens", n, "ignore_eos", true); got.finish[0] != "length" || got.usage.Completion != n {
				t.Errorf("%d: %+v", n, got)
			}
		}
		if got := chat(t, "min_tokens", 12, "max_tokens", 12); got.usage.Completion != 12 {
			t.Errorf("min_tokens: %+v", got)
		}
	})
	t.Run("several", func(t *testing.T) {
		if got := chat(t, "n", 3); len(got.texts) != 3 || slices.Contains(got.finish, "") {
			t.Errorf("choices: %+v", got)
		}
		got := c.continued(t, k, []string{"One, two,", "Red, green,"}, "n", 2, "echo", true, "temperature", 0, "max_tokens", 4)
		for i, want := range []string{"One, two,", "One, two,", "Red, green,", "Red, green,"} {
			if len(got.texts) != 4 || !strings.HasPrefix(got.texts[i], want) {
				t.Fatalf("prompts: %+v", got)
			}
		}
	})
	t.Run("decisions", func(t *testing.T) { vllmDecides(t, c, model) })
	t.Run("ranks", func(t *testing.T) { vllmRanks(t, c, model) })
	t.Run("stops", func(t *testing.T) {
		whole := chat(t, "ignore_eos", true).texts[0]
		end := []rune(whole)[len([]rune(whole))/2]
		if got := chat(t, "ignore_eos", true, "stop", string(end)); got.texts[0] != whole[:strings.IndexRune(whole, end)] || got.finish[0] != "stop" {
			t.Errorf("of %q up to %q: %+v", whole, end, got)
		}
	})
	t.Run("logprobs", func(t *testing.T) {
		if got := chat(t, "logprobs", true, "top_logprobs", 2, "ignore_eos", true, "max_tokens", 6); len(got.logprobs) != 6 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("adapters", func(t *testing.T) {
		list := decode[struct{ Data []struct{ ID string } }](t, c.get(t, "/v1/models").want(t, http.StatusOK))
		list.Data = slices.DeleteFunc(list.Data, func(m struct{ ID string }) bool { return !strings.HasPrefix(m.ID, model+"_lora_") })
		if len(list.Data) == 0 {
			t.Skip("no adapter is listed")
		}
		for _, listed := range list.Data {
			if got := chat(t, "model", listed.ID, "max_tokens", 4, "ignore_eos", true); got.usage.Completion != 4 {
				t.Errorf("%s: %+v", listed.ID, got)
			}
		}
	})
	// The engine keeps the backend of its first constraint. That is xgrammar for a structural tag.
	t.Run("strict tools", func(t *testing.T) { vllmStrict(t, c, model) })
	t.Run("constraints", func(t *testing.T) { vllmConstraints(t, c, k) })
	t.Run("refusals", func(t *testing.T) {
		for _, test := range []struct {
			name, param string
			status      int
			more        []any
		}{
			{"logit_bias", "logit_bias", http.StatusBadRequest, []any{"logit_bias", object{"5": 1}}},
			{"a long prompt", "messages", http.StatusBadRequest, []any{"messages", []object{{"role": "user", "content": strings.Repeat("lanterns and candles ", 40_000)}}}},
			{"an adapter that isn't there", "model", http.StatusNotFound, []any{"model", model + "_lora_nobody"}},
			{"more of the prompt than the context", "truncate_prompt_tokens", http.StatusBadRequest, []any{"truncate_prompt_tokens", 1_000_000}},
			{"a regular expression", "guided_regex", http.StatusBadRequest, []any{"guided_regex", "("}},
			{"a grammar", "guided_grammar", http.StatusBadRequest, []any{"guided_grammar", " "}},
			{"a structural tag", "structured_outputs.structural_tag", http.StatusBadRequest, []any{"structured_outputs", object{"structural_tag": "{}"}}},
			{"a schema", "response_format.json_schema.schema", http.StatusBadRequest, []any{"response_format", object{"type": "json_schema", "json_schema": object{
				"name": "x", "schema": object{"type": "array", "minItems": 3, "maxItems": 2},
			}}}},
		} {
			e := c.post(t, "/v1/chat/completions", ask("Hi", append([]any{"model", model}, test.more...)...)).want(t, test.status).failure(t)
			if text(e.Param) != test.param {
				t.Errorf("%s: param %s: %s", test.name, text(e.Param), text(e.Message))
			}
		}
	})
}

// vllmConstraints checks that constrained responses satisfy the constraint.
func vllmConstraints(t *testing.T, c contract, k kind) {
	t.Helper()
	const schema = `{"type":"object","properties":{"age":{"type":"integer","minimum":0,"maximum":9}},"required":["age"],"additionalProperties":false}`
	age := func(answer string) bool {
		var got struct{ Age *int }
		return json.Unmarshal([]byte(answer), &got) == nil && got.Age != nil
	}
	oneOf := func(texts ...string) func(string) bool {
		return func(answer string) bool { return slices.Contains(texts, answer) }
	}
	for _, test := range []struct {
		name string
		more []any
		ok   func(string) bool
	}{
		{"json_schema", []any{"response_format", object{"type": "json_schema", "json_schema": object{"name": "x", "schema": json.RawMessage(schema)}}}, age},
		{"choice", []any{"guided_choice", []string{"red", "blue"}}, oneOf("red", "blue")},
		{"regex", []any{"guided_regex", "yes|no"}, oneOf("yes", "no")},
	} {
		if got := c.chatOf(t, k, "Answer.", append([]any{"temperature", 0, "max_tokens", 200}, test.more...)...); !test.ok(got.texts[0]) || got.finish[0] != "stop" {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
	vllmCrashes(t, c, k.model)
	got := c.chatOf(t, k, "What time is it in Rome?", "temperature", 0, "max_tokens", 200, "tools", clock(), "tool_choice", "required")
	if len(got.calls) == 0 || !strings.HasPrefix(got.calls[0], "now{") || got.finish[0] != "tool_calls" {
		t.Errorf("the response has no forced tool call: %+v", got)
	}
}

// vllmCrashes sends the constraints that stop the engine of a vLLM that chooses the backend of
// structured outputs per request. Each is refused with the name of its field, or the response
// satisfies it.
func vllmCrashes(t *testing.T, c contract, model string) {
	t.Helper()
	raw, err := os.ReadFile("../../services/structured/testdata/constructs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	killers := 0
	for line := range bytes.Lines(raw) {
		var killer struct {
			ID, Kind string
			Value    json.RawMessage
			Killer   bool
			Good     []string // responses that satisfy the constraint
		}
		if err := json.Unmarshal(line, &killer); err != nil {
			t.Fatal(err)
		}
		if !killer.Killer {
			continue
		}
		killers++
		a := c.post(t, "/v1/chat/completions", ask("Hi", "model", model, "temperature", 0, "max_tokens", 20, "structured_outputs", object{killer.Kind: killer.Value}))
		if a.status == http.StatusBadRequest {
			if e := a.failure(t); !strings.HasPrefix(text(e.Param), "structured_outputs."+killer.Kind) || text(e.Code) != "unsupported_parameter" || !strings.Contains(text(e.Message), "trident.structured_outputs") {
				t.Errorf("%s: param %s, code %s: %s", killer.ID, text(e.Param), text(e.Code), text(e.Message))
			}
			continue
		}
		whole := decode[completion](t, a.want(t, http.StatusOK))
		said := whole.Choices[0].Message.Content
		chosen := killer.Kind == "choice" && strings.Contains(string(killer.Value), strconv.Quote(said))
		if !chosen && !slices.Contains(killer.Good, said) {
			t.Errorf("%s: the response is %s", killer.ID, a.body)
		}
	}
	if killers != 12 {
		t.Errorf("%d structured outputs are marked as ending the engine", killers)
	}
	c.get(t, "/health/ready").want(t, http.StatusOK)
}

// TestVLLMGenerated sends 500 schemas, regular expressions and grammars, four at a time, and sends
// them again in reverse order. Each request is refused with the name of its field, or its response
// satisfies the constraint. The engine survives. The refused requests are the same in both orders.
func TestVLLMGenerated(t *testing.T) {
	s, model := startVLLM(t)
	made, err := constraints.Make(500, 23)
	if err != nil {
		t.Fatal(err)
	}
	var first []int
	for _, order := range []string{"forwards", "backwards"} {
		began := time.Now()
		statuses := make([]int, len(made))
		var sent, judged, unended atomic.Int64
		var group errgroup.Group
		group.SetLimit(16)
		for n := range made {
			if order == "backwards" {
				n = len(made) - 1 - n
			}
			group.Go(func() error {
				status, ended := vllmGenerated(t, s, model, made[n])
				statuses[n] = status
				if status == http.StatusOK && ended {
					judged.Add(1)
				} else if status == http.StatusOK {
					unended.Add(1)
				}
				if done := sent.Add(1); done%50 == 0 {
					t.Logf("%s: %d of %d after %s", order, done, len(made), time.Since(began).Round(time.Second))
				}
				return nil
			})
		}
		_ = group.Wait()
		s.get(t, "/health/ready").want(t, http.StatusOK)
		refused := 0
		for _, status := range statuses {
			if status == http.StatusBadRequest {
				refused++
			}
		}
		t.Logf("%s: %d answers judged, %d without an end, %d refused, in %s", order, judged.Load(), unended.Load(), refused, time.Since(began).Round(time.Second))
		if judged.Load() < 100 {
			t.Errorf("%s: only %d answers were judged", order, judged.Load())
		}
		if first != nil && !slices.Equal(first, statuses) {
			t.Errorf("the two orders have different refused requests")
		}
		first = statuses
	}
}

// vllmGenerated sends one constraint. A response that ended at the token limit isn't checked.
func vllmGenerated(t *testing.T, s *trident, model string, made constraints.Constraint) (status int, ended bool) {
	t.Helper()
	patient := &http.Client{Transport: client.Transport, Timeout: 10 * time.Minute} // on a busy CPU an answer of 100 tokens takes a minute
	began := time.Now()
	r, err := patient.Do(s.request(t, http.MethodPost, "/v1/chat/completions", ask("Answer briefly.", "model", model, "seed", 7, "max_tokens", 100, "structured_outputs", object{made.Kind: made.Value})))
	if err != nil {
		t.Errorf("%s %s: %v", made.Kind, made.Value, err)
		return 0, false
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Errorf("%s %s: %v", made.Kind, made.Value, err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Logf("%s for %s %s", took, made.Kind, made.Value)
	}
	a := answer{r.StatusCode, r.Header, body}
	switch a.status {
	case http.StatusOK:
		whole := decode[completion](t, a)
		if whole.Choices[0].FinishReason != "stop" {
			return a.status, false
		}
		if why := made.Violation(whole.Choices[0].Message.Content); why != "" {
			t.Errorf("%s %s\nhas the response %q: %s", made.Kind, made.Value, whole.Choices[0].Message.Content, why)
		}
		return a.status, true
	case http.StatusBadRequest:
		if e := a.failure(t); !strings.HasPrefix(text(e.Param), "structured_outputs") {
			t.Errorf("%s %s: param %s: %s", made.Kind, made.Value, text(e.Param), text(e.Message))
		}
	default:
		t.Errorf("%s %s: %d %s", made.Kind, made.Value, a.status, a.body)
	}
	return a.status, false
}

// TestVLLMDeath checks the effect when the process of vLLM's engine is killed during 50 streams.
// Afterwards the tritonserver can't serve any more. TRIDENT_TEST_VLLM_SESSION is the id of that
// server's session.
func TestVLLMDeath(t *testing.T) {
	s, model := startVLLM(t)
	session, _ := strconv.Atoi(os.Getenv("TRIDENT_TEST_VLLM_SESSION"))
	remote := !strings.Contains(os.Getenv("TRIDENT_TEST_VLLM"), "/")
	if !remote {
		session, _ = unix.Getsid(s.cmd.Process.Pid)
	}
	if session == 0 {
		t.Skip("TRIDENT_TEST_VLLM_SESSION isn't set: it names the session whose engine may be killed")
	}
	engineDies(t, s, model, !remote, func(p process) bool {
		sid, err := unix.Getsid(p.id)
		return err == nil && sid == session
	})
}

// TestVLLMContractDeath checks the effect when the engine of the model without weights is killed:
// with a tritonserver without model control, with a tritonserver with model control, and with
// in-process Triton.
func TestVLLMContractDeath(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"none", "explicit"} {
		t.Run(mode, func(t *testing.T) {
			if mode == "none" {
				needsServer(t)
			}
			options := tritonserver.Options{Repositories: []string{contractRepository(t)}, Env: []string{"CONTRACT_PACE=0.5"}}
			if mode == "explicit" && !inProcess() {
				options.Args = []string{"--model-control-mode=explicit", "--load-model=vllm"}
			}
			models := ownEngine(t, options)
			s := models.startAt(t, root(t))
			if !poll(startLimit, func() bool { return s.get(t, "/v1/models/vllm").status == http.StatusOK }) {
				t.Fatalf("the model isn't served:\n%s", s.log)
			}
			top := s.cmd.Process.Pid
			if models.server != nil {
				top = models.server.Pid()
			}
			engineDies(t, s, "vllm", mode == "explicit", func(p process) bool { return isBelow(t, p.id, top) })
		})
	}
}

// isBelow reports whether a process is a descendant of another one.
func isBelow(t *testing.T, id, top int) bool {
	t.Helper()
	parents := map[int]int{}
	for _, p := range processes(t, func(process) bool { return true }) {
		parents[p.id] = p.parent
	}
	for id != 0 && id != top {
		id = parents[id]
	}
	return id == top
}

// engineDies kills the engine, a process for which ours returns true, under streams. Each stream
// gets an error; the model isn't ready, and requests get a 503 with the reason. If the model can be
// loaded, it comes back by itself; otherwise the reason describes what to do.
func engineDies(t *testing.T, s *trident, model string, comesBack bool, ours func(process) bool) {
	t.Helper()
	const streams = 50
	var begun, ended sync.WaitGroup
	patient := &http.Client{Transport: client.Transport} // 50 streams take long on a CPU, so the client has no time limit
	for range streams {
		begun.Add(1)
		body := ask("Tell a story.", "model", model, "max_tokens", 1500, "ignore_eos", true, "stream", true)
		events := s.open(t, patient, s.request(t, http.MethodPost, "/v1/chat/completions", body))
		ended.Go(func() {
			var last []byte
			for data := range events.events(t) {
				if last == nil {
					begun.Done()
				}
				last = data
			}
			if e := parseError(t, last); text(e.Type) != "server_error" {
				t.Errorf("a stream ended with %s", last)
			}
		})
	}
	begun.Wait()
	broken := watchFault(t, s, model)
	mark := s.log.len()
	killEngine(t, ours)
	if reason := <-broken; reason == "" {
		t.Error("Watch doesn't report that the model isn't ready")
	}
	ended.Wait()
	if line := s.log.since(mark); !slices.ContainsFunc(line, func(l logLine) bool { return l["msg"] == "model failed" && l["model"] == model }) {
		t.Errorf("the log doesn't report the failure of the model: %v", line)
	}
	if comesBack {
		if !poll(vllmLimit, func() bool {
			return slices.ContainsFunc(s.log.since(mark), func(l logLine) bool { return l["msg"] == "model recovered" })
		}) {
			t.Fatalf("the model doesn't become ready again:\n%s", s.log)
		}
		if !poll(startLimit, func() bool { return s.get(t, "/health/ready").status == http.StatusOK }) {
			t.Error("the readiness probe fails although the model is ready again")
		}
		s.chat(t, ask("Hi", "model", model, "max_tokens", 2))
		return
	}
	const remedy = "restart it, or start it with --model-control-mode=explicit"
	if !poll(startLimit, func() bool { return strings.Contains(string(s.get(t, "/health/ready").body), remedy) }) {
		t.Errorf("the reason has no advice: %s", s.get(t, "/health/ready").body)
	}
	s.get(t, "/health/ready").want(t, http.StatusServiceUnavailable)
	var a answer
	poll(startLimit, func() bool {
		a = s.post(t, "/v1/chat/completions", ask("Hi", "model", model)).want(t, http.StatusServiceUnavailable)
		return strings.Contains(text(a.failure(t).Message), remedy)
	})
	if e := a.failure(t); text(e.Code) != "model_not_ready" || a.header.Get("Retry-After") == "" || !strings.Contains(text(e.Message), remedy) {
		t.Errorf("code %s, Retry-After %q: %s", text(e.Code), a.header.Get("Retry-After"), text(e.Message))
	}
	if !poll(startLimit, func() bool {
		return strings.Contains(string(s.get(t, "/metrics").body), fmt.Sprintf("trident_model_ready{model=%q} 0\n", model))
	}) {
		t.Error("the metrics report the model as ready")
	}
}

// watchFault returns a channel that receives the reason from Watch when the model stops being
// ready. The reason is empty if Watch reports nothing within startLimit.
func watchFault(t *testing.T, s *trident, model string) <-chan string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	watch, err := tridentv1connect.NewModelServiceClient(&http.Client{Transport: client.Transport}, s.url).Watch(ctx, &tridentv1.ModelServiceWatchRequest{All: true})
	if err != nil {
		t.Fatal(err)
	}
	// next returns the model's next state from Watch.
	next := func() (ready bool, reason string) {
		for watch.Receive() {
			for _, m := range watch.Msg().GetModels() {
				if m.GetName() == model {
					return m.GetState() == tridentv1.ModelState_MODEL_STATE_READY, m.GetReason()
				}
			}
		}
		return false, ""
	}
	if ready, reason := next(); !ready {
		t.Errorf("Watch doesn't report the model as ready: %s", reason)
	}
	reasons := make(chan string, 1)
	go func() {
		defer cancel()
		defer watch.Close()
		ready, reason := next()
		for ready {
			ready, reason = next()
		}
		reasons <- reason
	}()
	return reasons
}

// killEngine kills vLLM's EngineCore.
func killEngine(t *testing.T, ours func(process) bool) {
	t.Helper()
	engines := processes(t, func(p process) bool { return strings.HasPrefix(p.command, "VLLM::EngineCore") && ours(p) })
	if len(engines) == 0 {
		t.Fatal("the engine has no separate process")
	}
	for _, p := range engines {
		if err := syscall.Kill(p.id, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
}
