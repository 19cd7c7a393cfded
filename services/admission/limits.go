package admission

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/ratelimit"
)

// burst returns the number of requests that may start at once under a rate.
func burst(l inference.Limits) int {
	return cmp.Or(l.Burst, max(1, int(min(math.Ceil(l.Rate), math.MaxInt32))))
}

// validate returns an error that names the first invalid field of limits, below the given field.
func validate(l inference.Limits, of configfield.Field) error {
	switch {
	case l.InFlight < 0:
		return configfield.Errorf(of+".InFlight", "%d is negative: give 0 or more", l.InFlight)
	case l.Queued < inference.NoQueue:
		return configfield.Errorf(of+".Queued", "%d is negative: give 0 or more", l.Queued)
	case l.Rate < 0 || math.IsNaN(l.Rate) || math.IsInf(l.Rate, 0):
		return configfield.Errorf(of+".Rate", "%v is not a rate: give a number of requests per second, 0 or more", l.Rate)
	case l.Burst < 0:
		return configfield.Errorf(of+".Burst", "%d is negative: give 0 or more", l.Burst)
	}
	return nil
}

// Bounds are the limits of the server. The zero value has no limits.
type Bounds struct {
	// Server limits all requests together.
	Server inference.Limits
	// Models limits the requests of each model, by its own name. The limits of "" apply to models
	// without an entry.
	Models map[string]inference.Limits
	// BodyBytes limits the bytes of the bodies of all requests in flight together. 0 means no
	// limit.
	BodyBytes int64
	// Reading limits the number of requests that are being read or decoded at once. Decoding limits
	// the number that are being decoded. 0 means no limit.
	Reading, Decoding int
	// RequestTimeout is the maximum duration of a request. 0 means no limit.
	RequestTimeout time.Duration
}

// Validate returns an error that names the first invalid field.
func (b Bounds) Validate() error {
	for _, limits := range b.Models {
		if err := validate(limits, "admission.Models"); err != nil {
			return err
		}
	}
	switch {
	case b.BodyBytes < 0:
		return configfield.Errorf("admission.BodyBytes", "%d is negative: give 0 or more", b.BodyBytes)
	case b.Reading < 0:
		return configfield.Errorf("admission.Reading", "%d is negative: give 0 or more", b.Reading)
	case b.Decoding < 0:
		return configfield.Errorf("admission.Decoding", "%d is negative: give 0 or more", b.Decoding)
	case b.RequestTimeout < 0:
		return configfield.Errorf("admission.RequestTimeout", "%s is negative: give a duration of 0 or more", b.RequestTimeout)
	}
	return validate(b.Server, "admission.Server")
}

// intake returns the limits of the ledger.
func (b Bounds) intake() intakeLimits {
	return intakeLimits{bytes: b.BodyBytes, reading: b.Reading, decoding: b.Decoding}
}

// model returns the limits of a model.
func (b Bounds) model(name string) inference.Limits {
	if limits, ok := b.Models[name]; ok {
		return limits
	}
	return b.Models[""]
}

// scope is the unit that limits apply to: the server, a model or a client. The controller's lock
// guards it.
type scope struct {
	limits            inference.Limits
	requests, tokens  *quota // nil if there is no rate
	inFlight, waiting int
	// of names the owner of the limits in errors, and name in the store of rates. The field own is set
	// for a client's limits, which the client itself exceeds.
	of, name string
	own      bool
}

// set changes the limits. The units in the buckets stay.
func (s *scope) set(limits inference.Limits) {
	if s.limits == limits {
		return
	}
	s.limits = limits
	now := time.Now()
	s.requests = s.requests.set(ratelimit.Rate{PerSecond: limits.Rate, Size: float64(burst(limits))}, now)
	perMinute := float64(limits.TokensPerMinute)
	s.tokens = s.tokens.set(ratelimit.Rate{PerSecond: perMinute / 60, Size: perMinute}, now)
}

func (s *scope) hasCapacity() bool { return s.limits.InFlight == 0 || s.inFlight < s.limits.InFlight }

// busy reports whether any request is in flight or queued.
func (s *scope) busy() bool { return s.inFlight+s.waiting > 0 }

// fullRetry is the suggested delay before a retry if all slots are taken. The time at which a slot
// becomes free isn't known.
const fullRetry = time.Second

// full returns the error of a request without a free slot.
func (s *scope) full() *inference.Error {
	e := &inference.Error{
		Code: inference.CodeOverloaded, Reason: inference.ReasonOverloaded, RetryAfter: fullRetry,
		Message: fmt.Sprintf("too many requests%s: %d are in flight and %d are queued, which is the limit: try again later", s.of, s.inFlight, s.waiting),
	}
	if s.own {
		e.Code, e.Reason = inference.CodeLimited, inference.ReasonRateLimit
	}
	return e
}

// rateError returns the error of a request that exceeds the rate.
func (s *scope) rateError(wait time.Duration) *inference.Error {
	return &inference.Error{
		Code: inference.CodeLimited, Reason: inference.ReasonRateLimit, RetryAfter: wait,
		Message: fmt.Sprintf("too many requests%s: the rate limit is %v requests per second: try again later", s.of, s.limits.Rate),
	}
}
