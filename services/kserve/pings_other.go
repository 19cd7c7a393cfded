//go:build !linux

package kserve

import "net"

func withReady(c *gatheringConn, _ *net.TCPConn) (net.Conn, error) { return c, nil }
