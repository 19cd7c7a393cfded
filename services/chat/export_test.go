package chat

import (
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// Templates that show one system message.
const (
	OneSystem   = oneSystem
	FirstSystem = firstSystem
)

// CompileAt compiles a Jinja template with a fixed clock. The template renders messages
// without rearranging them.
func CompileAt(now time.Time, model string, source inference.TemplateSource) (inference.Template, error) {
	return compiler{now: func() time.Time { return now }}.parse(model, source.Source, source)
}

// Traits describes how a Jinja template handles its messages.
type Traits struct {
	None   bool // the template handles None as content
	Parts  bool // the template reads content that is a list of parts
	Images bool // the template shows images
}

// TraitsOf returns the traits of a compiled template.
func TraitsOf(t inference.Template) Traits {
	jinja, ok := t.(*template)
	if !ok {
		return Traits{}
	}
	return Traits{None: jinja.none, Parts: jinja.parts, Images: jinja.images.shown}
}
