package tokenizer

import (
	"slices"
	"strings"
	"unicode"
)

// Hugging Face's tokenizers takes its knowledge of characters from four places,
// each of another version of Unicode, none of them Go's. The tables of
// unicode_tables.go are the differences; their names:
//
//	onig   Oniguruma, which runs the regular expressions of a file
//	rust   Rust's own char and the regex crate
//	old    the crate unicode_categories, for BERT's rules
//	norm   the crate unicode-normalization-alignments, for normal forms and accents

// correct is what the named place takes for ranges of Go's.
func correct(name string, ranges []span32) []span32 {
	d := differences[name]
	return without(union(ranges, d.more), d.less)
}

// difference is what a set has more, and less, than Go's.
type difference struct{ more, less []span32 }

// categories are the general categories of which \p{...} is made, Cn aside.
func categories() []string {
	return []string{
		"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po",
		"Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co",
	}
}

// scripts are those that \p{...} may name.
func scripts() []string {
	return []string{
		"Arabic", "Armenian", "Bengali", "Cyrillic", "Devanagari", "Georgian", "Greek", "Han", "Hangul", "Hebrew", "Hiragana",
		"Katakana", "Latin", "Tamil", "Thai",
	}
}

// onigClass are the code points of \p{name} in Oniguruma, nil for an unknown name.
func onigClass(name string) []span32 {
	if name == "C" {
		return complement(onigUnion("L", "M", "N", "P", "S", "Z"))
	}
	if name == "Cn" {
		return complement(onigUnion(categories()...))
	}
	var parts [][]span32
	for _, category := range categories() {
		if strings.HasPrefix(category, name) && name != "" {
			parts = append(parts, correct("onig "+category, table(unicode.Categories[category])))
		}
	}
	if slices.Contains(scripts(), name) {
		parts = append(parts, correct("onig "+name, table(unicode.Scripts[name])))
	}
	return union(parts...)
}

func onigUnion(names ...string) []span32 {
	var parts [][]span32
	for _, name := range names {
		parts = append(parts, onigClass(name))
	}
	return union(parts...)
}

// onigWord is \w. Oniguruma takes Latin-1's numbers that are no digits for parts of
// words, but not in brackets.
func onigWord(inBrackets bool) []span32 {
	word := union(onigUnion("L", "M", "Nd", "Nl", "Pc"), table(unicode.Other_Alphabetic))
	if inBrackets {
		return word
	}
	return union(word, []span32{{0xb2, 0xb3}, {0xb9, 0xb9}, {0xbc, 0xbe}})
}

// onigSpace is \s.
func onigSpace() []span32 { return table(unicode.White_Space) }

// properties are the sets of which the normalizers and splitters of a file are
// made. They are built once, when the first tokenizer is.
type properties struct {
	word        *set // \w of the regex crate
	numeric     *set // char::is_numeric
	punctuation *set // BERT's: ASCII's and the category P
	control     *set // BERT's: other than a letter, mark, number, symbol or space
	nonspacing  *set // accents that BERT strips
	mark        *set // accents that StripAccents strips
}

func newProperties() *properties {
	ascii := []span32{{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}
	base := func(name string) *set { return newSet(correct(name, baseOf(name))) }
	return &properties{
		word: base("rust w"), numeric: base("rust N"), control: base("old C"), nonspacing: base("old Mn"), mark: base("norm M"),
		punctuation: newSet(union(ascii, correct("old P", baseOf("old P")))),
	}
}

// baseOf is what Go's Unicode has for a set of properties.
func baseOf(name string) []span32 {
	switch name {
	case "rust w":
		return table(unicode.L, unicode.Nl, unicode.Other_Alphabetic, unicode.M, unicode.Nd, unicode.Pc, unicode.Join_Control)
	case "rust N":
		return table(unicode.N)
	case "old P":
		return table(unicode.P)
	case "old C":
		return table(unicode.Cc, unicode.Cf, unicode.Co)
	case "old Mn":
		return table(unicode.Mn)
	case "norm M":
		return table(unicode.M)
	}
	return nil
}

// lower is Rust's lower case of a text, character by character.
func lower(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for _, r := range text {
		if r == 'İ' {
			b.WriteString("i\u0307")
		} else {
			b.WriteRune(lowerRune(r))
		}
	}
	return b.String()
}

func lowerRune(r rune) rune {
	if r >= 0x1c89 { // where Go's Unicode begins to lack some
		for _, l := range newerLower {
			if r >= l.lo && r <= l.hi {
				return r + l.by
			}
		}
	}
	return unicode.ToLower(r)
}

// shift is that each of some code points becomes another, that much further on.
type shift struct{ lo, hi, by rune }
