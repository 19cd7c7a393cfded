package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// flakeCommand repeats the tests of the check tier under load.
type flakeCommand struct {
	Rounds int `short:"n" default:"10" help:"Number of runs of the unit tests; the end-to-end tests run half as often."`
	Load   int `default:"2" help:"Number of processes that each keep a core busy during the runs."`

	Spin bool `hidden:"" help:"Keep a core busy until standard input ends."`
}

// Run runs all rounds that have not run on this tree yet, even after a failure, and returns an
// error if any has failed. A test that fails once has a defect.
func (c *flakeCommand) Run(ctx context.Context) error {
	if c.Spin {
		return burnCPU()
	}
	kept, err := openStore(ctx, "flake")
	if err != nil {
		return err
	}
	stop, err := busy(ctx, c.Load)
	if err != nil {
		return err
	}
	defer stop()
	var done []outcome
	for _, plan := range []struct {
		suite  string
		rounds int
	}{{"unit", c.Rounds}, {"e2e", (c.Rounds + 1) / 2}} {
		s, _ := suiteNamed(plan.suite)
		s = s.unmeasured()
		s.Limit *= 4 // the load makes the tests slower
		for round := range plan.rounds {
			name := fmt.Sprintf("%s-%02d", plan.suite, round+1)
			o, before := kept.load(name)
			if !before {
				sayf(os.Stdout, "\n=== %s of %d, beside %d busy processes\n", name, plan.rounds, c.Load)
				if o, err = runSuite(ctx, s, os.Stdout); err != nil {
					printTable(os.Stdout, done)
					return fmt.Errorf("%w; the next make flake starts with %s", err, name)
				}
				o.Name = name
				if err := kept.save(name, o); err != nil {
					return err
				}
			}
			done = append(done, o)
		}
	}
	printTable(os.Stdout, done)
	if failed := failedNames(done); len(failed) > 0 {
		return fmt.Errorf("runs failed: %v", failed)
	}
	return nil
}

// busy starts processes that keep a core busy each. They run until stop is called or this process
// ends.
func busy(ctx context.Context, n int) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	for range n {
		cmd := exec.CommandContext(ctx, self, "flake", "--spin") //nolint:gosec // this program
		input, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			stop()
			return nil, err
		}
		stops = append(stops, func() {
			_ = input.Close()
			_ = cmd.Wait() // killed when the context has ended
		})
	}
	return stop, nil
}

// burnCPU keeps a core busy until standard input ends. It ends together with the process that has
// started this one.
func burnCPU() error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = os.Stdin.Read(make([]byte, 1)) // returns at the end of the input, because the parent writes nothing
	}()
	for began := time.Now(); ; {
		select {
		case <-ended:
			return nil
		default:
		}
		if time.Since(began) > 24*time.Hour {
			return errors.New("a process that keeps a core busy still ran after 24 hours: its parent didn't stop it")
		}
	}
}
