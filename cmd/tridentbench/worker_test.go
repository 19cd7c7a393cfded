package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/trident-inference/trident/test/backends/burst"
)

func TestMain(m *testing.M) {
	if os.Getenv(serverVariable) != "" { // TestStartProgram has started the test as a server
		serve(os.Args[1])
	}
	goleak.VerifyTestMain(m)
}

// conversation is the bench's side of a worker in the test's process.
type conversation struct {
	t     *testing.T
	in    *json.Encoder
	out   *json.Decoder
	input io.Closer
	ended chan error
}

func converse(t *testing.T, from source) *conversation {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &conversation{t: t, in: json.NewEncoder(inW), out: json.NewDecoder(outR), input: inW, ended: make(chan error, 1)}
	go func() {
		err := work(t.Context(), from, inR, outW)
		_ = outW.Close()
		c.ended <- err
	}()
	return c
}

func (c *conversation) send(o workerOrder) {
	c.t.Helper()
	if err := c.in.Encode(o); err != nil {
		c.t.Fatal(err)
	}
}

func (c *conversation) expect(want state) workerReport {
	c.t.Helper()
	var got workerReport
	if err := c.out.Decode(&got); err != nil {
		c.t.Fatal(err)
	}
	if got.State != want {
		c.t.Fatalf("got %+v, want %s", got, want)
	}
	return got
}

// end closes the worker's input, which must end the worker.
func (c *conversation) end() {
	c.t.Helper()
	_ = c.input.Close()
	if err := <-c.ended; err != nil {
		c.t.Error(err)
	}
}

// startCanned starts the server without a model, over HTTP and gRPC, until the
// test ends.
func startCanned(t *testing.T) (address, native string) {
	t.Helper()
	in, end := io.Pipe()
	output, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serveCanned(t.Context(), in, out, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		_ = end.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewScanner(output)
	if !lines.Scan() {
		t.Fatal(lines.Err())
	}
	address = lines.Text()
	if !lines.Scan() {
		t.Fatal(lines.Err())
	}
	return address, lines.Text()
}

// TestCannedRPC checks that the bench's canned gRPC server returns the tensor that a client sent,
// without a model.
func TestCannedRPC(t *testing.T) {
	_, native := startCanned(t)
	c := converse(t, &bareClient{})
	defer c.end()
	for _, size := range []int{1 << 10, 1 << 20} {
		c.send(workerOrder{Job: &job{Address: native, Model: echoModel, Streams: 3, Requests: 7, Bytes: size}})
		c.expect(stateReady)
		c.send(workerOrder{})
		if done := c.expect(stateDone); done.Error != "" || done.Result.Requests != 7 || done.Result.Tokens != 7 {
			t.Errorf("%d bytes: %+v of %+v", size, done.Result, done)
		}
	}
}

// TestDriverAndCannedServer checks that the driver's counts match the work, and
// that the server's writes follow the headers.
func TestDriverAndCannedServer(t *testing.T) {
	address, _ := startCanned(t)
	c := converse(t, driver{})
	defer c.end()
	tests := []struct {
		name     string
		perWrite float64
		pace     time.Duration
		least    float64 // minimum tokens per write
		most     float64
	}{
		{"one a write", 0, 0, 0.9, 1.01},
		{"four a write", 4, 0, 3.6, 4.01},
		{"one and a half a write", 1.5, 0, 1.4, 1.51},
		{"paced", 0, time.Millisecond, 0.9, 1.01},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c.send(workerOrder{Job: &job{
				Address: address, Path: chatPath, Model: "any", Streams: 3, Requests: 7, Tokens: 60, PerWrite: tt.perWrite, Pace: tt.pace,
			}})
			c.expect(stateReady)
			c.send(workerOrder{})
			done := c.expect(stateDone)
			r := done.Result
			if done.Error != "" || r.Requests != 7 || r.Tokens != 420 || r.Text != burst.Text(60) {
				t.Fatalf("got %+v of %+v", r, done)
			}
			if got := float64(r.Tokens) / float64(r.Writes); got < tt.least || got > tt.most {
				t.Errorf("%v tokens a write", got)
			}
			if r.First50 <= 0 || r.First99 < r.First50 || tt.pace > 0 && (r.Gap50 < tt.pace.Seconds()/2 || r.Seconds < 59*tt.pace.Seconds()) {
				t.Errorf("times %+v", r)
			}
		})
	}
}

// TestHold checks that waiting streams stay open until the bench orders to
// continue, and are then canceled.
func TestHold(t *testing.T) {
	left := make(chan struct{}, 3)
	mux := http.NewServeMux()
	mux.HandleFunc(chatPath, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, event(`"content":"a"`, "null"))
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		left <- struct{}{}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	c := converse(t, driver{})
	defer c.end()
	c.send(workerOrder{Job: &job{Address: server.Listener.Addr().String(), Path: chatPath, Streams: 3, Tokens: 5, Hold: true}})
	c.expect(stateReady)
	c.send(workerOrder{})
	c.expect(stateHeld)
	c.send(workerOrder{})
	if done := c.expect(stateDone); done.Error != "" {
		t.Error(done.Error)
	}
	for range 3 {
		<-left
	}
}

