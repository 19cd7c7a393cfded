package auth

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server/servertest"
	"github.com/trident-inference/trident/test/logbuffer"
	"github.com/trident-inference/trident/test/pause"
)

// newGate returns a gate for tests, and its log.
func newGate(tb testing.TB, cfg Config) (*Gate, *logbuffer.Buffer) {
	tb.Helper()
	log := &logbuffer.Buffer{}
	gate, err := New(cfg, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		tb.Fatal(err)
	}
	return gate, log
}

// admitted returns the name of the client of a request with the given header lines, or the gate's
// refusal. The name is empty if no key is needed.
func admitted(tb testing.TB, gate *Gate, lines ...string) (string, *inference.Error) {
	tb.Helper()
	header := http.Header{}
	for i := 0; i < len(lines); i += 2 {
		header.Add(lines[i], lines[i+1])
	}
	ctx, err := gate.Admit(tb.Context(), Find("POST /v1/chat/completions"), header.Values)
	if err != nil {
		return "", inference.AsError(err)
	}
	if client := inference.ClientOf(ctx); client != nil {
		return client.Name, nil
	}
	return "", nil
}

// reloadKeys makes the gate read the key file again.
func (g *Gate) reloadKeys() error {
	apply, err := g.Prepare(KeySection{})
	if err == nil {
		apply()
	}
	return err
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
	for _, test := range []struct {
		name, want string // want is the client's name, or the message of the refusal
		header     []string
	}{
		{"none", "an API key is needed", nil},
		{"empty", "an API key is needed", []string{"Authorization", "Bearer "}},
		{"another scheme", "an API key is needed", []string{"Authorization", "Basic of-plain"}},
		{"no scheme", "an API key is needed", []string{"Authorization", "of-plain"}},
		{"wrong", "Incorrect API key provided", []string{"Authorization", "Bearer of-plai"}},
		{"in another case", "Incorrect API key provided", []string{"Authorization", "Bearer OF-PLAIN"}},
		{"a hash", "Incorrect API key provided", []string{"Authorization", "Bearer " + hash}},
		{"too long", "Incorrect API key provided", []string{"Authorization", "Bearer " + strings.Repeat("x", 9000)}},
		{"twice", "an API key is needed", []string{"Authorization", "Bearer of-plain", "Authorization", "Bearer of-plain"}},
		{"expired", "this API key has expired", []string{"Authorization", "Bearer of-old"}},
		{"wrong beside a right one", "Incorrect API key provided", []string{"Authorization", "Bearer x", "Api-Key", "of-plain"}},
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
			name, refused := admitted(t, gate, test.header...)
			if name == test.want {
				return
			}
			if refused == nil || refused.Code != inference.CodeUnauthenticated || refused.Reason != inference.ReasonInvalidKey || !strings.HasPrefix(refused.Message, test.want) {
				t.Errorf("%s, %+v", name, refused)
			}
		})
	}
	client := gate.keys.keyring.Load().clients["plain"]
	if want := (inference.Limits{InFlight: 1, Queued: 2, Rate: 0.5, Burst: 3}); client.Limits != want || !slices.Equal(client.Models, []string{"a", "b"}) {
		t.Errorf("plain is %+v", client)
	}
	if young, two := gate.keys.keyring.Load().clients["young"], gate.keys.keyring.Load().clients["two"]; young.May("a") || !two.May("a") {
		t.Errorf("an empty list must allow no model, a missing list all: %+v, %+v", young, two)
	}
	for _, secret := range []string{"of-plain", "hashed", "by-flag", hash} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log has %q: %s", secret, log)
		}
	}
}

// TestKeyLines checks that Config.APIKeysFile may have one API key per line, with blank lines and
// comments.
func TestKeyLines(t *testing.T) {
	file := servertest.Write(t, t.TempDir(), "keys", []byte("# mine\n  one \n\r\ntwo\r\n"))
	gate, _ := newGate(t, Config{APIKeysFile: file})
	for key, want := range map[string]bool{"one": true, "two": true, "# mine": false, "mine": false} {
		if _, refused := admitted(t, gate, "Authorization", "Bearer "+key); (refused == nil) != want {
			t.Errorf("%s: %v", key, refused)
		}
	}
}

