package tokenizer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trident-inference/trident/services/tokenizer"
)

// request is one to test/tokenizer/oracle.py, which says what it means.
type request struct {
	Train string          `json:"train,omitempty"`
	Path  string          `json:"path,omitempty"`
	JSON  json.RawMessage `json:"json,omitempty"`
	Texts []string        `json:"texts"`
	IDs   [][]int         `json:"ids,omitempty"`

	Properties []string `json:"properties,omitempty"`
}

type answer struct {
	Error          string          `json:"error"`
	JSON           json.RawMessage `json:"json"`
	Plain, Special [][]int
	Text, Skipped  []string
	Count          int

	Sets map[string][][2]rune
	Maps map[string]map[rune]string
}

// python is the interpreter with the pinned tokenizers.
func python(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("compares with Hugging Face's tokenizers, which make setup-test installs")
	}
	path := os.Getenv("TRIDENT_TEST_PYTHON")
	if path == "" {
		path, _ = filepath.Abs("../../.venv-test/bin/python")
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("no Python with tokenizers at %s: run make setup-test, or name one in TRIDENT_TEST_PYTHON", path)
	}
	return path
}

func ask(t *testing.T, requests ...request) []answer {
	t.Helper()
	var in, stderr bytes.Buffer
	enc := json.NewEncoder(&in)
	for _, r := range requests {
		if err := enc.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, python(t), "../../test/tokenizer/oracle.py")
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "TOKENIZERS_PARALLELISM=false")
	cmd.Stdin, cmd.Stderr = &in, &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("oracle.py: %v\n%s", err, &stderr)
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	answers := make([]answer, len(requests))
	for i := range answers {
		if err := dec.Decode(&answers[i]); err != nil {
			t.Fatalf("answer %d of oracle.py: %v\n%s", i, err, &stderr)
		}
	}
	return answers
}

// subject is a tokenizer.json under test.
type subject struct {
	name string
	path string
	json []byte
}

// compare asserts that each tokenizer.json gives here what it gives there: ids of
// every text, and texts of these ids and of random ones.
func compare(t *testing.T, subjects []subject, texts []text) {
	t.Helper()
	python(t)
	toks := make([]*tokenizer.Tokenizer, len(subjects))
	requests := make([]request, len(subjects))
	for i, s := range subjects {
		toks[i] = parse(t, s)
		requests[i] = request{Path: s.path, JSON: s.json, IDs: randomIDs(toks[i])}
		for _, x := range texts {
			requests[i].Texts = append(requests[i].Texts, x.text)
		}
	}
	for i, want := range ask(t, requests...) {
		t.Run(subjects[i].name, func(t *testing.T) { check(t, toks[i], requests[i].IDs, texts, want) })
	}
}

func parse(t *testing.T, s subject) *tokenizer.Tokenizer {
	t.Helper()
	data := s.json
	if s.path != "" {
		var err error
		if data, err = os.ReadFile(s.path); err != nil {
			t.Fatal(err)
		}
	}
	tok, err := tokenizer.Parse(data)
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	return tok
}

func check(t *testing.T, tok *tokenizer.Tokenizer, random [][]int, texts []text, want answer) {
	t.Helper()
	if want.Error != "" {
		t.Fatalf("tokenizers refuses the file: %s", want.Error)
	}
	if tok.Size() != want.Count {
		t.Errorf("%d tokens, want %d", tok.Size(), want.Count)
	}
	for i, x := range texts {
		checkIDs(t, tok, x, want.Plain[i], want.Special[i])
		checkText(t, tok, "text "+x.name, want.Special[i], want.Text[i], want.Skipped[i])
	}
	for i, ids := range random {
		checkText(t, tok, "random ids", ids, want.Text[len(texts)+i], want.Skipped[len(texts)+i])
	}
}

// randomIDs are lists of ids that no text would give.
func randomIDs(tok *tokenizer.Tokenizer) [][]int {
	random := rand.New(rand.NewPCG(1, 2))
	lists := make([][]int, 200)
	for i := range lists {
		for range random.IntN(12) + 1 {
			lists[i] = append(lists[i], random.IntN(tok.Size()+3))
		}
	}
	return lists
}

func checkIDs(t *testing.T, tok *tokenizer.Tokenizer, x text, plain, special []int) {
	t.Helper()
	for _, with := range []bool{false, true} {
		want := plain
		if with {
			want = special
		}
		got, err := tok.Encode(x.text, with)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("text %s: %s (%v)", x.name, difference(tok, got, want), err)
			return
		}
		if n, err := tok.Count(x.text, with); n != len(want) || err != nil {
			t.Errorf("text %s: count %d (%v), want %d", x.name, n, err, len(want))
		}
	}
}

// difference shows where two lists of ids part.
func difference(tok *tokenizer.Tokenizer, got, want []int) string {
	i := 0
	for i < len(got) && i < len(want) && got[i] == want[i] {
		i++
	}
	show := func(ids []int) string {
		var b strings.Builder
		for _, id := range ids[min(max(i-2, 0), len(ids)):min(i+6, len(ids))] {
			token, _ := tok.Token(id)
			b.WriteString(" " + strings.ToValidUTF8(token, "?"))
		}
		return b.String()
	}
	return strings.Join([]string{"from token", string(rune('0' + min(i, 9))), "got", show(got), "want", show(want)}, " ")
}

func checkText(t *testing.T, tok *tokenizer.Tokenizer, name string, ids []int, want, skipped string) {
	t.Helper()
	if got := tok.Decode(ids, false); got != want {
		t.Errorf("%s: ids %v: decoded %.120q, want %.120q", name, head(ids), got, want)
	}
	if got := tok.Decode(ids, true); got != skipped {
		t.Errorf("%s: ids %v without special tokens: decoded %.120q, want %.120q", name, head(ids), got, skipped)
	}
}

func head(ids []int) []int { return ids[:min(len(ids), 12)] }
