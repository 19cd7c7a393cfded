package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trident-inference/trident/test/backends/burst"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestCount checks that a response with another request's data, with a gap or without its end is
// detected, and that the error describes the other request's data.
func TestCount(t *testing.T) {
	const id = "chatcmpl-A"
	for _, row := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{"whole", []string{"", " a@chatcmpl-A/0", " a@chatcmpl-A/1 a@", "chatcmpl-A/2"}, ""},
		{"on the way in", []string{" a@chatcmpl-A/0", " b@chatcmpl-A/1"}, `at position 1: "b@chatcmpl-A/1", a response with this id to another request's prompt: mixed up on the way in (prompt "b", id "chatcmpl-A", position "1")`},
		{"on the way out", []string{" b@chatcmpl-B/0"}, `at position 0: "b@chatcmpl-B/0", the response of another request: mixed up on the way out (prompt "b", id "chatcmpl-B", position "0")`},
		{"the id alone", []string{" a@/0"}, `a response to this prompt with another request's id (prompt "a", id "", position "0")`},
		{"within a piece", []string{" a@chatcmpl-A/0 a@chat", "cmpl-A/1 b@chatcmpl-B/7"}, `at position 2: "b@chatcmpl-B/7", the response of another request: mixed up on the way out (prompt "b", id "chatcmpl-B", position "7")`},
		{"in half a token", []string{" a@chatcmpl-A/0 a@", "chatcmpl-B/1"}, `"a@chatcmpl-B/1", a response to this prompt with another request's id`},
		{"with a gap", []string{" a@chatcmpl-A/0", " a@chatcmpl-A/2"}, `at position 1: "a@chatcmpl-A/2", a token lost, repeated or out of order (prompt "a", id "chatcmpl-A", position "2")`},
		{"twice the same", []string{" a@chatcmpl-A/0", " a@chatcmpl-A/0"}, "a token lost, repeated or out of order"},
		{"too much", []string{" a@chatcmpl-A/0 a@chatcmpl-A/1 a@chatcmpl-A/2", " a@chatcmpl-A/3"}, "at position 3"},
		{"no token", []string{"?"}, `"?"`},
		{"too short", []string{" a@chatcmpl-A/0", " a@chatcmpl-A/1"}, `ended before " a@chatcmpl-A/2"`},
		{"nothing", nil, "ended before"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newCount(&request{name: "a", before: "z"}, 3)
			var err error
			for _, piece := range row.pieces {
				err = errors.Join(err, c.piece(id, piece))
			}
			if err == nil {
				err = c.end()
			}
			checkWrong(t, err, row.want)
			if row.want != "" && !strings.Contains(err.Error(), "previous request of this worker: z") {
				t.Errorf("the error doesn't name the previous request: %v", err)
			}
		})
	}
}

// TestCountIDs checks that all pieces of a response have one id, from the first piece on.
func TestCountIDs(t *testing.T) {
	for _, row := range []struct {
		name string
		ids  []string
		want string
	}{
		{"with the first only", []string{"A", "", ""}, ""},
		{"with each", []string{"A", "A", "A"}, ""},
		{"another", []string{"A", "B", "A"}, `request a with id A (on connection none; previous request on this connection: none; previous request of this worker: none) received " a@A/1" of the response with id B`},
		{"none", []string{"", "", ""}, "before the response's id"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newCount(&request{name: "a"}, 3)
			var err error
			for i, id := range row.ids {
				if err == nil {
					err = c.piece(id, burst.Token("a", "A", i))
				}
			}
			checkWrong(t, err, row.want)
		})
	}
}

