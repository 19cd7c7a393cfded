package clients

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTable checks that each row is complete, and that each page has a row, an entry in the index and the form of the pages.
func TestTable(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(pages, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var names, tasks, further []string
	for _, r := range rows() {
		t.Run(r.Name, func(t *testing.T) {
			for _, flaw := range r.flaws() {
				t.Error(flaw)
			}
			for _, more := range r.more() {
				if _, err := more.code(); err != nil {
					t.Errorf("the further run %q: %v", more.Name, err)
				}
			}
			p, err := readPage(r.Name)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(p.text, r.install()) {
				t.Errorf("the page doesn't contain %q", r.install())
			}
			if line := r.entry(); !strings.Contains(string(index), line) {
				t.Errorf("the index lacks the line\n%s", line)
			}
		})
		names = append(names, r.Name)
		for _, run := range append(r.more(), r) {
			for _, s := range run.Scripts {
				tasks = append(tasks, s.Task)
			}
		}
		for _, more := range r.more() {
			further = append(further, more.Name)
		}
	}
	files, err := filepath.Glob(filepath.Join(pages, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".md"); name != "README" && !slices.Contains(names, name) {
			t.Errorf("%s has no row: nothing tests the page", file)
		}
	}
	folders, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if !slices.Contains(further, folder.Name()) {
			t.Errorf("testdata/%s has no further run: nothing runs it", folder.Name())
		}
	}
	for i, task := range tasks {
		if slices.ContainsFunc(tasks[:i], func(other string) bool { return strings.Contains(task, other) || strings.Contains(other, task) }) {
			t.Errorf("the task %q is part of another script's task", task)
		}
	}
	for _, r := range rows() {
		for _, other := range rows() {
			if task := r.taskIn(t, &other); task != "" {
				t.Errorf("the task %q of %s is in the steps of %s", task, r.Name, other.Name)
			}
		}
	}
	if !slices.ContainsFunc(rows(), func(r row) bool { return r.Check }) {
		t.Error("no row runs in the check tier")
	}
}

// taskIn returns a task of the row that the model writes by a script of another row, after which the model would follow the
// task's script. It is "" if there is none.
func (r *row) taskIn(t *testing.T, other *row) string {
	t.Helper()
	if r.Name == other.Name {
		return ""
	}
	for _, run := range append(other.more(), *other) {
		for _, s := range run.Scripts {
			steps, err := json.Marshal(s.Steps)
			if err != nil {
				t.Fatal(err)
			}
			for _, own := range append(r.more(), *r) {
				for _, script := range own.Scripts {
					if strings.Contains(string(steps), script.Task) {
						return script.Task
					}
				}
			}
		}
	}
	return ""
}

// flaws returns which parts of the row are missing.
func (r *row) flaws() (flaws []string) {
	for name, missing := range map[string]bool{
		"a program": r.Program == "", "a package with version and hash": r.Package == "" || r.Version == "" || r.Hash == "", "a list": r.List == "", "hashes of npm's packages": r.List.npm() && r.Modules[r.Package] == "",
		"a task": r.Task == "", "an effect": len(r.Prints)+len(r.Files) == 0, "a request": len(r.Wire) == 0,
		"a mutation of one field or event": (r.Mutation.Field == "") == (r.Mutation.Event == ""), "a script": len(r.Scripts) == 0 && !slices.Contains([]models{demo, scored, encoded, vectors}, r.Models),
	} {
		if missing {
			flaws = append(flaws, "the row lacks "+name)
		}
	}
	for _, m := range r.More {
		if m.Name == "" || len(m.Prints)+len(m.Files) == 0 || len(m.Wire) == 0 {
			flaws = append(flaws, fmt.Sprintf("the further run %q lacks a name, an effect or a request", m.Name))
		}
	}
	return flaws
}

// install returns the end of the command by which a reader installs the tested version.
func (r *row) install() string {
	if r.List.npm() {
		return r.Package + "@" + r.Version
	}
	return r.Package + r.Extras + "==" + r.Version
}

// entry returns the row's line in the index of the pages.
func (r *row) entry() string {
	return fmt.Sprintf("| [%s](%s.md) | `%s` | %s |\n", r.Program, r.Name, r.install(), r.Task)
}
