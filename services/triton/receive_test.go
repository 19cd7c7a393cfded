package triton

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/test/tier"
)

// TestStreamsByGRPCGo repeats this package's tests with grpc-go as the client of streams.
func TestStreamsByGRPCGo(t *testing.T) {
	tier.OnlySlow(t)
	if os.Getenv(streamClientVariable) != "" {
		t.Skip("runs already with the client that " + streamClientVariable + " names")
	}
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), streamClientVariable+"="+StreamClientGRPCGo)
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestFewStreamsByGRPCGo repeats some tests with grpc-go in the check tier: how streams end, and how
// consumers that are slow or stop meet the ring.
func TestFewStreamsByGRPCGo(t *testing.T) {
	t.Setenv(streamClientVariable, StreamClientGRPCGo)
	t.Run("ends", TestStreamEnds)
	t.Run("complete", TestCompleteStreamIsNotCancelled)
	t.Run("mixed", TestMixed)
}

// refuser is a server that refuses to begin its first calls, and answers later ones with one
// message.
type refuser struct {
	left   atomic.Int32 // calls that are refused
	calls  atomic.Int32
	answer []byte
}

func (r *refuser) serve(t *testing.T, conn net.Conn) {
	t.Helper()
	defer conn.Close()
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	framer := http2.NewFramer(conn, conn)
	_ = framer.WriteSettings()
	for {
		f, err := framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = framer.WriteSettingsAck()
			}
		case *http2.DataFrame:
			if f.StreamEnded() {
				r.respond(framer, f.StreamID)
			}
		}
	}
}

func (r *refuser) respond(framer *http2.Framer, id uint32) {
	r.calls.Add(1)
	if r.left.Add(-1) >= 0 {
		_ = framer.WriteRSTStream(id, http2.ErrCodeRefusedStream)
		return
	}
	headers := func(end bool, pairs ...string) {
		var block bytes.Buffer
		encoder := hpack.NewEncoder(&block)
		for i := 0; i < len(pairs); i += 2 {
			_ = encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
		}
		_ = framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndStream: end, EndHeaders: true})
	}
	headers(false, ":status", "200", "content-type", "application/grpc")
	prefix := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(r.answer)))
	_ = framer.WriteData(id, false, append(prefix, r.answer...))
	headers(true, "grpc-status", "0")
}

// TestRefusedStreams checks that a call that the server refuses to begin is repeated once, and that
// a second refusal fails the request as an error of the connection.
func TestRefusedStreams(t *testing.T) {
	if os.Getenv(streamClientVariable) == StreamClientGRPCGo {
		t.Skip("grpc-go repeats by rules of its own")
	}
	for name, test := range map[string]struct {
		refusals, calls int32
		reason          inference.Reason
	}{
		"once":  {1, 2, inference.ReasonNone},
		"twice": {2, 2, inference.ReasonEngineGone},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := &refuser{answer: marshal(t, message("1", final(true)))}
			server.left.Store(test.refusals)
			var running sync.WaitGroup
			running.Go(func() {
				for {
					conn, err := listener.Accept()
					if err != nil {
						return
					}
					running.Go(func() { server.serve(t, conn) })
				}
			})
			config := Default()
			config.Endpoint = listener.Addr().String()
			engine, err := New(config, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			if err := engine.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = engine.Stop(context.Background())
				listener.Close()
				running.Wait()
			})
			err = one(t, engine)
			if test.reason == inference.ReasonNone && err != nil || test.reason != inference.ReasonNone && inference.AsError(err).Reason != test.reason {
				t.Errorf("the end is %v", err)
			}
			if n := server.calls.Load(); n != test.calls {
				t.Errorf("the server got %d calls instead of %d", n, test.calls)
			}
		})
	}
}
