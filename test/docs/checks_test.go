package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/format"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/osteele/liquid"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/test/docs/blocks"
)

// checker reads blocks with a tool. It returns what the tool reports, by the index of the block.
type checker func(t *testing.T, list []blocks.Block) map[int]string

// checkers has the tools of this package. cmd/trident reads the settings of Trident, test/deploy the files of
// deployments.
var checkers = map[string]checker{
	blocks.Shell:      shellcheck,
	blocks.Python:     scripted("python", pythonReads, "py"),
	blocks.TOML:       scripted("python", pythonReads, "toml"),
	blocks.Node:       scripted("node", nodeReads, "js", "--experimental-vm-modules", "--no-warnings"),
	blocks.TypeScript: scripted("node", nodeReads, "ts", "--experimental-vm-modules", "--no-warnings"),
	blocks.Go:         each(readGo),
	blocks.JSON:       each(readJSON),
	blocks.Liquid:     each(readLiquid),
	blocks.ModelFile:  each(readModelFile),
}

// elsewhere has the tools of other packages: cmd/trident, test/deploy, test/e2e for proxies, and test/epp for Envoy.
var elsewhere = []string{blocks.Settings, blocks.Keys, blocks.Compose, blocks.Kube, blocks.Container, blocks.Values, blocks.Prometheus, blocks.Hadolint, blocks.Systemd, blocks.Proxy, blocks.Envoy}

// proxies is the page whose proxies test/e2e starts.
const proxies = "docs/guides/proxies.md"

// TestChecks reads each check block with its tool. Shell code is read even if it isn't run.
func TestChecks(t *testing.T) {
	all, err := blocks.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	for tool, check := range checkers {
		t.Run(tool, func(t *testing.T) {
			list := blocks.ReadBy(all, tool)
			if tool == blocks.Shell {
				list = shellCode(all)
			}
			for i, problem := range check(t, list) {
				t.Errorf("%s: %s", list[i], problem)
			}
		})
	}
}

// shellCode returns all blocks of shell code, those too that run or are never run.
func shellCode(all []blocks.Block) (found []blocks.Block) {
	for _, b := range all {
		if b.Lang == "sh" || b.Lang == "bash" {
			found = append(found, b)
		}
	}
	return found
}

// TestCheckers checks that each tool accepts correct code and reports what is wrong.
func TestCheckers(t *testing.T) {
	for tool, c := range map[string]struct{ good, bad []string }{
		blocks.Shell:      {[]string{"curl -N \"$URL\"\n", "cd dist && ls\n"}, []string{"if true\n", "ls $(echo 'a)\n", "[ $a == 1 ]] && b\n"}},
		blocks.Python:     {[]string{"async for a in b(): print(a)\n"}, []string{"print 'a'\n", "def a(:\n"}},
		blocks.TOML:       {[]string{"[a]\nb = 1\n"}, []string{"a = \n"}},
		blocks.Node:       {[]string{"import a from 'a';\nfor await (const b of a) console.log(b);\n"}, []string{"const a: string = 1;\n", "let a = ;\n"}},
		blocks.TypeScript: {[]string{"import { A } from 'a';\nconst a: A = await b();\n"}, []string{"let a: = 1;\n", "const a;\n"}},
		blocks.Go:         {[]string{"a, err := b()\nc(a)\n", "package main\n\nfunc main() {}\n"}, []string{"a  := 1\n", "if {\n", "package main\n\nfunc main() { a := 1 }\n", "package main\n\nfunc main() {\n\tvar a int = \"b\"\n\t_ = a\n}\n"}},
		blocks.JSON:       {[]string{"{\"a\": 1}\n", "{\"a\": 1}\n{\"b\": 2}\n"}, []string{"{\"a\": 1,}\n", "{a: 1}\n", "\n"}},
		blocks.Liquid:     {[]string{"{% for a in b %}{{ a }}{% endfor %}\n"}, []string{"{% for a in b %}\n"}},
		blocks.ModelFile:  {[]string{"backend: \"vllm\"\nparameters [ { key: \"A\" value: { string_value: \"b\" } } ]\n"}, []string{"back: \"vllm\"\n"}},
	} {
		t.Run(tool, func(t *testing.T) {
			var list []blocks.Block
			for i, code := range append(c.good, c.bad...) {
				list = append(list, blocks.Block{Page: "a.md", Line: i, Code: code})
			}
			problems := checkers[tool](t, list)
			for i := range list {
				if bad := i >= len(c.good); bad != (problems[i] != "") {
					t.Errorf("%q: the tool reports %q", list[i].Code, problems[i])
				}
			}
		})
	}
}

// TestToolsHaveCheckers checks that a test reads the blocks of each tool.
func TestToolsHaveCheckers(t *testing.T) {
	all, err := blocks.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]bool{}
	for tool := range checkers {
		read[tool] = true
	}
	for _, tool := range elsewhere {
		read[tool] = true
	}
	for _, b := range all {
		if tool, err := b.Tool(); b.Kind == blocks.Check && (err != nil || !read[tool]) {
			t.Errorf("%s: no test reads blocks of %s: %v", b, tool, err)
		} else if b.Kind == blocks.Check && (tool == blocks.Proxy || tool == blocks.Envoy) && b.Page != proxies {
			t.Errorf("%s: only the proxies of %s are read", b, proxies)
		}
	}
}

