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
	// DNS server SERVER or else the system's resolves. The default port is 8001.
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
	// Names are the operators' names of the fields; nil for the fields' own names.
	Names *configfield.Names
}

// field is the field of the addresses in errors.
const field configfield.Field = "triton.Endpoint"

// Single reports whether the addresses are one fixed address, which needs no fleet.
func Single(endpoints []string) bool {
	return len(endpoints) == 1 && !strings.HasPrefix(endpoints[0], dnsScheme)
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
		return configfield.Errorf("triton.Policy", "%q is unknown: choose one of %v", c.Policy, balance.Policies())
	}
	return c.connection(sources[0].probeAddress()).Validate()
}

// connection returns the configuration of one server's connection.
func (c Config) connection(endpoint string) triton.Config {
	one := c.Connection
	one.Endpoint = endpoint
	return one
}

// dnsScheme is the prefix of an endpoint that is all addresses of a name.
const dnsScheme = "dns://"

// dnsPort is the default port of a DNS server.
const dnsPort = "53"

// source is one configured endpoint: a fixed address, or a name in DNS.
type source struct {
	text    string // as configured
	secure  bool   // the connection uses TLS
	address string // host:port of a fixed address; empty for a name
	server  string // host:port of the DNS server; empty for the system's
	name    string // the name in DNS
	port    string // the port of the addresses of the name
}

// key identifies the source among others.
func (s source) key() string {
	if s.name == "" {
		return s.address
	}
	return dnsScheme + s.server + "/" + net.JoinHostPort(strings.ToLower(strings.TrimSuffix(s.name, ".")), s.port)
}

// probeAddress returns an address with which the settings of the connection can be validated.
func (s source) probeAddress() string {
	if s.name == "" {
		return s.text
	}
	return net.JoinHostPort(s.name, s.port)
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
			return nil, configfield.Errorf(field, "%s and %s differ in TLS: give all endpoints with https:// or all without", list[0].text, text)
		}
		seen[s.key()] = text
		list = append(list, s)
	}
	return list, nil
}

// parse parses one endpoint.
func parse(text string) (source, error) {
	rest, isName := strings.CutPrefix(text, dnsScheme)
	if !isName {
		address, secure, err := triton.Config{Endpoint: text}.Address()
		return source{text: text, address: address, secure: secure}, err
	}
	server, name, found := strings.Cut(rest, "/")
	if !found {
		return source{}, fmt.Errorf("must be dns://[SERVER]/NAME:PORT: write dns:///%s to use the system's DNS server", rest)
	}
	s := source{text: text}
	if server != "" {
		host, port, err := split(server, dnsPort)
		if err != nil {
			return source{}, fmt.Errorf("has a DNS server that can't be used: %w", err)
		}
		s.server = net.JoinHostPort(host, port)
	}
	address, _, err := triton.Config{Endpoint: name}.Address()
	if err != nil {
		return source{}, err
	}
	s.name, s.port, err = net.SplitHostPort(address)
	return s, err
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
