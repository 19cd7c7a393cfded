package fleet

import (
	"context"
	"errors"
	"math"
	"net"
	"slices"
	"strings"
	"time"
)

// The intervals and limits of the lookups of names.
const (
	lookupPause   = 5 * time.Second // pause between two lookups of a name
	lookupTimeout = 5 * time.Second
	// absences is the number of consecutive lookups without any address after which the endpoints
	// of a name are gone. A DNS server that restarts may know no names for a moment.
	absences = 3
)

// followed is a configured endpoint in use. The mutex of the engine guards its fields.
type followed struct {
	source

	stop      context.CancelFunc
	addresses []string // present addresses as host:port
	problem   string   // why the last lookup had no result
	failed    bool     // the DNS server didn't answer the last lookup
	empty     int      // number of consecutive lookups without any address
	own       bool     // the last result had an address of this process
	looked    chan struct{}
	known     bool // looked is closed
}

// Update replaces the configured endpoints. Endpoints that are gone get no new requests, and their
// streams continue.
func (e *Engine) Update(endpoints []string) error {
	config := e.config
	config.Endpoints = endpoints
	sources, err := config.sources()
	if err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() != nil {
		return errStopped
	}
	old := e.sources
	e.sources = nil
	for _, s := range sources {
		i := slices.IndexFunc(old, func(f *followed) bool { return f.key() == s.key() })
		if i >= 0 {
			old[i].source = s // another spelling, weight or scheme
			e.sources = append(e.sources, old[i])
			old = slices.Delete(old, i, i+1)
			continue
		}
		e.sources = append(e.sources, e.followSource(s))
	}
	for _, gone := range old {
		gone.stop()
	}
	return e.settle()
}

// followSource starts the lookups of a name. A fixed address needs none.
func (e *Engine) followSource(s source) *followed {
	f := &followed{source: s, looked: make(chan struct{})}
	ctx, stop := context.WithCancel(e.ctx)
	f.stop = stop
	if s.name == "" {
		f.addresses, f.known = []string{s.address}, true
		close(f.looked)
		return f
	}
	e.work.Go(func() {
		for {
			addresses, err := s.lookUp(ctx)
			if ctx.Err() != nil {
				return
			}
			e.found(f, addresses, err) //nolint:contextcheck // endpoints live until the engine stops
			select {
			case <-time.After(lookupPause):
			case <-ctx.Done():
				return
			}
		}
	})
	return f
}

