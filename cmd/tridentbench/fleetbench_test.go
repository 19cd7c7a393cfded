package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestFleetFiguresKnowTheScenarios checks that the figures of the bench of fleets refer to existing
// scenarios and columns, and that a column of each scenario is Trident.
func TestFleetFiguresKnowTheScenarios(t *testing.T) {
	all := fleetScenarios()
	for _, f := range fleetFigures() {
		f.of(func(name, column, _ string) float64 {
			i := slices.IndexFunc(all, func(s scenario) bool { return s.name == name })
			if i < 0 || !slices.Contains(all[i].columns, column) {
				t.Errorf("%s: no scenario measures the column %s of %s", f.Name, column, name)
			}
			return 1
		})
	}
	for _, s := range all {
		if !slices.Contains(s.columns, colFleet) {
			t.Errorf("%s doesn't measure %s", s.name, colFleet)
		}
	}
}

// TestFailuresFigure checks the ratio of failed requests.
func TestFailuresFigure(t *testing.T) {
	counts := map[string]float64{colFleet + unanswered: 0, colFleet + cutOff: 14, "x" + unanswered: 3, "x" + cutOff: 16}
	r := func(_, column, metric string) float64 { return counts[column+metric] }
	if got := failures(colFleet, "x", unanswered)(r); got != 0.25 {
		t.Errorf("without a response: %v", got)
	}
	if got := failures(colFleet, "x", unanswered, cutOff)(r); got != 0.75 {
		t.Errorf("all: %v", got)
	}
}

// TestTolerantJob checks that a tolerant job counts failed requests and goes on, and that another job
// ends with the first one.
func TestTolerantJob(t *testing.T) {
	var served atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := served.Add(1)
		if n%4 == 1 {
			http.Error(w, "overloaded", http.StatusServiceUnavailable)
			return
		}
		if n%4 == 2 {
			panic(http.ErrAbortHandler) // closes the connection
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":" the"}}]}`+"\n\n")
		_ = http.NewResponseController(w).Flush()
		if n%4 == 3 {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":" quick"}}]}`+"\n\n"+`data: {"choices":[{"finish_reason":"length","delta":{}}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	c := converse(t, driver{})
	defer c.end()
	j := job{Address: server.Listener.Addr().String(), Path: "/", Model: "m", Streams: 1, Requests: 8, Tokens: 2, Tolerant: true}
	do := func() workerReport {
		c.send(workerOrder{Job: &j})
		c.expect(stateReady)
		c.send(workerOrder{})
		return c.expect(stateDone)
	}
	if done := do(); done.Error != "" || done.Result.Requests != 2 || done.Result.Unanswered != 4 || done.Result.Cut != 2 || done.Result.Text != " the quick" {
		t.Errorf("got %+v of %+v", done.Result, done)
	}
	j.Tolerant = false
	if done := do(); !strings.Contains(done.Error, "503") {
		t.Errorf("got %+v", done)
	}
}

// TestPrompts checks the prompts of the driver's streams.
func TestPrompts(t *testing.T) {
	if got := promptOf(&job{}, 3); got != prompt {
		t.Errorf("got %q", got)
	}
	j := &job{PromptBytes: chatBytes, Distinct: true}
	first, second := promptOf(j, 1), promptOf(j, 2)
	if len(first) != chatBytes || len(second) != chatBytes || first[:8] == second[:8] || !strings.HasPrefix(first, "1. "+prompt) {
		t.Errorf("%d and %d bytes, which begin with %q and %q", len(first), len(second), first[:8], second[:8])
	}
}

// TestFleetScenarios checks the choice of scenarios.
func TestFleetScenarios(t *testing.T) {
	for _, tt := range []struct {
		names []string
		want  int
		err   string
	}{
		{want: len(fleetScenarios())},
		{names: []string{fleetKill, fleetIdle}, want: 2},
		{names: []string{"flat-64"}, err: `--scenario: no scenario is named ["flat-64"]`},
	} {
		b, err := newFleetBench(&fleetCommand{Scenario: tt.names, Quick: true})
		if tt.err != "" {
			if err == nil || err.Error() != tt.err {
				t.Errorf("%q: %v", tt.names, err)
			}
		} else if err != nil || len(b.scenarios) != tt.want || b.scenarios[0].job.Requests >= 512 {
			t.Errorf("%q: %+v, %v", tt.names, b, err)
		}
	}
}

// process is a backend that is a running process.
type process int

func (p process) pid() int                    { return int(p) }
func (process) kill()                         {}
func (process) restart(context.Context) error { return nil }

// TestBusiest checks that the process that has used more CPU time is found.
func TestBusiest(t *testing.T) {
	idle := exec.CommandContext(t.Context(), "sleep", "60")
	if err := idle.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = idle.Wait() }()
	defer func() { _ = idle.Process.Kill() }()
	self, other := process(os.Getpid()), process(idle.Process.Pid)
	for _, servers := range [][]backend{{self, other}, {other, self}} {
		before, err := cpuTimes(servers)
		if err != nil {
			t.Fatal(err)
		}
		passes := 0
		for began := time.Now(); time.Since(began) < 20*time.Millisecond; {
			passes++ // takes CPU time
		}
		if got := busiest(servers, before); got != self {
			t.Errorf("got the process %d after %d passes, not %d", got.pid(), passes, self.pid())
		}
	}
}

// TestForward checks that bytes pass in both directions, and that the end of either side closes the
// other one.
func TestForward(t *testing.T) {
	echo, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer echo.Close()
	go func() {
		for {
			conn, err := echo.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				reader := bufio.NewReader(conn)
				line, _ := reader.ReadString('\n')
				_, _ = io.WriteString(conn, strings.ToUpper(line))
				if line != "end\n" {
					_, _ = io.Copy(io.Discard, reader)
				}
			}()
		}
	}()
	ctx, cancel := context.WithCancel(t.Context())
	address, err := forward(ctx, echo.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	say := func(line string) (net.Conn, *bufio.Reader) {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		reader := bufio.NewReader(conn)
		_, _ = fmt.Fprintln(conn, line)
		if got, err := reader.ReadString('\n'); err != nil || got != strings.ToUpper(line)+"\n" {
			t.Errorf("%s: got %q, %v", line, got, err)
		}
		return conn, reader
	}
	conn, reader := say("end")
	if _, err := reader.ReadString('\n'); err == nil {
		t.Error("the connection stays open after the end of the server's")
	}
	_ = conn.Close()
	conn, reader = say("stay")
	cancel()
	if _, err := reader.ReadString('\n'); err == nil {
		t.Error("the connection stays open after the end of the context")
	}
	_ = conn.Close()
}
