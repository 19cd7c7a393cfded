package grpcconn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// raw is a codec of plain bytes, for the server.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// serve runs grpc-go's server with one handler for all methods, and returns a connection to it.
func serve(tb testing.TB, most int, handle func(method string, request []byte, stream grpc.ServerStream) error, options ...grpc.ServerOption) *Conn {
	tb.Helper()
	server := grpc.NewServer(append(options, grpc.ForceServerCodecV2(raw{}), grpc.WaitForHandlers(true), grpc.MaxRecvMsgSize(64<<20),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			var request []byte
			if err := stream.RecvMsg(&request); err != nil {
				return err
			}
			method, _ := grpc.MethodFromServerStream(stream)
			return handle(method, request, stream)
		}))...)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	tb.Cleanup(func() {
		server.Stop()
		<-served
	})
	return connect(tb, listener.Addr().String(), most)
}

func connect(tb testing.TB, address string, most int) *Conn {
	tb.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	c := New(conn, Config{Authority: address, UserAgent: "test", MaxMessage: most})
	tb.Cleanup(c.Close)
	return c
}

// next waits for the next message, and returns a copy of it.
func next(s *Stream) ([]byte, error) {
	for {
		message, _, err := s.Take()
		if message != nil {
			return bytes.Clone(message), nil
		}
		if err != nil {
			return nil, err
		}
		<-s.Readable()
	}
}

// ask makes a call and returns all messages, and the end of the call.
func ask(ctx context.Context, c *Conn, method string, request []byte) ([][]byte, error) {
	s := new(Stream)
	if err := c.Start(ctx, s, method, mem.BufferSlice{mem.SliceBuffer(request)}); err != nil {
		return nil, err
	}
	defer s.Release()
	var all [][]byte
	for {
		message, err := next(s)
		if err != nil {
			return all, err
		}
		all = append(all, message)
	}
}

// mebibyte is enough for the messages of most tests.
const mebibyte = 1 << 20

// TestCalls makes calls at the same time, whose requests and responses are of all sizes, and checks
// every byte.
func TestCalls(t *testing.T) {
	c := serve(t, 32<<20, func(_ string, request []byte, stream grpc.ServerStream) error {
		for i := range 5 {
			if err := stream.SendMsg(append([]byte{byte(i)}, request...)); err != nil {
				return err
			}
		}
		return nil
	})
	sizes := []int{0, 1, 100, 5_000, 16<<10 - prefixSize, 16 << 10, 70_000, 3 << 20, 10 << 20}
	var calls sync.WaitGroup
	for n := range 3 * len(sizes) {
		calls.Go(func() {
			random := rand.New(rand.NewPCG(uint64(n), 1))
			request := make([]byte, sizes[n%len(sizes)])
			for i := range request {
				request[i] = byte(random.Uint32())
			}
			all, err := ask(t.Context(), c, "/a/b", request)
			if !errors.Is(err, io.EOF) || len(all) != 5 {
				t.Errorf("%d bytes: %d messages, %v", len(request), len(all), err)
				return
			}
			for i, message := range all {
				if message[0] != byte(i) || !bytes.Equal(message[1:], request) {
					t.Errorf("%d bytes: message %d is another one", len(request), i)
				}
			}
		})
	}
	calls.Wait()
}

// TestEndings checks the ends of calls, by status, message and kind.
func TestEndings(t *testing.T) {
	for name, test := range map[string]struct {
		end  error
		code codes.Code
		text string
	}{
		"ok":        {nil, codes.OK, ""},
		"not found": {status.Error(codes.NotFound, "no such model"), codes.NotFound, "no such model"},
		"escaped":   {status.Error(codes.Internal, "100 % öre\nnext"), codes.Internal, "100 % öre\nnext"},
		"long":      {status.Error(codes.Internal, strings.Repeat("x", 60_000)), codes.Internal, strings.Repeat("x", 60_000)},
	} {
		t.Run(name, func(t *testing.T) {
			for _, messages := range []int{0, 3} {
				c := serve(t, mebibyte, func(_ string, request []byte, stream grpc.ServerStream) error {
					for range messages {
						if err := stream.SendMsg(request); err != nil {
							return err
						}
					}
					return test.end
				})
				all, err := ask(t.Context(), c, "/a/b", []byte("x"))
				if len(all) != messages {
					t.Errorf("%d messages instead of %d", len(all), messages)
				}
				if test.end == nil {
					if !errors.Is(err, io.EOF) {
						t.Errorf("the end is %v", err)
					}
					continue
				}
				if got := status.Convert(err); got.Code() != test.code || got.Message() != test.text {
					t.Errorf("the end is %v %.100q", got.Code(), got.Message())
				}
			}
		})
	}
}

