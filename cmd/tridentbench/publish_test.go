package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/test/chart"
)

// peersReport returns a report of make bench-peers with rounds that differ by a factor. Trident and
// openai_trtllm are measured; Triton's frontend is, if it is named.
func peersReport(rounds int, peers ...string) *report {
	r := &report{Command: commandPeers, Machine: "a CPU, Linux", Cores: 2, Date: "2026-01-02 10:00 UTC", Version: "v1, go1", Rounds: rounds, Peers: peers}
	costs := map[string]sample{
		colEngine:   {cpuTrident: 4, first50: 5, first99: 10, gap50: 10, gap99: 11, tokenRate: 500_000},
		colLocal:    {cpuTrident: 25, first50: 6, first99: 12, gap50: 10.1, gap99: 12, tokenRate: 300_000},
		colText:     {cpuTrident: 5, cpuOf + roleTriton: 10, first50: 7, first99: 13, gap50: 10, gap99: 12, tokenRate: 40_000},
		colRemote:   {cpuTrident: 40, cpuOf + roleTriton: 35, first50: 8, first99: 16, gap50: 10, gap99: 14, tokenRate: 30_000},
		colTrtllm:   {cpuTrident: 50, cpuOf + roleTriton: 45, first50: 50, first99: 60, gap50: 10, gap99: 14, tokenRate: 25_000},
		colFrontend: {cpuTrident: 100, first50: 9, first99: 18, gap50: 10, gap99: 20, tokenRate: 9_000},
	}
	for _, s := range peerScenarios() {
		columns := s.columns
		for _, p := range peers {
			if s.job.Ensemble == (p == colTrtllm) {
				columns = append(columns, p)
			}
		}
		for _, column := range columns {
			for i := range rounds {
				got := sample{}
				for metric, v := range costs[column] {
					got[metric] = v * (1 + float64(i)/10)
				}
				r.add(&s, column, i+1, got)
			}
		}
	}
	r.finish(time.Minute, append(figures(), peerFigures(r.Peers)...))
	return r
}

// barsOf returns the values of a chart's bars by section and label.
func barsOf(t *testing.T, r *report, name string) map[string]string {
	t.Helper()
	c := r.charts()[name]
	if c == nil {
		t.Fatalf("there is no chart %s", name)
	}
	got := map[string]string{}
	for _, s := range c.Sections {
		for _, b := range s.Bars {
			got[s.Title+" / "+b.Label] = b.Value
			if strings.HasPrefix(b.Label, "Trident") != b.Own {
				t.Errorf("%s, %s: Own is %t", name, b.Label, b.Own)
			}
		}
	}
	return got
}

// TestCharts checks the values of the charts, in the units of their titles.
func TestCharts(t *testing.T) {
	r := peersReport(3, colFrontend, colTrtllm)
	const ensemble = "In front of tritonserver, tensors of TensorRT-LLM's ensemble"
	for name, want := range map[string]map[string]string{
		"performance-cores": {
			"Triton in the same process, a token each 10 ms / Trident":                            "0.28 (0.25..0.30)",
			"Triton in the same process, a token each 20 ms / " + colFrontend:                     "1.10 (1.00..1.20)",
			ensemble + ", a token each 10 ms / Trident":                                           "0.44 + 0.39 = 0.83 (0.75..0.90)",
			ensemble + ", a token each 20 ms / " + colTrtllm:                                      "0.55 + 0.50 = 1.05 (0.95..1.14)",
			ensemble + ", a token each 10 ms / gRPC client in Go, text alone":                     "0.06 + 0.11 = 0.17 (0.15..0.18)",
			"In front of tritonserver, tensors of the vLLM backend, a token each 10 ms / Trident": "0.44 + 0.39 = 0.83 (0.75..0.90)",
		},
		"performance-latency": {
			"Triton in the same process: first token / Trident": "p50 1.10 (1.00..1.20), p99 2.20 (2.00..2.40) ms",
			ensemble + ": first token / " + colTrtllm:           "p50 49.5 (45.0..54.0), p99 55.0 (50.0..60.0) ms",
			ensemble + ": between tokens / Trident":             "p50 0.00 (0.00..0.00), p99 3.30 (3.00..3.60) ms",
		},
		"performance-flat": {
			"Triton in the same process / Trident": "330,000 (300,000..360,000)",
			ensemble + " / " + colTrtllm:           "27,500 (25,000..30,000)",
		},
		"performance-readme": {
			"Tokens/s, 64 streams flat out / Trident, in process":                             "330,000 (300,000..360,000)",
			"Tokens/s, 64 streams flat out / " + colFrontend + ", in process":                 "9,900 (9,000..10,800)",
			"First token of an idle server, p50 / " + colTrtllm + " in front of tritonserver": "55.0 (50.0..60.0) ms",
			"First token of an idle server, p50 / tritonserver's gRPC, by a client in Go":     "7.70 (7.00..8.40) ms",
		},
	} {
		got := barsOf(t, r, name)
		for bar, value := range want {
			if got[bar] != value {
				t.Errorf("%s, %s: %q, not %q in %q", name, bar, got[bar], value, got)
			}
		}
	}
	for name, c := range r.charts() {
		if text := strings.Join(c.Notes, " "); text != "Medians of 3 rounds, with the lowest and the highest. 2 cores of a CPU, Trident v1, 2026-01-02 10:00 UTC." {
			t.Errorf("%s: the notes are %q", name, text)
		}
	}
}

