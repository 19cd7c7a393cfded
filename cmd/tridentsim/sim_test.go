package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// defaults returns the options of a command line.
func defaults(tb testing.TB, args ...string) *options {
	tb.Helper()
	var o options
	parser, err := kong.New(&o, kong.Vars{"rules": ""})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := parser.Parse(args); err != nil {
		tb.Fatal(err)
	}
	return &o
}

// testFleet returns idle servers.
func testFleet(tb testing.TB, n int) *fleet {
	tb.Helper()
	o := defaults(tb)
	f := &fleet{seed: 1}
	for range n {
		f.servers = append(f.servers, &server{model: &o.Model, cache: newKVCache(o.Model.CacheTokens)})
	}
	return f
}

func ids(first, n int) []uint64 {
	var list []uint64
	for i := range n {
		list = append(list, uint64(first+i))
	}
	return list
}

// newRule returns a rule of the only frontend.
func newRule[R rule](t *testing.T, constructor func(*fleet, int) (rule, error), f *fleet) R {
	t.Helper()
	made, err := constructor(f, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, ok := made.(R)
	if !ok {
		t.Fatalf("the rule is a %T", made)
	}
	return r
}

// measured returns the figures of a rule.
func measured(t *testing.T, o *options, w *workload, name string) result {
	t.Helper()
	r, err := measure(o, w, ruleNamed(name), w.endpoints)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTwoChoices: of two endpoints with 3 and 1 requests the second is less loaded.
func TestTwoChoices(t *testing.T) {
	x := newRule[*twoChoices](t, newTwoChoices, testFleet(t, 2))
	x.counts[0], x.counts[1] = 3, 1
	if e, _ := x.choose(0, nil); e != 1 || x.counts[1] != 2 {
		t.Errorf("endpoint %d, counts %v", e, x.counts)
	}
}

// TestBoundedHash: with 4 requests the fifth may find 1.25*5/2 = 3.125 of them at an endpoint,
// so one with 3 is full, and one with 2 isn't.
func TestBoundedHash(t *testing.T) {
	x := newRule[*boundedHash](t, newBoundedHash, testFleet(t, 2))
	hash := x.ring[10].hash
	own := x.ring[10].endpoint
	x.counts[own], x.counts[1-own], x.total = 2, 2, 4
	if e := x.place(hash); e != own {
		t.Errorf("the prompt isn't at its own endpoint, which has 2 of 4 requests")
	}
	x.counts[own], x.counts[1-own] = 3, 1
	if e := x.place(hash); e != 1-own {
		t.Errorf("the prompt is at its own endpoint, which has 3 of 4 requests")
	}
}

// TestSGLang has prompts of 10 parts: 4 parts are more than 0.3 of the prompt, 3 aren't. The
// load is uneven from a difference of 65 on, if that is more than 1.5 times the least.
func TestSGLang(t *testing.T) {
	prompt := func(shared, own int) *request {
		return newRequest(0, append(ids(1, shared), ids(own, 10-shared)...), 10*blockTokens, 1)
	}
	x := newRule[*sglang](t, newSGLang, testFleet(t, 2))
	x.insert(0, prompt(10, 0), 1)
	x.insert(0, newRequest(0, ids(5000, 1), blockTokens, 1), 0)
	if e, _ := x.choose(0, prompt(4, 100)); e != 1 {
		t.Errorf("4 of 10 parts: endpoint %d, want 1, which has them", e)
	}
	if e, _ := x.choose(0, prompt(3, 200)); e != 0 {
		t.Errorf("3 of 10 parts: endpoint %d, want 0, whose tree is smaller", e)
	}
	for _, c := range []struct{ counts, want int }{{64, 1}, {65, 0}} {
		x.counts[0], x.counts[1] = 0, c.counts
		if e := x.pick(0, prompt(10, 0)); e != c.want {
			t.Errorf("loads 0 and %d: endpoint %d, want %d", c.counts, e, c.want)
		}
	}
	x.counts[0], x.counts[1] = 200, 300
	if e := x.pick(0, prompt(10, 0)); e != 1 {
		t.Errorf("loads 200 and 300: endpoint %d, want 1, as 300 isn't more than 1.5*200", e)
	}
}

// TestLLMD computes the scores of three endpoints: 3*prefix + 2*queue + 2*(1-usage).
func TestLLMD(t *testing.T) {
	x := newRule[*llmd](t, newLLMD, testFleet(t, 3))
	scraped := []metrics{{waiting: 0, usage: 0.5}, {waiting: 2, usage: 0.1}, {waiting: 4, usage: 0}}
	for _, c := range []struct {
		prefix []float64
		want   int
	}{
		{[]float64{0, 1, 0.5}, 1},      // 3.0, 3+1+1.8, 1.5+0+2
		{[]float64{1, 0, 0}, 0},        // 3+2+1, 0+1+1.8, 0+0+2
		{[]float64{0, 0, 0}, 0},        // 3.0, 2.8, 2.0
		{[]float64{0, 0, 0.4}, 2},      // 3.0, 2.8, 3.2
		{[]float64{0, 0.0668, 0}, 1},   // 3.0, 3.0004, 2.0
		{[]float64{0, 0.0666, 0.3}, 0}, // 3.0, 2.9998, 2.9
	} {
		if e := x.pick(c.prefix, scraped); e != c.want {
			t.Errorf("prefixes %v: endpoint %d, want %d", c.prefix, e, c.want)
		}
	}
}

// TestLLMDApproximate: a prompt of 1,024 tokens has 64 blocks of 64 bytes. A prompt with the
// same first 512 tokens has half of them; of longer prompts the first 256 blocks are compared.
func TestLLMDApproximate(t *testing.T) {
	x := newRule[*llmd](t, newLLMD, testFleet(t, 2))
	x.approximate(newRequest(0, ids(1, 2), 1024, 1))
	x.index[1].add(x.hashes)
	if scores := x.approximate(newRequest(0, []uint64{1, 9}, 1024, 1)); scores[0] != 0 || scores[1] != 0.5 {
		t.Errorf("scores %v, want 0 and 0.5", scores)
	}
	if scores := x.approximate(newRequest(0, append(ids(1, 2), ids(50, 30)...), 32*512, 1)); scores[1] != 64.0/256 {
		t.Errorf("score %v, want 64 of 256 blocks", scores[1])
	}
}

// TestLLMDPrecise: the score is the share of the prompt in the server's cache.
func TestLLMDPrecise(t *testing.T) {
	f := testFleet(t, 2)
	x := newRule[*llmd](t, newLLMDPrecise, f)
	r := newRequest(0, ids(1, 4), 2048, 1)
	f.servers[1].cache.reserve(1024)
	f.servers[1].cache.keep(r.parts[0])
	f.servers[1].cache.keep(r.parts[1])
	if scores := x.precise(r); scores[0] != 0 || scores[1] != 0.5 {
		t.Errorf("scores %v, want 0 and 0.5", scores)
	}
}

// TestServer computes the steps of a request by hand: 8,192 prompt tokens take
// 14 + 8192*0.0488 = 413.77 ms, the second token 14 + 8193*0.000056 = 14.46 ms. A second
// request with the same prompt computes its last token alone.
func TestServer(t *testing.T) {
	o := defaults(t)
	s, err := newSimulation(o, ruleNamed("random"), 1)
	if err != nil {
		t.Fatal(err)
	}
	first := newRequest(0, ids(1, 16), 8192, 2)
	again := newRequest(time.Second, ids(1, 16), 8192, 1)
	if err := s.run([]*request{first, again}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what      string
		got, want time.Duration
	}{
		{"first token", first.first, 413_770 * time.Microsecond},
		{"second token", first.ended - first.first, 14_459 * time.Microsecond},
		{"first token from the cache", again.first - time.Second, 14_049 * time.Microsecond},
	} {
		if d := c.got - c.want; d < -time.Microsecond || d > time.Microsecond {
			t.Errorf("%s after %v, want %v", c.what, c.got, c.want)
		}
	}
	if again.cached != 8191 {
		t.Errorf("%d tokens were cached, want all except the last", again.cached)
	}
}

// TestServerSteps: two prompts of 6,000 tokens share steps of 8,192 tokens; the first one has
// its first token after the first step, the second one after the second.
func TestServerSteps(t *testing.T) {
	o := defaults(t)
	s, err := newSimulation(o, ruleNamed("random"), 1)
	if err != nil {
		t.Fatal(err)
	}
	a, b := newRequest(0, ids(1, 12), 6000, 1), newRequest(0, ids(100, 12), 6000, 1)
	c := newRequest(0, ids(200, 1), 1, 1) // occupies the server until both have arrived
	if err := s.run([]*request{c, a, b}); err != nil {
		t.Fatal(err)
	}
	begin := c.ended
	if got, want := a.ended-begin, 413_770*time.Microsecond; (got - want).Abs() > time.Microsecond {
		t.Errorf("first prompt after %v, want %v: 6,000 tokens and 2,192 of the second", got, want)
	}
	if got, want := b.ended-a.ended, 199_830*time.Microsecond; (got - want).Abs() > time.Microsecond {
		t.Errorf("second prompt %v later, want %v: its other 3,808 tokens", got, want)
	}
}

// TestCache fills a cache of 4 blocks: the block that was unused for longest goes, and those
// in use remain.
func TestCache(t *testing.T) {
	c := newKVCache(4 * blockTokens)
	r := newRequest(0, ids(1, 3), 3*blockTokens, 1)
	var blocks []*block
	for _, p := range r.parts {
		c.reserve(p.tokens)
		blocks = append(blocks, c.keep(p))
	}
	for _, b := range slices.Backward(blocks) {
		c.release(b)
	}
	if c.used != 0 || c.unused != 3*blockTokens {
		t.Fatalf("%d tokens are used and %d unused", c.used, c.unused)
	}
	if !c.reserve(2 * blockTokens) {
		t.Fatal("no space, though all blocks are unused")
	}
	if n, _ := c.matched(r.parts); n != 2 {
		t.Errorf("%d parts remain, want 2: the end of the prompt goes first", n)
	}
	c.take(c.blocks[r.parts[0].key])
	if c.reserve(2 * blockTokens) {
		t.Error("more was reserved than there is")
	}
	if !c.reserve(blockTokens) || c.blocks[r.parts[0].key] == nil || c.blocks[r.parts[1].key] != nil {
		t.Error("the used block has to remain, and the unused one to go")
	}
}

// TestPreemption: the cache has space for both prompts, and not for both answers. The request
// that began last is computed again, and both end.
func TestPreemption(t *testing.T) {
	o := defaults(t, "--cache-tokens=2148")
	s, err := newSimulation(o, ruleNamed("random"), 1)
	if err != nil {
		t.Fatal(err)
	}
	a, b := newRequest(0, ids(1, 2), 1024, 200), newRequest(0, ids(10, 2), 1024, 200)
	if err := s.run([]*request{a, b}); err != nil {
		t.Fatal(err)
	}
	if a.admitted != 1 || b.admitted != 2 || b.generated != 200 || b.ended <= a.ended {
		t.Errorf("started %d and %d times, %d tokens, ended after %v and %v", a.admitted, b.admitted, b.generated, a.ended, b.ended)
	}
	if c := s.fleet.servers[0].cache; c.used != 0 || c.used+c.unused > c.capacity {
		t.Errorf("%d tokens are used and %d unused at the end", c.used, c.unused)
	}
}

// TestText: equal parts have equal texts of 4 bytes a token, other parts differ from their
// first bytes on.
func TestText(t *testing.T) {
	a, b := newRequest(0, []uint64{1, 2}, 1000, 1).text(), newRequest(0, []uint64{1, 3}, 1000, 1).text()
	if len(a) != 4000 || a[:2048] != b[:2048] || a[2048:2064] == b[2048:2064] {
		t.Errorf("texts of %d bytes: %q and %q at the second part", len(a), a[2048:2064], b[2048:2064])
	}
}

const goodLine = `{"timestamp": 5, "input_length": 600, "output_length": 7, "hash_ids": [0, 9]}`

func TestTrace(t *testing.T) {
	for name, line := range map[string]string{
		"no JSON":      `{"timestamp": `,
		"no timestamp": `{"input_length": 600, "output_length": 7, "hash_ids": [0, 9]}`,
		"too late":     `{"timestamp": 1e300, "input_length": 600, "output_length": 7, "hash_ids": [0, 9]}`,
		"too long":     `{"timestamp": 5, "input_length": 600, "output_length": 9000000000000000000, "hash_ids": [0, 9]}`,
		"no tokens":    `{"timestamp": 5, "input_length": 0, "output_length": 7, "hash_ids": []}`,
		"few blocks":   `{"timestamp": 5, "input_length": 600, "output_length": 7, "hash_ids": [0]}`,
		"many blocks":  `{"timestamp": 5, "input_length": 600, "output_length": 7, "hash_ids": [0, 9, 8]}`,
		"backwards":    `{"timestamp": 4, "input_length": 600, "output_length": 7, "hash_ids": [0, 9]}`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "trace.jsonl")
			if err := os.WriteFile(path, []byte(goodLine+"\n"+line+"\n"+goodLine+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := readTrace(&options{Trace: path, Speed: 1}, nil); err == nil || !strings.Contains(err.Error(), "trace.jsonl:2: ") {
				t.Errorf("error %v doesn't name the second line", err)
			}
			var log bytes.Buffer
			w, err := readTrace(&options{Trace: path, Speed: 1, Tolerant: true}, &log)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(w.stages()[0].requests); n != 2 || !strings.Contains(log.String(), "trace.jsonl:2: ") {
				t.Errorf("%d requests, log %q", n, log.String())
			}
		})
	}
}

// TestPlot: a line ends at the right, where all requests have their first token, and names are
// escaped.
func TestPlot(t *testing.T) {
	withoutRace(t)
	folder := t.TempDir()
	var out bytes.Buffer
	if err := run([]string{"--workload=conversation", "--rule=random", "--plot=" + folder}, &out, &out); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(folder, "conversation.svg"))
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(data, new(struct{})); err != nil {
		t.Errorf("the plot is invalid: %v", err)
	}
	svg := string(plot("a<b", []result{{info: &ruleInfo{name: "x&y"}, first: []float64{0.1, 1}}}))
	for _, part := range []string{"a&lt;b", "x&amp;y", "154.0,350.0 ", "248.0,40.0 "} { // a fifth and two fifths of the axis
		if !strings.Contains(svg, part) {
			t.Errorf("the plot lacks %q:\n%s", part, svg)
		}
	}
}

