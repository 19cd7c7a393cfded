package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// recorded is the output of `go test -json` for two packages, shortened.
const recorded = `{"Action":"start","Package":"github.com/trident-inference/trident/services/a"}
{"Action":"run","Package":"github.com/trident-inference/trident/services/a","Test":"TestOne"}
{"Action":"pass","Package":"github.com/trident-inference/trident/services/a","Test":"TestOne/x/deep","Elapsed":0.1}
{"Action":"pass","Package":"github.com/trident-inference/trident/services/a","Test":"TestOne/x/deeper","Elapsed":0.1}
{"Action":"pass","Package":"github.com/trident-inference/trident/services/a","Test":"TestOne/x","Elapsed":0.2}
{"Action":"pass","Package":"github.com/trident-inference/trident/services/a","Test":"TestOne","Elapsed":0.3}
{"Action":"pass","Package":"github.com/trident-inference/trident/services/a","Test":"FuzzTwo/seed#0","Elapsed":0}
{"Action":"pass","Package":"github.com/trident-inference/trident/services/a","Test":"FuzzTwo","Elapsed":0}
{"Action":"skip","Package":"github.com/trident-inference/trident/services/a","Test":"BenchmarkFour/x:1b","Elapsed":0}
{"Action":"skip","Package":"github.com/trident-inference/trident/services/a","Test":"TestThree","Elapsed":0}
{"Action":"output","Package":"github.com/trident-inference/trident/services/a","Output":"coverage: 91.5% of statements\n"}
{"Action":"pass","Package":"github.com/trident-inference/trident/services/a","Elapsed":2}
not an event
{"Action":"output","Package":"github.com/trident-inference/trident/services/b","Test":"TestBad/y","Output":"    bad_test.go:1: the reason\n"}
{"Action":"fail","Package":"github.com/trident-inference/trident/services/b","Test":"TestBad/y","Elapsed":1}
{"Action":"fail","Package":"github.com/trident-inference/trident/services/b","Test":"TestBad","Elapsed":1}
{"Action":"fail","Package":"github.com/trident-inference/trident/services/b","Elapsed":1}
`

func readRecorded(t *testing.T, text string) *results {
	t.Helper()
	r := newResults()
	var odd []string
	if err := r.read(strings.NewReader(text), nil, func(line string) { odd = append(odd, line) }); err != nil {
		t.Fatal(err)
	}
	if want := strings.Count(text, "not an event"); len(odd) != want {
		t.Errorf("%d lines were no events, want %d", len(odd), want)
	}
	return r
}

func TestResults(t *testing.T) {
	r := readRecorded(t, recorded)
	if got, want := r.counts("").String(), "6 passed, 2 failed, 2 skipped"; got != want {
		t.Errorf("counts %s, want %s", got, want)
	}
	if got := r.slowest(1); len(got) != 1 || got[0].Test != "TestBad" {
		t.Errorf("the slowest test is %v", got)
	}
	if r.Coverage["services/a"] != 91.5 {
		t.Errorf("coverage %v", r.Coverage)
	}
	text := strings.Join(r.failures(), "")
	if !strings.Contains(text, "FAIL services/b TestBad/y\n    bad_test.go:1: the reason\n") {
		t.Errorf("failures: %s", text)
	}
}

// TestFailedOnce checks that a test that runs twice fails if one of the runs fails.
func TestFailedOnce(t *testing.T) {
	r := readRecorded(t, recorded+strings.ReplaceAll(recorded, `"fail"`, `"pass"`))
	if got := r.counts("services/b"); got.Failed != 2 {
		t.Errorf("counts %v", got)
	}
}

