package chat

import (
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// Templates that show images: in Qwen's way, in Mistral's way and by a count. The last
// shows text parts only.
const (
	visionTemplate  = `{% for m in messages %}[{{ m.role }}]{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{% if p.type == 'image' %}<img>{% else %}{{ p.text }}{% endif %}{% endfor %}{% endif %}{% endfor %}`
	presentTemplate = `{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{% if 'image' in p or 'image_url' in p or p['type'] in ['image', 'image_url'] %}[IMG]{% else %}{{ p['text'] }}{% endif %}{% endfor %}{% endif %}{% endfor %}`
	firstTemplate   = `{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content | selectattr('type', 'equalto', 'image') %}<image>{% endfor %}{% for p in m.content | selectattr('type', 'equalto', 'text') %}{{ p.text }}{% endfor %}{% endif %}{% endfor %}`
	textsTemplate   = `{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}{% endif %}{% endfor %}{% endif %}{% endfor %}`
)

func TestRenderImages(t *testing.T) {
	image, text := inference.Part{Kind: inference.PartImage, URL: "data:x"}, func(s string) inference.Part { return inference.Part{Kind: inference.PartText, Text: s} }
	turn := func(parts ...inference.Part) inference.Message { return inference.Message{Role: "user", Parts: parts} }
	between := []inference.Message{turn(text("a"), image, text("b"))}
	tests := []struct {
		name, source, token string
		messages            []inference.Message
		want                string
	}{
		{"in their places", visionTemplate, "", between, "[user]a<img>b"},
		{"a token beside a template that shows them", visionTemplate, "<other>", between, "[user]a<img>b"},
		{"in either spelling", presentTemplate, "", between, "a[IMG]b"},
		{"first", firstTemplate, "", between, "<image>ab"},
		{"an image alone", visionTemplate, "", []inference.Message{turn(image)}, "[user]<img>"},
		{"a template of texts", plain, "<image>", between, "[user]<image>\na\nb[assistant]"},
		{"a template of texts without a place", plain, "none", between, "[user]a\nb[assistant]"},
		{"a template of lists of texts", textsTemplate, "<image>", between, "<image>\na\nb"},
		{"lists without images stay lists", `{% for p in messages[0].content %}<{{ p.type }}>{{ p.text }}{% endfor %}`, "<i>", []inference.Message{turn(text("a"), text("b"))}, "<text>a<text>b"},
		{"an image alone in a text", plain, "<image>", []inference.Message{turn(image)}, "[user]<image>[assistant]"},
		{"numbers go on", plain, "<|image_{n}|>", []inference.Message{turn(image, image, text("a")), {Role: "assistant", Text: "x"}, turn(text("b"), image)}, "[user]<|image_1|>\n<|image_2|>\na[assistant]x[user]<|image_3|>\nb[assistant]"},
		{"a place in the text stays", plain, "<image>", []inference.Message{turn(image, image, text("see <image> here"))}, "[user]<image>\nsee <image> here[assistant]"},
		{"a numbered place in the text stays", plain, "<{n}>", []inference.Message{turn(image, image, text("see <2> here"))}, "[user]<1>\nsee <2> here[assistant]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			template, err := Compile("m", inference.TemplateSource{Source: tt.source, ImageToken: tt.token})
			if err != nil {
				t.Fatal(err)
			}
			got, err := template.Render(t.Context(), &inference.Request{Messages: tt.messages})
			if err != nil || got != tt.want {
				t.Errorf("got %q, want %q, error %v", got, tt.want, err)
			}
		})
	}
}

func TestRenderImagesInHistories(t *testing.T) {
	const source = `{% for item in items %}{{ item.identity }}: {{ item.content }}{% endfor %}`
	messages := []inference.Message{{Role: "user", Parts: []inference.Part{{Kind: inference.PartImage}, {Kind: inference.PartText, Text: "a"}}}}
	template, err := Compile("m", inference.TemplateSource{Source: source, Liquid: true, ImageToken: "<image>"})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := template.Render(t.Context(), &inference.Request{Messages: messages}); err != nil || got != "User: <image>\na" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestRenderRefusesImagesWithoutAPlace(t *testing.T) {
	messages := []inference.Message{{Role: "user", Text: "x"}, {Role: "user", Parts: []inference.Part{{Kind: inference.PartText, Text: "a"}, {Kind: inference.PartImage}}}}
	for name, source := range map[string]inference.TemplateSource{
		"texts":       {Source: plain},
		"lists":       {Source: textsTemplate},
		"a history":   {Source: `{{ items[0].content }}`, Liquid: true},
		"a dict":      {Source: `{{ messages }}`},
		"for tools":   {Source: visionTemplate, Named: map[string]string{inference.TemplateToolUse: plain}},
		"no template": {Source: `{{ messages[0].content }}`},
	} {
		t.Run(name, func(t *testing.T) {
			template, err := Compile("m", source)
			if err != nil {
				t.Fatal(err)
			}
			req := &inference.Request{Messages: messages}
			if name == "for tools" {
				req.Tools = tools(`{}`)
			}
			_, err = template.Render(t.Context(), req)
			if e := inference.AsError(err); err == nil || e.Reason != inference.ReasonUnsupported || e.Param != "messages[1].content[1]" || !strings.Contains(e.Message, "trident.image_token") {
				t.Errorf("got %v", err)
			}
		})
	}
}
