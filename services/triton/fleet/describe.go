package fleet

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton"
)

// askAll calls a method of endpoints concurrently. The results are in the order of the endpoints.
func askAll[Req, Res any](ctx context.Context, members []*member, method func(*triton.Engine, context.Context, *Req) (*Res, error), req *Req) ([]*Res, []error) {
	answers, errs := make([]*Res, len(members)), make([]error, len(members))
	var asking sync.WaitGroup
	for i, m := range members {
		asking.Go(func() { answers[i], errs[i] = method(m.engine, ctx, req) })
	}
	asking.Wait()
	return answers, errs
}

// askOne calls a method of an endpoint that can serve a model, and of further ones while the
// endpoint can't be reached. An empty name means any endpoint.
func askOne[Req, Res any](ctx context.Context, e *Engine, of target, call func(*triton.Engine, context.Context, *Req) (*Res, error), req *Req) (*Res, error) {
	r := &run{engine: e, ctx: ctx, target: of, generates: true, asks: true}
	r.request.Model = of.model
	var answer *Res
	err := r.do(func(ctx context.Context, m *member) (err error) { //nolint:contextcheck // the context of the attempt is derived from r.ctx
		answer, err = call(m.engine, ctx, req)
		return err
	})
	return answer, err
}

// ServerLive implements [inference.Describer]: the servers are live if one is.
func (e *Engine) ServerLive(ctx context.Context, req *kserve.ServerLiveRequest) (*kserve.ServerLiveResponse, error) {
	return askOne(ctx, e, target{}, (*triton.Engine).ServerLive, req)
}

// ServerReady implements [inference.Describer]: the servers are ready if one is.
func (e *Engine) ServerReady(ctx context.Context, req *kserve.ServerReadyRequest) (*kserve.ServerReadyResponse, error) {
	members, err := e.some(ctx)
	if err != nil {
		return nil, err
	}
	answers, errs := askAll(ctx, members, (*triton.Engine).ServerReady, req)
	var first *kserve.ServerReadyResponse
	for i, answer := range answers {
		if errs[i] == nil && (first == nil || answer.GetReady()) {
			first = answer
		}
	}
	if first == nil {
		return nil, partly(members, errs)
	}
	return first, nil
}

// ModelReady implements [inference.Describer]: a model is ready if it is on one server.
func (e *Engine) ModelReady(ctx context.Context, req *kserve.ModelReadyRequest) (*kserve.ModelReadyResponse, error) {
	return askOne(ctx, e, target{req.GetName(), req.GetVersion()}, (*triton.Engine).ModelReady, req)
}

// ServerMetadata implements [inference.Describer] by the answer of one server.
func (e *Engine) ServerMetadata(ctx context.Context, req *kserve.ServerMetadataRequest) (*kserve.ServerMetadataResponse, error) {
	return askOne(ctx, e, target{}, (*triton.Engine).ServerMetadata, req)
}

// ModelMetadata implements [inference.Describer] by the answer of a server that gets requests for
// the model.
func (e *Engine) ModelMetadata(ctx context.Context, req *kserve.ModelMetadataRequest) (*kserve.ModelMetadataResponse, error) {
	return askOne(ctx, e, target{req.GetName(), req.GetVersion()}, (*triton.Engine).ModelMetadata, req)
}

// ModelConfig implements [inference.Describer] by the answer of a server that gets requests for
// the model.
func (e *Engine) ModelConfig(ctx context.Context, req *kserve.ModelConfigRequest) (*kserve.ModelConfigResponse, error) {
	return askOne(ctx, e, target{req.GetName(), req.GetVersion()}, (*triton.Engine).ModelConfig, req)
}

// some returns the endpoints that aren't out, or all if all are out. It returns an error if there
// are no endpoints.
func (e *Engine) some(ctx context.Context) ([]*member, error) {
	if e.ctx.Err() != nil {
		return nil, errStopped
	}
	e.lookedUp(ctx)
	members := inOnly(e.all())
	if len(members) == 0 {
		return nil, e.errNone()
	}
	return members, nil
}

// everyone calls a method of all endpoints, which must all succeed. Endpoints that are out fail
// without a call, so that none waits for them, unless all are out. Those that are also drained are
// left out.
func everyone[Req, Res any](ctx context.Context, e *Engine, method func(*triton.Engine, context.Context, *Req) (*Res, error), req *Req) ([]*Res, error) {
	in, err := e.some(ctx)
	if err != nil {
		return nil, err
	}
	reachable := map[*member]bool{}
	for _, m := range in {
		reachable[m] = true
	}
	// A drained server may be down for its maintenance.
	members := slices.DeleteFunc(slices.Clone(e.all()), func(m *member) bool { return m.health.drained.Load() && !reachable[m] })
	answers, errs := make([]*Res, len(members)), make([]error, len(members))
	var asking sync.WaitGroup
	for i, m := range members {
		if !reachable[m] {
			_, reason := m.health.state(time.Now())
			errs[i] = errOut(reason)
			continue
		}
		asking.Go(func() { answers[i], errs[i] = method(m.engine, ctx, req) })
	}
	asking.Wait()
	return answers, partly(members, errs)
}

