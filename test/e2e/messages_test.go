package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestDemoMessages checks that the demo's chat model ends messages at a stop sequence, streamed and not, and that the
// response names the sequence. The schema determines the text.
func TestDemoMessages(t *testing.T) {
	t.Parallel()
	s := serving(t)
	for _, stream := range []bool{false, true} {
		text := string(s.post(t, "/v1/messages", object{
			"model": "chat", "max_tokens": 50, "stream": stream, "stop_sequences": []string{"OP b", "STOP"},
			"messages": []object{{"role": "user", "content": "Say x."}},
			"output_config": object{"format": object{"type": "json_schema", "schema": object{
				"type": "object", "properties": object{"a": object{"const": "x STOP y"}}, "required": []string{"a"}, "additionalProperties": false,
			}}},
		}).want(t, http.StatusOK).body)
		got := messageText(t, text)
		if strings.ReplaceAll(got, " ", "") != `{"a":"x` || !strings.Contains(text, `"stop_reason":"stop_sequence","stop_sequence":"STOP"`) {
			t.Errorf("stream %t: the text is %q in %s", stream, got, text)
		}
	}
}

// messageText returns the text of a message, or of its events.
func messageText(t *testing.T, body string) (text string) {
	t.Helper()
	for line := range strings.Lines(body) {
		line = strings.TrimPrefix(line, "data: ")
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var e struct {
			Content []struct{ Text string }
			Delta   struct{ Text string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		for _, block := range e.Content {
			text += block.Text
		}
		text += e.Delta.Text
	}
	return text
}

// TestKindsMessages checks for models with the tensors of each kind of backend that messages end at a stop sequence,
// streamed and not, and that the response names the sequence. A model without a limit of tokens refuses max_tokens.
func TestKindsMessages(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		t.Run(k.model, func(t *testing.T) {
			for _, stream := range []bool{false, true} {
				status := http.StatusOK
				if !k.limits {
					status = http.StatusBadRequest
				}
				text := string(contracts(t).post(t, "/v1/messages", object{
					"model": k.model, "max_tokens": 50, "stream": stream, "stop_sequences": []string{"nine", "STOP"},
					"messages": []object{{"role": "user", "content": "abcSTOPdef"}},
				}).want(t, status).body)
				if !k.limits {
					if !strings.Contains(text, "max_tokens is not supported by the model `"+k.model+"`") {
						t.Error(text)
					}
					continue
				}
				if got := messageText(t, text); got != "abc" || !strings.Contains(text, `"stop_reason":"stop_sequence","stop_sequence":"STOP"`) {
					t.Errorf("stream %t: the text is %q in %s", stream, got, text)
				}
			}
		})
	}
}

// TestVisionMessages checks what models that read images get of the images in messages and in results of tools, and the
// error about an address that isn't allowed.
func TestVisionMessages(t *testing.T) {
	t.Parallel()
	lockForTest(t, &seeingRecord)
	onePNG, oneGIF := testImages(t)
	block := func(media, data string) object {
		return object{"type": "image", "source": object{"type": "base64", "media_type": media, "data": data}}
	}
	for _, test := range []struct{ model, input, want string }{
		{"vllm", "image", onePNG + "|" + oneGIF},
		{"llmapi", "image_url", "data:image/png;base64," + onePNG + "|data:image/gif;base64," + oneGIF},
	} {
		c := visionTrident(t)
		ask := func(result object) object {
			return object{"model": test.model, "max_tokens": 50, "messages": []object{
				{"role": "user", "content": []object{{"type": "text", "text": " one two"}, block("image/png", onePNG)}},
				{"role": "assistant", "content": []object{{"type": "tool_use", "id": "i", "name": "f", "input": object{}}}},
				{"role": "user", "content": []object{{"type": "tool_result", "tool_use_id": "i", "content": []object{result}}}},
			}}
		}
		c.post(t, "/v1/messages", ask(block("image/gif", oneGIF))).want(t, http.StatusOK)
		if got := c.seen(t, test.input); got != test.want {
			t.Errorf("%s got %s, want %s", test.model, got, test.want)
		}
		refused := string(c.post(t, "/v1/messages", ask(object{"type": "image", "source": object{"type": "url", "url": "http://127.0.0.1:1/a.png"}})).want(t, http.StatusBadRequest).body)
		if !strings.Contains(refused, `"message":"messages[2].content[0].content[0].source`) || !strings.Contains(refused, "non-public IP address") {
			t.Error(refused)
		}
	}
}
