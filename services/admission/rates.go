package admission

import (
	"context"
	"fmt"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/ratelimit"
)

// quota is a bucket with its rate. With a store of rates it is the last known state of the shared
// bucket, from which this server continues while the store is away.
type quota struct {
	rate   ratelimit.Rate
	bucket ratelimit.Bucket
}

// set returns the quota with a new rate, or nil if there is no rate.
func (q *quota) set(rate ratelimit.Rate, now time.Time) *quota {
	switch {
	case rate.PerSecond == 0:
		return nil
	case q == nil:
		return &quota{rate: rate}
	case q.rate != rate:
		q.bucket.Resize(q.rate, rate, now)
		q.rate = rate
	}
	return q
}

// spending describes the units that a request takes from one bucket.
type spending struct {
	quota *quota
	take  ratelimit.Take
	// refused returns the error if the bucket has too little.
	refused func(wait time.Duration) *inference.Error
	why     refusal
	// here is set if the units belong to this server's own bucket, as spend took them there.
	here bool
}

// spendRequest returns the spending of one request from each scope's rate.
func spendRequest(scopes ...*scope) []spending {
	var all []spending
	for _, s := range scopes {
		if s == nil || s.requests == nil {
			continue
		}
		all = append(all, spending{
			quota: s.requests, take: ratelimit.Take{Name: s.name + ":requests", Rate: s.requests.rate, Need: 1, Units: 1},
			refused: s.rateError, why: refusedRate,
		})
	}
	return all
}

// spendTokens returns the spending of tokens from a scope that has a rate of them. The bucket must have
// as many as are needed.
func (s *scope) spendTokens(need, units float64) spending {
	return spending{
		quota: s.tokens, take: ratelimit.Take{Name: s.name + ":tokens", Rate: s.tokens.rate, Need: need, Units: units},
		refused: func(wait time.Duration) *inference.Error { return s.tokenError(need, wait) }, why: refusedTokens,
	}
}

// tokenError returns the error of a request that needs more tokens than are left.
func (s *scope) tokenError(need float64, wait time.Duration) *inference.Error {
	needs := fmt.Sprintf("this request needs %d, counted by its prompt and by the maximum of its answer", int(need))
	if need <= 1 {
		needs = "none is left"
	}
	return &inference.Error{
		Code: inference.CodeLimited, Reason: inference.ReasonRateLimit, RetryAfter: wait,
		Message: fmt.Sprintf("too many tokens%s: the limit is %d tokens per minute, and %s: try again later", s.of, s.limits.TokensPerMinute, needs),
	}
}

// Share sets the store of rates, whose buckets several servers share. Call it before the first
// request.
func (a *Controller) Share(store ratelimit.Store) { a.shared = store }

// Alone returns the number of times that this server's own buckets were used because the store of
// rates was away.
func (a *Controller) Alone() uint64 { return a.alone.Load() }

// spend takes from all buckets or, if one of them has too little, from none. The caller holds the lock,
// which spend releases while it waits for the store of rates. It sets here if it uses own buckets because
// the store is away.
func (a *Controller) spend(ctx context.Context, now time.Time, all []spending) (refusal, error) {
	switch {
	case len(all) == 0:
		return 0, nil
	case a.shared == nil || all[0].here:
		return spendHere(now, all)
	}
	taken, err := a.takeShared(ctx, all)
	if err != nil {
		if ctx.Err() == nil { // otherwise the client has disconnected, and the store may be there
			a.alone.Add(1)
		}
		for i := range all {
			all[i].here = true
		}
		return spendHere(now, all)
	}
	now = time.Now()
	for i := range all {
		all[i].quota.bucket.SetReset(now, taken.Resets[i])
	}
	if i := taken.Refused; i >= 0 {
		return all[i].why, all[i].refused(taken.Wait)
	}
	return 0, nil
}

// takeShared takes from the shared buckets. It releases the lock meanwhile.
func (a *Controller) takeShared(ctx context.Context, all []spending) (ratelimit.Taken, error) {
	takes := make([]ratelimit.Take, len(all))
	for i := range all {
		takes[i] = all[i].take
	}
	a.mu.Unlock()
	defer a.mu.Lock() // after a panic too, as the caller unlocks
	return a.shared.Take(ctx, takes)
}

