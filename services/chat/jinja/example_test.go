package jinja_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/trident-inference/trident/services/chat/jinja"
)

// Example compiles a chat template once. The template can render every chat.
func Example() {
	source := `{% for message in messages %}<|{{ message.role }}|>
{{ message.content | trim }}
{% endfor %}{% if add_generation_prompt %}<|assistant|>
{% endif %}`
	template, err := jinja.Parse("chat", source)
	if err != nil {
		fmt.Println(err)
		return
	}
	message := jinja.NewDict()
	message.Set("role", "user")
	message.Set("content", " Say hello. ")
	variables := jinja.NewDict()
	variables.Set("messages", jinja.NewList(message))
	variables.Set("add_generation_prompt", true)
	prompt, err := template.Render(context.Background(), variables)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(prompt)
	// Output:
	// <|user|>
	// Say hello.
	// <|assistant|>
}

// ExampleDecodeJSON builds a template's variables from JSON, such as a request's messages
// or tools.
func ExampleDecodeJSON() {
	tools, err := jinja.DecodeJSON([]byte(`[{"name":"weather","parameters":{"type":"object"}}]`))
	if err != nil {
		fmt.Println(err)
		return
	}
	template, err := jinja.Parse("tools", `{% for tool in tools %}{{ tool.name }}: {{ tool.parameters | tojson }}{% endfor %}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	variables := jinja.NewDict()
	variables.Set("tools", tools)
	text, err := template.Render(context.Background(), variables)
	fmt.Println(text, err)
	// Output: weather: {"type": "object"} <nil>
}

// ExampleRaisedError shows a template that rejects its input. The author's message is for
// the client.
func ExampleRaisedError() {
	template, err := jinja.Parse("chat", `{% if not messages %}{{ raise_exception("a chat needs a message") }}{% endif %}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = template.Render(context.Background(), nil)
	if raised, ok := errors.AsType[*jinja.RaisedError](err); ok {
		fmt.Println("refused:", raised.Message)
	}
	// Output: refused: a chat needs a message
}

// ExampleWithLimits limits templates from untrusted sources.
func ExampleWithLimits() {
	template, err := jinja.Parse("endless", `{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}`,
		jinja.WithLimits(jinja.Limits{Steps: 1000}))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = template.Render(context.Background(), nil)
	_, limited := errors.AsType[*jinja.LimitError](err)
	fmt.Println("stopped by a limit:", limited)
	// Output: stopped by a limit: true
}
