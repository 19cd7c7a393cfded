package triton

import (
	"log/slog"
	"strings"
	"testing"
)

func TestTarget(t *testing.T) {
	tests := []struct {
		endpoint, target string
		secure           bool
	}{
		{"triton:8001", "dns:///triton:8001", false},
		{"triton", "dns:///triton:8001", false},
		{"10.1.2.3:9", "dns:///10.1.2.3:9", false},
		{"[::1]:8001", "dns:///[::1]:8001", false},
		{"dns:///triton.svc:8001", "dns:///triton.svc:8001", false},
		{"http://triton:8001", "dns:///triton:8001", false},
		{"http://triton/", "dns:///triton:8001", false},
		{"https://triton.example:443", "dns:///triton.example:443", true},
	}
	for _, test := range tests {
		t.Run(test.endpoint, func(t *testing.T) {
			target, secure, err := Config{Endpoint: test.endpoint}.target()
			if err != nil || target != test.target || secure != test.secure {
				t.Errorf("got %s, %t, %v", target, secure, err)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"default", func(*Config) {}, ""},
		{"no endpoint", func(c *Config) { c.Endpoint = "" }, `triton.Endpoint: ""`},
		{"no host", func(c *Config) { c.Endpoint = ":8001" }, "host:port"},
		{"port 0", func(c *Config) { c.Endpoint = "triton:0" }, "must have a port from 1 to 65535, not 0"},
		{"port too high", func(c *Config) { c.Endpoint = "triton:70000" }, "not 70000"},
		{"port no number", func(c *Config) { c.Endpoint = "triton:grpc" }, "host:port"},
		{"two addresses", func(c *Config) { c.Endpoint = "a:8001 b:8001" }, "host:port"},
		{"two addresses with a semicolon", func(c *Config) { c.Endpoint = "a:8001;b:8001" }, "host:port"},
		{"two ports", func(c *Config) { c.Endpoint = "a:1:2" }, "host:port"},
		{"IPv6", func(c *Config) { c.Endpoint = "[::1]:8001" }, ""},
		{"path", func(c *Config) { c.Endpoint = "http://triton:8001/v2" }, "host:port"},
		{"user", func(c *Config) { c.Endpoint = "http://me@triton:8001" }, "host:port"},
		{"scheme", func(c *Config) { c.Endpoint = "grpc://triton:8001" }, `not "grpc"`},
		{"TLS", func(c *Config) { c.Endpoint, c.CAFile = "https://triton", "none" }, "triton.CAFile: open none"},
		{"no authority", func(c *Config) { c.Endpoint, c.CAFile = "https://triton", "config_test.go" }, "config_test.go has no certificate"},
		{"authority without TLS", func(c *Config) { c.CAFile = "ca" }, "such as triton.Endpoint=https://triton:8001"},
		{"certificate without key", func(c *Config) { c.Endpoint, c.CertFile = "https://triton", "cert" }, "triton.KeyFile"},
		{"no such certificate", func(c *Config) { c.Endpoint, c.CertFile, c.KeyFile = "https://triton", "none", "none" }, "triton.CertFile none"},
		{"keep-alive", func(c *Config) { c.KeepAlive = 0 }, "triton.KeepAlive"},
		{"first response", func(c *Config) { c.FirstResponse = 0 }, "triton.FirstResponse"},
		{"inactivity", func(c *Config) { c.Inactivity = -1 }, "triton.Inactivity"},
		{"connect timeout", func(c *Config) { c.ConnectTimeout = 0 }, "ConnectTimeout"},
		{"call timeout", func(c *Config) { c.CallTimeout = 0 }, "CallTimeout"},
		{"load timeout", func(c *Config) { c.LoadTimeout = 0 }, "LoadTimeout"},
		{"no message", func(c *Config) { c.MaxMessage = 0 }, "MaxMessage"},
		{"message too large", func(c *Config) { c.MaxMessage = 1 << 31 }, "MaxMessage"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			config := Default()
			config.Endpoint = "triton:8001"
			test.change(&config)
			_, err := New(config, slog.New(slog.DiscardHandler))
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
