package main

import (
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// reported returns a small report of two rounds.
func reported() *report {
	r := &report{Command: "make bench", Machine: "a CPU, Linux", Cores: 2, Date: "2026-01-02", Version: "v1", Rounds: 2}
	s := scenario{name: flat64, title: "64 streams flat out"}
	add := func(column string, round int, rate, cpu float64) {
		r.add(&s, column, round, sample{tokenRate: rate, cpuTrident: cpu, perWrite: 2})
	}
	add(colLocal, 1, 120_000, 3)
	add(colCannedAs, 1, 240_000, 1)
	add(colCanned, 1, 200_000, 2)
	add(colLocal, 2, 140_000, 5)
	add(colCannedAs, 2, 200_000, 1)
	add(colCanned, 2, 200_000, 2)
	r.add(&scenario{name: idleStreams, title: "idle"}, colLocal, 0, sample{growth: 80})
	r.finish(3*time.Second, append(figures(), peerFigures(r.Peers)...))
	return r
}

func TestFigures(t *testing.T) {
	r := reported()
	want := map[string]struct {
		value spread
		met   bool
	}{
		"in process, 64 streams flat out: tokens/s ÷ canned SSE, one token a write":         {spread{0.65, 0.6, 0.7, 2}, true},
		"in process, 64 streams flat out: tokens/s ÷ canned SSE at the same tokens a write": {spread{0.6, 0.5, 0.7, 2}, true},
		"in process, 64 streams flat out: tokens a write":                                   {spread{2, 2, 2, 2}, true},
		"in process, 64 streams flat out: CPU of the whole server process a token":          {spread{4, 3, 5, 2}, true},
		"memory a stream, 1,024 idle streams, in process":                                   {spread{80, 80, 80, 1}, false},
	}
	if len(r.Figures) != len(want) {
		t.Errorf("the report has %d figures, not %d", len(r.Figures), len(want))
	}
	for _, f := range r.Figures {
		w, ok := want[f.Name]
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if !ok || f.met() != w.met || !near(f.Value.Median, w.value.Median) || !near(f.Value.Min, w.value.Min) || !near(f.Value.Max, w.value.Max) || f.Value.Rounds != w.value.Rounds {
			t.Errorf("%s: %+v, met %t", f.Name, f.Value, f.met())
		}
	}
}

// TestFiguresKnowTheScenarios checks that the performance figures of the bench's report refer to
// existing scenarios and columns. Otherwise they would be omitted without an error.
func TestFiguresKnowTheScenarios(t *testing.T) {
	all := scenarios()
	for _, f := range figures() {
		f.of(func(name, column, _ string) float64 {
			i := slices.IndexFunc(all, func(s scenario) bool { return s.name == name })
			if i < 0 || !slices.Contains(all[i].columns, column) {
				t.Errorf("%s: no scenario measures the column %s of %s", f.Name, column, name)
			}
			return 1
		})
	}
}

func TestReports(t *testing.T) {
	r := reported()
	for _, want := range []string{
		"2 cores of a CPU, Linux; Trident v1; rounds: 2, in 3s.",
		"130,000 (120,000..140,000) = 0.65×", // tokens/s, as a multiple of the canned server's
		"4.00 (3.00..5.00) = 2.00×",
		"MISSED",
	} {
		if text := r.text(); !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
		if markdown := string(r.markdown()); !strings.Contains(markdown, want) {
			t.Errorf("the Markdown lacks %q:\n%s", want, markdown)
		}
	}
	path, begin := filepath.Join(t.TempDir(), "report.md"), "<!-- make bench writes from here -->\n"
	for range 2 { // a second run replaces the first run's text
		if _, err := os.Stat(path); err != nil {
			if err := os.WriteFile(path, []byte("before\n"+begin+"old\n"+reportEnd+"after\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := writeMarked(path, r.Command, r.markdown()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if want := "before\n" + begin + string(r.markdown()) + reportEnd + "after\n"; err != nil || string(got) != want {
		t.Errorf("%v\n%s", err, got)
	}
	if err := os.WriteFile(path, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeMarked(path, r.Command, r.markdown()); err == nil || !strings.Contains(err.Error(), "lacks the lines") {
		t.Errorf("a file without markers: %v", err)
	}
	if err := writeJSON(path, r); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || !strings.Contains(string(got), `"median": 0.6,`) || !strings.Contains(string(got), `"KiB a stream": 80`) {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 0.456: "0.46", 9.87: "9.87", 12.34: "12.3", 123.4: "123", -0.004: "0.00", -0.06: "-0.06", 1234: "1,230", 1_234_567: "1,230,000", -1234: "-1,230"} {
		if got := number(v); got != want {
			t.Errorf("%v gives %s, not %s", v, got, want)
		}
	}
}

func TestParseAllocs(t *testing.T) {
	got, err := parseAllocs("heap profile: 1: 2\n\n# runtime.MemStats\n# Alloc = 1\n# TotalAlloc = 300\n# Mallocs = 20\n# Frees = 1\n")
	if err != nil || got != (allocs{20, 300}) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := parseAllocs("heap profile: 1: 2\n"); err == nil {
		t.Error("a profile without sums was taken")
	}
}

func TestNewBench(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "trident")
	if err := os.WriteFile(binary, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	named := func(name string) peer { return peer{name: name, url: &url.URL{}} }
	good := options{Rounds: 2, Trident: binary, Peer: []peer{named("a"), {name: "b", url: &url.URL{}, pid: os.Getpid()}}}
	for want, change := range map[string]func(*options){
		"":                                     func(*options) {},
		"--scenario":                           func(o *options) { o.Scenario = []string{"nope"} },
		"--rounds":                             func(o *options) { o.Rounds = 0 },
		"make build":                           func(o *options) { o.Trident += "-none" },
		"two columns of the name a":            func(o *options) { o.Peer = []peer{named("a"), named("a")} },
		"two columns of the name " + colRemote: func(o *options) { o.Peer = []peer{named(colRemote)} },
		"CPU clock of process":                 func(o *options) { o.Peer = []peer{{name: "a", url: &url.URL{}, pid: 1<<22 + 1}} },
	} {
		o := good
		change(&o)
		if _, err := newBench(&o, "make bench", scenarios()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	quick := good
	quick.Quick = true
	b, err := newBench(&quick, "make bench", scenarios())
	if err != nil || quick.Rounds != 1 || len(b.scenarios) != 7 {
		t.Errorf("a quick run: %d rounds of %d scenarios, %v", quick.Rounds, len(b.scenarios), err)
	}
}

// TestJobs checks that a column of the bench that copies another column sends as many tokens per
// write as that column.
func TestJobs(t *testing.T) {
	s := scenario{job: job{Model: "m", Pace: time.Second}}
	latest := map[string]float64{colLocal: 7}
	for _, tt := range []struct {
		column   column
		perWrite float64
		pace     time.Duration
	}{
		{column{name: colLocal}, 0, 0},
		{column{name: colCanned, paces: true}, 0, time.Second},
		{column{name: colCannedAs, paces: true, writesLike: colLocal}, 7, time.Second},
		{column{name: colCanned64, tokensPerWrite: 64}, 64, 0},
	} {
		if j := s.jobFor(&tt.column, latest); j.PerWrite != tt.perWrite || j.Pace != tt.pace || j.Model != "m" {
			t.Errorf("%s: %+v", tt.column.name, j)
		}
	}
}
