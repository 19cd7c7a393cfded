// Package golden compares tests with oracles, the programs whose behavior Trident reproduces, by
// answers that are recorded in golden files.
//
// By default a test reads the answers from its golden file and needs no oracle. In the slow tier
// (package tier) it runs the oracle, and fails if the golden file has other answers. With -update
// it runs the oracle and writes the golden file.
package golden

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/triton/tritonserver"
	"github.com/trident-inference/trident/test/tier"
)

//nolint:gochecknoglobals // a flag
var update = flag.Bool("update", false, "ask the oracles and write their answers to the golden files")

// Update reports whether -update is set.
func Update() bool { return *update }

// askTime bounds one run of an oracle.
const askTime = time.Hour

// Oracle is a Python program that answers each line of JSON with a line of JSON.
// It answers {"versions": true} with the packages that its answers depend on:
// {"versions": ["NAME==VERSION", ...]}.
type Oracle struct {
	// Script is the program's path from the top of the source tree.
	Script string
	// File is the golden file's path from the test's package. The file is
	// compressed if the path ends in .gz.
	File string
	// Environment is the virtual environment that runs the program, and Requirements the
	// file that pins its packages, from the top of the source tree. tools/setup-NAME.sh
	// makes the environment .venv-NAME. The defaults are those of make setup-test:
	// .venv-test and test/requirements.txt.
	Environment, Requirements string
	// Digests limits the golden file to digests of the answers.
	Digests bool
	// Varies marks an oracle that answers the same question differently each time.
	// Its recorded answers are never compared with new ones, and -update replaces
	// them only if the questions have changed.
	Varies bool
	// Form converts an answer to the string that is recorded and compared. Nil
	// leaves the answer as it is.
	Form func(answer json.RawMessage) (string, error)
}

// Question is one input line of an oracle, a program whose answers are recorded.
type Question struct {
	// Name identifies the question in messages.
	Name string
	// Body is the question, which is encoded as JSON.
	Body any
	// Key replaces Body in the question's key, for a body that refers to a file by
	// its path. Nil takes Body.
	Key any
}

// Answer is an oracle's answer to a question.
type Answer struct {
	text    string // empty if only the digest is known
	digest  string
	compare string // the command that compares with the oracle
}

// Text returns the recorded answer of the oracle, and false if only a digest of the answer is
// recorded.
func (a Answer) Text() (string, bool) { return a.text, a.text != "" }

// Differs describes how got differs from the answer. It returns "" if they are equal.
func (a Answer) Differs(got string) string {
	text, known := a.Text()
	switch {
	case known && got != text:
		return fmt.Sprintf("\ngot    %s\noracle %s", got, text)
	case !known && digestOf([]byte(got)) != a.digest:
		return fmt.Sprintf("the result differs from the recorded answer, whose SHA-256 digest has the prefix %s; to see the oracle's answer, run %s\ngot %.300s", a.digest, a.compare, got)
	}
	return ""
}

// digestOf returns the first 8 bytes of the SHA-256 digest in hexadecimal. That is
// enough to detect changes; the files need no protection from forgery.
func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Answers returns the oracle's recorded answers, in the order of the questions. The golden file has
// only these questions, so a caller must pass all questions of the file at once. With -update it
// asks the oracle and writes the file.
func (o Oracle) Answers(tb testing.TB, questions []Question) []Answer {
	tb.Helper()
	keys := make([]string, len(questions))
	for i, q := range questions {
		key, err := q.key()
		if err != nil {
			tb.Fatalf("question %s: %v", q.Name, err)
		}
		keys[i] = key
	}
	recorded, err := readBook(o.File)
	if err != nil && !*update {
		tb.Fatalf("read the golden file: %v: to record it, run %s", err, command(tb, "", " -update"))
	}
	stale := recorded.lacks(questions, keys)
	switch {
	case *update && (!o.Varies || stale != ""):
		recorded = o.askAll(tb, questions, keys)
		if err := recorded.write(o.File, o.Digests); err != nil {
			tb.Fatal(err)
		}
	case stale != "":
		tb.Fatalf("%s: %s: to record the answers, run %s", o.File, stale, command(tb, "", " -update"))
	case tier.Slow() && !o.Varies:
		fresh := o.askAll(tb, questions, keys)
		if stale := recorded.differs(fresh); stale != "" {
			tb.Errorf("%s: %s: to record the answers, run %s", o.File, stale, command(tb, "", " -update"))
		}
		recorded = fresh
	}
	if err := recorded.pinned(o.pins(), o.requirements(tb)); err != nil {
		tb.Errorf("%s: %v: to record the answers, run %s", o.File, err, command(tb, "", " -update"))
	}
	answers := make([]Answer, len(questions))
	for i, key := range keys {
		line := recorded.lines[key]
		answers[i] = Answer{line.Answer, line.Digest, command(tb, tier.Variable+"=1 ", "")}
	}
	return answers
}

