// Command vulnerabilities writes the report of known vulnerabilities in what a release contains: the
// Go modules and Go's library, by govulncheck, and the npm packages, by npm audit. It fails if the
// program calls vulnerable code or if an npm package has an advisory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.root, "root", "../..", "Root of the source tree.")
	flag.StringVar(&o.db, "db", "", "Database for govulncheck. Default: the public one, or the one in the Go module golang.org/x/vulndb if the public one can't be reached.")
	flag.StringVar(&o.out, "out", "", "File to write the report to.")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, o, time.Now())
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "vulnerabilities:", err)
		os.Exit(1)
	}
}

type options struct{ root, db, out string }

var errFound = errors.New("vulnerabilities were found")

// run writes the report. It returns errFound if the report has an entry that needs a change.
func run(ctx context.Context, o options, now time.Time) error {
	db, err := findDatabase(ctx, o)
	if err != nil {
		return err
	}
	compiler, err := pinnedGo(o.root)
	if err != nil {
		return err
	}
	modules, err := scan(ctx, o.root, db, compiler)
	if err != nil {
		return err
	}
	r := report{date: now.UTC().Format(time.DateOnly), db: db, compiler: compiler, modules: modules}
	for _, folder := range []string{"web/client", "web/playground"} {
		r.npm = append(r.npm, audit(ctx, o.root, folder))
	}
	if err := os.WriteFile(o.out, []byte(r.text()), 0o644); err != nil { //nolint:gosec // published
		return err
	}
	if r.found() {
		return fmt.Errorf("%w: see %s", errFound, o.out)
	}
	return nil
}
