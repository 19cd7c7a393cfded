package grpcconn

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// tokenMessage has as many bytes as the message of a token.
var tokenMessage = bytes.Repeat([]byte("token."), 25)

// pair returns the two ends of a TCP connection. The first one is polled while it is busy.
func pair(t *testing.T) (*Polled, net.Conn) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); server.Close() })
	p := Poll(client)
	if p == nil {
		t.Fatal("a TCP connection can't be polled")
	}
	return p, server
}

// busy makes the connection polled: many messages have arrived, and the client reads each by itself.
func busy(t *testing.T, p *Polled, server net.Conn) {
	t.Helper()
	const messages = 2 * watchedReads
	p.Found(0, manyCalls)
	if _, err := server.Write(bytes.Repeat(tokenMessage, messages)); err != nil {
		t.Fatal(err)
	}
	for range messages {
		if _, err := io.ReadFull(p, make([]byte, len(tokenMessage))); err != nil {
			t.Fatal(err)
		}
	}
	if !p.polling {
		t.Fatal("the connection isn't polled")
	}
}

func TestPolled(t *testing.T) {
	t.Run("bytes", func(t *testing.T) {
		p, server := pair(t)
		busy(t, p, server)
		const count = 5000
		go func() {
			for range count {
				if _, err := server.Write(tokenMessage); err != nil {
					return
				}
			}
			server.Close()
		}()
		var got bytes.Buffer
		reads := 0
		for b := make([]byte, readBuffer); ; reads++ {
			n, err := p.Read(b)
			got.Write(b[:n])
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got.Bytes(), bytes.Repeat(tokenMessage, count)) {
			t.Errorf("%d bytes that aren't what was sent", got.Len())
		}
		if reads > count/2 {
			t.Errorf("%d reads of %d messages", reads, count)
		}
	})
	t.Run("small buffer", func(t *testing.T) {
		p, server := pair(t)
		busy(t, p, server)
		if _, err := server.Write(bytes.Repeat(tokenMessage, 100)); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 100*len(tokenMessage))
		for n := 0; n < len(got); n += 10 {
			if _, err := io.ReadFull(p, got[n:n+10]); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(got, bytes.Repeat(tokenMessage, 100)) {
			t.Error("not what was sent")
		}
	})
	t.Run("quiet again", func(t *testing.T) {
		p, server := pair(t)
		busy(t, p, server)
		go func() {
			<-time.After(100 * pollInterval)
			_, _ = server.Write(tokenMessage)
		}()
		if n, err := p.Read(make([]byte, readBuffer)); n != len(tokenMessage) || err != nil {
			t.Errorf("Read = %d, %v", n, err)
		}
		if p.polling {
			t.Error("a quiet connection is polled")
		}
	})
	t.Run("close", func(t *testing.T) {
		p, server := pair(t)
		busy(t, p, server)
		go func() {
			<-time.After(5 * pollInterval)
			p.Close()
		}()
		if n, err := p.Read(make([]byte, readBuffer)); n != 0 || err == nil {
			t.Errorf("Read = %d, %v", n, err)
		}
	})
	t.Run("reset", func(t *testing.T) {
		p, server := pair(t)
		busy(t, p, server)
		if err := server.(*net.TCPConn).SetLinger(0); err != nil {
			t.Fatal(err)
		}
		server.Close()
		if n, err := p.Read(make([]byte, readBuffer)); n != 0 || err == nil || errors.Is(err, io.EOF) {
			t.Errorf("Read = %d, %v", n, err)
		}
	})
	t.Run("large reads", func(t *testing.T) {
		p, server := pair(t)
		go func() {
			for range 100 {
				_, _ = server.Write(make([]byte, 1<<20))
			}
		}()
		if _, err := io.CopyN(io.Discard, p, 100<<20); err != nil {
			t.Fatal(err)
		}
		if p.polling {
			t.Error("a connection of large messages is polled")
		}
	})
	t.Run("no TCP", func(t *testing.T) {
		a, b := net.Pipe()
		defer a.Close()
		defer b.Close()
		if p := Poll(a); p != nil {
			t.Errorf("Poll(pipe) = %v", p)
		}
	})
}

// TestFound checks the time between two polls: it is long while a poll finds several messages of each call.
// A connection with few calls isn't polled.
func TestFound(t *testing.T) {
	p, server := pair(t)
	p.Found(1000, manyCalls)
	if p.interval != 0 {
		t.Errorf("a connection that isn't polled has the interval %v", p.interval)
	}
	busy(t, p, server)
	for _, test := range []struct {
		what            string
		messages, calls int
		want            time.Duration
	}{
		{"64 streams, a message each 10 ms", 6, 64, pollInterval},
		{"64 streams, a message each ms", 64, 64, longInterval},
		{"64 streams, a message each 3 ms", 43, 64, longInterval},
		{"64 streams, a message each 10 ms again", 13, 64, pollInterval},
		{"few streams", 13, manyCalls - 1, 0},
	} {
		for range 50 {
			p.Found(test.messages, test.calls)
		}
		if p.interval != test.want || p.polling != (test.want > 0) {
			t.Errorf("%s: interval %v, polled %t, want %v", test.what, p.interval, p.polling, test.want)
		}
	}
	if _, err := server.Write(bytes.Repeat(tokenMessage, 2*watchedReads)); err != nil {
		t.Fatal(err)
	}
	for range 2 * watchedReads {
		if _, err := io.ReadFull(p, make([]byte, len(tokenMessage))); err != nil {
			t.Fatal(err)
		}
	}
	if p.polling {
		t.Error("a connection with few calls is polled")
	}
}
