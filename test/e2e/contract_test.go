package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/trident-inference/trident/openapi"
)

// document, anthropicDocument and encodersDocument are the OpenAPI documents of OpenAI's, Anthropic's and the encoders'
// APIs with closed objects: a response must not have a key that the document doesn't describe.
var (
	document          = sync.OnceValue(func() *openapi3.T { return closedDocument(openapi.OpenAI()) })
	anthropicDocument = sync.OnceValue(func() *openapi3.T { return closedDocument(openapi.Anthropic()) })
	encodersDocument  = sync.OnceValue(func() *openapi3.T { return closedDocument(openapi.Encoders()) })
)

func closedDocument(text []byte) *openapi3.T {
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		panic(err)
	}
	closed := false
	for _, schema := range doc.Components.Schemas {
		if s := schema.Value; len(s.Properties) > 0 && s.AdditionalProperties.Has == nil && s.AdditionalProperties.Schema == nil {
			s.AdditionalProperties.Has = &closed
		}
	}
	return doc
}

// documentOf returns the document of the API that a request belongs to.
func documentOf(r *http.Request) *openapi3.T {
	models := r.URL.Path == "/v1/models" || strings.HasPrefix(r.URL.Path, "/v1/models/")
	if strings.HasPrefix(r.URL.Path, "/v1/messages") || models && r.Header.Get("Anthropic-Version") != "" {
		return anthropicDocument()
	}
	if encodersDocument().Paths.Value(encodersPath(r.URL.Path)) != nil {
		return encodersDocument()
	}
	return document()
}

// encodersPath returns the path of the encoders' document for any spelling of a path.
func encodersPath(path string) string {
	if name, ok := strings.CutPrefix(path, "/tei/"); ok {
		operation := name[strings.LastIndexByte(name, '/')+1:]
		if path := "/tei/{model}/" + operation; operation != name && encodersDocument().Paths.Value(path) != nil {
			return path
		}
		return "/tei/{model}"
	}
	switch path {
	case "/embed", "/embed_all", "/embed_sparse", "/predict", "/similarity", "/info":
		return "/tei/{model}" + path
	case "/rerank", "/score", "/classify", "/moderations":
		return "/v1" + path
	case "/v1/pooling":
		return "/pooling"
	}
	return path
}

// violations contains the violations of the document in the responses to all clients. Violations
// that fail no test fail the run at its end.
var violations violationList

// violationList contains violations by the name of the test that sent the request. The name is
// empty if the test isn't known. Its methods may be called concurrently.
type violationList struct {
	mu    sync.Mutex
	found map[string][]string
}

// testNameKey is the key of the test's name in the context of its requests.
type testNameKey struct{}

// withTestName returns a context for requests of this test.
func withTestName(ctx context.Context, t *testing.T) context.Context {
	t.Helper()
	return context.WithValue(ctx, testNameKey{}, t.Name())
}

func (v *violationList) addf(r *http.Request, format string, args ...any) {
	name, _ := r.Context().Value(testNameKey{}).(string)
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.found == nil {
		v.found = map[string][]string{}
	}
	v.found[name] = append(v.found[name], fmt.Sprintf("%s %s: %s", r.Method, r.URL.Path, fmt.Sprintf(format, args...)))
}

// fail fails the test if its own requests have violations.
func (v *violationList) fail(t *testing.T) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, text := range v.found[t.Name()] {
		t.Error(text)
	}
	delete(v.found, t.Name())
}

// rest returns the violations that failed no test.
func (v *violationList) rest() (all []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for name, found := range v.found {
		for _, text := range found {
			all = append(all, strings.TrimPrefix(name+": "+text, ": "))
		}
	}
	return all
}

// contractTransport checks all its responses against the document.
type contractTransport struct{ http.RoundTripper }

func (c contractTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := c.RoundTripper.RoundTrip(r)
	if err == nil {
		checkContract(r, response, nil)
	}
	return response, err
}

