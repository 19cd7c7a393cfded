package kserve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/experimental"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/tap"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/gen/go/kserve/kserveconnect"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
)

// Server serves the service with grpc-go on the listener's port.
type Server struct {
	service     *Service
	listener    *Listener
	gate        *auth.Gate
	hostCheck   server.HostCheck
	shared      server.Config
	secure      bool
	grpc        *grpc.Server
	codec       grpcCodec
	most        int // maximum bytes of a received message
	telemetry   *server.Telemetry
	abort       context.CancelCauseFunc
	log         *slog.Logger
	serving     sync.WaitGroup
	connections *server.LimitedListener // nil before Start, and if there is no port
	calls       atomic.Int64            // number of calls in progress
}

// The policy for clients' pings accepts all pings that tritonserver accepts, and more, so
// that no client is disconnected that tritonserver would serve. The keepalive of connections
// has tritonserver's defaults.
const (
	keepaliveTime    = 2 * time.Hour
	keepaliveTimeout = 20 * time.Second
	leastPingPause   = 10 * time.Second
)

// The flow-control windows: how many unread bytes clients may send by call and by
// connection. With windows of a fixed size grpc-go doesn't measure the bandwidth, which
// would cost a ping and its reply for many messages.
const (
	streamWindow     = 4 << 20
	connectionWindow = 16 << 20
	// maxStreams is the maximum number of concurrent calls of a connection; more wait at the
	// client. maxHeader is the maximum size of a call's metadata in bytes, as on the other
	// ports. handshakeTimeout limits the time before the first call.
	maxStreams       = 4096
	maxHeader        = 64 << 10
	handshakeTimeout = 10 * time.Second
	// bufferSize is the size of reads and writes in bytes: a large size needs fewer reads and
	// writes for large tensors.
	bufferSize = 128 << 10
	// workers is the number of goroutines that keep their stacks between calls. Further
	// concurrent calls run in new goroutines, whose stacks must grow each time.
	workers = 128
)

// TransportOptions returns the options of grpc-go's server that affect its speed, and its
// limits.
func TransportOptions(security credentials.TransportCredentials, cfg Config) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(reading{security}),
		grpc.MaxRecvMsgSize(math.MaxInt32), // tritonserver has the same limit
		grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxHeaderListSize(maxHeader),
		grpc.ConnectionTimeout(handshakeTimeout),
		grpc.InitialWindowSize(streamWindow),
		grpc.InitialConnWindowSize(connectionWindow),
		grpc.ReadBufferSize(bufferSize),
		grpc.WriteBufferSize(bufferSize),
		grpc.NumStreamWorkers(workers),
		experimental.BufferPool(replies),
		grpc.KeepaliveParams(cfg.keepalive()),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: leastPingPause, PermitWithoutStream: true}),
	}
}

// NewServer returns a server that doesn't serve yet, with TLS if there are certificates.
func NewServer(service *Service, listener *Listener, c server.Common) (*Server, error) {
	s := &Server{
		service: service, listener: listener, gate: c.Gate, hostCheck: server.NewHostCheck(c.Config, listener.grpc, c.Certificates, c.Gate),
		shared: c.Config, secure: c.Certificates != nil, telemetry: c.Telemetry, abort: c.Abort, log: c.Log, codec: newGRPCCodec(),
		most: int(min(cmp.Or(service.cfg.MaxMessage, math.MaxInt32), math.MaxInt32)),
	}
	security := insecure.NewCredentials()
	if s.secure {
		security = credentials.NewTLS(c.Certificates.Config("h2"))
	}
	s.grpc = grpc.NewServer(append(TransportOptions(security, service.cfg),
		grpc.ForceServerCodecV2(s.codec),
		grpc.MaxRecvMsgSize(s.most),
		grpc.StreamInterceptor(s.serve),
		grpc.InTapHandle(checkHeader),
	)...)
	s.grpc.RegisterService(s.asStreams(s.description()), service)
	s.grpc.RegisterService(s.asStreams(grpc_health_v1.Health_ServiceDesc), nativeHealth{core: service.core})
	reflection.Register(s.grpc)
	for service, info := range s.grpc.GetServiceInfo() {
		for _, m := range info.Methods {
			if name := "/" + service + "/" + m.Name; auth.Find(name) == nil {
				return nil, fmt.Errorf("the procedure %s has no record in services/auth, which defines the access to each procedure: add one", name)
			}
		}
	}
	return s, nil
}

