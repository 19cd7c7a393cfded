package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/backends/burst"
)

// Columns of the bench: the sources of tokens.
const (
	colEngine    = "engine loop"
	colLocal     = "Trident in process"
	colRemote    = "Trident remote"
	colOver      = "Trident over Trident"
	colBare      = "bare gRPC client"
	colText      = "bare gRPC client, text alone"
	colRelay     = "bare gRPC client + driver"
	colCanned    = "canned SSE"
	colCannedAs  = "canned SSE, as in process"
	colCanned64  = "canned SSE, 64 a write"
	colTriton    = "tritonserver"
	colLocalRPC  = "Trident in process, gRPC"
	colRemoteRPC = "Trident remote, gRPC"
	colEngineRPC = "engine behind grpc-go"
	colCannedRPC = "grpc-go, ready answers"
	cannedMany   = 64
	chatPath     = "/v1/chat/completions"
	messagesPath = "/v1/messages"
	roleTrident  = "Trident" // Trident, or the process in its role
	roleTriton   = "tritonserver"
	roleHost     = "Trident with Triton" // the server of a Trident that has no Triton itself
	roleStubs    = "Python models"
	roleDriver   = "driver"
	readyTimeout = 2 * time.Minute
)

// column is a source of tokens that the bench measures, and a column of its report.
type column struct {
	name    string
	worker  *worker // the driver, or a worker that is itself the column
	address string  // address of an HTTP server
	path    string
	// native is the gRPC address, if any.
	native string
	roles  []role
	// writesLike is the column whose tokens per write this column copies. tokensPerWrite sets a fixed
	// number.
	writesLike     string
	tokensPerWrite float64
	// paces is set if the server generates the pace itself, because it has no model.
	paces bool
	// textAlone is set for the client that requests no output except the text.
	textAlone bool
	peer      *peer // settings of another server, or nil
	// profiles is the URL of Go's profiles, or "". hostProfiles is that of the Trident with Triton
	// behind it, if there is one.
	profiles, hostProfiles string
}

// role is a process whose CPU time is measured.
type role struct {
	name string
	pid  int
}

// processes returns the column's processes with their children, and its driver.
func (c *column) processes() []role {
	all := slices.Clone(c.roles)
	for _, r := range c.roles {
		name := roleStubs
		if c.peer != nil {
			name = r.name // a peer may have several processes
		}
		for _, pid := range descendants(r.pid) {
			all = append(all, role{name, pid})
		}
	}
	if c.address != "" {
		all = append(all, role{roleDriver, c.worker.pid()})
	}
	return all
}

// worker is the bench's side of a process that runs jobs.
type worker struct{ *child }

func (w *worker) pid() int { return w.cmd.Process.Pid }

// begin sends a job. It returns when the worker is connected.
func (w *worker) begin(ctx context.Context, j *job) error {
	if err := w.send(workerOrder{Job: j}); err != nil {
		return err
	}
	_, err := w.receive(ctx, stateReady)
	return err
}

// proceed continues the job until the next state.
func (w *worker) proceed(ctx context.Context, until state) (*result, error) {
	if err := w.send(workerOrder{}); err != nil {
		return nil, err
	}
	return w.receive(ctx, until)
}

func (w *worker) send(o workerOrder) error {
	if err := json.NewEncoder(w.in).Encode(o); err != nil {
		return w.failed(err)
	}
	return nil
}

func (w *worker) receive(ctx context.Context, want state) (*result, error) {
	line, err := w.line(ctx)
	if err != nil {
		return nil, err
	}
	var n workerReport
	if err := json.Unmarshal([]byte(line), &n); err != nil {
		return nil, w.failed(fmt.Errorf("decode the worker's report %.200q: %w", line, err))
	}
	if n.Error != "" {
		return nil, errors.New(n.Error)
	}
	if n.State != want {
		return nil, w.failed(fmt.Errorf("the worker's state is %s, not %s", n.State, want))
	}
	return n.Result, nil
}

