package triton

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/trident-inference/trident/services/configfield"
)

// defaultPort is the port of tritonserver's gRPC endpoint.
const defaultPort = "8001"

// Config says where a tritonserver is and how long to wait for it.
type Config struct {
	// Endpoint of tritonserver's gRPC service: host:port, dns:///host:port, or a
	// URL whose scheme says whether the connection is plain (http) or TLS (https)
	// as below. The port is 8001 when left out.
	Endpoint string
	// CAFile has the authorities, in PEM, one of which must have issued the server's
	// certificate; the system's when empty.
	CAFile string
	// CertFile and KeyFile, in PEM, are what the server gets to see that wants a
	// certificate. They are read for each connection.
	CertFile, KeyFile string
	// KeepAlive is the silence after which a stream yields an idle response. The
	// clock is coarse: it may take a quarter longer.
	KeepAlive time.Duration
	// FirstResponse is how long a request waits for its first response before it fails
	// and is cancelled. As coarse as KeepAlive.
	FirstResponse time.Duration
	// Inactivity is the silence after a response after which a stream fails, and its
	// request is cancelled. While the first one is awaited, the server must give a sign
	// of life that often. As coarse as KeepAlive.
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
		FirstResponse:  20 * time.Minute,
		Inactivity:     2 * time.Minute,
		ConnectTimeout: time.Second,
		CallTimeout:    10 * time.Second,
		LoadTimeout:    30 * time.Minute,
		MaxMessage:     math.MaxInt32,
	}
}

// Validate names the first field that can't work, by its flag where it has one.
func (c Config) Validate() error {
	_, secure, err := c.target()
	if err != nil {
		return configfield.Errorf("triton.Endpoint", "%q %w", c.Endpoint, err)
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return configfield.Textf("%s, %s: one needs the other", configfield.Field("triton.CertFile"), configfield.Field("triton.KeyFile"))
	}
	if !secure && (c.CAFile != "" || c.CertFile != "") {
		return configfield.Textf("%s, %s: they are for an endpoint with TLS: %s https://%s", configfield.Field("triton.CAFile"), configfield.Field("triton.CertFile"), configfield.Field("triton.Endpoint"), c.Endpoint)
	}
	positive := []struct {
		field configfield.Field
		value time.Duration
	}{
		{"triton.KeepAlive", c.KeepAlive},
		{"triton.FirstResponse", c.FirstResponse},
		{"triton.Inactivity", c.Inactivity},
		{"triton.ConnectTimeout", c.ConnectTimeout},
		{"triton.CallTimeout", c.CallTimeout},
		{"triton.LoadTimeout", c.LoadTimeout},
	}
	for _, p := range positive {
		if p.value <= 0 {
			return configfield.Errorf(p.field, "must be longer than 0, not %s", p.value)
		}
	}
	if c.MaxMessage <= 0 || c.MaxMessage > math.MaxInt32 {
		return fmt.Errorf("MaxMessage must be between 1 and %d, not %d", math.MaxInt32, c.MaxMessage)
	}
	return nil
}

// credentials of the connection, which has TLS.
func (c Config) credentials() (credentials.TransportCredentials, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		authorities, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, configfield.Errorf("triton.CAFile", "%w", err)
		}
		t.RootCAs = x509.NewCertPool()
		if !t.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, configfield.Errorf("triton.CAFile", "%s has no certificate in PEM", c.CAFile)
		}
	}
	if c.CertFile == "" {
		return credentials.NewTLS(t), nil
	}
	if _, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile); err != nil {
		return nil, configfield.Textf("%s %s, %s %s: %w", configfield.Field("triton.CertFile"), c.CertFile, configfield.Field("triton.KeyFile"), c.KeyFile, err)
	}
	t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		certificate, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		return &certificate, err
	}
	return credentials.NewTLS(t), nil
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
