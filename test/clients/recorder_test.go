package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// exchange is a request of a program with the start of its response.
type exchange struct {
	Line    string // method, path and status, such as "POST /v1/responses 200"
	Sent    string // the request's body
	Ignored string // value of the header X-Trident-Ignored-Fields
}

// recorder is a proxy between a program and Trident. It keeps each exchange, and may change responses
// by a mutation. Its methods may be called concurrently.
type recorder struct {
	address string // host:port
	change  mutation

	mu      sync.Mutex
	seen    []exchange
	changed int // number of removed fields and events
}

// record starts a recorder in front of a trident. It ends with the test.
func record(t *testing.T, trident string, change mutation) *recorder {
	t.Helper()
	r := &recorder{change: change}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: trident})
	proxy.FlushInterval = -1
	proxy.ModifyResponse = r.answer
	proxy.ErrorHandler = func(w http.ResponseWriter, request *http.Request, err error) {
		if request.Context().Err() == nil { // the program hasn't disconnected
			t.Errorf("the recorder can't pass on %s %s: %v", request.Method, request.URL.Path, err)
		}
		w.WriteHeader(http.StatusBadGateway)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return // the program has disconnected
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		request.Header.Del("Accept-Encoding") // so that the mutation reads plain text
		proxy.ServeHTTP(w, request.WithContext(withBody(request.Context(), body)))
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	r.address = server.Listener.Addr().String()
	return r
}

func (r *recorder) answer(response *http.Response) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	request := response.Request
	r.seen = append(r.seen, exchange{
		Line: fmt.Sprintf("%s %s %d", request.Method, request.URL.Path, response.StatusCode),
		Sent: string(bodyOf(request.Context())), Ignored: response.Header.Get("X-Trident-Ignored-Fields"),
	})
	if r.change == (mutation{}) || response.StatusCode != http.StatusOK {
		return nil
	}
	whole, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	changed, n := r.change.apply(whole, strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream"))
	r.changed += n
	response.Body = io.NopCloser(bytes.NewReader(changed))
	response.ContentLength = int64(len(changed))
	response.Header.Set("Content-Length", fmt.Sprint(len(changed)))
	return nil
}

// bodyKey is the key of a request's body in its context.
type bodyKey struct{}

func withBody(ctx context.Context, body []byte) context.Context {
	return context.WithValue(ctx, bodyKey{}, body)
}

func bodyOf(ctx context.Context) []byte {
	body, _ := ctx.Value(bodyKey{}).([]byte)
	return body
}

// wire returns the number of exchanges by their line.
func (r *recorder) wire() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := map[string]int{}
	for _, e := range r.seen {
		count[e.Line]++
	}
	return count
}

// ignored returns the ignored fields that Trident reported, sorted, each once.
func (r *recorder) ignored() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	fields := map[string]bool{}
	for _, e := range r.seen {
		for field := range strings.SplitSeq(e.Ignored, ",") {
			if field = strings.TrimSpace(field); field != "" {
				fields[field] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(fields))
}

// removed returns the number of removed fields and events.
func (r *recorder) removed() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// describe returns the exchanges for a failed test.
func (r *recorder) describe() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var text strings.Builder
	for _, e := range r.seen {
		fmt.Fprintf(&text, "%s ignored %q\n  %.800s\n", e.Line, e.Ignored, e.Sent)
	}
	return text.String()
}

// mutation removes a part of each response that Trident sends with status 200. One of its fields is
// set.
type mutation struct {
	Field string // key to remove from all JSON objects, at any depth
	Event string // type of the events to remove from streams, or [DONE]
}

// apply returns the changed response, and the number of removed parts.
func (m mutation) apply(body []byte, events bool) ([]byte, int) {
	if !events {
		return m.object(body)
	}
	var out bytes.Buffer
	n := 0
	for event := range bytes.SplitAfterSeq(body, []byte("\n\n")) {
		head, data, ok := bytes.Cut(event, []byte("data: "))
		if !ok {
			out.Write(event)
			continue
		}
		if m.Event != "" && m.removes(bytes.TrimSpace(data)) {
			n++
			continue
		}
		changed, removed := m.object(bytes.TrimSpace(data))
		n += removed
		fmt.Fprintf(&out, "%sdata: %s\n\n", head, changed)
	}
	return out.Bytes(), n
}

// removes reports whether the mutation removes the event with this data.
func (m mutation) removes(data []byte) bool {
	var event struct{ Type string }
	_ = json.Unmarshal(data, &event) // [DONE] isn't JSON
	return event.Type == m.Event || string(data) == m.Event
}

// object removes the field from a JSON text. Other texts stay unchanged.
func (m mutation) object(text []byte) ([]byte, int) {
	var value any
	if m.Field == "" || json.Unmarshal(text, &value) != nil {
		return text, 0
	}
	n := m.strip(value)
	changed, err := json.Marshal(value)
	if err != nil {
		panic(err) // the value was decoded from JSON
	}
	return changed, n
}

func (m mutation) strip(value any) int {
	n := 0
	switch value := value.(type) {
	case map[string]any:
		if _, ok := value[m.Field]; ok {
			delete(value, m.Field)
			n++
		}
		for _, member := range value {
			n += m.strip(member)
		}
	case []any:
		for _, element := range value {
			n += m.strip(element)
		}
	}
	return n
}

// barrier is a proxy that refuses all requests and keeps the hosts that they name. A program whose
// environment names it as the proxy of all hosts except this machine's can't reach other hosts unnoticed.
type barrier struct {
	address string

	mu    sync.Mutex
	hosts map[string]bool
}

func block(t *testing.T) *barrier {
	t.Helper()
	b := &barrier{hosts: map[string]bool{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		host, _, err := net.SplitHostPort(request.Host)
		if err != nil {
			host = request.Host
		}
		b.mu.Lock()
		b.hosts[host] = true
		b.mu.Unlock()
		http.Error(w, "the test allows no connection to other hosts", http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	b.address = server.Listener.Addr().String()
	return b
}

// tried returns the hosts that the program tried to reach.
func (b *barrier) tried() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Sorted(maps.Keys(b.hosts))
}