// checkContract checks a response against the document of its API while it is read, whole or
// event by event. All responses must have a request id. A response must be an error object if the
// document has no such operation or status. seen, if not nil, receives each JSON object.
func checkContract(r *http.Request, response *http.Response, seen func(operation *openapi3.Operation, kind answerKind, raw []byte)) {
	for _, other := range []string{"/trident.", clientPackage, "/metrics", "/v2", "/debug/"} {
		if strings.HasPrefix(r.URL.Path, other) && r.URL.Path != "/v2/rerank" {
			return
		}
	}
	if response.Header.Get("X-Request-Id") == "" {
		violations.addf(r, "no x-request-id")
	}
	if r.Method == http.MethodOptions || r.Method == http.MethodHead {
		return
	}
	doc := documentOf(r)
	stream := eventRules(&streamRules{})
	if doc == anthropicDocument() {
		stream = &messageRules{}
	}
	response.Body = &watchedBody{ReadCloser: response.Body, answer: &watchedAnswer{
		request: r, document: doc, operation: operationOf(doc, r), status: response.StatusCode, kind: response.Header.Get("Content-Type"), seen: seen, stream: stream,
	}}
}

// operationOf returns the operation of any spelling of its path.
func operationOf(doc *openapi3.T, r *http.Request) *openapi3.Operation {
	if item := doc.Paths.Value(encodersPath(r.URL.Path)); item != nil && doc == encodersDocument() {
		return item.GetOperation(r.Method)
	}
	path := strings.TrimPrefix(r.URL.Path, "/openai")
	if !strings.HasPrefix(path, "/v1/") && !strings.HasPrefix(path, "/health/") {
		path = "/v1" + path
	}
	method := r.Method
	if path == "/v1/models" {
		method = http.MethodGet
	}
	if name, ok := strings.CutPrefix(path, "/v1/models/"); ok {
		path = "/v1/models/{model}"
		if doc == anthropicDocument() {
			path = "/v1/models/{model_id}"
		}
		if i := strings.LastIndexByte(name, '/'); i >= 0 && method == http.MethodPost {
			path += name[i:]
		}
	}
	if id, ok := strings.CutPrefix(path, "/v1/responses/"); ok && id != "input_tokens" {
		_, action, _ := strings.Cut(id, "/")
		path = strings.TrimSuffix("/v1/responses/{response_id}/"+action, "/")
	}
	if item := doc.Paths.Value(path); item != nil {
		return item.GetOperation(method)
	}
	return nil
}

// watchedBody passes a response to its checks.
type watchedBody struct {
	io.ReadCloser

	answer *watchedAnswer
	ended  bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.answer.add(p[:n])
	if errors.Is(err, io.EOF) && !b.ended {
		b.ended = true
		b.answer.end()
	}
	return n, err
}

// answerKind is the kind of a JSON object in a response.
type answerKind int

const (
	wholeAnswer answerKind = iota
	streamEvent
	errorObject
)

// watchedAnswer checks one response.
type watchedAnswer struct {
	request   *http.Request
	document  *openapi3.T
	operation *openapi3.Operation // nil if the document doesn't have the operation
	status    int
	kind      string // value of the header Content-Type
	seen      func(operation *openapi3.Operation, kind answerKind, raw []byte)

	unread bytes.Buffer // received bytes that aren't checked yet: the body, or the stream's last line so far
	stream eventRules
}

// eventRules are the rules among the events of a stream. next and end return what is wrong with the next
// event or with a stream that ends here, or "".
type eventRules interface {
	next(data []byte) string
	end() string
}

func (a *watchedAnswer) streams() bool { return strings.HasPrefix(a.kind, "text/event-stream") }

func (a *watchedAnswer) add(p []byte) {
	a.unread.Write(p)
	for a.streams() {
		line, rest, ok := bytes.Cut(a.unread.Bytes(), []byte("\n"))
		if !ok {
			return
		}
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			a.event(bytes.Clone(data))
		}
		a.unread.Next(a.unread.Len() - len(rest))
	}
}

// event checks one event, by itself and against the previous events.
func (a *watchedAnswer) event(data []byte) {
	if string(data) != "[DONE]" {
		kind := streamEvent
		if bytes.HasPrefix(data, []byte(`{"error":`)) {
			kind = errorObject
		}
		a.check(kind, data)
	}
	if flaw := a.stream.next(data); flaw != "" {
		violations.addf(a.request, "%s at %s", flaw, data)
	}
}

