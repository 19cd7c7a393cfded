//go:build !linux

package kserve

import "net"

func withReady(c net.Conn, _ *net.TCPConn) (net.Conn, error) { return c, nil }
