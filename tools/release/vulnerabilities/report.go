package main

import (
	"cmp"
	"fmt"
	"strings"
)

// report is the content of docs/vulnerabilities.md.
type report struct {
	date     string
	db       database
	compiler string
	modules  scanned
	npm      []audited
}

// found reports whether something in the report needs a change: code that the program calls, or an
// npm package with an advisory.
func (r *report) found() bool {
	for _, f := range r.modules.findings {
		if f.level == called {
			return true
		}
	}
	for _, a := range r.npm {
		if len(a.advisories) > 0 {
			return true
		}
	}
	return false
}

func (r *report) text() string {
	var s strings.Builder
	fmt.Fprintf(&s, `# Known vulnerabilities

`+"`make vulnerabilities`"+` wrote this page on %s. It lists the published vulnerabilities of what a release contains.
[Security](security.md#dependencies) describes how dependencies are pinned.

## Go

govulncheck %s read the program with %s, the Go that releases are built with. The database is
%s. Its newest change is of %s.

`, r.date, r.modules.scanner, r.compiler, r.db.name, cmp.Or(r.db.date, r.modules.modified, "an unknown date"))
	r.writeFindings(&s)
	s.WriteString("\n## npm\n\nnpm audit read the packages of the client and of the playground, without those that only build and test them.\n\n| folder | packages | result |\n|---|---|---|\n")
	for _, a := range r.npm {
		result := strings.Join(a.advisories, ", ")
		switch {
		case a.failed != "":
			result = "not checked: " + a.failed
		case result == "":
			result = "no advisories"
		}
		fmt.Fprintf(&s, "| `%s` | %d | %s |\n", a.folder, a.packages, result)
	}
	s.WriteString("\nPython packages are not part of a release: they build and test it.\n")
	return s.String()
}

func (r *report) writeFindings(s *strings.Builder) {
	if len(r.modules.findings) == 0 {
		s.WriteString("No module and no package of Go's library has a known vulnerability in the version that the program contains.\n")
		return
	}
	s.WriteString("| module | version | vulnerability | fixed in | the program |\n|---|---|---|---|---|\n")
	for _, f := range r.modules.findings {
		use := map[level]string{
			required: "doesn't contain the package", imported: "contains the package, and doesn't call the function", called: "calls the function",
		}[f.level]
		fmt.Fprintf(s, "| `%s` | %s | %s: %s | %s | %s |\n", f.module, f.version, f.id, strings.ReplaceAll(f.summary, "|", `\|`), cmp.Or(f.fixed, "no version"), use)
	}
}
