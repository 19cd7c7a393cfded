package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// checkCommand runs the check tier.
type checkCommand struct{}

// Run runs every step, even if an earlier one has failed, so that one run shows all failures. If
// the installation fails, the other steps don't run.
func (checkCommand) Run(ctx context.Context) error {
	var done []outcome
	began := time.Now()
	for _, s := range checkSuites() {
		sayf(os.Stdout, "\n=== %s: %s\n", s.Name, s.Shows)
		o, err := runSuite(ctx, s, os.Stdout)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		done = append(done, o)
		if s.Name == setupTarget && !o.Passed {
			break
		}
	}
	printTable(os.Stdout, done)
	printSlowest(done)
	failed := failedNames(done)
	sayf(os.Stdout, "\nmake check took %s\n", time.Since(began).Round(time.Second))
	sayf(os.Stdout, "%s\n", total(done))
	if len(failed) > 0 {
		return fmt.Errorf("suites failed: %v", failed)
	}
	return nil
}

func printSlowest(done []outcome) {
	var all []slowTest
	for _, o := range done {
		all = append(all, o.Slowest...)
	}
	slices.SortFunc(all, func(a, b slowTest) int { return int(b.Took - a.Took) })
	sayf(os.Stdout, "\nThe ten slowest tests:\n")
	for _, t := range all[:min(10, len(all))] {
		sayf(os.Stdout, "%7.1f s  %s\n", t.Took.Seconds(), t.Name)
	}
}

// total adds the counts of all suites of Go tests; any other step counts as one.
func total(done []outcome) counts {
	var sum counts
	for _, o := range done {
		switch {
		case o.Counts != (counts{}):
			sum.Passed += o.Counts.Passed
			sum.Failed += o.Counts.Failed
			sum.Skipped += o.Counts.Skipped
		case o.Passed:
			sum.Passed++
		}
		if !o.Passed && o.Counts.Failed == 0 {
			sum.Failed++
		}
	}
	return sum
}

func failedNames(done []outcome) []string {
	var names []string
	for _, o := range done {
		if !o.Passed {
			names = append(names, o.Name)
		}
	}
	return names
}

// slowCommand runs the slow tier.
type slowCommand struct {
	Only  []string `placeholder:"NAME" help:"Run only this suite of the slow tier; repeatable."`
	Again bool     `help:"Run also suites that have already passed on this tree."`
	List  bool     `help:"List the suites of the slow tier with their results on this tree, and run nothing."`
}

// Run runs the steps that have not passed on this tree yet. It thereby continues an interrupted
// run.
func (c *slowCommand) Run(ctx context.Context) error {
	kept, err := openStore(ctx, "slow")
	if err != nil {
		return err
	}
	chosen, err := c.chosen()
	if err != nil {
		return err
	}
	var done []outcome
	for _, s := range chosen {
		o, before := kept.load(s.Name)
		switch {
		case c.List:
			state := "not run"
			if before && o.Passed {
				state = "passed on " + o.Commit
			}
			sayf(os.Stdout, "%-18s %-28s %s\n", s.Name, state, s.Shows)
			continue
		case before && o.Passed && !c.Again:
			sayf(os.Stdout, "=== %s: skipped, because it passed on this tree in %s\n", s.Name, o.Took.Round(time.Second))
		default:
			sayf(os.Stdout, "\n=== %s: %s\n", s.Name, s.Shows)
			if o, err = runSuite(ctx, s, os.Stdout); err == nil {
				err = kept.save(s.Name, o)
			}
			if err != nil {
				printTable(os.Stdout, done)
				return fmt.Errorf("%s: %w; the next make check-slow starts with this suite", s.Name, err)
			}
		}
		done = append(done, o)
	}
	if c.List {
		return nil
	}
	printTable(os.Stdout, done)
	if failed := failedNames(done); len(failed) > 0 {
		return fmt.Errorf("suites failed: %v", failed)
	}
	return nil
}

func (c *slowCommand) chosen() ([]suite, error) {
	var list []suite
	for _, name := range c.Only {
		s, ok := suiteNamed(name)
		if !ok || !s.Slow {
			return nil, errors.New(name + " is not a suite of the slow tier: list them with make check-slow SLOW=--list")
		}
		list = append(list, s)
	}
	if len(c.Only) > 0 {
		return list, nil
	}
	return slowSuites(), nil
}
