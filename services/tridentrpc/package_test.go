package tridentrpc_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/serving"
	"github.com/trident-inference/trident/web/client"
)

// TestClientPackage checks that the npm package of the browser client is served, and that a cached copy is revalidated.
func TestClientPackage(t *testing.T) {
	httpClient, address := serveAll(t, inferencetest.Service(t, serving.Config{}, inferencetest.New()), auth.Config{})
	get := func(tag string) (*http.Response, []byte) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/client.tgz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if tag != "" {
			req.Header.Set("If-None-Match", tag)
		}
		resp, err := httpClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		content, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, content
	}
	want, err := client.Pack()
	if err != nil {
		t.Fatal(err)
	}
	resp, content := get("")
	tag := resp.Header.Get("ETag")
	if resp.StatusCode != http.StatusOK || !bytes.Equal(content, want) || resp.Header.Get("Content-Type") != "application/gzip" || resp.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("%d, %d bytes, want %d: %v", resp.StatusCode, len(content), len(want), resp.Header)
	}
	if resp, content := get(tag); resp.StatusCode != http.StatusNotModified || len(content) != 0 {
		t.Errorf("a copy with the tag %s: %d, %d bytes", tag, resp.StatusCode, len(content))
	}
	if resp, content := get(`"other"`); resp.StatusCode != http.StatusOK || !bytes.Equal(content, want) {
		t.Errorf("another copy: %d, %d bytes", resp.StatusCode, len(content))
	}
}
