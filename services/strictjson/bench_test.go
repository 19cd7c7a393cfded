package strictjson_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/strictjson"
)

// BenchmarkRead measures the reading of bodies: chats of 2 and 64 KiB, tools of 16 KiB, and
// 8,192 token ids. build builds values, skip only checks syntax. Compare two runs with
// benchstat.
func BenchmarkRead(b *testing.B) {
	for name, text := range bodies() {
		for mode, build := range map[string]bool{"build": true, "skip": false} {
			b.Run(name+"/"+mode, func(b *testing.B) {
				data := []byte(text)
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					if err := strictjson.Read(data, func(r *strictjson.Reader) error {
						r.FreeNumbers = name == "ids"
						_, err := r.Value(build)
						return err
					}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// bodies returns request bodies as clients send them, by name.
func bodies() map[string]string {
	return map[string]string{
		"chat 2 KiB": chatBody(4, 400), "chat 64 KiB": chatBody(64, 950), "tools 16 KiB": toolsBody(24), "ids": "[" + strings.Repeat("31337,", 8191) + "31337]",
	}
}

func chatBody(messages, size int) string {
	var b strings.Builder
	b.WriteString(`{"model": "m", "temperature": 0.7, "max_tokens": 256, "stream": true, "messages": [`)
	for i := range messages {
		role := [...]string{"user", "assistant"}[i%2]
		text := strings.Repeat("What is <b>the</b> answer?\nIt isn't 42, as caf\u00e9s say. ", size/54+1)[:size-size/10]
		fmt.Fprintf(&b, `%s{"role": %q, "content": %q}`, [...]string{"", ", "}[min(i, 1)], role, strings.ToValidUTF8(text, ""))
	}
	b.WriteString("]}")
	return b.String()
}

func toolsBody(tools int) string {
	var b strings.Builder
	b.WriteString(`{"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": [`)
	for i := range tools {
		fmt.Fprintf(&b, `%s{"type": "function", "function": {"name": "tool_%d", "description": "Looks up the weather of a place and a day, in units of the caller's choice.",
  "parameters": {"type": "object", "properties": {"place": {"type": "string", "description": "Name of the town", "maxLength": 80}, "day": {"type": "integer", "minimum": 1, "maximum": 31},
  "unit": {"type": "string", "enum": ["celsius", "fahrenheit", "kelvin"]}, "options": {"type": "array", "items": {"type": "string"}, "minItems": 0}}, "required": ["place", "day"], "additionalProperties": false}}}`,
			[...]string{"", ", "}[min(i, 1)], i)
	}
	b.WriteString("]}")
	return b.String()
}
