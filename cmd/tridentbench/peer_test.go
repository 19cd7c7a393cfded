package main

import (
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

func TestPeerText(t *testing.T) {
	tests := []struct {
		text string
		want peer
		err  string
	}{
		{text: "a=http://127.0.0.1:3000/v1", want: peer{name: "a"}},
		{text: "a=http://127.0.0.1:3000/v1,pid=12", want: peer{name: "a", pid: 12}},
		{
			text: "a=http://127.0.0.1:3000/v1,model=other,model=burst_10ms:slow:1,pid=12",
			want: peer{name: "a", pid: 12, models: map[string]string{"burst": "other", "burst_10ms": "slow:1"}},
		},
		{text: "", err: "isn't NAME=URL"},
		{text: "http://127.0.0.1:3000/v1", err: "isn't NAME=URL"},
		{text: "=http://127.0.0.1:3000/v1", err: "isn't NAME=URL"},
		{text: "a=https://127.0.0.1:3000/v1", err: "must be http://host:port/v1"},
		{text: "a=http://127.0.0.1/v1", err: "must be http://host:port/v1"},
		{text: "a=http://127.0.0.1:x/v1", err: "invalid port"},
		{text: "a=http://127.0.0.1:3000/v1,pid=0", err: "a: pid=0 isn't a process id"},
		{text: "a=http://127.0.0.1:3000/v1,pid=x", err: "a: pid=x isn't a process id"},
		{text: "a=http://127.0.0.1:3000/v1,model=", err: "a: model= isn't a name"},
		{text: "a=http://127.0.0.1:3000/v1,model=echo:x", err: "with one of the bench's models burst_idle, burst, "},
		{text: "a=http://127.0.0.1:3000/v1,cpu=1", err: `a: unknown setting "cpu=1"`},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			var got peer
			err := got.UnmarshalText([]byte(tt.text))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil || got.name != tt.want.name || got.pid != tt.want.pid || !maps.Equal(got.models, tt.want.models) || got.url.Host != "127.0.0.1:3000" {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// TestPeerFlag checks that the settings of --peer, which are separated by commas, stay together.
func TestPeerFlag(t *testing.T) {
	var cli commandLine
	parser, err := kong.New(&cli)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"--peer=a=http://127.0.0.1:1/v1,pid=1,model=x", "--peer=b=http://127.0.0.1:2/v1"}); err != nil {
		t.Fatal(err)
	}
	if p := cli.Run.Peer; len(p) != 2 || p[0].name != "a" || p[0].pid != 1 || p[0].models["burst"] != "x" || p[1].name != "b" {
		t.Errorf("got %+v", p)
	}
}

// TestPeerJobs checks in which scenarios a peer takes part, by which name it is asked for their
// model, and that the report names what is left out.
func TestPeerJobs(t *testing.T) {
	address := &url.URL{Scheme: "http", Host: "127.0.0.1:1", Path: "/v1/"}
	all := peer{name: "all", url: address, pid: os.Getpid()}
	some := peer{name: "some", url: address, models: map[string]string{"burst": "ensemble"}}
	b := &bench{options: &options{Peer: []peer{all, some}}}
	asked := map[string][]string{}
	for _, s := range scenarios() {
		if slices.Contains([]string{firstToken, messages1, flat64, decoupled64, paced64, idleStreams, inferName(1, 1<<10)}, s.name) {
			b.scenarios = append(b.scenarios, s)
		}
		for _, p := range b.options.Peer {
			c := p.column(nil, tritonAddress{})
			if s.includes(c) {
				asked[p.name+" "+s.name] = append(asked[p.name+" "+s.name], s.jobFor(c, nil).Model)
			}
		}
	}
	for what, want := range map[string]string{
		"all flat-64": "burst", "some flat-64": "ensemble", "all paced-64": "burst_10ms", "some paced-64": "", "some first-token": "ensemble",
		"all infer-1k-1": "", "all decoupled-64": "", "all idle-1024": "", "all messages-first-token": "",
	} {
		if got := strings.Join(asked[what], " "); got != want {
			t.Errorf("%s: the model %q, not %q", what, got, want)
		}
	}
	c := all.column(nil, tritonAddress{})
	if c.address != "127.0.0.1:1" || c.path != "/v1/chat/completions" || len(c.roles) != 1 || c.roles[0] != (role{roleTrident, os.Getpid()}) {
		t.Errorf("got %+v", c)
	}
	want := []string{
		"some: no CPU time and memory, because --peer has no pid=PID for it",
		"some: not in paced-64, because --peer has no model=OURS:THEIRS for their models",
	}
	if got := b.notMeasured(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	slow := peer{name: "slow", url: address, models: map[string]string{"burst_10ms": "b", "burst_20ms": "a"}}
	if j := warmUpJob(slow.column(nil, tritonAddress{})); j.Model != "a" || j.Requests != 16 {
		t.Errorf("a peer without the flat model is warmed up with %+v", j)
	}
	if j := warmUpJob(some.column(nil, tritonAddress{})); j.Model != "ensemble" || j.Path != "/v1/chat/completions" {
		t.Errorf("a peer is warmed up with %+v", j)
	}
}

// TestRunningTriton checks that a peer and the bench share a tritonserver, whose CPU time is then
// measured for both.
func TestRunningTriton(t *testing.T) {
	for text, want := range map[string]tritonAddress{"127.0.0.1:8001": {"127.0.0.1:8001", 0}, "[::1]:8001,pid=12": {"[::1]:8001", 12}} {
		var got tritonAddress
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want || got.String() != text {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:1,12", "127.0.0.1:1,pid=", "127.0.0.1:1,pid=-1"} {
		if err := new(tritonAddress).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q has no error", text)
		}
	}
	var p peer
	if err := p.UnmarshalText([]byte("a=http://127.0.0.1:3000/v1,tritonserver,pid=5")); err != nil {
		t.Fatal(err)
	}
	triton := tritonAddress{"127.0.0.1:8001", 7}
	if got := p.column(nil, triton).roles; !slices.Equal(got, []role{{roleTrident, 5}, {roleTriton, 7}}) {
		t.Errorf("the peer's processes are %v", got)
	}
	p.pid = 0
	o := options{Peer: []peer{p}}
	if err := o.validatePeers(); err == nil || !strings.Contains(err.Error(), "tritonserver needs --triton") {
		t.Errorf("got %v", err)
	}
	o.Triton = tritonAddress{grpc: triton.grpc}
	if err := o.validatePeers(); err != nil {
		t.Error(err)
	}
	want := []string{
		"tritonserver at 127.0.0.1:8001: all rounds use the same process",
		"tritonserver at 127.0.0.1:8001: no CPU time and memory, because --triton has no pid=PID",
		"a: no CPU time and memory, because --peer has no pid=PID for it",
	}
	if got := (&bench{options: &o}).notMeasured(); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestParts checks that a tritonserver of --triton has the scenarios of many streams after all others, and
// one of each round in their order.
func TestParts(t *testing.T) {
	for address, want := range map[string]map[string]part{
		"":               {"idle-1024": before, "flat-64": during, "flat-256": during, "flat-1024": during, "slow-1024": during},
		"127.0.0.1:8001": {"idle-1024": after, "flat-64": during, "flat-256": during, "flat-1024": after, "slow-1024": after},
	} {
		b := &bench{options: &options{Triton: tritonAddress{grpc: address}}}
		seen := 0
		for _, s := range scenarios() {
			if of, listed := want[s.name]; listed {
				seen++
				if got := b.partOf(&s); got != of {
					t.Errorf("--triton=%s: %s is in part %d, not %d", address, s.name, got, of)
				}
			}
		}
		if seen != len(want) {
			t.Errorf("%d of %d scenarios", seen, len(want))
		}
	}
}
