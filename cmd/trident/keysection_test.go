package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/auth"
	"github.com/trident-inference/trident/services/inference/inferencetest"
)

// wholeKeys has each key of an entry, a hash, a list, and leftovers in comments. Every
// secret contains SECRET or is the hash.
const wholeKeys = `
keys:                     # SECRET-0
  # - key: SECRET-1
  - name: team-a
    key: &anchored SECRET-2 # SECRET-3
    models: [chat, "4"]
    limits: {in_flight: 8, queued: 32, rate: 0.5, burst: 20}
    expires: 2099-06-30
  - {name: team-b, key: [sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b, SECRET-4]}
  - key:
      - SECRET-5
models:
  m:
    # key: SECRET-6
    hidden: true
# keys: [{key: SECRET-7}]
`

func TestKeysOfTheFile(t *testing.T) {
	engine := textModels()
	engine.AddModel("chat", inferencetest.StreamText("hi"), map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	path := settingsOf(t, "host: 127.0.0.1\nopenai-port: 0\nshutdown-timeout: 5s\n"+wholeKeys)
	url, log := runWith(t, path, engine)
	status := func(key string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/models", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+key)
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	want := func(when string, codes map[string]int) {
		t.Helper()
		for key, code := range codes {
			if got := status(key); got != code {
				t.Errorf("%s: %d with the key %s", when, got, key)
			}
		}
	}
	want("at start", map[string]int{"": 401, "SECRET-2": 200, "SECRET-4": 200, "SECRET-5": 200, "SECRET-1": 401})

	rest := "host: 127.0.0.1\nopenai-port: 0\nshutdown-timeout: 5s\n"
	write(t, path, rest+"keys: [{name: team-a, key: SECRET-8}]\n")
	log.Await(t, taken, 1)
	want("after a change", map[string]int{"SECRET-2": 401, "SECRET-5": 401, "SECRET-8": 200})
	for i, bad := range []string{"keys: [{name: team-a, key: SECRET 9}]\n", "keys: []\n", ""} {
		write(t, path, rest+bad)
		log.Await(t, refused, i+1)
		want("after a file that can't be used", map[string]int{"": 401, "SECRET-8": 200})
	}
	if !strings.Contains(log.String(), "keys: refusing to reload: no API keys remain") {
		t.Errorf("the log has no reason why the last keys stay:\n%s", log)
	}
	if strings.Contains(log.String(), "SECRET") {
		t.Errorf("secrets in\n%s", log)
	}
}

// TestBadKeysOfTheFile checks that an error about an API key in the settings file has the line
// number and doesn't quote the key.
func TestBadKeysOfTheFile(t *testing.T) {
	app := readLine(t).app
	for text, want := range map[string]string{
		"keys: SECRET":                ":1: keys: must be a list of clients",
		"keys: []":                    ":1: keys: must be a list of clients",
		"keys:":                       ":1: keys: must be a list of clients",
		"keys: {SECRET: 1}":           ":1: keys: must be a list of clients",
		"keys:\n  - SECRET":           ":2: keys: entry 1: must be a mapping with the keys name, key, models, expires, limits",
		"keys:\n  - SECRET: 1":        ":2: keys: entry 1: unknown key: the keys are name, key",
		"keys:\n  - name: a":          ":2: keys: entry 1: the field key is missing",
		"keys:\n  - key:":             ":2: keys: entry 1: key: must be a string or a list of strings",
		"keys:\n  - key: {SECRET: 1}": ":2: keys: entry 1: key: must be a string or a list of strings",
		"keys:\n  - key: SECRET\n    key: SECRET":                          `:3: keys: entry 1: duplicate key "key"`,
		"keys:\n  - {key: SECRET, models: SECRET}":                         ":2: keys: entry 1: models: must be a list of strings",
		"keys:\n  - {key: SECRET, models: }":                               ":2: keys: entry 1: models: must be a list of strings",
		"keys:\n  - {key: SECRET, expires: SECRET}":                        ":2: keys: entry 1: expires: must be a date such as",
		"keys:\n  - key: SECRET\n    limits:\n      rate: SECRET":          ":4: keys: entry 1: limits: rate: must be a number",
		"keys:\n  - key: SECRET\n    limits:\n      rates: 1":              ":4: keys: entry 1: limits: unknown key: the keys are in_flight, queued, rate, burst",
		"keys:\n  - {key: SECRET, limits: 1}":                              ":2: keys: entry 1: limits: must be a mapping with the keys in_flight",
		"keys:\n  - {key: SECRET, limits: {in_flight: 1.5}}":               ":2: keys: entry 1: limits: in_flight: must be a whole number",
		"keys:\n  - {key: SECRET, limits: {rate: -1}}":                     ":2: keys: entry 1: the client's limits must be finite numbers of 0 or more",
		"keys:\n  - key: SECRET with spaces":                               ":2: keys: entry 1: a key must have",
		"keys:\n  - key: sha256:SECRET":                                    ":2: keys: entry 1: sha256: must be followed by",
		"keys:\n  - {name: a, key: SECRET}\n  - {name: b, key: SECRET}":    ":3: keys: entry 2: the clients b and a have the same key",
		"keys:\n  - {name: a, key: SECRET-1}\n  - {name: a, key: SECRET2}": `:3: keys: entry 2: two entries have the name "a"`,
		"keys:\n  - key: '***'":                                            ":2: keys: entry 1: *** is only the placeholder of a key",
		"keys:\n  - key: *SECRET":                                          "put a string with the prefix * in quotes",
		"keys:\n  - <<: {key: SECRET}":                                     ":2: keys: entry 1: unknown key",
	} {
		_, err := readSettings(settingsOf(t, text), app)
		if err == nil || !strings.Contains(message(err), want) || strings.Contains(message(err), "SECRET") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestKeysArePrivate checks that no command prints a key, a hash or a comment, and that
// the output can't be read as keys.
func TestKeysArePrivate(t *testing.T) {
	path := settingsOf(t, wholeKeys)
	f := readLine(t, "--config="+path)
	for _, given := range []bool{false, true} {
		var out strings.Builder
		if err := (configPrint{Given: given}).show(f, &out); err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"SECRET", "sha256", "2bb80d53", "anchored"} {
			if strings.Contains(out.String(), secret) {
				t.Errorf("%s in\n%s", secret, &out)
			}
		}
		for _, want := range []string{
			"# " + path + "\nkeys:\n", "name: team-a\n", "key: '***'\n", `models: [chat, "4"]`, "rate: 0.5", "expires: 2099-06-30\n", "key: ['***', '***']", "- '***'\n", "    hidden: true\n",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("no %q in\n%s", want, &out)
			}
		}
		if _, _, err := read([]string{"--config=" + settingsOf(t, out.String())}); err == nil || !strings.Contains(message(err), auth.HiddenKey+" is only the placeholder of a key") {
			t.Errorf("printed settings are accepted as keys: %v", err)
		}
	}
	var out strings.Builder
	if err := (configCheck{}).check(f, &out); err != nil || strings.Contains(out.String(), "SECRET") {
		t.Errorf("%v, %s", err, &out)
	}
}
