package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// report is the result of a benchmark run, as written to the JSON file.
type report struct {
	Command string        `json:"command,omitempty"` // target of make that writes the report
	Machine string        `json:"machine"`
	Cores   int           `json:"cores"`
	Date    string        `json:"date"`
	Version string        `json:"version"`
	Quick   bool          `json:"quick,omitempty"`
	Rounds  int           `json:"rounds"`
	Took    time.Duration `json:"took"`
	Notes   []string      `json:"notes,omitempty"` // what the settings of the run leave out
	Peers   []string      `json:"peers,omitempty"` // columns of other projects' servers

	Scenarios []*measured  `json:"scenarios"`
	Head      []*headTable `json:"head"`
	Figures   []figure     `json:"figures"`
}

// measured is a scenario's samples.
type measured struct {
	Name    string     `json:"name"`
	Title   string     `json:"title"`
	Work    job        `json:"work"`
	Columns []*samples `json:"columns"`
}

// samples are a column's samples by round. Samples from before the rounds have
// round 0.
type samples struct {
	Column string         `json:"column"`
	Rounds map[int]sample `json:"rounds"`
}

// describe records the machine and the version of Trident.
func (r *report) describe(began time.Time, version string) {
	r.Machine, r.Cores, r.Date = machine(), runtime.NumCPU(), began.UTC().Format("2006-01-02 15:04 MST")
	r.Version = version + ", " + runtime.Version()
}

func (r *report) add(s *scenario, column string, round int, got sample) {
	m := r.scenario(s.name)
	if m == nil {
		m = &measured{Name: s.name, Title: s.title, Work: s.job}
		r.Scenarios = append(r.Scenarios, m)
	}
	c := m.column(column)
	if c == nil {
		c = &samples{Column: column, Rounds: map[int]sample{}}
		m.Columns = append(m.Columns, c)
	}
	c.Rounds[round] = got
}

func (r *report) scenario(name string) *measured {
	for _, m := range r.Scenarios {
		if m.Name == name {
			return m
		}
	}
	return nil
}

func (m *measured) column(name string) *samples {
	for _, c := range m.Columns {
		if c.Column == name {
			return c
		}
	}
	return nil
}

// finish computes the tables and the figures from the samples.
func (r *report) finish(took time.Duration, figures []figure) {
	r.Took = took.Round(time.Second)
	rounds := r.rounds()
	r.Head = headTables(rounds, r.Peers)
	r.Figures = evaluate(figures, rounds)
}

// rounds returns the samples of each round.
func (r *report) rounds() []round {
	var rounds []round
	for i := range r.Rounds + 1 {
		rounds = append(rounds, func(scenario, column, metric string) float64 {
			if m := r.scenario(scenario); m != nil {
				if c := m.column(column); c != nil {
					if v, ok := c.Rounds[i][metric]; ok {
						return v
					}
				}
			}
			return math.NaN()
		})
	}
	return rounds
}

// of returns the values of the rounds for a metric, or false if no round has it.
func (s *samples) of(metric string) (spread, bool) {
	var values []float64
	for _, got := range s.Rounds {
		if v, ok := got[metric]; ok {
			values = append(values, v)
		}
	}
	return spreadOf(values)
}

// table is rows of cells. The first row is the head.
type table [][]string

// figureTable returns a table of the figures with their targets.
func (r *report) figureTable() table {
	t := table{{"figure", "target", "median", "min..max", "result"}}
	for i := range r.Figures {
		f := &r.Figures[i]
		mark, met := "", ""
		switch {
		case f.AtLeast != 0:
			mark = "≥ " + number(f.AtLeast)
		case f.AtMost != 0:
			mark = "≤ " + number(f.AtMost)
		}
		if mark != "" {
			met = "met"
			if !f.met() {
				met = "MISSED"
			}
		}
		unit := func(s string) string { return strings.TrimSpace(s + " " + f.Unit) }
		if mark != "" {
			mark = unit(mark)
		}
		t = append(t, []string{f.Name, mark, unit(number(f.Value.Median)), number(f.Value.Min) + ".." + number(f.Value.Max), met})
	}
	return t
}

// shown returns the metrics of the tables, in order. Metrics that no column of a
// scenario has are omitted.
func shown() []string {
	return []string{
		tokenRate, requestRate, first50, first99, gap50, gap99,
		cpuTrident, cpuOf + roleTriton, cpuOf + roleHost, cpuOf + roleStubs, allServers, cpuOf + roleDriver, chatCPU, busyShare,
		memoryOf + roleTrident, memoryOf + roleTriton, memoryOf + roleHost, allocations, allocBytes, perWrite, growth,
		answered, unanswered, cutOff, idleCores,
	}
}

