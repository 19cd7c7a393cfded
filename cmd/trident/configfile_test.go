package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/trident-inference/trident/services/inference"
)

var update = flag.Bool("update", false, "write the files that the tests compare")

// settingsOf writes a settings file and returns its path.
func settingsOf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "trident.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// readLine reads a command line as main does.
func readLine(t *testing.T, args ...string) *flags {
	t.Helper()
	cli, _, err := read(args)
	if err != nil {
		t.Fatal(err)
	}
	return &cli.flags
}

const wholeFile = `
openai-port: 1234          # an int
strict: true
inactivity-timeout: 5s
log-level: debug
triton-endpoint: "https://triton:9"
cors-origin: https://a.example
image-max-bytes: 7
tokenizer: [org/a, chat=/weights]
http-restricted-api:
  - health,logging:Key=1
  - trace:other=2,3
models:
  llm:
    aliases: [gpt-4o, "4"]
    hidden: true
    tool-call-parser: none
    context-length: 4096
    default-max-tokens: 64
    loras: {{LORAS}}
    chat-template: |
      {% for m in messages %}{{ m.content }}{% endfor %}
  a/b:
    task: embed
    vision: false
`

func TestConfigFile(t *testing.T) {
	path := settingsOf(t, strings.Replace(wholeFile, "{{LORAS}}", "[doll=1, sql=/loras/sql]", 1))
	f := readLine(t, "--config", path, "--host=::1")
	cfg, err := f.config()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Server.Port != 1234 || !cfg.OpenAI.Strict || cfg.Triton.Inactivity != 5*time.Second || f.LogLevel != logLevel(slog.LevelDebug) || cfg.Triton.Endpoint != "https://triton:9" ||
		!slices.Equal(cfg.Server.CORSOrigins, []string{"https://a.example"}) || cfg.Images.MaxBytes != 7 || cfg.Server.Host != "::1" {
		t.Errorf("got %+v", cfg)
	}
	if r := cfg.Auth.HTTPRestricted; len(r) != 2 || r[1].Value != "2,3" {
		t.Errorf("restrictions %+v", r)
	}
	want := []string{
		"llm|aliases|gpt-4o,4|:15", "llm|hidden|true|:16", "llm|tool_call_parser|none|:17", "llm|context_length|4096|:18", "llm|default_max_tokens|64|:19",
		"llm|loras|doll=1,sql=/loras/sql|:20", "llm|chat_template|{% for m in messages %}{{ m.content }}{% endfor %}\n|:21", "a/b|task|embed|:24", "a/b|vision|false|:25",
		"|tokenizer|org/a|--tokenizer", "chat|tokenizer|/weights|--tokenizer",
	}
	var got []string
	for _, o := range cfg.Overrides {
		got = append(got, strings.Join([]string{o.Model, o.Name, o.Value, strings.TrimPrefix(o.Origin, path)}, "|"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestPrecedence checks that a flag overrides the environment, the environment the
// file, and the file the default. Lists are overridden too and not joined.
func TestPrecedence(t *testing.T) {
	path := settingsOf(t, "openai-port: 1\nhost: file\nmax-in-flight: 3\nmodel-repository: [a, b]\nload-model: [x]\nmodel-control-mode: explicit\nimage-max-count: 5\n")
	t.Setenv("TRIDENT_CONFIG", path)
	t.Setenv("TRIDENT_HOST", "environment")
	t.Setenv("TRIDENT_MAX_IN_FLIGHT", "4")
	t.Setenv("TRIDENT_LOAD_MODEL", "y")
	t.Setenv("OPENAI_TRTLLM_PORT", "2")
	f := readLine(t, "--host=flag", "--load-model=z")
	if f.Host != "flag" || f.OpenAIPort != 2 || f.MaxInFlight != 4 || !slices.Equal(f.ModelRepository, []string{"a", "b"}) || !slices.Equal(f.LoadModel, []string{"z"}) || f.ImageMaxCount != 5 {
		t.Errorf("got %+v", f)
	}
	origins := map[string]string{}
	for _, s := range f.settings {
		origins[s.flag.Name] = strings.TrimPrefix(s.origin, path)
	}
	for name, want := range map[string]string{
		"host": "flag", "openai-port": "OPENAI_TRTLLM_PORT", "max-in-flight": "TRIDENT_MAX_IN_FLIGHT", "model-repository": ":4", "load-model": "flag",
		"strict": "default", "config": "TRIDENT_CONFIG", "image-max-count": ":7",
	} {
		if origins[name] != want {
			t.Errorf("%s comes from %q, not %q", name, origins[name], want)
		}
	}
}

func TestBadFiles(t *testing.T) {
	app := readLine(t).app
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"a slip", "openai-prt: 1", []string{":1: unknown key openai-prt: did you mean openai-port?"}},
		{"another case", "host: a\nOpenai_Port: 1", []string{":2: unknown key Openai_Port: did you mean openai-port?"}},
		{"another spelling", "port: 1", []string{":1: unknown key port: did you mean openai-port?"}},
		{"far off", "zebra: 1", []string{":1: unknown key zebra\n"}},
		{"a slip in a section's name", "model:\n  a: {}", []string{":1: unknown key model: did you mean models?"}},
		{"twice", "host: a\nstrict: true\nhost: b", []string{":3: duplicate key host: line 1 already has it"}},
		{"a text for a number", "openai-port: \"1\"", []string{":1: openai-port: must be a whole number"}},
		{"a number for a text", "host: 1", []string{`:1: host: must be a string: write "1" with quotes`}},
		{"a number for a time", "request-timeout: 30", []string{":1: request-timeout: must be a duration such as 30s or 5m"}},
		{"no size", "http-max-input-size: 4 gigs", []string{":1: http-max-input-size: ", `"4 gigs" isn't a size`}},
		{"a list for a size", "memory-limit: [1]", []string{":1: memory-limit: must be a size such as 4GiB or a number of bytes\n"}},
		{"no number of seconds", "exit-timeout-secs: soon", []string{":1: exit-timeout-secs: ", `must be a time such as 5s, or a number of seconds, not "soon"`}},
		{"no time", "request-timeout: soon", []string{":1: request-timeout: ", `"soon"`}},
		{"a text for yes", "strict: yes please", []string{":1: strict: must be true or false"}},
		{"nothing", "host:", []string{":1: host: must be a string\n"}},
		{"a list for one", "host: [a]", []string{":1: host: must be a string\n"}},
		{"a mapping in a list", "load-model:\n  - a\n  - {b: c}", []string{":2: load-model: must be a string\n"}},
		{"none of the values", "\nrate-limit: always", []string{":2: rate-limit: ", "off", "execution_count"}},
		{"not of the type's form", "backend-config: [python]", []string{":1: backend-config: must be BACKEND,KEY=VALUE"}},
		{"the file itself", "config: other.yaml", []string{":1: unknown key config"}},
		{"no mapping", "- host", []string{":1: the file must be a mapping of keys to values"}},
		{"no YAML", "host: [", []string{"trident.yaml: ", "line"}},
		{"two documents", "host: a\n---\nhost: b", []string{"more than one YAML document"}},
		{"a merge", "a: &a {host: b}\n<<: *a", []string{":2: keys of the settings file must be strings"}},
		{"all at once", "hst: a\nopenai-port: x", []string{":1: unknown key hst: did you mean host?\n", ":2: openai-port: "}},
		{"models as a list", "models: [a]", []string{":1: models must be a mapping of keys to values"}},
		{"a model without keys", "models:\n  a: b", []string{":2: a must be a mapping of keys to values"}},
		{"a slip in a model", "models:\n  a:\n    aliasses: [b]", []string{":3: models: a: unknown key aliasses: did you mean aliases?"}},
		{"a model twice", "models:\n  a: {}\n  a: {}", []string{":3: duplicate key a: line 2 already has it"}},
		{"an unknown parser", "models: {a: {tool-call-parser: x}}", []string{`:1: models: a: tool-call-parser: unknown tool-call parser "x"`}},
		{"no template", "models: {a: {chat-template: /no/such}}", []string{":1: models: a: chat-template: stat /no/such"}},
		{"a broken template", "models:\n  a:\n    chat-template: '{% for %}'", []string{":3: models: a: chat-template: template"}},
		{"a broken history template", "models: {a: {history-template: '{% for %}'}}", []string{":1: models: a: history-template: "}},
		{"both history templates", "models: {a: {history-template: x, history-template-file: /no/such}}", []string{"history-template and history-template-file are both set: keep one"}},
		{"no number", "models: {a: {context-length: 0}}", []string{":1: models: a: context-length: 0 is not a positive number"}},
		{"an unknown backend", "models: {a: {backend: nim}}", []string{`:1: models: a: backend: "nim" is not one of`}},
		{"an unknown task", "models: {a: {task: x}}", []string{`:1: models: a: task: must be one of generate, embed, token_embed, sparse, score, classify, not "x"`}},
		{"names in one", "models: {a: {aliases: 'b,c'}}", []string{`aliases: "b,c" contains a comma: write a list`}},
		{"no names", "models: {a: {aliases: []}}", []string{"aliases: must not be empty"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := readSettings(settingsOf(t, test.text), app)
			if err == nil {
				t.Fatal("the file was accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(message(err)+"\n", want) {
					t.Errorf("no %q in\n%s", want, message(err))
				}
			}
		})
	}
	if _, _, err := read([]string{"--config=/no/such"}); err == nil || !strings.Contains(err.Error(), "--config: open /no/such") {
		t.Errorf("no file: %v", err)
	}
	if f := readLine(t, "--config="+settingsOf(t, "# nothing\n")); f.OpenAIPort != 9000 {
		t.Errorf("an empty file: %+v", f)
	}
}

// TestErrorsNameOrigins checks that an error about an invalid setting names where the value is set:
// the flag, the variable or the file.
func TestErrorsNameOrigins(t *testing.T) {
	path := settingsOf(t, "\nopenai-port: 70000\n")
	t.Setenv("TRIDENT_MAX_IN_FLIGHT", "-1")
	_, err := readLine(t, "--config="+path, "--image-max-count=-1").config()
	if err == nil || !strings.Contains(err.Error(), "--openai-port: 70000 is not a port") || !strings.HasSuffix(err.Error(), "("+path+":2, TRIDENT_MAX_IN_FLIGHT)") &&
		!strings.HasSuffix(err.Error(), "(TRIDENT_MAX_IN_FLIGHT, "+path+":2)") {
		t.Errorf("got %v", err)
	}
}

func TestConfigCheck(t *testing.T) {
	good, bad := settingsOf(t, "host: a\n"), settingsOf(t, "openai-port: 70000\n")
	for _, variable := range os.Environ() { // the test run has variables such as TRIDENT_TEST_SLOW
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "TRIDENT_") {
			t.Setenv(name, value) // restores the variable after the test
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("TRIDENT_OPENAI_PROT", "1")
	t.Setenv("TRIDENT_SERVICE_HOST", "10.0.0.1") // Kubernetes sets such variables
	t.Setenv("TRIDENT_PORT_9000_TCP_ADDR", "10.0.0.1")
	var out strings.Builder
	if err := (configCheck{File: good}).check(readLine(t, "--strict"), &out); err != nil {
		t.Fatal(err)
	}
	if want := "warning: the unknown environment variable TRIDENT_OPENAI_PROT is ignored: did you mean TRIDENT_OPENAI_PORT?\n" + good + ": config OK\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	if err := (configCheck{File: bad}).check(readLine(t), io.Discard); err == nil || !strings.Contains(err.Error(), bad+":1") {
		t.Errorf("a bad file: %v", err)
	}
	if err := (configCheck{}).check(readLine(t), io.Discard); err == nil {
		t.Error("config check without a file succeeded")
	}
}

// TestConfigPrint checks that printed settings, read again, are the same.
func TestConfigPrint(t *testing.T) {
	path := settingsOf(t, strings.Replace(wholeFile, "{{LORAS}}", "none", 1))
	t.Setenv("TRIDENT_MAX_IN_FLIGHT", "4")
	args := []string{
		"--config=" + path, "--model-repository=a", "--backend-config=python,a=b", "--cache-config=redis,password=sesame", "--cache-config=local,size=1",
		"--rate-limit=execution_count", "--rate-limit-resource=r:1", "--rate-limit-resource=s:2:3", "--cuda-memory-pool-byte-size=0:11", "--metrics-config=a=b", "--trace-config=rate=15", "--tool-call-parser=m=hermes",
	}
	f := readLine(t, args...)
	var out strings.Builder
	if err := (configPrint{}).show(f, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"openai-port: 1234 # " + path + ":2\n", "max-in-flight: 4 # TRIDENT_MAX_IN_FLIGHT\n", "http-max-input-size: 64MiB # default\n", "http-restricted-api: ['health,logging:Key=***', 'trace:other=***'] # " + path,
		"model-repository: [a] # flag\n", "'redis,password=***'", "# Listener\n", "request-timeout: 30m # default\n", "\nmodels:\n", "    tool-call-parser: none\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if strings.Contains(out.String(), "sesame") || strings.Contains(out.String(), "Key=1") {
		t.Errorf("secrets in\n%s", &out)
	}
	// Printed settings have no secrets, so the secrets are passed again.
	again := readLine(t, "--config="+settingsOf(t, out.String()), "--http-restricted-api=health,logging:Key=1", "--http-restricted-api=trace:other=2,3", "--cache-config=redis,password=sesame", "--cache-config=local,size=1")
	for i, s := range f.settings {
		if other := again.settings[i]; s.flag.Name != "config" && !slices.Equal(s.texts(), other.texts()) {
			t.Errorf("--%s is %[3]q after printing and reading, but was %[2]q", s.flag.Name, s.texts(), other.texts())
		}
	}
	place := func(o inference.Override) inference.Override { o.Origin = ""; return o }
	for i, o := range f.file.overrides {
		if got := again.file.overrides[i]; place(got) != place(o) {
			t.Errorf("%+v was %+v", got, o)
		}
	}
	out.Reset()
	if err := (configPrint{Given: true}).show(readLine(t, "--strict"), &out); err != nil || out.String() != "# Limits\nmax-in-flight: 4 # TRIDENT_MAX_IN_FLIGHT\n\n# Requests\nstrict: true # flag\n" {
		t.Errorf("got %q, %v", &out, err)
	}
}

const schemaFile = "../../docs/reference/config.schema.json"

// TestConfigSchema checks that the committed schema of the settings file matches the flags. With
// -update it writes the schema.
func TestConfigSchema(t *testing.T) {
	text, err := readLine(t).schema()
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(schemaFile, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if committed, err := os.ReadFile(schemaFile); err != nil || !bytes.Equal(committed, text) {
		t.Errorf("docs/reference/config.schema.json differs from the output of trident config schema; update it: go test ./cmd/trident -run TestConfigSchema -update (%v)", err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("config", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := compiler.Compile("config")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("../../examples/trident.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for text, valid := range map[string]bool{
		string(example): true,
		strings.Replace(wholeFile, "{{LORAS}}", "none", 1): true,
		"openai-prt: 1":                         false,
		"openai-port: a":                        false,
		"request-timeout: 30":                   false,
		"request-timeout: 1h30m":                true,
		"http-max-input-size: 64MiB":            true,
		"http-max-input-size: 1000":             true,
		"http-max-input-size: much":             false,
		"exit-timeout-secs: 5":                  true,
		"exit-timeout-secs: 1m":                 true,
		"exit-timeout-secs: soon":               false,
		"rate-limit: always":                    false,
		"models: {a: {aliasses: [b]}}":          false,
		wholeKeys:                               true,
		"keys: [{name: a}]":                     false,
		"keys: []":                              false,
		"keys: [{key: a, limit: {}}]":           false,
		"keys: [{key: a, limits: {rate: x}}]":   false,
		"models: {a: {context-length: 0}}":      false,
		"cors-origin: [a, 1]":                   false,
		"config: a":                             false,
		"cors-origin: ['*']\nload-model: model": true,
	} {
		if err := compiled.Validate(plain(t, text)); (err == nil) != valid {
			t.Errorf("%s\nis valid: %v", text, err)
		}
	}
	// The program also rejects what the schema rejects.
	if f := readLine(t, "--config=../../examples/trident.yaml"); len(f.file.overrides) == 0 {
		t.Error("the example has no section models")
	}
}

// plain converts YAML to JSON's types.
func plain(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// TestModelKeys checks that each model setting in services/inference/setting.go has a key in the
// settings file, and each key a setting.
func TestModelKeys(t *testing.T) {
	settings := map[string]bool{}
	for _, k := range modelKeys() {
		settings[k.setting] = true
		if k.help == "" || strings.Contains(k.name, "_") {
			t.Errorf("the key %q: %q", k.name, k.help)
		}
	}
	source, err := os.ReadFile("../../services/inference/setting.go")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(source)) {
		fields := strings.Fields(line)
		if len(fields) > 2 && strings.HasPrefix(fields[0], "Setting") && fields[1] == "=" {
			if name := strings.Trim(fields[2], `"`); !settings[name] {
				t.Errorf("no key for the setting %s", name)
			}
			delete(settings, strings.Trim(fields[2], `"`))
		}
	}
	if len(settings) > 0 {
		t.Errorf("keys for settings that there aren't: %v", reflect.ValueOf(settings).MapKeys())
	}
}