// TestChartsSayWhatIsMissing checks that a server that wasn't measured has no bar, and is named.
func TestChartsSayWhatIsMissing(t *testing.T) {
	r := peersReport(1, colTrtllm)
	for name, c := range r.charts() {
		for bar := range barsOf(t, r, name) {
			if strings.Contains(bar, colFrontend) {
				t.Errorf("%s has a bar of %s", name, bar)
			}
		}
		if text := strings.Join(c.Notes, " "); !strings.HasSuffix(text, "Not measured in this run: "+colFrontend+".") || !strings.HasPrefix(text, "One round.") {
			t.Errorf("%s: the notes are %q", name, text)
		}
	}
}

// TestSummary checks the cost of a million tokens, and the other columns of the summary.
func TestSummary(t *testing.T) {
	text := string(peersReport(1, colFrontend).summary(0.036))
	for _, want := range []string{
		"By `make bench-peers`: 2026-01-02 10:00 UTC; 2 cores of a CPU, Linux;",
		// 0.25 cores for 10,000 tokens/s: 100 s for a million tokens are 25 core-seconds, at 0.001 cents each.
		"| Triton in the same process: **Trident** | 0.25 | 40,000 | 1.00, 2.00 | 0.10, 1.00 | 0.025 |",
		"| Triton in the same process: " + colFrontend + " | 1.00 | 10,000 | 4.00, 8.00 | 0.00, 9.00 | 0.100 |",
		"| In front of tritonserver, tensors of the vLLM backend: **Trident** | 0.75 | 13,300 | 3.00, 6.00 | 0.00, 3.00 | 0.075 |",
		"A core costs $0.036 an hour in this table.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the summary lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, colTrtllm) {
		t.Errorf("the summary has a server that wasn't measured:\n%s", text)
	}
}

// TestReportAgain checks that a recorded run makes the same tables, summary and charts again.
func TestReportAgain(t *testing.T) {
	r := peersReport(2, colFrontend, colTrtllm)
	folder := t.TempDir()
	recorded, page := filepath.Join(folder, "bench.json"), filepath.Join(folder, "page.md")
	if err := writeJSON(recorded, r); err != nil {
		t.Fatal(err)
	}
	begin := func(command string) string { return "<!-- " + command + " writes from here -->\n" }
	if err := os.WriteFile(page, []byte(begin(summaryBlock)+reportEnd+"text\n"+begin(commandPeers)+reportEnd), 0o600); err != nil {
		t.Fatal(err)
	}
	c := reportCommand{publication: publication{Charts: folder, CorePrice: 0.04}, JSON: recorded, Report: page}
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	want := begin(summaryBlock) + string(r.summary(0.04)) + reportEnd + "text\n" + begin(commandPeers) + string(r.markdown()) + reportEnd
	if err != nil || string(got) != want {
		t.Errorf("%v: the page is\n%s\nnot\n%s", err, got, want)
	}
	for name, drawn := range r.charts() {
		for _, theme := range chart.Themes() {
			svg, err := os.ReadFile(filepath.Join(folder, name+"-"+theme.Name+".svg"))
			if err != nil || !bytes.Equal(svg, drawn.SVG(&theme)) {
				t.Errorf("%s-%s: %v", name, theme.Name, err)
			}
		}
	}
	r.Command, r.Peers = "", nil // a file of an earlier version
	if err := writeJSON(recorded, r); err != nil {
		t.Fatal(err)
	}
	old, err := readReport(recorded)
	if err != nil || old.Command != commandBench || strings.Join(old.Peers, ", ") != colFrontend+", "+colTrtllm {
		t.Errorf("got %+v, %v", old, err)
	}
	r.Command = "make bench-fleet"
	if err := writeJSON(recorded, r); err != nil {
		t.Fatal(err)
	}
	if _, err := readReport(recorded); err == nil || !strings.Contains(err.Error(), "is of make bench-fleet") {
		t.Errorf("got %v", err)
	}
	if err := new(reportCommand).Run(); err == nil || !strings.Contains(err.Error(), "set --json or --reliability") {
		t.Errorf("got %v", err)
	}
}

