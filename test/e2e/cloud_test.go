package e2e

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestCloudRepository checks that the URL of a cloud storage repository reaches Triton's client
// unchanged. Trident must not treat it as a folder, and the error is Triton's.
func TestCloudRepository(t *testing.T) {
	t.Parallel()
	dir := root(t)
	for _, test := range []struct {
		name   string
		bucket int // status of the response for the bucket itself
		asked  string
		words  string
	}{
		{"no such bucket", http.StatusNotFound, "HEAD /bucket", "Unable to create S3 filesystem client"},
		{"a bucket whose objects may not be read", http.StatusOK, "GET /bucket?list-type=2&prefix=nested%2Fmodels%2F", "nested/models"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var mu sync.Mutex
			var asked []string
			store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				asked = append(asked, r.Method+" "+r.URL.RequestURI())
				mu.Unlock()
				w.Header().Set("Content-Type", "application/xml")
				if r.Method == http.MethodHead && r.URL.Path == "/bucket" {
					w.WriteHeader(test.bucket)
					return
				}
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(`<?xml version="1.0" encoding="UTF-8"?><Error><Code>AccessDenied</Code><Message>no</Message></Error>`))
			}))
			defer store.Close()
			var stderr bytes.Buffer
			cmd := exec.CommandContext(t.Context(), tridentBinary(t), "--host=127.0.0.1", "--openai-port=0", "--model-repository=s3://"+store.URL+"/bucket/nested/models")
			cmd.Env = environment("AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x", "AWS_DEFAULT_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true")
			cmd.Dir, cmd.Stderr = dir, &stderr
			timer := time.AfterFunc(startLimit, func() { _ = cmd.Process.Kill() })
			defer timer.Stop()
			_ = cmd.Run() // the exit code is checked below
			if code := cmd.ProcessState.ExitCode(); code != 1 {
				t.Errorf("exit code %d", code)
			}
			lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, "trident: in-process engine: start Triton: ") || !strings.Contains(last, test.words) {
				t.Errorf("the last line is %q", last)
			}
			mu.Lock()
			defer mu.Unlock()
			if !strings.Contains(strings.Join(asked, "\n"), test.asked) {
				t.Errorf("asked %q, want %s", asked, test.asked)
			}
		})
	}
}
