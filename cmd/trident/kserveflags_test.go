package main

import (
	"slices"
	"strings"
	"testing"
)

func TestKServeFlags(t *testing.T) {
	t.Setenv("TRIDENT_GRPC_RESTRICTED_PROTOCOL", "health,a=b\nmodel-repository,shared-memory,admin=x,y=z")
	cfg, err := parse("--enable-kserve-frontends", "--kserve-grpc-port=9001", "--host=127.0.0.1", "--allow-model-upload", "--allow-shared-memory", "--write-timeout=3s")
	if err != nil {
		t.Fatal(err)
	}
	k := cfg.KServe
	if !k.Enabled || k.GRPCPort != 9001 || k.Host != "127.0.0.1" || !k.AllowModelUpload || !k.AllowSharedMemory || k.WriteTimeout != cfg.Server.WriteTimeout {
		t.Errorf("got %+v", k)
	}
	if len(k.Restrictions) != 2 || k.Restrictions[1].Key != "admin" || k.Restrictions[1].Value != "x,y=z" || !slices.Equal(k.Restrictions[1].Groups, []string{"model-repository", "shared-memory"}) {
		t.Errorf("got %+v", k.Restrictions)
	}
}

// TestOwnPort refuses to be the tritonserver that it is to call.
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
		{"--enable-kserve-frontends --triton-endpoint=localhost:8002", true},
		{"--enable-kserve-frontends --kserve-grpc-port=70000", false},
	} {
		_, err := parse(strings.Fields(test.args)...)
		if (err == nil) != test.right || err != nil && !strings.Contains(err.Error(), "--kserve-grpc-port") {
			t.Errorf("%q: %v", test.args, err)
		}
	}
}
