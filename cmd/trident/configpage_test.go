package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/fx"
)

const configurationPage = "../../docs/reference/configuration.md"

// TestConfigurationPage checks that the tables of the configuration page match the flags and the keys
// of models. With -update it writes the tables.
func TestConfigurationPage(t *testing.T) {
	data, err := os.ReadFile(configurationPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	f := readLine(t)
	page = replaced(t, page, "models", modelTablePage())
	page = replaced(t, page, "flags", flagTablePage(f, reloadable(t)))
	if *update {
		if err := os.WriteFile(configurationPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if page != string(data) {
		t.Error("docs/reference/configuration.md differs from the flags' help; update it: go test ./cmd/trident -run 'TestConfig' -update")
	}
}

// replaced returns the page with another text between its marks.
func replaced(t *testing.T, page, mark, text string) string {
	t.Helper()
	begin, end := "<!-- "+mark+" -->\n", "<!-- end -->"
	before, rest, found := strings.Cut(page, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("the page has no comment <!-- %s -->", mark)
	}
	return before + begin + text + end + after
}

func modelTablePage() string {
	var b strings.Builder
	b.WriteString("| key | value | what |\n|---|---|---|\n")
	for _, k := range modelKeys() {
		kind := string(k.kind)
		switch {
		case k.list && k.kind == kindInt:
			kind = "a list of whole numbers"
		case k.list:
			kind = "a list of strings"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", k.name, kind, k.help)
	}
	return b.String()
}

// cell escapes a text for a Markdown table.
var cell = strings.NewReplacer("|", `\|`, "<", "&lt;")

func flagTablePage(f *flags, reloads []string) string {
	var groups []string
	rows := map[string]string{}
	for _, s := range f.settings {
		group := s.flag.Group.Title
		if rows[group] == "" {
			groups = append(groups, group)
		}
		name := "`--" + s.flag.Name + "`"
		if s.flag.Short != 0 {
			name = fmt.Sprintf("`-%c`, ", s.flag.Short) + name
		}
		for _, alias := range s.flag.Aliases {
			name += ", `--" + alias + "`"
		}
		value, now := "", ""
		if s.flag.Default != "" {
			value = "`" + s.flag.Default + "`"
		}
		if slices.Contains(reloads, s.flag.Name) {
			now = "⟳"
		}
		rows[group] += fmt.Sprintf("| %s | %s | %s | %s |\n", name, value, now, cell.Replace(s.flag.Help))
	}
	var b strings.Builder
	for _, group := range groups {
		fmt.Fprintf(&b, "\n### %s\n\n| flag and key | default | | what |\n|---|---|---|---|\n%s", group, rows[group])
	}
	return b.String() + "\n"
}

// reloadable returns the flags that the parts of the application can change at run
// time.
func reloadable(t *testing.T) (names []string) {
	t.Helper()
	f := readLine(t, "--host=127.0.0.1", "--openai-port=0", "--triton-endpoint=127.0.0.1:1", "--shutdown-timeout=1s")
	cfg, err := f.config()
	if err != nil {
		t.Fatal(err)
	}
	var r *reloader
	app := fx.New(graph(f, cfg, slog.New(slog.DiscardHandler), func(error) {}), fx.Populate(&r), fx.NopLogger)
	if err := app.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := app.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	for _, part := range r.parts {
		names = append(names, part.flags...)
	}
	for _, name := range names {
		if !slices.ContainsFunc(f.settings, func(s setting) bool { return s.flag.Name == name }) {
			t.Errorf("a part of the reload accepts --%s, which doesn't exist", name)
		}
	}
	return names
}
