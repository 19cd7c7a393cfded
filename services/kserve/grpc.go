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

// Server serves the service by grpc-go on the listener's port.
type Server struct {
	service     *Service
	listener    *Listener
	gate        *auth.Gate
	door        server.Door
	shared      server.Config
	secure      bool
	grpc        *grpc.Server
	codec       grpcCodec
	most        int // bytes of a message
	telemetry   *server.Telemetry
	abort       context.CancelCauseFunc
	log         *slog.Logger
	serving     sync.WaitGroup
	connections *server.LimitedListener // nil before Start, and without a port
	calls       atomic.Int64            // in progress
}

// Pings that clients may send are those of tritonserver's clients, and more: none
// is sent away for pings that tritonserver takes. Connections are looked after as
// tritonserver does by default.
const (
	keepaliveTime    = 2 * time.Hour
	keepaliveTimeout = 20 * time.Second
	leastPingPause   = 10 * time.Second
)

// What clients may send that isn't read yet, by call and by connection, in bytes.
// With windows of a fixed size grpc-go measures none, which takes a ping and its
// answer for many a message.
const (
	streamWindow     = 4 << 20
	connectionWindow = 16 << 20
	// maxStreams are the calls at once of a connection; more wait at the client.
	// maxHeader bounds a call's metadata, in bytes, as on the other ports, and
	// handshakeTimeout what comes before the first call.
	maxStreams       = 4096
	maxHeader        = 64 << 10
	handshakeTimeout = 10 * time.Second
	// bufferSize is that of reads and writes: large tensors take fewer.
	bufferSize = 128 << 10
	// workers keep their stacks from call to call. More calls at once than that have
	// goroutines of their own, whose stacks must grow each time.
	workers = 128
)

// TransportOptions are those of grpc-go's server that speed depends on, and its
// limits.
func TransportOptions(security credentials.TransportCredentials) []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.Creds(reading{security}),
		grpc.MaxRecvMsgSize(math.MaxInt32), // as tritonserver
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
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: leastPingPause, PermitWithoutStream: true}),
	}
}

// NewServer makes a server that doesn't serve yet, with TLS if there are certificates.
func NewServer(service *Service, listener *Listener, c server.Common) (*Server, error) {
	s := &Server{
		service: service, listener: listener, gate: c.Gate, door: server.NewDoor(c.Config, listener.grpc, c.Certificates, c.Gate),
		shared: c.Config, secure: c.Certificates != nil, telemetry: c.Telemetry, abort: c.Abort, log: c.Log, codec: newGRPCCodec(),
		most: int(min(cmp.Or(service.cfg.MaxMessage, math.MaxInt32), math.MaxInt32)),
	}
	security := insecure.NewCredentials()
	if s.secure {
		security = credentials.NewTLS(c.Certificates.Config("h2"))
	}
	s.grpc = grpc.NewServer(append(TransportOptions(security),
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
				return nil, fmt.Errorf("the procedure %s has no record in services/auth, so nothing says who may call it", name)
			}
		}
	}
	return s, nil
}

// serve runs a call: it admits it, has its handler read and answer it, and logs it.
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

// admit returns the context of a call with its client and its arrival, which must be left,
// or why the call isn't let in. Nothing of its requests has been read yet.
func (s *Server) admit(ctx context.Context, route *auth.Record) (context.Context, error) {
	if err, long := ctx.Value(longHeaderKey{}).(error); long {
		s.telemetry.RefusedHeader()
		return ctx, err
	}
	if err := s.door.Check(incoming(ctx)(":authority")); err != nil {
		return ctx, err
	}
	ctx, err := s.gate.Admit(ctx, route, valuesOf(ctx))
	if err != nil {
		return ctx, err
	}
	arrival := s.service.core.Admission().Arrive(ctx)
	if route.Effect == auth.Runs {
		if err := arrival.Admit(); err != nil {
			return ctx, err
		}
	}
	return arrival, nil
}

type longHeaderKey struct{}

// checkHeader notes that a call's metadata have too many lines. It is grpc-go's tap, as
// contexts give all metadata as a copy only. It refuses nothing itself: grpc-go would keep
// the context of what a tap refuses until the call's deadline, which is the client's choice.
func checkHeader(ctx context.Context, info *tap.Info) (context.Context, error) {
	if err := server.CheckHeader(info.Header); err != nil {
		return context.WithValue(ctx, longHeaderKey{}, err), nil
	}
	return ctx, nil
}

// asStreams has grpc-go run unary methods as streams. It reads the request of a unary
// method before it calls an interceptor, and that of a stream when it is asked to: after
// the call has been admitted.
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
			return s.serve(srv, ss, info, handler) // grpc-go calls interceptors for other streams only
		}})
	}
	d.Methods, d.Streams = nil, streams
	return &d
}

