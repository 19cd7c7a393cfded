package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"go.uber.org/fx"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/trident-inference/trident/gen/go/kserve"
	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/server/servertest"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/logbuffer"
)

// deployment is the whole program over a tritonserver in Go and an engine of text models.
type deployment struct {
	openai, rest, native string // addresses of the ports of OpenAI's API, of KServe's REST and of KServe's gRPC
	log                  *logbuffer.Buffer
	http                 *http.Client
}

var addresses = regexp.MustCompile(`msg="?(listening[^"]*?)"? address=(\S+)`)

// deploy starts the program with the given flags. The program runs until the test ends.
func deploy(t *testing.T, engine inference.Engine, args ...string) *deployment {
	t.Helper()
	cfg, err := parse(append([]string{
		"--host=127.0.0.1", "--openai-port=0", "--enable-kserve-frontends", "--kserve-grpc-port=0", "--kserve-http-port=0", "--metrics-port=0",
		"--triton-endpoint=" + tritontest.NewFake(t).Address(), "--shutdown-timeout=5s", "--log-level=debug",
	}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Table = nil
	d := &deployment{log: &logbuffer.Buffer{}, http: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	app := application(&flags{}, cfg, slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug})), func(err error) { t.Error(err) },
		fx.Decorate(func(engines []inference.Engine) []inference.Engine { return append(engines, engine) }))
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := app.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, found := range addresses.FindAllStringSubmatch(d.log.String(), -1) {
		switch found[1] {
		case "listening":
			d.openai = found[2]
		case "listening for KServe v2 by REST":
			d.rest = found[2]
		case "listening for KServe v2 by gRPC":
			d.native = found[2]
		}
	}
	d.awaitModels(t)
	return d
}

// awaitModels waits until the engines' models are known. It uses health probes, which need
// no key.
func (d *deployment) awaitModels(t *testing.T) {
	t.Helper()
	for {
		if status, _, _ := d.send(t, http.MethodGet, d.openai+"/health/ready", ""); status == http.StatusOK {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal(d.log)
		}
	}
}

// send sends an HTTP request. It returns the status, the body and the header of the
// response.
func (d *deployment) send(t *testing.T, method, target, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	req.Host = req.Header.Get("Host") // net/http sends the field, not the header; empty means the target
	resp, err := d.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer), resp.Header
}

