package memory

import (
	"errors"
	"log/slog"
	"math"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"go.uber.org/goleak"

	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/inference"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFind(t *testing.T) {
	none := func() (uint64, error) { return 0, memlimit.ErrNoLimit }
	broken := func() (uint64, error) { return 0, errors.New("broken") }
	for _, test := range []struct {
		name            string
		cgroup, machine memlimit.Provider
		bytes           int64
		source          string
	}{
		{"cgroup", memlimit.Limit(2 << 30), memlimit.Limit(8 << 30), 2 << 30, "cgroup"},
		{"cgroup above the machine's memory", memlimit.Limit(16 << 30), memlimit.Limit(8 << 30), 8 << 30, "machine"},
		{"no cgroup", none, memlimit.Limit(8 << 30), 8 << 30, "machine"},
		{"cgroup that can't be read", broken, memlimit.Limit(8 << 30), 8 << 30, "machine"},
		{"cgroup alone", memlimit.Limit(2 << 30), broken, 2 << 30, "cgroup"},
		{"nothing", none, none, math.MaxInt64, "none"},
		{"values beyond all", memlimit.Limit(math.MaxUint64), memlimit.Limit(math.MaxUint64), math.MaxInt64, "none"},
	} {
		if bytes, source := find(test.cgroup, test.machine); bytes != test.bytes || source != test.source {
			t.Errorf("%s: %d by %s", test.name, bytes, source)
		}
	}
	if bytes, source := (Config{Limit: 1 << 30}).limit(); bytes != 1<<30 || source != "memory.Limit" {
		t.Errorf("the setting: %d by %s", bytes, source)
	}
	if bytes, source := (Config{}).limit(); bytes < Least || source == "memory.Limit" {
		t.Errorf("without a setting: %d by %s", bytes, source)
	}
}

