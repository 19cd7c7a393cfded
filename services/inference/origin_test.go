package inference_test

import (
	"fmt"
	"net"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// TestOrigin checks the API and the address of a context's request, and what a request without them has.
func TestOrigin(t *testing.T) {
	if s, a := inference.SurfaceOf(t.Context()), inference.AddressIn(t.Context()); s != inference.SurfaceOther || a.IsValid() {
		t.Errorf("without an origin: %q, %s", s, a)
	}
	origin := &inference.Origin{}
	ctx := inference.WithOrigin(t.Context(), origin)
	if s := inference.SurfaceOf(ctx); s != inference.SurfaceOther {
		t.Errorf("without an API: %q", s)
	}
	origin.Surface, origin.Address = inference.SurfaceAnthropic, inference.ParseAddress("192.0.2.1:80")
	if s, a := inference.SurfaceOf(ctx), inference.AddressIn(ctx); s != inference.SurfaceAnthropic || a.String() != "192.0.2.1" {
		t.Errorf("got %q, %s", s, a)
	}
}

// TestAddress checks that a limit per address applies to one IPv4 address or to one network of IPv6, and
// that peers without an address of IP have none.
func TestAddress(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1:80":                 "192.0.2.1",
		"[::ffff:192.0.2.1]:80":        "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:80":    "2001:db8:1:2::",
		"[fe80::1234:5678%eth0]:80":    "fe80::",
		"[::1]:80":                     "::1",
		"192.0.2.1":                    "invalid IP",
		"/run/socket":                  "invalid IP",
		"":                             "invalid IP",
		"[2001:db8:1:2:ffff::]:443":    "2001:db8:1:2::",
		"[2001:db8:1:3:ffff::]:443":    "2001:db8:1:3::",
		"name.example:80":              "invalid IP",
		"[2001:db8:1:2::%zone]:443":    "2001:db8:1:2::",
		"[::ffff:192.0.2.1%zone]:8080": "192.0.2.1",
	} {
		if got := inference.ParseAddress(text).String(); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	for _, test := range []struct {
		peer net.Addr
		want string
	}{
		{&net.TCPAddr{IP: net.ParseIP("192.0.2.1"), Port: 1}, "192.0.2.1"},
		{&net.TCPAddr{IP: net.ParseIP("2001:db8:1:2:3::4"), Port: 1}, "2001:db8:1:2::"},
		{&net.UDPAddr{IP: net.ParseIP("192.0.2.7"), Port: 1}, "192.0.2.7"},
		{&net.UnixAddr{Name: "/run/socket", Net: "unix"}, "invalid IP"},
		{nil, "invalid IP"},
	} {
		if got := inference.AddressOf(test.peer).String(); got != test.want {
			t.Errorf("%v is %s, want %s", test.peer, got, test.want)
		}
	}
}

// TestOperation checks the operation that a request selects and the field that has its text.
func TestOperation(t *testing.T) {
	for _, test := range []struct {
		req       inference.Request
		operation inference.Operation
		param     string
	}{
		{inference.Request{Task: inference.TaskGenerate, Messages: []inference.Message{}}, inference.OperationChat, "messages"},
		{inference.Request{Task: inference.TaskGenerate}, inference.OperationCompletion, "prompt"},
	} {
		if o, p := test.req.Operation(), test.req.TextParam(); o != test.operation || p != test.param {
			t.Errorf("got %q with the text in %q, want %q, %q", o, p, test.operation, test.param)
		}
	}
	for _, test := range []struct {
		req       inference.EncodeRequest
		operation inference.Operation
		param     string
	}{
		{inference.EncodeRequest{Task: inference.TaskEmbed, Inputs: make([]inference.EncodeInput, 1)}, inference.OperationEmbeddings, "input"},
		{inference.EncodeRequest{Task: inference.TaskSparse, Inputs: make([]inference.EncodeInput, 2)}, inference.OperationEmbeddings, "input[1]"},
		{inference.EncodeRequest{Task: inference.TaskScore, Param: func(i int) string { return fmt.Sprintf("documents[%d]", i) }}, inference.OperationScore, "documents[1]"},
		{inference.EncodeRequest{Task: inference.TaskClassify, Inputs: make([]inference.EncodeInput, 2)}, inference.OperationClassify, "input[1]"},
	} {
		if o, p := test.req.Operation(), test.req.InputParam(1); o != test.operation || p != test.param {
			t.Errorf("got %q with the input in %q, want %q, %q", o, p, test.operation, test.param)
		}
		if test.req.Operation().Generates() {
			t.Errorf("%s generates tokens", test.operation)
		}
	}
}
