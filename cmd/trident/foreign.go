package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// The names of the other programs whose command lines Trident takes, if it is called by the name.
const (
	asTritonserver       = "tritonserver"
	asTritonopenaiserver = "tritonopenaiserver"
)

// calledAs returns the name by which Trident was called, and its arguments. If the first argument is another
// program of [translated], alone or as a path in a folder bin, that is the name. `docker run IMAGE tritonserver
// --model-repository=/models` calls Trident so, because it is the entry point of its images.
func calledAs(line []string) (program string, args []string) {
	program, args = filepath.Base(line[0]), line[1:]
	if isForeign(program) || len(args) == 0 {
		return program, args
	}
	folder, name := filepath.Split(args[0])
	if isForeign(name) && (folder == "" || strings.HasSuffix(folder, "/bin/")) {
		return name, args[1:]
	}
	return program, args
}

// isForeign reports whether Trident takes the command lines of a program.
func isForeign(program string) bool {
	return program == asTritonserver || program == asTritonopenaiserver
}

// notice is a flag of another program that has no effect in Trident, and why.
type notice struct{ flag, reason string }

// translated returns Trident's arguments for a command line of the program whose name Trident was
// called by. Flags that only Trident has stay as they are. Arguments that begin with a command, and
// those of another name, aren't changed.
func translated(program string, args []string) ([]string, []notice, error) {
	if !isForeign(program) || len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return args, nil, nil
	}
	if h, asked := asksForHelp(args); asked {
		if h.topic == "" {
			args = []string{"help", program}
		}
		return args, nil, nil
	}
	parser, err := newParser(&commandLine{})
	if err != nil {
		return nil, nil, err
	}
	l := &foreignLine{program: program, given: map[string]string{}, own: func(name string) bool {
		return slices.ContainsFunc(parser.Model.Flags, func(f *kong.Flag) bool { return f.Name == name || slices.Contains(f.Aliases, name) })
	}}
	l.read(foreignFlags(program), args)
	if program == asTritonserver {
		l.finishTritonserver()
	} else {
		l.finishTritonopenaiserver()
	}
	if len(l.problems) > 0 {
		return nil, nil, errors.New(strings.Join(l.problems, "; "))
	}
	return l.args, l.notices, nil
}

// foreignFlag is a flag of another program. Without the fields below its kind, Trident has a flag
// of the same name with the same meaning.
type foreignFlag struct {
	name string
	kind foreignKind

	ours   string                      // Trident's flag with its value, for texts
	as     string                      // name of Trident's flag with the same values
	to     func(value string) []string // arguments of Trident; may be empty
	later  bool                        // another flag is needed to decide: see finishTritonserver
	usual  []string                    // values for which Trident behaves the same
	unused string                      // the reason why the flag has no effect
	remedy string                      // what to do instead; the flag is refused
}

// foreignKind is the form of a flag's value.
type foreignKind int

const (
	foreignValue  foreignKind = iota // any value
	foreignSwitch                    // true, on, 1, false, off or 0
	foreignAlone                     // no value
)

// foreignFlags returns the flags of another program.
func foreignFlags(program string) []foreignFlag {
	if program == asTritonopenaiserver {
		return tritonopenaiserverFlags()
	}
	return tritonserverFlags()
}

// foreignLine is a command line of another program while it is translated.
type foreignLine struct {
	program  string
	own      func(name string) bool // reports whether Trident has a flag
	args     []string               // Trident's arguments
	given    map[string]string      // the values of the flags
	notices  []notice
	problems []string
}

func (l *foreignLine) refusef(format string, args ...any) {
	l.problems = append(l.problems, fmt.Sprintf(format, args...))
}

// read translates the flags one by one.
func (l *foreignLine) read(flags []foreignFlag, args []string) {
	for i := 0; i < len(args); i++ {
		text, isFlag := strings.CutPrefix(args[i], "--")
		name, value, hasValue := strings.Cut(text, "=")
		at := slices.IndexFunc(flags, func(f foreignFlag) bool { return f.name == name })
		if at < 0 && !l.own(name) {
			at = foreignPrefix(flags, name)
		}
		if !isFlag || at < 0 {
			l.note(args, i)
			l.args = append(l.args, args[i])
			continue
		}
		f := flags[at]
		switch {
		case f.kind == foreignAlone && hasValue:
			l.refusef("--%s: takes no value", f.name)
			continue
		case f.kind == foreignAlone, hasValue:
		case i+1 < len(args):
			i++
			value = args[i]
		default:
			l.refusef("--%s: the value is missing", f.name)
			continue
		}
		l.flag(f, value)
	}
}

// note records the flags that only Trident's parser reads, for the finish.
func (l *foreignLine) note(args []string, i int) {
	if !strings.HasPrefix(args[i], "-") {
		return
	}
	name, value, hasValue := strings.Cut(args[i], "=")
	if !hasValue && i+1 < len(args) {
		value = args[i+1]
	}
	l.given[strings.TrimLeft(name, "-")] = value
}

