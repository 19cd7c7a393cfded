package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/inference/inferencetest"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
)

// FuzzAppendEscaped: what is appended is the inside of a JSON string that gives
// the text back, invalid bytes as U+FFFD.
func FuzzAppendEscaped(f *testing.F) {
	for _, s := range []string{"", "plain", "\x00\x1f\"\\\n\r\t/", "é€😀", "\xff\xe2\x82", "a\xf0\x9f\x98", "\u2028<>&"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		out := append(appendEscaped([]byte{'"'}, text), '"')
		if !utf8.Valid(out) {
			t.Fatalf("%q gives invalid UTF-8 %q", text, out)
		}
		var got string
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%q gives %s: %v", text, out, err)
		}
		if want := string([]rune(string(text))); got != want {
			t.Fatalf("%q comes back as %q", text, got)
		}
	})
}

// BenchmarkChunk: what does one token's event cost? Compare allocs/op (0 wanted)
// and ns/op with encoding the generated chunk type by encoding/json.
func BenchmarkChunk(b *testing.B) {
	chunks := newChunkWriter("chatcmpl-x", 1, "chat", "", 1, true)
	delta := inference.Delta{Text: []byte(" token")}
	buf := chunks.appendDelta(nil, &delta)
	b.ReportAllocs()
	for b.Loop() {
		buf = chunks.appendDelta(buf[:0], &delta)
	}
}

// TestEmptyDeltaFlushes: it sends what waits, adds nothing and is no first token.
func TestEmptyDeltaFlushes(t *testing.T) {
	rec := httptest.NewRecorder()
	out := newEventStream(rec)
	defer out.close()
	chunks := newChunkWriter("x", 1, "chat", "", 2, false)
	record := &server.Record{}
	write := func(d inference.Delta) string {
		t.Helper()
		if !writeDelta(out, record, chunks, &d) {
			t.Fatal("the client has gone")
		}
		return rec.Body.String()
	}
	if got := write(inference.Delta{}); got != "" || out.started || !record.FirstToken.IsZero() {
		t.Errorf("an empty Delta at the start: %q, started %t, first token %v", got, out.started, record.FirstToken)
	}
	// The first token waits for nothing.
	sent := write(inference.Delta{Text: []byte("a"), More: true})
	first := record.FirstToken
	if !strings.Contains(sent, `"content":"a"`) || !rec.Flushed || first.IsZero() {
		t.Errorf("the first token: %q", sent)
	}
	if got := write(inference.Delta{Text: []byte("b"), More: true}); got != sent {
		t.Errorf("written although more comes: %q", got)
	}
	waiting := sent + string(*out.buf)
	if got := write(inference.Delta{Index: 1}); got != waiting || !strings.Contains(got, `"content":"b"`) || strings.Contains(got, `"index":1`) {
		t.Errorf("flushed %q, waiting was %q", got, waiting)
	}
	if got := write(inference.Delta{}); got != waiting || !record.FirstToken.Equal(first) {
		t.Errorf("after that %q", got)
	}
}

func TestHeaderList(t *testing.T) {
	if got := headerList([]string{"a", "b\r\nc", "é"}); got != "a, b%0D%0Ac, %C3%A9" {
		t.Errorf("got %q", got)
	}
	if got := headerList([]string{strings.Repeat("x", 2*maxHeaderList)}); len(got) > maxHeaderList {
		t.Errorf("%d bytes", len(got))
	}
}

// discard is a client that takes everything.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) WriteHeader(int)               {}
func (discard) Flush()                        {}

// BenchmarkStream: what does a token cost from the engine's response to the
// bytes of its event? ns/op and allocs/op are those of one token: 0 allocations
// are wanted. Compare two revisions with benchstat.
func BenchmarkStream(b *testing.B) { benchmarkTokens(b, Config{}, chatPath, ask(`"stream":true`)) }

func benchmarkTokens(b *testing.B, cfg Config, path, body string) {
	b.Helper()
	token := inferencetest.Token(" token", "")
	script := func(_ context.Context, _ *kserve.ModelInferRequest, send func(*inference.Response) bool) error {
		for range b.N {
			send(token)
		}
		send(inferencetest.Token("", "stop"))
		return nil
	}
	engine := inferencetest.New()
	engine.AddModel("chat", script, map[string]string{"trident.chat_template": inferencetest.ChatTemplate})
	handler, err := New(cfg, inferencetest.Service(b, serving.Config{}, engine))
	if err != nil {
		b.Fatal(err)
	}
	req := httptest.NewRequestWithContext(b.Context(), http.MethodPost, path, strings.NewReader(body))
	b.ReportAllocs()
	handler.ServeHTTP(discard{http.Header{}}, req)
}