func checkWrong(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || endingOf(err).how != wrong) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestTrail checks that the soak test's error about a wrong response names the previous request on
// the same connection.
func TestTrail(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"id": "chatcmpl-A", "choices": [{"message": {"content": "?"}}]}`)
	}))
	defer server.Close()
	c, err := newClients(server.URL, "127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for _, row := range []struct{ name, want string }{{"w1.0", "previous request on this connection: none;"}, {"w2.0", "previous request on this connection: w1.0 with id chatcmpl-A;"}} {
		checkWrong(t, c.whole(t.Context(), steady, &request{name: row.name}, 1), row.want)
	}
}

// TestVerdict checks that ledger.verdict reports each failed request that no injected fault
// explains.
func TestVerdict(t *testing.T) {
	const fault = time.Second
	from := time.Now().Add(-time.Hour)
	w := &window{fault: "of the test", kinds: []string{kindChat, kindSlow}, bound: fault, from: from, to: from.Add(10 * time.Second)}
	at := func(begin, end time.Duration) (time.Time, time.Time) { return from.Add(begin), from.Add(end) }
	for _, row := range []struct {
		name       string
		kind       string
		how        outcome
		begin, end time.Duration
		fine       bool
	}{
		{"in flight at the fault", kindChat, refused, -time.Minute, fault, true},
		{"begun in it", kindChat, refused, 9 * time.Second, 10 * time.Second, true},
		{"before it", kindChat, refused, -time.Minute, -time.Second, false},
		{"begun after it", kindChat, refused, 11 * time.Second, 11 * time.Second, false},
		{"told too late", kindChat, refused, -time.Minute, 2 * fault, false},
		{"begun in it and told too late", kindChat, refused, 9 * time.Second, 11 * time.Second, false},
		{"read slowly", kindSlow, refused, 0, fault + time.Second, true},
		{"of another kind", kindTyped, refused, 0, fault, false},
		{"cut off", kindChat, cutOff, 0, fault, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLedger()
			l.windows = []*window{w}
			f := &failed{kind: row.kind, name: "w1", ending: &ending{how: row.how, err: errors.New("gone")}}
			f.from, f.to = at(row.begin, row.end)
			l.failures = []*failed{f}
			if list := l.verdict(); (len(list) == 0) != row.fine {
				t.Errorf("the verdict is %q", list)
			}
		})
	}
}

// TestVerdictOnBreak checks that connections may end in the middle of a response only if Trident
// itself ended.
func TestVerdictOnBreak(t *testing.T) {
	from := time.Now().Add(-time.Hour)
	for _, breaks := range []bool{true, false} {
		l := newLedger()
		w := &window{fault: "of the test", bound: time.Second, cuts: true, from: from, to: from.Add(time.Minute)}
		l.windows = []*window{w}
		l.extendWindow(w, time.Minute, breaks)
		l.failures = []*failed{{kind: kindChat, name: "w1", from: from, to: from.Add(2 * time.Second), ending: &ending{how: cutOff, code: cutAfterStart, err: errors.New("gone")}}}
		if list := l.verdict(); (len(list) == 0) != breaks {
			t.Errorf("with breaks %t the verdict is %q", breaks, list)
		}
	}
}

// TestLedger checks that the ledger counts wrong, late and unfinished requests, and that its
// verdict reports them.
func TestLedger(t *testing.T) {
	l := newLedger()
	for _, err := range []error{
		nil, errLeaves, &ending{how: wrong, err: errors.New("another's")}, fmt.Errorf("read: %w", &ending{how: late}),
		&ending{how: refused, code: "engine_unavailable", err: errors.New(logMixed)},
	} {
		l.begin(kindChat, "w1")(err)
	}
	l.begin(kindChat, "w2")
	list := strings.Join(l.verdict(), "\n")
	for _, want := range []string{"w1: wrong: another's", "w1: late", "1 requests never ended"} {
		if !strings.Contains(list, want) {
			t.Errorf("no %q in\n%s", want, list)
		}
	}
	if c := l.counts[kindChat]; c[answered] != 1 || c[left] != 1 || c[wrong] != 1 || c[late] != 1 || c[mixed] != 1 || len(l.failures) > 0 || l.begun != 6 || l.most != 1 {
		t.Errorf("%v, %d begun, %d at once", c, l.begun, l.most)
	}
}

// TestDismiss checks that requests of clients that disconnect together have the outcome left.
// Requests that failed or succeeded before keep their outcome, and later clients stay.
func TestDismiss(t *testing.T) {
	ledger := newLedger()
	w := &load{ledger: ledger, target: &atomic.Pointer[clients]{}}
	w.leaving.Store(newClientGroup())
	for _, row := range []struct {
		name string
		ends func(ctx context.Context) error
		want outcome
	}{
		{"under way", func(ctx context.Context) error { w.dismiss(); <-ctx.Done(); return ctx.Err() }, left},
		{"in the middle", func(ctx context.Context) error {
			w.dismiss()
			<-ctx.Done()
			return &ending{how: cutOff, code: cutAfterStart, err: ctx.Err()}
		}, left},
		{"wrong before", func(context.Context) error { w.dismiss(); return wrongly("another's") }, wrong},
		{"answered before", func(context.Context) error { w.dismiss(); return nil }, answered},
		{"cut off, and nobody left", func(context.Context) error { return errors.New("reset") }, cutOff},
	} {
		k := kind{name: row.name, ask: func(ctx context.Context, _ *clients, _ *request) error { return row.ends(ctx) }}
		err := w.once(t.Context(), k, &request{name: "w1"})
		if ledger.counts[row.name][row.want] != 1 || (err == nil) != (row.want == left || row.want == answered) {
			t.Errorf("%s: %v, %v", row.name, ledger.counts[row.name], err)
		}
	}
	w.leaving.Load().disconnect()
}

// TestLog checks the search for a line after an offset of Trident's log, and the reading of a value
// from a page of metrics.
func TestLog(t *testing.T) {
	early, late := `{"level":"INFO","msg":"settings reloaded"}`+"\n", `{"level":"DEBUG","msg":"request"}`+"\n{"
	target := &trident{logPath: filepath.Join(t.TempDir(), "log")}
	if err := os.WriteFile(target.logPath, []byte(early+late), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		from             int
		attribute, value string
		want             bool
	}{
		{0, "msg", logReloaded, true},
		{len(early), "msg", logReloaded, false},
		{len(early), "level", "DEBUG", true},
		{0, "msg", logReloadRefused, false},
	} {
		if said, err := target.logHas(int64(row.from), row.attribute, row.value); err != nil || said != row.want {
			t.Errorf("%+v: %t, %v", row, said, err)
		}
	}
	if size, err := target.logged(); err != nil || size != int64(len(early+late)) {
		t.Errorf("the log has %d bytes: %v", size, err)
	}
	const page = "# HELP limit_a b\nlimit_b 1\nlimit 6.5536e+04\n"
	if v, err := figure(page, "limit"); err != nil || v != 1<<16 {
		t.Errorf("%g, %v", v, err)
	}
	if v, err := figure(page, "limit_a"); err == nil {
		t.Errorf("limit_a is %g", v)
	}
}

func TestGrown(t *testing.T) {
	before := footprint{goroutines: 100, descriptors: 20, heap: 10 * mebibyte, resident: 60 * mebibyte}
	if list := before.grown(before, 0); len(list) > 0 {
		t.Errorf("nothing grew: %v", list)
	}
	after := footprint{goroutines: 111, descriptors: 31, heap: 27 * mebibyte, resident: 91 * mebibyte}
	if list := after.grown(before, 0); len(list) != 4 {
		t.Errorf("all grew: %v", list)
	}
	if list := after.grown(before, 1); len(list) != 3 {
		t.Errorf("a descriptor is Triton's: %v", list)
	}
}

// TestProxy checks whether a line passes through the proxy in each state of the network.
func TestProxy(t *testing.T) {
	echo, err := net.Listen("tcp", "127.0.0.1:0")
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
			go func() { defer conn.Close(); _, _ = io.Copy(conn, conn) }()
		}
	}()
	p, err := newProxy(t.Context(), "127.0.0.1:0", echo.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", p.address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	answer := func(line string, limit time.Duration) string {
		_, _ = conn.Write([]byte(line))
		_ = conn.SetReadDeadline(time.Now().Add(limit))
		buffer := make([]byte, 100)
		n, err := conn.Read(buffer)
		return fmt.Sprint(string(buffer[:n]), " ", err != nil)
	}
	const long, short = 10 * time.Second, 100 * time.Millisecond
	var began time.Time
	steps := []struct {
		name string
		do   func()
		want string
	}{
		{"passes", func() {}, "a false"},
		{"stalls", func() { p.set(linkStalls) }, " true"},
		{"goes on with what it held", func() { p.set(linkPasses) }, "aa false"},
		{"drops", func() { p.set(linkDrops) }, " true"},
		{"passes again", func() { p.set(linkPasses) }, "a false"},
		{"is slow", func() { p.set(linkSlow) }, "a false"},
		{"is as fast as before", func() { p.set(linkPasses) }, "a false"},
		{"is lost", p.lose, " true"},
		{"is cut", p.cut, " true"},
	}
	for _, step := range steps {
		step.do()
		began = time.Now()
		limit := long
		if strings.HasPrefix(step.want, " ") {
			limit = short
		}
		got := answer("a", limit)
		for len(got) < len(step.want) && strings.HasSuffix(got, " false") { // the line may arrive in two parts
			got = strings.TrimSuffix(got, " false") + answer("", limit)
		}
		if got != step.want {
			t.Errorf("%s: %q, want %q", step.name, got, step.want)
		}
		if took := time.Since(began); step.name == "is slow" && took < 2*slowness {
			t.Errorf("a slow network took %s in both directions, want %s each", took, slowness)
		}
	}
	if err := p.shut(); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", p.address()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("shut: %v", err)
	}
	address := p.address()
	if err := p.open(t.Context()); err != nil || p.address() != address {
		t.Errorf("opened again at %s: %v", p.address(), err)
	}
	if conn, err := net.Dial("tcp", address); err != nil {
		t.Error(err)
	} else {
		_ = conn.Close()
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}
