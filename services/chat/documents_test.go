package chat

import (
	"encoding/json"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// TestDocuments checks that documents reach the templates that read them, with the order of their
// keys, and that other templates refuse them.
func TestDocuments(t *testing.T) {
	const (
		reads  = `{% if documents %}{% for d in documents %}[{{ d.title }}]{{ d | tojson }}{% endfor %}{% endif %}{{ messages[0].content }}`
		macro  = `{% macro show() %}{{ documents | length if documents is not none else 'none' }}{% endmacro %}{{ show() }}{{ messages[0].content }}`
		speaks = `Use the documents. {{ messages[0].content }}{{ messages[0].documents }}`
		sets   = `{% for documents in messages %}{{ documents.content }}{% endfor %}`
	)
	documents := json.RawMessage(`[{"title": "T", "b": 1, "a": {"text": "x"}}, {"title": "U"}]`)
	tests := []struct {
		name, source string
		documents    json.RawMessage
		want         string
	}{
		{"read", reads, documents, `[T]{"title": "T", "b": 1, "a": {"text": "x"}}[U]{"title": "U"}hi`},
		{"none", reads, nil, "hi"},
		{"read in a macro", macro, documents, "2hi"},
		{"none in a macro", macro, nil, "nonehi"},
		{"only named in the text", speaks, documents, ""},
		{"a loop's own variable", sets, documents, ""},
		{"without documents", sets, nil, "hi"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := render(t, tt.source, &inference.Request{Model: "m", Messages: chatOf("user: hi"), Documents: tt.documents})
			if tt.want == "" {
				if e := inference.AsError(err); err == nil || e.Param != "documents" || e.Reason != inference.ReasonUnsupported {
					t.Errorf("got %q, error %v", got, err)
				}
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("got %q, want %q, error %v", got, tt.want, err)
			}
		})
	}
}