func (a *watchedAnswer) end() {
	switch {
	case a.streams():
		if flaw := a.stream.end(); flaw != "" {
			violations.addf(a.request, "%s", flaw)
		}
	case a.unread.Len() == 0 && a.status < 300:
	case a.kind != "application/json":
		violations.addf(a.request, "%d with Content-Type %q: %.500s", a.status, a.kind, a.unread.Bytes())
	case a.status < 300:
		a.check(wholeAnswer, a.unread.Bytes())
	default:
		a.check(errorObject, a.unread.Bytes())
	}
}

// check validates an object against its schema.
func (a *watchedAnswer) check(kind answerKind, raw []byte) {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		violations.addf(a.request, "%v in %.500s", err, raw)
		return
	}
	if err := a.schema(kind).VisitJSON(value, openapi3.VisitAsResponse(), openapi3.MultiErrors()); err != nil {
		violations.addf(a.request, "not what the document says: %.500v\nin %.2000s", err, raw)
	}
	if a.seen != nil {
		a.seen(a.operation, kind, raw)
	}
}

// schema returns the schema of an object. If the document doesn't have one, it is the schema of an
// error.
func (a *watchedAnswer) schema(kind answerKind) *openapi3.Schema {
	media := map[answerKind]string{wholeAnswer: "application/json", streamEvent: "text/event-stream"}[kind]
	if a.operation != nil && media != "" {
		if response := a.operation.Responses.Status(a.status); response != nil && response.Value.Content.Get(media) != nil {
			return response.Value.Content.Get(media).Schema.Value
		}
	}
	if failure := a.failure(); failure != nil && kind == errorObject {
		return failure
	}
	return a.document.Components.Schemas["ErrorResponse"].Value
}

// failure returns the schema of the operation's errors, or nil if they have no form of their own.
func (a *watchedAnswer) failure() *openapi3.Schema {
	if a.operation == nil || a.operation.Responses.Default() == nil {
		return nil
	}
	media := a.operation.Responses.Default().Value.Content.Get("application/json")
	if media == nil {
		return nil
	}
	return media.Schema.Value
}

// streamRules checks the rules among the events of one stream. Chunks have one head, the role
// first, one finish reason per choice, usage in all or in none of them, and [DONE] last. Events of
// a response are numbered from 0 and have their own last event.
type streamRules struct {
	head     string
	usage    string       // usage of the chunks: "absent" or "null", which counts replace
	counted  map[int]bool // choices whose last chunk had counts
	finished map[int]bool
	count    int // number of events of a response
	ended    string
}

// chunkEvent has the fields that chunks of chats and of completions share.
type chunkEvent struct {
	ID, Object, Model string
	Fingerprint       string `json:"system_fingerprint"`
	Created           int64
	Choices           []struct {
		Index  int
		Text   *string
		Delta  struct{ Role *string }
		Finish *string `json:"finish_reason"`
	}
	Usage json.RawMessage
	Error json.RawMessage
	// Events of the Responses API have the fields Type and Sequence instead.
	Type     string
	Sequence int `json:"sequence_number"`
}

// next returns what is wrong with the next event, or "".
func (s *streamRules) next(data []byte) string {
	if s.ended != "" {
		return "an event after " + s.ended
	}
	if string(data) == "[DONE]" {
		s.ended = "[DONE]"
		return s.unfinished()
	}
	var c chunkEvent
	if err := json.Unmarshal(data, &c); err != nil {
		return err.Error()
	}
	if c.Type != "" {
		return s.typed(&c)
	}
	if c.Error != nil {
		s.ended = "an error"
		return ""
	}
	return s.chunk(&c)
}

// typed checks an event of a response.
func (s *streamRules) typed(c *chunkEvent) string {
	first := s.count == 0
	s.count++
	switch {
	case c.Sequence != s.count-1:
		return fmt.Sprintf("the number of event %d is %d", s.count-1, c.Sequence)
	case first != (c.Type == "response.created") && c.Type != "error":
		return "response.created belongs to the first event"
	case slices.Contains([]string{"response.completed", "response.incomplete", "response.failed"}, c.Type):
		s.ended = c.Type
	}
	return ""
}

