// Package epp runs llm-d's endpoint picker, unmodified, in front of three Tridents with Triton in
// process, and asks it as Envoy does: make test-epp EPP=PATH.
package epp

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trident-inference/trident/test/pause"
)

// folder has the models, the program and the logs of a run.
var folder string

func TestMain(m *testing.M) { os.Exit(inFolder(m)) }

// inFolder runs the tests at the top of the source tree, because Trident finds Triton from there.
func inFolder(m *testing.M) int {
	top, err := filepath.Abs("../..")
	if err == nil {
		err = os.Chdir(top)
	}
	if err == nil {
		folder, err = os.MkdirTemp("", "trident-epp-")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(folder)
	return m.Run()
}

// TestPicker runs the picker with the configuration of deploy/llm-d.
func TestPicker(t *testing.T) {
	program(t)
	pods := startPods(t, podCount, "trident_", "--api-key="+apiKey)
	p := startPicker(t, deployed(t, pods), pods, nil)
	g := newGateway(t, p.address())
	awaitAll(t, g, pods)
	t.Run("ReadsGauges", func(t *testing.T) { checkGauges(t, p, pods) })
	t.Run("SpreadsLoad", func(t *testing.T) { checkLoad(t, g, pods) })
	t.Run("AvoidsFull", func(t *testing.T) { checkFull(t, g, p, pods) })
	t.Run("KeepsPrefixes", func(t *testing.T) { checkPrefixes(t, g, pods) })
	t.Run("LeavesFullPrefix", func(t *testing.T) { checkFullPrefix(t, g, pods) })
	t.Run("OtherAPIs", func(t *testing.T) { checkOtherAPIs(t, g) })
	t.Run("NoErrors", func(t *testing.T) {
		if page := p.page(t); strings.Contains(page, "llm_d_epp_datalayer_extract_errors_total{") || strings.Contains(page, "llm_d_epp_datalayer_poll_errors_total{") {
			t.Errorf("the picker counts errors:\n%s", tail(p.log))
		}
	})
	t.Run("PickerAway", func(t *testing.T) { checkAway(t, g, p, pods) })
	t.Run("TridentKilled", func(t *testing.T) { checkKilled(t, g, pods) })
}

// TestVLLMNames runs the picker with its own names of metrics, which are those of vLLM, and with
// the scorers of its default configuration.
func TestVLLMNames(t *testing.T) {
	program(t)
	pods := startPods(t, podCount, "vllm:")
	p := startPicker(t, scorers(map[string]int{"queue-scorer": 2, "kv-cache-utilization-scorer": 2, "prefix-cache-scorer": 3}), pods, nil)
	g := newGateway(t, p.address())
	awaitAll(t, g, pods)
	t.Run("ReadsGauges", func(t *testing.T) { checkGauges(t, p, pods) })
	t.Run("AvoidsFull", func(t *testing.T) { checkFull(t, g, p, pods) })
	t.Run("KeepsPrefixes", func(t *testing.T) { checkPrefixes(t, g, pods) })
}

// TestTritonNames shows why the picker's own names for Triton are wrong for models that generate
// text: it takes the number of all executions for that of the running requests.
func TestTritonNames(t *testing.T) {
	program(t)
	pods := startPods(t, 1, "trident_")
	p := startPicker(t, scorers(map[string]int{"running-requests-size-scorer": 1}), pods, map[string]string{"llm-d.ai/engine-type": "triton"})
	g := newGateway(t, p.address())
	awaitAll(t, g, pods)
	const requests = 20 // to each model, because the picker takes the counter of one
	for i := range requests {
		for _, model := range []string{cached, paced} {
			mustPost(t, g, chatPath, chat(model, fmt.Sprint("short ", i), 2))
		}
		// The picker without a parser for other APIs refuses this path.
		if status, text, err := post(t.Context(), http.MethodPost, "http://"+pods[0].address()+"/v2/models/echo/infer", echoed); err != nil || status != http.StatusOK {
			t.Fatalf("%d %s, %v", status, text, err)
		}
	}
	var counted float64
	if !pause.Until(stateLimit, func() bool { counted = p.average(t, "running_requests"); return counted >= requests }) {
		t.Errorf("the picker reads %v running requests after %d requests: it doesn't take the counter any more, so mend docs/guides/gateway.md", counted, requests)
	}
	if waiting, running := pods[0].gauges(t); waiting != 0 || running != 0 {
		t.Errorf("the Trident has %v waiting and %v running requests", waiting, running)
	}
	t.Logf("after %d requests to each model the picker reads %v running requests of an idle Trident", requests, counted)
}

// scorers returns a configuration with these scorers and their weights.
func scorers(weights map[string]int) object {
	var plugins, profile []any
	for name, weight := range weights {
		plugins = append(plugins, object{"type": name})
		profile = append(profile, object{"pluginRef": name, "weight": weight})
	}
	return object{
		"apiVersion": "llm-d.ai/v1alpha1", "kind": "EndpointPickerConfig", "plugins": plugins,
		"schedulingProfiles": []any{object{"name": "default", "plugins": profile}},
	}
}