// TestFailures checks that a failure ends the job with its reason, and doesn't
// end the worker.
func TestFailures(t *testing.T) {
	short := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, event(`"content":"a"`, `"stop"`)+"data: [DONE]\n\n")
	}
	refuse := func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such model", http.StatusNotFound) }
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	c := converse(t, driver{})
	defer c.end()
	const shortEnd = "the response has 1 tokens, not 5"
	for want, handler := range map[string]http.HandlerFunc{shortEnd: short, "status 404: no such model": refuse, "after 0 tokens: EOF": hangUp} {
		for _, hold := range []bool{false, true} {
			if hold && want == shortEnd {
				continue // the stream may be canceled before its end is read
			}
			server := httptest.NewServer(handler)
			c.send(workerOrder{Job: &job{Address: server.Listener.Addr().String(), Path: "/", Streams: 2, Requests: 2, Tokens: 5, Hold: hold}})
			c.expect(stateReady)
			c.send(workerOrder{})
			if hold {
				c.expect(stateHeld)
				c.send(workerOrder{})
			}
			if done := c.expect(stateDone); !strings.Contains(done.Error, want) {
				t.Errorf("got %q, want %q", done.Error, want)
			}
			server.Close()
		}
	}
	closed, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	c.send(workerOrder{Job: &job{Address: closed.Addr().String(), Streams: 1, Requests: 1}})
	if done := c.expect(stateDone); !strings.Contains(done.Error, "refused") {
		t.Errorf("a request to a closed port: %+v", done)
	}
}

func TestWorkEndsWithItsInput(t *testing.T) {
	var out bytes.Buffer
	if err := work(t.Context(), driver{}, strings.NewReader(""), &out); err != nil || out.Len() > 0 {
		t.Errorf("%v, %q", err, &out)
	}
	if err := work(t.Context(), driver{}, strings.NewReader("{}"), &out); err == nil {
		t.Error("an order without a job was taken")
	}
	if err := work(t.Context(), failing{}, strings.NewReader(`{"job":{"streams":1}}`), &out); err != nil || !strings.Contains(out.String(), "can't open") {
		t.Errorf("%v, %q", err, &out)
	}
}

type failing struct{}

func (failing) open(context.Context, *job) ([]session, error) { return nil, errors.New("can't open") }

func TestHeldBack(t *testing.T) {
	for _, per := range []float64{1, 1.3, 2, 2.5, 15.6, 64} {
		writes := 0
		for i := range 10000 {
			if !heldBack(i, per) {
				writes++
			}
		}
		if got := 10000 / float64(writes); math.Abs(got-per)/per > 0.01 {
			t.Errorf("%v tokens a write, not %v", got, per)
		}
	}
}

// TestArrivals checks that the streams of a job begin evenly over its spread, and that the waits
// before the requests are below its jitter, differ, and are the same in each measurement.
func TestArrivals(t *testing.T) {
	begins := func() (list [][]time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			sessions, streams := make([]session, 4), make([]*recorder, 4)
			list = make([][]time.Duration, 4)
			for i := range sessions {
				streams[i] = &recorder{}
				sessions[i] = &clocked{took: time.Second, each: func() { list[i] = append(list[i], time.Since(began)) }}
			}
			j := &job{Requests: 8, Spread: time.Second, Jitter: 10 * time.Millisecond}
			if err := share(t.Context(), j, sessions, streams); err != nil {
				t.Fatal(err)
			}
		})
		return list
	}
	first := begins()
	waits := map[time.Duration]bool{}
	for i, stream := range first {
		if len(stream) != 2 {
			t.Fatalf("stream %d had %d requests", i, len(stream))
		}
		wait := stream[0] - time.Duration(i)*time.Second/4
		again := stream[1] - stream[0] - time.Second
		for _, w := range []time.Duration{wait, again} {
			if w < 0 || w >= 10*time.Millisecond {
				t.Errorf("stream %d waited %s", i, w)
			}
			waits[w] = true
		}
	}
	if len(waits) != 8 {
		t.Errorf("of 8 waits, %d differ", len(waits))
	}
	if second := begins(); !slices.EqualFunc(first, second, slices.Equal) {
		t.Errorf("the waits are %v and %v", first, second)
	}
}

// clocked is a session whose requests take a fixed time.
type clocked struct {
	took time.Duration
	each func()
}

func (c *clocked) run(context.Context, *recorder) error {
	c.each()
	<-time.After(c.took)
	return nil
}

func (*clocked) close() {}
