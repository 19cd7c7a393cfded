// Command trident serves the OpenAI API and typed Connect services over NVIDIA
// Triton.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"go.uber.org/dig"

	"github.com/trident-inference/trident/services/triton/local"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "trident: "+strings.ReplaceAll(err.Error(), "\n", " "))
		os.Exit(1)
	}
}

// commandLine is the flags and the commands; serve may be left out, as Triton's
// own frontend has no commands.
type commandLine struct {
	flags

	Serve    serveCommand    `cmd:"" default:"1" help:"Serve models (what happens without a command)."`
	Models   modelsCommand   `cmd:"" help:"Print what is known of the models, and from where."`
	Template templateCommand `cmd:"" help:"Print the prompt of the messages on standard input."`
	Version  versionCommand  `cmd:"" help:"Print the version and the engines built in."`
}

func run(args []string) error {
	var cli commandLine
	parser, err := newParser(&cli)
	if err != nil {
		return err
	}
	kctx, err := parser.Parse(args)
	if err != nil {
		return fmt.Errorf("%w (see trident --help)", err)
	}
	return kctx.Run(&cli.flags)
}

func newParser(cli *commandLine) (*kong.Kong, error) {
	return kong.New(cli,
		kong.Name("trident"),
		kong.Description("The OpenAI API and typed Connect services over NVIDIA Triton."),
		kong.DefaultEnvars("TRIDENT"),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		defaults(),
	)
}

type serveCommand struct{}

// Run serves until SIGINT, SIGTERM or a failure at start.
func (serveCommand) Run(f *flags) error {
	cfg, err := f.config()
	if err != nil {
		return err
	}
	log := f.logger()
	aborted, abort := context.WithCancelCause(context.Background())
	defer abort(nil)
	app := application(cfg, log, abort)
	if err := app.Err(); err != nil {
		return dig.RootCause(err)
	}
	// Signals count from the first moment: a stop during start is a stop.
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	if err := app.Start(ctx); err != nil {
		if ctx.Err() != nil {
			return errors.New("stopped while starting")
		}
		return dig.RootCause(err)
	}
	var failure error
	select {
	case <-ctx.Done():
	case <-aborted.Done():
		failure = context.Cause(aborted)
		log.Error("stopping after a failure", "error", failure)
	}
	// A second signal kills. One that comes at once is the first again, as when a
	// terminal and a supervisor both send it.
	defer time.AfterFunc(secondSignal, cancel).Stop()
	log.Info("stopping", "in_flight_timeout", cfg.Server.ShutdownTimeout)
	stop, done := context.WithTimeout(context.Background(), app.StopTimeout())
	defer done()
	return errors.Join(failure, app.Stop(stop))
}

type versionCommand struct{}

// version is set by the linker at release.
var version = "dev"

// Run prints what this binary is.
func (versionCommand) Run() error {
	revision := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = " " + s.Value
			}
		}
	}
	inProcess := "local (Triton in this process)"
	if !local.BuiltIn {
		inProcess = "no local one (it needs a build for Linux with cgo)"
	}
	_, err := fmt.Printf("trident %s%s\nengines: remote (tritonserver over gRPC), %s\n", version, revision, inProcess)
	return err
}

// secondSignal is when a signal counts as the second one.
const secondSignal = time.Second

// stopSlack is how much longer than its parts the whole stop may take.
const stopSlack = 10 * time.Second
