package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestFuzz runs schemathesis, which generates valid and invalid requests from the documents of OpenAI's,
// Anthropic's and the encoders' APIs that trident serves, and checks each response against them. It sends TRIDENT_TEST_FUZZ requests of each
// operation to a model that responds at once, and TRIDENT_TEST_FUZZ_SLOW to the demo models. No
// request may get a 5xx, hang, or leave anything behind.
func TestFuzz(t *testing.T) {
	needsServer(t)
	t.Run("contract", func(t *testing.T) {
		cases := fuzzCases(t, "TRIDENT_TEST_FUZZ")
		fuzz(t, contractModel(t), []string{"--lora-separator=_lora_"}, &fuzzing{
			cases: cases, phases: "coverage,fuzzing", documents: append(textDocuments(), "/v1/rerank/openapi.json"), env: []string{"FUZZ_MODEL=vllm"},
		})
	})
	t.Run("demo models", func(t *testing.T) {
		cases := fuzzCases(t, "TRIDENT_TEST_FUZZ_SLOW")
		// The encoders' document is left out: the demo's chat model scores each of up to 4,096 documents by
		// a generation, which takes hours for the requests that schemathesis makes.
		fuzz(t, demoModels(t), []string{"--default-max-tokens=4"}, &fuzzing{
			cases: cases, phases: "fuzzing", documents: textDocuments(), env: []string{"FUZZ_MODEL=chat", "FUZZ_EMBEDDING=embedding", "FUZZ_MAX_TOKENS=4"},
		})
	})
}

// textDocuments returns the paths of the documents of the APIs of text.
func textDocuments() []string { return []string{"/openapi.json", "/v1/messages/openapi.json"} }

// fuzzing has the arguments of a run of schemathesis.
type fuzzing struct {
	cases     int // requests of each operation
	phases    string
	documents []string // their paths
	env       []string
}

// fuzzCases returns the number in a variable, and skips the test if it isn't set.
func fuzzCases(t *testing.T, variable string) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		t.Skip("the test takes minutes: set " + variable + " to the number of cases to run it")
	}
	cases, err := strconv.Atoi(text)
	if err != nil || cases < 1 {
		t.Fatalf("%s=%s must be a positive number", variable, text)
	}
	return cases
}

const (
	// warmUp is the number of requests of each operation before the first measurement.
	warmUp = 20
	// fuzzRound is the maximum number of requests of one run of schemathesis. It slows down with
	// the number of its requests: from 34 a second at 200 to 3 a second at 10,000.
	fuzzRound = 200
)

// fuzz runs a warm-up and then the cases. Afterwards trident's footprint must be as before.
func fuzz(t *testing.T, models engine, flags []string, work *fuzzing) {
	t.Helper()
	profiles := "127.0.0.1:" + freePort(t)
	s := models.startAt(t, root(t), append(flags, "--profile-address="+profiles)...)
	if !poll(startLimit, func() bool { return s.get(t, "/health/ready").status == http.StatusOK }) {
		t.Fatal("trident isn't ready")
	}
	schemathesis(t, s, warmUp, "fuzzing", work)
	before := footprintOf(t, s, profiles)
	mark := s.log.len()
	inRounds(work.cases, func(n, made int) {
		what := work.phases
		if made > 0 {
			what = "fuzzing" // covers the values of each field one by one
		}
		schemathesis(t, s, n, what, work)
		t.Logf("%d requests of each operation, after %d", n, made)
	})
	t.Logf("before %+v", before)
	var after footprint
	settled := poll(startLimit, func() bool { // Go returns freed memory to the system in the background
		after = footprintOf(t, s, profiles)
		return after.goroutines <= before.goroutines+10 && after.heap <= before.heap+32<<20 && after.resident <= 2*before.resident
	})
	t.Logf("after  %+v", after)
	if !settled {
		t.Error("the footprint has grown")
	}
	statuses := map[string]int{}
	for _, line := range s.log.since(mark) {
		if status, ok := line["status"]; ok {
			statuses[fmt.Sprint(status)]++
		}
		if status, _ := line["status"].(float64); status >= http.StatusInternalServerError {
			t.Errorf("%v", line)
		}
		if strings.Contains(line.text("error"), "refuses one of the request's sampling parameters") {
			t.Errorf("the model refused a request that Trident should have refused: %v", line)
		}
	}
	t.Logf("answers by status: %v", statuses)
}

// inRounds runs rounds on all cores until the rounds have run the given number of cases.
// Generating requests takes far longer than answering requests.
func inRounds(cases int, run func(n, made int)) {
	side := runtime.NumCPU()
	most := min(fuzzRound, (cases+side-1)/side)
	var mu sync.Mutex
	begun := 0
	next := func() (n, made int) {
		mu.Lock()
		defer mu.Unlock()
		n, made = min(most, cases-begun), begun
		begun += n
		return n, made
	}
	var all sync.WaitGroup
	for range side {
		all.Go(func() {
			for n, made := next(); n > 0; n, made = next() {
				run(n, made)
			}
		})
	}
	all.Wait()
}

// schemathesis sends a number of requests of each operation of each document.
func schemathesis(t *testing.T, s *trident, cases int, phases string, work *fuzzing) {
	t.Helper()
	ours := filepath.Join(root(t), "test", "fuzz")
	for _, document := range work.documents {
		cmd := exec.CommandContext(t.Context(), installed(t, "schemathesis"), "--config-file="+filepath.Join(ours, "schemathesis.toml"),
			"run", s.url+document, "--phases="+phases, "--max-examples="+strconv.Itoa(cases), "--no-color")
		cmd.Dir = t.TempDir() // schemathesis stores its findings there
		cmd.Env = slices.Concat(os.Environ(), work.env, []string{"FUZZ_DOCUMENT=" + document, "SCHEMATHESIS_HOOKS=hooks", "PYTHONPATH=" + ours, "PYTHONDONTWRITEBYTECODE=1"})
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", document, err, out)
		} else {
			t.Logf("%s: %s", document, out[max(0, len(out)-400):])
		}
	}
}

// footprint is the resources of an idle process.
type footprint struct {
	goroutines     int
	heap, resident int // sizes of the heap and of the resident memory, in bytes
}

var (
	goroutineTotal = regexp.MustCompile(`goroutine profile: total (\d+)`)
	heapAlloc      = regexp.MustCompile(`# HeapAlloc = (\d+)`)
	residentSize   = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)
)

func footprintOf(t *testing.T, s *trident, profiles string) footprint {
	t.Helper()
	client.CloseIdleConnections()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return footprint{
		goroutines: number(t, goroutineTotal, profile(t, profiles, "goroutine?debug=1")),
		heap:       number(t, heapAlloc, profile(t, profiles, "heap?gc=1&debug=1")),
		resident:   1024 * number(t, residentSize, string(status)),
	}
}

func number(t *testing.T, pattern *regexp.Regexp, text string) int {
	t.Helper()
	found := pattern.FindStringSubmatch(text)
	if found == nil {
		t.Fatalf("no %s in %.200s", pattern, text)
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func profile(t *testing.T, address, name string) string {
	t.Helper()
	resp, err := client.Get("http://" + address + "/debug/pprof/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
