package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMistakes checks that each mistake gets the command line that was probably meant, on one line.
func TestMistakes(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "repo", "chat")
	if err := os.MkdirAll(model, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(model, "config.pbtxt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	for line, want := range map[string]string{
		"repo":                          "the argument repo is unknown: did you mean trident --model-repository=repo?",
		"repo/chat":                     "the argument repo/chat is unknown: did you mean trident --model-repository=repo?",
		"./nowhere":                     "the argument ./nowhere is unknown: did you mean trident --model-repository=./nowhere?",
		"s3://bucket/repo":              "the argument s3://bucket/repo is unknown: did you mean trident --model-repository=s3://bucket/repo?",
		"serve repo":                    "the argument repo is unknown: did you mean trident --model-repository=repo?",
		"serve ./repo --port=1":         "the argument ./repo is unknown: did you mean trident --model-repository=./repo --port=1?",
		"run repo":                      "the command run is unknown: did you mean trident --model-repository=repo?",
		"run llama3":                    "the command run is unknown: did you mean trident --model-repository=DIR?",
		"run":                           "the command run is unknown: did you mean trident --model-repository=DIR or trident --triton-endpoint=HOST:PORT?",
		"start --model-repository=repo": "the command start is unknown: did you mean trident --model-repository=repo?",
		"start localhost:8001":          "the command start is unknown: did you mean trident --triton-endpoint=localhost:8001?",
		"triton:8001 -p 1":              "the argument triton:8001 is unknown: did you mean trident --triton-endpoint=triton:8001 -p 1?",
		"http://triton:8001":            "the argument http://triton:8001 is unknown: did you mean trident --triton-endpoint=http://triton:8001?",
		"--model-store":                 "--model-repository: the value is missing: write --model-repository=DIR",
		"--openai-port":                 "--openai-port: the value is missing: write --openai-port=VALUE",
		"confg check":                   "the command confg is unknown: did you mean trident config?",
		"config chek":                   "the command chek is unknown: did you mean trident config check?",
		"frobnicate":                    "the command frobnicate is unknown (see trident --help)",
		"config schema more":            "the argument more is unexpected (see trident --help)",
		"--model-dir=repo":              "unknown flag --model-dir: did you mean --model-repository=DIR?",
		"--http-port=8000":              "unknown flag --http-port: did you mean --kserve-http-port=PORT with --enable-kserve-frontends?",
		"--strict-model-config=true":    "unknown flag --strict-model-config: did you mean --disable-auto-complete-config?",
		"--log-file=x":                  "unknown flag --log-file: a flag of tritonserver: the log goes to standard error: redirect it by 2>>FILE",
		"--http-thread-count=4":         "unknown flag --http-thread-count: leave out this flag of tritonserver: Trident has no such pool",
		"--openai-prt=1":                `unknown flag --openai-prt, did you mean "--openai-port"? (see trident --help)`,
		"--verbose":                     "unknown flag --verbose: did you mean --log-level=debug?",
		"run --name=a\u00a0b repo":      "the command run is unknown: did you mean trident --model-repository=DIR or trident --triton-endpoint=HOST:PORT?",
	} {
		_, _, err := read(strings.Split(line, " "))
		if err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", line, err, want)
		}
	}
}

// TestNothingToServe checks that trident without any setting prints both ways to start if no tritonserver
// listens on the default address, and that any setting makes it start.
func TestNothingToServe(t *testing.T) {
	if connection, err := net.Dial("tcp", tritonEndpoint); err == nil {
		_ = connection.Close()
		t.Skip("a tritonserver listens on " + tritonEndpoint)
	}
	for _, name := range os.Environ() { // the test run has variables such as TRIDENT_TEST_SLOW
		if name, value, _ := strings.Cut(name, "="); strings.HasPrefix(name, "TRIDENT_") {
			t.Setenv(name, value)
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, args := range [][]string{nil, {"serve"}} {
		stdout, stderr, err := asTrident(t, args...)
		lines := strings.Split(strings.TrimSpace(stderr), "\n")
		if err == nil || stdout != "" || len(lines) != 4 || lines[0] != "trident: nothing to serve: no setting is given, and no tritonserver listens on localhost:8001. There are two ways to start:" ||
			!strings.HasPrefix(lines[1], "  trident --model-repository=DIR ") || !strings.HasPrefix(lines[2], "  trident --triton-endpoint=HOST:8001 ") {
			t.Errorf("%q: %v\n%s%s", args, err, stdout, stderr)
		}
	}
	f := readLine(t, "--openai-port=0")
	cfg, err := f.config()
	if err == nil {
		err = f.errNothingToServe(cfg)
	}
	if err != nil {
		t.Errorf("with a setting: %v", err)
	}
}