// spendHere takes from this server's own buckets.
func spendHere(now time.Time, all []spending) (refusal, error) {
	for i := range all {
		s := &all[i]
		if s.take.Need <= 0 {
			continue
		}
		if wait := s.quota.bucket.Wait(s.quota.rate, now, s.take.Need); wait > 0 {
			return s.why, s.refused(wait)
		}
	}
	for i := range all {
		s := &all[i]
		s.quota.bucket.Add(s.quota.rate, now, s.take.Units)
	}
	return 0, nil
}

// Reserve takes tokens of the client's minute before its request runs on a model: those of the prompt,
// and those that the answer may have. [Ticket.Leave] corrects the number by that of [Ticket.Spend]. A
// request that needs more than the tokens of a minute needs and takes these. Reserve returns an error if
// the client has too few tokens left. It does nothing if the client has no limit.
func (t *Ticket) Reserve(tokens int) error {
	if known := inference.ClientOf(t); known == nil || known.Limits.TokensPerMinute == 0 || tokens <= 0 {
		return nil
	}
	a := t.controller
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.client.tokens == nil { // the limit was removed meanwhile
		return nil
	}
	units := min(float64(tokens), t.client.tokens.rate.Size)
	all := []spending{t.client.spendTokens(units, units)}
	if _, err := a.spend(t, time.Now(), all); err != nil {
		return err
	}
	t.reserved += units
	t.here = all[0].here
	return nil
}

// Reserved reports whether the request has tokens of its client's minute.
func (t *Ticket) Reserved() bool { return t.reserved > 0 }

// Spend sets the number of tokens that the request has used, which is 0 before the first call.
func (t *Ticket) Spend(tokens int) { t.spent = float64(tokens) }

// SpendReserved sets the number of tokens that the request has used to those that it has reserved, if
// Spend wasn't called: the true number isn't known.
func (t *Ticket) SpendReserved() {
	if t.spent == 0 {
		t.spent = t.reserved
	}
}

// settle corrects the tokens that the request has reserved. The caller holds the lock.
func (a *Controller) settle(t *Ticket) {
	more := t.spent - t.reserved
	if t.reserved == 0 || more == 0 || t.client.tokens == nil {
		return
	}
	t.reserved = 0
	correction := t.client.spendTokens(0, more)
	correction.here = t.here // what the shared bucket hasn't given isn't returned to it
	// The request has ended, so that its context may have, too.
	_, _ = a.spend(context.WithoutCancel(t), time.Now(), []spending{correction}) // nothing is needed, so that this can't be refused
}

// Rate describes the remainder of a rate, in the terms of OpenAI's rate limit headers.
type Rate struct {
	// Limit is the number of requests or tokens that may be used at once, and Remaining the number left
	// now.
	Limit, Remaining int
	// Reset is the time until Remaining equals Limit if nothing more is used.
	Reset time.Duration
}

// remaining returns what remains of a quota.
func (q *quota) remaining(now time.Time) Rate {
	return Rate{Limit: int(q.rate.Size), Remaining: q.bucket.Whole(q.rate, now), Reset: q.bucket.Reset(now)}
}

// Rate returns the number of requests that may start now: the smaller one of the client's and the
// server's number. Rate returns false if neither the client nor the server has a rate.
func (a *Controller) Rate(ctx context.Context) (least Rate, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for _, s := range [...]*scope{&a.clientOf(ctx).scope, &a.server} {
		if s.requests == nil {
			continue
		}
		if r := s.requests.remaining(now); !ok || r.Remaining < least.Remaining {
			least, ok = r, true
		}
	}
	return least, ok
}

// Tokens returns the number of tokens that the client may use now. It returns false if the client has no
// limit of them.
func (a *Controller) Tokens(ctx context.Context) (left Rate, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	tokens := a.clientOf(ctx).tokens
	if tokens == nil {
		return left, false
	}
	return tokens.remaining(time.Now()), true
}
