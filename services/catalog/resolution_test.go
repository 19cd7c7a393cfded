package catalog_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	kservefrontend "github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/rest"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/tridentrpc"
)

// surface is a request to one route or procedure that runs or describes a model.
type surface struct {
	name, path, contentType, body string
	// answer is part of the body of a response that succeeded.
	answer string
}

const (
	asJSON   = "application/json"
	asStream = "application/connect+json" // content type of a Connect stream, here of one message in an envelope
	asGRPC   = "application/grpc"
)

// frame wraps a message in an envelope of Connect or gRPC.
func frame(message []byte) string {
	return string(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...))
}

// textSurfaces returns requests to the model chat whose responses have the model's fingerprint.
func textSurfaces() []surface {
	const (
		chat     = `{"model":"chat","messages":[{"role":"user","content":"hi"}]`
		complete = `{"model":"chat","prompt":"hi"`
		typed    = `{"model":"chat","messages":[{"role":"ROLE_USER","content":"hi"}]}`
		plain    = `{"model":"chat","prompt":[{"text":"hi"}]}`
	)
	return []surface{
		{"chat", "/v1/chat/completions", asJSON, chat + `}`, `"word"`},
		{"chat, streamed", "/v1/chat/completions", asJSON, chat + `,"stream":true}`, `"word"`},
		{"completion", "/v1/completions", asJSON, complete + `}`, `"word"`},
		{"completion, streamed", "/v1/completions", asJSON, complete + `,"stream":true}`, `"word"`},
		{"typed chat", "/trident.v1.ChatService/Chat", asJSON, typed, `"word"`},
		{"typed chat, streamed", "/trident.v1.ChatService/ChatStream", asStream, frame([]byte(`{"chat":` + typed + `}`)), `"word"`},
		{"typed completion", "/trident.v1.CompletionService/Complete", asJSON, plain, `"word"`},
		{"typed completion, streamed", "/trident.v1.CompletionService/CompleteStream", asStream, frame([]byte(`{"completion":` + plain + `}`)), `"word"`},
	}
}

// otherSurfaces returns requests to the model chat whose responses have no fingerprint.
func otherSurfaces(t *testing.T) []surface {
	t.Helper()
	const (
		responses = `{"model":"chat","input":"hi"`
		chat      = `{"model":"chat","messages":[{"role":"user","content":"hi"}]`
		tensors   = `"inputs":[{"name":"IN","datatype":"INT32","shape":[1],"data":[1]}]}`
	)
	message, err := proto.Marshal(&kserve.ModelInferRequest{ModelName: "tensors"})
	if err != nil {
		t.Fatal(err)
	}
	return []surface{
		{"response", "/v1/responses", asJSON, responses + `}`, "word"},
		{"response, streamed", "/v1/responses", asJSON, responses + `,"stream":true}`, "word"},
		{"tokens of a response's prompt", "/v1/responses/input_tokens", asJSON, responses + `}`, "can't be counted without the tokenizer"},
		{"tokens of a chat", "/v1/chat/completions/input_tokens", asJSON, chat + `}`, "can't be counted without the tokenizer"},
		{"prompt of a chat", "/v1/chat/completions/render", asJSON, chat + `}`, "can't be rendered without the tokenizer"},
		{"prompts of a completion", "/v1/completions/render", asJSON, `{"model":"chat","prompt":"hi"}`, "can't be rendered without the tokenizer"},
		{"tokens", "/v1/tokenize", asJSON, `{"model":"chat","prompt":"hi"}`, "tokenizer of the model"},
		{"text of tokens", "/v1/detokenize", asJSON, `{"model":"chat","tokens":[1]}`, "tokenizer of the model"},
		{"embedding", "/v1/embeddings", asJSON, `{"model":"vectors","input":"hi"}`, `"embedding":[`},
		{"typed embedding", "/trident.v1.EmbeddingService/Embed", asJSON, `{"model":"vectors","input":[{"text":"hi"}]}`, `"values":[`},
		{"KServe by gRPC", "/inference.GRPCInferenceService/ModelInfer", asGRPC, frame(message), "OUT"},
		{"KServe's stream by gRPC", "/inference.GRPCInferenceService/ModelStreamInfer", asGRPC, frame(message), "OUT"},
		{"KServe by Connect", "/inference.GRPCInferenceService/ModelInfer", asJSON, `{"modelName":"tensors"}`, `"OUT"`},
		{"typed inference", "/trident.v1.InferService/Infer", asJSON, `{"modelName":"tensors"}`, `"OUT"`},
		{"typed inference, streamed", "/trident.v1.InferService/InferStream", asStream, frame([]byte(`{"modelName":"tensors"}`)), `"OUT"`},
		{"REST", "/v2/models/tensors/infer", asJSON, `{` + tensors, `"OUT"`},
		{"REST, whose body is wrong", "/v2/models/tensors/infer", asJSON, `{"inputs":1}`, `"error"`},
		{"REST, a tensor alone", "/v2/models/tensors/infer", "application/octet-stream", "\x01\x00\x00\x00", `"OUT"`},
		{"generate", "/v2/models/tensors/generate", asJSON, `{"IN":1}`, `"OUT"`},
		{"generate of a decoupled model", "/v2/models/decoupled/generate", asJSON, `{"IN":1}`, "word"},
		{"generate_stream", "/v2/models/decoupled/generate_stream", asJSON, `{"IN":1}`, "word"},
	}
}

