//go:build cgo

package local

/*
#include <stdlib.h>

#include "trace.h"
*/
import "C"

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sys/unix"

	"github.com/trident-inference/trident/services/triton"
	"github.com/trident-inference/trident/services/triton/extension"
)

// tracer selects requests to trace and writes their traces. The trace of a
// request ends in the queue's goroutine, which must not wait for a disk. So a
// separate goroutine writes each trace.
type tracer struct {
	traces *extension.Traces
	log    *slog.Logger

	mu      sync.Mutex
	running map[uint64]traced // traces that haven't ended, keyed by their number
	last    uint64
	closed  bool
	writers sync.WaitGroup
}

// traced is a traced request. Its trace goes to a file, to spans below a span,
// or to both.
type traced struct {
	sampled *extension.Trace // nil if the trace doesn't go to a file
	span    trace.Span       // nil if the trace isn't recorded as spans
}

// end processes the records. Without records it only ends the trace.
func (t traced) end(records []extension.TraceRecord) {
	if t.sampled != nil {
		t.sampled.End(records)
	}
	if t.span != nil && len(records) > 0 {
		traceSpans(t.span, records, skew())
	}
}

// skew returns the difference between the time of day and the monotonic clock.
func skew() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0 // Linux always has this clock
	}
	return time.Duration(time.Now().UnixNano() - now.Nano())
}

func newTracer(config extension.TraceConfig, log *slog.Logger) *tracer {
	return &tracer{traces: extension.NewTraces(config, log), log: log, running: make(map[uint64]traced)}
}

// begin returns the trace of a request that is about to be sent, or nil if the request
// isn't traced. An untraced request costs only three checks. Models receive the trace
// context headers of the request, as with tritonserver's mode opentelemetry, even if
// Trident records nothing.
func (t *tracer) begin(ctx context.Context, q *queue, model string) *C.tr_trace {
	var to traced
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		to.span = span
	}
	if t.traces.On() {
		to.sampled = t.traces.Sample(model)
	}
	header := triton.TraceHeader(ctx)
	level := extension.TraceOff // the library reports only the end of the request
	switch {
	case to.sampled != nil:
		level = to.sampled.Level
	case to.span != nil:
		level = extension.TraceTimestamps
	case header == nil:
		return nil
	}
	var headerJSON *C.char
	if header != nil {
		text, err := json.Marshal(header)
		if err == nil { // a map of strings always marshals
			headerJSON = C.CString(string(text))
			defer C.free(unsafe.Pointer(headerJSON))
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	var begun *C.tr_trace
	if err := failure(C.tr_trace_new(q.c, C.int(level), C.uint64_t(t.last), headerJSON, &begun)); err != nil {
		t.log.Error("a request can't be traced", "error", logged(err))
		to.end(nil)
		return nil
	}
	t.running[t.last] = to
	return begun
}

// end processes a trace that has ended and frees it.
func (t *tracer) end(ended *C.tr_trace) {
	number := uint64(ended.number)
	t.mu.Lock()
	defer t.mu.Unlock()
	to := t.running[number]
	delete(t.running, number)
	if t.closed {
		C.tr_trace_free(ended)
		return
	}
	t.writers.Go(func() {
		records := recordsOf(ended)
		C.tr_trace_free(ended)
		to.end(records)
	})
}

// close waits for the writers and writes the remaining traces. It drops the
// traces of a server that doesn't end.
func (t *tracer) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.writers.Wait()
	t.traces.Close()
}

// recordsOf copies a trace's records, oldest first.
func recordsOf(trace *C.tr_trace) []extension.TraceRecord {
	var all []extension.TraceRecord
	for r := trace.records; r != nil; r = r.next {
		record := extension.TraceRecord{ID: uint64(r.id), Activity: C.GoString(r.activity), Nanoseconds: int64(r.nanoseconds)}
		switch {
		case r.model != nil:
			record.Parent, record.Version = uint64(r.parent), int64(r.version)
			record.Model, record.RequestID = C.GoString(r.model), C.GoString(r.request_id)
		case r.context != nil:
			record.Activity = activityOf(C.GoString(r.context), uint64(r.nanoseconds), record.Activity)
		case r.tensor != nil:
			record.Tensor = &extension.TraceTensor{
				Name:     C.GoString(r.tensor),
				Datatype: datatypeName(r.datatype),
				Shape:    slices.Clone(unsafe.Slice((*int64)(r.shape), r.dims)),
				Data:     C.GoBytes(r.base, C.int(r.size)),
			}
		}
		all = append(all, record)
	}
	slices.Reverse(all)
	return all
}

// activityOf returns a model's own name of an activity. Triton identifies such
// an activity by its time.
func activityOf(context string, nanoseconds uint64, otherwise string) string {
	var names map[string]any
	if json.Unmarshal([]byte(context), &names) == nil {
		if name, ok := names[strconv.FormatUint(nanoseconds, 10)].(string); ok {
			return name
		}
	}
	return otherwise
}

// traceSpans creates a span for each request that Triton has traced. The parent of a
// span is the engine's span, or the span of the request from which the traced request
// was derived. The events of a span are Triton's activities, such as QUEUE_START and
// COMPUTE_END. skew is the difference between the time of day and Triton's clock, the
// monotonic one.
func traceSpans(above trace.Span, records []extension.TraceRecord, skew time.Duration) {
	tracer := above.TracerProvider().Tracer("github.com/trident-inference/trident/services/triton/local")
	at := func(r extension.TraceRecord) trace.SpanEventOption {
		return trace.WithTimestamp(time.Unix(0, r.Nanoseconds).Add(skew))
	}
	open, last := map[uint64]trace.Span{}, map[uint64]extension.TraceRecord{}
	for _, r := range records {
		if r.Tensor != nil {
			continue
		}
		span := open[r.ID]
		if span == nil {
			parent := above
			if made := open[r.Parent]; made != nil {
				parent = made
			}
			_, span = tracer.Start(trace.ContextWithSpan(context.Background(), parent), "triton", at(r),
				trace.WithAttributes(attribute.String("trident.triton.model", r.Model), attribute.Int64("trident.triton.version", r.Version)))
			open[r.ID] = span
		}
		span.AddEvent(r.Activity, at(r))
		last[r.ID] = r
	}
	for id, span := range open {
		span.End(at(last[id]))
	}
}