// TestHeaders checks what the server sees of a call.
func TestHeaders(t *testing.T) {
	var seen metadata.MD
	var method string
	var left time.Duration
	c := serve(t, mebibyte, func(m string, _ []byte, stream grpc.ServerStream) error {
		seen, _ = metadata.FromIncomingContext(stream.Context())
		deadline, _ := stream.Context().Deadline()
		method, left = m, time.Until(deadline)
		return nil
	})
	long := strings.Repeat("y", 40_000) // needs continuations
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", "00-1", "more-bin", "\x00\xff", "long", long)
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	if _, err := ask(ctx, c, "/service/Method", nil); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if method != "/service/Method" || left < 59*time.Minute || left > time.Hour {
		t.Errorf("%s, with a deadline in %s", method, left)
	}
	for key, want := range map[string]string{"traceparent": "00-1", "more-bin": "\x00\xff", "long": long, "content-type": "application/grpc+proto"} {
		if got := seen.Get(key); len(got) != 1 || got[0] != want {
			t.Errorf("%s: %.50q", key, got)
		}
	}
	if got := seen.Get("user-agent"); len(got) != 1 || got[0] != "test" {
		t.Errorf("user agent %q", got)
	}
}

// TestSlowConsumer checks that a stream whose consumer doesn't read holds no more than its window,
// that other streams go on meanwhile, and that nothing is lost when it reads again.
func TestSlowConsumer(t *testing.T) {
	const size, count = 10_000, 1_000
	c := serve(t, mebibyte, func(_ string, request []byte, stream grpc.ServerStream) error {
		n := count
		if len(request) == 0 {
			n = 1
		}
		for i := range n {
			message := bytes.Repeat([]byte{byte(i)}, size)
			if err := stream.SendMsg(message); err != nil {
				return err
			}
		}
		return nil
	})
	s := new(Stream)
	if err := c.Start(t.Context(), s, "/a/b", mem.BufferSlice{mem.SliceBuffer("x")}); err != nil {
		t.Fatal(err)
	}
	held := func() int {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.incoming.content()) + len(s.batch.content())
	}
	for until := time.Now().Add(10 * time.Second); held() < streamWindow/2 && time.Now().Before(until); {
		if _, err := ask(t.Context(), c, "/a/b", nil); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	for range 20 {
		if _, err := ask(t.Context(), c, "/a/b", nil); !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
	}
	if n := held(); n < streamWindow/2 || n > streamWindow {
		t.Errorf("the stream holds %d bytes of a window of %d", n, streamWindow)
	}
	for i := range count {
		message, err := next(s)
		if err != nil || !bytes.Equal(message, bytes.Repeat([]byte{byte(i)}, size)) {
			t.Fatalf("message %d is another one: %v", i, err)
		}
		if n := held(); n > 2*streamWindow {
			t.Fatalf("the stream holds %d bytes", n)
		}
	}
	if _, err := next(s); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	s.Release()
}

// TestCancel checks that the end of a context and Cancel end a call at the server too, at once.
func TestCancel(t *testing.T) {
	begun, ended := make(chan struct{}, 1), make(chan struct{}, 1)
	c := serve(t, mebibyte, func(_ string, _ []byte, stream grpc.ServerStream) error {
		begun <- struct{}{}
		<-stream.Context().Done()
		ended <- struct{}{}
		return nil
	})
	for name, leave := range map[string]func(*Stream, context.CancelFunc){
		"context": func(_ *Stream, cancel context.CancelFunc) { cancel() },
		"cancel":  func(s *Stream, _ context.CancelFunc) { s.Cancel(status.Error(codes.Aborted, "enough")) },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s := new(Stream)
			if err := c.Start(ctx, s, "/a/b", nil); err != nil {
				t.Fatal(err)
			}
			<-begun
			leave(s, cancel)
			_, err := next(s)
			want := map[string]codes.Code{"context": codes.Canceled, "cancel": codes.Aborted}[name]
			if status.Code(err) != want {
				t.Errorf("the end is %v", err)
			}
			<-ended
			s.Release()
		})
	}
}

// TestDeadline checks that a call ends with its deadline, whichever side notices it first.
func TestDeadline(t *testing.T) {
	c := serve(t, mebibyte, func(_ string, _ []byte, stream grpc.ServerStream) error {
		<-stream.Context().Done()
		return stream.Context().Err()
	})
	for range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := ask(ctx, c, "/a/b", nil); status.Code(err) != codes.DeadlineExceeded {
			t.Fatalf("the end is %v", err)
		}
		cancel()
	}
}

