package kserve_test

import (
	"context"
	"net"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/kserve"
	"github.com/trident-inference/trident/services/kserve/kservetest"
)

// TestBusyPort tests that the error about a port in use names the port's setting, and that the other
// port isn't left open.
func TestBusyPort(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config := kservetest.Open()
	config.GRPCPort, config.HTTPPort = portOf(t, free), portOf(t, taken)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	listener := kserve.NewListener(config, nil)
	if err := listener.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "is in use") || !strings.Contains(err.Error(), "kserve.HTTPPort") {
		t.Errorf("got %v", err)
	}
	config.HTTPPort = 0
	again := kserve.NewListener(config, nil)
	if err := again.Start(t.Context()); err != nil {
		t.Errorf("gRPC's port was left open: %v", err)
	}
	if err := again.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	config.Enabled = false
	none := kserve.NewListener(config, nil)
	if err := none.Start(t.Context()); err != nil || none.Addr() != nil || none.URL() != "" {
		t.Errorf("%v, %v, %q", err, none.Addr(), none.URL())
	}
	if err := none.Stop(context.Background()); err != nil {
		t.Error(err)
	}
}

func portOf(t *testing.T, l net.Listener) int {
	t.Helper()
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal(l.Addr())
	}
	return address.Port
}
