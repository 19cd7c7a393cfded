package main

import (
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/auth"
)

func TestKServeFlags(t *testing.T) {
	t.Setenv("TRIDENT_HTTP_RESTRICTED_API", "logging,Key=1")
	t.Setenv("TRIDENT_GRPC_RESTRICTED_PROTOCOL", "health,a=b\nmodel-repository,shared-memory:admin=x,y=z")
	cfg, err := parse("--enable-kserve-frontends", "--kserve-grpc-port=9001", "--kserve-http-port=9002", "--host=127.0.0.1", "--allow-model-upload", "--allow-shared-memory", "--write-timeout=3s")
	if err != nil {
		t.Fatal(err)
	}
	k := cfg.KServe
	if !k.Enabled || k.GRPCPort != 9001 || k.HTTPPort != 9002 || k.Host != "127.0.0.1" || !k.AllowModelUpload || !k.AllowSharedMemory || k.WriteTimeout != cfg.Server.WriteTimeout {
		t.Errorf("got %+v", k)
	}
	if r := cfg.Auth.GRPCRestricted; len(r) != 2 || r[1].Key != "admin" || r[1].Value != "x,y=z" || !slices.Equal(r[1].Groups, []auth.KServeGroup{"model-repository", "shared-memory"}) {
		t.Errorf("got %+v", r)
	}
	if r := cfg.Auth.HTTPRestricted; len(r) != 1 || r[0].Key != "Key" || r[0].Value != "1" || !slices.Equal(r[0].Groups, []auth.KServeGroup{"logging"}) {
		t.Errorf("got %+v", r)
	}
}

