package metrics

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDeployedNames tests that the dashboard and the alerts query only existing metrics
// and labels.
func TestDeployedNames(t *testing.T) {
	known, labels := map[string]bool{}, []string{"instance", "le", "gpu_uuid"}
	for _, f := range newFamilies(Default()).list() {
		known[f.name], labels = true, append(labels, f.labels...)
		if kindName(f) == "histogram" {
			for _, suffix := range []string{"_bucket", "_sum", "_count"} {
				known[f.name+suffix] = true
			}
		}
	}
	name := regexp.MustCompile(`\b(?:trident|gen_ai|nv|go|process)_[a-z0-9_]+\b`)
	by := regexp.MustCompile(`by \(([^)]*)\)|[{,]([a-z_]+)=`)
	checked := 0
	for _, expr := range append(dashboard(t), rules(t)...) {
		found := false
		for _, metric := range name.FindAllString(expr, -1) {
			if slices.Contains(labels, metric) {
				continue
			}
			checked, found = checked+1, true
			if ours := strings.HasPrefix(metric, "trident_") || strings.HasPrefix(metric, "gen_ai_"); ours && !known[metric] {
				t.Errorf("there is no metric %s: %s", metric, expr)
			}
		}
		for _, match := range by.FindAllStringSubmatch(expr, -1) {
			for label := range strings.SplitSeq(match[1]+match[2], ",") {
				if label = strings.TrimSpace(label); !slices.Contains(labels, label) {
					t.Errorf("there is no label %s: %s", label, expr)
				}
			}
		}
		if !found {
			t.Errorf("asks for no metric: %s", expr)
		}
	}
	if checked < 50 {
		t.Errorf("only %d names were checked", checked)
	}
}

// board has the parts of Grafana's file that the tests read.
type board struct {
	Panels     []panel
	Templating struct{ List []struct{ Definition string } }
}

type panel struct {
	ID      int
	Title   string
	GridPos struct{ X, Y, W, H int }
	Targets []struct{ Expr string }
}

func readBoard(t *testing.T) (b board) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/grafana/trident.json")
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// dashboard returns the queries of the dashboard.
func dashboard(t *testing.T) (all []string) {
	t.Helper()
	d := readBoard(t)
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			all = append(all, target.Expr)
		}
	}
	for _, v := range d.Templating.List {
		if v.Definition != "" {
			all = append(all, v.Definition)
		}
	}
	return all
}

func rules(t *testing.T) (all []string) {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Annotations struct {
					Runbook string `yaml:"runbook_url"`
				}
			}
		}
	}
	text, err := os.ReadFile("../../deploy/prometheus/alerts.yml")
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("../../deploy/prometheus/alerts_test.yml")
	if err != nil {
		t.Fatal(err)
	}
	sections := runbook(t)
	for _, rule := range file.Groups[0].Rules {
		all = append(all, rule.Expr)
		if strings.Count(string(tests), "alertname: "+rule.Alert) < 2 {
			t.Errorf("no test of when %s fires and when it doesn't", rule.Alert)
		}
		if want := runbookURL + strings.ToLower(rule.Alert); rule.Annotations.Runbook != want {
			t.Errorf("%s: the runbook_url is %q, want %q", rule.Alert, rule.Annotations.Runbook, want)
		}
		if !sections[rule.Alert] {
			t.Errorf("the runbook has no section on %s", rule.Alert)
		}
		delete(sections, rule.Alert)
	}
	for name := range sections {
		t.Errorf("the runbook has a section on %s, which is no alert", name)
	}
	return all
}

// runbookURL is the address of the runbook, before the anchor of a section.
const runbookURL = "https://github.com/trident-inference/trident/blob/main/docs/guides/runbook.md#"

// runbook returns the names of the runbook's sections on alerts. Each one must have steps.
func runbook(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile("../../docs/guides/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		if !strings.HasPrefix(name, "Trident") {
			continue
		}
		names[name] = true
		if !strings.Contains(text, "\n- ") {
			t.Errorf("the runbook's section on %s has no steps", name)
		}
	}
	return names
}

