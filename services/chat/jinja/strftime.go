package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// strftime formats t with C's directives in the C locale. As in Python for a time without a zone,
// %z and %Z are empty.
func strftime(t time.Time, layout string) string {
	var b strings.Builder
	for i := 0; i < len(layout); i++ {
		if layout[i] != '%' {
			b.WriteByte(layout[i])
			continue
		}
		start := i
		i++
		flag := byte(0)
		if i < len(layout) && strings.IndexByte("-_0^#", layout[i]) >= 0 {
			flag = layout[i]
			i++
		}
		s, ok := "", false
		if i < len(layout) {
			s, ok = directive(t, layout[i])
		}
		if !ok { // C keeps unknown directives unchanged
			b.WriteString(layout[start:min(i+1, len(layout))])
			continue
		}
		b.WriteString(applyFlag(s, flag))
	}
	return b.String()
}

// applyFlag changes the padding or the case as the C library does.
func applyFlag(s string, flag byte) string {
	switch flag {
	case '-', '_':
		n := 0
		for n < len(s)-1 && s[n] == '0' && isDigitAt(s, n+1) {
			n++
		}
		if flag == '_' {
			return strings.Repeat(" ", n) + s[n:]
		}
		return strings.TrimLeft(s[n:], " ")
	case '0':
		return strings.ReplaceAll(s, " ", "0")
	case '^':
		return strings.ToUpper(s)
	case '#':
		return swapCase(s)
	}
	return s
}

// layouts are the directives that Go's time layouts can express.
var layouts = map[byte]string{
	'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'c': "Mon Jan _2 15:04:05 2006",
	'd': "02", 'D': "01/02/06", 'e': "_2", 'F': "2006-01-02", 'H': "15", 'I': "03", 'j': "002",
	'm': "01", 'M': "04", 'p': "PM", 'r': "03:04:05 PM", 'R': "15:04", 'S': "05", 'T': "15:04:05",
	'x': "01/02/06", 'X': "15:04:05", 'y': "06", 'Y': "2006", 'P': "pm",
}

func directive(t time.Time, d byte) (string, bool) {
	if layout, ok := layouts[d]; ok {
		return t.Format(layout), true
	}
	year, week := t.ISOWeek()
	sunday := int(t.Weekday())
	monday := (sunday + 6) % 7
	switch d {
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000), true
	case 'C':
		return fmt.Sprintf("%02d", t.Year()/100), true
	case 'g':
		return fmt.Sprintf("%02d", year%100), true
	case 'G':
		return strconv.Itoa(year), true
	case 'k':
		return fmt.Sprintf("%2d", t.Hour()), true
	case 'l':
		return fmt.Sprintf("%2d", (t.Hour()+11)%12+1), true
	case 's':
		return strconv.FormatInt(t.Unix(), 10), true
	case 'u':
		return strconv.Itoa(monday + 1), true
	case 'w':
		return strconv.Itoa(sunday), true
	case 'U':
		return fmt.Sprintf("%02d", (t.YearDay()+6-sunday)/7), true
	case 'W':
		return fmt.Sprintf("%02d", (t.YearDay()+6-monday)/7), true
	case 'V':
		return fmt.Sprintf("%02d", week), true
	case 'z', 'Z':
		return "", true
	case 'n':
		return "\n", true
	case 't':
		return "\t", true
	case '%':
		return "%", true
	}
	return "", false
}
