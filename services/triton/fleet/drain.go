package fleet

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
)

// drainMemory is the time for which an endpoint stays drained after it has left the list. A server
// that is restarted may be missing in DNS for a while. Later its address may be that of another
// server.
const drainMemory = 24 * time.Hour

// drain is an endpoint that an operator has drained.
type drain struct {
	absent time.Time // time since which the endpoint isn't in the list; zero while it is
}

// Drain implements [inference.Drainer].
func (e *Engine) Drain(ctx context.Context, address string, force bool) (inference.Endpoint, error) {
	m, err := e.setDrained(address, true, force)
	if err != nil {
		return inference.Endpoint{}, err
	}
	if m.changed {
		e.reroute()
		e.shift()
		e.log.Info("endpoint is drained: it gets no new requests", "endpoint", m.address, "by", inference.ClientName(ctx), "forced", force, "in_flight", m.load())
	}
	return m.report(time.Now()), nil
}

// Resume implements [inference.Drainer].
func (e *Engine) Resume(ctx context.Context, address string) (inference.Endpoint, error) {
	m, err := e.setDrained(address, false, false)
	if err != nil {
		return inference.Endpoint{}, err
	}
	if m.changed {
		e.log.Info("drained endpoint is resumed", "endpoint", m.address, "by", inference.ClientName(ctx))
	}
	if m.member == nil {
		return inference.Endpoint{}, nil
	}
	if m.changed {
		m.startSlowly()
		e.reroute()
		e.shift()
		m.health.relistNow() // its models may have changed meanwhile
	}
	return m.report(time.Now()), nil
}

// changedMember is an endpoint whose drain was asked for or ended. The member is nil if the endpoint
// isn't in the list.
type changedMember struct {
	*member

	address string
	changed bool
}

// setDrained drains an endpoint or ends that.
func (e *Engine) setDrained(address string, drained, force bool) (changedMember, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() != nil {
		return changedMember{}, errStopped
	}
	wanted := bare(address)
	for _, m := range e.members {
		if bare(m.address) == wanted {
			return e.setMember(m, drained, force)
		}
	}
	for known := range e.drained {
		if !drained && bare(known) == wanted {
			delete(e.drained, known)
			return changedMember{address: known, changed: true}, nil
		}
	}
	return changedMember{}, e.errUnknown(address)
}

// setMember drains an endpoint of the list or ends that. The caller must hold the mutex.
func (e *Engine) setMember(m *member, drained, force bool) (changedMember, error) {
	changed := changedMember{member: m, address: m.address}
	if m.health.drained.Load() == drained {
		return changed, nil
	}
	if drained && !force {
		if err := e.errLast(m); err != nil {
			return changedMember{}, err
		}
	}
	changed.changed = true
	m.health.drained.Store(drained)
	if drained {
		e.drained[m.address] = &drain{}
	} else {
		delete(e.drained, m.address)
	}
	return changed, nil
}

// bare returns an address as host:port without its scheme.
func bare(address string) string {
	if hostPort, _, err := (triton.Config{Endpoint: address}).Address(); err == nil {
		return hostPort
	}
	return address
}

// shownNames is the maximum number of names in an error.
const shownNames = 20

// errUnknown returns the error about an address that no endpoint has. The caller must hold the mutex.
func (e *Engine) errUnknown(address string) error {
	var known []string
	for _, m := range e.members {
		known = append(known, m.address)
	}
	for _, absent := range slices.Sorted(maps.Keys(e.drained)) {
		if !slices.Contains(known, absent) {
			known = append(known, absent)
		}
	}
	return &inference.Error{
		Code: inference.CodeNotFound, Reason: inference.ReasonEndpointNotFound, Param: "address",
		Message: fmt.Sprintf("no inference server has the address %q: the addresses are %s", address, joined(known)),
	}
}

// joined returns names, comma-separated, of which only the first are listed.
func joined(names []string) string {
	if len(names) == 0 {
		return "not known yet"
	}
	if more := len(names) - shownNames; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shownNames], ", "), more)
	}
	return strings.Join(names, ", ")
}

// errLast returns an error if no other endpoint that is in can serve a model of an endpoint. The
// caller must hold the mutex.
func (e *Engine) errLast(m *member) error {
	served, others := map[string]bool{}, false
	for _, other := range e.members {
		if other == m || other.health.out.Load() || other.health.drained.Load() {
			continue
		}
		others = true
		for _, model := range other.ready() {
			served[model] = true
		}
	}
	lost := slices.DeleteFunc(m.ready(), func(model string) bool { return served[model] })
	if others && len(lost) == 0 {
		return nil
	}
	message := "no other inference server is in: all requests would fail"
	if others {
		message = fmt.Sprintf("no other inference server that is in has these models: %s: requests for them would fail", joined(lost))
	}
	return &inference.Error{
		Code: inference.CodeInvalid, Reason: inference.ReasonLastEndpoint, Param: "address",
		Message: fmt.Sprintf("%s isn't drained, because %s; set force to drain it nevertheless", m.address, message),
	}
}

// ready returns the names of the models that are ready on the endpoint.
func (m *member) ready() []string {
	var names []string
	if known := m.listing.Load(); known != nil {
		for i := range known.models {
			if known.models[i].State == inference.ModelReady {
				names = append(names, known.models[i].Name)
			}
		}
	}
	return names
}

// noteAbsent records which drained endpoints aren't in the list, and forgets those that have been
// absent for long. The caller must hold the mutex.
func (e *Engine) noteAbsent(now time.Time) {
	for address, d := range e.drained {
		switch {
		case slices.ContainsFunc(e.members, func(m *member) bool { return m.address == address }):
			d.absent = time.Time{}
		case d.absent.IsZero():
			d.absent = now
		case now.Sub(d.absent) > drainMemory:
			delete(e.drained, address)
			e.log.Info("drained endpoint is forgotten: it isn't in the list any longer", "endpoint", address)
		}
	}
}

// undrained returns the endpoints that aren't drained.
func undrained(members []*member) []*member {
	return slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return m.health.drained.Load() })
}

// errDrained is the error of requests that only drained endpoints could serve.
func errDrained() error {
	return &inference.Error{
		Code: inference.CodeUnavailable, Reason: inference.ReasonEngineGone, RetryAfter: retryAfter,
		Message: "the inference servers of this model are drained for maintenance",
	}
}
