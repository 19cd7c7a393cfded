package memory

import (
	"context"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/trident-inference/trident/services/catalog"
)

// Low and High are the watermarks of Go's memory, as fractions of its soft limit. Above Low,
// requests of the heaviest clients are refused. Above High, requests of all clients with more than
// [LightHolding] are refused. The memory above High is for admitted requests.
const (
	Low  = 0.65
	High = 0.85
)

// sampleInterval is the time for which a measurement of Go's memory is reused by all requests.
const sampleInterval = 5 * time.Millisecond

// The intervals and limits of the memory maintenance.
const (
	tick = time.Second
	// idlePeriod is the time with few allocations after which idle memory is returned to the system. The
	// memory is returned again after pauses that double up to longest, which is the interval of
	// Go's own forced collections: memory of requests in flight becomes garbage later.
	idlePeriod, maxReturnPause = 5 * time.Second, 2 * time.Minute
	// idleAllocation is the maximum number of bytes allocated in an idle period.
	idleAllocation = 32 << 20
)

// Figures are the memory figures at one moment, in bytes.
type Figures struct {
	// Limit of this process and its child processes. It is math.MaxInt64 if there is no limit.
	Limit int64
	// Goal is Go's soft memory limit.
	Goal int64
	// Used is Go's memory in use: live objects at the last collection, stacks and the runtime's own
	// memory.
	Used int64
	// Others is the memory of in-process Triton and its child processes at the last measurement.
	Others int64
	// Shed is the number of requests that were refused because memory was short.
	Shed uint64
}

// Monitor sets Go's soft limit and measures Go's memory against it. Methods may be called
// concurrently.
type Monitor struct {
	cfg    Config
	log    *slog.Logger
	limit  int64
	source string

	limitBodies func(bytes int64)

	goal, others atomic.Int64
	began        time.Time
	sampled      atomic.Int64  // time of the last sample, in nanoseconds since began
	used         atomic.Int64  // memory in use at the last sample
	pressure     atomic.Uint64 // pressure at the last sample, as the bits of a float64
	shed         atomic.Uint64

	mu      sync.Mutex // guards samples
	samples []metrics.Sample

	stop context.CancelFunc
	done sync.WaitGroup

	// The maintenance goroutine uses collections and the following fields.
	collections uint64        // collections at the previous tick
	allocated   uint64        // bytes allocated at the start of the idle period
	idleFor     time.Duration // duration of the idle period, or time since memory was last returned
	pause       time.Duration // value of calm at which memory is returned
	reported    uint64        // requests refused up to the previous tick
	refusing    time.Duration // time since the last refused request while refusals are logged as ongoing; otherwise -1
}

// New returns a monitor with the configured or detected limit.
func New(cfg Config, log *slog.Logger) (*Monitor, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	m := &Monitor{cfg: cfg, log: log, began: time.Now(), samples: newSamples(), limitBodies: func(int64) {}}
	m.limit, m.source = cfg.limit()
	m.goal.Store(math.MaxInt64)
	m.refusing, m.pause = -1, idlePeriod
	m.sampled.Store(-int64(sampleInterval))
	return m, nil
}

// Start sets Go's soft limit, logs it, and runs the maintenance until Stop. The maintenance
// measures the memory of Triton again after each change of the models, and returns idle memory to
// the system. Start calls limitBodies with the limit of all bodies in bytes, and the maintenance
// calls it at each change.
func (m *Monitor) Start(ctx context.Context, models *catalog.Watch, limitBodies func(bytes int64)) {
	m.limitBodies = limitBodies
	m.apply()
	m.log.Info("memory limit", m.attributes()...)
	if own, ok := operatorsLimit(); ok && own > goal(m.limit, 0) {
		m.log.Warn("GOMEMLIMIT is above nine tenths of the memory limit: the process may be killed before Go collects its garbage",
			"go_limit", text(own), "limit", text(m.limit), "from", m.source)
	}
	ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	m.done.Go(func() { m.follow(ctx, models) })
}

// Stop ends the maintenance and waits for it. Go's soft limit stays.
func (m *Monitor) Stop() {
	if m.stop != nil {
		m.stop()
	}
	m.done.Wait()
}

func (m *Monitor) attributes() []any {
	from := "nine tenths of the limit"
	switch _, own := operatorsLimit(); {
	case own:
		from = operators
	case m.others.Load() > 0 && m.goal.Load() == Floor:
		from = "the minimum, because Triton and its child processes use most of the limit"
	case m.others.Load() > 0:
		from = "nine tenths of the limit, minus the memory of Triton and its child processes"
	}
	return []any{"limit", text(m.limit), "from", m.source, "go_limit", text(m.goal.Load()), "go_limit_from", from, "triton", text(m.others.Load())}
}

// apply measures other memory and sets Go's soft limit. It reports whether the soft limit has
// changed by more than a tenth. If the operator has set Go's soft limit, apply doesn't change it,
// and the watermarks are relative to the smaller one.
func (m *Monitor) apply() (changed bool) {
	if m.cfg.InProcess {
		others, err := m.measureOthers()
		if err != nil {
			m.log.Warn("the memory of Triton and its child processes can't be measured and is assumed to be 0", "error", err)
		}
		m.others.Store(others)
	}
	soft := goal(m.limit, m.others.Load())
	if own, ok := operatorsLimit(); ok {
		soft = min(soft, own)
	} else {
		debug.SetMemoryLimit(soft)
	}
	before := m.goal.Swap(soft)
	m.limitBodies(soft / bodies)
	return math.Abs(float64(soft)-float64(before)) > float64(before)/10
}