func (s *streamRules) chunk(c *chunkEvent) string {
	head := fmt.Sprint(c.ID, c.Object, c.Model, c.Fingerprint, c.Created)
	usage := "absent"
	if len(c.Usage) > 0 {
		usage = "null"
	}
	switch {
	case s.head == "":
		s.head, s.usage, s.counted, s.finished = head, usage, map[int]bool{}, map[int]bool{}
	case head != s.head:
		return "another head than before"
	case usage != s.usage:
		return fmt.Sprintf("usage is %s, it was %s", usage, s.usage)
	}
	// With continuous_usage_stats the chunks of choices have counts too, from the first that are known.
	counts := len(c.Usage) > 0 && string(c.Usage) != "null"
	if len(c.Choices) == 0 && !counts {
		return "the chunk without choices has no counts"
	}
	for _, choice := range c.Choices {
		if s.counted[choice.Index] && !counts {
			return "a chunk without counts follows one with counts"
		}
		s.counted[choice.Index] = counts
		finished, seen := s.finished[choice.Index]
		switch role := choice.Delta.Role != nil; {
		case finished:
			return "more after the finish reason"
		case choice.Text == nil && role == seen:
			return "the role belongs to the first chunk of a choice"
		}
		s.finished[choice.Index] = choice.Finish != nil
	}
	return ""
}

func (s *streamRules) unfinished() string {
	for index, finished := range s.finished {
		if !finished {
			return fmt.Sprintf("choice %d has no finish reason", index)
		}
	}
	return ""
}

// end returns what is wrong with a stream that ends here, or "".
func (s *streamRules) end() string {
	if s.ended == "" {
		return "the stream ended without its last event"
	}
	return ""
}

// messageRules checks the rules among the events of a message: message_start is first, blocks are numbered
// and don't overlap, message_delta follows the blocks, and message_stop or an error is last.
type messageRules struct {
	last   string // type of the last event, except pings
	blocks int    // number of started blocks
}

func (m *messageRules) next(data []byte) string {
	var e struct {
		Type  string
		Index int
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return err.Error()
	}
	if m.last == "message_stop" || m.last == "error" {
		return "an event after " + m.last
	}
	before := map[string][]string{
		"message_start": {""}, "content_block_start": {"message_start", "content_block_stop"}, "content_block_delta": {"content_block_start", "content_block_delta"},
		"content_block_stop": {"content_block_start", "content_block_delta"}, "message_delta": {"message_start", "content_block_stop"}, "message_stop": {"message_delta"},
	}
	if e.Type == "ping" && m.last != "" {
		return ""
	}
	if expected := before[e.Type]; e.Type != "error" && !slices.Contains(expected, m.last) {
		return fmt.Sprintf("%s after %q", e.Type, m.last)
	}
	m.last = e.Type
	if e.Type == "content_block_start" {
		m.blocks++
	}
	if strings.HasPrefix(e.Type, "content_block") && e.Index != m.blocks-1 {
		return fmt.Sprintf("the index is %d, not %d", e.Index, m.blocks-1)
	}
	return ""
}

func (m *messageRules) end() string {
	if m.last != "message_stop" && m.last != "error" {
		return "the stream ended without its last event"
	}
	return ""
}