// post sends a request to the frontends as a client of HTTP/2 does, and returns the body.
func (s surface) post(t *testing.T, frontends http.Handler) string {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, s.path, strings.NewReader(s.body))
	req.ProtoMajor, req.ProtoMinor, req.Proto = 2, 0, "HTTP/2.0"
	req.Header.Set("Content-Type", s.contentType)
	switch s.contentType {
	case asGRPC:
		req.Header.Set("Te", "trailers")
	case "application/octet-stream":
		req.Header.Set("Inference-Header-Content-Length", "0")
	}
	rec := httptest.NewRecorder()
	frontends.ServeHTTP(rec, req)
	return rec.Body.String()
}

// allFrontends returns all frontends over one service, as the shared port serves them.
func allFrontends(t *testing.T, core *serving.Service) http.Handler {
	t.Helper()
	cfg := server.Default()
	chats, err := openai.New(openai.Default(), core, nil)
	if err != nil {
		t.Fatal(err)
	}
	routes := []server.Route{{Pattern: "/", Handler: chats}}
	typed, err := tridentrpc.NewRoutes(tridentrpc.New(core, "test"), cfg)
	if err != nil {
		t.Fatal(err)
	}
	tensors, err := kservefrontend.New(kservefrontend.Default(), core)
	if err != nil {
		t.Fatal(err)
	}
	calls, err := kservefrontend.NewRoutes(tensors, cfg)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := rest.New(tensors, core, cfg)
	if err != nil {
		t.Fatal(err)
	}
	routes = append(append(append(routes, typed...), calls...), rest.NewRoutes(handler)...)
	mux, err := server.NewMux(nil, core.Admission(), routes)
	if err != nil {
		t.Fatal(err)
	}
	return mux
}