// serve runs a call: it admits the call, runs its handler and logs the call.
func (s *Server) serve(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	ctx, call := s.begin(ss.Context(), info.FullMethod)
	route := auth.Find(info.FullMethod)
	stream := &begunStream{ServerStream: ss, call: call, single: !info.IsClientStream && !info.IsServerStream}
	if !stream.single {
		call.identify()
	}
	defer func() {
		if err = call.end(ctx, recover(), err); !stream.answered.Load() {
			ss.SetTrailer(call.metadata())
		}
	}()
	ctx, err = s.admit(ctx, route)
	if err != nil {
		return err
	}
	arrival := admission.ArrivalOf(ctx)
	defer arrival.Leave()
	stream.ctx = ctx
	if source, ok := sourceOf(ctx); ok {
		stream.receiver = receiver{source: source, codec: s.codec, arrival: arrival, most: s.most, single: !info.IsClientStream}
		if route.Access == auth.Open {
			stream.receiver.open, stream.receiver.most = true, server.MaxOpenBody
		}
	}
	return handler(srv, stream)
}

// admit returns the context of a call with its client and its arrival, which the caller must
// leave. It returns an error if the call is refused. Nothing of the call's requests has been
// read yet.
func (s *Server) admit(ctx context.Context, route *auth.Record) (context.Context, error) {
	if err, long := ctx.Value(longHeaderKey{}).(error); long {
		s.telemetry.RefusedHeader()
		return ctx, err
	}
	if err := s.hostCheck.Check(incoming(ctx)(":authority")); err != nil {
		return ctx, err
	}
	ctx, err := s.gate.Admit(ctx, route, valuesOf(ctx))
	if err != nil {
		return ctx, err
	}
	arrival := s.service.core.Admission().Arrive(ctx)
	if route.Effect == auth.Runs { // KServe's calls of this effect run models
		if err := arrival.AdmitModel(); err != nil {
			return ctx, err
		}
	}
	return arrival, nil
}

type longHeaderKey struct{}

// checkHeader marks the context of a call with too many lines of metadata. It is grpc-go's
// tap, since contexts return the metadata only as a copy. It doesn't refuse the call itself:
// grpc-go would keep the context of a refused call until the call's deadline, which the
// client chooses.
func checkHeader(ctx context.Context, info *tap.Info) (context.Context, error) {
	if err := server.CheckHeader(info.Header); err != nil {
		return context.WithValue(ctx, longHeaderKey{}, err), nil
	}
	return ctx, nil
}

// asStreams makes grpc-go run unary methods as streams. grpc-go reads the request of a unary
// method before it calls an interceptor. grpc-go reads the request of a stream on demand, which
// is after the call has been admitted.
func (s *Server) asStreams(d grpc.ServiceDesc) *grpc.ServiceDesc {
	streams := slices.Clone(d.Streams)
	for _, m := range d.Methods {
		info := &grpc.StreamServerInfo{FullMethod: "/" + d.ServiceName + "/" + m.MethodName}
		handler := func(srv any, ss grpc.ServerStream) error {
			answer, err := m.Handler(srv, ss.Context(), ss.RecvMsg, s.complete)
			if err != nil {
				return err
			}
			return ss.SendMsg(answer)
		}
		streams = append(streams, grpc.StreamDesc{StreamName: m.MethodName, Handler: func(srv any, ss grpc.ServerStream) error {
			return s.serve(srv, ss, info, handler) // grpc-go calls the interceptor only for other streams
		}})
	}
	d.Methods, d.Streams = nil, streams
	return &d
}

// complete adds the parameters from headers to a unary call's request. It also counts the
// decoded size, since the request may have been compressed.
func (s *Server) complete(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if body, ok := req.(*request); ok { // only this kind of request is large
		err := body.AddParameters(s.service.forward.ofCall(ctx))
		if err == nil {
			err = admission.ArrivalOf(ctx).Weigh(int64(body.Size()))
		}
		if err != nil {
			body.Free()
			return nil, err
		}
	}
	return handler(ctx, req)
}

// description returns the service's description for grpc-go. It isn't the generated one,
// since requests and replies of inferences aren't decoded.
func (s *Server) description() grpc.ServiceDesc {
	d := grpc.ServiceDesc{
		ServiceName: kserveconnect.GRPCInferenceServiceName,
		HandlerType: (*any)(nil),
		Metadata:    kserve.GRPCInferenceService_ServiceDesc.Metadata,
		Streams: []grpc.StreamDesc{{
			StreamName: streamName, ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, ss grpc.ServerStream) error {
				ctx := ss.Context()
				return s.service.streamInfer(ctx, newNativeExchange(ss), streamOptions{wantsStatus(incoming(ctx)), s.service.forward.ofCall(ctx)})
			},
		}},
	}
	for _, m := range s.service.methods() {
		if m.native.Handler != nil {
			d.Methods = append(d.Methods, m.native)
		}
	}
	return d
}

