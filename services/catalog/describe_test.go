package catalog_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/contracts"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/services/tokenizer"
)

// fakeLibrary is a library with the settings of one model and with one folder.
type fakeLibrary struct {
	detected  []inference.Setting
	published *inference.Published
	err       error
	opened    []string
}

func (s *fakeLibrary) Detect(inference.Model, func(string) *kserve.ModelConfig) ([]inference.Setting, error) {
	return s.detected, nil
}

// Locate resolves one folder of each model.
func (*fakeLibrary) Locate(model, reference string) string {
	if reference == "tokenizer" {
		return "/repository/" + model + "/tokenizer"
	}
	return reference
}

func (s *fakeLibrary) Open(reference string) (*inference.Published, error) {
	s.opened = append(s.opened, reference)
	return s.published, s.err
}

func (*fakeLibrary) LoRAPath(_, _, _ string) (string, error) { return "", nil }

func (*fakeLibrary) LoRAWeights(_, _, _ string) (*inference.LoRAWeights, error) {
	return nil, nil //nolint:nilnil // the model has no weights
}

func override(model, name, value string) inference.Override {
	return inference.Override{Model: model, Setting: inference.Setting{Name: name, Value: value, Origin: "flag for " + model}}
}

// consult returns a catalog of one model with parameters, and its log.
func consult(engine *inferencetest.Engine, library inference.Library, overrides []inference.Override, parameters map[string]string) (*catalog.Catalog, *strings.Builder) {
	engine.AddModel("m", inferencetest.StreamText("x"), parameters)
	log := &strings.Builder{}
	models := catalog.New(catalog.Config{}, []inference.Engine{engine}, []inference.Backend{contracts.VLLM{}},
		tokenizer.NewFolders(), slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})))
	models.Consult(library, overrides)
	return models, log
}

func lines(settings []inference.Setting) string {
	var b strings.Builder
	for _, s := range settings {
		fmt.Fprintf(&b, "%s=%s (%s)\n", s.Name, s.Value, s.Origin)
	}
	return b.String()
}

