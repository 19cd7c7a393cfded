package serving

import (
	"slices"
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// messages returns the chat that asks a question. The input comes first, so that the prompts of a
// request's questions have the same start, which engines cache. Many chat templates refuse two user
// messages in a row: the question extends the last one.
func (q *DecisionQuestion) messages(input []inference.Message, labels []label) []inference.Message {
	const user = "user"
	asked := inference.Message{Role: user, Parts: q.parts(labels)}
	if last := len(input) - 1; last >= 0 && input[last].Role == user {
		earlier := &input[last]
		parts := earlier.Parts
		if parts == nil {
			parts = []inference.Part{textPart(earlier.Text)}
		}
		asked.Name = earlier.Name
		asked.Parts = append(append(slices.Clip(parts), textPart("\n\n")), asked.Parts...)
		input = input[:last]
	}
	asked.Text, asked.Parts = inference.JoinTexts(asked.Parts)
	return append(slices.Clip(input), asked)
}

func textPart(text string) inference.Part {
	return inference.Part{Kind: inference.PartText, Text: text}
}

// parts returns the question with its options.
func (q *DecisionQuestion) parts(labels []label) []inference.Part {
	parts := append([]inference.Part{textPart("Question about the input above:\n")}, q.Instructions...)
	var b strings.Builder
	b.WriteString("\n\n" + q.Task + "\n")
	for i, option := range q.Options {
		b.WriteString(labels[i].text + ": " + option + "\n")
	}
	b.WriteString("\nAnswer with the label before the colon and nothing else.")
	return append(parts, textPart(b.String()))
}
