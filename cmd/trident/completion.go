package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// completionCommand prints what makes a shell complete our command lines. The flags
// stand in the script, so that a key press starts no process.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
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

// choices are what may follow a flag: words, or files.
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

// level is the words after a command: commands, or what it takes.
type level struct {
	path  string // of the commands so far, each followed by a blank
	words []string
	help  []string
	files bool
	flags []*kong.Flag
}

// levels are those of the program and of all its commands.
func levels(node *kong.Node, path string) []level {
	l := level{path: path, flags: node.Flags}
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

func bashCompletion(app *kong.Application) string {
	var values, words, flags strings.Builder
	for _, l := range levels(app.Node, "") {
		var names []string
		for _, flag := range l.flags {
			names = append(names, "--"+flag.Name)
			switch choice, files := choices(flag.Value); {
			case files:
				fmt.Fprintf(&values, "    --%s) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", flag.Name)
			case !flag.IsBool() && choice != nil:
				fmt.Fprintf(&values, "    --%s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", flag.Name, strings.Join(choice, " "))
			case !flag.IsBool():
				fmt.Fprintf(&values, "    --%s) return ;;\n", flag.Name)
			}
		}
		if l.path == "" {
			fmt.Fprintf(&flags, "    local flags='%s'\n", strings.Join(names, " "))
		}
		fmt.Fprintf(&words, "    '%s') words='%s'", l.path, strings.Join(l.words, " "))
		if l.path != "" && len(names) > 0 {
			fmt.Fprintf(&words, "; flags+=' %s'", strings.Join(names, " "))
		}
		if l.files {
			words.WriteString("; files=1")
		}
		words.WriteString(" ;;\n")
	}
	return `# trident completion bash: put this where bash-completion looks, or source it.
_trident() {
    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} path='' words='' files='' i
` + flags.String() + `    COMPREPLY=()
    if [[ $cur == = ]]; then cur=''
    elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}
    fi
    case $before in
` + values.String() + `    esac
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
        -* | =) ;;
        *) [[ ${COMP_WORDS[i-1]} == -* || ${COMP_WORDS[i-1]} == = ]] || path+="${COMP_WORDS[i]} " ;;
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

// zshText is a help text inside of brackets and single quotes.
var zshText = strings.NewReplacer("'", `'\''`, "[", `\[`, "]", `\]`, ":", `\:`) //nolint:gochecknoglobals // a constant table

func zshCompletion(app *kong.Application) string {
	var b strings.Builder
	b.WriteString("#compdef trident\n# trident completion zsh: put this into a folder of $fpath, as _trident.\n")
	b.WriteString("local -a flags\nflags=(\n")
	for _, flag := range app.Flags {
		b.WriteString(zshFlag(flag))
	}
	b.WriteString(")\nlocal line state\n_arguments -C $flags '1: :->command' '*:: :->rest'\ncase $state in\ncommand)\n    local -a commands\n    commands=(\n")
	for _, child := range app.Children {
		fmt.Fprintf(&b, "        '%s:%s'\n", child.Name, zshText.Replace(child.Help))
	}
	b.WriteString("    )\n    _describe command commands ;;\nrest)\n    case $line[1] in\n")
	for _, child := range app.Children {
		fmt.Fprintf(&b, "    %s) _arguments $flags \\\n", child.Name)
		for _, flag := range child.Flags {
			b.WriteString("        " + strings.TrimSuffix(zshFlag(flag), "\n") + " \\\n")
		}
		first := levels(child, "")[0]
		rest := "'*:file:_files'"
		if !first.files && len(first.words) > 0 {
			rest = "'1: :(" + strings.Join(first.words, " ") + ")' '*:file:_files'"
		}
		b.WriteString("        " + rest + " ;;\n")
	}
	b.WriteString("    esac ;;\nesac\n")
	return b.String()
}

func zshFlag(flag *kong.Flag) string {
	words, files := choices(flag.Value)
	repeated := ""
	if isList(flag.Target.Type()) {
		repeated = "*"
	}
	text := fmt.Sprintf("'%s--%s", repeated, flag.Name)
	if !flag.IsBool() {
		text += "="
	}
	text += "[" + zshText.Replace(flag.Help) + "]"
	switch {
	case flag.IsBool():
	case files:
		text += ":file:_files"
	case len(words) > 0:
		text += ":value:(" + strings.Join(words, " ") + ")"
	default:
		text += ":value: "
	}
	return "    " + text + "'\n"
}

func fishCompletion(app *kong.Application) string {
	quote := strings.NewReplacer(`\`, `\\`, "'", `\'`)
	var b strings.Builder
	b.WriteString("# trident completion fish: put this into ~/.config/fish/completions/trident.fish.\ncomplete -c trident -f\n")
	for _, l := range levels(app.Node, "") {
		condition := ""
		last := strings.Fields(l.path)
		switch {
		case len(last) > 0:
			condition = " -n '__fish_seen_subcommand_from " + last[len(last)-1] + "'"
		case len(l.words) > 0:
			condition = " -n __fish_use_subcommand"
		}
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
		if len(last) == 0 {
			condition = ""
		}
		for _, flag := range l.flags {
			b.WriteString("complete -c trident" + condition + " -l " + flag.Name + fishValue(flag) + " -d '" + quote.Replace(flag.Help) + "'\n")
		}
	}
	return b.String()
}

// fishValue says what follows a flag.
func fishValue(flag *kong.Flag) string {
	words, files := choices(flag.Value)
	switch {
	case flag.IsBool():
		return ""
	case files:
		return " -r -F"
	case len(words) > 0:
		return " -x -a '" + strings.Join(words, " ") + "'"
	}
	return " -x"
}
