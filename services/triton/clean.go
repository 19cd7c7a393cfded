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

// clean takes out of tritonserver's text what clients mustn't see: stacks of
// Python, addresses, and absolute paths; and the request's id, which they know.
// Names of models and tensors, shapes and ratios stay. Of an unquoted path that
// holds spaces only the part before the first one is known to be a path.
func clean(text string) string {
	_, text = cutRequestID(text)
	return strings.TrimSpace(hide(text))
}

// forTritonsClients is the text as tritonserver's own clients know it, with the
// request's id, but for what they mustn't see.
func forTritonsClients(text string) string {
	id, text := cutRequestID(text)
	return id + hide(text)
}

// cutRequestID returns what tritonserver writes before errors of requests that have an id, and
// the error.
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

// maxText is how many bytes of an error are searched and shown. tritonserver's errors repeat
// names and values of the request, which may be as long as a body, and the search takes a
// microsecond a byte.
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

// traceback begins the stack of a Python exception. Its lines are indented up to
// the one that names the exception.
const traceback = "Traceback (most recent call last)"

// cutTraceback leaves what stands before the stacks and, of the exception that
// came last, its own line.
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

// The groups of slashed.
const (
	keep   = 1 + iota // the whole match is no path
	quoted            // a path with its quotes
	before            // the character before a path
)

const (
	// outside is what ends a segment of a path, in a class of characters.
	outside = "\\s'\"<>()\\[\\]{}`,;:|/"
	// segment of a path, without the full stop of the sentence around it.
	segment = "[^" + outside + "]*[^" + outside + ".!?]"
)

var (
	hostArgument = regexp.MustCompile(`(?i)\b(host(?:name)?)\s*=\s*(?:'[^'\n]*'|"[^"\n]*"|[^\s,;)\]}]+)(?:,\s*port\s*=\s*'?\d+'?)?`)
	anyURL       = regexp.MustCompile("[A-Za-z][A-Za-z0-9+.-]*://" + `(?:\[[^]\s]*\])?` + "(?:[^\\s'\"<>()\\[\\]{}`]*[^\\s'\"<>()\\[\\]{}`.,;:!?])?")
	ipv4         = regexp.MustCompile(`\b(?:\d{1,3}(?:\.\d{1,3}){3}|localhost)(?::\d{1,5})?\b`)
	// colons finds words with colons, among which are the addresses of IPv6.
	colons  = regexp.MustCompile(`\[?[\w.:%]*:[\w.:%]*\]?(?::\d+)?`)
	slashed = regexp.MustCompile(strings.Join([]string{
		// What has a slash in front and is no path: names of tensors, as in ONNX,
		// the keys of shared memory that clients name, and the closing tags of templates, </s> and [/INST].
		`((?:inference (?:in|out)put|for input|(?:in|out)put tensor|shared memory region:?|with key|shm key) '[^'\n]*'|(?:in|out)put\(s\) \['[^]\n]*\]|</[^\s/<>]+>|\[/[A-Z_]+\])`,
		// In quotes, where it may hold spaces.
		`('/[^'\s/][^'\n]*/[^'\n]*'|"/[^"\s/][^"\n]*/[^"\n]*"|` + "`/[^`\\s/][^`\\n]*/[^`\\n]*`)",
		// Anywhere but in a word, a ratio or a URL.
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