// each makes a checker of a function that reads one block.
func each(read func(t *testing.T, b blocks.Block) error) checker {
	return func(t *testing.T, list []blocks.Block) map[int]string {
		t.Helper()
		problems := map[int]string{}
		for i, b := range list {
			if err := read(t, b); err != nil {
				problems[i] = err.Error()
			}
		}
		return problems
	}
}

func readJSON(_ *testing.T, b blocks.Block) error {
	d := json.NewDecoder(strings.NewReader(b.Code))
	for n := 0; ; n++ {
		var value any
		if err := d.Decode(&value); errors.Is(err, io.EOF) && n > 0 {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func readLiquid(_ *testing.T, b blocks.Block) error {
	_, err := liquid.NewEngine().ParseString(b.Code)
	if err != nil {
		return err
	}
	return nil
}

func readModelFile(_ *testing.T, b blocks.Block) error {
	return prototext.Unmarshal([]byte(b.Code), &kserve.ModelConfig{})
}

// readGo checks the format of Go code. go vet reads a whole program, also its types.
func readGo(t *testing.T, b blocks.Block) error {
	t.Helper()
	formatted, err := format.Source([]byte(b.Code))
	if err != nil {
		return err
	}
	if string(formatted) != b.Code {
		return errors.New("gofmt formats the code in another way")
	}
	if !strings.HasPrefix(b.Code, "package ") {
		return nil
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(b.Code), 0o600); err != nil {
		return err
	}
	cmd := exec.CommandContext(t.Context(), "go", "vet", file)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go vet: %s", out)
	}
	return nil
}

// installed returns the path of a program that make setup-test installs.
func installed(t *testing.T, name string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the tools of make setup-test")
	}
	file, err := filepath.Abs(filepath.Join(root, ".venv-test", "bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("%s is not installed: run make setup-test", name)
	}
	return file
}

// ignoredByShellcheck are rules that don't fit commands on a page: variables that the reader sets or uses later,
// and failures of cd and of a command in an export.
const ignoredByShellcheck = "SC2034,SC2154,SC2155,SC2164"

var shellcheckLine = regexp.MustCompile(`(?m)^(\d+)\.sh:(\d+):\d+: (.*)$`)

// shellcheck reads the blocks as scripts of bash.
func shellcheck(t *testing.T, list []blocks.Block) map[int]string {
	t.Helper()
	program, problems := installed(t, "shellcheck"), map[int]string{}
	dir := t.TempDir()
	args := []string{"--norc", "--shell=bash", "--severity=warning", "--format=gcc", "--exclude=" + ignoredByShellcheck}
	for i, b := range list {
		name := fmt.Sprintf("%d.sh", i)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(b.Code), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, name)
	}
	if len(list) == 0 {
		return nil
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	for _, line := range shellcheckLine.FindAllStringSubmatch(string(out), -1) {
		var i int
		if _, err := fmt.Sscan(line[1], &i); err != nil {
			t.Fatal(err)
		}
		problems[i] += fmt.Sprintf("line %s: %s; ", line[2], line[3])
	}
	if err != nil && len(problems) == 0 {
		t.Fatalf("shellcheck: %v\n%s", err, out)
	}
	return problems
}

// pythonReads is a Python program that reads a list of blocks as JSON and prints the problems. It compiles Python, and
// parses TOML.
const pythonReads = `
import ast, json, sys, tomllib
problems = {}
for i, code in enumerate(json.load(sys.stdin)):
    try:
        if sys.argv[1] == "toml":
            tomllib.loads(code)
        else:
            compile(code, "block", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError) as e:
        problems[i] = str(e)
json.dump(problems, sys.stdout)
`

// nodeReads is the same for Node. Each block is parsed as a module; types are removed first.
const nodeReads = `
const vm = require("node:vm"), { stripTypeScriptTypes } = require("node:module");
const problems = {};
JSON.parse(require("node:fs").readFileSync(0)).forEach((code, i) => {
  try {
    new vm.SourceTextModule(process.argv[1] === "ts" ? stripTypeScriptTypes(code) : code);
  } catch (e) {
    problems[i] = String(e);
  }
});
console.log(JSON.stringify(problems));
`

// scripted makes a checker of a program that reads all blocks at once. kind is the program's argument.
func scripted(interpreter, program, kind string, flags ...string) checker {
	return func(t *testing.T, list []blocks.Block) map[int]string {
		t.Helper()
		var codes []string
		for _, b := range list {
			codes = append(codes, b.Code)
		}
		if len(codes) == 0 {
			return nil
		}
		input, err := json.Marshal(codes)
		if err != nil {
			t.Fatal(err)
		}
		run := map[string]string{"python": "-c", "node": "-e"}[interpreter]
		cmd := exec.CommandContext(t.Context(), installed(t, interpreter), append(flags, run, program, kind)...)
		cmd.Stdin = bytes.NewReader(input)
		var log bytes.Buffer
		cmd.Stderr = &log
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v\n%s", interpreter, err, &log)
		}
		problems := map[int]string{}
		if err := json.Unmarshal(out, &problems); err != nil {
			t.Fatalf("%s: %v\n%s", interpreter, err, out)
		}
		return problems
	}
}
