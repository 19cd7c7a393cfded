package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// Columns of the bench of fleets. Each is one server in front of clusterSize others.
const (
	colFleet     = "Trident over tritonservers"
	colFleetOver = "Trident over Tridents"
	colSGLang    = "sglang-router over Tridents"
	colVLLM      = "vllm-router over Tridents"
)

// clusterSize is the number of servers behind a column.
const clusterSize = 4

// router is a router of another project. It speaks the OpenAI API to the servers behind it.
type router struct {
	column string
	module string // Python module that starts it
}

// routers returns the routers that tools/setup-routers.sh installs.
func routers() []router {
	return []router{{colSGLang, "sglang_router.launch_router"}, {colVLLM, "vllm_router.launch_router"}}
}

// cluster is all processes of a round of the bench of fleets: tritonservers, Tridents in process,
// the servers in front of them, and the driver.
type cluster struct {
	*fleet

	options *fleetCommand
	models  string // the model repository
	logs    []*os.File
	tritons []*tritonserver.Server
	pods    []*pod
}

// pod is a Trident in process, which restarts at the same addresses.
type pod struct {
	cluster   *cluster
	name      string
	addresses *addresses
	child     *child
}

// launchCluster starts all processes and waits until they are ready. It must be called on a thread
// that lives as long as the bench. On an error all processes have ended.
func launchCluster(ctx context.Context, o *fleetCommand) (*cluster, error) {
	c := &cluster{fleet: &fleet{folder: filepath.Join(".cache", "bench-fleet")}, options: o}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.stop()) //nolint:contextcheck // the context may have ended
	}
	return c, nil
}

func (c *cluster) start(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*clusterSize*readyTimeout)
	defer cancel()
	if c.models, err = c.repository(ctx, false); err != nil {
		return err
	}
	for i := range clusterSize {
		if err := c.startTriton(ctx, fmt.Sprint("tritonserver-", i)); err != nil {
			return err
		}
	}
	for i := range clusterSize {
		if err := c.startPod(ctx, fmt.Sprint("pod-", i)); err != nil {
			return err
		}
	}
	driver, err := c.startSelf("driver", "driver")
	if err != nil {
		return err
	}
	return c.startColumns(ctx, &worker{driver})
}

func (c *cluster) startTriton(ctx context.Context, name string) error {
	log, err := os.Create(filepath.Join(c.folder, name+".log"))
	if err != nil {
		return err
	}
	c.logs = append(c.logs, log)
	server, err := tritonserver.Launch(ctx, tritonserver.Options{Repositories: []string{c.models}, Log: log})
	if err == nil {
		c.tritons = append(c.tritons, server)
	}
	return err
}

func (c *cluster) startPod(ctx context.Context, name string) error {
	a, err := freeAddresses(ctx)
	if err != nil {
		return err
	}
	p := &pod{cluster: c, name: name, addresses: a}
	c.pods = append(c.pods, p)
	return p.start(ctx)
}

func (p *pod) start(ctx context.Context) (err error) {
	p.child, err = p.cluster.child(p.name, append([]string{p.cluster.options.Trident, "--model-repository=" + p.cluster.models}, serverFlags(p.addresses)...)...)
	if err != nil {
		return err
	}
	return p.child.awaitReady(ctx, "http://"+p.addresses.openAI+"/health/ready")
}

// startColumns starts the servers that are measured.
func (c *cluster) startColumns(ctx context.Context, drive *worker) error {
	var tritons, pods []role
	for _, s := range c.tritons {
		tritons = append(tritons, role{roleTriton, s.Pid()})
	}
	for _, p := range c.pods {
		pods = append(pods, role{roleHost, p.child.cmd.Process.Pid})
	}
	front, err := c.trident(ctx, drive, c.options.Trident, colFleet, "--triton-endpoint="+strings.Join(c.grpc(), ","))
	if err != nil {
		return err
	}
	over, err := c.trident(ctx, drive, c.options.Trident, colFleetOver, "--triton-endpoint="+strings.Join(c.podAddresses(func(a *addresses) string { return a.native }), ","))
	if err != nil {
		return err
	}
	front.roles, over.roles = append(front.roles, tritons...), append(over.roles, pods...)
	c.columns = append(c.columns, front, over)
	for _, r := range c.options.routers() {
		column, err := c.startRouter(ctx, drive, r)
		if err != nil {
			return err
		}
		column.roles = append(column.roles, pods...)
		c.columns = append(c.columns, column)
	}
	return nil
}

