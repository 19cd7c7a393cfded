package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// module is the prefix of this module's import paths.
const module = "github.com/trident-inference/trident"

// event is one line of `go test -json` (go doc test2json).
type event struct {
	Action     string  `json:"Action"`
	Package    string  `json:"Package"`
	ImportPath string  `json:"ImportPath"` // import path of the package that is built
	Test       string  `json:"Test"`
	Elapsed    float64 `json:"Elapsed"` // duration of the test in seconds
	Output     string  `json:"Output"`
}

// testKey names a test or subtest, or, without a Test, a package.
type testKey struct{ Package, Test string }

// result is how one test or package ended.
type result struct {
	Outcome string // outcome of the test: pass, fail or skip; empty while the test runs
	Elapsed time.Duration
}

// results collects a run of `go test -json`. A test that ran more than once
// fails if one of its runs failed.
type results struct {
	Tests    map[testKey]result
	Packages map[string]result
	Coverage map[string]float64 // percentage of statements that tests cover, by package

	output map[testKey][]string // output of running tests and of failed tests
	builds map[string][]string  // output of builds, by import path
	failed []testKey            // failed tests in the order in which they ended
}

func newResults() *results {
	return &results{
		Tests: map[testKey]result{}, Packages: map[string]result{}, Coverage: map[string]float64{},
		output: map[testKey][]string{}, builds: map[string][]string{},
	}
}

// shortPackage returns an import path relative to the module.
func shortPackage(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}

// read reads all events. It passes each counted event to seen, which may be nil, and lines that are
// not events to odd.
func (r *results) read(from io.Reader, seen func(event), odd func(string)) error {
	lines := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
				odd(line)
			} else {
				e.Package = shortPackage(e.Package)
				r.take(e)
				if seen != nil {
					seen(e)
				}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the output of go test: %w", err)
		}
	}
}

// coverageOf parses the line that a package's tests print at their end.
func coverageOf(line string) (percent float64, ok bool) {
	number, ok := strings.CutPrefix(line, "coverage: ")
	if !ok {
		return 0, false
	}
	number, ok = strings.CutSuffix(strings.TrimSpace(number), "% of statements")
	if !ok {
		return 0, false
	}
	percent, err := strconv.ParseFloat(number, 64)
	return percent, err == nil
}

// maxOutput bounds the kept output of a test, in lines. The last lines are kept.
const maxOutput = 2000

func (r *results) take(e event) {
	key := testKey{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		r.builds[e.ImportPath] = append(r.builds[e.ImportPath], e.Output)
	case "output":
		if percent, ok := coverageOf(e.Output); ok && e.Test == "" {
			r.Coverage[e.Package] = percent
		}
		r.output[key] = append(r.output[key], e.Output)
		r.output[key] = r.output[key][max(0, len(r.output[key])-maxOutput):]
	case "pass", "fail", "skip":
		ended := result{e.Action, time.Duration(e.Elapsed * float64(time.Second))}
		if e.Test == "" {
			r.Packages[e.Package] = ended
		} else {
			if before, again := r.Tests[key]; again && before.Outcome == "fail" {
				ended.Outcome = "fail"
			}
			r.Tests[key] = ended
		}
		if e.Action == "fail" {
			r.failed = append(r.failed, key)
		} else {
			delete(r.output, key)
		}
	}
}

// add adds the results of a part. again reports whether the part runs packages a second time; then
// add adds the results that addRun selects.
func (r *results) add(part *results, again bool) {
	if again {
		r.addRun(part)
		return
	}
	maps.Copy(r.Tests, part.Tests)
	maps.Copy(r.Packages, part.Packages)
	maps.Copy(r.Coverage, part.Coverage)
	maps.Copy(r.output, part.output)
	maps.Copy(r.builds, part.builds)
	r.failed = append(r.failed, part.failed...)
}

// addRun adds the results of another run of the same packages: its coverage, its failures, and the
// tests that passed only there.
func (r *results) addRun(other *results) {
	maps.Copy(r.Coverage, other.Coverage)
	maps.Copy(r.builds, other.builds)
	for key, value := range other.Tests {
		if before, ran := r.Tests[key]; value.Outcome == "pass" && (!ran || before.Outcome == "skip") {
			r.Tests[key] = value
		}
	}
	for _, key := range other.failed {
		r.failed = append(r.failed, key)
		r.output[key] = other.output[key]
		if key.Test == "" {
			r.Packages[key.Package] = other.Packages[key.Package]
		} else {
			r.Tests[key] = other.Tests[key]
		}
	}
}

// counts are the numbers of ended tests, subtests included.
type counts struct {
	Passed  int `json:"passed"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
}

func (c counts) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", c.Passed, c.Failed, c.Skipped)
}

func (r *results) counts(pkg string) counts {
	var c counts
	for key, value := range r.Tests {
		if pkg != "" && key.Package != pkg {
			continue
		}
		switch value.Outcome {
		case "pass":
			c.Passed++
		case "fail":
			c.Failed++
		case "skip":
			c.Skipped++
		}
	}
	return c
}

// slowest returns the n top-level tests that took longest.
func (r *results) slowest(n int) []testKey {
	var keys []testKey
	for key := range r.Tests {
		if !strings.Contains(key.Test, "/") {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b testKey) int {
		if by := r.Tests[b].Elapsed - r.Tests[a].Elapsed; by != 0 {
			return int(by / time.Nanosecond)
		}
		return strings.Compare(a.Package+a.Test, b.Package+b.Test)
	})
	return keys[:min(n, len(keys))]
}

// failures describes each failed test that has no failed subtest, and each
// failed package without a failed test, with their output.
func (r *results) failures() []string {
	var list []string
	for _, key := range r.failed {
		if slices.ContainsFunc(r.failed, func(other testKey) bool { return below(key, other) }) && key.Test == "" {
			continue
		}
		name := key.Package
		if key.Test != "" {
			name += " " + key.Test
		}
		list = append(list, fmt.Sprintf("FAIL %s\n%s", name, strings.Join(r.output[key], "")))
	}
	for path, output := range r.builds {
		list = append(list, fmt.Sprintf("BUILD %s\n%s", shortPackage(path), strings.Join(output, "")))
	}
	return list
}

// below reports whether the second test belongs to the first test or package.
func below(parent, child testKey) bool {
	return parent.Package == child.Package && parent != child && (parent.Test == "" || strings.HasPrefix(child.Test, parent.Test+"/"))
}
