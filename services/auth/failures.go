package auth

import (
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/trident-inference/trident/services/inference"
)

// An address may have failuresAtOnce failed authentications, and one more each failurePause.
// There are failureBuckets of them, so that what is remembered of addresses is bounded
// however many there are.
const (
	failuresAtOnce = 100
	failurePause   = time.Second
	failureBuckets = 1024
)

// ReasonFailures is that of errors of addresses whose authentications fail too often.
const ReasonFailures = "too_many_authentication_failures"

// failures bounds what failed authentications cost: beyond some of an address they get 429
// and are logged together. It locks nobody out. Behind one address are a company's clients,
// or all those of a proxy, so that a client with a valid key must not suffer from
// another's failures; and to check a key costs a microsecond, while keys are too long to be
// guessed at any rate. So keys are looked at always, and valid ones pass always. Addresses
// that share a bucket by chance share its bound, which changes nothing but these answers.
type failures struct {
	log  *slog.Logger
	seed maphash.Seed

	mu      sync.Mutex
	buckets [failureBuckets]*rate.Limiter // nil before the first failure
	refused uint64
	since   uint64    // refused ones since the last line in the log
	logged  time.Time // when that was
}

// failureLogPause is the least time between two lines of it in the log.
const failureLogPause = 10 * time.Second

func newFailures(log *slog.Logger) *failures { return &failures{log: log, seed: maphash.MakeSeed()} }

// bound returns the error of a failed authentication: that of the key, or that there are too
// many. A request that comes from no address, as those of tests, is bounded by nothing.
func (f *failures) bound(address netip.Addr, failed error) error {
	if !address.IsValid() {
		return failed
	}
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	bucket := &f.buckets[maphash.Comparable(f.seed, address)%failureBuckets]
	if *bucket == nil {
		*bucket = rate.NewLimiter(rate.Every(failurePause), failuresAtOnce)
	}
	if (*bucket).AllowN(now, 1) {
		return failed
	}
	f.refused++
	f.since++
	if now.Sub(f.logged) >= failureLogPause {
		f.log.Warn("authentication fails too often: further failures are answered with 429 and not logged one by one", "address", address, "failures", f.since)
		f.logged, f.since = now, 0
	}
	return &inference.Error{
		Code: inference.CodeLimited, Reason: ReasonFailures, RetryAfter: failurePause,
		Message: fmt.Sprintf("%s, and too many requests from this address have failed: send a valid key", inference.AsError(failed).Message),
	}
}

// count is how many failures were refused as too many.
func (f *failures) count() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refused
}
