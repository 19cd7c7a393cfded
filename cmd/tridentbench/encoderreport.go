package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"time"
)

// write prints the report, and writes it to the files that are named.
func (b *encoderBench) write(ctx context.Context) error {
	version, err := versionOf(ctx, b.Trident)
	if err != nil {
		return err
	}
	r := &report{Rounds: b.Rounds, Took: time.Since(b.began).Round(time.Second), Figures: b.figures()}
	r.describe(b.began, version)
	r.Notes = append(r.Notes, fmt.Sprintf("Texts of %d to %d tokens, log-uniform. The model is all-MiniLM-L6-v2 in FP32; ONNX Runtime and torch have %d threads.", leastTokens, mostTokens, b.Threads))
	var text bytes.Buffer
	fmt.Fprintf(&text, "\n%s\n\n", r.header())
	r.figureTable().markdown(&text)
	b.columns().markdown(&text)
	if _, err := os.Stdout.Write(text.Bytes()); err != nil {
		return err
	}
	if b.JSON != "" {
		if err := writeJSON(b.JSON, b.runs); err != nil {
			return err
		}
	}
	if b.Report == "" {
		return nil
	}
	return writeMarked(b.Report, "make bench-encoders", text.Bytes())
}

// values returns a figure of the runs that match, by round.
func (b *encoderBench) values(like encoderRun, of func(*encoderRun) float64) map[int]float64 {
	found := map[int]float64{}
	for i := range b.runs {
		r := &b.runs[i]
		if r.Column == like.Column && r.Clients == like.Clients && r.Kind == like.Kind && r.Format == like.Format {
			found[r.Round] = of(r)
		}
	}
	return found
}

// median returns the median of a figure of the runs that match.
func (b *encoderBench) median(like encoderRun, of func(*encoderRun) float64) float64 {
	var values []float64
	for _, v := range b.values(like, of) {
		values = append(values, v)
	}
	if s, ok := spreadOf(values); ok {
		return s.Median
	}
	return math.NaN()
}

// byRound returns the results of a function for the values of two kinds of runs in the same round.
func byRound(a, b map[int]float64, do func(a, b float64) float64) (results []float64) {
	for round, v := range a {
		if other, ok := b[round]; ok {
			results = append(results, do(v, other))
		}
	}
	return results
}

// of returns the runs of a column with clients.
func (b *encoderBench) of(column string, clients int) encoderRun {
	like := encoderRun{Column: column, Clients: clients, Kind: "mixed", Format: "base64"}
	if column == colDirect {
		like.Format = ""
	}
	return like
}

// figures returns the figures with targets.
func (b *encoderBench) figures() (list []figure) {
	add := func(f figure, values []float64) {
		var ok bool
		if f.Value, ok = spreadOf(values); ok {
			list = append(list, f)
		}
	}
	ratio := func(a, b float64) float64 { return a / b }
	most := slices.Max(b.Clients)
	rate := func(column string) map[int]float64 { return b.values(b.of(column, most), (*encoderRun).rate) }
	add(figure{Name: fmt.Sprintf("texts/s ÷ loop, %d clients", most), AtLeast: 0.9}, byRound(rate(colRemote), rate(colDirect), ratio))
	for i := range b.Peer {
		column := b.Peer[i].column()
		add(figure{Name: fmt.Sprintf("texts/s ÷ %s, %d clients", column, most), AtLeast: 1.5}, byRound(rate(colRemote), rate(column), ratio))
	}
	padding := b.values(b.of(colRemote, most), func(r *encoderRun) float64 { return 100 * r.Padding })
	add(figure{Name: fmt.Sprintf("padding, %d clients", most), Unit: "%", AtMost: 10}, slices.Collect(maps.Values(padding)))
	last := func(column string) map[int]float64 {
		return b.values(b.of(column, 1), func(r *encoderRun) float64 { return r.P99 })
	}
	add(figure{Name: "p99 ÷ loop, 1 client", AtMost: 1.1}, byRound(last(colRemote), last(colDirect), ratio))
	cpu := func(column, format string, clients int) map[int]float64 {
		return b.values(encoderRun{Column: column, Clients: clients, Kind: "own", Format: format}, func(r *encoderRun) float64 { return r.CPU })
	}
	binary := cpu(colRemote, "base64", most)
	less := func(a, b float64) float64 { return a - b }
	add(figure{Name: fmt.Sprintf("CPU of a request with a text of %d tokens, base64, without tokenization", ownTokens), Unit: "µs"}, byRound(binary, cpu(colTokenizer, "", 1), less))
	add(figure{Name: "CPU of each number as JSON", Unit: "µs", AtMost: 0.1}, byRound(cpu(colRemote, "float", most), binary, func(a, b float64) float64 { return (a - b) / dimensions }))
	return list
}

// columns returns the table of all columns.
func (b *encoderBench) columns() table {
	rows := table{{"clients", "column", "texts/s", "of the loop", "p50 ms", "p99 ms", "padding"}}
	names := []string{colDirect, colRemote}
	for i := range b.Peer {
		names = append(names, b.Peer[i].column())
	}
	for _, clients := range b.Clients {
		loop := b.median(b.of(colDirect, clients), (*encoderRun).rate)
		for _, name := range names {
			like := b.of(name, clients)
			rate := b.median(like, (*encoderRun).rate)
			padding := fmt.Sprintf("%.1f %%", 100*b.median(like, func(r *encoderRun) float64 { return r.Padding }))
			if name != colDirect && name != colRemote {
				padding = "" // it isn't known
			}
			rows = append(rows, []string{
				fmt.Sprint(clients), name, fmt.Sprintf("%.1f", rate), fmt.Sprintf("%.2f", rate/loop),
				fmt.Sprintf("%.1f", b.median(like, func(r *encoderRun) float64 { return r.P50 })),
				fmt.Sprintf("%.1f", b.median(like, func(r *encoderRun) float64 { return r.P99 })), padding,
			})
		}
	}
	return rows
}
