package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// answer parses one HTTP/1.1 response after another from pieces of any size,
// and counts its content. It allocates nothing per token, so that the driver
// uses little CPU and its counts are exact. It supports the responses of OpenAI
// API servers, and the events of Anthropic's API: a head, then a body of known length or in chunks. The body is
// one JSON object or server-sent events.
type answer struct {
	sampling bool // reports whether the text of the events is kept

	stage   stage
	line    partial // partial line of the response's head, or of a chunk's size
	event   partial // partial line of the server-sent events
	status  int
	chunked bool
	stream  bool // the body is a stream of server-sent events
	left    int  // number of bytes of the body, or of the chunk, that haven't arrived

	tokens   int // number of events with content; each is one token
	writes   int // number of chunks, which are the server's writes
	finished bool
	done     bool   // [DONE] or the last event of a message was received
	body     []byte // body of a response without events
	text     []byte // text of the events, if sampling
}

type stage uint8

const (
	stageStatus stage = iota
	stageHead
	stageLength // a body of known length is being read
	stageSize   // the line with a chunk's size is being read
	stageChunk
	stageChunkEnd
	stageTrailer
	stageComplete
)

// reset prepares for the next response on the connection.
func (a *answer) reset(sampling bool) {
	*a = answer{sampling: sampling, line: a.line[:0], event: a.event[:0], body: a.body[:0], text: a.text[:0]}
}

func (a *answer) complete() bool { return a.stage == stageComplete }

// feed parses the next piece. It returns the number of tokens that the piece
// completed.
func (a *answer) feed(data []byte) (tokens int, err error) {
	before := a.tokens
	for len(data) > 0 && err == nil && a.stage != stageComplete {
		switch a.stage {
		case stageLength, stageChunk:
			n := min(a.left, len(data))
			err = a.take(data[:n])
			data = data[n:]
			if a.left -= n; a.left == 0 {
				a.endOfPart()
			}
		default:
			var line []byte
			var whole bool
			if line, data, whole = a.line.next(data); whole {
				err = a.control(line)
			}
		}
	}
	return a.tokens - before, err
}

func (a *answer) endOfPart() {
	if a.stage == stageChunk {
		a.stage = stageChunkEnd
		return
	}
	a.stage = stageComplete
}

// control parses a line of the protocol.
func (a *answer) control(line []byte) error {
	switch a.stage {
	case stageStatus:
		_, rest, _ := bytes.Cut(line, []byte(" "))
		code, _, _ := bytes.Cut(rest, []byte(" "))
		var err error
		if a.status, err = strconv.Atoi(string(code)); err != nil || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
			return fmt.Errorf("the server sent a line that is not an HTTP/1.1 response: %.100q", line)
		}
		a.stage = stageHead
	case stageHead:
		return a.header(line)
	case stageSize:
		return a.size(line)
	case stageChunkEnd:
		a.stage = stageSize
	case stageTrailer:
		if len(line) == 0 {
			a.stage = stageComplete
		}
	case stageLength, stageChunk, stageComplete:
	}
	return nil
}

func (a *answer) header(line []byte) error {
	if len(line) == 0 {
		switch {
		case a.chunked:
			a.stage = stageSize
		case a.left == 0:
			a.stage = stageComplete
		default:
			a.stage = stageLength
		}
		return nil
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch {
	case equal(name, "Content-Length"):
		var err error
		if a.left, err = strconv.Atoi(string(value)); err != nil {
			return fmt.Errorf("invalid Content-Length %q", value)
		}
	case equal(name, "Transfer-Encoding"):
		a.chunked = equal(value, "chunked")
	case equal(name, "Content-Type"):
		a.stream = a.status == 200 && bytes.HasPrefix(value, []byte("text/event-stream"))
	}
	return nil
}

func equal(b []byte, name string) bool { return bytes.EqualFold(b, []byte(name)) }

func (a *answer) size(line []byte) error {
	digits, _, _ := bytes.Cut(line, []byte(";"))
	size, err := strconv.ParseUint(string(digits), 16, 31)
	if err != nil {
		return fmt.Errorf("invalid chunk size %.100q", line)
	}
	if a.left = int(size); size == 0 {
		a.stage = stageTrailer
		return nil
	}
	a.writes++
	a.stage = stageChunk
	return nil
}

// take parses a piece of the body.
func (a *answer) take(data []byte) error {
	if !a.stream {
		a.body = append(a.body, data...)
		return nil
	}
	for {
		line, rest, whole := a.event.next(data)
		if !whole {
			return nil
		}
		if payload, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			if err := a.payload(payload); err != nil {
				return err
			}
		}
		data = rest
	}
}

