package kserve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/kserve/kservetest"
	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/services/triton/tritontest"
)

// forwardPatterns are patterns for both flags: one that matches all names, and a
// case-sensitive one.
func forwardPatterns() []string { return []string{".*", "(?-i)x-(a|b)|Tenant$|priority"} }

// TestForwardsLikeTritonserver checks that a model receives the same parameters from Trident as from
// a tritonserver, with the same patterns for forwarded headers.
func TestForwardsLikeTritonserver(t *testing.T) {
	kservetest.RunBesideOthers(t)
	repositories := []string{tritontest.ExtensionRepository(t)}
	behind := kservetest.CommonTriton(t)
	for _, pattern := range forwardPatterns() {
		t.Run(pattern, func(t *testing.T) {
			triton := tritontest.StartServer(t, tritonserver.Options{Repositories: repositories, Args: []string{
				"--http-header-forward-pattern=" + pattern, "--grpc-header-forward-pattern=" + pattern, "--model-control-mode=explicit", "--load-model=types",
			}})
			want := forwardedBy{grpc: dial(t, triton.GRPC()), http: "http://" + triton.HTTP()}
			t.Run("remote", func(t *testing.T) { compareForwarded(t, pattern, want, tritontest.Connect(t, behind)) })
			t.Run("local", func(t *testing.T) {
				if os.Getenv("TRIDENT_TEST_LOCAL") == "" {
					t.Skip("starts in-process Triton: make test-local")
				}
				compareForwarded(t, pattern, want, kservetest.LocalEngine(t, repositories))
			})
		})
	}
}