// TestParts checks that packages with computing tests run separately for the race detector and for
// their coverage, and that all others run once.
func TestParts(t *testing.T) {
	s := suite{Flags: []string{"-race", "-cover", "-bench=."}, Computes: []string{"services/budget"}}
	packages := []string{module + "/services/auth", module + "/services/budget"}
	want := []part{
		{packages[:1], []string{"-race", "-cover", "-bench=."}, false},
		{packages[1:], []string{"-race"}, false},
		{packages[1:], []string{"-cover", "-bench=."}, true},
	}
	if got := s.parts(packages); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	var many []string
	for i := range 2*parallelParts + 1 {
		many = append(many, fmt.Sprintf("%s/p%d", module, i))
	}
	seen := map[string]int{}
	for i, part := range s.parts(append(many, packages[1])) {
		if i < parallelParts && len(part.packages) < 2 {
			t.Errorf("part %d has %v", i, part.packages)
		}
		for _, p := range part.packages {
			seen[p]++
		}
	}
	if len(seen) != len(many)+1 || seen[many[0]] != 1 || seen[packages[1]] != 2 {
		t.Errorf("the parts have %v", seen)
	}
	s.Computes = nil
	if got := s.parts(packages); len(got) != 1 || len(got[0].packages) != 2 {
		t.Errorf("without packages that compute: %v", got)
	}
}

// TestAddRun checks that adding a second run of a suite adds its coverage, its failures, and the
// tests that passed only there.
func TestAddRun(t *testing.T) {
	first, second := newResults(), newResults()
	for to, lines := range map[*results][]event{
		first:  {{Action: "pass", Package: "p", Test: "TestA"}, {Action: "pass", Package: "p", Test: "TestB"}, {Action: "skip", Package: "p", Test: "TestC"}},
		second: {{Action: "skip", Package: "p", Test: "TestA"}, {Action: "fail", Package: "p", Test: "TestB"}, {Action: "pass", Package: "p", Test: "TestC"}, {Action: "pass", Package: "p", Test: "TestC/x"}, {Action: "output", Package: "p", Output: "coverage: 81.5% of statements\n"}},
	} {
		for _, e := range lines {
			to.take(e)
		}
	}
	first.addRun(second)
	if c := first.counts(""); c != (counts{Passed: 3, Failed: 1}) || first.Coverage["p"] != 81.5 || len(first.failed) != 1 {
		t.Errorf("%v, coverage %v, failed %v", c, first.Coverage, first.failed)
	}
}

func TestInventoryFile(t *testing.T) {
	seen := observed("unit", readRecorded(t, recorded))
	again, err := readInventory(seen.String())
	if err != nil {
		t.Fatal(err)
	}
	if again.String() != seen.String() {
		t.Errorf("read and written:\n%s\nwant:\n%s", again, seen)
	}
	for _, line := range []string{
		"coverage\tservices/a\t91.5\n", "unit\tservices/a\tTestOne\tpass\t0\n", "unit\tservices/a\tTestOne/x\tpass\t2\n",
		"unit\tservices/a\tFuzzTwo\tpass\t1\n", "unit\tservices/a\tTestThree\tskip\t0\n",
	} {
		if !strings.Contains(seen.String(), line) {
			t.Errorf("no line %q in\n%s", line, seen)
		}
	}
	for _, bad := range []string{"unit\tx\n", "unit\ta\tb\tpass\tmany\n", "coverage\ta\tmuch\n"} {
		if _, err := readInventory(bad); err == nil || !strings.Contains(err.Error(), inventoryFile+":1") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, test := range []struct {
		name    string
		change  func(string) string // changes the output of the recorded run
		renames string
		want    string // a part of the only problem; empty for no problem
		fresh   int
	}{
		{"the same", func(s string) string { return s }, "", "", 0},
		{"gone", without("TestThree"), "", "unit\tservices/a\tTestThree is missing", 0},
		{"gone with a reason", without("TestThree"), "unit services/a TestThree → unit services/a TestFour: says more", "", 0},
		{"gone with a pattern", without("TestThree"), "unit services/a Test* → unit services/b Test*: moved", "", 0},
		{"gone by another's reason", without("TestThree"), "unit services/b TestThree → -: moved", "is missing", 0},
		{"skipped", replaced(`"pass"`, `"skip"`, `"TestOne/x"`), "", "TestOne/x is skipped, but it passed", 0},
		{"fewer below", without("deeper"), "", "TestOne/x has 1 subtests, but had 2", 0},
		{"a seed less", without("seed#0"), "", "FuzzTwo has 0 subtests, but had 1", 0},
		{"new", func(s string) string { return s + strings.ReplaceAll(s, "TestThree", "TestNew") }, "", "", 1},
		{"coverage a little lower", func(s string) string { return strings.ReplaceAll(s, "91.5%", "91.0%") }, "", "", 0},
		{"coverage lower", func(s string) string { return strings.ReplaceAll(s, "91.5%", "90.9%") }, "", "services/a fell from 91.5 % to 90.9 %", 0},
		{"coverage lower with a reason", func(s string) string { return strings.ReplaceAll(s, "91.5%", "80.0%") }, "coverage services/a → 80.2: dead code tested elsewhere", "", 0},
		{"coverage below the reason", func(s string) string { return strings.ReplaceAll(s, "91.5%", "80.0%") }, "coverage services/a → 81: dead code tested elsewhere", "services/a fell from 81.0 % to 80.0 %", 0},
		{"another package", func(s string) string { return strings.ReplaceAll(s, "services/a", "services/c") }, "", "", 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			inv := observed("unit", readRecorded(t, recorded))
			renames, err := readRenames(test.renames)
			if err != nil {
				t.Fatal(err)
			}
			d := inv.compare(observed("unit", readRecorded(t, test.change(recorded))), renames)
			switch {
			case test.want == "" && len(d.Problems) > 0, test.want != "" && len(d.Problems) != 1:
				t.Errorf("problems %q", d.Problems)
			case test.want != "" && !strings.Contains(d.Problems[0], test.want):
				t.Errorf("problem %q, want %q", d.Problems[0], test.want)
			}
			if d.New != test.fresh {
				t.Errorf("%d new tests, want %d", d.New, test.fresh)
			}
		})
	}
}