// TestSettings checks the precedence of settings: flags for the model, its own parameters, flags
// for all models, its files, and the files of its maker.
func TestSettings(t *testing.T) {
	const hermes = `<tool_call>{"name": , "arguments": }</tool_call>`
	published := &inference.Published{
		Folder:   "/weights",
		Template: inference.TemplateSource{Source: "published " + hermes, Tokens: map[string]string{"bos_token": "<s>"}}, TemplateOrigin: "chat_template.jinja",
		ContextLength: inference.Setting{Name: inference.SettingContextLength, Value: "100", Origin: "config.json"},
	}
	named := *published
	named.Template.Named = map[string]string{inference.TemplateToolUse: "<function=f> <tool_call> <parameter=p>"}
	detected := []inference.Setting{
		{Name: inference.SettingTokenizer, Value: "org/a", Origin: "1/model.json: model"},
		{Name: inference.SettingContextLength, Value: "200", Origin: "1/model.json: max_model_len"},
		{Name: inference.SettingLoRAs, Value: "doll, sheep", Origin: "1/multi_lora.json"},
	}
	tests := []struct {
		name       string
		detected   []inference.Setting
		published  *inference.Published
		overrides  []inference.Override
		parameters map[string]string
		want, log  string
		opened     string
	}{
		{name: "nothing is known", want: ""},
		{
			name: "detected", detected: detected, published: published,
			want: "tokenizer=org/a (1/model.json: model)\ncontext_length=200 (1/model.json: max_model_len)\n" +
				"chat_template=Jinja, 58 characters (chat_template.jinja)\ntool_call_parser=hermes (the chat template: <tool_call> {\"name\")\nloras=doll, sheep (1/multi_lora.json)\n",
			log: "has no tokenizer.json", opened: "org/a",
		},
		{
			name: "the length that was published", detected: detected[:1], published: published, log: "has no tokenizer.json", opened: "org/a",
			want: "tokenizer=org/a (1/model.json: model)\ncontext_length=100 (config.json)\nchat_template=Jinja, 58 characters (chat_template.jinja)\ntool_call_parser=hermes (the chat template: <tool_call> {\"name\")\n",
		},
		{
			name: "a template for tools tells the parser", detected: detected[:1], published: &named, log: "has no tokenizer.json", opened: "org/a",
			want: "tokenizer=org/a (1/model.json: model)\ncontext_length=100 (config.json)\nchat_template=Jinja, 58 characters, tool_use (chat_template.jinja)\ntool_call_parser=qwen3_coder (the chat template: <tool_call> <function= <parameter=)\n",
		},
		{
			name: "flags for all are before it", detected: detected, published: &inference.Published{Folder: "/b"},
			overrides: []inference.Override{override("", "tokenizer", "org/b"), override("", "chat_template", "flag"), override("other", "context_length", "1")},
			want: "tokenizer=org/b (flag for )\ncontext_length=200 (1/model.json: max_model_len)\nchat_template=Jinja, 4 characters (flag for )\n" +
				"loras=doll, sheep (1/multi_lora.json)\n",
			log: "has no tokenizer.json", opened: "org/b",
		},
		{
			name:      "parameters are before those",
			overrides: []inference.Override{override("", "chat_template", "flag"), override("", "tool_call_parser", "mistral")}, parameters: map[string]string{"trident.chat_template": "own", "trident.tool_call_parser": "none"},
			want: "chat_template=Jinja, 3 characters (config.pbtxt: trident.chat_template)\ntool_call_parser=none (config.pbtxt: trident.tool_call_parser)\n",
		},
		{
			name:      "flags for the model are before all",
			overrides: []inference.Override{override("", "chat_template", "all"), override("m", "chat_template", "{{ bos_token }}")}, parameters: map[string]string{"trident.chat_template": "own"},
			want: "chat_template=Jinja, 15 characters (flag for m)\n",
		},
		{
			name: "none", detected: detected, published: published, parameters: map[string]string{"trident.tokenizer": "none"},
			want: "context_length=200 (1/model.json: max_model_len)\nloras=doll, sheep (1/multi_lora.json)\n",
		},
		{
			name: "a folder beside config.pbtxt", published: published, parameters: map[string]string{"trident.tokenizer": "tokenizer", "trident.chat_template": "tokenizer"},
			want: "tokenizer=/repository/m/tokenizer (config.pbtxt: trident.tokenizer)\ncontext_length=100 (config.json)\nchat_template=Jinja, 9 characters (config.pbtxt: trident.chat_template)\n",
			log:  "has no tokenizer.json", opened: "/repository/m/tokenizer",
		},
		{
			name: "a flag's folder is not beside config.pbtxt", published: published, overrides: []inference.Override{override("", "tokenizer", "tokenizer"), override("", "chat_template", "none")},
			want: "tokenizer=tokenizer (flag for )\ncontext_length=100 (config.json)\n",
			log:  "has no tokenizer.json", opened: "tokenizer",
		},
		{
			name: "no template though one is published", detected: detected[:1], published: published, parameters: map[string]string{"trident.chat_template": "none"}, log: "has no tokenizer.json", opened: "org/a",
			want: "tokenizer=org/a (1/model.json: model)\ncontext_length=100 (config.json)\n",
		},
		{
			name: "names and the backend", detected: detected[2:], parameters: map[string]string{"trident.backend": "vllm", "trident.aliases": "a, b", "trident.loras": "none"},
			want: "backend=vllm (config.pbtxt: trident.backend)\naliases=a, b (config.pbtxt: trident.aliases)\n",
		},
		{
			name: "a backend whose tensors aren't there", parameters: map[string]string{"trident.backend": "python"},
			log: "config.pbtxt: trident.backend: the model doesn't declare the tensors of the backend",
		},
		{
			name:      "a history template",
			overrides: []inference.Override{override("", "history_template", "{{ items[0].content }}")},
			want:      "history_template=Liquid, 22 characters (flag for )\n",
		},
		{
			name:      "a history template beside a chat template",
			overrides: []inference.Override{override("", "history_template", "h")}, parameters: map[string]string{"trident.chat_template": "own"},
			want: "chat_template=Jinja, 3 characters (config.pbtxt: trident.chat_template)\n",
		},
		{
			name: "a history template in place of the one that is published", detected: detected[:1], published: &named, log: "has no tokenizer.json", opened: "org/a",
			overrides: []inference.Override{override("", "chat_template", "none"), override("", "history_template", "h")},
			want:      "tokenizer=org/a (1/model.json: model)\ncontext_length=100 (config.json)\nhistory_template=Liquid, 1 characters (flag for )\n",
		},
		{
			name: "an image token", detected: detected[:1], log: "has no tokenizer.json", opened: "org/a",
			published: &inference.Published{Folder: "/weights", Template: published.Template, TemplateOrigin: "chat_template.jinja", ImageToken: inference.Setting{Name: inference.SettingImageToken, Value: "<image>", Origin: "config.json: model_type llava"}},
			want:      "tokenizer=org/a (1/model.json: model)\nimage_token=<image> (config.json: model_type llava)\nchat_template=Jinja, 58 characters (chat_template.jinja)\ntool_call_parser=hermes (the chat template: <tool_call> {\"name\")\n",
		},
		{
			name:       "an image token that is given, of a model without eyes",
			parameters: map[string]string{"trident.chat_template": "own", "trident.image_token": "<i>", "trident.vision": "false"},
			want:       "vision=false (config.pbtxt: trident.vision)\nchat_template=Jinja, 3 characters (config.pbtxt: trident.chat_template)\n",
		},
		{
			name: "a backend of structured outputs", parameters: map[string]string{"trident.structured_outputs": "guidance"},
			detected: []inference.Setting{{Name: inference.SettingStructuredOutputs, Value: "xgrammar", Origin: "1/model.json: structured_outputs_config.backend"}},
			want:     "structured_outputs=guidance (config.pbtxt: trident.structured_outputs)\n",
		},
		{
			name:     "a backend of structured outputs that is detected",
			detected: []inference.Setting{{Name: inference.SettingStructuredOutputs, Value: "xgrammar", Origin: "1/model.json: structured_outputs_config.backend"}},
			want:     "structured_outputs=xgrammar (1/model.json: structured_outputs_config.backend)\n",
		},
		{
			name: "an unknown backend of structured outputs", parameters: map[string]string{"trident.structured_outputs": "lm-format-enforcer"},
			log: `config.pbtxt: trident.structured_outputs: \"lm-format-enforcer\" is not one of auto, xgrammar, guidance, outlines, none`,
		},
		{name: "an unclear word", parameters: map[string]string{"trident.vision": "perhaps"}, log: `config.pbtxt: trident.vision: \"perhaps\" is not a boolean: write true or false`},
		{
			name: "a bad template that was published", detected: detected[1:2], parameters: map[string]string{"trident.chat_template": "{% for %}"},
			want: "context_length=200 (1/model.json: max_model_len)\n", log: "config.pbtxt: trident.chat_template: template m, line 1",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			library := &fakeLibrary{detected: tt.detected, published: tt.published}
			models, log := consult(inferencetest.New(), library, tt.overrides, tt.parameters)
			if err := models.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			card := models.Cards()[0]
			const plain = "structured_outputs=auto (the default)\n" // shown in most cases
			if got := strings.Replace(lines(card.Settings), plain, "", 1); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if tt.log != "" && !strings.Contains(log.String(), tt.log) || tt.log == "" && strings.Contains(log.String(), "can't be used") {
				t.Errorf("log %s", log)
			}
			if got := strings.Join(library.opened, " "); got != tt.opened {
				t.Errorf("opened %q", got)
			}
			if strings.Join(card.LoRAs, " ") == "doll sheep" != strings.Contains(tt.want, "loras=") {
				t.Errorf("LoRAs %v", card.LoRAs)
			}
		})
	}
}

