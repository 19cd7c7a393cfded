package kserve_test

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/kserve/kservetest"
)

// recordedMetadata has the metadata of a trial's calls, once for each method. apart has headers and
// trailers separately, and together has both without the metadata that the shared port's
// HTTP adds. Calls to the shared port are only in together.
type recordedMetadata struct {
	mu              sync.Mutex
	apart, together []string
}

type metadataKey struct{}

func withRecordedMetadata(ctx context.Context) (context.Context, *recordedMetadata) {
	n := &recordedMetadata{}
	return context.WithValue(ctx, metadataKey{}, n), n
}

// withoutRecordedMetadata returns a context whose calls aren't recorded.
func withoutRecordedMetadata(ctx context.Context) context.Context {
	return context.WithValue(ctx, metadataKey{}, nil)
}

// all returns the sorted metadata without duplicates, since the number of calls of a
// trial may vary.
func (n *recordedMetadata) all() (apart, together []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	slices.Sort(n.apart)
	slices.Sort(n.together)
	return slices.Compact(n.apart), slices.Compact(n.together)
}

// metadataRecorder records the metadata of a connection's calls.
type metadataRecorder struct{ shared bool }

func (by metadataRecorder) record(ctx context.Context, method string, header, trailer metadata.MD) {
	n, ok := ctx.Value(metadataKey{}).(*recordedMetadata)
	if !ok {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	method = path.Base(method)
	n.together = append(n.together, method+" "+fields(metadata.Join(header, trailer), "date", "vary", "grpc-accept-encoding"))
	if !by.shared {
		n.apart = append(n.apart, method+" header "+fields(header, "grpc-accept-encoding")+" trailer "+fields(trailer))
	}
}

// TestRequestID checks that Trident's native gRPC port returns the caller's request id. Without one
// the server's id is returned where a log line exists.
func TestRequestID(t *testing.T) {
	conn := dial(t, serveNative(t, kservetest.Open(), kservetest.SingleResponseEngine()))
	client := api.NewGRPCInferenceServiceClient(conn)
	const key = "x-request-id"
	for name, c := range map[string]struct {
		given, model string
		want         string // expected id in the header, or in the trailer of an error
	}{
		"a caller's":           {"mine", "m", "mine"},
		"none":                 {"", "m", ""},
		"one that is too long": {strings.Repeat("a", 129), "m", ""},
		"an error":             {"", "unknown", "new"},
		"a caller's error":     {"mine", "unknown", "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			if c.given != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, key, c.given)
			}
			var header, trailer metadata.MD
			req := tensor(c.model, "IN", "UINT8", []int64{1}, []byte{1})
			_, err := client.ModelInfer(ctx, req, grpc.Header(&header), grpc.Trailer(&trailer))
			if (err == nil) != (c.model == "m") {
				t.Fatal(err)
			}
			got := strings.Join(slices.Concat(header[key], trailer[key]), ", ")
			if c.want == "new" && len(got) < 8 || c.want != "new" && got != c.want {
				t.Errorf("header %v, trailer %v", header, trailer)
			}
		})
	}
	stream, err := client.ModelStreamInfer(t.Context())
	if err == nil {
		err = stream.Send(tensor("m", "IN", "UINT8", []int64{1}, []byte{1}))
	}
	if err != nil {
		t.Fatal(err)
	}
	if header, err := stream.Header(); err != nil || len(header[key]) != 1 {
		t.Errorf("a stream's header %v, %v", header, err)
	}
}

// fields returns metadata as a string, sorted by name. It omits the given names and the
// request's id, which only Trident sends.
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

// options returns the options of the connection.
func (by metadataRecorder) options() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
			var header, trailer metadata.MD
			err := invoke(ctx, method, req, reply, conn, append(options, grpc.Header(&header), grpc.Trailer(&trailer))...)
			by.record(ctx, method, header, trailer)
			return err
		}),
		grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, stream grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
			s, err := stream(ctx, desc, conn, method, options...)
			return recordingStream{s, by, method}, err
		}),
	}
}

// recordingStream records the metadata of a stream when it ends.
type recordingStream struct {
	grpc.ClientStream

	by     metadataRecorder
	method string
}

func (s recordingStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	if err != nil {
		header, _ := s.Header() // the header is nil for a call that failed before its header
		s.by.record(s.Context(), s.method, header, s.Trailer())
	}
	return err
}
