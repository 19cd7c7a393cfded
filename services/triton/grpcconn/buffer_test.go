package grpcconn

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
)

// TestBuffer checks the content and the sizes of buffers that grow.
func TestBuffer(t *testing.T) {
	var b *buffer
	var want []byte
	for i, n := range []int{0, 1, 4095, 1, 10_000, 100, 1 << 20, 3 << 20} {
		data := bytes.Repeat([]byte{byte('a' + i)}, n)
		want = append(want, data...)
		b = b.add(data)
		if !bytes.Equal(b.content(), want) {
			t.Fatalf("after %d bytes more the content is another one", n)
		}
		if len(want) == 0 {
			if b != nil {
				t.Error("no bytes have a buffer")
			}
			continue
		}
		if size, _ := sizeFor(len(want)); cap(b.bytes) != size || size > max(2*len(want), leastBuffer) {
			t.Errorf("%d bytes are in a buffer of %d", len(want), cap(b.bytes))
		}
	}
	if size, number := sizeFor(streamWindow); size != streamWindow || number != keptSizes-1 {
		t.Errorf("the window's buffer has the size %d and the number %d", size, number)
	}
	b.free()
	for range 100 {
		if b := newBuffer(1 << 20); len(b.bytes) != 0 || cap(b.bytes) < 1<<20 {
			t.Fatalf("a new buffer has %d bytes of %d", len(b.bytes), cap(b.bytes))
		}
	}
	(*buffer)(nil).free()
}

// TestWaitingHoldsNothing checks that a stream that waits for its next message has no buffer.
func TestWaitingHoldsNothing(t *testing.T) {
	proceed := make(chan struct{})
	c := serve(t, mebibyte, func(_ string, request []byte, stream grpc.ServerStream) error {
		for range 3 {
			if err := stream.SendMsg(request); err != nil {
				return err
			}
			<-proceed
		}
		return nil
	})
	s := new(Stream)
	if err := c.Start(t.Context(), s, "/a/b", mem.BufferSlice{mem.SliceBuffer(bytes.Repeat([]byte("x"), 100_000))}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if message, err := next(s); err != nil || len(message) != 100_000 {
			t.Fatalf("%d bytes, %v", len(message), err)
		}
		if _, more, err := s.Take(); more || err != nil {
			t.Fatalf("more %t, %v", more, err)
		}
		s.mu.Lock()
		if s.batch != nil || s.incoming != nil {
			t.Error("it has a buffer")
		}
		s.mu.Unlock()
		proceed <- struct{}{}
	}
	if _, err := next(s); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	s.Release()
}
