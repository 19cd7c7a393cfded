package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// essentials are the flags of the short help, each with its description on one line.
var essentials = []struct{ flag, what string }{ //nolint:gochecknoglobals // a constant table
	{"model-repository", "repository for in-process Triton"},
	{"triton-endpoint", "gRPC port of a running tritonserver"},
	{"model-control-mode", "none loads all models at start"},
	{"tokenizer", "tokenizer and chat template"},
	{"host", "address on which the ports listen"},
	{"openai-port", "port of the OpenAI API; also --port"},
	{"enable-kserve-frontends", "open tritonserver's three ports"},
	{"api-keys-file", "file with the API keys of clients"},
	{"tls-cert", "certificate that enables TLS"},
	{"max-in-flight", "requests served at the same time"},
	{"log-level", "debug, info, warn or error"},
	{"config", "settings file in YAML"},
}

// helpCommand prints help by a command instead of a flag.
type helpCommand struct {
	Topic []string `arg:"" optional:"" help:"Command, group of flags, flag or word to print help about; all prints all flags."`
}

// Run prints the help.
func (c helpCommand) Run(ctx *kong.Context) error {
	return helpRequest{words: c.Topic, command: true}.write(os.Stdout, ctx.Model)
}

// helpRequest is a request for help.
type helpRequest struct {
	words   []string // the arguments that aren't flags
	topic   string   // the value of --help
	command bool     // the command help is used instead of the flag
}

// asksForHelp reads a request for help from a command line, whose other arguments may be
// invalid. It reports whether the command line is such a request.
func asksForHelp(args []string) (h helpRequest, asked bool) {
	for i, arg := range args {
		topic, isTopic := strings.CutPrefix(arg, "--help=")
		switch {
		case arg == "--":
			return h, asked
		case i == 0 && arg == "help":
			h.command, asked = true, true
		case isTopic:
			h.topic, asked = topic, true
		case arg == "--help", arg == "-h":
			asked = true
		case !strings.HasPrefix(arg, "-"):
			h.words = append(h.words, arg)
		}
	}
	return h, asked
}

// write prints the help. It returns an error if nothing has the word of the topic.
func (h helpRequest) write(w io.Writer, app *kong.Application) error {
	node, rest := app.Node, h.words
	for len(rest) > 0 {
		i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == rest[0] })
		if i >= 0 {
			node = node.Children[i]
		} else if h.command {
			break
		}
		rest = rest[1:]
	}
	if h.command && len(rest) > 0 {
		h.topic = strings.Join(rest, " ")
	}
	var text string
	switch {
	case h.topic == asTritonserver, h.topic == asTritonopenaiserver:
		text = programHelp(h.topic)
	case h.topic != "":
		if text = topicHelp(app, h.topic); text == "" {
			return fmt.Errorf("no flag and no command has %q: the groups of flags are %s; --help=all prints all flags", h.topic, strings.Join(groupNames(app), ", "))
		}
	case node.Parent == nil, node.Name == "serve":
		text = shortHelp(app)
	default:
		text = commandHelp(node)
	}
	_, err := io.WriteString(w, text)
	return err
}

// shortHelp returns the help that --help prints: examples, the most important flags and the
// commands.
func shortHelp(app *kong.Application) string {
	var b strings.Builder
	b.WriteString(`Usage: trident [FLAGS], or trident COMMAND [FLAGS]

Serves the OpenAI API, KServe v2 and typed Connect services over NVIDIA Triton.

Examples:
  trident --model-repository=models          serves a repository with in-process Triton
  trident --triton-endpoint=localhost:8001   serves the models of a running tritonserver

Flags, each with the environment variable that sets it too:
`)
	rows := make([][]string, 0, len(essentials))
	for _, e := range essentials {
		if i := slices.IndexFunc(app.Flags, func(f *kong.Flag) bool { return f.Name == e.flag }); i >= 0 {
			rows = append(rows, []string{"  " + spelled(app.Flags[i]), e.what + " [" + app.Flags[i].Envs[0] + "]"})
		}
	}
	b.WriteString(align(rows) + "\nCommands:\n")
	rows = nil
	for _, node := range app.Children {
		rows = append(rows, []string{"  " + node.Name, firstSentence(node.Help)})
	}
	b.WriteString(align(rows) + "\n" + wrapped("--help=all prints all flags, --help=WORD the flags and commands with a word, trident help COMMAND a command's help, and --help=GROUP "+
		"one of the groups "+strings.Join(groupNames(app), ", ")+".", ""))
	return b.String()
}

// commandHelp returns the help of a command, with its own flags only.
func commandHelp(node *kong.Node) string {
	var b strings.Builder
	usage := []string{node.FullPath()}
	for _, argument := range node.Positional {
		usage = append(usage, argument.Summary())
	}
	if len(node.Flags) > 0 {
		usage = append(usage, "[FLAGS]")
	}
	if len(node.Children) > 0 {
		usage = append(usage, "COMMAND")
	}
	fmt.Fprintf(&b, "Usage: %s\n\n%s", strings.Join(usage, " "), wrapped(node.Help, ""))
	if len(node.Positional) > 0 {
		b.WriteString("\nArguments:\n")
		for _, argument := range node.Positional {
			b.WriteString("  " + argument.Summary() + "\n" + wrapped(argument.Help, "      "))
		}
	}
	if len(node.Flags) > 0 {
		b.WriteString("\nFlags:\n" + flagsHelp(node.Flags))
	}
	if len(node.Children) > 0 {
		rows := make([][]string, 0, len(node.Children))
		for _, child := range node.Children {
			rows = append(rows, []string{"  " + child.Name, child.Help})
		}
		b.WriteString("\nCommands:\n" + align(rows))
	}
	b.WriteString("\nThe flags of trident apply too, such as --config: trident --help=all\n")
	return b.String()
}

