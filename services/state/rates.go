package state

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/trident-inference/trident/services/ratelimit"
)

// takeSource takes units from buckets, or from none if one has too few. KEYS are the buckets. Each has the
// time at which it will be full, in seconds since 2017 by the server's clock: so a double has room for
// microseconds. Its units per second and its size follow, because the time means other units under
// another rate: a changed rate keeps the units, up to the new size, as [ratelimit.Bucket.Resize] does.
// ARGV has four numbers for each bucket: its units per second and its size, the units that it must have,
// and the units that are taken. The result is the number of the first bucket with too few units or 0, the
// seconds until it has enough, and the seconds until each bucket is full. It is GCRA, as in
// ratelimit.Bucket. Clocks of replicas don't matter.
//
//nolint:dupword // Lua ends blocks by this word
const takeSource = `
local time = redis.call('TIME')
local now = time[1] - 1483228800 + time[2] / 1000000
local full, changed, refused, wait = {}, {}, 0, 0
for i, key in ipairs(KEYS) do
  local rate, size, need = tonumber(ARGV[4*i-3]), tonumber(ARGV[4*i-2]), tonumber(ARGV[4*i-1])
  full[i] = now
  local at, r, s = string.match(redis.call('GET', key) or '', '^(%S+) (%S+) (%S+)$')
  if at then
    full[i], r, s = math.max(tonumber(at), now), tonumber(r), tonumber(s)
    if r ~= rate or s ~= size then
      full[i], changed[i] = now + (size - math.min(s - (full[i] - now) * r, size)) / rate, true
    end
  end
  local missing = need - (size - (full[i] - now) * rate)
  if refused == 0 and need > 0 and missing > 0.00001 then
    refused, wait = i, missing / rate
  end
end
local result = {refused, string.format('%.9f', wait)}
for i, key in ipairs(KEYS) do
  if refused == 0 then
    full[i] = math.max(full[i] + ARGV[4*i] / ARGV[4*i-3], now)
  end
  if changed[i] or refused == 0 and tonumber(ARGV[4*i]) ~= 0 then
    local value = string.format('%.9f %s %s', full[i], ARGV[4*i-3], ARGV[4*i-2])
    redis.call('SET', key, value, 'PX', math.max(1, math.min(math.ceil((full[i] - now) * 1000), 4e12)))
  end
  result[i+2] = string.format('%.9f', full[i] - now)
end
return result`

var takeScript = redis.NewScript(takeSource) //nolint:gochecknoglobals // a constant

// probeInterval is the time between two attempts to reach a store that is away.
const probeInterval = 500 * time.Millisecond

// errAway is returned for a store that was away at the last attempt.
var errAway = errors.New("the shared store is away")

// Rates are buckets that several Tridents share. It implements [ratelimit.Store]. While the store is
// away, only its own attempts wait for it, and requests get an error at once.
type Rates struct {
	store *Store
	away  atomic.Bool
	took  atomic.Bool   // a take has succeeded
	lost  chan struct{} // wakes up the attempts
	stop  context.CancelFunc
	work  sync.WaitGroup
}

// NewRates returns the buckets in a store. Start begins the attempts to reach a store that went away.
func NewRates(store *Store) *Rates {
	return &Rates{store: store, lost: make(chan struct{}, 1), stop: func() {}}
}

// Start begins to watch over the store. It doesn't wait for it.
func (r *Rates) Start(ctx context.Context) error {
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	r.work.Go(func() {
		for {
			select {
			case <-r.lost:
				r.probe(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	return nil
}

// Stop ends the attempts. The store stays open.
func (r *Rates) Stop(context.Context) error {
	r.stop()
	r.work.Wait()
	return nil
}

// probeTakes take from buckets of their own as requests do, and write them each time. A store that is
// full, is a read-only replica or refuses scripts answers a ping, but has no buckets.
func probeTakes() []ratelimit.Take {
	rate := ratelimit.Rate{PerSecond: 1000, Size: 1}
	return []ratelimit.Take{{Name: "probe:1", Rate: rate, Units: 1}, {Name: "probe:2", Rate: rate, Units: 1}}
}

// Ready returns nil once units were taken from the store, and otherwise the reason. A store that goes away
// later doesn't make Tridents unready, because each then has its own buckets.
func (r *Rates) Ready(ctx context.Context) error {
	if r.took.Load() {
		return nil
	}
	_, err := r.take(ctx, probeTakes())
	return r.store.explain(err)
}

// probe takes from its buckets until that succeeds.
func (r *Rates) probe(ctx context.Context) {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		if _, err := r.take(ctx, probeTakes()); err == nil {
			r.away.Store(false)
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Take implements [ratelimit.Store].
func (r *Rates) Take(ctx context.Context, takes []ratelimit.Take) (ratelimit.Taken, error) {
	if r.away.Load() {
		return ratelimit.Taken{}, errAway
	}
	taken, err := r.take(ctx, takes)
	if err != nil && ctx.Err() == nil {
		r.away.Store(true)
		select {
		case r.lost <- struct{}{}:
		default: // the attempts have begun
		}
	}
	return taken, err
}

// ratePrefix begins the keys of buckets. The braces make them one slot of a cluster, because one script has
// several of them.
const ratePrefix = prefix + "{rate}:"

// take runs the script. If the connection breaks during the call, the client repeats it, so that units may
// be taken twice: the request pays more, and no rate is exceeded.
func (r *Rates) take(ctx context.Context, takes []ratelimit.Take) (ratelimit.Taken, error) {
	keys, arguments := make([]string, len(takes)), make([]any, 0, 4*len(takes))
	for i, t := range takes {
		keys[i] = ratePrefix + t.Name
		arguments = append(arguments, number(t.Rate.PerSecond), number(t.Rate.Size), number(t.Need), number(t.Units))
	}
	var values []any
	err := r.store.do(ctx, func(ctx context.Context) (err error) {
		values, err = takeScript.Run(ctx, r.store.client, keys, arguments...).Slice()
		return err
	})
	if err != nil {
		return ratelimit.Taken{}, err
	}
	taken, err := takenOf(values, len(takes))
	if err == nil {
		r.took.Store(true)
	}
	return taken, err
}

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// takenOf reads the result of takeScript for n buckets.
func takenOf(values []any, n int) (taken ratelimit.Taken, err error) {
	if len(values) != n+2 {
		return taken, fmt.Errorf("the store returned %d values for %d buckets", len(values), n)
	}
	refused, ok := values[0].(int64)
	times := make([]time.Duration, n+1)
	for i := range times {
		text, isText := values[i+1].(string)
		seconds, wrong := strconv.ParseFloat(text, 64)
		ok = ok && isText && wrong == nil
		times[i] = ratelimit.Seconds(seconds)
	}
	if !ok {
		return taken, fmt.Errorf("the store returned %v for %d buckets", values, n)
	}
	return ratelimit.Taken{Refused: int(refused) - 1, Wait: times[0], Resets: times[1:]}, nil
}
