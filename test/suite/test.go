package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// testCommand runs suites of Go tests.
type testCommand struct {
	Suites []string `arg:"" help:"Names of the suites to run, such as unit and e2e."`
}

// Run runs the suites one after the other and returns an error if a test failed or the inventory
// differs.
func (c *testCommand) Run(ctx context.Context) error {
	var done []outcome
	for _, name := range c.Suites {
		s, ok := suiteNamed(name)
		if !ok || len(s.Packages) == 0 {
			return fmt.Errorf("%s is not a suite of Go tests", name)
		}
		sayf(os.Stdout, "=== %s: %s\n", s.Name, s.Shows)
		o, err := runSuite(ctx, s, os.Stdout)
		if err != nil {
			return err
		}
		done = append(done, o)
	}
	if failed := failedNames(done); len(failed) > 0 {
		return fmt.Errorf("suites failed: %v", failed)
	}
	return nil
}

// saveObserved stores the inventory of a suite's last run, for `suite inventory`.
func saveObserved(name string, seen *inventory) error {
	return os.WriteFile(filepath.Join(stateDir, name+".inventory"), []byte(seen.String()), 0o600)
}

// inventoryError lists the differences between a run and the inventory.
type inventoryError []string

func (e inventoryError) Error() string {
	return fmt.Sprintf("the tests differ from %[2]s in %[1]d lines", len(e), inventoryFile)
}

// compareWithFile compares a run with the inventory file, and the file with its own history.
func compareWithFile(ctx context.Context, seen *inventory, out io.Writer) error {
	inv, renames, err := loadInventory(".")
	if err != nil {
		return err
	}
	d := inv.compare(seen, renames)
	log, err := exec.CommandContext(ctx, "git", "log", "-p", "--format=", "--", inventoryFile).Output()
	if err != nil {
		sayf(out, "\nThe inventory isn't compared with its history, because git log failed: %v\n", err)
	}
	d.Problems = append(d.Problems, inv.dropped(string(log), renames)...)
	if len(d.Problems) > 0 {
		sayf(out, "\nThe inventory of tests differs:\n  %s\n", strings.Join(d.Problems, "\n  "))
		return inventoryError(d.Problems)
	}
	if d.New > 0 {
		return fmt.Errorf("%d tests are not in %s: run make inventory and commit the file", d.New, inventoryFile)
	}
	return nil
}

// inventoryCommand adds the tests of the last runs to test/inventory.txt, the list of all tests.
type inventoryCommand struct {
	From map[string]string `placeholder:"SUITE=FILE" help:"File with the output of go test -json for a suite, which is read before the last runs; repeatable."`
}

// Run adds the last run of each suite to the inventory. It doesn't run tests.
func (c *inventoryCommand) Run() error {
	inv, renames, err := loadInventory(".")
	if errors.Is(err, os.ErrNotExist) {
		inv, err = newInventory(), nil
	}
	if err != nil {
		return err
	}
	for name, path := range c.From {
		if err := observeFile(name, path); err != nil {
			return err
		}
	}
	for _, s := range suites() {
		text, err := os.ReadFile(filepath.Join(stateDir, s.Name+".inventory"))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		seen, err := readInventory(string(text))
		if err != nil {
			return err
		}
		inv.update(seen, renames)
		sayf(os.Stdout, "%s: %d tests of its last run\n", s.Name, len(seen.Tests))
		for _, problem := range inv.compare(seen, renames).Problems {
			sayf(os.Stdout, "  %s\n", problem)
		}
	}
	return os.WriteFile(inventoryFile, []byte(inv.String()), 0o644) //nolint:gosec // a source file
}

// observeFile uses recorded events as a suite's last run.
func observeFile(name, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	r := newResults()
	if err := r.read(file, nil, func(string) {}); err != nil {
		return err
	}
	if err := os.MkdirAll(stateDir, 0o750); err != nil {
		return err
	}
	return saveObserved(name, observed(name, r))
}
