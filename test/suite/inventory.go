package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The inventory lists every test of every suite, so that no test is dropped unnoticed.
// inventoryFile contains it; renamesFile contains the reasons for removed names.
const (
	inventoryFile = "test/inventory.txt"
	renamesFile   = "test/inventory-renames.txt"
)

// coverageSlack is how many percentage points of statement coverage a package
// may lose.
const coverageSlack = 0.5

// entryKey names a line of the inventory: a test or one of its direct subtests.
type entryKey struct{ Suite, Package, Test string }

func (k entryKey) String() string { return k.Suite + "\t" + k.Package + "\t" + k.Test }

// entry is the data of a test in the inventory.
type entry struct {
	Outcome string // pass or skip
	Below   int    // number of tests below the line's own subtests
}

// inventory is the content of inventoryFile, or that of a run.
type inventory struct {
	Tests    map[entryKey]entry
	Coverage map[string]float64 // percentage of statements that tests cover, by package
}

func newInventory() *inventory {
	return &inventory{Tests: map[entryKey]entry{}, Coverage: map[string]float64{}}
}

// observed returns the inventory of one suite's run. The seeds of a fuzz target are counted, not
// named, because their names are numbers and hashes. Benchmarks are left out: `go test` reports
// results only of benchmarks that fail, are skipped or have unusual names.
func observed(suite string, r *results) *inventory {
	seen := newInventory()
	for key, value := range r.Tests {
		if strings.HasPrefix(key.Test, "Benchmark") {
			continue
		}
		parts := strings.SplitN(key.Test, "/", 3)
		depth := min(len(parts), 2)
		if strings.HasPrefix(key.Test, "Fuzz") {
			depth = 1
		}
		line := entryKey{suite, key.Package, strings.Join(parts[:depth], "/")}
		of := seen.Tests[line]
		if line.Test == key.Test {
			of.Outcome = value.Outcome
		} else {
			of.Below++
		}
		seen.Tests[line] = of
	}
	maps.Copy(seen.Coverage, r.Coverage)
	return seen
}

// sortedKeys returns the keys of the tests in the order of the inventory file.
func (inv *inventory) sortedKeys() []entryKey {
	return slices.SortedFunc(maps.Keys(inv.Tests), func(a, b entryKey) int {
		return cmp.Or(cmp.Compare(a.Package, b.Package), cmp.Compare(a.Test, b.Test), cmp.Compare(a.Suite, b.Suite))
	})
}

// readInventory reads lines of tab-separated fields:
//
//	coverage PACKAGE PERCENT
//	SUITE PACKAGE TEST OUTCOME BELOW
func readInventory(text string) (*inventory, error) {
	inv := newInventory()
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if err := inv.add(strings.Split(line, "\t")); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", inventoryFile, number, err)
		}
	}
	return inv, nil
}

func (inv *inventory) add(fields []string) error {
	switch {
	case len(fields) == 3 && fields[0] == "coverage":
		percent, err := strconv.ParseFloat(fields[2], 64)
		inv.Coverage[fields[1]] = percent
		return err
	case len(fields) == 5:
		below, err := strconv.Atoi(fields[4])
		inv.Tests[entryKey{fields[0], fields[1], fields[2]}] = entry{fields[3], below}
		return err
	default:
		return errors.New("a line must have 3 or 5 tab-separated fields")
	}
}

// String formats the inventory as readInventory reads it.
func (inv *inventory) String() string {
	var b strings.Builder
	b.WriteString("# Every test with its direct subtests: suite, package, name, outcome, number of tests below.\n" +
		"# Before them the statement coverage of the unit suite, in percent. `make inventory` adds what is new;\n" +
		"# a name that goes needs a line with its reason in inventory-renames.txt.\n")
	for _, pkg := range slices.Sorted(maps.Keys(inv.Coverage)) {
		fmt.Fprintf(&b, "coverage\t%s\t%.1f\n", pkg, inv.Coverage[pkg])
	}
	for _, key := range inv.sortedKeys() {
		fmt.Fprintf(&b, "%s\t%s\t%d\n", key, inv.Tests[key].Outcome, inv.Tests[key].Below)
	}
	return b.String()
}

// rename is a line of renamesFile: `SUITE PACKAGE TEST → SUITE PACKAGE TEST: reason`, with fields
// separated by tabs or single spaces. A trailing * matches any rest of a name. The new name is `-`
// if nothing replaces the old one. A line `coverage PACKAGE → PERCENT: reason` sets a lower
// coverage for a package.
type rename struct{ Old, New, Reason string }

func readRenames(text string) ([]rename, error) {
	var list []rename
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		old, rest, ok := strings.Cut(line, " → ")
		renamed, reason, reasoned := strings.Cut(rest, ": ")
		if !ok || !reasoned || strings.TrimSpace(reason) == "" {
			return nil, fmt.Errorf("%s:%d: a line must be `old → new: reason`", renamesFile, number)
		}
		list = append(list, rename{strings.ReplaceAll(old, "\t", " "), renamed, reason})
	}
	return list, nil
}

// wider has the suites that run the tests of another suite among their own.
var wider = map[string]string{"unit-slow": "unit", "e2e-slow": "e2e", "e2e-local": "e2e"} //nolint:gochecknoglobals // a table