// TestMessageRules checks that the rules for the events of messages, which other tests apply, detect
// violations.
func TestMessageRules(t *testing.T) {
	t.Parallel()
	const block, delta, stop = "content_block_start 0", "content_block_delta 0", "content_block_stop 0"
	for _, test := range []struct {
		name, events, flaw string
	}{
		{"good", "message_start,ping," + block + "," + delta + ",ping," + delta + "," + stop + ",content_block_start 1,content_block_stop 1,message_delta,message_stop", ""},
		{"error", "message_start," + block + ",error", ""},
		{"nothing in it", "message_start,message_delta,message_stop", ""},
		{"no start", block, "content_block_start after \"\""},
		{"a ping first", "ping,message_start", "ping after"},
		{"cut", "message_start," + block, "without its last event"},
		{"an open block", "message_start," + block + ",message_delta,message_stop", "message_delta after"},
		{"two open blocks", "message_start," + block + ",content_block_start 1,error", "content_block_start after"},
		{"another index", "message_start,content_block_start 1,error", "the index is 1, not 0"},
		{"an index of before", "message_start," + block + "," + stop + ",content_block_start 0,error", "the index is 0, not 1"},
		{"no delta", "message_start,message_stop", "message_stop after"},
		{"after the end", "message_start,message_delta,message_stop,ping", "after message_stop"},
		{"an unknown event", "message_start,response.created,error", "response.created after"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var rules messageRules
			var flaws []string
			for event := range strings.SplitSeq(test.events, ",") {
				name, index, _ := strings.Cut(event, " ")
				flaws = append(flaws, rules.next([]byte(`{"type":"`+name+`","index":`+cmp.Or(index, "0")+`}`)))
			}
			flaws = append(flaws, rules.end())
			if got := strings.Join(flaws, ""); (test.flaw == "") != (got == "") || !strings.Contains(got, test.flaw) {
				t.Errorf("flaws %q, want %q", got, test.flaw)
			}
		})
	}
}

// TestStreamRules checks that the rules for streamed events, which other tests apply, detect
// violations.
func TestStreamRules(t *testing.T) {
	t.Parallel()
	const head = `"id":"x","object":"o","created":1,"model":"m"`
	chunk := func(rest string) string { return "{" + head + "," + rest + "}" }
	typed := func(kind string, number int) string {
		return fmt.Sprintf(`{"type":%q,"sequence_number":%d}`, kind, number)
	}
	first, last := chunk(`"choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]`), chunk(`"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]`)
	for _, test := range []struct {
		name   string
		events []string
		flaw   string
	}{
		{"good", []string{first, last, "[DONE]"}, ""},
		{"good completion", []string{chunk(`"choices":[{"index":0,"text":"a","finish_reason":null}]`), chunk(`"choices":[{"index":0,"text":"","finish_reason":"stop"}]`), "[DONE]"}, ""},
		{"error", []string{first, `{"error":{}}`}, ""},
		{"cut", []string{first, last}, "without its last event"},
		{"after the end", []string{first, last, "[DONE]", last}, "after [DONE]"},
		{"after an error", []string{first, `{"error":{}}`, "[DONE]"}, "after an error"},
		{"no finish", []string{first, "[DONE]"}, "no finish reason"},
		{"two finishes", []string{first, last, last}, "after the finish reason"},
		{"no role", []string{last}, "the role"},
		{"two roles", []string{first, first}, "the role"},
		{"another id", []string{first, strings.Replace(last, `"x"`, `"y"`, 1)}, "another head"},
		{"usage now and then", []string{first, chunk(`"usage":null,"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]`)}, "usage is null, it was absent"},
		{"good response", []string{typed("response.created", 0), typed("response.output_text.delta", 1), typed("response.completed", 2)}, ""},
		{"failed response", []string{typed("response.created", 0), typed("error", 1), typed("response.failed", 2)}, ""},
		{"a number left out", []string{typed("response.created", 0), typed("response.completed", 2)}, "the number of event 1 is 2"},
		{"no beginning", []string{typed("response.completed", 0)}, "response.created"},
		{"two beginnings", []string{typed("response.created", 0), typed("response.created", 1)}, "response.created"},
		{"response without end", []string{typed("response.created", 0)}, "without its last event"},
		{"counts that end", []string{
			chunk(`"usage":{},"choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}]`),
			chunk(`"usage":null,"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]`),
		}, "without counts"},
		{"no counts without choices", []string{chunk(`"usage":null,"choices":[]`)}, "has no counts"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var rules streamRules
			var flaws []string
			for _, event := range test.events {
				flaws = append(flaws, rules.next([]byte(event)))
			}
			flaws = append(flaws, rules.end())
			if got := strings.Join(flaws, ""); (test.flaw == "") != (got == "") || !strings.Contains(got, test.flaw) {
				t.Errorf("flaws %q, want %q", got, test.flaw)
			}
		})
	}
}