// RepositoryModelLoad implements [inference.Repository] on all servers.
func (e *Engine) RepositoryModelLoad(ctx context.Context, req *kserve.RepositoryModelLoadRequest) (*kserve.RepositoryModelLoadResponse, error) {
	answers, err := everyone(ctx, e, (*triton.Engine).RepositoryModelLoad, req)
	e.refresh(ctx, 0)
	return first(answers, err)
}

// RepositoryModelUnload implements [inference.Repository] on all servers.
func (e *Engine) RepositoryModelUnload(ctx context.Context, req *kserve.RepositoryModelUnloadRequest) (*kserve.RepositoryModelUnloadResponse, error) {
	answers, err := everyone(ctx, e, (*triton.Engine).RepositoryModelUnload, req)
	e.refresh(ctx, 0)
	return first(answers, err)
}

// TraceSetting implements [inference.Settings] on all servers. The answer is the first server's.
func (e *Engine) TraceSetting(ctx context.Context, req *kserve.TraceSettingRequest) (*kserve.TraceSettingResponse, error) {
	if len(req.GetSettings()) == 0 {
		return askOne(ctx, e, target{model: req.GetModelName()}, (*triton.Engine).TraceSetting, req)
	}
	return first(everyone(ctx, e, (*triton.Engine).TraceSetting, req))
}

// LogSettings implements [inference.Settings] on all servers. The answer is the first server's.
func (e *Engine) LogSettings(ctx context.Context, req *kserve.LogSettingsRequest) (*kserve.LogSettingsResponse, error) {
	if len(req.GetSettings()) == 0 {
		return askOne(ctx, e, target{}, (*triton.Engine).LogSettings, req)
	}
	return first(everyone(ctx, e, (*triton.Engine).LogSettings, req))
}

func first[Res any](answers []*Res, err error) (*Res, error) {
	if err != nil {
		return nil, err
	}
	return answers[0], nil
}

// only returns the only endpoint. Shared memory needs it: a region is registered with one server,
// and a request may go to any.
func (e *Engine) only(ctx context.Context) (*triton.Engine, error) {
	if _, err := e.some(ctx); err != nil {
		return nil, err
	}
	if members := e.all(); len(members) == 1 {
		return members[0].engine, nil
	} else if n := len(members); n > 1 {
		return nil, &inference.Error{
			Code: inference.CodeUnsupported, Reason: inference.ReasonNotImplemented, Triton: inference.TritonUnsupported,
			Message: fmt.Sprintf("shared memory needs a single inference server, and %s has %d", e.config.Names.Of(field), n),
		}
	}
	return nil, e.errNone()
}

// Endpoints implements [inference.EndpointReporter].
func (e *Engine) Endpoints() inference.EndpointReport {
	report, now := inference.EndpointReport{RepeatsRefused: e.refusals.Load()}, time.Now()
	for _, m := range e.all() {
		report.Endpoints = append(report.Endpoints, m.report(now))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, address := range slices.Sorted(maps.Keys(e.drained)) {
		if !e.drained[address].absent.IsZero() {
			report.Absent = append(report.Absent, address)
		}
	}
	return report
}

// report returns the state and the counters of the endpoint.
func (m *member) report(now time.Time) inference.Endpoint {
	one := inference.Endpoint{
		Address: m.address, InFlight: m.load(), Weight: m.capacity(), MetricsURL: m.metricsURL(),
		Requests: m.count.requests.Load(), Failures: m.count.failures.Load(), Repeats: m.count.repeats.Load(), Outs: m.count.outs.Load(),
	}
	one.State, one.Reason = m.health.state(now)
	return one
}

// metricsURL returns the URL of the server's own metrics, or "" if they aren't read.
func (m *member) metricsURL() string {
	port := m.fleet.config.MetricsPort
	if port == 0 {
		return ""
	}
	address, _, err := m.fleet.config.connection(m.place).Address()
	if err != nil { // can't fail: the address was validated
		return ""
	}
	host, _, _ := net.SplitHostPort(address) // has been joined
	return (&url.URL{Scheme: "http", Host: net.JoinHostPort(host, strconv.Itoa(port)), Path: "/metrics"}).String()
}
