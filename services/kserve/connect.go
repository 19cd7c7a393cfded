package kserve

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"
	"connectrpc.com/grpcreflect"

	health1connect "github.com/trident-inference/trident/gen/go/health/grpc_health_v1connect"
	"github.com/trident-inference/trident/services/admission"
	"github.com/trident-inference/trident/services/server"
)

// NewRoutes mounts the service on the shared port, with trident.v1.InferService, the
// health service, and reflection of all services there. Messages are bounded as the other surfaces' bodies are, also when they
// come compressed; streams aren't, as a whole.
func NewRoutes(s *Service, cfg server.Config) ([]server.Route, error) {
	options := append(codecs(kinds()),
		connect.WithReadMaxBytes(int(cfg.MaxBody)), server.Gzip(cfg.MaxBody), server.Deflate(cfg.MaxBody), connect.WithCompressMinBytes(server.CompressFrom),
		connect.WithInterceptors(interceptor{s.forward}),
	)
	var routes []server.Route
	var err error
	mount := func(path string, handler http.Handler) {
		methods, failure := server.Procedures(path, handler, connectError)
		routes, err = append(routes, methods...), errors.Join(err, failure)
	}
	for _, m := range s.methods() {
		handler := m.connect(options...)
		if m.name == streamName {
			handler = withAbort(server.OpenBody(handler))
		}
		routes = append(routes, server.Route{Pattern: procedure(m.name), Handler: asSent(handler), Refuse: server.CallErrors(connectError).Refuse})
	}
	routes = append(routes, typedRoutes(s, options)...)
	mount(health1connect.NewHealthHandler(sharedHealth{s.core}, options...))
	reflector := grpcreflect.NewStaticReflector(sharedServices()...)
	bounds := []connect.HandlerOption{connect.WithReadMaxBytes(int(cfg.MaxBody)), server.Gzip(cfg.MaxBody)}
	mount(grpcreflect.NewHandlerV1(reflector, bounds...))
	mount(grpcreflect.NewHandlerV1Alpha(reflector, bounds...))
	return routes, err
}

// asSent has gRPC's responses compressed as the requests are, as on gRPC's own port.
// Its clients say in every call what they can read, whether they want it or not.
func asSent(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			r.Header.Del("Grpc-Accept-Encoding")
		}
		next.ServeHTTP(w, r)
	})
}

// interceptor forwards headers, notes for the log what a call was about, and makes
// Connect's errors.
type interceptor struct{ forward forwarding }

// WrapUnary implements [connect.Interceptor].
func (i interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		rec := server.RecordOf(ctx)
		body, infers := req.Any().(*request)
		if infers {
			body.decoded()
		}
		rec.Model = modelOf(req.Any())
		var err error
		if infers {
			err = body.AddParameters(i.forward.ofHeader(req.Header()))
		}
		if infers && err == nil { // it may have been compressed
			err = admission.ArrivalOf(ctx).Weigh(int64(body.Size()))
		}
		var answer connect.AnyResponse
		if err == nil {
			answer, err = next(ctx, req)
		}
		if err != nil {
			return nil, connectError(rec, err)
		}
		return answer, nil
	}
}

// WrapStreamingHandler implements it.
func (i interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		if err := next(ctx, conn); err != nil {
			return connectError(server.RecordOf(ctx), err)
		}
		return nil
	}
}

// WrapStreamingClient implements it; there is no client.
func (interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// connectStream is the handler of ModelStreamInfer.
func (s *Service) connectStream(options ...connect.HandlerOption) http.Handler {
	return connect.NewBidiStreamHandler(procedure(streamName), func(ctx context.Context, stream *connect.BidiStream[request, reply]) error {
		return s.streamInfer(ctx, connectExchange{ctx, stream, abortOf(ctx)}, s.optionsOf(stream.RequestHeader()))
	}, append(options, connect.WithSchema(schema(streamName)))...)
}

// optionsOf are a stream's by the headers of a call on the shared port.
func (s *Service) optionsOf(header http.Header) streamOptions {
	return streamOptions{asStatus: wantsStatus(header.Get), parameters: s.forward.ofHeader(header)}
}

// connectExchange is Connect's side of a stream.
type connectExchange struct {
	ctx    context.Context //nolint:containedctx // the call's, which knows what is being decoded
	stream *connect.BidiStream[request, reply]
	end    func()
}

func (x connectExchange) receive() (*request, error) {
	req, err := x.stream.Receive()
	admission.ArrivalOf(x.ctx).Decoded()
	if err != nil {
		return nil, err
	}
	return req.decoded(), nil
}

func (x connectExchange) send(r *reply) error { return x.stream.Send(r) }

// abort ends what blocks, so that nothing is written when the call has ended:
// net/http panics then.
func (x connectExchange) abort() bool {
	x.end()
	return true
}

type abortKey struct{}

// withAbort gives a handler the means to end what blocks.
func withAbort(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		end := func() {
			now := time.Now()
			_ = errors.Join(control.SetWriteDeadline(now), control.SetReadDeadline(now)) // tests' recorders have none
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), abortKey{}, end)))
	})
}

func abortOf(ctx context.Context) func() {
	if end, ok := ctx.Value(abortKey{}).(func()); ok {
		return end
	}
	return func() {}
}
