package responses

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	api "github.com/trident-inference/trident/gen/go/openai"
	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai/internal/decode"
	"github.com/trident-inference/trident/services/openai/internal/wire"
	"github.com/trident-inference/trident/services/server"
)

// encryptedField is the member of reasoning items with the sealed reasoning.
const encryptedField = "encrypted_content"

// reasoningForm is the form in which a client gets the model's reasoning.
type reasoningForm struct {
	// summary reports whether the reasoning is the summary of its item instead of the content. Models
	// write no other summary.
	summary bool
	// seal returns the reasoning as encrypted_content. It is nil if the client didn't ask for it.
	seal func(text string) string
}

// reasoningForm returns the form that the request asks for.
func (a *API) reasoningForm(ctx context.Context, body *api.CreateResponse, owner string) (reasoningForm, error) {
	var form reasoningForm
	settings := decode.Value(body.Reasoning)
	field, kind := "reasoning.summary", settings.Summary
	if kind == nil {
		field, kind = "reasoning.generate_summary", settings.GenerateSummary
	}
	form.summary = kind != nil
	if slices.Contains(body.Include, "reasoning."+encryptedField) {
		form.seal = func(text string) string {
			sealed, err := a.seals.Seal(text, owner)
			if err != nil { // the process's cryptography is broken
				return ""
			}
			return sealed
		}
	}
	if decode.Value(kind) == "concise" {
		return form, server.Ignore(ctx, server.IgnoredField{Name: field, Reason: field + " must not be concise: the server doesn't shorten the reasoning"})
	}
	return form, nil
}

// events returns the prefix of the events of the text.
func (f reasoningForm) events() string {
	if f.summary {
		return "response.reasoning_summary"
	}
	return "response.reasoning"
}

// parts returns the prefix of the events of the part that has the text.
func (f reasoningForm) parts() string {
	if f.summary {
		return "response.reasoning_summary"
	}
	return "response.content"
}

// part returns the part with a text.
func (f reasoningForm) part(text string) json.RawMessage {
	if f.summary {
		return encoded(api.SummaryTextPart{Type: partSummary, Text: text})
	}
	return encoded(api.ReasoningTextPart{Type: partReasoning, Text: text})
}

// closeReasoning appends the events at the end of the open item's text. It converts the item to the
// form that the client asks for.
func (w *eventWriter) closeReasoning(dst []byte) []byte {
	it := w.item
	dst = w.appendDone(dst, w.reasoning.events()+"_text.done", "text", "")
	dst = w.appendPart(dst, w.reasoning.parts()+"_part.done", w.reasoning.part(it.text))
	if w.reasoning.seal != nil {
		it.sealed = w.reasoning.seal(it.text)
	}
	if w.reasoning.summary {
		it.text, it.summary = "", []string{it.text}
	}
	return dst
}

// reasoning returns the text of a reasoning item for the model.
func (it *item) reasoning() string {
	return cmp.Or(it.text, it.opened, strings.Join(it.summary, "\n"))
}

func (it *item) wireReasoning() api.ReasoningItem {
	r := api.ReasoningItem{ID: it.id, Type: it.kind, Status: it.status, Content: []api.ReasoningTextPart{}, Summary: []api.SummaryTextPart{}, EncryptedContent: wire.Optional(it.sealed)}
	if it.text != "" {
		r.Content = append(r.Content, api.ReasoningTextPart{Type: partReasoning, Text: it.text})
	}
	for _, s := range it.summary {
		r.Summary = append(r.Summary, api.SummaryTextPart{Type: partSummary, Text: s})
	}
	return r
}

func decodeItemReasoning(object map[string]any, it *item) error {
	texts, err := decodeTextParts(object, "content", partReasoning)
	if err != nil {
		return err
	}
	it.text = strings.Join(texts, "\n")
	if it.summary, err = decodeTextParts(object, "summary", partSummary); err != nil {
		return err
	}
	it.sealed, err = decode.Text(object, encryptedField, false)
	return err
}

// openSeals opens the sealed reasoning of new items without content. A seal that can't be opened is
// ignored: other servers sealed it, or this one with a key that is gone. places has the field of the
// request of each item.
func (a *API) openSeals(ctx context.Context, owner string, items []*item, place func(i int) string) error {
	size := 0
	var ignored []server.IgnoredField
	for i, it := range items {
		if it.sealed == "" || it.text != "" {
			continue
		}
		if size += len(it.sealed); size > budget.SealedBytes {
			return inference.Invalid("input", "input has more than %d MiB of %s: send fewer items", budget.SealedBytes>>20, encryptedField)
		}
		text, err := a.seals.Open(it.sealed, owner)
		if err != nil {
			name := place(i) + "." + encryptedField
			ignored = append(ignored, server.IgnoredField{Name: name, Reason: name + " " + err.Error() + ": send the reasoning as content, or leave the field out"})
			it.sealed = ""
		}
		it.opened = text
	}
	return server.Ignore(ctx, ignored...)
}
