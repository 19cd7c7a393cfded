// Command tridentbench measures the overhead of Trident over Triton. It
// alternates the same work between Triton's core, Trident in process and
// remote, a bare client of tritonserver and a server without a model, and
// compares the results.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/test/backends/burst"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errors.New("stopped")
	}
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "tridentbench:", err)
		os.Exit(1)
	}
}

// commandLine is the bench, and the hidden commands that it starts as child
// processes.
type commandLine struct {
	Run runCommand `cmd:"" default:"withargs" help:"Measure (what happens without a command)."`

	Compare compareCommand `cmd:"" help:"Compare the trident of a commit with the one of the working tree."`

	Aiperf aiperfCommand `cmd:"" help:"Run NVIDIA's AIPerf against the chat endpoint."`
	Models modelsCommand `cmd:"" help:"Write the bench's models into a folder, for a peer to serve."`

	Driver driverCommand `cmd:"" hidden:""`
	Engine engineCommand `cmd:"" hidden:""`
	Behind behindCommand `cmd:"" hidden:""`
	Bare   bareCommand   `cmd:"" hidden:""`
	Canned cannedCommand `cmd:"" hidden:""`
	Relay  relayCommand  `cmd:"" hidden:""`
}

// options are the options of a run.
type options struct {
	Quick    bool                `help:"A few seconds of the main scenarios, to see that all works; the figures mean little."`
	Rounds   int                 `default:"5" help:"How often each column has its turn."`
	Limit    time.Duration       `default:"15m" help:"Begin no round that wouldn't end by then."`
	Scenario []string            `placeholder:"NAME" help:"Only these, such as flat-64; repeatable."`
	Trident  string              `default:"bin/trident" help:"The trident binary."`
	JSON     string              `name:"json" placeholder:"FILE" help:"Write all measurements here."`
	Report   string              `placeholder:"FILE" help:"Put the tables into this Markdown file, between its markers."`
	Profile  string              `placeholder:"DIR" help:"Save CPU profiles of Trident's columns here, taken after the rounds."`
	Peer     map[string]*url.URL `placeholder:"NAME=URL" help:"Another server of the OpenAI API that serves the bench's models (see the command models), such as http://127.0.0.1:9000/v1; repeatable."`
	PeerPid  map[string]int      `placeholder:"NAME=PID" help:"A peer's process, for its CPU; repeatable."`
}

type runCommand struct{ options }

// Run starts all processes, measures, and prints the results.
func (r *runCommand) Run(ctx context.Context) error {
	runtime.LockOSThread() // the kernel ends the children with the thread that started them
	b, err := newBench(&r.options)
	if err != nil {
		return err
	}
	return b.run(ctx)
}

type modelsCommand struct {
	Folder string `arg:""`
}

// Run writes a model repository.
func (c *modelsCommand) Run(ctx context.Context) error {
	return burst.Repository(ctx, c.Folder, models(true)...)
}

type driverCommand struct{}

// Run runs the load driver.
func (driverCommand) Run(ctx context.Context) error { return work(ctx, driver{}, os.Stdin, os.Stdout) }

type engineCommand struct {
	Repository string `arg:""`
}

// Run runs the engine loop.
func (c *engineCommand) Run(ctx context.Context) error {
	engine, stop, err := startEngine(ctx, c.Repository, logger())
	if err != nil {
		return err
	}
	return errors.Join(work(ctx, engineLoop{engine}, os.Stdin, os.Stdout), stop())
}

type behindCommand struct {
	Repository string `arg:""`
}

// Run runs the engine behind grpc-go.
func (c *behindCommand) Run(ctx context.Context) error {
	server.SetGCPercent()
	engine, stop, err := startEngine(ctx, c.Repository, logger())
	if err != nil {
		return err
	}
	return errors.Join(serveBehind(ctx, engine, os.Stdin, os.Stdout), stop())
}

type bareCommand struct {
	Endpoint string `arg:""`
}

// Run runs the bare client of tritonserver, which is its own driver.
func (c *bareCommand) Run(ctx context.Context) error {
	client, err := newBareClient(c.Endpoint)
	if err != nil {
		return err
	}
	return errors.Join(work(ctx, client, os.Stdin, os.Stdout), client.conn.Close())
}

type cannedCommand struct{}

// Run runs the server without a model.
func (cannedCommand) Run(ctx context.Context) error {
	server.SetGCPercent()
	return serveCanned(ctx, os.Stdin, os.Stdout, logger())
}

type relayCommand struct {
	Endpoint string `arg:""`
}

// Run runs the bare client behind a socket.
func (c *relayCommand) Run(ctx context.Context) error {
	return serveRelay(ctx, c.Endpoint, os.Stdin, os.Stdout)
}

// logger writes log lines as trident does, so that a line per request costs the
// same.
func logger() *slog.Logger { return slog.New(slog.NewJSONHandler(os.Stderr, nil)) }

func run(ctx context.Context, args []string) error {
	var cli commandLine
	parser, err := kong.New(&cli,
		kong.Name("tridentbench"),
		kong.Description("Measures what Trident adds to Triton. Run it from the source tree, after make setup and make build."),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		return err
	}
	kctx, err := parser.Parse(args)
	if err != nil {
		return fmt.Errorf("%w (see tridentbench --help)", err)
	}
	return kctx.Run()
}
