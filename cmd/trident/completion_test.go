package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// completions are lines up to the cursor, and the complete offers of the shells.
var completions = []struct{ line, want string }{
	{"trident ", "serve models template key config endpoint health completion version help"},
	{"trident con", "config"},
	{"trident config ", "check print schema"},
	{"trident config s", "schema"},
	{"trident config check sett", "settings.yaml"},
	{"trident config --giv", ""},
	{"trident config print --giv", "--given"},
	{"trident --host x config print --giv", "--given"},
	{"trident -t http://localhost:8001 -p 9001 con", "config"},
	{"trident --host=x con", "config"},
	{"trident --enable-kserve-frontends config p", "print"},
	{"trident --enable-kserve-frontends=true config p", "print"},
	{"trident key ", "new hash"},
	{"trident endpoint ", "list drain resume"},
	{"trident endpoint drain --fo", "--force"},
	{"trident health ", "live ready startup"},
	{"trident health live l", ""},
	{"trident health live --addr", "--address"},
	{"trident completion z", "zsh"},
	{"trident --model-contr", "--model-control-mode"},
	{"trident serve --model-contr", "--model-control-mode"},
	{"trident --model-control-mode ", "none explicit"},
	{"trident --model-control-mode e", "explicit"},
	{"trident --model-control-mode=n", "none"},
	{"trident --host ", ""},
	{"trident --enable-kserve-fro", "--enable-kserve-frontends"},
	{"trident --enable-kserve-frontends=t", "true"},
	{"trident --no-playg", "--no-playground"},
	{"trident --load-model x --load-m", "--load-model"}, // offered again, because it is repeatable
	{"trident --config sett", "settings.yaml"},
	{"trident --tls-cert=sett", "settings.yaml"},
}

// TestCompletion checks which words the completion scripts of trident offer in bash, zsh and fish.
// It runs the real shells.
func TestCompletion(t *testing.T) {
	t.Parallel()
	parser, err := newParser(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	for shell, ask := range map[string]func(t *testing.T, script string) [][]string{"bash": askBash, "zsh": askZsh, "fish": askFish} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(shell); err != nil {
				t.Skip(err)
			}
			got := ask(t, completion(shell, parser.Model))
			if len(got) != len(completions) {
				t.Fatalf("%d answers: %q", len(got), got)
			}
			for i, test := range completions {
				want := strings.Fields(test.want)
				if shell == "fish" && strings.HasSuffix(test.line, "=t") {
					want = nil // the completion offers no values for switches
				}
				slices.Sort(want)
				slices.Sort(got[i])
				if !slices.Equal(got[i], want) {
					t.Errorf("%s: %q, want %q", test.line, got[i], want)
				}
			}
		})
	}
}

// shellIn runs a shell in a temporary folder with a file settings.yaml.
func shellIn(t *testing.T, dir string, command ...string) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "settings.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "ZDOTDIR="+dir, "XDG_CONFIG_HOME="+dir, "HITS="+filepath.Join(dir, "hits"), "TERM=dumb")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// bashWord matches a word in bash, which splits words at = and : too. The last word may be
// empty.
var bashWord = regexp.MustCompile(`[^\s=:]+|[=:]|\s$`)

func askBash(t *testing.T, script string) [][]string {
	t.Helper()
	var b strings.Builder
	b.WriteString(script)
	for _, test := range completions {
		b.WriteString("COMP_WORDS=(")
		for _, word := range bashWord.FindAllString(test.line, -1) {
			fmt.Fprintf(&b, "%q ", strings.TrimSpace(word))
		}
		b.WriteString(")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_trident\necho \"${COMPREPLY[*]}\"\n")
	}
	var got [][]string
	for line := range strings.Lines(shellIn(t, t.TempDir(), "bash", "-c", b.String())) {
		got = append(got, strings.Fields(line))
	}
	return got
}

// askZsh runs zsh in a terminal, because zsh completes nothing without one. zsh creates the
// terminal.
func askZsh(t *testing.T, script string) [][]string {
	t.Helper()
	driver, err := filepath.Abs("testdata/completion.zsh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "_trident"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	command := []string{"zsh", "-f", driver}
	for _, test := range completions {
		command = append(command, test.line)
	}
	if out := shellIn(t, dir, command...); out != "" {
		t.Error(out)
	}
	hits, err := os.ReadFile(filepath.Join(dir, "hits"))
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for part := range strings.SplitAfterSeq(string(hits), "END\n") {
		var words []string
		for line := range strings.SplitSeq(part, "\n") {
			if word, ok := strings.CutPrefix(line, "HIT "); ok {
				words = append(words, word)
			}
		}
		got = append(got, words)
	}
	return got[1 : len(got)-1] // the first end marker is the start's, and nothing follows the last one
}

func askFish(t *testing.T, script string) [][]string {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	for _, test := range completions {
		fmt.Fprintf(&b, "complete -C '%s'\necho END\n", test.line)
	}
	for name, text := range map[string]string{"trident.fish": script, "ask.fish": b.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got [][]string
	for part := range strings.SplitSeq(strings.TrimSuffix(shellIn(t, dir, "fish", "--no-config", "-c", "source trident.fish; source ask.fish"), "END\n"), "END\n") {
		var words []string
		for line := range strings.Lines(part) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			words = append(words, word[strings.Index(word, "=")+1:])
		}
		got = append(got, words)
	}
	return got
}
