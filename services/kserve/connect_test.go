package kserve_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	health1connect "github.com/trident-inference/trident/gen/go/health/grpc_health_v1connect"
	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/gen/go/kserve/kserveconnect"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/kservetest"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/server/servertest"
	"github.com/trident-inference/trident/services/triton/tritontest"
)

func h2c() *http.Client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Transport: &http.Transport{Protocols: protocols}}
}

// TestProtocols checks that the shared port serves KServe's service by Connect, gRPC and gRPC-Web,
// with and without TLS.
func TestProtocols(t *testing.T) {
	address := kservetest.ServeShared(t, kservetest.Open(), kservetest.StreamEngine())
	plain := h2c()
	t.Cleanup(plain.CloseIdleConnections)
	authority := servertest.NewAuthority(t)
	certificates, known := mutual(t, authority)
	secureAddress := kservetest.ServeSharedBy(t, certificates, kservetest.Open(), kservetest.StreamEngine())
	secure := &http.Client{Transport: &http.Transport{TLSClientConfig: known, ForceAttemptHTTP2: true}}
	t.Cleanup(secure.CloseIdleConnections)
	for name, options := range map[string][]connect.ClientOption{
		"Connect": nil, "Connect with JSON": {connect.WithProtoJSON()}, "gRPC": {connect.WithGRPC()}, "gRPC-Web": {connect.WithGRPCWeb()},
		"Connect with gzip": {connect.WithSendGzip()}, "gRPC with JSON": {connect.WithGRPC(), connect.WithProtoJSON()},
	} {
		t.Run(name, func(t *testing.T) {
			testProtocol(t, kserveconnect.NewGRPCInferenceServiceClient(plain, "http://"+address, options...))
		})
		t.Run(name+" and TLS", func(t *testing.T) {
			testProtocol(t, kserveconnect.NewGRPCInferenceServiceClient(secure, "https://"+secureAddress, options...))
		})
	}
}

// mutual returns the certificates of a server for clients of the CA, and the configuration
// of such a client.
func mutual(t *testing.T, authority *servertest.Authority) (*server.Certificates, *tls.Config) {
	t.Helper()
	dir, own := t.TempDir(), authority.Issue(t, "trident")
	certificates, err := server.NewCertificates(server.Config{TLS: server.TLS{
		CertFile: servertest.Write(t, dir, "cert", own.Certificate), KeyFile: servertest.Write(t, dir, "key", own.Key),
		ClientCAFile: servertest.Write(t, dir, "ca", authority.PEM()),
	}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return certificates, authority.Client(t, authority.Issue(t, "client"))
}

// TestNativeTLS tests that gRPC's port with TLS serves only clients with a valid
// certificate.
func TestNativeTLS(t *testing.T) {
	authority := servertest.NewAuthority(t)
	certificates, known := mutual(t, authority)
	address := serveNativeBy(t, certificates, kservetest.Open(), kservetest.StreamEngine())
	ask := func(config *tls.Config) error {
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(credentials.NewTLS(config)))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		s, err := api.NewGRPCInferenceServiceClient(conn).ModelStreamInfer(t.Context())
		if err != nil {
			return err
		}
		_ = s.Send(tensor("m", "IN", "UINT8", []int64{1}, []byte{7})) // the receive returns the error
		_ = s.CloseSend()
		m, err := s.Recv()
		if err == nil && !bytes.Equal(m.GetInferResponse().GetRawOutputContents()[0], []byte{7}) {
			t.Errorf("got %v", m)
		}
		return err
	}
	if err := ask(known); err != nil {
		t.Error(err)
	}
	for name, config := range map[string]*tls.Config{"no certificate": authority.Client(t), "another authority's": servertest.NewAuthority(t).Client(t, authority.Issue(t, "client"))} {
		if err := ask(config); status.Code(err) != codes.Unavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := api.NewGRPCInferenceServiceClient(dial(t, address)).ServerLive(t.Context(), &api.ServerLiveRequest{})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("without TLS: %v", err)
	}
}

// TestClientsFault tests that the log record of a call distinguishes errors that the client caused
// from errors of this server. The status of a stream doesn't distinguish them, and only errors of the
// server are logged as errors.
func TestClientsFault(t *testing.T) {
	for code, want := range map[connect.Code]inference.Code{
		connect.CodeCanceled: inference.CodeCanceled, connect.CodeInvalidArgument: inference.CodeInvalid,
		connect.CodeResourceExhausted: inference.CodeInvalid, connect.CodeInternal: inference.CodeInternal, connect.CodeUnknown: inference.CodeInternal,
	} {
		if got := inference.AsError(kserve.RecordedError(connect.NewError(code, errors.New("client disconnected")))).Code; got != want {
			t.Errorf("%s is recorded as %s, want %s", code, got, want)
		}
	}
}

func testProtocol(t *testing.T, client kserveconnect.GRPCInferenceServiceClient) {
	t.Helper()
	if answer, err := client.ServerLive(t.Context(), &api.ServerLiveRequest{}); err != nil || !answer.GetLive() {
		t.Errorf("got %v, %v", answer, err)
	}
	req := tensor("m", "IN", "UINT8", []int64{3}, []byte{1, 0, 255})
	_, err := client.ModelInfer(t.Context(), req)
	if connect.CodeOf(err) != connect.CodeUnimplemented || !strings.Contains(err.Error(), "doesn't support models with decoupled transaction policy") {
		t.Errorf("got %v", err)
	}
	conversation, err := client.ModelStreamInfer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "2"} { // the second request is sent after the response to the first
		if err := conversation.Send(copied(req, func(r *api.ModelInferRequest) { r.Id = id })); err != nil {
			t.Fatal(err)
		}
		m, err := conversation.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if got := m.GetInferResponse(); got.GetId() != id || !bytes.Equal(got.GetRawOutputContents()[0], []byte{1, 0, 255}) || got.GetModelName() != "m" || got.GetModelVersion() != "1" {
			t.Errorf("got %v", got)
		}
	}
	if err := conversation.CloseRequest(); err != nil {
		t.Error(err)
	}
	if _, err := conversation.Receive(); !strings.Contains(err.Error(), io.EOF.Error()) {
		t.Errorf("the stream ended with %v", err)
	}
	if err := conversation.CloseResponse(); err != nil {
		t.Error(err)
	}
}

