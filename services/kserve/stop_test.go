package kserve_test

import (
	"context"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/kservetest"
	"github.com/trident-inference/trident/services/server"
)

// TestNativeStopClosesIdleConnections tests that connections without calls don't delay a
// stop, not even those that haven't started HTTP/2.
func TestNativeStopClosesIdleConnections(t *testing.T) {
	t.Parallel()
	const (
		preface   = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"
		stopLimit = 3 * time.Second // the stop took 10 s when idle connections weren't closed
	)
	for name, said := range map[string]string{"that said nothing": "", "that said half of it": preface[:10], "of HTTP/2": preface} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, listener := startNative(t)
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, said); err != nil {
				t.Fatal(err)
			}
			// grpc-go sends its settings before it reads: the connection has been accepted.
			if _, err := io.ReadFull(conn, make([]byte, 9)); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if err := s.Stop(context.Background()); err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > stopLimit {
				t.Errorf("the stop took %s", took)
			}
		})
	}
}

// TestNativeStopAtOnce tests that a stop right after the start, possibly before the port is
// served, succeeds.
func TestNativeStopAtOnce(t *testing.T) {
	for range 50 {
		s, _ := startNative(t)
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// startNative serves KServe's own gRPC port. The caller stops the server, which must not
// abort.
func startNative(t *testing.T) (*kserve.Server, *kserve.Listener) {
	t.Helper()
	config := kservetest.Open()
	service, _ := kservetest.NewService(t, config)
	listener := kserve.NewListener(config, nil)
	if err := listener.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s, err := kserve.NewServer(service, listener, server.Common{Config: server.Default(), Abort: func(err error) { t.Error(err) }, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s, listener
}
