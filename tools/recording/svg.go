package main

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// palette has the colours of a picture.
type palette struct{ paper, ink, soft, line, prompt string }

var themes = map[string]palette{ //nolint:gochecknoglobals // a table
	"light": {paper: "#fdfdfb", ink: "#1b2422", soft: "#59655f", line: "#dcdfd8", prompt: "#0b625f"},
	"dark":  {paper: "#131716", ink: "#e3e9e6", soft: "#9ba7a2", line: "#2b3331", prompt: "#6accc2"},
}

// Sizes in the units of the picture.
const (
	charWidth = 8.43 // of a monospaced font of fontSize
	fontSize  = 14
	rowHeight = 20
	margin    = 18
	barHeight = 30
)

// svg returns the picture of a session. Each row appears at its time. Viewers without animations, and those
// that are set to reduced motion, show all rows.
func svg(rows []row, c palette) string {
	width, height := int(math.Round(columns*charWidth))+2*margin, barHeight+len(rows)*rowHeight+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-labelledby="title">
<title id="title">A terminal: %s</title>
<style>
text { font: %dpx ui-monospace, "SF Mono", "Cascadia Mono", "DejaVu Sans Mono", Menlo, Consolas, monospace; fill: %s; white-space: pre; }
.command { fill: %s; font-weight: 600; }
.comment { fill: %s; }
@media (prefers-reduced-motion: no-preference) { text { animation: show 1ms both; } }
@keyframes show { from { opacity: 0; } to { opacity: 1; } }
</style>
<rect x="0.5" y="0.5" width="%d" height="%d" rx="8" fill="%s" stroke="%s"/>
`, width, height, width, height, html.EscapeString(commands(rows)), fontSize, c.ink, c.prompt, c.soft, width-1, height-1, c.paper, c.line)
	for i := range 3 {
		fmt.Fprintf(&b, `<circle cx="%d" cy="%d" r="5" fill="%s"/>`+"\n", margin+5+i*18, margin, c.line)
	}
	for i, r := range rows {
		if r.text == "" {
			continue
		}
		class := map[rowKind]string{rowCommand: ` class="command"`, rowComment: ` class="comment"`}[r.kind]
		length := float64(len([]rune(r.text))) * charWidth
		fmt.Fprintf(&b, `<text%s x="%d" y="%d" textLength="%.1f" xml:space="preserve" style="animation-delay: %.1fs">%s</text>`+"\n",
			class, margin, barHeight+margin+i*rowHeight+fontSize, length, r.at.Seconds(), html.EscapeString(r.text))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// commands returns the commands of the session, which name the picture.
func commands(rows []row) string {
	var list []string
	for _, r := range rows {
		if text, first := strings.CutPrefix(r.text, "$ "); first && r.kind == rowCommand {
			list = append(list, text)
		}
	}
	return strings.Join(list, "; ")
}
