package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

// arranged renders chats with a template that may have one slot for a system message, or
// none. It renders the messages unchanged if the template shows them in their order.
// Otherwise:
//
//   - leading system and developer messages are merged into one;
//   - system and developer messages elsewhere, or all if the template has no slot for
//     them, become a marked part of the adjacent user or tool message. Their position
//     stays, so that the prompt of one turn is a prefix of the prompt of the next turn.
//     Prefix caches need this.
type arranged struct {
	template inference.Template
	shown    capabilities
}

// capabilities describes the messages that a template shows in their order. Probes measure it.
type capabilities struct {
	system  bool // the template shows one system message at the start
	leading bool // the template shows several system messages at the start
	middle  bool // the template shows system messages after the start
	tools   bool // the template shows tool messages
}

// arrange measures which messages a template shows. It stops at a template that can't
// render one user message.
func arrange(t inference.Template) *arranged {
	user := inference.Message{Role: "user", Text: "probe-user"}
	answer := inference.Message{Role: "assistant", Text: "probe-assistant"}
	first := inference.Message{Role: "system", Text: "probe-first"}
	second := inference.Message{Role: "system", Text: "probe-second"}
	call := inference.Message{Role: "assistant", NoContent: true, ToolCalls: []inference.ToolCall{{ID: "call00001", Name: "probe", Arguments: json.RawMessage("{}")}}}
	result := inference.Message{Role: "tool", ToolCallID: "call00001", Text: "probe-tool"}
	if !shows(t, user) {
		return &arranged{template: t, shown: capabilities{system: true, leading: true, middle: true, tools: true}}
	}
	tools := shows(t, user, call, result)
	return &arranged{template: t, shown: capabilities{
		system:  shows(t, first, user),
		leading: shows(t, first, second, user),
		// A template that refuses system messages only after tool messages would fold earlier ones
		// from that turn on, and change the start of the prompt.
		middle: shows(t, user, answer, first, user) && (!tools || shows(t, user, call, result, first)),
		tools:  tools,
	}}
}

// shows reports whether a prompt has the texts of all messages in their order.
func shows(t inference.Template, messages ...inference.Message) bool {
	prompt, err := t.Render(context.Background(), &inference.Request{Messages: messages})
	if err != nil {
		return false
	}
	for _, m := range messages {
		_, rest, found := strings.Cut(prompt, m.Text)
		if !found {
			return false
		}
		prompt = rest
	}
	return true
}

// Render renders the messages unchanged, or in the first arrangement that the template
// accepts.
func (a *arranged) Render(ctx context.Context, req *inference.Request) (string, error) {
	leading := slices.IndexFunc(req.Messages, func(m inference.Message) bool { return !isSystem(&m) })
	if leading < 0 {
		leading = len(req.Messages)
	}
	middle := slices.ContainsFunc(req.Messages[leading:], func(m inference.Message) bool { return isSystem(&m) })
	if leading == 0 && !middle {
		return a.template.Render(ctx, req)
	}
	var first error
	for _, atStart := range a.starts(leading) {
		for _, fold := range a.folds(middle) {
			prompt, err := a.try(ctx, req, leading, atStart, fold)
			if err == nil || ctx.Err() != nil || inference.AsError(err).Param != "messages" {
				return prompt, err
			}
			if first == nil {
				first = err
			}
		}
	}
	return "", first
}

// start is the handling of the leading system messages.
type start int

const (
	asWritten start = iota
	mergedStart
	foldedStart
)

// starts returns the arrangements for this number of leading messages, in the order of
// the attempts.
func (a *arranged) starts(leading int) []start {
	switch {
	case leading == 0:
		return []start{asWritten}
	case !a.shown.system:
		return []start{foldedStart}
	case leading == 1:
		return []start{asWritten, foldedStart}
	case !a.shown.leading:
		return []start{mergedStart, foldedStart}
	}
	return []start{asWritten, mergedStart, foldedStart}
}

// folds returns for each attempt whether system messages after the start are folded.
func (a *arranged) folds(middle bool) []bool {
	switch {
	case !middle:
		return []bool{false}
	case !a.shown.middle:
		return []bool{true}
	}
	return []bool{false, true}
}

