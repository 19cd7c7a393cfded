package triton

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
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

// Config has a tritonserver's address and the time limits of its calls.
type Config struct {
	// Endpoint is the address of tritonserver's gRPC service: host:port,
	// dns:///host:port, or a URL with the scheme http (plain) or https (TLS). The
	// default port is 8001.
	Endpoint string
	// ServerName is the name that the server's certificate must have. If it is empty, that is the
	// host of the endpoint.
	ServerName string
	// CAFile has the CA certificates, in PEM, that verify the server's certificate.
	// If it is empty, the system's CA certificates apply.
	CAFile string
	// CertFile and KeyFile, in PEM, are the client certificate for servers that require
	// one. The files are read for each connection.
	CertFile, KeyFile string
	// KeepAlive is the idle time after which a stream yields an idle response.
	// The clock is coarse: the response may come up to a quarter of KeepAlive
	// later.
	KeepAlive time.Duration
	// FirstResponse is the time that a request waits for its first response. After
	// that time it fails and is cancelled. The clock is as coarse as for KeepAlive.
	FirstResponse time.Duration
	// Inactivity is the time that a stream waits for each later response. After that
	// time it fails, and its request is cancelled. While a stream waits for its first
	// response, the server's health is checked at this interval. The clock is as coarse
	// as for KeepAlive.
	Inactivity time.Duration
	// ConnectTimeout is the time that a request waits for a connection if there
	// is none. The attempt to connect may take longer and serve later requests.
	ConnectTimeout time.Duration
	// CallTimeout is the time limit of each call for health, metadata,
	// configuration, statistics and the repository's index.
	CallTimeout time.Duration
	// LoadTimeout is the time limit for loading or unloading a model.
	LoadTimeout time.Duration
	// StreamClient is the gRPC client of streams: [StreamClientDirect] or
	// [StreamClientGRPCGo].
	StreamClient string
	// MaxMessage is the maximum size of a message from the server, in bytes.
	MaxMessage int
}

// Values of Config.StreamClient.
const (
	// StreamClientDirect is the client of package grpcconn, which needs less CPU time for
	// each response.
	StreamClientDirect = "direct"
	// StreamClientGRPCGo is grpc-go, which serves all other calls anyway.
	StreamClientGRPCGo = "grpc-go"
)

// Default returns the default configuration. The endpoint has no default and is
// empty.
func Default() Config {
	return Config{
		KeepAlive:      15 * time.Second,
		FirstResponse:  20 * time.Minute,
		Inactivity:     2 * time.Minute,
		ConnectTimeout: time.Second,
		CallTimeout:    10 * time.Second,
		LoadTimeout:    30 * time.Minute,
		StreamClient:   StreamClientDirect,
		MaxMessage:     math.MaxInt32,
	}
}

// Validate returns an error for the first invalid field, which names the
// field's flag if it has one.
func (c Config) Validate() error {
	_, secure, err := c.target()
	if err != nil {
		return configfield.Errorf("triton.Endpoint", "%q %w", c.Endpoint, err)
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return configfield.Textf("%s, %s: set both or neither", configfield.Field("triton.CertFile"), configfield.Field("triton.KeyFile"))
	}
	if !secure && (c.CAFile != "" || c.CertFile != "") {
		return configfield.Textf("%s, %s: both apply only to an endpoint with TLS, such as %s=https://%s", configfield.Field("triton.CAFile"), configfield.Field("triton.CertFile"), configfield.Field("triton.Endpoint"), c.Endpoint)
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
	if c.StreamClient != StreamClientDirect && c.StreamClient != StreamClientGRPCGo {
		return configfield.Errorf("triton.StreamClient", "must be %s or %s, not %q", StreamClientDirect, StreamClientGRPCGo, c.StreamClient)
	}
	if c.MaxMessage <= 0 || c.MaxMessage > math.MaxInt32 {
		return fmt.Errorf("triton.MaxMessage must be between 1 and %d bytes, not %d", math.MaxInt32, c.MaxMessage)
	}
	return nil
}

// credentials returns the TLS credentials of the connection.
func (c Config) credentials() (credentials.TransportCredentials, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.ServerName}
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

// Address returns the host and port of the endpoint, and whether to use TLS. The error doesn't
// name the field.
func (c Config) Address() (hostPort string, secure bool, err error) {
	target, secure, err := c.target()
	return strings.TrimPrefix(target, targetPrefix), secure, err
}

// targetPrefix is the prefix of the grpc-go target of an address.
const targetPrefix = "dns:///"

// target returns the endpoint as a grpc-go target, and whether to use TLS.
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
			return "", false, fmt.Errorf("must have the scheme http, https or dns, not %q", scheme)
		}
		address = rest
	}
	address, err = hostPort(address)
	return targetPrefix + address, secure, err
}

// hostPort checks an address and adds the default port if the address has none.
func hostPort(address string) (string, error) {
	u, err := url.Parse("//" + strings.TrimSuffix(address, "/"))
	if err != nil || u.Host == "" || u.Hostname() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", errNoAddress()
	}
	port := u.Port()
	if port == "" {
		port = defaultPort
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("must have a port from 1 to 65535, not %s", port)
	}
	if host := u.Hostname(); strings.ContainsAny(host, " ;,|") || strings.Contains(host, ":") && !strings.HasPrefix(u.Host, "[") {
		return "", errNoAddress()
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

func errNoAddress() error {
	return errors.New("must be host:port, http://host:port or https://host:port")
}
