package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// adapters maps the adapters of test/models-contract to the word that identifies their responses.
var adapters = map[string]string{"cow": " and", "doll": " sea", "sheep": " three"}

// adapterCache guards the adapter cache of the contract models. Its content depends on the previous requests.
var adapterCache sync.Mutex

// TestLoRAs checks that TensorRT-LLM's models get adapters in their own formats, and that each adapter responds,
// also after the engine has evicted it.
func TestLoRAs(t *testing.T) {
	t.Parallel()
	lockForTest(t, &adapterCache)
	for _, k := range kinds() {
		t.Run(k.model, func(t *testing.T) {
			if k.model == "vllm" {
				t.Skip("the engine manages its adapters itself: TestVLLMContract tests them")
			}
			c := contracts(t)
			if k.model == "plain" {
				a := c.post(t, "/v1/chat/completions", ask("x", "model", "plain_lora_doll")).want(t, http.StatusNotFound)
				if e := a.failure(t); text(e.Code) != "model_not_found" || text(e.Message) != "the model `plain` has no LoRA adapter `doll`" {
					t.Errorf("%s: %s", text(e.Code), text(e.Message))
				}
				return
			}
			// The executor has room for two adapters, so each of these except the first two was evicted before.
			for _, name := range []string{"doll", "sheep", "cow", "doll", "sheep", "cow"} {
				if got := c.chatOf(t, kind{model: k.model + "_lora_" + name}, " one two"); got.texts[0] != adapters[name]+" one two" || got.finish[0] != "stop" {
					t.Errorf("%s: %q, %s", name, got.texts, got.finish)
				}
			}
			if got := c.chatOf(t, k, " one two"); got.texts[0] != " one two" {
				t.Errorf("without an adapter: %q", got.texts)
			}
			var all sync.WaitGroup
			for name, word := range adapters {
				all.Go(func() {
					body := ask(" one", "model", k.model+"_lora_"+name, "n", 4)
					var got collected
					if err := got.add(c.post(t, "/v1/chat/completions", body).want(t, http.StatusOK).body); err != nil {
						t.Error(err)
					}
					if slices.ContainsFunc(got.texts, func(text string) bool { return text != word+" one" }) || len(got.texts) != 4 {
						t.Errorf("adapter %s together with others: %q", name, got.texts)
					}
				})
			}
			all.Wait()
		})
	}
}

// TestLoRATensors checks that the weights of a LoRA adapter are sent only with the adapter's first
// request, and again after the engine has evicted them.
func TestLoRATensors(t *testing.T) {
	t.Parallel()
	lockForTest(t, &adapterCache)
	for _, model := range []string{"ensemble", "bls"} {
		t.Run(model, func(t *testing.T) {
			c := contracts(t)
			ask := func(adapter string) []map[string]string {
				var got collected
				body := object{"model": model + "_lora_" + adapter, "prompt": " one", "user": "x"}
				if err := got.add(c.post(t, "/v1/completions", body).want(t, http.StatusOK).body); err != nil {
					t.Fatal(err)
				}
				return c.inputsOf(t, got.id)
			}
			for _, adapter := range []string{"doll", "sheep", "cow"} { // the third evicts the first, whatever the cache contained before
				ask(adapter)
			}
			back := ask("doll")
			if len(back) != 2 || back[0]["lora_weights"] != "" || back[0]["lora_config"] != "" || back[0]["lora_task_id"] == "" || back[0]["lora_task_id"] != back[1]["lora_task_id"] {
				t.Fatalf("after the adapter was unloaded: %v", back)
			}
			for name, want := range map[string]string{
				"lora_weights": "[1, 2, 8] [269.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]",
				"lora_config":  "[1, 2, 3] [0, 0, 1, 1, 1, 1]",
			} {
				if back[1][name] != want {
					t.Errorf("%s: %s, want %s", name, back[1][name], want)
				}
			}
			again := ask("doll")
			if len(again) != 1 || again[0]["lora_weights"] != "" || again[0]["lora_task_id"] != back[0]["lora_task_id"] || !numbered(again[0]["lora_task_id"]) {
				t.Errorf("while the adapter is loaded: %v", again)
			}
			if other := ask("cow"); other[0]["lora_task_id"] == back[0]["lora_task_id"] {
				t.Error("two adapters have the same number")
			}
		})
	}
	t.Run("llmapi", func(t *testing.T) {
		c := contracts(t)
		got := c.continued(t, kind{model: "llmapi_lora_doll"}, " one")
		inputs := c.inputsOf(t, got.id)[0]
		if !strings.HasSuffix(inputs["lora_path"], `/test/models-contract/llmapi/loras/doll"]`) || inputs["lora_name"] != `[1] ["doll"]` || !numbered(inputs["lora_id"]) {
			t.Errorf("got %v", inputs)
		}
	})
}

// numbered reports whether an input is one large number.
func numbered(input string) bool {
	return regexp.MustCompile(`^\[1(, 1)?\] \[\d{19}\]$`).MatchString(input)
}

func TestLoRAsAreListed(t *testing.T) {
	t.Parallel()
	c := contracts(t)
	listed := string(c.get(t, "/v1/models").want(t, http.StatusOK).body)
	for _, model := range []string{"ensemble", "bls", "llmapi"} {
		for name := range adapters {
			if !strings.Contains(listed, fmt.Sprintf(`"id":"%s_lora_%s"`, model, name)) {
				t.Errorf("%s of %s isn't listed: %s", name, model, listed)
			}
		}
		for _, path := range []string{"/v1/models/" + model + "_lora_wolf", "/v1/models/" + model + "_lora_..%2Fdoll"} {
			c.get(t, path).want(t, http.StatusNotFound)
		}
	}
	if strings.Contains(listed, "plain_lora") {
		t.Errorf("listed: %s", listed)
	}
}

// TestLoRAsWithoutRepository checks names of adapters without access to the repository. The adapter's name is
// sent to the engine, and the engine's refusal is returned as the error of an unknown model.
func TestLoRAsWithoutRepository(t *testing.T) {
	t.Parallel()
	needsServer(t)
	c := contracts(t)
	s := c.engine.startAt(t, root(t), "--lora-separator=_lora_")
	s.awaitReady(t)
	if listed := string(s.get(t, "/v1/models").body); strings.Contains(listed, "_lora_") {
		t.Errorf("listed: %s", listed)
	}
	for model, message := range map[string]string{
		"ensemble_lora_wolf":    "the model `ensemble_lora_wolf` does not exist: its engine has no such LoRA adapter",
		"bls_lora_wolf":         "the model `bls_lora_wolf` does not exist: its engine has no such LoRA adapter",
		"llmapi_lora_/etc":      "the model `llmapi` has no LoRA adapter `/etc`",
		"ensemble_lora_../doll": "its engine has no such LoRA adapter",
	} {
		for _, stream := range []bool{false, true} {
			e := s.post(t, "/v1/chat/completions", ask("Hi", "model", model, "stream", stream)).want(t, http.StatusNotFound).failure(t)
			if text(e.Code) != "model_not_found" || text(e.Param) != "model" || !strings.Contains(text(e.Message), message) {
				t.Errorf("%s: %s %s: %s", model, text(e.Code), text(e.Param), text(e.Message))
			}
		}
	}
}
