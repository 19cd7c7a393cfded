package tokenizer

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// normalizer is a list of changes of a text, in order.
type normalizer []func(text string) (string, error)

func (n normalizer) apply(text string) (string, error) {
	var err error
	for _, change := range n {
		if text, err = change(text); err != nil {
			return "", err
		}
	}
	return text, nil
}

// plain returns a normalizer whose change can't fail.
func plain(change func(text string) string) normalizer {
	return normalizer{func(text string) (string, error) { return change(text), nil }}
}

func newNormalizer(c *component, props func() *properties) (normalizer, error) {
	if c == nil {
		return nil, nil
	}
	switch c.kind {
	case "Sequence":
		return newNormalizers(c, props)
	case "NFC":
		return plain(form{norm.NFC, "canonical"}.of()), c.bare()
	case "NFD":
		return plain(form{norm.NFD, "canonical"}.of()), c.bare()
	case "NFKC":
		return plain(form{norm.NFKC, "compatible"}.of()), c.bare()
	case "NFKD":
		return plain(form{norm.NFKD, "compatible"}.of()), c.bare()
	case "Lowercase":
		return plain(lower), c.bare()
	case "StripAccents":
		return plain(drop(props().mark)), c.bare()
	case "Nmt":
		return plain(nmt), c.bare()
	case "ByteLevel":
		return plain(spellBytes), c.bare()
	case "Strip":
		return newStrip(c)
	case "Prepend":
		return newPrepend(c)
	case "Replace":
		return newReplace(c)
	case "Precompiled":
		return newPrecompiled(c)
	case "BertNormalizer":
		return newBert(c, props)
	}
	return nil, c.unknown("normalizer")
}

func newNormalizers(c *component, props func() *properties) (normalizer, error) {
	var f struct {
		typed
		Normalizers []*component `json:"normalizers"`
	}
	if err := c.decode(&f); err != nil {
		return nil, err
	}
	var all normalizer
	for _, part := range f.Normalizers {
		n, err := newNormalizer(part, props)
		if err != nil {
			return nil, err
		}
		all = append(all, n...)
	}
	return all, nil
}

func newStrip(c *component) (normalizer, error) {
	var f struct {
		typed
		Left  bool `json:"strip_left"`
		Right bool `json:"strip_right"`
	}
	return plain(func(text string) string {
		if f.Left {
			text = strings.TrimLeftFunc(text, unicode.IsSpace)
		}
		if f.Right {
			text = strings.TrimRightFunc(text, unicode.IsSpace)
		}
		return text
	}), c.decode(&f)
}

func newPrepend(c *component) (normalizer, error) {
	var f struct {
		typed
		Prepend string `json:"prepend"`
	}
	return plain(func(text string) string {
		if text == "" {
			return ""
		}
		return f.Prepend + text
	}), c.decode(&f)
}

func newReplace(c *component) (normalizer, error) {
	var f struct {
		typed
		Pattern patternJSON `json:"pattern"`
		Content string      `json:"content"`
	}
	if err := c.decode(&f); err != nil {
		return nil, err
	}
	if s := f.Pattern.String; s != nil && *s != "" {
		return plain(func(text string) string { return strings.ReplaceAll(text, *s, f.Content) }), nil
	}
	p, err := f.Pattern.compile()
	if err != nil {
		return nil, fmt.Errorf("Replace: %w", err)
	}
	return normalizer{func(text string) (string, error) {
		var b strings.Builder
		var spans []span
		for at := 0; at < len(text); {
			var err error
			if spans, at, err = p.spans(text, at, spans[:0]); err != nil {
				return "", err
			}
			for _, s := range spans {
				if s.match {
					b.WriteString(f.Content)
				} else {
					b.WriteString(text[s.start:s.end])
				}
			}
		}
		return b.String(), nil
	}}, nil
}

// bertJSON is BERT's normalizer in the file.
type bertJSON struct {
	typed
	CleanText          bool  `json:"clean_text"`
	HandleChineseChars bool  `json:"handle_chinese_chars"`
	StripAccents       *bool `json:"strip_accents"`
	Lowercase          bool  `json:"lowercase"`
}

// newBert reads BERT's normalizer: it removes control characters, puts spaces
// around Chinese characters, strips accents and lowers the case.
func newBert(c *component, props func() *properties) (normalizer, error) {
	var f bertJSON
	if err := c.decode(&f); err != nil {
		return nil, err
	}
	return normalizer{newCharwise(f.steps(props()), f.accents()).apply}, nil
}

// accents reports whether accents are stripped.
func (f *bertJSON) accents() bool {
	if f.StripAccents == nil {
		return f.Lowercase
	}
	return *f.StripAccents
}

func (f *bertJSON) steps(p *properties) (n normalizer) {
	if f.CleanText {
		n = append(n, plain(clean(p.control))...)
	}
	if f.HandleChineseChars {
		n = append(n, plain(spaceChinese)...)
	}
	if f.accents() {
		n = append(n, plain(form{norm.NFD, "canonical"}.of())...)
		n = append(n, plain(drop(p.nonspacing))...)
	}
	if f.Lowercase {
		n = append(n, plain(lower)...)
	}
	return n
}