// covers reports whether a line of the renames file excuses this line of the inventory. A line for
// a suite also excuses the tests of suites that run the same tests, unless the line moves the test
// to that suite.
func (n rename) covers(key string) bool {
	name := strings.ReplaceAll(key, "\t", " ")
	suite, test, _ := strings.Cut(name, " ")
	if narrow := wider[suite]; narrow != "" && !strings.HasPrefix(n.New, suite+" ") && n.matches(narrow+" "+test) {
		return true
	}
	return n.matches(name)
}

func (n rename) matches(name string) bool {
	if prefix, open := strings.CutSuffix(n.Old, "*"); open {
		return strings.HasPrefix(name, prefix)
	}
	return n.Old == name
}

// excused reports whether the renames explain that a line of the inventory is missing or has
// changed.
func excused(key string, renames []rename) bool {
	return slices.ContainsFunc(renames, func(n rename) bool { return n.covers(key) })
}

// difference reports where the results of a test run differ from the recorded inventory.
type difference struct {
	Problems []string
	New      int // number of lines that the inventory lacks
}

// accepted returns the minimum coverage of a package: the recorded one, or a lower one for which
// the renames have a reason.
func accepted(pkg string, recorded float64, renames []rename) float64 {
	for _, n := range renames {
		if lower, err := strconv.ParseFloat(n.New, 64); err == nil && n.covers("coverage "+pkg) {
			recorded = min(recorded, lower)
		}
	}
	return recorded
}

// compare compares a run of suites with the inventory. It compares only the packages of the run, so
// that a part can run alone.
func (inv *inventory) compare(seen *inventory, renames []rename) difference {
	var d difference
	ran := map[[2]string]bool{}
	for key := range seen.Tests {
		ran[[2]string{key.Suite, key.Package}] = true
	}
	for _, key := range inv.sortedKeys() {
		want := inv.Tests[key]
		got, there := seen.Tests[key]
		switch {
		case !ran[[2]string{key.Suite, key.Package}], excused(key.String(), renames):
		case !there:
			d.Problems = append(d.Problems, fmt.Sprintf("the test %s is missing: give the reason in a line of %s", key, renamesFile))
		case want.Outcome == "pass" && got.Outcome == "skip":
			d.Problems = append(d.Problems, fmt.Sprintf("the test %s is skipped, but it passed before", key))
		case got.Below < want.Below:
			d.Problems = append(d.Problems, fmt.Sprintf("the test %s has %d subtests, but had %d before", key, got.Below, want.Below))
		}
	}
	for key, got := range seen.Tests {
		want, there := inv.Tests[key]
		if !there || got.Below > want.Below {
			d.New++
		}
	}
	for pkg, want := range inv.Coverage {
		want = accepted(pkg, want, renames)
		if got, there := seen.Coverage[pkg]; there && got < want-coverageSlack {
			d.Problems = append(d.Problems, fmt.Sprintf("statement coverage of %s fell from %.1f %% to %.1f %%", pkg, want, got))
		}
	}
	slices.Sort(d.Problems)
	return d
}

// update adds the new lines of a run, and removes the lines of its suite that the renames excuse. It
// raises the recorded coverage to the run's coverage minus coverageSlack.
func (inv *inventory) update(seen *inventory, renames []rename) {
	for key, got := range seen.Tests {
		want, there := inv.Tests[key]
		if got.Outcome == "fail" && there {
			got.Outcome = want.Outcome
		}
		if there && !excused(key.String(), renames) {
			got.Below = max(got.Below, want.Below)
		}
		if !there || got.Outcome == "pass" || got.Outcome == want.Outcome || excused(key.String(), renames) {
			inv.Tests[key] = got
		}
	}
	ran := map[string]bool{}
	for key := range seen.Tests {
		ran[key.Suite] = true
	}
	for key := range inv.Tests {
		if _, there := seen.Tests[key]; !there && ran[key.Suite] && excused(key.String(), renames) {
			delete(inv.Tests, key)
		}
	}
	for pkg, got := range seen.Coverage {
		// The executed branches depend on timing, so a single run may have more coverage than later
		// ones.
		if want, there := inv.Coverage[pkg]; !there || got-coverageSlack > want {
			inv.Coverage[pkg] = got - coverageSlack
		}
	}
}

// loadInventory reads both files of the source tree.
func loadInventory(root string) (*inventory, []rename, error) {
	text, err := os.ReadFile(filepath.Join(root, inventoryFile))
	if err != nil {
		return nil, nil, err
	}
	inv, err := readInventory(string(text))
	if err != nil {
		return nil, nil, err
	}
	text, err = os.ReadFile(filepath.Join(root, renamesFile))
	if err != nil {
		return nil, nil, err
	}
	renames, err := readRenames(string(text))
	return inv, renames, err
}

// dropped returns the lines that commits have removed from the inventory, and that are neither
// restored nor excused. log is the output of `git log -p` for inventoryFile.
func (inv *inventory) dropped(log string, renames []rename) []string {
	var list []string
	seen := map[string]bool{}
	lines := bufio.NewScanner(strings.NewReader(log))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line, removed := strings.CutPrefix(lines.Text(), "-")
		fields := strings.Split(line, "\t")
		if !removed || len(fields) != 5 {
			continue
		}
		key := entryKey{fields[0], fields[1], fields[2]}
		if _, there := inv.Tests[key]; there || seen[key.String()] || excused(key.String(), renames) {
			continue
		}
		seen[key.String()] = true
		list = append(list, fmt.Sprintf("%s was removed from %s without a line in %s", key, inventoryFile, renamesFile))
	}
	return list
}
