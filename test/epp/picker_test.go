package epp

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/pause"
)

// variable names the program of the picker.
const variable = "TRIDENT_TEST_EPP"

// configuration is the file of this source tree that pickers in clusters use.
const configuration = "deploy/llm-d/epp.yaml"

// picker is a process of llm-d's endpoint picker. It reads its list of endpoints from a file.
type picker struct {
	program       string
	args          []string
	grpc, metrics int // ports of ext_proc and of the metrics

	cmd    *exec.Cmd
	log    string // path of the log
	exited chan struct{}
}

// program returns the path of the picker, or skips the test.
func program(t *testing.T) string {
	t.Helper()
	path := os.Getenv(variable)
	if path == "" {
		t.Skipf("needs llm-d's endpoint picker: make test-epp EPP=PATH")
	}
	return path
}

// object is a part of a configuration.
type object = map[string]any

// deployed returns the configuration of this source tree. Only the port of the metrics is changed,
// which must be a free one here.
func deployed(t *testing.T, pods []*pod) object {
	t.Helper()
	text, err := os.ReadFile(configuration)
	if err != nil {
		t.Fatal(err)
	}
	var config object
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	changed := 0
	for _, p := range config["plugins"].([]any) {
		if plugin := p.(object); plugin["type"] == "metrics-data-source" {
			port, err := strconv.Atoi(pods[0].metricsPort)
			if err != nil {
				t.Fatal(err)
			}
			plugin["parameters"].(object)["port"] = port
			changed++
		}
	}
	if changed != 1 {
		t.Fatalf("%s has %d sources of metrics", configuration, changed)
	}
	return config
}

// startPicker starts a picker with a configuration, to which it adds the list of the pods. labels
// are those of each pod.
func startPicker(t *testing.T, config object, pods []*pod, labels map[string]string, args ...string) *picker {
	t.Helper()
	p := &picker{program: program(t), args: args}
	var health int
	for _, port := range []*int{&p.grpc, &health, &p.metrics} {
		free, err := tritonserver.FreePort(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		*port = free
	}
	dir := t.TempDir()
	var endpoints []any
	for i, pod := range pods {
		endpoints = append(endpoints, object{"name": fmt.Sprint("trident-", i), "address": pod.ip, "port": pod.port, "labels": labels})
	}
	list := filepath.Join(dir, "endpoints.yaml")
	write(t, list, object{"endpoints": endpoints})
	plugins, _ := config["plugins"].([]any)
	config["plugins"] = append(plugins, object{"name": "endpoints", "type": "file-discovery", "parameters": object{"path": list, "watchFile": true}})
	layer, _ := config["dataLayer"].(object)
	if layer == nil {
		layer = object{}
	}
	layer["discovery"] = object{"pluginRef": "endpoints"}
	config["dataLayer"] = layer
	path := filepath.Join(dir, "epp.yaml")
	write(t, path, config)
	p.args = append(p.args, "--config-file="+path, "--pool-name=tridents", "--pool-namespace=test",
		fmt.Sprint("--grpc-port=", p.grpc), fmt.Sprint("--grpc-health-port=", health), fmt.Sprint("--metrics-port=", p.metrics),
		"--refresh-prometheus-metrics-interval=100ms", "--tracing=false", "--enable-pprof=false", "--metrics-endpoint-auth=false", "--drain-timeout=0s")
	p.start(t)
	t.Cleanup(p.kill)
	return p
}

func write(t *testing.T, path string, content object) {
	t.Helper()
	text, err := yaml.Marshal(content)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// start starts the process and waits until it listens. A restart uses the same ports.
func (p *picker) start(t *testing.T) {
	t.Helper()
	log, err := os.CreateTemp(folder, "epp-*.log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.log = log.Name()
	p.cmd = exec.Command(p.program, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	ended, err := tritonserver.RunGuarded(p.cmd, func(pid int) string { return fmt.Sprintf("epp_%d_", pid) }, stopLimit)
	if err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	p.exited = exited
	go func() {
		<-ended
		close(exited)
	}()
	if !pause.Until(startLimit, func() bool {
		select {
		case <-exited:
			return true
		default:
		}
		conn, err := net.DialTimeout("tcp", p.address(), time.Second)
		if err != nil {
			return false
		}
		return conn.Close() == nil
	}) {
		t.Fatalf("the picker doesn't listen:\n%s", tail(p.log))
	}
	select {
	case <-exited:
		t.Fatalf("the picker ended:\n%s", tail(p.log))
	default:
	}
}

func (p *picker) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// address is that of ext_proc.
func (p *picker) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.grpc)) }

// page returns the picker's own metrics.
func (p *picker) page(t *testing.T) string {
	t.Helper()
	return get(t, fmt.Sprintf("http://127.0.0.1:%d/metrics", p.metrics))
}

// waiting returns the queue of an endpoint as the picker has read it.
func (p *picker) waiting(t *testing.T, i int) float64 {
	t.Helper()
	for line := range strings.Lines(p.page(t)) {
		if strings.HasPrefix(line, "llm_d_epp_per_endpoint_queue_size{") && strings.Contains(line, fmt.Sprintf("trident-%d\"", i)) {
			n, err := strconv.ParseFloat(strings.TrimSpace(line[strings.LastIndex(line, " ")+1:]), 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("the picker has no queue of trident-%d", i)
	return 0
}

// average returns an average over the endpoints as the picker has read it.
func (p *picker) average(t *testing.T, name string) float64 {
	t.Helper()
	return value(t, p.page(t), "llm_d_epp_average_"+name+`{name="tridents"}`)
}

// picks asks for endpoints for prompts that have no prefix in common, and returns how often each
// was chosen.
func picks(t *testing.T, g *gateway, n int) map[string]int {
	t.Helper()
	chosen := map[string]int{}
	for i := range n {
		ctx, cancel := context.WithTimeout(t.Context(), stateLimit)
		c, err := g.pick(ctx, chatPath, chat(cached, rand.Text(), 4))
		cancel()
		if err != nil || c.refused != 0 {
			t.Fatalf("pick %d: %d %s, %v", i, c.refused, c.body, err)
		}
		chosen[c.endpoint]++
	}
	return chosen
}