// topicHelp returns the help about all flags, a group of them, or a word. It returns "" if
// nothing has the word.
func topicHelp(app *kong.Application, topic string) string {
	topic = strings.ToLower(strings.TrimLeft(topic, "-"))
	groups := flagGroups(app)
	if topic == "all" {
		all := make([]string, len(groups))
		for i, g := range groups {
			all[i] = g.help()
		}
		return strings.Join(all, "\n")
	}
	for _, g := range groups {
		if name := groupName(g.title); name == topic || strings.HasPrefix(name, topic+"-") || strings.EqualFold(g.title, topic) {
			return g.help()
		}
	}
	return searchHelp(app, topic)
}

// searchHelp returns the help of the flags and the commands that have a word in their name, their
// variables or their help. A flag with exactly this name comes alone.
func searchHelp(app *kong.Application, word string) string {
	has := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(strings.ToLower(text), word) })
	}
	var parts []string
	for _, g := range flagGroups(app) {
		exact := slices.IndexFunc(g.flags, func(f *kong.Flag) bool { return f.Name == word || slices.Contains(f.Aliases, word) })
		if exact >= 0 {
			g.flags = g.flags[exact : exact+1]
			return g.help()
		}
		g.flags = slices.DeleteFunc(slices.Clone(g.flags), func(f *kong.Flag) bool {
			return !has(append(append([]string{f.Name, f.Help}, f.Aliases...), f.Envs...)...)
		})
		if len(g.flags) > 0 {
			parts = append(parts, g.help())
		}
	}
	var rows [][]string
	for _, node := range app.Leaves(true) {
		if has(node.Path(), node.Help) {
			rows = append(rows, []string{"  " + node.Path(), node.Help})
		}
	}
	if len(rows) > 0 {
		parts = append(parts, "Commands\n"+align(rows))
	}
	return strings.Join(parts, "\n")
}

// flagGroup is a titled group of flags.
type flagGroup struct {
	title string
	flags []*kong.Flag
}

func (g flagGroup) help() string { return g.title + "\n" + flagsHelp(g.flags) }

// flagGroups returns the groups of the flags of trident, in order.
func flagGroups(app *kong.Application) []flagGroup {
	var groups []flagGroup
	for _, flag := range app.Flags {
		if flag.Group == nil {
			continue
		}
		i := slices.IndexFunc(groups, func(g flagGroup) bool { return g.title == flag.Group.Title })
		if i < 0 {
			i, groups = len(groups), append(groups, flagGroup{title: flag.Group.Title})
		}
		groups[i].flags = append(groups[i].flags, flag)
	}
	return groups
}

// groupName returns a group's name for --help=GROUP.
func groupName(title string) string { return strings.ReplaceAll(strings.ToLower(title), " ", "-") }

func groupNames(app *kong.Application) []string {
	var names []string
	for _, g := range flagGroups(app) {
		names = append(names, groupName(g.title))
	}
	return names
}

// flagsHelp returns the full help of flags.
func flagsHelp(flags []*kong.Flag) string {
	var b strings.Builder
	for _, flag := range flags {
		if flag.Hidden {
			continue
		}
		b.WriteString("  " + strings.Join(append([]string{spelled(flag)}, flag.Aliases...), ", --") + "\n" + wrapped(flag.Help+variablesOf(flag), "      "))
	}
	return b.String()
}

// variablesOf returns a flag's environment variables in brackets.
func variablesOf(flag *kong.Flag) string {
	if len(flag.Envs) == 0 {
		return ""
	}
	return " [" + strings.Join(flag.Envs, ", ") + "]"
}

// spelled returns a flag with its placeholder or its default value.
func spelled(flag *kong.Flag) string {
	name := "--" + flag.Name
	if flag.Tag.Negatable != "" {
		name = "--[no-]" + flag.Name
	}
	if flag.Short != 0 {
		name = "-" + string(flag.Short) + ", " + name
	}
	switch {
	case flag.IsBool():
		return name
	case flag.PlaceHolder != "":
		return name + "=" + flag.PlaceHolder
	case flag.Default != "":
		return name + "=" + flag.Default
	}
	return name + "=VALUE"
}

// helpWidth is the width of help texts in columns.
const helpWidth = 100

// wrapped returns a text in lines, each with the indent.
func wrapped(text, indent string) string {
	var b strings.Builder
	column := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case column == 0:
			b.WriteString(indent)
			column = len(indent)
		case column+1+len(word) > helpWidth:
			b.WriteString("\n" + indent)
			column = len(indent)
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String() + "\n"
}

func firstSentence(text string) string {
	sentence, _, more := strings.Cut(text, ". ")
	if more {
		return sentence + "."
	}
	return text
}
