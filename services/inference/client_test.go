package inference_test

import (
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

func TestClient(t *testing.T) {
	if c := inference.ClientOf(t.Context()); c != nil || !c.May("a") {
		t.Errorf("the client of a request without a client is %+v", c)
	}
	client := &inference.Client{Name: "team", Models: []string{"a"}}
	got := inference.ClientOf(inference.WithClient(t.Context(), client))
	if got != client || !got.May("a") || got.May("b") || !(&inference.Client{}).May("b") || (&inference.Client{Models: []string{}}).May("b") {
		t.Errorf("got %+v", got)
	}
	if name, none := inference.ClientName(inference.WithClient(t.Context(), client)), inference.ClientName(t.Context()); name != "team" || none != "" {
		t.Errorf("the names are %q and %q", name, none)
	}
}

// TestMayAll checks that MayAll allows access to server-wide state only to clients that may use all
// models.
func TestMayAll(t *testing.T) {
	for _, test := range []struct {
		client *inference.Client
		code   inference.Code
	}{
		{nil, 0},
		{&inference.Client{Name: "all"}, 0},
		{&inference.Client{Name: "some", Models: []string{"a"}}, inference.CodeForbidden},
		{&inference.Client{Name: "none", Models: []string{}}, inference.CodeForbidden},
	} {
		ctx := t.Context()
		if test.client != nil {
			ctx = inference.WithClient(ctx, test.client)
		}
		if err := inference.MayAll(ctx); (err == nil) != (test.code == 0) || err != nil && inference.AsError(err).Code != test.code {
			t.Errorf("%+v: %v", test.client, err)
		}
	}
}