// dial connects to a port with grpc-go.
func dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// textModels returns an engine with text models. The tritonserver has the models echo and
// stream.
func textModels() *inferencetest.Engine {
	engine := inferencetest.New()
	for _, name := range []string{"chat", "other"} {
		engine.AddModel(name, inferencetest.StreamText("x"), map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.aliases": "alias-of-" + name})
	}
	return engine
}

// modelCall is a way to call a model. Its error is that of the HTTP or gRPC status.
type modelCall struct {
	name string
	// ask returns the response's code, as a gRPC code, and its text.
	ask func(t *testing.T, key, model string) (codes.Code, string)
}

// codeOf returns the gRPC code of an HTTP status.
func codeOf(status int) codes.Code {
	switch status {
	case http.StatusOK:
		return codes.OK
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusForbidden:
		return codes.PermissionDenied
	case http.StatusNotFound:
		return codes.NotFound
	}
	return codes.Unknown
}

// modelCalls returns requests of all APIs that use a model, with models of both engines.
func (d *deployment) modelCalls(t *testing.T) (ofText, ofTensors []modelCall) {
	t.Helper()
	over := func(method, address, path, body string) func(*testing.T, string, string) (codes.Code, string) {
		return func(t *testing.T, key, model string) (codes.Code, string) {
			t.Helper()
			status, answer, _ := d.send(t, method, address+strings.ReplaceAll(path, "MODEL", model), strings.ReplaceAll(body, "MODEL", model), "Authorization", "Bearer "+key)
			return codeOf(status), answer
		}
	}
	const chat = `{"model":"MODEL","messages":[{"role":"user","content":"hi"}]}`
	ofText = []modelCall{
		{"chat", over(http.MethodPost, d.openai, "/v1/chat/completions", chat)},
		{"completion", over(http.MethodPost, d.openai, "/v1/completions", `{"model":"MODEL","prompt":"hi"}`)},
		{"response", over(http.MethodPost, d.openai, "/v1/responses", `{"model":"MODEL","input":"hi"}`)},
		{"its description", over(http.MethodGet, d.openai, "/v1/models/MODEL", "")},
		{"generate", over(http.MethodPost, d.openai, "/v2/models/MODEL/generate", `{"text_input":"hi"}`)},
		{"generate on its port", over(http.MethodPost, d.rest, "/v2/models/MODEL/generate_stream", `{"text_input":"hi"}`)},
		{"Connect in JSON", over(http.MethodPost, d.openai, "/trident.v1.ChatService/Chat", `{"model":"MODEL","messages":[{"role":"ROLE_USER","content":"hi"}]}`)},
	}
	for name, options := range map[string][]connect.ClientOption{"Connect": nil, "gRPC-Web": {connect.WithGRPCWeb()}} {
		client := tridentv1connect.NewChatServiceClient(d.http, "http://"+d.openai, append(options, connect.WithInterceptors(keyInterceptor{}))...)
		ofText = append(ofText, modelCall{"typed by " + name, func(t *testing.T, key, model string) (codes.Code, string) {
			t.Helper()
			stream, err := client.ChatStream(context.WithValue(t.Context(), keyInterceptor{}, key), &tridentv1.ChatStreamRequest{Chat: &tridentv1.ChatRequest{Model: model, Messages: []*tridentv1.ChatMessage{{Role: tridentv1.Role_ROLE_USER, Content: "hi"}}}})
			if err != nil {
				t.Fatal(err)
			}
			for stream.Receive() {
			}
			if stream.Err() == nil {
				return codes.OK, ""
			}
			return codes.Code(connect.CodeOf(stream.Err())), stream.Err().Error()
		}})
	}
	ofTensors = []modelCall{
		{"metadata", over(http.MethodGet, d.openai, "/v2/models/MODEL", "")},
		{"configuration on its port", over(http.MethodGet, d.rest, "/v2/models/MODEL/config", "")},
		{"statistics", over(http.MethodGet, d.rest, "/v2/models/MODEL/stats", "")},
		{"readiness", over(http.MethodGet, d.rest, "/v2/models/MODEL/ready", "")},
		{"trace settings", over(http.MethodGet, d.rest, "/v2/models/MODEL/trace/setting", "")},
		{"inference by REST", over(http.MethodPost, d.rest, "/v2/models/MODEL/infer", `{"inputs":[{"name":"TEXT","datatype":"BYTES","shape":[1],"data":["hi"]}]}`)},
	}
	for name, address := range map[string]string{"gRPC": d.native, "gRPC on the shared port": d.openai} {
		client := kserve.NewGRPCInferenceServiceClient(dial(t, address))
		request := func(model string) *kserve.ModelInferRequest {
			return &kserve.ModelInferRequest{ModelName: model, Inputs: []*kserve.ModelInferRequest_InferInputTensor{
				{Name: "TEXT", Datatype: "BYTES", Shape: []int64{1}, Contents: &kserve.InferTensorContents{BytesContents: [][]byte{[]byte("hi")}}},
			}}
		}
		call := func(do func(ctx context.Context, model string) error) func(*testing.T, string, string) (codes.Code, string) {
			return func(t *testing.T, key, model string) (codes.Code, string) {
				t.Helper()
				err := do(metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+key), model)
				return grpcstatus.Code(err), grpcstatus.Convert(err).Message()
			}
		}
		ofTensors = append(ofTensors,
			modelCall{"metadata by " + name, call(func(ctx context.Context, model string) error {
				_, err := client.ModelMetadata(ctx, &kserve.ModelMetadataRequest{Name: model})
				return err
			})},
			modelCall{"inference by " + name, call(func(ctx context.Context, model string) error {
				_, err := client.ModelInfer(ctx, request(model))
				return err
			})},
			modelCall{"a stream by " + name, call(func(ctx context.Context, model string) error {
				stream, err := client.ModelStreamInfer(metadata.AppendToOutgoingContext(ctx, "triton_grpc_error", "true"))
				if err != nil {
					return err
				}
				if err := stream.Send(request(model)); err != nil && err != io.EOF { //nolint:errorlint // grpc-go returns it unwrapped
					return err
				}
				answer, err := stream.Recv()
				if text := answer.GetErrorMessage(); strings.Contains(text, "this API key may not use it") {
					return grpcstatus.Error(codes.NotFound, text) // the stream continues: this is the error of one request
				}
				return err
			})})
	}
	return ofText, ofTensors
}