func drop(s *set) func(text string) string {
	return func(text string) string {
		return strings.Map(func(r rune) rune {
			if s.has(r) {
				return -1
			}
			return r
		}, text)
	}
}

func clean(control *set) func(text string) string {
	return func(text string) string {
		return strings.Map(func(r rune) rune {
			switch {
			case r == '\t' || r == '\n' || r == '\r':
				return ' '
			case r == 0 || r == utf8.RuneError || control.has(r):
				return -1
			case unicode.IsSpace(r):
				return ' '
			}
			return r
		}, text)
	}
}

func spaceChinese(text string) string {
	if strings.IndexFunc(text, isChinese) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if isChinese(r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isChinese reports whether a character is in BERT's blocks, one of which starts
// later than Unicode's.
func isChinese(r rune) bool {
	return r >= 0x4e00 && r <= 0x9fff || r >= 0x3400 && r <= 0x4dbf || r >= 0x20000 && r <= 0x2a6df ||
		r >= 0x2a700 && r <= 0x2b73f || r >= 0x2b740 && r <= 0x2b81f || r >= 0x2b920 && r <= 0x2ceaf ||
		r >= 0xf900 && r <= 0xfaff || r >= 0x2f800 && r <= 0x2fa1f
}

// nmt applies the rule of SentencePiece's nmt family.
func nmt(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 1 && r <= 8, r == 0xb, r >= 0xe && r <= 0x1f, r == 0x7f, r == 0x8f, r == 0x9f:
			return -1
		case r == 9, r == 10, r == 12, r == 13, r == 0x1680, r >= 0x200b && r <= 0x200f, r == 0x2028, r == 0x2029,
			r == 0x2581, r == 0xfeff, r == 0xfffd:
			return ' '
		}
		return r
	}, text)
}

// form is one of Unicode's normal forms. Characters that are newer than Hugging
// Face's tables stay unchanged. The text between them is normalized separately.
type form struct {
	form  norm.Form
	newer string
}

func (f form) of() func(text string) string {
	newer := newSet(differences["norm "+f.newer].less)
	return func(text string) string {
		if f.form.IsNormalString(text) {
			return text
		}
		var b strings.Builder
		for text != "" {
			i := strings.IndexFunc(text, newer.has)
			if i < 0 {
				i = len(text)
			}
			b.WriteString(f.apply(text[:i]))
			if text = text[i:]; text != "" {
				_, size := utf8.DecodeRuneInString(text)
				b.WriteString(text[:size])
				text = text[size:]
			}
		}
		return b.String()
	}
}

// longRun is the maximum number of marks after a character that x/text keeps
// together. After them x/text inserts U+034F, as the Stream-Safe Text Format
// requires. Hugging Face's library doesn't.
const longRun = 30

func (f form) apply(text string) string {
	run := 0
	for _, r := range text {
		if norm.NFKD.PropertiesString(string(r)).CCC() == 0 {
			run = 0
			continue
		}
		run++
		if run >= longRun/4 { // a mark has up to four when decomposed
			return f.long(text)
		}
	}
	return f.form.String(text)
}

// long is apply for texts with long runs of marks. It follows Unicode's annex 15:
// decompose, order the marks, compose.
func (f form) long(text string) string {
	decomposed := norm.NFD
	if f.form == norm.NFKC || f.form == norm.NFKD {
		decomposed = norm.NFKD
	}
	var runes []rune
	for _, r := range text {
		runes = append(runes, []rune(decomposed.String(string(r)))...)
	}
	for i := 0; i < len(runes); {
		j := i + 1
		for j < len(runes) && class(runes[j]) != 0 {
			j++
		}
		marks := runes[i:j]
		if class(marks[0]) == 0 {
			marks = marks[1:]
		}
		slices.SortStableFunc(marks, func(a, b rune) int { return class(a) - class(b) })
		i = j
	}
	if f.form == norm.NFC || f.form == norm.NFKC {
		runes = compose(runes)
	}
	return string(runes)
}

func class(r rune) int { return int(norm.NFD.PropertiesString(string(r)).CCC()) }

// compose joins each character with the starter before it if Unicode has a
// composition of both, and if no mark between them has the same or a higher
// class.
func compose(runes []rune) []rune {
	out := runes[:0]
	starter, last := -1, 0
	for _, r := range runes {
		c := class(r)
		if starter >= 0 && (last < c || (last == 0 && starter == len(out)-1)) {
			if both := []rune(norm.NFC.String(string([]rune{out[starter], r}))); len(both) == 1 {
				out[starter] = both[0]
				continue
			}
		}
		if c == 0 {
			starter = len(out)
		}
		last = c
		out = append(out, r)
	}
	return out
}