func TestGoal(t *testing.T) {
	for _, test := range []struct {
		name          string
		limit, others int64
		want          int64
	}{
		{"remote", 2000 << 20, 0, 1800 << 20},
		{"smallest limit, remote", Least + 2, 0, Least / 10 * 9},
		{"in process", 8000 << 20, 3000 << 20, 4200 << 20},
		{"models that leave less than the floor", 8000 << 20, 7000 << 20, Floor},
		{"models that leave nothing", 8000 << 20, 9000 << 20, Floor},
		{"no limit", math.MaxInt64, 3000 << 20, math.MaxInt64},
	} {
		if got := goal(test.limit, test.others); math.Abs(float64(got-test.want)) > 10 {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestValidate(t *testing.T) {
	err := Config{Limit: Least - 1}.Validate()
	const want = "memory.Limit: 128 MiB is too small for the server: give 128 MiB or more"
	if err == nil || err.Error() != want {
		t.Error(err)
	}
	if err := errors.Join(Config{}.Validate(), Config{Limit: Least}.Validate()); err != nil {
		t.Error(err)
	}
}

func TestPressure(t *testing.T) {
	for part, want := range map[float64]float64{0: 0, Low: 0, (Low + High) / 2: 0.5, High: 1, 1: softLimitPressure} {
		if got := pressure(int64(part*(1<<40)), 1<<40); math.Abs(got-want) > 1e-6 {
			t.Errorf("at %v of the soft limit: %v, want %v", part, got, want)
		}
	}
}

// restored restores Go's soft limit at the end of a test.
func restored(t *testing.T) {
	t.Helper()
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
}

func newMonitor(t *testing.T, cfg Config) (*Monitor, *strings.Builder) {
	t.Helper()
	var log strings.Builder
	m, err := New(cfg, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return m, &log
}

// TestSoftLimit checks that the monitor sets Go's soft memory limit to nine tenths of Config.Limit,
// unless the operator has set GOMEMLIMIT.
func TestSoftLimit(t *testing.T) {
	restored(t)
	t.Setenv(operators, "")
	m, log := newMonitor(t, Config{Limit: 4000 << 20})
	m.apply()
	if got := debug.SetMemoryLimit(-1); got != 3600<<20 {
		t.Errorf("Go's soft limit is %d", got)
	}
	m.log.Info("memory limit", m.attributes()...)
	if want := `limit="3.91 GiB" from=memory.Limit go_limit="3.52 GiB" go_limit_from="nine tenths of the limit"`; !strings.Contains(log.String(), want) {
		t.Errorf("%s lacks %s", log, want)
	}
	t.Setenv(operators, "1GiB")
	debug.SetMemoryLimit(1 << 30) // the runtime does this at the start
	m, log = newMonitor(t, Config{Limit: 4000 << 20})
	m.apply()
	if got := debug.SetMemoryLimit(-1); got != 1<<30 || m.Figures().Goal != 1<<30 {
		t.Errorf("Go's soft limit is %d, the watermarks' %d", got, m.Figures().Goal)
	}
	m.log.Info("memory limit", m.attributes()...)
	if want := `go_limit="1.00 GiB" go_limit_from=GOMEMLIMIT`; !strings.Contains(log.String(), want) {
		t.Errorf("%s lacks %s", log, want)
	}
	debug.SetMemoryLimit(math.MaxInt64) // GOMEMLIMIT=off: the watermarks stay
	m.apply()
	if m.Figures().Goal != 3600<<20 {
		t.Errorf("the watermarks are of %d", m.Figures().Goal)
	}
}

// TestOthers checks that the monitor subtracts the memory of child processes from Go's soft memory
// limit.
func TestOthers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("measured on Linux")
	}
	m, _ := newMonitor(t, Config{InProcess: true})
	before, err := m.measureOthers()
	if err != nil {
		t.Fatal(err)
	}
	// A child of a child holds a string of this size in memory.
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `sh -c 'x=$(head -c 64000000 /dev/zero | tr "\0" x); echo ready; read y; echo $x'; true`)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	after, err := m.measureOthers()
	if grown := after - before; err != nil || grown < 60_000_000 || grown > 400_000_000 {
		t.Errorf("a child with 64 MB is %d bytes more: %v", grown, err)
	}
	out.Close()
	in.Close()
	_ = cmd.Wait() // the child can't print its string
}

// TestWatermark checks that the memory pressure is above 0 while Go's memory is full, and that it is
// 0 afterwards, even without further allocations.
func TestWatermark(t *testing.T) {
	restored(t)
	t.Setenv(operators, "")
	m, _ := newMonitor(t, Config{Limit: 400 << 20})
	m.apply()
	runtime.GC()
	if p := m.Pressure(); p != 0 {
		t.Fatalf("pressure %v at %+v", p, m.Figures())
	}
	ballast := make([]byte, 320<<20)
	runtime.GC()
	m.update()
	if p := m.Pressure(); p < 1 {
		t.Errorf("pressure %v at %+v", p, m.Figures())
	}
	runtime.KeepAlive(ballast)
	ballast = nil
	for range 2 { // the first call only records that there was no collection since the previous one
		m.update()
	}
	if p := m.Pressure(); p != 0 {
		t.Errorf("pressure %v at %+v, with nothing in use", p, m.Figures())
	}
	_ = ballast
}

// TestReturn checks that memory is returned to the system after some quiet seconds, including
// memory that requests still held at the first return.
func TestReturn(t *testing.T) {
	m, _ := newMonitor(t, Config{})
	held := make([]byte, 200<<20)
	quietly := func() int64 {
		for range int(2*idlePeriod/tick) + 1 {
			m.update()
		}
		return m.sample().resident >> 20
	}
	if n := quietly(); n < 200 {
		t.Errorf("Go has %d MiB", n)
	}
	runtime.KeepAlive(held)
	held = nil
	if n := quietly(); n > 100 {
		t.Errorf("of 200 MiB that nothing holds any more %d MiB aren't returned", n)
	}
	_ = held
}

// party returns the party of a key.
func party(name string) admission.Party { return admission.Party{Client: name} }

// TestSheds checks which clients are refused at each pressure: the heaviest first, up to the same
// share of all bytes.
func TestSheds(t *testing.T) {
	const mib = 1 << 20
	each := []admission.Holding{
		{Party: party("a"), Bytes: 50 * mib},
		{Party: party("b"), Bytes: 30 * mib},
		{Party: party("c"), Bytes: 15 * mib},
		{Party: party("d"), Bytes: 5*mib - LightHolding},
		{Party: party("e"), Bytes: LightHolding},
	}
	holdings := func() ([]admission.Holding, admission.Holding) { return each, admission.Holding{Bytes: 100 * mib} }
	for _, test := range []struct {
		pressure float64
		refused  string
	}{{0.01, "a"}, {0.5, "a"}, {0.51, "ab"}, {0.8, "ab"}, {0.81, "abc"}, {0.95, "abc"}, {0.96, "abcd"}, {1, "abcd"}, {softLimitPressure, "abcdef"}} {
		refused := ""
		for _, held := range append(slices.Clip(each), admission.Holding{Party: party("f")}) {
			if sheds(test.pressure, held, holdings) {
				refused += held.Party.Client
			}
		}
		if refused != test.refused {
			t.Errorf("at %v of the way between the watermarks the requests of %s are refused, want %s", test.pressure, refused, test.refused)
		}
	}
	if !sheds(0.01, admission.Holding{Party: party("g"), Bytes: 60 * mib}, holdings) {
		t.Error("a client whose next request would make it the heaviest isn't refused")
	}
	alone := func() ([]admission.Holding, admission.Holding) { return nil, admission.Holding{} }
	if !sheds(0.01, admission.Holding{Party: party("g"), Bytes: mib}, alone) {
		t.Error("the only client isn't refused")
	}
}

// TestGuard checks that, while memory is short, requests of a client that holds much memory are
// refused and requests of a client that holds little are admitted.
func TestGuard(t *testing.T) {
	restored(t)
	t.Setenv(operators, "")
	m, log := newMonitor(t, Config{Limit: 400 << 20})
	m.apply()
	heavy, light := admission.Holding{Party: party("heavy"), Bytes: 3 << 20}, admission.Holding{Party: party("light"), Bytes: 100}
	guard := m.Guard(func() ([]admission.Holding, admission.Holding) { return []admission.Holding{heavy}, heavy })
	runtime.GC()
	m.sample()
	if err := errors.Join(guard(heavy), guard(light)); err != nil || m.Figures().Shed != 0 {
		t.Errorf("with memory enough: %v", err)
	}
	ballast := make([]byte, 325<<20)
	runtime.GC()
	m.sample()
	if err := guard(light); err != nil {
		t.Errorf("the light client: %v, at %+v", err, m.Figures())
	}
	err := inference.AsError(guard(heavy))
	const message = "this server is low on memory, and the requests of this client use 3.00 MiB: try again later"
	if err.Code != inference.CodeOverloaded || err.Reason != inference.ReasonOverloaded || err.RetryAfter != 4*time.Second || err.Message != message {
		t.Errorf("the heavy client: %+v, at %+v", err, m.Figures())
	}
	if n := m.Figures().Shed; n != 1 {
		t.Errorf("%d requests are counted", n)
	}
	runtime.KeepAlive(ballast)
	ballast = nil
	for range int(recoveryTime/tick) + 2 {
		m.update()
	}
	if text := log.String(); strings.Count(text, "memory is low: requests of the clients that use most memory are refused") != 1 ||
		strings.Count(text, "memory is sufficient again") != 1 {
		t.Errorf("logged: %s", text)
	}
	if err := guard(heavy); err != nil {
		t.Errorf("with memory enough again: %v", err)
	}
	_ = ballast
}
