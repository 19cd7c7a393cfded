package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// client sends the tests' plain requests. Its timeout is shorter than the tests' limits.
var client = &http.Client{Timeout: time.Minute, Transport: contractTransport{&http.Transport{}}}

// object is a JSON object.
type object = map[string]any

// answer is a response with its whole body.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// decode parses the body as a T.
func decode[T any](t *testing.T, a answer) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	return v
}

// want fails the test unless the response has the given status.
func (a answer) want(t *testing.T, status int) answer {
	t.Helper()
	if a.status != status {
		t.Fatalf("status %d, want %d: %s", a.status, status, a.body)
	}
	return a
}

// wireError is the error object; pointers distinguish null from absent.
type wireError struct {
	Message, Type *string
	Param, Code   *string
}

// failure decodes an error response. Its error object must have exactly the keys that failure lists.
func (a answer) failure(t *testing.T) wireError {
	t.Helper()
	return parseError(t, a.body)
}

func parseError(t *testing.T, body []byte) wireError {
	t.Helper()
	var e struct{ Error map[string]*string }
	if err := json.Unmarshal(body, &e); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	for _, key := range []string{"message", "type", "param", "code"} {
		if _, ok := e.Error[key]; !ok {
			t.Fatalf("the error object lacks %s: %s", key, body)
		}
	}
	if len(e.Error) != 4 || e.Error["message"] == nil || *e.Error["message"] == "" || e.Error["type"] == nil {
		t.Fatalf("not an error object of the OpenAI API: %s", body)
	}
	return wireError{e.Error["message"], e.Error["type"], e.Error["param"], e.Error["code"]}
}

// text returns the string, or "null" for nil.
func text(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// request returns a request. It encodes the body as JSON unless the body is a string or a reader.
// header contains names and values alternately.
func (s *trident) request(t *testing.T, method, path string, body any, header ...string) *http.Request {
	t.Helper()
	var reader io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(body)
	case io.Reader:
		reader = body
	default:
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		reader = bytes.NewReader(raw)
	}
	r, err := http.NewRequestWithContext(withTestName(t.Context(), t), method, s.url+path, reader)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for pair := range slices.Chunk(header, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	return r
}

// do sends a request, reads the response and checks it against the OpenAPI document.
func (s *trident) do(t *testing.T, method, path string, body any, header ...string) answer {
	t.Helper()
	return exchange(t, client, s.request(t, method, path, body, header...))
}

func (s *trident) get(t *testing.T, path string, header ...string) answer {
	t.Helper()
	return s.do(t, http.MethodGet, path, nil, header...)
}

func (s *trident) post(t *testing.T, path string, body any, header ...string) answer {
	t.Helper()
	return s.do(t, http.MethodPost, path, body, header...)
}

func exchange(t *testing.T, by *http.Client, r *http.Request) answer {
	t.Helper()
	response, err := by.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	a := readAll(t, response)
	violations.fail(t)
	return a
}

func readAll(t *testing.T, response *http.Response) answer {
	t.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, body}
}

// stream is a response of server-sent events that is still arriving.
type stream struct {
	response *http.Response
	reads    *readCounter
}

// readCounter counts the reads that returned data. Each read is at least one packet.
type readCounter struct {
	io.ReadCloser
	count int
}

func (r *readCounter) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if n > 0 {
		r.count++
	}
	return n, err
}

// open sends a request for a streaming response.
func (s *trident) open(t *testing.T, by *http.Client, r *http.Request) *stream {
	t.Helper()
	response, err := by.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(response.Body)
		t.Fatalf("status %d: %s", response.StatusCode, body)
	}
	reads := &readCounter{ReadCloser: response.Body}
	response.Body = reads
	return &stream{response, reads}
}

// openChat streams a chat on a new connection.
func (s *trident) openChat(t *testing.T, body object) *stream {
	t.Helper()
	body["stream"] = true
	return s.open(t, client, s.request(t, http.MethodPost, "/v1/chat/completions", body))
}

// events yields the data of each event as it arrives, to the end of the stream. Any other line than
// events, comments and blank lines fails the test.
func (s *stream) events(t *testing.T) iter.Seq[[]byte] {
	t.Helper()
	return s.read(t, false)
}

