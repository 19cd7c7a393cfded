package kserve_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/mem"

	"github.com/trident-inference/trident/services/kserve"
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

// lendingPool counts what is out.
type lendingPool struct {
	mem.BufferPool

	out int
}

func (p *lendingPool) Get(size int) *[]byte { p.out++; return p.BufferPool.Get(size) }
func (p *lendingPool) Put(b *[]byte)        { p.out--; p.BufferPool.Put(b) }

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
		if pool.out != 0 {
			t.Errorf("%d buffers are out", pool.out)
		}
	}
	_ = conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	read("", os.ErrDeadlineExceeded)
	_ = conn.SetReadDeadline(time.Time{})
	write(t, client, []byte("12345"))
	read("1234", nil)
	read("5", nil)
	_ = client.Close()
	read("", io.EOF)
	_ = conn.Close()
	read("", net.ErrClosed)
}
