package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNewComparison(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "trident")
	if err := os.WriteFile(binary, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	good := compareCommand{Base: "HEAD", Rounds: 2, Trident: binary, Scenario: []string{flat64, inferName(1, 1<<20)}}
	for want, change := range map[string]func(*compareCommand){
		"":                           func(*compareCommand) {},
		"--rounds: must be at":       func(c *compareCommand) { c.Rounds = 0 },
		`unknown scenario "flat-65"`: func(c *compareCommand) { c.Scenario = []string{flat64, "flat-65"} },
		"make build":                 func(c *compareCommand) { c.Trident += "-none" },
	} {
		c := good
		change(&c)
		b, err := newComparison(&c, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
		if err == nil && (len(b.trials) != 4 || b.steps != 10) {
			t.Errorf("%d trials of two scenarios, %d steps", len(b.trials), b.steps)
		}
	}
}

// TestTurns checks that turnsOf measures base and tree equally often, in pairs, and each first
// equally often over two rounds.
func TestTurns(t *testing.T) {
	first := [sides]int{}
	for round := range 2 {
		turns := turnsOf(round)
		if len(turns) != sides*pairs || turns[0] != round%sides {
			t.Errorf("round %d: %v", round, turns)
		}
		for pair := range slices.Chunk(turns, sides) {
			if pair[0] == pair[1] {
				t.Errorf("round %d: %v", round, turns)
			}
			first[pair[0]]++
		}
	}
	if first[sideBase] != first[sideTree] {
		t.Errorf("the sides are first %v times", first)
	}
}

func TestRemaining(t *testing.T) {
	for _, tt := range []struct {
		took        time.Duration
		done, steps int
		want        time.Duration
	}{
		{10 * time.Second, 1, 4, 30 * time.Second},
		{10 * time.Second, 4, 4, 0},
		{10 * time.Second, 3, 4, 3 * time.Second},
	} {
		if got := remaining(tt.took, tt.done, tt.steps); got != tt.want {
			t.Errorf("%v: %s", tt, got)
		}
	}
}

// compared returns a report of seven rounds in which the tree uses cpu times the base's
// CPU time.
func compared(cpu float64) *comparisonReport {
	all := trials()
	b := &comparison{options: &compareCommand{Rounds: 7}, trials: all[:2], began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	r := &b.report
	r.begin(b)
	r.Machine, r.Cores, r.Load = "a CPU", 2, "0.25"
	r.Base, r.Versions = commit{"0123456789abcdef", "a subject"}, [sides]string{"v1", "v2-dirty"}
	for i := range 7 {
		for trial := range b.trials {
			var turns [sides][]sample
			for turn := range pairs {
				drift := 1 + 0.1*float64(i) + 0.001*float64(turn)
				add := func(side int, factor float64) {
					turns[side] = append(turns[side], sample{tokenRate: 1000 * drift, cpuTrident: 10 * factor * drift, allocations: 4})
				}
				add(sideBase, 1)
				add(sideTree, cpu)
			}
			turns[sideTree][0][cpuTrident] *= 5 // a turn that another program disturbed
			r.add(trial, turns)
		}
	}
	r.finish(83 * time.Second)
	return r
}

func TestComparisonReport(t *testing.T) {
	r := compared(1.05)
	text := r.text()
	for _, want := range []string{
		"2026-01-02 03:04 UTC; 2 cores of a CPU; load average before: 0.25; rounds: 7, in 1m23s.\n",
		"base: 0123456789 (a subject), v1\n", "tree: v2-dirty\n",
		"flat-64 in process: tokens/s               1,300  1,300  1.000  1.000..1.000  same\n",
		"flat-64 in process: CPU µs per token       13.0   13.7   1.051  1.051..1.051  worse\n",
		"flat-64 remote: allocations per token      4.00   4.00   1.000  1.000..1.000  same\n",
		"worse: the whole interval is more than 3% on the bad side of 1",
		"differs in every round, by more than 0.01 per\ntoken or 0.5 per call",
		"wider than 6%",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	if err := r.failure(); err == nil || err.Error() != "worse than the base: flat-64 in process: CPU µs per token; flat-64 remote: CPU µs per token" {
		t.Errorf("got %v", err)
	}
	for _, cpu := range []float64{0.9, 1} {
		if err := compared(cpu).failure(); err != nil {
			t.Errorf("%v times the CPU: %v", cpu, err)
		}
	}
}

// TestComparisonWrites checks that both formats are written before a worse metric fails
// the command, and that the JSON has each round.
func TestComparisonWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.json")
	b := &comparison{options: &compareCommand{JSON: path}, report: *compared(1.05)}
	var out strings.Builder
	if err := b.write(&out); err == nil || !strings.HasPrefix(err.Error(), "worse than the base: ") {
		t.Errorf("got %v", err)
	}
	if out.String() != b.report.text() {
		t.Errorf("printed %s", out.String())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got comparisonReport
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	c := got.Changes[1]
	if got.Base != b.report.Base || got.Rounds != 7 || got.Rule != verdictRule() || got.Seconds != 83 || len(got.Changes) != 6 {
		t.Errorf("got %s", text)
	}
	if c.Scenario != flat64 || c.Engine != "in process" || c.Verdict != worse || len(c.Rounds) != 7 || number(c.Rounds[0].Base) != "10.0" || c.Ratio.Coverage != 0.984375 {
		t.Errorf("got %+v", c)
	}
}
