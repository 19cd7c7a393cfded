package epp

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/test/pause"
)

// awaitAll waits until the picker has chosen each pod, for prompts that have no prefix in common.
func awaitAll(t *testing.T, g *gateway, pods []*pod) {
	t.Helper()
	chosen := map[string]int{}
	if !pause.Until(startLimit, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), stateLimit)
		defer cancel()
		c, err := g.pick(ctx, chatPath, chat(cached, rand.Text(), 4))
		if err == nil && c.refused == 0 {
			chosen[c.endpoint]++
		}
		return len(chosen) == len(pods)
	}) {
		t.Fatalf("of %d pods the picker has chosen %v", len(pods), chosen)
	}
}

// mustPost sends a request by the picker, which must succeed.
func mustPost(t *testing.T, g *gateway, path, body string) response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stateLimit)
	defer cancel()
	r, err := g.post(ctx, path, body)
	if err != nil || r.status != http.StatusOK {
		t.Fatalf("%s: %d %s, %v", path, r.status, r.body, err)
	}
	return r
}

// checkGauges checks that the picker has the queue and the running requests of one pod, as that pod
// reports them.
func checkGauges(t *testing.T, p *picker, pods []*pod) {
	const full = 1
	read := func() (waiting []float64, running float64) {
		for i := range pods {
			waiting = append(waiting, p.waiting(t, i))
		}
		return waiting, p.average(t, "running_requests") * podCount
	}
	agree := func(want []float64, wantRunning float64) {
		t.Helper()
		var waiting []float64
		var running float64
		if !pause.Until(stateLimit, func() bool {
			waiting, running = read()
			return slices.Equal(waiting, want) && math.Abs(running-wantRunning) < 0.1 // the picker rounds averages
		}) {
			t.Errorf("the picker reads the queues %v and %v running requests, not %v and %v", waiting, running, want, wantRunning)
		}
	}
	agree([]float64{0, 0, 0}, 0)
	release := pods[full].fill(t)
	agree([]float64{0, maxQueued, 0}, maxInFlight)
	release()
	agree([]float64{0, 0, 0}, 0)
}

// checkLoad checks that all pods get requests, and that clients get the pods' responses.
func checkLoad(t *testing.T, g *gateway, pods []*pod) {
	served := map[string]int{}
	for i := range 60 {
		r := mustPost(t, g, chatPath, chat(cached, fmt.Sprint("number ", i), 4))
		if !strings.Contains(string(r.body), `"finish_reason":"length"`) || !strings.Contains(string(r.body), "the quick brown fox") {
			t.Fatalf("the response of %s is %s", r.endpoint, r.body)
		}
		served[r.endpoint]++
	}
	for _, p := range pods {
		if served[p.address()] == 0 {
			t.Errorf("%s served none of 60 requests: %v", p.address(), served)
		}
	}
	t.Logf("60 requests: %v", served)
}

// checkFull checks that a pod whose slots and queue are full gets no requests until it has room.
func checkFull(t *testing.T, g *gateway, p *picker, pods []*pod) {
	const number = 1
	full := pods[number]
	release := full.fill(t)
	status, text, err := post(t.Context(), http.MethodPost, "http://"+full.address()+chatPath, chat(paced, "one more", 1))
	if err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("the full Trident answers %d %s, %v", status, text, err)
	}
	if !pause.Until(stateLimit, func() bool { return p.waiting(t, number) == maxQueued }) {
		t.Fatal("the picker doesn't notice that a Trident is full")
	}
	chosen := picks(t, g, 100)
	if chosen[full.address()] != 0 || len(chosen) != len(pods)-1 {
		t.Errorf("of 100 requests while %s is full the endpoints got %v", full.address(), chosen)
	}
	t.Logf("100 requests while %s is full: %v", full.address(), chosen)
	for i := range 20 {
		mustPost(t, g, chatPath, chat(cached, fmt.Sprint("served ", i), 4))
	}
	release()
	if !pause.Until(stateLimit, func() bool { return picks(t, g, 10)[full.address()] > 0 }) {
		t.Error("the Trident gets no requests after it has room again")
	}
}

// prefix returns a long text that is different for each group, of about 1,500 tokens of the model
// cached.
func prefix(group int) string {
	return strings.Repeat(fmt.Sprintf("group %03d has these rules. ", group), 230)
}

// checkPrefixes checks that prompts with the same long prefix go to the same pod, and that the pods'
// prefix caches have the prefixes.
func checkPrefixes(t *testing.T, g *gateway, pods []*pod) {
	const groups, rounds = 12, 6
	total := func(name string) (sum float64) {
		for _, p := range pods {
			sum += p.total(t, name, `model="`+cached+`"`)
		}
		return sum
	}
	prompt, hits := total("burst_prompt_tokens_total"), total("burst_cached_tokens_total")
	endpoints := map[string]int{}
	home := map[int]string{}
	for round := range rounds {
		for group := range groups {
			r := mustPost(t, g, chatPath, chat(cached, prefix(group)+fmt.Sprint("Question ", round), 4))
			if round == 0 {
				home[group] = r.endpoint
				endpoints[r.endpoint]++
			} else if r.endpoint != home[group] {
				t.Errorf("round %d: the group %d went to %s, not to %s", round, group, r.endpoint, home[group])
			}
		}
	}
	if len(endpoints) < 2 {
		t.Errorf("all groups are at one endpoint: %v", endpoints)
	}
	prompt, hits = total("burst_prompt_tokens_total")-prompt, total("burst_cached_tokens_total")-hits
	if share := hits / prompt; !(share > 0.75 && share <= 1) {
		t.Errorf("%v of %v tokens of prompts were in the caches", hits, prompt)
	}
	t.Logf("%d groups of %d prompts over %v: %.0f of %.0f tokens of prompts were in the caches", groups, rounds, slices.Sorted(maps.Values(endpoints)), hits, prompt)
}