// TestSeed: the same seed prints the same bytes, another seed others.
func TestSeed(t *testing.T) {
	withoutRace(t)
	output := func(seed string) string {
		var out bytes.Buffer
		if err := run([]string{"--workload=conversation", "--rule=llm-d", "--rule=two-choices", "--frontends=2", "--seed=" + seed}, &out, &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	first := output("1")
	if again := output("1"); again != first {
		t.Errorf("the same seed printed\n%s\nand\n%s", first, again)
	}
	if output("2") == first {
		t.Error("another seed printed the same")
	}
}

func TestFlags(t *testing.T) {
	for _, args := range [][]string{{"--speed=0"}, {"--rule=best"}, {"--frontends=0"}, {"--trace=missing.jsonl"}, {"--cache-tokens=0"}} {
		var out bytes.Buffer
		if err := run(args, &out, &out); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
	var out bytes.Buffer
	if err := run([]string{"--help"}, &out, &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "Source:"); n != 6 {
		t.Errorf("the help has the source of %d constants, want 6", n)
	}
}

// FuzzTrace reads traces of any bytes: the parts of each request's prompt have its tokens.
func FuzzTrace(f *testing.F) {
	f.Add([]byte(goodLine), true)
	f.Add([]byte(goodLine+"\n{}\n\n"+goodLine), true)
	f.Add([]byte(`{"timestamp": 1e300, "input_length": 1, "output_length": 0, "hash_ids": [18446744073709551615]}`), false)
	f.Fuzz(func(t *testing.T, data []byte, tolerant bool) {
		lines, err := parseTrace(data, &options{Tolerant: tolerant, Speed: 1}, io.Discard)
		if err != nil && len(lines) > 0 {
			t.Fatalf("%d lines with the error %v", len(lines), err)
		}
		for _, l := range lines {
			tokens := 0
			r := newRequest(0, l.Hashes, *l.Input, *l.Output)
			for _, p := range r.parts {
				tokens += p.tokens
			}
			if tokens != r.prompt || r.answer < 1 {
				t.Fatalf("%d tokens in parts of a prompt of %d, answer of %d", tokens, r.prompt, r.answer)
			}
		}
	})
}
