package fleet

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/trident-inference/trident/services/balance"
	"github.com/trident-inference/trident/services/configfield"
	"github.com/trident-inference/trident/services/triton"
)

// Config has the addresses of the servers and the settings of their connections.
type Config struct {
	// Endpoints are the addresses of the servers' gRPC ports. Each is host:port, a URL with the
	// scheme http or https, or dns://[SERVER]/NAME:PORT for all addresses of a name, which the
	// DNS server SERVER or else the system's resolves. With the scheme dns+https the connections
	// to these addresses use TLS, and the certificates must be valid for NAME. The default port
	// is 8001. A suffix =WEIGHT is the capacity of the server, or of each server of the name, in
	// relation to others; the default is 1.
	Endpoints []string
	// Connection has the TLS files and the time limits of all connections. Its Endpoint is
	// ignored.
	Connection triton.Config
	// Policy is the rule by which one of several equal endpoints is chosen; empty means the
	// default.
	Policy balance.Policy
	// MetricsPort is the port on which each server serves its own metrics by HTTP, or 0 if the
	// servers' metrics aren't read.
	MetricsPort int
	// Own reports whether an address is a port of this process; nil if none is. The addresses of
	// names leave such an address out, because a request that is sent there comes back again and again.
	Own func(host, port string) bool
	// Names are the operators' names of the fields; nil for the fields' own names.
	Names *configfield.Names
}

// field is the field of the addresses in errors.
const field configfield.Field = "triton.Endpoint"

// Single reports whether the addresses are one fixed address without a weight, which needs no
// fleet.
func Single(endpoints []string) bool {
	if len(endpoints) != 1 {
		return false
	}
	s, err := parse(endpoints[0])
	return err == nil && s.name == "" && !s.weighted
}

// HostPort returns the host, or the name in DNS, and the port of an endpoint. Both are empty for an
// invalid endpoint.
func HostPort(endpoint string) (host, port string) {
	s, err := parse(endpoint)
	if err != nil {
		return "", ""
	}
	if s.name != "" {
		return s.name, s.port
	}
	host, port, _ = net.SplitHostPort(s.address) // has been joined
	return host, port
}

// Validate returns an error for the first invalid field, which names the field's flag if it has
// one.
func (c Config) Validate() error {
	sources, err := c.sources()
	if err != nil {
		return err
	}
	if c.MetricsPort < 0 || c.MetricsPort > 65535 {
		return configfield.Errorf("triton.MetricsPort", "%d is not a port: set a number from 1 to 65535, or 0 to read no metrics", c.MetricsPort)
	}
	if c.Policy != "" && !slices.Contains(balance.Policies(), c.Policy) {
		return configfield.Errorf("triton.Policy", "%q is unknown: choose one of %s", c.Policy, balance.PolicyNames())
	}
	return c.connection(sources[0].probe()).Validate()
}

// connection returns the configuration of one server's connection.
func (c Config) connection(p place) triton.Config {
	one := c.Connection
	one.Endpoint, one.ServerName = p.address, p.serverName
	return one
}

// The prefixes of an endpoint that is all addresses of a name, without and with TLS.
const (
	dnsScheme    = "dns://"
	dnsTLSScheme = "dns+https://"
)

// dnsPort is the default port of a DNS server.
const dnsPort = "53"

// source is one configured endpoint: a fixed address, or a name in DNS.
type source struct {
	text     string // as configured
	secure   bool   // the connection uses TLS
	address  string // host:port of a fixed address; empty for a name
	server   string // host:port of the DNS server; empty for the system's
	name     string // the name in DNS
	port     string // the port of the addresses of the name
	weight   float64
	weighted bool // the weight was configured
}

// place is the address of one server with what identifies its connection.
type place struct {
	address    string // host:port, or a URL for TLS
	serverName string // name in the server's certificate; empty for the host of the address
}

// key identifies the source among others.
func (s source) key() string {
	if s.name == "" {
		return s.address
	}
	return dnsScheme + s.server + "/" + net.JoinHostPort(strings.ToLower(strings.TrimSuffix(s.name, ".")), s.port)
}

