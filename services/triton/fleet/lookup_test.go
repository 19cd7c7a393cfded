package fleet_test

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server/servertest"
	"github.com/trident-inference/trident/services/triton/fleet"
	"github.com/trident-inference/trident/services/triton/tritontest"
	"github.com/trident-inference/trident/test/dnsserver"
	"github.com/trident-inference/trident/test/logbuffer"
	"github.com/trident-inference/trident/test/tier"
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

// encrypt accepts TLS connections on an address and forwards them to a server without TLS, until the
// end of the test. It returns the port.
func encrypt(t *testing.T, host, server string, pair servertest.Pair) (port string) {
	t.Helper()
	certificate, err := tls.X509KeyPair(pair.Certificate, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := tls.Listen("tcp", host+":0", &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	t.Cleanup(func() {
		_ = listener.Close() // ends the loop
		done.Wait()
	})
	done.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := new(net.Dialer).DialContext(context.Background(), "tcp", server)
			if err != nil {
				_ = client.Close()
				continue
			}
			done.Go(func() { _, _ = io.Copy(upstream, client); _ = upstream.Close() })
			done.Go(func() { _, _ = io.Copy(client, upstream); _ = client.Close() })
		}
	})
	_, port, err = net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// TestNamesWithTLS checks that the certificates of the addresses of a name must be valid for the name:
// those here aren't valid for the address.
func TestNamesWithTLS(t *testing.T) {
	authority, dns, fake := servertest.NewAuthority(t), newDNS(t), tritontest.NewFake(t)
	address := host(2).String()
	dns.Set(host(2))
	ca := servertest.Write(t, t.TempDir(), "ca", authority.PEM())
	for name, works := range map[string]bool{"tritons.test": true, "others.test": false} {
		port := encrypt(t, address, fake.Address(), authority.Issue(t, name))
		c := config(limits, "dns+https://"+dns.Address()+"/"+dnsserver.Name+":"+port)
		c.Connection.CAFile = ca
		e := start(t, c)
		n, err := send(t.Context(), e, echo("x"))
		switch {
		case works && (n != 1 || err != nil):
			t.Errorf("%s: %d responses, %v", name, n, err)
		case !works && (err == nil || !strings.Contains(inference.AsError(err).Error(), "not tritons.test")):
			t.Errorf("%s: %d responses, %v; want an error about the name", name, n, err)
		}
		if one := e.Endpoints().Endpoints; len(one) != 1 || one[0].Address != "https://"+address+":"+port {
			t.Errorf("%s: the endpoints are %+v", name, one)
		}
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
}

// TestOwnAddress checks that an address of this process is left out of the addresses of a name, with a
// warning, and the reason if the name has no others.
func TestOwnAddress(t *testing.T) {
	fakes, dns := tritontest.NewFakeHosts(t, 2), newDNS(t)
	_, port, err := net.SplitHostPort(fakes[0].Address())
	if err != nil {
		t.Fatal(err)
	}
	c := config(limits, "dns://"+dns.Address()+"/"+dnsserver.Name+":"+port)
	c.Own = func(address, ownPort string) bool { return address == host(1).String() && ownPort == port }
	for name, of := range map[string][]netip.Addr{"alone": {host(1)}, "and another": {host(1), host(2)}} {
		t.Run(name, func(t *testing.T) {
			dns.Set(of...)
			var log logbuffer.Buffer
			e, err := fleet.New(c, slog.New(slog.NewTextHandler(&log, nil)))
			if err != nil {
				t.Fatal(err)
			}
			if err := e.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := e.Stop(context.Background()); err != nil {
					t.Error(err)
				}
			}()
			n, err := send(t.Context(), e, echo("x"))
			all := e.Endpoints().Endpoints
			if len(of) == 1 && (err == nil || !strings.Contains(inference.AsError(err).Error(), "the name has only addresses of this process") || len(all) > 0) {
				t.Errorf("got %v, endpoints %+v", err, all)
			}
			if len(of) == 2 && (n != 1 || err != nil || len(all) != 1 || all[0].Address != fakes[1].Address()) {
				t.Errorf("%d responses, %v, endpoints %+v", n, err, all)
			}
			if n := strings.Count(log.String(), "has an address of this process, which is left out"); n != 1 {
				t.Errorf("%d warnings in the log:\n%s", n, &log)
			}
		})
	}
	if n := fakes[0].Served("echo"); n > 0 {
		t.Errorf("the process got %d requests of its own", n)
	}
}

// TestLookupFails checks the reason that is shown while the DNS server doesn't answer, with the address of
// the configured DNS server, and that the log has it once.
func TestLookupFails(t *testing.T) {
	dns := newDNS(t)
	dns.Fail()
	var log logbuffer.Buffer
	e, err := fleet.New(config(limits, "dns://"+dns.Address()+"/"+dnsserver.Name+":8001"), slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	reason := inference.AsError(e.Ready(t.Context()))
	if reason.Message != "no inference server is known: the DNS name of triton.Endpoint can't be looked up" || !strings.Contains(reason.Error(), "on "+dns.Address()) {
		t.Errorf("the reason is %v", reason)
	}
	if tier.Slow() {
		<-time.After(12 * time.Second) // two further lookups
	}
	if err := e.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "can't be looked up"); n != 1 {
		t.Errorf("%d warnings in the log:\n%s", n, &log)
	}
}

// TestMetricsAddresses checks where the servers' own metrics are read: at the same port of each host, and
// nowhere without a port.
func TestMetricsAddresses(t *testing.T) {
	for port, want := range map[int][]string{
		0:    {"", ""},
		8002: {"http://127.0.0.1:8002/metrics", "http://[::1]:8002/metrics"},
	} {
		c := config(limits, "127.0.0.1:1", "[::1]:1=2")
		c.MetricsPort = port
		e := start(t, c)
		var got []string
		for _, one := range e.Endpoints().Endpoints {
			got = append(got, one.MetricsURL)
		}
		if !slices.Equal(got, want) {
			t.Errorf("port %d: %q", port, got)
		}
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}
}
