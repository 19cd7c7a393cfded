package tokenizer

import (
	"slices"
	"strings"
	"unicode"
)

// Hugging Face's tokenizers library uses four sources of character properties. Each
// has a different version of Unicode, and none has Go's. The tables of
// unicode_tables.go are the differences from Go, by the names of the sources:
//
//	onig   Oniguruma, which runs the regular expressions of a file
//	rust   Rust's own char and the regex crate
//	old    the crate unicode_categories, for BERT's rules
//	norm   the crate unicode-normalization-alignments, for normal forms and accents

// correct converts ranges of Go's to those of the named source.
func correct(name string, ranges []span32) []span32 {
	d := differences[name]
	return without(union(ranges, d.more), d.less)
}

// difference is the code points that a set has in addition to Go's, and those that it lacks.
type difference struct{ more, less []span32 }

// categories returns the general categories of \p{...}, except Cn.
func categories() []string {
	return []string{
		"Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po",
		"Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co",
	}
}

// scripts returns the scripts that \p{...} may name.
func scripts() []string {
	return []string{
		"Arabic", "Armenian", "Bengali", "Cyrillic", "Devanagari", "Georgian", "Greek", "Han", "Hangul", "Hebrew", "Hiragana",
		"Katakana", "Latin", "Tamil", "Thai",
	}
}

// onigClass returns the code points of \p{name} in Oniguruma, or nil for an unknown
// name.
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

// onigWord returns the code points of \w. Oniguruma includes Latin-1's numbers that
// aren't digits, but not in brackets.
func onigWord(inBrackets bool) []span32 {
	word := union(onigUnion("L", "M", "Nd", "Nl", "Pc"), table(unicode.Other_Alphabetic))
	if inBrackets {
		return word
	}
	return union(word, []span32{{0xb2, 0xb3}, {0xb9, 0xb9}, {0xbc, 0xbe}})
}

// onigSpace returns the code points of \s.
func onigSpace() []span32 { return table(unicode.White_Space) }

// properties are the sets that the normalizers and splitters of a file use. They
// are built once, with the first tokenizer.
type properties struct {
	word        *set // characters of \w in the regex crate
	numeric     *set // characters for which Rust's char::is_numeric is true
	punctuation *set // BERT's: ASCII punctuation and the category P
	control     *set // BERT's: characters other than letters, marks, numbers, symbols or spaces
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

// baseOf returns the code points that Go's Unicode tables have for a named set.
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

// lower returns the lower case of a text as Rust computes it, character by
// character.
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
	if r >= 0x1c89 { // the first character whose lower case Go's tables may lack
		for _, l := range newerLower {
			if r >= l.lo && r <= l.hi {
				return r + l.by
			}
		}
	}
	return unicode.ToLower(r)
}

// shift maps the code points lo..hi to code points that are greater by `by`.
type shift struct{ lo, hi, by rune }