// follow runs the maintenance until ctx ends.
func (m *Monitor) follow(ctx context.Context, models *catalog.Watch) {
	defer models.Close()
	every := time.NewTicker(tick)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-models.Updates():
			models.Next()
			if m.cfg.InProcess && m.apply() {
				m.log.Info("memory limit", m.attributes()...)
			}
		case <-every.C:
			m.update()
		}
	}
}

// update updates the measurement, and reduces Go's memory while few bytes are allocated. Go itself
// collects only when its heap has grown, which doesn't happen while all requests are refused.
func (m *Monitor) update() {
	m.report()
	now := m.sample()
	if m.Pressure() > 0 && now.collections == m.collections {
		runtime.GC()
		now = m.sample()
	}
	m.collections = now.collections
	if now.allocated-m.allocated > idleAllocation {
		m.allocated, m.idleFor, m.pause = now.allocated, 0, idlePeriod
		return
	}
	if m.idleFor += tick; m.idleFor < m.pause {
		return
	}
	m.idleFor, m.pause = 0, min(2*m.pause, maxReturnPause)
	runtime.GC() // pools keep their contents through one collection
	debug.FreeOSMemory()
	now = m.sample()
	m.collections, m.allocated = now.collections, now.allocated
}

// recoveryTime is the time without a refused request after which the log reports that memory suffices.
const recoveryTime = 30 * time.Second

// report logs when the refusal of requests starts and when it ends.
func (m *Monitor) report() {
	refused := m.shed.Load()
	switch more := refused - m.reported; {
	case more > 0 && m.refusing < 0:
		m.log.Warn("memory is low: requests of the clients that use most memory are refused",
			"in_use", text(m.used.Load()), "go_limit", text(m.goal.Load()), "refused", more)
		m.refusing = 0
	case more > 0:
		m.refusing = 0
	case m.refusing >= 0:
		if m.refusing += tick; m.refusing >= recoveryTime {
			m.log.Info("memory is sufficient again: no requests are refused because of it", "in_use", text(m.used.Load()), "refused_in_all", refused)
			m.refusing = -1
		}
	}
	m.reported = refused
}

// Pressure is 0 while Go's memory is below the low watermark and 1 at the high watermark. It is
// linear between and above them.
func (m *Monitor) Pressure() float64 {
	now := int64(time.Since(m.began))
	if last := m.sampled.Load(); now-last >= int64(sampleInterval) && m.sampled.CompareAndSwap(last, now) {
		m.sample()
	}
	return math.Float64frombits(m.pressure.Load())
}

// Figures returns the memory as it is now.
func (m *Monitor) Figures() Figures {
	m.Pressure()
	return Figures{Limit: m.limit, Goal: m.goal.Load(), Used: m.used.Load(), Others: m.others.Load(), Shed: m.shed.Load()}
}

// state is a measurement of the Go runtime. All fields except collections are in bytes.
type state struct {
	used        int64 // live objects at the last collection plus all non-heap memory
	resident    int64 // memory that Go has from the system
	allocated   uint64
	collections uint64
}

// The indexes of the samples in [newSamples].
const (
	live = iota
	objects
	unused
	free
	released
	total
	allocs
	cycles
)

func newSamples() []metrics.Sample {
	return []metrics.Sample{
		live:     {Name: "/gc/heap/live:bytes"},
		objects:  {Name: "/memory/classes/heap/objects:bytes"},
		unused:   {Name: "/memory/classes/heap/unused:bytes"},
		free:     {Name: "/memory/classes/heap/free:bytes"},
		released: {Name: "/memory/classes/heap/released:bytes"},
		total:    {Name: "/memory/classes/total:bytes"},
		allocs:   {Name: "/gc/heap/allocs:bytes"},
		cycles:   {Name: "/gc/cycles/total:gc-cycles"},
	}
}

// sample measures the memory. Garbage isn't counted, because Go's soft limit makes the runtime
// collect it in time. If the heap exceeds the soft limit, the whole heap is counted.
func (m *Monitor) sample() state {
	m.mu.Lock()
	defer m.mu.Unlock()
	metrics.Read(m.samples)
	of := func(i int) int64 { return int64(m.samples[i].Value.Uint64()) }
	s := state{resident: of(total) - of(released), allocated: m.samples[allocs].Value.Uint64(), collections: m.samples[cycles].Value.Uint64()}
	rest := s.resident - of(objects) - of(unused) - of(free)
	s.used = min(of(live), of(objects)) + rest
	soft := m.goal.Load()
	if of(objects)+rest >= soft {
		s.used = of(objects) + rest
	}
	m.used.Store(s.used)
	m.pressure.Store(math.Float64bits(pressure(s.used, soft)))
	return s
}

func pressure(used, soft int64) float64 {
	part := float64(used) / float64(soft)
	return max(0, (part-Low)/(High-Low))
}
