package fleet_test

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/dnsserver"
)

// newDNS starts a DNS server for the time of a test.
func newDNS(t *testing.T) *dnsserver.Server {
	t.Helper()
	s, err := dnsserver.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// host returns the loopback address with this last number.
func host(number byte) netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, number}) }

// TestNames checks that the addresses of a name get requests as they come and go, that a failing DNS
// server changes nothing, and the reason that is shown while a name has no addresses.
func TestNames(t *testing.T) {
	fakes, dns := tritontest.NewFakeHosts(t, 3), newDNS(t)
	_, port, err := net.SplitHostPort(fakes[0].Address())
	if err != nil {
		t.Fatal(err)
	}
	e := run(t, "dns://"+dns.Address()+"/"+dnsserver.Name+":"+port)
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
	dns.Set(host(1), host(2))
	await(t, lookups, "two endpoints", func() bool { return slices.Equal(addresses(), list[:2]) })
	if n, err := send(t.Context(), e, echo("x")); n != 1 || err != nil || e.Ready(t.Context()) != nil {
		t.Errorf("%d responses, %v", n, err)
	}
	dns.Set(host(3), host(2))
	await(t, lookups, "one comes, and one goes", func() bool { return slices.Equal(addresses(), list[1:]) })
	dns.Fail()
	if n, err := send(t.Context(), e, echo("x")); n != 1 || err != nil || !slices.Equal(addresses(), list[1:]) {
		t.Errorf("%d responses, %v, endpoints %q", n, err, addresses())
	}
}