// TestDrop checks that a server can end a call whose consumer takes no message.
func TestDrop(t *testing.T) {
	c := serve(t, mebibyte, func(_ string, _ []byte, stream grpc.ServerStream) error {
		for range 100 {
			if err := stream.SendMsg(make([]byte, 100_000)); err != nil {
				return err
			}
		}
		return nil
	})
	s := new(Stream)
	if err := c.Start(t.Context(), s, "/a/b", nil); err != nil {
		t.Fatal(err)
	}
	s.Drop()
	<-s.Ended()
	if _, err := next(s); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	s.Release()
}

// TestLimits checks the limits of the server and of this side.
func TestLimits(t *testing.T) {
	c := serve(t, 1_000, func(_ string, request []byte, stream grpc.ServerStream) error {
		return stream.SendMsg(make([]byte, len(request)))
	}, grpc.MaxConcurrentStreams(2))
	if all, err := ask(t.Context(), c, "/a/b", make([]byte, 1_000)); !errors.Is(err, io.EOF) || len(all) != 1 {
		t.Errorf("the largest message: %v", err)
	}
	_, err := ask(t.Context(), c, "/a/b", make([]byte, 1_001))
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "larger than max (1001 vs. 1000)") {
		t.Errorf("a message that is too large: %v", err)
	}
	var calls sync.WaitGroup
	for range 50 {
		calls.Go(func() {
			if _, err := ask(t.Context(), c, "/a/b", []byte("x")); !errors.Is(err, io.EOF) {
				t.Errorf("with more calls than the server takes: %v", err)
			}
		})
	}
	calls.Wait()
}

// TestWaits checks that a call that the server can't take yet ends with its context.
func TestWaits(t *testing.T) {
	proceed := make(chan struct{})
	c := serve(t, mebibyte, func(_ string, _ []byte, _ grpc.ServerStream) error {
		<-proceed
		return nil
	}, grpc.MaxConcurrentStreams(1))
	first := new(Stream)
	if err := c.Start(t.Context(), first, "/a/b", nil); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); ; { // until the server's settings have arrived
		c.mu.Lock()
		known := c.maxStreams == 1
		c.mu.Unlock()
		if known || time.Now().After(until) {
			break
		}
		<-time.After(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := c.Start(ctx, new(Stream), "/a/b", nil); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a call that waits: %v", err)
	}
	close(proceed)
	if _, err := next(first); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	first.Release()
}

// TestEnds checks that calls end with their connection, and that later ones are refused.
func TestEnds(t *testing.T) {
	begun := make(chan struct{}, 1)
	c := serve(t, mebibyte, func(_ string, _ []byte, stream grpc.ServerStream) error {
		begun <- struct{}{}
		<-stream.Context().Done()
		return nil
	})
	s := new(Stream)
	if err := c.Start(t.Context(), s, "/a/b", nil); err != nil {
		t.Fatal(err)
	}
	<-begun
	c.Close()
	if _, err := next(s); status.Code(err) != codes.Unavailable || IsUnprocessed(err) {
		t.Errorf("the end is %v", err)
	}
	if err := c.Start(t.Context(), new(Stream), "/a/b", nil); !errors.Is(err, ErrClosed) || c.Usable() || !c.Ended() {
		t.Errorf("a call on a connection that has ended: %v", err)
	}
	s.Release()
}

// TestGoAway checks that a server that stops ends its calls in peace and gets no further ones.
func TestGoAway(t *testing.T) {
	proceed := make(chan struct{})
	begun := make(chan struct{}, 1)
	var server *grpc.Server
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server = grpc.NewServer(grpc.ForceServerCodecV2(raw{}), grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		begun <- struct{}{}
		<-proceed
		return stream.SendMsg([]byte("done"))
	}))
	var running sync.WaitGroup
	running.Go(func() { _ = server.Serve(listener) })
	c := connect(t, listener.Addr().String(), mebibyte)
	s := new(Stream)
	if err := c.Start(t.Context(), s, "/a/b", nil); err != nil {
		t.Fatal(err)
	}
	<-begun
	running.Go(server.GracefulStop)
	for c.Usable() {
		<-time.After(time.Millisecond)
	}
	if err := c.Start(t.Context(), new(Stream), "/a/b", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("a call on a connection that ends: %v", err)
	}
	close(proceed)
	message, err := next(s)
	if err != nil || string(message) != "done" {
		t.Errorf("%q, %v", message, err)
	}
	if _, err := next(s); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	s.Release()
	running.Wait()
	<-c.done
}

// TestTimeout checks the encoding of time limits.
func TestTimeout(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0n", time.Nanosecond: "1n", 99_999_999: "99999999n", 100_000_001: "100001u",
		time.Minute: "60000000u", 100 * time.Second: "100000m", 30 * time.Hour: "108000S", 1 << 62: fmt.Sprint(int64(1<<62)/int64(time.Minute)+1) + "M",
	} {
		if got := timeout(d); got != want {
			t.Errorf("%s is encoded as %s instead of %s", d, got, want)
		}
	}
}
