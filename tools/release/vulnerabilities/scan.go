package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// database is a vulnerability database of Go.
type database struct {
	address, name string
	date          string // of its newest change; empty if govulncheck reports it
}

// public is the database that the Go project serves.
const public = "https://vuln.go.dev"

// findDatabase returns the public database if it can be reached, and otherwise that in the newest
// version of its own Go module, which a module proxy serves.
func findDatabase(ctx context.Context, o options) (database, error) {
	if o.db != "" {
		return database{address: o.db, name: o.db}, nil
	}
	if reachable(ctx, public+"/index/db.json") {
		return database{address: public, name: "the public database"}, nil
	}
	text, err := output(ctx, o.root, nil, "go", "mod", "download", "-json", "golang.org/x/vulndb@latest")
	if err != nil {
		return database{}, fmt.Errorf("neither %s nor the module golang.org/x/vulndb can be reached: %w", public, err)
	}
	var module struct{ Version, Dir string }
	if err := json.Unmarshal(text, &module); err != nil {
		return database{}, err
	}
	return database{
		address: "file://" + filepath.Join(module.Dir, "data", "osv"),
		name:    "in the Go module `golang.org/x/vulndb` " + module.Version + ", because the public one couldn't be reached",
		date:    dateOf(module.Version),
	}, nil
}

var commitTime = regexp.MustCompile(`-(\d{4})(\d\d)(\d\d)\d{6}-`) //nolint:gochecknoglobals // compiled once

// dateOf returns the date of the commit in a pseudo-version of a Go module.
func dateOf(version string) string {
	found := commitTime.FindStringSubmatch(version)
	if found == nil {
		return ""
	}
	return strings.Join(found[1:], "-")
}

func reachable(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	return errors.Join(response.Body.Close()) == nil && response.StatusCode == http.StatusOK
}

var pinnedLine = regexp.MustCompile(`(?m)^const pinned = "(go[\d.]+)"$`) //nolint:gochecknoglobals // compiled once

// pinnedGo returns the version of Go that releases are built with.
func pinnedGo(root string) (string, error) {
	const file = "cmd/tridentrelease/toolchain.go"
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return "", err
	}
	found := pinnedLine.FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("%s has no version of Go", file)
	}
	return string(found[1]), nil
}

// level is how near the program is to a vulnerability, the nearest last.
type level int

const (
	required level = iota // a module of the program has it, in a package that isn't part of the program
	imported              // a package of the program has it, in a function that the program doesn't call
	called
)

func (l level) String() string { return [...]string{"required", "imported", "called"}[l] }

// finding is a vulnerability of a module or of Go's library.
type finding struct {
	id, module, version, fixed, summary string
	level                               level
}

// scanned is the result of govulncheck.
type scanned struct {
	scanner, modified string // version of govulncheck, time of the database's newest change
	findings          []finding
}

// message is an entry in the output of govulncheck -format json. Exactly one field is set.
type message struct {
	Config *struct {
		ScannerVersion string     `json:"scanner_version"`
		DBLastModified *time.Time `json:"db_last_modified"`
	}
	OSV *struct {
		ID, Summary string
	}
	Finding *struct {
		OSV   string
		Fixed string `json:"fixed_version"`
		Trace []struct{ Module, Version, Package, Function string }
	}
}

// scan runs govulncheck with the Go of releases, so that it reads that Go's library.
func scan(ctx context.Context, root string, db database, compiler string) (scanned, error) {
	text, err := output(ctx, root, []string{"GOTOOLCHAIN=" + compiler}, "go", "tool", "-modfile=tools/release/go.mod", "govulncheck", "-format", "json", "-db", db.address, "./cmd/trident")
	if err != nil {
		return scanned{}, err
	}
	return read(text)
}

// read folds the messages of govulncheck to one finding for each vulnerability of a module.
func read(text []byte) (scanned, error) {
	var s scanned
	summaries := map[string]string{}
	nearest := map[string]finding{}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var m message
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return s, fmt.Errorf("read govulncheck's output: %w", err)
		}
		switch {
		case m.Config != nil:
			s.scanner = m.Config.ScannerVersion
			if m.Config.DBLastModified != nil && !m.Config.DBLastModified.IsZero() {
				s.modified = m.Config.DBLastModified.UTC().Format(time.DateOnly)
			}
		case m.OSV != nil:
			summaries[m.OSV.ID] = m.OSV.Summary
		case m.Finding != nil && len(m.Finding.Trace) > 0:
			frame := m.Finding.Trace[0]
			f := finding{id: m.Finding.OSV, module: frame.Module, version: frame.Version, fixed: m.Finding.Fixed}
			switch {
			case frame.Function != "":
				f.level = called
			case frame.Package != "":
				f.level = imported
			}
			key := f.id + " " + f.module
			if old, ok := nearest[key]; !ok || old.level < f.level {
				nearest[key] = f
			}
		}
	}
	for _, f := range nearest {
		f.summary = summaries[f.id]
		s.findings = append(s.findings, f)
	}
	slices.SortFunc(s.findings, func(a, b finding) int {
		return strings.Compare(a.module+" "+a.id, b.module+" "+b.id)
	})
	return s, nil
}

// output runs a program in a folder and returns what it printed.
func output(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // constant programs
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	text, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return text, fmt.Errorf("%s: %w\n%s", cmd, err, failed.Stderr)
	}
	return text, err
}
