package e2e

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/state/statetest"
	"github.com/trident-inference/trident/test/tier"
)

// TestReplicaIsKilled checks that a response whose Trident is killed is failed within 30 seconds at
// another Trident, and in progress before.
func TestReplicaIsKilled(t *testing.T) {
	tier.OnlySlow(t)
	t.Parallel()
	needsServer(t)
	store := "--responses-store=" + statetest.Start(t).URL
	other := startReady(t, store)
	lost, err := demoModels(t).launch(t, "", store)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lost.kill() }() // if the test fails before
	if err := lost.awaitModels(); err != nil {
		t.Fatal(err)
	}
	events := lost.openResponse(t, object{"model": "chat", "input": "Write a very long story.", "max_output_tokens": 1500, "ignore_eos": true})
	var id string
	for data := range events.typedEvents(t) {
		var e responseEvent
		if err := json.Unmarshal(data, &e); err != nil || e.Response == nil {
			t.Fatalf("%v %s", err, data)
		}
		id = e.Response.ID
		break
	}
	look := func() response {
		return decode[response](t, other.get(t, responsesPath+"/"+id).want(t, http.StatusOK))
	}
	if r := look(); r.Status != "in_progress" {
		t.Fatalf("before: %+v", r)
	}
	if err := lost.kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	if r := look(); r.Status != "in_progress" {
		t.Errorf("at once: %+v", r) // its Trident could have lost the network for a moment
	}
	if !poll(30*time.Second, func() bool { return look().Status == "failed" }) {
		t.Fatalf("after %s: %+v", time.Since(killed), look())
	}
	t.Logf("failed after %s", time.Since(killed).Round(time.Second))
	if r := look(); r.Error == nil || r.Error.Code != "server_error" {
		t.Errorf("%+v", r)
	}
}
