package main

import (
	"encoding/json"
	"net/http"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/trident-inference/trident/gen/go/kserve"
)

// TestShortMemory fills Go's memory beyond its soft limit. Each API then refuses requests that
// would run a model or the tokenizer, in its own format and for every body. Probes and lists still
// work. All requests work again once the memory is free.
func TestShortMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	t.Setenv("GOMEMLIMIT", "")
	d := deploy(t, textModels(), "--memory-limit=128MiB")
	ballast := make([]byte, 128<<20)
	runtime.GC()
	const message = "this server is low on memory: try again later"
	for _, target := range []string{
		d.openai + "/v1/chat/completions", d.openai + "/v1/completions", d.openai + "/v1/embeddings", d.openai + "/v1/responses", d.openai + "/v1/tokenize",
		d.openai + "/trident.v1.ChatService/Chat", d.openai + "/trident.v1.EmbeddingService/Embed", d.openai + "/trident.v1.InferService/Infer",
		d.openai + "/inference.GRPCInferenceService/ModelInfer",
		d.openai + "/v2/models/tensors/infer", d.rest + "/v2/models/tensors/infer", d.rest + "/v2/models/tensors/generate",
	} {
		status, body, header := d.send(t, http.MethodPost, target, "no JSON")
		retry := header.Get("Retry-After") + strings.Join(regexp.MustCompile(`"retry(?:After|Delay)":"(\d+)s"`).FindStringSubmatch(body), " ")
		if status != http.StatusServiceUnavailable || !strings.Contains(body, message) || !strings.HasSuffix(retry, "4") {
			t.Errorf("%s: %d %s, to be tried again after %q", target, status, body, retry)
		}
		var e struct {
			Code  string
			Error any
		}
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			t.Errorf("%s: %v in %s", target, err, body)
		}
		object, _ := e.Error.(map[string]any)
		_, text := e.Error.(string)
		if strings.Contains(target, "/v1/") && object["code"] != "server_is_overloaded" || strings.Contains(target, "/v2/") && !text ||
			strings.Contains(target, "Service/") && e.Code != "unavailable" {
			t.Errorf("%s: %s", target, body)
		}
	}
	_, err := kserve.NewGRPCInferenceServiceClient(dial(t, d.native)).ModelInfer(t.Context(), &kserve.ModelInferRequest{ModelName: "tensors"})
	answer := grpcstatus.Convert(err)
	if answer.Code() != codes.Unavailable || !strings.Contains(answer.Message(), message) || retryOf(answer) != 4*time.Second {
		t.Errorf("gRPC: %v, to be tried again after %s", err, retryOf(answer))
	}
	for _, path := range []string{"/health/ready", "/v1/models", "/metrics", "/v2/health/ready"} {
		if status, body, _ := d.send(t, http.MethodGet, d.openai+path, ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	_, page, _ := d.send(t, http.MethodGet, d.openai+"/metrics", "")
	if !strings.Contains(page, "\ntrident_requests_shed_total 13\n") || !strings.Contains(page, "\ntrident_memory_limit_bytes 1.34217728e+08\n") {
		t.Error(page)
	}
	runtime.KeepAlive(ballast)
	ballast = nil
	const chat = `{"model":"chat","messages":[{"role":"user","content":"hi"}]}`
	for status := 0; status != http.StatusOK; { // Go collects the memory within two seconds
		if status, page, _ = d.send(t, http.MethodPost, d.openai+"/v1/chat/completions", chat); status != http.StatusOK && status != http.StatusServiceUnavailable {
			t.Fatal(status, page)
		}
	}
	_ = ballast
}

// retryOf returns the delay after which a call may be retried.
func retryOf(answer *grpcstatus.Status) time.Duration {
	for _, detail := range answer.Details() {
		if retry, ok := detail.(*errdetails.RetryInfo); ok {
			return retry.GetRetryDelay().AsDuration()
		}
	}
	return 0
}
