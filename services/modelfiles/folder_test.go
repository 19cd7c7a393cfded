package modelfiles

import (
	"log/slog"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

func TestTemplates(t *testing.T) {
	tests := []struct {
		name   string
		files  map[string]string
		source string
		named  map[string]string
		origin string
		err    string
	}{
		{name: "none", files: map[string]string{"tokenizer_config.json": `{"chat_template": null}`}},
		{name: "no files at all", files: map[string]string{"README": ""}},
		{
			name: "a text", files: map[string]string{"tokenizer_config.json": `{"chat_template": "a\r\nb"}`},
			source: "a\r\nb", origin: "tokenizer_config.json: chat_template",
		},
		{
			name:   "a list",
			files:  map[string]string{"tokenizer_config.json": `{"chat_template": [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}, {"name": "rag", "template": "r"}]}`},
			source: "d", named: map[string]string{"tool_use": "t", "rag": "r"}, origin: "tokenizer_config.json: chat_template",
		},
		{
			name:  "a list without a default",
			files: map[string]string{"tokenizer_config.json": `{"chat_template": [{"name": "tool_use", "template": "t"}]}`},
			named: map[string]string{"tool_use": "t"}, origin: "tokenizer_config.json: chat_template", err: `no template has the name "default"`,
		},
		{name: "a number", files: map[string]string{"tokenizer_config.json": `{"chat_template": 1}`}, err: "neither a string nor a list"},
		{name: "no JSON", files: map[string]string{"tokenizer_config.json": `{`}, err: "tokenizer_config.json: unexpected end"},
		{
			name:   "a file wins",
			files:  map[string]string{"tokenizer_config.json": `{"chat_template": [{"name": "tool_use", "template": "t"}]}`, "chat_template.jinja": "f\r\ng\rh"},
			source: "f\ng\nh", origin: "chat_template.jinja",
		},
		{
			name: "files", files: map[string]string{"chat_template.jinja": "f", "additional_chat_templates/tool_use.jinja": "t", "additional_chat_templates/notes.txt": ""},
			source: "f", named: map[string]string{"tool_use": "t"}, origin: "chat_template.jinja",
		},
		{name: "a processor's", files: map[string]string{"tokenizer_config.json": `{}`, "chat_template.json": `{"chat_template": "p"}`}, source: "p", origin: "chat_template.json"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readFolder(writeFiles(t, tt.files))
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("got error %v, want %q", err, tt.err)
			}
			if got.Template.Source != tt.source || !maps.Equal(got.Template.Named, tt.named) || got.TemplateOrigin != tt.origin {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestSpecialTokens(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		want  map[string]string
	}{
		{"texts and objects", map[string]string{"tokenizer_config.json": `{"bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}, "pad_token": null, "image_token": "<i>", "added_tokens_decoder": {}}`}, map[string]string{"bos_token": "<s>", "eos_token": "</s>"}},
		{"an older file adds", map[string]string{"tokenizer_config.json": `{"bos_token": "<s>"}`, "special_tokens_map.json": `{"bos_token": {"content": "<b>"}, "unk_token": "<u>", "additional_special_tokens": ["<x>"]}`}, map[string]string{"bos_token": "<b>", "unk_token": "<u>"}},
		{"but not beside a decoder", map[string]string{"tokenizer_config.json": `{"bos_token": "<s>", "added_tokens_decoder": {}}`, "special_tokens_map.json": `{"bos_token": "<b>"}`}, map[string]string{"bos_token": "<s>"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readFolder(writeFiles(t, tt.files))
			if err != nil || !maps.Equal(got.Template.Tokens, tt.want) {
				t.Errorf("got %v, %v", got.Template.Tokens, err)
			}
		})
	}
}

func TestContextLength(t *testing.T) {
	tests := []struct{ name, config, tokenizer, value, origin string }{
		{"nothing", `{}`, `{}`, "", ""},
		{"the model's", `{"max_position_embeddings": 4096}`, `{}`, "4096", "config.json: max_position_embeddings"},
		{"the tokenizer's", `{}`, `{"model_max_length": 512}`, "512", "tokenizer_config.json: model_max_length"},
		{"the tokenizer's is smaller", `{"max_position_embeddings": 514}`, `{"model_max_length": 512}`, "512", "tokenizer_config.json: model_max_length"},
		{"the tokenizer's is larger", `{"max_position_embeddings": 32768}`, `{"model_max_length": 131072}`, "32768", "config.json: max_position_embeddings"},
		{"the tokenizer's is none", `{"max_position_embeddings": 4096}`, `{"model_max_length": 1000000000000000019884624838656}`, "4096", "config.json: max_position_embeddings"},
		{"another name", `{"n_positions": 1024}`, `{}`, "1024", "config.json: n_positions"},
		{"the smallest of two", `{"max_position_embeddings": 131072, "model_max_length": 8192}`, `{}`, "8192", "config.json: model_max_length"},
		{"beside images", `{"max_position_embeddings": 7, "text_config": {"max_position_embeddings": 2048}}`, `{}`, "2048", "config.json: text_config.max_position_embeddings"},
		{"scaled", `{"max_position_embeddings": 4096, "rope_scaling": {"type": "linear", "factor": 2.0}}`, `{}`, "8192", "config.json: max_position_embeddings and rope_scaling"},
		{"scaled by yarn", `{"max_position_embeddings": 163840, "rope_scaling": {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096}}`, `{}`, "163840", "config.json: max_position_embeddings and rope_scaling"},
		{"scaled in its length", `{"max_position_embeddings": 131072, "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}}`, `{}`, "131072", "config.json: max_position_embeddings"},
		{"under the newer name", `{"max_position_embeddings": 4096, "rope_parameters": {"rope_type": "dynamic", "factor": 4}}`, `{}`, "16384", "config.json: max_position_embeddings and rope_scaling"},
		{"no number", `{"max_position_embeddings": "many"}`, `{"model_max_length": "many"}`, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readFolder(writeFiles(t, map[string]string{"config.json": tt.config, "tokenizer_config.json": tt.tokenizer}))
			if err != nil || got.ContextLength.Value != tt.value || got.ContextLength.Origin != tt.origin {
				t.Errorf("got %+v, %v", got.ContextLength, err)
			}
		})
	}
}

func TestImageToken(t *testing.T) {
	tests := []struct{ name, config, value, origin string }{
		{"nothing", `{}`, "", ""},
		{"a family", `{"model_type": "llava"}`, "<image>", "config.json: model_type llava"},
		{"one with numbers", `{"model_type": "phi3_v"}`, "<|image_{n}|>", "config.json: model_type phi3_v"},
		{"one that needs none", `{"model_type": "paligemma"}`, "none", "config.json: model_type paligemma"},
		{"one that reads texts", `{"model_type": "llama"}`, "", ""},
		{"no text", `{"model_type": 5}`, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readFolder(writeFiles(t, map[string]string{"config.json": tt.config}))
			if err != nil || got.ImageToken.Value != tt.value || got.ImageToken.Origin != tt.origin {
				t.Errorf("got %+v, %v", got.ImageToken, err)
			}
		})
	}
}

func TestLoadTemplate(t *testing.T) {
	folder := writeFiles(t, map[string]string{
		"a.jinja": "jinja", "a.liquid": "liquid", "empty/config.json": "{}",
		"hf/tokenizer_config.json": `{"chat_template": [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}], "bos_token": "<s>"}`,
		"none.json":                `{}`,
	})
	tests := []struct {
		file, err string
		want      inference.TemplateSource
	}{
		{"a.jinja", "", inference.TemplateSource{Source: "jinja"}},
		{"a.liquid", "", inference.TemplateSource{Source: "liquid", Liquid: true}},
		{"hf", "", inference.TemplateSource{Source: "d"}},
		{"hf/tokenizer_config.json", "", inference.TemplateSource{Source: "d"}},
		{"empty", "has no chat template", inference.TemplateSource{}},
		{"none.json", "has no chat_template", inference.TemplateSource{}},
		{"nowhere", "no such file", inference.TemplateSource{}},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			got, err := LoadTemplate(folder + "/" + tt.file)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("got error %v", err)
			}
			if got.Source != tt.want.Source || got.Liquid != tt.want.Liquid {
				t.Errorf("got %+v", got)
			}
			if strings.HasPrefix(tt.file, "hf") && (got.Named["tool_use"] != "t" || got.Tokens["bos_token"] != "<s>") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestLocate checks where a model's tokenizer is searched: the model's folder may contain it, and any
// other reference is a folder of this machine or an id of the hub.
func TestLocate(t *testing.T) {
	first, second := writeFiles(t, map[string]string{"a/1/model.py": "", "a/tokenizer/tokenizer.json": "", "a/file": ""}), writeFiles(t, map[string]string{"a/other/x": "", "b/x": ""})
	library := New(Config{Repositories: []string{"s3://bucket/models", first, second}}, slog.New(slog.DiscardHandler))
	tests := []struct{ name, model, reference, want string }{
		{"a folder", "a", "tokenizer", filepath.Join(first, "a", "tokenizer")},
		{"a folder, written otherwise", "a", "./tokenizer/", filepath.Join(first, "a", "tokenizer")},
		{"a folder beside that of the model", "b", "../a/other", filepath.Join(second, "a", "other")},
		{"the model's own folder", "b", ".", filepath.Join(second, "b")},
		{"an id of the hub", "a", "org/model@main", "org/model@main"},
		{"a file", "a", "file", "file"},
		{"an absolute path", "a", first, first},
		{"a folder in another repository's model of this name", "a", "other", "other"},
		{"an unknown model", "c", "tokenizer", "tokenizer"},
		{"a name that is a path", "../a", "tokenizer", "tokenizer"},
		{"nothing", "a", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := library.Locate(tt.model, tt.reference); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