// TestOneLookup checks that no API looks up the model of a request more than once in the Catalog.
func TestOneLookup(t *testing.T) {
	engine := inferencetest.New()
	engine.AddModel("chat", inferencetest.StreamText("word"), map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	engine.AddModel("vectors", inferencetest.Embed(1, 2), map[string]string{"trident.task": "embed"})
	config := &kserve.ModelConfig{Input: []*kserve.ModelInput{{Name: "IN", DataType: kserve.DataType_TYPE_INT32, Dims: []int64{1}}}}
	engine.AddOther("tensors", config, func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		send(&inference.Response{Version: "1", Final: true, Outputs: []inference.Output{{Name: "OUT", Type: "INT32", Shape: []int64{1}, Raw: []byte{2, 0, 0, 0}}}})
		return nil
	})
	engine.AddOther("decoupled", config, inferencetest.StreamText("word"))
	engine.Configure("decoupled", func(c *kserve.ModelConfig) {
		c.ModelTransactionPolicy = &kserve.ModelTransactionPolicy{Decoupled: true}
	})
	synctest.Test(t, func(t *testing.T) { // no refresh runs during a request
		core := inferencetest.Service(t, serving.Default(), engine)
		frontends := allFrontends(t, core)
		synctest.Wait()
		lookups := core.Catalog().CountLookups()
		for _, s := range append(textSurfaces(), otherSurfaces(t)...) {
			lookups.Store(0)
			if answer := s.post(t, frontends); !strings.Contains(answer, s.answer) {
				t.Errorf("%s: the answer is %q", s.name, answer)
			}
			if n := lookups.Load(); n != 1 {
				t.Errorf("%s: %d lookups", s.name, n)
			}
		}
	})
}

// TestReload checks the fingerprint in a response if the model is reloaded while the request waits
// or runs. It is the fingerprint of the load whose context length limits the request.
func TestReload(t *testing.T) {
	for _, s := range textSurfaces() {
		t.Run(s.name+", while it answers", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { reload(t, s, false) })
		})
		t.Run(s.name+", while it waits", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { reload(t, s, true) })
		})
	}
}

var fingerprints = regexp.MustCompile(`"system_?[fF]ingerprint":"(fp_[0-9a-f]{10})"`)

// reload reloads the model during the first of the two requests that the model answers. If waits
// is set, the test is about the second request, which can't start before the reload.
func reload(t *testing.T, s surface, waits bool) {
	t.Helper()
	engine := inferencetest.New()
	load := func(context int) {
		engine.Configure("chat", func(c *kserve.ModelConfig) {
			c.Parameters["trident.context_length"] = &kserve.ModelParameter{StringValue: strconv.Itoa(context)}
		})
	}
	proceed, first := make(chan struct{}), true
	engine.AddModel("chat", func(ctx context.Context, req *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		if first {
			first = false
			<-proceed
		}
		return inferencetest.StreamText("word", "")(ctx, req, send)
	}, map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	load(11)
	core := inferencetest.Service(t, serving.Config{Bounds: admission.Bounds{Server: inference.Limits{InFlight: 1, Queued: 1}}}, engine)
	frontends := allFrontends(t, core)
	synctest.Wait()
	before := fingerprint(t, core)

	answers := []chan string{make(chan string, 1), make(chan string, 1)} // answers to the first and the second request
	go func() { answers[0] <- s.post(t, frontends) }()
	synctest.Wait() // the model has received the request
	if waits {
		go func() { answers[1] <- s.post(t, frontends) }()
		synctest.Wait() // the request has been resolved
	}
	load(12)
	if err := core.Catalog().Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := fingerprint(t, core)
	if before == after {
		t.Fatalf("both loads have the fingerprint %s", before)
	}
	close(proceed)
	want := []string{before}
	if waits {
		want = append(want, after)
	}
	for i, fingerprint := range want {
		answer := <-answers[i]
		if sent, context := inferencetest.Input(engine.Requests()[i], "sampling_parameters"), fmt.Sprintf(`"max_tokens":%d`, 11+i); !strings.Contains(sent, context) {
			t.Errorf("the engine was sent %s, want %s", sent, context)
		}
		found := fingerprints.FindAllStringSubmatch(answer, -1)
		if len(found) == 0 {
			t.Fatalf("no fingerprint: %s", answer)
		}
		for _, f := range found {
			if f[1] != fingerprint {
				t.Errorf("request %d: the fingerprint is %s, want %s; the first load has %s", i, f[1], fingerprint, before)
			}
		}
	}
}

func fingerprint(t *testing.T, core *serving.Service) string {
	t.Helper()
	model := core.Resolve("chat")
	if model.Fingerprint() == "" {
		t.Fatal("the model has no fingerprint")
	}
	return model.Fingerprint()
}
