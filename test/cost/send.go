package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"
)

// client sends requests to one trident.
type client struct {
	shared, native string // URLs of the shared port and of KServe's own gRPC port
	one, two       *http.Client
}

// answerLimit bounds a response. It isn't a measurement: it detects requests that hang.
const answerLimit = 20 * time.Second

func newClient(shared, native string) *client {
	protocol := func(two bool) *http.Client {
		var p http.Protocols
		p.SetHTTP1(!two)
		p.SetUnencryptedHTTP2(two)
		return &http.Client{Timeout: answerLimit, Transport: &http.Transport{Protocols: &p, DisableCompression: true, ReadBufferSize: 1 << 16, WriteBufferSize: 1 << 16}}
	}
	return &client{shared, native, protocol(false), protocol(true)}
}

// encodedRequest is an encoded request.
type encodedRequest struct {
	call    *call
	decoded int // number of bytes of the request before compression
	body    []byte
	header  map[string]string
}

const (
	gzipName    = "gzip"
	frameHeader = 5 // number of bytes of the header of a gRPC message
)

// pack encodes a body.
func (c *call) pack(body []byte, zip bool) (*encodedRequest, error) {
	p := &encodedRequest{call: c, decoded: len(body), body: body, header: map[string]string{"Content-Type": c.content}}
	if c.header != nil {
		p.header = c.header(body)
		p.header["Content-Type"] = c.content
	}
	if zip {
		packed, err := compress(body)
		if err != nil {
			return nil, err
		}
		p.body = packed
	}
	encoding := "Content-Encoding"
	if c.framing != unframed {
		frame := make([]byte, frameHeader, frameHeader+len(p.body))
		if zip {
			frame[0] = 1
		}
		binary.BigEndian.PutUint32(frame[1:], uint32(len(p.body)))
		p.body = append(frame, p.body...)
		encoding = "Connect-Content-Encoding"
	}
	if c.framing == grpc {
		encoding = "Grpc-Encoding"
		p.header["Te"] = "trailers"
	}
	if zip {
		p.header[encoding] = gzipName
	}
	return p, nil
}

// Trident refuses a body that grows to more than freeBytes and more than 100 times its size.
const (
	freeBytes = 4 << 20
	mostTimes = 95
)

// compress compresses a body as tightly as Trident accepts. Flushes make the result longer.
func compress(body []byte) ([]byte, error) {
	piece := len(body)
	if len(body) > freeBytes {
		const sample = 1 << 20
		for piece = 64 << 10; ; piece /= 2 {
			packed, err := squeeze(body[len(body)/2:][:sample], piece)
			if err != nil {
				return nil, err
			}
			if sample < mostTimes*len(packed) {
				break
			}
		}
	}
	return squeeze(body, piece)
}

// squeeze compresses a body piece by piece.
func squeeze(body []byte, piece int) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	for rest := body; len(rest) > 0; {
		n := min(len(rest), piece)
		if _, err := w.Write(rest[:n]); err != nil {
			return nil, err
		}
		if rest = rest[n:]; len(rest) > 0 {
			if err := w.Flush(); err != nil {
				return nil, err
			}
		}
	}
	err = w.Close()
	return packed.Bytes(), err
}

// answer is the response to a request.
type answer struct {
	ok     bool
	none   bool   // no response arrived in time
	unread bool   // the server refused the request because of a limit or lack of memory
	text   string // message of a refusal
}

// refused returns an answer with a status and a message.
func refused(text string) answer {
	return answer{unread: busy.MatchString(text) && !strings.Contains(text, noControl), text: cut(text)}
}

// noControl is part of the refusals of control requests, which have a status that busy matches
// too.
const noControl = "explicit model load / unload"

// busy matches the statuses of requests for which the server had no capacity: of HTTP, gRPC and
// Connect.
var busy = regexp.MustCompile(`^(429|503|8|14) |^\{"code":"(resource_exhausted|unavailable)"`)

// class returns a string that is equal for responses that differ only in numbers.
func (a answer) class() string {
	if a.ok {
		return "ok"
	}
	return digits.ReplaceAllString(a.text, "0")
}

var digits = regexp.MustCompile(`\d+`)

// send sends the request and reads the response to its end.
func (c *client) send(ctx context.Context, p *encodedRequest) (answer, error) {
	url, by := c.shared, c.one
	if p.call.native {
		url = c.native
	}
	if p.call.framing == grpc {
		by = c.two
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+p.call.path, bytes.NewReader(p.body))
	if err != nil {
		return answer{}, err
	}
	for name, value := range p.header {
		req.Header.Set(name, value)
	}
	resp, err := by.Do(req)
	if errors.Is(err, context.DeadlineExceeded) {
		return answer{text: "no answer", none: true}, nil
	}
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", p.call, err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if p.call.endless && resp.StatusCode == http.StatusOK && resp.Header.Get("Grpc-Status") == "" {
		_, err := io.ReadFull(resp.Body, make([]byte, frameHeader))
		if errors.Is(err, io.EOF) { // the stream has no message; its trailers contain the status
			return p.call.read(resp, nil)
		}
		return answer{ok: true}, err
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", p.call, err)
	}
	return p.call.read(resp, text)
}

// messageBytes is the maximum length of an error's message that is kept.
const messageBytes = 300

// read returns the outcome of a response: the request was accepted, or refused with a message.
func (c *call) read(resp *http.Response, text []byte) (answer, error) {
	if c.framing == grpc {
		status, message := resp.Trailer.Get("Grpc-Status"), resp.Trailer.Get("Grpc-Message")
		if status == "" {
			status, message = resp.Header.Get("Grpc-Status"), resp.Header.Get("Grpc-Message")
		}
		if status == "0" {
			return answer{ok: true}, nil
		}
		return refused(status + " " + message), nil
	}
	if c.framing == connectStream && resp.StatusCode == http.StatusOK {
		return endOfStream(text)
	}
	if resp.StatusCode < http.StatusBadRequest {
		return answer{ok: true}, nil
	}
	return refused(fmt.Sprint(resp.StatusCode, " ", string(text))), nil
}

// endOfStream returns the answer from the last message of a Connect stream, which contains the
// error.
func endOfStream(text []byte) (answer, error) {
	for len(text) >= frameHeader {
		flags, size := text[0], int(binary.BigEndian.Uint32(text[1:]))
		message := text[frameHeader:min(len(text), frameHeader+size)]
		text = text[frameHeader+len(message):]
		if flags&2 == 0 {
			continue
		}
		var end struct {
			Error json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(message, &end); err != nil {
			return answer{}, err
		}
		if end.Error == nil {
			return answer{ok: true}, nil
		}
		return refused(string(end.Error)), nil
	}
	return answer{}, fmt.Errorf("the stream has no end-of-stream message: %w", io.ErrUnexpectedEOF)
}

func cut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), messageBytes)], "")
}
