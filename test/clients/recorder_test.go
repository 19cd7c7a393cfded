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
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// exchange is a request of a program with the start of its response.
type exchange struct {
	Line    string // method, path and status, such as "POST /v1/responses 200"
	Sent    string // the request's body
	Ignored string // value of the header X-Trident-Ignored-Fields

	Retry      int           // number of the repetition, by the header of OpenAI's and Anthropic's SDKs; 0 for the first request
	RetryAfter time.Duration // time to wait before a repetition, by the response; 0 if it names none
	// The times at which the request has arrived and at which its response has begun.
	Arrived, Responded time.Time
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
		arrived := time.Now()
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return // the program has disconnected
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
		request.Header.Del("Accept-Encoding") // so that the mutation reads plain text
		proxy.ServeHTTP(w, request.WithContext(withReceived(request.Context(), received{body, arrived})))
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	r.address = server.Listener.Addr().String()
	return r
}

func (r *recorder) answer(response *http.Response) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	request := response.Request
	got := receivedOf(request.Context())
	e := exchange{
		Line: fmt.Sprintf("%s %s %d", request.Method, request.URL.Path, response.StatusCode),
		Sent: string(got.body), Ignored: response.Header.Get("X-Trident-Ignored-Fields"),
		Arrived: got.at, Responded: time.Now(),
	}
	e.Retry, _ = strconv.Atoi(request.Header.Get("X-Stainless-Retry-Count")) // other programs don't send it
	e.RetryAfter = retryAfter(response.Header)
	r.seen = append(r.seen, e)
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

// retryAfter returns the time that a response names, by the header Retry-After-Ms, which SDKs prefer, or by Retry-After.
func retryAfter(h http.Header) time.Duration {
	for _, name := range []struct {
		header string
		unit   time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		if n, err := strconv.Atoi(h.Get(name.header)); err == nil {
			return time.Duration(n) * name.unit
		}
	}
	return 0
}

// received is a request's body with the time of its arrival.
type received struct {
	body []byte
	at   time.Time
}

// receivedKey is the key of received in a request's context.
type receivedKey struct{}

func withReceived(ctx context.Context, r received) context.Context {
	return context.WithValue(ctx, receivedKey{}, r)
}

func receivedOf(ctx context.Context) received {
	r, _ := ctx.Value(receivedKey{}).(received)
	return r
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

// sent returns the number of requests whose bodies contain a text.
func (r *recorder) sent(text string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.seen {
		if strings.Contains(e.Sent, text) {
			n++
		}
	}
	return n
}

// retried returns the number of exchanges that a program has repeated, by their line, and how the repetitions differ from
// what Retry-After demands.
func (r *recorder) retried() (count map[string]int, flaws []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count = map[string]int{}
	for i, e := range r.seen {
		if e.Retry == 0 {
			continue
		}
		repeats := func(before exchange) bool { return before.Retry == e.Retry-1 && before.Sent == e.Sent }
		before := r.seen[:i]
		for len(before) > 0 && !repeats(before[len(before)-1]) {
			before = before[:len(before)-1]
		}
		if len(before) == 0 {
			flaws = append(flaws, fmt.Sprintf("%s is repetition %d of a request that wasn't sent", e.Line, e.Retry))
			continue
		}
		first := before[len(before)-1]
		count[first.Line]++
		if waited := e.Arrived.Sub(first.Responded); waited < first.RetryAfter-timerError {
			flaws = append(flaws, fmt.Sprintf("%s is repeated after %s, but its Retry-After is %s", first.Line, waited, first.RetryAfter))
		}
	}
	return count, flaws
}

// timerError is the maximum time by which a program's timer may end early.
const timerError = 20 * time.Millisecond

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

// TestRetried checks which repetitions the recorder counts, and that it reports those that come before the time of Retry-After.
func TestRetried(t *testing.T) {
	start := time.Now()
	at := func(line, sent string, retry int, after time.Duration, retryAfter time.Duration) exchange {
		return exchange{Line: line, Sent: sent, Retry: retry, Arrived: start.Add(after), Responded: start.Add(after), RetryAfter: retryAfter}
	}
	for _, c := range []struct {
		name string
		seen []exchange
		want map[string]int
		flaw string
	}{
		{"none", []exchange{at("A 429", "a", 0, 0, time.Second), at("A 200", "a", 0, 0, 0)}, map[string]int{}, ""},
		{"in time", []exchange{at("A 429", "a", 0, 0, time.Second), at("B 200", "b", 0, 0, 0), at("A 200", "a", 1, time.Second, 0)}, map[string]int{"A 429": 1}, ""},
		{"early", []exchange{at("A 429", "a", 0, 0, time.Second), at("A 200", "a", 1, time.Second/2, 0)}, map[string]int{"A 429": 1}, "repeated after 500ms"},
		{"twice", []exchange{at("A 500", "a", 0, 0, 0), at("A 529", "a", 1, 0, time.Second), at("A 200", "a", 2, time.Second, 0)}, map[string]int{"A 500": 1, "A 529": 1}, ""},
		{"of another request", []exchange{at("A 429", "a", 0, 0, 0), at("A 200", "b", 1, 0, 0)}, map[string]int{}, "wasn't sent"},
	} {
		got, flaws := (&recorder{seen: c.seen}).retried()
		all := strings.Join(flaws, "\n")
		if !maps.Equal(got, c.want) || (c.flaw == "") != (all == "") || !strings.Contains(all, c.flaw) {
			t.Errorf("%s: %v and %q, want %v and %q", c.name, got, all, c.want, c.flaw)
		}
	}
}

// TestRetryAfter checks which header names the time to wait before a repetition.
func TestRetryAfter(t *testing.T) {
	for _, c := range []struct {
		headers http.Header
		want    time.Duration
	}{
		{http.Header{}, 0},
		{http.Header{"Retry-After": {"2"}}, 2 * time.Second},
		{http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"1914"}}, 1914 * time.Millisecond},
	} {
		if got := retryAfter(c.headers); got != c.want {
			t.Errorf("%s, want %s, of %v", got, c.want, c.headers)
		}
	}
}
