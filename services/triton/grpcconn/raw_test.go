package grpcconn

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// peer is a server whose frames a test writes by itself.
type peer struct {
	*http2.Framer

	block   bytes.Buffer
	encoder *hpack.Encoder
}

// headers writes headers, given as names and values.
func (p *peer) headers(id uint32, end bool, pairs ...string) {
	p.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		_ = p.encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.block.Bytes(), EndStream: end, EndHeaders: true})
}

func (p *peer) ok(id uint32) {
	p.headers(id, false, ":status", "200", "content-type", "application/grpc")
}

// against makes a call to a server that, after the call's frames have arrived, writes frames of
// its own. It returns what the call returned.
func against(t *testing.T, script func(*peer)) (messages [][]byte, err error) {
	t.Helper()
	near, far := net.Pipe()
	p := &peer{Framer: http2.NewFramer(far, far)}
	p.encoder = hpack.NewEncoder(&p.block)
	served := make(chan struct{})
	go func() {
		defer close(served)
		if _, err := io.ReadFull(far, make([]byte, len(http2.ClientPreface))); err != nil {
			return
		}
		written := false
		for {
			f, err := p.ReadFrame()
			if err != nil {
				return
			}
			if data, ok := f.(*http2.DataFrame); ok && data.StreamEnded() && !written {
				written = true
				go script(p)
			}
		}
	}()
	c := New(near, Config{Authority: "peer", UserAgent: "test", MaxMessage: mebibyte})
	defer func() {
		c.Close()
		far.Close()
		<-served
	}()
	return ask(t.Context(), c, "/a/b", []byte("x"))
}

// message returns a message with its prefix.
func message(text string) []byte {
	return append([]byte{0, 0, 0, byte(len(text) >> 8), byte(len(text))}, text...)
}

// TestProtocol checks the ends of calls that only a peculiar server causes.
func TestProtocol(t *testing.T) {
	for name, test := range map[string]struct {
		script      func(*peer)
		messages    int
		code        codes.Code
		text        string
		unprocessed bool
	}{
		"split everywhere": {script: func(p *peer) {
			p.ok(1)
			for _, b := range append(message("one"), message("two")...) {
				_ = p.WriteData(1, false, []byte{b})
			}
			p.headers(1, true, "grpc-status", "0")
		}, messages: 2},
		"padded": {script: func(p *peer) {
			p.ok(1)
			_ = p.WriteDataPadded(1, false, message("one"), make([]byte, 100))
			p.headers(1, true, "grpc-status", "0")
		}, messages: 1},
		"refused": {script: func(p *peer) {
			_ = p.WriteRSTStream(1, http2.ErrCodeRefusedStream)
		}, code: codes.Unavailable, text: "refused the stream", unprocessed: true},
		"going away before the call": {script: func(p *peer) {
			_ = p.WriteGoAway(0, http2.ErrCodeNo, nil)
		}, code: codes.Unavailable, text: "closing the connection", unprocessed: true},
		"reset": {script: func(p *peer) {
			p.ok(1)
			_ = p.WriteData(1, false, message("one"))
			_ = p.WriteRSTStream(1, http2.ErrCodeInternal)
		}, messages: 1, code: codes.Internal, text: "stream terminated by RST_STREAM with error code: INTERNAL_ERROR"},
		"cancelled": {script: func(p *peer) {
			_ = p.WriteRSTStream(1, http2.ErrCodeCancel)
		}, code: codes.Canceled, text: "RST_STREAM"},
		"no trailers": {script: func(p *peer) {
			p.ok(1)
			_ = p.WriteData(1, true, message("one"))
		}, messages: 1, code: codes.Internal, text: "without sending trailers"},
		"no status": {script: func(p *peer) {
			p.headers(1, true, ":status", "200")
		}, code: codes.Internal, text: "without a status"},
		"a proxy's error": {script: func(p *peer) {
			p.headers(1, false, ":status", "502", "content-type", "text/html")
		}, code: codes.Unavailable, text: "502 (Bad Gateway)"},
		"a proxy's error at once": {script: func(p *peer) {
			p.headers(1, true, ":status", "401")
		}, code: codes.Unauthenticated, text: "401"},
		"a web server": {script: func(p *peer) {
			p.headers(1, false, ":status", "200", "content-type", "text/html")
		}, code: codes.Unknown, text: `"text/html"`},
		"an encoding": {script: func(p *peer) {
			p.headers(1, false, ":status", "200", "content-type", "application/grpc", "grpc-encoding", "gzip")
		}, code: codes.Internal, text: "gzip"},
		"a compressed message": {script: func(p *peer) {
			p.ok(1)
			_ = p.WriteData(1, false, []byte{1, 0, 0, 0, 0})
		}, code: codes.Internal, text: "compressed"},
		"a malformed status": {script: func(p *peer) {
			p.headers(1, true, ":status", "200", "grpc-status", "-1")
		}, code: codes.Internal, text: "malformed grpc-status"},
		"too much": {script: func(p *peer) {
			p.ok(1)
			_ = p.WriteData(1, false, []byte{0, 0xff, 0xff, 0xff, 0xff})
		}, code: codes.ResourceExhausted, text: "larger than max"},
		"a push": {script: func(p *peer) {
			_ = p.WritePushPromise(http2.PushPromiseParam{StreamID: 1, PromiseID: 2, EndHeaders: true})
		}, code: codes.Unavailable, text: "PROTOCOL_ERROR"},
		"a window that overflows": {script: func(p *peer) {
			_ = p.WriteWindowUpdate(0, 1<<31-1)
		}, code: codes.Unavailable, text: "FLOW_CONTROL_ERROR"},
		"a stream's window that overflows": {script: func(p *peer) {
			_ = p.WriteWindowUpdate(1, 1<<31-1)
		}, code: codes.Internal, text: "FLOW_CONTROL_ERROR"},
		"other frames": {script: func(p *peer) {
			_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10}, http2.Setting{ID: 0x99, Val: 1})
			_ = p.WritePing(false, [8]byte{1})
			_ = p.WritePing(true, [8]byte{2})
			_ = p.WriteRawFrame(0x77, 0, 5, []byte("unknown"))
			_ = p.WriteRSTStream(7, http2.ErrCodeNo) // of no call
			p.ok(1)
			_ = p.WriteData(9, false, []byte("of no call"))
			_ = p.WriteData(1, false, message("one"))
			p.headers(1, true, "grpc-status", "0")
		}, messages: 1},
	} {
		t.Run(name, func(t *testing.T) {
			messages, err := against(t, test.script)
			if len(messages) != test.messages {
				t.Errorf("%d messages instead of %d", len(messages), test.messages)
			}
			if test.code == codes.OK {
				if !errors.Is(err, io.EOF) {
					t.Errorf("the end is %v", err)
				}
				return
			}
			if status.Code(err) != test.code || !strings.Contains(err.Error(), test.text) || IsUnprocessed(err) != test.unprocessed {
				t.Errorf("the end is %v", err)
			}
		})
	}
}

