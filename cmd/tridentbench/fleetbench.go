package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// fleetCommand measures servers that distribute requests over others.
type fleetCommand struct {
	Quick     bool     `help:"Run one round of short scenarios to check that the bench works; the figures aren't reliable."`
	Rounds    int      `default:"5" help:"Number of rounds; each round starts new processes, and measures every column of every scenario once."`
	Scenario  []string `placeholder:"NAME" help:"Measure only this scenario, such as fleet-kill; repeatable."`
	Trident   string   `default:"bin/trident" help:"Path of the trident binary to measure."`
	Routers   string   `default:".venv-routers" placeholder:"DIR" help:"Virtual environment of the routers of other projects, which tools/setup-routers.sh installs."`
	NoRouters bool     `help:"Measure Trident alone."`
	JSON      string   `name:"json" placeholder:"FILE" help:"File to write all measurements to, as JSON."`
	Report    string   `placeholder:"FILE" help:"Markdown file to write the tables to, between its marker comments."`
}

// Run measures and prints the results.
func (c *fleetCommand) Run(ctx context.Context) error {
	runtime.LockOSThread() // the kernel ends the children with the thread that started them
	if c.Rounds < 1 {
		return fmt.Errorf("--rounds: must be at least 1, not %d", c.Rounds)
	}
	if _, err := os.Stat(c.Trident); err != nil {
		return fmt.Errorf("--trident: %w: run make build", err)
	}
	if _, err := os.Stat(filepath.Join(c.Routers, "bin", "python")); err != nil && !c.NoRouters {
		return fmt.Errorf("--routers: %w: run tools/setup-routers.sh, or set --no-routers", err)
	}
	if c.Quick {
		c.Rounds = 1
	}
	b, err := newFleetBench(c)
	if err != nil {
		return err
	}
	return b.run(ctx)
}

// routers returns the routers that are measured.
func (c *fleetCommand) routers() []router {
	if c.NoRouters {
		return nil
	}
	return routers()
}

// fleetBench is the state of a run of the bench of fleets.
type fleetBench struct {
	options   *fleetCommand
	scenarios []scenario
	cluster   *cluster
	began     time.Time
	report    report
}

func newFleetBench(o *fleetCommand) (*fleetBench, error) {
	b := &fleetBench{options: o, began: time.Now(), report: report{Command: "make bench-fleet"}}
	for _, s := range fleetScenarios() {
		if len(o.Scenario) > 0 && !slices.Contains(o.Scenario, s.name) {
			continue
		}
		if o.Quick {
			s.short()
		}
		b.scenarios = append(b.scenarios, s)
	}
	if len(b.scenarios) == 0 {
		return nil, fmt.Errorf("--scenario: no scenario is named %q", o.Scenario)
	}
	return b, nil
}

// Names of the scenarios of the bench of fleets.
const (
	fleetFlat  = "fleet-flat-64"
	fleetPaced = "fleet-paced-64"
	chatFlat   = "fleet-chat-400k"
	chatPaced  = "fleet-chat-400k-64"
	fleetKill  = "fleet-kill"
	fleetIdle  = "fleet-idle-100"
)

// Sizes of the scenarios of a large chat.
const (
	chatBytes  = 400_000
	chatTokens = 1000
)

// fleetScenarios returns the scenarios of the bench of fleets. The one that kills a server is the
// last, because the routers of other projects take minutes to use a server again.
func fleetScenarios() []scenario {
	all := []string{colFleet, colFleetOver, colSGLang, colVLLM}
	paced := modelAt(flatModel, fastPace)
	return []scenario{
		{
			name: fleetFlat, title: "64 streams flat out", columns: all,
			job: job{Model: flatModel, Streams: 64, Requests: 512, Tokens: 500, Distinct: true},
		},
		{
			name: fleetPaced, title: "64 streams, a token each 10 ms", columns: all,
			job: job{Model: paced, Streams: 64, Requests: 192, Tokens: 100, Distinct: true, Spread: time.Second, Jitter: fastPace},
		},
		{
			name: chatFlat, title: "chats of 400 KB with 1,000 tokens, one after another, flat out", columns: all,
			job: job{Model: flatModel, Streams: 1, Requests: 20, Tokens: chatTokens, PromptBytes: chatBytes},
		},
		{
			name: chatPaced, title: "64 chats of 400 KB with 1,000 tokens, a token each 10 ms", columns: all,
			job: job{Model: paced, Streams: 64, Requests: 64, Tokens: chatTokens, PromptBytes: chatBytes, Distinct: true, Spread: time.Second, Jitter: fastPace},
		},
		{name: fleetIdle, title: "100 idle endpoints, which are the four tritonservers by 100 ports", columns: []string{colFleet}},
		{
			name: fleetKill, title: "64 streams, a token each 10 ms: one server is killed", columns: all,
			job: job{Model: paced, Streams: 64, Requests: 640, Tokens: 100, Distinct: true, Tolerant: true, Spread: time.Second, Jitter: fastPace},
		},
	}
}

