package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/openai/openaitest"
	"github.com/trident-inference/trident/services/serving"
)

// codexServer serves models of each kind that Codex's catalog distinguishes. The query parameter
// client names the client, who may use only chat and thinks.
func codexServer(t *testing.T) *httptest.Server {
	t.Helper()
	engine := inferencetest.New()
	engine.AddModel("chat", nil, map[string]string{"trident.chat_template": inferencetest.ChatTemplate, "trident.context_length": "8000", "trident.aliases": "other"})
	engine.AddModel("efforts", nil, map[string]string{"trident.chat_template": "{{ reasoning_effort }}", "trident.context_length": "200000"})
	engine.AddModel("thinks", nil, map[string]string{"trident.chat_template": "{{ enable_thinking }}"})
	engine.AddModel("base", nil, nil)
	engine.AddModel("embedding", inferencetest.Embed(3, 4), map[string]string{"trident.task": "embed"})
	handler := newHandler(Config{}, inferencetest.Service(t, serving.Config{}, engine), newValidator(t))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if name := r.URL.Query().Get("client"); name != "" {
			r = r.WithContext(inference.WithClient(r.Context(), &inference.Client{Name: name, Models: []string{"chat", "thinks"}}))
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server
}

// codexModels returns the catalog for a query. One of the server's models is named, because lists don't
// wait until the server knows its models.
func codexModels(t *testing.T, server *httptest.Server, known, query string) []map[string]json.RawMessage {
	t.Helper()
	if resp, body := openaitest.Do(t, http.MethodGet, server.URL+"/v1/models/"+known, ""); resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	resp, body := openaitest.Do(t, http.MethodGet, server.URL+"/v1/models"+query, "")
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	openaitest.WantDocument(t, "ListModelsResponse", body)
	var list struct {
		Models []map[string]json.RawMessage
	}
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	return list.Models
}

// TestCodexCatalog checks every field of the catalog. Codex needs most of them: see docs/reference/openai.md.
func TestCodexCatalog(t *testing.T) {
	list := codexModels(t, codexServer(t), "chat", "?client_version=0.169.0")
	var slugs []string
	for i, m := range list {
		slugs = append(slugs, string(m["slug"]))
		if got := string(m["priority"]); got != fmt.Sprint(i) {
			t.Errorf("%s has the position %s", m["slug"], got)
		}
	}
	if want := []string{`"chat"`, `"efforts"`, `"other"`, `"thinks"`}; !slices.Equal(slugs, want) {
		t.Fatalf("models %s, want %s", slugs, want)
	}
	var instructions string
	if err := json.Unmarshal(list[0]["base_instructions"], &instructions); err != nil || instructions != codexInstructions || !strings.Contains(instructions, "*** Begin Patch") {
		t.Errorf("%v, instructions %s", err, instructions)
	}
	delete(list[0], "base_instructions")
	const want = `{"apply_patch_tool_type":"freeform","availability_nux":null,"context_window":8000,"default_reasoning_level":null,"default_reasoning_summary":"auto",` +
		`"default_verbosity":null,"description":null,"display_name":"chat","experimental_supported_tools":[],"input_modalities":["text"],"max_context_window":8000,` +
		`"prefer_websockets":false,"priority":0,"shell_type":"shell_command","slug":"chat","support_verbosity":false,"supported_in_api":true,"supported_reasoning_levels":[],` +
		`"supports_image_detail_original":false,"supports_parallel_tool_calls":true,"supports_reasoning_summaries":true,"truncation_policy":{"limit":2000,"mode":"tokens"},` +
		`"upgrade":null,"visibility":"list"}`
	if got := openaitest.JSON(t, list[0]); string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for at, fields := range map[int]map[string]string{
		1: {
			"supported_reasoning_levels": `[{"description":"Answers without reasoning","effort":"none"},{"description":"Reasons briefly","effort":"low"},` +
				`{"description":"Reasons as the model does by default","effort":"medium"},{"description":"Reasons at length","effort":"high"}]`,
			"truncation_policy": `{"limit":10000,"mode":"tokens"}`, "context_window": "200000",
		},
		2: {"display_name": `"other"`, "context_window": "8000"},
		3: {
			"supported_reasoning_levels": `[{"description":"Answers without reasoning","effort":"none"},{"description":"Reasons as the model does by default","effort":"medium"}]`,
			"truncation_policy":          `{"limit":10000,"mode":"tokens"}`, "context_window": "", "max_context_window": "",
		},
	} {
		for field, want := range fields {
			if got := string(list[at][field]); got != want {
				t.Errorf("%s of %s: got %s, want %s", field, list[at]["slug"], got, want)
			}
		}
	}
}

// TestCodexCatalogOnRequest checks that only requests with client_version get the catalog, and that
// it has only the models that the client may use.
func TestCodexCatalogOnRequest(t *testing.T) {
	server := codexServer(t)
	if got := codexModels(t, server, "chat", ""); got != nil {
		t.Errorf("without client_version: %s", got)
	}
	if got := codexModels(t, server, "chat", "?client_version="); len(got) != 4 {
		t.Errorf("of an unknown version: %s", got)
	}
	if got := codexModels(t, server, "chat", "?client_version=0.169.0&client=c"); len(got) != 2 || string(got[0]["slug"]) != `"chat"` || string(got[1]["slug"]) != `"thinks"` {
		t.Errorf("of a client with two models: %s", got)
	}
	images := newImageServer(t, serving.Config{})
	if got := codexModels(t, images.Server, "chat", "?client_version=0.169.0"); string(got[0]["input_modalities"]) != `["text"]` || string(got[1]["input_modalities"]) != `["text","image"]` {
		t.Errorf("of models that see images: %s", got)
	}
	engine := inferencetest.New()
	engine.AddModel("base", nil, nil)
	empty := httptest.NewServer(newHandler(Config{}, inferencetest.Service(t, serving.Config{}, engine), newValidator(t)))
	t.Cleanup(empty.Close)
	if got := codexModels(t, empty, "base", "?client_version=0.169.0"); got == nil || len(got) != 0 {
		t.Errorf("without chat models: %v", got)
	}
}

// countingTemplate counts its renderings. It distinguishes reasoning efforts.
type countingTemplate struct{ renderings int }

func (c *countingTemplate) Render(_ context.Context, req *inference.Request) (string, error) {
	c.renderings++
	return req.ReasoningEffort, nil
}

// TestCodexCatalogOfManyNames checks that further names of a model, such as those of adapters, cost no
// further renderings of its chat template.
func TestCodexCatalogOfManyNames(t *testing.T) {
	template := &countingTemplate{}
	newCard := func() *catalog.Card { return &catalog.Card{Tasks: inference.TaskGenerate, Template: template} } // cards keep their efforts
	one := codexCatalog(t.Context(), []catalog.Named{{Name: "a", Card: newCard()}})
	card, once := newCard(), template.renderings
	many := codexCatalog(t.Context(), slices.Repeat([]catalog.Named{{Name: "a", Card: card}, {Name: "b", Card: card}}, 100))
	if n := template.renderings - once; n != once || once == 0 {
		t.Errorf("%d renderings for 200 names, %d for one", n, once)
	}
	if m := many[199]; m.Slug != "b" || m.DisplayName != "b" || m.Priority != 199 || len(m.SupportedReasoningLevels) != len(one[0].SupportedReasoningLevels) {
		t.Errorf("%+v", m)
	}
}
