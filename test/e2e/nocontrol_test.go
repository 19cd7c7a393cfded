package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	kserve "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/gen/go/kserve/kserveconnect"
)

// refusal sends a request to load or unload a model to one API, and returns the error.
type refusal func(t *testing.T, model, action string, upload bool) (code, text string)

// TestNoModelControlAnywhere checks that loads and unloads are refused with Triton's messages by
// every API without explicit model control. This includes loads with a configuration, if a flag
// allows these, and unknown models. The models stay loaded.
func TestNoModelControlAnywhere(t *testing.T) {
	t.Parallel()
	s := kserveServing(t)
	type surface struct {
		name, code string
		ask        refusal
		remedy     string
	}
	surfaces := []surface{
		{"gRPC's port", "Unavailable", refusedByGRPC(s.native), ""},
		{"gRPC", "Unavailable", refusedByGRPC(s.shared()), ""},
		{"Connect", "unavailable", refusedByConnect(s.url), ""},
		{"Connect with JSON", "unavailable", refusedByConnect(s.url, connect.WithProtoJSON()), ""},
		{"gRPC-Web", "unavailable", refusedByConnect(s.url, connect.WithGRPCWeb()), ""},
		{"REST's port", "503", refusedByREST("http://" + s.rest), ""},
		{"REST", "503", refusedByREST(s.url), ""},
		{"OpenAI", "400", func(t *testing.T, model, action string, _ bool) (string, string) {
			t.Helper()
			a := s.post(t, "/v1/models/"+model+"/"+action, nil)
			return fmt.Sprint(a.status), text(a.failure(t).Message)
		}, explicitRemedy},
	}
	if !inProcess() {
		surfaces = append(surfaces, surface{"tritonserver", "Unavailable", refusedByGRPC(s.server.GRPC()), ""})
	}
	for _, surface := range surfaces {
		t.Run(surface.name, func(t *testing.T) {
			for _, model := range []string{"echo", "nobody"} {
				for action, upload := range map[string]bool{"load": false, "load with a configuration": true, "unload": false} {
					code, text := surface.ask(t, model, strings.Fields(action)[0], upload)
					if code != surface.code || text != notExplicit+surface.remedy {
						t.Errorf("%s of %s: %s %q", action, model, code, text)
					}
				}
			}
		})
	}
	s.get(t, "/v2/models/echo/ready").want(t, http.StatusOK)
}

const overriding = `{"backend":"python","max_batch_size":3}`

func refusedByGRPC(address string) refusal {
	return func(t *testing.T, model, action string, upload bool) (string, string) {
		t.Helper()
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		by := kserve.NewGRPCInferenceServiceClient(conn)
		if action == "load" {
			_, err = by.RepositoryModelLoad(t.Context(), loading(model, upload))
		} else {
			_, err = by.RepositoryModelUnload(t.Context(), &kserve.RepositoryModelUnloadRequest{ModelName: model})
		}
		answer := status.Convert(err)
		return answer.Code().String(), answer.Message()
	}
}

func loading(model string, upload bool) *kserve.RepositoryModelLoadRequest {
	req := &kserve.RepositoryModelLoadRequest{ModelName: model}
	if upload {
		req.Parameters = map[string]*kserve.ModelRepositoryParameter{"config": {ParameterChoice: &kserve.ModelRepositoryParameter_StringParam{StringParam: overriding}}}
	}
	return req
}

func refusedByConnect(url string, options ...connect.ClientOption) refusal {
	return func(t *testing.T, model, action string, upload bool) (string, string) {
		t.Helper()
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		by := kserveconnect.NewGRPCInferenceServiceClient(&http.Client{Transport: transport}, url, options...)
		var err error
		if action == "load" {
			_, err = by.RepositoryModelLoad(t.Context(), loading(model, upload))
		} else {
			_, err = by.RepositoryModelUnload(t.Context(), &kserve.RepositoryModelUnloadRequest{ModelName: model})
		}
		if err == nil {
			return "ok", ""
		}
		return connect.CodeOf(err).String(), strings.TrimPrefix(err.Error(), connect.CodeOf(err).String()+": ")
	}
}

func refusedByREST(url string) refusal {
	return func(t *testing.T, model, action string, upload bool) (string, string) {
		t.Helper()
		body := "{}"
		if upload {
			body = `{"parameters":{"config":` + fmt.Sprintf("%q", overriding) + `}}`
		}
		response, err := client.Post(url+"/v2/repository/models/"+model+"/"+action, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		a := readAll(t, response)
		return fmt.Sprint(a.status), decode[struct{ Error string }](t, a).Error
	}
}
