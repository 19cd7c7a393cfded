package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/server/servertest"
	"github.com/trident-inference/trident/services/triton/tritontest"
)

// TestEndpointCommand checks the subcommands of endpoint on a running Trident: their output, their
// errors, the metrics, the log, and the keys that may use them.
func TestEndpointCommand(t *testing.T) {
	keys := servertest.Write(t, t.TempDir(), "keys", []byte("- {name: ops, key: sk-ops}\n- {name: some, key: sk-some, models: [chat]}\n"))
	fake := tritontest.NewFake(t)
	d := deploy(t, inferencetest.New(), "--triton-endpoint="+fake.Address()+"=2", "--api-keys-file="+keys)
	call := connection{Address: d.openai, Timeout: 10 * time.Second}
	f := readLine(t, "--api-key=sk-ops")
	shown := func(err error, out *strings.Builder) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(out.String()), " ")
	}
	var out strings.Builder
	if got := shown(endpointList{call}.run(f, &out), &out); !strings.Contains(got, "ENDPOINT STATE WEIGHT IN FLIGHT REQUESTS FAILURES REASON") || !strings.Contains(got, fake.Address()+" in 2 0 0 0") {
		t.Errorf("the list is %s", got)
	}
	out.Reset()
	if got := shown(endpointDrain{connection: call, Endpoint: fake.Address(), Wait: time.Minute}.run(f, &out), &out); !strings.HasSuffix(got, "REASON "+fake.Address()+" drained 2 0 0 0") {
		t.Errorf("the drained endpoint is %s", got)
	}
	if status, page, _ := d.send(t, http.MethodGet, d.openai+"/metrics", "", "Authorization", "Bearer sk-ops"); status != http.StatusOK || !strings.Contains(page, `trident_endpoint_state{endpoint="`+fake.Address()+`",state="drained"} 1`) || !strings.Contains(page, `trident_endpoint_state{endpoint="`+fake.Address()+`",state="in"} 0`) {
		t.Errorf("the metrics don't show the drained endpoint: %d", status)
	}
	if log := d.log.String(); !strings.Contains(log, `msg="endpoint is drained: it gets no new requests" endpoint=`+fake.Address()+" by=ops") || !strings.Contains(log, "path=/trident.v1.EndpointService/Drain status=200") {
		t.Errorf("the log lacks the drain:\n%s", log)
	}
	for name, test := range map[string]struct {
		run  func() error
		want string
	}{
		"an unknown address": {func() error { return endpointDrain{connection: call, Endpoint: "nowhere:1"}.run(f, &out) }, `no inference server has the address "nowhere:1": the addresses are `},
		"the last one": {func() error {
			var list strings.Builder
			if err := (endpointList{call}).run(f, &list); err != nil {
				return err
			}
			other, _, _ := strings.Cut(strings.Split(list.String(), "\n")[1], " ")
			if other == fake.Address() {
				other, _, _ = strings.Cut(strings.Split(list.String(), "\n")[2], " ")
			}
			return endpointDrain{connection: call, Endpoint: other}.run(f, &out)
		}, "isn't drained, because no other inference server is in"},
		"no key":                {func() error { return endpointList{call}.run(readLine(t), &out) }, "set TRIDENT_API_KEY to a key that allows all models"},
		"a key for some models": {func() error { return endpointResume{call, fake.Address()}.run(readLine(t, "--api-key=sk-some"), &out) }, "this API key is limited to its own models"},
		"no Trident": {func() error {
			return endpointList{connection{Address: "127.0.0.1:1", Timeout: time.Second}}.run(f, &out)
		}, "refused"},
	} {
		if err := test.run(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	out.Reset()
	if got := shown(endpointResume{call, fake.Address()}.run(f, &out), &out); !strings.HasSuffix(got, "REASON "+fake.Address()+" starting 2 0 0 0") {
		t.Errorf("the resumed endpoint is %s", got)
	}
}

// TestEndpointCommandWithoutList checks the error of a Trident with one fixed inference server.
func TestEndpointCommandWithoutList(t *testing.T) {
	d := deploy(t, inferencetest.New())
	var out strings.Builder
	err := endpointList{connection{Address: d.openai, Timeout: 10 * time.Second}}.run(readLine(t), &out)
	if want := "this server has no list of inference servers: --triton-endpoint must have several addresses, a DNS name or an address with a weight"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestEndpointHeaders checks that the command sends what a Trident with the same settings requires.
func TestEndpointHeaders(t *testing.T) {
	d := deploy(t, inferencetest.New(), "--triton-endpoint="+tritontest.NewFake(t).Address(), "--openai-restricted-api=model-repository:admin-key=one", "--grpc-restricted-protocol=metadata:admin=two")
	call := connection{Address: d.openai, Timeout: 10 * time.Second}
	var out strings.Builder
	if err := (endpointList{call}).run(readLine(t, "--openai-restricted-api=model-repository:admin-key=one", "--grpc-restricted-protocol=metadata:admin=two"), &out); err != nil {
		t.Error(err)
	}
	for _, args := range [][]string{nil, {"--openai-restricted-api=model-repository:admin-key=one"}, {"--grpc-restricted-protocol=metadata:admin=two"}} {
		if err := (endpointList{call}).run(readLine(t, args...), &out); err == nil {
			t.Errorf("%q: the list needs both headers", args)
		}
	}
}
