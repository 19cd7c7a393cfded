package main

import (
	"strings"
	"testing"
)

// messages is output of govulncheck, shortened: a vulnerability that the program calls, which is
// reported for the module, for the package and for the function, and one in an unused package.
const messages = `
{"config": {"protocol_version": "v1.0.0", "scanner_name": "govulncheck", "scanner_version": "v1.1.4", "db_last_modified": "2026-11-20T18:00:00Z"}}
{"progress": {"message": "Scanning your code"}}
{"osv": {"id": "GO-2026-1", "summary": "Panic on | some input"}}
{"osv": {"id": "GO-2026-2", "summary": "Slow reading"}}
{"finding": {"osv": "GO-2026-1", "fixed_version": "v1.2.4", "trace": [{"module": "example.com/a", "version": "v1.2.3"}]}}
{"finding": {"osv": "GO-2026-1", "fixed_version": "v1.2.4", "trace": [{"module": "example.com/a", "version": "v1.2.3", "package": "example.com/a/b", "function": "Read"}]}}
{"finding": {"osv": "GO-2026-1", "fixed_version": "v1.2.4", "trace": [{"module": "example.com/a", "version": "v1.2.3", "package": "example.com/a/b"}]}}
{"finding": {"osv": "GO-2026-2", "trace": [{"module": "stdlib", "version": "v1.26.11"}]}}
`

func TestReport(t *testing.T) {
	modules, err := read([]byte(messages))
	if err != nil {
		t.Fatal(err)
	}
	r := report{date: "2026-11-26", db: database{name: "the public database"}, compiler: "go1.26.11", modules: modules, npm: []audited{
		readAudit([]byte(`{"auditReportVersion": 2, "vulnerabilities": {}, "metadata": {"dependencies": {"prod": 7}}}`)),
		readAudit([]byte(`{"message": "405 Method Not Allowed", "statusCode": 405, "error": {}}`)),
		readAudit([]byte(`npm error`)),
	}}
	text := r.text()
	for _, want := range []string{
		"on 2026-11-26.", "govulncheck v1.1.4", "go1.26.11", "change is of 2026-11-20.",
		"| `example.com/a` | v1.2.3 | GO-2026-1: Panic on \\| some input | v1.2.4 | calls the function |\n",
		"| `stdlib` | v1.26.11 | GO-2026-2: Slow reading | no version | doesn't contain the package |\n",
		"| 7 | no advisories |\n", "| 0 | not checked: npm audit printed no report |\n",
		"| 0 | not checked: the registry that could be reached refuses audits (HTTP status 405) |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, "GO-2026-1"); n != 1 {
		t.Errorf("the vulnerability is listed %d times", n)
	}
}

// TestFound checks which results need a change.
func TestFound(t *testing.T) {
	modules, err := read([]byte(messages))
	if err != nil {
		t.Fatal(err)
	}
	harmless := scanned{findings: modules.findings[1:]}
	advisory := readAudit([]byte(`{"vulnerabilities": {"marked": {"severity": "high", "range": "<18.0.2"}}, "metadata": {"dependencies": {"prod": 7}}}`))
	for name, row := range map[string]struct {
		report report
		want   bool
	}{
		"nothing":            {report{}, false},
		"a called function":  {report{modules: modules}, true},
		"an unused package":  {report{modules: harmless}, false},
		"an advisory of npm": {report{npm: []audited{advisory}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := row.report.found(); got != row.want {
				t.Errorf("got %t", got)
			}
		})
	}
	if got := advisory.advisories; len(got) != 1 || got[0] != "`marked` <18.0.2 (high)" {
		t.Errorf("%q", got)
	}
}

func TestDateOf(t *testing.T) {
	if got := dateOf("v0.0.0-20261105234957-e22db6528018"); got != "2026-11-05" {
		t.Errorf("got %s", got)
	}
	if got := dateOf("v1.2.3"); got != "" {
		t.Errorf("a version without a time has the date %s", got)
	}
}

func TestPinnedGo(t *testing.T) {
	got, err := pinnedGo("../../..")
	if err != nil || !strings.HasPrefix(got, "go1.") {
		t.Errorf("%s, %v", got, err)
	}
}