// run measures and writes the requested outputs. All processes that it started have ended when it
// returns.
func (b *fleetBench) run(ctx context.Context) (err error) {
	fmt.Fprintln(os.Stderr, "Starting four tritonservers, Tridents and routers in each round; their logs are in .cache/bench-fleet.")
	defer func() { err = errors.Join(err, b.stop()) }() //nolint:contextcheck // it runs after the context has ended
	version, err := versionOf(ctx, b.options.Trident)
	if err != nil {
		return err
	}
	b.report.describe(b.began, version)
	b.report.Quick = b.options.Quick
	for i := range b.options.Rounds {
		if err := b.round(ctx, i+1); err != nil {
			return err
		}
		b.report.Rounds = i + 1
	}
	b.report.finish(time.Since(b.began), fleetFigures())
	return b.report.write(b.options.JSON, b.options.Report)
}

func (b *fleetBench) stop() error {
	if b.cluster == nil {
		return nil
	}
	c := b.cluster
	b.cluster = nil
	return c.stop()
}

// round starts new processes, and measures the columns of each scenario in turn.
func (b *fleetBench) round(ctx context.Context, number int) (err error) {
	if err := b.stop(); err != nil { //nolint:contextcheck // the stop must complete even after the context ends
		return err
	}
	if b.cluster, err = launchCluster(ctx, b.options); err != nil {
		return err
	}
	for _, c := range b.cluster.columns {
		if err := warmUpFleet(ctx, c); err != nil {
			return fmt.Errorf("%s, warm-up: %w", c.name, err)
		}
	}
	for i := range b.scenarios {
		s := &b.scenarios[i]
		began := time.Now()
		for _, c := range b.cluster.columns {
			if !s.includes(c) {
				continue
			}
			got, err := b.measure(ctx, s, c)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, s.title, err)
			}
			b.report.add(s, c.name, number, got)
		}
		fmt.Fprintf(os.Stderr, "round %d of %d, %s: %.1f s\n", number, b.options.Rounds, s.name, time.Since(began).Seconds())
	}
	return nil
}

// warmUpFleet sends requests to the models of the scenarios.
func warmUpFleet(ctx context.Context, c *column) error {
	for _, model := range []string{flatModel, modelAt(flatModel, fastPace)} {
		if _, err := c.measure(ctx, &job{Address: c.address, Path: c.path, Model: model, Streams: 32, Requests: 128, Tokens: 16, Distinct: true}); err != nil {
			return err
		}
	}
	return nil
}

// measure measures a column.
func (b *fleetBench) measure(ctx context.Context, s *scenario, c *column) (sample, error) {
	switch s.name {
	case fleetIdle:
		return b.idle(ctx)
	case fleetKill:
		return killed(ctx, s.jobFor(c, nil), c, b.cluster.backends(c))
	}
	j := s.jobFor(c, nil)
	got, err := c.measure(ctx, j)
	if err != nil {
		return nil, err
	}
	for _, of := range []string{roleTrident, roleTriton, roleHost} {
		got[allServers] += got[cpuOf+of]
	}
	if j.PromptBytes > 0 {
		got[chatCPU] = got[cpuTrident] * float64(j.Tokens) / 1000
	}
	return got, nil
}

// killAfter is the time from the beginning of a job to the death of a server, as a share of the time
// that the job takes.
const killAfter = 0.25

// killed runs a job, in which it kills the server that has used the most CPU time, and starts that
// server again. A request whose response has begun at that server is cut off by any router.
func killed(ctx context.Context, j *job, c *column, servers []backend) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	if err := c.worker.begin(ctx, j); err != nil {
		return nil, err
	}
	before, err := cpuTimes(servers)
	if err != nil {
		return nil, err
	}
	victims := make(chan backend, 1)
	steps := float64(j.Requests / j.Streams * j.Tokens)
	dies := time.AfterFunc(time.Duration(killAfter*steps*float64(fastPace)), func() {
		victim := busiest(servers, before)
		victim.kill()
		victims <- victim
	})
	sum, err := c.worker.proceed(ctx, stateDone)
	if dies.Stop() {
		return nil, errors.Join(err, errors.New("the job ended before a server was killed"))
	}
	victim := <-victims
	if err != nil {
		return nil, err
	}
	all := sampleOf(sum)
	got := sample{answered: float64(sum.Requests), unanswered: float64(sum.Unanswered), cutOff: float64(sum.Cut), first50: all[first50], first99: all[first99]}
	return got, victim.restart(ctx)
}

