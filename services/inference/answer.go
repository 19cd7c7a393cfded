package inference

import (
	"iter"
	"slices"
)

// Answer is the whole answer of a non-streaming response.
type Answer struct {
	Choices []Choice
	Usage   Usage
}

// Choice is one choice of an answer.
type Choice struct {
	Text, Reasoning []byte
	// ToolCalls are as the model wrote them: Arguments may be invalid JSON.
	ToolCalls []ToolCall
	// Logprobs of all tokens. They are nil if the client didn't request them.
	Logprobs []TokenLogprob
	// Prompt is that of [Delta].
	Prompt *PromptScore
	Finish FinishReason
	// StopSequence is that of [Delta].
	StopSequence string
}

// Collect joins a request's Deltas into an answer of at least the given number of choices. The
// answer has more choices if the model generates several texts for a request.
func Collect(deltas iter.Seq2[Delta, error], choices int) (*Answer, error) {
	answer := &Answer{Choices: make([]Choice, choices)}
	for delta, err := range deltas {
		if err != nil {
			return nil, err
		}
		if delta.Usage != nil {
			answer.Usage = *delta.Usage
			continue
		}
		for len(answer.Choices) <= delta.Index {
			answer.Choices = append(answer.Choices, Choice{})
		}
		answer.Choices[delta.Index].add(&delta)
	}
	return answer, nil
}

func (c *Choice) add(d *Delta) {
	c.Text = append(c.Text, d.Text...)
	c.Reasoning = append(c.Reasoning, d.Reasoning...)
	for _, piece := range d.ToolCalls {
		if piece.Index == len(c.ToolCalls) {
			c.ToolCalls = append(c.ToolCalls, ToolCall{ID: piece.ID, Name: piece.Name})
		}
		call := &c.ToolCalls[piece.Index]
		call.Arguments = append(call.Arguments, piece.Arguments...)
	}
	if d.Logprobs != nil && c.Logprobs == nil {
		c.Logprobs = []TokenLogprob{}
	}
	for _, t := range d.Logprobs {
		t.Top = slices.Clone(t.Top)
		c.Logprobs = append(c.Logprobs, t)
	}
	if d.Prompt != nil {
		c.Prompt = d.Prompt
	}
	if d.Finish != FinishNone {
		c.Finish, c.StopSequence = d.Finish, d.StopSequence
	}
}
