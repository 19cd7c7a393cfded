package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/trident-inference/trident/test/backends/burst"
)

// sample is the result of one measurement, by metric. Metrics that can't be
// measured are absent.
type sample map[string]float64

// The names of the metrics that a sample of a column can have.
const (
	tokenRate   = "tokens/s"
	requestRate = "requests/s"
	first50     = "first token p50 ms"
	first99     = "first token p99 ms"
	gap50       = "inter-token p50 ms"
	gap99       = "inter-token p99 ms"
	perWrite    = "tokens a write"
	allocations = "allocations a token"
	allocBytes  = "bytes a token"
	growth      = "KiB a stream"
	answered    = "requests with a whole response"
	unanswered  = "requests failed without a response"
	cutOff      = "requests failed after a response"
	idleCores   = "cores in use"
	chatCPU     = "CPU ms a chat: Trident"
	// allServers is the sum of all roles except the driver.
	allServers = "CPU µs a token: all servers"
	// cpuOf and memoryOf are prefixes of a role.
	cpuOf    = "CPU µs a token: "
	memoryOf = "RSS MiB: "
	// busyShare is the CPU time of all processes of the column and the driver, divided by
	// the CPU time that all cores have.
	busyShare = "CPU in use, of all cores"
)

// jobTimeout is the time limit of one measurement.
const jobTimeout = 2 * time.Minute

// measure runs a job on a column. It reads the processes' CPU clocks when all
// streams are connected, and after the last response.
func (c *column) measure(ctx context.Context, j *job) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	if err := c.worker.begin(ctx, j); err != nil {
		return nil, err
	}
	if j.Hold {
		return c.hold(ctx, j)
	}
	allocated, err := c.allocations(ctx)
	if err != nil {
		return nil, err
	}
	before, err := c.usage()
	if err != nil {
		return nil, err
	}
	sum, err := c.worker.proceed(ctx, stateDone)
	if err != nil {
		return nil, err
	}
	after, err := c.usage()
	if err != nil {
		return nil, err
	}
	if want := burst.Text(j.Tokens); j.Bytes == 0 && sum.Text != want { // echoed bytes are compared when they arrive
		return nil, fmt.Errorf("the response is %.100q, not %.100q", sum.Text, want)
	}
	s := sampleOf(sum)
	if j.Spread > 0 { // while streams begin and end, the rate is lower than that of the pace
		delete(s, tokenRate)
		delete(s, requestRate)
	}
	s.use(before, after, float64(sum.Tokens))
	s.share(before, after, sum.Seconds*float64(runtime.NumCPU()))
	return s, s.allocate(ctx, c, allocated, float64(sum.Tokens))
}

// hold measures the memory of waiting streams.
func (c *column) hold(ctx context.Context, j *job) (sample, error) {
	before, err := c.usage()
	if err != nil {
		return nil, err
	}
	if _, err := c.worker.proceed(ctx, stateHeld); err != nil {
		return nil, err
	}
	after, err := c.usage()
	if err != nil {
		return nil, err
	}
	if _, err := c.worker.proceed(ctx, stateDone); err != nil {
		return nil, err
	}
	const kib = 1 << 10
	grown := after[roleTrident].memory - before[roleTrident].memory
	return sample{growth: float64(grown) / kib / float64(j.Streams)}, nil
}

func sampleOf(r *result) sample {
	const millis = 1e3
	s := sample{
		tokenRate: float64(r.Tokens) / r.Seconds, requestRate: float64(r.Requests) / r.Seconds,
		first50: r.First50 * millis, first99: r.First99 * millis, gap50: r.Gap50 * millis, gap99: r.Gap99 * millis,
	}
	if r.Writes > 0 {
		s[perWrite] = float64(r.Tokens) / float64(r.Writes)
	}
	return s
}

// used is the resource usage of the processes of a role.
type used struct {
	cpu    time.Duration
	memory int64 // memory of the processes, in bytes
}

// usage returns the usage of the column's processes, by role.
func (c *column) usage() (map[string]used, error) {
	all := map[string]used{}
	for _, r := range c.processes() {
		cpu, err := cpuTime(r.pid)
		if err != nil {
			return nil, err
		}
		memory, err := residentBytes(r.pid)
		if err != nil {
			return nil, err
		}
		sum := all[r.name]
		all[r.name] = used{sum.cpu + cpu, sum.memory + memory}
	}
	return all, nil
}

// use adds the usage per token to the sample.
func (s sample) use(before, after map[string]used, tokens float64) {
	const mib = 1 << 20
	for role, now := range after {
		s[cpuOf+role] = float64((now.cpu - before[role].cpu).Nanoseconds()) / 1e3 / tokens
		s[memoryOf+role] = float64(now.memory) / mib
	}
}

// share adds the used share of the seconds of CPU time that the machine had. It adds none if
// a server's CPU time isn't known.
func (s sample) share(before, after map[string]used, seconds float64) {
	if _, ok := after[roleTrident]; !ok {
		return
	}
	var sum time.Duration
	for role, now := range after {
		sum += now.cpu - before[role].cpu
	}
	s[busyShare] = sum.Seconds() / seconds
}

// allocations returns two consecutive readings. Their difference is what a
// reading itself allocates. allocations returns nil if Go's profiles aren't
// served.
func (c *column) allocations(ctx context.Context) (list []allocs, err error) {
	if c.profiles == "" {
		return nil, nil
	}
	for range 2 {
		a, err := readAllocs(ctx, c.profiles)
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// allocate adds the allocations per token to the sample.
func (s sample) allocate(ctx context.Context, c *column, before []allocs, tokens float64) error {
	if before == nil {
		return nil
	}
	after, err := readAllocs(ctx, c.profiles)
	if err != nil {
		return err
	}
	since := func(of func(allocs) float64) float64 {
		reading := of(before[1]) - of(before[0])
		return max(of(after)-of(before[1])-reading, 0) / tokens
	}
	s[allocations] = since(func(a allocs) float64 { return a.count })
	s[allocBytes] = since(func(a allocs) float64 { return a.bytes })
	return nil
}

// allocs is the total allocations of a Go process.
type allocs struct{ count, bytes float64 }

// readAllocs reads the numbers of runtime.MemStats at the end of the profile.
func readAllocs(ctx context.Context, profiles string) (allocs, error) {
	profile, err := get(ctx, profiles+"allocs?debug=1")
	if err != nil {
		return allocs{}, err
	}
	return parseAllocs(string(profile))
}

func parseAllocs(profile string) (allocs, error) {
	a := allocs{count: math.NaN(), bytes: math.NaN()}
	for line := range strings.Lines(profile) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "# "), " = ")
		switch name {
		case "Mallocs":
			a.count, _ = strconv.ParseFloat(value, 64)
		case "TotalAlloc":
			a.bytes, _ = strconv.ParseFloat(value, 64)
		}
	}
	if math.IsNaN(a.count) || math.IsNaN(a.bytes) {
		return allocs{}, errors.New("the allocation profile has no totals (TotalAlloc, Mallocs)")
	}
	return a, nil
}
