package fleet

import (
	"cmp"
	"encoding/hex"
	"hash/fnv"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/balance"
	"github.com/trident-inference/trident/services/inference"
)

// routes are the endpoints of each model, by the listings of all endpoints. They are immutable: a
// change of a listing or of the list of endpoints makes new ones.
type routes struct {
	all    *group // all endpoints in the order of their addresses
	models map[string]*route
	// left are the endpoints that get no requests for a model that they list, because it isn't ready
	// there or has another configuration than most have.
	left map[*member]bool
}

// group is a set of endpoints that can serve the same requests.
type group struct {
	members []*member
	model   string           // the model whose failures count; empty for requests of unknown models
	encoded *inference.Model // the model that requests without a version are encoded for; nil for requests of versions and of unknown models
	chosen  atomic.Pointer[candidates]
}

// candidates are the endpoints of a group that may get a request.
type candidates struct {
	epoch   uint64    // value of Engine.epoch for which they apply
	until   time.Time // time until which they apply; the zero time means no limit
	members []*member
	// drained are the drained endpoints that aren't out, where sequences may run.
	drained []*member
	set     *balance.Set
	// sure are those of the members that are in, for repeats.
	sure *balance.Set
}

// route has the endpoints of one model.
type route struct {
	// current are the endpoints whose configuration applies, or if the model is ready nowhere, all
	// that list it.
	current *group
	// versions are the endpoints that list a version of the model, with any configuration.
	versions map[string]*group
	model    inference.Model
	applies  string // what requests are encoded by, see groupOf; empty if the model is ready nowhere
}

// machineParameters are parameters of configurations that describe the machine and not the model.
var machineParameters = []string{"gpu_device_ids"} //nolint:gochecknoglobals // a constant table

// groupOf identifies what the requests of a model are encoded by: its version and its
// configuration without the fields that no request depends on. It returns "" for a model that
// isn't ready.
func groupOf(m *inference.Model) string {
	if m.State != inference.ModelReady || m.Config == nil {
		return ""
	}
	config, ok := proto.Clone(m.Config).(*kserve.ModelConfig)
	if !ok {
		return ""
	}
	config.InstanceGroup, config.Optimization, config.ModelWarmup, config.CcModelFilenames = nil, nil, nil, nil
	config.MetricTags, config.ModelRepositoryAgents, config.ResponseCache = nil, nil, nil
	for _, name := range machineParameters {
		delete(config.GetParameters(), name)
	}
	encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(config)
	if err != nil { // can't fail: the configuration was received as a message
		return ""
	}
	sum := fnv.New128a()
	_, _ = sum.Write(encoded) // never fails
	return m.Version + "/" + hex.EncodeToString(sum.Sum(nil))
}

// offer is a model of one endpoint.
type offer struct {
	member *member
	model  *inference.Model
	group  string
}

// routesOf makes the routes of endpoints. The previous routes decide between configurations that
// equally many endpoints have.
func routesOf(members []*member, previous *routes) *routes {
	offers := map[string][]offer{}
	for _, m := range members {
		known := m.listing.Load()
		if known == nil {
			continue
		}
		for i := range known.models {
			name := known.models[i].Name
			offers[name] = append(offers[name], offer{m, &known.models[i], known.groups[i]})
		}
	}
	all := &routes{all: &group{members: members}, models: make(map[string]*route, len(offers)), left: map[*member]bool{}}
	for name, of := range offers {
		var old *route
		if previous != nil {
			old = previous.models[name]
		}
		r := routeOf(name, of, old)
		all.models[name] = r
		for _, o := range of {
			if r.applies != "" && o.group != r.applies {
				all.left[o.member] = true
			}
		}
	}
	return all
}

// routeOf makes the route of one model.
func routeOf(name string, offers []offer, old *route) *route {
	r := &route{current: &group{model: name}, versions: map[string]*group{}}
	applies := majority(offers, old)
	r.applies = applies
	var first *inference.Model
	for _, o := range offers {
		for _, version := range o.model.Versions {
			if r.versions[version] == nil {
				r.versions[version] = &group{model: name}
			}
			r.versions[version].members = append(r.versions[version].members, o.member)
		}
		if o.group != applies {
			continue
		}
		r.current.members = append(r.current.members, o.member)
		if first == nil {
			first = o.model
		}
	}
	if applies == "" {
		first = mostAdvanced(offers)
	}
	r.model, r.current.encoded = *first, first
	for _, o := range offers {
		if applies == "" {
			r.model.Recovering = r.model.Recovering || o.model.Recovering
		} else if o.group != applies {
			r.model.Differing = append(r.model.Differing, o.member.address+": "+differenceOf(o, first))
		}
	}
	return r
}

