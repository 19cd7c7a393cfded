package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestMedianInterval checks the ranks and the coverage of the median's confidence interval against a
// table of the binomial distribution with p = 1/2 (Conover, table A3).
func TestMedianInterval(t *testing.T) {
	for _, tt := range []struct {
		n, low, high int // ranks
		median       float64
		coverage     float64
	}{
		{1, 1, 1, 1, 0},
		{5, 1, 5, 3, 0.9375},
		{6, 1, 6, 3.5, 0.96875},
		{7, 1, 7, 4, 0.984375},
		{8, 1, 8, 4.5, 0.9921875},
		{9, 2, 8, 5, 0.9609375},
		{12, 3, 10, 6.5, 0.96142578125},
		{15, 4, 12, 8, 0.96484375},
		{25, 8, 18, 13, 0.9567147493362427},
	} {
		var values []float64 // the values are their own ranks
		for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(tt.n) {
			values = append(values, float64(i+1))
		}
		got := medianInterval(values)
		if got.Low != float64(tt.low) || got.High != float64(tt.high) || got.Median != tt.median || math.Abs(got.Coverage-tt.coverage) > 1e-12 {
			t.Errorf("%d values: got %+v, want %+v", tt.n, got, tt)
		}
	}
	if got := medianInterval(nil); got.Coverage != 0 || !math.IsNaN(got.Median) {
		t.Errorf("no values: %+v", got)
	}
}

// TestMedianIntervalCovers checks how often the confidence interval contains the true median, with
// many samples of a skewed distribution whose median is known.
func TestMedianIntervalCovers(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const samples = 20_000
	for _, n := range []int{7, 9, 15} {
		covered, want := 0, 0.0
		for range samples {
			values := make([]float64, n)
			for i := range values {
				values[i] = random.ExpFloat64()
			}
			got := medianInterval(values)
			want = got.Coverage
			if got.Low <= math.Ln2 && math.Ln2 <= got.High {
				covered++
			}
		}
		if share := float64(covered) / samples; math.Abs(share-want) > 0.01 {
			t.Errorf("%d values: the interval has the median in %.3f of all samples, not in %.3f", n, share, want)
		}
	}
}

// paired returns rounds with base 100 and tree 100 times each ratio.
func paired(ratios ...float64) []pair {
	var rounds []pair
	for _, r := range ratios {
		rounds = append(rounds, pair{100, 100 * r})
	}
	return rounds
}

func TestVerdicts(t *testing.T) {
	cost := []float64{1.05, 1.06, 1.04, 1.05, 1.055, 1.045, 1.05} // 5% more
	for _, tt := range []struct {
		name   string
		rule   rule
		rounds []pair
		want   verdict
	}{
		{"a rate that falls by 5%", more, paired(0.95, 0.96, 0.94, 0.95, 0.955, 0.945, 0.95), worse},
		{"a rate that rises by 5%", more, paired(cost...), better},
		{"a cost that rises by 5%", less, paired(cost...), worse},
		{"a cost that falls by 5%", less, paired(0.95, 0.96, 0.94, 0.95, 0.955, 0.945, 0.95), better},
		{"no difference", less, paired(1, 1.01, 0.99, 1, 1.005, 0.995, 1.02), same},
		{"a rate without a difference", more, paired(1, 1.01, 0.99, 1, 1.005, 0.995, 1.02), same},
		{"a cost that rises by 2%", less, paired(1.02, 1.01, 1.03, 1.02, 1.025, 1.015, 1.02), same},
		{"a cost of which one round of seven is within the tolerance", less, paired(1.05, 1.06, 1.02, 1.05, 1.055, 1.045, 1.05), same},
		{"a cost of which one round of nine is", less, paired(1.05, 1.06, 1.02, 1.05, 1.055, 1.045, 1.05, 1.05, 1.05), worse},
		{"noise", less, paired(1.1, 0.9, 1.05, 0.97, 1, 1.2, 0.85), unknown},
		{"noise above the tolerance", less, paired(1.1, 1.3, 1.05, 1.2, 1.4, 1.2, 1.15), worse},
		{"too few rounds", less, paired(2, 2, 2, 2, 2), unknown},
		{"a count that is the same", counted, paired(1, 1, 1, 1, 1, 1, 1), same},
		{"a count that rises by one in a hundred", counted, paired(1.01, 1.012, 1.008, 1.01, 1.01, 1.01, 1.01), worse},
		{"a count that falls by one in a hundred", counted, paired(0.99, 0.988, 0.992, 0.99, 0.99, 0.99, 0.99), better},
		{"a count that rises by less than the grain", counted, paired(1.004, 1.004, 1.004, 1.004, 1.004, 1.004, 1.004), same},
		{"a count that did not rise in one round", counted, paired(1.01, 1.012, 1.008, 1.01, 1, 1.01, 1.01), unknown},
		{"a count that rose in three rounds", counted, paired(1.01, 1, 1, 1.01, 1, 1, 1.01), same},
		{"a count with noise", counted, paired(1.01, 1.1, 0.95, 1, 1, 1, 1), unknown},
		{"a count that becomes none", counted, []pair{{9, 0}, {9, 0}, {9, 0}, {9, 0}, {9, 0}, {9, 0}}, better},
		{"a count that was none", counted, []pair{{0, 9}, {0, 9}, {0, 9}, {0, 9}, {0, 9}, {0, 9}}, worse},
		{"a count that is none", counted, []pair{{0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}, {0, 0}}, same},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := changeOf(&trial{}, &comparedFigure{rule: tt.rule, grain: callGrain}, tt.rounds)
			if c.Verdict != tt.want {
				t.Errorf("%s, not %s: %+v", c.Verdict, tt.want, c.Ratio)
			}
		})
	}
}

