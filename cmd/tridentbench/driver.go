package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// driver is an HTTP client that receives tokens. It speaks HTTP/1.1 on plain
// connections, one per stream, which it reuses for all requests.
type driver struct{}

// Headers with which the driver controls the writes of the bench's own servers.
const (
	perWriteHeader = "Bench-Tokens-Per-Write"
	paceHeader     = "Bench-Pace"
)

// prompt is the prompt of every request.
const prompt = "Tell me about quick brown foxes and lazy dogs."

func (driver) open(ctx context.Context, j *job) ([]session, error) {
	sessions := make([]session, 0, j.Streams)
	for i := range j.Streams {
		request, err := httpRequest(j, i)
		if err != nil {
			return sessions, err
		}
		c := &connection{address: j.Address, request: request, tokens: j.Tokens, whole: j.Whole, piece: make([]byte, 32<<10)}
		if err := c.reopen(ctx); err != nil {
			return sessions, err
		}
		sessions = append(sessions, c)
	}
	return sessions, nil
}

// promptOf returns the prompt of a stream.
func promptOf(j *job, stream int) string {
	text := prompt
	if j.Distinct {
		text = fmt.Sprintf("%d. %s", stream, prompt)
	}
	if j.PromptBytes > len(text) {
		text = strings.Repeat(text+" ", j.PromptBytes/len(text)+1)[:j.PromptBytes]
	}
	return text
}

// httpRequest returns the encoded request of a stream, which is the same each
// time.
func httpRequest(j *job, stream int) ([]byte, error) {
	body, err := json.Marshal(map[string]any{
		"model": j.Model, "stream": !j.Whole, "max_tokens": j.Tokens,
		"messages": []any{map[string]string{"role": "user", "content": promptOf(j, stream)}},
	})
	if err != nil {
		return nil, err
	}
	own := ""
	if j.PerWrite > 0 {
		own = perWriteHeader + ": " + strconv.FormatFloat(j.PerWrite, 'f', 3, 64) + "\r\n"
	}
	if j.Pace > 0 {
		own += paceHeader + ": " + j.Pace.String() + "\r\n"
	}
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s",
		j.Path, j.Address, len(body), own, body), nil
}

// connection is one HTTP connection of the driver to a server under test.
type connection struct {
	address string
	conn    net.Conn
	request []byte
	tokens  int
	whole   bool
	piece   []byte
	answer  answer
}

// run treats all tokens of one read as arriving together.
func (c *connection) run(ctx context.Context, rec *recorder) error {
	defer context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })()
	a := &c.answer
	a.reset(rec.sampling)
	rec.begin()
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	for !a.complete() {
		n, err := c.conn.Read(c.piece)
		if err != nil {
			return fmt.Errorf("after %d tokens: %w", a.tokens, err)
		}
		tokens, err := a.feed(c.piece[:n])
		if err != nil {
			return err
		}
		rec.arrived(tokens)
	}
	if err := a.check(c.tokens); err != nil {
		return err
	}
	if c.whole {
		rec.arrived(c.tokens)
	}
	rec.writes += a.writes
	if rec.sampling {
		rec.text = append(rec.text, a.text...)
	}
	return nil
}

// reopen opens a new connection.
func (c *connection) reopen(ctx context.Context) (err error) {
	c.close()
	c.conn, err = new(net.Dialer).DialContext(ctx, "tcp", c.address)
	return err
}

func (c *connection) close() {
	if c.conn != nil {
		_ = c.conn.Close()
	}
}
