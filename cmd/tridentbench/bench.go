package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// bench is the state of one run of the benchmark.
type bench struct {
	options   *options
	scenarios []scenario
	fleet     *fleet
	began     time.Time
	report    report
}

// newBench returns a bench of scenarios, whose results go between the markers of a command.
func newBench(o *options, command string, all []scenario) (*bench, error) {
	b := &bench{options: o, began: time.Now(), report: report{Command: command}}
	for _, s := range all {
		if len(o.Scenario) > 0 && !slices.Contains(o.Scenario, s.name) || o.Quick && !s.quick {
			continue
		}
		if o.Quick {
			s.short()
		}
		b.scenarios = append(b.scenarios, s)
	}
	switch {
	case len(b.scenarios) == 0:
		return nil, fmt.Errorf("--scenario: no scenario of this run is named %q", o.Scenario)
	case o.Rounds < 1:
		return nil, fmt.Errorf("--rounds: must be at least 1, not %d", o.Rounds)
	}
	if _, err := os.Stat(o.Trident); err != nil {
		return nil, fmt.Errorf("--trident: %w: run make build", err)
	}
	if o.Quick {
		o.Rounds = 1
	}
	return b, o.validatePeers()
}

// run measures and writes the requested outputs. All processes that it started have
// ended when it returns.
func (b *bench) run(ctx context.Context) (err error) {
	fmt.Fprintln(os.Stderr, "Starting Triton, Trident and the other servers; their logs are in .cache/bench.")
	defer func() { err = errors.Join(err, b.stop()) }() //nolint:contextcheck // it runs after the context has ended
	version, err := versionOf(ctx, b.options.Trident)
	if err != nil {
		return err
	}
	b.report.describe(b.began, version)
	b.report.Quick, b.report.Notes = b.options.Quick, append(b.report.Notes, b.notMeasured()...)
	for _, p := range b.options.programs {
		b.report.Peers = append(b.report.Peers, p.name)
	}
	for _, p := range b.options.Peer {
		b.report.Peers = append(b.report.Peers, p.name)
	}
	for _, line := range b.report.Notes {
		fmt.Fprintln(os.Stderr, line)
	}
	if err := b.rounds(ctx); err != nil {
		return err
	}
	b.report.finish(time.Since(b.began), append(figures(), peerFigures(b.report.Peers)...))
	if err := b.report.write(b.options.JSON, b.options.Report); err != nil {
		return err
	}
	return b.profiles(ctx)
}

// restart starts new processes for a round.
func (b *bench) restart(ctx context.Context) (err error) {
	if err := b.stop(); err != nil { //nolint:contextcheck // the stop must complete even after the context ends
		return err
	}
	if b.fleet, err = launch(ctx, b.options); err != nil {
		return err
	}
	return b.warmUp(ctx)
}

func (b *bench) stop() error {
	if b.fleet == nil {
		return nil
	}
	fleet := b.fleet
	b.fleet = nil
	return fleet.stop()
}

// rounds measures the columns in turn: each column within a scenario, and each
// scenario within a round. Each round has new processes, so that rounds don't affect
// each other. No round is started that wouldn't end within the time limit.
func (b *bench) rounds(ctx context.Context) error {
	if err := b.round(ctx, 0, before); err != nil {
		return err
	}
	for i := range b.options.Rounds {
		began := time.Now()
		if err := b.round(ctx, i+1, during); err != nil {
			return err
		}
		b.report.Rounds = i + 1
		took := time.Since(began)
		if time.Since(b.began)+took > b.options.Limit {
			break
		}
	}
	return b.round(ctx, b.report.Rounds, after)
}

// part is when a scenario is measured: once before the rounds, in each round, or once after them.
type part int

const (
	before part = iota
	during
	after
)

// mostKept is the number of streams from which on a tritonserver is slower afterwards. The one of
// --triton isn't restarted.
const mostKept = 256

// partOf returns when a scenario is measured.
func (b *bench) partOf(s *scenario) part {
	switch {
	case b.options.Triton.grpc != "" && s.job.Streams > mostKept:
		return after
	case s.once:
		return before
	}
	return during
}

// warmUp brings every column to the state of a server in use. The first requests are
// slow because the kernel still has to provide memory, and aren't representative.
func (b *bench) warmUp(ctx context.Context) error {
	for _, c := range b.fleet.columns {
		for _, j := range warmUpJobs(c) {
			_, err := c.measure(ctx, j)
			if err := b.failed(ctx, c, "warm-up", err); err != nil {
				return err
			}
		}
	}
	return nil
}

// warmUpJobs returns the job of [warmUpJob], and for Trident some requests to each other model:
// a model's first requests also prove its tokenizer.
func warmUpJobs(c *column) []*job {
	list := []*job{warmUpJob(c)}
	if c.profiles == "" || c.path == "" { // not Trident, or its gRPC port
		return list
	}
	for _, model := range []string{modelAt(flatModel, fastPace), modelAt(flatModel, stepPace), modelAt(flatModel, slowPace), ensembleModel, modelAt(ensembleModel, fastPace), modelAt(ensembleModel, stepPace)} {
		list = append(list, &job{Address: c.address, Path: c.path, Model: model, Streams: 8, Requests: 24, Tokens: 4})
	}
	return list
}

