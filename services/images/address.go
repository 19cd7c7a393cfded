package images

import "net/netip"

// public tells whether an address is anybody's to reach: neither of this machine nor of
// its networks, and none that stands for another address.
func public(addr netip.Addr) bool {
	if addr.Is4In6() || !addr.IsValid() {
		return false
	}
	if addr.Is6() && !unicast6.Contains(addr) {
		return false
	}
	for _, prefix := range special {
		if prefix.Contains(addr) {
			return false
		}
	}
	return true
}

// unicast6 are the addresses of IPv6 that are given out. Those of this machine (::1),
// of its links and networks, multicast, IPv4-mapped ones and those of NAT64 are
// outside.
var unicast6 = netip.MustParsePrefix("2000::/3") //nolint:gochecknoglobals // a constant

// special are the others that aren't everybody's.
//
// Source: IANA's registries of special-purpose addresses of IPv4 and IPv6.
var special = prefixes( //nolint:gochecknoglobals // a constant table
	"0.0.0.0/8",         // this network
	"10.0.0.0/8",        // private
	"100.64.0.0/10",     // behind carriers' NAT
	"127.0.0.0/8",       // loopback
	"169.254.0.0/16",    // link-local, with the clouds' metadata
	"172.16.0.0/12",     // private
	"192.0.0.0/24",      // protocols
	"192.0.2.0/24",      // documentation
	"192.31.196.0/24",   // AS112
	"192.52.193.0/24",   // AMT
	"192.88.99.0/24",    // 6to4 relays
	"192.168.0.0/16",    // private
	"192.175.48.0/24",   // AS112
	"198.18.0.0/15",     // benchmarks
	"198.51.100.0/24",   // documentation
	"203.0.113.0/24",    // documentation
	"224.0.0.0/4",       // multicast
	"240.0.0.0/4",       // reserved, broadcast
	"2001::/23",         // protocols, Teredo
	"2001:db8::/32",     // documentation
	"2002::/16",         // 6to4, which holds an address of IPv4
	"2620:4f:8000::/48", // AS112
	"3fff::/20",         // documentation
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}