// lookUp returns the addresses of a name as host:port, sorted.
func (s source) lookUp(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	resolver := net.DefaultResolver
	if s.server != "" {
		resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, s.server)
		}}
	}
	found, err := resolver.LookupNetIP(ctx, "ip", s.name)
	if err != nil {
		if failed, ok := errors.AsType[*net.DNSError](err); ok && s.server != "" {
			failed.Server = s.server // the resolver names the system's. The error is this lookup's own, since this resolver has no other lookup
		}
		return nil, err
	}
	list := make([]string, len(found))
	for i, ip := range found {
		list[i] = net.JoinHostPort(ip.Unmap().String(), s.port)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// found takes the result of a lookup. After a failure the previous addresses stay, unless the name
// has had no addresses several times in a row.
func (e *Engine) found(f *followed, addresses []string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	problem, failed := "", false
	addresses, own := e.others(addresses)
	if own && !f.own {
		e.log.Warn("the name of an endpoint has an address of this process, which is left out", "endpoint", f.text)
	}
	f.own = own
	switch notFound, _ := errors.AsType[*net.DNSError](err); {
	case err == nil && len(addresses) > 0:
		f.addresses, f.empty = addresses, 0
	case err == nil || notFound != nil && notFound.IsNotFound:
		problem = "the name has no addresses"
		if own {
			problem = "the name has only addresses of this process"
		}
		f.empty++
		if f.empty >= absences {
			f.addresses = nil
		}
	default:
		problem, failed = err.Error(), true
	}
	// The text of a failure differs each time, as it has the port of the question.
	if problem != "" && (f.problem == "" || failed != f.failed) {
		e.log.Warn("the addresses of an endpoint can't be looked up", "endpoint", f.text, "problem", problem, "kept", len(f.addresses))
	}
	f.problem, f.failed = problem, failed
	if err := e.settle(); err != nil && e.ctx.Err() == nil {
		e.log.Error("an endpoint can't be used", "endpoint", f.text, "error", err)
	}
	if !f.known {
		f.known = true
		close(f.looked)
	}
}

// others returns the addresses that aren't ports of this process, and whether one was left out.
func (e *Engine) others(addresses []string) (others []string, own bool) {
	if e.config.Own == nil {
		return addresses, false
	}
	others = slices.DeleteFunc(slices.Clone(addresses), func(address string) bool {
		host, port, err := net.SplitHostPort(address)
		return err == nil && e.config.Own(host, port)
	})
	return others, len(others) < len(addresses)
}

// settle starts the endpoints that have come and retires those that are gone. The caller must hold
// the mutex.
func (e *Engine) settle() error {
	if e.ctx.Err() != nil {
		return errStopped
	}
	wanted := e.wanted()
	var gone []*member
	e.members = slices.DeleteFunc(e.members, func(m *member) bool {
		weight, stays := wanted[m.place]
		if !stays {
			gone = append(gone, m)
			return true
		}
		delete(wanted, m.place)
		e.weigh(m, weight)
		return false
	})
	come, err := e.begin(wanted)
	if len(come)+len(gone) > 0 {
		e.members = append(e.members, come...)
		slices.SortFunc(e.members, func(a, b *member) int { return strings.Compare(a.address, b.address) })
		e.routes.Store(routesOf(slices.Clone(e.members), e.routes.Load()))
		e.shift()
	}
	e.noteAbsent(time.Now())
	for _, m := range gone { // no new request finds them
		e.mixed.Add(m.engine.Mixed())
		m.retire()
		e.log.Info("endpoint is gone", "endpoint", m.address)
	}
	return err
}

// wanted returns the present servers of all configured endpoints with their weights. The first of
// several endpoints with the same server has its name and its weight. The caller must hold the mutex.
func (e *Engine) wanted() map[place]float64 {
	wanted, seen := map[place]float64{}, map[string]bool{}
	for _, s := range e.sources {
		for _, address := range s.addresses {
			if seen[address] {
				continue
			}
			seen[address] = true
			wanted[s.place(address)] = s.weight
		}
	}
	return wanted
}

// weigh sets the weight of an endpoint. The caller must hold the mutex.
func (e *Engine) weigh(m *member, weight float64) {
	if m.capacity() == weight {
		return
	}
	if err := e.balancer.SetWeight(m.endpoint, weight); err != nil { // can't fail: the weight was validated
		e.log.Error("the weight of an endpoint can't be set", "endpoint", m.address, "error", err)
		return
	}
	m.weight.Store(math.Float64bits(weight))
	e.log.Info("weight of an endpoint changed", "endpoint", m.address, "weight", weight)
}

// begin starts endpoints.
func (e *Engine) begin(wanted map[place]float64) (come []*member, err error) {
	var errs []error
	for place, weight := range wanted {
		m, err := e.newMember(place)
		if err == nil {
			m.health.drained.Store(e.drained[m.address] != nil)
			err = m.start(weight)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		come = append(come, m)
		e.log.Debug("endpoint has come", "endpoint", m.address)
	}
	return come, errors.Join(errs...)
}

// lookedUp waits until each name has been looked up once, at most for the time that a request may
// wait for a connection. It reports whether all have.
func (e *Engine) lookedUp(ctx context.Context) bool {
	e.mu.Lock()
	var looked []chan struct{}
	for _, s := range e.sources {
		if !s.known {
			looked = append(looked, s.looked)
		}
	}
	e.mu.Unlock()
	if len(looked) == 0 {
		return true
	}
	limit := time.NewTimer(e.config.Connection.ConnectTimeout)
	defer limit.Stop()
	for _, c := range looked {
		select {
		case <-c:
		case <-limit.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
	return true
}