// TestRunbookQuotesTheLog checks that the program logs each message that the runbook names, and has
// each metric of it.
func TestRunbookQuotesTheLog(t *testing.T) {
	page, err := os.ReadFile("../../docs/guides/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	sources := ""
	for _, dir := range []string{"../../services", "../../cmd/trident"} {
		err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			sources += string(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	messages := regexp.MustCompile("log lines? `([^`]+)`").FindAllStringSubmatch(string(page), -1)
	for _, message := range messages {
		if !regexp.MustCompile(`\.(?:Debug|Info|Warn|Error)\("`+regexp.QuoteMeta(message[1])).MatchString(sources) && !strings.Contains(sources, `, "`+message[1]) {
			t.Errorf("nothing logs %q", message[1])
		}
	}
	known := map[string]bool{}
	for _, f := range newFamilies(Default()).list() {
		known[f.name] = true
	}
	metrics := regexp.MustCompile("`(trident_[a-z_]+)`").FindAllStringSubmatch(string(page), -1)
	for _, metric := range metrics {
		if !known[metric[1]] {
			t.Errorf("there is no metric %s", metric[1])
		}
	}
	if len(messages) < 8 || len(metrics) < 8 {
		t.Errorf("only %d messages and %d metrics were found", len(messages), len(metrics))
	}
}

// TestDashboardHasAll tests that each metric has a panel or a reason for having none.
// Each panel has its own place and id.
func TestDashboardHasAll(t *testing.T) {
	none := map[string]string{
		"trident_lora_requests_info": "for an inference gateway: its value is a time, and all else is in its labels",
	}
	all := strings.Join(dashboard(t), "\n")
	for _, f := range newFamilies(Default()).list() {
		asked := regexp.MustCompile(`\b` + f.name + `(?:_bucket|_sum|_count)?\b`).MatchString(all)
		if _, excused := none[f.name]; asked == excused {
			t.Errorf("%s: in a panel %t, excused %t", f.name, asked, excused)
		}
	}
	ids, places := map[int]string{}, map[[2]int]string{}
	for _, p := range readBoard(t).Panels {
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, taken := places[[2]int{x, y}]; taken || x >= 24 {
					t.Errorf("%s lies on %s or outside", p.Title, other)
				}
				places[[2]int{x, y}] = p.Title
			}
		}
		if other, taken := ids[p.ID]; taken {
			t.Errorf("%s has the id of %s", p.Title, other)
		}
		ids[p.ID] = p.Title
	}
}

// TestQueries checks that promtool accepts the queries of the Grafana dashboard. It passes them as
// recording rules.
func TestQueries(t *testing.T) {
	type rule struct{ Record, Expr string }
	var rules []rule
	for _, p := range readBoard(t).Panels {
		for i, target := range p.Targets {
			rules = append(rules, rule{fmt.Sprintf("panel:%d:%d", p.ID, i), strings.NewReplacer("$__rate_interval", "1m").Replace(target.Expr)})
		}
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "panels", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), promtool(t), "check", "rules", file).CombinedOutput(); err != nil || len(rules) < 40 {
		t.Errorf("%d queries: %v\n%s", len(rules), err, out)
	}
}

func promtool(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is missing: make setup-test installs it if apt-get works")
	}
	return path
}

// TestAlerts checks the alert rules of deploy/prometheus with their own test cases, which promtool
// runs.
func TestAlerts(t *testing.T) {
	run := exec.CommandContext(t.Context(), promtool(t), "test", "rules", "alerts_test.yml")
	run.Dir = "../../deploy/prometheus"
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestPickerNames checks the configuration of llm-d's endpoint picker: its names of metrics are
// those of Trident without flags, and it reads the port that asks for no key.
func TestPickerNames(t *testing.T) {
	var file struct {
		Plugins []struct {
			Type       string
			Parameters struct {
				Port          int
				DefaultEngine string              `yaml:"defaultEngine"`
				EngineConfigs []map[string]string `yaml:"engineConfigs"`
			}
		}
	}
	text, err := os.ReadFile("../../deploy/llm-d/epp.yaml")
	if err == nil {
		err = yaml.Unmarshal(text, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	cfg := Default()
	f := newFamilies(cfg)
	checked := 0
	for _, plugin := range file.Plugins {
		switch plugin.Type {
		case "metrics-data-source":
			checked++
			if plugin.Parameters.Port != cfg.Port {
				t.Errorf("the picker reads port %d, not %d", plugin.Parameters.Port, cfg.Port)
			}
		case "core-metrics-extractor":
			checked++
			want := map[string]string{
				"name": plugin.Parameters.DefaultEngine, "queuedRequestsSpec": f.waiting.name, "runningRequestsSpec": f.running.name, "loraSpec": f.loras.name,
			}
			if got := plugin.Parameters.EngineConfigs; len(got) != 1 || !maps.Equal(got[0], want) {
				t.Errorf("the picker's names are %v, not %v", got, want)
			}
		}
	}
	if checked != 2 || !strings.Contains(string(text), f.kvCache.name) {
		t.Error("the configuration lacks the source of the metrics, their names, or the comment on " + f.kvCache.name)
	}
}
