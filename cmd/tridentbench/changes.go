package main

import (
	"math"
	"slices"
)

// trial is the work that measures both binaries, on one of their engines.
type trial struct {
	scenario string
	engine   string // "in process" or "remote"
	column   string
	job      job
	figures  []comparedFigure
}

// trials returns all measurements of a comparison. One measurement of a trial on one side takes
// about half a second on two cores of 2024.
func trials() []trial {
	tokens := comparedFigures("token", tokenRate, tokenGrain)
	calls := comparedFigures("call", requestRate, callGrain)
	chats, unary := [2]string{colLocal, colRemote}, [2]string{colLocalRPC, colRemoteRPC}
	slow := paced(64, fastPace)
	slow.job.Tokens, slow.job.Spread, slow.job.Jitter = 50, 0, 0
	var list []trial
	for _, row := range []struct {
		scenario scenario
		figures  []comparedFigure
		columns  [2]string // names of the columns for in-process Triton and for tritonserver
		requests [2]int
	}{
		{flat(64), tokens, chats, [2]int{384, 64}},
		{infer(1, 1<<10), calls, unary, [2]int{2000, 1200}},
		{infer(64, 1<<10), calls, unary, [2]int{6400, 3200}},
		{infer(1, 1<<20), calls, unary, [2]int{300, 150}},
		{infer(64, 1<<20), calls, unary, [2]int{192, 128}},
		{slow, tokens[1:], chats, [2]int{64, 64}}, // the pace determines the rate
	} {
		for i, engine := range []string{"in process", "remote"} {
			t := trial{scenario: row.scenario.name, engine: engine, column: row.columns[i], job: row.scenario.job, figures: row.figures}
			t.job.Requests, t.job.Pace = row.requests[i], 0
			list = append(list, t)
		}
	}
	return list
}

// comparedScenarios returns the names of the trials' scenarios.
func comparedScenarios() []string {
	var names []string
	for _, t := range trials() {
		names = append(names, t.scenario)
	}
	return slices.Compact(names)
}

// comparedFigure is a metric of a sample that is compared.
type comparedFigure struct {
	name   string
	metric string
	rule   rule
	grain  float64 // minimum change of a count, see [judge]
}

// rule determines which change of a metric is an improvement.
type rule int

const (
	more    rule = iota // more is better, beyond the tolerance
	less                // less is better, beyond the tolerance
	counted             // less is better, without tolerance
)

func comparedFigures(unit, rate string, grain float64) []comparedFigure {
	return []comparedFigure{
		{name: unit + "s/s", metric: rate, rule: more},
		{name: "CPU µs per " + unit, metric: cpuTrident, rule: less},
		{name: "allocations per " + unit, metric: allocations, rule: counted, grain: grain},
	}
}

// interval is a confidence interval of a median.
type interval struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	// Coverage is the probability that an interval computed this way contains the median of
	// the distribution. It is at least [confidence] for 6 or more values.
	Coverage float64 `json:"coverage"`
}

// confidence is the minimum confidence level of an interval from which a change of a metric is
// concluded.
const confidence = 0.95

// medianInterval returns the distribution-free confidence interval of the median. The
// interval is the k-th smallest to the k-th largest of n independent values. k is the
// largest value for which the coverage 1 - 2 P(B < k), B ~ Binomial(n, 1/2), is at least
// 95%. For 6 to 8 values k is 1: the interval is the minimum to the maximum. For 9 to 11
// values k is 2. For fewer than 6 values the coverage is lower than 95% for every k.
//
// Sources: W. J. Conover, Practical Nonparametric Statistics, 3rd edition (1999), 3.2; H. A.
// David and H. N. Nagaraja, Order Statistics, 3rd edition (2003), 7.1.
func medianInterval(values []float64) interval {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return interval{Median: math.NaN(), Low: math.NaN(), High: math.NaN()}
	}
	k, term := 1, math.Pow(0.5, float64(n)) // term is P(B = k-1)
	tail := term                            // P(B < k)
	for {
		term *= float64(n-k+1) / float64(k)
		if 1-2*(tail+term) < confidence {
			break
		}
		tail += term
		k++
	}
	return interval{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Low: sorted[k-1], High: sorted[n-k], Coverage: 1 - 2*tail}
}

// The limits of the rule that decides whether a metric has changed.
const (
	tolerance = 0.03 // relative change of a ratio that is treated as no change, in both directions
	widest    = 0.06 // maximum width of a ratio's interval for the verdict "same"

	// Counts of allocations have no tolerance, but differences below these grains are noise.
	// Losses of pools in a garbage collection and the number of tokens per write differ from
	// run to run.
	tokenGrain = 0.01
	callGrain  = 0.5
)

// verdict is the conclusion on a metric from the confidence interval of its ratio.
type verdict string

const (
	worse   verdict = "worse"
	better  verdict = "better"
	unknown verdict = "unknown"
	same    verdict = "same"
)

// change compares a metric between the base binary and the binary of the tree.
type change struct {
	Scenario string `json:"scenario"`
	Engine   string `json:"engine"`
	Figure   string `json:"figure"`
	// Base and Tree are the medians of the rounds.
	Base float64 `json:"base"`
	Tree float64 `json:"tree"`
	// Ratio is the confidence interval of the ratio of Tree to Base. The ratio is computed for each
	// round.
	Ratio   interval `json:"ratio"`
	Verdict verdict  `json:"verdict"`
	Rounds  []pair   `json:"rounds"`
}

// pair is a metric of both binaries in one round.
type pair struct {
	Base float64 `json:"base"`
	Tree float64 `json:"tree"`
}

func (p pair) ratio() float64 {
	if p.Base == p.Tree {
		return 1
	}
	return min(p.Tree/p.Base, math.MaxFloat64) // JSON has no infinity
}

func intervalOf(rounds []pair, of func(pair) float64) interval {
	var values []float64
	for _, p := range rounds {
		values = append(values, of(p))
	}
	return medianInterval(values)
}

// changeOf evaluates the rounds.
func changeOf(t *trial, f *comparedFigure, rounds []pair) change {
	c := change{
		Scenario: t.scenario, Engine: t.engine, Figure: f.name, Rounds: rounds,
		Base:  intervalOf(rounds, func(p pair) float64 { return p.Base }).Median,
		Tree:  intervalOf(rounds, func(p pair) float64 { return p.Tree }).Median,
		Ratio: intervalOf(rounds, pair.ratio),
	}
	c.Verdict = f.judge(c.Ratio, rounds)
	return c
}

// judge applies the verdict rule. A count is judged by its differences: if it is larger in
// every round by more than the grain, it has changed, even if the change is small.
func (f *comparedFigure) judge(ratio interval, rounds []pair) verdict {
	above, below := ratio.Low > 1+tolerance, ratio.High < 1-tolerance
	unclear := ratio.High-ratio.Low > widest
	if f.rule == counted {
		var differences []float64
		for _, p := range rounds {
			differences = append(differences, p.Tree-p.Base)
		}
		d, _ := spreadOf(differences) // without rounds, the ratio has no coverage
		above, below = d.Min > f.grain, d.Max < -f.grain
		unclear = unclear || math.Abs(d.Median) > f.grain
	}
	if f.rule == more {
		above, below = below, above
	}
	switch {
	case ratio.Coverage < confidence:
		return unknown
	case above:
		return worse
	case below:
		return better
	case unclear:
		return unknown
	}
	return same
}