// TestWindows checks that a message is sent in the parts that the server's windows and frames allow.
func TestWindows(t *testing.T) {
	near, far := net.Pipe()
	p := &peer{Framer: http2.NewFramer(far, far)}
	p.encoder = hpack.NewEncoder(&p.block)
	var got bytes.Buffer
	var frames []int
	served := make(chan struct{})
	go func() {
		defer close(served)
		_, _ = io.ReadFull(far, make([]byte, len(http2.ClientPreface)))
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10_000})
		for {
			f, err := p.ReadFrame()
			if err != nil {
				return
			}
			data, ok := f.(*http2.DataFrame)
			if !ok {
				continue
			}
			got.Write(data.Data())
			frames = append(frames, len(data.Data()))
			if data.StreamEnded() {
				p.headers(1, true, ":status", "200", "grpc-status", "0")
				return
			}
			_ = p.WriteWindowUpdate(1, uint32(len(data.Data())))
			_ = p.WriteWindowUpdate(0, uint32(len(data.Data())))
		}
	}()
	c := New(near, Config{Authority: "peer", MaxMessage: mebibyte})
	for until := time.Now().Add(10 * time.Second); ; { // until the settings have arrived
		c.mu.Lock()
		known := c.newWindow == 10_000
		c.mu.Unlock()
		if known || time.Now().After(until) {
			break
		}
		<-time.After(time.Millisecond)
	}
	request := bytes.Repeat([]byte("0123456789"), 20_000)
	if _, err := ask(t.Context(), c, "/a/b", request); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
	c.Close()
	far.Close()
	<-served
	if !bytes.Equal(got.Bytes()[prefixSize:], request) {
		t.Error("the server received another message")
	}
	for i, n := range frames {
		if n > 10_000 {
			t.Errorf("frame %d has %d bytes, more than the window", i, n)
		}
	}
}

// FuzzServer lets a server send any bytes during a call. The call ends once the connection does, and
// nothing panics or grows without a limit.
func FuzzServer(f *testing.F) {
	var seed bytes.Buffer
	p := &peer{Framer: http2.NewFramer(&seed, nil)}
	p.encoder = hpack.NewEncoder(&p.block)
	_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
	p.ok(1)
	_ = p.WriteData(1, false, message("one"))
	_ = p.WritePing(false, [8]byte{})
	_ = p.WriteWindowUpdate(0, 5)
	p.headers(1, true, "grpc-status", "3", "grpc-message", "%41%zz%")
	_ = p.WriteGoAway(1, http2.ErrCodeNo, []byte("bye"))
	f.Add(seed.Bytes())
	f.Add(seed.Bytes()[:seed.Len()/2])
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		near, far := net.Pipe()
		c := New(near, Config{Authority: "peer", MaxMessage: 1 << 16})
		read := make(chan struct{})
		go func() {
			defer close(read)
			_, _ = io.Copy(io.Discard, far)
		}()
		s := new(Stream)
		started := c.Start(t.Context(), s, "/a/b", mem.BufferSlice{mem.SliceBuffer("x")})
		_, _ = far.Write(data)
		far.Close()
		<-read
		if started == nil {
			for {
				message, err := next(s)
				if err != nil {
					break
				}
				if len(message) > len(data) {
					t.Fatal("a message of bytes that weren't sent")
				}
			}
			s.Release()
		}
		c.Close()
	})
}