func cpuTimes(servers []backend) ([]time.Duration, error) {
	times := make([]time.Duration, len(servers))
	for i, s := range servers {
		var err error
		if times[i], err = cpuTime(s.pid()); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// busiest returns the server that has used the most CPU time since earlier times.
func busiest(servers []backend, before []time.Duration) backend {
	first, most := servers[0], time.Duration(-1)
	for i, s := range servers {
		now, err := cpuTime(s.pid())
		if used := now - before[i]; err == nil && used > most {
			first, most = s, used
		}
	}
	return first
}

// Parameters of the idle endpoints.
const (
	idleEndpoints = 100
	idleSettle    = 3 * time.Second
	idleTime      = 10 * time.Second
)

// idle measures the CPU time of a Trident with many endpoints and without requests.
func (b *fleetBench) idle(ctx context.Context) (sample, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var list []string
	for i := range idleEndpoints {
		address, err := forward(ctx, b.cluster.grpc()[i%clusterSize])
		if err != nil {
			return nil, err
		}
		list = append(list, address)
	}
	c, err := b.cluster.trident(ctx, b.cluster.columns[0].worker, b.options.Trident, "idle", "--triton-endpoint="+strings.Join(list, ","))
	if err != nil {
		return nil, err
	}
	got, err := idleShare(ctx, c)
	idle := b.cluster.children[len(b.cluster.children)-1]
	return got, errors.Join(err, b.cluster.end(idle))
}

func idleShare(ctx context.Context, c *column) (sample, error) {
	if err := pause(ctx, idleSettle); err != nil {
		return nil, err
	}
	before, err := c.usage()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := pause(ctx, idleTime); err != nil {
		return nil, err
	}
	after, err := c.usage()
	if err != nil {
		return nil, err
	}
	used := after[roleTrident].cpu - before[roleTrident].cpu
	return sample{idleCores: used.Seconds() / time.Since(began).Seconds(), memoryOf + roleTrident: float64(after[roleTrident].memory) / (1 << 20)}, nil
}

// fleetFigures returns the figures of the bench of fleets.
func fleetFigures() []figure {
	list := []figure{
		{Name: "a chat of 400 KB with 1,000 tokens: CPU of Trident, flat out", Unit: millis, AtMost: 60, of: of(chatFlat, colFleet, chatCPU)},
		{Name: "a chat of 400 KB with 1,000 tokens: CPU of Trident, one of 64 at a token each 10 ms", Unit: millis, AtMost: 60, of: of(chatPaced, colFleet, chatCPU)},
		{Name: "100 idle endpoints: cores that Trident uses", AtMost: 0.1, of: of(fleetIdle, colFleet, idleCores)},
		{Name: "one server killed: requests that failed without a response", of: of(fleetKill, colFleet, unanswered)},
	}
	for _, r := range routers() {
		list = append(list, besides(colFleet, r)...)
		list = append(list, besides(colFleetOver, r)...)
	}
	return list
}

// besides compares a column of Trident with a router. The targets are those of the project: none is
// worse.
func besides(column string, r router) []figure {
	name, _, _ := strings.Cut(r.column, " ")
	pair := column + " ÷ " + name
	return []figure{
		{Name: pair + ", 64 streams flat out: tokens/s", AtLeast: 1, of: ratio(fleetFlat, column, r.column, tokenRate)},
		{Name: pair + ", 64 streams flat out: own CPU a token", AtMost: 1, of: ratio(fleetFlat, column, r.column, cpuTrident)},
		{Name: pair + ", 64 streams flat out: CPU a token of all servers", of: ratio(fleetFlat, column, r.column, allServers)},
		{Name: pair + ", 64 paced streams: own CPU a token", AtMost: 1, of: ratio(fleetPaced, column, r.column, cpuTrident)},
		{Name: pair + ", 64 paced streams: CPU a token of all servers", of: ratio(fleetPaced, column, r.column, allServers)},
		{Name: pair + ", one server killed: 1 + requests without a response", AtMost: 1, of: failures(column, r.column, unanswered)},
		{Name: pair + ", one server killed: 1 + failed requests", of: failures(column, r.column, unanswered, cutOff)},
	}
}

// failures compares the failed requests of two columns. One more of each avoids a division by 0.
func failures(column, to string, kinds ...string) func(round) float64 {
	return func(r round) float64 {
		ours, theirs := 1.0, 1.0
		for _, kind := range kinds {
			ours += r(fleetKill, column, kind)
			theirs += r(fleetKill, to, kind)
		}
		return ours / theirs
	}
}
