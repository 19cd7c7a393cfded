// Package chart draws bar charts as SVG, for the documents of measurements. A chart is narrow, so that a phone shows its
// texts in a readable size, and each bar has its values as text.
package chart

import (
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// Chart is a chart of horizontal bars in sections. Scales begin at 0.
type Chart struct {
	Title       string // also the accessible name
	Description string // accessible description: what is shown, from which measurement
	Sections    []Section
	Notes       []string // lines below the bars
}

// Section is bars below a title. Sections with the same Scale share a scale.
type Section struct {
	Title string
	Scale string
	// Parts are the names of the parts of its bars, or nil if the bars have one part each.
	Parts []string
	Bars  []Bar
}

// Bar is one bar, with its texts above it.
type Bar struct {
	Label string
	Value string    // the values as text, with their spread
	Parts []float64 // lengths of the parts, from 0; their sum is the length of the bar
	// Low and High are the ends of the line that shows the spread of the sum. There is no line if they are equal.
	Low, High float64
	// Own marks the bars of the project itself.
	Own bool
}

// Theme is the colors of a chart.
type Theme struct {
	// Name is the suffix of the theme's files, such as dark.
	Name string

	background, text, muted, own, other, grid string
}

// Themes returns the themes: light and dark. Texts have a contrast of at least 4.5 to the background.
func Themes() []Theme {
	return []Theme{
		{Name: "light", background: "#ffffff", text: "#1f2328", muted: "#59636e", own: "#0969da", other: "#818b98", grid: "#d1d9e0"},
		{Name: "dark", background: "#0d1117", text: "#f0f6fc", muted: "#9198a1", own: "#4493f8", other: "#656c76", grid: "#3d444d"},
	}
}

// Sizes in units of the view box. The picture is shownWidth pixels wide where there is room.
const (
	width, shownWidth = 420, 588
	margin            = 12
	inner             = width - 2*margin
	fontSize          = 12
	titleSize         = 14
	lineHeight        = 17
	barHeight         = 10
	rowGap            = 9
	// charWidth and boldWidth are the widths of an average character, as parts of the font's size. They are
	// those of DejaVu Sans, the widest of the common fonts.
	charWidth, boldWidth = 0.57, 0.64
	// fade is the opacity of each part of a bar after the previous one.
	fade = 0.45
)

// SVG returns the chart as an SVG document.
func (c *Chart) SVG(theme *Theme) []byte {
	p := painter{theme: theme, y: margin}
	p.block(c.Title, style{titleSize, theme.text, true})
	var explained []string // parts whose names were drawn
	for i := range c.Sections {
		s := &c.Sections[i]
		p.section(s, c.most(s.Scale), !slices.Equal(s.Parts, explained))
		if s.Parts != nil {
			explained = s.Parts
		}
	}
	if len(c.Notes) > 0 {
		p.y += rowGap
	}
	for _, note := range c.Notes {
		p.block(note, p.muted())
	}
	height := p.y + margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title desc" `,
		width, height, shownWidth, height*shownWidth/width)
	b.WriteString(`font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif">` + "\n")
	fmt.Fprintf(&b, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n", Escape(c.Title), Escape(c.describe()))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="6" fill="%s"/>`+"\n", width, height, theme.background)
	b.WriteString(p.out.String())
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// painter draws from top to bottom.
type painter struct {
	theme *Theme
	out   strings.Builder
	y     int // top of what comes next
}

// style is the look of a text.
type style struct {
	size  int
	color string
	bold  bool
}

// wide returns the width of a text.
func (s style) wide(text string) float64 {
	em := charWidth
	if s.bold {
		em = boldWidth
	}
	return float64(utf8.RuneCountInString(text)*s.size) * em
}

// muted returns the style of values and notes.
func (p *painter) muted() style { return style{fontSize, p.theme.muted, false} }

// block draws a text in as many lines as it takes.
func (p *painter) block(text string, look style) {
	for _, line := range wrap(text, func(line string) bool { return look.wide(line) <= inner }) {
		p.y += lineHeight
		p.line(line, margin, look, "")
	}
}

// line draws a text whose base line is a little above the current height.
func (p *painter) line(text string, x int, look style, more string) {
	if look.bold {
		more += ` font-weight="600"`
	}
	fmt.Fprintf(&p.out, `<text x="%d" y="%d" font-size="%d" fill="%s"%s>%s</text>`+"\n", x, p.y-4, look.size, look.color, more, Escape(text))
}

func (p *painter) section(s *Section, most float64, explain bool) {
	p.y += rowGap
	p.block(s.Title, style{fontSize, p.theme.text, true})
	if explain && len(s.Parts) > 1 {
		p.legend(s.Parts)
	}
	p.y += 2
	top := p.y
	for i := range s.Bars {
		p.bar(&s.Bars[i], most)
	}
	fmt.Fprintf(&p.out, `<path d="M%d %dV%d" stroke="%s"/>`+"\n", margin, top+4, p.y, p.theme.grid)
}

// legend draws the names of the parts beside samples of them, one on a line.
func (p *painter) legend(parts []string) {
	for i, name := range parts {
		p.y += lineHeight
		fmt.Fprintf(&p.out, `<rect x="%d" y="%d" width="10" height="10" fill="%s" fill-opacity="%.2f"/>`+"\n", margin, p.y-13, p.theme.text, opacity(i))
		p.line(name, margin+16, p.muted(), "")
	}
}

// bar draws the texts of a bar above it. The value is on the right, or on a line of its own if the line
// has no room.
func (p *painter) bar(b *Bar, most float64) {
	label := style{fontSize, p.theme.text, b.Own}
	p.block(b.Label, label)
	if label.wide(b.Label+"  ")+p.muted().wide(b.Value) > inner {
		p.block(b.Value, p.muted())
	} else {
		p.line(b.Value, width-margin, p.muted(), ` text-anchor="end"`)
	}
	p.y += 2
	color := p.theme.other
	if b.Own {
		color = p.theme.own
	}
	x := float64(margin)
	for i, part := range b.Parts {
		long := part / most * inner
		fmt.Fprintf(&p.out, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s" fill-opacity="%.2f" stroke="%s" stroke-width="0.5"/>`+"\n", x, p.y, max(long, 0.5), barHeight, color, opacity(i), color)
		x += long
	}
	if b.Low != b.High {
		from, to := margin+max(b.Low, 0)/most*inner, margin+b.High/most*inner
		y := p.y + barHeight/2
		fmt.Fprintf(&p.out, `<path d="M%.1f %dH%.1fM%.1f %dv6M%.1f %dv6" stroke="%s" fill="none"/>`+"\n", from, y, to, from, y-3, to, y-3, p.theme.text)
	}
	p.y += barHeight + rowGap
}

// most returns the end of a scale.
func (c *Chart) most(scale string) float64 {
	most := math.SmallestNonzeroFloat32 // if all bars are 0
	for _, s := range c.Sections {
		if s.Scale != scale {
			continue
		}
		for _, b := range s.Bars {
			sum := 0.0
			for _, part := range b.Parts {
				sum += part
			}
			most = max(most, sum, b.High)
		}
	}
	return most
}

// describe returns the description with the texts of all bars.
func (c *Chart) describe() string {
	var text strings.Builder
	text.WriteString(c.Description)
	for _, s := range c.Sections {
		separator := " " + s.Title + ": "
		for _, b := range s.Bars {
			text.WriteString(separator + b.Label + " " + b.Value)
			separator = "; "
		}
		text.WriteString(".")
	}
	return text.String()
}

// opacity returns the opacity of the part i of a bar.
func opacity(i int) float64 { return math.Pow(fade, float64(i)) }

// wrap breaks a text into lines that fit. A longer word is a line of its own.
func wrap(text string, fits func(line string) bool) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && !fits(line+" "+word) {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// Escape returns a string as text of XML.
func Escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a builder takes all
	return b.String()
}
