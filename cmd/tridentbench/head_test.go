package main

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// headReport returns a report of the scenarios of the head tables, with rounds that differ by a
// factor, and with a peer.
func headReport(rounds int) *report {
	r := &report{
		Machine: "a CPU, Linux", Cores: 2, Date: "2026-01-02", Version: "v1", Rounds: rounds, Peers: []string{"other"},
		Notes: []string{"other: no CPU time and memory, because --peer has no pid=PID for it"},
	}
	costs := map[string]sample{
		colEngine: {cpuTrident: 4, first50: 5, first99: 10, gap50: 10, gap99: 11},
		colLocal:  {cpuTrident: 8, first50: 6, first99: 12, gap50: 10, gap99: 12},
		colText:   {cpuTrident: 5, cpuOf + roleTriton: 10, first50: 7, first99: 13, gap50: 10, gap99: 12, tokenRate: 30_000},
		colRemote: {cpuTrident: 12, cpuOf + roleTriton: 13, cpuOf + roleStubs: 1, first50: 8, first99: 16, gap50: 10, gap99: 14, tokenRate: 24_000},
		colOver:   {cpuTrident: 6, cpuOf + roleHost: 9, first50: 9, first99: 14, gap50: 10, gap99: 13, busyShare: 0.95},
		"other":   {tokenRate: 16_000},
	}
	for _, s := range []scenario{
		{name: firstToken, title: "one client that pauses"},
		{name: flat64, title: "64 streams flat out"},
		paced(1, fastPace), paced(64, fastPace), paced(64, stepPace),
	} {
		for _, column := range []string{colEngine, colLocal, colText, colRemote, colOver, "other"} {
			for i := range rounds {
				got := sample{}
				for metric, v := range costs[column] {
					got[metric] = v * (1 + float64(i)/10)
				}
				r.add(&s, column, i+1, got)
			}
		}
	}
	r.finish(time.Minute, append(figures(), peerFigures(r.Peers)...))
	return r
}

// TestHeadTables checks the values of the head tables.
func TestHeadTables(t *testing.T) {
	r := headReport(3)
	if len(r.Head) != 2 {
		t.Fatalf("got %d tables", len(r.Head))
	}
	cell := func(table int, row, column string) *headCell {
		for _, line := range r.Head[table].Rows {
			for i, name := range r.Head[table].Columns {
				if line.Name == row && name == column {
					return line.Cells[i]
				}
			}
		}
		t.Fatalf("no cell %s, %s", row, column)
		return nil
	}
	tests := []struct {
		table       int
		row, column string
		median      float64
	}{
		{0, "64 streams, 10 ms a step", "in process, with Triton and the model", 0.088},
		{0, "64 streams, 10 ms a step", "remote", 0.132},
		{0, "64 streams, 20 ms a step", "remote, with tritonserver", 0.286},
		{0, "one stream, 10 ms a step", "over Trident", 0.066},
		{0, "one stream, 10 ms a step", "over Trident, both Tridents", 0.165},
		{0, "64 streams, 10 ms a step", "tritonserver, with the bare gRPC client, text alone", 0.11},
		{1, "64 streams: first token, p50", "the engine's own", 5.5},
		{1, "64 streams: first token, p99", "remote", 6.6},
		{1, "one stream: first token, p50", "over Trident", 4.4},
		{1, "64 streams: between tokens, p99", "in process", 1.1},
	}
	for _, tt := range tests {
		c := cell(tt.table, tt.row, tt.column)
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if !near(c.Median, tt.median) || !near(c.Min, tt.median/1.1) || !near(c.Max, tt.median*1.2/1.1) || c.Interval != nil {
			t.Errorf("%s, %s: got %+v, want %v", tt.row, tt.column, c, tt.median)
		}
	}
	for _, line := range r.Head[0].Rows {
		if line.Name == "256 streams, 10 ms a step" {
			t.Error("there is a row without data")
		}
	}
	r = headReport(6)
	c := cell(0, "64 streams, 10 ms a step", "remote")
	if c.Interval == nil || c.String() != "0.150 (0.120..0.180, 95% 0.120..0.180)" {
		t.Errorf("six rounds: %+v, %s", c.Interval, c)
	}
}

// TestLeanFigures checks the figures that compare with the client that requests the text alone, with
// Trident in process, and with a peer.
func TestLeanFigures(t *testing.T) {
	r := headReport(2)
	want := map[string]float64{
		"remote, 64 streams flat out: tritonserver's CPU a token ÷ tritonserver's with the bare gRPC client, text alone": 1.3,
		"over Trident, 64 streams flat out: (CPU a token of both Tridents - in process) ÷ in process":                    0.875,
		"over Trident, 64 streams flat out: CPU in use, of all cores":                                                    0.9975,
		"remote ÷ other, 64 streams flat out: tokens/s":                                                                  1.5,
	}
	found := 0
	for _, f := range r.Figures {
		v, ok := want[f.Name]
		if !ok {
			continue
		}
		found++
		if math.Abs(f.Value.Median-v) > 1e-9 || !f.met() {
			t.Errorf("%s: %+v, met %t", f.Name, f.Value, f.met())
		}
	}
	if found != len(want) {
		t.Errorf("found %d figures of %d in %+v", found, len(want), r.Figures)
	}
}

// TestReportGolden compares the whole report with the golden files.
func TestReportGolden(t *testing.T) {
	r := headReport(2)
	for name, got := range map[string][]byte{"report.txt": []byte(r.text()), "report.md": r.markdown()} {
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(want, got) {
			t.Errorf("%s differs (go test ./cmd/tridentbench -run '^TestReportGolden$' -update rewrites it): %v\n%s", path, err, got)
		}
	}
	if text := r.header(); text != "2026-01-02; 2 cores of a CPU, Linux; Trident v1; rounds: 2, in 1m0s.\nother: no CPU time and memory, because --peer has no pid=PID for it" {
		t.Errorf("the header is %q", text)
	}
}