// complete adds the parameters that come as headers to a unary call's request, and counts
// what it holds, which may have been compressed.
func (s *Server) complete(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if body, ok := req.(*request); ok { // the one kind that is large
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

// description is the service's to grpc-go. It isn't the generated one, as requests
// and replies of inferences aren't decoded.
func (s *Server) description() grpc.ServiceDesc {
	d := grpc.ServiceDesc{
		ServiceName: kserveconnect.GRPCInferenceServiceName,
		HandlerType: (*any)(nil),
		Metadata:    kserve.GRPCInferenceService_ServiceDesc.Metadata,
		Streams: []grpc.StreamDesc{{
			StreamName: streamName, ServerStreams: true, ClientStreams: true,
			Handler: func(_ any, ss grpc.ServerStream) error {
				ctx := ss.Context()
				return s.service.streamInfer(ctx, nativeExchange{ss}, streamOptions{wantsStatus(incoming(ctx)), s.service.forward.ofCall(ctx)})
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
		if err := s.grpc.Serve(l); err != nil && !errors.Is(err, grpc.ErrServerStopped) { // a stop may come first
			s.abort(fmt.Errorf("serve KServe's gRPC: %w", err))
		}
	})
	s.log.Info("listening for KServe v2 by gRPC", "address", l.Addr().String(), "tls", s.secure)
	return nil
}

// Stop waits for calls in flight until the shutdown timeout, cancels the rest and closes all
// connections. It returns when all calls have ended. Idle connections don't delay it.
func (s *Server) Stop(ctx context.Context) error {
	grace, cancel := context.WithTimeout(ctx, s.service.cfg.ShutdownTimeout)
	defer cancel()
	s.service.core.Admission().Drain(grace)
	stopped := make(chan struct{})
	go func() { s.grpc.GracefulStop(); close(stopped) }()
	if !s.partedFrom(stopped) {
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
	// lastWords is how long the answers of calls that have ended may take to be sent.
	lastWords = time.Second
	// farewell is how long clients have to close a connection without calls.
	farewell = 100 * time.Millisecond
)

// partedFrom reports whether all clients have closed their connections, as they do when
// their last call has ended.
func (s *Server) partedFrom(stopped <-chan struct{}) bool {
	late := time.NewTimer(lastWords)
	defer late.Stop()
	for {
		calls := s.calls.Load()
		leave := time.NewTimer(farewell)
		select {
		case <-stopped:
			leave.Stop()
			return true
		case <-late.C:
			leave.Stop()
			return false
		case <-leave.C:
			if calls == 0 {
				return false
			}
		}
	}
}

// nativeExchange is grpc-go's side of a stream.
type nativeExchange struct{ grpc.ServerStream }

func (x nativeExchange) receive() (*request, error) {
	req := &request{}
	d := decoding{message: req, arrival: admission.ArrivalOf(x.Context())}
	if err := x.RecvMsg(&d); err != nil {
		return nil, err
	}
	return req, d.wrong
}

func (x nativeExchange) send(r *reply) error { return x.SendMsg(r) }

// abort can't: grpc-go ends what blocks when the call has ended.
func (nativeExchange) abort() bool { return false }

// valuesOf reads a call's metadata by lower-case names.
func valuesOf(ctx context.Context) func(name string) []string {
	return func(name string) []string { return metadata.ValueFromIncomingContext(ctx, name) }
}

// incoming reads a call's metadata.
func incoming(ctx context.Context) func(key string) string {
	return func(key string) string {
		if values := metadata.ValueFromIncomingContext(ctx, key); len(values) > 0 {
			return values[0]
		}
		return ""
	}
}

// modelOf is the model that a request names, empty for none.
func modelOf(req any) string {
	switch req := req.(type) {
	case *decoding:
		return modelOf(req.message)
	case *request:
		if req.InferRequest == nil { // it couldn't be decoded
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

// begunStream is a stream of a call that has begun.
type begunStream struct {
	grpc.ServerStream

	call     *call
	single   bool            // one request and one answer
	receiver receiver        // without a source where grpc-go reads the messages
	ctx      context.Context //nolint:containedctx // grpc-go's way to hand it over
	answered atomic.Bool     // the first message has been sent, or is being sent
}

// Context implements [grpc.ServerStream].
func (s *begunStream) Context() context.Context { return s.ctx }

// RecvMsg implements it.
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

// SendMsg implements it. The header goes with the first message.
func (s *begunStream) SendMsg(m any) error {
	if !s.answered.Swap(true) && s.call.id != "" {
		_ = s.SetHeader(s.call.metadata()) // nothing has been sent yet
	}
	return s.ServerStream.SendMsg(m)
}

// call is one of gRPC's, for the log, the metrics and the trace.
type call struct {
	server.Call

	server  *Server
	method  string
	model   string
	id      string // the client's, or see [call.identify]; empty for none
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

// identify gives a call an id by which its line in the log is found. A call that goes
// well has none, and hence needs none: one would be a tenth of all work for a small
// tensor, of the client's too.
func (c *call) identify() {
	if c.id == "" {
		c.id = server.RequestID("")
	}
}

const requestIDKey = "x-request-id"

// metadata is the initial one of an answer, or the trailers of one without a message,
// which has nothing else: an error in one piece, which proxies can retry before they
// have passed anything on.
func (c *call) metadata() metadata.MD { return metadata.MD{requestIDKey: {c.id}} }

// end makes the status of a call's error, or of a panic, and logs the call: what
// went well for debugging only, as there may be many thousands a second.
func (c *call) end(ctx context.Context, p any, err error) error {
	c.server.calls.Add(-1)
	if p != nil {
		c.server.telemetry.Panicked()
		err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
	}
	answer := statusOf(err)
	c.End(answer.Code())
	level := slog.LevelDebug
	switch answer.Code() {
	case codes.OK:
	case codes.Internal, codes.Unknown, codes.Unavailable, codes.DeadlineExceeded, codes.DataLoss:
		level = slog.LevelError
	case codes.ResourceExhausted:
		if level = slog.LevelInfo; inference.AsError(err).Reason == auth.ReasonFailures {
			level = slog.LevelDebug // the gate tells of them together
		}
	default:
		level = slog.LevelInfo
	}
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
			attrs = append(attrs, slog.String("model", c.model))
		}
		if err != nil {
			attrs = append(attrs, slog.String("error", server.ErrorText(err)))
		}
		log.LogAttrs(ctx, level, "call", attrs...)
	}
	return answer.Err()
}
