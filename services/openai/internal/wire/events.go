package wire

import (
	"context"
	"iter"
	"net/http"
	"time"

	"github.com/trident-inference/trident/services/eventstream"
	"github.com/trident-inference/trident/services/inference"
	"github.com/trident-inference/trident/services/server"
)

// Chunks encodes the Deltas of an operation.
type Chunks interface {
	// AppendDelta appends the events of one Delta.
	AppendDelta(dst []byte, d *inference.Delta) []byte
	// AppendEnd appends the end of a successful response.
	AppendEnd(dst []byte, u *inference.Usage) []byte
	// AppendError appends the end of a response that failed after its start.
	AppendError(dst []byte, err error) []byte
}

// WriteEvents sends the Deltas as they arrive, encoded by c. Deltas that are ready
// together are sent in one write; none is delayed to wait for others. An error before
// the first event is returned, with nothing written; a later one becomes an event. The
// record receives the time of the first token, the usage, and an error after the first
// event.
func WriteEvents(w http.ResponseWriter, rec *server.Record, c Chunks, deltas iter.Seq2[inference.Delta, error]) error {
	out := eventstream.New(w)
	defer out.Close()
	var delta inference.Delta // the loop's own variable would be allocated for each Delta, since c is an interface
	for d, err := range deltas {
		if err != nil && !out.Started() {
			return err
		}
		if err != nil {
			rec.Error = err
			out.Buf = c.AppendError(out.Buf, err)
			out.Send(false)
			return nil
		}
		if delta = d; !writeDelta(&out, rec, c, &delta) {
			rec.Error = inference.AsError(context.Canceled)
			return nil
		}
	}
	return nil
}

// writeDelta reports false if the client has disconnected.
func writeDelta(out *eventstream.Writer, rec *server.Record, c Chunks, delta *inference.Delta) bool {
	switch {
	case delta.Idle:
		return out.Comment()
	case delta.Usage != nil:
		Usage(delta.Usage, rec)
		out.Buf = c.AppendEnd(out.Buf, delta.Usage)
		return out.Send(false)
	case delta.Empty():
		// An empty Delta only reports that nothing follows at once, so that the buffer
		// must be sent.
		return len(out.Buf) == 0 || out.Send(delta.More)
	}
	out.Buf = c.AppendDelta(out.Buf, delta)
	first := rec.FirstToken.IsZero()
	if first {
		rec.FirstToken = time.Now()
	}
	// The first token is sent at once, even if more Deltas are ready.
	return out.Send(delta.More && !first)
}
