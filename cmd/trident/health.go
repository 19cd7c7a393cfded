package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// healthCommand probes a running Trident. It is for container images that contain no
// other client.
type healthCommand struct {
	connection

	Probe string `arg:"" optional:"" default:"ready" enum:"live,ready,startup" help:"Probe to send: live, ready or startup. Default: ready."`
}

// connection are the flags of commands that call a running Trident.
type connection struct {
	Address string        `env:"-" placeholder:"URL" help:"URL of the Trident to call, such as https://localhost:9000. Default: the local address of --host, --openai-port and --tls-cert."`
	CA      string        `name:"ca" env:"-" placeholder:"FILE" help:"CA bundle (PEM) that verifies the server's certificate. Default: with --tls-cert, only the certificate of --tls-cert is accepted; without --tls-cert, the system's CA certificates apply."`
	Cert    string        `env:"-" placeholder:"FILE" help:"Client certificate (PEM) for a Trident with --tls-client-ca."`
	Key     string        `env:"-" placeholder:"FILE" help:"Private key (PEM) of the certificate of --cert. Default: the key in the file of --cert."`
	Timeout time.Duration `env:"-" default:"2s" help:"Time limit for the response."`
}

// Run returns nil if the probe succeeds.
func (c healthCommand) Run(f *flags) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.Timeout)
	defer cancel()
	client, err := c.client(f)
	if err != nil {
		return err
	}
	base := c.base(f)
	status, reason, err := ask(ctx, client, base+"/health/"+c.Probe)
	if err == nil && c.Probe == "startup" && status == http.StatusNotFound { // an older server has no startup probe
		status, reason, err = ask(ctx, client, base+"/health/ready")
	}
	switch {
	case err != nil:
		return fmt.Errorf("the %s probe failed: %w", c.Probe, err)
	case status != http.StatusOK && reason != "":
		return fmt.Errorf("the %s probe failed: %d %s: %s", c.Probe, status, http.StatusText(status), reason)
	case status != http.StatusOK:
		return fmt.Errorf("the %s probe failed: %d %s", c.Probe, status, http.StatusText(status))
	}
	return nil
}

// ask sends a probe. The reason is that of a failed one, or empty.
func ask(ctx context.Context, client *http.Client, url string) (status int, reason string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	var failed struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	_ = json.Unmarshal(body, &failed) // a body of another form has no reason
	return resp.StatusCode, failed.Error.Message, errors.Join(err, resp.Body.Close())
}

// base returns the URL of the Trident to call, without a path.
func (c connection) base(f *flags) string {
	base := strings.TrimSuffix(cmp.Or(c.Address, f.ownURL()), "/")
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	return base
}

// ownURL returns the local URL of a Trident that was started with the given flags.
func (f *flags) ownURL() string {
	scheme, host := "http", f.Host
	if f.TLSCert != "" {
		scheme = "https"
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(f.OpenAIPort))
}

// client returns an HTTP client. It trusts the CA certificates of --ca, or exactly the
// certificate of --tls-cert, which is rarely issued for localhost, or else the system's
// CA certificates.
func (c connection) client(f *flags) (*http.Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	switch {
	case c.CA != "":
		data, err := os.ReadFile(c.CA)
		if err != nil {
			return nil, fmt.Errorf("--ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("--ca: %s has no PEM certificate", c.CA)
		}
	case f.TLSCert != "":
		own, err := certificate(f.TLSCert)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert: %w", err)
		}
		config.InsecureSkipVerify = true // VerifyConnection compares the certificate itself instead
		config.VerifyConnection = func(state tls.ConnectionState) error {
			if !bytes.Equal(state.PeerCertificates[0].Raw, own) {
				return errors.New("the server's certificate isn't the one of --tls-cert: set --ca to accept another one")
			}
			return nil
		}
	}
	if c.Cert != "" {
		pair, err := tls.LoadX509KeyPair(c.Cert, cmp.Or(c.Key, c.Cert))
		if err != nil {
			return nil, fmt.Errorf("--cert, --key: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}, nil
}

// certificate returns the first certificate of a file, in DER.
func certificate(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			return block.Bytes, nil
		}
	}
	return nil, fmt.Errorf("%s has no PEM certificate", file)
}
