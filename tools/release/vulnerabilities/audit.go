package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
)

// audited is the result of npm audit in a folder.
type audited struct {
	folder     string
	packages   int
	advisories []string
	failed     string // why npm audit has no result
}

// audit runs npm audit on the packages that a release contains.
func audit(ctx context.Context, root, folder string) audited {
	text, err := output(ctx, root, nil, "npm", "--prefix", folder, "audit", "--json", "--package-lock-only", "--omit=dev")
	a := readAudit(text)
	a.folder = folder
	if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) { // npm exits with 1 if there are advisories
		a.failed = err.Error()
	}
	return a
}

func readAudit(text []byte) audited {
	var result struct {
		Vulnerabilities map[string]struct{ Severity, Range string }
		Metadata        *struct{ Dependencies struct{ Prod int } }
		StatusCode      int // of the registry, if it refused the audit
	}
	err := json.Unmarshal(text, &result)
	switch {
	case err != nil || result.Metadata == nil && result.StatusCode == 0:
		return audited{failed: "npm audit printed no report"}
	case result.Metadata == nil:
		return audited{failed: fmt.Sprintf("the registry that could be reached refuses audits (HTTP status %d)", result.StatusCode)}
	}
	a := audited{packages: result.Metadata.Dependencies.Prod}
	for name, v := range result.Vulnerabilities {
		a.advisories = append(a.advisories, fmt.Sprintf("`%s` %s (%s)", name, v.Range, v.Severity))
	}
	slices.Sort(a.advisories)
	return a
}