// TestWithTriton groups the tests that need a tritonserver behind Trident, so that all of them share
// one tritonserver.
func TestWithTriton(t *testing.T) {
	engine := tritontest.Connect(t, kservetest.CommonTriton(t))
	t.Run("plain POST", func(t *testing.T) { testPlainPost(t, engine) })
	t.Run("refusals", func(t *testing.T) { testRefusals(t, engine) })
	t.Run("compression", func(t *testing.T) { testCompression(t, engine) })
	t.Run("several engines", func(t *testing.T) { testSeveralEngines(t, engine) })
}

// testPlainPost sends calls as curl does: JSON over HTTP/1.1.
func testPlainPost(t *testing.T, engine inference.Engine) {
	t.Helper()
	address := kservetest.ServeShared(t, kservetest.Open(), engine)
	tests := []struct {
		name, method, body string
		status             int
		want               string // expected body; empty for any body
	}{
		{"ready", "ModelReady", `{"name": "echo"}`, 200, `{"ready":true}`},
		{
			"infer", "ModelInfer", `{"modelName": "echo", "id": "7", "inputs": [{"name": "TEXT", "datatype": "BYTES", "shape": ["1"], "contents": {"bytesContents": ["aGk="]}}], "unknown": 1}`, 200,
			`{"modelName":"echo","modelVersion":"1","id":"7","outputs":[{"name":"TEXT","datatype":"BYTES","shape":["1"]}],"rawOutputContents":["` + base64.StdEncoding.EncodeToString(kservetest.Bytes("hi")) + `"]}`,
		},
		{"unknown model", "ModelInfer", `{"modelName": "none"}`, 404, `{"code":"not_found","message":"Request for unknown model: 'none' is not found"}`},
		{"broken", "ModelInfer", `{"modelName": `, 400, ""},
		{"empty", "ModelInfer", ``, 400, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			status, body := post(t, "http://"+address+"/inference.GRPCInferenceService/"+test.method, test.body)
			if status != test.status || test.want != "" && compact(t, body) != test.want {
				t.Errorf("got %d %s\nwant %s", status, body, test.want)
			}
		})
	}
}