// checkFullPrefix checks that a prompt leaves the pod that has its prefix when that pod is full.
func checkFullPrefix(t *testing.T, g *gateway, pods []*pod) {
	text := prefix(999)
	home := mustPost(t, g, chatPath, chat(cached, text+"first", 4)).endpoint
	if again := mustPost(t, g, chatPath, chat(cached, text+"second", 4)).endpoint; again != home {
		t.Fatalf("the second prompt went to %s, the first to %s", again, home)
	}
	full := pods[slices.IndexFunc(pods, func(p *pod) bool { return p.address() == home })]
	full.fill(t)
	moved := ""
	if !pause.Until(stateLimit, func() bool {
		c, err := g.pick(t.Context(), chatPath, chat(cached, text+"third", 4))
		moved = c.endpoint
		return err == nil && moved != home
	}) {
		t.Fatalf("the prompt stays at %s, which is full", home)
	}
	if r := mustPost(t, g, chatPath, chat(cached, text+"fourth", 4)); r.endpoint == home {
		t.Errorf("the prompt went back to %s, which is full", home)
	}
}

// echoed is a request of tensors to the model echo.
const echoed = `{"inputs":[{"name":"input","datatype":"UINT8","shape":[3],"data":[7,8,9]}]}`

// checkOtherAPIs checks requests of other APIs by way of the picker.
func checkOtherAPIs(t *testing.T, g *gateway) {
	for path, row := range map[string]struct{ body, want string }{
		"/v1/completions":           {`{"model":"cached","prompt":"hello","max_tokens":3}`, "the quick brown"},
		"/v1/responses":             {`{"model":"cached","input":"hello","max_output_tokens":16}`, "the quick brown"},
		"/v1/messages":              {`{"model":"cached","max_tokens":3,"messages":[{"role":"user","content":"hello"}]}`, "the quick brown"},
		"/v2/models/echo/infer":     {echoed, "[7,8,9]"},
		"/v2/models/paced/generate": {`{"text_input":"hello","sampling_parameters":"{\"max_tokens\":1}"}`, "the"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), stateLimit)
		r, err := g.post(ctx, path, row.body)
		cancel()
		if err != nil || r.status != http.StatusOK || !strings.Contains(string(r.body), row.want) {
			t.Errorf("%s: %d %s, %v", path, r.status, r.body, err)
		}
	}
}

// checkAway checks that Tridents answer while there is no picker, and that a new picker chooses
// them.
func checkAway(t *testing.T, g *gateway, p *picker, pods []*pod) {
	p.kill()
	_, err := g.pick(t.Context(), chatPath, chat(cached, "nobody", 4))
	if status.Code(err) != codes.Unavailable {
		t.Errorf("without a picker the call ends with %v", err)
	}
	for _, pod := range pods {
		for i := range 10 {
			status, text, err := post(t.Context(), http.MethodPost, "http://"+pod.address()+chatPath, chat(cached, fmt.Sprint("direct ", i), 4))
			if err != nil || status != http.StatusOK || !strings.Contains(text, "the quick brown fox") {
				t.Errorf("%s without a picker: %d %s, %v", pod.address(), status, text, err)
			}
		}
	}
	began := time.Now()
	p.start(t)
	awaitAll(t, g, pods)
	t.Logf("a new picker has chosen all Tridents %.1f s after its start", time.Since(began).Seconds())
}

// checkKilled checks that a pod that is killed gets no requests soon after, and gets them again
// when it is back.
func checkKilled(t *testing.T, g *gateway, pods []*pod) {
	const limit, quiet = 5 * time.Second, 3 * time.Second
	dead := pods[2]
	dead.kill()
	began, last := time.Now(), time.Duration(0)
	for time.Since(began) < last+quiet && time.Since(began) < 2*limit {
		if picks(t, g, 1)[dead.address()] > 0 {
			last = time.Since(began)
		}
	}
	if last > limit {
		t.Errorf("%s gets requests %.1f s after it was killed", dead.address(), last.Seconds())
	}
	for i := range 30 {
		mustPost(t, g, chatPath, chat(cached, fmt.Sprint("others ", i), 4))
	}
	dead.start(t)
	dead.awaitReady(t)
	back := time.Now()
	awaitAll(t, g, pods)
	t.Logf("a killed Trident got the last request after %.1f s, and the first one %.1f s after it was ready again", last.Seconds(), time.Since(back).Seconds())
}

// total returns the sum of the series of a metric that have a label.
func (p *pod) total(t *testing.T, name, label string) (sum float64) {
	t.Helper()
	for line := range strings.Lines(get(t, "http://"+net.JoinHostPort(p.ip, p.metricsPort)+"/metrics")) {
		if strings.HasPrefix(line, name+"{") && strings.Contains(line, label) {
			n, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " ")+1:]), 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}