// TestFetching checks that chats wait for files from the hub and use them once they are available.
func TestFetching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		library := &fakeLibrary{
			detected: []inference.Setting{{Name: inference.SettingTokenizer, Value: "org/a", Origin: "flag"}},
			err:      inference.ErrFetching,
		}
		models, log := consult(inferencetest.New(), library, nil, map[string]string{"trident.context_length": "10"})
		service, err := serving.New(serving.Config{}, models, nil)
		if err != nil {
			t.Fatal(err)
		}
		ask := func() error {
			for _, err := range inferencetest.Generate(t.Context(), service, &inference.Request{
				Model: "m", Task: inference.TaskGenerate, Messages: []inference.Message{{Role: "user", Text: "x"}},
			}) {
				if err != nil {
					return err
				}
			}
			return nil
		}
		err = ask()
		if e, ok := errors.AsType[*inference.Error](err); !ok || e.Code != inference.CodeUnavailable || e.RetryAfter == 0 || !strings.Contains(e.Message, "still being fetched") {
			t.Errorf("at first: %v", err)
		}
		library.err, library.published = nil, &inference.Published{Template: inference.TemplateSource{Source: "prompt"}, TemplateOrigin: "hub"}
		<-time.After(2 * time.Second)
		if err := ask(); err != nil {
			t.Errorf("then: %v", err)
		}
		if log.String() != "" {
			t.Errorf("log: %s", log)
		}
	})
}
