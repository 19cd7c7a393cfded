package kserve_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/mem"

	api "github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/kservetest"
	"github.com/trident-inference/trident/services/server/servertest"
)

// gatheringPair is a connection as gRPC's server has it, and its client's end.
func gatheringPair(t *testing.T, busy bool, wait time.Duration) (conn, client net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err = net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	raw, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	conn, _, err = kserve.Gathering(busy, wait).Clone().ServerHandshake(raw)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn, client
}

// ping is the frame of a ping, or of the answer to one.
func ping(t *testing.T, answer bool, data byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := http2.NewFramer(&b, nil).WritePing(answer, [8]byte{7: data}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func write(t *testing.T, conn net.Conn, b []byte) {
	t.Helper()
	if n, err := conn.Write(b); n != len(b) || err != nil {
		t.Fatalf("wrote %d of %d, %v", n, len(b), err)
	}
}

// arrives wants just these bytes at the client.
func arrives(t *testing.T, client net.Conn, want ...[]byte) {
	t.Helper()
	reads(t, client, want...)
	nothing(t, client)
}

// reads wants these bytes first.
func reads(t *testing.T, client net.Conn, want ...[]byte) {
	t.Helper()
	all := bytes.Join(want, nil)
	got := make([]byte, len(all))
	_ = client.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := io.ReadFull(client, got); err != nil || !bytes.Equal(got, all) {
		t.Fatalf("got %q, %v, want %q", got[:n], err, all)
	}
}

// nothing wants no more of them.
func nothing(t *testing.T, client net.Conn) {
	t.Helper()
	_ = client.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if n, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%d bytes too many, %v", n, err)
	}
}

// waits wants a pong that goes out alone to come once it has waited, and not before.
func waits(t *testing.T, conn, client net.Conn, pong []byte, wait time.Duration) {
	t.Helper()
	since := time.Now()
	write(t, conn, pong)
	reads(t, client, pong)
	if waited := time.Since(since); waited < wait {
		t.Errorf("a pong has waited %s, want %s", waited, wait)
	}
	nothing(t, client)
}

// TestPongs sends answers to pings with what goes out next.
func TestPongs(t *testing.T) {
	first, second, answer := ping(t, true, 1), ping(t, true, 2), []byte("an answer")
	t.Run("company", func(t *testing.T) {
		conn, client := gatheringPair(t, true, time.Hour)
		for range 2 {
			write(t, conn, first)
			nothing(t, client)
			write(t, conn, answer)
			arrives(t, client, first, answer)
			write(t, conn, answer)
			arrives(t, client, answer)
		}
	})
	t.Run("two", func(t *testing.T) {
		conn, client := gatheringPair(t, true, time.Hour)
		write(t, conn, first)
		write(t, conn, second)
		arrives(t, client, first, second)
	})
	t.Run("large", func(t *testing.T) {
		conn, client := gatheringPair(t, true, time.Hour)
		large := bytes.Repeat([]byte("tensors "), 1<<20)
		write(t, conn, first)
		go func() { _, _ = conn.Write(large) }() // the sockets don't hold all of it
		arrives(t, client, first, large)
	})
	const wait = 50 * time.Millisecond
	t.Run("alone", func(t *testing.T) {
		conn, client := gatheringPair(t, true, wait)
		waits(t, conn, client, first, wait)
		waits(t, conn, client, second, wait)
	})
	t.Run("after others", func(t *testing.T) {
		conn, client := gatheringPair(t, true, wait)
		write(t, conn, first) // has the timer run
		write(t, conn, answer)
		arrives(t, client, first, answer)
		waits(t, conn, client, second, wait)
	})
	t.Run("idle", func(t *testing.T) {
		conn, client := gatheringPair(t, false, time.Hour)
		write(t, conn, first)
		arrives(t, client, first)
	})
	t.Run("a ping", func(t *testing.T) { // the server's own
		conn, client := gatheringPair(t, true, time.Hour)
		own := ping(t, false, 1)
		write(t, conn, own)
		arrives(t, client, own)
	})
	t.Run("broken", func(t *testing.T) {
		conn, _ := gatheringPair(t, true, time.Hour)
		write(t, conn, first)
		_ = conn.Close()
		if n, err := conn.Write(answer); n != 0 || !errors.Is(err, net.ErrClosed) {
			t.Errorf("wrote %d, %v", n, err)
		}
	})
}

// TestPongsOfServer has a server answer pings at once unless several calls are in
// progress, whatever has become of those before.
func TestPongsOfServer(t *testing.T) {
	held, free := make(chan struct{}), make(chan struct{})
	address := serveNative(t, kservetest.Open(), kservetest.Decoupled(func(context.Context, *api.ModelInferRequest, kservetest.Sender) error {
		held <- struct{}{}
		<-free
		return errors.New("failed, as asked")
	}))
	conn := dial(t, address)
	client := api.NewGRPCInferenceServiceClient(conn)
	atOnce := func(when string) {
		t.Helper()
		if took := quickestPong(t, address); took >= kserve.PongWait {
			t.Errorf("%s: a pong took %s at best", when, took)
		}
	}
	atOnce("at first")
	for range 2 {
		var calls sync.WaitGroup
		for range 2 {
			calls.Go(func() {
				stream, err := client.ModelStreamInfer(t.Context())
				if err == nil {
					err = errors.Join(stream.Send(&api.ModelInferRequest{ModelName: "m"}), stream.CloseSend())
				}
				for err == nil {
					_, err = stream.Recv()
				}
				if !errors.Is(err, io.EOF) {
					t.Error(err)
				}
			})
			<-held
		}
		if took := quickestPong(t, address); took < kserve.PongWait {
			t.Errorf("with two calls: a pong took %s", took)
		}
		free <- struct{}{}
		free <- struct{}{}
		calls.Wait()
		if _, err := client.ModelInfer(t.Context(), &api.ModelInferRequest{ModelName: "none"}); err == nil {
			t.Error("a model that isn't there has answered")
		}
		atOnce("after two calls")
	}
}

// quickestPong is the least time that a ping takes, of those of several connections, as
// a second one soon after would be refused.
func quickestPong(t *testing.T, address string) time.Duration {
	t.Helper()
	quickest := time.Hour
	for range 10 {
		quickest = min(quickest, timeOfPong(t, address))
	}
	return quickest
}

func timeOfPong(t *testing.T, address string) time.Duration {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	acknowledged(t, framer, http2.FrameSettings)
	began := time.Now()
	if err := framer.WritePing(false, [8]byte{7: 1}); err != nil {
		t.Fatal(err)
	}
	acknowledged(t, framer, http2.FramePing)
	return time.Since(began)
}

// acknowledged reads on to the answer to settings or a ping.
func acknowledged(t *testing.T, framer *http2.Framer, kind http2.FrameType) {
	t.Helper()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatal(err)
		}
		if head := frame.Header(); head.Type == kind && head.Flags.Has(http2.FlagPingAck) { // the flag of both
			return
		}
	}
}

