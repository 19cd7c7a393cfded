package anthropic

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
	"github.com/trident-inference/trident/test/pause"
)

// TestPingWhileThinking checks that a stream with display: omitted has pings while the model writes reasoning,
// and that the reasoning is in the signature.
func TestPingWhileThinking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &ending{turn: &turn{req: &inference.Request{ID: "msg_1", Model: "m"}, omits: true}, seal: func(text []byte) string { return string(text) }}
		answer := httptest.NewRecorder()
		err := writeEvents(answer, &server.Record{}, &eventWriter{ending: e}, func(yield func(inference.Delta, error) bool) {
			for range 40 { // seconds
				if pause.For(t.Context(), time.Second) != nil || !yield(inference.Delta{Reasoning: []byte("h")}, nil) {
					return
				}
			}
			_ = yield(inference.Delta{Text: []byte("a"), Finish: inference.FinishStop}, nil) && yield(inference.Delta{Usage: &inference.Usage{}}, nil)
		})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range events(t, answer.Body.String()) {
			names = append(names, e.name)
		}
		const want = "message_start content_block_start pings: 2 content_block_delta content_block_stop content_block_start content_block_delta content_block_stop message_delta message_stop"
		if got := strings.Replace(strings.Join(names, " "), "ping "+"ping", "pings: 2", 1); got != want || !strings.Contains(answer.Body.String(), `"signature":"`+strings.Repeat("h", 40)+`"`) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
