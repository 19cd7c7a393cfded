package tridentrpc_test

import (
	"slices"
	"testing"

	tridentv1 "github.com/trident-inference/trident/gen/go/trident/v1"
	"github.com/trident-inference/trident/gen/go/trident/v1/tridentv1connect"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
)

// TestModelWatch tests that a watcher receives every state of a load and an unload,
// each in its own message and in order.
func TestModelWatch(t *testing.T) {
	for name, opts := range protocols {
		t.Run(name, func(t *testing.T) {
			engine := inferencetest.New()
			engine.AddModel("chat", inferencetest.StreamText("a"), nil)
			engine.SetState("chat", inference.ModelNeverLoaded, "")
			engine.Control(nil)
			core := inferencetest.Service(t, serving.Config{}, engine)
			if err := core.Ready(t.Context()); err != nil { // the catalog now has the models
				t.Fatal(err)
			}
			httpClient, address := serveAll(t, core, auth.Config{})
			client := tridentv1connect.NewModelServiceClient(httpClient, address, opts...)
			watch, err := client.Watch(t.Context(), &tridentv1.ModelServiceWatchRequest{All: true})
			if err != nil {
				t.Fatal(err)
			}
			defer watch.Close()
			var got []tridentv1.ModelState
			next := func() {
				t.Helper()
				if !watch.Receive() {
					t.Fatal(watch.Err())
				}
				for _, m := range watch.Msg().GetModels() {
					got = append(got, m.GetState())
				}
			}
			next()
			if _, err := client.Load(t.Context(), &tridentv1.ModelServiceLoadRequest{Model: "chat"}); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Unload(t.Context(), &tridentv1.ModelServiceUnloadRequest{Model: "chat"}); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				next()
			}
			want := []tridentv1.ModelState{
				tridentv1.ModelState_MODEL_STATE_NOT_LOADED, tridentv1.ModelState_MODEL_STATE_LOADING, tridentv1.ModelState_MODEL_STATE_READY,
				tridentv1.ModelState_MODEL_STATE_UNLOADING, tridentv1.ModelState_MODEL_STATE_UNAVAILABLE,
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