// place returns the server of the source at an address, which is host:port.
func (s source) place(address string) place {
	if !s.secure {
		return place{address: address}
	}
	return place{address: "https://" + address, serverName: strings.TrimSuffix(s.name, ".")}
}

// probe returns a server with which the settings of the connection can be validated.
func (s source) probe() place {
	if s.name == "" {
		return s.place(s.address)
	}
	return s.place(net.JoinHostPort(s.name, s.port))
}

// sources parses the endpoints. The errors name the field and the remedy.
func (c Config) sources() ([]source, error) {
	if len(c.Endpoints) == 0 {
		return nil, configfield.Errorf(field, "the list is empty: give the address of at least one server")
	}
	var list []source
	seen := map[string]string{}
	for _, text := range c.Endpoints {
		s, err := parse(text)
		if err != nil {
			return nil, configfield.Errorf(field, "%q %w", text, err)
		}
		if first, twice := seen[s.key()]; twice {
			return nil, configfield.Errorf(field, "%s and %s are the same endpoint: give each endpoint once", first, text)
		}
		if len(list) > 0 && list[0].secure != s.secure {
			return nil, configfield.Errorf(field, "%s and %s differ in TLS: give all endpoints with https:// or dns+https://, or all without", list[0].text, text)
		}
		seen[s.key()] = text
		list = append(list, s)
	}
	return list, nil
}

// parse parses one endpoint.
func parse(text string) (source, error) {
	endpoint, suffix, weighted := strings.Cut(text, "=")
	s := source{text: text, weight: 1, weighted: weighted}
	if weighted {
		var err error
		if s.weight, err = strconv.ParseFloat(suffix, 64); err != nil || balance.CheckWeight(s.weight) != nil {
			return source{}, fmt.Errorf("must have a weight from %g to %g after the =, such as %s=2", balance.MinWeight, balance.MaxWeight, endpoint)
		}
	}
	scheme := dnsScheme
	rest, isName := strings.CutPrefix(endpoint, scheme)
	if !isName {
		scheme = dnsTLSScheme
		rest, isName = strings.CutPrefix(endpoint, scheme)
		s.secure = isName
	}
	var err error
	if isName {
		s.server, s.name, s.port, err = parseName(scheme, rest)
	} else {
		s.address, s.secure, err = triton.Config{Endpoint: endpoint}.Address()
	}
	if err != nil && strings.ContainsAny(endpoint, separators) {
		return source{}, fmt.Errorf("isn't one address: separate several by commas")
	}
	return s, err
}

// separators are characters that no address has and that other programs use between addresses.
const separators = " ;|\t\n"

// parseName parses [SERVER]/NAME:PORT, which followed the scheme. The server is empty or host:port.
func parseName(scheme, text string) (server, name, port string, err error) {
	server, name, found := strings.Cut(text, "/")
	if !found {
		return "", "", "", fmt.Errorf("must be %s[SERVER]/NAME:PORT: write %s/%s to use the system's DNS server", scheme, scheme, text)
	}
	if server != "" {
		host, port, err := split(server, dnsPort)
		if err != nil {
			return "", "", "", fmt.Errorf("has a DNS server that can't be used: %w", err)
		}
		server = net.JoinHostPort(host, port)
	}
	address, _, err := triton.Config{Endpoint: name}.Address()
	if err != nil {
		return "", "", "", err
	}
	name, port, err = net.SplitHostPort(address)
	return server, name, port, err
}

// split returns the host and the port of an address without a scheme.
func split(address, defaultPort string) (host, port string, err error) {
	u, err := url.Parse("//" + address)
	if err != nil || u.Hostname() == "" || u.User != nil {
		return "", "", fmt.Errorf("%q must be HOST or HOST:PORT", address)
	}
	if port = u.Port(); port == "" {
		port = defaultPort
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", "", fmt.Errorf("%q must have a port from 1 to 65535", address)
	}
	return u.Hostname(), port, nil
}
