package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/backends/burst"
)

// Columns of the servers of other projects that the bench starts.
const (
	colFrontend = "Triton's OpenAI frontend"
	colTrtllm   = "openai_trtllm"
)

// peersCommand compares Trident with the servers of other projects that the user has installed.
type peersCommand struct {
	options
	publication

	Frontend     string `placeholder:"PROGRAM" help:"Program that starts Triton's OpenAI frontend with the arguments that follow: its main.py, or a script that sets its environment. Default: it isn't measured."`
	OpenaiTrtllm string `name:"openai-trtllm" placeholder:"PROGRAM" help:"Program openai_trtllm. Default: it isn't measured."`
}

// Run starts all processes, measures, and writes the tables and the charts.
func (c *peersCommand) Run(ctx context.Context) error {
	runtime.LockOSThread() // the kernel ends the children with the thread that started them
	var missing []string
	for _, p := range []program{frontend(c.Frontend), trtllm(c.OpenaiTrtllm)} {
		if p.path == "" {
			missing = append(missing, p.name+": not measured, because --"+p.flag+" isn't set")
			continue
		}
		if _, err := os.Stat(p.path); err != nil {
			return fmt.Errorf("--%s: %w", p.flag, err)
		}
		c.programs = append(c.programs, p)
	}
	b, err := newBench(&c.options, commandPeers, peerScenarios())
	if err != nil {
		return err
	}
	b.report.Notes = missing
	if err := b.run(ctx); err != nil {
		return err
	}
	return c.publish(&b.report, c.Report)
}

// peerScenarios returns the work of the comparison with other servers: an idle server, streams at the
// pace of an engine, and streams flat out, by the tensors of the vLLM backend and of TensorRT-LLM's
// ensemble.
func peerScenarios() []scenario {
	columns := []string{colEngine, colLocal, colBare, colText, colRemote}
	var list []scenario
	for _, s := range append(scenarios(), ensemble(paced(64, stepPace))) {
		if slices.Contains([]string{
			firstToken, flat64, paced1, paced64, pacedName(1, stepPace), pacedName(64, stepPace), pacedName(256, fastPace),
			ensembleName(flat64), ensembleName(paced64), ensembleName(pacedName(64, stepPace)),
		}, s.name) {
			s.columns = slices.DeleteFunc(slices.Clone(s.columns), func(name string) bool { return !slices.Contains(columns, name) })
			s.quick = s.quick || s.name == ensembleName(flat64)
			list = append(list, s)
		}
		if s.name == firstToken {
			list = append(list, ensemble(s))
		}
	}
	// Beyond 64 streams a tritonserver is slower afterwards.
	slices.SortStableFunc(list, func(a, b scenario) int { return a.job.Streams/128 - b.job.Streams/128 })
	return list
}

// program is a server of another project, which is a column of its own. Each round starts a new process.
type program struct {
	name   string
	flag   string // flag of its path
	path   string
	ready  string   // path of its URL that returns status 200 when it is ready
	models []string // the bench's models that it serves
	triton bool     // it is before the bench's tritonserver
	// arguments returns its arguments, after it has written the files that they name.
	arguments func(ctx context.Context, f *fleet, port string) ([]string, error)
}

// frontend returns Triton's OpenAI frontend, which runs Triton's core in process.
func frontend(path string) program {
	return program{
		name: colFrontend, flag: "frontend", path: path, ready: "/health/ready",
		models: []string{flatModel, modelAt(flatModel, fastPace), modelAt(flatModel, stepPace)},
		arguments: func(ctx context.Context, f *fleet, port string) ([]string, error) {
			repository, tokenizer, err := f.frontendFiles(ctx)
			return []string{"--model-repository", repository, "--tokenizer", tokenizer, "--backend", "vllm", "--host", "127.0.0.1", "--openai-port", port}, err
		},
	}
}

// trtllm returns openai_trtllm, which knows the tensors of TensorRT-LLM's ensemble only.
func trtllm(path string) program {
	p := program{
		name: colTrtllm, flag: "openai-trtllm", path: path, ready: "/health_check", triton: true,
		arguments: func(_ context.Context, f *fleet, port string) ([]string, error) {
			return []string{"--host", "127.0.0.1", "--port", port, "--triton-endpoint", "http://" + f.tritonAt.grpc}, nil
		},
	}
	for _, m := range ensembles() {
		p.models = append(p.models, m.Name)
	}
	return p
}

// startProgram starts a server of another project, waits until it is ready, and adds its column.
func (f *fleet) startProgram(ctx context.Context, p *program) error {
	port, err := tritonserver.FreePort(ctx)
	if err != nil {
		return err
	}
	path, err := filepath.Abs(p.path)
	if err != nil {
		return err
	}
	arguments, err := p.arguments(ctx, f, strconv.Itoa(port))
	if err != nil {
		return err
	}
	c, err := f.child(p.flag, append([]string{path}, arguments...)...)
	if err != nil {
		return err
	}
	go func() {
		for range c.lines { // its log, which would fill the pipe
		}
	}()
	address := &url.URL{Scheme: "http", Host: "127.0.0.1:" + strconv.Itoa(port), Path: "/v1"}
	if err := c.awaitReady(ctx, "http://"+address.Host+p.ready); err != nil {
		return err
	}
	running := peer{name: p.name, url: address, pid: c.cmd.Process.Pid, triton: p.triton, models: map[string]string{}}
	for _, name := range p.models {
		running.models[name] = name
	}
	f.columns = append(f.columns, running.column(f.column(colLocal).worker, f.tritonAt))
	return nil
}

// frontendFiles writes the models and the tokenizer of Triton's OpenAI frontend. Its core finds no
// backend outside the models' folders, so that there is no model in Python.
func (f *fleet) frontendFiles(ctx context.Context) (repository, tokenizer string, err error) {
	folder, err := filepath.Abs(filepath.Join(f.folder, "frontend"))
	if err != nil {
		return "", "", err
	}
	repository, tokenizer = filepath.Join(folder, "models"), filepath.Join(folder, "tokenizer")
	var list []burst.Model
	for _, pace := range []time.Duration{0, fastPace, stepPace} {
		m := burst.Model{Name: flatModel, Pace: pace, Logprobs: true, Tokenizer: true}
		if pace > 0 {
			m.Name = modelAt(flatModel, pace)
		}
		list = append(list, m)
	}
	if err := burst.Repository(ctx, repository, list...); err != nil {
		return "", "", err
	}
	words, err := os.ReadFile(filepath.Join(repository, flatModel, "tokenizer", "tokenizer.json"))
	if err != nil {
		return "", "", err
	}
	return repository, tokenizer, errors.Join(
		os.MkdirAll(tokenizer, 0o750),
		os.WriteFile(filepath.Join(tokenizer, "tokenizer.json"), words, 0o600), //nolint:gosec // G703: a folder of the bench
		writeJSON(filepath.Join(tokenizer, "tokenizer_config.json"), map[string]string{
			"tokenizer_class": "PreTrainedTokenizerFast",
			"chat_template":   "{% for message in messages %}{{ message['content'] }}{% endfor %}",
		}),
	)
}
