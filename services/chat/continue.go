package chat

import (
	"slices"
	"strings"
	"unicode"

	"github.com/trident-inference/trident/services/inference"
)

// endMark marks the end of a message that the model continues. transformers uses the same mark. The
// space at its end shows whether the template keeps spaces there.
const endMark = "CONTINUE_FINAL_MESSAGE_TAG "

// markEnd returns the request with endMark at the end of the text of its last message, if the
// request continues that message. It changes copies only.
func markEnd(req *inference.Request) (*inference.Request, error) {
	if !req.Continue {
		return req, nil
	}
	marked := *req
	marked.Messages = slices.Clone(req.Messages)
	last := &marked.Messages[len(marked.Messages)-1]
	text := last.LastText()
	if text == nil {
		return nil, inference.Invalid("continue_final_message", "the last message can't be continued: it has no text")
	}
	if last.Parts != nil {
		last.Parts = slices.Clone(last.Parts)
		text = last.LastText()
	}
	*text += endMark
	return &marked, nil
}

// cutAtMark ends a prompt at endMark, as continue_final_message of transformers does. It also removes
// the spaces before the mark if the template removes those at the end of the message.
func cutAtMark(prompt string, req *inference.Request) (string, error) {
	text := *req.Messages[len(req.Messages)-1].LastText()
	trimmed := strings.TrimSpace(endMark)
	at := strings.LastIndex(prompt, trimmed)
	if at < 0 || !strings.Contains(prompt, strings.TrimSpace(text)) {
		return "", inference.Invalid("continue_final_message", "the last message can't be continued: the chat template changes its text")
	}
	if strings.HasPrefix(prompt[at:], endMark) {
		return prompt[:at], nil
	}
	return strings.TrimRightFunc(prompt[:at], unicode.IsSpace), nil
}
