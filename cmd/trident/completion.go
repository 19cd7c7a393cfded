package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCommand prints a shell script that completes command lines. The script contains the
// flags, so that a key press starts no process.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"Shell of the script: bash, zsh or fish."`
}

// Run prints the script for a shell.
func (c completionCommand) Run(ctx *kong.Context) error {
	_, err := os.Stdout.WriteString(completion(c.Shell, ctx.Model))
	return err
}

func completion(shell string, app *kong.Application) string {
	switch shell {
	case "zsh":
		return zshCompletion(app)
	case "fish":
		return fishCompletion(app)
	}
	return bashCompletion(app)
}

// choices returns the possible values of a flag: words, or files.
func choices(v *kong.Value) (words []string, files bool) {
	switch {
	case v.Enum != "":
		return strings.Split(v.Enum, ","), false
	case v.IsBool():
		return []string{"true", "false"}, false
	}
	place := v.Name
	if v.Flag != nil {
		place = v.Flag.PlaceHolder
	}
	for _, name := range []string{"FILE", "DIR", "FOLDER", "PATH"} {
		if strings.Contains(strings.ToUpper(place), name) {
			return nil, true
		}
	}
	return nil, false
}

// written returns the spellings of a flag: --name, -n, and --no-name if it is negatable.
func written(flag *kong.Flag) []string {
	names := []string{"--" + flag.Name}
	if flag.Short != 0 {
		names = append(names, "-"+string(flag.Short))
	}
	if flag.Tag.Negatable != "" {
		names = append(names, "--no-"+flag.Name)
	}
	return names
}

// level is the possible words after a command: subcommands or arguments.
type level struct {
	path  string // commands so far, each followed by a blank
	words []string
	help  []string
	files bool
	leaf  bool // the command has no subcommands
	flags []*kong.Flag
}

// levels returns the levels of the program and of all its commands.
func levels(node *kong.Node, path string) []level {
	l := level{path: path, leaf: len(node.Children) == 0, flags: node.Flags}
	var below []level
	for _, child := range node.Children {
		l.words, l.help = append(l.words, child.Name), append(l.help, child.Help)
		below = append(below, levels(child, path+child.Name+" ")...)
	}
	for _, argument := range node.Positional {
		words, files := choices(argument)
		l.words, l.files = append(l.words, words...), l.files || files
	}
	return append([]level{l}, below...)
}

// valueFlags returns the spellings of all flags that take a value. The word after such a flag isn't a
// command.
func valueFlags(all []level) []string {
	var names []string
	for _, l := range all {
		for _, flag := range l.flags {
			if !flag.IsBool() {
				names = append(names, written(flag)...)
			}
		}
	}
	return names
}

// bashCompletion returns the script for bash, which splits words at = and : too.
func bashCompletion(app *kong.Application) string {
	var values, words, flags strings.Builder
	all := levels(app.Node, "")
	for _, l := range all {
		var names []string
		for _, flag := range l.flags {
			names = append(names, written(flag)...)
			place := strings.Join(written(flag), " | ")
			switch choice, files := choices(flag.Value); {
			case files:
				fmt.Fprintf(&values, "    %s) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", place)
			case !flag.IsBool() && choice != nil:
				fmt.Fprintf(&values, "    %s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", place, strings.Join(choice, " "))
			case !flag.IsBool():
				fmt.Fprintf(&values, "    %s) return ;;\n", place)
			}
		}
		if l.path == "" {
			fmt.Fprintf(&flags, "    local flags='%s'\n", strings.Join(names, " "))
		}
		own := ""
		if l.path != "" && len(names) > 0 {
			own = "; flags+=' " + strings.Join(names, " ") + "'"
		}
		fmt.Fprintf(&words, "    '%s') words='%s'%s", l.path, strings.Join(l.words, " "), own)
		if l.files {
			words.WriteString("; files=1")
		}
		words.WriteString(" ;;\n")
		if l.leaf && own != "" {
			fmt.Fprintf(&words, "    '%s'*) words=''%s ;;\n", l.path, own)
		}
	}
	return `# trident completion bash: put this file into a folder that bash-completion searches, or source it.
_trident() {
    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path='' words='' files='' equals='' i
` + flags.String() + `    COMPREPLY=()
    if [[ $cur == = ]]; then cur='' equals=1
    elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]} equals=1
    fi
    case $before in
` + values.String() + `    esac
    if [[ -n $equals ]]; then COMPREPLY=($(compgen -W 'true false' -- "$cur")); return; fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -* | = | :) continue ;;
        esac
        case ${COMP_WORDS[i-1]} in
        = | : | ` + strings.Join(valueFlags(all), " | ") + `) ;;
        *) path+="${COMP_WORDS[i]} " ;;
        esac
    done
    case $path in
` + words.String() + `    esac
    if [[ $cur == -* ]]; then words=$flags files=''; fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
    if [[ -n $files ]]; then COMPREPLY+=($(compgen -f -- "$cur")); fi
}
complete -o filenames -F _trident trident
`
}

// zshText escapes a help text for use inside of brackets and single quotes.
var zshText = strings.NewReplacer("'", `'\''`, "[", `\[`, "]", `\]`, ":", `\:`) //nolint:gochecknoglobals // a constant table

