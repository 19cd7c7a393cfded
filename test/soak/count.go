package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"

	"github.com/trident-inference/trident/test/backends/burst"
)

// request is a request of a worker, with the data that identifies it in reports of errors. Only the
// worker uses it, except for the fields that the connection's goroutine sets.
type request struct {
	worker int
	name   string    // the request's prompt, which is unique
	id     string    // id of the response; empty until the response arrives
	before string    // name of the worker's previous request
	first  time.Time // time of the first text of the response; zero before it

	trail *trail // requests by connection; nil for gRPC, which has one connection for all
	mu    sync.Mutex
	conn  string // the client's address on the connection; empty until there is a connection
	there string // name of the previous request on the connection conn
}

func (r *request) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%s (on connection %s; previous request on this connection: %s; previous request of this worker: %s)",
		r.brief(), orNone(r.conn), orNone(r.there), orNone(r.before))
}

func (r *request) brief() string { return r.name + " with id " + orNone(r.id) }

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// identify stores the id of its response.
func (r *request) identify(id string) {
	r.id = id
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn != "" {
		r.trail.follow(r.conn, r.brief())
	}
}

// traced returns a context that records the connection of the request.
func (r *request) traced(ctx context.Context, t *trail) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(got httptrace.GotConnInfo) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.trail, r.conn = t, got.Conn.LocalAddr().String()
		r.there = t.follow(r.conn, r.name)
		if !got.Reused {
			r.there = ""
		}
	}})
}

// trail contains the latest request of each connection, by the client's address. Its methods may be
// called concurrently.
type trail struct {
	mu   sync.Mutex
	last map[string]string
}

func newTrail() *trail { return &trail{last: map[string]string{}} }

// follow records a request on a connection and returns the previous one.
func (t *trail) follow(conn, what string) (before string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, t.last[conn] = t.last[conn], what
	return before
}

// count verifies the pieces of a response of a counting model. Each piece must continue the previous
// piece, and all pieces must belong to this request, by the request's prompt and id.
type count struct {
	request *request
	tokens  int
	want    string // the expected rest of the response, once the id is known
	open    string // the received part of the latest token
	started int    // number of tokens that have started, including the one in open
	begun   bool
}

func newCount(r *request, tokens int) *count { return &count{request: r, tokens: tokens} }

// piece checks the next piece of the response. id is empty if the message doesn't contain it.
func (c *count) piece(id, text string) error {
	switch own := c.request.id; {
	case id != "" && own != "" && id != own:
		return wrongly("request %[3]s received %.200[1]q of the response with id %[2]s", text, id, c.request)
	case id != "" && own == "":
		c.request.identify(id)
		c.want = burst.Counted(c.request.name, id, c.tokens)
	case text != "" && own == "":
		return wrongly("request %[2]s received %.200[1]q before the response's id", text, c.request)
	}
	rest, ok := strings.CutPrefix(c.want, text)
	if !ok {
		return c.unexpectedToken(text)
	}
	if text != "" && !c.begun {
		c.begun, c.request.first = true, time.Now()
	}
	c.want = rest
	c.started += strings.Count(text, " ")
	c.open += text
	c.open = c.open[max(strings.LastIndexByte(c.open, ' '), 0):]
	return nil
}

// unexpectedToken returns an error for the first token that isn't the expected one.
func (c *count) unexpectedToken(text string) error {
	place := c.started
	if c.open != "" {
		place--
	}
	for token := range strings.FieldsSeq(c.open + text) {
		if place >= c.tokens || " "+token != burst.Token(c.request.name, c.request.id, place) {
			return wrongly("request %[4]s received at position %[3]d: %.200[1]q, %[2]s", token, c.describeToken(token), place, c.request)
		}
		place++
	}
	return wrongly("request %[3]s received at position %[2]d: %.200[1]q", text, place, c.request)
}

// describeToken describes from a token what input the model got, and thus where requests were mixed up.
func (c *count) describeToken(token string) string {
	prompt, rest, _ := strings.Cut(token, "@")
	slash := max(strings.LastIndexByte(rest, '/'), 0)
	id, number := rest[:slash], strings.TrimPrefix(rest[slash:], "/")
	where := "a token lost, repeated or out of order"
	switch foreign := id != c.request.id; {
	case prompt != c.request.name && foreign:
		where = "the response of another request: mixed up on the way out"
	case prompt != c.request.name:
		where = "a response with this id to another request's prompt: mixed up on the way in"
	case foreign:
		where = "a response to this prompt with another request's id"
	}
	return fmt.Sprintf("%s (prompt %q, id %q, position %q)", where, prompt, id, number)
}

// cut returns the error for a failure of the connection.
func (c *count) cut(err error) error {
	if _, isEnding := errors.AsType[*ending](err); isEnding || !c.begun {
		return err
	}
	return &ending{how: cutOff, code: cutAfterStart, err: err}
}

func (c *count) end() error {
	if c.request.id == "" || c.want != "" {
		return wrongly("the response ended before %.80q for request %s", c.want, c.request)
	}
	return nil
}

func wrongly(format string, args ...any) error {
	return &ending{how: wrong, err: fmt.Errorf(format, args...)}
}