// TestForwards tests which headers are forwarded to the model as request parameters: with a pattern
// for only one protocol, without a pattern, and with values that can't be forwarded.
func TestForwards(t *testing.T) {
	for _, test := range []struct{ grpc, http, byCall, byREST string }{
		{"", "", "", ""},
		{"^x-(abc|.*bin)", "", "x-abc x-two-bin", ""},
		{"", "^x-", "", "X-Abc"},
		{"bin$", "^y", "x-two-bin", ""},
	} {
		var names string
		engine := inferencetest.New()
		engine.AddOther("m", &api.ModelConfig{Name: "m"}, func(_ context.Context, req *api.ModelInferRequest, send kservetest.SendFunc) error {
			names = strings.Join(slices.Sorted(maps.Keys(req.GetParameters())), " ")
			send(&inference.Response{Version: "1", Final: true})
			return nil
		})
		config := kservetest.Open()
		config.GRPCForward, config.HTTPForward = test.grpc, test.http
		shared := kservetest.ServeShared(t, config, engine)
		headers := []string{"x-abc", "1", "x-data-bin", "\xff", "x-two-bin", "\x00\xff", "grpc-x-abc", "2"}
		for name, conn := range protocols(t, shared) {
			names = ""
			ctx := metadata.AppendToOutgoingContext(t.Context(), headers...)
			if _, err := api.NewGRPCInferenceServiceClient(conn).ModelInfer(ctx, &api.ModelInferRequest{ModelName: "m"}); err != nil || names != test.byCall {
				t.Errorf("%q, %s: got %q, %v", test.grpc, name, names, err)
			}
		}
		for _, base := range []string{shared, strings.TrimPrefix(kservetest.ServeREST(t, config, engine), "http://")} {
			names = ""
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+base+"/v2/models/m/infer", strings.NewReader(`{"inputs": []}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{"X-Abc": {"1"}, "X-Latin": {"\xe4"}}
			answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
			if err != nil {
				t.Fatal(err)
			}
			if text := kservetest.Body(t, answer); answer.StatusCode != http.StatusOK || names != test.byREST {
				t.Errorf("%q: got %q, %s", test.http, names, text)
			}
		}
	}
}

// forwardedBy is a server to call.
type forwardedBy struct {
	grpc grpc.ClientConnInterface
	http string // URL of the server's HTTP port
}

func compareForwarded(t *testing.T, pattern string, want forwardedBy, engine inference.Engine) {
	t.Helper()
	config := kservetest.Open()
	config.GRPCForward, config.HTTPForward = pattern, pattern
	shared := kservetest.ServeShared(t, config, engine)
	t.Run("gRPC", func(t *testing.T) { compareForwardedCalls(t, want.grpc, dial(t, serveNative(t, config, engine)), nil) })
	for name, conn := range protocols(t, shared) {
		t.Run("shared port/"+name, func(t *testing.T) { compareForwardedCalls(t, want.grpc, conn, []string{"user-agent", "x-user-agent"}) }) // these headers differ by client
	}
	for name, url := range map[string]string{"REST": "http://" + kservetest.ServeREST(t, config, engine), "shared port/REST": "http://" + shared} {
		t.Run(name, func(t *testing.T) { compareForwardedREST(t, want.http, url) })
	}
}

// forwardTrial is a request with headers.
type forwardTrial struct {
	name    string
	headers []string // the sent headers: name, value, name, value
	own     inferencetest.Params
	// kept are headers that Trident doesn't forward, since parameters with these names
	// have a meaning.
	kept []string
}

func forwardTrials() []forwardTrial {
	return []forwardTrial{
		{name: "none"},
		{name: "several", headers: []string{"X-Abc", "1", "X-Bcd", "2", "My-X-Abc", "3", "My-Tenant", "t", "Tenantry", "u"}},
		{name: "twice", headers: []string{"X-Abc", "1", "X-Abc", "2"}},
		{name: "a parameter's name", headers: []string{"X-Abc", "1", "Foo", "header"}, own: inferencetest.Params{"x-abc": inferencetest.String("p"), "X-Abc": inferencetest.String("q"), "foo": inferencetest.Int64(1), "Foo": inferencetest.Bool(true)}},
		{name: "beside parameters", headers: []string{"X-Abc", "1"}, own: inferencetest.Params{"other": inferencetest.Float64(1.5)}},
		{name: "empty", headers: []string{"X-Abc", ""}},
		{name: "UTF-8", headers: []string{"X-Abc", "naïve"}},
		{name: "credentials", headers: []string{"Authorization", "Bearer t", "X-Api-Key", "k", "Cookie", "a=b"}},
		{name: "of Triton", headers: []string{"triton_foo", "1", "sequence_id", "5", "sequence_start", "true", "sequence_end", "true", "priority", "3", "timeout", "1000"}, kept: []string{"triton_foo", "sequence_id", "sequence_start", "sequence_end", "priority", "timeout"}},
		{name: "the final response's", headers: []string{"triton_enable_empty_final_response", "true"}, kept: []string{"triton_enable_empty_final_response"}},
	}
}

func compareForwardedCalls(t *testing.T, want, got grpc.ClientConnInterface, differ []string) {
	t.Helper()
	trials := append(slices.DeleteFunc(forwardTrials(), func(x forwardTrial) bool { return x.name == "UTF-8" }), // values of gRPC's metadata are ASCII
		forwardTrial{name: "binary", headers: []string{"x-a-bin", "naïve", "x-b-bin", "a\x00b"}},
	)
	for _, x := range trials {
		t.Run(x.name, func(t *testing.T) {
			ctx := metadata.AppendToOutgoingContext(t.Context(), x.headers...)
			req := with(tensor("types", "INT32", "INT32", []int64{1}, make([]byte, 4)), x.own)
			req.Outputs = []*output{{Name: "PARAMETERS"}}
			ask := func(conn grpc.ClientConnInterface) (all []map[string]any) {
				client := api.NewGRPCInferenceServiceClient(conn)
				for _, ask := range []trial{infer("", req), conversation("", false, req, req)} {
					answer := ask.ask(ctx, client)
					if answer.text != "" {
						t.Error(answer.text)
					}
					for _, m := range answer.messages {
						all = append(all, parametersOf(t, m))
					}
				}
				return all
			}
			expected, answered := ask(want), ask(got)
			for _, name := range x.kept {
				for _, one := range answered {
					if value, ok := one[name]; ok {
						t.Errorf("%s is forwarded: %v", name, value)
					}
				}
			}
			compareParameters(t, append(differ, x.kept...), expected, answered)
		})
	}
}

// parametersOf returns the parameters that the model received, from its response.
func parametersOf(t *testing.T, m proto.Message) map[string]any {
	t.Helper()
	answer, _ := m.(*api.ModelInferResponse)
	if streamed, ok := m.(*api.ModelStreamInferResponse); ok {
		answer = streamed.GetInferResponse()
	}
	raw := answer.GetRawOutputContents()
	if len(raw) != 1 || len(raw[0]) < 4 {
		t.Fatalf("got %v", m)
	}
	return decodedAs[map[string]any](t, raw[0][4:])
}

func decodedAs[T any](t *testing.T, text []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// compareParameters checks that want and got have the same parameters, except the names
// in without.
func compareParameters(t *testing.T, without []string, want, got []map[string]any) {
	t.Helper()
	for _, one := range slices.Concat(want, got) {
		for _, name := range without {
			delete(one, name)
		}
	}
	if len(want) == 0 || !slices.EqualFunc(want, got, func(a, b map[string]any) bool { return reflect.DeepEqual(a, b) }) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

func compareForwardedREST(t *testing.T, want, got string) {
	t.Helper()
	trials := slices.DeleteFunc(forwardTrials(), func(x forwardTrial) bool { return x.name == "empty" }) // tritonserver forwards a blank for an empty value
	for _, x := range trials {
		t.Run(x.name, func(t *testing.T) {
			ask := func(base string) (all []map[string]any) {
				for _, method := range []string{"infer", "generate", "generate_stream"} {
					all = append(all, askForwarded(t, x, base, method))
				}
				return all
			}
			compareParameters(t, nil, ask(want), ask(got)) // Trident omits only lower-case names
		})
	}
}

// askForwarded returns the parameters that the model received.
func askForwarded(t *testing.T, x forwardTrial, base, method string) map[string]any {
	t.Helper()
	own := map[string]any{}
	for name, p := range x.own {
		own[name] = reflect.Indirect(reflect.ValueOf(p.GetParameterChoice())).Field(0).Interface()
	}
	body := map[string]any{"INT32": 1, "parameters": own}
	if method == "infer" {
		body = map[string]any{
			"inputs":  []any{map[string]any{"name": "INT32", "datatype": "INT32", "shape": []int{1}, "data": []int{1}}},
			"outputs": []any{map[string]any{"name": "PARAMETERS"}}, "parameters": own,
		}
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/v2/models/types/"+method, bytes.NewReader(encoded))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "one.localhost" // both servers get this host
	for pair := range slices.Chunk(x.headers, 2) {
		req.Header.Add(pair[0], pair[1])
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text := kservetest.Body(t, answer)
	if answer.StatusCode != http.StatusOK {
		t.Fatal(text)
	}
	if method == "infer" {
		shown := decodedAs[struct{ Outputs []struct{ Data []string } }](t, []byte(text))
		return decodedAs[map[string]any](t, []byte(shown.Outputs[0].Data[0]))
	}
	shown := decodedAs[struct{ Parameters string }](t, []byte(strings.TrimPrefix(text, "data: ")))
	return decodedAs[map[string]any](t, []byte(shown.Parameters))
}