func zshCompletion(app *kong.Application) string {
	var b strings.Builder
	b.WriteString("#compdef trident\n# trident completion zsh: put this file into a folder of $fpath under the name _trident.\n")
	b.WriteString("local curcontext=$curcontext state\nlocal -a line flags commands\nflags=(\n")
	for _, flag := range app.Flags {
		b.WriteString(zshFlag(flag, "    "))
	}
	b.WriteString(")\n")
	zshLevel(&b, app.Node, "")
	return b.String()
}

// zshLevel writes the completions after a command. In the state rest, zsh's words start with the
// next command.
func zshLevel(b *strings.Builder, node *kong.Node, indent string) {
	arguments := "_arguments"
	if len(node.Children) > 0 {
		arguments += " -C"
	}
	b.WriteString(indent + arguments + " $flags \\\n")
	if node.Type != kong.ApplicationNode {
		for _, flag := range node.Flags {
			b.WriteString(strings.ReplaceAll(zshFlag(flag, indent+"    "), "\n", " \\\n"))
		}
	}
	if len(node.Children) == 0 {
		for i, argument := range node.Positional {
			what := ": "
			switch words, files := choices(argument); {
			case files:
				what = "file:_files"
			case len(words) > 0:
				what = argument.Name + ":(" + strings.Join(words, " ") + ")"
			}
			fmt.Fprintf(b, "%s    '%d:%s' \\\n", indent, i+1, what)
		}
		b.WriteString(indent + "    && return\n")
		return
	}
	b.WriteString(indent + "    '1: :->command' '*:: :->rest' && return\n" + indent + "case $state in\n" + indent + "command)\n" + indent + "    commands=(\n")
	for _, child := range node.Children {
		fmt.Fprintf(b, "%s        '%s:%s'\n", indent, child.Name, zshText.Replace(child.Help))
	}
	b.WriteString(indent + "    )\n" + indent + "    _describe command commands ;;\n" + indent + "rest)\n" + indent + "    case $line[1] in\n")
	for _, child := range node.Children {
		b.WriteString(indent + "    " + child.Name + ")\n")
		zshLevel(b, child, indent+"        ")
		b.WriteString(indent + "        ;;\n")
	}
	b.WriteString(indent + "    esac ;;\n" + indent + "esac\n")
}

// zshFlag returns the lines of the zsh completion script for a flag, one for each spelling.
func zshFlag(flag *kong.Flag, indent string) string {
	words, files := choices(flag.Value)
	names := written(flag)
	before := ""
	switch {
	case isList(flag.Target.Type()):
		before = "*"
	case len(names) > 1:
		before = "(" + strings.Join(names, " ") + ")"
	}
	var value string
	switch {
	case flag.IsBool():
		value = "::value:(true false)"
	case files:
		value = ":file:_files"
	case len(words) > 0:
		value = ":value:(" + strings.Join(words, " ") + ")"
	default:
		value = ":value: "
	}
	var b strings.Builder
	for _, name := range names {
		switch {
		case flag.IsBool() && name != "--"+flag.Name:
			value = ""
		case flag.IsBool():
			name += "=-" // the value is in the same word
		case strings.HasPrefix(name, "--"):
			name += "="
		}
		b.WriteString(indent + "'" + before + name + "[" + zshText.Replace(flag.Help) + "]" + value + "'\n")
	}
	return b.String()
}

func fishCompletion(app *kong.Application) string {
	quote := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	all := levels(app.Node, "")
	var b strings.Builder
	b.WriteString(`# trident completion fish: put this file into ~/.config/fish/completions/trident.fish.
function __trident_after -d 'Reports whether the commands before the cursor match a pattern'
    set -l words
    set -l value 0
    for word in (commandline -opc)[2..-1]
        if test $value = 1
            set value 0
            continue
        end
        contains -- $word ` + strings.Join(valueFlags(all), " ") + `; and set value 1
        string match -q -- '-*' $word; or set -a words $word
    end
    string match -q -- $argv[1] "$words"
end
complete -c trident -f
`)
	for _, l := range all {
		path := strings.TrimSpace(l.path)
		condition := " -n '__trident_after \"" + path + "\"'"
		for i, word := range l.words {
			help := ""
			if i < len(l.help) {
				help = " -d '" + quote.Replace(l.help[i]) + "'"
			}
			b.WriteString("complete -c trident" + condition + " -a " + word + help + "\n")
		}
		if l.files {
			b.WriteString("complete -c trident" + condition + " -F\n")
		}
		if path == "" {
			condition = ""
		} else {
			condition = " -n '__trident_after \"" + path + "*\"'"
		}
		for _, flag := range l.flags {
			short := ""
			if flag.Short != 0 {
				short = " -s " + string(flag.Short)
			}
			help := " -d '" + quote.Replace(flag.Help) + "'"
			b.WriteString("complete -c trident" + condition + " -l " + flag.Name + short + fishValue(flag) + help + "\n")
			if flag.Tag.Negatable != "" {
				b.WriteString("complete -c trident" + condition + " -l no-" + flag.Name + help + "\n")
			}
		}
	}
	return b.String()
}

// fishValue returns fish's options for the value of a flag.
func fishValue(flag *kong.Flag) string {
	words, files := choices(flag.Value)
	switch {
	case flag.IsBool():
		return "" // fish would offer both --flag= and --flag
	case files:
		return " -r -F"
	case len(words) > 0:
		return " -x -a '" + strings.Join(words, " ") + "'"
	}
	return " -x"
}
