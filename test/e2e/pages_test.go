package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trident-inference/trident/test/docs/blocks"
	"github.com/trident-inference/trident/test/tier"
)

// own is the word on a run block of a page that starts its servers itself. Other pages use the demo models at the
// default address.
const own = "own"

// pageLimit is the time limit of all commands of a page.
const pageLimit = 3 * time.Minute

// TestPages runs the blocks of the documentation that are marked run, and compares what they print with the page. The
// blocks of a page run in one shell, in a folder with the files of the source tree that users have, in which the files
// that the page shows are written too. Ports are replaced by free ones. test/clients runs the pages in docs/recipes.
func TestPages(t *testing.T) {
	t.Parallel()
	all, err := blocks.Read(root(t))
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string][]blocks.Block{}
	for _, b := range all {
		if !strings.HasPrefix(b.Page, "docs/recipes/") {
			pages[b.Page] = append(pages[b.Page], b)
		}
	}
	ran := 0
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		has := func(word string) bool {
			return slices.ContainsFunc(pages[page], func(b blocks.Block) bool { return b.Kind == blocks.Run && b.Has(word) })
		}
		if !slices.ContainsFunc(pages[page], func(b blocks.Block) bool { return b.Kind == blocks.Run }) {
			continue
		}
		ran++
		t.Run(page, func(t *testing.T) {
			if has(blocks.Slow) {
				tier.OnlySlow(t)
			}
			ports := ""
			if !has(own) {
				ports = serving(t).url
			}
			runPage(t, pages[page], ports)
		})
	}
	if ran == 0 {
		t.Error("no page has a block that runs")
	}
}

// defaultPort is the port of the addresses on the pages.
const defaultPort = "9000"

// defaultPorts are Trident's default ports by the variables that change them.
var defaultPorts = map[string]string{"OPENAI_PORT": defaultPort, "KSERVE_HTTP_PORT": "8000", "KSERVE_GRPC_PORT": "8001"}

// pagePort matches a port on a page: after a host, or as the value of a flag.
var pagePort = regexp.MustCompile(`((?:127\.0\.0\.1|localhost|0\.0\.0\.0):|-port[= ]|-p )(\d{4,5})\b`)

// portMap replaces the ports of a page by free ones, and in outputs the other way round.
type portMap struct{ to, back map[string]string }

// newPortMap maps the ports of the blocks. The default port is that of the served address, unless it is empty.
func newPortMap(t *testing.T, page []blocks.Block, served string) portMap {
	t.Helper()
	m := portMap{map[string]string{}, map[string]string{}}
	use := func(port, free string) { m.to[port], m.back[free] = free, port }
	if served != "" {
		address, err := url.Parse(served)
		if err != nil {
			t.Fatal(err)
		}
		use(defaultPort, address.Port())
	} else {
		for _, port := range defaultPorts {
			use(port, freePort(t))
		}
	}
	for _, b := range page {
		for _, found := range pagePort.FindAllStringSubmatch(b.Code, -1) {
			if m.to[found[2]] == "" {
				use(found[2], freePort(t))
			}
		}
	}
	return m
}

func (m portMap) replace(text string) string {
	return pagePort.ReplaceAllStringFunc(text, func(s string) string {
		found := pagePort.FindStringSubmatch(s)
		return found[1] + m.to[found[2]]
	})
}

// variables returns the environment by which a Trident of the page listens on free ports where the page names none.
func (m portMap) variables(served string) (env []string) {
	if served != "" {
		return nil
	}
	for variable, port := range defaultPorts {
		env = append(env, "TRIDENT_"+variable+"="+m.to[port])
	}
	return append(env, "TRIDENT_HOST=127.0.0.1")
}

// restore replaces the free ports in an output.
func (m portMap) restore(text string) string {
	for free, port := range m.back {
		text = regexp.MustCompile(`\b`+free+`\b`).ReplaceAllString(text, port)
	}
	return text
}

// borderMark is the character before the number of a block in the output of the shell.
const borderMark = "\x1e"

