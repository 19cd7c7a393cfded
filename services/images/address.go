package images

import "net/netip"

// public reports whether an address is public. It isn't an address of this machine or
// of a private network, and it doesn't stand for another address.
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

// unicast6 is the range of allocated IPv6 addresses. It excludes loopback (::1),
// link-local and private addresses, multicast, IPv4-mapped addresses and NAT64.
var unicast6 = netip.MustParsePrefix("2000::/3") //nolint:gochecknoglobals // a constant

// special lists the other ranges that aren't public.
//
// Source: IANA's special-purpose address registries for IPv4 and IPv6.
var special = prefixes( //nolint:gochecknoglobals // a constant table
	"0.0.0.0/8",         // this network
	"10.0.0.0/8",        // private
	"100.64.0.0/10",     // carrier-grade NAT
	"127.0.0.0/8",       // loopback
	"169.254.0.0/16",    // link-local, including cloud metadata services
	"172.16.0.0/12",     // private
	"192.0.0.0/24",      // IETF protocol assignments
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
	"2001::/23",         // IETF protocol assignments, Teredo
	"2001:db8::/32",     // documentation
	"2002::/16",         // 6to4, which embeds an IPv4 address
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
