package epp

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
)

// TestEnvoyConfiguration checks the configuration of Envoy in docs/guides/proxies.md against
// Envoy's protos: each field exists and has a valid value. No test has Envoy itself.
func TestEnvoyConfiguration(t *testing.T) {
	page, err := os.ReadFile("docs/guides/proxies.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)\n```yaml check envoy\n(.*?\n)```\n").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 1 {
		t.Fatalf("the page has %d configurations of Envoy, want 1", len(blocks))
	}
	var value map[string]any
	if err := yaml.Unmarshal([]byte(blocks[0][1]), &value); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var config bootstrapv3.Bootstrap
	if err := protojson.Unmarshal(raw, &config); err != nil {
		t.Fatal(err)
	}
	if err := config.ValidateAll(); err != nil {
		t.Error(err)
	}
	if n := len(config.GetStaticResources().GetListeners()); n != 1 {
		t.Errorf("%d listeners, want 1", n)
	}
}
