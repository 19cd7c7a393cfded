package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/trident-inference/trident/test/tier"
)

// The balancer asks every checkInterval and takes a server out after checkFailures failures.
const (
	checkInterval = 500 * time.Millisecond
	checkFailures = 2
)

// TestRestartsInTurn restarts three tridents in turn behind Debian's haproxy, while clients stream,
// for longer than the drain delay, and send short requests. With a drain delay above interval ×
// failures no request fails. The balancer repeats no request, so without the delay some fail: the
// test can notice it.
func TestRestartsInTurn(t *testing.T) {
	tier.OnlySlow(t)
	models := ownEngine(t, scripted(t, "chat"))
	t.Run("with the delay", func(t *testing.T) {
		b := startBalancer(t, models, 3*checkInterval*checkFailures)
		load := b.load(t, 3)
		b.restartInTurn(t)
		load.end()
		t.Logf("%d streams and %d short requests", load.streams.Load(), load.short.Load())
		for _, failure := range load.failures {
			t.Error(failure)
		}
		if load.streams.Load() < 6 || load.short.Load() < 100 {
			t.Error("the load is too small")
		}
	})
	t.Run("without it", func(t *testing.T) {
		b := startBalancer(t, models, 0)
		load := b.load(t, 3)
		b.restartInTurn(t)
		load.end()
		if len(load.failures) == 0 {
			t.Errorf("none of %d requests failed", load.streams.Load()+load.short.Load())
		}
	})
}

// balancer is a haproxy before three tridents, which serve the same tritonserver.
type balancer struct {
	url     string // of the balancer
	client  *http.Client
	models  engine
	delay   time.Duration // the tridents' drain delay
	ports   [3]string
	servers [3]*trident
}

// startBalancer starts the tridents, and haproxy when they are ready.
func startBalancer(t *testing.T, models engine, delay time.Duration) *balancer {
	t.Helper()
	program, err := exec.LookPath("haproxy")
	if err != nil {
		t.Skip("haproxy isn't installed: make setup-test as root on Debian installs it")
	}
	port := freePort(t)
	b := &balancer{url: "http://127.0.0.1:" + port, client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 10}}, models: models, delay: delay}
	file := &strings.Builder{}
	fmt.Fprintf(file, "defaults\n mode http\n timeout connect 5s\n timeout check 5s\n timeout client 5m\n timeout server 5m\n retries 0\nlisten trident\n bind 127.0.0.1:%s\n stats enable\n stats uri /stats\n"+
		" option httpchk GET /health/ready\n http-check expect status 200\n default-server check inter %d fall %d rise 2\n", port, checkInterval.Milliseconds(), checkFailures)
	for i := range b.servers {
		b.ports[i] = freePort(t)
		b.start(t, i)
		fmt.Fprintf(file, " server s%d 127.0.0.1:%s\n", i, b.ports[i])
	}
	path := filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(path, []byte(file.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "-db", "-f", path)
	output := newLogLines()
	cmd.Stdout, cmd.Stderr = output, output
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for i := range b.servers {
		b.await(t, i, "UP")
	}
	return b
}

// start starts trident i on its port and waits until it is ready.
func (b *balancer) start(t *testing.T, i int) {
	t.Helper()
	s, err := b.models.launch(t, "", "--openai-port="+b.ports[i], "--drain-delay="+b.delay.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.kill() }) // it has ended, or serves until the end of the test
	b.servers[i] = s
	if err := s.awaitReadyBy(client); err != nil {
		t.Fatal(err)
	}
}

// await waits until haproxy's page of figures has the state of server i.
func (b *balancer) await(t *testing.T, i int, state string) {
	t.Helper()
	if !poll(startLimit, func() bool {
		response, err := b.client.Get(b.url + "/stats;csv")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		page, err := io.ReadAll(response.Body)
		for line := range strings.Lines(string(page)) {
			if fields := strings.Split(line, ","); err == nil && len(fields) > 17 && fields[1] == fmt.Sprint("s", i) {
				return fields[17] == state
			}
		}
		return false
	}) {
		t.Fatalf("haproxy's server %d isn't %s", i, state)
	}
}

// restartInTurn restarts each trident when the one before it serves again.
func (b *balancer) restartInTurn(t *testing.T) {
	t.Helper()
	for i, s := range b.servers {
		signalStop(t, s, syscall.SIGTERM)
		checkExit(t, s, b.delay+time.Minute)
		b.await(t, i, "DOWN")
		b.start(t, i)
		b.await(t, i, "UP")
	}
}

// balancedLoad has the numbers of requests that clients sent to a balancer, and the failures.
type balancedLoad struct {
	streams, short atomic.Int64
	end            func() // ends the load when its last requests have ended

	mu       sync.Mutex
	failures []string
}

// load starts n clients that stream and n that send short requests.
func (b *balancer) load(t *testing.T, n int) *balancedLoad {
	t.Helper()
	l := &balancedLoad{}
	var clients sync.WaitGroup
	var over atomic.Bool
	repeat := func(count *atomic.Int64, last, format string, more ...any) {
		clients.Go(func() {
			for !over.Load() {
				if failure := b.send(last, fmt.Sprintf(format, more...)); failure != "" {
					l.mu.Lock()
					l.failures = append(l.failures, failure)
					l.mu.Unlock()
				}
				count.Add(1)
			}
		})
	}
	const body = `{"model":"chat","stream":%t,"max_tokens":%d,"ignore_eos":true,"messages":[{"role":"user","content":"Count from one to a hundred in words."}]}`
	for range n {
		repeat(&l.streams, "data: [DONE]\n\n", body, true, 600)
		repeat(&l.short, "}", body, false, 1)
	}
	l.end = func() { over.Store(true); clients.Wait() }
	t.Cleanup(l.end)
	return l
}

// send sends a chat, whose response must end with the text last. It returns the failure.
func (b *balancer) send(last, body string) string {
	response, err := b.client.Post(b.url+"/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if text := string(page); err != nil || response.StatusCode != http.StatusOK || !strings.HasSuffix(strings.TrimRight(text, "\n"), strings.TrimRight(last, "\n")) || strings.Contains(text, `"error"`) {
		return fmt.Sprintf("status %d, %v: %.300s", response.StatusCode, err, text)
	}
	return ""
}
