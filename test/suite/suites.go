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
	Flags    []string // further flags of `go test`
	Env      []string // further environment variables, as NAME=value
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
	return []string{"cmd/tridentsim", "services/budget", "services/chat", "services/toolparser", "services/chat/jinja", "services/openai", "services/openai/responses", "services/requests", "services/tokenizer"}
}

// noVet disables the part of go vet that go test runs, because make lint runs all of go vet.
const noVet = "-vet=off"

func checkSuites() []suite {
	return []suite{
		{Name: setupTarget, Shows: "Triton, and the clients and oracles of the tests, are installed, or are in TRIDENT_CACHE"},
		{Name: "lint", Shows: "golangci-lint, go vet, buf lint and buf breaking report nothing"},
		{Name: "words", Shows: "comments, help and errors avoid unclear words; commit subjects are `area: imperative`"},
		{Name: "cross", Shows: "trident builds without cgo for all platforms"},
		{Name: "generate-check", Shows: "generated code equals what make generate writes"},
		{Name: "docs-check", Shows: "the words of the documentation are spelled as in the dictionaries, and the generators of its reference pages work"},
		{Name: "deploy-check", Shows: "the tools that read the files of deploy/ and the shell scripts accept them"},
		{
			Name: "unit", Shows: "each package passes its tests, with the fuzz seeds and one run of each benchmark; engines and KServe are tested on a real Triton",
			Packages: []string{"./..."}, Without: "test/e2e", Computes: computing(), Limit: 15 * time.Minute,
			Flags: []string{"-race", noVet, "-cover", "-bench=.", "-benchtime=1x"},
		},
		{
			Name: "e2e", Shows: "the trident program on a real Triton works with real clients, SDKs and a browser",
			Packages: []string{"./test/e2e"}, Limit: 15 * time.Minute, Flags: []string{"-race", noVet},
		},
	}
}

func slowSuites() []suite {
	list := []suite{
		{
			Name: "local", Shows: "in-process Triton passes the engine suite and survives failures",
			Packages: []string{"./services/triton/local"}, Limit: 20 * time.Minute,
			Flags: []string{"-race", noVet}, Env: []string{"TRIDENT_TEST_LOCAL=1", slowEnvironment},
		},
		{
			Name: "kserve-local", Shows: "KServe's responses equal tritonserver's in all protocols, also with in-process Triton",
			Packages: []string{"./services/kserve", "./services/kserve/rest"}, Limit: 20 * time.Minute,
			Flags: []string{"-race", noVet, "-run=LikeTritonserver"}, Env: []string{"TRIDENT_TEST_LOCAL=1", slowEnvironment},
		},
		{
			Name: "unit-slow", Shows: "the unit suite passes with inputs of full size, with the tests of the slow tier, and with new answers of the oracles",
			Packages: []string{"./..."}, Without: "test/e2e", Limit: 40 * time.Minute,
			Flags: []string{"-race", noVet}, Env: []string{slowEnvironment},
		},
		{
			Name: "e2e-slow", Shows: "the end-to-end suite passes with the tests of the slow tier",
			Packages: []string{"./test/e2e"}, Limit: 40 * time.Minute, Flags: []string{"-race", noVet}, Env: []string{slowEnvironment},
		},
		{
			Name: "e2e-local", Shows: "the end-to-end suite passes with in-process Triton",
			Packages: []string{"./test/e2e"}, Limit: 40 * time.Minute,
			Flags: []string{"-race", noVet}, Env: []string{"TRIDENT_TEST_ENGINE=local", slowEnvironment},
		},
		{Name: "clients", Shows: "published clients and agents, unmodified, complete their tasks, and fail if a part of the responses is missing"},
		{Name: "test-kube", Shows: "a real kube-apiserver installs and upgrades the Helm chart, accepts the examples, and refuses wrong objects"},
		{Name: "test-valkey", Shows: "the tests of the shared store pass on Valkey"},
		{Name: "test-release", Shows: "the files of a release (wheel, .deb, .rpm, archives, npm client and chart) can be installed, and start with no library except glibc; a second build has the same bytes"},
		{Name: "test-asan", Shows: "the in-process engine passes under the address sanitizer"},
		{Name: "measured", Shows: "without the race detector, times and memory stay within their bounds"},
		{Name: "cost", Shows: "CPU time and memory of hostile requests, generated for each field of each API, stay within bounds"},
		{Name: "simulation", Shows: "in simulations of up to 1,000 endpoints, Trident's choice of an endpoint is as good as that of other projects, and survives failures; four real servers behave as simulated"},
		{Name: "bench-quick", Shows: "the bench runs each scenario for a few seconds without errors"},
		{Name: "fuzz-targets", Shows: "Go's fuzzing finds no failure, in 30 s for each target"},
		{Name: "fuzz-contract", Shows: "for each operation, 200 requests generated from the OpenAPI documents get valid responses"},
		{Name: "fuzz-demo", Shows: "for each operation of the demo models, 50 requests generated from the OpenAPI documents get valid responses"},
		{Name: "soak-short", Shows: "a remote Trident recovers from each fault under 100 streams"},
		{Name: "soak-local", Shows: "Trident with in-process Triton recovers from each fault under 100 streams"},
		{Name: "soak-fleet-short", Shows: "under 200 streams, a Trident in front of four tritonservers repeats the requests that a failing tritonserver didn't serve"},
		{Name: "test-epp", Shows: "llm-d's endpoint picker, unmodified, chooses between three Tridents by their load and their prefixes; skipped without `EPP`"},
		{Name: "mutations", Shows: "each inserted defect makes a test fail"},
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