// TestBadKeys tests that an error about an invalid key entry names the place of the entry and never
// shows the key.
func TestBadKeys(t *testing.T) {
	for content, want := range map[string]string{
		"":                             "the API keys file has no keys",
		"# only this\n":                "the API keys file has no keys",
		"- name: a":                    "entry 1: the field key is missing",
		"- key: []":                    "entry 1: the field key is missing",
		"- key: SECRET\n- key: SECRET": "two entries have the name",
		"- {name: a, key: SECRET}\n- {name: b, key: SECRET}":          "entry 2: the clients b and a have the same key",
		"- {name: a, key: SECRET}\n- {name: a, key: SECRET2}":         "entry 2: two entries have the name \"a\"",
		"- {key: SECRET, nick: a}":                                    "see line 1",
		"- key: SECRET\n  models: {SECRET: a}":                        "see line 2",
		"- key: SECRET\n limits: 5":                                   "see line",
		"- key: SECRET\n  limits: {rate: -1}":                         "entry 1: the client's limits",
		"- key: SECRET\n  limits: {tokens_per_minute: 1000000000001}": "entry 1: the client's limits must have at most 1000000000000 tokens_per_minute",
		"- key: SECRET\n  limits: {rate: .inf}":                       "entry 1: the client's limits",
		"- key: SECRET\n  limits: {rate: .nan}":                       "entry 1: the client's limits",
		"- key: SECRET\n  expires: SECRET":                            "and expires (a date)",
		"- key: SECRET with spaces":                                   "entry 1: a key must have",
		"good\nSECRET with spaces":                                    "entry 2: a key must have",
		"SECRETé":                                                     "entry 1: a key must have",
		strings.Repeat("SECRET", 100):                                 "entry 1: a key must have",
		"sha256:SECRET":                                               "entry 1: sha256: must be followed by 64",
		"sha256:" + strings.Repeat("a", 63):                           "entry 1: sha256: must be followed by 64",
		"sha256:" + strings.Repeat("a", 66):                           "entry 1: sha256: must be followed by 64",
		"- {key: SECRET, name: \"a\\nb\"}":                            "entry 1: the client's name",
	} {
		file := servertest.Write(t, t.TempDir(), "keys", []byte(content))
		_, err := New(Config{APIKeysFile: file}, slog.New(slog.DiscardHandler))
		if err == nil || !strings.HasPrefix(err.Error(), "auth.APIKeysFile "+file+": ") || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %v", content, err)
		}
	}
	if _, err := New(Config{APIKeysFile: filepath.Join(t.TempDir(), "none")}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no file: %v", err)
	}
	if _, err := New(Config{APIKeys: []Secret{"a b"}}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "auth.APIKeys: a key must have") || strings.Contains(err.Error(), "a b") {
		t.Errorf("by flag: %v", err)
	}
	if _, err := New(Config{APIKeys: []Secret{HiddenKey}}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "is only the placeholder of a key") {
		t.Errorf("what is printed for a key: %v", err)
	}
}