// keyInterceptor sends the key in the context.
type keyInterceptor struct{ connect.Interceptor }

func (keyInterceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }

func (keyInterceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		if key, ok := ctx.Value(keyInterceptor{}).(string); ok {
			conn.RequestHeader().Set("Authorization", "Bearer "+key)
		}
		return conn
	}
}

const accessKeys = `
- {name: everything, key: sk-all}
- {name: some, key: sk-some, models: [chat, echo, alias-of-other]}
`

// TestAccess checks that every API of trident requires an API key, and serves only the models that
// the key may use.
func TestAccess(t *testing.T) {
	d := deploy(t, textModels(), "--api-keys-file="+servertest.Write(t, t.TempDir(), "keys", []byte(accessKeys)))
	ofText, ofTensors := d.modelCalls(t)
	for _, test := range []struct {
		ways       []modelCall
		key, model string
		want       codes.Code
		words      string
	}{
		{ofText, "sk-none", "chat", codes.Unauthenticated, "Incorrect API key provided"},
		{ofTensors, "sk-none", "echo", codes.Unauthenticated, "Incorrect API key provided"},
		{ofText, "", "chat", codes.Unauthenticated, "an API key is needed"},
		{ofTensors, "", "echo", codes.Unauthenticated, "an API key is needed"},
		{ofText, "sk-all", "other", codes.OK, ""},
		{ofTensors, "sk-all", "echo", codes.OK, ""},
		{ofText, "sk-some", "chat", codes.OK, ""},
		{ofTensors, "sk-some", "echo", codes.OK, ""},
		{ofText, "sk-some", "other", codes.NotFound, "does not exist or this API key may not use it"},
		{ofTensors, "sk-some", "stream", codes.NotFound, "does not exist or this API key may not use it"},
		{ofText, "sk-some", "alias-of-chat", codes.NotFound, "does not exist or this API key may not use it"},
	} {
		for _, call := range test.ways {
			code, message := call.ask(t, test.key, test.model)
			if test.want == codes.OK && (code == codes.Unimplemented || code == codes.Unknown) {
				continue // the request reached the engine, which doesn't support it
			}
			if code != test.want || test.words != "" && !strings.Contains(message, test.words) {
				t.Errorf("%s of %s with %q: %s %s", call.name, test.model, test.key, code, message)
			}
		}
	}
	log := d.log.String()
	if strings.Contains(log, "sk-") {
		t.Errorf("the log has keys: %s", log)
	}
	for _, want := range []string{"client=everything", "client=some", `error="Incorrect API key provided"`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
}

// TestAccessToLists checks that routes that list models return only the models of the API key, and
// that server-wide operations need a key for all models.
func TestAccessToLists(t *testing.T) {
	d := deploy(t, textModels(), "--allow-shared-memory", "--allow-model-upload", "--api-keys-file="+servertest.Write(t, t.TempDir(), "keys", []byte(accessKeys)))
	for _, test := range []struct {
		method, target, body string
		all, some            int
		absent               []string // strings that must be absent from the response to a client of some models
		present              string
	}{
		{http.MethodGet, d.openai + "/v1/models", "", 200, 200, []string{`"other"`, `"alias-of-chat"`}, `"alias-of-other"`},
		{http.MethodPost, d.openai + "/trident.v1.ModelService/List", `{"all":true}`, 200, 200, []string{`"other"`, `"alias-of-chat"`, `"stream"`}, `"echo"`},
		{http.MethodPost, d.rest + "/v2/repository/index", `{}`, 200, 200, []string{`"other"`, `"stream"`}, `"echo"`},
		{http.MethodGet, d.rest + "/v2/models/stats", "", 501, 501, []string{`"stream"`}, ""}, // the engine of text models doesn't support it
		{http.MethodGet, d.rest + "/v2/logging", "", 501, 403, nil, "this API key is limited to its own models"},
		{http.MethodGet, d.rest + "/v2/trace/setting", "", 501, 403, nil, "this API key is limited to its own models"},
		{http.MethodPost, d.rest + "/v2/systemsharedmemory/region/r/register", `{"key":"/k","byte_size":4}`, 0, 403, nil, "this API key is limited to its own models"},
		{http.MethodGet, d.rest + "/v2/cudasharedmemory/status", "", 0, 403, nil, "this API key is limited to its own models"},
		{http.MethodPost, d.rest + "/v2/repository/models/chat/load", `{"parameters":{"config":"{}"}}`, 0, 403, nil, "this API key is limited to its own models"},
		{http.MethodPost, d.rest + "/v2/repository/models/chat/unload", `{"parameters":{"unload_dependents":true}}`, 0, 403, nil, "this API key is limited to its own models"},
		{http.MethodPost, d.rest + "/v2/repository/models/other/load", `{}`, 0, 404, nil, "this API key may not use it"},
		{http.MethodPost, d.openai + "/v1/models/other/unload", "", 0, 404, nil, "this API key may not use it"},
		{http.MethodGet, d.openai + "/metrics", "", 0, 403, nil, "this API key is limited to its own models"},
	} {
		status, body, _ := d.send(t, test.method, test.target, test.body, "api-key", "sk-all")
		if test.all != 0 && status != test.all || strings.Contains(body, "this API key") {
			t.Errorf("%s with a key for all models: %d %s", test.target, status, body)
		}
		for _, absent := range test.absent {
			if status == 200 && !strings.Contains(body, absent) {
				t.Errorf("%s has no %s at all: %s", test.target, absent, body)
			}
		}
		status, body, _ = d.send(t, test.method, test.target, test.body, "api-key", "sk-some")
		if status != test.some || !strings.Contains(body, test.present) || slices.ContainsFunc(test.absent, func(absent string) bool { return strings.Contains(body, absent) }) {
			t.Errorf("%s with a key for some models: %d %s", test.target, status, body)
		}
	}
}

// TestAccessWithoutKey checks that health probes need no key on any protocol, and that
// information about the service does.
func TestAccessWithoutKey(t *testing.T) {
	d := deploy(t, textModels(), "--api-key=sk-one")
	for _, target := range []string{d.openai + "/health/live", d.openai + "/health/ready", d.openai + "/v2/health/live", d.rest + "/v2/health/ready", d.openai + "/openapi.json"} {
		if status, body, _ := d.send(t, http.MethodGet, target, ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
	for _, address := range []string{d.openai, d.native} {
		conn := dial(t, address)
		if _, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
			t.Errorf("%s: %v", address, err)
		}
		if _, err := kserve.NewGRPCInferenceServiceClient(conn).ServerLive(t.Context(), &kserve.ServerLiveRequest{}); err != nil {
			t.Errorf("%s: %v", address, err)
		}
		if _, err := kserve.NewGRPCInferenceServiceClient(conn).ServerMetadata(t.Context(), &kserve.ServerMetadataRequest{}); grpcstatus.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: %v", address, err)
		}
		stream, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.RecvMsg(&kserve.ServerLiveResponse{}); grpcstatus.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: reflection: %v", address, err)
		}
	}
}

