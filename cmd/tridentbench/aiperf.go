package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/trident-inference/trident/test/encoders"
)

// aiperfCommand runs NVIDIA's AIPerf, the successor of GenAI-Perf, against the
// chat endpoint, as Triton's documentation does for its own OpenAI frontend. The
// prompts are generated with any tokenizer on this machine. The token counts are
// those of the server's usage.
type aiperfCommand struct {
	Trident     string `default:"bin/trident" help:"Path of the trident binary, which is started with the bench's models unless --url is set."`
	URL         string `name:"url" placeholder:"URL" help:"URL of a running server to measure, such as http://127.0.0.1:9000. Default: a server of --trident."`
	Model       string `default:"burst_10ms" help:"Model that the requests name."`
	Concurrency int    `default:"64" help:"Number of concurrent clients."`
	Requests    int    `default:"512" help:"Total number of requests of all clients."`
	Program     string `default:".venv-bench/bin/aiperf" help:"Path of the program aiperf, which tools/setup-bench.sh installs."`
	Tokenizer   string `placeholder:"DIR" help:"Folder of the tokenizer that generates the prompts. Default: the tokenizer of the demo model embedding."`
	Tokens      int    `default:"128" help:"Number of tokens of each prompt, and of each response."`
}

// Run prints AIPerf's tables.
func (c *aiperfCommand) Run(ctx context.Context) error {
	runtime.LockOSThread() // the kernel ends the children with the thread that started them
	if c.Tokenizer == "" {
		folder, err := encoders.Model{Name: encoderModel}.Folder(ctx)
		if err != nil {
			return fmt.Errorf("--tokenizer: %w, or set another folder", err)
		}
		c.Tokenizer = folder
	}
	if c.URL != "" {
		return c.profile(ctx, c.URL)
	}
	return c.serve(ctx)
}

// serve starts Trident for the duration of the profile.
func (c *aiperfCommand) serve(ctx context.Context) (err error) {
	f := &fleet{folder: filepath.Join(".cache", "aiperf")}
	defer func() { err = errors.Join(err, f.stop()) }() //nolint:contextcheck // it runs after the context has ended
	ready, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	repository, err := f.repository(ready, false)
	if err != nil {
		return err
	}
	trident, err := f.trident(ready, nil, c.Trident, colLocal, "--model-repository="+repository)
	if err != nil {
		return err
	}
	return c.profile(ctx, "http://"+trident.address)
}

// aiperfStop is the time limit for AIPerf to end after Ctrl-C.
const aiperfStop = 10 * time.Second

func (c *aiperfCommand) profile(ctx context.Context, url string) error {
	tokenizer, err := filepath.Abs(c.Tokenizer)
	if err != nil {
		return err
	}
	tokens := strconv.Itoa(c.Tokens)
	args := []string{
		"profile", "--model", c.Model, "--url", url, "--endpoint-type", "chat", "--streaming",
		"--tokenizer", tokenizer, "--use-server-token-count",
		"--synthetic-input-tokens-mean", tokens, "--synthetic-input-tokens-stddev", "0",
		"--output-tokens-mean", tokens, "--output-tokens-stddev", "0",
		"--concurrency", strconv.Itoa(c.Concurrency), "--request-count", strconv.Itoa(c.Requests), "--random-seed", "1",
		"--no-server-metrics", "--no-gpu-telemetry", "--ui", "simple",
		"--artifact-dir", filepath.Join(".cache", "aiperf", "artifacts"),
	}
	cmd := exec.CommandContext(ctx, c.Program, args...) //nolint:gosec // the user's own program
	// In offline mode, AIPerf looks for a folder's name among the models that it
	// has downloaded from a hub.
	cmd.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return name == "HF_HUB_OFFLINE" || name == "TRANSFORMERS_OFFLINE"
	})
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, attributes()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = aiperfStop
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start AIPerf (tools/setup-bench.sh installs it): %w", err)
	}
	defer killGroup(cmd.Process.Pid) // AIPerf's own processes
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("AIPerf: %w", err)
	}
	return nil
}