// TestPongsByTLS has none wait where it would be a record of its own.
func TestPongsByTLS(t *testing.T) {
	authority := servertest.NewAuthority(t)
	certificates, known := mutual(t, authority)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	server := make(chan net.Conn, 1)
	go func() {
		raw, err := l.Accept()
		if err != nil {
			return
		}
		conn, _, err := kserve.GatheringBy(credentials.NewTLS(certificates.Config("h2")), true, time.Hour).ServerHandshake(raw)
		if err != nil {
			t.Error(err)
		}
		server <- conn
	}()
	known = known.Clone()
	known.NextProtos = []string{"h2"}
	client, err := tls.Dial("tcp", l.Addr().String(), known)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn := <-server
	defer conn.Close()
	pong := ping(t, true, 1)
	write(t, conn, pong)
	reads(t, client, pong)
}

// lendingPool counts what is out.
type lendingPool struct {
	mem.BufferPool

	lent, out atomic.Int64
}

func (p *lendingPool) Get(size int) *[]byte {
	p.lent.Add(1)
	p.out.Add(1)
	return p.BufferPool.Get(size)
}

func (p *lendingPool) Put(b *[]byte) {
	p.out.Add(-1)
	p.BufferPool.Put(b)
}

// TestReadOnReady has memory to read into only where there is something to read.
func TestReadOnReady(t *testing.T) {
	conn, client := gatheringPair(t, true, time.Hour)
	reader, ok := conn.(interface {
		ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error)
	})
	if !ok {
		t.Fatal("grpc-go doesn't find ReadOnReady")
	}
	pool := &lendingPool{BufferPool: mem.DefaultBufferPool()}
	read := func(want string, wantErr error) {
		t.Helper()
		b, n, err := reader.ReadOnReady(4, pool)
		if !errors.Is(err, wantErr) || (b == nil) != (wantErr != nil) {
			t.Fatalf("got %v, want %v", err, wantErr)
		}
		if b != nil {
			if got := string((*b)[:n]); got != want {
				t.Errorf("read %q, want %q", got, want)
			}
			pool.Put(b)
		}
		if out := pool.out.Load(); out != 0 {
			t.Errorf("%d buffers are out", out)
		}
	}
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	read("", os.ErrDeadlineExceeded)
	_ = conn.SetReadDeadline(time.Time{})
	before, done := pool.lent.Load(), make(chan struct{})
	go func() {
		defer close(done)
		read("now", nil)
	}()
	kservetest.Await(t, "memory is lent to who waits", func() bool { return pool.lent.Load() > before && pool.out.Load() == 0 })
	write(t, client, []byte("now"))
	<-done
	write(t, client, []byte("12345"))
	read("1234", nil)
	read("5", nil)
	_ = client.Close()
	read("", io.EOF)
	_ = conn.Close()
	read("", net.ErrClosed)
}
