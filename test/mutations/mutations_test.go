package main

import (
	"bytes"
	"context"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trident-inference/trident/test/pause"
)

// leastMutations is the minimum number of mutations in the list.
const leastMutations = 25

// TestList checks that each file in test/mutations/list still applies to the code, parses and names
// tests that exist.
func TestList(t *testing.T) {
	const root = "../.."
	all, err := readMutations("list")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < leastMutations {
		t.Errorf("%d mutations, want at least %d", len(all), leastMutations)
	}
	validName := regexp.MustCompile(`^[a-z]+(-[a-z]+)+$`)
	defects := map[string]string{}
	for _, m := range all {
		if !validName.MatchString(m.name) {
			t.Errorf("%s: the name is not lower-case words with hyphens", m.name)
		}
		if other, twice := defects[m.defect]; twice {
			t.Errorf("%s and %s have the same defect", m.name, other)
		}
		defects[m.defect] = m.name
		if !strings.HasSuffix(m.file, ".go") || strings.HasSuffix(m.file, "_test.go") {
			t.Errorf("%s: %s is not a Go file of the product", m.name, m.file)
		}
		content, err := m.apply(root)
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
			continue
		}
		if _, err := parser.ParseFile(token.NewFileSet(), m.file, content, parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: the mutated file does not parse: %v", m.name, err)
		}
		checkTests(t, root, m)
	}
}

// checkTests checks that each alternative of the -run expression names a test of the package.
func checkTests(t *testing.T, root string, m *mutation) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, m.pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var tests []string
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range declared.FindAllStringSubmatch(string(content), -1) {
			tests = append(tests, match[1])
		}
	}
	for alternative := range strings.SplitSeq(m.run, "|") {
		top, _, _ := strings.Cut(alternative, "/")
		expression, err := regexp.Compile(top)
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
		} else if !slices.ContainsFunc(tests, expression.MatchString) {
			t.Errorf("%s: %s has no test %s", m.name, m.pkg, top)
		}
	}
}

