package main

import (
	"context"
	"time"
)

// manyFault is a kind of failure of one of several servers.
type manyFault struct {
	name string
	// hold is the time between the injection and the repair of the fault.
	hold time.Duration
	// out reports whether Trident must take the server out within outLimit of the injection, and gone
	// whether it must forget the server.
	out, gone bool
	// stays reports whether the server must stay in.
	stays bool
	// bound is the time in which a request must get its error, from the fault or from the request's
	// start. It is 0 if no request may fail.
	bound time.Duration
	// kinds are the kinds of requests that may fail; nil for all.
	kinds []string
	// model is the model that the server doesn't serve during the fault; empty for all.
	model         string
	apply, repair func(ctx context.Context, m *many, s *server) error
}

const (
	// outLimit is the time within which a server that fails must be out.
	outLimit = 3500 * time.Millisecond
	// backLimit is the time within which a server must get requests after it is ready.
	backLimit = 5 * time.Second
	// nameLimit is the time within which a change of the name in DNS must take effect: a lookup each
	// 5 s, and a connection.
	nameLimit = 6500 * time.Millisecond
	// firstLimit bounds the time to the first token of a request that starts while a server is out. It
	// is shorter than the time after which Trident takes a server out.
	firstLimit = 2 * time.Second
	// evenLimit is the maximum difference of a server's share of requests from an even share.
	evenLimit = 0.15
)

func manyFaults() []manyFault {
	return []manyFault{
		{
			name: "killed", hold: 6 * time.Second, out: true, bound: atOnce,
			apply:  func(_ context.Context, _ *many, s *server) error { return s.kill() },
			repair: func(ctx context.Context, _ *many, s *server) error { return s.revive(ctx) },
		},
		{
			name: "frozen (SIGSTOP)", hold: 8 * time.Second, out: true, bound: inactivityBound,
			apply:  func(_ context.Context, _ *many, s *server) error { s.triton.Pause(); return nil },
			repair: func(_ context.Context, _ *many, s *server) error { s.triton.Resume(); return nil },
		},
		{
			name: "stopped and started again", bound: atOnce,
			apply:  func(ctx context.Context, _ *many, s *server) error { return s.triton.Restart(ctx) },
			repair: func(context.Context, *many, *server) error { return nil },
		},
		{
			name: "cut off from the network", hold: 8 * time.Second, out: true, bound: inactivityBound,
			apply:  func(_ context.Context, _ *many, s *server) error { s.network.set(linkStalls); return nil },
			repair: func(_ context.Context, _ *many, s *server) error { s.network.set(linkPasses); return nil },
		},
		{
			name: "slow (200 ms in each direction)", hold: 8 * time.Second, stays: true,
			apply:  func(_ context.Context, _ *many, s *server) error { s.network.set(linkSlow); return nil },
			repair: func(_ context.Context, _ *many, s *server) error { s.network.set(linkPasses); return nil },
		},
		{
			name: "out of DNS", hold: 8 * time.Second, gone: true,
			apply:  func(_ context.Context, m *many, s *server) error { m.names.Set(m.hosts(s)...); return nil },
			repair: func(_ context.Context, m *many, _ *server) error { m.names.Set(m.hosts(nil)...); return nil },
		},
		{
			name: "a model unloaded", hold: 6 * time.Second, bound: atOnce, kinds: []string{kindKServe}, model: steady, stays: true,
			apply:  func(ctx context.Context, _ *many, s *server) error { return s.unload(ctx, steady) },
			repair: func(ctx context.Context, _ *many, s *server) error { return s.load(ctx, steady) },
		},
		{
			name: "a model given other inputs", hold: 6 * time.Second, bound: atOnce, kinds: []string{kindKServe}, model: steady, stays: true,
			apply:  func(ctx context.Context, _ *many, s *server) error { return s.alter(ctx, steady, true) },
			repair: func(ctx context.Context, _ *many, s *server) error { return s.alter(ctx, steady, false) },
		},
	}
}

// kindPair is a kind of requests for the model that only some servers have.
const kindPair = "chat, streamed, model on two of the servers"

// manyKinds returns the kinds of requests of the load of several servers.
func manyKinds() []kind {
	nothing := func(int) error { return nil }
	return []kind{
		{kindChat, 55, func(ctx context.Context, c *clients, r *request) error {
			return c.events(ctx, steady, r, manyTokens, nothing)
		}},
		{kindPair, 20, func(ctx context.Context, c *clients, r *request) error {
			return c.events(ctx, paired, r, manyTokens, nothing)
		}},
		{kindTyped, 10, func(ctx context.Context, c *clients, r *request) error {
			return c.typed(ctx, steady, r, manyTokens)
		}},
		{kindWhole, 5, func(ctx context.Context, c *clients, r *request) error {
			return c.whole(ctx, steady, r, manyTokens)
		}},
		{kindKServe, 10, func(ctx context.Context, c *clients, r *request) error {
			return c.counted(ctx, steady, r, manyTokens)
		}},
	}
}

// shows reports whether the clients of a kind get each token, so that they show whether a generation
// had a response. Tensors of KServe clients are never repeated once they were sent.
func (k kind) shows() bool { return k.name != kindWhole && k.name != kindKServe }
