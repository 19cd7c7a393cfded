package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server/servertest"
)

// newGate is one for tests, and its log.
func newGate(tb testing.TB, cfg Config) (*Gate, *syncBuffer) {
	tb.Helper()
	log := &syncBuffer{}
	gate, err := NewGate(cfg, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		tb.Fatal(err)
	}
	return gate, log
}

// again reads the file of keys again.
func (g *Gate) again() error {
	apply, err := g.Prepare(KeySection{})
	if err == nil {
		apply()
	}
	return err
}

// through answers with the client's name what the gate lets in.
func through(gate *Gate) http.Handler {
	return gate.handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if client := inference.ClientOf(r.Context()); client != nil {
			fmt.Fprint(w, client.Name)
		}
	}))
}

// ask gives the status and the answer to a request with these header lines.
func ask(h http.Handler, method, target string, header ...string) (status int, body string, answer http.Header) {
	r := httptest.NewRequest(method, target, http.NoBody)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String(), w.Header()
}

func TestKeys(t *testing.T) {
	hash, err := HashKey("hashed")
	if err != nil {
		t.Fatal(err)
	}
	file := servertest.Write(t, t.TempDir(), "keys", []byte(`# keys
- name: plain
  key: of-plain
  models: [a, b]
  limits: {in_flight: 1, queued: 2, rate: 0.5, burst: 3}
- name: two
  key: [first, `+hash+`]
- name: old
  key: of-old
  expires: 2001-02-03
- name: young
  key: of-young
  expires: 2999-01-01T00:00:00Z
  models: []
`))
	gate, log := newGate(t, Config{APIKeys: []Secret{"by-flag", "second"}, APIKeysFile: file})
	h := through(gate)
	for _, test := range []struct {
		name, want string // the client, or words of the refusal
		header     []string
	}{
		{"none", "an API key is needed", nil},
		{"empty", "an API key is needed", []string{"Authorization", "Bearer "}},
		{"another scheme", "an API key is needed", []string{"Authorization", "Basic of-plain"}},
		{"no scheme", "an API key is needed", []string{"Authorization", "of-plain"}},
		{"wrong", "this API key is not valid", []string{"Authorization", "Bearer of-plai"}},
		{"in another case", "this API key is not valid", []string{"Authorization", "Bearer OF-PLAIN"}},
		{"a hash", "this API key is not valid", []string{"Authorization", "Bearer " + hash}},
		{"too long", "this API key is not valid", []string{"Authorization", "Bearer " + strings.Repeat("x", 9000)}},
		{"twice", "an API key is needed", []string{"Authorization", "Bearer of-plain", "Authorization", "Bearer of-plain"}},
		{"expired", "this API key has expired", []string{"Authorization", "Bearer of-old"}},
		{"wrong beside a right one", "this API key is not valid", []string{"Authorization", "Bearer x", "Api-Key", "of-plain"}},
		{"from the file", "plain", []string{"Authorization", "Bearer of-plain"}},
		{"with spaces", "plain", []string{"authorization", "BEARER  of-plain "}},
		{"of Azure", "plain", []string{"api-key", "of-plain"}},
		{"of others", "plain", []string{"X-Api-Key", "of-plain"}},
		{"beside a proxy's", "plain", []string{"Authorization", "Basic eDp5", "X-Api-Key", "of-plain"}},
		{"one of two", "two", []string{"Authorization", "Bearer first"}},
		{"hashed", "two", []string{"Authorization", "Bearer hashed"}},
		{"not expired", "young", []string{"Authorization", "Bearer of-young"}},
		{"by flag", "key-219a1bf7", []string{"Authorization", "Bearer by-flag"}},
		{"second by flag", "key-16367aac", []string{"Authorization", "Bearer second"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, body, header := ask(h, http.MethodPost, "/v1/chat/completions", test.header...)
			if status == http.StatusOK && body == test.want {
				return
			}
			want := `{"error":{"message":"` + test.want
			if status != http.StatusUnauthorized || !strings.HasPrefix(body, want) || !strings.HasSuffix(body, `","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`) || header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("%d %s %v", status, body, header)
			}
		})
	}
	client := gate.keys.ring.Load().clients["plain"]
	if want := (inference.Limits{InFlight: 1, Queued: 2, Rate: 0.5, Burst: 3}); client.Limits != want || !slices.Equal(client.Models, []string{"a", "b"}) {
		t.Errorf("plain is %+v", client)
	}
	if young, two := gate.keys.ring.Load().clients["young"], gate.keys.ring.Load().clients["two"]; young.May("a") || !two.May("a") {
		t.Errorf("an empty list is none, no list all: %+v, %+v", young, two)
	}
	for _, secret := range []string{"of-plain", "hashed", "by-flag", hash} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %q: %s", secret, log)
		}
	}
}

