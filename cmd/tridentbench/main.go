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
		err = errors.New("stopped by a signal")
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
	Run runCommand `cmd:"" default:"withargs" help:"Measure Trident beside Triton; this is the default command."`

	Peers peersCommand `cmd:"" help:"Measure Trident beside other servers of the OpenAI API for Triton, at the pace of an engine first."`

	Report reportCommand `cmd:"" help:"Write tables and charts of recorded measurements, without measuring."`

	Compare compareCommand `cmd:"" help:"Compare the trident binary of a commit with the one of the working tree."`

	Fleet fleetCommand `cmd:"" help:"Measure Trident in front of four servers beside the routers of other projects."`

	Aiperf   aiperfCommand   `cmd:"" help:"Run NVIDIA's benchmark AIPerf against the chat endpoint."`
	Encoders encodersCommand `cmd:"" help:"Compare embeddings with a loop of ONNX Runtime, and with other servers."`

	Models modelsCommand `cmd:"" help:"Write the bench's models into a folder, as a model repository for a server of --peer."`

	Tritonserver tritonserverCommand `cmd:"" help:"Serve the bench's models with tritonserver until Ctrl-C, for peers before the tritonserver of --triton."`

	Driver driverCommand `cmd:"" hidden:""`
	Engine engineCommand `cmd:"" hidden:""`
	Behind behindCommand `cmd:"" hidden:""`
	Bare   bareCommand   `cmd:"" hidden:""`
	Canned cannedCommand `cmd:"" hidden:""`
	Relay  relayCommand  `cmd:"" hidden:""`
}

// options are the command-line flags of the benchmark.
type options struct {
	Quick    bool          `help:"Run the main scenarios for a few seconds to check that the bench works; the figures aren't reliable."`
	Rounds   int           `default:"5" help:"Number of rounds; each round measures every column of every scenario once."`
	Limit    time.Duration `default:"1h" help:"Time limit of the bench: a round that would exceed it isn't started."`
	Scenario []string      `placeholder:"NAME" help:"Measure only this scenario, such as flat-64; repeatable."`
	Trident  string        `default:"bin/trident" help:"Path of the trident binary to measure."`
	JSON     string        `name:"json" placeholder:"FILE" help:"File to write all measurements to, as JSON."`
	Report   string        `placeholder:"FILE" help:"Markdown file to write the tables to, between its marker comments."`
	Profile  string        `placeholder:"DIR" help:"Folder for CPU profiles of Trident's columns, which are recorded after the rounds."`
	Peer     []peer        `sep:"none" placeholder:"NAME=URL" help:"Another server of the OpenAI API to measure beside Trident, which is running with models that tridentbench models writes, such as other=http://127.0.0.1:3000/v1,pid=123; repeatable. pid=PID measures its CPU time, and tritonserver that of --triton, which it uses. model=OURS:THEIRS names one of the models differently, model=THEIRS the model burst; both are repeatable, and scenarios of other models are then left out."`
	Triton   tritonAddress `placeholder:"ADDRESS" help:"gRPC address of a running tritonserver to use, such as 127.0.0.1:8001,pid=123, which tridentbench tritonserver prints. Default: each round starts a new one."`

	programs []program // servers of other projects, which each round starts
}

type runCommand struct{ options }

// Run starts all processes, measures, and prints the results.
func (r *runCommand) Run(ctx context.Context) error {
	runtime.LockOSThread() // the kernel ends the children with the thread that started them
	b, err := newBench(&r.options, commandBench, scenarios())
	if err != nil {
		return err
	}
	return b.run(ctx)
}

type modelsCommand struct {
	Folder string `arg:"" help:"Folder to write the model repository to."`
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
		kong.Description("Measures the time, CPU and memory that Trident adds to Triton. Run it in the source tree, after make setup and make build."),
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
