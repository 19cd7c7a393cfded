package kserve_test

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/kserve/kservetest"
)

// TestLargeMetadata tests that calls are refused whose metadata exceeds the header limit
// of the other ports.
func TestLargeMetadata(t *testing.T) {
	conn, err := grpc.NewClient(serveNative(t, kservetest.Open(), inferencetest.New()), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	client := kserve.NewGRPCInferenceServiceClient(conn)
	for size, want := range map[int]codes.Code{32 << 10: codes.OK, 128 << 10: codes.Internal} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "large", strings.Repeat("x", size))
		if _, err := client.ServerLive(ctx, &kserve.ServerLiveRequest{}); status.Code(err) != want {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

// TestPingFlood tests that a connection that only sends pings gets a GOAWAY (RFC 9113,
// 6.8).
func TestPingFlood(t *testing.T) {
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", serveNative(t, kservetest.Open(), inferencetest.New()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if _, err := io.WriteString(conn, "\x00\x00\x08\x06\x00\x00\x00\x00\x00pingping"); err != nil {
			break // the server has closed it already
		}
	}
	for {
		head := make([]byte, 9) // frame header: length, type, flags and stream
		if _, err := io.ReadFull(conn, head); err != nil {
			t.Fatalf("no GOAWAY: %v", err)
		}
		payload := make([]byte, binary.BigEndian.Uint32(append([]byte{0}, head[:3]...)))
		if _, err := io.ReadFull(conn, payload); err != nil {
			t.Fatal(err)
		}
		if head[3] == 7 {
			if !strings.Contains(string(payload), "too_many_pings") {
				t.Errorf("ended with %q", payload)
			}
			return
		}
	}
}