// TestKeysReload tests that a changed file takes effect within a second and on demand, and
// that an invalid file leaves the keys. An unchanged client keeps its identity, so that
// its requests stay counted together.
func TestKeysReload(t *testing.T) {
	dir := t.TempDir()
	file := servertest.Write(t, dir, "keys", []byte("- {name: a, key: one}\n- {name: b, key: two}"))
	gate, log := newGate(t, Config{APIKeysFile: file})
	admits := func(key string) bool {
		_, refused := admitted(t, gate, "x-api-key", key)
		return refused == nil
	}
	before := gate.keys.keyring.Load().clients
	servertest.Write(t, dir, "keys", []byte("- {name: a, key: [one, three]}\n- {name: b, key: four, models: [x]}"))
	if err := gate.reloadKeys(); err != nil {
		t.Fatal(err)
	}
	if !admits("one") || admits("two") || !admits("three") || !admits("four") {
		t.Error("the new keys don't count")
	}
	if after := gate.keys.keyring.Load().clients; after["a"] != before["a"] || after["b"] == before["b"] {
		t.Error("a is another client, or b the same")
	}
	for _, content := range []string{"", "- key: SECRET and more", "- {key: [five}"} {
		servertest.Write(t, dir, "keys", []byte(content))
		if err := gate.reloadKeys(); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q: %v", content, err)
		}
		if !admits("three") {
			t.Errorf("%q: the keys are gone", content)
		}
	}
	servertest.Write(t, dir, "keys", []byte("five"))
	if !pause.Until(20*time.Second, func() bool { return admits("five") }) {
		t.Fatal("the change isn't seen")
	}
	servertest.Write(t, dir, "keys", []byte("six seven"))
	for end, tick := time.Now().Add(20*time.Second), time.Tick(10*time.Millisecond); !strings.Contains(log.String(), "the previous API keys stay in use"); <-tick {
		if !admits("five") || time.Now().After(end) {
			t.Fatalf("%s", log)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := gate.reloadKeys(); err == nil || !admits("five") {
		t.Errorf("without the file: %v", err)
	}
}

// TestKeyExpires tests that each key expires while the gate is in use, to the second. The
// file is read again whatever the wall clock shows.
func TestKeyExpires(t *testing.T) {
	dir, began := t.TempDir(), time.Now().Truncate(time.Second)
	entry := func(name string, after time.Duration) string {
		return fmt.Sprintf("- {name: %s, key: of-%s, expires: %s}\n", name, name, began.Add(after).Format(time.RFC3339))
	}
	file := servertest.Write(t, dir, "keys", []byte(entry("hour", time.Hour)+entry("day", 24*time.Hour)+"- {name: ever, key: of-ever}\n"))
	gate, _ := newGate(t, Config{APIKeysFile: file})
	var ahead time.Duration
	gate.keys.now = func() time.Time { return began.Add(ahead) }
	let := func(name string) bool {
		t.Helper()
		_, refused := admitted(t, gate, "Authorization", "Bearer of-"+name)
		if refused != nil && (refused.Code != inference.CodeUnauthenticated || refused.Message != "this API key has expired") {
			t.Errorf("%s after %s: %v", name, ahead, refused)
		}
		return refused == nil
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
		{-48 * time.Hour, true, true, true}, // the clock was wrong and is corrected
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
	if !pause.Until(20*time.Second, func() bool { return let("hour") }) {
		t.Fatal("a later time in the file isn't seen")
	}
}

// TestKeySection tests that keys of the settings close an open gate and can change. Keys
// of a file stay in effect beside them. The last keys can't be removed while the gate
// exists.
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
		want    string // the clients that no key, k1, k2 and k3 admit
	}{
		{"open stays open", open, section(), "", "all,all,all,all"},
		{"open is closed", open, section(one, two), "", "nobody,one,two,nobody"},
		{"a key goes", open, section(two), "", "nobody,nobody,two,nobody"},
		{"the last goes", open, section(), "keys: refusing to reload: no API keys remain", "nobody,nobody,two,nobody"},
		{"beside a file", closed, section(two, one), "", "nobody,one,two,filed"},
		{"a name of the file's", closed, section(KeyEntry{Name: "filed", Key: oneOrMore{"k4"}}), `keys: entry 1: two entries have the name "filed"`, "nobody,one,two,filed"},
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
			name, refused := admitted(t, step.gate, "x-api-key", key)
			switch {
			case refused != nil:
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
	// Nothing takes effect before apply, and an unchanged client keeps its identity.
	before := closed.keys.keyring.Load().clients["filed"]
	apply, err := closed.Prepare(section(one))
	if err != nil {
		t.Fatal(err)
	}
	if _, refused := admitted(t, closed, "x-api-key", "k1"); refused == nil {
		t.Error("a key counts before it is applied")
	}
	apply()
	if closed.keys.keyring.Load().clients["filed"] != before {
		t.Error("a client that didn't change is another one")
	}
	var s KeySection
	if err := errors.Join(s.Add(one), s.Add(KeyEntry{Name: "other", Key: oneOrMore{"k1"}})); err == nil || !strings.Contains(err.Error(), "the clients other and one have the same key") {
		t.Errorf("a key twice: %v", err)
	}
}

// TestReadableKeys checks that a warning is logged if other users can read the file of API keys.
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

// TestSecret tests that no way of printing a value of type Secret shows the secret.
func TestSecret(t *testing.T) {
	cfg := Config{APIKeys: []Secret{"sk-one"}, Restricted: []OpenAIRestriction{{Groups: []Group{Health}, Header: "a", Value: "sk-two"}}}
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

// FuzzAuthorization checks that the gate accepts a request only if its header Authorization or
// X-Api-Key has exactly the configured API key.
func FuzzAuthorization(f *testing.F) {
	for _, seed := range []string{"Bearer secret", "bearer\tsecret", "Bearer secret ", "Bearersecret", "Bearer secret, Bearer x", "Basic secret", "Bearer \x00secret", "secret"} {
		f.Add(seed, "")
		f.Add("", strings.TrimPrefix(seed, "Bearer "))
	}
	gate, _ := newGate(f, Config{APIKeys: []Secret{"secret"}})
	f.Fuzz(func(t *testing.T, authorization, key string) {
		_, refused := admitted(t, gate, "Authorization", authorization, "X-Api-Key", key)
		if bearer, ok := strings.CutPrefix(authorization, "Bearer "); ok && strings.TrimSpace(bearer) == "secret" && refused != nil {
			t.Errorf("%q: %v", authorization, refused)
		}
		has := func(text string) bool {
			return slices.Contains(strings.Fields(text), "secret") || strings.TrimSpace(text) == "secret"
		}
		if refused == nil && !has(authorization) && !has(key) || refused != nil && strings.Contains(refused.Error(), "secret") {
			t.Errorf("%q, %q: %v", authorization, key, refused)
		}
	})
}
