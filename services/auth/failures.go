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

// The limit on failed authentications is a token bucket. An address may fail failuresAtOnce
// times at once and then once every failurePause. Addresses are hashed to failureBuckets
// buckets, which bounds the memory.
const (
	failuresAtOnce = 100
	failurePause   = time.Second
	failureBuckets = 1024
)

// failures is the rate limiter of failed authentications, which limits their cost. Each further
// failure of an address beyond the limit returns 429, and one log line covers all of them.
//
// failures never locks a client out: a request with a valid key always passes. All clients of a
// company or of a proxy may share an address, and the failures of one client must not affect
// another client. The check of a key takes a microsecond, and keys are too long to be guessed
// at any rate. Addresses that share a bucket by chance share its limit, which only changes 401
// to 429.
type failures struct {
	log  *slog.Logger
	seed maphash.Seed

	mu      sync.Mutex
	buckets [failureBuckets]*rate.Limiter // nil before the first failure
	refused uint64
	since   uint64    // number of failures with 429 since the last log line
	logged  time.Time // time of the last log line
}

// failureLogPause is the minimum interval of the log lines about refused failures.
const failureLogPause = 10 * time.Second

func newFailures(log *slog.Logger) *failures { return &failures{log: log, seed: maphash.MakeSeed()} }

// bound returns the error of a failed authentication: failed itself, or a 429 error beyond the
// limit. bound returns failed for a request without an address.
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
		f.log.Warn("an address fails authentication too often: further failures get 429 and aren't logged one by one", "address", address, "failures", f.since)
		f.logged, f.since = now, 0
	}
	return &inference.Error{
		Code: inference.CodeLimited, Reason: inference.ReasonAuthFailures, RetryAfter: failurePause,
		Message: fmt.Sprintf("%s; too many requests from this address have failed authentication: send a valid key", inference.AsError(failed).Message),
	}
}

// count returns the number of failures that got 429.
func (f *failures) count() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refused
}
