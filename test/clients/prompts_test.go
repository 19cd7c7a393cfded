package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// conversation selects the prompts of a run that contain a task. Each of them must be a byte prefix of the next, so that
// an engine's prefix cache has all of the previous prompt.
type conversation struct {
	Task    string
	Prompts int      // their number
	Last    []string // what the last of them contains
	// Continues reports whether its prompts have the system prompt and the tools of the conversation before.
	Continues bool
	// Unanswered reports whether the last prompt lacks the answer to the one before. Then it continues that prompt before
	// answerTurn.
	Unanswered bool
}

// The parts of the scripted model's prompts, by its chat template.
const (
	userTurn   = "<|im_start|>user\n"
	answerTurn = "<|im_start|>assistant\n" // the end of a prompt, after which the model writes
)

// promptFlaws returns how the prompts of a run differ from the row's conversations. Each prompt must belong to just one of
// them.
func (r *row) promptFlaws(prompts []string) (flaws []string) {
	if len(r.Conversations) == 0 {
		return nil
	}
	of := make([][]string, len(r.Conversations))
	for i, prompt := range prompts {
		belongs := func(c conversation) bool { return strings.Contains(prompt, c.Task) }
		at := slices.IndexFunc(r.Conversations, belongs)
		if at < 0 || slices.ContainsFunc(r.Conversations[at+1:], belongs) {
			flaws = append(flaws, fmt.Sprintf("prompt %d doesn't belong to one of the conversations", i))
			continue
		}
		of[at] = append(of[at], prompt)
	}
	for i, c := range r.Conversations {
		flaws = append(flaws, c.flaws(of[i])...)
		if !c.Continues || len(of[i]) == 0 || len(of[i-1]) == 0 {
			continue
		}
		head, _, _ := strings.Cut(of[i-1][0], userTurn)
		if first := of[i][0]; !strings.HasPrefix(first, head+userTurn) {
			flaws = append(flaws, fmt.Sprintf("prompts of %q have another system prompt or other tools: %s", c.Task, difference(head+userTurn, first)))
		}
	}
	return flaws
}

// flaws returns how the prompts of a conversation differ from it.
func (c *conversation) flaws(prompts []string) (flaws []string) {
	add := func(format string, args ...any) {
		flaws = append(flaws, fmt.Sprintf("prompts of %q: ", c.Task)+fmt.Sprintf(format, args...))
	}
	if len(prompts) != c.Prompts || len(prompts) == 0 {
		add("%d, want %d", len(prompts), c.Prompts)
		return flaws
	}
	for i, prompt := range prompts {
		if !strings.HasSuffix(prompt, answerTurn) {
			add("%d doesn't end where the model's answer begins", i)
		}
		if i == 0 {
			continue
		}
		before := prompts[i-1]
		if prompt == before {
			add("%d is the same as the one before", i)
		}
		if c.Unanswered && i == len(prompts)-1 {
			before = strings.TrimSuffix(before, answerTurn)
		}
		if !strings.HasPrefix(prompt, before) {
			add("%d isn't a prefix of the next: %s", i-1, difference(before, prompt))
		}
	}
	for _, text := range c.Last {
		if !strings.Contains(prompts[len(prompts)-1], text) {
			add("the last doesn't contain %q", text)
		}
	}
	return flaws
}

// difference shows where two texts differ.
func difference(a, b string) string {
	const shown = 100 // bytes
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return fmt.Sprintf("from byte %d on %.*q, then %.*q", n, shown, a[n:], shown, b[n:])
}

// promptsOf returns the prompts in a file of the scripted model after the first skip ones.
func promptsOf(t *testing.T, file string, skip int) (prompts []string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the model writes the file with the first prompt
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var prompt string
		if err := json.Unmarshal([]byte(line), &prompt); err != nil {
			t.Fatal(err)
		}
		prompts = append(prompts, prompt)
	}
	return prompts[min(skip, len(prompts)):]
}

// TestPromptFlaws checks that promptFlaws reports prompts that aren't a prefix of the next, and whatever else differs from the
// conversations.
func TestPromptFlaws(t *testing.T) {
	turn := func(head string, texts ...string) string {
		return head + userTurn + strings.Join(texts, "") + answerTurn
	}
	first := turn("tools", "Dig.")
	second := first + "Dug.\n" + turn("", "Compact.")
	other := turn("tools", "Rest.")
	conversations := []conversation{{Task: "Dig.", Prompts: 2, Last: []string{"Dug.", "Compact."}}, {Task: "Rest.", Prompts: 1, Last: []string{"Rest."}, Continues: true}}
	for _, c := range []struct {
		name       string
		prompts    []string
		unanswered bool
		want       string
	}{
		{"as the row", []string{first, second, other}, false, ""},
		{"one is missing", []string{first, other}, false, `prompts of "Dig.": 1, want 2`},
		{"one too many", []string{first, second, other, other}, false, `prompts of "Rest.": 2, want 1`},
		{"repeated", []string{first, first, other}, false, "1 is the same as the one before"},
		{"changed", []string{first, strings.Replace(second, "Dig.", "Now.Dig.", 1), other}, false, `0 isn't a prefix of the next: from byte 22 on "Dig.`},
		{"other tools", []string{first, second, turn("more tools", "Rest.")}, false, "have another system prompt or other tools"},
		{"other end", []string{first, second + " ", other}, false, "1 doesn't end where"},
		{"without the end", []string{first, strings.Replace(second, "Compact.", "Dig again.", 1), other}, false, `the last doesn't contain "Compact."`},
		{"of no conversation", []string{first, second, other, turn("tools", "Title?")}, false, "prompt 3 doesn't belong"},
		{"of two conversations", []string{first, second, other + "Dig."}, false, "prompt 2 doesn't belong"},
		{"without an answer", []string{first, turn("tools", "Dig.<|im_end|>\n") + "Dug. Compact." + answerTurn, other}, false, "0 isn't a prefix of the next"},
		{"without an answer as the row", []string{turn("tools", "Dig.\n"), "tools" + userTurn + "Dig.\n" + userTurn + "Dug. Compact." + answerTurn, other}, true, ""},
		{"with an answer to another", []string{turn("tools", "Dig.\n"), "tools" + userTurn + "Dig.\t" + userTurn + "Dug. Compact." + answerTurn, other}, true, "0 isn't a prefix of the next"},
	} {
		r := row{Conversations: slices.Clone(conversations)}
		r.Conversations[0].Unanswered = c.unanswered
		flaws := strings.Join(r.promptFlaws(c.prompts), "\n")
		if c.want == "" && flaws != "" || !strings.Contains(flaws, c.want) {
			t.Errorf("%s: flaws %q, want %q", c.name, flaws, c.want)
		}
	}
}
