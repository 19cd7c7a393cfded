package metrics

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDeployedNames: the dashboard and the alerts ask for metrics and labels that there
// are.
func TestDeployedNames(t *testing.T) {
	known, labels := map[string]bool{}, []string{"instance", "le", "gpu_uuid"}
	for _, f := range newFamilies(Default().GatewayPrefix).list() {
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

func dashboard(t *testing.T) (all []string) {
	t.Helper()
	var d struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
		Templating struct{ List []struct{ Definition string } }
	}
	text, err := os.ReadFile("../../deploy/grafana/trident.json")
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		t.Fatal(err)
	}
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
			Rules []struct{ Alert, Expr string }
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
	page, err := os.ReadFile("../../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range file.Groups[0].Rules {
		all = append(all, rule.Expr)
		if strings.Count(string(tests), "alertname: "+rule.Alert) < 2 {
			t.Errorf("no test of when %s fires and when it doesn't", rule.Alert)
		}
		if !strings.Contains(string(page), "`"+rule.Alert+"`") {
			t.Errorf("docs/observability.md doesn't tell of %s", rule.Alert)
		}
	}
	return all
}

// TestAlerts has promtool run the alerts' own tests.
func TestAlerts(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("no promtool: make setup-test installs it where it can")
	}
	run := exec.CommandContext(t.Context(), promtool, "test", "rules", "alerts_test.yml")
	run.Dir = "../../deploy/prometheus"
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
