package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/trident-inference/trident/services/chat"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/modelfiles"
	"github.com/trident-inference/trident/services/openai"
	"github.com/trident-inference/trident/services/requests"
)

// templateCommand shows the prompt that a model receives for a chat.
type templateCommand struct {
	Model string `placeholder:"NAME" xor:"template" help:"Name of a model whose chat template is rendered; trident models lists the models. Set either --model or --file."`
	File  string `placeholder:"FILE" xor:"template" help:"File with the template to render: Jinja, a tokenizer_config.json, a folder with a tokenizer_config.json, or Liquid (.liquid). Set either --file or --model."`
	Tools string `placeholder:"FILE" help:"File with a JSON list of tools, in the format of a chat request. This list replaces the tools on standard input."`
}

// Run prints the prompt of the chat on standard input, which is a list of messages or
// a whole chat request.
func (c templateCommand) Run(f *flags) error {
	body, err := io.ReadAll(os.Stdin)
	if err != nil {
		return fmt.Errorf("read the messages from standard input: %w", err)
	}
	return c.show(f, body, os.Stdout)
}

func (c templateCommand) show(f *flags, body []byte, w io.Writer) error {
	req, err := c.request(body)
	if err != nil {
		return err
	}
	template, err := c.template(f)
	if err != nil {
		return err
	}
	return render(template, req, w)
}

// render writes the prompt of a chat.
func render(template inference.Template, req *inference.Request, w io.Writer) error {
	prompt, err := template.Render(context.Background(), req)
	if err != nil {
		// The cause names the line, which clients of the API don't see.
		if e, ok := errors.AsType[*inference.Error](err); ok && e.Err != nil {
			return e.Err
		}
		return err
	}
	_, err = io.WriteString(w, prompt)
	return err
}

func (c templateCommand) template(f *flags) (inference.Template, error) {
	switch {
	case c.File != "":
		source, err := modelfiles.LoadTemplate(c.File)
		if err != nil {
			return nil, err
		}
		return chat.Compile(c.File, source)
	case c.Model == "":
		return nil, errors.New("no template to render: set --model NAME or --file FILE")
	}
	cards, err := f.cards()
	if err != nil {
		return nil, err
	}
	for _, card := range cards {
		if card.Name != c.Model {
			continue
		}
		if card.Template == nil {
			return nil, fmt.Errorf("model %s has no chat template: set one with --chat-template", c.Model)
		}
		return card.Template, nil
	}
	return nil, fmt.Errorf("model %s doesn't exist: list the models with trident models", c.Model)
}

// request reads the messages as the chat endpoint does, and the other parts of a
// request that reach templates.
func (c templateCommand) request(body []byte) (*inference.Request, error) {
	var chat struct {
		Messages   json.RawMessage   `json:"messages"`
		Tools      []json.RawMessage `json:"tools"`
		ToolChoice any               `json:"tool_choice"`
		Kwargs     json.RawMessage   `json:"chat_template_kwargs"`
		Effort     string            `json:"reasoning_effort"`
		Documents  json.RawMessage   `json:"documents"`
		AddPrompt  *bool             `json:"add_generation_prompt"`
		Continue   *bool             `json:"continue_final_message"`
	}
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '[' {
		chat.Messages = trimmed
	} else if err := json.Unmarshal(body, &chat); err != nil {
		return nil, fmt.Errorf("standard input must be a JSON list of messages or a chat request in JSON: %w", err)
	}
	messages, err := openai.DecodeMessages(chat.Messages)
	if err != nil {
		return nil, err
	}
	if c.Tools != "" {
		data, err := os.ReadFile(c.Tools)
		if err == nil {
			err = json.Unmarshal(data, &chat.Tools)
		}
		if err != nil {
			return nil, fmt.Errorf("--tools: %w", err)
		}
	} else if chat.ToolChoice == "none" {
		chat.Tools = nil
	}
	req := &inference.Request{
		Model: c.Model, Task: inference.TaskGenerate, Messages: messages, Tools: chat.Tools, TemplateArgs: chat.Kwargs, ReasoningEffort: chat.Effort,
	}
	if !requests.Neutral(chat.Documents) {
		req.Documents = chat.Documents
	}
	return req, requests.Continuation(req, chat.AddPrompt, chat.Continue)
}
