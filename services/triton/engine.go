// Package triton has the engine that runs models on a remote tritonserver over
// gRPC. The tensors of each kind of model belong to package contracts, and the
// choice of an engine to package catalog.
package triton

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

var (
	_ inference.Engine             = (*Engine)(nil)
	_ inference.Forwarder          = (*Engine)(nil)
	_ inference.Caller             = (*Engine)(nil)
	_ inference.Describer          = (*Engine)(nil)
	_ inference.StatisticsReporter = (*Engine)(nil)
	_ inference.Repository         = (*Engine)(nil)
	_ inference.SharedMemory       = (*Engine)(nil)
	_ inference.Settings           = (*Engine)(nil)
	_ inference.MixedCounter       = (*Engine)(nil)
	_ inference.Remote             = (*Engine)(nil)
)

// Engine is one remote tritonserver. While the server is down, requests fail
// with [inference.CodeUnavailable]. The first request after the server is back
// is served.
type Engine struct {
	config     Config
	target     string
	security   credentials.TransportCredentials
	codec      *codec
	rings      sync.Pool // unused receivers by grpc-go, of type *ring
	calls      sync.Pool // unused direct receivers, of type *directCall
	idleTimers *IdleTimers
	health     *health
	// conn is the current connection to the server. It is nil before Start and after Stop.
	conn  atomic.Pointer[link]
	links links
	mixed atomic.Uint64
	log   *slog.Logger
}

// New checks the configuration. The engine accepts requests after Start.
func New(config Config, log *slog.Logger) (*Engine, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	target, secure, err := config.target()
	if err != nil {
		return nil, err
	}
	security := insecure.NewCredentials()
	if secure {
		if security, err = config.credentials(); err != nil {
			return nil, err
		}
	}
	e := &Engine{
		config:     config,
		target:     target,
		security:   security,
		codec:      newCodec(),
		idleTimers: NewIdleTimers(config.KeepAlive, config.FirstResponse, config.Inactivity),
		links:      links{retired: map[*link]struct{}{}},
		log:        log,
	}
	e.health = newHealth(e, log)
	return e, nil
}

// Address returns the configured address of the server.
func (e *Engine) Address() string { return e.config.Endpoint }

// Start starts to connect and doesn't wait for the connection: the server may
// start later.
func (e *Engine) Start(context.Context) error {
	conn, err := e.dial()
	if err != nil {
		return err
	}
	if !e.conn.CompareAndSwap(nil, conn) {
		return errors.Join(errors.New("the connection to the inference server has been started already: call Stop before another Start"), conn.Close())
	}
	return nil
}

func (e *Engine) dial() (*link, error) {
	conn, err := grpc.NewClient(e.target, e.options()...)
	if err != nil {
		return nil, fmt.Errorf("create a gRPC client for %s: %w", e.target, err)
	}
	conn.Connect()
	return &link{ClientConn: conn, direct: e.direct()}, nil
}

// Stop closes the connection. Streams in flight fail with
// [inference.CodeUnavailable], each in the goroutine that iterates over it.
func (e *Engine) Stop(context.Context) error {
	conn := e.conn.Swap(nil)
	if conn == nil {
		return nil
	}
	e.health.stop()
	err := conn.Close()
	e.links.end()
	e.health.end()
	return err
}

// bufferSize is the size of reads and writes, in bytes. A large size needs
// fewer system calls for large tensors.
const bufferSize = 128 << 10

func (e *Engine) options() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(e.security),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(e.config.MaxMessage),
			grpc.MaxCallSendMsgSize(math.MaxInt32),
		),
		grpc.WithReadBufferSize(bufferSize),
		grpc.WithWriteBufferSize(bufferSize),
		// Keep-alive pings stay off, because tritonserver closes a connection with
		// frequent pings. If a server disappears without closing the connection, a
		// call that checks its health detects that after a timeout (see links).
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
	}
}

// connection returns the connection once it is established, and waits at most
// ConnectTimeout. After a failure it tries the server at once, regardless of the
// back-off. If the server is still down, it returns the error at once.
func (e *Engine) connection(ctx context.Context) (*link, error) {
	conn := e.conn.Load()
	if conn == nil {
		return nil, errStopped
	}
	state := conn.GetState()
	if state == connectivity.Ready {
		return conn, nil
	}
	wait, cancel := context.WithTimeout(ctx, e.config.ConnectTimeout)
	defer cancel()
	failing := state == connectivity.TransientFailure
	if failing {
		if err := e.checkListening(wait); err != nil && ctx.Err() == nil {
			return nil, unreachable(err)
		}
		conn.ResetConnectBackoff()
	}
	conn.Connect()
	for state != connectivity.Ready && state != connectivity.Shutdown && (failing || state != connectivity.TransientFailure) &&
		conn.WaitForStateChange(wait, state) {
		state = conn.GetState()
	}
	switch {
	case ctx.Err() != nil:
		return nil, e.failure(ctx, ctx.Err())
	case state == connectivity.Idle || state == connectivity.Connecting:
		return nil, unreachable(fmt.Errorf("the connection to the inference server is still %s after %s", state, e.config.ConnectTimeout))
	}
	// A failed connection is returned too. The call then fails at once, with
	// the reason for the log.
	return conn, nil
}

// checkListening reports, as an error, that no server listens on the address. A failed
// gRPC connection keeps its state until it is established again, so it doesn't
// show that another attempt was refused.
func (e *Engine) checkListening(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", strings.TrimPrefix(e.target, targetPrefix))
	if err != nil {
		return err
	}
	return conn.Close()
}

// Ready returns nil if the server reports that it and its models are ready, and no model
// is known to be broken.
func (e *Engine) Ready(ctx context.Context) error {
	answer, err := e.ServerReady(ctx, &kserve.ServerReadyRequest{})
	if err != nil {
		return err
	}
	if !answer.GetReady() {
		return errNotReady
	}
	return e.health.faults().Err()
}

// Changed implements [inference.Notifier].
func (e *Engine) Changed() <-chan struct{} { return e.health.changed }
