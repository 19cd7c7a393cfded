// Package tritonserver runs a real tritonserver as a child process on this
// machine's loopback, for tests. It also runs programs that contain Triton, for
// trying Trident out. It removes what either of them leaves behind. Tests of
// engines belong to package tritontest.
package tritonserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Environment is the environment variable that overrides the path of
// tritonserver.
const Environment = "TRIDENT_TRITONSERVER"

// installed is the path at which `make setup` installs tritonserver, relative
// to the root of the source tree.
const installed = ".venv/triton/tritonserver"

// readyPoll is the interval of readiness checks of a starting server.
const readyPoll = 50 * time.Millisecond

// Options configures a server. All fields except Repositories may be zero.
type Options struct {
	// Binary is the path of tritonserver. If it is empty, [Find] applies.
	Binary string
	// Repositories are the model repositories to serve.
	Repositories []string
	// Args are further arguments, after the arguments that the options produce.
	Args []string
	// Env has variables to add to this process's environment, as NAME=value.
	Env []string
	// Log receives the server's output. If it is nil, a temporary file does.
	Log *os.File
	// ReadyTimeout is the time limit of each start, model loading included; 0
	// means two minutes.
	ReadyTimeout time.Duration
	// ExitTimeout is how long a stopping server waits for requests in flight; 0
	// means five seconds.
	ExitTimeout time.Duration
}

// Server is one tritonserver on three loopback ports, which stay the same after
// restarts. It ends with this process. The methods that change its state
// (Restart, Stop, Kill, Pause, Resume, Close) may be called by one goroutine at
// a time.
type Server struct {
	options             Options
	http, grpc, metrics string // addresses of the ports
	prefix              string // prefix of the names of the models' shared memory
	ownLog              bool

	starts chan *process
	kept   chan struct{} // closed when the keeper has ended

	mu      sync.Mutex
	current *process
}

// process is one process of tritonserver; each restart starts another.
type process struct {
	cmd     *exec.Cmd
	started chan error
	exited  chan struct{}
}

// Find returns the path of tritonserver: the value of the environment variable,
// or the one that `make setup` installed in the source tree around the working
// directory.
func Find() (string, error) {
	if path := os.Getenv(Environment); path != "" {
		return path, nil
	}
	root, err := SourceRoot()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, filepath.FromSlash(installed))
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("tritonserver isn't installed: run make setup, or name one in %s", Environment)
	}
	return path, nil
}

// SourceRoot returns the root of the source tree around the working directory.
func SourceRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir, nil
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		err = errors.New("no go.mod in the working directory or above it")
	}
	return "", err
}

// Launch starts a tritonserver on free ports and waits until it is ready. The
// context applies to the start only. An error contains the end of the server's
// log.
func Launch(ctx context.Context, options Options) (*Server, error) {
	s, err := newServer(ctx, options)
	if err != nil {
		return nil, err
	}
	go s.keep()
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.close(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func newServer(ctx context.Context, options Options) (*Server, error) {
	var err error
	if options.Binary == "" {
		if options.Binary, err = Find(); err != nil {
			return nil, err
		}
	}
	if options.ReadyTimeout == 0 {
		options.ReadyTimeout = 2 * time.Minute
	}
	if options.ExitTimeout == 0 {
		options.ExitTimeout = 5 * time.Second
	}
	s := &Server{options: options, starts: make(chan *process), kept: make(chan struct{})}
	addresses, err := freeAddresses(ctx, 3)
	if err != nil {
		return nil, err
	}
	s.http, s.grpc, s.metrics = addresses[0], addresses[1], addresses[2]
	_, port, _ := net.SplitHostPort(s.grpc)
	s.prefix = fmt.Sprintf("trident_%d_%s_", os.Getpid(), port)
	if options.Log == nil {
		if s.options.Log, err = os.CreateTemp("", "tritonserver-*.log"); err != nil {
			return nil, err
		}
		s.ownLog = true
	}
	return s, nil
}

// freeAddresses returns loopback addresses with free ports.
func freeAddresses(ctx context.Context, n int) ([]string, error) {
	var addresses []string
	for range n {
		listener, err := listenFree(ctx)
		if err != nil {
			return nil, err
		}
		defer listener.Close() //nolint:errcheck,gocritic // all stay open until the last is found
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
}

// Range of the free ports. It is below the ports that Linux assigns to connections, and to
// listeners without a given port (net.ipv4.ip_local_port_range). Otherwise one of those could take
// the port before the server does.
const (
	lowestPort, highestPort = 10_000, 32_000
	portAttempts            = 100
)

// listenFree listens on a random loopback port.
func listenFree(ctx context.Context) (net.Listener, error) {
	var config net.ListenConfig
	for attempt := 1; ; attempt++ {
		port := lowestPort + rand.IntN(highestPort-lowestPort) //nolint:gosec // it needn't be secret
		listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil || attempt == portAttempts || !errors.Is(err, syscall.EADDRINUSE) {
			return listener, err
		}
	}
}

// FreePort returns a free loopback port, on which another program can listen.
func FreePort(ctx context.Context) (int, error) {
	listener, err := listenFree(ctx)
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		return 0, err
	}
	number, err := strconv.Atoi(port)
	return number, errors.Join(err, listener.Close())
}

// GRPC returns the address (host:port) of the gRPC service.
func (s *Server) GRPC() string { return s.grpc }

// HTTP returns the address (host:port) of the HTTP service.
func (s *Server) HTTP() string { return s.http }

// Pid returns the process id of the last start.
func (s *Server) Pid() int { return s.run().cmd.Process.Pid }

// MetricsURL returns the URL of the server's Prometheus metrics.
func (s *Server) MetricsURL() string { return "http://" + s.metrics + "/metrics" }

// Exited returns a channel that is closed when the process of the last start
// has ended.
func (s *Server) Exited() <-chan struct{} { return s.run().exited }

func (s *Server) run() *process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// keep starts the processes and waits for them, all on one thread: the kernel
// ends a child when the thread that started it ends.
func (s *Server) keep() {
	keepThread()
	defer runtime.UnlockOSThread()
	defer close(s.kept)
	for p := range s.starts {
		// No caller needs the exit status.
		_ = live(p.cmd, func(int) string { return s.prefix }, s.options.ExitTimeout+guardSlack, p.started)
		close(p.exited)
	}
}

func (s *Server) start(ctx context.Context) error {
	p := &process{cmd: s.command(), started: make(chan error, 1), exited: make(chan struct{})}
	s.mu.Lock()
	s.current = p
	s.mu.Unlock()
	s.starts <- p
	if err := <-p.started; err != nil {
		<-p.exited
		return fmt.Errorf("start tritonserver: %w", err)
	}
	return s.awaitReady(ctx, p)
}

func (s *Server) command() *exec.Cmd {
	args := []string{
		"--exit-timeout-secs=" + strconv.Itoa(int(s.options.ExitTimeout.Seconds())),
		"--backend-config=python,shm-region-prefix-name=" + s.prefix,
	}
	for _, repository := range s.options.Repositories {
		args = append(args, "--model-repository="+repository)
	}
	for name, address := range map[string]string{"http": s.http, "grpc": s.grpc, "metrics": s.metrics} {
		host, port, _ := net.SplitHostPort(address)
		args = append(args, "--"+name+"-address="+host, "--"+name+"-port="+port)
	}
	cmd := exec.Command(s.options.Binary, append(args, s.options.Args...)...) //nolint:gosec,noctx // the caller's program, stopped by signals
	cmd.Env = append(os.Environ(), s.options.Env...)
	cmd.Stdout, cmd.Stderr = s.options.Log, s.options.Log
	return cmd
}

func (s *Server) awaitReady(ctx context.Context, p *process) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.ReadyTimeout)
	defer cancel()
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for !s.ready(ctx, client) {
		select {
		case <-poll.C:
		case <-p.exited:
			return fmt.Errorf("tritonserver ended while starting; its log ends with:\n%s", s.LogTail(40))
		case <-ctx.Done():
			return fmt.Errorf("tritonserver wasn't ready in time: %w; its log ends with:\n%s", ctx.Err(), s.LogTail(40))
		}
	}
	return nil
}