// TestRestrictedAPI checks that a restricted group of APIs is closed on every protocol and port to
// requests without its header.
func TestRestrictedAPI(t *testing.T) {
	d := deploy(t, textModels(), "--openai-restricted-api", "inference", "infer-key", "sk-infer", "--openai-restricted-api=model-repository:admin-key=sk-admin")
	ofText, ofTensors := d.modelCalls(t)
	for i, way := range slices.Concat(ofText, ofTensors) {
		model := "chat"
		if i >= len(ofText) {
			model = "echo"
		}
		if way.name == "readiness" {
			continue // part of the health group, which is open
		}
		if code, said := way.ask(t, "", model); code != codes.Unauthenticated || !strings.Contains(said, "is restricted") {
			t.Errorf("%s: %s %s", way.name, code, said)
		}
	}
	for _, test := range []struct {
		target, body string
		header       []string
		want         int
	}{
		{d.openai + "/v1/chat/completions", `{"model":"chat","messages":[{"role":"user","content":"hi"}]}`, []string{"infer-key", "sk-infer"}, 200},
		{d.openai + "/v1/chat/completions", `{"model":"chat","messages":[{"role":"user","content":"hi"}]}`, []string{"infer-key", "sk-admin"}, 401},
		{d.rest + "/v2/repository/index", `{}`, []string{"admin-key", "sk-admin"}, 200},
		{d.rest + "/v2/repository/index", `{}`, []string{"infer-key", "sk-infer"}, 401},
	} {
		if status, body, _ := d.send(t, http.MethodPost, test.target, test.body, test.header...); status != test.want {
			t.Errorf("%s %v: %d %s", test.target, test.header, status, body)
		}
	}
	if log := d.log.String(); strings.Contains(log, "sk-") {
		t.Error(log)
	}
}

