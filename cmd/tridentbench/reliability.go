package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/trident-inference/trident/test/chart"
)

// Heads of the tables of a document of reliability, as far as the chart uses them.
const (
	headRuns   = "| run | requests | failed with an error | lost | with another request's token |"
	headFaults = "| fault | bound | times | failed requests | max time to error |"
)

// reliabilityChart returns a chart of the tables of a Markdown document: the requests that were lost in runs
// with faults, and the longest time until a request got its error.
func reliabilityChart(path string) (*chart.Chart, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	c := &chart.Chart{
		Title: "Requests that were lost while faults were injected", Description: "Drawn from the tables of the runs of make soak and make soak-local.",
		Notes: []string{"A lost request had neither a whole response nor an error, or had another request's token."},
	}
	heading, lines := "", strings.Split(string(text), "\n")
	for i, line := range lines {
		var section *chart.Section
		switch {
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		case strings.HasPrefix(line, headRuns):
			section, err = runsSection(rowsAfter(lines[i+1:]))
		case strings.HasPrefix(line, headFaults):
			section, err = faultsSection(heading, rowsAfter(lines[i+1:]))
		}
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", path, i+1, err)
		}
		if section != nil {
			c.Sections = append(c.Sections, *section)
		}
	}
	if len(c.Sections) == 0 {
		return nil, fmt.Errorf("%s has no table with the head %q or %q", path, headRuns, headFaults)
	}
	return c, nil
}

// rowsAfter returns the cells of a table's rows. The first line separates them from the head.
func rowsAfter(lines []string) [][]string {
	var rows [][]string
	for _, line := range lines[1:] {
		inside, ok := strings.CutPrefix(line, "| ")
		if !ok {
			break
		}
		inside = strings.ReplaceAll(strings.TrimSuffix(strings.TrimSpace(inside), " |"), "`", "")
		rows = append(rows, strings.Split(inside, " | "))
	}
	return rows
}

// runsSection returns a bar a run: the requests with a whole response, those with an error, and the lost ones.
func runsSection(rows [][]string) (*chart.Section, error) {
	s := &chart.Section{Title: "Requests of each run", Scale: "share of requests", Parts: []string{"whole response", "error, while a fault lasted", "lost"}}
	for _, row := range rows {
		var n [4]float64
		for i := range n {
			if i+1 >= len(row) {
				return nil, fmt.Errorf("the row %q has no %d cells", row, len(n)+1)
			}
			var err error
			if n[i], err = strconv.ParseFloat(strings.ReplaceAll(row[i+1], ",", ""), 64); err != nil {
				return nil, err
			}
		}
		all, failed, lost := n[0], n[1], n[2]+n[3]
		s.Bars = append(s.Bars, chart.Bar{
			Label: row[0], Own: true, Parts: []float64{(all - failed - lost) / all, failed / all, lost / all},
			Value: fmt.Sprintf("%s lost of %s, %s errors", thousands(int64(lost)), row[1], row[2]),
		})
	}
	return s, nil
}

// seconds finds a time in a cell.
var seconds = regexp.MustCompile(`([\d.]+) s\b`)

// faultsSection returns a bar a fault: the longest time until a request had its error, and the bound.
func faultsSection(heading string, rows [][]string) (*chart.Section, error) {
	s := &chart.Section{Title: heading + ": longest time until an error", Scale: "s", Parts: []string{"longest time", "up to the bound"}}
	for _, row := range rows {
		if len(row) < 4 {
			return nil, fmt.Errorf("the row %q has no 4 cells", row)
		}
		failed, _, _ := strings.Cut(row[3], ", ")
		bound := seconds.FindStringSubmatch(row[1])
		if bound == nil || len(row) < 5 {
			s.Bars = append(s.Bars, chart.Bar{Label: row[0], Own: true, Parts: []float64{0}, Value: failed + " failed"})
			continue
		}
		took := seconds.FindStringSubmatch(row[4])
		if took == nil {
			return nil, fmt.Errorf("the row %q has no time to the error", row[0])
		}
		least, _ := strconv.ParseFloat(took[1], 64) // the expression matches numbers
		most, _ := strconv.ParseFloat(bound[1], 64) // the expression matches numbers
		s.Bars = append(s.Bars, chart.Bar{
			Label: row[0], Own: true, Parts: []float64{least, max(most-least, 0)},
			Value: fmt.Sprintf("%s s of %s s, %s failed", took[1], bound[1], failed),
		})
	}
	return s, nil
}
