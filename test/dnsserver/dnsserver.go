// Package dnsserver runs a DNS server of a test, which knows one name. The test changes the
// addresses of the name.
package dnsserver

import (
	"context"
	"net"
	"net/netip"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// Name is the name that a server knows, with the final dot that prevents search domains.
const Name = "tritons.test."

// Server is a DNS server on a port of this machine. The name has no addresses before the first call
// of Set. Its methods may be called concurrently.
type Server struct {
	conn net.PacketConn
	done sync.WaitGroup

	mu      sync.Mutex
	hosts   []netip.Addr
	failing bool
}

// New starts a server. The caller must close it.
func New(ctx context.Context) (*Server, error) {
	conn, err := new(net.ListenConfig).ListenPacket(ctx, "udp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{conn: conn}
	s.done.Go(s.serve)
	return s, nil
}

// Address returns the server's address as host:port.
func (s *Server) Address() string { return s.conn.LocalAddr().String() }

// Close stops the server.
func (s *Server) Close() error {
	err := s.conn.Close() // ends serve
	s.done.Wait()
	return err
}

// Set changes the IPv4 addresses of the name. A name without addresses doesn't exist.
func (s *Server) Set(hosts ...netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts, s.failing = hosts, false
}

// Fail makes the server answer each question with an error until the next call of Set.
func (s *Server) Fail() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = true
}

// maxQuestion is the maximum size of a question by UDP in bytes.
const maxQuestion = 1500

func (s *Server) serve() {
	buffer := make([]byte, maxQuestion)
	for {
		n, from, err := s.conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		var question dnsmessage.Message
		if question.Unpack(buffer[:n]) != nil || len(question.Questions) != 1 {
			continue
		}
		answer := s.answer(&question)
		if packed, err := answer.Pack(); err == nil {
			_, _ = s.conn.WriteTo(packed, from) // a client that gets no answer asks again
		}
	}
}

func (s *Server) answer(question *dnsmessage.Message) *dnsmessage.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := question.Questions[0]
	answer := &dnsmessage.Message{Header: dnsmessage.Header{ID: question.ID, Response: true, Authoritative: true}, Questions: question.Questions}
	switch {
	case s.failing:
		answer.RCode = dnsmessage.RCodeServerFailure
	case len(s.hosts) == 0 || asked.Name.String() != Name:
		answer.RCode = dnsmessage.RCodeNameError
	case asked.Type == dnsmessage.TypeA:
		for _, host := range s.hosts {
			answer.Answers = append(answer.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: asked.Name, Type: asked.Type, Class: asked.Class},
				Body:   &dnsmessage.AResource{A: host.As4()},
			})
		}
	}
	return answer
}
