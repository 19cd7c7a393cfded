package kube

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// Limits of waits. Most waits end much earlier.
const (
	startLimit = 3 * time.Minute
	stopLimit  = 30 * time.Second
	pollEvery  = 50 * time.Millisecond
)

// cluster is a kube-apiserver with an etcd of its own, both on loopback. No controller, scheduler or
// kubelet runs: objects are judged and stored, and nothing acts on them.
type cluster struct {
	address    string // host:port of the API
	kubeconfig string // path of the administrator's settings, for Helm
	client     *http.Client
	kinds      map[string][]kind // by group and version
}

// startCluster starts the servers in the folder of binaries. Both end with the test.
func startCluster(t *testing.T, binaries string) *cluster {
	t.Helper()
	dir := t.TempDir()
	keys := newKeys(t, dir)
	store := "https://" + loopback(t)
	startProcess(t, filepath.Join(binaries, "etcd"), etcdArguments(t, dir, store, keys)...)
	c := &cluster{address: loopback(t), client: keys.client(t), kinds: map[string][]kind{}}
	server := startProcess(t, filepath.Join(binaries, "kube-apiserver"), apiserverArguments(c.address, store, keys)...)
	c.kubeconfig = keys.writeKubeconfig(t, dir, "https://"+c.address)
	await(t, "kube-apiserver is ready", startLimit, func(ctx context.Context) error {
		if err := server.ended(); err != nil {
			t.Fatal(err)
		}
		return c.serves(ctx, "/readyz")
	})
	return c
}

// serves returns an error unless the API has something at the path.
func (c *cluster) serves(ctx context.Context, path string) error {
	reply, err := c.call(ctx, http.MethodGet, path, nil)
	if err == nil {
		err = reply.refusal()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// loopback returns a free address.
func loopback(t *testing.T) string {
	t.Helper()
	port, err := tritonserver.FreePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return "127.0.0.1:" + strconv.Itoa(port)
}

func etcdArguments(t *testing.T, dir, store string, keys *keys) []string {
	t.Helper()
	peer := "http://" + loopback(t)
	return []string{
		"--data-dir=" + filepath.Join(dir, "etcd"),
		"--listen-client-urls=" + store, "--advertise-client-urls=" + store,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=default=" + peer,
		"--cert-file=" + keys.cert, "--key-file=" + keys.key, "--trusted-ca-file=" + keys.ca, "--client-cert-auth",
		"--unsafe-no-fsync", "--log-level=warn",
		"--max-request-bytes=" + strconv.Itoa(8<<20), // definitions of KServe have more than etcd's default
	}
}

func apiserverArguments(address, store string, keys *keys) []string {
	host, port, _ := strings.Cut(address, ":")
	return []string{
		"--bind-address=" + host, "--secure-port=" + port,
		"--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none", // loopback isn't allowed here, and nothing reads it
		"--tls-cert-file=" + keys.cert, "--tls-private-key-file=" + keys.key, "--client-ca-file=" + keys.ca,
		"--etcd-servers=" + store, "--etcd-cafile=" + keys.ca, "--etcd-certfile=" + keys.cert, "--etcd-keyfile=" + keys.key,
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-signing-key-file=" + keys.key, "--service-account-key-file=" + keys.cert,
		"--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=RBAC",
	}
}

// process is a running server. Its log is in a file.
type process struct {
	name string
	log  string
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // set before done is closed
}

// startProcess starts a server that ends with the test. A failed test logs the end of the server's log.
func startProcess(t *testing.T, path string, args ...string) *process {
	t.Helper()
	p := &process{name: filepath.Base(path), done: make(chan struct{})}
	p.log = filepath.Join(t.TempDir(), p.name+".log")
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	p.cmd = exec.Command(path, args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.stop(t)
		if err := log.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the end of the log of %s:\n%s", p.name, p.tail())
		}
	})
	return p
}

// stop ends the process, and kills it if it doesn't end in time.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	select {
	case <-p.done:
	case <-time.After(stopLimit):
		t.Errorf("%s didn't end in %s after SIGTERM", p.name, stopLimit)
		if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			t.Error(err)
		}
		<-p.done
	}
	if usage, ok := p.cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		t.Logf("%s: %d MiB of memory at most, %.1f s of CPU time", p.name, usage.Maxrss>>10, (p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()).Seconds())
	}
}

// ended returns an error if the process has ended.
func (p *process) ended() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended: %w\n%s", p.name, p.err, p.tail())
	default:
		return nil
	}
}

// maxTail is the maximum number of bytes that are shown of a log.
const maxTail = 8 << 10

// tail returns the end of the log.
func (p *process) tail() string {
	file, err := os.Open(p.log)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = file.Seek(max(0, size-maxTail), io.SeekStart)
	}
	if err != nil {
		return err.Error()
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// await waits until the condition has no error.
func await(t *testing.T, what string, limit time.Duration, condition func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for {
		err := condition(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not in %s: %v", what, limit, err)
		case <-time.After(pollEvery):
		}
	}
}
