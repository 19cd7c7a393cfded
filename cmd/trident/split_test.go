package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/server/servertest"
	"github.com/trident-inference/trident/services/triton/tritontest"
)

// splitEngine has the models v1 and v2.
func splitEngine() *inferencetest.Engine {
	engine := inferencetest.New()
	for _, name := range []string{"v1", "v2"} {
		engine.AddModel(name, inferencetest.StreamText("from "+name), map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	}
	return engine
}

// sentTo returns the number of requests that the models have got.
func sentTo(engine *inferencetest.Engine) string {
	counts := map[string]int{}
	for _, r := range engine.Requests() {
		counts[r.GetModelName()]++
	}
	return fmt.Sprint(counts)
}

// TestSplitAliases checks requests for an alias that is split: what a key for the alias may use, the
// model in responses, and the metrics of the real models.
func TestSplitAliases(t *testing.T) {
	keys := servertest.Write(t, t.TempDir(), "keys", []byte("- {name: all, key: sk-all}\n- {name: some, key: sk-some, models: [chat]}\n"))
	engine := splitEngine()
	d := deploy(t, engine, "--alias-split=chat:v1=3,v2=1", "--api-keys-file="+keys)
	const some, all = "Bearer sk-some", "Bearer sk-all"
	fingerprints := map[string]int{}
	for range 8 {
		status, body, _ := d.send(t, http.MethodPost, d.openai+"/v1/completions", `{"model":"chat","prompt":"x"}`, "Authorization", some)
		if status != http.StatusOK || !strings.Contains(body, `"model":"chat"`) {
			t.Fatalf("%d %s", status, body)
		}
		_, fingerprint, _ := strings.Cut(body, `"system_fingerprint":"`)
		fingerprints[fingerprint[:13]]++
	}
	if got := sentTo(engine); got != "map[v1:6 v2:2]" || len(fingerprints) != 2 {
		t.Errorf("the models got %s, with the fingerprints %v", got, fingerprints)
	}
	if status, body, _ := d.send(t, http.MethodPost, d.openai+"/v1/completions", `{"model":"v2","prompt":"x"}`, "Authorization", some); status != http.StatusNotFound {
		t.Errorf("a model of the split by its own name: %d %s", status, body)
	}
	if _, body, _ := d.send(t, http.MethodGet, d.openai+"/v1/models", "", "Authorization", some); !strings.Contains(body, `"id":"chat"`) || strings.Contains(body, `"v1"`) || strings.Contains(body, `"v2"`) {
		t.Errorf("the list of a key for the alias is %s", body)
	}
	_, page, _ := d.send(t, http.MethodGet, d.openai+"/metrics", "", "Authorization", all)
	for _, want := range []string{`model="v1"`, `model="v2"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if strings.Contains(page, `model="chat"`) {
		t.Error("the metrics have the alias")
	}
}

// TestReloadOfSplits checks that a change of the settings file changes the shares, and that wrong
// weights change nothing.
func TestReloadOfSplits(t *testing.T) {
	settings := func(split string) string {
		return "host: 127.0.0.1\nopenai-port: 0\nshutdown-timeout: 5s\nalias-split: [\"" + split + "\"]\n"
	}
	path := settingsOf(t, settings("chat:v1=1,v2=0"))
	engine := splitEngine()
	url, log := runWith(t, path, engine)
	for i, step := range []struct{ split, want string }{
		{"", "map[v1:4]"},
		{"chat:v1=1,v2=1", "map[v1:6 v2:2]"},
		{"chat:v1=1,v2=", "map[v1:8 v2:4]"},
		{"chat:v2=100", "map[v1:8 v2:8]"},
	} {
		if step.split != "" {
			write(t, path, settings(step.split))
			log.Await(t, map[bool]string{true: refused, false: taken}[strings.HasSuffix(step.split, "=")], map[bool]int{true: 1, false: (i + 1) / 2}[strings.HasSuffix(step.split, "=")])
		}
		for range 4 {
			if text := chatText(t, url, "chat"); !strings.HasPrefix(text, "from v") {
				t.Fatal(text)
			}
		}
		if got := sentTo(engine); got != step.want {
			t.Errorf("after %q the models have got %s, want %s", step.split, got, step.want)
		}
	}
	if strings.Contains(log.String(), "take effect at restart") {
		t.Errorf("a change waits for a restart:\n%s", log)
	}
}

// TestModelsShowSplits checks that the command models shows splits, also with models that no server
// has.
func TestModelsShowSplits(t *testing.T) {
	f := flagsOf(t, "--triton-endpoint="+tritontest.NewFake(t).Address(), "--alias-split=chat:echo=95,stream=5", "--alias-split=other:nowhere=1,echo=1")
	cards, err := f.cards()
	if err != nil {
		t.Fatal(err)
	}
	table := strings.Join(strings.Fields(settingsTable(cards, f.AliasSplit)), " ")
	for _, want := range []string{"chat split echo 95/100, stream 5/100 --alias-split", "other split nowhere 1/2 (no such model), echo 1/2 --alias-split"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	var out bytes.Buffer
	if err := printJSON(&out, cards, f.AliasSplit); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(strings.Fields(out.String()), ""); !strings.Contains(got, `"splits":[{"alias":"chat","weight":95,"of":100},{"alias":"other","weight":1,"of":2}]`) || strings.Count(got, `"splits"`) != 2 {
		t.Errorf("the JSON is %s", out.String())
	}
}
