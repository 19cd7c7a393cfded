package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/trident-inference/trident/test/docs/blocks"
)

// docBlocks returns the code blocks of the documentation.
func docBlocks(t *testing.T) []blocks.Block {
	t.Helper()
	all, err := blocks.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSettingsOfPages checks the settings files and keys files of the documentation as `trident config check` does.
func TestSettingsOfPages(t *testing.T) {
	check := func(t *testing.T, tool, code string) error {
		t.Helper()
		if tool == blocks.Keys { // a keys file is a list, as is the section keys
			code = "keys:\n" + code
		}
		file := filepath.Join(t.TempDir(), "trident.yaml")
		if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		cli, _, err := read([]string{"config", "check", file})
		if err != nil {
			return err
		}
		return cli.Settings.Check.check(&cli.flags, io.Discard)
	}
	all, found := docBlocks(t), 0
	for _, tool := range []string{blocks.Settings, blocks.Keys} {
		for _, b := range blocks.ReadBy(all, tool) {
			found++
			if err := check(t, tool, b.Code); err != nil {
				t.Errorf("%s: %v", b, err)
			}
		}
	}
	if found < 4 {
		t.Errorf("%d blocks, want 4 at least", found)
	}
	for tool, code := range map[string]string{blocks.Settings: "openai-prt: 1\n", blocks.Keys: "- {name: a, kez: b}\n"} {
		if check(t, tool, code) == nil {
			t.Errorf("%s: %q is accepted", tool, code)
		}
	}
}

// TestCommandsOfPages parses the commands of Trident in the shell code of the documentation: each command and flag must
// exist. Values aren't checked, because some stand for those of the reader.
func TestCommandsOfPages(t *testing.T) {
	found := 0
	for _, b := range docBlocks(t) {
		if b.Lang != "sh" && b.Lang != "bash" {
			continue
		}
		for _, args := range tridentCommands(b.Code) {
			found++
			if err := parsesFlags(args); err != nil {
				t.Errorf("%s: trident %s: %v", b, strings.Join(args, " "), err)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d commands, want 20 at least: does the pattern still match?", found)
	}
}

// TestTridentCommands checks which commands the pages' test sees, and which it refuses.
func TestTridentCommands(t *testing.T) {
	const code = "# trident --no\nA=1 bin/trident --model-repository DIR \\\n  --openai-port 9000 &\necho '[]' | trident template --model llm > x\n" +
		"if trident health ready; then curl a; fi\nsudo /usr/local/bin/trident --strict 2>&1 | tee log\ntrident-remote --no\n(cd a && trident models)\n"
	want := []string{"--model-repository DIR --openai-port 9000", "template --model llm", "health ready", "--strict", "models"}
	var got []string
	for _, args := range tridentCommands(code) {
		got = append(got, strings.Join(args, " "))
		if err := parsesFlags(args); err != nil {
			t.Errorf("%v: %v", args, err)
		}
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, args := range []string{"--no-such-flag", "models --no-such-flag", "health now then", "fly"} {
		if parsesFlags(strings.Fields(args)) == nil {
			t.Errorf("trident %s is accepted", args)
		}
	}
}

var (
	continued = regexp.MustCompile(`\\\n\s*`)
	comment   = regexp.MustCompile(`(?m)(^|\s)#.*$`)
	// invocation matches a call of Trident after the begin of a command. The last group is the rest of another word.
	invocation = regexp.MustCompile(`(?m)(?:^|[|;&(]|\b(?:if|then|do|exec|sudo|nohup|until|while)\b)\s*(?:[A-Z0-9_]+=\S* +)*(?:\S*/)?trident((?:[ \t]+(?:'[^']*'|"[^"]*"|[^\s'"|;&()<>]+)+)*)([^\s;&|()<>]?)`)
	// word matches a word of a command.
	word = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"]+)+`)
)

// tridentCommands returns the arguments of the calls of Trident in shell code.
func tridentCommands(code string) [][]string {
	code = comment.ReplaceAllString(continued.ReplaceAllString(code, " "), "")
	var all [][]string
	for _, call := range invocation.FindAllStringSubmatch(code, -1) {
		if call[2] != "" { // the begin of another word, such as trident-remote
			continue
		}
		var args []string
		for _, w := range word.FindAllString(call[1], -1) {
			args = append(args, strings.NewReplacer("'", "", `"`, "").Replace(w))
		}
		if n := len(args); n > 0 && args[n-1] == "2" { // of a redirection of standard error
			args = args[:n-1]
		}
		all = append(all, args)
	}
	return all
}

// parsesFlags returns an error if a command, a flag or the number of arguments doesn't exist. Errors of values are
// ignored.
func parsesFlags(args []string) error {
	parser, err := newParser(&commandLine{})
	if err != nil {
		return err
	}
	kctx, err := kong.Trace(parser, args)
	if err != nil {
		return err
	}
	if kctx.Error == nil {
		return nil
	}
	for _, unknown := range []string{"unknown flag", "unexpected argument", "expected one of", "missing flags"} {
		if strings.Contains(kctx.Error.Error(), unknown) {
			return kctx.Error
		}
	}
	return nil
}
