package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// upperOf lists the characters whose upper case has several characters (Unicode's SpecialCasing,
// unconditional rules). It has pairs of a character and its upper case, separated by blanks.
const upperOf = "" +
	"\u00dfSS \u0149\u02bcN \u01f0J\u030c \u0390\u0399\u0308\u0301 \u03b0\u03a5\u0308\u0301 " +
	"\u0587\u0535\u0552 \u1e96H\u0331 \u1e97T\u0308 \u1e98W\u030a \u1e99Y\u030a \u1e9aA\u02be " +
	"\u1f50\u03a5\u0313 \u1f52\u03a5\u0313\u0300 \u1f54\u03a5\u0313\u0301 \u1f56\u03a5\u0313\u0342 " +
	"\u1f80\u1f08\u0399 \u1f81\u1f09\u0399 \u1f82\u1f0a\u0399 \u1f83\u1f0b\u0399 \u1f84\u1f0c\u0399 " +
	"\u1f85\u1f0d\u0399 \u1f86\u1f0e\u0399 \u1f87\u1f0f\u0399 \u1f88\u1f08\u0399 \u1f89\u1f09\u0399 " +
	"\u1f8a\u1f0a\u0399 \u1f8b\u1f0b\u0399 \u1f8c\u1f0c\u0399 \u1f8d\u1f0d\u0399 \u1f8e\u1f0e\u0399 " +
	"\u1f8f\u1f0f\u0399 \u1f90\u1f28\u0399 \u1f91\u1f29\u0399 \u1f92\u1f2a\u0399 \u1f93\u1f2b\u0399 " +
	"\u1f94\u1f2c\u0399 \u1f95\u1f2d\u0399 \u1f96\u1f2e\u0399 \u1f97\u1f2f\u0399 \u1f98\u1f28\u0399 " +
	"\u1f99\u1f29\u0399 \u1f9a\u1f2a\u0399 \u1f9b\u1f2b\u0399 \u1f9c\u1f2c\u0399 \u1f9d\u1f2d\u0399 " +
	"\u1f9e\u1f2e\u0399 \u1f9f\u1f2f\u0399 \u1fa0\u1f68\u0399 \u1fa1\u1f69\u0399 \u1fa2\u1f6a\u0399 " +
	"\u1fa3\u1f6b\u0399 \u1fa4\u1f6c\u0399 \u1fa5\u1f6d\u0399 \u1fa6\u1f6e\u0399 \u1fa7\u1f6f\u0399 " +
	"\u1fa8\u1f68\u0399 \u1fa9\u1f69\u0399 \u1faa\u1f6a\u0399 \u1fab\u1f6b\u0399 \u1fac\u1f6c\u0399 " +
	"\u1fad\u1f6d\u0399 \u1fae\u1f6e\u0399 \u1faf\u1f6f\u0399 \u1fb2\u1fba\u0399 \u1fb3\u0391\u0399 " +
	"\u1fb4\u0386\u0399 \u1fb6\u0391\u0342 \u1fb7\u0391\u0342\u0399 \u1fbc\u0391\u0399 " +
	"\u1fc2\u1fca\u0399 \u1fc3\u0397\u0399 \u1fc4\u0389\u0399 \u1fc6\u0397\u0342 " +
	"\u1fc7\u0397\u0342\u0399 \u1fcc\u0397\u0399 \u1fd2\u0399\u0308\u0300 \u1fd3\u0399\u0308\u0301 " +
	"\u1fd6\u0399\u0342 \u1fd7\u0399\u0308\u0342 \u1fe2\u03a5\u0308\u0300 \u1fe3\u03a5\u0308\u0301 " +
	"\u1fe4\u03a1\u0313 \u1fe6\u03a5\u0342 \u1fe7\u03a5\u0308\u0342 \u1ff2\u1ffa\u0399 " +
	"\u1ff3\u03a9\u0399 \u1ff4\u038f\u0399 \u1ff6\u03a9\u0342 \u1ff7\u03a9\u0342\u0399 " +
	"\u1ffc\u03a9\u0399 \ufb00FF \ufb01FI \ufb02FL \ufb03FFI \ufb04FFL \ufb05ST \ufb06ST " +
	"\ufb13\u0544\u0546 \ufb14\u0544\u0535 \ufb15\u0544\u053b \ufb16\u054e\u0546 \ufb17\u0544\u053d"