// TestVerdictsOfNoise checks how often the verdict on a metric is as expected, and how often it is
// the opposite, over many simulated comparisons with noise.
func TestVerdictsOfNoise(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	const runs = 4000
	for _, tt := range []struct {
		name   string
		rule   rule
		rounds int
		change float64 // simulated ratio of the tree's metric to the base's; 1 means no change
		noise  float64 // standard deviation of a round's ratio
		want   verdict
		least  float64 // minimum share of the expected verdict
		wrong  verdict
		most   float64 // maximum share of the opposite verdict
	}{
		{name: "5% slower on a calm machine", rule: less, rounds: 9, change: 1.05, noise: 0.01, want: worse, least: 0.9, wrong: better},
		{name: "10% slower on a busy machine", rule: less, rounds: 9, change: 1.10, noise: 0.04, want: worse, least: 0.8, wrong: better},
		{name: "no change on a calm machine", rule: less, rounds: 7, change: 1, noise: 0.01, want: same, least: 0.99, wrong: worse},
		{name: "no change on a busy machine", rule: less, rounds: 7, change: 1, noise: 0.06, want: unknown, least: 0.95, wrong: worse, most: 0.005},
		{name: "no change of a noisy count", rule: counted, rounds: 9, change: 1, noise: 0.05, want: unknown, least: 0.8, wrong: worse, most: 0.005},
	} {
		t.Run(tt.name, func(t *testing.T) {
			verdicts := map[verdict]float64{}
			for range runs {
				var ratios []float64
				for range tt.rounds {
					ratios = append(ratios, tt.change+tt.noise*random.NormFloat64())
				}
				c := changeOf(&trial{}, &comparedFigure{rule: tt.rule, grain: callGrain}, paired(ratios...))
				verdicts[c.Verdict] += 1.0 / runs
			}
			if verdicts[tt.want] < tt.least || verdicts[tt.wrong] > tt.most {
				t.Errorf("shares of the verdicts: %v", verdicts)
			}
		})
	}
}

// TestTrials checks that the models support each trial's work, and that no metric is
// measured twice.
func TestTrials(t *testing.T) {
	seen := map[string]bool{}
	for _, tr := range trials() {
		if tr.job.Requests < tr.job.Streams || tr.job.Pace != 0 {
			t.Errorf("%s %s: %+v", tr.scenario, tr.engine, tr.job)
		}
		for i := range tr.figures {
			c := changeOf(&tr, &tr.figures[i], nil)
			if seen[c.name()] {
				t.Errorf("%s is there twice", c.name())
			}
			seen[c.name()] = true
		}
	}
	for _, name := range []string{
		"flat-64 in process: tokens/s", "flat-64 remote: CPU µs per token", "paced-64 remote: allocations per token",
		"infer-1k-1 in process: calls/s", "infer-1k-64 remote: CPU µs per call", "infer-1024k-1 in process: allocations per call",
	} {
		if !seen[name] {
			t.Errorf("%s is missing from %v", name, seen)
		}
	}
}