// Start serves on the listener, if it is open.
func (s *Server) Start(context.Context) error {
	if !s.service.cfg.Enabled {
		return nil
	}
	l := server.LimitConnections(s.listener.grpc.Open(), s.shared, s.telemetry, s.log)
	s.connections = l
	s.serving.Go(func() {
		if err := s.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) { // Stop may precede Serve
			s.abort(fmt.Errorf("serve KServe v2 by gRPC: %w", err))
		}
	})
	return nil
}

// Report logs the address, if the port is open.
func (s *Server) Report() {
	if address := s.listener.Addr(); address != nil {
		s.log.Info("listening for KServe v2 by gRPC", "address", address.String(), "tls", s.secure)
	}
}

// Stop waits for calls in flight until the shutdown timeout, cancels the remaining calls and
// closes all connections. It returns when all calls have ended. Idle connections don't delay
// it.
func (s *Server) Stop(ctx context.Context) error {
	grace, cancel := context.WithTimeout(ctx, s.service.cfg.ShutdownTimeout)
	defer cancel()
	s.service.core.Admission().Drain(grace)
	stopped := make(chan struct{})
	go func() { s.grpc.GracefulStop(); close(stopped) }()
	if !s.clientsClosed(stopped) {
		if s.connections != nil {
			s.connections.CloseAll()
		}
		s.grpc.Stop()
		<-stopped
	}
	s.serving.Wait()
	s.service.streams.Wait()
	return nil
}

const (
	// responseGrace is how long sending the responses of ended calls may take.
	responseGrace = time.Second
	// closeGrace is how long clients have to close a connection without calls.
	closeGrace = 100 * time.Millisecond
)

// clientsClosed reports whether all clients have closed their connections. Clients close theirs
// when their last call has ended.
func (s *Server) clientsClosed(stopped <-chan struct{}) bool {
	late := time.NewTimer(responseGrace)
	defer late.Stop()
	for {
		calls := s.calls.Load()
		closed := time.NewTimer(closeGrace)
		select {
		case <-stopped:
			closed.Stop()
			return true
		case <-late.C:
			closed.Stop()
			return false
		case <-closed.C:
			if calls == 0 {
				return false
			}
		}
	}
}

// nativeExchange is a stream over grpc-go.
type nativeExchange struct {
	grpc.ServerStream

	write func(mem.BufferSlice) error // writes joined messages; nil if grpc-go can't
}

func newNativeExchange(ss grpc.ServerStream) nativeExchange {
	x := nativeExchange{ServerStream: ss}
	if begun, ok := ss.(*begunStream); ok {
		x.write = begun.joinedWriter()
	}
	return x
}

func (x nativeExchange) receive() (*request, error) {
	req := &request{}
	d := decoding{message: req, arrival: admission.ArrivalOf(x.Context())}
	if err := x.RecvMsg(&d); err != nil {
		return nil, err
	}
	return req, d.err
}

func (x nativeExchange) send(r *reply) error {
	if r.joined {
		return x.write(r.encoded)
	}
	return x.SendMsg(r)
}

func (x nativeExchange) joins() bool { return x.write != nil }

// abort returns false: grpc-go ends blocked sends and receives only after the handler has
// returned.
func (nativeExchange) abort() bool { return false }

// valuesOf returns a function for the values of a call's metadata by lower-case name.
func valuesOf(ctx context.Context) func(name string) []string {
	return func(name string) []string { return metadata.ValueFromIncomingContext(ctx, name) }
}

// incoming returns a function for the first values of a call's metadata.
func incoming(ctx context.Context) func(key string) string {
	return func(key string) string {
		if values := metadata.ValueFromIncomingContext(ctx, key); len(values) > 0 {
			return values[0]
		}
		return ""
	}
}

// modelOf returns the model that a request names, or an empty string.
func modelOf(req any) string {
	switch req := req.(type) {
	case *decoding:
		return modelOf(req.message)
	case *request:
		if req.InferRequest == nil { // the request couldn't be decoded
			return ""
		}
		return req.Head().GetModelName()
	case interface{ GetModelName() string }:
		return req.GetModelName()
	case interface{ GetName() string }:
		return req.GetName()
	}
	return ""
}

// begunStream is the stream of a call that has started.
type begunStream struct {
	grpc.ServerStream

	call     *call
	single   bool            // the call is unary: one request and one response
	receiver receiver        // reads the call's messages; without a source, grpc-go reads the messages
	ctx      context.Context //nolint:containedctx // how grpc-go passes the context
	answered atomic.Bool     // the first message has been sent or is being sent
}

