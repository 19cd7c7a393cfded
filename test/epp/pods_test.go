package epp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/backends/burst"
	"github.com/trident-inference/trident/test/pause"
)

// The models of each pod.
const (
	echo   = "echo"   // returns its tensor
	paced  = "paced"  // a token each 20 ms
	cached = "cached" // works in steps and has a prefix cache
)

// The limits of each pod.
const (
	maxInFlight = 8
	maxQueued   = 32
)

// apiKey is the key of Tridents that want one. authorization is the header of all requests.
const (
	apiKey        = "key-of-the-clients"
	authorization = "Bearer " + apiKey
)

// podCount is the number of Tridents behind the picker.
const podCount = 3

const (
	startLimit = 2 * time.Minute
	stateLimit = 20 * time.Second // for a change that others notice
	stopLimit  = 10 * time.Second
)

// pod is a Trident with Triton in process. Pods have the same ports, as in Kubernetes, at loopback
// addresses of their own.
type pod struct {
	ip, port, metricsPort string
	prefix                string // of the names of its metrics for gateways
	flags                 []string

	cmd    *exec.Cmd
	log    string // path of the log
	exited chan struct{}
}

// address returns the address of the OpenAI API, as a picker names it.
func (p *pod) address() string { return net.JoinHostPort(p.ip, p.port) }

// tridentBinary builds the program once.
var tridentBinary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(folder, "trident")
	out, err := exec.Command("go", "build", "-o", path, "./cmd/trident").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build trident: %w\n%s", err, out)
	}
	return path, nil
})

// models makes the repository of the models once.
var models = sync.OnceValues(func() (string, error) {
	path := filepath.Join(folder, "models")
	return path, burst.Repository(context.Background(), path,
		burst.Model{Name: echo, Echo: true},
		burst.Model{Name: paced, Pace: 20 * time.Millisecond},
		burst.Model{Name: cached, Scheduler: &burst.Scheduler{
			CacheTokens: 400_000, BlockTokens: 64, TokenBytes: 4, BatchTokens: 8192, BatchRequests: 64, Step: 500, Prompt: 10, Context: 0.01, TimeFactor: 1,
		}},
	)
})

// startPods starts pods and waits until they are ready.
func startPods(t *testing.T, count int, prefix string, flags ...string) []*pod {
	t.Helper()
	var ports [2]string
	for i := range ports {
		port, err := tritonserver.FreePort(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = strconv.Itoa(port)
	}
	pods := make([]*pod, count)
	for i := range pods {
		pods[i] = &pod{ip: fmt.Sprintf("127.0.0.%d", i+2), port: ports[0], metricsPort: ports[1], prefix: prefix, flags: flags}
		pods[i].start(t)
		t.Cleanup(pods[i].kill)
	}
	for _, p := range pods {
		p.awaitReady(t)
	}
	return pods
}

func (p *pod) start(t *testing.T) {
	t.Helper()
	binary, err := tridentBinary()
	if err != nil {
		t.Fatal(err)
	}
	repository, err := models()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.CreateTemp(folder, "trident-"+p.ip+"-*.log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.log = log.Name()
	p.cmd = exec.Command(binary, append([]string{
		"--model-repository=" + repository, "--host=" + p.ip, "--openai-port=" + p.port, "--metrics-port=" + p.metricsPort,
		"--inference-gateway-metrics-prefix=" + p.prefix, "--max-in-flight=" + strconv.Itoa(maxInFlight), "--max-queued=" + strconv.Itoa(maxQueued), "--shutdown-timeout=1s",
	}, p.flags...)...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	ended, err := tritonserver.RunGuarded(p.cmd, func(pid int) string { return fmt.Sprintf("trident_%d_", pid) }, stopLimit)
	if err != nil {
		t.Fatal(err)
	}
	p.exited = make(chan struct{})
	go func() {
		<-ended
		close(p.exited)
	}()
}

// kill ends the pod at once, as the loss of its node does.
func (p *pod) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

func (p *pod) awaitReady(t *testing.T) {
	t.Helper()
	if !pause.Until(startLimit, func() bool {
		status, _, err := post(t.Context(), http.MethodGet, "http://"+p.address()+"/health/ready", "")
		return err == nil && status == http.StatusOK
	}) {
		t.Fatalf("the Trident at %s isn't ready:\n%s", p.address(), tail(p.log))
	}
}

// gauges returns the gauges that gateways read.
func (p *pod) gauges(t *testing.T) (waiting, running float64) {
	t.Helper()
	page := get(t, "http://"+net.JoinHostPort(p.ip, p.metricsPort)+"/metrics")
	return value(t, page, p.prefix+"num_requests_waiting"), value(t, page, p.prefix+"num_requests_running")
}

// chat returns the body of a chat.
func chat(model, prompt string, tokens int) string {
	return fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":%q}],"max_tokens":%d}`, model, prompt, tokens)
}

const chatPath = "/v1/chat/completions"

// fill sends streams to the pod itself, not by the picker, until its slots and its queue are full.
// They end with release.
func (p *pod) fill(t *testing.T) (release func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var failed atomic.Int32
	for range maxInFlight + maxQueued {
		group.Go(func() {
			body := strings.TrimSuffix(chat(paced, "hold", 100_000), "}") + `,"stream":true}`
			if status, text, err := post(ctx, http.MethodPost, "http://"+p.address()+chatPath, body); ctx.Err() == nil {
				failed.Add(1)
				t.Errorf("a stream that fills %s ended: %d %s %v", p.address(), status, text, err)
			}
		})
	}
	release = sync.OnceFunc(func() { cancel(); group.Wait() })
	t.Cleanup(release)
	if !pause.Until(stateLimit, func() bool {
		waiting, running := p.gauges(t)
		return waiting == maxQueued && running == maxInFlight || failed.Load() > 0
	}) {
		waiting, running := p.gauges(t)
		t.Fatalf("%s has %v waiting and %v running requests, not %d and %d", p.address(), waiting, running, maxQueued, maxInFlight)
	}
	return release
}

// post sends a request without the picker.
func post(ctx context.Context, method, url, body string) (status int, text string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("content-type", "application/json")
	request.Header.Set("authorization", authorization)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(all), err
}

// get returns a page.
func get(t *testing.T, url string) string {
	t.Helper()
	status, text, err := post(t.Context(), http.MethodGet, url, "")
	if err != nil || status != http.StatusOK {
		t.Fatalf("GET %s: %d, %v", url, status, err)
	}
	return text
}

// value returns the value of a series, which must be on the page.
func value(t *testing.T, page, series string) float64 {
	t.Helper()
	_, rest, found := strings.Cut("\n"+page, "\n"+series+" ")
	number, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.ParseFloat(number, 64)
	if !found || err != nil {
		t.Fatalf("the page has no %s: %v", series, err)
	}
	return n
}

// tail returns the end of a log.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	return string(text[max(0, len(text)-8000):])
}
