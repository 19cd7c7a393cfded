package chat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/osteele/liquid/parser"
	liquid "github.com/osteele/liquid/render"

	"github.com/trident-inference/trident/services/inference"
)

// history renders chats with a Liquid template that iterates over items. Each
// message is an item with its identity, its content and its name, if any.
type history struct {
	root   liquid.Node
	images imagePlaces
	limits historyLimits
}

// compileHistory parses a Liquid template and tries it on a chat with all
// identities, because the library detects unknown filters only at run time.
func (c compiler) compileHistory(source, imageToken string) (inference.Template, error) {
	root, err := newHistoryConfig(&budget{}).Compile(source, parser.SourceLoc{LineNo: 1})
	if err != nil {
		return nil, fmt.Errorf("history template: %w", err)
	}
	bounded, failure := bound(root)
	if failure != nil {
		return nil, fmt.Errorf("history template: %w", failure)
	}
	t := &history{
		root: bounded, images: imagePlaces{token: imageToken},
		limits: historyLimits{steps: c.limited(historySteps), bytes: c.limited(historyBytes)},
	}
	var items []any
	for _, role := range []string{"system", "user", "assistant", "tool"} {
		items = append(items, item(&inference.Message{Role: role, Name: "name"}, "text"))
	}
	if _, err := t.render(context.Background(), items); err != nil {
		return nil, fmt.Errorf("history template: %w", err)
	}
	return t, nil
}

// Render returns the template's prompt for the messages.
func (t *history) Render(ctx context.Context, req *inference.Request) (string, error) {
	if len(req.Tools) > 0 {
		return "", inference.Unsupported("tools", "tools are not supported by the model `%s`: its history template can't show them", req.Model)
	}
	if len(req.Documents) > 0 {
		return "", noDocuments(req.Model)
	}
	if len(req.TemplateArgs) > 0 {
		return "", inference.Unsupported("chat_template_kwargs", "chat_template_kwargs is not supported by the model `%s`: its history template has no variables", req.Model)
	}
	if req.Closed && !req.Continue {
		return "", inference.Unsupported("add_generation_prompt", "add_generation_prompt: false is not supported by the model `%s`: its history template always ends with the prompt for the next message", req.Model)
	}
	if err := (efforts{}).set(nil, req.ReasoningEffort); err != nil {
		return "", err
	}
	marked, err := markEnd(req)
	if err != nil {
		return "", err
	}
	items := make([]any, len(marked.Messages))
	places := placer{imagePlaces: t.images}
	for i := range marked.Messages {
		content, err := places.text(i, &marked.Messages[i])
		if err != nil {
			return "", err
		}
		items[i] = item(&marked.Messages[i], content)
	}
	prompt, err := t.render(ctx, items)
	switch {
	case err == nil && req.Continue:
		return cutAtMark(prompt, req)
	case err == nil:
		return prompt, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	}
	return "", unrendered("history template", historyFailureOf(err), err)
}

// historyFailureOf returns a history template's own message about its failure, with the line if
// the library has it. For other errors it returns an empty string.
func historyFailureOf(err error) string {
	if e, ok := errors.AsType[*limitError](err); ok {
		return e.Error()
	}
	if e, ok := errors.AsType[liquid.Error](err); ok {
		return e.Error()
	}
	return ""
}

// item returns a message in the form that history templates read.
func item(m *inference.Message, content any) map[string]any {
	text, _ := content.(string)
	d := map[string]any{"identity": identity(m.Role), "content": text}
	if m.Name != "" {
		d["name"] = m.Name
	}
	return d
}

func identity(role string) string {
	switch role {
	case "system", "developer":
		return "System"
	case "assistant":
		return "Assistant"
	case "tool", "function":
		return "Tool"
	}
	return "User"
}

// render runs the template. The library panics in cases that it considers
// impossible, such as a failing writer.
func (t *history) render(ctx context.Context, items []any) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	b := &budget{ctx: ctx, historyLimits: t.limits, of: t.limits}
	out := &boundedWriter{budget: b}
	if err := liquid.Render(t.root, out, map[string]any{"items": items, budgetVar: b}, newHistoryConfig(b)); err != nil {
		return "", err
	}
	return out.String(), nil
}

// panicked returns the error of a panic, without the stack that the library adds.
func panicked(p any) error {
	if e, ok := p.(interface{ Cause() error }); ok && e.Cause() != nil {
		return e.Cause()
	}
	if err, ok := p.(error); ok {
		return err
	}
	return fmt.Errorf("%v", p)
}

// boundedWriter collects the output of a template, and subtracts its bytes from the budget of the
// render.
type boundedWriter struct {
	bytes.Buffer

	budget *budget
}

var _ io.Writer = (*boundedWriter)(nil)

func (w *boundedWriter) Write(p []byte) (int, error) {
	if err := w.budget.take(len(p)); err != nil {
		return 0, err
	}
	return w.Buffer.Write(p)
}
