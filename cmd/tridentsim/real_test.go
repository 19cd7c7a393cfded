package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/backends/burst"
	"github.com/trident-inference/trident/test/pause"
	"github.com/trident-inference/trident/test/tier"
)

// realFactor is the factor of all times at the real servers. It makes what Trident, tritonserver and
// the network add small in relation to the model's steps.
const realFactor = 2

// realModel is the name of the model of the real servers.
const realModel = "model"

// TestRealServers sends the requests of the workload short by a Trident with --balance=cost to four
// tritonservers, whose model has a prefix cache and the steps of the simulation. The hit rate and
// the times to the first token have to be those of the simulation.
func TestRealServers(t *testing.T) {
	tier.OnlySlow(t)
	withoutRace(t)
	o := defaults(t)
	w := short(o.Seed)
	want := measured(t, o, &w, "trident")
	servers := startServers(t, &o.Model, w.endpoints)
	trident := startTrident(t, servers)
	warmUp(t, trident)
	before := cachedTokens(t, servers)
	first := play(t, trident, w.stages()[0].requests)
	after := cachedTokens(t, servers)
	got := result{first: first, hit: (after[1] - before[1]) / (after[0] - before[0])}
	t.Logf("simulated: %.1f %% in cache, first token p50 %.3f s, p90 %.3f s", 100*want.hit, want.percentile(0.5), want.percentile(0.9))
	t.Logf("real: %.1f %% in cache, first token p50 %.3f s, p90 %.3f s", 100*got.hit, got.percentile(0.5), got.percentile(0.9))
	if math.Abs(got.hit-want.hit) > 0.05 {
		t.Errorf("%.1f %% of the prompts' tokens were in the cache, %.1f %% in the simulation", 100*got.hit, 100*want.hit)
	}
	for _, p := range []float64{0.5, 0.9} {
		if ratio := got.percentile(p) / want.percentile(p); ratio < 0.8 || ratio > 1.2 {
			t.Errorf("%g of the first tokens came within %.3f s, %.2f times the %.3f s of the simulation", p, got.percentile(p), ratio, want.percentile(p))
		}
	}
}

// startServers starts tritonservers whose model works like the simulated servers.
func startServers(t *testing.T, m *model, n int) []*tritonserver.Server {
	t.Helper()
	repository := t.TempDir()
	if err := burst.Repository(t.Context(), repository, burst.Model{Name: realModel, Scheduler: &burst.Scheduler{
		CacheTokens: m.CacheTokens, BlockTokens: blockTokens, TokenBytes: tokenBytes, BatchTokens: m.BatchTokens, BatchRequests: m.BatchRequests,
		Step: m.StepTime * 1000, Prompt: m.PromptTime, Context: m.ContextTime, TimeFactor: realFactor,
	}}); err != nil {
		t.Fatal(err)
	}
	var servers []*tritonserver.Server
	for range n {
		servers = append(servers, tritontest.StartServer(t, tritonserver.Options{Repositories: []string{repository}}))
	}
	return servers
}

// startTrident builds and starts a Trident before the servers, and returns its URL.
func startTrident(t *testing.T, servers []*tritonserver.Server) string {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "trident")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/trident")
	build.Dir = filepath.Join("..", "..")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	port, err := tritonserver.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, s := range servers {
		list = append(list, s.GRPC())
	}
	cmd := exec.CommandContext(t.Context(), binary, "--triton-endpoint="+strings.Join(list, ","), "--balance=cost",
		"--host=127.0.0.1", "--openai-port="+strconv.Itoa(port), "--metrics-port=0", "--max-in-flight=0", "--log-format=json")
	cmd.Stderr = log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Wait() // the test's context has ended
		_ = log.Close()
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("Trident's log begins with:\n%.4000s", text)
		}
	})
	url := "http://127.0.0.1:" + strconv.Itoa(port)
	if !pause.Until(time.Minute, func() bool {
		answer, err := http.Get(url + "/health/ready")
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}) {
		t.Fatal("Trident isn't ready")
	}
	return url
}

// warmUp sends some short requests, so that all connections are open and each server's first request
// is over.
func warmUp(t *testing.T, url string) {
	t.Helper()
	for i := range 24 {
		if _, err := ask(t.Context(), http.DefaultClient, url, body(t, fmt.Sprint("warm-up ", i), 2)); err != nil {
			t.Fatal(err)
		}
	}
}

// play sends requests when they arrive, and returns the sorted times to the first token, in seconds
// of the simulation.
func play(t *testing.T, url string, requests []*request) []float64 {
	t.Helper()
	var bodies [][]byte
	for _, r := range requests {
		bodies = append(bodies, body(t, r.text(), r.answer))
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: len(requests)}}
	defer client.CloseIdleConnections()
	times, failed := make([]time.Duration, len(requests)), make([]error, len(requests))
	var all sync.WaitGroup
	began := time.Now()
	for i, r := range requests {
		if err := pause.For(t.Context(), time.Until(began.Add(r.arrive*realFactor))); err != nil {
			t.Fatal(err)
		}
		all.Go(func() { times[i], failed[i] = ask(t.Context(), client, url, bodies[i]) })
	}
	all.Wait()
	var first []float64
	for i, err := range failed {
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		first = append(first, times[i].Seconds()/realFactor)
	}
	slices.Sort(first)
	return first
}

func body(t *testing.T, prompt string, tokens int) []byte {
	t.Helper()
	data, err := json.Marshal(map[string]any{"model": realModel, "prompt": prompt, "max_tokens": tokens, "stream": true})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// ask sends a completion, and returns the time to its first token. It fails if the answer isn't
// complete.
func ask(ctx context.Context, client *http.Client, url string, body []byte) (time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/completions", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	began := time.Now()
	answer, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(answer.Body)
		return 0, fmt.Errorf("%s: %.300s", answer.Status, text)
	}
	var first time.Duration
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		switch line := lines.Text(); {
		case line == "data: [DONE]" && first > 0:
			return first, nil
		case strings.HasPrefix(line, "data: ") && first == 0:
			first = time.Since(began)
		}
	}
	return 0, fmt.Errorf("the answer isn't complete: %w", lines.Err())
}

// cachedTokens returns the prompts' tokens of all servers, and how many of them were in the caches.
func cachedTokens(t *testing.T, servers []*tritonserver.Server) (sums [2]float64) {
	t.Helper()
	for _, s := range servers {
		answer, err := http.Get(s.MetricsURL())
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(answer.Body)
		if err = errors.Join(err, answer.Body.Close()); err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"burst_prompt_tokens_total", "burst_cached_tokens_total"} {
			_, value, _ := strings.Cut(string(page), name+`{model="`+realModel+`"} `)
			value, _, _ = strings.Cut(value, "\n")
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			sums[i] += n
		}
	}
	return sums
}
