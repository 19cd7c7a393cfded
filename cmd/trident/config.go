package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// configCommand has the subcommands for settings.
type configCommand struct {
	Check  configCheck  `cmd:"" help:"Check a settings file, together with the flags and the environment variables."`
	Print  configPrint  `cmd:"" help:"Print all settings, each with its origin, in the format of --config. Secrets are masked."`
	Schema configSchema `cmd:"" help:"Print the JSON schema of settings files, for editors."`
}

type configCheck struct {
	File string `arg:"" optional:"" help:"Settings file to check. Default: the file of --config."`
}

// Run reports all errors of a settings file, one per line.
func (c configCheck) Run(f *flags) error { return c.check(f, os.Stdout) }

func (c configCheck) check(f *flags, w io.Writer) error {
	if c.File != "" {
		cli, _, err := read(append(slices.Clone(f.args), "--config="+c.File))
		if err != nil {
			return err
		}
		f = &cli.flags
	}
	if f.file == nil {
		return errors.New("no settings file to check: name a file after the command or with --config")
	}
	if _, err := f.config(); err != nil {
		return err
	}
	var b strings.Builder
	unknown := f.unknownVariables(os.Environ())
	for _, name := range slices.Sorted(maps.Keys(unknown)) {
		fmt.Fprintf(&b, "warning: the unknown environment variable %s is ignored%s\n", name, didYouMean(unknown[name]))
	}
	fmt.Fprintf(&b, "%s: config OK\n", f.file.path)
	_, err := io.WriteString(w, b.String())
	return err
}

type configPrint struct {
	Given bool `help:"Print only the settings that a flag, a variable or the file sets."`
}

// Run prints the settings that serve would use.
func (c configPrint) Run(f *flags) error { return c.show(f, os.Stdout) }

func (c configPrint) show(f *flags, w io.Writer) error {
	if _, err := f.config(); err != nil {
		return err
	}
	root := &yaml.Node{Kind: yaml.MappingNode}
	group := ""
	for _, s := range f.settings {
		texts := s.texts()
		if !inFile(s.flag) || c.Given && s.origin == originDefault || len(texts) == 0 || s.origin == originDefault && texts[0] == "" {
			continue
		}
		key := &yaml.Node{Kind: yaml.ScalarNode, Value: s.flag.Name}
		if s.flag.Group != nil && s.flag.Group.Title != group {
			group = s.flag.Group.Title
			key.HeadComment = group
			if len(root.Content) > 0 {
				key.HeadComment = "\n" + group
			}
		}
		root.Content = append(root.Content, key, s.node(texts))
	}
	if f.file != nil {
		for i, node := range f.file.sections.Content {
			if i%2 == 0 {
				node.HeadComment = "\n" + f.file.path
			}
			root.Content = append(root.Content, node)
		}
	}
	if len(root.Content) == 0 {
		return nil
	}
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	return errors.Join(encoder.Encode(root), encoder.Close())
}

// node returns the value in YAML, with its origin as a comment.
func (s setting) node(texts []string) *yaml.Node {
	t := s.flag.Target.Type()
	if !isList(t) {
		n := scalar(kindOfType(t), masked(s.flag.Name, texts[0]))
		n.LineComment = s.origin
		return n
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle, LineComment: s.origin}
	for _, text := range texts {
		list.Content = append(list.Content, scalar(kindOfType(t.Elem()), masked(s.flag.Name, text)))
	}
	return list
}

// scalar returns a YAML scalar that is read back as the same kind.
func scalar(kind valueKind, text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	if kind == kindString || kind == kindDuration {
		n.Tag = "!!str"
	}
	return n
}

type configSchema struct{}

// Run prints the schema.
func (configSchema) Run(f *flags) error {
	text, err := f.schema()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}
