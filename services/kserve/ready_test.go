package kserve_test

import (
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"

	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/kservetest"
)

// readingPair returns a connection as gRPC's server wraps it, and its client's
// end.
func readingPair(t *testing.T) (conn, client net.Conn) {
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
	conn, _, err = kserve.Reading(insecure.NewCredentials()).Clone().ServerHandshake(raw)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn, client
}

func write(t *testing.T, conn net.Conn, b []byte) {
	t.Helper()
	if n, err := conn.Write(b); n != len(b) || err != nil {
		t.Fatalf("wrote %d of %d, %v", n, len(b), err)
	}
}

// lendingPool counts the buffers in use.
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

// TestReadOnReady checks that ReadOnReady takes a read buffer from the pool only when the
// connection has data to read.
func TestReadOnReady(t *testing.T) {
	conn, client := readingPair(t)
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