// try renders one arrangement.
func (a *arranged) try(ctx context.Context, req *inference.Request, leading int, atStart start, fold bool) (string, error) {
	if atStart == asWritten && !fold {
		return a.template.Render(ctx, req)
	}
	s := sequence{tools: a.shown.tools}
	at := 0
	if atStart == mergedStart {
		s.push(merged(req.Messages[:leading]), 0)
		at = leading
	}
	for ; at < len(req.Messages); at++ {
		folds := fold
		if at < leading {
			folds = atStart == foldedStart
		}
		if m := req.Messages[at]; folds && isSystem(&m) {
			s.fold(req.Messages, at)
		} else {
			s.push(m, at)
		}
	}
	changed := *req
	changed.Messages = s.messages
	prompt, err := a.template.Render(ctx, &changed)
	return prompt, s.atOrigin(err)
}

// isSystem reports whether a message instructs the model on behalf of the application.
func isSystem(m *inference.Message) bool { return m.Role == "system" || m.Role == "developer" }

// merged returns one message that has the texts of all, separated by blank lines.
func merged(messages []inference.Message) inference.Message {
	texts := make([]string, len(messages))
	for i := range messages {
		texts[i], _ = textOf(&messages[i]).(string)
	}
	return inference.Message{Role: messages[0].Role, Text: strings.Join(texts, "\n\n")}
}

// sequence is a chat that is being rearranged.
type sequence struct {
	messages []inference.Message
	origin   []int  // index of each message in the request
	pending  string // marked text for the start of the next message
	tools    bool   // the template shows tool messages
}

// push appends a message, with the pending text at its start. It changes copies only.
func (s *sequence) push(m inference.Message, origin int) {
	if s.pending != "" {
		m = prefixed(m, s.pending)
		s.pending = ""
	}
	s.messages, s.origin = append(s.messages, m), append(s.origin, origin)
}

// fold moves the system message at index i into the next message, if that is a user or
// tool message. Otherwise fold moves it into the previous message, or converts it to a
// user message. Only the next message decides, because it stays the same in all later
// turns of the chat.
func (s *sequence) fold(messages []inference.Message, i int) {
	content, _ := textOf(&messages[i]).(string)
	text := "<system>\n" + content + "\n</system>"
	next := i + 1
	for next < len(messages) && isSystem(&messages[next]) {
		next++
	}
	last := len(s.messages) - 1
	switch {
	case next < len(messages) && s.takesText(&messages[next]):
		s.pending += text + "\n\n"
	case last >= 0 && s.takesText(&s.messages[last]):
		s.messages[last] = suffixed(s.messages[last], "\n\n"+text)
	default:
		s.push(inference.Message{Role: "user", Text: text}, i)
	}
}

// takesText reports whether system messages can become a part of m.
func (s *sequence) takesText(m *inference.Message) bool {
	return m.Role == "user" || s.tools && (m.Role == "tool" || m.Role == "function")
}

func prefixed(m inference.Message, text string) inference.Message {
	if m.Parts == nil {
		m.Text, m.NoContent = text+m.Text, false
		return m
	}
	m.Parts = slices.Insert(slices.Clone(m.Parts), 0, inference.Part{Kind: inference.PartText, Text: text})
	return m
}

func suffixed(m inference.Message, text string) inference.Message {
	if m.Parts == nil {
		m.Text, m.NoContent = m.Text+text, false
		return m
	}
	m.Parts = append(slices.Clone(m.Parts), inference.Part{Kind: inference.PartText, Text: text})
	return m
}

var messageIndex = regexp.MustCompile(`^messages\[(\d+)\]`)

// atOrigin changes the index in an error's parameter to the index in the request.
func (s *sequence) atOrigin(err error) error {
	if err == nil {
		return nil
	}
	e := inference.AsError(err)
	at := messageIndex.FindStringSubmatch(e.Param)
	if at == nil {
		return err
	}
	i, _ := strconv.Atoi(at[1])
	if i >= len(s.origin) {
		return err
	}
	changed := *e
	changed.Param = fmt.Sprintf("messages[%d]", s.origin[i]) + e.Param[len(at[0]):]
	return &changed
}