// TestKeyLines reads the simplest file.
func TestKeyLines(t *testing.T) {
	file := servertest.Write(t, t.TempDir(), "keys", []byte("# mine\n  one \n\r\ntwo\r\n"))
	gate, _ := newGate(t, Config{APIKeysFile: file})
	for key, want := range map[string]int{"one": 200, "two": 200, "# mine": 401, "mine": 401} {
		if status, body, _ := ask(through(gate), http.MethodGet, "/v1/models", "Authorization", "Bearer "+key); status != want {
			t.Errorf("%s: %d %s", key, status, body)
		}
	}
}

// TestBadKeys: what can't be read is named by its place, and never shown.
func TestBadKeys(t *testing.T) {
	for content, want := range map[string]string{
		"":                             "it has no keys",
		"# only this\n":                "it has no keys",
		"- name: a":                    "entry 1: it has no key",
		"- key: []":                    "entry 1: it has no key",
		"- key: SECRET\n- key: SECRET": "is there twice",
		"- {name: a, key: SECRET}\n- {name: b, key: SECRET}":  "entry 2: b has a key that a has, too",
		"- {name: a, key: SECRET}\n- {name: a, key: SECRET2}": "entry 2: the name \"a\" is there twice",
		"- {key: SECRET, nick: a}":                            "see line 1",
		"- key: SECRET\n  models: {SECRET: a}":                "see line 2",
		"- key: SECRET\n limits: 5":                           "see line",
		"- key: SECRET\n  limits: {rate: -1}":                 "entry 1: its limits",
		"- key: SECRET\n  limits: {rate: .inf}":               "entry 1: its limits",
		"- key: SECRET\n  limits: {rate: .nan}":               "entry 1: its limits",
		"- key: SECRET\n  expires: SECRET":                    "and expires (a date)",
		"- key: SECRET with spaces":                           "entry 1: a key must be",
		"good\nSECRET with spaces":                            "entry 2: a key must be",
		"SECRETé":                                             "entry 1: a key must be",
		strings.Repeat("SECRET", 100):                         "entry 1: a key must be",
		"sha256:SECRET":                                       "entry 1: sha256: must be followed by 64",
		"sha256:" + strings.Repeat("a", 63):                   "entry 1: sha256: must be followed by 64",
		"sha256:" + strings.Repeat("a", 66):                   "entry 1: sha256: must be followed by 64",
		"- {key: SECRET, name: \"a\\nb\"}":                    "entry 1: its name",
	} {
		file := servertest.Write(t, t.TempDir(), "keys", []byte(content))
		_, err := NewGate(Config{APIKeysFile: file}, slog.New(slog.DiscardHandler))
		if err == nil || !strings.HasPrefix(err.Error(), "--api-keys-file "+file+": ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %v", content, err)
		}
	}
	if _, err := NewGate(Config{APIKeysFile: filepath.Join(t.TempDir(), "none")}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no file: %v", err)
	}
	if _, err := NewGate(Config{APIKeys: []Secret{"a b"}}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "--api-key: a key must be") || strings.Contains(err.Error(), "a b") {
		t.Errorf("by flag: %v", err)
	}
	if _, err := NewGate(Config{APIKeys: []Secret{HiddenKey}}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "stands for a key that was printed") {
		t.Errorf("what is printed for a key: %v", err)
	}
}