func TestAccessFlags(t *testing.T) {
	t.Setenv("TRIDENT_API_KEY", "one\ntwo")
	cfg, err := parse("--openai-restricted-api", "inference,health", "a", "b c", "--openai-restricted-api", "metrics d e f", "--openai-restricted-api=embedding:g=h=i")
	if err != nil {
		t.Fatal(err)
	}
	if keys := cfg.Auth.APIKeys; !slices.Equal(keys, []auth.Secret{"one", "two"}) {
		t.Errorf("%d keys", len(keys))
	}
	want := []auth.OpenAIRestriction{
		{Groups: []auth.Group{"inference", "health"}, Header: "a", Value: "b c"},
		{Groups: []auth.Group{"metrics"}, Header: "d", Value: "e f"},
		{Groups: []auth.Group{"embedding"}, Header: "g", Value: "h=i"},
	}
	if len(cfg.Auth.Restricted) != len(want) {
		t.Fatalf("%+v", cfg.Auth.Restricted)
	}
	for i, r := range cfg.Auth.Restricted {
		if !slices.Equal(r.Groups, want[i].Groups) || r.Header != want[i].Header || r.Value != want[i].Value {
			t.Errorf("%+v", r)
		}
	}
	for _, text := range []string{"[inference a b, 'metrics:c=d']", "inference a b"} {
		cli, _, err := read([]string{"--config=" + settingsOf(t, "openai-restricted-api: "+text+"\n")})
		if err != nil {
			t.Fatal(err)
		}
		if r := cli.OpenAIRestrictedAPI; len(r) == 0 || r[0].Header != "a" || r[0].Value != "b" || len(r) == 2 && r[1].Header != "c" {
			t.Errorf("%s in a file: %+v", text, r)
		}
	}
	t.Setenv("TRIDENT_OPENAI_RESTRICTED_API", "inference a b\nmetrics:c=d")
	if cfg, err := parse(); err != nil || len(cfg.Auth.Restricted) != 2 || cfg.Auth.Restricted[1].Header != "c" {
		t.Errorf("%+v, %v", cfg.Auth.Restricted, err)
	}
	t.Setenv("TRIDENT_OPENAI_RESTRICTED_API", "")
	for args, words := range map[string]string{
		"--openai-restricted-api nonsense a SECRET":                                               `"nonsense" is not one of the groups`,
		"--openai-restricted-api=inference":                                                       "must be GROUP[,GROUP...] KEY VALUE",
		"--openai-restricted-api inference a":                                                     "must be GROUP[,GROUP...] KEY VALUE",
		"--openai-restricted-api inference a --strict":                                            "must be GROUP[,GROUP...] KEY VALUE",
		"--openai-restricted-api inference a SECRET --openai-restricted-api health,inference b c": "inference is restricted twice",
		"--http-restricted-api=nonsense:SECRET":                                                   "--http-restricted-api",
		"--grpc-restricted-protocol=health:=SECRET":                                               "--grpc-restricted-protocol",
	} {
		if _, err := parse(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), words) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// TestEmptyKeys checks that an empty key in any setting is an error, and doesn't disable
// authentication.
func TestEmptyKeys(t *testing.T) {
	const key, file = "--api-key: the API key is empty", "--api-keys-file: the file name is empty"
	for _, test := range []struct {
		variables, args []string
		file, want      string
	}{
		{args: []string{"--api-key", ""}, want: key},
		{args: []string{"--api-key="}, want: key},
		{args: []string{"--api-key=one", "--api-key="}, want: key},
		{variables: []string{"TRIDENT_API_KEY="}, want: key + ": give a key, or omit the setting to run the server without API keys (TRIDENT_API_KEY)"},
		{variables: []string{"TRIDENT_API_KEY=\n"}, want: key},
		{variables: []string{"TRIDENT_API_KEY=SECRET\n\nSECRET2"}, want: key},
		{variables: []string{"OPENAI_TRTLLM_API_KEY="}, want: key},
		{file: "api-key: ''\n", want: key},
		{file: "api-key: []\n", want: key},
		{args: []string{"--api-keys-file="}, want: file},
		{variables: []string{"TRIDENT_API_KEYS_FILE="}, want: file},
		{file: "api-keys-file: ''\n", want: file},
		{file: "keys: []\n", want: "keys: must be a list"},
		{variables: []string{"TRIDENT_API_KEY=one\ntwo\n"}},
		{file: "api-key: [one, two]\n"},
		{args: []string{"--api-key=one", "--api-key", "two"}},
	} {
		t.Run(fmt.Sprint(test), func(t *testing.T) {
			args := test.args
			for _, variable := range test.variables {
				name, value, _ := strings.Cut(variable, "=")
				t.Setenv(name, value)
			}
			if test.file != "" {
				args = append(args, "--config="+settingsOf(t, test.file))
			}
			cli, _, err := read(args)
			var cfg config
			if err == nil {
				cfg, err = cli.config()
			}
			if test.want == "" {
				if err != nil || !slices.Equal(cfg.Auth.APIKeys, []auth.Secret{"one", "two"}) {
					t.Errorf("%v", err)
				}
			} else if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestKeyCommands checks that hashKey prints the SHA-256 hash of an API key, and refuses input that
// isn't a valid key.
func TestKeyCommands(t *testing.T) {
	var out bytes.Buffer
	if err := hashKey(strings.NewReader("sk-one\n"), &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "sha256:456f1612bd25c6c8455039437bf441f43aa3b7d1c0b0047c712d5036dfebef0d\n" {
		t.Error(got)
	}
	for _, bad := range []string{"", "\n", "a b\n"} {
		if err := hashKey(strings.NewReader(bad), io.Discard); err == nil {
			t.Errorf("%q is a key", bad)
		}
	}
}