// foreignPrefix returns the index of the only flag whose name has a prefix, or -1. getopt_long
// accepts such a prefix instead of the name.
func foreignPrefix(flags []foreignFlag, name string) int {
	found := -1
	for i, f := range flags {
		if name != "" && strings.HasPrefix(f.name, name) {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}

// flag translates a flag with its value.
func (l *foreignLine) flag(f foreignFlag, value string) {
	if f.kind == foreignSwitch {
		switch strings.ToLower(value) {
		case "true", "on", "1":
			value = "true"
		case "false", "off", "0":
			value = "false"
		default:
			l.refusef("--%s: must be true or false, not %q", f.name, value)
			return
		}
	}
	l.given[f.name] = value
	switch {
	case f.later, slices.Contains(f.usual, value):
	case f.unused != "":
		l.notices = append(l.notices, notice{"--" + f.name, f.unused})
	case f.remedy != "":
		l.refusef("--%s: Trident doesn't have this flag of %s: %s", f.name, l.program, f.remedy)
	case f.to != nil:
		l.args = append(l.args, f.to(value)...)
	case f.kind == foreignAlone:
		l.args = append(l.args, "--"+cmp.Or(f.as, f.name))
	default:
		l.args = append(l.args, "--"+cmp.Or(f.as, f.name)+"="+value)
	}
}

// finishTritonserver translates the flags that belong together, and opens tritonserver's ports.
func (l *foreignLine) finishTritonserver() {
	off := func(name string) bool { return l.given[name] == "false" }
	switch {
	case off("allow-http") && off("allow-grpc"):
	case off("allow-http"), off("allow-grpc"):
		l.refusef("--allow-http, --allow-grpc: Trident opens both ports of KServe v2 or none: set both to the same value")
	default:
		l.args = append(l.args, "--enable-kserve-frontends")
	}
	const everywhere = "0.0.0.0"
	rest, grpc := cmp.Or(l.given["http-address"], everywhere), cmp.Or(l.given["grpc-address"], everywhere)
	switch {
	case rest != grpc:
		l.refusef("--http-address, --grpc-address: all ports of Trident listen on one address: set both to the same value, or --host alone")
	case rest != everywhere:
		l.args = append(l.args, "--host="+rest)
	}
	switch {
	case off("log-info") && off("log-warning"):
		l.args = append(l.args, "--log-level=error")
	case off("log-info"):
		l.args = append(l.args, "--log-level=warn")
	case off("log-warning"):
		l.refusef("--log-warning: the levels of Trident's log include the higher ones: set --log-info=false too, or --log-level")
	}
}

// proxyPort is the default port of the proxy of visitsb/triton-inference-server-openai-api, which
// its images call tritonopenaiserver.
const proxyPort = "11434"

// finishTritonopenaiserver distinguishes two programs. Triton's OpenAI frontend serves a repository on port
// 9000. The proxy of this name listens on port 11434 in front of a tritonserver.
func (l *foreignLine) finishTritonopenaiserver() {
	if _, frontend := l.given["model-repository"]; frontend {
		return
	}
	_ = os.Unsetenv(variableOf("model-repository")) // the image sets it, and the proxy serves no repository
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { _, found := l.given[name]; return found })
	}
	switch {
	case has("triton-endpoint", "t", "model-store"):
	case l.given["triton_http_port"] != "" && l.given["triton_http_port"] != "8000":
		l.refusef("--triton_http_port: Trident calls tritonserver by gRPC: set --triton-endpoint=HOST:PORT to its gRPC port, which usually is the next one")
	default:
		endpoint := cmp.Or(l.given["triton_http_host"], "localhost") + ":8001"
		if l.given["triton_http_proto"] == "https" {
			endpoint = "https://" + endpoint
		}
		l.args = append(l.args, "--triton-endpoint="+endpoint)
	}
	if !has("port", "openai-port", "p") && os.Getenv(variableOf("openai-port")) == "" && os.Getenv(proxyVariables+"_PORT") == "" {
		l.args = append(l.args, "--openai-port="+proxyPort)
	}
}

// programHelp returns the help of Trident by the name of another program.
func programHelp(program string) string {
	about := `This is Trident. By this name it takes tritonserver's flags, serves KServe v2 on ports 8000 and 8001 and
metrics on port 8002, and serves the OpenAI API on port 9000 too. Trident's own flags work as well.`
	if program == asTritonopenaiserver {
		about = `This is Trident. By this name and with --model-repository it takes the flags of Triton's OpenAI frontend
and listens on port 9000. Without --model-repository it takes those of the proxy of this name, listens on
port 11434, and calls the tritonserver on localhost. Trident's own flags work as well.`
	}
	var rows [][]string
	for _, f := range foreignFlags(program) {
		var what string
		switch {
		case f.ours != "":
			what = f.ours
		case f.unused != "":
			what = "no effect: " + f.unused
		case f.remedy != "":
			what = "refused: " + f.remedy
			if len(f.usual) > 0 {
				what = "refused, except for " + strings.Join(f.usual, " and ") + ": " + f.remedy
			}
		default:
			what = "--" + cmp.Or(f.as, f.name)
		}
		rows = append(rows, []string{"  --" + f.name, what})
	}
	return "Usage: " + program + " [FLAGS]\n\n" + about + "\n\nFlags of " + program + ", and what Trident does with them:\n" + align(rows) +
		"\ntrident --help=all prints Trident's flags.\n"
}

// foreignHint returns the end of an error about an unknown flag that another program has, or "".
func foreignHint(name string) string {
	for _, program := range []string{asTritonserver, asTritonopenaiserver} {
		flags := foreignFlags(program)
		i := slices.IndexFunc(flags, func(f foreignFlag) bool { return f.name == name })
		if i < 0 {
			continue
		}
		switch f := flags[i]; {
		case f.ours != "":
			return ": did you mean " + f.ours + "?"
		case f.unused != "":
			return ": leave out this flag of " + program + ": " + f.unused
		case f.remedy != "":
			return ": a flag of " + program + ": " + f.remedy
		default:
			return ": did you mean --" + cmp.Or(f.as, f.name) + "=VALUE?"
		}
	}
	return ""
}
