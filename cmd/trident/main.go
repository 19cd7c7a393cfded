// Command trident serves the OpenAI API and typed Connect services over NVIDIA
// Triton.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"go.uber.org/dig"
	"go.uber.org/fx"

	"github.com/trident-inference/trident/cmd/trident/hangup"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/triton/local"
)

func main() {
	args, notices, err := translated(calledAs(os.Args))
	if err == nil {
		err = run(args, notices...)
	}
	if forced, ok := errors.AsType[secondSignalError](err); ok {
		syscall.Exit(forced.exitCode()) // exit at once, even if Triton's threads block; the log has the reason
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, message(err))
		os.Exit(1)
	}
}

// message formats an error on one line, or on one line per problem of the settings file. A start
// without any setting gets the ways to start, one per line.
func message(err error) string {
	if problems, ok := errors.AsType[fileErrors](err); ok {
		return problems.Error()
	}
	if nothing, ok := errors.AsType[nothingToServeError](err); ok {
		return "trident: " + nothing.Error()
	}
	return "trident: " + strings.ReplaceAll(flagged(err).Error(), "\n", " ")
}

// commandLine is the flags and the commands. The command serve may be omitted, because
// Triton's own frontend has no commands.
type commandLine struct {
	flags

	Serve      serveCommand      `cmd:"" default:"1" help:"Serve models; this is the default command."`
	Models     modelsCommand     `cmd:"" help:"Print the settings of the models, each with its origin."`
	Template   templateCommand   `cmd:"" help:"Render a chat template: print the prompt for the chat messages on standard input."`
	Key        keyCommand        `cmd:"" help:"Create an API key, or the hash of an API key for --api-keys-file."`
	Settings   configCommand     `cmd:"" name:"config" help:"Check, print and document the settings."`
	Endpoint   endpointCommand   `cmd:"" help:"List, drain and resume the inference servers of a running Trident."`
	Health     healthCommand     `cmd:"" help:"Check whether a running Trident is live or ready, for containers' health checks."`
	Completion completionCommand `cmd:"" help:"Print the script that completes command lines in a shell."`
	Version    versionCommand    `cmd:"" help:"Print the version and the engines of this build."`
	Help       helpCommand       `cmd:"" help:"Print help about a command, a group of flags or a word."`

	PrintVersion bool `name:"version" env:"-" help:"Print the version and the engines of this build, and exit."`
}

// run executes a command line. Only serve handles SIGHUP; it ends other commands. The notices are
// about flags of another program, which the log names.
func run(args []string, notices ...notice) error {
	if h, asked := asksForHelp(args); asked {
		parser, err := newParser(&commandLine{})
		if err != nil {
			return err
		}
		return h.write(os.Stdout, parser.Model)
	}
	if len(args) > 0 && args[0] == "--version" { // works with invalid settings too
		return versionCommand{}.Run()
	}
	cli, kctx, err := read(args)
	switch {
	case err != nil:
		return err
	case cli.PrintVersion:
		return versionCommand{}.Run()
	}
	cli.hangups, cli.notices = hangup.Signals(), notices
	if serves := kctx.Selected() != nil && kctx.Selected().Name == "serve"; !serves && hangup.Release() {
		return errors.New("ended by SIGHUP before the command started")
	}
	return kctx.Run(&cli.flags)
}

// read parses a command line, the environment and the settings file that they name.
func read(args []string) (*commandLine, *kong.Context, error) {
	cli := &commandLine{}
	parser, err := newParser(cli)
	if err != nil {
		return nil, nil, err
	}
	kctx, err := parser.Parse(args)
	if _, ok := errors.AsType[fileErrors](err); ok {
		return nil, nil, err
	}
	if err != nil {
		return nil, nil, explained(err, args, parser.Model)
	}
	cli.args = args
	cli.note(kctx)
	return cli, kctx, nil
}

func newParser(cli *commandLine) (*kong.Kong, error) {
	return kong.New(cli,
		kong.Name("trident"),
		kong.Bind(&cli.flags),
		kong.DefaultEnvars(ownVariables),
		otherSpellings(),
		defaults(),
	)
}

type serveCommand struct{}

// Run serves until SIGINT, SIGTERM or a failure. A second signal ends it immediately.
func (serveCommand) Run(f *flags) error {
	cfg, err := f.config()
	if err != nil {
		return err
	}
	if err := f.errNothingToServe(cfg); err != nil {
		return err
	}
	server.SetGCPercent()
	log := f.logger()
	for _, n := range f.notices {
		log.Warn("a flag has no effect", "flag", n.flag, "reason", n.reason)
	}
	for name, meant := range f.unknownVariables(os.Environ()) {
		log.Warn("unknown environment variable is ignored", "variable", name, "did_you_mean", meant)
	}
	aborted, abort := context.WithCancelCause(context.Background())
	defer abort(nil)
	failures := make(chan error, 1)
	defer context.AfterFunc(aborted, func() { failures <- context.Cause(aborted) })()
	first, second := stopSignals()
	process := &execution{config: cfg, log: log}
	process.app = application(f, cfg, log, abort, fx.Populate(&process.parts))
	if err := process.app.Err(); err != nil {
		return dig.RootCause(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- process.run(first, failures) }()
	select {
	case err := <-ended:
		return err
	case sig := <-second:
		return process.end(sig)
	}
}

type versionCommand struct {
	JSON bool `name:"json" env:"-" help:"Print the version and the build as a JSON object instead of text."`
}

// version is the version of Trident. It is changed here only: the Makefile reads this line,
// and TestVersion compares all files that repeat it. The linker may replace it, as `make
// build` does for commits without a tag.
var version = "0.1.0"

// Run prints the version and build of this binary.
func (c versionCommand) Run() error {
	revision := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	if c.JSON {
		return json.NewEncoder(os.Stdout).Encode(map[string]any{
			"version": version, "revision": revision, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
			"engines": map[string]bool{"remote": true, "local": local.BuiltIn},
		})
	}
	inProcess := "local (in-process Triton)"
	if !local.BuiltIn {
		inProcess = "no local engine, which needs a build for Linux with cgo"
	}
	_, err := fmt.Printf("trident %s\nengines: remote (tritonserver over gRPC), %s\n", strings.TrimSpace(version+" "+revision), inProcess)
	return err
}
