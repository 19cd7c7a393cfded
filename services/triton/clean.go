package triton

import (
	"net"
	"net/netip"
	"regexp"
	"strings"
)

const (
	hiddenAddress = "(address)"
	hiddenPath    = "(path)"
)

// clean removes from an error of tritonserver what clients mustn't see: Python
// stacks, addresses and absolute paths. It also removes the request's id, which
// clients know. Names of models and tensors, shapes and ratios stay. Of an
// unquoted path with spaces, clean recognizes and hides only the part before
// the first space.
func clean(text string) string {
	_, text = cutRequestID(text)
	return strings.TrimSpace(hide(text))
}

// forTritonsClients returns an error as tritonserver's own clients expect it,
// with the request's id. Stacks, addresses and absolute paths are hidden.
func forTritonsClients(text string) string {
	id, text := cutRequestID(text)
	return id + hide(text)
}

// cutRequestID splits an error into its rest and the prefix that tritonserver writes if the
// request has an id.
func cutRequestID(text string) (id, rest string) {
	const before, after = "[request id: ", "] "
	if !strings.HasPrefix(text, before) {
		return "", text
	}
	end := strings.IndexByte(text, after[0])
	if end < 0 || !strings.HasPrefix(text[end:], after) {
		return "", text
	}
	end += len(after)
	return text[:end], text[end:]
}

// maxText is the maximum number of bytes of an error that are searched and shown.
// tritonserver's errors repeat names and values of the request, which may be as long as a
// body. The search takes a microsecond a byte.
const maxText = 8 << 10

func hide(text string) string {
	text, _, _ = strings.Cut(text, "\n\nAt:\n")
	text = cutTraceback(text)
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + " ..."
	}
	text = hostArgument.ReplaceAllString(text, "${1}="+hiddenAddress)
	text = anyURL.ReplaceAllString(text, hiddenAddress)
	text = slashed.ReplaceAllStringFunc(text, hidePath)
	text = colons.ReplaceAllStringFunc(text, hideIPv6)
	return ipv4.ReplaceAllString(text, hiddenAddress)
}

// traceback starts the stack of a Python exception. All lines of the stack are
// indented up to the line that names the exception.
const traceback = "Traceback (most recent call last)"

// cutTraceback removes Python stacks. It keeps the string before the first
// stack, and the line that names the last exception.
func cutTraceback(text string) string {
	before, _, found := strings.Cut(text, traceback)
	if !found {
		return text
	}
	_, frames, _ := strings.Cut(text[strings.LastIndex(text, traceback):], "\n")
	for line := range strings.Lines(frames) {
		if !strings.ContainsAny(line[:1], " \t\r\n") {
			return before + line
		}
	}
	return before
}

// Indexes of the groups of the regular expression slashed.
const (
	keep   = 1 + iota // the whole match isn't a path
	quoted            // a path with its quotes
	before            // the character before a path
)

const (
	// outside lists the characters that end a path segment, for use inside of a regular expression's brackets.
	outside = "\\s'\"<>()\\[\\]{}`,;:|/"
	// segment matches a path segment, without the full stop of the sentence
	// around it.
	segment = "[^" + outside + "]*[^" + outside + ".!?]"
)

var (
	hostArgument = regexp.MustCompile(`(?i)\b(host(?:name)?)\s*=\s*(?:'[^'\n]*'|"[^"\n]*"|[^\s,;)\]}]+)(?:,\s*port\s*=\s*'?\d+'?)?`)
	anyURL       = regexp.MustCompile("[A-Za-z][A-Za-z0-9+.-]*://" + `(?:\[[^]\s]*\])?` + "(?:[^\\s'\"<>()\\[\\]{}`]*[^\\s'\"<>()\\[\\]{}`.,;:!?])?")
	ipv4         = regexp.MustCompile(`\b(?:\d{1,3}(?:\.\d{1,3}){3}|localhost)(?::\d{1,5})?\b`)
	// colons matches words with colons, which may be IPv6 addresses.
	colons  = regexp.MustCompile(`\[?[\w.:%]*:[\w.:%]*\]?(?::\d+)?`)
	slashed = regexp.MustCompile(strings.Join([]string{
		// Strings with a slash at the start that aren't paths: tensor names, as in ONNX, keys of
		// shared memory that clients choose, and closing tags of templates, </s> and [/INST].
		`((?:inference (?:in|out)put|for input|(?:in|out)put tensor|shared memory region:?|with key|shm key) '[^'\n]*'|(?:in|out)put\(s\) \['[^]\n]*\]|</[^\s/<>]+>|\[/[A-Z_]+\])`,
		// A quoted path, which may contain spaces.
		`('/[^'\s/][^'\n]*/[^'\n]*'|"/[^"\s/][^"\n]*/[^"\n]*"|` + "`/[^`\\s/][^`\\n]*/[^`\\n]*`)",
		// A path that isn't part of a word, a ratio or a URL.
		`(^|[^\pL\pN_)\]}%+*/])(?:/+` + segment + `)+/*`,
	}, "|"))
)

func hidePath(match string) string {
	parts := slashed.FindStringSubmatch(match)
	if parts[keep] != "" {
		return match
	}
	if quote := parts[quoted]; quote != "" {
		return quote[:1] + hiddenPath + quote[:1]
	}
	return parts[before] + hiddenPath
}

func hideIPv6(match string) string {
	word := strings.TrimRight(match, ".:")
	address, _, err := net.SplitHostPort(word)
	if err != nil {
		address = strings.Trim(word, "[]")
	}
	if ip, err := netip.ParseAddr(address); err != nil || !ip.Is6() {
		return match
	}
	return hiddenAddress + match[len(word):]
}
