package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/trident-inference/trident/test/chart"
)

// Sizes of a plot, in pixels, and its time axis in powers of ten of seconds.
const (
	plotWidth, plotHeight = 720, 400
	plotLeft, plotTop     = 60, 40
	plotRight, plotBottom = 190, 50
	firstPower, lastPower = -2, 3
	plotPoints            = 200
)

// plot returns an SVG of the distribution of times to the first token: the share of requests
// that had it within a time, one line a rule.
func plot(title string, results []result) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, `<text x="%d" y="22" font-size="14">%s: share of requests with their first token within a time</text>`+"\n", plotLeft, chart.Escape(title))
	plotAxes(&b)
	for i, r := range results {
		color := plotColor(i, len(results))
		width := 1.5
		if r.info.name == "trident" {
			color, width = "#000000", 3
		}
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="%g" points="`, color, width)
		for point := range plotPoints + 1 {
			share := float64(point) / plotPoints
			fmt.Fprintf(&b, "%.1f,%.1f ", plotX(r.percentile(share)), plotY(share))
		}
		b.WriteString("\"/>\n")
		y := plotTop + 12 + 20*i
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="14" height="4" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n",
			plotWidth-plotRight+15, y-5, color, plotWidth-plotRight+35, y, chart.Escape(r.info.name))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// plotAxes draws the lines of the grid and their labels.
func plotAxes(b *strings.Builder) {
	for power := firstPower; power <= lastPower; power++ {
		x := plotX(math.Pow10(power))
		fmt.Fprintf(b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#ddd"/>`, x, plotTop, x, plotHeight-plotBottom)
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%g s</text>`+"\n", x, plotHeight-plotBottom+18, math.Pow10(power))
	}
	for percent := 0; percent <= 100; percent += 20 {
		y := plotY(float64(percent) / 100)
		fmt.Fprintf(b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/>`, plotLeft, y, plotWidth-plotRight, y)
		fmt.Fprintf(b, `<text x="%d" y="%.1f" text-anchor="end">%d %%</text>`+"\n", plotLeft-8, y+4, percent)
	}
}

// plotX returns the horizontal place of a time in seconds.
func plotX(seconds float64) float64 {
	power := math.Log10(max(seconds, math.Pow10(firstPower)))
	return plotLeft + (min(power, lastPower)-firstPower)/(lastPower-firstPower)*(plotWidth-plotLeft-plotRight)
}

// plotY returns the vertical place of a share.
func plotY(share float64) float64 {
	return plotHeight - plotBottom - share*(plotHeight-plotTop-plotBottom)
}

// plotColor returns a color that differs from those of the other lines.
func plotColor(i, n int) string { return fmt.Sprintf("hsl(%d, 75%%, 45%%)", 360*i/n) }
