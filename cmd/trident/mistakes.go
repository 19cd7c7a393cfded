package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// The beginnings of kong's errors of command lines. kong has no types for them.
const (
	unexpectedArgument = "unexpected argument "
	unknownFlag        = "unknown flag "
)

// missingValue matches kong's errors of flags without their value.
var missingValue = regexp.MustCompile(`^--([\w-]+): .*(but got "EOL"|missing value, expecting)`)

// synonyms are flags of other programs and guesses, with the flag of trident that does it.
// The flags of the programs that trident can be called as are in [foreignFlags].
var synonyms = map[string]string{ //nolint:gochecknoglobals // a constant table
	"model": "model-repository=DIR", "models": "model-repository=DIR", "model-dir": "model-repository=DIR", "model-path": "model-repository=DIR",
	"models-dir": "model-repository=DIR", "repository": "model-repository=DIR", "model-repo": "model-repository=DIR",
	"endpoint": "triton-endpoint=HOST:PORT", "server": "triton-endpoint=HOST:PORT", "triton": "triton-endpoint=HOST:PORT", "triton-url": "triton-endpoint=HOST:PORT",
	"url": "triton-endpoint=HOST:PORT", "upstream": "triton-endpoint=HOST:PORT", "backend-url": "triton-endpoint=HOST:PORT",
	"listen": "host=ADDRESS --openai-port=PORT", "bind": "host=ADDRESS --openai-port=PORT", "address": "host=ADDRESS --openai-port=PORT",
	"api-keys": "api-key=KEY", "key": "api-key=KEY", "verbose": "log-level=debug", "debug": "log-level=debug", "config-file": "config=FILE",
	"cert": "tls-cert=FILE", "max-tokens": "default-max-tokens=N", "cors": "cors-origin=ORIGIN", "served-model-name": "config=FILE with models: MODEL: aliases",
}

// explained returns the error of a command line that can't be parsed, with the command line that
// was probably meant.
func explained(err error, args []string, app *kong.Application) error {
	text := err.Error()
	if rest, ok := strings.CutPrefix(text, unexpectedArgument); ok {
		if i := slices.IndexFunc(args, func(arg string) bool { return rest == arg || strings.HasPrefix(rest, arg+", did you mean ") }); i >= 0 {
			return unexpected(args, i, app)
		}
	}
	if rest, ok := strings.CutPrefix(text, unknownFlag); ok {
		name, _, _ := strings.Cut(strings.TrimLeft(rest, "-"), ",")
		if hint := flagHint(name); hint != "" {
			return fmt.Errorf("unknown flag --%s%s", name, hint)
		}
	}
	if m := missingValue.FindStringSubmatch(text); m != nil {
		if i := slices.IndexFunc(app.Flags, func(f *kong.Flag) bool { return f.Name == m[1] }); i >= 0 {
			return fmt.Errorf("--%s: the value is missing: write %s", m[1], strings.TrimPrefix(withValue(app.Flags[i]), "-"+string(app.Flags[i].Short)+", "))
		}
	}
	return fmt.Errorf("%w (see trident --help)", err)
}

// withValue returns a flag with the placeholder of its value.
func withValue(flag *kong.Flag) string {
	if flag.PlaceHolder == "" {
		return "--" + flag.Name + "=VALUE"
	}
	return "--" + flag.Name + "=" + flag.PlaceHolder
}

// flagHint returns the end of an error about a flag of another program, or "".
func flagHint(name string) string {
	if ours, ok := synonyms[name]; ok {
		return ": did you mean --" + ours + "?"
	}
	return foreignHint(name)
}

// starters are words that other programs start a server with. trident needs no such word.
var starters = []string{"run", "start", "server", "up", "launch", "serve", "proxy", "gateway", "host", "deploy"} //nolint:gochecknoglobals // a constant table

