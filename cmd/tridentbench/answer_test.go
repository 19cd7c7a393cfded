package main

import (
	"fmt"
	"strings"
	"testing"
)

const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"

func chunk(data string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(data), data) }

func event(delta, finish string) string {
	return `data: {"id":"x","choices":[{"index":0,"delta":{` + delta + `},"logprobs":null,"finish_reason":` + finish + "}]}\n\n"
}

// three is a response of three tokens in two writes. The second token has
// spaces and is in two chunks, as from another server.
func three() string {
	role := event(`"role":"assistant","content":"","refusal":null`, "null")
	second := `data: {"choices": [{"delta": {"content": "\n\"b"}, "finish_reason": null}]}` + "\n\n"
	return streamHead +
		chunk(role+event(`"content":"a"`, "null")+second[:20]) +
		chunk(second[20:]+": keep-alive\n\n"+event(`"content":"c"`, "null")+event("", `"stop"`)+"data: [DONE]\n\n") + "0\r\n\r\n"
}

// message is the response of Anthropic's API with the tokens of three.
func message(stop string) string {
	sse := func(name, rest string) string {
		return "event: " + name + "\ndata: {\"type\":\"" + name + "\"" + rest + "}\n\n"
	}
	delta := func(text string) string {
		return sse("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":`+text+"}")
	}
	return streamHead +
		chunk(sse("message_start", `,"message":{"content":[],"stop_reason":null,"usage":{}}`)+sse("content_block_start", `,"index":0,"content_block":{"type":"text","text":"","citations":null}`)+delta(`"a"`)) +
		chunk(sse("ping", "")+delta(`"\n\"b"`)+delta(`"c"`)+sse("content_block_stop", `,"index":0`)+sse("message_delta", `,"delta":{"stop_reason":`+stop+`,"stop_sequence":null}`)+sse("message_stop", "")) +
		"0\r\n\r\n"
}

func TestAnswer(t *testing.T) {
	const object = `{"choices":[{"message":{"role":"assistant","content":"abc"},"finish_reason":"length"}],"usage":{"completion_tokens":3}}`
	whole := func(status, body string) string {
		return fmt.Sprintf("HTTP/1.1 %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s", status, len(body), body)
	}
	head := streamHead
	tests := []struct {
		name, wire     string
		tokens, writes int
		text, err      string
	}{
		{"events", three(), 3, 2, "a\n\"bc", ""},
		{"finish with the last content", head + chunk(event(`"content":"a"`, `"stop"`)+"data: [DONE]\n\n") + "0\r\n\r\n", 1, 1, "a", "1 tokens, not 3"},
		{"a message", message(`"end_turn"`), 3, 2, "a\n\"bc", ""},
		{"a message without its end", strings.Replace(message(`"end_turn"`), `"message_stop"}`, `"message_step"}`, 1), 3, 2, "a\n\"bc", "without [DONE] or message_stop"},
		{"a message without a reason", message("null"), 3, 2, "a\n\"bc", "without finish_reason or stop_reason"},
		{"an error event of a message", head + chunk("event: error\ndata: "+`{"error":{"message":"gone"},"request_id":"r","type":"error"}`+"\n\n") + "0\r\n\r\n", 0, 1, "", "gone"},
		{"no DONE", strings.Replace(three(), "[DONE]", "[NEVER", 1), 3, 2, "a\n\"bc", "without [DONE]"},
		{"no finish", strings.Replace(three(), `"stop"`, `""    `, 1), 3, 2, "a\n\"bc", "without finish_reason"},
		{"an error event", head + chunk(`data: {"error":{"message":"gone"}}`+"\n\n") + "0\r\n\r\n", 0, 1, "", "gone"},
		{"in one piece", whole("200 OK", object), 0, 0, "abc", ""},
		{"in one piece, too short", whole("200 OK", strings.Replace(object, "3", "2", 1)), 0, 0, "", "isn't one finished choice of 3 tokens"},
		{"refused", whole("429 Too Many Requests", `{"error":"full"}`), 0, 0, "", `status 429: {"error":"full"}`},
		{"a bad chunk", head + "zz\r\n", 0, 0, "", "chunk size"},
		{"no HTTP", "SSH-2.0-x\r\n", 0, 0, "", "not an HTTP/1.1 response"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for split := range len(tt.wire) + 1 {
				a := new(answer)
				a.reset(true)
				tokens, err := a.feed([]byte(tt.wire[:split]))
				if err == nil {
					var more int
					more, err = a.feed([]byte(tt.wire[split:]))
					tokens += more
				}
				if err == nil && !a.complete() {
					t.Fatalf("split at %d: not complete", split)
				}
				if err == nil {
					err = a.check(3)
				}
				if got := fmt.Sprint(err); tt.err == "" && err != nil || !strings.Contains(got, tt.err) {
					t.Fatalf("split at %d: error %v, want %q", split, err, tt.err)
				}
				if tokens != tt.tokens || a.writes != tt.writes || string(a.text) != tt.text {
					t.Fatalf("split at %d: %d tokens in %d writes, text %q", split, tokens, a.writes, a.text)
				}
			}
		})
	}
}

// TestAnswerAllocatesNothing checks that a stream allocates nothing beyond the
// connection's buffers.
func TestAnswerAllocatesNothing(t *testing.T) {
	a, wire := new(answer), []byte(three())
	if n := testing.AllocsPerRun(100, func() {
		a.reset(false)
		if _, err := a.feed(wire[:50]); err != nil {
			t.Fatal(err)
		}
		if _, err := a.feed(wire[50:]); err != nil || a.check(3) != nil {
			t.Fatal(err, a.check(3))
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkAnswer measures the driver's cost per token, with one token per
// write.
func BenchmarkAnswer(b *testing.B) {
	a := new(answer)
	a.reset(false)
	if _, err := a.feed([]byte(streamHead)); err != nil {
		b.Fatal(err)
	}
	token := []byte(chunk(event(`"content":" token"`, "null")))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := a.feed(token); err != nil {
			b.Fatal(err)
		}
	}
}
