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

// CompileAt compiles a Jinja template that reads a given time from the clock, and that renders
// messages as they are written.
func CompileAt(now time.Time, model string, source inference.TemplateSource) (inference.Template, error) {
	return compiler{now: func() time.Time { return now }}.parse(model, source.Source, source)
}

// Traits are what a Jinja template was found to do with its messages.
type Traits struct {
	None   bool // knows content that is none
	Parts  bool // reads lists of parts
	Images bool // shows images
}

// TraitsOf returns those of a compiled template.
func TraitsOf(t inference.Template) Traits {
	jinja, ok := t.(*template)
	if !ok {
		return Traits{}
	}
	return Traits{None: jinja.none, Parts: jinja.parts, Images: jinja.images.shown}
}
