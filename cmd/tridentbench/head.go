package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
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

// headTables returns the tables for which the rounds have data, with the columns for which they have
// some. The peers are the columns of other projects' servers.
func headTables(rounds []round, peers []string) []*headTable {
	var known []*headTable
	for _, t := range []struct {
		title   string
		columns []headColumn
		rows    []headData
	}{
		{"Cores for 10,000 tokens/s", coreColumns(peers), coreRows()},
		{"Time that is added to the engine's own, in ms", delayColumns(peers), delayRows()},
	} {
		table := &headTable{Title: t.title, of: t.columns}
		for _, c := range t.columns {
			table.Columns = append(table.Columns, c.title)
		}
		for _, row := range t.rows {
			table.add(row, rounds)
		}
		if len(table.Rows) > 0 {
			table.omitEmpty()
			known = append(known, table)
		}
	}
	return known
}

// omitEmpty removes the columns without data.
func (t *headTable) omitEmpty() {
	for i := range slices.Backward(t.Columns) {
		if slices.ContainsFunc(t.Rows, func(row headRow) bool { return row.Cells[i] != nil }) {
			continue
		}
		t.Columns = slices.Delete(t.Columns, i, i+1)
		for j := range t.Rows {
			t.Rows[j].Cells = slices.Delete(t.Rows[j].Cells, i, i+1)
		}
	}
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
	for _, pace := range []time.Duration{fastPace, stepPace} {
		rows = append(rows, headData{fmt.Sprintf("ensemble, 64 streams, %d ms a step", pace.Milliseconds()), ensembleName(pacedName(64, pace)), ""})
	}
	return rows
}

func coreColumns(peers []string) []headColumn {
	list := []headColumn{
		coresOf("in process, with Triton and the model", colLocal, serverCPU),
		coresOf("remote", colRemote, ownCPU),
		coresOf("remote, with tritonserver", colRemote, serverCPU),
		coresOf("over Trident", colOver, ownCPU),
		coresOf("over Trident, both Tridents", colOver, serverCPU),
		coresOf("tritonserver, with the bare gRPC client, text alone", colText, tritonCPU),
		coresOf("tritonserver, with the bare gRPC client", colBare, tritonCPU),
	}
	for _, p := range peers {
		list = append(list, coresOf(p, p, ownCPU), coresOf(p+", with tritonserver", p, withTriton))
	}
	return list
}

// withTriton returns the CPU time of a column and its tritonserver, or NaN if the column has none.
func withTriton(r round, scenario, column string) float64 {
	return ownCPU(r, scenario, column) + tritonCPU(r, scenario, column)
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
	add := func(name, first, scenario string) {
		rows = append(rows,
			headData{name + ": first token, p50", first, first50}, headData{name + ": first token, p99", first, first99},
			headData{name + ": between tokens, p50", scenario, gap50}, headData{name + ": between tokens, p99", scenario, gap99},
		)
	}
	for _, n := range headStreams() {
		scenario := pacedName(n, fastPace)
		first := scenario
		if n == 1 {
			first = firstToken
		}
		add(count(n), first, scenario)
	}
	add("ensemble, one stream", ensembleName(firstToken), ensembleName(paced1))
	add("ensemble, 64 streams", ensembleName(paced64), ensembleName(paced64))
	return rows
}

func delayColumns(peers []string) []headColumn {
	list := []headColumn{
		{"the engine's own", func(r round, row headData) float64 {
			if math.IsNaN(r(row.scenario, colLocal, row.metric)) { // no row for the engine alone
				return math.NaN()
			}
			return engineTime(r, row.scenario, row.metric)
		}},
		addedBy("in process", colLocal), addedBy("remote", colRemote), addedBy("over Trident", colOver),
		addedBy("bare gRPC client of tritonserver, text alone", colText), addedBy("bare gRPC client of tritonserver", colBare),
	}
	for _, p := range peers {
		list = append(list, addedBy(p, p))
	}
	return list
}

// engineTime returns a time of the engine loop. That of a scenario of the ensemble is that of the same
// work with the tensors of the vLLM backend, because the pace is the same.
func engineTime(r round, scenario, metric string) float64 {
	return r(strings.TrimPrefix(scenario, ensembleName("")), colEngine, metric)
}

// added returns the difference of a time to that of the engine loop.
func added(r round, scenario, column, metric string) float64 {
	return r(scenario, column, metric) - engineTime(r, scenario, metric)
}

// addedBy returns a column of the differences to the engine loop.
func addedBy(title, column string) headColumn {
	return headColumn{title, func(r round, row headData) float64 { return added(r, row.scenario, column, row.metric) }}
}
