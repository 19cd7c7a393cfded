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

// tracer has requests traced and writes their traces. Those of one request come
// to an end in the queue's goroutine, which must not wait for a disk: a goroutine
// of its own writes each.
type tracer struct {
	traces *extension.Traces
	log    *slog.Logger

	mu       sync.Mutex
	underWay map[uint64]traced // by number
	last     uint64
	closed   bool
	writers  sync.WaitGroup
}

// traced is a request that is traced: to a file, below a span, or both.
type traced struct {
	sampled *extension.Trace // nil for no file
	span    trace.Span       // nil for none
}

// end takes what was recorded; nothing where it could not be.
func (t traced) end(records []extension.TraceRecord) {
	if t.sampled != nil {
		t.sampled.End(records)
	}
	if t.span != nil && len(records) > 0 {
		traceSpans(t.span, records, skew())
	}
}

// skew is what the monotonic clock lacks to the time of day.
func skew() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0 // there is no Linux without
	}
	return time.Duration(time.Now().UnixNano() - now.Nano())
}

func newTracer(config extension.TraceConfig, log *slog.Logger) *tracer {
	return &tracer{traces: extension.NewTraces(config, log), log: log, underWay: make(map[uint64]traced)}
}

// begin gives the trace of a request that is about to be sent, nil if it isn't to
// be traced: then it costs three looks. Models see the header of the trace that the
// request is of, as with tritonserver's mode opentelemetry, also where nothing of it is
// recorded here.
func (t *tracer) begin(ctx context.Context, q *queue, model string) *C.tr_trace {
	var to traced
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		to.span = span
	}
	if t.traces.On() {
		to.sampled = t.traces.Sample(model)
	}
	header := triton.TraceHeader(ctx)
	level := extension.TraceOff // the library tells of the end alone
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
		if err == nil { // texts alone: can't fail
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
	t.underWay[t.last] = to
	return begun
}

// end takes over a trace that has ended.
func (t *tracer) end(ended *C.tr_trace) {
	number := uint64(ended.number)
	t.mu.Lock()
	defer t.mu.Unlock()
	to := t.underWay[number]
	delete(t.underWay, number)
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

// close waits for the writers and writes what is left. Traces that a server has
// which doesn't end are dropped.
func (t *tracer) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.writers.Wait()
	t.traces.Close()
}

// recordsOf copies a trace, oldest record first.
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

// activityOf is a model's own name of an activity, which Triton has by its time.
func activityOf(context string, nanoseconds uint64, otherwise string) string {
	var names map[string]any
	if json.Unmarshal([]byte(context), &names) == nil {
		if name, ok := names[strconv.FormatUint(nanoseconds, 10)].(string); ok {
			return name
		}
	}
	return otherwise
}

// traceSpans makes a span of each request that Triton has traced, the one of the
// engine's span above it, or that which it was made for. Its events are Triton's
// activities, such as QUEUE_START and COMPUTE_END. Skew is what Triton's clock, the
// monotonic one, lacks to the time of day.
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