// majority returns the group that most endpoints have. Endpoints that are out or drained count only
// if no others have the model. Among equally many, the group of the old route wins, and otherwise
// the first one.
func majority(offers []offer, old *route) string {
	for _, withOut := range []bool{false, true} {
		votes, best := map[string]int{}, ""
		for _, o := range offers {
			if o.group != "" && (withOut || !o.member.health.out.Load() && !o.member.health.drained.Load()) {
				votes[o.group]++
			}
		}
		previous := ""
		if old != nil {
			previous = old.applies
		}
		for _, group := range slices.Sorted(maps.Keys(votes)) {
			if n := votes[group]; best == "" || n > votes[best] || n == votes[best] && group == previous {
				best = group
			}
		}
		if best != "" {
			return best
		}
	}
	return ""
}

// mostAdvanced returns a model in the state that is closest to ready.
func mostAdvanced(offers []offer) *inference.Model {
	return slices.MaxFunc(offers, func(a, b offer) int { return cmp.Compare(progress(a.model.State), progress(b.model.State)) }).model
}

// differenceOf describes how a model of an endpoint differs from the one that requests are encoded
// for.
func differenceOf(o offer, applies *inference.Model) string {
	switch {
	case o.model.State != inference.ModelReady:
		state := strings.ToLower(cmp.Or(string(o.model.State), "not loaded"))
		if o.model.Reason != "" {
			state += ": " + o.model.Reason
		}
		return state
	case o.model.Version != applies.Version:
		return "version " + o.model.Version + " instead of " + applies.Version
	}
	return "another configuration"
}

// of returns the endpoints that can serve a model, or all endpoints if none lists the model.
func (r *routes) of(model, version string) (_ *group, listed bool) {
	known := r.models[model]
	if known == nil {
		return r.all, false
	}
	if of := known.versions[version]; of != nil && version != known.model.Version {
		return of, true
	}
	return known.current, true
}

// candidates returns the endpoints of the group that may get a request: those that are in and
// ready. If more than half are out, all are that don't refuse connections: the checks may be at
// fault. Drained endpoints are never candidates.
func (g *group) candidates(epoch uint64, now time.Time) *candidates {
	if c := g.chosen.Load(); c != nil && c.epoch == epoch && (c.until.IsZero() || now.Before(c.until)) {
		return c
	}
	c := &candidates{epoch: epoch}
	var members, in, unready, unsure []*member // members are all except the drained ones
	for _, m := range g.members {
		if m.health.drained.Load() {
			if !m.health.out.Load() {
				c.drained = append(c.drained, m)
			}
			continue
		}
		members = append(members, m)
		until := m.health.models.outUntil(g.model, now)
		if !until.IsZero() && (c.until.IsZero() || until.Before(c.until)) {
			c.until = until
		}
		if !m.health.refuses.Load() {
			unsure = append(unsure, m)
		}
		switch {
		case m.health.out.Load() || !until.IsZero():
		case m.health.unready.Load():
			unready = append(unready, m)
		default:
			in = append(in, m)
		}
	}
	switch {
	case len(unsure) == 0:
		c.members = members
	case 2*(len(in)+len(unready)) < len(members):
		c.members = unsure
	case len(in) > 0:
		c.members, unready = in, nil
	default:
		c.members = unready
	}
	c.set, c.sure = setOf(c.members), setOf(append(in, unready...))
	g.chosen.Store(c)
	return c
}

func setOf(members []*member) *balance.Set {
	endpoints := make([]balance.Endpoint, len(members))
	for i, m := range members {
		endpoints[i] = m.endpoint
	}
	return balance.NewSet(endpoints...)
}

// choose takes an endpoint by the balancer's rule. A repeat goes to an endpoint that is in, if one is
// left.
func (c *candidates) choose(b *balance.Balancer, now time.Duration, r *run) (balance.Assignment, bool) {
	if r.attempts > 0 {
		if a, ok := b.Choose(now, &r.request, c.sure); ok {
			return a, true
		}
	}
	return b.Choose(now, &r.request, c.set)
}

// homeOf returns the endpoint that a hash chooses for a sequence (weighted rendezvous hashing): all
// replicas choose the same one, and only the sequences of an endpoint that is out move. It returns nil
// without endpoints.
func homeOf(members []*member, sequence string) *member {
	var home *member
	highest := math.Inf(-1)
	for _, m := range members {
		sum := fnv.New64a()
		_, _ = io.WriteString(sum, m.address+"\x00"+sequence) // never fails
		share := (float64(mix(sum.Sum64())>>11) + 0.5) / (1 << 53)
		if score := math.Log(share) / m.capacity(); home == nil || score > highest {
			home, highest = m, score
		}
	}
	return home
}

// mix spreads the bits of a hash (the finalizer of SplitMix64): FNV's high bits hardly depend on
// the last bytes.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
