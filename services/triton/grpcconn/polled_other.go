//go:build !linux

package grpcconn

import "net"

// Polled is a connection whose reader polls it at intervals. There is none on this system.
type Polled struct{ net.Conn }

// Poll returns nil: connections are polled on Linux only.
func Poll(net.Conn) *Polled { return nil }

// Found has no effect.
func (*Polled) Found(messages, calls int) {}
