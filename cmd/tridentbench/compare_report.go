package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// comparisonReport is the result of a comparison.
type comparisonReport struct {
	Machine  string        `json:"machine"`
	Cores    int           `json:"cores"`
	Load     string        `json:"load"` // the machine's load average before the first round
	Date     string        `json:"date"`
	Base     commit        `json:"base"`
	Versions [sides]string `json:"versions"`
	Rounds   int           `json:"rounds"`
	Seconds  float64       `json:"seconds"`
	Rule     string        `json:"rule"`
	Changes  []change      `json:"changes"`

	trials  []trial
	samples [][][sides]sample // samples of both sides, indexed by trial and by round
}

func (r *comparisonReport) begin(b *comparison) {
	r.Machine, r.Cores, r.Load = machine(), runtime.NumCPU(), loadAverage()
	r.Date = b.began.UTC().Format("2006-01-02 15:04 MST")
	r.Rounds, r.Rule = b.options.Rounds, verdictRule()
	r.trials, r.samples = b.trials, make([][][sides]sample, len(b.trials))
}

// verdictRule states what the verdicts mean.
func verdictRule() string {
	return fmt.Sprintf(`ratio: working tree / base, the median of the rounds with its 95%% interval.
worse: the whole interval is more than %.0f%% on the bad side of 1. better: it is more than %.0f%% on the good side.
unknown: the interval allows neither verdict and is wider than %.0f%%, or there were fewer than 6 rounds. same: everything else.
Allocations have no such tolerance: a count is worse or better if it differs in every round, by more than %v per
token or %v per call. It is also unknown if its median differs by more, but not every round does.
`, 100*tolerance, 100*tolerance, 100*widest, tokenGrain, callGrain)
}

// add records a round of a trial. The round's values are the medians of each side's
// turns.
func (r *comparisonReport) add(trial int, turns [sides][]sample) {
	r.samples[trial] = append(r.samples[trial], [sides]sample{medianOf(turns[sideBase]), medianOf(turns[sideTree])})
}

// medianOf returns the median of each metric of the samples.
func medianOf(samples []sample) sample {
	median := sample{}
	for metric := range samples[0] {
		var values []float64
		for _, s := range samples {
			values = append(values, s[metric])
		}
		if v, ok := spreadOf(values); ok {
			median[metric] = v.Median
		}
	}
	return median
}

// finish computes the changes from the samples.
func (r *comparisonReport) finish(took time.Duration) {
	r.Seconds = took.Seconds()
	for i := range r.trials {
		t := &r.trials[i]
		for j := range t.figures {
			f := &t.figures[j]
			var rounds []pair
			for _, s := range r.samples[i] {
				rounds = append(rounds, pair{s[sideBase][f.metric], s[sideTree][f.metric]})
			}
			r.Changes = append(r.Changes, changeOf(t, f, rounds))
		}
	}
}

// write prints the report. It returns an error if a figure is worse.
func (b *comparison) write(out io.Writer) error {
	if _, err := io.WriteString(out, b.report.text()); err != nil {
		return err
	}
	if b.options.JSON != "" {
		if err := writeJSON(b.options.JSON, &b.report); err != nil {
			return err
		}
	}
	return b.report.failure()
}

// failure returns an error for metrics that are worse, or nil.
func (r *comparisonReport) failure() error {
	var list []string
	for _, c := range r.Changes {
		if c.Verdict == worse {
			list = append(list, c.name())
		}
	}
	if len(list) == 0 {
		return nil
	}
	return errors.New("worse than the base: " + strings.Join(list, "; "))
}

func (c *change) name() string { return c.Scenario + " " + c.Engine + ": " + c.Figure }

func (r *comparisonReport) text() string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s; %d cores of %s; load average before: %s; rounds: %d, in %s.\n",
		r.Date, r.Cores, r.Machine, r.Load, r.Rounds, time.Duration(r.Seconds*float64(time.Second)).Round(time.Second))
	fmt.Fprintf(&b, "base: %s, %s\ntree: %s\n\n", r.Base, r.Versions[sideBase], r.Versions[sideTree])
	t := table{{"figure", "base", "tree", "ratio", "95% interval", "verdict"}}
	for i := range r.Changes {
		c := &r.Changes[i]
		t = append(t, []string{
			c.name(), number(c.Base), number(c.Tree), fmt.Sprintf("%.3f", c.Ratio.Median),
			fmt.Sprintf("%.3f..%.3f", c.Ratio.Low, c.Ratio.High), string(c.Verdict),
		})
	}
	t.text(&b)
	b.WriteString(r.Rule)
	return b.String()
}
