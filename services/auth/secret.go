package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"io"
	"log/slog"
)

// Secret is a string that is never printed.
type Secret string

// Equal compares in a time that doesn't depend on the content of the strings.
func (s Secret) Equal(text string) bool {
	x, y := sha256.Sum256([]byte(s)), sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// Format hides the secret for every verb.
func (Secret) Format(to fmt.State, _ rune) { _, _ = io.WriteString(to, "(hidden)") }

// LogValue hides the secret.
func (Secret) LogValue() slog.Value { return slog.StringValue("(hidden)") }

// MarshalText hides the secret.
func (Secret) MarshalText() ([]byte, error) { return []byte("(hidden)"), nil }
