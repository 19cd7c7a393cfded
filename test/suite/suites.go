package main

import (
	"slices"
	"time"
)

// suite is a set of tests that run together. It is a call of `go test`, or else the
// Make target of the same name.
type suite struct {
	Name  string
	Slow  bool   // runs in make check-slow, not in make check
	Shows string // the description of CONTRIBUTING.md

	Packages []string // patterns of `go test`, empty for a Make target
	Without  string   // a package that the patterns match but the suite omits
	Computes []string // packages whose statement coverage is measured in a separate run
	Flags    []string // of `go test`
	Env      []string // NAME=value
	Limit    time.Duration
}

// setupTarget is the Make target that installs the tests' dependencies.
const setupTarget = "setup-test"

// slowEnvironment turns on the tests that only the slow tier runs.
const slowEnvironment = "TRIDENT_TEST_SLOW=1"

// suites is the list of all suites, in the order in which they run.
func suites() []suite { return slices.Concat(checkSuites(), slowSuites()) }

// computing lists the packages whose tests compute for seconds. The race detector also watches the
// counters of the coverage: both together slow such tests down 2 to 6 times as much as the race
// detector alone. A run without the race detector measures their coverage in seconds, and runs the
// tests that skip the race detector (tier.Computes).
func computing() []string {
	return []string{"services/budget", "services/chat", "services/toolparser", "services/chat/jinja", "services/openai", "services/openai/responses", "services/requests", "services/tokenizer"}
}

// unvetted disables the part of go vet that go test runs, because make lint runs all of go vet.
const unvetted = "-vet=off"

func checkSuites() []suite {
	return []suite{
		{Name: setupTarget, Shows: "installs Triton, the clients and oracles of the tests; from TRIDENT_CACHE if they are there"},
		{Name: "lint", Shows: "golangci-lint, go vet, buf lint, buf breaking"},
		{Name: "words", Shows: "comments, help and errors avoid unclear words; commit subjects are `area: imperative`"},
		{Name: "cross", Shows: "builds without cgo for all platforms"},
		{Name: "generate-check", Shows: "generated code is what the sources make"},
		{Name: "deploy-check", Shows: "files of deploy/ and shell scripts, by the tools that read them"},
		{
			Name: "unit", Shows: "each package by itself, engines and KServe on a real Triton, seeds of the fuzz targets, each benchmark once",
			Packages: []string{"./..."}, Without: "test/e2e", Computes: computing(), Limit: 15 * time.Minute,
			Flags: []string{"-race", unvetted, "-cover", "-bench=.", "-benchtime=1x"},
		},
		{
			Name: "e2e", Shows: "the trident program before a real Triton, called by real clients, SDKs and a browser",
			Packages: []string{"./test/e2e"}, Limit: 15 * time.Minute, Flags: []string{"-race", unvetted},
		},
	}
}

func slowSuites() []suite {
	list := []suite{
		{
			Name: "local", Shows: "the engine suite and failures of Triton in process",
			Packages: []string{"./services/triton/local"}, Limit: 20 * time.Minute,
			Flags: []string{"-race", unvetted}, Env: []string{"TRIDENT_TEST_LOCAL=1", slowEnvironment},
		},
		{
			Name: "kserve-local", Shows: "comparisons with tritonserver by all protocols, with Triton in process too",
			Packages: []string{"./services/kserve", "./services/kserve/rest"}, Limit: 20 * time.Minute,
			Flags: []string{"-race", unvetted, "-run=LikeTritonserver"}, Env: []string{"TRIDENT_TEST_LOCAL=1", slowEnvironment},
		},
		{
			Name: "unit-slow", Shows: "the unit suite with inputs of full size and the tests of the slow tier, oracles asked",
			Packages: []string{"./..."}, Without: "test/e2e", Limit: 40 * time.Minute,
			Flags: []string{"-race", unvetted}, Env: []string{slowEnvironment},
		},
		{
			Name: "e2e-slow", Shows: "the end-to-end suite with the tests of the slow tier",
			Packages: []string{"./test/e2e"}, Limit: 40 * time.Minute, Flags: []string{"-race", unvetted}, Env: []string{slowEnvironment},
		},
		{
			Name: "e2e-local", Shows: "the end-to-end suite with Triton in process",
			Packages: []string{"./test/e2e"}, Limit: 40 * time.Minute,
			Flags: []string{"-race", unvetted}, Env: []string{"TRIDENT_TEST_ENGINE=local", slowEnvironment},
		},
		{Name: "test-asan", Shows: "the in-process engine under the address sanitizer"},
		{Name: "measured", Shows: "tests that hold times and memory to bounds, without the race detector"},
		{Name: "cost", Shows: "CPU time and memory of hostile requests, made for each field of each API"},
		{Name: "bench-quick", Shows: "the bench runs, each scenario for seconds"},
		{Name: "fuzz-targets", Shows: "all Go fuzz targets, 30 s each"},
		{Name: "fuzz-contract", Shows: "200 requests made of the OpenAPI document for each operation"},
		{Name: "fuzz-demo", Shows: "50 such requests for each operation of the demo models"},
		{Name: "soak-short", Shows: "each fault once under 100 streams, before a tritonserver"},
		{Name: "soak-local", Shows: "the same with Triton in process"},
		{Name: "mutations", Shows: "each planted defect is caught by a test"},
	}
	for i := range list {
		list[i].Slow = true
	}
	return list
}

// suiteNamed returns the suite with this name.
func suiteNamed(name string) (suite, bool) {
	for _, s := range suites() {
		if s.Name == name {
			return s, true
		}
	}
	return suite{}, false
}
