package tokenizer_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/tokenizer"
	"github.com/trident-inference/trident/test/golden"
	"github.com/trident-inference/trident/test/tier"
)

// request is a request to test/tokenizer/oracle.py, which documents the fields.
type request struct {
	Train  string   `json:"train,omitempty"`
	Tokens []string `json:"tokens,omitempty"`
	Size   int      `json:"size,omitempty"`

	Path  string          `json:"path,omitempty"`
	JSON  json.RawMessage `json:"json,omitempty"`
	Texts []string        `json:"texts"`
	IDs   [][]int         `json:"ids,omitempty"`

	Inputs []input `json:"inputs,omitempty"`
	Rounds int     `json:"rounds,omitempty"`

	Properties []string `json:"properties,omitempty"`
}

// answer is the oracle's answer to a request, or Trident's.
type answer struct {
	Error          string          `json:"error,omitempty"`
	JSON           json.RawMessage `json:"json,omitempty"`
	Plain, Special [][]int         `json:",omitempty"`
	Text, Skipped  []string        `json:",omitempty"`
	Count          int             `json:",omitempty"`
	Encodings      []encoding      `json:",omitempty"`
	Seconds        float64         `json:",omitempty"`

	Sets map[string][][2]rune       `json:",omitempty"`
	Maps map[string]map[rune]string `json:",omitempty"`
}

const script = "test/tokenizer/oracle.py"

// form converts an answer of the oracle to the form that this package records.
func form(data json.RawMessage) (string, error) {
	var a answer
	if err := json.Unmarshal(data, &a); err != nil {
		return "", err
	}
	if a.Error != "" {
		return "", errors.New(a.Error)
	}
	return a.form()
}

func (a answer) form() (string, error) {
	text, err := json.Marshal(a)
	return string(text), err
}

// decodeAnswer decodes what [answer.form] returned.
func decodeAnswer(t *testing.T, text string) (a answer) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// subject is a tokenizer.json under test.
type subject struct {
	name string
	path string
	json []byte
}

// ask returns the request for a subject.
func (s subject) ask(tok *tokenizer.Tokenizer, texts []text) request {
	r := request{Path: s.path, JSON: s.json, IDs: randomIDs(tok)}
	for _, x := range texts {
		r.Texts = append(r.Texts, x.text)
	}
	return r
}

// question converts a request to a golden question. The key has the digest of the
// tokenizer.json instead of its path or content.
func (s subject) question(t *testing.T, r request) golden.Question {
	t.Helper()
	sum := sha256.Sum256(s.read(t))
	key := r
	key.Path, key.JSON = hex.EncodeToString(sum[:]), nil
	return golden.Question{Name: s.name, Body: r, Key: key}
}

// read returns the tokenizer.json.
func (s subject) read(t *testing.T) []byte {
	t.Helper()
	if s.path == "" {
		return s.json
	}
	data, err := os.ReadFile(s.path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// compare checks that Trident and the oracle agree on each tokenizer.json: the ids of
// every text, and the texts of these ids and of random ids. The golden file has digests
// of the answers.
func compare(t *testing.T, subjects []subject, texts []text, file string) {
	t.Helper()
	toks := make([]*tokenizer.Tokenizer, len(subjects))
	questions := make([]golden.Question, len(subjects))
	for i, s := range subjects {
		toks[i] = parse(t, s)
		questions[i] = s.question(t, s.ask(toks[i], texts))
	}
	oracle := golden.Oracle{Script: script, File: file, Digests: true, Form: form}
	for i, want := range oracle.Answers(t, questions) {
		t.Run(subjects[i].name, func(t *testing.T) {
			t.Parallel()
			got := answerOf(t, toks[i], questions[i].Body.(request))
			if text, known := want.Text(); known {
				check(t, toks[i], texts, got, decodeAnswer(t, text))
			}
			form, err := got.form()
			if err != nil {
				t.Fatal(err)
			}
			if differs := want.Differs(form); differs != "" && !t.Failed() {
				t.Error(differs)
			}
		})
	}
}

// compareUnrecorded is compare without a golden file.
func compareUnrecorded(t *testing.T, subjects []subject, texts []text) {
	t.Helper()
	toks := make([]*tokenizer.Tokenizer, len(subjects))
	requests := make([]any, len(subjects))
	for i, s := range subjects {
		toks[i] = parse(t, s)
		requests[i] = s.ask(toks[i], texts)
	}
	for i, want := range (golden.Oracle{Script: script}).Ask(t, requests...) {
		t.Run(subjects[i].name, func(t *testing.T) {
			t.Parallel()
			check(t, toks[i], texts, answerOf(t, toks[i], requests[i].(request)), decodeAnswer(t, string(want)))
		})
	}
}

// answerOf returns Trident's answer to a request.
func answerOf(t *testing.T, tok *tokenizer.Tokenizer, r request) answer {
	t.Helper()
	a := answer{Count: tok.Size()}
	for _, text := range r.Texts {
		a.Plain = append(a.Plain, encode(t, tok, text, false))
		a.Special = append(a.Special, encode(t, tok, text, true))
	}
	for _, ids := range slices.Concat(a.Special, r.IDs) {
		a.Text = append(a.Text, tok.Decode(ids, false))
		a.Skipped = append(a.Skipped, tok.Decode(ids, true))
	}
	return a
}

// encode returns the ids of a text, and checks that Count returns their number. By
// default it counts with special tokens only.
func encode(t *testing.T, tok *tokenizer.Tokenizer, text string, special bool) []int {
	t.Helper()
	ids, err := tok.Encode(t.Context(), text, special, nil)
	if err != nil {
		t.Errorf("text %.60q: %v", text, err)
	}
	if special || tier.Slow() {
		if n, err := tok.Count(t.Context(), text, special, nil); n != len(ids) || err != nil {
			t.Errorf("text %.60q: %d ids, but the count is %d (%v)", text, len(ids), n, err)
		}
	}
	if ids == nil {
		ids = []int{} // the oracle writes an empty list, not null
	}
	return ids
}

func parse(t *testing.T, s subject) *tokenizer.Tokenizer {
	t.Helper()
	tok, err := tokenizer.Parse(s.read(t))
	if err != nil {
		t.Fatalf("%s: %v", s.name, err)
	}
	return tok
}

// check reports where two answers differ, for the texts and for the random ids after
// them.
func check(t *testing.T, tok *tokenizer.Tokenizer, texts []text, got, want answer) {
	t.Helper()
	if want.Error != "" {
		t.Fatalf("tokenizers refuses the file: %s", want.Error)
	}
	if got.Count != want.Count {
		t.Errorf("%d tokens, want %d", got.Count, want.Count)
	}
	for i, x := range texts {
		for _, ids := range [][2][]int{{got.Plain[i], want.Plain[i]}, {got.Special[i], want.Special[i]}} {
			if !slices.Equal(ids[0], ids[1]) {
				t.Errorf("text %s: %s", x.name, difference(tok, ids[0], ids[1]))
			}
		}
	}
	for i := range want.Text {
		name := "random ids"
		if i < len(texts) {
			name = "text " + texts[i].name
		}
		if got.Text[i] != want.Text[i] {
			t.Errorf("%s: decoded %.120q, want %.120q", name, got.Text[i], want.Text[i])
		}
		if got.Skipped[i] != want.Skipped[i] {
			t.Errorf("%s: decoded without special tokens %.120q, want %.120q", name, got.Skipped[i], want.Skipped[i])
		}
	}
}

// randomIDs returns lists of random ids, which no text would encode to.
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

// difference shows where two lists of ids diverge.
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
