package tridentrpc_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// drainer is an engine over several servers, the last of which is the only one with a model.
type drainer struct {
	*inferencetest.Engine

	report inference.EndpointReport
}

func (d *drainer) Endpoints() inference.EndpointReport { return d.report }

// Drain implements [inference.Drainer].
func (d *drainer) Drain(_ context.Context, address string, force bool) (inference.Endpoint, error) {
	for i := range d.report.Endpoints {
		one := &d.report.Endpoints[i]
		if one.Address != address {
			continue
		}
		if i == len(d.report.Endpoints)-1 && !force {
			return inference.Endpoint{}, &inference.Error{Code: inference.CodeInvalid, Param: "address", Message: "no other server has the model m"}
		}
		one.State, one.Reason = inference.EndpointDrained, fmt.Sprintf("drained, force %t", force)
		return *one, nil
	}
	return inference.Endpoint{}, &inference.Error{Code: inference.CodeNotFound, Reason: inference.ReasonEndpointNotFound, Message: "no server " + address}
}

// Resume implements [inference.Drainer].
func (d *drainer) Resume(_ context.Context, address string) (inference.Endpoint, error) {
	for i := range d.report.Endpoints {
		if one := &d.report.Endpoints[i]; one.Address == address {
			one.State, one.Reason = inference.EndpointStarting, ""
			return *one, nil
		}
	}
	if len(d.report.Absent) > 0 && d.report.Absent[0] == address {
		d.report.Absent = nil
		return inference.Endpoint{}, nil
	}
	return inference.Endpoint{}, &inference.Error{Code: inference.CodeNotFound, Reason: inference.ReasonEndpointNotFound, Message: "no server " + address}
}

func endpointClient(t *testing.T, engine inference.Engine, opts ...connect.ClientOption) tridentv1connect.EndpointServiceClient {
	t.Helper()
	httpClient, address := serveAll(t, inferencetest.Service(t, serving.Config{}, engine), auth.Config{})
	return tridentv1connect.NewEndpointServiceClient(httpClient, address, opts...)
}

// TestEndpoints checks the fields and the states of servers, and a drain and its end in all protocols.
func TestEndpoints(t *testing.T) {
	for name, opts := range protocols {
		t.Run(name, func(t *testing.T) {
			engine := &drainer{inferencetest.New(), inference.EndpointReport{Absent: []string{"away:1"}, Endpoints: []inference.Endpoint{
				{Address: "a:1", State: inference.EndpointIn, Weight: 2.5, InFlight: 3, Requests: 40, Failures: 5, Repeats: 6, Outs: 7},
				{Address: "b:1", State: inference.EndpointStarting, Weight: 1},
				{Address: "c:1", State: inference.EndpointNotReady, Reason: "no models", Weight: 1},
				{Address: "d:1", State: inference.EndpointOut, Reason: "connection refused", Weight: 1},
				{Address: "e:1", State: "new", Weight: 1},
			}}}
			client := endpointClient(t, engine, opts...)
			list, err := client.List(t.Context(), &tridentv1.EndpointServiceListRequest{})
			want := []*tridentv1.Endpoint{
				{Address: "a:1", State: tridentv1.EndpointState_ENDPOINT_STATE_IN, Weight: 2.5, InFlight: 3, Requests: 40, Failures: 5, Repeats: 6, Outs: 7},
				{Address: "b:1", State: tridentv1.EndpointState_ENDPOINT_STATE_STARTING, Weight: 1},
				{Address: "c:1", State: tridentv1.EndpointState_ENDPOINT_STATE_NOT_READY, Reason: "no models", Weight: 1},
				{Address: "d:1", State: tridentv1.EndpointState_ENDPOINT_STATE_OUT, Reason: "connection refused", Weight: 1},
				{Address: "e:1", State: tridentv1.EndpointState_ENDPOINT_STATE_UNSPECIFIED, Weight: 1},
				{Address: "away:1", State: tridentv1.EndpointState_ENDPOINT_STATE_DRAINED, Reason: "the server isn't in the list at present"},
			}
			if err != nil || !proto.Equal(list, &tridentv1.EndpointServiceListResponse{Endpoints: want}) {
				t.Errorf("%s, %v", protojson.Format(list), err)
			}
			drained, err := client.Drain(t.Context(), &tridentv1.EndpointServiceDrainRequest{Address: "e:1", Force: true})
			if e := drained.GetEndpoint(); err != nil || e.GetAddress() != "e:1" || e.GetState() != tridentv1.EndpointState_ENDPOINT_STATE_DRAINED || e.GetReason() != "drained, force true" {
				t.Errorf("%v, %v", drained, err)
			}
			resumed, err := client.Resume(t.Context(), &tridentv1.EndpointServiceResumeRequest{Address: "e:1"})
			if e := resumed.GetEndpoint(); err != nil || e.GetAddress() != "e:1" || e.GetState() != tridentv1.EndpointState_ENDPOINT_STATE_STARTING {
				t.Errorf("%v, %v", resumed, err)
			}
			resumed, err = client.Resume(t.Context(), &tridentv1.EndpointServiceResumeRequest{Address: "away:1"})
			if err != nil || resumed.GetEndpoint() != nil || engine.report.Absent != nil {
				t.Errorf("a server that isn't in the list: %v, %v", resumed, err)
			}
		})
	}
}

// TestEndpointErrors checks the errors of servers that can't be drained or resumed, and of a Trident with one server.
func TestEndpointErrors(t *testing.T) {
	several := endpointClient(t, &drainer{inferencetest.New(), inference.EndpointReport{Endpoints: []inference.Endpoint{{Address: "a:1", State: inference.EndpointIn}}}})
	single := endpointClient(t, inferencetest.New())
	drain := func(client tridentv1connect.EndpointServiceClient, address string) error {
		_, err := client.Drain(t.Context(), &tridentv1.EndpointServiceDrainRequest{Address: address})
		return err
	}
	resume := func(client tridentv1connect.EndpointServiceClient, address string) error {
		_, err := client.Resume(t.Context(), &tridentv1.EndpointServiceResumeRequest{Address: address})
		return err
	}
	_, listed := single.List(t.Context(), &tridentv1.EndpointServiceListRequest{})
	const one = "this server has no list of inference servers"
	for name, tt := range map[string]struct {
		err            error
		code           connect.Code
		param, message string
	}{
		"the last server":     {drain(several, "a:1"), connect.CodeInvalidArgument, "address", "no other server has the model m"},
		"an unknown drain":    {drain(several, "b:1"), connect.CodeNotFound, "", "no server b:1"},
		"an unknown resume":   {resume(several, "b:1"), connect.CodeNotFound, "", "no server b:1"},
		"a drain of nothing":  {drain(several, ""), connect.CodeInvalidArgument, "address", "address"},
		"a resume of nothing": {resume(several, ""), connect.CodeInvalidArgument, "address", "address"},
		"a list of one":       {listed, connect.CodeUnimplemented, "", one},
		"a drain of one":      {drain(single, "a:1"), connect.CodeUnimplemented, "", one},
		"a resume of one":     {resume(single, "a:1"), connect.CodeUnimplemented, "", one},
	} {
		if connect.CodeOf(tt.err) != tt.code || detail(t, tt.err).GetParam() != tt.param || !strings.Contains(tt.err.Error(), tt.message) {
			t.Errorf("%s: %v, param %q", name, tt.err, detail(t, tt.err).GetParam())
		}
	}
}
