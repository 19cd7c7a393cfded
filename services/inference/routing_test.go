package inference_test

import (
	"encoding/hex"
	"slices"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// TestRouting checks that a context has the routing that it was given, and only that one.
func TestRouting(t *testing.T) {
	if r := inference.RoutingOf(t.Context()); r != nil {
		t.Errorf("a request without a routing has %+v", r)
	}
	outer, inner := &inference.Routing{Prompt: "a"}, &inference.Routing{Prompt: "b"}
	ctx := inference.WithRouting(t.Context(), outer)
	if r := inference.RoutingOf(ctx); r != outer {
		t.Errorf("got %+v", r)
	}
	if r := inference.RoutingOf(inference.WithRouting(ctx, inner)); r != inner {
		t.Errorf("got %+v for the inner context", r)
	}
}

// TestImageDigests checks that the digests are those of the images' contents in their order, and that they
// are computed once.
func TestImageDigests(t *testing.T) {
	images := &inference.Images{List: []inference.Image{{Base64: "abc"}, {Type: "image/png"}, {Base64: "abc", Type: "image/png"}}}
	// The SHA-256 digests of "abc" and of nothing are those of NIST's examples.
	const abc, empty = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	var got []string
	for _, digest := range images.Digests() {
		got = append(got, hex.EncodeToString(digest))
	}
	if !slices.Equal(got, []string{abc, empty, abc}) {
		t.Errorf("got %q", got)
	}
	images.List = nil
	if n := len(images.Digests()); n != 3 {
		t.Errorf("the second call returned %d digests", n)
	}
	if d := (&inference.Images{}).Digests(); len(d) != 0 {
		t.Errorf("no images have %d digests", len(d))
	}
}

// TestEndpointStates checks that the list has each state once, from the one that gets requests to the one
// that gets none.
func TestEndpointStates(t *testing.T) {
	if got := inference.EndpointStates(); !slices.Equal(got, []inference.EndpointState{"in", "starting", "not_ready", "out", "drained"}) {
		t.Errorf("got %q", got)
	}
}

// TestSent checks that a stream's function is called once for each call of Sent, and that a context without
// a function is accepted.
func TestSent(t *testing.T) {
	inference.Sent(t.Context())
	calls := 0
	ctx := inference.WhenSent(t.Context(), func() { calls++ })
	inference.Sent(ctx)
	if calls != 1 {
		t.Errorf("%d calls", calls)
	}
}
