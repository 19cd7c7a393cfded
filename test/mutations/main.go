// Command mutations checks that the tests find defects. Each file of list/ describes one mutation: a small change of
// product code that users would notice. The command applies one mutation at a time, runs the tests that are expected to
// catch it, and requires that one of them fails. The source tree is never modified: the changed file reaches the go
// command as an overlay, so runs may be interrupted and may run beside other work.
//
// Run it from the root of the source tree: make mutations, or go run ./test/mutations --run REGEXP. The exit status is 1 if
// a mutation survives, no longer applies, does not build, times out, or is not tested because its tests are skipped or
// fail without it.
//
// # How to add a mutation
//
// Add a file list/NAME.txt. NAME begins with the area, such as auth-expired-key. The file has four fields, a line each, and
// two sections:
//
//	defect: An API key is still accepted after its expiry date.
//	file: services/server/auth_keys.go
//	package: ./services/server
//	run: ^TestKeyExpires$
//	-- old --
//				if !c.expires.IsZero() && !k.wall().Before(c.expires) {
//	-- new --
//				if !c.expires.IsZero() && !k.wall().Before(c.expires.AddDate(100, 0, 0)) {
//
// The defect is one sentence: what a user would see. The file is the Go file to change; its path is relative to the root.
// The old section is text that occurs exactly once in the file, and the new section replaces it; indentation is part of
// both. The mutated file must compile without further edits. Keep the old section short, so that other changes of the file
// rarely touch it. A mutation that no longer applies fails TestList, a fast test; adapt it then.
//
// The package and the -run expression name the tests that must fail. Choose narrow ones, so that a mutation takes seconds,
// and only tests that run without environment variables. A test in test/e2e builds the trident binary itself; the overlay
// reaches that build by GOFLAGS.
//
// Then run the mutation: go run ./test/mutations --run NAME. If it survives, the tests lack an assertion: add one.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	cancel()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "mutations:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// testTimeout bounds one run of go test. Tests of test/e2e build the trident binary with the race detector, which takes
// minutes with an empty build cache on a busy machine.
const testTimeout = 15 * time.Minute

// command runs the mutations and writes their table to out, and progress and failures to log.
func command(ctx context.Context, args []string, out, log io.Writer) error {
	flags := flag.NewFlagSet("mutations", flag.ContinueOnError)
	flags.SetOutput(log)
	only := flags.String("run", "", "run only the mutations whose names match this regular expression")
	list := flags.Bool("list", false, "list the mutations instead of running them")
	jobs := flags.Int("jobs", max(1, runtime.NumCPU()/2), "number of mutations that run at the same time")
	if err := flags.Parse(args); err != nil {
		return err
	}
	match, err := regexp.Compile(*only)
	switch {
	case err != nil:
		return fmt.Errorf("--run: %w", err)
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case *jobs < 1:
		return fmt.Errorf("--jobs: %d is not positive", *jobs)
	}
	all, err := readMutations("test/mutations/list")
	if err != nil {
		return fmt.Errorf("%w; run this command from the root of the source tree", err)
	}
	all = slices.DeleteFunc(all, func(m *mutation) bool { return !match.MatchString(m.name) })
	switch {
	case len(all) == 0:
		return fmt.Errorf("--run: no mutation's name matches %s", *only)
	case *list:
		return printList(out, all)
	}
	return runAll(ctx, all, *jobs, out, log)
}

func runAll(ctx context.Context, all []*mutation, jobs int, out, log io.Writer) error {
	r, err := newRunner(ctx, ".", testTimeout, log)
	if err != nil {
		return err
	}
	began := time.Now()
	results := r.run(ctx, all, jobs)
	caught := 0
	for _, res := range results {
		if res.verdict == caughtByTest {
			caught++
		}
	}
	total := fmt.Sprintf("%d of %d mutations caught in %s\n", caught, len(all), time.Since(began).Round(time.Second))
	err = errors.Join(writeAligned(out, tableOf(results)+total), r.close())
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case caught < len(all):
		return fmt.Errorf("%d mutations were not caught", len(all)-caught)
	}
	return nil
}

func printList(out io.Writer, all []*mutation) error {
	var rows strings.Builder
	for _, m := range all {
		rows.WriteString(m.name + "\t" + m.defect + "\n")
	}
	return writeAligned(out, rows.String())
}

// writeAligned writes lines whose cells are separated by tabs.
func writeAligned(out io.Writer, rows string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, err := io.WriteString(w, rows)
	return errors.Join(err, w.Flush())
}

// maxTestName is the longest test name in the table, in bytes.
const maxTestName = 70

// tableOf returns a row for each result; tabs separate the cells.
func tableOf(results []result) string {
	var rows strings.Builder
	rows.WriteString("MUTATION\tCAUGHT BY\tSECONDS\n")
	for _, res := range results {
		by := strings.ToUpper(string(res.verdict))
		if res.verdict == caughtByTest {
			name := res.failed[0]
			if len(name) > maxTestName {
				name = name[:maxTestName] + "..."
			}
			by = strings.TrimPrefix(res.mutation.pkg, "./") + " " + name
			if more := len(res.failed) - 1; more > 0 {
				by += fmt.Sprintf(" (and %d more)", more)
			}
		}
		rows.WriteString(res.mutation.name + "\t" + by + "\t" + strconv.FormatFloat(res.took.Seconds(), 'f', 1, 64) + "\n")
	}
	return rows.String()
}
