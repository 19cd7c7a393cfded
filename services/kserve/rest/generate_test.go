package rest_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/kserve/kservetest"
	"github.com/trident-inference/trident/services/server"
)

// piece returns a response with one text.
func piece(text string) *inference.Response {
	return &inference.Response{Version: "1", Outputs: []inference.Output{inferencetest.Bytes("text_output", text)}}
}

func generate(ctx context.Context, t *testing.T, url, method, body string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v2/models/m/"+method, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// TestGenerateStream checks the order and the content of the events of generate_stream, and an
// error of the engine as the last event.
func TestGenerateStream(t *testing.T) {
	engine := kservetest.TextEngine(func(_ context.Context, req *api.ModelInferRequest, send kservetest.SendFunc) error {
		if inferencetest.Input(req, "text_input") != "hi" || req.GetParameters()["temperature"].GetDoubleParam() != 0.5 || req.GetId() != "7" {
			return inference.Invalid("", "got %v", req)
		}
		send(&inference.Response{Idle: true})
		send(&inference.Response{
			Version: "3", More: true, Parameters: inferencetest.Params{"b": inferencetest.Bool(true), "model_name": inferencetest.String("x"), "d": inferencetest.Float64(2)},
			Outputs: []inference.Output{inferencetest.Bytes("text_output", "a\n"), {Name: "b", Type: "INT8", Shape: []int64{1}, Raw: []byte{1}}, {Name: "a", Type: "FP32", Shape: []int64{2}, Raw: kservetest.Floats(1, 2)}},
		})
		for _, text := range []string{"b", "c", "d"} {
			resp := piece(text)
			resp.More = true
			send(resp)
		}
		return &inference.Error{Code: inference.CodeUnavailable, Message: "the engine was <lost>"}
	})
	answer := generate(t.Context(), t, serveREST(t, engine), "generate_stream", `{"text_input": "hi", "id": "7", "parameters": {"temperature": 0.5}}`)
	want := `data: {"a":[1.0,2.0],"b":true,"d":2.0,"id":"7","model_name":"m","model_version":"3","text_output":"a\n"}` + "\n\n"
	for _, text := range []string{"b", "c", "d"} {
		want += `data: {"id":"7","model_name":"m","model_version":"1","text_output":"` + text + `"}` + "\n\n"
	}
	want += `data: {"error":"the engine was <lost>"}` + "\n\n"
	if got := kservetest.Body(t, answer); got != want || answer.StatusCode != http.StatusOK || answer.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
		t.Errorf("got %s %v\n%s\nwant\n%s", answer.Status, answer.Header, got, want)
	}
}

// TestGenerateFails checks that generate and generate_stream return an error before the first
// response with its own HTTP status.
func TestGenerateFails(t *testing.T) {
	engine := kservetest.TextEngine(func(context.Context, *api.ModelInferRequest, kservetest.SendFunc) error {
		return &inference.Error{Code: inference.CodeLimited, Message: "too much", RetryAfter: 100 * time.Millisecond}
	})
	url := serveREST(t, engine)
	for _, method := range []string{"generate", "generate_stream"} {
		answer := generate(t.Context(), t, url, method, `{"text_input": "hi"}`)
		if got := kservetest.Body(t, answer); answer.StatusCode != http.StatusTooManyRequests || got != `{"error":"too much"}` || answer.Header.Get("Retry-After") != "1" || answer.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: got %s %v %s", method, answer.Status, answer.Header, got)
		}
	}
}

// TestGenerateClientLeaves checks that the generate routes cancel the model's request when the
// client disconnects, within a stream and before the first event.
func TestGenerateClientLeaves(t *testing.T) {
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprintf("after an event %t", first), func(t *testing.T) {
			began, ended := make(chan struct{}), make(chan error, 1)
			engine := kservetest.TextEngine(func(ctx context.Context, _ *api.ModelInferRequest, send kservetest.SendFunc) error {
				if first {
					send(piece("a"))
				}
				close(began)
				<-ctx.Done()
				ended <- context.Cause(ctx)
				return ctx.Err()
			})
			url := serveREST(t, engine)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				<-began
				if !first {
					cancel()
				}
			}()
			if first {
				answer := generate(ctx, t, url, "generate_stream", `{"text_input": "hi"}`)
				line, err := bufio.NewReader(answer.Body).ReadString('\n')
				if err != nil || line != `data: {"model_name":"m","model_version":"1","text_output":"a"}`+"\n" {
					t.Errorf("got %q, %v", line, err)
				}
				cancel()
				_ = answer.Body.Close()
			} else {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v2/models/m/generate_stream", strings.NewReader(`{"text_input": "hi"}`))
				if err != nil {
					t.Fatal(err)
				}
				client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
				if answer, err := client.Do(req); err == nil {
					_ = answer.Body.Close()
					t.Error("got an answer")
				}
			}
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				t.Error("the model wasn't cancelled")
			}
		})
	}
}

// TestGenerateSlowReader checks that generate_stream stops reading from an endless model if the
// client reads nothing. Trident must stop reading responses, and abort the stream after the write
// timeout.
func TestGenerateSlowReader(t *testing.T) {
	var made atomic.Int64
	long := strings.Repeat("x", 64<<10)
	engine := kservetest.TextEngine(func(ctx context.Context, _ *api.ModelInferRequest, send kservetest.SendFunc) error {
		for send(piece(long)) {
			made.Add(1)
		}
		return ctx.Err()
	})
	shared := server.Default()
	shared.WriteTimeout = 300 * time.Millisecond
	answer := generate(t.Context(), t, "http://"+kservetest.ServeRESTBy(t, kservetest.Open(), shared, auth.Config{}, engine), "generate_stream", `{"text_input": "hi"}`)
	defer answer.Body.Close()
	kservetest.Await(t, "the stream wasn't ended", func() bool { return engine.Active() == 0 })
	if got := made.Load(); got < 1 || got > 512 {
		t.Errorf("%d events of %d KiB were made for a client that reads nothing", got, len(long)>>10)
	}
}

// TestGenerateStops tests that a decoupled model is cancelled when it sends a second response to a
// generate request, which allows only one.
func TestGenerateStops(t *testing.T) {
	var made atomic.Int64
	engine := kservetest.TextEngine(func(ctx context.Context, _ *api.ModelInferRequest, send kservetest.SendFunc) error {
		for send(piece("x")) {
			made.Add(1)
		}
		return ctx.Err()
	})
	answer := generate(t.Context(), t, serveREST(t, engine), "generate", `{"text_input": "hi"}`)
	want := `{"error":"generate expects model to produce exactly 1 response, use generate stream for model that generates various number of responses"}`
	if got := kservetest.Body(t, answer); got != want || answer.StatusCode != http.StatusInternalServerError || made.Load() != 1 {
		t.Errorf("got %s %s after %d responses", answer.Status, got, made.Load())
	}
}

// BenchmarkGenerateStream measures the cost of one event of generate_stream, from an in-process
// engine to the client. `make bench-go` runs it; compare two runs with benchstat.
func BenchmarkGenerateStream(b *testing.B) {
	const events = 1000
	engine := kservetest.TextEngine(func(_ context.Context, _ *api.ModelInferRequest, send kservetest.SendFunc) error {
		resp := piece(" token")
		resp.More = true
		for range events {
			send(resp)
		}
		return nil
	})
	url := serveREST(b, engine)
	client := http.Client{Transport: &http.Transport{}}
	b.Cleanup(client.CloseIdleConnections)
	b.ReportAllocs()
	for b.Loop() {
		postBody(b, &client, url+"/v2/models/m/generate_stream", []byte(`{"text_input": "hi"}`))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}
