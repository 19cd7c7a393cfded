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

// The chat model's own metrics, on Triton's metrics port. Triton shows each
// change at once.
const (
	generationsInProgress = "llamacpp:requests_processing"
	generatedTokens       = "llamacpp:tokens_predicted_total"
)

// metric reads one of the metrics of trident's chat model, which only a tritonserver shows.
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

// awaitRunning waits until the model works on n generations. Of a model in
// trident's process only its slots tell: whether all are taken, or one is free.
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
	// leaveTokens is how many tokens a generation may make after its last client has left. Tokens
	// take longer on a busy machine, as all does that stops them. A core that is taken away at that
	// moment can still make it more: the middle one of several attempts counts.
	leaveTokens   = 10
	leaveAttempts = 3
	// lateLimit bounds each attempt: a fraction of what the abandoned answers would take.
	lateLimit = 5 * time.Second
	// slotLimit is how soon a short answer comes from a model that has a slot for it.
	slotLimit = 400 * time.Millisecond
)

// TestClientLeaves lets clients go in every way, and asks the model itself when
// it stops.
func TestClientLeaves(t *testing.T) {
	s := serving(t)
	for _, test := range []struct {
		name    string
		body    object
		running float64 // generations at which the client leaves
	}{
		{"streaming", longStory("stream", true), 1},
		{"not streaming", longStory(), 1},
		{"more choices than slots", longStory("stream", true, "n", 6), 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkLeaving(t, s, test.running, func(ctx context.Context, began func()) {
				if test.body["stream"] != true {
					began()
				}
				r := s.request(t, http.MethodPost, "/v1/chat/completions", test.body) //nolint:contextcheck // it gets its context below
				response, err := client.Do(r.WithContext(ctx))
				if err != nil {
					return // the context ended before there was an answer
				}
				defer response.Body.Close()
				readUntil(t, response.Body, `"content":"`)
				began()
				_, _ = io.Copy(io.Discard, response.Body) // ends with the context
			})
		})
	}
}

// checkLeaving makes a call, ends its context once the call has begun and the
// model makes tokens for that many generations, and counts the tokens that are
// made until none is left.
func checkLeaving(t *testing.T, s *trident, running float64, call func(ctx context.Context, began func())) {
	t.Helper()
	if inProcess() {
		checkLeavingSlots(t, s, slots/int(running), call)
		return
	}
	var made []float64
	for range leaveAttempts {
		before := s.metric(t, generatedTokens)
		ctx, leave := context.WithCancel(askedBy(t.Context(), t))
		began, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			call(ctx, sync.OnceFunc(func() { close(began) }))
		}()
		select {
		case <-began:
			awaitRunning(t, s, running)
			if !poll(startLimit, func() bool { return s.metric(t, generatedTokens) >= before+running }) {
				t.Error("the model makes no tokens")
			}
		case <-ended:
			t.Error("the call ended by itself")
		}
		before = s.metric(t, generatedTokens)
		leave()
		idle := poll(lateLimit, func() bool { return s.metric(t, generationsInProgress) == 0 })
		made = append(made, s.metric(t, generatedTokens)-before)
		<-ended
		if !idle {
			t.Fatalf("the model still works %s after its client left", lateLimit)
		}
	}
	t.Logf("tokens made after the client left: %v", made)
	slices.Sort(made)
	if median := made[len(made)/2]; median > leaveTokens*running {
		t.Errorf("the model makes %v more tokens, want %v at most", median, leaveTokens*running)
	}
}

// slots is how many generations the chat model works on at a time.
const slots = 4

// checkLeavingSlots takes all of the model's slots by that many calls, ends
// these, and wants a slot for another one.
func checkLeavingSlots(t *testing.T, s *trident, calls int, call func(ctx context.Context, began func())) {
	t.Helper()
	var running, begun sync.WaitGroup
	ctx, leave := context.WithCancel(askedBy(t.Context(), t))
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

// awaitTaken waits until the model has no slot for a request.
func awaitTaken(t *testing.T, s *trident) {
	t.Helper()
	if !poll(startLimit, func() bool { return !s.within(t, slotLimit, ask("Hello.", "max_tokens", 1)) }) {
		t.Error("the model doesn't take up its work")
	}
}

// checkFree wants the model to have a slot for a request, unless it has ended.
func checkFree(t *testing.T, s *trident) {
	t.Helper()
	select {
	case <-s.exited:
		return
	default:
	}
	if !s.within(t, lateLimit, ask("Hello.", "max_tokens", 1)) {
		t.Errorf("the model still works for others after %s", lateLimit)
	}
}

// within tells whether a chat is answered in time.
func (s *trident) within(t *testing.T, limit time.Duration, body object) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(askedBy(t.Context(), t), limit)
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