// without returns a function that drops the lines that contain a word.
func without(word string) func(string) string {
	return func(s string) string {
		var kept strings.Builder
		for line := range strings.Lines(s) {
			if !strings.Contains(line, word) {
				kept.WriteString(line)
			}
		}
		return kept.String()
	}
}

// replaced returns a function that replaces old in the lines that contain a word.
func replaced(old, to, word string) func(string) string {
	return func(s string) string {
		var changed strings.Builder
		for line := range strings.Lines(s) {
			if strings.Contains(line, word) {
				line = strings.ReplaceAll(line, old, to)
			}
			changed.WriteString(line)
		}
		return changed.String()
	}
}

func TestUpdate(t *testing.T) {
	inv := observed("unit", readRecorded(t, recorded))
	renames, err := readRenames("unit services/a TestThree → unit services/a TestFour: says more")
	if err != nil {
		t.Fatal(err)
	}
	run := strings.ReplaceAll(without("TestOne/x")(recorded), "TestThree", "TestFour")
	inv.update(observed("unit", readRecorded(t, strings.ReplaceAll(run, "91.5%", "91.2%"))), renames)
	got := inv.String()
	for _, line := range []string{"TestFour\tskip", "TestOne/x\tpass\t2", "coverage\tservices/a\t91.5"} {
		if !strings.Contains(got, line) {
			t.Errorf("no %q in\n%s", line, got)
		}
	}
	if strings.Contains(got, "TestThree") {
		t.Errorf("the renamed test is still there:\n%s", got)
	}
	// The line excuses a lower count, not that the test is missing from the run of another suite.
	renames = append(renames, rename{Old: "unit services/a TestOne/*", New: "unit services/a TestOne/*", Reason: "r"})
	inv.update(observed("e2e", readRecorded(t, recorded)), renames)
	if got := inv.String(); !strings.Contains(got, "unit\tservices/a\tTestOne/x") {
		t.Errorf("the run of another suite removed a test of the unit suite:\n%s", got)
	}
}

func TestDropped(t *testing.T) {
	inv := observed("unit", readRecorded(t, recorded))
	const log = "--- a/test/inventory.txt\n+++ b/test/inventory.txt\n-unit\tservices/a\tTestGone\tpass\t0\n-unit\tservices/a\tTestOne\tpass\t0\n+unit\tservices/a\tTestOne\tpass\t1\n-coverage\tx\t1.0\n"
	if got := inv.dropped(log, nil); len(got) != 1 || !strings.Contains(got[0], "TestGone was removed") {
		t.Errorf("dropped: %q", got)
	}
	if got := inv.dropped(log, []rename{{Old: "unit services/a TestGone", New: "-", Reason: "r"}}); len(got) > 0 {
		t.Errorf("dropped with a reason: %q", got)
	}
}