func runPage(t *testing.T, page []blocks.Block, served string) {
	t.Helper()
	ports, dir := newPortMap(t, page, served), pageFolder(t)
	var script strings.Builder
	script.WriteString("set -e\n")
	for i, b := range page {
		code := ports.replace(b.Code)
		if file := b.File(); file != "" {
			appendFile(t, filepath.Join(dir, file), code)
			continue
		}
		if b.Kind != blocks.Run {
			continue
		}
		fmt.Fprintf(&script, "printf '\\n%s%d\\n'\n", borderMark, i)
		if program := blocks.Runners[b.Lang]; program == "bash" {
			script.WriteString(code)
		} else {
			file := fmt.Sprintf(".block-%d.%s", i, map[string]string{"python": "py", "node": "mjs"}[program])
			appendFile(t, filepath.Join(dir, file), code)
			fmt.Fprintf(&script, "%s %s\n", program, file)
		}
	}
	outputs, log, err := shell(t, dir, script.String(), ports.variables(served)...)
	if err != nil {
		t.Errorf("%v\n%s\noutputs: %+v", err, log, outputs)
	}
	for _, o := range outputs {
		b := page[o.block]
		if o.block+1 == len(page) || page[o.block+1].Kind != blocks.Output {
			continue
		}
		if want, got := page[o.block+1], ports.restore(o.text); !matches(want.Code, got) {
			t.Errorf("%s prints\n%s\nbut %s shows\n%s", b, got, want, want.Code)
		}
	}
	if wants := slices.IndexFunc(page, func(b blocks.Block) bool { return b.Kind == blocks.Run && b.File() == "" }); wants >= 0 && len(outputs) == 0 {
		t.Error("no block ran")
	}
}

// pageFolder returns a folder that looks like the source tree to the page's commands.
func pageFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{".venv", "models", "examples", "deploy", "openapi"} {
		if err := os.Symlink(filepath.Join(root(t), name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(programs(t), filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func appendFile(t *testing.T, path, code string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(code)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// pageOutput is the standard output of a block.
type pageOutput struct {
	block int
	text  string
}

// shell runs a script and returns the standard output of each block, and the standard error of all. Processes that the
// script leaves behind are ended.
func shell(t *testing.T, dir, script string, variables ...string) ([]pageOutput, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), pageLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	tools := filepath.Join(root(t), ".venv-test", "bin")
	cmd.Dir = dir
	cmd.Env = environment(append(variables, "HOME="+dir, raceOptions, "PATH="+strings.Join([]string{programs(t), tools, os.Getenv("PATH")}, ":"))...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) // the group may be empty
	}
	if errors.Is(err, exec.ErrWaitDelay) { // a server in the background has the pipe
		err = nil
	}
	var outputs []pageOutput
	for _, part := range strings.Split(stdout.String(), borderMark)[1:] {
		number, text, _ := strings.Cut(part, "\n")
		o := pageOutput{text: text}
		if _, err := fmt.Sscan(number, &o.block); err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, o)
	}
	return outputs, stderr.String(), err
}

var blanks = regexp.MustCompile(` {2,}`)

// matches reports whether an output is the one that a page shows. On the page … stands for any string, and a line that
// is only … for any number of lines. Blanks at the ends of lines don't matter, nor does the number of blanks between the
// columns of a line with ….
func matches(shown, got string) bool {
	var pattern strings.Builder
	pattern.WriteString(`^`)
	for line := range strings.Lines(strings.TrimSpace(shown)) {
		line = strings.TrimRight(line, " \r\n")
		if line == "…" {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		parts := strings.Split(line, "…")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
			if len(parts) > 1 { // the columns of a table are as wide as their content
				parts[i] = blanks.ReplaceAllString(parts[i], " +")
			}
		}
		pattern.WriteString(strings.Join(parts, ".*") + `\n`)
	}
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(got)) {
		lines = append(lines, strings.TrimRight(line, " \r\n"))
	}
	return regexp.MustCompile(pattern.String() + `$`).MatchString(strings.Join(lines, "\n") + "\n")
}

// TestPageOutputs checks which outputs count as those that a page shows.
func TestPageOutputs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shown, got string
		want       bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\nb\n", "\na  \nb\n\n", true},
		{"a…c\n", "abbbc\n", true},
		{"a\n…\nd\n", "a\nb\nc\nd\n", true},
		{"a\n…\nc\n", "a\nc\n", true},
		{"a\n…\n", "a\nb\n", true},
		{"a  …    c\n", "a  bbbb  c\n", true},
		{"a.c\n", "abc\n", false},
		{"a\n", "a\nb\n", false},
		{"a…c\n", "a\nc\n", false},
		{"a\nb\n", "b\na\n", false},
		{"a\n", "", false},
	} {
		if matches(c.shown, c.got) != c.want {
			t.Errorf("%q shown and %q printed: want %v", c.shown, c.got, c.want)
		}
	}
	m := portMap{map[string]string{"9000": "4321", "8001": "5432"}, map[string]string{"4321": "9000", "5432": "8001"}}
	const code = "curl http://127.0.0.1:9000/v1 localhost:8001 --openai-port=9000 --max-tokens=9000"
	if got := m.replace(code); got != "curl http://127.0.0.1:4321/v1 localhost:5432 --openai-port=4321 --max-tokens=9000" {
		t.Errorf("ports are replaced: %s", got)
	} else if back := m.restore(got); back != code {
		t.Errorf("and restored: %s", back)
	}
}