// TestPublished checks that the charts of docs/performance.md are of the run whose summary the page has.
func TestPublished(t *testing.T) {
	page, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := bytes.Cut(page, []byte("<!-- "+summaryBlock+" writes from here -->\n"))
	summary, _, _ := bytes.Cut(rest, []byte(reportEnd))
	_, facts, found := bytes.Cut(summary, []byte("`: "))
	date, _, _ := bytes.Cut(facts, []byte(";"))
	if !ok || !found || len(date) == 0 {
		t.Fatalf("the page has no summary of a run:\n%s", summary)
	}
	for _, name := range []string{"performance-cores", "performance-latency", "performance-flat", "performance-readme"} {
		for _, theme := range chart.Themes() {
			file := name + "-" + theme.Name + ".svg"
			svg, err := os.ReadFile("../../docs/" + file)
			if err != nil || !bytes.Contains(svg, date) {
				t.Errorf("%s isn't of the run of %s: %v", file, date, err)
			}
		}
		if name != "performance-readme" && !bytes.Contains(page, []byte(name+"-dark.svg")) {
			t.Errorf("the page doesn't show %s", name)
		}
	}
}

// TestReliabilityChart checks that the chart of docs/reliability.md has the values of the page's tables.
func TestReliabilityChart(t *testing.T) {
	c, err := reliabilityChart("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, s := range c.Sections {
		for _, b := range s.Bars {
			values[s.Title+" / "+b.Label] = b.Value
		}
	}
	for bar, want := range map[string]string{
		"Requests of each run / 30 minutes, in front of tritonserver":                                                   "0 lost of 399,065, 153,263 errors",
		"In front of tritonserver: longest time until an error / tritonserver killed, away for 3 s":                     "3.2 s of 8 s, 14,280 failed",
		"In front of tritonserver: longest time until an error / disk of the log full for 8 s: every write to it fails": "0 failed",
		"Triton in Trident's process: longest time until an error / SIGTERM, --shutdown-timeout 5 s":                    "8.3 s of 13 s, 5,980 failed",
	} {
		if values[bar] != want {
			t.Errorf("%s: %q, not %q in %q", bar, values[bar], want, values)
		}
	}
	for _, theme := range chart.Themes() {
		path := "../../docs/reliability-" + theme.Name + ".svg"
		if *update {
			if err := draw("../../docs", map[string]*chart.Chart{"reliability": c}); err != nil {
				t.Fatal(err)
			}
		}
		if svg, err := os.ReadFile(path); err != nil || !bytes.Equal(svg, c.SVG(&theme)) {
			t.Errorf("%s isn't of the page's tables (go test ./cmd/tridentbench -run TestReliabilityChart -update draws it): %v", path, err)
		}
	}
	for text, want := range map[string]string{
		"# A\n":                               "has no table",
		headRuns + "\n|---|\n| a | 1 | 2 |\n": "has no 5 cells",
		headRuns + "\n|---|\n| a | x | 2 | 3 | 4 |\n":        "invalid syntax",
		headFaults + "\n|---|\n| a | 8 s | 1 | 2 | none |\n": "no time to the error",
		headFaults + "\n|---|\n| a | 8 s |\n":                "has no 4 cells",
	} {
		path := filepath.Join(t.TempDir(), "page.md")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := reliabilityChart(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, not %q", text, err, want)
		}
	}
}