func TestParseMutation(t *testing.T) {
	const header = "defect: It adds: wrong.\nfile: calc/calc.go\npackage: ./calc\nrun: ^TestSum$/^a$\n"
	m, err := parseMutation("calc-sum", header+"-- old --\n\ta +\n\tb\n-- new --\n\n\ta\n")
	want := mutation{name: "calc-sum", defect: "It adds: wrong.", file: "calc/calc.go", pkg: "./calc", run: "^TestSum$/^a$", old: "\ta +\n\tb", new: "\n\ta"}
	if err != nil || *m != want {
		t.Errorf("got %+v, %v", m, err)
	}
	if m, err := parseMutation("calc-sum", header+"-- old --\na\n-- new --\n"); err != nil || m.new != "" {
		t.Errorf("a deletion: got %+v, %v", m, err)
	}
	for text, want := range map[string]string{
		header:                                  "the sections old and new are missing",
		header + "-- old --\na\n":               "the sections old and new are missing",
		header + "-- old --\n\n-- new --\nb\n":  "the section old is empty",
		header + "-- old --\na\n-- new --\na\n": "the sections old and new are equal",
		"file: calc.go\npackage: ./calc\nrun: .\n-- old --\na\n-- new --\nb\n": "the field defect is missing",
		header + "run: .\n-- old --\na\n-- new --\nb\n":                        `the line "run: ." is not one of the fields`,
		"files: x\n-- old --\na\n-- new --\nb\n":                               `the line "files: x" is not one of the fields`,
	} {
		if _, err := parseMutation("calc-sum", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// source is a module whose tests react to mutations in each possible way.
var source = map[string]string{
	"go.mod": "module example.com/calc\n\ngo 1.26\n",
	"calc/calc.go": `package calc

func Sum(a, b int) int { return a + b }

func Twice(a int) int { return a + a }
`,
	"calc/calc_test.go": `package calc

import (
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if Twice(1) != 2 {
		code = 1
	}
	os.Exit(code)
}

func TestSum(t *testing.T) {
	t.Run("small", func(t *testing.T) {
		if Sum(1, 2) != 3 {
			t.Error("wrong")
		}
	})
	t.Run("zero", func(t *testing.T) {
		if Sum(0, 0) != 0 {
			t.Error("wrong")
		}
	})
}

func TestOther(*testing.T) {}

func TestSkipped(t *testing.T) { t.Skip("not here") }

func TestBinary(t *testing.T) {
	if out, err := exec.Command("go", "run", "../tool").CombinedOutput(); err != nil || string(out) != "3" {
		t.Errorf("%s, %v", out, err)
	}
}

func TestHang(t *testing.T) {
	if Sum(1, 2) != 3 {
		if err := os.WriteFile("../pid", []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
			t.Error(err)
		}
		<-time.After(time.Hour)
	}
}
`,
	"tool/main.go": `package main

import (
	"os"
	"strconv"

	"example.com/calc/calc"
)

func main() { os.Stdout.WriteString(strconv.Itoa(calc.Sum(1, 2))) }
`,
	"broken/broken_test.go": `package broken

import "testing"

func TestBroken(t *testing.T) { t.Error("always") }
`,
}

// testRunner returns a runner of that module, and its log.
func testRunner(ctx context.Context, t *testing.T, timeout time.Duration) (r *runner, log *bytes.Buffer) {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles and runs tests")
	}
	root := t.TempDir()
	for name, content := range source {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log = &bytes.Buffer{}
	r, err := newRunner(ctx, root, timeout, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(r.scratch); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", r.scratch, err)
		}
		for name, content := range source {
			if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(got) != content {
				t.Errorf("%s was changed: %s, %v", name, got, err)
			}
		}
	})
	return r, log
}

func calc(name, run, before, after string) *mutation {
	return &mutation{name: name, defect: name, file: "calc/calc.go", pkg: "./calc", run: run, old: before, new: after}
}

func TestVerdicts(t *testing.T) {
	r, log := testRunner(t.Context(), t, 10*time.Second)
	broken := calc("calc-broken", "^TestBroken$", "a + b", "a - b")
	broken.pkg = "./broken"
	tests := []struct {
		mutation *mutation
		want     verdict
		failed   []string
		logged   string
	}{
		{calc("calc-caught", "^TestSum$", "a + b", "a - b"), caughtByTest, []string{"TestSum/small"}, "calc-caught: caught by TestSum/small"},
		{calc("calc-binary", "^TestBinary$", "a + b", "a - b"), caughtByTest, []string{"TestBinary"}, "calc-binary: caught"},
		{calc("calc-survived", "^TestSum$/^zero$|^TestOther$", "a + b", "a - b"), survived, nil, "calc-survived: survived"},
		{calc("calc-gone", "^TestSum$", "a * b", "a - b"), notApplicable, nil, "the old text occurs 0 times in calc/calc.go instead of once"},
		{calc("calc-ambiguous", "^TestSum$", "int { return a + ", "int { return "), notApplicable, nil, "the old text occurs 2 times in calc/calc.go instead of once"},
		{calc("calc-unbuilt", "^TestSum$", "a + b", "a + c"), notBuilt, nil, "undefined: c"},
		{calc("calc-hangs", "^TestHang$", "a + b", "a - b"), timedOut, nil, "panic: test timed out after 10s"},
		{calc("calc-untested", "^TestMissing$", "a + b", "a - b"), noTest, nil, "no tests to run"},
		{calc("calc-skipped", "^TestSkipped$", "a + b", "a - b"), allSkipped, nil, "not here"},
		{calc("calc-outside", "^TestOther$", "a + a", "a"), failedOutside, nil, "calc-outside: failed outside of a test"},
		{broken, failedBaseline, nil, "./broken without a mutation: tests fail"},
	}
	var all []*mutation
	for _, test := range tests {
		all = append(all, test.mutation)
	}
	results := r.run(t.Context(), all, 4)
	for i, test := range tests {
		if got := results[i]; got.mutation != test.mutation || got.verdict != test.want || !slices.Equal(got.failed, test.failed) {
			t.Errorf("%s: got %s, %v: %s", test.mutation.name, got.verdict, got.failed, got.detail)
		}
		if !strings.Contains(log.String(), test.logged) {
			t.Errorf("%s: the log has no %q:\n%s", test.mutation.name, test.logged, log)
		}
	}
	var table strings.Builder
	if err := writeAligned(&table, tableOf(results[:3])); err != nil {
		t.Error(err)
	}
	lines := strings.Split(table.String(), "\n")
	for i, want := range []string{`^MUTATION +CAUGHT BY +SECONDS$`, `^calc-caught +calc TestSum/small +\d+\.\d$`, `^calc-binary +calc TestBinary +\d+\.\d$`, `^calc-survived +SURVIVED +\d+\.\d$`} {
		if !regexp.MustCompile(want).MatchString(lines[i]) {
			t.Errorf("line %q of the table is not %s", lines[i], want)
		}
	}
}

// TestInterrupt checks that an interrupted run of the mutations also ends the tests that hang.
func TestInterrupt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, _ := testRunner(ctx, t, time.Minute)
	results := make(chan []result, 1)
	go func() {
		results <- r.run(ctx, []*mutation{calc("calc-hangs", "^TestHang$", "a + b", "a - b"), calc("calc-caught", "^TestSum$", "a + b", "a - b")}, 1)
	}()
	pid := 0
	if !pause.Until(time.Minute, func() bool {
		content, _ := os.ReadFile(filepath.Join(r.root, "pid"))
		pid, _ = strconv.Atoi(string(content))
		return pid != 0
	}) {
		t.Fatal("the test did not start")
	}
	cancel()
	for _, res := range <-results {
		if res.verdict != interrupted {
			t.Errorf("%s: %s", res.mutation.name, res.verdict)
		}
	}
	if !pause.Until(time.Minute, func() bool { return syscall.Kill(pid, 0) != nil }) {
		t.Error("the test still runs")
	}
}

func TestCommandErrors(t *testing.T) {
	t.Chdir("../..")
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--run", "("}, "--run: error parsing regexp"},
		{[]string{"--run", "^none$"}, "--run: no mutation's name matches ^none$"},
		{[]string{"--jobs", "0"}, "--jobs: 0 is not positive"},
		{[]string{"auth"}, `unexpected argument "auth"`},
	} {
		var out, log strings.Builder
		if err := command(t.Context(), test.args, &out, &log); err == nil || !strings.Contains(err.Error(), test.want) || out.Len() > 0 {
			t.Errorf("%q: got %v, %s", test.args, err, out.String())
		}
	}
	var out, log strings.Builder
	if err := command(t.Context(), []string{"--list", "--run", "^tls-"}, &out, &log); err != nil || out.String() != "tls-client-certificate  A client without a certificate is served despite --tls-client-ca.\n" {
		t.Errorf("got %v, %q", err, out.String())
	}
	t.Chdir("test")
	if err := command(t.Context(), nil, &out, &log); err == nil || !strings.Contains(err.Error(), "run this command from the root of the source tree") {
		t.Errorf("got %v", err)
	}
}