// pins returns the file that pins the oracle's packages, from the top of the source tree.
func (o Oracle) pins() string { return cmp.Or(o.Requirements, "test/requirements.txt") }

// requirements returns the packages that are installed for the oracle.
func (o Oracle) requirements(tb testing.TB) string {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(root(tb), filepath.FromSlash(o.pins())))
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// root returns the top of the source tree.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := tritonserver.SourceRoot()
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

func (q Question) key() (string, error) {
	key := q.Key
	if key == nil {
		key = q.Body
	}
	data, err := json.Marshal(key)
	return digestOf(data), err
}

// command returns the go test command that runs the calling test, with a prefix and a suffix.
func command(tb testing.TB, before, after string) string {
	tb.Helper()
	wd, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	pkg, err := filepath.Rel(root(tb), wd)
	if err != nil {
		tb.Fatal(err)
	}
	test, _, _ := strings.Cut(tb.Name(), "/")
	return before + "go test ./" + filepath.ToSlash(pkg) + " -run '^" + test + "$'" + after
}

// askAll runs the oracle and returns a book of its answers.
func (o Oracle) askAll(tb testing.TB, questions []Question, keys []string) book {
	tb.Helper()
	bodies := []any{map[string]bool{"versions": true}}
	for _, q := range questions {
		bodies = append(bodies, q.Body)
	}
	answers := o.Ask(tb, bodies...)
	b := book{lines: map[string]line{}}
	if err := json.Unmarshal(answers[0], &b.header); err != nil || len(b.header.Versions) == 0 {
		tb.Fatalf("versions of %s: %s: %v", o.Script, answers[0], err)
	}
	for i, q := range questions {
		text := string(answers[i+1])
		if o.Form != nil {
			var err error
			if text, err = o.Form(answers[i+1]); err != nil {
				tb.Fatalf("%s: answer to %s: %v", o.Script, q.Name, err)
			}
		}
		b.add(line{Name: q.Name, Key: keys[i], Answer: text, Digest: digestOf([]byte(text))})
	}
	return b
}

// Ask sends the bodies to the oracle and returns its answers, without the golden file.
// TRIDENT_TEST_PYTHON replaces the Python of make setup-test, for oracles without an environment of
// their own.
func (o Oracle) Ask(tb testing.TB, bodies ...any) []json.RawMessage {
	tb.Helper()
	top := root(tb)
	python, setup := filepath.Join(top, o.Environment, "bin", "python"), "tools/setup-"+strings.TrimPrefix(o.Environment, ".venv-")+".sh"
	if o.Environment == "" {
		python, setup = cmp.Or(os.Getenv("TRIDENT_TEST_PYTHON"), filepath.Join(top, ".venv-test", "bin", "python")), "make setup-test, or set TRIDENT_TEST_PYTHON to such a Python"
	}
	if _, err := os.Stat(python); err != nil { //nolint:gosec // the user's choice
		tb.Fatalf("no Python with the oracle's packages: %v: run %s", err, setup)
	}
	var in, stderr bytes.Buffer
	encoder := json.NewEncoder(&in)
	for _, body := range bodies {
		if err := encoder.Encode(body); err != nil {
			tb.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(tb.Context(), askTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, python, "-W", "ignore", filepath.Join(top, filepath.FromSlash(o.Script))) //nolint:gosec // the test's own program
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "HF_HUB_OFFLINE=1", "TOKENIZERS_PARALLELISM=false")
	cmd.Stdin, cmd.Stderr = &in, &stderr
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("%s: %v\n%s", o.Script, err, &stderr)
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	answers := make([]json.RawMessage, len(bodies))
	for i := range answers {
		if err := decoder.Decode(&answers[i]); err != nil {
			tb.Fatalf("%s: answer %d: %v\n%s", o.Script, i, err, &stderr)
		}
	}
	return answers
}