func (s *Server) ready(ctx context.Context, client *http.Client) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.http+"/v2/health/ready", http.NoBody)
	if err != nil {
		return false
	}
	answer, err := client.Do(req)
	if err != nil {
		return false
	}
	return answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}

// Restart stops the server if it runs, and kills it if it doesn't stop in time.
// Then it starts the server on the same ports and waits until it is ready.
func (s *Server) Restart(ctx context.Context) error {
	_ = s.end(ctx) // the server has ended even if this returns an error
	return s.start(ctx)
}

// end stops the server within a time limit. Version 2.51 may hang on a lock of
// its heap when it finds the heap damaged.
func (s *Server) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.ExitTimeout+5*time.Second)
	defer cancel()
	return s.Stop(ctx)
}

// Stop sends SIGTERM and waits for the server's end. If the context ends first,
// Stop kills the server.
func (s *Server) Stop(ctx context.Context) error {
	s.Resume()
	s.signal(syscall.SIGTERM, alone)
	select {
	case <-s.Exited():
		return nil
	case <-ctx.Done():
		s.Kill()
		return fmt.Errorf("tritonserver didn't stop and was killed: %w", ctx.Err())
	}
}

// Kill kills the server and waits for its end.
func (s *Server) Kill() {
	s.signal(syscall.SIGKILL, group)
	<-s.Exited()
}

// Pause stops the server and its models with SIGSTOP. The server keeps its
// connections and sends nothing.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP, group) }

// Resume continues the server after Pause.
func (s *Server) Resume() { s.signal(syscall.SIGCONT, group) }

// Receivers of a signal: the server alone, or also its models' processes. The
// process id is multiplied by the value to get the argument of kill(2).
const (
	alone = 1
	group = -1
)

// signal sends a signal to the last process that was started, unless it has
// ended.
func (s *Server) signal(signal syscall.Signal, whom int) {
	p := s.run()
	select {
	case <-p.exited:
	default:
		_ = syscall.Kill(whom*p.cmd.Process.Pid, signal)
	}
}

// Close stops the server and releases its resources.
func (s *Server) Close() error {
	return s.close(context.Background())
}

func (s *Server) close(ctx context.Context) error {
	err := s.end(ctx)
	close(s.starts)
	<-s.kept
	if s.ownLog {
		err = errors.Join(err, s.options.Log.Close(), os.Remove(s.options.Log.Name()))
	}
	return err
}

// tailBytes is the number of bytes at the end of the log that are searched for
// its last lines.
const tailBytes = 64 << 10

// LogTail returns the last lines of the server's output.
func (s *Server) LogTail(lines int) string {
	file, err := os.Open(s.options.Log.Name())
	if err != nil {
		return err.Error()
	}
	defer file.Close() //nolint:errcheck // only read
	if info, err := file.Stat(); err == nil && info.Size() > tailBytes {
		_, _ = file.Seek(-tailBytes, io.SeekEnd)
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
