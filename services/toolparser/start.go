package toolparser

import "strings"

// answerStart returns the markers between a prompt and the text of an answer without reasoning. It returns
// false if they depend on more than the prompt.
type answerStart func(prompt string) (markers string, ok bool)

// AnswerStart returns the markers that a model of these dialects writes between a prompt and the text of an
// answer without reasoning. Prompts may have them already. It returns false if the markers depend on more than
// the prompt, and for unknown dialects. Answers of most dialects start with their text.
func (Dialects) AnswerStart(tools, reasoning, prompt string) (markers string, ok bool) {
	t, err := toolsNamed(tools)
	if err != nil {
		return "", false
	}
	r, err := reasoningNamed(reasoning)
	switch {
	case err != nil:
		return "", false
	case r.start != nil:
		return r.start(prompt)
	case t.start != nil:
		return t.start(prompt)
	}
	return "", true
}

// startWith returns the start of answers that have one marker before their text.
func startWith(marker string) answerStart {
	return func(prompt string) (string, bool) {
		if strings.HasSuffix(prompt, marker) {
			return "", true
		}
		return marker, true
	}
}

// startUnknown is the start of answers whose model chooses between several markers, or between a marker and none.
func startUnknown(string) (string, bool) { return "", false }

// startHunyuan returns the markers of Hunyuan-A13B. Empty reasoning precedes an answer without reasoning. Prompts
// may end with it, or with the marker of the answer.
func startHunyuan(prompt string) (string, bool) {
	const thoughts, text = "<think>\n\n</think>\n", "<answer>\n"
	trimmed := strings.TrimRight(prompt, blanks)
	switch {
	case strings.HasSuffix(trimmed, "<answer>"):
		return lineEnd(prompt[len(trimmed):]), true
	case !strings.HasSuffix(trimmed, "</think>"):
		return thoughts + text, true
	}
	return lineEnd(prompt[len(trimmed):]) + text, true
}

// lineEnd returns the line feed that white space lacks.
func lineEnd(space string) string {
	if space == "" {
		return "\n"
	}
	return ""
}
