package server

import (
	"errors"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

// TestErrorText checks that ErrorText omits quoted strings from errors of the client, because they
// may come from the request.
func TestErrorText(t *testing.T) {
	for text, want := range map[string]string{
		"stop must be a list":                "stop must be a list",
		`type must be a or b, got "x"`:       `type must be a or b, got "…"`,
		`"a\"b" and "c\\" of "d`:             `"…" and "…" of "…"`,
		"the model `chat` has no part \"x\"": "the model `chat` has no part \"…\"",
		`"`:                                  `"…"`,
		`"ends with a backslash\`:            `"…"`,
	} {
		if got := ErrorText(inference.Invalid("", "%s", text)); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	const ours = `open "/file": no such file`
	if got := ErrorText(errors.New(ours)); got != ours {
		t.Error(got)
	}
}