// table returns the table of a scenario. It has the medians, the spread of the
// rate and of Trident's CPU time, and the rate and the CPU time as multiples of
// the calibration.
func (m *measured) table(unit *samples) table {
	var metrics []string
	for _, metric := range shown() {
		if slices.ContainsFunc(m.Columns, func(c *samples) bool { _, ok := c.of(metric); return ok }) {
			metrics = append(metrics, metric)
		}
	}
	t := table{append([]string{""}, metrics...)}
	for _, c := range m.Columns {
		row := []string{c.Column}
		for _, metric := range metrics {
			row = append(row, c.cell(metric, unit))
		}
		t = append(t, row)
	}
	return t
}

func (s *samples) cell(metric string, unit *samples) string {
	value, ok := s.of(metric)
	if !ok {
		return ""
	}
	text := number(value.Median)
	if metric != tokenRate && metric != cpuTrident {
		return text
	}
	if value.Rounds > 1 {
		text += " (" + number(value.Min) + ".." + number(value.Max) + ")"
	}
	if unit != nil {
		if one, ok := unit.of(metric); ok && one.Median > 0 {
			text += " = " + number(value.Median/one.Median) + "×"
		}
	}
	return text
}

// unit returns the calibration: the canned server with 64 streams and one token
// per write.
func (r *report) unit() *samples {
	if m := r.scenario(flat64); m != nil {
		return m.column(colCanned)
	}
	return nil
}

// number formats v with three significant digits.
func number(v float64) string {
	switch size := math.Abs(v); {
	case size < 0.005: // not -0.00
		return "0.00"
	case size >= 1000:
		digits := math.Pow(10, math.Floor(math.Log10(size))-2)
		return thousands(int64(math.Round(v/digits) * digits))
	case size >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func thousands(v int64) string {
	text := strconv.FormatInt(v, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func (r *report) header() string {
	quick := ""
	if r.Quick {
		quick = " This was a quick run: the figures aren't reliable."
	}
	head := fmt.Sprintf("%s; %d cores of %s; Trident %s; rounds: %d, in %s.%s", r.Date, r.Cores, r.Machine, r.Version, r.Rounds, r.Took, quick)
	return strings.Join(append([]string{head}, r.Notes...), "\n")
}

func (r *report) text() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n", r.header())
	for _, m := range r.Scenarios {
		fmt.Fprintf(&b, "%s: %s\n", m.Name, m.Title)
		m.table(r.unit()).transposed().text(&b)
	}
	for _, t := range r.Head {
		fmt.Fprintf(&b, "%s\n", t.Title)
		t.table().text(&b)
	}
	r.figureTable().text(&b)
	return b.String()
}

// text formats the table for the terminal.
func (t table) text(b *bytes.Buffer) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, row := range t {
		_, _ = fmt.Fprintf(w, "%s\n", strings.Join(row, "\t"))
	}
	_ = w.Flush() // writing to a buffer never fails
	b.WriteByte('\n')
}

// transposed returns the table with a row per metric, because there are more
// metrics than columns.
func (t table) transposed() table {
	turned := make(table, len(t[0]))
	for _, row := range t {
		for i, cell := range row {
			turned[i] = append(turned[i], cell)
		}
	}
	return turned
}

func (t table) markdown(b *bytes.Buffer) {
	for i, row := range t {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	b.WriteByte('\n')
}

// Markers in the Markdown file with the results of a target of make, which writes the text between
// the markers.
const (
	reportBegin = "<!-- %s writes from here -->\n"
	reportEnd   = "<!-- to here -->\n"
)

// writeMarked replaces the text between the markers of a command in a file.
func writeMarked(path, command string, report []byte) error {
	begin := fmt.Sprintf(reportBegin, command)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, opened := bytes.Cut(text, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(reportEnd))
	if !opened || !closed {
		return fmt.Errorf("%s lacks the lines %q and %q", path, begin, reportEnd)
	}
	return os.WriteFile(path, slices.Concat(before, []byte(begin), report, []byte(reportEnd), after), 0o600) //nolint:gosec // the user names the file
}

func (r *report) markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "\n%s\n\n", r.header())
	for _, t := range r.Head {
		fmt.Fprintf(&b, "### %s\n\n", t.Title)
		t.table().markdown(&b)
	}
	b.WriteString("### Ratios and other figures\n\n")
	r.figureTable().markdown(&b)
	for _, m := range r.Scenarios {
		fmt.Fprintf(&b, "### %s%s\n\n", strings.ToUpper(m.Title[:1]), m.Title[1:])
		m.table(r.unit()).transposed().markdown(&b)
	}
	return b.Bytes()
}

// write prints the report, and writes it to the files that are named.
func (r *report) write(jsonFile, markdownFile string) error {
	_, err := os.Stdout.WriteString(r.text())
	if jsonFile != "" {
		err = errors.Join(err, writeJSON(jsonFile, r))
	}
	if markdownFile != "" {
		err = errors.Join(err, writeMarked(markdownFile, r.Command, r.markdown()))
	}
	return err
}

// writeJSON writes a value to a file.
func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}
