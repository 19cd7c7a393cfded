package kserve_test

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// noted is the metadata of a trial's calls, each method's once: the initial ones and
// trailers apart, and both together without what the shared port's HTTP adds. That
// port's own are together alone.
type noted struct {
	mu              sync.Mutex
	apart, together []string
}

type notedKey struct{}

func withNoted(ctx context.Context) (context.Context, *noted) {
	n := &noted{}
	return context.WithValue(ctx, notedKey{}, n), n
}

// all gives them sorted: how often a trial asks may be chance.
func (n *noted) all() (apart, together []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	slices.Sort(n.apart)
	slices.Sort(n.together)
	return slices.Compact(n.apart), slices.Compact(n.together)
}

// noter notes calls of a connection.
type noter struct{ shared bool }

func (by noter) note(ctx context.Context, method string, header, trailer metadata.MD) {
	n, ok := ctx.Value(notedKey{}).(*noted)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	method = path.Base(method)
	n.together = append(n.together, method+" "+fields(metadata.Join(header, trailer), "date", "vary", "grpc-accept-encoding"))
	if !by.shared {
		n.apart = append(n.apart, method+" header "+fields(header)+" trailer "+fields(trailer))
	}
}

// fields are metadata by their names, without the request's id, which is Trident's own,
// and without others.
func fields(values metadata.MD, without ...string) string {
	var all []string
	for name, value := range values {
		if name != "x-request-id" && !slices.Contains(without, name) {
			all = append(all, name+": "+strings.Join(value, ", "))
		}
	}
	slices.Sort(all)
	return "{" + strings.Join(all, "; ") + "}"
}

// options are those of the connection.
func (by noter) options() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
			var header, trailer metadata.MD
			err := invoke(ctx, method, req, reply, conn, append(options, grpc.Header(&header), grpc.Trailer(&trailer))...)
			by.note(ctx, method, header, trailer)
			return err
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
			s, err := stream(ctx, desc, conn, method, options...)
			return notingStream{s, by, method}, err
		}),
	}
}

// notingStream notes a stream's when it ends.
type notingStream struct {
	grpc.ClientStream

	by     noter
	method string
}

func (s notingStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil {
		header, _ := s.Header() // of a call that has failed before there were any
		s.by.note(s.Context(), s.method, header, s.Trailer())
	}
	return err
}
