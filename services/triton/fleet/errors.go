package fleet

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/trident-inference/trident/services/inference"
)

// retryAfter is the time after which clients may repeat a request that failed because endpoints
// are unavailable.
const retryAfter = time.Second

// errStopped is returned after Stop.
var errStopped = &inference.Error{
	Code: inference.CodeUnavailable, Reason: inference.ReasonShuttingDown, RetryAfter: retryAfter,
	Message: "the connections to the inference servers are closed",
}

// errOut ends a request that waits for its first response at an endpoint that is taken out.
func errOut(reason string) *inference.Error {
	return &inference.Error{
		Code: inference.CodeUnavailable, Reason: inference.ReasonEngineGone, RetryAfter: retryAfter,
		Message: "the inference server doesn't answer health checks", Err: errors.New(reason),
	}
}

// errNone returns the error of a request without any endpoint. The message names the setting, and
// the cause, for the log, the names in DNS.
func (e *Engine) errNone() error {
	failed := &inference.Error{
		Code: inference.CodeUnavailable, Reason: inference.ReasonEngineGone, RetryAfter: retryAfter,
		Message: "no inference server is available",
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	var causes []error
	for _, s := range e.sources {
		if s.name != "" && len(s.addresses) == 0 {
			why := "has no addresses"
			if s.failed {
				why = "can't be looked up"
			}
			failed.Message = fmt.Sprintf("no inference server is known: the DNS name of %s %s", e.config.Names.Of(field), why)
			causes = append(causes, fmt.Errorf("%s: %s", s.text, s.problem))
		}
	}
	failed.Err = errors.Join(causes...)
	return failed
}

// refuse returns the error of a request whose repeat the budget doesn't allow.
func (e *Engine) refuse(failed error) error {
	e.refusals.Add(1)
	return &inference.Error{
		Code: inference.CodeUnavailable, Reason: inference.ReasonEngineGone, RetryAfter: retryAfter,
		Message: "the inference server failed, and too many requests are being repeated on others: try again later", Err: failed,
	}
}

// partly returns the error of a call to several endpoints that some have failed. If all have
// failed in the same way, it is the first one's error. The message numbers the endpoints in the
// order of their addresses, which the cause names for the log.
func partly(members []*member, errs []error) error {
	var texts []string
	var first *inference.Error
	same := true
	for i, err := range errs {
		if err == nil {
			continue
		}
		known := inference.AsError(err)
		if first == nil {
			first = known
		}
		same = same && known.Code == first.Code
		texts = append(texts, fmt.Sprintf("server %d: %s", i+1, known.Message))
	}
	switch {
	case first == nil:
		return nil
	case same && len(texts) == len(members):
		return first
	}
	return &inference.Error{
		Code: first.Code, Reason: first.Reason, Param: first.Param, RetryAfter: first.RetryAfter, Triton: first.Triton,
		Message: fmt.Sprintf("%d of %d inference servers failed: %s", len(texts), len(members), strings.Join(texts, "; ")),
		Err:     named(members, errs),
	}
}

// named joins the errors of endpoints, each with the address of its endpoint, for the log. It returns
// nil if there are none.
func named(members []*member, errs []error) error {
	var causes []error
	for i, err := range errs {
		if err != nil {
			causes = append(causes, fmt.Errorf("%s: %w", members[i].address, err))
		}
	}
	return errors.Join(causes...)
}