// typedEvents is like events for streams whose events have a type line. The type must equal the one
// in the data.
func (s *stream) typedEvents(t *testing.T) iter.Seq[[]byte] {
	t.Helper()
	return s.read(t, true)
}

func (s *stream) read(t *testing.T, typed bool) iter.Seq[[]byte] {
	t.Helper()
	return func(yield func([]byte) bool) {
		kind := ""
		lines := bufio.NewScanner(s.response.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
			name, named := bytes.CutPrefix(lines.Bytes(), []byte("event: "))
			switch {
			case typed && named:
				kind = string(name)
			case ok:
				if typed && !bytes.HasPrefix(data, []byte(`{"type":"`+kind+`",`)) {
					t.Errorf("event %q: %s", kind, data)
				}
				if !yield(bytes.Clone(data)) {
					return
				}
			case len(lines.Bytes()) > 0 && lines.Bytes()[0] != ':':
				t.Errorf("neither event nor comment: %q", lines.Bytes())
			}
		}
		if err := lines.Err(); err != nil {
			t.Errorf("the stream was cut: %v", err)
		}
		violations.fail(t)
	}
}

// chunk is one event of a chat.
type chunk struct {
	ID      string
	Object  string
	Created int64
	Model   string
	Choices []struct {
		Index int
		Delta struct {
			Role    string
			Content string
		}
		Logprobs     *logprobs
		FinishReason *string `json:"finish_reason"`
	}
	Usage json.RawMessage // null and absent differ
}

// content returns the text of a chunk's only choice.
func (c chunk) content() string {
	if len(c.Choices) == 0 {
		return ""
	}
	return c.Choices[0].Delta.Content
}

type logprobs struct {
	Content []struct {
		Token       string
		Logprob     float64
		Bytes       []byteNumber
		TopLogprobs []struct {
			Token   string
			Logprob float64
		} `json:"top_logprobs"`
	}
}

// byteNumber prevents encoding/json from reading a list of bytes as base64.
type byteNumber byte

// text returns the string of the tokens' bytes.
func (l *logprobs) text() string {
	var b strings.Builder
	for _, token := range l.Content {
		for _, c := range token.Bytes {
			b.WriteByte(byte(c))
		}
	}
	return b.String()
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// chunks yields each chunk as it arrives. It ends at [DONE], which must be the last event.
func (s *stream) chunks(t *testing.T) iter.Seq[chunk] {
	t.Helper()
	return func(yield func(chunk) bool) {
		done := false
		for data := range s.events(t) {
			if done {
				t.Errorf("after [DONE]: %s", data)
			}
			if done = string(data) == "[DONE]"; done {
				continue
			}
			var c chunk
			if err := json.Unmarshal(data, &c); err != nil {
				t.Errorf("%v in %s", err, data)
			}
			if !yield(c) {
				return
			}
		}
		if !done {
			t.Error("the stream ended without [DONE]")
		}
	}
}

// completion is a chat's complete response.
type completion struct {
	ID      string
	Model   string
	Choices []struct {
		Index   int
		Message struct {
			Role    string
			Content string
		}
		Logprobs     *logprobs
		FinishReason string `json:"finish_reason"`
	}
	Usage usage
}

// chat sends a non-streaming request.
func (s *trident) chat(t *testing.T, body object) completion {
	t.Helper()
	return decode[completion](t, s.post(t, "/v1/chat/completions", body).want(t, http.StatusOK))
}

// ask returns the body of a chat with one message. more contains the names and values of further
// fields alternately.
func ask(text string, more ...any) object {
	body := object{"model": "chat", "messages": []object{{"role": "user", "content": text}}}
	for pair := range slices.Chunk(more, 2) {
		body[fmt.Sprint(pair[0])] = pair[1]
	}
	return body
}

// longStory returns a request that keeps the model busy for half a minute.
func longStory(more ...any) object {
	return ask("Write a very long story about a ship.", append([]any{"ignore_eos", true, "max_tokens", 1500}, more...)...)
}