// payload parses an event as far as its kind requires.
func (a *answer) payload(data []byte) error {
	switch {
	case hasText(data, `"content":`), hasText(data, `"text":`): // a chunk of a chat, or a text of a message
		a.tokens++
		if a.sampling {
			if err := a.keep(data); err != nil {
				return err
			}
		}
		a.finished = a.finished || hasText(data, `"finish_reason":`)
	case string(data) == "[DONE]", string(data) == `{"type":"message_stop"}`:
		a.done = true
	case hasText(data, `"finish_reason":`), hasText(data, `"stop_reason":`):
		a.finished = true
	case bytes.HasPrefix(data, []byte(`{"error"`)):
		return fmt.Errorf("the stream has the error event %.300s", data)
	}
	return nil
}

// hasText reports whether the object has the key with a non-empty string.
func hasText(object []byte, key string) bool {
	i := bytes.Index(object, []byte(key))
	if i < 0 {
		return false
	}
	value := object[i+len(key):]
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return len(value) > 1 && value[0] == '"' && value[1] != '"'
}

func (a *answer) keep(data []byte) error {
	var chunk struct {
		Choices []struct {
			Delta struct {
				Content string `json:"content"`
			} `json:"delta"`
		} `json:"choices"`
		Delta struct {
			Text string `json:"text"`
		} `json:"delta"`
	}
	if err := json.Unmarshal(data, &chunk); err != nil {
		return fmt.Errorf("decode the stream event %.300s: %w", data, err)
	}
	a.text = append(a.text, chunk.Delta.Text...)
	for _, c := range chunk.Choices {
		a.text = append(a.text, c.Delta.Content...)
	}
	return nil
}

// check returns an error unless the response is complete and valid, with this
// number of tokens.
func (a *answer) check(tokens int) error {
	switch {
	case a.status != 200:
		return fmt.Errorf("the response has the HTTP status %d: %.300s", a.status, a.body)
	case !a.stream:
		return a.checkBody(tokens)
	case a.tokens != tokens:
		return fmt.Errorf("the response has %d tokens, not %d", a.tokens, tokens)
	case !a.finished:
		return errors.New("the stream ended without finish_reason or stop_reason")
	case !a.done:
		return errors.New("the stream ended without [DONE] or message_stop")
	}
	return nil
}

func (a *answer) checkBody(tokens int) error {
	var whole struct {
		Choices []struct {
			Message struct {
				Content string `json:"content"`
			} `json:"message"`
			Finish string `json:"finish_reason"`
		} `json:"choices"`
		Usage struct {
			Tokens int `json:"completion_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(a.body, &whole); err != nil {
		return fmt.Errorf("decode the response %.300s: %w", a.body, err)
	}
	if len(whole.Choices) != 1 || whole.Choices[0].Finish == "" || whole.Choices[0].Message.Content == "" || whole.Usage.Tokens != tokens {
		return fmt.Errorf("the response isn't one finished choice of %d tokens: %.300s", tokens, a.body)
	}
	a.text = append(a.text[:0], whole.Choices[0].Message.Content...)
	return nil
}

// partial is an incomplete line.
type partial []byte

// next returns the next line without its line end, and the rest of data. It
// stores an incomplete line. The line is valid until the next call.
func (p *partial) next(data []byte) (line, rest []byte, whole bool) {
	line, rest, whole = bytes.Cut(data, []byte("\n"))
	if !whole {
		*p = append(*p, data...)
		return nil, nil, false
	}
	if len(*p) > 0 {
		*p = append(*p, line...)
		line, *p = *p, (*p)[:0]
	}
	return bytes.TrimSuffix(line, []byte("\r")), rest, true
}
