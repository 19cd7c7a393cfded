package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mutation is a defect that the tests must catch.
type mutation struct {
	name   string // name of the mutation's file without the extension
	defect string // the effect that a user would see
	file   string // the file to change, relative to the root of the source tree
	pkg    string // the package whose tests catch the mutation, such as ./services/inference
	run    string // the expression for go test -run

	old, new string // old occurs exactly once in the file and becomes new
}

// readMutations reads all mutations of a folder, in the order of their names.
func readMutations(folder string) ([]*mutation, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var all []*mutation
	for _, entry := range entries {
		name, isText := strings.CutSuffix(entry.Name(), ".txt")
		if !isText {
			return nil, fmt.Errorf("%s: %s is not a .txt file", folder, entry.Name())
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		m, err := parseMutation(name, string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(folder, entry.Name()), err)
		}
		all = append(all, m)
	}
	return all, nil
}

// The marker lines that start the two sections of a mutation's file.
const (
	oldLine = "-- old --\n"
	newLine = "-- new --\n"
)

func parseMutation(name, text string) (*mutation, error) {
	header, sections, hasOld := strings.Cut(text, oldLine)
	before, after, hasNew := strings.Cut(sections, newLine)
	if !hasOld || !hasNew {
		return nil, errors.New("the sections old and new are missing")
	}
	m := &mutation{name: name, old: strings.TrimSuffix(before, "\n"), new: strings.TrimSuffix(after, "\n")}
	fields := map[string]*string{"defect": &m.defect, "file": &m.file, "package": &m.pkg, "run": &m.run}
	for line := range strings.Lines(header) {
		key, value, _ := strings.Cut(line, ":")
		field := fields[key]
		if field == nil || *field != "" {
			return nil, fmt.Errorf("the line %q is not one of the fields defect, file, package and run, or repeats one", strings.TrimSpace(line))
		}
		*field = strings.TrimSpace(value)
	}
	for key, field := range fields {
		if *field == "" {
			return nil, fmt.Errorf("the field %s is missing", key)
		}
	}
	switch m.old {
	case "":
		return nil, errors.New("the section old is empty")
	case m.new:
		return nil, errors.New("the sections old and new are equal")
	}
	return m, nil
}

// apply returns the mutated content of the file.
func (m *mutation) apply(root string) (string, error) {
	content, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(content), m.old); n != 1 {
		return "", fmt.Errorf("the old text occurs %d times in %s instead of once", n, m.file)
	}
	return strings.Replace(string(content), m.old, m.new, 1), nil
}
