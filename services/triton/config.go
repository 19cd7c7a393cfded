package triton

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// defaultPort is the port of tritonserver's gRPC endpoint.
const defaultPort = "8001"

// Config says where a tritonserver is and how long to wait for it.
type Config struct {
	// Endpoint of tritonserver's gRPC service: host:port, dns:///host:port, or a
	// URL whose scheme says whether the connection is plain (http) or TLS (https)
	// with the system's roots. The port is 8001 when left out.
	Endpoint string
	// KeepAlive is the silence after which a stream yields an idle response. The
	// clock is coarse: it may take a quarter longer.
	KeepAlive time.Duration
	// Inactivity is the silence after which a stream fails, and its request is
	// cancelled. As coarse as KeepAlive.
	Inactivity time.Duration
	// ConnectTimeout is how long a request waits for a connection when there is
	// none. The attempt to connect may take longer and serve later requests.
	ConnectTimeout time.Duration
	// CallTimeout bounds each call for health, metadata, configuration,
	// statistics and the repository's index.
	CallTimeout time.Duration
	// LoadTimeout bounds loading and unloading a model.
	LoadTimeout time.Duration
	// MaxMessage is the largest message taken from the server, in bytes.
	MaxMessage int
}

// Default is the configuration but for the endpoint, which has no default.
func Default() Config {
	return Config{
		KeepAlive:      15 * time.Second,
		Inactivity:     2 * time.Minute,
		ConnectTimeout: time.Second,
		CallTimeout:    10 * time.Second,
		LoadTimeout:    30 * time.Minute,
		MaxMessage:     math.MaxInt32,
	}
}

// Validate names the first field that can't work, by its flag where it has one.
func (c Config) Validate() error {
	if _, _, err := c.target(); err != nil {
		return fmt.Errorf("--triton-endpoint: %q %w", c.Endpoint, err)
	}
	positive := []struct {
		field string
		value time.Duration
	}{
		{"--sse-header-timeout", c.KeepAlive},
		{"--inactivity-timeout", c.Inactivity},
		{"ConnectTimeout", c.ConnectTimeout},
		{"CallTimeout", c.CallTimeout},
		{"LoadTimeout", c.LoadTimeout},
	}
	for _, p := range positive {
		if p.value <= 0 {
			return fmt.Errorf("%s: must be longer than 0, not %s", p.field, p.value)
		}
	}
	if c.MaxMessage <= 0 || c.MaxMessage > math.MaxInt32 {
		return fmt.Errorf("MaxMessage must be between 1 and %d, not %d", math.MaxInt32, c.MaxMessage)
	}
	return nil
}

// target gives grpc-go's name of the endpoint, and whether to use TLS.
func (c Config) target() (target string, secure bool, err error) {
	address := c.Endpoint
	scheme, rest, found := strings.Cut(address, "://")
	if found {
		switch scheme {
		case "https":
			secure = true
		case "http":
		case "dns":
			rest = strings.TrimPrefix(rest, "/")
		default:
			return "", false, fmt.Errorf("has a scheme that must be http, https or dns, not %q", scheme)
		}
		address = rest
	}
	address, err = hostPort(address)
	return "dns:///" + address, secure, err
}

// hostPort checks an address and gives it a port.
func hostPort(address string) (string, error) {
	u, err := url.Parse("//" + strings.TrimSuffix(address, "/"))
	if err != nil || u.Host == "" || u.Hostname() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", fmt.Errorf("must be host:port, http://host:port or https://host:port")
	}
	port := u.Port()
	if port == "" {
		port = defaultPort
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("has a port that must be between 1 and 65535, not %s", port)
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}
