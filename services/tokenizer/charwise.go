package tokenizer

import (
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// charwise applies a normalizer to each character by itself, and keeps the results. The normalizer
// may order marks and remove them afterwards. Texts with marks that it keeps are normalized as a
// whole, because their order may change.
type charwise struct {
	of normalizer
	// orders reports whether the normalizer orders marks.
	orders bool
	pages  [(unicode.MaxRune + 1) / pageSize]atomic.Pointer[page]
}

const pageSize = 256

func newCharwise(of normalizer, orders bool) *charwise { return &charwise{of: of, orders: orders} }

// page has the results for adjacent characters.
type page struct {
	results [pageSize]string
	// same has the characters that don't change, and whole those that need their context.
	same, whole [pageSize]bool
}

func (c *charwise) page(r rune) (*page, error) {
	slot := &c.pages[r/pageSize]
	if known := slot.Load(); known != nil {
		return known, nil
	}
	p := &page{}
	for i := range p.results {
		char := string(r/pageSize*pageSize + rune(i)) // a surrogate becomes U+FFFD, but no text has one
		to, err := c.of.apply(char)
		if err != nil {
			return nil, err
		}
		p.results[i], p.same[i] = to, to == char
		for _, r := range to {
			if c.orders && norm.NFD.PropertiesString(string(r)).CCC() != 0 {
				p.whole[i] = true
			}
		}
	}
	slot.Store(p)
	return p, nil
}

func (c *charwise) apply(text string) (string, error) {
	ascii, err := c.page(0)
	if err != nil {
		return "", err
	}
	w := rewriter{text: text}
	for at := 0; at < len(text); {
		if b := text[at]; b < utf8.RuneSelf {
			if !ascii.same[b] {
				w.replace(at, at+1, ascii.results[b])
			}
			at++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[at:])
		p, err := c.page(r)
		if err != nil {
			return "", err
		}
		switch i := r % pageSize; {
		case p.whole[i]:
			return c.of.apply(text)
		case !p.same[i]:
			w.replace(at, at+size, p.results[i])
		}
		at += size
	}
	return w.end(), nil
}
