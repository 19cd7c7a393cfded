package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

type model struct {
	ID      string
	Created int64
}

func TestModels(t *testing.T) {
	t.Parallel()
	s := serving(t)
	list := decode[struct{ Data []model }](t, s.get(t, "/v1/models").want(t, http.StatusOK)).Data
	if len(list) != 2 || list[0].ID != "chat" || list[1].ID != "embedding" {
		t.Fatalf("models %v", list)
	}
	for _, m := range list {
		if age := time.Since(time.Unix(m.Created, 0)); age < 0 || age > time.Hour {
			t.Errorf("%s was created %s ago", m.ID, age)
		}
		if one := decode[model](t, s.get(t, "/v1/models/"+m.ID).want(t, http.StatusOK)); one != m {
			t.Errorf("the model's description is %v, but its entry in the list is %v", one, m)
		}
	}
	// TestBadRequests covers unknown names.
}

func TestHealth(t *testing.T) {
	t.Parallel()
	s := serving(t)
	for _, path := range []string{"/health/live", "/health/ready"} {
		if a := s.get(t, path).want(t, http.StatusOK); len(a.body) > 0 {
			t.Errorf("%s answers %q", path, a.body)
		}
	}
}

// TestRequestID checks the response header X-Request-Id: it has the client's id if that is valid, and
// otherwise a generated id.
func TestRequestID(t *testing.T) {
	t.Parallel()
	s := serving(t)
	for _, path := range []string{"/health/live", "/v1/models", "/v1/models/none", "/nowhere"} {
		if got := s.get(t, path, "X-Request-Id", "mine").header.Get("X-Request-Id"); got != "mine" {
			t.Errorf("%s: x-request-id %q, want mine", path, got)
		}
		first, second := s.get(t, path).header.Get("X-Request-Id"), s.get(t, path).header.Get("X-Request-Id")
		if first == second || len(first) < 16 {
			t.Errorf("%s: x-request-id %q, then %q", path, first, second)
		}
		long := strings.Repeat("x", 1000)
		if got := s.get(t, path, "X-Request-Id", long).header.Get("X-Request-Id"); got == long || got == "" {
			t.Errorf("%s: x-request-id %q", path, got)
		}
	}
}

// TestCORS checks that pages of this host may call the API from a browser, and that pages of other
// hosts may not.
func TestCORS(t *testing.T) {
	t.Parallel()
	s := serving(t)
	const path = "/v1/chat/completions"
	preflight := func(origin string) answer {
		return s.do(t, http.MethodOptions, path, nil, "Origin", origin, "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization,content-type,x-stainless-lang,x-stainless-retry-count")
	}
	for _, origin := range []string{"http://localhost:3000", "http://127.0.0.1", "https://[::1]:8443"} {
		a := preflight(origin)
		allowed := a.header.Get("Access-Control-Allow-Headers")
		if a.status >= 300 || a.header.Get("Access-Control-Allow-Origin") != origin || !strings.Contains(allowed, "x-stainless-retry-count") {
			t.Errorf("preflight of %s: %d %v", origin, a.status, a.header)
		}
		a = s.post(t, path, ask("Hello.", "max_tokens", 1), "Origin", origin).want(t, http.StatusOK)
		exposed := strings.ToLower(a.header.Get("Access-Control-Expose-Headers"))
		if a.header.Get("Access-Control-Allow-Origin") != origin || !strings.Contains(exposed, "x-request-id") {
			t.Errorf("request of %s: %v", origin, a.header)
		}
	}
	for _, origin := range []string{"https://evil.example", "http://localhost.evil.example", "null"} {
		if a := preflight(origin); a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("preflight of %s: %d %v", origin, a.status, a.header)
		}
		s.post(t, path, ask("Hello."), "Origin", origin).want(t, http.StatusForbidden).failure(t)
		if a := s.get(t, "/v1/models", "Origin", origin); a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("the response to a page of %s exposes its headers: %v", origin, a.header)
		}
	}
	t.Run("allowed by flag", func(t *testing.T) {
		open := startReady(t, "--cors-origin=https://app.example")
		open.post(t, path, ask("Hello.", "max_tokens", 1), "Origin", "https://app.example").want(t, http.StatusOK)
		open.post(t, path, ask("Hello."), "Origin", "https://evil.example").want(t, http.StatusForbidden)
	})
}

// overHTTP2 returns a client that uses HTTP/2 without TLS and without negotiation.
func overHTTP2(t *testing.T) *http.Client {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: contractTransport{transport}, Timeout: time.Minute}
}

func TestHTTP2(t *testing.T) {
	t.Parallel()
	s := serving(t)
	r := s.request(t, http.MethodPost, "/v1/chat/completions", ask("Hello.", "max_tokens", 8, "ignore_eos", true, "stream", true))
	events := s.open(t, overHTTP2(t), r)
	if events.response.ProtoMajor != 2 {
		t.Fatalf("the response has protocol %s", events.response.Proto)
	}
	var all []chunk
	for c := range events.chunks(t) {
		all = append(all, c)
	}
	checkChunks(t, all, 1)
	exchange(t, overHTTP2(t), s.request(t, http.MethodGet, "/v1/models", nil)).want(t, http.StatusOK)
}

// TestContentType checks that a JSON body is accepted whatever its Content-Type is. For example,
// `curl -d` sends application/x-www-form-urlencoded.
func TestContentType(t *testing.T) {
	t.Parallel()
	s := serving(t)
	for _, kind := range []string{"application/x-www-form-urlencoded", "text/plain", "", "application/json; charset=utf-8"} {
		r := s.request(t, http.MethodPost, "/v1/chat/completions", ask("Hello.", "max_tokens", 2))
		r.Header.Del("Content-Type")
		if kind != "" {
			r.Header.Set("Content-Type", kind)
		}
		exchange(t, client, r).want(t, http.StatusOK)
	}
}
