package chart

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"
	"testing"
)

// example has a bar of each kind: of the project and not, of one part and of two, with a spread and
// without, with short texts and with long ones.
func example() *Chart {
	long := strings.Repeat("a long label ", 8)
	return &Chart{
		Title: "Cores & more", Description: "Measured by <us>.", Notes: []string{"A note."},
		Sections: []Section{
			{Title: "One", Scale: "a", Bars: []Bar{
				{Label: "ours", Value: "10 (8..12)", Parts: []float64{10}, Low: 8, High: 12, Own: true},
				{Label: "theirs", Value: "20", Parts: []float64{20}},
			}},
			{Title: "Two", Scale: "a", Parts: []string{"first part", "second part"}, Bars: []Bar{
				{Label: long, Value: "3 + 7 = 10", Parts: []float64{3, 7}},
			}},
			{Title: "Other scale", Scale: "b", Bars: []Bar{{Label: "zero", Value: "0", Parts: []float64{0}}, {Label: "tenth", Value: "0.1", Parts: []float64{0.1}}}},
		},
	}
}

// node is an element of an SVG.
type node struct {
	XMLName xml.Name
	Attrs   []xml.Attr `xml:",any,attr"`
	Text    string     `xml:",chardata"`
	Nodes   []node     `xml:",any"`
}

func (n *node) attr(name string) string {
	for _, a := range n.Attrs {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (n *node) number(t *testing.T, name string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(n.attr(name), 64)
	if err != nil {
		t.Errorf("%s of %s: %v", name, n.XMLName.Local, err)
	}
	return v
}

// parsed returns the elements of a chart.
func parsed(t *testing.T, c *Chart, theme *Theme) *node {
	t.Helper()
	var root node
	if err := xml.Unmarshal(c.SVG(theme), &root); err != nil {
		t.Fatal(err)
	}
	return &root
}

// TestSVG checks the bars: their lengths on a shared scale, their parts, and that all is inside the picture.
func TestSVG(t *testing.T) {
	root := parsed(t, example(), &Themes()[0])
	if root.attr("viewBox") == "" || root.number(t, "width") != shownWidth {
		t.Errorf("the picture has %+v", root.Attrs)
	}
	height := root.number(t, "height") * width / shownWidth
	var bars []float64
	for i := range root.Nodes {
		n := &root.Nodes[i]
		switch {
		case n.XMLName.Local == "text":
			x, y := n.number(t, "x"), n.number(t, "y")
			if x < margin || x > width-margin || y < margin || y > height {
				t.Errorf("the text %q is at %v, %v", n.Text, x, y)
			}
			look := style{size: int(n.number(t, "font-size")), bold: n.attr("font-weight") != ""}
			if look.wide(n.Text) > inner {
				t.Errorf("the text %q is longer than a line", n.Text)
			}
		case n.XMLName.Local == "rect" && n.attr("height") == strconv.Itoa(barHeight) && n.attr("fill") != Themes()[0].text:
			bars = append(bars, n.number(t, "width"))
			if end := n.number(t, "x") + n.number(t, "width"); end > width-margin+0.5 {
				t.Errorf("a bar ends at %v", end)
			}
		}
	}
	want := []float64{inner / 2, inner, inner * 3 / 20., inner * 7 / 20., 0.5, inner}
	if len(bars) != len(want) {
		t.Fatalf("the bars are %v", bars)
	}
	for i, w := range want {
		if math.Abs(bars[i]-w) > 0.1 {
			t.Errorf("bar %d is %v long, not %v", i, bars[i], w)
		}
	}
}

// TestAccessible checks that a chart has a name, and a description with the values of all bars.
func TestAccessible(t *testing.T) {
	root := parsed(t, example(), &Themes()[0])
	texts := map[string]string{}
	for _, n := range root.Nodes {
		if id := n.attr("id"); id != "" {
			texts[id] = n.Text
		}
	}
	if root.attr("role") != "img" || root.attr("aria-labelledby") != "title desc" || texts["title"] != "Cores & more" {
		t.Errorf("got %+v, %q", root.Attrs, texts)
	}
	want := "Measured by <us>. One: ours 10 (8..12); theirs 20. Two: " + strings.Repeat("a long label ", 8) + " 3 + 7 = 10. Other scale: zero 0; tenth 0.1."
	if texts["desc"] != want {
		t.Errorf("the description is %q, not %q", texts["desc"], want)
	}
}

// TestThemes checks that the themes differ in their colors only, and that their texts are legible.
func TestThemes(t *testing.T) {
	themes := Themes()
	if len(themes) != 2 || themes[0].Name != "light" || themes[1].Name != "dark" {
		t.Fatalf("got %+v", themes)
	}
	var plain []string
	for _, theme := range themes {
		svg := string(example().SVG(&theme))
		for _, color := range []string{theme.background, theme.text, theme.muted, theme.own, theme.other, theme.grid} {
			if !strings.Contains(svg, color) {
				t.Errorf("%s: %s isn't used", theme.Name, color)
			}
			svg = strings.ReplaceAll(svg, color, "COLOR")
		}
		plain = append(plain, svg)
		for _, color := range []string{theme.text, theme.muted} {
			if ratio := contrast(t, color, theme.background); ratio < 4.5 {
				t.Errorf("%s: %s has a contrast of %.1f to the background", theme.Name, color, ratio)
			}
		}
		for _, color := range []string{theme.own, theme.other} {
			if ratio := contrast(t, color, theme.background); ratio < 3 {
				t.Errorf("%s: bars of %s have a contrast of %.1f to the background", theme.Name, color, ratio)
			}
		}
	}
	if plain[0] != plain[1] {
		t.Error("the themes differ in more than their colors")
	}
}

// contrast returns the contrast ratio of two colors by WCAG 2.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	luminance := func(color string) float64 {
		v, err := strconv.ParseUint(strings.TrimPrefix(color, "#"), 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for i, weight := range []float64{0.0722, 0.7152, 0.2126} {
			c := float64(v>>(8*i)&0xff) / 255
			if c <= 0.04045 {
				c /= 12.92
			} else {
				c = math.Pow((c+0.055)/1.055, 2.4)
			}
			sum += weight * c
		}
		return sum
	}
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}
