package admission

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/inference"
)

// burst is how many requests may begin at once under a rate.
func burst(l inference.Limits) int {
	return cmp.Or(l.Burst, max(1, int(min(math.Ceil(l.Rate), math.MaxInt32))))
}

// validate names the field of limits that can't be used, below the field that has them.
func validate(l inference.Limits, of configfield.Field) error {
	switch {
	case l.InFlight < 0:
		return configfield.Errorf(of+".InFlight", "%d is negative", l.InFlight)
	case l.Queued < inference.NoQueue:
		return configfield.Errorf(of+".Queued", "%d is negative", l.Queued)
	case l.Rate < 0 || math.IsNaN(l.Rate) || math.IsInf(l.Rate, 0):
		return configfield.Errorf(of+".Rate", "%v is no rate", l.Rate)
	case l.Burst < 0:
		return configfield.Errorf(of+".Burst", "%d is negative", l.Burst)
	}
	return nil
}

// Bounds are what the server takes at once. The zero value has none.
type Bounds struct {
	// Server bounds all requests together.
	Server inference.Limits
	// Models bounds the requests of each model, by its own name; those of "" are for
	// models that aren't named.
	Models map[string]inference.Limits
	// BodyBytes bounds what the bodies of requests in flight take together; 0 for no
	// bound.
	BodyBytes int64
	// Reading bounds the requests that are being read or decoded at once, and Decoding those
	// of them that are being decoded; 0 for no bound.
	Reading, Decoding int
	// RequestTimeout ends a request after this long; 0 for never.
	RequestTimeout time.Duration
}

// Validate names the field that can't be used.
func (b Bounds) Validate() error {
	for _, limits := range b.Models {
		if err := validate(limits, "admission.Models"); err != nil {
			return err
		}
	}
	switch {
	case b.BodyBytes < 0:
		return configfield.Errorf("admission.BodyBytes", "%d is negative", b.BodyBytes)
	case b.Reading < 0:
		return configfield.Errorf("admission.Reading", "%d is negative", b.Reading)
	case b.Decoding < 0:
		return configfield.Errorf("admission.Decoding", "%d is negative", b.Decoding)
	case b.RequestTimeout < 0:
		return configfield.Errorf("admission.RequestTimeout", "%s is negative", b.RequestTimeout)
	}
	return validate(b.Server, "admission.Server")
}

// intake is what the ledger goes by.
func (b Bounds) intake() intakeLimits {
	return intakeLimits{bytes: b.BodyBytes, reading: b.Reading, decoding: b.Decoding}
}

// model gives the limits of one.
func (b Bounds) model(name string) inference.Limits {
	if limits, ok := b.Models[name]; ok {
		return limits
	}
	return b.Models[""]
}

// scope is what limits bound: the server, a model or a client. The admission's lock
// guards it.
type scope struct {
	limits            inference.Limits
	bucket            *rate.Limiter // nil without a rate
	inFlight, waiting int
	// whose the limits are, for errors; a client's are its own fault.
	of  string
	own bool
}

// set changes the limits. What a bucket holds stays.
func (s *scope) set(limits inference.Limits) {
	if s.limits == limits {
		return
	}
	s.limits = limits
	switch {
	case limits.Rate == 0:
		s.bucket = nil
	case s.bucket == nil:
		s.bucket = rate.NewLimiter(rate.Limit(limits.Rate), burst(limits))
	default:
		s.bucket.SetLimit(rate.Limit(limits.Rate))
		s.bucket.SetBurst(burst(limits))
	}
}

func (s *scope) room() bool { return s.limits.InFlight == 0 || s.inFlight < s.limits.InFlight }

// busy is whether anything is counted.
func (s *scope) busy() bool { return s.inFlight+s.waiting > 0 }

// fullRetry is when to come again where places are taken: none tells when they will
// be free.
const fullRetry = time.Second

// full refuses a request for which there is no place.
func (s *scope) full() *inference.Error {
	e := &inference.Error{
		Code: inference.CodeOverloaded, Reason: inference.ReasonOverloaded, RetryAfter: fullRetry,
		Message: fmt.Sprintf("%d requests%s are being served and %d wait, the most that this server takes: try again", s.inFlight, s.of, s.waiting),
	}
	if s.own {
		e.Code, e.Reason = inference.CodeLimited, inference.ReasonRateLimit
	}
	return e
}

// fast refuses a request that comes too early.
func (s *scope) fast(wait time.Duration) *inference.Error {
	return &inference.Error{
		Code: inference.CodeLimited, Reason: inference.ReasonRateLimit, RetryAfter: wait,
		Message: fmt.Sprintf("requests%s come faster than %v a second, the most that this server takes: try again", s.of, s.limits.Rate),
	}
}

// Rate is how much of a rate of requests is left, by the words of OpenAI's headers.
type Rate struct {
	// Limit of requests that may begin at once, and those Remaining now.
	Limit, Remaining int
	// Reset is when all may again.
	Reset time.Duration
}

func (s *scope) rate(now time.Time) Rate {
	left := max(0, s.bucket.TokensAt(now))
	limit := burst(s.limits)
	missing := max(0, float64(limit)-left)
	return Rate{Limit: limit, Remaining: int(left), Reset: time.Duration(missing / s.limits.Rate * float64(time.Second))}
}