func compact(t *testing.T, body []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, body); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return b.String()
}

// post sends JSON with additional headers: name, value, name, value.
func post(t *testing.T, url, body string, headers ...string) (status int, answer []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for pair := range slices.Chunk(headers, 2) {
		req.Header.Set(pair[0], pair[1])
	}
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if answer, err = io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, answer
}

// TestReflection checks that the gRPC reflection of both ports lists KServe's service and the health
// service, as grpcurl requests them.
func TestReflection(t *testing.T) {
	for name, address := range map[string]string{"native": serveNative(t, kservetest.Open(), kservetest.StreamEngine()), "shared": kservetest.ServeShared(t, kservetest.Open(), kservetest.StreamEngine())} {
		t.Run(name, func(t *testing.T) {
			stream, err := grpc_reflection_v1.NewServerReflectionClient(dial(t, address)).ServerReflectionInfo(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ask := func(req *grpc_reflection_v1.ServerReflectionRequest) *grpc_reflection_v1.ServerReflectionResponse {
				if err := stream.Send(req); err != nil {
					t.Fatal(err)
				}
				m, err := stream.Recv()
				if err != nil {
					t.Fatal(err)
				}
				return m
			}
			var services []string
			for _, s := range ask(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}}).GetListServicesResponse().GetService() {
				services = append(services, s.GetName())
			}
			if !slices.Contains(services, kserveconnect.GRPCInferenceServiceName) || !slices.Contains(services, health1connect.HealthName) {
				t.Errorf("got %v", services)
			}
			// The native port has only KServe's service.
			for _, typed := range []string{"Chat", "Completion", "Embedding", "Infer", "Model", "Server"} {
				if slices.Contains(services, "trident.v1."+typed+"Service") != (name == "shared") {
					t.Errorf("%s: trident.v1.%sService among %v", name, typed, services)
				}
			}
			file := ask(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_FileContainingSymbol{
				FileContainingSymbol: kserveconnect.GRPCInferenceServiceName + ".ModelStreamInfer",
			}})
			if len(file.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
				t.Errorf("got %v", file)
			}
			if err := stream.CloseSend(); err != nil {
				t.Error(err)
			}
			if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// healthOf returns the status of a service from a health check, and the first status from a health
// watch.
func healthOf(t *testing.T, address, service string) (check, watch string) {
	t.Helper()
	client := grpc_health_v1.NewHealthClient(dial(t, address))
	answer, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: service})
	check = answer.GetStatus().String()
	if err != nil {
		check = status.Code(err).String()
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := client.Watch(ctx, &grpc_health_v1.HealthCheckRequest{Service: service})
	if err != nil {
		t.Fatal(err)
	}
	if answer, err = stream.Recv(); err != nil {
		return check, status.Code(err).String()
	}
	return check, answer.GetStatus().String()
}

// TestHealth tests that KServe's own port answers health checks as tritonserver does,
// whatever service they name. The shared port must implement gRPC's protocol.
func TestHealth(t *testing.T) {
	engine := kservetest.StreamEngine()
	native, shared := serveNative(t, kservetest.Open(), engine), kservetest.ServeShared(t, kservetest.Open(), engine)
	for _, test := range []struct {
		name, address, service string
		down                   bool
		check, watch           string
	}{
		{"native", native, "", false, "SERVING", "Unimplemented"},
		{"native, any service", native, "anything", false, "SERVING", "Unimplemented"},
		{"native, not ready", native, "anything", true, "NOT_SERVING", "Unimplemented"},
		{"shared", shared, "", false, "SERVING", "SERVING"},
		{"shared, one of KServe", shared, "inference.GRPCInferenceService", false, "SERVING", "SERVING"},
		{"shared, one of ours", shared, "trident.v1.ChatService", false, "SERVING", "SERVING"},
		{"shared, none", shared, "trident.v1.NoService", false, "NotFound", "SERVICE_UNKNOWN"},
		{"shared, not ready", shared, "", true, "NOT_SERVING", "NOT_SERVING"},
		{"shared, one not ready", shared, "grpc.health.v1.Health", true, "NOT_SERVING", "NOT_SERVING"},
		{"shared, none when not ready", shared, "anything", true, "NotFound", "SERVICE_UNKNOWN"},
	} {
		engine.SetDown(nil)
		if test.down {
			engine.SetDown(&inference.Error{Code: inference.CodeUnavailable, Message: "away"})
		}
		if check, watch := healthOf(t, test.address, test.service); check != test.check || watch != test.watch {
			t.Errorf("%s: %s, watched %s", test.name, check, watch)
		}
	}
}

// TestHealthLikeTritonserver checks that a real tritonserver answers gRPC health checks as the
// other tests expect of Trident's native port.
func TestHealthLikeTritonserver(t *testing.T) {
	triton := kservetest.CommonTriton(t)
	for _, service := range []string{"", "inference.GRPCInferenceService", "anything"} {
		if check, watch := healthOf(t, triton.GRPC(), service); check != "SERVING" || watch != "Unimplemented" {
			t.Errorf("%q: %s, watched %s", service, check, watch)
		}
	}
}

// TestHealthWatch checks that the gRPC health service sends a watcher each change when a server
// becomes unready, becomes ready again and stops.
func TestHealthWatch(t *testing.T) {
	engine := kservetest.StreamEngine()
	service, core := kservetest.NewService(t, kservetest.Open(), engine)
	address := kservetest.ServeSharedOf(t, server.Common{Config: server.Default()}, service, core)
	stream, err := grpc_health_v1.NewHealthClient(dial(t, address)).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	next := func(want grpc_health_v1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		if answer, err := stream.Recv(); err != nil || answer.GetStatus() != want {
			t.Fatalf("%v, %v; want %s", answer, err, want)
		}
	}
	next(grpc_health_v1.HealthCheckResponse_SERVING)
	engine.SetDown(&inference.Error{Code: inference.CodeUnavailable, Message: "away"})
	next(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	engine.SetDown(nil)
	next(grpc_health_v1.HealthCheckResponse_SERVING)
	core.Admission().Leave()
	next(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	core.Admission().Drain(t.Context())
	if _, err := stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("it ends with %v", err)
	}
}

// testRefusals tests the calls that the operator hasn't allowed.
func testRefusals(t *testing.T, engine inference.Engine) {
	t.Helper()
	closed := kservetest.Open()
	closed.Enabled = false
	withoutMemory := kservetest.Open()
	withoutMemory.AllowSharedMemory = false
	restricted, err := restrict("model-repository,shared-memory,admin-key=secret", "health,probe=yes")
	if err != nil {
		t.Fatal(err)
	}
	withoutUpload := kservetest.Open()
	withoutUpload.AllowModelUpload = false
	load := calling("load", client.RepositoryModelLoad, &api.RepositoryModelLoadRequest{ModelName: "echo"})
	upload := calling("load", client.RepositoryModelLoad, &api.RepositoryModelLoadRequest{ModelName: "echo", Parameters: map[string]*api.ModelRepositoryParameter{"config": {}}})
	register := calling("register", client.SystemSharedMemoryRegister, &api.SystemSharedMemoryRegisterRequest{Name: "r"})
	logs := calling("logs", client.LogSettings, &api.LogSettingsRequest{})
	tests := []struct {
		name   string
		config kserve.Config
		access auth.Config
		ask    trial
		key    string // value of the header with the key
		code   codes.Code
		text   string
	}{
		{"load without the frontends", closed, auth.Config{}, load, "", codes.Unimplemented, "kserve.Enabled"},
		{"shared memory without them", closed, auth.Config{}, register, "", codes.Unimplemented, "kserve.Enabled"},
		{"settings without them", closed, auth.Config{}, logs, "", codes.Unimplemented, "kserve.Enabled"},
		{"shared memory that isn't allowed", withoutMemory, auth.Config{}, register, "", codes.Unimplemented, "kserve.AllowSharedMemory"},
		{"upload", withoutUpload, auth.Config{}, upload, "", codes.Unimplemented, "kserve.AllowModelUpload"},
		{"restricted", kservetest.Open(), restricted, load, "", codes.Unavailable, "This protocol is restricted, expecting header 'triton-grpc-protocol-admin-key'"},
		{"restricted, wrong value", kservetest.Open(), restricted, load, "wrong", codes.Unavailable, "This protocol is restricted"},
		{"restricted, right value", kservetest.Open(), restricted, load, "secret", codes.Unavailable, "polling is enabled"},
		{"another group", kservetest.Open(), restricted, logs, "", codes.OK, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ctx := t.Context()
			if test.key != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "triton-grpc-protocol-admin-key", test.key)
			}
			got := test.ask.ask(ctx, api.NewGRPCInferenceServiceClient(dial(t, kservetest.ServeRestricted(t, test.access, test.config, engine))))
			if got.code != test.code || !strings.Contains(got.text, test.text) {
				t.Errorf("got %s", got)
			}
		})
	}
	_, err = grpc_health_v1.NewHealthClient(dial(t, kservetest.ServeRestricted(t, restricted, kservetest.Open(), kservetest.StreamEngine()))).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if status.Code(err) != codes.Unavailable {
		t.Errorf("restricted probe: %v", err)
	}
}