// fleet is all processes of the bench, and its columns.
type fleet struct {
	folder   string // folder of the models and the logs
	children []*child
	triton   *tritonserver.Server
	tritonIO *os.File
	tritonAt tritonAddress // the tritonserver that the columns use
	columns  []*column
}

const (
	flatModel = "burst"      // is as fast as Triton takes its tokens
	idleModel = "burst_idle" // generates a token every five seconds
	echoModel = "echo"       // returns its input tensor
	// ensembleModel is the flat model with the tensors of TensorRT-LLM's ensemble.
	ensembleModel = "ensemble"
)

// launch starts all processes and waits until they are ready. It must be called on a
// thread that lives as long as the bench. On an error all processes have ended.
func launch(ctx context.Context, o *options) (*fleet, error) {
	f := &fleet{folder: filepath.Join(".cache", "bench")}
	if err := f.start(ctx, o); err != nil {
		return nil, errors.Join(err, f.stop()) //nolint:contextcheck // the context may have ended
	}
	return f, nil
}

func (f *fleet) start(ctx context.Context, o *options) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	repository, err := f.repository(ctx, !o.Quick)
	if err != nil {
		return err
	}
	if f.tritonAt = o.Triton; o.Triton.grpc == "" {
		if err := f.startTriton(ctx, repository); err != nil {
			return err
		}
	}
	if err := f.startWorkers(ctx, repository); err != nil {
		return err
	}
	if err := f.startServers(ctx, o.Trident, repository); err != nil {
		return err
	}
	for i := range o.Peer {
		f.columns = append(f.columns, o.Peer[i].column(f.column(colLocal).worker, f.tritonAt))
	}
	for i := range o.programs {
		if err := f.startProgram(ctx, &o.programs[i]); err != nil {
			return err
		}
	}
	return nil
}

// repository creates the models again.
func (f *fleet) repository(ctx context.Context, python bool) (string, error) {
	if err := os.RemoveAll(f.folder); err != nil {
		return "", err
	}
	path, err := filepath.Abs(filepath.Join(f.folder, "models"))
	if err != nil {
		return "", err
	}
	return path, burst.Repository(ctx, path, models(python)...)
}

// models returns the models of all scenarios.
func models(python bool) []burst.Model {
	list := []burst.Model{{Name: idleModel, Pace: idlePace}, {Name: echoModel, Echo: true}}
	for _, m := range append(burst.Models(), ensembles()...) {
		if python || !m.Python {
			m.Tokenizer = true // as the model of an engine has one
			list = append(list, m)
		}
	}
	return list
}

// ensembles returns the models with the tensors of TensorRT-LLM's ensemble.
func ensembles() []burst.Model {
	list := []burst.Model{{Name: ensembleModel, Ensemble: true}}
	for _, pace := range []time.Duration{fastPace, stepPace} {
		list = append(list, burst.Model{Name: modelAt(ensembleModel, pace), Pace: pace, Ensemble: true})
	}
	return list
}

func (f *fleet) startTriton(ctx context.Context, repository string) (err error) {
	if f.tritonIO, err = os.Create(filepath.Join(f.folder, "tritonserver.log")); err != nil {
		return err
	}
	if f.triton, err = tritonserver.Launch(ctx, tritonserver.Options{Repositories: []string{repository}, Log: f.tritonIO}); err == nil {
		f.tritonAt = tritonAddress{f.triton.GRPC(), f.triton.Pid()}
	}
	return err
}

// startWorkers starts the columns that are their own drivers.
func (f *fleet) startWorkers(ctx context.Context, repository string) error {
	engine, err := f.startSelf("engine", "engine", repository)
	if err != nil {
		return err
	}
	bare, err := f.startSelf("bare", "bare", f.tritonAt.grpc)
	if err != nil {
		return err
	}
	client := column{name: colBare, worker: &worker{bare}, roles: append([]role{{roleTrident, bare.cmd.Process.Pid}}, f.tritonAt.roles()...)}
	text := client
	text.name, text.textAlone = colText, true
	f.columns = append(f.columns,
		&column{name: colEngine, worker: &worker{engine}, roles: []role{{roleTrident, engine.cmd.Process.Pid}}}, &client, &text,
	)
	return ctx.Err()
}

