// Command soak keeps many streams of all kinds running through Trident to a real tritonserver or to
// in-process Triton. Meanwhile it injects one fault after the other. Each request must get its own
// response or an error, in bounded time.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

// Values of the option for the engine: local for in-process Triton, several for one Trident in front
// of several tritonservers.
const (
	local   = "local"
	several = "fleet"
)

// options are the command-line flags of the soak test.
type options struct {
	Duration time.Duration `default:"30m" help:"Duration of the phase with faults, in which each fault is injected at least once. Start, warm-up and stop take additional time."`
	Streams  int           `default:"1000" help:"Approximate number of concurrent requests."`
	Engine   string        `enum:"remote,local,fleet" default:"remote" help:"Engine of Trident: remote for a tritonserver, local for in-process Triton, fleet for four tritonservers in DNS, which have other faults."`
	Trident  string        `default:"bin/trident" help:"Path of the trident binary."`
	Calm     time.Duration `default:"8s" help:"Time between the end of one fault and the start of the next."`
	Only     []string      `placeholder:"TEXT" help:"Inject only faults whose names contain this string; repeatable."`
	Each     int           `default:"4" help:"With --engine=fleet: number of servers at which each fault is injected in turn."`
}

// wants reports whether the fault with this name is to be injected.
func (o *options) wants(name string) bool {
	return len(o.Only) == 0 || slices.ContainsFunc(o.Only, func(text string) bool { return strings.Contains(name, text) })
}

func command(ctx context.Context, args []string, out io.Writer) error {
	var o options
	parser, err := kong.New(&o, kong.Name("soak"), kong.Description("Tests that Trident recovers from injected faults under load. Run it in the source tree, after make setup and make build."))
	if err != nil {
		return err
	}
	if _, err := parser.Parse(args); err != nil {
		return err
	}
	if o.Engine == several {
		m, err := launchMany(ctx, o.Trident)
		if err != nil {
			return err
		}
		s := &manySoak{options: o, many: m, ledger: newLedger(), out: out, began: time.Now()}
		return errors.Join(s.run(ctx), m.stop()) //nolint:contextcheck // the context may have ended
	}
	f, err := launch(ctx, o.Trident, o.Engine == local)
	if err != nil {
		return err
	}
	s := &soak{options: o, fleet: f, ledger: newLedger(), out: out, began: time.Now()}
	return errors.Join(s.run(ctx), f.stop()) //nolint:contextcheck // the context may have ended
}
