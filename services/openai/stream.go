package openai

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
)

// ChatEvents writes a streamed chat completion: server-sent events of
// chat.completion.chunk objects, ended by [DONE]. It is for one answer.
type ChatEvents struct {
	// ID and Model are in every chunk.
	ID, Model string
	// Fingerprint of the model is, too, unless it is empty.
	Fingerprint string
	// Choices that were asked for, at least 1; a model may give more.
	Choices int
	// Usage adds the chunk that tells the tokens used.
	Usage bool
	// Record learns of the first token, of the usage and of an error that came
	// after the first event.
	Record *server.Record
}

// Write sends the Deltas as they come. Those that are there together leave in
// one write, and nothing waits for company. An error before the first event is
// returned, with nothing written; a later one becomes an event.
func (e *ChatEvents) Write(w http.ResponseWriter, deltas iter.Seq2[inference.Delta, error]) error {
	return writeEvents(w, e.Record, newChunkWriter(e.ID, time.Now().Unix(), e.Model, e.Fingerprint, e.Choices, e.Usage), deltas)
}

// chunks is how an operation writes its Deltas.
type chunks interface {
	appendDelta(dst []byte, d *inference.Delta) []byte
	// appendEnd ends an answer that succeeded.
	appendEnd(dst []byte, u *inference.Usage) []byte
	// appendError ends one that failed after it began.
	appendError(dst []byte, err error) []byte
}

// writeEvents is [ChatEvents.Write] for any operation's chunks.
func writeEvents(w http.ResponseWriter, rec *server.Record, c chunks, deltas iter.Seq2[inference.Delta, error]) error {
	out := newEventStream(w)
	defer out.close()
	var delta inference.Delta // the loop's own would need memory for each, as chunks are an interface
	for d, err := range deltas {
		if err != nil && !out.started {
			return err
		}
		if err != nil {
			rec.Error = err
			*out.buf = c.appendError(*out.buf, err)
			out.send(false)
			return nil
		}
		if delta = d; !writeDelta(out, rec, c, &delta) {
			rec.Error = inference.AsError(context.Canceled)
			return nil
		}
	}
	return nil
}

// reaching lengthens a list by choice up to an index: a model that gives several
// texts for a request makes more choices than were asked for.
func reaching[T any](list []T, index int) []T {
	for len(list) <= index {
		var zero T
		list = append(list, zero)
	}
	return list
}

// writeDelta is false when the client has gone.
func writeDelta(out *eventStream, rec *server.Record, c chunks, delta *inference.Delta) bool {
	switch {
	case delta.Idle:
		return out.comment()
	case delta.Usage != nil:
		usage(delta.Usage, rec)
		*out.buf = c.appendEnd(*out.buf, delta.Usage)
		return out.send(false)
	case delta.Empty():
		// Nothing to say but that nothing follows at once: what waits must go.
		return len(*out.buf) == 0 || out.send(delta.More)
	}
	*out.buf = c.appendDelta(*out.buf, delta)
	first := rec.FirstToken.IsZero()
	if first {
		rec.FirstToken = time.Now()
	}
	// The first token waits for nothing, not even for those that are here already.
	return out.send(delta.More && !first)
}
