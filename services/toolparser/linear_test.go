package toolparser

import (
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/test/cputime"
	"github.com/trident-inference/trident/test/tier"
)

// long returns texts of this size in a dialect, keyed by what they contain. A text has a call whose
// arguments don't end, escapes, many calls, repeated markers, or nested values. Others have calls that
// aren't closed, reasoning, or no calls. Each dialect has only some of these keys.
func long(o *inference.ParserOptions, size int) map[string]string {
	fill := func(start, unit string) string {
		return (start + strings.Repeat(unit, size/len(unit)+1))[:size]
	}
	start, ok := endless()[o.Tools]
	switch {
	case o.Native:
		return map[string]string{"arguments": fill("x</think>"+start, "some words, "), "thoughts": fill("", "<think> { <tool")}
	case o.Choice.Mode != inference.ToolAuto:
		return map[string]string{"arguments": fill(`[{"name": "f", "parameters": {"x": "`, "some words, ")}
	case !ok:
		return map[string]string{"thoughts": fill("<think>", "a <thought> of</ words ")}
	case o.Reasoning != "":
		return nil // this combination only chains the two dialects
	}
	return map[string]string{
		"arguments": fill(start, "some words, "),
		"escapes":   fill(start, `\\\"`),
		"calls":     fill("", start+`"`),
		"markers":   fill("", ownMarkers(o)),
		"nested":    fill(strings.TrimSuffix(start, `{"x": "`)+`{"x": `, `[{"a": `),
		"elements":  fill("", start+`x</`),
		"text":      fill("It", " is a <b>text</b> {of} [some] words.\n"),
	}
}

// ownMarkers returns the markers of a dialect, one after the other.
func ownMarkers(o *inference.ParserOptions) string {
	d, _ := toolsNamed(o.Tools)
	return strings.Join(ownFragments(d), "") + "\n{[<"
}

// TestLinearInPieces reads texts piece by piece. A whole text may take at most three times as long
// as its eight parts, each read by a separate parser. A quadratic parser would take eight times as
// long. The test measures the thread's CPU time and takes the minimum of some runs, so that other
// load on the machine has no effect.
func TestLinearInPieces(t *testing.T) {
	tier.Computes(t)
	size := tier.Size(inference.DefaultMaxParseBytes/8, inference.DefaultMaxParseBytes)
	if tier.Race {
		size /= 4
	}
	pieces := []int{1}
	if tier.Slow() {
		pieces = []int{1, 4}
	}
	for _, o := range every() {
		o.MaxBytes = 2 * size // with this limit the parser reads everything
		for name, text := range long(o, size) {
			for _, piece := range pieces {
				if parts, whole := partsAndWhole(t, o, text, piece); whole > 3*parts {
					t.Errorf("%s %s %d: %s in pieces of %d bytes take %v, an eighth of them takes %v", o.Tools, o.Reasoning, o.Choice.Mode, name, piece, whole, parts/8)
				}
			}
		}
	}
}

// partsAndWhole returns the CPU time of eight parsers for an eighth of the text each, and of one
// parser for the whole text.
func partsAndWhole(t *testing.T, o *inference.ParserOptions, text string, piece int) (parts, whole time.Duration) {
	t.Helper()
	parts, whole = time.Hour, time.Hour
	for run := 0; run < 5 && (run == 0 || whole > 3*parts); run++ {
		parts = min(parts, cputime.Of(t, func() {
			for range 8 {
				inPieces(t, o, text[:len(text)/8], piece)
			}
		}))
		whole = min(whole, cputime.Of(t, func() { inPieces(t, o, text, piece) }))
	}
	return parts, whole
}

func inPieces(t *testing.T, o *inference.ParserOptions, text string, piece int) {
	t.Helper()
	p, err := Dialects{}.Parser(o)
	if err != nil {
		t.Fatal(err)
	}
	for data := []byte(text); len(data) > 0; data = data[min(piece, len(data)):] {
		if _, state := p.Parse(data[:min(piece, len(data))]); state == inference.ParseTooLong {
			t.Fatalf("%s %s: too long with %d bytes left", o.Tools, o.Reasoning, len(data))
		}
	}
	p.Finish()
}
