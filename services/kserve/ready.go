package kserve

import (
	"net"

	"google.golang.org/grpc/credentials"

	"github.com/trident-inference/trident/services/server"
)

// reading are credentials whose plaintext connections hold no read buffer while they are
// idle. grpc-go does that itself for a [net.TCPConn], but a port's connections have another
// type, which counts them.
type reading struct {
	credentials.TransportCredentials
}

func (r reading) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := r.TransportCredentials.ServerHandshake(raw)
	if err != nil {
		return conn, info, err
	}
	plain := server.TCPOf(conn)
	if plain == nil { // the bytes of a TLS connection's socket are encrypted
		return conn, info, nil
	}
	conn, err = withReady(conn, plain)
	return conn, info, err
}

func (r reading) Clone() credentials.TransportCredentials {
	return reading{r.TransportCredentials.Clone()}
}
