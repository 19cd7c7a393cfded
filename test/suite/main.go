// Command suite runs the project's test suites and compares them with the inventory of tests. A
// suite is one `go test` call or one Make target; suites.go lists them. The Makefile calls this
// program: `make check`, `make check-slow`, `make flake`, `make inventory`. Targets whose
// tests aren't in the inventory call its command count.
//
// This package contains how suites are run, compared and reported. What a suite asserts belongs to
// the tests themselves.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	if ctx.Err() != nil && err != nil {
		err = errors.New("interrupted")
	}
	cancel()
	if err != nil && !errors.Is(err, errCounted) {
		fmt.Fprintln(os.Stderr, "suite:", err)
	}
	if err != nil {
		os.Exit(1)
	}
}

type commandLine struct {
	Test      testCommand      `cmd:"" help:"Run suites of Go tests and compare their tests with test/inventory.txt."`
	Check     checkCommand     `cmd:"" help:"Run all suites of the check tier, then print counts, times and the slowest tests."`
	Slow      slowCommand      `cmd:"" help:"Run the suites of the slow tier, except those that have passed on the same tree."`
	Flake     flakeCommand     `cmd:"" help:"Run the unit and end-to-end tests repeatedly under load, to find flaky tests."`
	Count     countCommand     `cmd:"" help:"Run Go tests that need what not every machine has, and end with their counts."`
	Inventory inventoryCommand `cmd:"" help:"Add the new tests of the last runs to test/inventory.txt."`
}

func run(ctx context.Context, args []string) error {
	var cli commandLine
	parser, err := kong.New(&cli,
		kong.Name("suite"),
		kong.Description("Runs Trident's test suites. Run it in the root of the source tree."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		return err
	}
	kctx, err := parser.Parse(args)
	if err != nil {
		return fmt.Errorf("%w (see suite --help)", err)
	}
	return kctx.Run()
}
