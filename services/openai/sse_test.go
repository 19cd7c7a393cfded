package openai

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/trident-inference/trident/services/catalog"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/openai/openaitest"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/services/serving"
)

// BenchmarkChunk measures the encoding of one token's event. allocs/op should be
// 0. Compare ns/op with encoding the generated chunk type by encoding/json.
func BenchmarkChunk(b *testing.B) {
	chunks := newChunkWriter("chatcmpl-x", 1, &catalog.Resolution{}, 1, UsageLast)
	delta := inference.Delta{Text: []byte(" token")}
	buf := chunks.AppendDelta(nil, &delta)
	b.ReportAllocs()
	for b.Loop() {
		buf = chunks.AppendDelta(buf[:0], &delta)
	}
}

// TestEmptyDeltaFlushes tests that an empty Delta sends the buffer, adds nothing
// and isn't the first token.
func TestEmptyDeltaFlushes(t *testing.T) {
	rec, record := httptest.NewRecorder(), &server.Record{}
	events := ChatEvents{ID: "x", Model: &catalog.Resolution{Named: catalog.Named{Name: "chat"}}, Choices: 2, Record: record}
	err := events.Write(rec, func(yield func(inference.Delta, error) bool) {
		write := func(d inference.Delta) string {
			t.Helper()
			if !yield(d, nil) {
				t.Fatal("the client has disconnected")
			}
			return rec.Body.String()
		}
		if got := write(inference.Delta{}); got != "" || rec.Header().Get("Content-Type") != "" || !record.FirstToken.IsZero() {
			t.Errorf("an empty Delta at the start: %q, headers %v, first token %v", got, rec.Header(), record.FirstToken)
		}
		// The first token is sent at once.
		sent := write(inference.Delta{Text: []byte("a"), More: true})
		first := record.FirstToken
		if !strings.Contains(sent, `"content":"a"`) || !rec.Flushed || first.IsZero() {
			t.Errorf("the first token: %q", sent)
		}
		if got := write(inference.Delta{Text: []byte("b"), More: true}); got != sent {
			t.Errorf("written although more comes: %q", got)
		}
		flushed := write(inference.Delta{Index: 1})
		if added, ok := strings.CutPrefix(flushed, sent); !ok || strings.Count(added, "data: ") != 1 || !strings.Contains(added, `"content":"b"`) || strings.Contains(added, `"index":1`) {
			t.Errorf("flushed %q after %q", flushed, sent)
		}
		if got := write(inference.Delta{}); got != flushed || !record.FirstToken.Equal(first) {
			t.Errorf("after that %q", got)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// BenchmarkStream measures a token from the engine's response to the bytes of its
// event. ns/op and allocs/op are per token; allocs/op should be 0. Compare two
// revisions with benchstat.
func BenchmarkStream(b *testing.B) {
	openaitest.BenchmarkTokens(b, func(s *serving.Service) (http.Handler, error) { return New(Config{}, s, nil) }, chatPath, ask(`"stream":true`))
}
