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

// takeSource takes units from buckets, or from none if one has too few. KEYS are the buckets, each the
// time at which it will be full, in seconds since 2017 by the server's clock: so a double has room for
// microseconds. ARGV has four numbers for each bucket: its units per second and its size, the units that
// it must have, and the units that are taken. The result is the number of the first bucket with too few
// units or 0, the seconds until it has enough, and the seconds until each bucket is full. It is GCRA, as in
// ratelimit.Bucket. Clocks of replicas don't matter.
//
//nolint:dupword // Lua ends blocks by this word
const takeSource = `
local time = redis.call('TIME')
local now = time[1] - 1483228800 + time[2] / 1000000
local full, refused, wait = {}, 0, 0
for i, key in ipairs(KEYS) do
  local rate, size, need = tonumber(ARGV[4*i-3]), tonumber(ARGV[4*i-2]), tonumber(ARGV[4*i-1])
  full[i] = math.max(tonumber(redis.call('GET', key) or now), now)
  local missing = need - (size - (full[i] - now) * rate)
  if refused == 0 and need > 0 and missing > 0.00001 then
    refused, wait = i, missing / rate
  end
end
local result = {refused, string.format('%.9f', wait)}
for i, key in ipairs(KEYS) do
  if refused == 0 then
    full[i] = math.max(full[i] + ARGV[4*i] / ARGV[4*i-3], now)
    if tonumber(ARGV[4*i]) ~= 0 then
      redis.call('SET', key, string.format('%.9f', full[i]), 'PX', math.max(1, math.min(math.ceil((full[i] - now) * 1000), 4e12)))
    end
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

// probe takes from a bucket of its own until that succeeds. A store that is full answers a ping, but
// takes no records.
func (r *Rates) probe(ctx context.Context) {
	tick := time.NewTicker(probeInterval)
	defer tick.Stop()
	for {
		if _, err := r.take(ctx, []ratelimit.Take{{Name: "probe", Rate: ratelimit.Rate{PerSecond: 1, Size: 1}, Units: 1}}); err == nil {
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

func (r *Rates) take(ctx context.Context, takes []ratelimit.Take) (ratelimit.Taken, error) {
	keys, arguments := make([]string, len(takes)), make([]any, 0, 4*len(takes))
	for i, t := range takes {
		keys[i] = prefix + "rate:" + t.Name
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
	return takenOf(values, len(takes))
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