// grpc returns the addresses of the tritonservers.
func (c *cluster) grpc() []string {
	var list []string
	for _, s := range c.tritons {
		list = append(list, s.GRPC())
	}
	return list
}

func (c *cluster) podAddresses(of func(*addresses) string) []string {
	var list []string
	for _, p := range c.pods {
		list = append(list, of(p.addresses))
	}
	return list
}

// startRouter starts a router with its defaults.
func (c *cluster) startRouter(ctx context.Context, drive *worker, r router) (*column, error) {
	a, err := freeAddresses(ctx)
	if err != nil {
		return nil, err
	}
	args := []string{
		filepath.Join(c.options.Routers, "bin", "python"), "-m", r.module, "--host", "127.0.0.1", "--port", port(a.openAI),
		"--prometheus-host", "127.0.0.1", "--prometheus-port", port(a.profiles), "--log-level", "error", "--worker-urls",
	}
	name, _, _ := strings.Cut(r.column, " ")
	started, err := c.child(name, append(args, c.podAddresses(func(a *addresses) string { return "http://" + a.openAI })...)...)
	if err != nil {
		return nil, err
	}
	if err := started.awaitReady(ctx, "http://"+a.openAI+"/health"); err != nil {
		return nil, err
	}
	return &column{
		name: r.column, worker: drive, address: a.openAI, path: chatPath, roles: []role{{roleTrident, started.cmd.Process.Pid}},
		peer: &peer{name: r.column},
	}, nil
}

// stop ends all processes. The tritonservers end after their clients.
func (c *cluster) stop() error {
	err := c.fleet.stop()
	for _, s := range c.tritons {
		err = errors.Join(err, s.Close())
	}
	for _, log := range c.logs {
		err = errors.Join(err, log.Close())
	}
	return err
}

// backend is one of the servers behind a column.
type backend interface {
	pid() int
	// kill ends the server at once, as a crash does.
	kill()
	// restart starts it again, and waits until it is ready.
	restart(ctx context.Context) error
}

// backends returns the servers behind a column.
func (c *cluster) backends(column *column) []backend {
	var list []backend
	if column.name == colFleet {
		for _, s := range c.tritons {
			list = append(list, tritonBackend{s})
		}
		return list
	}
	for _, p := range c.pods {
		list = append(list, p)
	}
	return list
}

type tritonBackend struct{ server *tritonserver.Server }

func (b tritonBackend) pid() int                          { return b.server.Pid() }
func (b tritonBackend) kill()                             { b.server.Kill() }
func (b tritonBackend) restart(ctx context.Context) error { return b.server.Restart(ctx) }

func (p *pod) pid() int { return p.child.cmd.Process.Pid }

func (p *pod) kill() {
	killGroup(p.child.cmd.Process.Pid)
	<-p.child.exited
}

func (p *pod) restart(ctx context.Context) error {
	if err := p.cluster.end(p.child); err != nil {
		return err
	}
	return p.start(ctx)
}

// forward accepts connections on a free port of the loopback and connects each of them to an address,
// until the context ends. It returns its own address.
func forward(ctx context.Context, to string) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go join(ctx, from, to)
		}
	}()
	return listener.Addr().String(), nil
}

// join copies the bytes of a connection to an address, and back, until one side or the context ends.
func join(ctx context.Context, from net.Conn, to string) {
	defer from.Close() //nolint:errcheck // nothing is left to do
	other, err := new(net.Dialer).DialContext(ctx, "tcp", to)
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { _, _ = from.Close(), other.Close() })
	go func() {
		defer cancel()
		_, _ = io.Copy(other, from)
	}()
	_, _ = io.Copy(from, other)
}
