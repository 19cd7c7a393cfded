//go:build cgo

package local

/*
#include "trace.h"
*/
import "C"

import (
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"unsafe"

	"github.com/trident-inference/trident/services/triton/extension"
)

// tracer has requests traced and writes their traces. Those of one request come
// to an end in the queue's goroutine, which must not wait for a disk: a goroutine
// of its own writes each.
type tracer struct {
	traces *extension.Traces
	log    *slog.Logger

	mu       sync.Mutex
	underWay map[uint64]*extension.Trace // by number
	last     uint64
	closed   bool
	writers  sync.WaitGroup
}

func newTracer(config extension.TraceConfig, log *slog.Logger) *tracer {
	return &tracer{traces: extension.NewTraces(config, log), log: log, underWay: make(map[uint64]*extension.Trace)}
}

// begin gives the trace of a request that is about to be sent, nil if it isn't to
// be traced: then it costs one look.
func (t *tracer) begin(q *queue, model string) *C.tr_trace {
	if !t.traces.On() {
		return nil
	}
	sampled := t.traces.Sample(model)
	if sampled == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	var trace *C.tr_trace
	if err := failure(C.tr_trace_new(q.c, C.int(sampled.Level), C.uint64_t(t.last), &trace)); err != nil {
		t.log.Error("a request can't be traced", "error", logged(err))
		sampled.End(nil)
		return nil
	}
	t.underWay[t.last] = sampled
	return trace
}

// end takes over a trace that has ended.
func (t *tracer) end(trace *C.tr_trace) {
	number := uint64(trace.number)
	t.mu.Lock()
	defer t.mu.Unlock()
	sampled := t.underWay[number]
	delete(t.underWay, number)
	if t.closed {
		C.tr_trace_free(trace)
		return
	}
	t.writers.Go(func() {
		records := recordsOf(trace)
		C.tr_trace_free(trace)
		sampled.End(records)
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