func restrict(all ...string) (access auth.Config, err error) {
	for _, one := range all {
		var r auth.KServeRestriction
		if err := r.UnmarshalText([]byte(one)); err != nil {
			return access, err
		}
		access.GRPCRestricted = append(access.GRPCRestricted, r)
	}
	return access, access.Validate()
}

func TestRestrictionSyntax(t *testing.T) {
	for text, right := range map[string]bool{
		"health,key=value": true, "health,metadata,key=a=b": true, "health": false, "health,key": false, "health=1": false,
		"none,key=value": false, ",key=value": false, "health,=value": false, "health,key=": false,
	} {
		var r auth.KServeRestriction
		if err := r.UnmarshalText([]byte(text)); (err == nil) != right {
			t.Errorf("%s: %v, %+v", text, err, r)
		}
	}
	if _, err := restrict("health,a=b", "metadata,health,c=d"); err == nil {
		t.Error("health was restricted twice")
	}
}

// testCompression sends compressed requests, as Triton's clients can do.
func testCompression(t *testing.T, engine inference.Engine) {
	t.Helper()
	for port, address := range map[string]string{"native": serveNative(t, kservetest.Open(), engine), "shared": kservetest.ServeShared(t, kservetest.Open(), engine)} {
		client := api.NewGRPCInferenceServiceClient(dial(t, address))
		for _, name := range []string{"gzip", "deflate", "deflate"} {
			answer, err := client.ModelInfer(t.Context(), echo(strings.Repeat("a", 10_000)), grpc.UseCompressor(name))
			if err != nil || !bytes.Equal(answer.GetRawOutputContents()[0], kservetest.Bytes(strings.Repeat("a", 10_000))) {
				t.Errorf("%s, %s: %v", port, name, err)
			}
		}
	}
}

