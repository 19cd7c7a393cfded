package e2e

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// The chat model's own metrics on Triton's metrics port. Triton updates them at once.
const (
	generationsInProgress = "llamacpp:requests_processing"
	generatedTokens       = "llamacpp:tokens_predicted_total"
)

// metric returns a metric of trident's chat model. Only a tritonserver exposes it.
func (s *trident) metric(t *testing.T, name string) float64 {
	t.Helper()
	needsServer(t)
	r, err := client.Get(s.server.MetricsURL())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	for lines := bufio.NewScanner(r.Body); lines.Scan(); {
		labels, ok := strings.CutPrefix(lines.Text(), name+"{")
		if !ok {
			continue
		}
		value, err := strconv.ParseFloat(labels[strings.LastIndexByte(labels, ' ')+1:], 64)
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
	t.Fatalf("the chat model has no metric %s", name)
	return 0
}

// awaitRunning waits until the model runs n generations. With in-process Triton only the slots are
// visible: all are taken, or one is free.
func awaitRunning(t *testing.T, s *trident, n float64) {
	t.Helper()
	switch {
	case !inProcess():
	case n == 0:
		checkFree(t, s)
		return
	case n == slots:
		awaitTaken(t, s)
		return
	}
	if !poll(startLimit, func() bool { return s.metric(t, generationsInProgress) == n }) {
		t.Fatalf("%v generations run, want %v", s.metric(t, generationsInProgress), n)
	}
}

const (
	// leaveTokens is the maximum number of tokens that a generation may make after its last client
	// has disconnected. On a busy machine a token and the cancellation take longer. A descheduled
	// core may still add tokens, so the median of several attempts is compared.
	leaveTokens   = 10
	leaveAttempts = 3
	// lateLimit bounds each attempt. It is a fraction of the time of the abandoned generations.
	lateLimit = 5 * time.Second
	// slotLimit is the maximum time of a short response from a model with a free slot.
	slotLimit = 400 * time.Millisecond
)

// TestClientLeaves checks that the model stops after each kind of client disconnect, by the model's
// own metrics.
func TestClientLeaves(t *testing.T) {
	s := serving(t)
	const chats = "/v1/chat/completions"
	for _, test := range []struct {
		name, path string
		body       object
		running    float64 // running generations at which the client disconnects
	}{
		{"streaming", chats, longStory("stream", true), 1},
		{"not streaming", chats, longStory(), 1},
		{"more choices than slots", chats, longStory("stream", true, "n", 6), 4},
		{"streaming a message", "/v1/messages", longStory("stream", true), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkLeaving(t, s, test.running, func(ctx context.Context, began func()) {
				if test.body["stream"] != true {
					began()
				}
				r := s.request(t, http.MethodPost, test.path, test.body) //nolint:contextcheck // it gets its context below
				response, err := client.Do(r.WithContext(ctx))
				if err != nil {
					return // the context ended before the response
				}
				defer response.Body.Close()
				readUntil(t, response.Body, map[string]string{chats: `"content":"`, "/v1/messages": `"text_delta"`}[test.path])
				began()
				_, _ = io.Copy(io.Discard, response.Body) // ends with the context
			})
		})
	}
}

// checkLeaving makes a call and cancels its context when the model generates tokens for the given
// number of generations. Then it counts the tokens until no generation runs.
func checkLeaving(t *testing.T, s *trident, running float64, call func(ctx context.Context, began func())) {
	t.Helper()
	if inProcess() {
		checkLeavingSlots(t, s, slots/int(running), call)
		return
	}
	var made []float64
	for range leaveAttempts {
		before := s.metric(t, generatedTokens)
		ctx, disconnect := context.WithCancel(withTestName(t.Context(), t))
		began, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			call(ctx, sync.OnceFunc(func() { close(began) }))
		}()
		select {
		case <-began:
			awaitRunning(t, s, running)
			if !poll(startLimit, func() bool { return s.metric(t, generatedTokens) >= before+running }) {
				t.Error("the model generates no tokens")
			}
		case <-ended:
			t.Error("the call ended before the client cancelled it")
		}
		before = s.metric(t, generatedTokens)
		disconnect()
		idle := poll(lateLimit, func() bool { return s.metric(t, generationsInProgress) == 0 })
		made = append(made, s.metric(t, generatedTokens)-before)
		<-ended
		if !idle {
			t.Fatalf("the model is still running %s after its client disconnected", lateLimit)
		}
	}
	t.Logf("tokens generated after the client disconnected: %v", made)
	slices.Sort(made)
	if median := made[len(made)/2]; median > leaveTokens*running {
		t.Errorf("the model generates %v more tokens, want at most %v", median, leaveTokens*running)
	}
}

// slots is the number of concurrent generations of the chat model.
const slots = 4

// checkLeavingSlots takes all of the model's slots with the given number of calls, cancels them, and
// checks that a slot is free.
func checkLeavingSlots(t *testing.T, s *trident, calls int, call func(ctx context.Context, began func())) {
	t.Helper()
	var running, begun sync.WaitGroup
	ctx, leave := context.WithCancel(withTestName(t.Context(), t))
	for range calls {
		begun.Add(1)
		running.Go(func() { call(ctx, sync.OnceFunc(begun.Done)) })
	}
	begun.Wait()
	awaitTaken(t, s)
	leave()
	running.Wait()
	checkFree(t, s)
}

// awaitTaken waits until the model has no free slot.
func awaitTaken(t *testing.T, s *trident) {
	t.Helper()
	if !poll(startLimit, func() bool { return !s.within(t, slotLimit, ask("Hello.", "max_tokens", 1)) }) {
		t.Error("the model doesn't start to generate")
	}
}

// checkFree checks that the model has a free slot, unless the engine has ended.
func checkFree(t *testing.T, s *trident) {
	t.Helper()
	select {
	case <-s.exited:
		return
	default:
	}
	if !s.within(t, lateLimit, ask("Hello.", "max_tokens", 1)) {
		t.Errorf("the model still generates for other requests after %s", lateLimit)
	}
}

// within reports whether POST /v1/chat/completions returns a complete response within the limit.
func (s *trident) within(t *testing.T, limit time.Duration, body object) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(withTestName(t.Context(), t), limit)
	defer cancel()
	r, err := client.Do(s.request(t, http.MethodPost, "/v1/chat/completions", body).WithContext(ctx))
	if err != nil {
		return false
	}
	defer r.Body.Close()
	return r.StatusCode == http.StatusOK
}

func readUntil(t *testing.T, r io.Reader, text string) {
	t.Helper()
	var seen []byte
	buffer := make([]byte, 4096)
	for !bytes.Contains(seen, []byte(text)) {
		n, err := r.Read(buffer)
		seen = append(seen, buffer[:n]...)
		if err != nil {
			t.Errorf("%v before %q came: %s", err, text, seen)
			return
		}
	}
}