// Context implements [grpc.ServerStream].
func (s *begunStream) Context() context.Context { return s.ctx }

// RecvMsg implements [grpc.ServerStream].
func (s *begunStream) RecvMsg(m any) error {
	var err error
	if s.receiver.source != nil {
		err = s.receiver.receive(m)
	} else {
		err = s.ServerStream.RecvMsg(m)
	}
	if err == nil && s.single {
		s.call.model = modelOf(m)
	}
	return err
}

// SendMsg implements [grpc.ServerStream]. The header is sent with the first message.
func (s *begunStream) SendMsg(m any) error {
	s.answer()
	return s.ServerStream.SendMsg(m)
}

// answer sets the header before the first message.
func (s *begunStream) answer() {
	if !s.answered.Swap(true) && s.call.id != "" {
		_ = s.SetHeader(s.call.metadata()) // nothing has been sent yet
	}
}

// call is a gRPC call, for the log, the metrics and the trace.
type call struct {
	server.Call

	server  *Server
	method  string
	model   string
	id      string // id of the call: the client's, or the one of [call.identify]; empty if there is none
	started time.Time
}

func (s *Server) begin(ctx context.Context, method string) (context.Context, *call) {
	s.calls.Add(1)
	c := &call{server: s, method: method, started: time.Now()}
	if given := incoming(ctx)(requestIDKey); server.ValidRequestID(given) {
		c.id = given
	}
	ctx, c.Call = s.telemetry.BeginGRPC(ctx, method, auth.Find(method).Surface == auth.SurfaceHealth)
	origin := &inference.Origin{Surface: inference.SurfaceKServe}
	if client, ok := peer.FromContext(ctx); ok {
		origin.Address = inference.AddressOf(client.Addr)
	}
	return inference.WithOrigin(ctx, origin), c
}

// identify assigns a call an id for its log line. A successful call needs none: an id would
// cost a tenth of the total work for a small tensor, including the client's.
func (c *call) identify() {
	if c.id == "" {
		c.id = server.RequestID("")
	}
}

const requestIDKey = "x-request-id"

// metadata returns the header of a response. If the response has no message, it is the
// trailer. Such a trailers-only response lets proxies retry the call, since they haven't
// forwarded anything yet.
func (c *call) metadata() metadata.MD { return metadata.MD{requestIDKey: {c.id}} }

// errorText returns a call's error for the log. The stack of a panic stays whole.
func errorText(err error, panicked bool) string {
	if panicked {
		return server.ErrorText(err)
	}
	return server.Cut(server.ErrorText(err))
}

// levelOf returns the level of a call's log line, as REST's requests have it.
func levelOf(code codes.Code, err error) slog.Level {
	switch {
	case code == codes.OK, inference.AsError(err).Reason == inference.ReasonAuthFailures: // the gate logs these together
		return slog.LevelDebug
	case code == codes.Unavailable, code == codes.ResourceExhausted:
		return server.LogLevel(err)
	case code == codes.Internal, code == codes.Unknown, code == codes.DeadlineExceeded, code == codes.DataLoss:
		return slog.LevelError
	}
	return slog.LevelInfo
}

// end converts a call's error, or a panic, to a status and logs the call. It logs successful
// calls at debug level, since there may be many thousands per second.
func (c *call) end(ctx context.Context, p any, err error) error {
	c.server.calls.Add(-1)
	if p != nil {
		c.server.telemetry.Panicked()
		err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
	answer := statusOf(err)
	c.End(answer.Code())
	level := levelOf(answer.Code(), err)
	log := c.server.log
	logged := log.Enabled(ctx, level)
	if logged || answer.Code() != codes.OK {
		c.identify()
	}
	if logged {
		attrs := []slog.Attr{
			slog.String("method", c.method), slog.String("code", answer.Code().String()), slog.String("request_id", c.id),
			slog.Duration("duration", time.Since(c.started).Round(time.Microsecond)),
		}
		if id := c.TraceID(); id != "" {
			attrs = append(attrs, slog.String("trace_id", id))
		}
		if client := inference.ClientOf(ctx); client != nil {
			attrs = append(attrs, slog.String("client", client.Name))
		}
		if c.model != "" {
			attrs = append(attrs, slog.String("model", server.Cut(c.model)))
		}
		if err != nil {
			attrs = append(attrs, slog.String("error", errorText(err, p != nil)))
		}
		log.LogAttrs(ctx, level, "call", attrs...)
	}
	return answer.Err()
}
