package requests

import (
	"fmt"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/trident-inference/trident/services/budget"
	"github.com/trident-inference/trident/services/strictjson"
)

// patternError is the error for an invalid regular expression.
type patternError struct{ key, why string }

func (e *patternError) Error() string { return e.key + " " + e.why }

// patterns checks a keyword's value that is a pattern, or the keys of a value that is an
// object.
func (s *Schemas) patterns(key string, value any) error {
	switch value := value.(type) {
	case string:
		return s.pattern(key, "", value)
	case map[string]any:
		for _, pattern := range slices.Sorted(maps.Keys(value)) {
			if err := s.pattern(key, "has the key "+strictjson.Quote(pattern)+", which ", pattern); err != nil {
				return err
			}
		}
	}
	return nil
}

// pattern checks a pattern, and adds its length to the bytes of all patterns of the request, which
// are limited.
func (s *Schemas) pattern(key, subject, pattern string) error {
	s.patternBytes += len(pattern)
	if s.patternBytes > budget.PatternsBytes {
		return errTooManyPatterns
	}
	return checkPattern(key, subject, pattern)
}

// checkPattern parses a pattern. It doesn't compile the pattern, because that expands
// repetitions.
func checkPattern(key, subject, pattern string) error {
	if len(pattern) > budget.PatternBytes {
		return &patternError{key, fmt.Sprintf("%sis longer than %d bytes", subject, budget.PatternBytes)}
	}
	if _, err := syntax.Parse(cheap(pattern), syntax.Perl); err != nil {
		return &patternError{key, subject + "is not a valid regular expression"}
	}
	return nil
}

// cheap returns a pattern that is valid exactly if the given one is, and that is parsed in
// linear time. For Unicode classes a parser writes out hundreds of ranges each. For
// case-insensitive ranges it looks up the case variants of all characters.
func cheap(pattern string) string {
	var b strings.Builder
	inClass := false
	for pattern != "" {
		written, size := cheapStep(pattern, &inClass)
		b.WriteString(written)
		pattern = pattern[size:]
	}
	return b.String()
}

// cheapStep returns the replacement for the next part of a pattern, and the part's length.
func cheapStep(rest string, inClass *bool) (written string, size int) {
	size = 1
	switch {
	case strings.HasPrefix(rest, `\Q`):
		size = through(rest, `\E`)
	case rest[0] == '\\':
		return cheapEscape(rest)
	case *inClass && strings.HasPrefix(rest, "[:"):
		size = through(rest, ":]")
	case *inClass:
		*inClass = rest[0] != ']'
	case rest[0] == '[':
		*inClass = true
		body := strings.TrimPrefix(rest[1:], "^")
		body = strings.TrimPrefix(body, "]") // a leading ] is a member of the class
		size = len(rest) - len(body)
	case strings.HasPrefix(rest, "(?"):
		size = len(rest) - len(strings.TrimLeft(rest[2:], "imsU-"))
		return strings.ReplaceAll(rest[:size], "i", "s"), size // s replaces i, so that ranges aren't case-insensitive
	}
	return rest[:size], size
}

// through returns the length of text up to the end of mark, or the whole length if text
// doesn't contain mark.
func through(text, mark string) int {
	if i := strings.Index(text, mark); i >= 0 {
		return i + len(mark)
	}
	return len(text)
}

// cheapEscape is cheapStep for an escape. It keeps \p of an unknown Unicode class, so that
// parsing fails.
func cheapEscape(rest string) (written string, size int) {
	if len(rest) < 3 || rest[1] != 'p' && rest[1] != 'P' {
		return rest[:min(2, len(rest))], min(2, len(rest))
	}
	name, size := rest[2:3], 3
	if rest[2] == '{' {
		size = through(rest, "}")
		name = strings.TrimPrefix(strings.Trim(rest[2:size], "{}"), "^")
	}
	if !classNames()[canonical(name)] {
		return rest[:2], 2
	}
	return `\d`, size
}

// classNames returns the names of Unicode's classes in their canonical form.
var classNames = sync.OnceValue(func() map[string]bool { //nolint:gochecknoglobals // a constant, computed on first use
	names := map[string]bool{"any": true, "ascii": true, "assigned": true, "lc": true, "cn": true}
	for name := range unicode.Categories {
		names[canonical(name)] = true
	}
	for name := range unicode.Scripts {
		names[canonical(name)] = true
	}
	for name := range unicode.CategoryAliases {
		names[canonical(name)] = true
	}
	return names
})

// canonical removes the characters of a class's name that have no meaning and lowers the
// case.
func canonical(name string) string { return strings.ToLower(insignificant.Replace(name)) }

var insignificant = strings.NewReplacer("_", "", "-", "", " ", "") //nolint:gochecknoglobals // a constant table
