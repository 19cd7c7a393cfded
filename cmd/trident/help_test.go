package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// helpOf returns the help that a command line prints.
func helpOf(t *testing.T, args ...string) (string, error) {
	t.Helper()
	parser, err := newParser(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	h, asked := asksForHelp(args)
	if !asked {
		t.Fatalf("%q doesn't ask for help", args)
	}
	var b strings.Builder
	err = h.write(&b, parser.Model)
	return b.String(), err
}

// TestShortHelp checks that the short help fits on a screen, and has examples, the commands, and the
// most important flags with their variables.
func TestShortHelp(t *testing.T) {
	text, err := helpOf(t, "--help")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > 40 {
		t.Errorf("%d lines", len(lines))
	}
	for _, line := range lines {
		if utf8.RuneCountInString(line) > 100 || strings.TrimRight(line, " ") != line {
			t.Errorf("a line of %d columns: %q", len(line), line)
		}
	}
	for _, want := range []string{
		"  trident --model-repository=models ", "  trident --triton-endpoint=localhost:8001 ", "-p, --openai-port=9000 ", "also --port [TRIDENT_OPENAI_PORT]",
		"\n  config ", "\n  help ", "--help=all", "--help=GROUP", "--help=WORD", "trident help COMMAND",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(text, " [TRIDENT_"); n != len(essentials) || n != 12 {
		t.Errorf("%d flags have a variable, of %d", n, len(essentials))
	}
	for _, args := range [][]string{{"-h"}, {"help"}, {"serve", "--help"}, {"help", "serve"}, {"--no-such-flag", "--help"}, {"--config=/no/such", "-h"}} {
		if other, err := helpOf(t, args...); err != nil || other != text {
			t.Errorf("%q: %v\n%s", args, err, other)
		}
	}
}

// TestFullHelp checks that --help=all has each flag with its group and its variables, and --help=GROUP
// those of a group.
func TestFullHelp(t *testing.T) {
	all, err := helpOf(t, "--help=all")
	if err != nil {
		t.Fatal(err)
	}
	parser, err := newParser(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]string{} // the help of each group, which takes longer than all else here
	for _, flag := range parser.Model.Flags {
		if !isSetting(flag) {
			continue
		}
		if !regexp.MustCompile(`\n  (-\w, )?--(\[no-\])?` + flag.Name + `[=,\n]`).MatchString(all) {
			t.Errorf("no --%s", flag.Name)
		}
		if !strings.Contains(all, variableOf(flag.Name)) {
			t.Errorf("no %s", variableOf(flag.Name))
		}
		group, known := groups[flag.Group.Title]
		if !known {
			group, err = helpOf(t, "--help="+groupName(flag.Group.Title))
			groups[flag.Group.Title] = group
		}
		if err != nil || !strings.HasPrefix(group, flag.Group.Title+"\n") || !strings.Contains(all, group) || !strings.Contains(group, "--") || !strings.Contains(group, flag.Name) {
			t.Errorf("%s: %v\n%s", flag.Group.Title, err, group)
		}
	}
	for _, args := range [][]string{{"help", "all"}, {"--help=ALL"}, {"config", "--help=all"}} {
		if other, err := helpOf(t, args...); err != nil || other != all {
			t.Errorf("%q differs: %v", args, err)
		}
	}
	for _, name := range []string{"KServe v2", "kserve", "kserve-v2"} {
		if text, err := helpOf(t, "--help="+name); err != nil || !strings.HasPrefix(text, "KServe v2\n") || strings.Contains(text, "--openai-port=") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// TestHelpSearch checks that --help=WORD finds flags by name, variable and help, and commands.
func TestHelpSearch(t *testing.T) {
	for _, test := range []struct {
		args []string
		want []string
		not  string
	}{
		{[]string{"--help=port"}, []string{"-p, --openai-port=9000, --port\n", "[TRIDENT_OPENAI_PORT, OPENAI_TRTLLM_PORT]"}, "--kserve-grpc-port"},
		{[]string{"--help=--openai-port"}, []string{"--openai-port=9000"}, "--metrics-port"},
		{[]string{"help", "drain"}, []string{"--drain-delay=", "endpoint drain "}, "--openai-port=9000"},
		{[]string{"help", "TRIDENT_TLS_CERT"}, []string{"--tls-cert=FILE"}, "--host="},
		{[]string{"--help=queue"}, []string{"Limits\n", "--max-queued="}, "Settings\n"},
		{[]string{"help", "config", "check"}, []string{"Usage: trident config check [<file>]\n", "Settings file to check.", "trident --help=all"}, "--openai-port"},
		{[]string{"config", "print", "--help"}, []string{"Usage: trident config print [FLAGS]\n", "  --given\n", "[TRIDENT_GIVEN]"}, "--openai-port"},
		{[]string{"help", "config"}, []string{"Usage: trident config COMMAND\n", "\n  check ", "\n  schema "}, "--given"},
		{[]string{"health", "-h"}, []string{"--address=URL\n", "[<probe>]"}, "TRIDENT_ADDRESS"},
	} {
		text, err := helpOf(t, test.args...)
		if err != nil {
			t.Errorf("%q: %v", test.args, err)
		}
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("%q: no %q in\n%s", test.args, want, text)
			}
		}
		if strings.Contains(text, test.not) {
			t.Errorf("%q: %q in\n%s", test.args, test.not, text)
		}
	}
	if _, err := helpOf(t, "--help=zebra"); err == nil || !strings.Contains(err.Error(), `no flag and no command has "zebra": the groups of flags are settings, triton, in-process-triton,`) {
		t.Errorf("an unknown word: %v", err)
	}
	if _, asked := asksForHelp([]string{"--host=a", "--", "--help"}); asked {
		t.Error("an argument after -- asks for help")
	}
	if _, asked := asksForHelp([]string{"--host=a", "help"}); asked {
		t.Error("a value asks for help")
	}
}

// TestSubcommandsHaveHelp checks that each command has a help with its own flags only.
func TestSubcommandsHaveHelp(t *testing.T) {
	parser, err := newParser(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range parser.Model.Leaves(true) {
		if node.Name == "serve" {
			continue
		}
		text, err := helpOf(t, append([]string{"help"}, strings.Fields(node.Path())...)...)
		if err != nil || !strings.HasPrefix(text, "Usage: trident "+node.Path()) {
			t.Errorf("%s: %v\n%s", node.Path(), err, text)
		}
		for _, name := range regexp.MustCompile(`(?m)^ {2}--(?:\[no-\])?([a-z-]+)`).FindAllStringSubmatch(text, -1) {
			if !slices.ContainsFunc(node.Flags, func(f *kong.Flag) bool { return f.Name == name[1] }) {
				t.Errorf("%s has --%s", node.Path(), name[1])
			}
		}
		if n := len(regexp.MustCompile(`(?m)^ {2}--`).FindAllString(text, -1)); n != len(node.Flags) {
			t.Errorf("%s shows %d of %d flags", node.Path(), n, len(node.Flags))
		}
	}
}

// asTrident runs the program with arguments, and returns its output.
func asTrident(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	var out, failed strings.Builder
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), asMain+"=1"), &out, &failed
	err = cmd.Run()
	return out.String(), failed.String(), err
}

// TestVersionFlag checks that --version prints what the command version prints, also with invalid
// settings, and that the program prints its help.
func TestVersionFlag(t *testing.T) {
	command, _, err := asTrident(t, "version")
	if err != nil || !strings.HasPrefix(command, "trident "+version) {
		t.Fatalf("%q, %v", command, err)
	}
	t.Setenv("TRIDENT_CONFIG", "/no/such")
	flag, _, err := asTrident(t, "--version")
	if err != nil || flag != command {
		t.Errorf("%q, %v; want %q", flag, err, command)
	}
	if text, _, err := asTrident(t, "help"); err != nil || !strings.HasPrefix(text, "Usage: trident [FLAGS]") {
		t.Errorf("%q, %v", text, err)
	}
}
