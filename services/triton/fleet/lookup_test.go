package fleet_test

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton/tritontest"
)

// dnsServer is a DNS server of a test, which knows one name.
type dnsServer struct {
	conn net.PacketConn
	done sync.WaitGroup

	mu      sync.Mutex
	hosts   []string
	failing bool
}

func newDNS(t *testing.T) *dnsServer {
	t.Helper()
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &dnsServer{conn: conn}
	s.done.Go(s.serve)
	t.Cleanup(func() {
		_ = conn.Close() // ends serve
		s.done.Wait()
	})
	return s
}

// set changes the hosts of the name. A server that fails answers with an error.
func (s *dnsServer) set(failing bool, hosts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts, s.failing = hosts, failing
}

func (s *dnsServer) serve() {
	buffer := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		var question dnsmessage.Message
		if question.Unpack(buffer[:n]) != nil || len(question.Questions) != 1 {
			continue
		}
		answer := s.answer(question)
		if packed, err := answer.Pack(); err == nil {
			_, _ = s.conn.WriteTo(packed, from)
		}
	}
}

func (s *dnsServer) answer(question dnsmessage.Message) dnsmessage.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := question.Questions[0]
	answer := dnsmessage.Message{Header: dnsmessage.Header{ID: question.ID, Response: true, Authoritative: true}, Questions: question.Questions}
	switch {
	case s.failing:
		answer.RCode = dnsmessage.RCodeServerFailure
	case len(s.hosts) == 0 || asked.Name.String() != "tritons.test.":
		answer.RCode = dnsmessage.RCodeNameError
	case asked.Type == dnsmessage.TypeA:
		for _, host := range s.hosts {
			answer.Answers = append(answer.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: asked.Name, Type: asked.Type, Class: asked.Class},
				Body:   &dnsmessage.AResource{A: netip.MustParseAddr(host).As4()},
			})
		}
	}
	return answer
}

// TestNames checks that the addresses of a name get requests as they come and go, that a failing DNS
// server changes nothing, and the reason that is shown while a name has no addresses.
func TestNames(t *testing.T) {
	fakes, dns := tritontest.NewFakeHosts(t, 3), newDNS(t)
	_, port, err := net.SplitHostPort(fakes[0].Address())
	if err != nil {
		t.Fatal(err)
	}
	e := run(t, "dns://"+dns.conn.LocalAddr().String()+"/tritons.test.:"+port)
	reason := inference.AsError(e.Ready(t.Context()))
	if reason.Message != "no inference server is known: the DNS name of triton.Endpoint has no addresses" || !strings.Contains(reason.Error(), "tritons.test") {
		t.Errorf("without addresses: %v", reason)
	}
	if _, err := e.Models(t.Context()); inference.AsError(err).Reason != inference.ReasonEngineGone {
		t.Errorf("models without addresses: %v", err)
	}
	addresses := func() (list []string) {
		for _, one := range e.Endpoints().Endpoints {
			list = append(list, one.Address)
		}
		return list
	}
	const lookups = 12 * time.Second // two lookups, beside other work
	list := fakes.Addresses()
	dns.set(false, "127.0.0.1", "127.0.0.2")
	await(t, lookups, "two endpoints", func() bool { return slices.Equal(addresses(), list[:2]) })
	if n, err := send(t.Context(), e, echo("x")); n != 1 || err != nil || e.Ready(t.Context()) != nil {
		t.Errorf("%d responses, %v", n, err)
	}
	dns.set(false, "127.0.0.3", "127.0.0.2")
	await(t, lookups, "one comes, and one goes", func() bool { return slices.Equal(addresses(), list[1:]) })
	dns.set(true)
	if n, err := send(t.Context(), e, echo("x")); n != 1 || err != nil || !slices.Equal(addresses(), list[1:]) {
		t.Errorf("%d responses, %v, endpoints %q", n, err, addresses())
	}
}