// unexpected returns the error of an argument that is neither a command nor a flag.
func unexpected(args []string, i int, app *kong.Application) error {
	word := args[i]
	if line := servingLine(args, i); line != "" {
		what := "the argument " + word
		if slices.Contains(starters, word) {
			what = "the command " + word
		}
		return fmt.Errorf("%s is unknown: did you mean %s?", what, line)
	}
	node, path := app.Node, "trident "
	for _, arg := range args[:i] {
		if at := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == arg }); at >= 0 {
			node, path = node.Children[at], path+arg+" "
		}
	}
	var commands []string
	for _, child := range node.Children {
		commands = append(commands, child.Name)
	}
	if meant := nearest(word, commands); meant != "" {
		return fmt.Errorf("the command %s is unknown: did you mean %s?", word, path+meant)
	}
	if len(commands) > 0 {
		return fmt.Errorf("the command %s is unknown (see trident --help)", word)
	}
	return fmt.Errorf("the argument %s is unexpected (see trident --help)", word)
}

// servingLine returns the command line that serves what an argument names, or "". The other
// arguments stay. In front of the argument, words that other programs start a server with are
// dropped.
func servingLine(args []string, i int) string {
	before, after := slices.Clone(args[:i]), args[i+1:]
	if len(before) > 0 && slices.Contains(starters, before[len(before)-1]) {
		before = before[:len(before)-1]
	}
	word := args[i]
	flag := engineFlag(word)
	switch {
	case flag != "":
	case !slices.Contains(starters, word):
		return ""
	case len(after) > 0 && !strings.HasPrefix(after[0], "-"):
		flag, after = engineFlag(after[0]), after[1:]
		if flag == "" {
			flag = "--model-repository=DIR"
		}
	case slices.ContainsFunc(args, func(arg string) bool {
		return strings.HasPrefix(arg, "--model-") || strings.HasPrefix(arg, "--triton-endpoint") || arg == "-t"
	}):
	default:
		return "trident --model-repository=DIR or trident --triton-endpoint=HOST:PORT"
	}
	line := []string{"trident"}
	for _, arg := range slices.Concat(before, []string{flag}, after) {
		if arg != "" {
			line = append(line, shellWord(arg))
		}
	}
	return strings.Join(line, " ")
}

// engineFlag returns the flag that serves the models of a folder or of a tritonserver, or "".
func engineFlag(word string) string {
	if info, err := os.Stat(word); err == nil && info.IsDir() { //nolint:gosec // the user names the folder on the command line
		if _, err := os.Stat(filepath.Join(word, "config.pbtxt")); err == nil { //nolint:gosec // a model, which the user names
			word = filepath.Dir(filepath.Clean(word))
		}
		return "--model-repository=" + word
	}
	if scheme, _, ok := strings.Cut(word, "://"); ok {
		if slices.Contains([]string{"http", "https", "dns", "dns+https", "grpc"}, scheme) {
			return "--triton-endpoint=" + strings.TrimPrefix(word, "grpc://")
		}
		return "--model-repository=" + word // s3, gs and as
	}
	if host, port, err := net.SplitHostPort(word); err == nil && port != "" && !strings.Contains(host, "/") {
		return "--triton-endpoint=" + word
	}
	if strings.ContainsRune(word, filepath.Separator) {
		return "--model-repository=" + word
	}
	return ""
}

// plainWord matches a word that shells don't change.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./~-]+$`)

// shellWord returns an argument as it is typed in a shell.
func shellWord(arg string) string {
	if plainWord.MatchString(arg) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// nothingToServeError is returned for a command line without any setting, if no tritonserver
// listens on the default address.
type nothingToServeError struct{}

// Error returns several lines.
func (nothingToServeError) Error() string {
	return `nothing to serve: no setting is given, and no tritonserver listens on ` + tritonEndpoint + `. There are two ways to start:
  trident --model-repository=DIR        serves the models of a repository with in-process Triton
  trident --triton-endpoint=HOST:8001   serves the models of a running tritonserver
trident --help prints the most important flags.`
}

// errNothingToServe checks a start without any setting. The tritonserver on this machine must
// listen then, because a user who only tries the command wouldn't see why nothing works.
func (f *flags) errNothingToServe(cfg config) error {
	if len(cfg.Local.Repositories) > 0 || slices.ContainsFunc(f.settings, func(s setting) bool { return s.origin != originDefault }) {
		return nil
	}
	dialer := net.Dialer{Timeout: time.Second}
	connection, err := dialer.DialContext(context.Background(), "tcp", tritonEndpoint)
	if err != nil {
		return nothingToServeError{}
	}
	return connection.Close()
}
