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

// NewRoutes returns the routes on the shared port: the service, trident.v1.InferService, the health
// service, and reflection of all services there. Messages have the size limit of other surfaces'
// bodies, both compressed and decompressed. A stream as a whole has no limit.
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

// asSent compresses gRPC's responses as the requests are, as on gRPC's own port. gRPC clients announce
// in every call the encodings that they can read, even if they don't want compression.
func asSent(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			r.Header.Del("Grpc-Accept-Encoding")
		}
		next.ServeHTTP(w, r)
	})
}

// interceptor forwards headers, records the model for the log, and converts errors to Connect's.
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
		if infers && err == nil { // the request may have been compressed
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

// WrapStreamingHandler implements [connect.Interceptor].
func (i interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		if err := next(ctx, conn); err != nil {
			return connectError(server.RecordOf(ctx), err)
		}
		return nil
	}
}

// WrapStreamingClient implements [connect.Interceptor]. This package has no client.
func (interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// connectStream returns the handler of ModelStreamInfer.
func (s *Service) connectStream(options ...connect.HandlerOption) http.Handler {
	return connect.NewBidiStreamHandler(procedure(streamName), func(ctx context.Context, stream *connect.BidiStream[request, reply]) error {
		return s.streamInfer(ctx, connectExchange{ctx, stream, abortOf(ctx)}, s.optionsOf(stream.RequestHeader()))
	}, append(options, connect.WithSchema(schema(streamName)))...)
}

// optionsOf returns a stream's options from the headers of a call on the shared port.
func (s *Service) optionsOf(header http.Header) streamOptions {
	return streamOptions{asStatus: wantsStatus(header.Get), parameters: s.forward.ofHeader(header)}
}

// connectExchange is a stream over Connect.
type connectExchange struct {
	ctx    context.Context //nolint:containedctx // the call's context, with its arrival
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

func (connectExchange) joins() bool { return false }

// abort ends blocked sends and receives before the call ends. net/http panics on writes after the end
// of a call.
func (x connectExchange) abort() bool {
	x.end()
	return true
}

type abortKey struct{}

// withAbort stores in the request's context the function that ends blocked sends and receives.
func withAbort(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		end := func() {
			now := time.Now()
			_ = errors.Join(control.SetWriteDeadline(now), control.SetReadDeadline(now)) // recorders of tests have no deadlines
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
