package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"strings"
	"sync"

	"github.com/trident-inference/trident/test/backends/burst"
)

// request is one of a worker's, and what tells it from others where something is wrong.
// It is the worker's own, but for what the connection's goroutine notes.
type request struct {
	worker int
	name   string // its prompt, which no other request has
	id     string // that of its answer; empty until that has come
	before string // the worker's request before

	trail *trail // of its connection; nil for gRPC, which has one for all
	mu    sync.Mutex
	conn  string // the client's address; empty until there is a connection
	there string // the request before on that connection
}

func (r *request) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return fmt.Sprintf("%s (by the connection %s, before it there %s; before it of this worker %s)",
		r.brief(), orNone(r.conn), orNone(r.there), orNone(r.before))
}

func (r *request) brief() string { return r.name + " with id " + orNone(r.id) }

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}

// identify notes the id of its answer.
func (r *request) identify(id string) {
	r.id = id
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn != "" {
		r.trail.follow(r.conn, r.brief())
	}
}

// traced has the connection noted by which the request goes.
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

// trail knows the latest request of each connection, by the client's address. It may be
// used concurrently.
type trail struct {
	mu   sync.Mutex
	last map[string]string
}

func newTrail() *trail { return &trail{last: map[string]string{}} }

// follow notes a request, and gives the one before.
func (t *trail) follow(conn, what string) (before string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, t.last[conn] = t.last[conn], what
	return before
}

// count checks the pieces of an answer of a model that counts: each must go on from
// the one before, and all must be of this request, by its prompt and by its id.
type count struct {
	request *request
	tokens  int
	want    string // what hasn't come yet, once the id is known
	open    string // what has come of the latest token
	started int    // tokens, that one among them
	begun   bool
}

func newCount(r *request, tokens int) *count { return &count{request: r, tokens: tokens} }

// piece takes more of the answer; id is empty where a message doesn't tell it.
func (c *count) piece(id, text string) error {
	switch own := c.request.id; {
	case id != "" && own != "" && id != own:
		return wrongly("%.200q of the answer %s came to %s", text, id, c.request)
	case id != "" && own == "":
		c.request.identify(id)
		c.want = burst.Counted(c.request.name, id, c.tokens)
	case text != "" && own == "":
		return wrongly("%.200q came to %s before the answer's id", text, c.request)
	}
	rest, ok := strings.CutPrefix(c.want, text)
	if !ok {
		return c.stray(text)
	}
	c.want, c.begun = rest, c.begun || text != ""
	c.started += strings.Count(text, " ")
	c.open += text
	c.open = c.open[max(strings.LastIndexByte(c.open, ' '), 0):]
	return nil
}

// stray tells of the first token that isn't the one that was to come.
func (c *count) stray(text string) error {
	place := c.started
	if c.open != "" {
		place--
	}
	for token := range strings.FieldsSeq(c.open + text) {
		if place >= c.tokens || " "+token != burst.Token(c.request.name, c.request.id, place) {
			return wrongly("%.200q, %s, came at place %d to %s", token, c.tells(token), place, c.request)
		}
		place++
	}
	return wrongly("%.200q came at place %d to %s", text, place, c.request)
}

// tells reads of a token what came to the model, and so where requests were mixed up.
func (c *count) tells(token string) string {
	prompt, rest, _ := strings.Cut(token, "@")
	slash := max(strings.LastIndexByte(rest, '/'), 0)
	id, number := rest[:slash], strings.TrimPrefix(rest[slash:], "/")
	where := "lost, doubled or out of order"
	switch foreign := id != c.request.id; {
	case prompt != c.request.name && foreign:
		where = "another's answer: mixed up on the way out"
	case prompt != c.request.name:
		where = "another's prompt by this id: mixed up on the way in"
	case foreign:
		where = "its own prompt by another's id"
	}
	return fmt.Sprintf("%s (prompt %q, id %q, place %q)", where, prompt, id, number)
}

// cut is a failure of the connection.
func (c *count) cut(err error) error {
	if _, told := errors.AsType[*ending](err); told || !c.begun {
		return err
	}
	return &ending{how: cutOff, code: inTheMiddle, err: err}
}

func (c *count) end() error {
	if c.request.id == "" || c.want != "" {
		return wrongly("it ended before %.80q came to %s", c.want, c.request)
	}
	return nil
}

func wrongly(format string, args ...any) error {
	return &ending{how: wrong, err: fmt.Errorf(format, args...)}
}