// titleOf is upperOf for title case, if that differs from the upper case.
const titleOf = "" +
	"\u00dfSs \u0587\u0535\u0582 \u1f80\u1f88 \u1f81\u1f89 \u1f82\u1f8a \u1f83\u1f8b \u1f84\u1f8c " +
	"\u1f85\u1f8d \u1f86\u1f8e \u1f87\u1f8f \u1f88\u1f88 \u1f89\u1f89 \u1f8a\u1f8a \u1f8b\u1f8b " +
	"\u1f8c\u1f8c \u1f8d\u1f8d \u1f8e\u1f8e \u1f8f\u1f8f \u1f90\u1f98 \u1f91\u1f99 \u1f92\u1f9a " +
	"\u1f93\u1f9b \u1f94\u1f9c \u1f95\u1f9d \u1f96\u1f9e \u1f97\u1f9f \u1f98\u1f98 \u1f99\u1f99 " +
	"\u1f9a\u1f9a \u1f9b\u1f9b \u1f9c\u1f9c \u1f9d\u1f9d \u1f9e\u1f9e \u1f9f\u1f9f \u1fa0\u1fa8 " +
	"\u1fa1\u1fa9 \u1fa2\u1faa \u1fa3\u1fab \u1fa4\u1fac \u1fa5\u1fad \u1fa6\u1fae \u1fa7\u1faf " +
	"\u1fa8\u1fa8 \u1fa9\u1fa9 \u1faa\u1faa \u1fab\u1fab \u1fac\u1fac \u1fad\u1fad \u1fae\u1fae " +
	"\u1faf\u1faf \u1fb2\u1fba\u0345 \u1fb3\u1fbc \u1fb4\u0386\u0345 \u1fb7\u0391\u0342\u0345 " +
	"\u1fbc\u1fbc \u1fc2\u1fca\u0345 \u1fc3\u1fcc \u1fc4\u0389\u0345 \u1fc7\u0397\u0342\u0345 " +
	"\u1fcc\u1fcc \u1ff2\u1ffa\u0345 \u1ff3\u1ffc \u1ff4\u038f\u0345 \u1ff7\u03a9\u0342\u0345 " +
	"\u1ffc\u1ffc \ufb00Ff \ufb01Fi \ufb02Fl \ufb03Ffi \ufb04Ffl \ufb05St \ufb06St \ufb13\u0544\u0576 " +
	"\ufb14\u0544\u0565 \ufb15\u0544\u056b \ufb16\u054e\u0576 \ufb17\u0544\u056d"

var (
	upperTable = caseTable(upperOf)
	titleTable = caseTable(titleOf)
)

func caseTable(pairs string) map[rune]string {
	table := map[rune]string{}
	for pair := range strings.FieldsSeq(pairs) {
		r, size := utf8.DecodeRuneInString(pair)
		table[r] = pair[size:]
	}
	return table
}

func upper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	var b strings.Builder
	for _, r := range s {
		if special, ok := upperTable[r]; ok {
			b.WriteString(special)
		} else {
			b.WriteRune(unicode.ToUpper(r))
		}
	}
	return b.String()
}

func titleRune(b *strings.Builder, r rune) {
	if special, ok := titleTable[r]; ok {
		b.WriteString(special)
	} else if special, ok := upperTable[r]; ok {
		b.WriteString(special)
	} else {
		b.WriteRune(unicode.ToTitle(r))
	}
}

func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	for i, r := range s {
		lowerRune(&b, s, i, r)
	}
	return b.String()
}

// lowerRune writes the lower case of r, which is s[i:]. A sigma at the end of a word has a special
// form.
func lowerRune(b *strings.Builder, s string, i int, r rune) {
	switch {
	case r == 'Σ' && endsWord(s, i):
		b.WriteRune('ς')
	case r == 'İ':
		b.WriteString("i\u0307")
	default:
		b.WriteRune(unicode.ToLower(r))
	}
}

func endsWord(s string, i int) bool {
	return isCased(nearestLetter(s[:i], true)) && !isCased(nearestLetter(s[i+len("Σ"):], false))
}

// nearestLetter returns the first character from the end or the start that isn't case-ignorable, or
// 0.
func nearestLetter(s string, fromEnd bool) rune {
	for s != "" {
		r, size := utf8.DecodeRuneInString(s)
		if fromEnd {
			r, size = utf8.DecodeLastRuneInString(s)
			s = s[:len(s)-size]
		} else {
			s = s[size:]
		}
		if !unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) && !strings.ContainsRune("'.:·’", r) {
			return r
		}
	}
	return 0
}

func isLower(r rune) bool { return unicode.IsLower(r) || unicode.Is(unicode.Other_Lowercase, r) }
func isUpper(r rune) bool { return unicode.IsUpper(r) || unicode.Is(unicode.Other_Uppercase, r) }
func isCased(r rune) bool { return isLower(r) || isUpper(r) || unicode.IsTitle(r) }

// capitalize is Python's str.capitalize: the first character in title case, the rest in lower case.
func capitalize(s string) string {
	var b strings.Builder
	for i, r := range s {
		if i == 0 {
			titleRune(&b, r)
		} else {
			lowerRune(&b, s, i, r)
		}
	}
	return b.String()
}

// title is Python's str.title: each run of cased letters starts with title case.
func title(s string) string {
	var b strings.Builder
	inWord := false
	for i, r := range s {
		if inWord {
			lowerRune(&b, s, i, r)
		} else {
			titleRune(&b, r)
		}
		inWord = isCased(r)
	}
	return b.String()
}

func swapCase(s string) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case isUpper(r):
			lowerRune(&b, s, i, r)
		case isLower(r):
			b.WriteString(upper(string(r)))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// allCased reports whether s has cased letters and want is true for all of them.
func allCased(s string, want func(rune) bool) bool {
	found := false
	for _, r := range s {
		if isCased(r) {
			if !want(r) {
				return false
			}
			found = true
		}
	}
	return found
}