func TestRenamesFile(t *testing.T) {
	for _, bad := range []string{"unit a b", "unit a b → unit a c", "unit a b → unit a c: "} {
		if _, err := readRenames("# a comment\n" + bad + "\n"); err == nil || !strings.Contains(err.Error(), renamesFile+":2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestLastLine(t *testing.T) {
	var l lastLine
	for _, piece := range []string{"first\nsec", "ond\n\n", "  \nunfinished"} {
		if _, err := l.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	if l.text != "second" {
		t.Errorf("last line %q", l.text)
	}
}

// TestEndOfLog checks that the failures are repeated below the table, so that a log of which only the
// end is kept still has them.
func TestEndOfLog(t *testing.T) {
	r := readRecorded(t, recorded)
	list := []outcome{
		{Name: "lint", Passed: true},
		{Name: "unit", Wrong: wrong(r, inventoryError{"unit services/a TestOld is gone"})},
		{Name: "many", Wrong: slices.Repeat([]string{"FAIL services/c TestX"}, maxWrong+3)},
	}
	var out strings.Builder
	printTable(&out, list)
	_, end, _ := strings.Cut(out.String(), "all ")
	for _, want := range []string{
		"unit: FAIL services/b TestBad/y\n", "unit: FAIL services/b\n", "unit: unit services/a TestOld is gone\n", "many: 3 more\n",
	} {
		if !strings.Contains(end, want) {
			t.Errorf("the end lacks %q:\n%s", want, end)
		}
	}
	if strings.Contains(end, "lint:") || strings.Count(end, "many: FAIL") != maxWrong {
		t.Errorf("the end:\n%s", end)
	}
}

// TestAdd checks that results.add adds the test results and the coverage of a part of a suite.
func TestAdd(t *testing.T) {
	r := newResults()
	r.add(readRecorded(t, recorded), false)
	r.add(readRecorded(t, strings.ReplaceAll(recorded, "services/", "cmd/")), false)
	if c := r.counts(""); c != (counts{Passed: 12, Failed: 4, Skipped: 4}) || r.Coverage["services/a"] != 91.5 || r.Coverage["cmd/a"] != 91.5 {
		t.Errorf("%v, coverage %v", c, r.Coverage)
	}
	if text := strings.Join(r.failures(), ""); strings.Count(text, "bad_test.go:1: the reason") != 2 {
		t.Errorf("failures: %s", text)
	}
}

// TestCovers checks which tests a line of the renames file excuses. A line for a suite also excuses
// the tests of suites that run the same tests, unless the line moves the test to that suite.
func TestCovers(t *testing.T) {
	gone, err := readRenames("unit services/a TestGone/* → -: r\nunit services/a TestLong → unit-slow services/a TestLong: minutes\ne2e test/e2e TestOld → e2e test/e2e TestNew: r\n")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{
		"unit\tservices/a\tTestGone/x":      true,
		"unit-slow\tservices/a\tTestGone/x": true,
		"unit\tservices/a\tTestLong":        true,
		"unit-slow\tservices/a\tTestLong":   false, // it moved there
		"e2e-local\ttest/e2e\tTestOld":      true,
		"e2e-slow\ttest/e2e\tTestOld":       true,
		"local\ttest/e2e\tTestOld":          false,
		"unit-slow\tservices/b\tTestGone/x": false,
	} {
		if got := excused(key, gone); got != want {
			t.Errorf("%q: %t, want %t", key, got, want)
		}
	}
}

// TestUpdateGroup checks that a part of names with a slash, which isn't a test itself and has no
// outcome, gets the number of the tests below it.
func TestUpdateGroup(t *testing.T) {
	read := func(below string) *inventory {
		inv, err := readInventory("unit\tservices/a\tTestOne/POST_\t\t" + below + "\n")
		if err != nil {
			t.Fatal(err)
		}
		return inv
	}
	inv := read("1")
	inv.update(read("2"), nil)
	if inv.compare(read("2"), nil).New != 0 || inv.String() != read("2").String() {
		t.Errorf("updated to %q", inv)
	}
}
