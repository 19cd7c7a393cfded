package main

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// headTable is a table at the head of the report: the answers to an operator's questions.
type headTable struct {
	Title   string    `json:"title"`
	Columns []string  `json:"columns"`
	Rows    []headRow `json:"rows"`

	of []headColumn
}

// headRow is a row of a [headTable] with a cell for each column. A cell without data is nil.
type headRow struct {
	Name  string      `json:"name"`
	Cells []*headCell `json:"cells"`
}

// headCell is the values of the rounds. Interval is the 95% interval of their median, which
// fewer than 6 rounds don't have.
type headCell struct {
	spread
	Interval *interval `json:"interval,omitempty"`
}

// headColumn computes the cells of a column from a round. Its value is NaN if the round lacks
// data.
type headColumn struct {
	title string
	value func(r round, row headData) float64
}

// headData is the name of a row, and the scenario and the metric of its data.
type headData struct {
	name, scenario, metric string
}

// headStreams are the numbers of streams of the head tables.
func headStreams() []int { return []int{1, 64, 256} }

// headTables returns the tables for which the rounds have data.
func headTables(rounds []round) []*headTable {
	var known []*headTable
	for _, t := range []struct {
		title   string
		columns []headColumn
		rows    []headData
	}{
		{"Cores for 10,000 tokens/s", coreColumns(), coreRows()},
		{"Time that is added to the engine's own, in ms", delayColumns(), delayRows()},
	} {
		table := &headTable{Title: t.title, of: t.columns}
		for _, c := range t.columns {
			table.Columns = append(table.Columns, c.title)
		}
		for _, row := range t.rows {
			table.add(row, rounds)
		}
		if len(table.Rows) > 0 {
			known = append(known, table)
		}
	}
	return known
}

// add computes a row. A row without data is omitted.
func (t *headTable) add(row headData, rounds []round) {
	cells, known := make([]*headCell, len(t.of)), false
	for i, c := range t.of {
		var values []float64
		for _, r := range rounds {
			if v := c.value(r, row); !math.IsNaN(v) {
				values = append(values, v)
			}
		}
		if value, ok := spreadOf(values); ok {
			cells[i], known = &headCell{spread: value}, true
			if of := medianInterval(values); of.Coverage >= confidence {
				cells[i].Interval = &of
			}
		}
	}
	if known {
		t.Rows = append(t.Rows, headRow{Name: row.name, Cells: cells})
	}
}

// table returns the cells as text.
func (t *headTable) table() table {
	text := table{append([]string{""}, t.Columns...)}
	for _, row := range t.Rows {
		line := []string{row.Name}
		for _, c := range row.Cells {
			line = append(line, c.String())
		}
		text = append(text, line)
	}
	return text
}

// String returns the median, the minimum and maximum, and the interval if there is one.
func (c *headCell) String() string {
	switch {
	case c == nil:
		return ""
	case c.Rounds < 2:
		return fine(c.Median)
	case c.Interval == nil:
		return fmt.Sprintf("%s (%s..%s)", fine(c.Median), fine(c.Min), fine(c.Max))
	}
	return fmt.Sprintf("%s (%s..%s, 95%% %s..%s)", fine(c.Median), fine(c.Min), fine(c.Max), fine(c.Interval.Low), fine(c.Interval.High))
}

// fine is [number] with three decimals below 1.
func fine(v float64) string {
	switch size := math.Abs(v); {
	case size < 0.0005: // not -0.000
		return "0.000"
	case size < 1:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return number(v)
}

// coreRows returns the paced scenarios.
func coreRows() []headData {
	var rows []headData
	for _, pace := range []time.Duration{fastPace, stepPace} {
		for _, n := range headStreams() {
			rows = append(rows, headData{fmt.Sprintf("%s, %d ms a step", count(n), pace.Milliseconds()), pacedName(n, pace), ""})
		}
	}
	return rows
}

func coreColumns() []headColumn {
	return []headColumn{
		coresOf("in process, with Triton and the model", colLocal, serverCPU),
		coresOf("remote", colRemote, ownCPU),
		coresOf("remote, with tritonserver", colRemote, serverCPU),
		coresOf("over Trident", colOver, ownCPU),
		coresOf("over Trident, with the Trident that has Triton", colOver, serverCPU),
		coresOf("tritonserver, of a client that asks for the text alone", colText, tritonCPU),
	}
}

// coresOf returns a column of cores that 10,000 tokens/s keep busy.
func coresOf(title, column string, cpu func(r round, scenario, column string) float64) headColumn {
	const perToken = 1e-6 * 10_000 // cores for 1 µs a token
	return headColumn{title, func(r round, row headData) float64 { return cpu(r, row.scenario, column) * perToken }}
}

// ownCPU returns the CPU time of the column's own process, in µs a token.
func ownCPU(r round, scenario, column string) float64 { return r(scenario, column, cpuTrident) }

func tritonCPU(r round, scenario, column string) float64 {
	return r(scenario, column, cpuOf+roleTriton)
}

// serverCPU returns the CPU time of all processes of the column except the driver, in µs a
// token.
func serverCPU(r round, scenario, column string) float64 {
	sum := ownCPU(r, scenario, column)
	for _, role := range []string{roleTriton, roleHost, roleStubs} {
		if v := r(scenario, column, cpuOf+role); !math.IsNaN(v) {
			sum += v
		}
	}
	return sum
}

// delayRows returns the quantiles of both times for each number of streams. The time to the
// first token of one stream is that of a client that pauses, because a paced stream has few
// first tokens.
func delayRows() []headData {
	var rows []headData
	for _, n := range headStreams() {
		scenario := pacedName(n, fastPace)
		first, name := scenario, count(n)
		if n == 1 {
			first = firstToken
		}
		rows = append(rows,
			headData{name + ": first token, p50", first, first50}, headData{name + ": first token, p99", first, first99},
			headData{name + ": between tokens, p50", scenario, gap50}, headData{name + ": between tokens, p99", scenario, gap99},
		)
	}
	return rows
}

func delayColumns() []headColumn {
	return []headColumn{
		{"the engine's own", func(r round, row headData) float64 { return r(row.scenario, colEngine, row.metric) }},
		addedBy("in process", colLocal), addedBy("remote", colRemote), addedBy("over Trident", colOver),
		addedBy("bare gRPC client of tritonserver, text alone", colText),
	}
}

// addedBy returns a column of the differences to the engine loop.
func addedBy(title, column string) headColumn {
	return headColumn{title, func(r round, row headData) float64 {
		return r(row.scenario, column, row.metric) - r(row.scenario, colEngine, row.metric)
	}}
}
