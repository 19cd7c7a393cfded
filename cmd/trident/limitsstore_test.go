package main

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/state/statetest"
	"github.com/trident-inference/trident/test/pause"
	"github.com/trident-inference/trident/test/tier"
)

// askKey sends a request with a key and returns its status, its header and its body.
func askKey(t *testing.T, method, url, key, body string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, nil, ""
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return 0, nil, ""
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(text)
}

const shortCompletion = `{"model":"m","prompt":"x","max_tokens":1}`

// startReplicas starts whole Tridents with one settings file.
func startReplicas(t *testing.T, n int, settings string) (urls []string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trident.yaml")
	write(t, path, settings)
	for range n {
		engine := inferencetest.New()
		engine.AddModel("m", inferencetest.StreamText("x"), nil)
		url, _ := runWith(t, path, engine)
		urls = append(urls, url)
	}
	return urls
}

// pump sends requests to all Tridents for a while, and returns how many passed and the time.
func pump(t *testing.T, urls []string, lasts time.Duration) (passed int64, took time.Duration) {
	t.Helper()
	var count atomic.Int64
	var group sync.WaitGroup
	began := time.Now()
	for i := range 4 * len(urls) { // several at once, so that a slow machine asks for more than the rate too
		group.Go(func() {
			for time.Since(began) < lasts {
				switch status, header, body := askKey(t, http.MethodPost, urls[i%len(urls)]+"/v1/completions", "sk-fast", shortCompletion); {
				case status == http.StatusOK:
					count.Add(1)
				case status != http.StatusTooManyRequests || header.Get("Retry-After") == "":
					t.Errorf("%d %v %s", status, header, body)
					return
				}
				<-time.After(10 * time.Millisecond)
			}
		})
	}
	group.Wait()
	return count.Load(), time.Since(began)
}

// TestLimitsStore checks that three Tridents let 30 requests per second of a key through together. While
// the store is away, each applies the limit by itself, which is counted. They share it again once the
// store is back.
func TestLimitsStore(t *testing.T) {
	redis := statetest.Start(t)
	urls := startReplicas(t, 3, "host: 127.0.0.1\nopenai-port: 0\nlimits-store: "+redis.URL+"\nresponses-store: "+redis.URL+"\nkeys: [{name: fast, key: sk-fast, limits: {rate: 30}}]\n")
	want := func(name string, factor float64, lasts time.Duration) {
		t.Helper()
		passed, took := pump(t, urls, lasts)
		expected := factor * 30 * took.Seconds()
		t.Logf("%s: %d requests in %s, by the limit %.1f", name, passed, took, expected)
		if math.Abs(float64(passed)-expected) > max(3, 0.05*expected) {
			t.Errorf("%s: %d requests in %s, by the limit %.1f", name, passed, took, expected)
		}
	}
	metric := func(name string) float64 {
		t.Helper()
		sum := 0.0
		for _, url := range urls {
			_, _, page := askKey(t, http.MethodGet, url+"/metrics", "sk-fast", "")
			for line := range strings.Lines(page) {
				if rest, found := strings.CutPrefix(line, name+" "); found {
					var value float64
					if _, err := fmt.Sscan(rest, &value); err != nil {
						t.Fatal(err)
					}
					sum += value
				}
			}
		}
		return sum
	}
	lasts := time.Duration(tier.Size(1, 10)) * time.Second
	pump(t, urls, 300*time.Millisecond) // uses the burst up
	want("shared", 1, lasts)
	if n := metric("trident_limits_store_fallbacks_total"); n != 0 {
		t.Errorf("%v requests used a Trident's own bucket", n)
	}
	redis.Stop()
	pump(t, urls, 700*time.Millisecond) // uses up what has come meanwhile
	want("away", 3, lasts)
	if n := metric("trident_limits_store_fallbacks_total"); n < 90 {
		t.Errorf("%v requests were counted while the store was away", n)
	}
	redis.Resume()
	if !pause.Until(10*time.Second, func() bool { return metric(`trident_store_up{store="limits"}`) == 3 }) {
		t.Fatal("the store isn't used again")
	}
	pump(t, urls, 300*time.Millisecond) // the store has lost its buckets, which are full
	want("back", 1, lasts)
	if n := metric(`trident_store_up{store="responses"}`); n != 3 {
		t.Errorf("%v stores of responses are up", n)
	}
}

// TestStoresThatRefuse checks that a Trident whose store can't be used is live and not ready, with the reason
// and without the password.
func TestStoresThatRefuse(t *testing.T) {
	redis := statetest.Start(t, "--requirepass", "right")
	wrong := strings.Replace(redis.URL, "unix://", "unix://:wrong-secret@", 1)
	for name, test := range map[string]struct{ settings, reason string }{
		"password of the limits' store":    {"limits-store: " + wrong, "WRONGPASS"},
		"password of the responses' store": {"responses-store: " + wrong, "WRONGPASS"},
		"no password":                      {"limits-store: " + redis.URL, "NOAUTH"},
		"no server":                        {"limits-store: redis://127.0.0.1:1", "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			url := startReplicas(t, 1, "host: 127.0.0.1\nopenai-port: 0\n"+test.settings+"\n")[0]
			if status, _, body := askKey(t, http.MethodGet, url+"/health/live", "", ""); status != http.StatusOK {
				t.Errorf("live: %d %s", status, body)
			}
			status, _, body := askKey(t, http.MethodGet, url+"/health/ready", "", "")
			if status != http.StatusServiceUnavailable || !strings.Contains(body, test.reason) || strings.Contains(body, "wrong-secret") {
				t.Errorf("ready: %d %s", status, body)
			}
			if status, _, body := askKey(t, http.MethodPost, url+"/v1/completions", "", shortCompletion); status != http.StatusOK {
				t.Errorf("a request: %d %s", status, body)
			}
		})
	}
}
