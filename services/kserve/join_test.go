package kserve_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/mem"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/kservetest"
)

// TestJoined checks that responses that have come together leave together, in order and unchanged,
// and that each other response leaves at once.
func TestJoined(t *testing.T) {
	long := strings.Repeat("l", 9000)
	failed := &inference.Error{Code: inference.CodeInvalid, Triton: inference.TritonInvalidArg, Message: "bad", Text: "bad"}
	text := func(s string, more bool) *inference.Response {
		return &inference.Response{Version: "1", More: more, Outputs: []inference.Output{{Name: "o", Type: "BYTES", Shape: []int64{1}, Raw: kservetest.Bytes(s)}}}
	}
	final := func(resp *inference.Response) *inference.Response { resp.Final = true; return resp }
	many := make([]*inference.Response, 0, 1000)
	for i := range 999 {
		many = append(many, text(fmt.Sprint("token ", i), true))
	}
	many = append(many, final(text("last", false)))
	end := errors.New("the engine is gone")
	for _, test := range []struct {
		name   string
		plays  []any // responses, or the error that ends them
		frames int   // the frames that have them; 0 for no more than one for 50 responses
		call   []grpc.CallOption
	}{
		{"one by one", []any{text("a", false), text("b", false), final(text("c", false))}, 3, nil},
		{"together", []any{text("a", true), text("b", true), final(text("c", false))}, 1, nil},
		{"compressed", []any{text("a", true), text("b", true), final(text("c", false))}, 3, []grpc.CallOption{grpc.UseCompressor(gzip.Name)}},
		{"two and one", []any{text("a", true), text("b", false), final(text("c", false))}, 2, nil},
		{"a long one between", []any{text("a", true), text(long, true), text("b", true), final(text("c", false))}, 3, nil},
		{"a failure between", []any{text("a", true), &inference.Response{Err: failed, More: true}, final(text("c", false))}, 1, nil},
		{"a failure of the engine", []any{text("a", true), text("b", true), end}, 1, nil},
		{"no more after all", []any{text("a", true), text("b", true)}, 1, nil},
		{"idle", []any{text("a", true), &inference.Response{Idle: true}, final(text("c", false))}, 2, nil},
		{"many", asAny(many), 0, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			engine := kservetest.Decoupled(func(_ context.Context, _ *api.ModelInferRequest, send kservetest.SendFunc) error {
				for _, play := range test.plays {
					if err, ok := play.(error); ok {
						return err
					}
					resp := *play.(*inference.Response)
					send(&resp)
				}
				return nil
			})
			messages, frames := framesOf(t, serveNative(t, kservetest.Open(), engine), test.call...)
			var got, want []string
			for _, m := range messages {
				got = append(got, describe(m))
			}
			for _, play := range test.plays {
				switch play := play.(type) {
				case *inference.Response:
					switch {
					case play.Err != nil:
						want = append(want, "error bad")
					case !play.Idle:
						want = append(want, fmt.Sprintf("%s %t", play.Outputs[0].Raw, play.Final))
					}
				case error:
					want = append(want, "error internal error; the server's log has the details")
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d responses %.300q, want %d %.300q", len(got), got, len(want), want)
			}
			if most := len(messages) / 50; test.frames == 0 && frames > most || test.frames > 0 && frames != test.frames {
				t.Errorf("%d frames for %d responses", frames, len(messages))
			}
		})
	}
}

// Streams with a method Write of grpc-go's form, of which some differ in one type.
type (
	writeOptions struct{ last bool }
	wholeStream  struct {
		written []byte
		options *writeOptions
	}
	twoStream    struct{}
	textStream   struct{}
	valueStream  struct{}
	silentStream struct{}
)

func (s *wholeStream) Write(head []byte, data mem.BufferSlice, options *writeOptions) error {
	s.written, s.options = slices.Concat(head, data.Materialize()), options
	return io.ErrClosedPipe
}

func (twoStream) Write([]byte, mem.BufferSlice) error                 { return nil }
func (textStream) Write(string, mem.BufferSlice, *writeOptions) error { return nil }
func (valueStream) Write([]byte, mem.BufferSlice, writeOptions) error { return nil }
func (silentStream) Write([]byte, mem.BufferSlice, *writeOptions)     {}

// TestTransportWriter checks that the method Write of grpc-go's form is called with options, and that
// streams without it have none.
func TestTransportWriter(t *testing.T) {
	var stream wholeStream
	err := kserve.TransportWriter(&stream)(mem.BufferSlice{mem.SliceBuffer("data")})
	if string(stream.written) != "data" || stream.options == nil || stream.options.last || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("written is %+v, %v", stream, err)
	}
	for _, other := range []any{struct{}{}, twoStream{}, textStream{}, valueStream{}, silentStream{}} {
		if kserve.TransportWriter(other) != nil {
			t.Errorf("%T has a writer", other)
		}
	}
}

func asAny(responses []*inference.Response) (plays []any) {
	for _, resp := range responses {
		plays = append(plays, resp)
	}
	return plays
}

func describe(m *api.ModelStreamInferResponse) string {
	if m.GetErrorMessage() != "" {
		return "error " + m.GetErrorMessage()
	}
	return fmt.Sprintf("%s %t", m.GetInferResponse().GetRawOutputContents()[0], m.GetInferResponse().GetParameters()["triton_final_response"].GetBoolParam())
}

// framesOf makes a request in a stream and returns its responses, and the number of frames with data
// that the server sent.
func framesOf(t *testing.T, address string, options ...grpc.CallOption) (messages []*api.ModelStreamInferResponse, frames int) {
	t.Helper()
	var counting sync.WaitGroup
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
		raw, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		seen, copied := io.Pipe()
		counting.Go(func() { frames = dataFrames(seen) })
		return &tapped{raw, copied}, err
	}))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := api.NewGRPCInferenceServiceClient(conn).ModelStreamInfer(t.Context(), options...)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stream.Send(&api.ModelInferRequest{ModelName: "m", Id: "1"}), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		messages = append(messages, m)
	}
	_ = conn.Close()
	counting.Wait()
	return messages, frames
}

// tapped copies what is read.
type tapped struct {
	net.Conn

	copied *io.PipeWriter
}

func (c *tapped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	_, _ = c.copied.Write(p[:n]) // the pipe's other end doesn't fail
	return n, err
}

func (c *tapped) Close() error {
	_ = c.copied.Close()
	return c.Conn.Close()
}

// dataFrames counts the frames with data that a connection has until its end.
func dataFrames(r io.Reader) (n int) {
	frames := http2.NewFramer(io.Discard, r)
	for {
		frame, err := frames.ReadFrame()
		if err != nil {
			_, _ = io.Copy(io.Discard, r)
			return n
		}
		if data, ok := frame.(*http2.DataFrame); ok && len(data.Data()) > 0 {
			n++
		}
	}
}