// warmUpJob returns a job of a fraction of a second for a model that the column has.
func warmUpJob(c *column) *job {
	j := &job{Address: c.address, Path: c.path, Model: c.model(flatModel), TextAlone: c.textAlone, Streams: 8, Requests: 512, Tokens: 32}
	if c.name == colCannedRPC || c.name == colEngineRPC { // these columns only support unary calls
		j.Model, j.Bytes = echoModel, 1<<10
	}
	if j.Model == "" { // a peer that has only models with a pace
		j.Model, j.Requests, j.Tokens = slices.Min(slices.Collect(maps.Values(c.peer.models))), 16, 8
	}
	return j
}

// round measures the scenarios of a part with new processes.
func (b *bench) round(ctx context.Context, number int, of part) error {
	if !slices.ContainsFunc(b.scenarios, func(s scenario) bool { return b.partOf(&s) == of }) {
		return nil
	}
	if err := b.restart(ctx); err != nil {
		return err
	}
	latest := map[string]float64{} // tokens per write, keyed by column
	for i := range b.scenarios {
		s := &b.scenarios[i]
		if b.partOf(s) != of {
			continue
		}
		began := time.Now()
		for _, c := range b.fleet.columns {
			if !s.includes(c) {
				continue
			}
			got, err := c.measure(ctx, s.jobFor(c, latest))
			if err != nil {
				if err := b.failed(ctx, c, s.title, err); err != nil {
					return err
				}
				continue
			}
			latest[c.name] = got[perWrite]
			b.report.add(s, c.name, number, got)
		}
		fmt.Fprintf(os.Stderr, "round %d, %s: %.1f s\n", number, s.name, time.Since(began).Seconds())
	}
	return nil
}

// failed returns an error that ends the bench, except for a peer that doesn't support
// a scenario. In that case it prints the error, and the peer has no result.
func (b *bench) failed(ctx context.Context, c *column, where string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s, %s: %w", c.name, where, err)
	if c.peer == nil || ctx.Err() != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, err)
	return nil
}

// includes reports whether a column takes part. A peer takes part in all scenarios of chats
// for whose model it has a name.
func (s *scenario) includes(c *column) bool {
	return slices.Contains(s.columns, c.name) || c.peer != nil && s.chats() && c.model(s.job.Model) != ""
}

// chats reports whether the scenario consists of chats that are measured in rounds.
func (s *scenario) chats() bool {
	return slices.Contains(s.columns, colLocal) && !s.once && !s.job.Messages
}

// jobFor completes the scenario's job for a column.
func (s *scenario) jobFor(c *column, latest map[string]float64) *job {
	j := s.job
	j.Address, j.Path, j.Model, j.TextAlone = c.address, c.path, c.model(j.Model), c.textAlone
	if j.Messages {
		j.Path = messagesPath
	}
	if !c.paces {
		j.Pace = 0
	}
	switch {
	case c.writesLike != "":
		j.PerWrite = latest[c.writesLike]
	case c.tokensPerWrite > 0:
		j.PerWrite = c.tokensPerWrite
	}
	return &j
}

// versionOf returns the first line that trident version prints.
func versionOf(ctx context.Context, trident string) (string, error) {
	text, err := exec.CommandContext(ctx, trident, "version").Output()
	if err != nil {
		return "", fmt.Errorf("%s version: %w", trident, err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	version, _, _ := strings.Cut(strings.TrimPrefix(line, "trident "), " ") // the commit follows, which the version names too
	return version, nil
}

// profileTime is the duration of a CPU profile.
const profileTime = 3 * time.Second

// profiles saves CPU profiles of Trident under load.
func (b *bench) profiles(ctx context.Context) error {
	if b.options.Profile == "" {
		return nil
	}
	if err := os.MkdirAll(b.options.Profile, 0o750); err != nil {
		return err
	}
	for i := range b.scenarios {
		s := &b.scenarios[i]
		for _, c := range b.fleet.columns {
			if c.profiles == "" || s.once || !s.includes(c) {
				continue
			}
			path := filepath.Join(b.options.Profile, s.name+"-"+strings.ReplaceAll(c.name, " ", "-"))
			if err := c.profile(ctx, s.jobFor(c, nil), path); err != nil {
				return fmt.Errorf("profile of %s: %w", c.name, err)
			}
		}
	}
	return nil
}

// profile runs the job on a column while its CPU profile is taken.
func (c *column) profile(ctx context.Context, j *job, path string) error {
	taken := make(chan error, 1)
	go func() {
		err := saveProfile(ctx, c.profiles, path+".pprof")
		if c.hostProfiles != "" && err == nil {
			err = saveProfile(ctx, c.hostProfiles, path+"-host.pprof")
		}
		taken <- err
	}()
	for {
		select {
		case err := <-taken:
			return err
		default:
		}
		if _, err := c.measure(ctx, j); err != nil {
			return errors.Join(err, <-taken)
		}
	}
}

func saveProfile(ctx context.Context, profiles, path string) error {
	url := fmt.Sprintf("%sprofile?seconds=%.0f", profiles, profileTime.Seconds())
	text, err := get(ctx, url)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