// startSelf starts a hidden command of this program.
func (f *fleet) startSelf(name string, args ...string) (*child, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return f.child(name, append([]string{program}, args...)...)
}

func (f *fleet) child(name string, args ...string) (*child, error) {
	c, err := startChild(f.folder, name, args...)
	if err != nil {
		return nil, err
	}
	f.children = append(f.children, c)
	return c, nil
}

// startServers starts the driver and the servers that it calls.
func (f *fleet) startServers(ctx context.Context, trident, repository string) error {
	driver, err := f.startSelf("driver", "driver")
	if err != nil {
		return err
	}
	drive := &worker{driver}
	canned, err := f.ownServer(ctx, drive, "canned")
	if err != nil {
		return err
	}
	if canned.native, err = f.children[len(f.children)-1].line(ctx); err != nil {
		return err
	}
	relay, err := f.ownServer(ctx, drive, "relay", f.tritonAt.grpc)
	if err != nil {
		return err
	}
	if err := f.startTridents(ctx, drive, trident, repository); err != nil {
		return err
	}
	behind, err := f.ownServer(ctx, f.column(colBare).worker, "behind", repository)
	if err != nil {
		return err
	}
	behind.name, behind.path = colEngineRPC, ""
	relay.name, relay.writesLike = colRelay, colRemote
	canned.name, canned.paces = colCanned, true
	as, many := *canned, *canned
	as.name, as.writesLike = colCannedAs, colLocal
	many.name, many.tokensPerWrite = colCanned64, cannedMany
	relay.roles = append(relay.roles, f.tritonAt.roles()...)
	// Within a round, each column follows the column whose tokens per write it copies.
	f.columns = append(f.columns, relay, canned, &as, &many, behind)
	f.columns = append(f.columns, f.native()...)
	return nil
}

// startTridents starts the columns of trident: with Triton in process, in front of tritonserver,
// and in front of another trident with Triton in process.
func (f *fleet) startTridents(ctx context.Context, drive *worker, trident, repository string) error {
	inProcess, err := f.trident(ctx, drive, trident, colLocal, "--model-repository="+repository)
	if err != nil {
		return err
	}
	remote, err := f.trident(ctx, drive, trident, colRemote, "--triton-endpoint="+f.tritonAt.grpc)
	if err != nil {
		return err
	}
	// The host is a process of its own, so that its clients don't change the column in process.
	host, err := f.trident(ctx, drive, trident, roleHost, "--model-repository="+repository)
	if err != nil {
		return err
	}
	over, err := f.trident(ctx, drive, trident, colOver, "--triton-endpoint="+host.native)
	if err != nil {
		return err
	}
	remote.roles = append(remote.roles, f.tritonAt.roles()...)
	over.roles = append(over.roles, role{roleHost, host.roles[0].pid})
	over.hostProfiles = host.profiles
	f.columns = append(f.columns, inProcess, remote, over)
	return nil
}

// native returns the columns of KServe v2, which the bare client calls.
func (f *fleet) native() []*column {
	client := f.column(colBare).worker
	triton := &column{name: colTriton, worker: client, address: f.tritonAt.grpc, roles: f.tritonAt.roles()}
	list := []*column{triton}
	for name, of := range map[string]string{colLocalRPC: colLocal, colRemoteRPC: colRemote, colCannedRPC: colCanned} {
		list = append(list, f.column(of).calledBy(client, name))
	}
	return list
}

// calledBy returns the same server as a column of KServe v2 that client calls.
func (c *column) calledBy(client *worker, name string) *column {
	called := *c
	called.name, called.worker, called.address, called.path = name, client, c.native, ""
	return &called
}