// TestKeysReload: a file that changes counts within a second and on demand; one that
// can't be used leaves the keys. A client that didn't change stays the same one, whose
// requests are counted together.
func TestKeysReload(t *testing.T) {
	dir := t.TempDir()
	file := servertest.Write(t, dir, "keys", []byte("- {name: a, key: one}\n- {name: b, key: two}"))
	gate, log := newGate(t, Config{APIKeysFile: file})
	h := through(gate)
	status := func(key string) int {
		status, _, _ := ask(h, http.MethodGet, "/v1/models", "x-api-key", key)
		return status
	}
	before := gate.keys.ring.Load().clients
	servertest.Write(t, dir, "keys", []byte("- {name: a, key: [one, three]}\n- {name: b, key: four, models: [x]}"))
	if err := gate.again(); err != nil {
		t.Fatal(err)
	}
	if status("one") != 200 || status("two") != 401 || status("three") != 200 || status("four") != 200 {
		t.Error("the new keys don't count")
	}
	if after := gate.keys.ring.Load().clients; after["a"] != before["a"] || after["b"] == before["b"] {
		t.Error("a is another client, or b the same")
	}
	for _, content := range []string{"", "- key: SECRET and more", "- {key: [five}"} {
		servertest.Write(t, dir, "keys", []byte(content))
		if err := gate.again(); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %v", content, err)
		}
		if status("three") != 200 {
			t.Errorf("%q: the keys are gone", content)
		}
	}
	servertest.Write(t, dir, "keys", []byte("five"))
	for end, tick := time.Now().Add(20*time.Second), time.Tick(10*time.Millisecond); status("five") != 200; <-tick {
		if time.Now().After(end) {
			t.Fatal("the change isn't seen")
		}
	}
	servertest.Write(t, dir, "keys", []byte("six seven"))
	for end, tick := time.Now().Add(20*time.Second), time.Tick(10*time.Millisecond); !strings.Contains(log.String(), "the old keys stay"); <-tick {
		if status("five") != 200 || time.Now().After(end) {
			t.Fatalf("%s", log)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := gate.again(); err == nil || status("five") != 200 {
		t.Errorf("without the file: %v", err)
	}
}

// TestKeyExpires has keys run out while the gate is in use, by HTTP and by gRPC, to the
// second and for one client alone. Whatever its clock is set to, the file is read again.
func TestKeyExpires(t *testing.T) {
	dir, began := t.TempDir(), time.Now().Truncate(time.Second)
	entry := func(name string, after time.Duration) string {
		return fmt.Sprintf("- {name: %s, key: of-%s, expires: %s}\n", name, name, began.Add(after).Format(time.RFC3339))
	}
	file := servertest.Write(t, dir, "keys", []byte(entry("hour", time.Hour)+entry("day", 24*time.Hour)+"- {name: ever, key: of-ever}\n"))
	gate, _ := newGate(t, Config{APIKeysFile: file})
	var ahead time.Duration
	gate.keys.wall = func() time.Time { return began.Add(ahead) }
	let := func(name string) bool {
		t.Helper()
		status, body, _ := ask(through(gate), http.MethodPost, "/v1/chat/completions", "Authorization", "Bearer of-"+name)
		_, err := gate.AdmitCall(t.Context(), "/inference.GRPCInferenceService/ModelInfer", http.Header{"Authorization": {"Bearer of-" + name}}.Values)
		if byHTTP, byGRPC := status == http.StatusOK, err == nil; byHTTP != byGRPC {
			t.Errorf("%s after %s: %d %s, by gRPC %v", name, ahead, status, body, err)
		}
		if status != http.StatusOK && (status != http.StatusUnauthorized || !strings.Contains(body, "this API key has expired")) {
			t.Errorf("%s after %s: %d %s", name, ahead, status, body)
		}
		return status == http.StatusOK
	}
	for _, step := range []struct {
		ahead           time.Duration
		hour, day, ever bool
	}{
		{0, true, true, true},
		{time.Hour - time.Nanosecond, true, true, true},
		{time.Hour, false, true, true},
		{24*time.Hour - time.Second, false, true, true},
		{24 * time.Hour, false, false, true},
		{-48 * time.Hour, true, true, true}, // it was wrong, and is set right
	} {
		ahead = step.ahead
		if hour, day, ever := let("hour"), let("day"), let("ever"); hour != step.hour || day != step.day || ever != step.ever {
			t.Errorf("after %s: %t, %t, %t", ahead, hour, day, ever)
		}
	}
	ahead = 2 * time.Hour
	if let("hour") {
		t.Error("it counts after its time")
	}
	servertest.Write(t, dir, "keys", []byte(entry("hour", 3*time.Hour)))
	for end, tick := time.Now().Add(20*time.Second), time.Tick(10*time.Millisecond); !let("hour"); <-tick {
		if time.Now().After(end) {
			t.Fatal("a later time in the file isn't seen")
		}
	}
}

// TestKeySection closes an open gate by keys of the settings, and changes them. Those of a
// file stay beside them; the last ones don't go while the gate is there.
func TestKeySection(t *testing.T) {
	section := func(entries ...KeyEntry) KeySection {
		var s KeySection
		for _, e := range entries {
			if err := s.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	one := KeyEntry{Name: "one", Key: oneOrMore{"k1"}, Models: []string{"a"}}
	two := KeyEntry{Name: "two", Key: oneOrMore{"k2"}}
	file := servertest.Write(t, t.TempDir(), "keys", []byte("- {name: filed, key: k3}"))
	open, log := newGate(t, Config{})
	closed, _ := newGate(t, Config{APIKeysFile: file, Keys: section(one)})
	if strings.Contains(log.String(), "API keys") {
		t.Errorf("the log of a gate without keys: %s", log)
	}
	for _, step := range []struct {
		name    string
		gate    *Gate
		section KeySection
		refused string
		want    string // whom the keys none, k1, k2 and k3 let in
	}{
		{"open stays open", open, section(), "", "all,all,all,all"},
		{"open is closed", open, section(one, two), "", "nobody,one,two,nobody"},
		{"a key goes", open, section(two), "", "nobody,nobody,two,nobody"},
		{"the last goes", open, section(), "keys: the last ones are gone", "nobody,nobody,two,nobody"},
		{"beside a file", closed, section(two, one), "", "nobody,one,two,filed"},
		{"a name of the file's", closed, section(KeyEntry{Name: "filed", Key: oneOrMore{"k4"}}), `keys: entry 1: the name "filed" is there twice`, "nobody,one,two,filed"},
		{"the file's stay", closed, section(), "", "nobody,nobody,nobody,filed"},
	} {
		apply, err := step.gate.Prepare(step.section)
		if err == nil {
			apply()
		}
		if step.refused == "" && err != nil || step.refused != "" && (err == nil || !strings.Contains(err.Error(), step.refused)) {
			t.Errorf("%s: %v", step.name, err)
		}
		var got []string
		for _, key := range []string{"", "k1", "k2", "k3"} {
			status, name, _ := ask(through(step.gate), http.MethodGet, "/v1/models", "x-api-key", key)
			switch {
			case status != http.StatusOK:
				name = "nobody"
			case name == "":
				name = "all"
			}
			got = append(got, name)
		}
		if got := strings.Join(got, ","); got != step.want {
			t.Errorf("%s: %s, want %s", step.name, got, step.want)
		}
	}
	// Nothing counts before it is applied, and who didn't change stays the same client.
	before := closed.keys.ring.Load().clients["filed"]
	apply, err := closed.Prepare(section(one))
	if err != nil {
		t.Fatal(err)
	}
	if status, _, _ := ask(through(closed), http.MethodGet, "/v1/models", "x-api-key", "k1"); status != http.StatusUnauthorized {
		t.Errorf("before it is applied: %d", status)
	}
	apply()
	if closed.keys.ring.Load().clients["filed"] != before {
		t.Error("a client that didn't change is another one")
	}
	var s KeySection
	if err := errors.Join(s.Add(one), s.Add(KeyEntry{Name: "other", Key: oneOrMore{"k1"}})); err == nil || !strings.Contains(err.Error(), "other has a key that one has, too") {
		t.Errorf("a key twice: %v", err)
	}
}

// TestReadableKeys warns of a file that others can read.
func TestReadableKeys(t *testing.T) {
	file := servertest.Write(t, t.TempDir(), "keys", []byte("one"))
	for mode, want := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o644: true} {
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, log := newGate(t, Config{APIKeysFile: file}); strings.Contains(log.String(), "all users of this machine") != want {
			t.Errorf("%v: %s", mode, log)
		}
	}
}

// TestOpenPaths need no key; nothing that is written as they are gets by.
func TestOpenPaths(t *testing.T) {
	gate, _ := newGate(t, Config{APIKeys: []Secret{"k"}})
	h := through(gate)
	for _, target := range []string{
		"GET /health/live", "HEAD /health/ready", "GET /v2/health/live", "GET /v2/health/ready", "GET /", "GET /client.tgz", "GET /openapi.json",
		"GET /v2/openapi.json", "GET /assets/index-1.js", "POST /grpc.health.v1.Health/Check", "POST /inference.GRPCInferenceService/ServerReady",
	} {
		method, path, _ := strings.Cut(target, " ")
		if status, body, _ := ask(h, method, path); status != http.StatusOK {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
	for _, target := range []string{
		"GET /v1/models", "GET /metrics", "POST /health/live", "GET //health/live", "GET /health/live/", "GET /health/%6Cive", "GET /assets/../v1/models",
		"GET /assets/%2e%2e/v1/models", "GET /assets//v1/models", "POST /assets/x", "POST /", "DELETE /", "GET /v2", "GET /v2/", "GET /v2/models/m/ready",
		"POST /inference.GRPCInferenceService/ModelReady", "POST /trident.v1.ChatService/Chat", "POST /grpc.health.v1.Health/Watch",
		"POST /grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "GET /nothing",
	} {
		method, path, _ := strings.Cut(target, " ")
		if status, body, _ := ask(h, method, path); status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", target, status, body)
		}
	}
}

// TestDenials have the form of the surface that was asked, and none says the key.
func TestDenials(t *testing.T) {
	gate, _ := newGate(t, Config{APIKeys: []Secret{"k"}})
	h := through(gate)
	for _, test := range []struct {
		path, content string
		status        int
		want          string // of the body, or of the header Grpc-Status
	}{
		{"/v1/chat/completions", "application/json", 401, `{"error":{"message":"this API key is not valid","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`},
		{"/v2/models/m/infer", "application/json", 401, `{"error":"this API key is not valid"}`},
		{"/v2", "", 401, `{"error":"this API key is not valid"}`},
		{"/trident.v1.ChatService/Chat", "application/json", 401, `{"code":"unauthenticated","message":"this API key is not valid"}`},
		{"/trident.v1.ChatService/Chat", "application/proto", 401, `{"code":"unauthenticated","message":"this API key is not valid"}`},
		{"/trident.v1.ChatService/ChatStream", "application/connect+proto", 200, `"code":"unauthenticated"`},
		{"/trident.v1.ChatService/Chat", "application/grpc-web+proto", 200, "16"},
		{"/trident.v1.ChatService/Chat", "text/plain", 401, `"code":"invalid_api_key"`},
	} {
		status, body, header := ask(h, http.MethodPost, test.path, "Content-Type", test.content, "Authorization", "Bearer sk-guess")
		if status != test.status || !strings.Contains(strings.ToLower(body)+header.Get("Grpc-Status"), strings.ToLower(test.want)) || header.Get("Www-Authenticate") != "Bearer" {
			t.Errorf("%s %s: %d %s %v", test.path, test.content, status, body, header)
		}
		if strings.Contains(body+fmt.Sprint(header), "sk-guess") {
			t.Errorf("%s: the answer has the key: %s", test.path, body)
		}
	}
	status, _, header := ask(h, http.MethodPost, "/trident.v1.ChatService/Chat", "Content-Type", "application/grpc")
	if status != 200 || header.Get("Grpc-Status") != "16" && header.Get(http.TrailerPrefix+"Grpc-Status") != "16" {
		t.Errorf("gRPC: %d %v", status, header)
	}
}

// TestLimitedMetrics: figures of all models are for clients of all models.
func TestLimitedMetrics(t *testing.T) {
	file := servertest.Write(t, t.TempDir(), "keys", []byte("- {name: a, key: one}\n- {name: b, key: two, models: [x]}"))
	gate, _ := newGate(t, Config{APIKeysFile: file})
	h := through(gate)
	if status, body, _ := ask(h, http.MethodGet, "/metrics", "x-api-key", "one"); status != 200 {
		t.Errorf("%d %s", status, body)
	}
	if status, body, _ := ask(h, http.MethodGet, "/metrics", "x-api-key", "two"); status != 403 || !strings.Contains(body, `"code":"forbidden"`) {
		t.Errorf("%d %s", status, body)
	}
}

// TestPreflightsNeedNoKey: browsers send none with them.
func TestPreflightsNeedNoKey(t *testing.T) {
	gate, _ := newGate(t, Config{APIKeys: []Secret{"k"}})
	h := crossOrigin([]string{"https://a.example"}, through(gate))
	status, body, header := ask(h, http.MethodOptions, "/v1/chat/completions", "Origin", "https://a.example",
		"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization")
	if status != http.StatusNoContent || header.Get("Access-Control-Allow-Headers") != "authorization" {
		t.Errorf("%d %s %v", status, body, header)
	}
	if status, _, header := ask(h, http.MethodPost, "/v1/chat/completions", "Origin", "https://a.example"); status != 401 || header.Get("Access-Control-Allow-Origin") != "https://a.example" {
		t.Errorf("%d %v: a page must be able to read why", status, header)
	}
}

// TestSecret is printed nowhere.
func TestSecret(t *testing.T) {
	cfg := Default()
	cfg.APIKeys = []Secret{"sk-one"}
	cfg.Restricted = []Restriction{{Groups: []string{"health"}, Header: "a", Value: "sk-two"}}
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("config", "all", cfg, "key", cfg.APIKeys[0], "keys", cfg.APIKeys)
	}
	if printed := fmt.Sprintf("%v %+v %#v %s %q %x", cfg, cfg, cfg, cfg.APIKeys, cfg.APIKeys, cfg.APIKeys[0]) + log.String(); strings.Contains(printed, "sk-") || !strings.Contains(printed, "(hidden)") {
		t.Error(printed)
	}
	if !Secret("a").Equal("a") || Secret("a").Equal("b") || Secret("a").Equal("aa") || Secret("").Equal("a") {
		t.Error("Equal is wrong")
	}
}

// FuzzAuthorization holds that a header lets in who has a key exactly.
func FuzzAuthorization(f *testing.F) {
	for _, seed := range []string{"Bearer secret", "bearer\tsecret", "Bearer secret ", "Bearersecret", "Bearer secret, Bearer x", "Basic secret", "Bearer \x00secret", "secret"} {
		f.Add(seed, "")
		f.Add("", strings.TrimPrefix(seed, "Bearer "))
	}
	gate, _ := newGate(f, Config{APIKeys: []Secret{"secret"}})
	f.Fuzz(func(t *testing.T, authorization, key string) {
		r := httptest.NewRequest(http.MethodGet, "/v1/models", http.NoBody)
		r.Header = http.Header{"Authorization": {authorization}, "X-Api-Key": {key}}
		w := httptest.NewRecorder()
		through(gate).ServeHTTP(w, r)
		if bearer, ok := strings.CutPrefix(authorization, "Bearer "); ok && strings.TrimSpace(bearer) == "secret" && w.Code != http.StatusOK {
			t.Errorf("%q: %d %s", authorization, w.Code, w.Body)
		}
		has := func(text string) bool {
			return slices.Contains(strings.Fields(text), "secret") || strings.TrimSpace(text) == "secret"
		}
		if w.Code == http.StatusOK && !has(authorization) && !has(key) || w.Code != http.StatusOK && strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%q, %q: %d %s", authorization, key, w.Code, w.Body)
		}
	})
}

// BenchmarkGate asks what keys cost a request: nothing without any, and with many as much
// as with one. Compare ns/op of "keys" with "none".
func BenchmarkGate(b *testing.B) {
	var many bytes.Buffer
	for i := range 10_000 {
		fmt.Fprintf(&many, "sk-trident-%026d\n", i)
	}
	file := servertest.Write(b, b.TempDir(), "keys", many.Bytes())
	for name, cfg := range map[string]Config{
		"none":       {},
		"one key":    {APIKeys: []Secret{"sk-trident-00000000000000000000000042"}},
		"10000 keys": {APIKeysFile: file},
		"restricted": {Restricted: []Restriction{{Groups: []string{"inference"}, Header: "x-api-key", Value: "sk-trident-00000000000000000000000042"}}},
	} {
		b.Run(name, func(b *testing.B) {
			gate, _ := newGate(b, cfg)
			h := gate.handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", http.NoBody)
			r.Header.Set("Authorization", "Bearer sk-trident-00000000000000000000000042")
			r.Header.Set("X-Api-Key", "sk-trident-00000000000000000000000042")
			w := httptest.NewRecorder()
			b.ReportAllocs()
			for b.Loop() {
				h.ServeHTTP(w, r)
			}
			if w.Code != http.StatusOK {
				body, _ := io.ReadAll(w.Body)
				b.Fatal(w.Code, string(body))
			}
		})
	}
}