// TestConnectionAge checks that the ages of connections are tritonserver's milliseconds, and that
// values which are wrong or without an effect are refused with the flag that helps.
func TestConnectionAge(t *testing.T) {
	cfg, err := parse("--triton-endpoint=triton:8001", "--enable-kserve-frontends", "--grpc-max-connection-age=30000", "--grpc-max-connection-age-grace=5000")
	if err != nil || cfg.KServe.MaxConnectionAge != 30000 || cfg.KServe.MaxConnectionAgeGrace != 5000 {
		t.Errorf("%+v, %v", cfg.KServe, err)
	}
	for args, want := range map[string]string{
		"--enable-kserve-frontends --grpc-max-connection-age=-1":                                   "--grpc-max-connection-age: must be from 0 to 2147483647 milliseconds, not -1",
		"--enable-kserve-frontends --grpc-max-connection-age=2147483648":                           "--grpc-max-connection-age: must be from 0 to",
		"--enable-kserve-frontends --grpc-max-connection-age=1 --grpc-max-connection-age-grace=-1": "--grpc-max-connection-age-grace: must be from 0 to",
		"--enable-kserve-frontends --grpc-max-connection-age-grace=1":                              "set both",
		"--grpc-max-connection-age=1":                                                              "set --enable-kserve-frontends too",
		"--enable-kserve-frontends --grpc-max-connection-age=soon":                                 "--grpc-max-connection-age",
	} {
		if _, err := parse(append(strings.Fields(args), "--triton-endpoint=triton:8001")...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// TestRestrictionSyntax checks that the flags that restrict KServe's APIs accept the syntax that
// tritonserver accepts, and the syntax in tritonserver's --help.
func TestRestrictionSyntax(t *testing.T) {
	for _, test := range []struct {
		value, groups, key, expected string // key is "" if the value is rejected
	}{
		{"health:a=b", "health", "a", "b"},
		{"health,a=b", "health", "a", "b"},
		{"health,logging:a=b:c=d", "health logging", "a", "b:c=d"},
		{"health,logging,a=b,c", "health logging", "a", "b,c"},
		{"health", "", "", ""},
		{"health:", "", "", ""},
		{"health:a", "", "", ""},
		{"health:a=", "", "", ""},
		{"health:=b", "", "", ""},
		{"a=b", "", "", ""},
		{":a=b", "", "", ""},
		{"healthy:a=b", "", "", ""},
		{"health,,logging:a=b", "", "", ""},
		{"health,:a=b", "", "", ""},
	} {
		cfg, err := parse("--http-restricted-api=" + test.value)
		switch {
		case test.key == "":
			if err == nil || !strings.Contains(err.Error(), "--http-restricted-api") {
				t.Errorf("%q: %v", test.value, err)
			}
		case err != nil:
			t.Errorf("%q: %v", test.value, err)
		default:
			r := cfg.Auth.HTTPRestricted[0]
			if text, err := r.MarshalText(); err != nil || string(text) != strings.ReplaceAll(test.groups, " ", ",")+":"+test.key+"="+test.expected {
				t.Errorf("%q: %s, %v", test.value, text, err)
			}
		}
	}
}

// TestRestrictedTwice checks that the error about a group of APIs with two different restrictions
// names the flag.
func TestRestrictedTwice(t *testing.T) {
	for _, flag := range []string{"--http-restricted-api", "--grpc-restricted-protocol"} {
		_, err := parse(flag+"=health,logging,a=b", flag+"=trace,logging,c=d")
		if err == nil || !strings.Contains(err.Error(), flag+": the group logging is restricted twice") {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

// TestForwardPatterns checks that the error about an invalid regular expression for forwarded
// headers names the flag.
func TestForwardPatterns(t *testing.T) {
	for _, flag := range []string{"--http-header-forward-pattern", "--grpc-header-forward-pattern"} {
		if _, err := parse(flag + "=x-(a"); err == nil || !strings.Contains(err.Error(), flag+": ") {
			t.Errorf("%s: %v", flag, err)
		}
	}
	cfg, err := parse("--http-header-forward-pattern=x{1,2}|(?-i)Y", "--grpc-header-forward-pattern=.*")
	if err != nil || cfg.KServe.HTTPForward != "x{1,2}|(?-i)Y" || cfg.KServe.GRPCForward != ".*" {
		t.Errorf("got %+v, %v", cfg.KServe, err)
	}
}

// TestOwnPort checks that Trident doesn't listen on the address of its own
// tritonserver.
func TestOwnPort(t *testing.T) {
	for _, test := range []struct {
		args  string
		right bool
	}{
		{"--enable-kserve-frontends", false},
		{"", true},
		{"--enable-kserve-frontends --kserve-grpc-port=9001", true},
		{"--enable-kserve-frontends --triton-endpoint=triton:8001", true},
		{"--enable-kserve-frontends --triton-endpoint=127.0.0.1", false},
		{"--enable-kserve-frontends --triton-endpoint=http://[::1]:8001", false},
		{"--enable-kserve-frontends --triton-endpoint=dns:///localhost:8001", false},
		{"--enable-kserve-frontends --triton-endpoint=localhost:8003", true},
		{"--enable-kserve-frontends --triton-endpoint=localhost:8002", false},
		{"--enable-kserve-frontends --metrics-port=0 --triton-endpoint=localhost:8002", true},
		{"--host=127.0.0.1 --enable-kserve-frontends --triton-endpoint=127.0.0.1", false},
		{"--host=127.0.0.1 --enable-kserve-frontends --triton-endpoint=127.0.0.2", true},
		{"--host=10.1.2.3 --enable-kserve-frontends --triton-endpoint=10.1.2.3,a", false},
		{"--host=10.1.2.3 --enable-kserve-frontends --triton-endpoint=localhost", true},
		{"--enable-kserve-frontends --triton-endpoint=a,b,localhost:8001", false},
		{"--enable-kserve-frontends --triton-endpoint=dns://10.0.0.1/localhost", false},
		{"--enable-kserve-frontends --triton-endpoint=a,b", true},
		{"--enable-kserve-frontends --kserve-grpc-port=70000", false},
		{"--enable-kserve-frontends --kserve-grpc-port=9001 --kserve-http-port=8001", false},
		{"--enable-kserve-frontends --kserve-http-port=-1", false},
	} {
		flag := "--kserve-grpc-port"
		switch {
		case strings.Contains(test.args, "--kserve-http-port"):
			flag = "--kserve-http-port"
		case strings.Contains(test.args, ":8002"):
			flag = "--metrics-port"
		}
		_, err := parse(strings.Fields(test.args)...)
		if (err == nil) != test.right || err != nil && !strings.Contains(err.Error(), flag) {
			t.Errorf("%q: %v", test.args, err)
		}
	}
}

// TestOwnAddress checks that Trident doesn't listen on the address of its tritonserver if that is another
// address of this machine or the machine's name, and that the addresses of names leave its own ports out.
func TestOwnAddress(t *testing.T) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	hosts := []string{name}
	for _, a := range addresses {
		if network, ok := a.(*net.IPNet); ok {
			hosts = append(hosts, network.IP.String())
		}
	}
	for _, host := range hosts {
		endpoint := net.JoinHostPort(host, "9000")
		if _, err := parse("--triton-endpoint=" + endpoint + ",b"); err == nil || !strings.Contains(err.Error(), "--openai-port: 9000 is the port of --triton-endpoint "+endpoint) {
			t.Errorf("%s: %v", endpoint, err)
		}
		if _, err := parse("--triton-endpoint="+endpoint+",b", "--host=192.0.2.77"); err != nil {
			t.Errorf("%s while Trident listens on another address: %v", endpoint, err)
		}
	}
	cfg, err := parse("--triton-endpoint=dns:///pods", "--openai-port=9007", "--enable-kserve-frontends", "--kserve-grpc-port=9001")
	if err != nil {
		t.Fatal(err)
	}
	own := hosts[len(hosts)-1]
	for port, want := range map[string]bool{"9007": true, "9001": true, "8001": false} {
		if got := cfg.Fleet.Own(own, port); got != want {
			t.Errorf("%s:%s: %t", own, port, got)
		}
	}
	if cfg.Fleet.Own("192.0.2.1", "9001") {
		t.Error("an address of another machine is left out")
	}
}
