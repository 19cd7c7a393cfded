package fleet

import (
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/balance"
	"github.com/trident-inference/trident/services/triton"
)

// TestValidate checks the errors of bad settings: each names the field and the remedy.
func TestValidate(t *testing.T) {
	for _, test := range []struct {
		name      string
		endpoints string
		change    func(*Config)
		want      string // "" for a valid configuration
	}{
		{"fixed addresses", "a:1 b http://c:2", nil, ""},
		{"TLS", "https://a:1 https://b", nil, ""},
		{"a name", "dns:///triton:8001", nil, ""},
		{"a name with a server", "dns://10.0.0.1/triton dns://[::1]:5353/triton", nil, ""},
		{"a name with TLS", "dns+https:///triton:8001=2 https://a:1", nil, ""},
		{"weights", "a:1=2 https://[::1]:2=0.5 dns:///b=1000", nil, "differ in TLS"},
		{"weights of all kinds", "a:1=2 [::1]:2=0.5 dns:///b=1000", nil, ""},
		{"no weight", "a:1=", nil, `triton.Endpoint: "a:1=" must have a weight from 0.001 to 1000 after the =, such as a:1=2`},
		{"a weight of 0", "a:1=0", nil, "must have a weight from 0.001 to 1000"},
		{"a negative weight", "a:1=-1", nil, "must have a weight from 0.001 to 1000"},
		{"a weight that is no number", "a:1=NaN", nil, "must have a weight from 0.001 to 1000"},
		{"two weights", "a:1=2=3", nil, "must have a weight from 0.001 to 1000 after the =, such as a:1=2"},
		{"twice by a weight", "a:8001=2 a", nil, "a:8001=2 and a are the same endpoint"},
		{"a name with TLS beside one without", "dns+https:///a dns:///b", nil, "differ in TLS: give all endpoints with https:// or dns+https://, or all without"},
		{"none", "", nil, "triton.Endpoint: the list is empty"},
		{"twice", "a:8001 b a", nil, "a:8001 and a are the same endpoint: give each endpoint once"},
		{"twice by a name", "dns:///Triton. dns:///triton:8001", nil, "are the same endpoint"},
		{"mixed TLS", "https://a b", nil, "https://a and b differ in TLS: give all endpoints with https:// or dns+https://, or all without"},
		{"a name beside TLS", "https://a dns:///b", nil, "differ in TLS"},
		{"an unknown scheme", "a ftp://b", nil, `triton.Endpoint: "ftp://b" must have the scheme http, https or dns, not "ftp"`},
		{"a name without its slash", "dns://triton:8001", nil, `must be dns://[SERVER]/NAME:PORT: write dns:///triton:8001`},
		{"a name with TLS without its slash", "dns+https://triton:8001", nil, `must be dns+https://[SERVER]/NAME:PORT: write dns+https:///triton:8001`},
		{"no name", "dns:///", nil, "must be host:port"},
		{"a bad port", "a:0", nil, "must have a port from 1 to 65535"},
		{"a bad port of a DNS server", "dns://a:99999/b", nil, "DNS server that can't be used"},
		{"addresses without commas", "a:8001;b:8001", nil, `triton.Endpoint: "a:8001;b:8001" isn't one address: separate several by commas`},
		{"an unknown policy", "a b", func(c *Config) { c.Policy = "fastest" }, `triton.Policy: "fastest" is unknown: choose one of cost, tokens, round-robin`},
		{"a bad metrics port", "a b", func(c *Config) { c.MetricsPort = 70000 }, "triton.MetricsPort: 70000 is not a port"},
		{"a CA without TLS", "a b", func(c *Config) { c.Connection.CAFile = "ca" }, "triton.CAFile"},
		{"no time", "a b", func(c *Config) { c.Connection.CallTimeout = 0 }, "triton.CallTimeout"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Config{Endpoints: strings.Fields(test.endpoints), Connection: triton.Default(), Policy: balance.Policies()[0]}
			if test.change != nil {
				test.change(&c)
			}
			err := c.Validate()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestSingle(t *testing.T) {
	for endpoints, want := range map[string]bool{"a:1": true, "https://a": true, "a b": false, "dns:///a": false, "dns+https:///a": false, "a:1=1": false, "": false} {
		if got := Single(strings.Fields(endpoints)); got != want {
			t.Errorf("%s: %t", endpoints, got)
		}
	}
}

func TestHostPort(t *testing.T) {
	for endpoint, want := range map[string]string{
		"a": "a 8001", "https://a:1=2": "a 1", "[::1]:2=3": "::1 2", "dns://10.0.0.1/b": "b 8001", "dns+https:///b:9=0.5": "b 9", "ftp://a": " ", "a=x": " ",
	} {
		if host, port := HostPort(endpoint); host+" "+port != want {
			t.Errorf("%s: got %q and %q, want %q", endpoint, host, port, want)
		}
	}
}