// ownServer starts one of the bench's own servers. The first line of its output is its
// address.
func (f *fleet) ownServer(ctx context.Context, drive *worker, args ...string) (*column, error) {
	c, err := f.startSelf(args[0], args...)
	if err != nil {
		return nil, err
	}
	address, err := c.line(ctx)
	if err != nil {
		return nil, err
	}
	return &column{worker: drive, address: address, path: chatPath, roles: []role{{roleTrident, c.cmd.Process.Pid}}}, nil
}

// serverFlags returns the flags of the trident under test: the defaults, without the
// limit on concurrent requests, and with a given address for every port.
func serverFlags(a *addresses) []string {
	return []string{
		"--host=127.0.0.1", "--openai-port=" + port(a.openAI), "--log-format=json", "--max-in-flight=0", "--profile-address=" + a.profiles,
		"--enable-kserve-frontends", "--kserve-grpc-port=" + port(a.native), "--kserve-http-port=0", "--metrics-port=0",
	}
}

// addresses are the addresses that a trident listens on. The bench chooses them,
// because a comparison runs binaries of other commits: flags are more stable than the
// log lines that report the address of a free port.
type addresses struct{ openAI, native, profiles string }

// freeAddresses returns loopback addresses that nothing listens on.
func freeAddresses(ctx context.Context) (*addresses, error) {
	a := &addresses{}
	var open []net.Listener // open until each address has its port
	defer func() {
		for _, l := range open {
			_ = l.Close() // the listener has accepted no connections
		}
	}()
	for _, to := range []*string{&a.openAI, &a.native, &a.profiles} {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		open = append(open, l)
		*to = l.Addr().String()
	}
	return a, nil
}

// port returns the port of host:port.
func port(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

// trident starts a trident, the column name, with an engine flag and waits until it is
// ready.
func (f *fleet) trident(ctx context.Context, drive *worker, binary, name, engine string) (*column, error) {
	a, err := freeAddresses(ctx)
	if err != nil {
		return nil, err
	}
	c, err := f.child(strings.ReplaceAll(name, " ", "-"), slices.Concat([]string{binary, engine}, serverFlags(a))...)
	if err != nil {
		return nil, err
	}
	if err := c.awaitReady(ctx, "http://"+a.openAI+"/health/ready"); err != nil {
		return nil, err
	}
	return &column{
		name: name, worker: drive, address: a.openAI, path: chatPath, native: a.native, roles: []role{{roleTrident, c.cmd.Process.Pid}},
		profiles: "http://" + a.profiles + "/debug/pprof/",
	}, nil
}

// awaitReady waits until a URL returns the status 200.
func (c *child) awaitReady(ctx context.Context, url string) error {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		_, err := get(ctx, url)
		if err == nil {
			return nil
		}
		select {
		case <-poll.C:
		case <-c.exited:
			return c.failed(errors.New("the process exited before it became ready"))
		case <-ctx.Done():
			return c.failed(fmt.Errorf("the process isn't ready: %w", err))
		}
	}
}

// get returns the body of a response with status 200.
func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // it is read only
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.300s", url, answer.Status, body)
	}
	return body, err
}

func (f *fleet) column(name string) *column {
	for _, c := range f.columns {
		if c.name == name {
			return c
		}
	}
	return nil
}

// end stops one child process before the others.
func (f *fleet) end(c *child) error {
	f.children = slices.DeleteFunc(f.children, func(other *child) bool { return other == c })
	return c.stop()
}

// stop ends all processes. The clients of tritonserver end before it.
func (f *fleet) stop() error {
	failed := make([]error, len(f.children))
	var stopping sync.WaitGroup
	for i, c := range f.children {
		stopping.Go(func() { failed[i] = c.stop() })
	}
	stopping.Wait()
	err := errors.Join(failed...)
	if f.triton != nil {
		err = errors.Join(err, f.triton.Close())
	}
	if f.tritonIO != nil {
		err = errors.Join(err, f.tritonIO.Close())
	}
	return err
}
