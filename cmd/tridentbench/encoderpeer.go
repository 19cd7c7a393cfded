package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/trident-inference/trident/services/triton/tritonserver"
)

// encoderPeer is another server of embeddings. It is running, or the bench starts infinity with an engine.
type encoderPeer struct{ name, url, engine string }

// UnmarshalText parses NAME=URL, or the name of a server that the bench starts.
func (p *encoderPeer) UnmarshalText(text []byte) error {
	name, url, running := strings.Cut(string(text), "=")
	p.name, p.url = name, url
	switch {
	case running && name != "" && strings.HasPrefix(url, "http://"):
		return nil
	case string(text) == "infinity":
		p.engine = "torch"
		return nil
	case string(text) == "infinity-onnx":
		p.engine = "optimum"
		return nil
	}
	return fmt.Errorf("%q isn't NAME=URL, infinity or infinity-onnx", text)
}

// column returns the peer's name in the report, with its engine.
func (p *encoderPeer) column() string {
	switch p.engine {
	case "torch":
		return "infinity (torch)"
	case "optimum":
		return "infinity (ONNX Runtime)"
	}
	return p.name
}

// startPeer starts infinity, unless the peer is running. It uses the same weights, the same limit of a text and the same number of
// threads as the other columns, and otherwise its defaults.
func (b *encoderBench) startPeer(ctx context.Context, p *encoderPeer, weights string) error {
	if p.engine == "" {
		return nil
	}
	program, err := filepath.Abs(filepath.Join(b.Environment, "bin", "infinity_emb"))
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		return fmt.Errorf("infinity isn't installed: %w: run tools/setup-infinity.sh", err)
	}
	folder, err := b.peerModel(ctx, p.engine, weights)
	if err != nil {
		return err
	}
	address, err := tritonserver.FreePort(ctx)
	if err != nil {
		return err
	}
	// Each line that infinity prints for a request goes to its log. It finds an ONNX file only in its working directory.
	c, err := b.fleet.child(p.name, "env", "OMP_NUM_THREADS="+strconv.Itoa(b.Threads), "HF_HUB_OFFLINE=1", "DO_NOT_TRACK=1", "INFINITY_ANONYMOUS_USAGE_STATS=0", "INFINITY_LOG_LEVEL=warning",
		"sh", "-c", `cd "$0" && exec "$@" >&2`, folder, program, "v2", "--model-id", ".", "--served-model-name", encoderModel, "--engine", p.engine, "--device", "cpu",
		"--dtype", "float32", "--pooling-method", "mean", "--no-bettertransformer", "--no-model-warmup", "--host", "127.0.0.1", "--port", strconv.Itoa(address))
	if err != nil {
		return err
	}
	host := "http://127.0.0.1:" + strconv.Itoa(address)
	p.url = host + "/embeddings"
	return c.awaitReady(ctx, host+"/health")
}

// peerModel returns a folder with the files of the weights, the limit of the bench, and the graph that the other columns run.
func (b *encoderBench) peerModel(ctx context.Context, name, weights string) (string, error) {
	folder, err := filepath.Abs(filepath.Join(b.fleet.folder, "infinity-"+name))
	if err != nil {
		return "", err
	}
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o750)); err != nil {
		return "", err
	}
	const limits = "sentence_bert_config.json"
	files, err := os.ReadDir(weights)
	for _, f := range files {
		if f.Name() != limits {
			err = errors.Join(err, os.Symlink(filepath.Join(weights, f.Name()), filepath.Join(folder, f.Name())))
		}
	}
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]any{"max_seq_length": mostTokens, "do_lower_case": false})
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, limits), text, 0o600)
	}
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, ".venv/bin/python", "-B", "models/embedding/1/graph.py", weights, filepath.Join(folder, "model.onnx")).CombinedOutput() //nolint:gosec // the bench's own program
	if err != nil {
		return "", fmt.Errorf("write the graph: %w: %s", err, out)
	}
	return folder, nil
}