// testSeveralEngines tests one server over three engines: it serves the models of each,
// and a name in several engines is that of the first engine in which the model is ready.
func testSeveralEngines(t *testing.T, triton inference.Engine) {
	t.Helper()
	first, second := kservetest.StreamEngine(), inferencetest.New()
	second.AddModel("other", inferencetest.StreamText("x"), nil)
	second.AddModel("m", inferencetest.StreamText("not this one"), nil)
	client := api.NewGRPCInferenceServiceClient(dial(t, serveNative(t, kservetest.Open(), triton, first, second)))
	for model, output := range map[string]string{"m": "IN", "other": "text_output"} {
		got := conversation("", false, tensor(model, "IN", "UINT8", []int64{1}, []byte{1})).ask(t.Context(), client)
		if len(got.messages) == 0 || got.messages[0].(*api.ModelStreamInferResponse).GetInferResponse().GetOutputs()[0].GetName() != output {
			t.Errorf("%s: %s", model, got)
		}
	}
	if got := infer("", echo("x")).ask(t.Context(), client); got.code != codes.OK {
		t.Errorf("echo: %s", got)
	}
	if got := infer("", copied(echo("x"), func(r *api.ModelInferRequest) { r.ModelName = "none" })).ask(t.Context(), client); got.code != codes.NotFound || got.text != "Request for unknown model: 'none' is not found" {
		t.Errorf("none: %s", got)
	}
}
